//! The tables opened together, as numbered datasets: signals in row order, then the annotations of each recording, then
//! the description of each table.
//! ```text
//! <recording>/<label>               duplicates: <label>@<start>, then with ~2, ~3, ...
//! <recording>/annotations.csv       annotations.jsonl for tables with nested columns
//! tables/<table>.meta.yaml
//! ```

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::arrow::{ArrowType, Budget};
use super::decoded::DecodedFiles;
use super::samples::{self, Data};
use super::schema::TableKind;
use super::table::{Id, OndaTable, Signal, shown};
use crate::error::{Place, Row};
use crate::format::Context;
use crate::source::Siblings;
use crate::tree::NameList;
use crate::{Error, Result};

/// Cached locations of signals' data; each takes about a kilobyte.
const MAX_CACHED: NonZeroUsize = NonZeroUsize::new(8192).unwrap();

pub struct Set {
    pub tables: Vec<OndaTable>,
    /// Indexed by dataset number.
    pub signals: Vec<RowRef>,
    pub annotations: Vec<RowRef>,
    pub recordings: Vec<Recording>,
    /// Datasets after the signals.
    pub texts: Vec<TextDataset>,
    pub names: NameList,
    siblings: Vec<Siblings>,
    decoded: DecodedFiles,
    recent: Mutex<LruCache<u32, Arc<Data>>>,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct RowRef {
    pub table: u32,
    pub row: u32,
    /// Index into `Set::recordings`.
    pub recording: u32,
}

/// A recording, with indices of its signals and annotations in the set.
pub struct Recording {
    pub id: Option<Id>,
    pub signals: Vec<u32>,
    pub annotations: Vec<u32>,
}

/// A text dataset generated from rows.
#[derive(Clone, Copy, Debug)]
pub enum TextDataset {
    Annotations { recording: u32, nested: bool },
    Table(u32),
}

impl Set {
    pub fn open(context: Context) -> Result<Set> {
        let decoded = DecodedFiles::new(context.engine.clone(), context.options.decoders.clone());
        let sources = [vec![context.source.clone()], context.others.clone()].concat();
        let (mut tables, mut siblings) = (Vec::new(), Vec::new());
        for source in sources {
            siblings.push(Context { source: source.clone(), ..context.clone() }.siblings());
            tables.push(OndaTable::open(source, &context.options)?);
        }
        let mut set = Set {
            tables,
            signals: Vec::new(),
            annotations: Vec::new(),
            recordings: Vec::new(),
            texts: Vec::new(),
            names: NameList::default(),
            siblings,
            decoded,
            recent: Mutex::new(LruCache::sparse(MAX_CACHED)),
        };
        set.collect_rows()?;
        set.assign_names()?;
        Ok(set)
    }

    fn collect_rows(&mut self) -> Result<()> {
        let mut known: HashMap<Option<Id>, u32> = HashMap::new();
        for (at, table) in (0u32..).zip(&self.tables) {
            if table.identity.kind == TableKind::Other {
                continue;
            }
            for row in 0..table.arrow.rows() {
                let id = table.id("recording", row).unwrap_or_default();
                let recording = *known.entry(id).or_insert_with(|| {
                    self.recordings.push(Recording { id, signals: Vec::new(), annotations: Vec::new() });
                    self.recordings.len() as u32 - 1
                });
                let (is_signal, place) = (table.identity.kind != TableKind::Annotations, recording as usize);
                let list = if is_signal { &mut self.signals } else { &mut self.annotations };
                let number = u32::try_from(list.len()).ok().filter(|number| *number < MAX_ROWS);
                let number = number.ok_or_else(|| {
                    let problem = format!("the tables have more than {MAX_ROWS} rows");
                    Error::Unsupported { place: table.source.place(), problem }
                })?;
                list.push(RowRef { table: at, row: row as u32, recording });
                if let Some(recording) = self.recordings.get_mut(place) {
                    let list = if is_signal { &mut recording.signals } else { &mut recording.annotations };
                    list.push(number);
                }
            }
        }
        Ok(())
    }

    fn assign_names(&mut self) -> Result<()> {
        self.check_labels()?;
        let mut names = NameList::default();
        let mut taken = HashSet::new();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let labels: Vec<String> = self.signals.iter().map(|row| self.label(*row)).collect();
        let mut pieces: HashMap<(u32, &str), u32> = HashMap::new();
        for (row, label) in self.signals.iter().zip(&labels) {
            *pieces.entry((row.recording, label)).or_default() += 1;
        }
        let mut push = |plain: String| {
            let mut name = plain.clone();
            while !taken.insert(name.clone()) {
                let number = numbers.entry(plain.clone()).or_insert(1);
                *number += 1;
                name = format!("{plain}~{number}");
            }
            names.push(name.as_bytes());
        };
        for (row, label) in self.signals.iter().zip(&labels) {
            let recording = self.recordings.get(row.recording as usize).and_then(|recording| recording.id);
            let is_duplicate = pieces.get(&(row.recording, label.as_str())).is_some_and(|count| *count > 1);
            let start =
                self.tables.get(row.table as usize).and_then(|table| table.span(row.row as usize).ok()?);
            push(match (is_duplicate, start) {
                (true, Some(span)) => format!("{}/{label}@{}", shown(recording), span.start),
                (true, None) => format!("{}/{label}@null", shown(recording)),
                (false, _) => format!("{}/{label}", shown(recording)),
            });
        }
        let nests: Vec<bool> = self.tables.iter().map(nests).collect();
        for (at, recording) in (0u32..).zip(&self.recordings) {
            for nested in [false, true] {
                let of_kind = |number: &u32| {
                    let row = self.annotations.get(*number as usize);
                    row.is_some_and(|row| nests.get(row.table as usize) == Some(&nested))
                };
                if recording.annotations.iter().any(of_kind) {
                    let extension = if nested { "jsonl" } else { "csv" };
                    push(format!("{}/annotations.{extension}", shown(recording.id)));
                    self.texts.push(TextDataset::Annotations { recording: at, nested });
                }
            }
        }
        for (at, table) in (0u32..).zip(&self.tables) {
            push(format!("tables/{}.meta.yaml", table.name()));
            self.texts.push(TextDataset::Table(at));
        }
        self.names = names;
        Ok(())
    }

