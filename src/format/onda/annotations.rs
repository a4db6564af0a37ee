//! The annotations of one recording, of all tables, by their start: lines of CSV, or of JSON for tables whose columns
//! nest. Times are in nanoseconds.

use std::collections::HashMap;

use super::arrow::{Budget, Problem};
use super::set::{Recording, Set, nests};
use super::table::{OndaTable, shown};
use crate::yaml::{Node, to_json};
use crate::{Error, Result};

/// No recording has more text of annotations: a short file can say a long text many times over.
pub const LONGEST: u64 = 1 << 30;

pub fn build(set: &Set, recording: &Recording, nested: bool) -> Result<Vec<u8>> {
    built(set, recording, nested, limit(LONGEST))
}

pub fn limit(most: u64) -> Budget {
    Budget::new("the annotations of a recording have as text", most)
}

pub fn built(set: &Set, recording: &Recording, nested: bool, mut budget: Budget) -> Result<Vec<u8>> {
    let nests: Vec<bool> = set.tables.iter().map(nests).collect();
    let mut rows: Vec<(&OndaTable, usize)> = Vec::new();
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
        rows.push((table, row));
    }
    rows.sort_by_cached_key(|(table, row)| {
        let span = table.span(*row).ok().flatten();
        (span.map(|span| span.start), span.map(|span| span.stop))
    });
    if nested { json(&rows, tables.len() > 1, &mut budget) } else { csv(&rows, &tables, &mut budget) }
}

/// The columns of an annotation that are not the same for all tables.
fn own(table: &OndaTable) -> impl Iterator<Item = (usize, &str)> {
    let names = table.arrow.schema.fields.iter().map(|field| field.name.as_str());
    names.enumerate().filter(|(_, name)| !["recording", "id", "span"].contains(name))
}

fn fixed(table: &OndaTable, row: usize) -> Result<[(&'static str, Node); 3], Problem> {
    let wrong = |problem: Problem| problem.within(format_args!("row {row}"));
    let id = table.id("id", row).map_err(wrong)?.map_or(Node::Null, |id| Node::text(&shown(Some(id))));
    let span = table.span(row).map_err(wrong)?;
    let start = span.map_or(Node::Null, |span| Node::int(span.start));
    let stop = span.map_or(Node::Null, |span| Node::int(span.stop));
    Ok([("id", id), ("start", start), ("stop", stop)])
}

fn value(table: &OndaTable, column: usize, row: usize, room: &mut Budget) -> Result<Node, Problem> {
    match table.arrow.column(column) {
        Some(found) => table.node(found, column, row, room),
        None => Ok(Node::Null),
    }
}

fn json(rows: &[(&OndaTable, usize)], has_several: bool, budget: &mut Budget) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (table, row) in rows {
        let mut room = table.room();
        let wrong = |problem: Problem| problem.at(table.source.place());
        let own = own(table).map(|(column, name)| Ok((name, value(table, column, *row, &mut room)?)));
        let own = own.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let name = has_several.then(|| ("table", Node::text(&table.name())));
        let line = Node::map(fixed(table, *row).map_err(wrong)?.into_iter().chain(own).chain(name));
        let line = to_json(&line).to_string();
        budget.take(line.len() + 1).map_err(|problem| problem.at(table.source.place()))?;
        out.extend(line.into_bytes());
        out.push(b'\n');
    }
    Ok(out)
}

fn csv(rows: &[(&OndaTable, usize)], tables: &[&OndaTable], budget: &mut Budget) -> Result<Vec<u8>> {
    let mut names: Vec<&str> = Vec::new();
    for name in tables.iter().flat_map(|table| own(table)).map(|(_, name)| name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let failed = |cause: csv::Error| Error::Other(format!("annotations as CSV: {cause}"));
    let mut out = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    let has_several = tables.len() > 1;
    let header = ["id", "start", "stop"].into_iter().chain(names.iter().copied());
    out.write_record(header.chain(has_several.then_some("table"))).map_err(failed)?;
    for (table, row) in rows {
        let by_name: HashMap<&str, usize> = own(table).map(|(column, name)| (name, column)).collect();
        let mut room = table.room();
        let wrong = |problem: Problem| problem.at(table.source.place());
        let fixed = fixed(table, *row).map_err(wrong)?;
        let mut line: Vec<String> = fixed.iter().map(|(_, node)| cell(node)).collect();
        for name in &names {
            line.push(match by_name.get(name) {
                Some(column) => cell(&value(table, *column, *row, &mut room).map_err(wrong)?),
                None => String::new(),
            });
        }
        line.extend(has_several.then(|| table.name()));
        let len = line.iter().map(|cell| cell.len() + 1).sum();
        budget.take(len).map_err(|problem| problem.at(table.source.place()))?;
        out.write_record(&line).map_err(failed)?;
    }
    out.into_inner().map_err(|cause| Error::Other(format!("annotations as CSV: {}", cause.error())))
}

/// Null is empty; numbers and texts are as they are.
fn cell(node: &Node) -> String {
    match to_json(node) {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}
