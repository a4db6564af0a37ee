//! A schema member: its JSON, and the fields that apply to all of it.

use std::sync::Arc;

use super::super::json::{self, Json};
use super::budget::{Budget, Of};
use crate::codec::crc32;
use crate::codec::zip::Fault;
use crate::content::Content;
use crate::{Error, Result};

/// Longest path of a file.
const MAX_PATH_LEN: usize = 4096;

/// A schema member as stored.
pub struct Document {
    pub json: Arc<Json>,
    /// Value of the version key.
    pub version: String,
}

/// The error explains why this is not a schema.
fn document(json: Json) -> Result<Document, Fault> {
    let Some(_) = json.as_map() else { return Err("the schema is not a JSON object".into()) };
    let Some(version) = json.get("awkward0").or_else(|| json.get("awkward")) else {
        return Err(
            "it is not a schema of Awkward Array: it has neither the key \"awkward0\" nor \"awkward\"".into(),
        );
    };
    if json.get("schema").is_none() {
        return Err("it has no key \"schema\"".into());
    }
    if !matches!(json.get("prefix"), None | Some(Json::Str(_))) {
        return Err("its \"prefix\" is not a string".into());
    }
    let version = version.as_str().unwrap_or("?").to_owned();
    Ok(Document { json: Arc::new(json), version })
}

/// The names of all members that a document refers to.
pub fn reads(document: &Document) -> Vec<String> {
    fn look(json: &Json, prefix: &str, found: &mut Vec<String>) {
        match json {
            Json::Map(pairs) => {
                if let Some(name) = json.get("read").and_then(Json::as_str) {
                    let is_absolute = json.get("absolute") == Some(&Json::Bool(true));
                    let prefix = if is_absolute { "" } else { prefix };
                    if prefix.len() + name.len() <= MAX_PATH_LEN {
                        found.push(format!("{prefix}{name}"));
                    }
                }
                pairs.iter().for_each(|(_, value)| look(value, prefix, found));
            }
            Json::List(items) => items.iter().for_each(|item| look(item, prefix, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let prefix = document.json.get("prefix").and_then(Json::as_str).unwrap_or("");
    look(document.json.get("schema").unwrap_or(&Json::Null), prefix, &mut found);
    found
}

/// Parses a schema, checking its CRC-32 if one is recorded. The outer error is one of reading.
pub fn read(content: Content, crc: Option<u32>, budget: &Budget) -> Result<Result<Document, Fault>> {
    match content {
        Content::Broken { error: Error::Damaged { problem, .. }, .. } => return Ok(Err(problem.into())),
        Content::Broken { error: Error::Unsupported { problem, .. }, .. } => {
            return Ok(Err(Fault::unsupported(problem)));
        }
        _ => {}
    }
    let len = content.known_len().unwrap_or(0);
    if let Err(fault) = budget.take(Of::Schemas, len) {
        return Ok(Err(fault));
    }
    let mut bytes = vec![0; len as usize];
    match content.fill(&mut bytes, 0) {
        Err(Error::Damaged { problem, .. }) => return Ok(Err(problem.into())),
        filled => filled?,
    }
    let found = crc32(0, &bytes);
    if let Some(recorded) = crc.filter(|recorded| *recorded != found) {
        return Ok(Err(format!("the schema's CRC-32 is {found:08x}, but {recorded:08x} is recorded").into()));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(bad) => {
            return Ok(Err(
                format!("the schema is not UTF-8 (byte {})", bad.utf8_error().valid_up_to()).into()
            ));
        }
    };
    Ok(json::parse(&text, budget).and_then(document))
}
