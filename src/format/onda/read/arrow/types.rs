//! Fields of the arrow crates for writing columns. Dictionaries, views and runs become plain values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field as NewField, IntervalUnit, TimeUnit, UnionFields, UnionMode};

use super::Problem;
use super::field::{ArrowType, Field, Int, Unit};
use crate::error::shortened;

/// A field of the same name, type and metadata.
pub fn new_field(field: &Field) -> Result<NewField, Problem> {
    let metadata: HashMap<String, String> = field.metadata.iter().cloned().collect();
    Ok(NewField::new(&field.name, data_type(field)?, field.nullable).with_metadata(metadata))
}

fn data_type(field: &Field) -> Result<DataType, Problem> {
    let refused = || Err(Problem::unsupported(format!("{} is not written", shortened(&field.type_name()))));
    let size = |size: usize| i32::try_from(size).ok().filter(|size| *size > 0);
    Ok(match (&field.kind, field.children.as_slice()) {
        (ArrowType::Null, _) => DataType::Null,
        (ArrowType::Bool, _) => DataType::Boolean,
        (ArrowType::Int(int), _) => integer(*int),
        (ArrowType::Float(2), _) => DataType::Float16,
        (ArrowType::Float(4), _) => DataType::Float32,
        (ArrowType::Float(_), _) => DataType::Float64,
        (ArrowType::Text { wide: true }, _) => DataType::LargeUtf8,
        (ArrowType::Text { .. } | ArrowType::TextView, _) => DataType::Utf8,
        (ArrowType::Binary { wide: true }, _) => DataType::LargeBinary,
        (ArrowType::Binary { .. } | ArrowType::BinaryView, _) => DataType::Binary,
        (ArrowType::FixedBinary(bytes), _) => match size(*bytes) {
            Some(size) => DataType::FixedSizeBinary(size),
            None => return refused(),
        },
        (ArrowType::Decimal { bytes, precision, scale }, _) => {
            match (bytes, u8::try_from(*precision), i8::try_from(*scale)) {
                (4, Ok(precision), Ok(scale)) => DataType::Decimal32(precision, scale),
                (8, Ok(precision), Ok(scale)) => DataType::Decimal64(precision, scale),
                (16, Ok(precision), Ok(scale)) => DataType::Decimal128(precision, scale),
                (32, Ok(precision), Ok(scale)) => DataType::Decimal256(precision, scale),
                _ => return refused(),
            }
        }
        (ArrowType::Date { wide: false }, _) => DataType::Date32,
        (ArrowType::Date { wide: true }, _) => DataType::Date64,
        (ArrowType::Time { bytes, unit }, _) => match (bytes, TimeUnit::from(*unit)) {
            (4, unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => DataType::Time32(unit),
            (8, unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => DataType::Time64(unit),
            _ => return refused(),
        },
        (ArrowType::Timestamp { unit, zone }, _) => {
            DataType::Timestamp((*unit).into(), zone.as_deref().map(Arc::from))
        }
        (ArrowType::Duration(unit), _) => DataType::Duration((*unit).into()),
        (ArrowType::Interval(4), _) => DataType::Interval(IntervalUnit::YearMonth),
        (ArrowType::Interval(8), _) => DataType::Interval(IntervalUnit::DayTime),
        (ArrowType::Interval(_), _) => DataType::Interval(IntervalUnit::MonthDayNano),
        (ArrowType::List { wide: true } | ArrowType::ListView { wide: true }, [child]) => {
            DataType::LargeList(Arc::new(new_field(child)?))
        }
        (ArrowType::List { .. } | ArrowType::ListView { .. }, [child]) => {
            DataType::List(Arc::new(new_field(child)?))
        }
        (ArrowType::FixedList(items), [child]) => match size(*items) {
            Some(size) => DataType::FixedSizeList(Arc::new(new_field(child)?), size),
            None => return refused(),
        },
        (ArrowType::Map, [entries]) if entries.kind == ArrowType::Struct && entries.children.len() == 2 => {
            DataType::Map(Arc::new(new_field(entries)?), false)
        }
        (ArrowType::Struct, children) if !children.is_empty() => {
            DataType::Struct(children.iter().map(new_field).collect::<Result<Vec<_>, _>>()?.into())
        }
        (ArrowType::Union { ids, .. }, children) => {
            let ids = ids.iter().map(|id| i8::try_from(*id)).collect::<Result<Vec<_>, _>>();
            let fields = children.iter().map(new_field).collect::<Result<Vec<_>, _>>()?;
            match ids.ok().map(|ids| UnionFields::try_new(ids, fields)) {
                Some(Ok(fields)) => DataType::Union(fields, UnionMode::Dense),
                _ => return refused(),
            }
        }
        (ArrowType::RunEnds, [_, values]) => data_type(values)?,
        _ => return refused(),
    })
}

fn integer(int: Int) -> DataType {
    match (int.bytes, int.is_signed) {
        (1, true) => DataType::Int8,
        (1, false) => DataType::UInt8,
        (2, true) => DataType::Int16,
        (2, false) => DataType::UInt16,
        (4, true) => DataType::Int32,
        (4, false) => DataType::UInt32,
        (_, true) => DataType::Int64,
        (_, false) => DataType::UInt64,
    }
}

impl From<Unit> for TimeUnit {
    fn from(unit: Unit) -> TimeUnit {
        match unit.0 {
            1 => TimeUnit::Nanosecond,
            1_000 => TimeUnit::Microsecond,
            1_000_000 => TimeUnit::Millisecond,
            _ => TimeUnit::Second,
        }
    }
}

impl From<TimeUnit> for Unit {
    fn from(unit: TimeUnit) -> Unit {
        Unit(match unit {
            TimeUnit::Nanosecond => 1,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Second => 1_000_000_000,
        })
    }
}
