//! Parses the JSON of headers and indexes in one pass, using little more memory than the text. Duplicate keys are
//! errors, because readers disagree about which one counts.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Limit of numpy and PyTorch.
const MAX_AXES: usize = 64;

/// An object with arbitrary keys, in file order.
#[derive(Debug, PartialEq)]
pub struct Pairs<V>(pub Vec<(String, V)>);

/// A tensor's entry in the header. Other keys are ignored, as in the reference implementation.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Entry {
    pub dtype: String,
    pub shape: Shape,
    /// Begin and end in bytes, relative to the end of the header.
    pub data_offsets: [u64; 2],
}

#[derive(Debug, PartialEq)]
pub struct Shape(pub Box<[u64]>);

/// The header key that is not a tensor.
pub const METADATA: &str = "__metadata__";

/// A whole header.
#[derive(Debug, PartialEq)]
pub struct Document {
    pub metadata: Option<Pairs<String>>,
    pub tensors: Vec<(String, Entry)>,
}

/// The index of a sharded model.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Index {
    /// Tensor name to file name.
    pub weight_map: Pairs<String>,
}

/// Parses all of `text`. The error has the problem and its byte offset.
pub fn parse<'t, T: Deserialize<'t>>(text: &'t [u8]) -> Result<T, (String, usize)> {
    serde_json::from_slice(text).map_err(|error| {
        let before = text.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let at = before.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        let message = error.to_string();
        let problem = message.rsplit_once(" at line ").map_or(message.as_str(), |(problem, _)| problem);
        (problem.to_owned(), at)
    })
}

/// The first duplicate in sorted order.
fn duplicate<'k>(keys: impl Iterator<Item = &'k String>) -> Option<&'k str> {
    let mut sorted: Vec<&str> = keys.map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair.first() == pair.last()).and_then(|pair| pair.first().copied())
}

fn check_unique<'k, E: Error>(keys: impl Iterator<Item = &'k String>) -> Result<(), E> {
    duplicate(keys).map_or(Ok(()), |key| Err(E::custom(format_args!("the key {key:?} appears twice"))))
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs<V>, D::Error> {
        struct All<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for All<V> {
            type Value = Vec<(String, V)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }

        let pairs = deserializer.deserialize_map(All(PhantomData))?;
        check_unique(pairs.iter().map(|(key, _)| key))?;
        Ok(Pairs(pairs))
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let (mut metadata, mut tensors) = (None, Vec::new());
                while let Some(key) = map.next_key::<String>()? {
                    match key == METADATA {
                        true if metadata.is_some() => check_unique([&key, &key].into_iter())?,
                        true => metadata = Some(map.next_value::<Option<Pairs<String>>>()?),
                        false => tensors.push((key, map.next_value()?)),
                    }
                }
                Ok(Document { metadata: metadata.flatten(), tensors })
            }
        }

        let document = deserializer.deserialize_map(All)?;
        check_unique(document.tensors.iter().map(|(name, _)| name))?;
        Ok(document)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        struct Sizes;

        impl<'de> Visitor<'de> for Sizes {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of sizes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = items.next_element()? {
                    if sizes.len() == MAX_AXES {
                        return Err(A::Error::custom(format_args!("more than {MAX_AXES} axes")));
                    }
                    sizes.push(size);
                }
                Ok(Shape(sizes.into()))
            }
        }

        deserializer.deserialize_seq(Sizes)
    }
}
