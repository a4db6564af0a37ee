//! Expressions where no array is needed: numbers, text, lists of expressions, element types and bytes.

use super::super::budget::Of;
use super::super::dtype;
use super::super::encoding::Encoding;
use super::super::graph::{Blob, Codec};
use super::calls::{arguments, names};
use super::{MAX_REFS, Parsed, Reader, identified, unsupported, what_of, wrong};
use crate::format::awkward::json::Json;

impl<'j> Reader<'j> {
    /// An expression that must be a value.
    pub(super) fn value(&self, json: &'j Json) -> Parsed<&'j Json> {
        let mut json = json;
        for _ in 0..MAX_REFS {
            let (key, value) = identified(json)?;
            if key != "ref" {
                return Ok(json);
            }
            let id = value.as_int().ok_or("a \"ref\" is not a whole number")?;
            match self.ids.get(&id) {
                Some(Some(target)) => {
                    self.take(Of::Repeats, target.weight())?;
                    json = target;
                }
                Some(None) => return wrong(format!("it refers to the id {id}, which is given twice")),
                None => return wrong(format!("it refers to the id {id}, which does not exist")),
            }
        }
        wrong("a reference refers to itself")
    }

    /// A JSON value. Version 0.5 wrote some without the surrounding expression.
    pub(super) fn json(&self, json: &'j Json) -> Parsed<&'j Json> {
        if !matches!(json, Json::Map(_)) {
            return Ok(json);
        }
        let found = self.value(json)?;
        found.get("json").ok_or_else(|| format!("expected a value here, found a {:?}", what_of(found)).into())
    }

    pub(super) fn int(&self, json: &'j Json, what: &str) -> Parsed<i64> {
        let value = self.json(json)?;
        value.as_int().ok_or_else(|| format!("its {what} is not a whole number of 64 bits").into())
    }

    pub(super) fn len(&self, json: &'j Json, what: &str) -> Parsed<u64> {
        let value = self.int(json, what)?;
        u64::try_from(value).map_err(|_| format!("its {what} is negative").into())
    }

    pub(super) fn bool(&self, json: &'j Json, what: &str) -> Parsed<bool> {
        self.json(json)?.as_bool().ok_or_else(|| format!("its {what} is neither true nor false").into())
    }

    pub(super) fn list(&self, json: &'j Json, key: &str) -> Parsed<&'j [Json]> {
        let items = self.value(json)?.get(key).and_then(Json::as_list);
        items.ok_or_else(|| format!("a {key:?} is needed here").into())
    }

    pub(super) fn dtype(&self, json: &'j Json) -> Parsed<dtype::Type> {
        let found = self.value(json)?.get("dtype").ok_or("an element type is needed here")?;
        dtype::parse(found)
    }

    /// Bytes: a member, possibly compressed.
    pub(super) fn bytes(&self, json: &'j Json) -> Parsed<Blob> {
        let json = self.value(json)?;
        let Some(spec) = json.get("call") else {
            return self.read(json).map(|member| Blob { member, codec: None });
        };
        let codec = match names(spec)?.as_slice() {
            ["zlib", "decompress"] => Codec::Zlib,
            ["lzma" | "backports.lzma", "decompress"] => Codec::Lzma,
            ["lz4.block", "decompress"] => Codec::Lz4Block,
            _ => return unsupported(format!("{} gives its bytes, which is not known", what_of(json))),
        };
        let [inner] = arguments(json)? else { return wrong(format!("{} takes one argument", what_of(json))) };
        let inner = self.value(inner)?;
        if inner.get("call").is_some() {
            return unsupported("its bytes are compressed more than once, and once is the limit");
        }
        self.read(inner).map(|member| Blob { member, codec: Some(codec) })
    }

    /// The name of a member.
    pub(super) fn read(&self, json: &Json) -> Parsed<Box<str>> {
        let name = json.get("read").ok_or("bytes are needed here")?;
        let name = name.as_str().ok_or("a \"read\" is not a string")?;
        match json.get("absolute") {
            Some(Json::Bool(true)) => Ok(name.into()),
            None | Some(Json::Bool(false)) => {
                self.take(Of::Names, self.prefix.len())?;
                Ok(format!("{}{name}", self.prefix).into())
            }
            _ => wrong("\"absolute\" is neither true nor false"),
        }
    }

    pub(super) fn encoding(&self, json: &'j Json) -> Parsed<Encoding> {
        match self.json(json)? {
            Json::Null => Ok(Encoding::Bytes),
            Json::Str(name) => Ok(Encoding::named(name)),
            _ => wrong("its encoding is not a string"),
        }
    }
}
