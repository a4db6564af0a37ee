//! Sidecars of signals and tables.

use std::sync::Arc;

use super::super::read::arrow::{Field, Problem};
use super::super::read::logical;
use super::super::read::rules;
use super::super::read::samples::{Data, Encoding, Layout};
use super::super::read::schema::TableKind;
use super::super::read::set::Set;
use super::super::read::spans::from_span;
use super::super::read::table::{OndaTable, Signal};
use super::super::write::row::is_onda_column;
use super::computed::Scale;
use crate::array::numpy::Parts;
use crate::array::{Array, byte_len};
use crate::tree::Description;
use crate::yaml::{self, Node};
use crate::{Error, Result};

/// Marks values that are stored as they are.
const STORED: &str = "stored";

/// A signal's row and data, and their problems.
pub struct Facts {
    pub signal: Option<Signal>,
    pub data: Result<Arc<Data>>,
    /// Number of samples in the data; None if unknown or not a whole number.
    pub samples: Option<u64>,
    pub fault: Option<String>,
    pub warnings: Vec<Problem>,
    /// A difference of one sample between data and span: not damage, since writers round spans differently.
    pub doubt: Option<String>,
}

impl Facts {
    /// Finds the data, and decodes it if its length is not known otherwise.
    pub fn of(set: &Set, number: u32) -> Facts {
        let signal = set.row(number).ok();
        let data = set.data(number);
        let (mut samples, mut fault) = (None, None);
        if let Ok(data) = &data {
            match (data.len(), data.layout) {
                (Ok(len), Some(layout)) => {
                    fault = data.fault(len);
                    samples = fault.is_none().then(|| len / layout.frame());
                }
                (Ok(_), None) => {}
                (Err(error), _) => fault = Some(problem(&error)),
            }
        }
        let mut warnings = set.signal(number).map_or(Vec::new(), |(table, row)| rules::signal(table, row));
        let mut doubt = None;
        if let (Some(found), Some(expected)) = (samples, signal.as_ref().and_then(from_span)) {
            let problem =
                format!("the data has {found} samples, but its span and sample_rate say {expected}");
            match found.abs_diff(expected) {
                0 => {}
                1 => doubt = Some(problem),
                _ => warnings.push(Problem::Damaged(problem)),
            }
        }
        Facts { signal, data, samples, fault, warnings, doubt }
    }
}

/// The error's message without its place.
pub fn problem(error: &Error) -> String {
    match error {
        Error::Damaged { problem, .. } | Error::Unsupported { problem, .. } => problem.clone(),
        Error::Read { cause, .. } | Error::Open { cause, .. } => cause.to_string(),
        other => other.to_string(),
    }
}

impl Signal {
    pub fn scale(&self) -> Option<Scale> {
        Some(Scale { resolution: self.resolution?, offset: self.offset? })
    }
}

/// A signal's facts as a mapping. `unreadable` are the problems of values in its row.
pub fn facts(set: &Set, number: u32, facts: &Facts, unreadable: &[Problem]) -> Node {
    let Some((table, row)) = set.signal(number) else { return Node::Null };
    let mut pairs = vec![("table", Node::text(&table.location.to_string_lossy()))];
    if let (true, Some(row)) = (set.tables.len() > 1, set.signals.get(number as usize)) {
        pairs.push(("tableNumber", Node::int(row.table)));
    }
    pairs.extend([
        ("row", Node::int(row as u64)),
        ("schema", Node::text(&table.identity.schema)),
        ("recordingBytes", table.raw("recording", row).map_or(Node::Null, |hex| Node::text(&hex))),
    ]);
    match &facts.data {
        Ok(data) => {
            pairs.push(("path", Node::text(&data.source.path().to_string_lossy())));
            pairs.push(("fileSize", Node::int(data.source.len())));
            if data.encoding == Encoding::Unknown {
                let format =
                    facts.signal.as_ref().and_then(|signal| signal.format.clone()).unwrap_or_default();
                let note = format!(
                    "the format {format:?} is not known here: these are the bytes of its file (--decoder names a program for it)"
                );
                pairs.push(("note", Node::text(&note)));
            }
        }
        Err(error) => {
            let path = set.path(number).map_or(Node::Null, |path| Node::text(&path.to_string_lossy()));
            pairs.extend([("path", path), ("noData", Node::text(&problem(error)))]);
        }
    }
    if let Some(fault) = &facts.fault {
        pairs.push(("problem", Node::text(fault)));
    }
    if let Some(signal) = &facts.signal {
        pairs.push(("samples", facts.samples.map_or(Node::Null, Node::int)));
        pairs.push(("samplesFromSpan", from_span(signal).map_or(Node::Null, Node::int)));
        pairs.push(("channels", Node::int(signal.channels as u64)));
        pairs.push(("decoding", decoding(signal)));
    }
    let types = types(table);
    if !types.is_empty() {
        pairs.push(("types", Node::map(types)));
    }
    let warnings = facts.warnings.iter().chain(unreadable).map(Problem::text);
    let warnings: Vec<_> = warnings.chain(facts.doubt.as_deref()).map(Node::text).collect();
    if !warnings.is_empty() {
        pairs.push(("warnings", Node::seq(warnings)));
    }
    Node::map(pairs)
}

