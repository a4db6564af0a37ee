//! Copies selected values of a column to a new contiguous array. Dictionaries, views and runs are expanded, and unions
//! become dense. A [`Budget`] limits the total size, since a small file can refer to one value many times.

use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::buffer::Budget;
use super::column::{Items, Value};
use super::field::Field;
use super::types::new_field;
use super::{Column, Problem};

/// Rows of a column as an array of the arrow crates.
pub fn gathered(column: Column<'_>, rows: &[u32], budget: &mut Budget) -> Result<ArrayRef, Problem> {
    let mut gathered = Gathered::new(column.field)?;
    for row in rows {
        gathered.push(column.value(*row as usize)?, budget)?;
    }
    Ok(make_array(gathered.finish()?))
}

struct Gathered {
    /// False if nulls are not allowed. Where a parent is null, a value of zeros is stored all the same.
    nullable: bool,
    kind: DataType,
    valid: Vec<bool>,
    store: Store,
}

enum Store {
    Null,
    Bits(Vec<bool>),
    /// Values of a fixed size in bytes.
    Fixed(usize, Vec<u8>),
    Bytes {
        wide: bool,
        ends: Vec<u64>,
        bytes: Vec<u8>,
    },
    /// Also maps.
    List {
        wide: bool,
        ends: Vec<u64>,
        child: Box<Gathered>,
    },
    FixedList(usize, Box<Gathered>),
    Struct(Vec<Gathered>),
    Union {
        ids: Vec<i8>,
        types: Vec<u8>,
        places: Vec<u8>,
        children: Vec<Gathered>,
    },
}

impl Gathered {
    fn new(field: &Field) -> Result<Gathered, Problem> {
        let kind = new_field(field)?.data_type().clone();
        let stored = field.stored();
        let store = Store::new(stored, &kind)?;
        Ok(Gathered { nullable: field.nullable || stored.nullable, kind, valid: Vec::new(), store })
    }

    fn push(&mut self, value: Option<Value<'_>>, budget: &mut Budget) -> Result<(), Problem> {
        let damaged = || Problem::damaged("a value is not of its column's type");
        budget.take(1)?;
        self.valid.push(value.is_some() || !self.nullable);
        match &mut self.store {
            Store::Null => {}
            Store::Bits(bits) => bits.push(match value {
                Some(value) => value.bool().ok_or_else(damaged)?,
                None => false,
            }),
            Store::Fixed(size, bytes) => {
                budget.take(*size)?;
                match value.map(|value| value.bytes()).transpose()? {
                    Some(value) if value.len() == *size => bytes.extend(value),
                    Some(_) => return Err(damaged()),
                    None => bytes.resize(bytes.len() + *size, 0),
                }
            }
            Store::Bytes { ends, bytes, .. } => {
                let value = value.map_or(Ok(Default::default()), |value| value.bytes())?;
                budget.take(value.len())?;
                bytes.extend(value);
                ends.push(bytes.len() as u64);
            }
            Store::List { ends, child, .. } => {
                if let Some(value) = value {
                    child.extend(&value.list()?, budget)?;
                }
                ends.push(child.valid.len() as u64);
            }
            Store::FixedList(size, child) => match value {
                Some(value) => child.extend(&value.list()?, budget)?,
                None => (0..*size).try_for_each(|_| child.push(None, budget))?,
            },
            Store::Struct(children) => {
                for (at, child) in children.iter_mut().enumerate() {
                    let part = value.map_or(Ok(None), |value| value.nth(at))?;
                    child.push_part(part, value.is_none(), budget)?;
                }
            }
            Store::Union { ids, types, places, children } => {
                let (at, part) = value.ok_or_else(damaged)?.chosen_at()?;
                let (id, child) = ids.get(at).zip(children.get_mut(at)).ok_or_else(damaged)?;
                types.extend(id.to_le_bytes());
                places.extend(i32::try_from(child.valid.len()).map_err(|_| too_long())?.to_le_bytes());
                child.push_part(part, false, budget)?;
            }
        }
        Ok(())
    }

    /// Adds a part of a nested value. In a column without nulls, a null is allowed only if the parent is null.
    fn push_part(
        &mut self,
        part: Option<Value<'_>>,
        is_absent: bool,
        budget: &mut Budget,
    ) -> Result<(), Problem> {
        if part.is_none() && !is_absent && !self.nullable {
            return Err(Problem::damaged("a value is null, and its column claims to have none"));
        }
        self.push(part, budget)
    }

