//! An Onda table with typed access to its rows. Invalid rows are errors only when they are accessed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arrow::{ArrowType, Budget, Column, Field, Items, Problem, Table, Value, hex, messages, uuid};
use super::schema::{Identity, Refusal, TableKind, identify, is_list_of_ids, mentions_onda};
use crate::format::{HEAD, Options};
use crate::source::Source;
use crate::yaml::Node;
use crate::{Error, Result};

pub struct OndaTable {
    pub source: Arc<dyn Source>,
    /// Its absolute path.
    pub location: PathBuf,
    pub arrow: Table,
    pub identity: Identity,
    /// By column: true if it has UUIDs stored little-endian (Julia's byte order).
    is_reversed: Vec<bool>,
}

/// UUID of a recording or annotation, big-endian as in RFC 4122.
pub type Id = u128;

/// A half-open time span in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: i128,
    pub stop: i128,
}

/// A row of signals. Nulls are None.
#[derive(Clone, Debug, Default)]
pub struct Signal {
    pub recording: Option<Id>,
    pub path: Option<String>,
    pub format: Option<String>,
    pub span: Option<Span>,
    /// `sensor_label`, or `kind`.
    pub label: Option<String>,
    /// `sensor_type`, if the table has it.
    pub sensor_type: Option<String>,
    /// Number of channels.
    pub channels: usize,
    pub unit: Option<String>,
    pub resolution: Option<f64>,
    pub offset: Option<f64>,
    pub sample_type: Option<String>,
    pub rate: Option<f64>,
}

/// The names of a signal's channels.
pub type Channels = Vec<Option<String>>;

impl OndaTable {
    pub fn open(source: Arc<dyn Source>, options: &Options) -> Result<OndaTable> {
        let foreign = |problem: &str| {
            let found =
                format!("is an Arrow file, but not an Onda table: {problem}: use pyarrow, polars or duckdb");
            Error::NotAContainer { file: source.path().to_owned(), found }
        };
        let messages = match messages(&*source) {
            // With an unreadable schema, only the file's name and text can identify it as Onda's.
            Err(Error::Damaged { problem, .. } | Error::Unsupported { problem, .. })
                if options.format.is_none() && !looks_like_onda(&*source)? =>
            {
                return Err(foreign(&problem));
            }
            messages => messages?,
        };
        let identity = match identify(&messages.schema, options.format.is_some()) {
            Ok(identity) => identity,
            Err(Refusal::Problem(problem)) => return Err(problem.at(source.place())),
            Err(Refusal::Foreign(problem)) => return Err(foreign(&problem)),
        };
        let arrow = Table::read(&*source, messages)?;
        let location = resolved(source.path());
        let mut table = OndaTable { source, location, arrow, identity, is_reversed: Vec::new() };
        for number in 0..table.arrow.schema.fields.len() {
            let is_reversed = table.detect_uuid_order(number);
            table.is_reversed.push(is_reversed);
        }
        Ok(table)
    }

    /// File name without extension.
    pub fn name(&self) -> String {
        let name = self.source.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_suffix(".arrow").map(str::to_owned).unwrap_or(name)
    }

