//! Validates rows against Onda.jl's rules and our own. Problems are reported in sidecars and by `rab verify`; the data
//! of invalid rows is still served where possible.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::arrow::{Budget, Problem};
use super::schema::TableKind;
use super::table::{Id, OndaTable, Signal, Span, shown};

/// Maximum number of problems reported for a table, or for the channels of a signal.
pub const MAX_REPORTED: usize = 1000;
/// Characters of a name or path quoted in a message.
const MAX_QUOTED: usize = 200;

/// The problems of a row of signals.
pub fn signal(table: &OndaTable, row: usize) -> Vec<Problem> {
    let column = table.label_column();
    match (table.signal(row), table.channel_names(row)) {
        (Ok(signal), Ok(names)) => damaged(self::row(&signal, &names, column)).collect(),
        (Ok(signal), Err(problem)) => damaged(except_channels(&signal, column)).chain([problem]).collect(),
        (Err(problem), _) => vec![problem],
    }
}

pub fn damaged(problems: Vec<String>) -> impl Iterator<Item = Problem> {
    problems.into_iter().map(Problem::Damaged)
}

/// Like `signal`, for a row already read.
pub fn row(signal: &Signal, names: &[Option<String>], label_column: &str) -> Vec<String> {
    let mut problems = except_channels(signal, label_column);
    channels(names, &mut problems);
    problems
}

/// The problems of everything but the channels.
fn except_channels(signal: &Signal, label_column: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut names = vec![(label_column, &signal.label), ("sample_unit", &signal.unit)];
    if label_column != "kind" {
        names.push(("sensor_type", &signal.sensor_type));
    }
    for (column, name) in names {
        match name {
            None => problems.push(format!("{column} is null")),
            Some(name) => problems
                .extend(name_rule(name, "").map(|problem| format!("{column} {} {problem}", quoted(name)))),
        }
    }
    problems.extend(signal.recording.is_none().then(|| "recording is null".to_owned()));
    match signal.path.as_deref() {
        None => problems.push("file_path is null".into()),
        Some("") => problems.push("file_path is empty".into()),
        Some(_) => {}
    }
    match signal.format.as_deref() {
        None => problems.push("file_format is null".into()),
        Some("") => problems.push("file_format is empty".into()),
        Some(_) => {}
    }
    span_rule(signal.span, &mut problems);
    numbers(signal, &mut problems);
    problems
}

/// A text quoted for a message, shortened if it is long.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

fn numbers(signal: &Signal, problems: &mut Vec<String>) {
    match signal.sample_type.as_deref() {
        None => problems.push("sample_type is null".into()),
        Some(name) if TYPES.contains(&name) => {}
        Some(name) => {
            problems.push(format!("sample_type {} is not one of {}", quoted(name), TYPES.join(", ")))
        }
    }
    match signal.rate {
        None => problems.push("sample_rate is null".into()),
        Some(rate) if rate.is_finite() && rate > 0.0 => {}
        Some(rate) => problems.push(format!("sample_rate is {rate}, it must be finite and more than 0")),
    }
    match signal.resolution {
        None => problems.push("sample_resolution_in_unit is null".into()),
        Some(resolution) if resolution.is_finite() && resolution != 0.0 => {}
        Some(resolution) => {
            problems.push(format!("sample_resolution_in_unit is {resolution}, it must be finite and not 0"));
        }
    }
    match signal.offset {
        None => problems.push("sample_offset_in_unit is null".into()),
        Some(offset) if offset.is_finite() => {}
        Some(offset) => problems.push(format!("sample_offset_in_unit is {offset}, it must be finite")),
    }
}

const TYPES: [&str; 10] =
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"];

fn channels(names: &[Option<String>], problems: &mut Vec<String>) {
    if names.is_empty() {
        problems.push("channels is empty".into());
    }
    let mut seen = HashSet::new();
    for (number, channel) in names.iter().enumerate() {
        if problems.len() >= MAX_REPORTED {
            return problems.push("there are more problems".into());
        }
        let Some(name) = channel else {
            problems.push(format!("channel {number} has no name"));
            continue;
        };
        problems.extend(
            name_rule(name, "-.+/()").map(|problem| format!("channel {number}, {}, {problem}", quoted(name))),
        );
        if !seen.insert(name) {
            problems.push(format!("channel {number} is called {}, as another before it", quoted(name)));
        }
    }
}

/// The problem of a name, which may only have lower-case letters, digits, `_` and `more`.
fn name_rule(name: &str, more: &str) -> Option<String> {
    let not_allowed = |c: &char| !matches!(c, 'a'..='z' | '0'..='9' | '_') && !more.contains(*c);
    let mut open = 0i64;
    let mut balanced = true;
    for c in name.chars() {
        open += i64::from(c == '(') - i64::from(c == ')');
        balanced &= open >= 0;
    }
    if name.is_empty() {
        Some("is empty".into())
    } else if let Some(not_allowed) = name.chars().find(not_allowed) {
        Some(format!(
            "has {not_allowed:?}: names have small letters, digits and _{}",
            if more.is_empty() { "" } else { ", channels also - . + / ( )" }
        ))
    } else if name.starts_with('_') || name.ends_with('_') {
        Some("begins or ends with _".into())
    } else if !more.is_empty() && (!balanced || open != 0) {
        Some("has parentheses that are not balanced".into())
    } else {
        None
    }
}

