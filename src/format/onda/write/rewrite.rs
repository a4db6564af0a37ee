//! A table written anew in the form that Onda.jl writes today: signals of any version as `onda.signal@2`, annotations as
//! they are; columns of the user's own behind Onda's, with their values. Files of samples stay where they are, and
//! relative paths to them lead there from the new table too. Only rows that keep the rules are written: what breaks them
//! ends it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use arrow_schema::ArrowError;

use super::super::read::arrow::{ArrowType, Budget, Column, Problem, gathered, new_field};
use super::super::read::rules;
use super::super::read::samples::is_relative;
use super::super::read::schema::{FORMAT_VERSION, QUALIFIED, Sort};
use super::super::read::table::{Id, OndaTable, Signal, Span};
use super::canonical::{self, ANNOTATIONS, Columns, NewTable, Row, SIGNALS};
use crate::error::Place;
use crate::{Error, Result};

/// Rows of one batch.
const ROWS: usize = 1 << 16;
/// Onda's own columns of a batch take about so much memory: a batch ends with the row that goes beyond it.
const BATCH: usize = 64 << 20;
/// They may take so many times the file, or so much in any case: a short file can say one text many times.
const RATIO: u64 = 1024;
const ALWAYS: u64 = 1 << 30;

/// Writes rows of `table` to `file`, which will be at `path`. Returns what is not as it was.
pub fn rewrite(table: &OndaTable, rows: &[u32], path: &Path, file: &File) -> Result<Vec<String>> {
    let mut rewriting = Rewriting::new(table, path)?;
    let failed = |error: ArrowError| match error {
        ArrowError::IoError(_, cause) => Error::write(Place::file(path), cause),
        // Of values that contradict what their columns say.
        other => Error::damaged(table.source.place(), other.to_string()),
    };
    let (fields, custom) = rewriting.fields().map_err(|problem| problem.at(table.source.place()))?;
    let metadata = rewriting.metadata();
    let mut new = NewTable::create(file, fields, metadata).map_err(failed)?;
    let mut budget = Budget::of_file("the values of columns that are not Onda's take", table.source.len());
    let mut rest = rows;
    while !rest.is_empty() {
        let (own, count) = rewriting.own(rest)?;
        let mut arrays: Vec<_> = own.into_iter().map(|(_, array)| array).collect();
        let (batch, after) = rest.split_at(count);
        rest = after;
        for column in &custom {
            let values = gathered(*column, batch, &mut budget);
            let place = table.source.place();
            arrays.push(values.map_err(|problem| in_column(column, problem).at(place))?);
        }
        new.add(arrays).map_err(failed)?;
    }
    new.finish().map_err(failed)?;
    let lasting = rules::lasting(table, rows.iter().map(|row| *row as usize));
    Ok(lasting.iter().map(|problem| problem.text().to_owned()).chain(rewriting.notes()).collect())
}

fn in_column(column: &Column<'_>, problem: Problem) -> Problem {
    problem.within(format_args!("column {}", column.field.name))
}

pub struct Rewriting<'t> {
    table: &'t OndaTable,
    /// From the new table's directory to the old one's; empty: they are the same.
    back: PathBuf,
    /// Paths that count from another directory now.
    moved: usize,
    notes: Vec<String>,
    /// For Onda's own columns.
    pub budget: Budget,
}

