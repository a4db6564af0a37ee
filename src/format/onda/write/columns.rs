//! The user's columns of a new table: metadata for which Onda has no columns. Strings, booleans, integers and floats
//! become columns of a type that holds all values exactly (see `column_type`); if there is none, writing fails. Lists
//! and mappings are skipped with a note.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array, StringArray};
use arrow_schema::{DataType, Field};

use super::super::read::arrow::Problem;
use super::super::read::logical;
use super::canonical::{self, Columns};
use super::column_type;
use crate::error::shortened;
use crate::yaml::{self, Node};

/// Maximum number of user columns in a table; each takes memory for every row.
const MAX_COLUMNS: usize = 256;

#[derive(Default)]
pub struct Custom {
    /// In order of first appearance.
    columns: Vec<(String, Values)>,
    places: HashMap<String, usize>,
    /// Names that were skipped because their values were not scalars.
    skipped: HashSet<String>,
    rows: usize,
}

/// Column types from the source.
#[derive(Clone, Copy)]
pub enum Types<'a> {
    /// A table row; types that cannot be inferred from its values are listed.
    Named(Option<&'a Node>),
    /// Not a table row.
    None,
}

/// A column's values for the rows so far; trailing nulls may be missing.
struct Values {
    /// Distinct types of the source columns.
    declared: Vec<DataType>,
    /// Can represent all values.
    of: DataType,
    rows: Vec<Option<Arc<Node>>>,
}

impl Custom {
    /// Adds a row from a signal's metadata, except for reserved keys. Returns notes about what is not kept; fails if a
    /// column cannot represent a value.
    pub fn add(
        &mut self,
        metadata: &Node,
        types: Types<'_>,
        is_reserved: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        for (key, value) in metadata.as_map().unwrap_or_default() {
            let name = key.as_str().filter(|name| !is_reserved(name));
            if let (Some(name), false) = (name, value.is_null())
                && let Err(why) = self.put(name, value, types)?
            {
                notes.push(format!("{name} of its metadata is not kept: {why}"));
            }
        }
        self.rows += 1;
        Ok(notes)
    }

    /// The inner error is the reason for skipping the value.
    fn put(&mut self, name: &str, value: &Arc<Node>, types: Types<'_>) -> Result<Result<(), String>, String> {
        let declared = types.of(name, value)?;
        let has_type = declared.is_some() || column_type::natural(value).is_some();
        let place = self.places.get(name).copied();
        match (has_type, place) {
            (true, _) if self.skipped.contains(name) => return Err(lost(name, value)),
            (false, Some(_)) => return Err(lost(name, value)),
            (false, None) => {
                self.skipped.insert(name.to_owned());
                return Ok(Err("a column is made of strings, numbers, or true and false".into()));
            }
            (true, None) if self.columns.len() == MAX_COLUMNS => {
                return Ok(Err(format!("a table has at most {MAX_COLUMNS} columns beside Onda's")));
            }
            _ => {}
        }
        let place = place.unwrap_or_else(|| {
            self.places.insert(name.to_owned(), self.columns.len());
            self.columns.push((
                name.to_owned(),
                Values { declared: Vec::new(), of: DataType::Null, rows: Vec::new() },
            ));
            self.columns.len() - 1
        });
        let (_, values) = self.columns.get_mut(place).ok_or("it is not there")?;
        values.put(self.rows, value, declared).map(Ok).ok_or_else(|| lost(name, value))
    }

    /// The finished columns, with a value or null for each row.
    pub fn columns(self) -> Result<Columns, Problem> {
        let rows = self.rows;
        self.columns.into_iter().map(|(name, values)| values.column(&name, rows)).collect()
    }
}

fn lost(name: &str, value: &Node) -> String {
    let shown = shown(value);
    format!("the {name} {shown} of its metadata does not fit the column type of the signals before it")
}

fn shown(value: &Node) -> String {
    let mut text = String::new();
    yaml::write(value, 0, &mut text);
    shortened(text.trim())
}

impl Types<'_> {
    /// A value's type in the source; an error if the value does not belong to the listed type.
    fn of(self, name: &str, value: &Node) -> Result<Option<DataType>, String> {
        let Types::Named(types) = self else { return Ok(None) };
        let named = types.and_then(|types| types.get(name)?.as_str());
        let Some(of) = named.and_then(logical::named) else { return Ok(column_type::natural(value)) };
        if !column_type::can_be(&of, value) {
            let (named, shown) = (named.unwrap_or_default(), shown(value));
            return Err(format!("its {name} is of the type {named}, and {shown} in its metadata is not"));
        }
        Ok(Some(of))
    }
}

impl Values {
    /// None if no type can represent it together with the others.
    fn put(&mut self, row: usize, value: &Arc<Node>, declared: Option<DataType>) -> Option<()> {
        self.rows.resize(row, None);
        self.rows.push(Some(value.clone()));
        let is_new = declared.is_some_and(|declared| {
            let is_new = !self.declared.contains(&declared);
            if is_new {
                self.declared.push(declared);
            }
            is_new
        });
        // The type only ever gets wider, so this happens only a few times.
        if is_new || !column_type::has(&self.of, value) {
            self.of = column_type::choose(&self.declared, self.rows.iter().flatten().map(AsRef::as_ref))?;
        }
        Some(())
    }

