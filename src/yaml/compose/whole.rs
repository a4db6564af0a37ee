//! Parses texts that are a single value: metadata, sidecars, objects.

use std::sync::Arc;

use libyaml_safer::EventData;

use super::super::{Form, Measure, Node, Problem, reread, resolve, surrogates, written_len};
use super::{Anchors, Composer};

/// Parses a single YAML document, or JSON if it is not YAML. An empty text is null.
pub fn value(text: &str) -> Result<Arc<Node>, Problem> {
    value_with(text, &mut Anchors::default())
}

/// As [`value_to_write`], for text that a user typed: refuses unknown tags, and scalars that do not fit their tag.
/// Elsewhere such scalars are read as strings.
pub fn typed_value(text: &str) -> Result<Arc<Node>, Problem> {
    let node = value_to_write(text)?;
    let parsed = surrogates::hide(text);
    let mut anchors = Anchors::default();
    let mut composer = Composer::new(text, &parsed, &mut anchors)?;
    loop {
        // JSON that is not YAML fails here; it has no tags to check.
        let Ok(event) = composer.events.next() else { return Ok(node) };
        let (tag, fits) = match &event.data {
            EventData::StreamEnd => return Ok(node),
            EventData::Scalar { tag: Some(tag), value, .. } => {
                (tag, resolve::fits(resolve::short_tag(tag), value))
            }
            EventData::SequenceStart { tag: Some(tag), .. } => (
                tag,
                ["seq", "omap", "pairs", "python/list", "python/tuple"].contains(&resolve::short_tag(tag)),
            ),
            EventData::MappingStart { tag: Some(tag), .. } => {
                (tag, ["map", "set", "python/dict"].contains(&resolve::short_tag(tag)))
            }
            _ => continue,
        };
        if !fits {
            let shown = tag.replace("tag:yaml.org,2002:", "!!");
            return Err(composer
                .problem(&event, &format!("the tag {shown} is unknown here, or does not fit its value")));
        }
    }
}

/// As [`value`], for values that will be written again. Writing expands every alias, so the result is refused if it
/// would become too long.
pub fn value_to_write(text: &str) -> Result<Arc<Node>, Problem> {
    let mut anchors = Anchors::default();
    let node = value_with(text, &mut anchors)?;
    let len = Measure::new().len(&node, &anchors);
    written_len(len, text).map_err(|problem| Problem::new(0, problem))?;
    Ok(node)
}

fn value_with(text: &str, anchors: &mut Anchors<'_>) -> Result<Arc<Node>, Problem> {
    // PyYAML refuses tabs before a token, so such text is read as JSON there; our parser would accept it as YAML.
    if text.trim_start().starts_with(['[', '{'])
        && text.contains('\t')
        && let Ok(node) = reread(text, Form::Json, anchors)
    {
        return Ok(node);
    }
    let read = one_document(text, anchors);
    read.or_else(|problem| reread(text, Form::Json, anchors).map_err(|_| problem))
}

fn one_document(text: &str, anchors: &mut Anchors<'_>) -> Result<Arc<Node>, Problem> {
    let parsed = surrogates::hide(text);
    let mut composer = Composer::new(text, &parsed, anchors)?;
    composer.events.next()?; // the stream's start
    if matches!(composer.events.next()?.data, EventData::StreamEnd) {
        return Ok(Arc::new(Node::Null));
    }
    let root = composer.events.next()?;
    let (built, _) = composer.node(root, 1)?;
    composer.events.next()?; // the document's end
    let after = composer.events.next()?;
    match after.data {
        EventData::StreamEnd => Ok(built.node),
        _ => Err(composer.problem(&after, "a second document begins")),
    }
}
