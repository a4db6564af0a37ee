//! What a row has to be: the rules that Onda.jl checks, and ours. What they find wrong is said in sidecars and by
//! `rab verify`, with the row; the data is given all the same where it can be.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::arrow::{Budget, Problem};
use super::schema::Sort;
use super::table::{Id, OndaTable, Signal, Span, shown};

/// What is wrong in one table as a whole, or with the channels of one signal: so much is said.
pub const MAX_REPORTED: usize = 1000;
/// Characters of a name or path that are said.
const QUOTED: usize = 200;

/// What is wrong with a row of signals.
pub fn signal(table: &OndaTable, row: usize) -> Vec<Problem> {
    let column = table.label_column();
    match (table.signal(row), table.channel_names(row)) {
        (Ok(signal), Ok(names)) => damaged(self::row(&signal, &names, column)).collect(),
        (Ok(signal), Err(problem)) => damaged(about(&signal, column)).chain([problem]).collect(),
        (Err(problem), _) => vec![problem],
    }
}

pub fn damaged(said: Vec<String>) -> impl Iterator<Item = Problem> {
    said.into_iter().map(Problem::Damaged)
}

/// As `signal`, where that is read already.
pub fn row(signal: &Signal, names: &[Option<String>], label_column: &str) -> Vec<String> {
    let mut wrong = about(signal, label_column);
    channels(names, &mut wrong);
    wrong
}

/// What is wrong with all but the channels.
fn about(signal: &Signal, label_column: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names = vec![(label_column, &signal.label), ("sample_unit", &signal.unit)];
    if label_column != "kind" {
        names.push(("sensor_type", &signal.sensor_type));
    }
    for (column, name) in names {
        match name {
            None => wrong.push(format!("{column} is null")),
            Some(name) => wrong
                .extend(name_rule(name, "").map(|problem| format!("{column} {} {problem}", quoted(name)))),
        }
    }
    wrong.extend(signal.recording.is_none().then(|| "recording is null".to_owned()));
    match signal.path.as_deref() {
        None => wrong.push("file_path is null".into()),
        Some("") => wrong.push("file_path is empty".into()),
        Some(_) => {}
    }
    match signal.format.as_deref() {
        None => wrong.push("file_format is null".into()),
        Some("") => wrong.push("file_format is empty".into()),
        Some(_) => {}
    }
    span_rule(signal.span, &mut wrong);
    numbers(signal, &mut wrong);
    wrong
}

/// A text of a table in a message: of a long one the beginning.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

fn numbers(signal: &Signal, wrong: &mut Vec<String>) {
    match signal.sample_type.as_deref() {
        None => wrong.push("sample_type is null".into()),
        Some(name) if TYPES.contains(&name) => {}
        Some(name) => wrong.push(format!("sample_type {} is not one of {}", quoted(name), TYPES.join(", "))),
    }
    match signal.rate {
        None => wrong.push("sample_rate is null".into()),
        Some(rate) if rate.is_finite() && rate > 0.0 => {}
        Some(rate) => wrong.push(format!("sample_rate is {rate}, it must be finite and more than 0")),
    }
    match signal.resolution {
        None => wrong.push("sample_resolution_in_unit is null".into()),
        Some(resolution) if resolution.is_finite() && resolution != 0.0 => {}
        Some(resolution) => {
            wrong.push(format!("sample_resolution_in_unit is {resolution}, it must be finite and not 0"));
        }
    }
    match signal.offset {
        None => wrong.push("sample_offset_in_unit is null".into()),
        Some(offset) if offset.is_finite() => {}
        Some(offset) => wrong.push(format!("sample_offset_in_unit is {offset}, it must be finite")),
    }
}

const TYPES: [&str; 10] =
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"];

fn channels(names: &[Option<String>], wrong: &mut Vec<String>) {
    if names.is_empty() {
        wrong.push("channels is empty".into());
    }
    let mut seen = HashSet::new();
    for (number, channel) in names.iter().enumerate() {
        if wrong.len() >= MAX_REPORTED {
            return wrong.push("there are more problems".into());
        }
        let Some(name) = channel else {
            wrong.push(format!("channel {number} has no name"));
            continue;
        };
        wrong.extend(
            name_rule(name, "-.+/()").map(|problem| format!("channel {number}, {}, {problem}", quoted(name))),
        );
        if !seen.insert(name) {
            wrong.push(format!("channel {number} is called {}, as another before it", quoted(name)));
        }
    }
}

