//! The JSON of headers and indexes, read in one pass into little more memory than it takes as text. A key that is there
//! twice is refused: readers would differ about which of the two counts.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// As many as numpy and PyTorch can have.
const MAX_AXES: usize = 64;

/// An object whose keys are not known before, in the order of the text.
#[derive(Debug, PartialEq)]
pub struct Pairs<V>(pub Vec<(String, V)>);

/// What a header says of a tensor. Other keys are passed over, as the reference does.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Entry {
    pub dtype: String,
    pub shape: Shape,
    /// From the first byte behind the header on.
    pub data_offsets: [u64; 2],
}

#[derive(Debug, PartialEq)]
pub struct Shape(pub Box<[u64]>);

/// The key of a header that is no tensor.
pub const METADATA: &str = "__metadata__";

/// All of a header.
#[derive(Debug, PartialEq)]
pub struct Document {
    pub metadata: Option<Pairs<String>>,
    pub tensors: Vec<(String, Entry)>,
}

/// The index of a model in several files.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Index {
    /// The file of each tensor.
    pub weight_map: Pairs<String>,
}

/// Reads all of `text`. The error says what is wrong and at which byte.
pub fn parse<'t, T: Deserialize<'t>>(text: &'t [u8]) -> Result<T, (String, usize)> {
    serde_json::from_slice(text).map_err(|error| {
        let before = text.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let at = before.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        let said = error.to_string();
        let problem = said.rsplit_once(" at line ").map_or(said.as_str(), |(problem, _)| problem);
        (problem.to_owned(), at)
    })
}

/// The first key that is there twice.
fn twice<'k>(keys: impl Iterator<Item = &'k String>) -> Option<&'k str> {
    let mut sorted: Vec<&str> = keys.map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair.first() == pair.last()).and_then(|pair| pair.first().copied())
}

fn check<'k, E: Error>(keys: impl Iterator<Item = &'k String>) -> Result<(), E> {
    twice(keys).map_or(Ok(()), |key| Err(E::custom(format_args!("the key {key:?} appears twice"))))
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
        check(pairs.iter().map(|(key, _)| key))?;
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
                        true if metadata.is_some() => check([&key, &key].into_iter())?,
                        true => metadata = Some(map.next_value::<Option<Pairs<String>>>()?),
                        false => tensors.push((key, map.next_value()?)),
                    }
                }
                Ok(Document { metadata: metadata.flatten(), tensors })
            }
        }

        let document = deserializer.deserialize_map(All)?;
        check(document.tensors.iter().map(|(name, _)| name))?;
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
