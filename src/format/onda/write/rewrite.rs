//! Rewrites a table as current Onda.jl would: signals of any version as `onda.signal@2`, annotations unchanged, the
//! user's columns after Onda's. Sample files stay where they are; relative paths are adjusted to the new table's
//! location. An invalid row ends the rewrite with an error.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use arrow_schema::ArrowError;

use super::super::read::arrow::{ArrowType, Budget, Column, Problem, gathered, new_field};
use super::super::read::rules;
use super::super::read::samples::is_relative;
use super::super::read::schema::{FORMAT_VERSION, QUALIFIED, TableKind};
use super::super::read::table::{Id, OndaTable, Signal, Span};
use super::canonical::{self, ANNOTATIONS, Columns, NewTable, Row, SIGNALS};
use crate::error::Place;
use crate::{Error, Result};

/// Maximum rows per batch.
const BATCH_ROWS: usize = 1 << 16;
/// Memory of Onda's columns in a batch, which ends with the row that exceeds this.
const BATCH_BYTES: usize = 64 << 20;
/// Onda's columns may take `RATIO` times the file's size, or `ALWAYS` if that is more: a short file can refer to one
/// text many times.
const RATIO: u64 = 1024;
const ALWAYS: u64 = 1 << 30;

/// Writes rows of `table` to `file`, which will be at `path`. Returns notes about what changed or is still wrong.
pub fn rewrite(table: &OndaTable, rows: &[u32], path: &Path, file: &File) -> Result<Vec<String>> {
    let mut rewriting = Rewriting::new(table, path)?;
    let failed = |error: ArrowError| match error {
        ArrowError::IoError(_, cause) => Error::write(Place::file(path), cause),
        // Values that contradict their column's description.
        other => Error::damaged(table.source.place(), other.to_string()),
    };
    let (fields, custom) = rewriting.fields().map_err(|problem| problem.at(table.source.place()))?;
    let metadata = rewriting.metadata();
    let mut new = NewTable::create(file, fields, metadata).map_err(failed)?;
    let mut budget = Budget::of_file("the values of columns that are not Onda's take", table.source.len());
    let mut rest = rows;
    while !rest.is_empty() {
        let (columns, count) = rewriting.onda_columns(rest)?;
        let mut arrays: Vec<_> = columns.into_iter().map(|(_, array)| array).collect();
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
    let remaining = rules::remaining(table, rows.iter().map(|row| *row as usize));
    Ok(remaining.iter().map(|problem| problem.text().to_owned()).chain(rewriting.notes()).collect())
}

fn in_column(column: &Column<'_>, problem: Problem) -> Problem {
    problem.within(format_args!("column {}", column.field.name))
}

pub struct Rewriting<'t> {
    table: &'t OndaTable,
    /// Relative path from the new table's directory to the old one's; empty if they are the same.
    back: PathBuf,
    /// Number of adjusted sample paths.
    moved: usize,
    notes: Vec<String>,
    /// For Onda's columns.
    pub budget: Budget,
}