fn span_rule(span: Option<Span>, problems: &mut Vec<String>) {
    let Some(Span { start, stop }) = span else {
        problems.push("span is null".into());
        return;
    };
    if start < 0 {
        problems.push(format!("span starts at {start} ns, before its recording"));
    }
    if stop <= start {
        problems.push(format!("span stops at {stop} ns, and starts at {start} ns"));
    }
    if stop - start > i128::from(i64::MAX) {
        problems.push(format!("span from {start} to {stop} ns is longer than 64 bits of nanoseconds"));
    }
}

/// The problems of a row of annotations.
pub fn annotation(table: &OndaTable, row: usize) -> Vec<String> {
    let mut problems = Vec::new();
    for column in ["recording", "id"] {
        match table.id(column, row) {
            Ok(Some(_)) => {}
            Ok(None) => problems.push(format!("{column} is null")),
            Err(problem) => problems.push(problem.text().to_owned()),
        }
    }
    match table.span(row) {
        Ok(span) => span_rule(span, &mut problems),
        Err(problem) => problems.push(problem.text().to_owned()),
    }
    problems
}

/// The ids from which an annotation was merged, or what is wrong with them.
pub fn sources(table: &OndaTable, row: usize, budget: &mut Budget) -> Result<Vec<Id>, Problem> {
    let ids = table.sources(row, budget)?.ok_or_else(|| Problem::damaged("from is null"))?;
    if ids.is_empty() {
        return Err(Problem::damaged("from is empty"));
    }
    let id = |(at, id): (usize, &Option<Id>)| {
        id.ok_or_else(|| Problem::damaged(format!("from has a null as value {at}")))
    };
    ids.iter().enumerate().map(id).collect()
}

/// All problems of a table that are not reported for its signals: its schema, rows of annotations, and duplicate
/// paths or ids.
pub fn table(table: &OndaTable) -> Vec<Problem> {
    let rows = 0..table.arrow.rows();
    damaged(table.identity.repairable.clone()).chain(remaining(table, rows)).collect()
}

/// Like `table`, for a table with only these rows, and without the problems that rewriting repairs. Row numbers in
/// messages count only these rows.
pub fn remaining(table: &OndaTable, rows: impl Iterator<Item = usize> + Clone) -> Vec<Problem> {
    let (mut problems, mut limit) = (table.identity.warnings.clone(), None);
    match table.identity.kind {
        TableKind::Signals { .. } => {
            let paths = rows.map(|row| table.text("file_path", row).ok().flatten());
            match check_text_len(table, paths.clone()) {
                Ok(()) => find_duplicates("file_path", &mut problems, paths, quoted),
                Err(problem) => limit = Some(problem),
            }
        }
        TableKind::Annotations => {
            let mut budget = Budget::of_file("the lists in its column from take", table.source.len());
            for (number, row) in rows.clone().enumerate() {
                if problems.len() >= MAX_REPORTED {
                    break;
                }
                problems.extend(
                    annotation(table, row).into_iter().map(|problem| format!("row {number}: {problem}")),
                );
                if !table.has_sources() || limit.is_some() {
                    continue;
                }
                match sources(table, row, &mut budget) {
                    Ok(_) => {}
                    Err(Problem::Damaged(problem)) => problems.push(format!("row {number}: {problem}")),
                    Err(problem) => limit = Some(problem),
                }
            }
            let ids = rows.map(|row| table.id("id", row).ok().flatten());
            find_duplicates("id", &mut problems, ids, |id| shown(Some(id)));
        }
        TableKind::Other => {}
    }
    if problems.len() >= MAX_REPORTED {
        problems.truncate(MAX_REPORTED);
        problems.push("there are more problems".into());
    }
    damaged(problems).chain(limit).collect()
}

/// Limits the total length of texts: a short file can refer to a long text in every row.
fn check_text_len<'t>(
    table: &OndaTable,
    mut texts: impl Iterator<Item = Option<&'t str>>,
) -> Result<(), Problem> {
    let mut budget = Budget::of_file("the texts in its file_path have", table.source.len());
    texts.try_for_each(|text| budget.take(text.map_or(0, str::len)))
}

/// Reports values that an earlier row has, too.
fn find_duplicates<T: Copy + Eq + Hash>(
    column: &str,
    problems: &mut Vec<String>,
    values: impl Iterator<Item = Option<T>>,
    show: impl Fn(T) -> String,
) {
    let mut seen: HashMap<T, usize> = HashMap::new();
    for (row, value) in values.enumerate() {
        let Some(value) = value else { continue };
        if let Some(first) = seen.get(&value) {
            problems.push(format!("row {row}: {column} {} is the same as in row {first}", show(value)));
            if problems.len() >= MAX_REPORTED {
                return;
            }
        } else {
            seen.insert(value, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for valid in ["eeg", "a1_b", "0"] {
            assert_eq!(name_rule(valid, ""), None, "{valid}");
        }
        for invalid in ["", "EEG", "_a", "a_", "a-b", "a b", "é", "a/b"] {
            assert!(name_rule(invalid, "").is_some(), "{invalid}");
        }
        for valid in ["c3-m1", "(a+b)/2", "a.b", ".", "..", "/"] {
            assert_eq!(name_rule(valid, "-.+/()"), None, "{valid}");
        }
        for invalid in ["(a", "a)", ")(", "A", ""] {
            assert!(name_rule(invalid, "-.+/()").is_some(), "{invalid}");
        }
    }
}
