//! Columns of the user's own in a table that is made: what is said of signals beside what Onda has columns for. Texts,
//! true and false, integers of 64 bits and floats become columns, each of the type of its first value; what is of another
//! is not written, and said.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::Field;

use super::arrow::Problem;
use super::canonical::{self, Columns};
use crate::yaml::Node;

/// Columns of one table: each takes memory for every row.
const MOST: usize = 256;

#[derive(Default)]
pub struct Custom {
    /// In the order in which they came.
    columns: Vec<(String, Values)>,
    places: HashMap<String, usize>,
    rows: usize,
}

/// Those of the rows so far; the last ones may be missing.
enum Values {
    Text(Vec<Option<String>>),
    Bool(Vec<Option<bool>>),
    Int(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
}

impl Custom {
    /// A row with what is said of its signal, without the keys that are no columns of the user's own. Returns what is left
    /// out, as ends of a sentence.
    pub fn add(&mut self, said: &Node, is_own: impl Fn(&str) -> bool) -> Vec<String> {
        let mut notes = Vec::new();
        for (key, value) in said.as_map().unwrap_or_default() {
            let name = key.as_str().filter(|name| !is_own(name));
            if let (Some(name), false) = (name, value.is_null())
                && let Err(why) = self.put(name, value)
            {
                notes.push(format!("{name} of its metadata is left out: {why}"));
            }
        }
        self.rows += 1;
        notes
    }

    fn put(&mut self, name: &str, value: &Node) -> Result<(), String> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                let values =
                    Values::of(value).ok_or("a column is made of texts, numbers, or true and false")?;
                if self.columns.len() == MOST {
                    return Err(format!("a table has at most {MOST} columns beside Onda's"));
                }
                self.places.insert(name.to_owned(), self.columns.len());
                self.columns.push((name.to_owned(), values));
                self.columns.len() - 1
            }
        };
        let (_, values) = self.columns.get_mut(place).ok_or("it is not there")?;
        let kind = values.name();
        values
            .put(self.rows, value)
            .ok_or_else(|| format!("its column is of {kind}, as the first value of that name"))
    }

    /// With a value or null for each row.
    pub fn columns(self) -> Result<Columns, Problem> {
        let rows = self.rows;
        self.columns.into_iter().map(|(name, values)| column(&name, values, rows)).collect()
    }
}

fn column(name: &str, values: Values, rows: usize) -> Result<(Field, ArrayRef), Problem> {
    let array: ArrayRef = match values {
        Values::Text(mut texts) => {
            texts.resize(rows, None);
            canonical::fits(texts.iter().flatten().map(String::len))?;
            Arc::new(StringArray::from(texts))
        }
        Values::Bool(mut bools) => {
            bools.resize(rows, None);
            Arc::new(BooleanArray::from(bools))
        }
        Values::Int(mut ints) => {
            ints.resize(rows, None);
            Arc::new(Int64Array::from(ints))
        }
        Values::Float(mut floats) => {
            floats.resize(rows, None);
            Arc::new(Float64Array::from(floats))
        }
    };
    Ok((Field::new(name, array.data_type().clone(), array.null_count() > 0), array))
}

impl Values {
    /// For values like this one; None if there is no column for it.
    fn of(value: &Node) -> Option<Values> {
        match value {
            Node::Str(text) => text.as_str().map(|_| Values::Text(Vec::new())),
            Node::Bool(_) => Some(Values::Bool(Vec::new())),
            Node::Int(_) => int(value).map(|_| Values::Int(Vec::new())),
            Node::Float(_) => Some(Values::Float(Vec::new())),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Values::Text(_) => "texts",
            Values::Bool(_) => "true and false",
            Values::Int(_) => "int64",
            Values::Float(_) => "float64",
        }
    }

    /// None if it is not of this kind.
    fn put(&mut self, row: usize, value: &Node) -> Option<()> {
        match self {
            Values::Text(texts) => push(texts, row, value.as_str()?.to_owned()),
            Values::Bool(bools) => match value {
                Node::Bool(value) => push(bools, row, *value),
                _ => return None,
            },
            Values::Int(ints) => push(ints, row, int(value)?),
            Values::Float(floats) => match value {
                Node::Float(value) => push(floats, row, *value),
                int => push(floats, row, exact(int.as_i128()?)?),
            },
        }
        Some(())
    }
}

fn push<T: Clone>(values: &mut Vec<Option<T>>, row: usize, value: T) {
    values.resize(row, None);
    values.push(Some(value));
}

fn int(value: &Node) -> Option<i64> {
    value.as_i128()?.try_into().ok()
}

/// As a float64 that is the same number; the largest integer is none, but is what any larger float becomes.
pub fn exact(int: i128) -> Option<f64> {
    Some(int as f64).filter(|float| *float as i128 == int && int != i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_so_many_at_most() {
        let mut custom = Custom::default();
        for row in 0..=MOST {
            let notes = custom.add(&Node::map([(&*format!("key {row}"), Node::int(1))]), |_| false);
            assert_eq!(notes.is_empty(), row < MOST, "{row}: {notes:?}");
        }
        assert_eq!(custom.columns().unwrap().len(), MOST);
    }

    #[test]
    fn floats_are_the_same_numbers() {
        assert_eq!(exact(-(1 << 60)), Some(-(1i64 << 60) as f64));
        assert_eq!(exact(i128::MIN), Some(-(2f64.powi(127))));
        for int in [(1 << 53) + 1, i128::MAX, i128::MAX - 1] {
            assert_eq!(exact(int), None, "{int}");
        }
    }

    #[test]
    fn columns_have_the_type_of_their_first_value() {
        let mut custom = Custom::default();
        let rows = [
            Node::map([("own", Node::int(1)), ("a", Node::int(-1)), ("list", Node::seq([]))]),
            Node::map([("a", Node::Float(1.5)), ("b", Node::Float(0.5)), ("c", Node::Bool(true))]),
            Node::map([("a", Node::Null), ("b", Node::int(3)), ("d", Node::text("x"))]),
            Node::map([
                ("b", Node::int((1i128 << 60) + 1)),
                ("d", Node::int(1)),
                ("big", Node::int(1i128 << 63)),
            ]),
        ];
        let notes: Vec<Vec<String>> = rows.iter().map(|row| custom.add(row, |key| key == "own")).collect();
        let said = |row: usize| notes[row].join("\n");
        assert_eq!(
            said(0),
            "list of its metadata is left out: a column is made of texts, numbers, or true and false"
        );
        assert_eq!(
            said(1),
            "a of its metadata is left out: its column is of int64, as the first value of that name"
        );
        assert_eq!(said(2), "");
        assert!(said(3).starts_with("b of its metadata is left out: its column is of float64"));
        assert!(said(3).contains("d of its metadata") && said(3).contains("big of its metadata"));
        let columns = custom.columns().unwrap();
        let names: Vec<_> =
            columns.iter().map(|(field, _)| (field.name().as_str(), field.is_nullable())).collect();
        assert_eq!(names, [("a", true), ("b", true), ("c", true), ("d", true)]);
        assert_eq!(*columns[0].1, Int64Array::from(vec![Some(-1), None, None, None]));
        assert_eq!(*columns[1].1, Float64Array::from(vec![None, Some(0.5), Some(3.0), None]));
        assert_eq!(*columns[2].1, BooleanArray::from(vec![None, Some(true), None, None]));
        assert_eq!(*columns[3].1, StringArray::from(vec![None, None, Some("x"), None]));
    }
}