impl<'t> Rewriting<'t> {
    pub fn new(table: &'t OndaTable, path: &Path) -> Result<Rewriting<'t>> {
        if table.identity.kind == TableKind::Other {
            let problem = "only tables of signals or annotations are rewritten";
            return Err(Error::Unsupported { place: table.source.place(), problem: problem.into() });
        }
        let real = |path: &Path| {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or(Path::new("."));
            directory.canonicalize().map_err(|cause| Error::open(directory, cause))
        };
        let back = relative_path(&real(path)?, &real(table.source.path())?);
        let max = table.source.len().saturating_mul(RATIO).max(ALWAYS);
        let budget = Budget::new("Onda's own columns take", max);
        Ok(Rewriting { table, back, moved: 0, notes: Vec::new(), budget })
    }

    fn is_signals(&self) -> bool {
        self.table.identity.kind != TableKind::Annotations
    }

    /// All fields of the new table, and the user's columns of the old one.
    fn fields(&mut self) -> Result<(Vec<arrow_schema::Field>, Vec<Column<'t>>), Problem> {
        let onda_columns = if self.is_signals() {
            canonical::signals(&[])?
        } else {
            annotations(&[], self.table.has_sources().then_some(&[][..]))?
        };
        let mut fields: Vec<_> = onda_columns.into_iter().map(|(field, _)| field).collect();
        let is_version_1 = self.table.identity.kind == (TableKind::Signals { version: 1 });
        let mut custom = Vec::new();
        for column in self.table.arrow.columns() {
            let name = column.field.name.as_str();
            let new = fields.iter_mut().find(|field| field.name() == name);
            match new {
                Some(_) if is_version_1 && matches!(name, "sensor_type" | "sensor_label") => {
                    let problem =
                        format!("column {name}: clashes with the column that kind becomes: rename it");
                    return Err(Problem::unsupported(problem));
                }
                // It may have an extension type, for example for S3 paths.
                Some(field) if name == "file_path" => {
                    field.set_metadata(column.field.metadata.iter().cloned().collect::<HashMap<_, _>>());
                }
                Some(_) => {}
                None if is_version_1 && name == "kind" => {}
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

    /// The table's metadata with the current schema.
    fn metadata(&mut self) -> HashMap<String, String> {
        let old = &self.table.arrow.schema;
        let (needed, chain) =
            if self.is_signals() { ("onda.signal@2", SIGNALS) } else { (ANNOTATIONS, ANNOTATIONS) };
        let mut new: HashMap<String, String> = old.metadata.iter().cloned().collect();
        new.remove(FORMAT_VERSION);
        let qualified = old.metadata(QUALIFIED);
        if !qualified.is_some_and(|qualified| qualified.split('>').any(|part| part == needed)) {
            if let Some(child) = qualified.and_then(|qualified| qualified.split('>').next())
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

    /// Onda's columns for a batch of the first of these rows, and the number of rows in it.
    pub fn onda_columns(&mut self, rows: &[u32]) -> Result<(Columns, usize)> {
        let table = self.table;
        let mut count = rows.len().min(BATCH_ROWS);
        let rows = rows.iter().take(count).map(|row| *row as usize);
        let columns = if self.is_signals() {
            let signals = self.signals(rows)?;
            count = signals.len();
            canonical::signals(&signals)
        } else {
            self.annotations(rows).map(|(columns, made)| {
                count = made;
                columns
            })
        };
        Ok((columns.map_err(|problem| problem.at(table.source.place()))?, count))
    }

    /// The first of these rows that fit into one batch.
    fn signals(&mut self, rows: impl Iterator<Item = usize>) -> Result<Vec<Row>> {
        let (mut signals, mut bytes) = (Vec::new(), 0);
        for row in rows {
            let signal = self.signal(row)?;
            let len = canonical::len(&signal);
            self.budget.take(len).map_err(|problem| problem.at(self.table.source.place()))?;
            signals.push(signal);
            bytes += len;
            if bytes > BATCH_BYTES {
                break;
            }
        }
        Ok(signals)
    }

    /// Like `signals`, but returns columns and the number of rows.
    fn annotations(&mut self, rows: impl Iterator<Item = usize>) -> Result<(Columns, usize), Problem> {
        let (table, is_merged) = (self.table, self.table.has_sources());
        let (mut made, mut sources, mut bytes) = (Vec::new(), Vec::new(), 0);
        for row in rows {
            first(row, rules::damaged(rules::annotation(table, row)))?;
            let missing = || row_problem(row, Problem::damaged("is not complete"));
            let ids = table.id("recording", row)?.zip(table.id("id", row)?).ok_or_else(missing)?;
            made.push((ids.0, ids.1, table.span(row)?.ok_or_else(missing)?));
            if is_merged {
                let of_row = rules::sources(table, row, &mut self.budget);
                let of_row: Vec<Id> = of_row.map_err(|problem| row_problem(row, problem))?;
                bytes += size_of_val(of_row.as_slice());
                sources.push(of_row);
            }
            if bytes > BATCH_BYTES {
                break;
            }
        }
        let columns = annotations(&made, is_merged.then_some(sources.as_slice()))?;
        Ok((columns, made.len()))
    }

    fn signal(&mut self, row: usize) -> Result<Row> {
        let table = self.table;
        let validated = || -> Result<Row, Problem> {
            first(row, rules::signal(table, row))?;
            exact(table, row)?;
            let signal = table.signal(row)?;
            let sensor_type = signal.sensor_type.filter(|_| table.label_column() != "kind");
            let signal = Signal { sensor_type: sensor_type.or(signal.label.clone()), ..signal };
            Ok((signal, table.channel_names(row)?))
        };
        let (mut signal, channels) = validated().map_err(|problem| problem.at(table.source.place()))?;
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

/// Onda's columns; with `sources` those of merged annotations.
fn annotations(rows: &[(Id, Id, Span)], sources: Option<&[Vec<Id>]>) -> Result<Columns, Problem> {
    let mut columns = canonical::annotations(rows)?;
    columns.extend(sources.map(canonical::sources).transpose()?);
    Ok(columns)
}

/// Fails with the first problem of a row, if there is one.
fn first(row: usize, problems: impl IntoIterator<Item = Problem>) -> Result<(), Problem> {
    problems.into_iter().next().map_or(Ok(()), |problem| Err(row_problem(row, problem)))
}

fn row_problem(row: usize, problem: Problem) -> Problem {
    match problem.within(format_args!("row {row}")) {
        Problem::Damaged(problem) => Problem::damaged(format!(
            "{problem}; only rows that keep Onda's rules are written (rab verify names all that do not)"
        )),
        limit => limit,
    }
}

/// Checks that integers in old tables can be stored as float64 exactly.
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

/// The relative path between two canonical directories; empty if they are the same.
fn relative_path(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let relative_path: PathBuf = up.chain(to.components().skip(shared)).collect();
    // Otherwise a name with a colon would look like a URI's scheme.
    match relative_path
        .to_str()
        .is_some_and(|relative_path| relative_path.split('/').next().is_some_and(|name| name.contains(':')))
    {
        true => Path::new(".").join(relative_path),
        false => relative_path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths() {
        for (from, to, expected) in [
            ("/a/b", "/a/b", ""),
            ("/a", "/a/b/c", "b/c"),
            ("/a/b", "/a", ".."),
            ("/a/b", "/a/c", "../c"),
            ("/a", "/a/s3:/x", "./s3:/x"),
            ("/a/b", "/", "../.."),
        ] {
            assert_eq!(relative_path(Path::new(from), Path::new(to)), Path::new(expected), "{from} {to}");
        }
    }
}