impl<'t> Rewriting<'t> {
    pub fn new(table: &'t OndaTable, path: &Path) -> Result<Rewriting<'t>> {
        if table.identity.sort == Sort::Other {
            let problem = "only tables of signals or annotations are rewritten";
            return Err(Error::Unsupported { place: table.source.place(), problem: problem.into() });
        }
        let real = |path: &Path| {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or(Path::new("."));
            directory.canonicalize().map_err(|cause| Error::open(directory, cause))
        };
        let back = way(&real(path)?, &real(table.source.path())?);
        let most = table.source.len().saturating_mul(RATIO).max(ALWAYS);
        let budget = Budget::new("Onda's own columns take", most);
        Ok(Rewriting { table, back, moved: 0, notes: Vec::new(), budget })
    }

    fn is_signals(&self) -> bool {
        self.table.identity.sort != Sort::Annotations
    }

    /// All columns as they are to be, and those of the user's own as they are.
    fn fields(&mut self) -> Result<(Vec<arrow_schema::Field>, Vec<Column<'t>>), Problem> {
        let own = if self.is_signals() {
            canonical::signals(&[])?
        } else {
            annotations(&[], self.table.has_sources().then_some(&[][..]))?
        };
        let mut fields: Vec<_> = own.into_iter().map(|(field, _)| field).collect();
        let is_first = self.table.identity.sort == (Sort::Signals { version: 1 });
        let mut custom = Vec::new();
        for column in self.table.arrow.columns() {
            let name = column.field.name.as_str();
            let new = fields.iter_mut().find(|field| field.name() == name);
            match new {
                Some(_) if is_first && matches!(name, "sensor_type" | "sensor_label") => {
                    let problem =
                        format!("column {name}: clashes with the column that kind becomes: rename it");
                    return Err(Problem::unsupported(problem));
                }
                // Its texts may be of a type of their own, as those of S3 are.
                Some(field) if name == "file_path" => {
                    field.set_metadata(column.field.metadata.iter().cloned().collect::<HashMap<_, _>>());
                }
                Some(_) => {}
                None if is_first && name == "kind" => {}
                None => custom.push(column),
            }
        }
        for column in &custom {
            fields.push(new_field(column.field).map_err(|problem| in_column(column, problem))?);
            if column.field.dictionary.is_some() {
                self.notes.push(format!(
                    "column {}: its values are written as they are, without a dictionary",
                    column.field.name
                ));
            }
        }
        Ok((fields, custom))
    }

    /// All that was said, with the schema of today.
    fn metadata(&mut self) -> HashMap<String, String> {
        let old = &self.table.arrow.schema;
        let (needed, chain) =
            if self.is_signals() { ("onda.signal@2", SIGNALS) } else { (ANNOTATIONS, ANNOTATIONS) };
        let mut new: HashMap<String, String> = old.metadata.iter().cloned().collect();
        new.remove(FORMAT_VERSION);
        let said = old.metadata(QUALIFIED);
        if !said.is_some_and(|said| said.split('>').any(|part| part == needed)) {
            if let Some(child) = said.and_then(|said| said.split('>').next())
                && !child.starts_with("onda.")
            {
                self.notes.push(format!(
                    "its schema {child} is not one of {needed}: it is called {needed} alone, its columns are all there"
                ));
            }
            new.insert(QUALIFIED.into(), chain.into());
        }
        new
    }

    /// Onda's columns for a batch of the first of these rows, and how many of them these are.
    pub fn own(&mut self, rows: &[u32]) -> Result<(Columns, usize)> {
        let table = self.table;
        let mut count = rows.len().min(ROWS);
        let rows = rows.iter().take(count).map(|row| *row as usize);
        let made = if self.is_signals() {
            let signals = self.signals(rows)?;
            count = signals.len();
            canonical::signals(&signals)
        } else {
            self.annotations(rows).map(|(columns, made)| {
                count = made;
                columns
            })
        };
        Ok((made.map_err(|problem| problem.at(table.source.place()))?, count))
    }

    /// The first of these rows: as many as a batch has room for.
    fn signals(&mut self, rows: impl Iterator<Item = usize>) -> Result<Vec<Row>> {
        let (mut signals, mut bytes) = (Vec::new(), 0);
        for row in rows {
            let signal = self.signal(row)?;
            let len = canonical::len(&signal);
            self.budget.take(len).map_err(|problem| problem.at(self.table.source.place()))?;
            signals.push(signal);
            bytes += len;
            if bytes > BATCH {
                break;
            }
        }
        Ok(signals)
    }

    /// As `signals`, as columns.
    fn annotations(&mut self, rows: impl Iterator<Item = usize>) -> Result<(Columns, usize), Problem> {
        let (table, is_merged) = (self.table, self.table.has_sources());
        let (mut made, mut sources, mut bytes) = (Vec::new(), Vec::new(), 0);
        for row in rows {
            first(row, rules::damaged(rules::annotation(table, row)))?;
            let missing = || wrong(row, Problem::damaged("is not complete"));
            let ids = table.id("recording", row)?.zip(table.id("id", row)?).ok_or_else(missing)?;
            made.push((ids.0, ids.1, table.span(row)?.ok_or_else(missing)?));
            if is_merged {
                let of_row = rules::sources(table, row, &mut self.budget);
                let of_row: Vec<Id> = of_row.map_err(|problem| wrong(row, problem))?;
                bytes += size_of_val(of_row.as_slice());
                sources.push(of_row);
            }
            if bytes > BATCH {
                break;
            }
        }
        let columns = annotations(&made, is_merged.then_some(sources.as_slice()))?;
        Ok((columns, made.len()))
    }

    fn signal(&mut self, row: usize) -> Result<Row> {
        let table = self.table;
        let right = || -> Result<Row, Problem> {
            first(row, rules::signal(table, row))?;
            exact(table, row)?;
            let signal = table.signal(row)?;
            let sensor_type = signal.sensor_type.filter(|_| table.label_column() != "kind");
            let signal = Signal { sensor_type: sensor_type.or(signal.label.clone()), ..signal };
            Ok((signal, table.channel_names(row)?))
        };
        let (mut signal, channels) = right().map_err(|problem| problem.at(table.source.place()))?;
        if let Some(path) = signal.path.as_mut()
            && !self.back.as_os_str().is_empty()
            && is_relative(path)
        {
            let moved = self.back.join(&path).into_os_string().into_string();
            *path = moved.map_err(|_| {
                let problem =
                    "the path from the new table to the old one is not UTF-8, which a table cannot hold";
                Error::write(table.source.place(), io::Error::other(problem))
            })?;
            self.moved += 1;
        }
        Ok((signal, channels))
    }

    fn notes(mut self) -> Vec<String> {
        if self.moved > 0 {
            let back = self.back.display();
            let paths =
                if self.moved == 1 { "1 path leads".into() } else { format!("{} paths lead", self.moved) };
            let outside = match self.back.components().next() {
                Some(Component::ParentDir) => {
                    ", outside of the new table's directory: they are opened with --follow-outside"
                }
                _ => "",
            };
            self.notes.push(format!("files of samples stay where they are: {paths} to {back} now{outside}"));
        }
        self.notes
    }
}

/// Onda's columns; merged annotations have what each was made of.
fn annotations(rows: &[(Id, Id, Span)], sources: Option<&[Vec<Id>]>) -> Result<Columns, Problem> {
    let mut columns = canonical::annotations(rows)?;
    columns.extend(sources.map(canonical::sources).transpose()?);
    Ok(columns)
}

/// Fails with the first thing that is wrong with a row.
fn first(row: usize, wrongs: impl IntoIterator<Item = Problem>) -> Result<(), Problem> {
    wrongs.into_iter().next().map_or(Ok(()), |problem| Err(wrong(row, problem)))
}

fn wrong(row: usize, problem: Problem) -> Problem {
    match problem.within(format_args!("row {row}")) {
        Problem::Damaged(problem) => Problem::damaged(format!(
            "{problem}; only rows that keep Onda's rules are written (rab verify names all that do not)"
        )),
        limit => limit,
    }
}

/// Integers of old tables are float64 now.
fn exact(table: &OndaTable, row: usize) -> Result<(), Problem> {
    for name in ["sample_resolution_in_unit", "sample_offset_in_unit", "sample_rate"] {
        let Some(column) = table.column(name).filter(|column| matches!(column.field.kind, ArrowType::Int(_)))
        else {
            continue;
        };
        let int = column.value(row)?.and_then(|value| value.int());
        if let Some(int) = int.filter(|int| *int as f64 as i128 != *int) {
            return Err(Problem::unsupported(format!(
                "row {row}: {name} is {int}, which float64 cannot hold"
            )));
        }
    }
    Ok(())
}

/// The relative path from one directory to another, both without links; empty if they are the same.
fn way(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(shared)).collect();
    // A name with a colon would be taken for the scheme of a URI.
    match way.to_str().is_some_and(|way| way.split('/').next().is_some_and(|name| name.contains(':'))) {
        true => Path::new(".").join(way),
        false => way,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways() {
        for (from, to, expected) in [
            ("/a/b", "/a/b", ""),
            ("/a", "/a/b/c", "b/c"),
            ("/a/b", "/a", ".."),
            ("/a/b", "/a/c", "../c"),
            ("/a", "/a/s3:/x", "./s3:/x"),
            ("/a/b", "/", "../.."),
        ] {
            assert_eq!(way(Path::new(from), Path::new(to)), Path::new(expected), "{from} {to}");
        }
    }
}