    fn column(mut self, name: &str, rows: usize) -> Result<(Field, ArrayRef), Problem> {
        self.rows.resize(rows, None);
        let values = self.rows.iter().map(Option::as_deref);
        let array: ArrayRef = match &self.of {
            DataType::Utf8 => {
                let texts = values.map(|value| value.and_then(Node::as_str));
                canonical::fits(texts.clone().flatten().map(str::len))?;
                Arc::new(StringArray::from_iter(texts))
            }
            DataType::Boolean => Arc::new(BooleanArray::from_iter(values.map(|value| match value {
                Some(Node::Bool(value)) => Some(*value),
                _ => None,
            }))),
            DataType::Float32 => {
                Arc::new(Float32Array::from_iter(values.map(|value| logical::single(value?))))
            }
            DataType::Float64 => {
                Arc::new(Float64Array::from_iter(values.map(|value| logical::float(value?))))
            }
            of => logical::column(of, values.map(|value| logical::count(of, value?)).collect()),
        };
        Ok((Field::new(name, array.data_type().clone(), array.null_count() > 0), array))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, Int8Array};

    use super::*;

    #[test]
    fn the_number_of_columns_is_limited() {
        let mut custom = Custom::default();
        for row in 0..=MAX_COLUMNS {
            let notes = custom
                .add(&Node::map([(&*format!("key {row}"), Node::int(1))]), Types::None, |_| false)
                .unwrap();
            assert_eq!(notes.is_empty(), row < MAX_COLUMNS, "{row}: {notes:?}");
        }
        assert_eq!(custom.columns().unwrap().len(), MAX_COLUMNS);
    }

    #[test]
    fn column_types_hold_all_values() {
        let mut custom = Custom::default();
        let day = Node::text("2024-02-29");
        let small = Node::map([("a", Node::text("int8")), ("day", Node::text("date32"))]);
        let rows = [
            (Node::map([("own", Node::int(1)), ("a", Node::int(-1)), ("list", Node::seq([]))]), Types::None),
            (Node::map([("b", Node::Float(0.5)), ("c", Node::Bool(true))]), Types::None),
            (Node::map([("b", Node::int(3)), ("d", Node::text("x"))]), Types::None),
            (Node::map([("a", Node::int(3)), ("day", day.clone())]), Types::Named(Some(&small))),
            (Node::map([("a", Node::Null), ("day", day)]), Types::None),
        ];
        let notes = rows.iter().map(|(row, types)| custom.add(row, *types, |key| key == "own").unwrap());
        let notes = notes.flatten().collect::<Vec<_>>();
        let list = "list of its metadata is not kept: a column is made of strings, numbers, or true and \
            false";
        assert_eq!(notes, [list]);
        let columns = custom.columns().unwrap();
        let names: Vec<_> =
            columns.iter().map(|(field, _)| (field.name().as_str(), field.is_nullable())).collect();
        assert_eq!(names, [("a", true), ("b", true), ("c", true), ("d", true), ("day", true)]);
        assert_eq!(*columns[0].1, Int8Array::from(vec![Some(-1), None, None, Some(3), None]));
        assert_eq!(*columns[1].1, Float64Array::from(vec![None, Some(0.5), Some(3.0), None, None]));
        assert_eq!(*columns[2].1, BooleanArray::from(vec![None, Some(true), None, None, None]));
        assert_eq!(*columns[3].1, StringArray::from(vec![None, None, Some("x"), None, None]));
        let days = vec![None, None, None, Some(19_782), Some(19_782)];
        assert_eq!(*columns[4].1, Date32Array::from(days));
    }

    #[test]
    fn inexact_values_are_refused() {
        let row = |value: Node| Node::map([("x", value)]);
        let typed = |name: &str| row(Node::text(name));
        let refused = |rows: [(Node, Option<&str>); 2]| {
            let (mut custom, mut problem) = (Custom::default(), String::new());
            for (value, of) in rows {
                let types = of.map(typed);
                let types = types.as_ref().map_or(Types::None, |types| Types::Named(Some(types)));
                problem = custom.add(&row(value), types, |_| false).err().unwrap_or_default();
            }
            problem
        };
        let lost = "the x";
        let list = || Node::seq([Node::int(1)]);
        assert!(refused([(Node::int(1), None), (Node::text("a"), None)]).starts_with(lost));
        assert!(refused([(Node::int(1), None), (list(), None)]).starts_with(lost));
        assert!(refused([(list(), None), (Node::int(1), None)]).starts_with(lost));
        assert!(refused([(Node::int((1i64 << 53) + 1), None), (Node::Float(0.5), None)]).starts_with(lost));
        assert!(refused([(Node::int(1), Some("int8")), (Node::Bool(true), Some("int8"))]).starts_with(lost));
        let soon =
            refused([(Node::text("2024-02-29"), Some("date32")), (Node::text("soon"), Some("date32"))]);
        assert!(soon.starts_with("its x is of the type date32") && soon.contains("soon"), "{soon}");
        assert_eq!(refused([(Node::int(1), Some("int8")), (Node::int(300), Some("int16"))]), "");
    }
}
