//! The annotations of a recording from all tables, ordered by start: as CSV, or as JSON lines for tables with nested
//! columns. Times are in nanoseconds.

use std::collections::{HashMap, HashSet};

use super::super::read::arrow::{Budget, Problem};
use super::super::read::set::{Recording, Set, nests};
use super::super::read::table::{OndaTable, shown};
use super::tables::with_cell;
use crate::Result;
use crate::array::names::distinct;
use crate::lines;
use crate::yaml::{Node, to_json};

/// Maximum text per recording: a short file can refer to a long text many times.
pub const MAX_LEN: u64 = 1 << 30;

/// Columns before the user's. With several tables, `TABLE` comes after them.
const FIXED: [&str; 3] = ["id", "start", "stop"];
const TABLE: &str = "table";

pub fn build(set: &Set, recording: &Recording, nested: bool) -> Result<Vec<u8>> {
    built(set, recording, nested, limit(MAX_LEN))
}

pub fn limit(max: u64) -> Budget {
    Budget::new("the annotations of a recording have as text", max)
}

pub fn built(set: &Set, recording: &Recording, nested: bool, mut budget: Budget) -> Result<Vec<u8>> {
    let nests: Vec<bool> = set.tables.iter().map(nests).collect();
    let mut rows: Vec<(usize, &OndaTable, usize)> = Vec::new();
    let mut tables: Vec<&OndaTable> = Vec::new();
    for number in &recording.annotations {
        let is_wanted = set
            .annotations
            .get(*number as usize)
            .is_some_and(|row| nests.get(row.table as usize) == Some(&nested));
        let Some((table, row)) = set.annotation(*number).filter(|_| is_wanted) else { continue };
        if tables.last().is_none_or(|last| !std::ptr::eq(*last, table)) {
            tables.push(table);
        }
        rows.push((tables.len() - 1, table, row));
    }
    rows.sort_by_cached_key(|(_, table, row)| {
        let span = table.span(*row).ok().flatten();
        (span.map(|span| span.start), span.map(|span| span.stop))
    });
    let header = Header::of(&tables);
    let mut out = if nested { Vec::new() } else { header.csv() };
    for (at, table, row) in rows {
        let before = out.len();
        let columns = header.columns.get(at).map_or(&[][..], Vec::as_slice);
        let located = |problem: Problem| problem.at(table.source.place());
        let values = values(table, columns, row).map_err(located)?.into_iter();
        let values = values.chain(header.has_table.then(|| Some(Node::text(&table.name()))));
        match nested {
            true => json(header.names().zip(values), &mut out),
            false => csv(values, &mut out)?,
        }
        budget.take(out.len() - before).map_err(located)?;
    }
    Ok(out)
}

/// The column names, made unique.
struct Header {
    /// The user's columns of all tables.
    user_columns: Vec<String>,
    /// For each table, the index of each user's column in it.
    columns: Vec<Vec<Option<usize>>>,
    has_table: bool,
}

impl Header {
    fn of(tables: &[&OndaTable]) -> Header {
        let has_table = tables.len() > 1;
        let mut seen = HashSet::new();
        let user_columns = tables.iter().flat_map(|table| user_columns(table)).map(|(_, name)| name);
        let user_columns: Vec<&str> = user_columns.filter(|name| seen.insert(*name)).collect();
        let columns = tables.iter().map(|table| {
            let by_name: HashMap<&str, usize> =
                self::user_columns(table).map(|(column, name)| (name, column)).collect();
            user_columns.iter().map(|name| by_name.get(name).copied()).collect()
        });
        // Fixed columns keep their names; clashing user columns are renamed.
        let kept: Vec<&str> = FIXED.into_iter().chain(has_table.then_some(TABLE)).collect();
        let names = distinct(kept.iter().chain(&user_columns).copied());
        Header {
            user_columns: names.into_iter().skip(kept.len()).collect(),
            columns: columns.collect(),
            has_table,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let user_columns = self.user_columns.iter().map(String::as_str);
        FIXED.into_iter().chain(user_columns).chain(self.has_table.then_some(TABLE))
    }

    fn csv(&self) -> Vec<u8> {
        let mut line = Vec::new();
        self.names().for_each(|name| lines::field(name.as_bytes(), &mut line));
        lines::end(&mut line);
        line
    }
}

/// The user's columns of a table.
fn user_columns(table: &OndaTable) -> impl Iterator<Item = (usize, &str)> {
    let names = table.arrow.schema.fields.iter().map(|field| field.name.as_str());
    names.enumerate().filter(|(_, name)| !["recording", "id", "span"].contains(name))
}

/// Values of [`FIXED`] and the user's columns; None for columns that the table does not have.
fn values(table: &OndaTable, columns: &[Option<usize>], row: usize) -> Result<Vec<Option<Node>>, Problem> {
    let fixed = fixed(table, row).map_err(|problem| problem.within(format_args!("row {row}")))?;
    let mut room = table.room();
    let mut user_columns = |number: usize| match table.arrow.column(number) {
        Some(column) => table.node(column, number, row, &mut room),
        None => Ok(Node::Null),
    };
    let user_columns = columns.iter().map(|column| column.map(&mut user_columns).transpose());
    fixed.into_iter().map(|value| Ok(Some(value))).chain(user_columns).collect()
}

fn fixed(table: &OndaTable, row: usize) -> Result<[Node; 3], Problem> {
    let id = table.id("id", row)?.map_or(Node::Null, |id| Node::text(&shown(Some(id))));
    let span = table.span(row)?;
    let start = span.map_or(Node::Null, |span| Node::int(span.start));
    let stop = span.map_or(Node::Null, |span| Node::int(span.stop));
    Ok([id, start, stop])
}

fn json<'a>(values: impl Iterator<Item = (&'a str, Option<Node>)>, out: &mut Vec<u8>) {
    let object = Node::map(values.filter_map(|(name, value)| Some((name, value?))));
    out.extend(to_json(&object).to_string().into_bytes());
    out.push(b'\n');
}

/// A line in the same CSV format as in `.views`. Missing columns are empty, like nulls.
fn csv(values: impl Iterator<Item = Option<Node>>, out: &mut Vec<u8>) -> Result<()> {
    for value in values {
        with_cell(&value.unwrap_or(Node::Null), &mut |cell| {
            lines::value(&cell, out);
            Ok(())
        })?;
        out.push(b',');
    }
    lines::end(out);
    Ok(())
}
