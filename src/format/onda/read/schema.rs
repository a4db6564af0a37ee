//! Detects the kind of Onda table from its metadata, or else from its columns.
//!
//! | key of the metadata | example |
//! |---|---|
//! | `legolas_schema_qualified` | `mylab.eeg-signal@1>onda.signal@2>onda.samples-info@2`, child first |
//! | `onda_format_version` | `v0.5.0`; the kind depends on the columns |

use memchr::memmem;

use super::arrow::{ArrowType, Field, Problem, Schema};
use crate::error::shortened;

pub const QUALIFIED: &str = "legolas_schema_qualified";
pub const FORMAT_VERSION: &str = "onda_format_version";

/// What the rows describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Sample data, as `onda.signal@1` (with `kind`) or `onda.signal@2`.
    Signals {
        version: u8,
    },
    Annotations,
    /// Another of Onda's tables; only described.
    Other,
}

pub struct Identity {
    pub kind: TableKind,
    /// As shown in the sidecar.
    pub schema: String,
    /// Deviations from what Onda writes, and how they are interpreted.
    pub warnings: Vec<String>,
    /// Like `warnings`, for deviations that rewriting the table repairs.
    pub repairable: Vec<String>,
    /// What had to be inferred without metadata. Not problems.
    pub notes: Vec<String>,
}

impl Identity {
    /// True for merged annotations, whose column `from` lists the ids they were merged from.
    pub fn is_merged(&self) -> bool {
        self.kind == TableKind::Annotations && self.schema.split('>').any(|part| part == MERGED)
    }
}

/// Why a table is refused.
pub enum Refusal {
    /// Not one of Onda's tables.
    Foreign(String),
    Problem(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal::Problem(problem)
    }
}

const SHARED: [&str; 9] = [
    "recording",
    "file_path",
    "file_format",
    "span",
    "channels",
    "sample_unit",
    "sample_resolution_in_unit",
    "sample_offset_in_unit",
    "sample_type",
];
const MERGED: &str = "onda.merged-annotation@1";
const ANNOTATION: [&str; 3] = ["recording", "id", "span"];

/// True if the beginning of an Arrow file contains Onda's metadata keys or column names.
pub fn mentions_onda(head: &[u8]) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| memmem::find(head, word.as_bytes()).is_some());
    has(&[QUALIFIED, "onda."])
        || has(&[FORMAT_VERSION])
        || has(&["recording", "file_path", "file_format", "span", "sample_type", "sample_rate"])
}

/// With `by_columns` (the user has named the format), unknown metadata is only a warning, and the columns decide.
pub fn identify(schema: &Schema, by_columns: bool) -> Result<Identity, Refusal> {
    let mut identity = match (schema.metadata(QUALIFIED), schema.metadata(FORMAT_VERSION)) {
        (Some(qualified), _) => match named(qualified) {
            Err(Refusal::Foreign(problem)) if by_columns => {
                let mut identity = from_columns(schema, problem.clone())?;
                identity.warnings.push(problem);
                identity
            }
            Err(Refusal::Problem(problem)) if by_columns => {
                let mut identity = from_columns(schema, problem.text().into())?;
                identity.warnings.push(problem.text().into());
                identity
            }
            named => named?,
        },
        (None, Some(version)) => {
            if !matches!(
                version.strip_prefix('v').unwrap_or(version).split('.').collect::<Vec<_>>()[..],
                ["0", "5", ..]
            ) {
                let problem = format!("its Onda format is {version}; 0.5 and the schemas after it are read");
                return Err(Problem::unsupported(problem).into());
            }
            let found = from_columns(schema, "its columns are not those of Onda's tables".into())?;
            Identity { schema: format!("Onda format {version}"), ..found }
        }
        (None, None) => {
            let mut found = from_columns(schema, "it has neither Onda's metadata nor its columns".into())?;
            found.notes.push(format!(
                "no metadata names a schema ({QUALIFIED}): it is taken for {} by its columns",
                found.schema
            ));
            found
        }
    };
    if let TableKind::Signals { version } = identity.kind {
        let found = signal_version(schema);
        match found {
            Some(found) if found != version => {
                identity.warnings.push(format!(
                    "its metadata says onda.signal@{version}, its columns are those of version {found}"
                ));
                identity.kind = TableKind::Signals { version: found };
            }
            _ => {}
        }
    }
    check_columns(schema, identity.kind)?;
    if identity.is_merged() && schema.position("from").is_none() {
        identity.warnings.push(format!("the column from, which {MERGED} needs, is missing"));
    }
    check_types(schema, &mut identity)?;
    Ok(identity)
}

