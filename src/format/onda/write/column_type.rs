//! Chooses the type of a user's column so that all its values are exact. If the source columns all had one type, that
//! type; if they were of one kind (integers, floats, dates, timestamps in one zone, durations), the widest of these or
//! a wider one; otherwise a general type, with dates and timestamps as strings and durations as nanoseconds.

use arrow_schema::{DataType, TimeUnit};

use super::super::read::logical;
use crate::yaml::Node;

const GENERAL: [DataType; 5] =
    [DataType::Boolean, DataType::Int64, DataType::UInt64, DataType::Float64, DataType::Utf8];

const FROM_FINEST: [TimeUnit; 4] =
    [TimeUnit::Nanosecond, TimeUnit::Microsecond, TimeUnit::Millisecond, TimeUnit::Second];

/// The type for values whose source columns had the `declared` types; None if no type can hold all of them.
pub fn choose<'a>(declared: &[DataType], values: impl Iterator<Item = &'a Node> + Clone) -> Option<DataType> {
    if values.clone().next().is_none() {
        return of_kind(declared).into_iter().next().or_else(|| declared.first().cloned());
    }
    let is_float = |value: &Node| matches!(value, Node::Float(_));
    let floats = values.clone().any(is_float) || declared.iter().any(DataType::is_floating);
    // An integer beyond Int64 and UInt64 alone must fail rather than become a float.
    let general = GENERAL.into_iter().filter(|of| floats || !of.is_floating());
    of_kind(declared).into_iter().chain(general).find(|of| values.clone().all(|value| has(of, value)))
}

/// The general type for a value without a declared type.
pub fn natural(value: &Node) -> Option<DataType> {
    choose(&[], [value].into_iter())
}

/// True if a sidecar's value can belong to the type's kind at all, perhaps in a wider type.
pub fn can_be(of: &DataType, value: &Node) -> bool {
    let is_time = |of: &DataType| {
        matches!(of, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) | DataType::Duration(_))
    };
    !is_time(of) || of_kind(std::slice::from_ref(of)).iter().any(|of| has(of, value))
}

/// True if the type can represent the value exactly.
pub fn has(of: &DataType, value: &Node) -> bool {
    match of {
        DataType::Utf8 => value.as_str().is_some(),
        DataType::Boolean => matches!(value, Node::Bool(_)),
        DataType::Float32 => logical::single(value).is_some(),
        DataType::Float64 => logical::float(value).is_some(),
        of => logical::count(of, value).is_some(),
    }
}

/// Candidates of the types' common kind, the widest of these types first; empty if they have no common kind.
fn of_kind(declared: &[DataType]) -> Vec<DataType> {
    let Some((first, rest)) = declared.split_first() else { return Vec::new() };
    let all = |is: &dyn Fn(&DataType) -> bool| is(first) && rest.iter().all(is);
    if all(&DataType::is_integer) {
        return widest(declared);
    }
    if all(&DataType::is_floating) {
        let single = all(&|of| *of == DataType::Float32);
        return if single { vec![DataType::Float32, DataType::Float64] } else { vec![DataType::Float64] };
    }
    if all(&|of| matches!(of, DataType::Date32 | DataType::Date64)) {
        let short = all(&|of| *of == DataType::Date32);
        return if short { vec![DataType::Date32, DataType::Date64] } else { vec![DataType::Date64] };
    }
    match first {
        DataType::Timestamp(_, zone)
            if all(&|of| matches!(of, DataType::Timestamp(_, other) if other == zone)) =>
        {
            units(declared).into_iter().map(|unit| DataType::Timestamp(unit, zone.clone())).collect()
        }
        DataType::Duration(_) if all(&|of| matches!(of, DataType::Duration(_))) => {
            units(declared).into_iter().map(DataType::Duration).collect()
        }
        first if rest.is_empty() => vec![first.clone()],
        _ => Vec::new(),
    }
}

/// The widest of these integer types, signed first, then 64-bit ones.
fn widest(declared: &[DataType]) -> Vec<DataType> {
    let width = |of: &DataType| of.primitive_width();
    let max = declared.iter().map(width).max().flatten();
    let mut list: Vec<DataType> = declared.iter().filter(|of| width(of) == max).cloned().collect();
    list.sort_by_key(DataType::is_unsigned_integer);
    list.extend([DataType::Int64, DataType::UInt64]);
    list
}

