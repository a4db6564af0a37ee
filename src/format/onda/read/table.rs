//! One table of Onda's and its rows, typed: signals and annotations. A row that makes no sense is an error of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arrow::{ArrowType, Budget, Column, Field, Items, Problem, Table, Value, hex, messages, uuid};
use super::schema::{Identity, Refusal, Sort, identify, is_list_of_ids, tells_of_onda};
use crate::format::{HEAD, Options};
use crate::source::Source;
use crate::yaml::Node;
use crate::{Error, Result};

pub struct OndaTable {
    pub source: Arc<dyn Source>,
    /// Its absolute path, however it was called when it was opened.
    pub location: PathBuf,
    pub arrow: Table,
    pub identity: Identity,
    /// Is this column of UUIDs stored the other way round? By the column's number.
    is_reversed: Vec<bool>,
}

/// A recording or an annotation: its UUID in the order that RFC 4122 writes.
pub type Id = u128;

/// From start to stop, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: i128,
    pub stop: i128,
}

/// A row of signals. What is null is None.
#[derive(Clone, Debug, Default)]
pub struct Signal {
    pub recording: Option<Id>,
    pub path: Option<String>,
    pub format: Option<String>,
    pub span: Option<Span>,
    /// `sensor_label`, or `kind`.
    pub label: Option<String>,
    /// `sensor_type`, where there is one.
    pub sensor_type: Option<String>,
    /// How many there are.
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
            // Nothing else tells whose it is.
            Err(Error::Damaged { problem, .. } | Error::Unsupported { problem, .. })
                if options.format.is_none() && !is_called_onda(&*source)? =>
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
        let location = located(source.path());
        let mut table = OndaTable { source, location, arrow, identity, is_reversed: Vec::new() };
        for number in 0..table.arrow.schema.fields.len() {
            let is_reversed = table.judge_order(number);
            table.is_reversed.push(is_reversed);
        }
        Ok(table)
    }

    /// The name of its file, without the extension.
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

    /// Julia copies UUIDs out of the memory of a little-endian machine. Where no extension type tells, they are in
    /// the order of RFC 4122, unless the version digits say otherwise.
    fn judge_order(&mut self, number: usize) -> bool {
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
        for row in 0..self.arrow.rows().min(LOOKED_AT) {
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

    /// Is there Onda's column of what merged annotations were made of?
    pub fn has_sources(&self) -> bool {
        self.identity.is_merged() && self.column("from").is_some_and(|column| is_list_of_ids(column.field))
    }

    /// The ids of the annotations that a merged one was made of. Where no extension type tells, their bytes are in the
    /// order of those in `id`. A short file can name a long list many times.
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

    /// The ids of `from` as those of `id` are shown; None where they are no ids, or too many.
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

    /// The column with a signal's label.
    pub fn label_column(&self) -> &'static str {
        if self.identity.sort == (Sort::Signals { version: 1 }) { "kind" } else { "sensor_label" }
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

    /// How many channels a signal has.
    pub fn channels(&self, row: usize) -> Result<usize, Problem> {
        Ok(self.list_of_channels(row)?.map_or(0, |list| list.len()))
    }

    /// The name of one channel, where it is stored.
    pub fn channel(&self, row: usize, at: usize) -> Result<Option<&str>, Problem> {
        let Some(list) = self.list_of_channels(row)? else { return Ok(None) };
        list.get(at)?.map(|item| item.text()).transpose()
    }

    /// The names of all: a short file can say a long one many times.
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

    /// What may be shown of one row: as much as the file may have, or what is not much.
    pub fn room(&self) -> Budget {
        Budget::new("what is to be shown of it takes", self.source.len().saturating_mul(2).max(MAX_SHOWN))
    }

    /// A value as YAML; what cannot be read is an error that names its row and column.
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
            _ if is_own_uuid(column.field) && value.bytes()?.len() == 16 => {
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

    /// Every column of a row that can be read, and what is wrong with the others.
    pub fn row(&self, row: usize) -> (Node, Vec<Problem>) {
        let (mut room, mut wrong) = (self.room(), Vec::new());
        let columns = self.arrow.columns().enumerate();
        let node =
            Node::map(columns.filter_map(
                |(number, column)| match self.node(column, number, row, &mut room) {
                    Ok(node) => Some((column.field.name.as_str(), node)),
                    Err(problem) => {
                        wrong.push(problem);
                        None
                    }
                },
            ));
        (node, wrong)
    }

    /// The value of every column of a row with all that is in it.
    pub fn whole_row(&self, row: usize) -> Result<Vec<Node>, Problem> {
        let mut room = self.room();
        let columns = self.arrow.columns().enumerate().map(|(number, column)| {
            let node = self.shown(column, number, row, &mut |value| value.whole(&mut room));
            node.map_err(|problem| in_row(row, &column.field.name, problem))
        });
        columns.collect()
    }

    /// What cannot be read of any column, by row; no more than `most`.
    pub fn unreadable(&self, most: usize) -> Vec<Problem> {
        let rows = (0..self.arrow.rows()).flat_map(|row| {
            let mut room = self.room();
            let node = move |(number, column)| self.node(column, number, row, &mut room).err();
            self.arrow.columns().enumerate().filter_map(node)
        });
        rows.take(most).collect()
    }

    /// The bytes of a UUID as they are stored, in hexadecimal digits.
    pub fn raw(&self, name: &str, row: usize) -> Option<String> {
        let value = self.value(name, row).ok()??;
        Some(hex(value.bytes().ok()?.iter().copied()))
    }
}

/// An absolute path whose directory is without links.
fn located(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let directory = absolute.parent().and_then(|parent| parent.canonicalize().ok());
    match (directory, absolute.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => absolute,
    }
}

/// Does its name say so, or what is near its beginning?
fn is_called_onda(source: &dyn Source) -> Result<bool> {
    let name = source.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let head = || source.read_range(0..source.len().min(HEAD as u64));
    Ok(name.contains(".onda.") || tells_of_onda(&head()?))
}

/// Of a recording or an annotation.
fn is_own_uuid(field: &Field) -> bool {
    let is_bytes = matches!(
        field.stored().kind,
        ArrowType::FixedBinary(16) | ArrowType::Binary { .. } | ArrowType::BinaryView
    );
    is_bytes && matches!(field.name.as_str(), "recording" | "id")
}

fn is_uuid(field: &Field) -> bool {
    is_own_uuid(field) || field.kind == ArrowType::FixedBinary(16)
}

fn in_row(row: usize, column: &str, problem: Problem) -> Problem {
    problem.within(format_args!("row {row}, column {column}"))
}

/// Rows that are looked at to find the order of bytes.
const LOOKED_AT: usize = 1000;
/// More channels have no place in the numbers of a tree.
const MAX_CHANNELS: usize = 1_000_000;
/// Bytes of the names of the channels of a signal.
const MAX_NAMES: u64 = 16 << 20;
/// Ids of `from` that are shown as such.
const MAX_SOURCES: u64 = 4096;
/// Bytes of a row that are shown in any case.
const MAX_SHOWN: u64 = 64 << 20;

/// Version 4, of the usual variant.
fn is_random(id: Id) -> bool {
    (id >> 76) & 15 == 4 && (id >> 62) & 3 == 2
}

fn in_column(name: &str, problem: Problem) -> Problem {
    problem.within(format_args!("column {name}"))
}

/// As RFC 4122 writes it; `null` for none.
pub fn shown(id: Option<Id>) -> String {
    id.map_or("null".into(), |id| uuid(id.to_be_bytes().into_iter()))
}