/// What is wrong with a name of small letters, digits, `_` and `more`.
fn name_rule(name: &str, more: &str) -> Option<String> {
    let strange = |c: &char| !matches!(c, 'a'..='z' | '0'..='9' | '_') && !more.contains(*c);
    let mut open = 0i64;
    let mut balanced = true;
    for c in name.chars() {
        open += i64::from(c == '(') - i64::from(c == ')');
        balanced &= open >= 0;
    }
    if name.is_empty() {
        Some("is empty".into())
    } else if let Some(strange) = name.chars().find(strange) {
        Some(format!(
            "has {strange:?}: names have small letters, digits and _{}",
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

fn span_rule(span: Option<Span>, wrong: &mut Vec<String>) {
    let Some(Span { start, stop }) = span else {
        wrong.push("span is null".into());
        return;
    };
    if start < 0 {
        wrong.push(format!("span starts at {start} ns, before its recording"));
    }
    if stop <= start {
        wrong.push(format!("span stops at {stop} ns, and starts at {start} ns"));
    }
    if stop - start > i128::from(i64::MAX) {
        wrong.push(format!("span from {start} to {stop} ns is longer than 64 bits of nanoseconds"));
    }
}

/// What is wrong with a row of annotations.
pub fn annotation(table: &OndaTable, row: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    for column in ["recording", "id"] {
        match table.id(column, row) {
            Ok(Some(_)) => {}
            Ok(None) => wrong.push(format!("{column} is null")),
            Err(problem) => wrong.push(problem.text().to_owned()),
        }
    }
    match table.span(row) {
        Ok(span) => span_rule(span, &mut wrong),
        Err(problem) => wrong.push(problem.text().to_owned()),
    }
    wrong
}

/// The ids that a merged annotation was made of, if they are as they have to be.
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

/// Everything that is wrong with a table that is not said of its signals: its schema, rows of annotations, and
/// what comes twice though it should be one.
pub fn table(table: &OndaTable) -> Vec<Problem> {
    let rows = 0..table.arrow.rows();
    damaged(table.identity.mended.clone()).chain(lasting(table, rows)).collect()
}

/// As `table`, without what is mended when it is written anew, of a table that has only these rows: their numbers are
/// those that they have there.
pub fn lasting(table: &OndaTable, rows: impl Iterator<Item = usize> + Clone) -> Vec<Problem> {
    let (mut wrong, mut limit) = (table.identity.warnings.clone(), None);
    match table.identity.sort {
        Sort::Signals { .. } => {
            let paths = rows.map(|row| table.text("file_path", row).ok().flatten());
            match looked_at(table, paths.clone()) {
                Ok(()) => twice("file_path", &mut wrong, paths, quoted),
                Err(problem) => limit = Some(problem),
            }
        }
        Sort::Annotations => {
            let mut budget = Budget::of_file("the lists in its column from take", table.source.len());
            for (number, row) in rows.clone().enumerate() {
                if wrong.len() >= MAX_REPORTED {
                    break;
                }
                wrong.extend(
                    annotation(table, row).into_iter().map(|problem| format!("row {number}: {problem}")),
                );
                if !table.has_sources() || limit.is_some() {
                    continue;
                }
                match sources(table, row, &mut budget) {
                    Ok(_) => {}
                    Err(Problem::Damaged(problem)) => wrong.push(format!("row {number}: {problem}")),
                    Err(problem) => limit = Some(problem),
                }
            }
            let ids = rows.map(|row| table.id("id", row).ok().flatten());
            twice("id", &mut wrong, ids, |id| shown(Some(id)));
        }
        Sort::Other => {}
    }
    if wrong.len() >= MAX_REPORTED {
        wrong.truncate(MAX_REPORTED);
        wrong.push("there are more problems".into());
    }
    damaged(wrong).chain(limit).collect()
}

/// A short file can say a long text in every row, and looking at all of them would not end.
fn looked_at<'t>(table: &OndaTable, mut texts: impl Iterator<Item = Option<&'t str>>) -> Result<(), Problem> {
    let mut budget = Budget::of_file("the texts in its file_path have", table.source.len());
    texts.try_for_each(|text| budget.take(text.map_or(0, str::len)))
}

/// What has the value of a row before it.
fn twice<T: Copy + Eq + Hash>(
    column: &str,
    wrong: &mut Vec<String>,
    values: impl Iterator<Item = Option<T>>,
    said: impl Fn(T) -> String,
) {
    let mut seen: HashMap<T, usize> = HashMap::new();
    for (row, value) in values.enumerate() {
        let Some(value) = value else { continue };
        if let Some(first) = seen.get(&value) {
            wrong.push(format!("row {row}: {column} {} is the same as in row {first}", said(value)));
            if wrong.len() >= MAX_REPORTED {
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
        for right in ["eeg", "a1_b", "0"] {
            assert_eq!(name_rule(right, ""), None, "{right}");
        }
        for wrong in ["", "EEG", "_a", "a_", "a-b", "a b", "é", "a/b"] {
            assert!(name_rule(wrong, "").is_some(), "{wrong}");
        }
        for right in ["c3-m1", "(a+b)/2", "a.b", ".", "..", "/"] {
            assert_eq!(name_rule(right, "-.+/()"), None, "{right}");
        }
        for wrong in ["(a", "a)", ")(", "A", ""] {
            assert!(name_rule(wrong, "-.+/()").is_some(), "{wrong}");
        }
    }
}