    pub fn column(&self, name: &str) -> Option<Column<'_>> {
        self.arrow.column(self.arrow.schema.position(name)?)
    }

    fn value(&self, name: &str, row: usize) -> Result<Option<Value<'_>>, Problem> {
        let column =
            self.column(name).ok_or_else(|| Problem::damaged(format!("there is no column {name}")))?;
        column.value(row).map_err(|problem| in_column(name, problem))
    }

    /// True if a column has UUIDs in reverse byte order. Julia writes them as little-endian integers. Without an
    /// extension type they are in RFC 4122 order, unless the version digits make sense only in reverse.
    fn detect_uuid_order(&mut self, number: usize) -> bool {
        let Some(column) = self.arrow.column(number) else { return false };
        if !is_uuid(column.field) {
            return false;
        }
        match column.field.extension() {
            Some("JuliaLang.UUID") => return true,
            Some("arrow.uuid") => return false,
            _ => {}
        }
        let (mut forward, mut backward) = (true, true);
        for row in 0..self.arrow.rows().min(SAMPLED_ROWS) {
            let Ok(Some(value)) = column.value(row) else { continue };
            let Some(bytes) = value.bytes().ok().and_then(|bytes| <[u8; 16]>::try_from(bytes).ok()) else {
                continue;
            };
            forward &= is_random(u128::from_be_bytes(bytes));
            backward &= is_random(u128::from_le_bytes(bytes));
        }
        let is_reversed = backward && !forward && self.arrow.rows() > 0;
        if is_reversed && matches!(column.field.name.as_str(), "recording" | "id") {
            let warning = format!(
                "column {}: no extension type tells the order of its UUIDs' bytes; their version digits say that it is Julia's, reversed",
                column.field.name
            );
            self.identity.notes.push(warning);
        }
        is_reversed
    }

    pub fn is_reversed(&self, column: usize) -> bool {
        self.is_reversed.get(column).copied().unwrap_or_default()
    }

    pub fn id(&self, name: &str, row: usize) -> Result<Option<Id>, Problem> {
        let Some(value) = self.value(name, row)? else { return Ok(None) };
        self.read_id(name, &value, self.has_reversed(name)).map(Some)
    }

    fn has_reversed(&self, name: &str) -> bool {
        self.arrow.schema.position(name).is_some_and(|number| self.is_reversed(number))
    }

    fn read_id(&self, name: &str, value: &Value<'_>, is_reversed: bool) -> Result<Id, Problem> {
        let bytes = value.bytes().map_err(|problem| in_column(name, problem))?;
        let bytes = bytes.try_into().map_err(|_| {
            Problem::damaged(format!("column {name}: a UUID has 16 bytes, this has {}", bytes.len()))
        })?;
        Ok(if is_reversed { u128::from_le_bytes(bytes) } else { u128::from_be_bytes(bytes) })
    }

    /// True if there is a valid column `from` of merged annotations.
    pub fn has_sources(&self) -> bool {
        self.identity.is_merged() && self.column("from").is_some_and(|column| is_list_of_ids(column.field))
    }

    /// The ids from which an annotation was merged. Without an extension type, their byte order is that of `id`. The
    /// budget is needed because a short file can refer to a long list many times.
    pub fn sources(&self, row: usize, budget: &mut Budget) -> Result<Option<Vec<Option<Id>>>, Problem> {
        let Some(value) = self.value("from", row)? else { return Ok(None) };
        let items = value.list().map_err(|problem| in_column("from", problem))?;
        budget.take(items.len().saturating_mul(size_of::<Option<Id>>()))?;
        let is_reversed = match items.field.extension() {
            Some("JuliaLang.UUID") => true,
            Some("arrow.uuid") => false,
            _ if self.column("id").is_some() => self.has_reversed("id"),
            _ => self.has_reversed("recording"),
        };
        let id = |item: Result<Option<Value<'_>>, Problem>| {
            item?.map(|value| self.read_id("from", &value, is_reversed)).transpose()
        };
        items.iter().map(id).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// The ids in `from` as UUIDs; None if they are not valid or too many.
    fn shown_sources(&self, row: usize) -> Option<Node> {
        let mut budget = Budget::new("the ids of from have", MAX_SOURCES * size_of::<Option<Id>>() as u64);
        let ids = self.sources(row, &mut budget).ok()??;
        Some(Node::seq(ids.into_iter().map(|id| match id {
            Some(_) => Node::text(&shown(id)),
            None => Node::Null,
        })))
    }

    pub fn text(&self, name: &str, row: usize) -> Result<Option<&str>, Problem> {
        let value = self.value(name, row)?;
        value.map(|value| value.text().map_err(|problem| in_column(name, problem))).transpose()
    }

    fn number(&self, name: &str, row: usize) -> Result<Option<f64>, Problem> {
        let number = |value: Value<'_>| {
            let int = || value.int().map(|int| int as f64);
            value
                .float()
                .or_else(int)
                .ok_or_else(|| Problem::damaged(format!("column {name}: expected a number")))
        };
        self.value(name, row)?.map(number).transpose()
    }

    pub fn span(&self, row: usize) -> Result<Option<Span>, Problem> {
        let Some(value) = self.value("span", row)? else { return Ok(None) };
        let edge = |name| -> Result<Option<i128>, Problem> {
            let Some(edge) = value.child(name)? else { return Ok(None) };
            let unit = if let ArrowType::Duration(unit) = edge.field.kind { unit.0.into() } else { 1 };
            Ok(edge.int().map(|count| count * unit))
        };
        Ok(edge("start")?.zip(edge("stop")?).map(|(start, stop)| Span { start, stop }))
    }

    /// The column with the labels of signals.
    pub fn label_column(&self) -> &'static str {
        if self.identity.kind == (TableKind::Signals { version: 1 }) { "kind" } else { "sensor_label" }
    }

    fn list_of_channels(&self, row: usize) -> Result<Option<Items<'_>>, Problem> {
        let Some(value) = self.value("channels", row)? else { return Ok(None) };
        match value.list()? {
            list if list.len() <= MAX_CHANNELS => Ok(Some(list)),
            list => {
                let count = list.len();
                Err(Problem::unsupported(format!("it has {count} channels, and the limit is {MAX_CHANNELS}")))
            }
        }
    }

    /// The number of channels of a signal.
    pub fn channels(&self, row: usize) -> Result<usize, Problem> {
        Ok(self.list_of_channels(row)?.map_or(0, |list| list.len()))
    }

    /// The name of one channel.
    pub fn channel(&self, row: usize, at: usize) -> Result<Option<&str>, Problem> {
        let Some(list) = self.list_of_channels(row)? else { return Ok(None) };
        list.get(at)?.map(|item| item.text()).transpose()
    }

    /// The names of all channels. Their total length is limited: a short file can refer to a long name many times.
    pub fn channel_names(&self, row: usize) -> Result<Channels, Problem> {
        let Some(list) = self.list_of_channels(row)? else { return Ok(Vec::new()) };
        let mut budget = Budget::new("the names of its channels have", MAX_NAMES);
        let name = |item: Result<Option<Value<'_>>, Problem>| {
            let name = item?.map(|item| item.text()).transpose()?;
            budget.take(name.map_or(0, str::len))?;
            Ok(name.map(str::to_owned))
        };
        list.iter().map(name).collect()
    }

    pub fn signal(&self, row: usize) -> Result<Signal, Problem> {
        let text = |name| Ok(self.text(name, row)?.map(str::to_owned));
        let has_sensor = self.column("sensor_type").is_some();
        Ok(Signal {
            recording: self.id("recording", row)?,
            path: text("file_path")?,
            format: text("file_format")?,
            span: self.span(row)?,
            label: text(self.label_column())?,
            sensor_type: if has_sensor { text("sensor_type")? } else { None },
            channels: self.channels(row)?,
            unit: text("sample_unit")?,
            resolution: self.number("sample_resolution_in_unit", row)?,
            offset: self.number("sample_offset_in_unit", row)?,
            sample_type: text("sample_type")?,
            rate: self.number("sample_rate", row)?,
        })
    }

    /// Limit for showing one row: twice the file's size, but at least `MAX_SHOWN`.
    pub fn room(&self) -> Budget {
        Budget::new("what is to be shown of it takes", self.source.len().saturating_mul(2).max(MAX_SHOWN))
    }

    /// A value as YAML. Errors name row and column.
    pub fn node(
        &self,
        column: Column<'_>,
        number: usize,
        row: usize,
        room: &mut Budget,
    ) -> Result<Node, Problem> {
        self.shown(column, number, row, &mut |value| value.node(room))
            .map_err(|problem| in_row(row, column.field.name.as_str(), problem))
    }

    fn shown(
        &self,
        column: Column<'_>,
        number: usize,
        row: usize,
        show: &mut dyn FnMut(&Value<'_>) -> Result<Node, Problem>,
    ) -> Result<Node, Problem> {
        let Some(value) = column.value(row)? else { return Ok(Node::Null) };
        match column.field.kind {
            _ if is_id_column(column.field) && value.bytes()?.len() == 16 => {
                let bytes = value.bytes()?;
                let text = match self.is_reversed(number) {
                    true => uuid(bytes.iter().rev().copied()),
                    false => uuid(bytes.iter().copied()),
                };
                Ok(Node::text(&text))
            }
            _ if column.field.name == "from" && is_list_of_ids(column.field) => {
                let node = show(&value)?;
                Ok(self.shown_sources(row).unwrap_or(node))
            }
            _ => show(&value),
        }
    }

    /// The readable values of a row, and the problems of the others.
    pub fn row(&self, row: usize) -> (Node, Vec<Problem>) {
        let (mut room, mut problems) = (self.room(), Vec::new());
        let columns = self.arrow.columns().enumerate();
        let node =
            Node::map(columns.filter_map(
                |(number, column)| match self.node(column, number, row, &mut room) {
                    Ok(node) => Some((column.field.name.as_str(), node)),
                    Err(problem) => {
                        problems.push(problem);
                        None
                    }
                },
            ));
        (node, problems)
    }

    /// All values of a row, including those of long lists.
    pub fn whole_row(&self, row: usize) -> Result<Vec<Node>, Problem> {
        let mut room = self.room();
        let columns = self.arrow.columns().enumerate().map(|(number, column)| {
            let node = self.shown(column, number, row, &mut |value| value.whole(&mut room));
            node.map_err(|problem| in_row(row, &column.field.name, problem))
        });
        columns.collect()
    }

    /// Problems of unreadable values, in row order; at most `max`.
    pub fn unreadable(&self, max: usize) -> Vec<Problem> {
        let rows = (0..self.arrow.rows()).flat_map(|row| {
            let mut room = self.room();
            let node = move |(number, column)| self.node(column, number, row, &mut room).err();
            self.arrow.columns().enumerate().filter_map(node)
        });
        rows.take(max).collect()
    }

    /// The stored bytes of a UUID in hexadecimal.
    pub fn raw(&self, name: &str, row: usize) -> Option<String> {
        let value = self.value(name, row).ok()??;
        Some(hex(value.bytes().ok()?.iter().copied()))
    }
}