/// The finest unit of these types, then finer ones, then coarser ones.
fn units(declared: &[DataType]) -> Vec<TimeUnit> {
    let is_declared = |unit: &&TimeUnit| {
        declared.iter().any(
            |of| matches!(of, DataType::Timestamp(other, _) | DataType::Duration(other) if other == *unit),
        )
    };
    let finest = FROM_FINEST.iter().find(is_declared).copied();
    let mut list: Vec<TimeUnit> = finest.into_iter().collect();
    let at = FROM_FINEST.iter().position(|unit| Some(*unit) == finest).unwrap_or(0);
    let (finer, coarser) = FROM_FINEST.split_at(at);
    list.extend(finer.iter().rev().chain(coarser.iter().skip(1)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(declared: &[&str], values: &[Node]) -> Option<String> {
        let declared: Vec<_> = declared.iter().map(|name| logical::named(name).unwrap()).collect();
        choose(&declared, values.iter()).map(|of| of.to_string())
    }

    #[test]
    fn the_type_can_hold_all_values() {
        let (int, text) = (|int: i64| Node::int(int), Node::text);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(of(&["int8"], &[int(1)]), some("Int8"));
        assert_eq!(of(&["int8"], &[int(200)]), some("Int64"));
        assert_eq!(of(&["int8", "int16"], &[int(1), int(300)]), some("Int16"));
        assert_eq!(of(&["int8", "uint8"], &[int(1), int(200)]), some("UInt8"));
        assert_eq!(of(&["int8", "uint8"], &[int(-1), int(200)]), some("Int64"));
        assert_eq!(of(&["uint64"], &[Node::int(u64::MAX)]), some("UInt64"));
        assert_eq!(of(&["uint64"], &[Node::int(u64::MAX), int(-1)]), None);
        assert_eq!(of(&["int8"], &[int(1), Node::Float(0.5)]), some("Float64"));
        assert_eq!(of(&["int64"], &[int((1 << 53) + 1), Node::Float(0.5)]), None);
        assert_eq!(of(&["float32"], &[Node::Float(0.5), int(3)]), some("Float32"));
        assert_eq!(of(&["float32"], &[Node::Float(0.5), Node::Float(0.3)]), some("Float64"));
        assert_eq!(of(&["float32", "float64"], &[Node::Float(0.5)]), some("Float64"));
        assert_eq!(of(&["date32", "date64"], &[text("2024-02-29")]), some("Date64"));
        assert_eq!(of(&["date32"], &[text("2024-02-29"), text("soon")]), some("Utf8"));
        assert_eq!(of(&[], &[text("2024-02-29"), int(1)]), None);
        assert_eq!(of(&[], &[Node::int(1i128 << 64)]), None);
        assert_eq!(of(&["int8", "uint16"], &[]), some("UInt16"));
    }

    #[test]
    fn units_are_the_finest_that_fit() {
        let text = Node::text;
        let of = |declared: &[&str], value: &str| {
            of(declared, &[text("2024-02-29T01:02:03"), text(value)]).unwrap()
        };
        assert_eq!(of(&["timestamp[s]", "timestamp[ms]"], "2024-02-29T01:02:03"), "Timestamp(ms)");
        assert_eq!(of(&["timestamp[s]"], "2024-02-29T01:02:03.000001"), "Timestamp(µs)");
        assert_eq!(of(&["timestamp[ns]", "timestamp[s]"], "9999-02-28T01:02:03"), "Timestamp(µs)");
        assert_eq!(of(&["timestamp[ns]", "timestamp[s, UTC]"], "2024-02-29T01:02:03Z"), "Utf8");
        assert_eq!(of(&["timestamp[ns]", "date32"], "2024-02-29"), "Utf8");
        assert!(can_be(&logical::named("timestamp[s]").unwrap(), &text("2024-02-29T01:02:03.5")));
        assert!(!can_be(&DataType::Date32, &text("soon")));
    }
}