/// The identity given by the schema identifiers in the metadata.
fn named(qualified: &str) -> Result<Identity, Refusal> {
    let mut kind = None;
    for part in qualified.split('>') {
        let (name, version) = parsed(part).ok_or_else(|| {
            Problem::damaged(format!(
                "its {QUALIFIED} is {qualified:?}, and {part:?} is not a name with a version"
            ))
        })?;
        let unknown = || {
            let problem = format!("its schema is {part}, which is not known here");
            Refusal::Problem(Problem::unsupported(problem))
        };
        match (name, version) {
            ("onda.signal", 1 | 2) => kind = Some(TableKind::Signals { version: version as u8 }),
            ("onda.annotation", 1) => kind = Some(TableKind::Annotations),
            ("onda.merged-annotation", 1) => {}
            ("onda.samples-info", 1 | 2) => kind = kind.or(Some(TableKind::Other)),
            (name, _) if name.starts_with("onda.") => return Err(unknown()),
            _ => {}
        }
    }
    let foreign = || Refusal::Foreign(format!("its schema is {qualified}, which is not one of Onda's"));
    Ok(Identity {
        kind: kind.ok_or_else(foreign)?,
        schema: qualified.into(),
        warnings: Vec::new(),
        repairable: Vec::new(),
        notes: Vec::new(),
    })
}

/// `name@version`.
fn parsed(part: &str) -> Option<(&str, u64)> {
    let (name, version) = part.split_once('@')?;
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    let version = version.parse().ok().filter(|_| version.bytes().all(|byte| byte.is_ascii_digit()))?;
    is_name.then_some((name, version))
}

fn from_columns(schema: &Schema, foreign: String) -> Result<Identity, Refusal> {
    let has = |names: &[&str]| names.iter().all(|name| schema.position(name).is_some());
    let kind = match signal_version(schema) {
        Some(version) if has(&SHARED) => TableKind::Signals { version },
        _ if has(&ANNOTATION) => TableKind::Annotations,
        _ => return Err(Refusal::Foreign(foreign)),
    };
    let name = match kind {
        TableKind::Signals { version } => format!("onda.signal@{version}"),
        _ => "onda.annotation@1".into(),
    };
    Ok(Identity { kind, schema: name, warnings: Vec::new(), repairable: Vec::new(), notes: Vec::new() })
}

/// The version of a table of signals, by the columns that differ.
fn signal_version(schema: &Schema) -> Option<u8> {
    let has = |name| schema.position(name).is_some();
    match (has("kind"), has("sensor_type") && has("sensor_label")) {
        (_, true) => Some(2),
        (true, false) => Some(1),
        (false, false) => None,
    }
}

fn check_columns(schema: &Schema, kind: TableKind) -> Result<(), Problem> {
    let needed: Vec<&str> = match kind {
        TableKind::Signals { version: 1 } => SHARED.into_iter().chain(["sample_rate", "kind"]).collect(),
        TableKind::Signals { .. } => {
            SHARED.into_iter().chain(["sample_rate", "sensor_type", "sensor_label"]).collect()
        }
        TableKind::Annotations => ANNOTATION.to_vec(),
        TableKind::Other => Vec::new(),
    };
    let missing: Vec<&str> = needed.into_iter().filter(|name| schema.position(name).is_none()).collect();
    match missing.as_slice() {
        [] => Ok(()),
        [one] => Err(Problem::damaged(format!("the column {one} is missing"))),
        several => Err(Problem::damaged(format!("the columns {} are missing", several.join(", ")))),
    }
}

