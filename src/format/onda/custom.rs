//! Columns of the user's own in a table that is made: what is said of signals beside what Onda has columns for. Texts,
//! true and false, integers of 64 bits and floats become columns, each of the type of its first value, or of the type
//! that it had in the table where that came from; what is of another is not written, and said.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array, StringArray};
use arrow_schema::{DataType, Field};

use super::arrow::Problem;
use super::canonical::{self, Columns};
use super::typed;
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
    /// Of this type, by [`typed::count`].
    Count(Vec<Option<i128>>, DataType),
    Float(Vec<Option<f64>>),
    Single(Vec<Option<f32>>),
}

impl Custom {
    /// A row with what is said of its signal, without the keys that are no columns of the user's own, and the `types` that
    /// some of them had. Returns what is left out, as ends of a sentence.
    pub fn add(&mut self, said: &Node, types: Option<&Node>, is_own: impl Fn(&str) -> bool) -> Vec<String> {
        let mut notes = Vec::new();
        for (key, value) in said.as_map().unwrap_or_default() {
            let name = key.as_str().filter(|name| !is_own(name));
            if let (Some(name), false) = (name, value.is_null())
                && let Err(why) = self.put(name, value, types.and_then(|types| types.get(name)?.as_str()))
            {
                notes.push(format!("{name} of its metadata is left out: {why}"));
            }
        }
        self.rows += 1;
        notes
    }

    fn put(&mut self, name: &str, value: &Node, of: Option<&str>) -> Result<(), String> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                let values = Values::of(value, of.and_then(typed::named))
                    .ok_or("a column is made of texts, numbers, or true and false")?;
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
        Values::Count(mut counts, of) => {
            counts.resize(rows, None);
            typed::column(&of, counts)
        }
        Values::Single(mut floats) => {
            floats.resize(rows, None);
            Arc::new(Float32Array::from(floats))
        }
        Values::Float(mut floats) => {
            floats.resize(rows, None);
            Arc::new(Float64Array::from(floats))
        }
    };
    Ok((Field::new(name, array.data_type().clone(), array.null_count() > 0), array))
}

impl Values {
    /// For values of this type, or like this one; None if there is no column for it.
    fn of(value: &Node, of: Option<DataType>) -> Option<Values> {
        match of {
            Some(DataType::Float32) if single(value).is_some() => return Some(Values::Single(Vec::new())),
            Some(of) if !of.is_floating() && typed::count(&of, value).is_some() => {
                return Some(Values::Count(Vec::new(), of));
            }
            _ => {}
        }
        match value {
            Node::Str(text) => text.as_str().map(|_| Values::Text(Vec::new())),
            Node::Bool(_) => Some(Values::Bool(Vec::new())),
            Node::Int(_) => {
                typed::count(&DataType::Int64, value).map(|_| Values::Count(Vec::new(), DataType::Int64))
            }
            Node::Float(_) => Some(Values::Float(Vec::new())),
            _ => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Values::Text(_) => "texts".into(),
            Values::Bool(_) => "true and false".into(),
            Values::Count(_, of) => of.to_string().to_lowercase(),
            Values::Float(_) => "float64".into(),
            Values::Single(_) => "float32".into(),
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
            Values::Count(counts, of) => push(counts, row, typed::count(of, value)?),
            Values::Float(floats) => push(floats, row, float(value)?),
            Values::Single(floats) => push(floats, row, single(value)?),
        }
        Some(())
    }
}

fn push<T: Clone>(values: &mut Vec<Option<T>>, row: usize, value: T) {
    values.resize(row, None);
    values.push(Some(value));
}

fn float(value: &Node) -> Option<f64> {
    match value {
        Node::Float(value) => Some(*value),
        int => exact(int.as_i128()?),
    }
}

/// As a float32 that is the same number.
fn single(value: &Node) -> Option<f32> {
    let wide = float(value)?;
    Some(wide as f32).filter(|single| f64::from(*single) == wide || wide.is_nan())
}

/// As a float64 that is the same number; the largest integer is none, but is what any larger float becomes.
pub fn exact(int: i128) -> Option<f64> {
    Some(int as f64).filter(|float| *float as i128 == int && int != i128::MAX)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    #[test]
    fn columns_are_so_many_at_most() {
        let mut custom = Custom::default();
        for row in 0..=MOST {
            let notes = custom.add(&Node::map([(&*format!("key {row}"), Node::int(1))]), None, |_| false);
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
        let notes: Vec<Vec<String>> =
            rows.iter().map(|row| custom.add(row, None, |key| key == "own")).collect();
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