    fn extend(&mut self, items: &Items<'_>, budget: &mut Budget) -> Result<(), Problem> {
        items.iter().try_for_each(|item| self.push_part(item?, false, budget))
    }

    fn finish(self) -> Result<ArrayData, Problem> {
        let len = self.valid.len();
        let mut array = ArrayData::builder(self.kind).len(len);
        let has_nulls = !matches!(self.store, Store::Null | Store::Union { .. });
        if has_nulls && self.valid.contains(&false) {
            array = array.null_bit_buffer(Some(packed(&self.valid).into()));
        }
        array = match self.store {
            Store::Null => array,
            Store::Bits(bits) => array.add_buffer(packed(&bits).into()),
            Store::Fixed(_, bytes) => array.add_buffer(aligned(bytes)),
            Store::Bytes { wide, ends, bytes } => {
                array.add_buffer(offsets(&ends, wide)?).add_buffer(bytes.into())
            }
            Store::List { wide, ends, child } => {
                array.add_buffer(offsets(&ends, wide)?).add_child_data(child.finish()?)
            }
            Store::FixedList(_, child) => array.add_child_data(child.finish()?),
            Store::Struct(children) => {
                let children = children.into_iter().map(Gathered::finish).collect::<Result<Vec<_>, _>>()?;
                array.child_data(children)
            }
            Store::Union { types, places, children, .. } => {
                let children = children.into_iter().map(Gathered::finish).collect::<Result<Vec<_>, _>>()?;
                array.add_buffer(types.into()).add_buffer(aligned(places)).child_data(children)
            }
        };
        array.build().map_err(|error| Problem::damaged(error.to_string()))
    }
}

impl Store {
    fn new(field: &Field, kind: &DataType) -> Result<Store, Problem> {
        let children = || field.children.iter().map(Gathered::new).collect::<Result<Vec<_>, _>>();
        let child = || {
            let child = field.children.first().ok_or_else(|| Problem::damaged("a list without items"))?;
            Gathered::new(child).map(Box::new)
        };
        Ok(match kind {
            DataType::Null => Store::Null,
            DataType::Boolean => Store::Bits(Vec::new()),
            DataType::Utf8 | DataType::Binary => Store::bytes(false),
            DataType::LargeUtf8 | DataType::LargeBinary => Store::bytes(true),
            DataType::List(_) | DataType::Map(..) => {
                Store::List { wide: false, ends: vec![0], child: child()? }
            }
            DataType::LargeList(_) => Store::List { wide: true, ends: vec![0], child: child()? },
            DataType::FixedSizeList(_, size) => Store::FixedList(*size as usize, child()?),
            DataType::Struct(_) => Store::Struct(children()?),
            DataType::Union(fields, _) => Store::Union {
                ids: fields.iter().map(|(id, _)| id).collect(),
                types: Vec::new(),
                places: Vec::new(),
                children: children()?,
            },
            DataType::FixedSizeBinary(size) => Store::Fixed(*size as usize, Vec::new()),
            other => match other.primitive_width() {
                Some(size) => Store::Fixed(size, Vec::new()),
                None => return Err(Problem::unsupported(format!("{other} is not written"))),
            },
        })
    }

    fn bytes(wide: bool) -> Store {
        Store::Bytes { wide, ends: vec![0], bytes: Vec::new() }
    }
}

fn packed(bits: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| eight.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    bits.chunks(8).map(byte).collect()
}

/// Copies bytes to a buffer aligned for values of any type, which a byte vector need not be.
fn aligned(bytes: Vec<u8>) -> arrow_buffer::Buffer {
    arrow_buffer::Buffer::from_slice_ref(&bytes)
}

fn offsets(ends: &[u64], wide: bool) -> Result<arrow_buffer::Buffer, Problem> {
    if wide {
        return Ok(ends.iter().map(|end| *end as i64).collect::<Vec<_>>().into());
    }
    let ends = ends.iter().map(|end| i32::try_from(*end)).collect::<Result<Vec<_>, _>>();
    Ok(ends.map_err(|_| too_long())?.into())
}

fn too_long() -> Problem {
    Problem::unsupported("its values in a batch of rows take more than 2 GiB")
}