/// Types of the user's columns that cannot be inferred from the values in a row.
fn types(table: &OndaTable) -> Vec<(&str, Node)> {
    let hidden_type = |field: &Field| {
        let name = field.type_name();
        let name = name.strip_prefix("dictionary<").and_then(|name| name.strip_suffix('>')).unwrap_or(&name);
        let is_hidden = logical::named(name).is_some() && !matches!(name, "int64" | "float64");
        is_hidden.then(|| Node::text(name))
    };
    let is_old = table.label_column() == "kind";
    let fields = table.arrow.schema.fields.iter().filter(|field| !is_onda_column(&field.name, is_old));
    fields.filter_map(|field| Some((field.name.as_str(), hidden_type(field)?))).collect()
}

fn decoding(signal: &Signal) -> Node {
    let unit = signal.unit.as_deref().map_or(Node::Null, Node::text);
    let Some(scale) = signal.scale() else { return Node::Null };
    let formula = if scale.is_identity() { STORED } else { "fma(resolution, stored, offset)" };
    Node::map([
        ("value", Node::text(formula)),
        ("resolution", Node::Float(scale.resolution)),
        ("offset", Node::Float(scale.offset)),
        ("unit", unit),
    ])
}

/// The description of a signal's decoded values, with the identity scale.
pub fn describe_decoded(stored: Description, array: Array) -> Description {
    let kind = array.dtype.element.name().unwrap_or("bytes");
    let row = [
        ("sample_type", Node::text(kind)),
        ("sample_resolution_in_unit", Node::Float(1.0)),
        ("sample_offset_in_unit", Node::Float(0.0)),
    ];
    let same =
        [("value", Node::text(STORED)), ("resolution", Node::Float(1.0)), ("offset", Node::Float(0.0))];
    let decoding = stored.codec.get("decoding").map_or(Node::Null, |decoding| with(decoding, &same));
    Description {
        metadata: Arc::new(with(&stored.metadata, &row)),
        codec: Arc::new(with(&stored.codec, &[("decoding", decoding)])),
        ..describe_derived(stored, array)
    }
}

/// The description of an array derived from a signal's samples: the signal's, without the location of the bytes.
pub fn describe_derived(stored: Description, array: Array) -> Description {
    Description {
        kind: array.dtype.element.name().unwrap_or("bytes").into(),
        decoded_len: byte_len(array.dtype.element, &array.shape),
        array: Some(array),
        compression: None,
        stored: None,
        fault: None,
        ..stored
    }
}

/// A copy of a map with new values for those keys that it has.
fn with(map: &Node, values: &[(&str, Node)]) -> Node {
    let Node::Map(pairs) = map else { return map.clone() };
    let value_of = |key: &Node| {
        let found = values.iter().find(|(name, _)| key.as_str() == Some(name));
        found.map(|(_, value)| Arc::new(value.clone()))
    };
    Node::Map(
        pairs.iter().map(|(key, old)| (key.clone(), value_of(key).unwrap_or_else(|| old.clone()))).collect(),
    )
}

/// The sidecar of a signal whose file is called `file_name`.
pub fn build(set: &Set, number: u32, file_name: &[u8]) -> Vec<u8> {
    let found = Facts::of(set, number);
    let no_row = (Node::Null, Vec::new());
    let (row, unreadable) = set.signal(number).map_or(no_row, |(table, row)| table.row(row));
    let name = Node::text(&set.shown_name(number));
    let mut text = String::new();
    let all = [("name", name), ("metadata", row), ("onda", facts(set, number, &found, &unreadable))];
    yaml::write(&Node::map(all), 0, &mut text);
    let layout = found.data.as_ref().ok().and_then(|data| data.layout);
    if let Some((samples, layout)) = found.samples.zip(layout) {
        text.push_str(&Parts::of(&Layout::array(&layout, samples), false).text(file_name));
    }
    text.into_bytes()
}

/// The description of a table.
pub fn table(table: &OndaTable) -> Node {
    let schema = &table.arrow.schema;
    let metadata = schema
        .metadata
        .iter()
        .map(|(key, value)| Node::map([("key", Node::text(key)), ("value", Node::text(value))]));
    let columns = schema.fields.iter().map(|field| {
        let extension = field.extension().map(|name| ("extension", Node::text(name)));
        let fixed = [
            ("name", Node::text(&field.name)),
            ("type", Node::text(&field.type_name())),
            ("nullable", Node::Bool(field.nullable)),
        ];
        Node::map(fixed.into_iter().chain(extension))
    });
    let rows = match table.identity.kind {
        TableKind::Signals { .. } => "signals",
        TableKind::Annotations => "annotations",
        TableKind::Other => "described only",
    };
    let problems = rules::table(table);
    let warnings = table.identity.notes.iter().map(String::as_str).chain(problems.iter().map(Problem::text));
    Node::map([
        // Without its directory, which is not a property of the table.
        ("file", Node::text(&table.source.path().file_name().unwrap_or_default().to_string_lossy())),
        ("container", Node::text(if table.arrow.is_stream { "Arrow stream" } else { "Arrow file" })),
        ("schema", Node::text(&table.identity.schema)),
        ("holds", Node::text(rows)),
        ("rows", Node::int(table.arrow.rows() as u64)),
        ("batches", Node::int(table.arrow.batches() as u64)),
        ("metadata", Node::seq(metadata)),
        ("columns", Node::seq(columns)),
        ("warnings", Node::seq(warnings.map(Node::text))),
    ])
}