/// An absolute path, with symbolic links resolved in its directory.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let directory = absolute.parent().and_then(|parent| parent.canonicalize().ok());
    match (directory, absolute.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => absolute,
    }
}

/// True if the file's name or beginning suggests an Onda table.
fn looks_like_onda(source: &dyn Source) -> Result<bool> {
    let name = source.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let head = || source.read_range(0..source.len().min(HEAD as u64));
    Ok(name.contains(".onda.") || mentions_onda(&head()?))
}

/// True for the columns with ids of recordings and annotations.
fn is_id_column(field: &Field) -> bool {
    let is_bytes = matches!(
        field.stored().kind,
        ArrowType::FixedBinary(16) | ArrowType::Binary { .. } | ArrowType::BinaryView
    );
    is_bytes && matches!(field.name.as_str(), "recording" | "id")
}

fn is_uuid(field: &Field) -> bool {
    is_id_column(field) || field.kind == ArrowType::FixedBinary(16)
}

fn in_row(row: usize, column: &str, problem: Problem) -> Problem {
    problem.within(format_args!("row {row}, column {column}"))
}

/// Rows examined to detect the byte order of UUIDs.
const SAMPLED_ROWS: usize = 1000;
/// Maximum channels per signal, so that tree nodes can be numbered.
const MAX_CHANNELS: usize = 1_000_000;
/// Maximum total bytes of a signal's channel names.
const MAX_NAMES: u64 = 16 << 20;
/// Maximum ids in `from` shown as UUIDs.
const MAX_SOURCES: u64 = 4096;
/// Bytes of a row that may always be shown.
const MAX_SHOWN: u64 = 64 << 20;

/// True for UUIDs of version 4 and the RFC 4122 variant.
fn is_random(id: Id) -> bool {
    (id >> 76) & 15 == 4 && (id >> 62) & 3 == 2
}

fn in_column(name: &str, problem: Problem) -> Problem {
    problem.within(format_args!("column {name}"))
}

/// An id in RFC 4122 form; `null` for None.
pub fn shown(id: Option<Id>) -> String {
    id.map_or("null".into(), |id| uuid(id.to_be_bytes().into_iter()))
}
