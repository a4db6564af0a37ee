//! Access to a column's values by row, independent of batches and encodings.

use std::ops::Range;

use super::array::{Array, Data, integer};
use super::field::{ArrowType, Field, Int};
use super::{Problem, Table};

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column<'t> {
    pub(super) table: &'t Table,
    pub field: &'t Field,
    pub(super) number: usize,
}

impl<'t> Column<'t> {
    /// The value of a row; None if it is null.
    pub fn value(&self, row: usize) -> Result<Option<Value<'t>>, Problem> {
        let (array, at) =
            self.table.array(self.number, row).ok_or_else(|| Problem::damaged("there is no such row"))?;
        Value::of(self.field, array, at)
    }
}

/// A non-null value, where it is stored.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    pub field: &'t Field,
    array: &'t Array,
    at: usize,
}

impl<'t> Value<'t> {
    fn of(field: &'t Field, array: &'t Array, at: usize) -> Result<Option<Value<'t>>, Problem> {
        Ok(array.stored(at)?.map(|(array, at)| Value { field: field.stored(), array, at }))
    }

    /// The stored bytes of a fixed-size or variable-length value.
    pub fn bytes(&self) -> Result<&'t [u8], Problem> {
        self.array.bytes(self.at)
    }

    pub fn text(&self) -> Result<&'t str, Problem> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Problem::damaged("a string is not UTF-8"))
    }

    pub fn bool(&self) -> Option<bool> {
        self.array.bit(self.at)
    }

    /// An integer, or a date, time, timestamp or duration as a number of its units.
    pub fn int(&self) -> Option<i128> {
        let kind = match &self.field.kind {
            ArrowType::Int(int) => *int,
            ArrowType::Date { wide } => Int { bytes: if *wide { 8 } else { 4 }, is_signed: true },
            ArrowType::Time { bytes, .. } => Int { bytes: *bytes, is_signed: true },
            ArrowType::Timestamp { .. } | ArrowType::Duration(_) => Int { bytes: 8, is_signed: true },
            _ => return None,
        };
        let Data::Fixed(_, buffer) = &self.array.data else { return None };
        integer(buffer, kind, self.at)
    }

    pub fn float(&self) -> Option<f64> {
        let bytes = self.bytes().ok()?;
        match &self.field.kind {
            ArrowType::Float(8) => bytes.try_into().ok().map(f64::from_le_bytes),
            ArrowType::Float(4) => bytes.try_into().ok().map(|bytes| f32::from_le_bytes(bytes).into()),
            ArrowType::Float(_) => {
                bytes.try_into().ok().map(|bytes| half::f16::from_le_bytes(bytes).to_f64())
            }
            _ => None,
        }
    }

    /// The values of a list.
    pub fn list(&self) -> Result<Items<'t>, Problem> {
        let (array, range) = self.array.list(self.at)?;
        let field = self.field.children.first().ok_or_else(|| Problem::damaged("expected a list"))?;
        Ok(Items { field, array, range })
    }

    /// A struct's child by name; None if it is null.
    pub fn child(&self, name: &str) -> Result<Option<Value<'t>>, Problem> {
        let at = self.field.children.iter().position(|child| child.name == name);
        let at = at.ok_or_else(|| Problem::damaged(format!("the structure has no {name:?}")))?;
        self.nth(at)
    }

    /// A struct's child by index.
    pub fn nth(&self, at: usize) -> Result<Option<Value<'t>>, Problem> {
        let invalid_struct = || Problem::damaged("expected a structure");
        let Data::Struct(children) = &self.array.data else { return Err(invalid_struct()) };
        let field = self.field.children.get(at).ok_or_else(invalid_struct)?;
        Value::of(field, children.get(at).ok_or_else(invalid_struct)?, self.at)
    }

    /// The value of a union.
    pub fn chosen(&self) -> Result<Option<Value<'t>>, Problem> {
        self.chosen_at().map(|(_, value)| value)
    }

    /// The value of a union, and the index of its child.
    pub fn chosen_at(&self) -> Result<(usize, Option<Value<'t>>), Problem> {
        let invalid = || Problem::damaged("a union does not say what it holds");
        let (ArrowType::Union { ids, .. }, Data::Union { children, .. }) =
            (&self.field.kind, &self.array.data)
        else {
            return Err(invalid());
        };
        let (id, at) = self.array.union(self.at).ok_or_else(invalid)?;
        let place = ids.iter().position(|known| *known == i32::from(id)).ok_or_else(invalid)?;
        let (field, array) = self.field.children.get(place).zip(children.get(place)).ok_or_else(invalid)?;
        Ok((place, Value::of(field, array, at.ok_or_else(invalid)?)?))
    }
}

/// The values of a list.
#[derive(Clone)]
pub struct Items<'t> {
    pub field: &'t Field,
    array: &'t Array,
    range: Range<usize>,
}

impl<'t> Items<'t> {
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// The value at an index of the list.
    pub fn get(&self, at: usize) -> Result<Option<Value<'t>>, Problem> {
        match self.range.clone().nth(at) {
            Some(at) => Value::of(self.field, self.array, at),
            None => Err(Problem::damaged(format!("value {at} of a list of {} was asked for", self.len()))),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Result<Option<Value<'t>>, Problem>> + use<'t> {
        let (field, array) = (self.field, self.array);
        self.range.clone().map(move |at| Value::of(field, array, at))
    }
}