    /// Limits the total length of labels: a short file can refer to a long label in every row.
    fn check_labels(&self) -> Result<()> {
        let mut budget = Budget::new("the labels of signals have in all", MAX_LABELS);
        for row in &self.signals {
            let Some(table) = self.tables.get(row.table as usize) else { continue };
            let label = table.text(table.label_column(), row.row as usize);
            let len = label.ok().flatten().map_or(0, str::len);
            budget.take(len).map_err(|problem| problem.at(table.source.place()))?;
        }
        Ok(())
    }

    /// A signal's name within its recording.
    fn label(&self, row: RowRef) -> String {
        let label = self.tables.get(row.table as usize).and_then(|table| {
            let label = table.text(table.label_column(), row.row as usize);
            label.ok().flatten().map(str::to_owned)
        });
        label.unwrap_or_else(|| "null".into())
    }

    pub fn len(&self) -> usize {
        self.signals.len() + self.texts.len()
    }

    /// The table and row of the signal with this dataset number.
    pub fn signal(&self, number: u32) -> Option<(&OndaTable, usize)> {
        let row = self.signals.get(number as usize)?;
        Some((self.tables.get(row.table as usize)?, row.row as usize))
    }

    /// The table and row of an annotation.
    pub fn annotation(&self, number: u32) -> Option<(&OndaTable, usize)> {
        let row = self.annotations.get(number as usize)?;
        Some((self.tables.get(row.table as usize)?, row.row as usize))
    }

    /// The text dataset with this number; None for signals.
    pub fn text(&self, number: u32) -> Option<TextDataset> {
        self.texts.get((number as usize).checked_sub(self.signals.len())?).copied()
    }

    pub fn raw_name(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).unwrap_or_default()
    }

    pub fn shown_name(&self, number: u32) -> String {
        String::from_utf8_lossy(self.raw_name(number)).into_owned()
    }

    /// The table's file and the dataset's name, for messages.
    pub fn place(&self, number: u32) -> Place {
        let table = match self.text(number) {
            Some(TextDataset::Table(at)) => self.tables.get(at as usize),
            _ => self.signal(number).map(|(table, _)| table),
        };
        let table = table.or(self.tables.first());
        let place = table.map_or(Place::default(), |table| table.source.place());
        Place { row: self.row_of(number).map(Box::new), ..place.dataset(&self.shown_name(number)) }
    }

    /// The row of a signal.
    pub fn row_of(&self, number: u32) -> Option<Row> {
        let (table, row) = self.signal(number)?;
        Some(Row { table: table.source.path().to_owned(), number: row as u64 })
    }

    /// Absolute path of a signal's sample file, existing or not; None if the row does not give a local path.
    pub fn path(&self, number: u32) -> Option<PathBuf> {
        let (table, row) = self.signal(number)?;
        let directory = table.location.parent().unwrap_or(Path::new(""));
        samples::path(table.text("file_path", row).ok()??, directory).ok()
    }

    /// The typed row of a signal.
    pub fn row(&self, number: u32) -> Result<Signal> {
        let (table, row) = self.signal(number).ok_or(Error::NotFound)?;
        table.signal(row).map_err(|problem| problem.at(self.place(number)))
    }

    /// A signal's data, cached. Failures are not cached: a missing file is looked for again next time.
    pub fn data(&self, number: u32) -> Result<Arc<Data>> {
        if let Some(known) = self.recent.lock().get(&number) {
            return Ok(known.clone());
        }
        let place = self.signals.get(number as usize).ok_or(Error::NotFound)?;
        let siblings = self.siblings.get(place.table as usize).ok_or(Error::NotFound)?;
        let found = Arc::new(Data::find(&self.row(number)?, siblings, &self.decoded, &self.place(number))?);
        // If another thread was faster, its result is kept.
        Ok(self.recent.lock().get_or_insert(number, || found).clone())
    }

    pub fn data_if_known(&self, number: u32) -> Option<Arc<Data>> {
        self.recent.lock().get(&number).cloned()
    }

    pub fn memory(&self) -> u64 {
        let rows = self.signals.len() + self.annotations.len();
        self.tables.iter().map(|table| table.arrow.memory).sum::<u64>() + 200 * rows as u64
    }
}

/// Maximum number of rows of signals, and of annotations.
const MAX_ROWS: u32 = 100_000_000;
/// Maximum total bytes of labels of all signals.
const MAX_LABELS: u64 = 64 << 20;

/// True if the user's columns of a table of annotations are nested, which CSV cannot represent.
pub fn nests(table: &OndaTable) -> bool {
    let onda_columns = ["recording", "id", "span"];
    table.arrow.schema.fields.iter().any(|field| {
        let is_nested = matches!(
            field.kind,
            ArrowType::List { .. }
                | ArrowType::ListView { .. }
                | ArrowType::FixedList(_)
                | ArrowType::Struct
                | ArrowType::Map
                | ArrowType::Union { .. }
        );
        is_nested && !onda_columns.contains(&field.name.as_str())
    })
}