/// Checks the columns' types.
fn check_types(schema: &Schema, identity: &mut Identity) -> Result<(), Problem> {
    let is_text = |kind: &ArrowType| matches!(kind, ArrowType::Text { .. } | ArrowType::TextView);
    if identity.kind == TableKind::Other {
        return Ok(());
    }
    let is_signal = identity.kind != TableKind::Annotations;
    let is_merged = identity.is_merged();
    let is_bytes = |kind: &ArrowType| matches!(kind, ArrowType::Binary { .. } | ArrowType::BinaryView);
    for field in &schema.fields {
        let found = field.stored();
        let inner = found.children.iter().map(|child| &child.stored().kind).collect::<Vec<_>>();
        let needed = match (field.name.as_str(), is_signal) {
            ("recording", _) | ("id", false) => match &found.kind {
                ArrowType::FixedBinary(16) => None,
                // Written by polars, which has no fixed-size binary type.
                kind if is_bytes(kind) => {
                    identity.repairable.push(format!(
                        "column {}: {} where Onda has fixed_size_binary[16] (rab convert writes it so)",
                        field.name,
                        field.type_name()
                    ));
                    None
                }
                _ => Some("a UUID as fixed_size_binary[16]"),
            },
            ("from", false) if is_merged => {
                if !is_list_of_ids(field) {
                    identity.warnings.push(format!(
                        "column from: {} where Onda has a list of fixed_size_binary[16]",
                        shortened(&field.type_name())
                    ));
                } else if inner.first().is_some_and(|kind| is_bytes(kind)) {
                    identity.repairable.push(format!(
                        "column from: {} where Onda has a list of fixed_size_binary[16] (rab convert writes it so)",
                        field.type_name()
                    ));
                }
                None
            }
            ("span", _) => {
                let part =
                    |name| found.children.iter().find(|child| child.name == name).map(|child| &child.kind);
                match (&found.kind, part("start"), part("stop")) {
                    (
                        ArrowType::Struct,
                        Some(ArrowType::Duration(start)),
                        Some(ArrowType::Duration(stop)),
                    ) => {
                        if (start.0, stop.0) != (1, 1) {
                            let unit = start.name();
                            identity.warnings.push(format!("column span: durations in {unit} where Onda has nanoseconds; they are converted"));
                        }
                        None
                    }
                    (ArrowType::Struct, Some(ArrowType::Int(_)), Some(ArrowType::Int(_))) => {
                        identity.warnings.push("column span: bare integers where Onda has durations; they are taken for nanoseconds".into());
                        None
                    }
                    _ => Some("a structure of the durations start and stop"),
                }
            }
            ("channels", true) => match (&found.kind, inner.as_slice()) {
                (ArrowType::List { .. } | ArrowType::ListView { .. } | ArrowType::FixedList(_), [item])
                    if is_text(item) =>
                {
                    None
                }
                _ => Some("a list of strings"),
            },
            // In version 2 it is a user's column.
            ("kind", true) if identity.kind == (TableKind::Signals { version: 2 }) => None,
            (
                "file_path" | "file_format" | "kind" | "sensor_type" | "sensor_label" | "sample_unit"
                | "sample_type",
                true,
            ) => {
                if is_text(&found.kind) {
                    None
                } else {
                    Some("a text")
                }
            }
            ("sample_resolution_in_unit" | "sample_offset_in_unit" | "sample_rate", true) => {
                match &found.kind {
                    ArrowType::Float(8) => None,
                    ArrowType::Float(_) | ArrowType::Int(_) => {
                        if identity.kind == (TableKind::Signals { version: 2 }) {
                            identity.warnings.push(format!(
                                "column {}: {} where Onda has float64",
                                field.name,
                                field.type_name()
                            ));
                        }
                        None
                    }
                    _ => Some("a number"),
                }
            }
            _ => None,
        };
        if let Some(needed) = needed {
            let problem =
                format!("column {}: expected {needed}, found {}", field.name, shortened(&field.type_name()));
            return Err(Problem::damaged(problem));
        }
    }
    Ok(())
}

pub fn is_list_of_ids(field: &Field) -> bool {
    let found = field.stored();
    let is_list =
        matches!(found.kind, ArrowType::List { .. } | ArrowType::ListView { .. } | ArrowType::FixedList(_));
    let is_id = |kind: &ArrowType| {
        matches!(kind, ArrowType::FixedBinary(16) | ArrowType::Binary { .. } | ArrowType::BinaryView)
    };
    is_list && matches!(found.children.as_slice(), [item] if is_id(&item.stored().kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(qualified: &str) -> Result<TableKind, String> {
        match named(qualified) {
            Ok(identity) => Ok(identity.kind),
            Err(Refusal::Foreign(problem)) => Err(problem),
            Err(Refusal::Problem(problem)) => Err(problem.text().into()),
        }
    }

    #[test]
    fn identifiers() {
        assert_eq!(kind("onda.signal@2>onda.samples-info@2"), Ok(TableKind::Signals { version: 2 }));
        assert_eq!(
            kind("my-lab.x@17>onda.signal@1>onda.samples-info@1"),
            Ok(TableKind::Signals { version: 1 })
        );
        assert_eq!(kind("onda.merged-annotation@1>onda.annotation@1"), Ok(TableKind::Annotations));
        assert_eq!(kind("onda.samples-info@2"), Ok(TableKind::Other));
        assert!(kind("onda.signal@3").unwrap_err().contains("onda.signal@3"));
        assert!(kind("other.thing@1").unwrap_err().contains("not one of Onda's"));
        for invalid in ["", "onda signal two", "onda.signal", "onda.signal@", "onda.signal@+2", "@1", "a@1>"]
        {
            assert!(kind(invalid).unwrap_err().contains("not a name with a version"), "{invalid}");
        }
    }
}
