//! Numeric types of the user's columns, including dates, timestamps and durations: parsing their names and values as
//! written in sidecars, and building columns of them.

use arrow_array::{Array, ArrayRef, Int8Array, Int16Array, Int32Array, Int64Array};
use arrow_array::{UInt8Array, UInt16Array, UInt32Array, UInt64Array, make_array};
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

use super::arrow::Unit;
use crate::array::times;
use crate::yaml::Node;

/// The type of this name; None if it is not a number, date, timestamp or duration.
pub fn named(name: &str) -> Option<DataType> {
    let within = |kind: &str| name.strip_prefix(kind)?.strip_prefix('[')?.strip_suffix(']');
    if let Some(of) = within("timestamp") {
        let (of, zone) = of.split_once(", ").map_or((of, None), |(of, zone)| (of, Some(zone.into())));
        return Some(DataType::Timestamp(Unit::named(of)?.into(), zone));
    }
    if let Some(of) = within("duration") {
        return Unit::named(of).map(|unit| DataType::Duration(unit.into()));
    }
    Some(match name {
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        "date32" => DataType::Date32,
        "date64" => DataType::Date64,
        _ => return None,
    })
}

/// The integer that a column of this type stores for a value; None if it cannot represent it.
pub fn count(of: &DataType, value: &Node) -> Option<i128> {
    let exactly = |count: i128, unit: TimeUnit| {
        let nanoseconds = i128::from(Unit::from(unit).0);
        (count % nanoseconds == 0).then_some(count / nanoseconds)
    };
    let count = match of {
        DataType::Date32 => days(value.as_str()?),
        DataType::Date64 => days(value.as_str()?).map(|days| days * 86_400_000),
        DataType::Timestamp(unit, zone) => {
            let text = value.as_str()?;
            let text = if zone.is_some() { text.strip_suffix('Z')? } else { text };
            exactly(instant(text)?, *unit)
        }
        DataType::Duration(unit) => exactly(value.as_i128()?, *unit),
        _ => value.as_i128(),
    }?;
    fits(of, count).then_some(count)
}

pub fn float(value: &Node) -> Option<f64> {
    match value {
        Node::Float(value) => Some(*value),
        int => exact(int.as_i128()?),
    }
}

/// The value as a float32, if that is exact.
pub fn single(value: &Node) -> Option<f32> {
    let wide = float(value)?;
    Some(wide as f32).filter(|single| f64::from(*single) == wide || wide.is_nan())
}

/// The integer as a float64, if that is exact. (`i128::MAX` is not, but the saturating cast back would hide it.)
pub fn exact(int: i128) -> Option<f64> {
    Some(int as f64).filter(|float| *float as i128 == int && int != i128::MAX)
}

fn fits(of: &DataType, count: i128) -> bool {
    match of {
        DataType::Int8 => i8::try_from(count).is_ok(),
        DataType::Int16 => i16::try_from(count).is_ok(),
        DataType::Int32 | DataType::Date32 => i32::try_from(count).is_ok(),
        DataType::UInt8 => u8::try_from(count).is_ok(),
        DataType::UInt16 => u16::try_from(count).is_ok(),
        DataType::UInt32 => u32::try_from(count).is_ok(),
        DataType::UInt64 => u64::try_from(count).is_ok(),
        DataType::Int64 | DataType::Date64 | DataType::Timestamp(..) | DataType::Duration(_) => {
            i64::try_from(count).is_ok()
        }
        _ => false,
    }
}

/// A column of counts, all of which must fit.
pub fn column(of: &DataType, counts: Vec<Option<i128>>) -> ArrayRef {
    macro_rules! of {
        ($array:ident, $number:ty) => {
            Arc::new($array::from_iter(counts.into_iter().map(|count| count.map(|count| count as $number))))
        };
    }
    let numbers: ArrayRef = match of {
        DataType::Int8 => of!(Int8Array, i8),
        DataType::Int16 => of!(Int16Array, i16),
        DataType::Int32 | DataType::Date32 => of!(Int32Array, i32),
        DataType::UInt8 => of!(UInt8Array, u8),
        DataType::UInt16 => of!(UInt16Array, u16),
        DataType::UInt32 => of!(UInt32Array, u32),
        DataType::UInt64 => of!(UInt64Array, u64),
        _ => of!(Int64Array, i64),
    };
    // The same integers, typed as dates, timestamps or durations.
    let typed = numbers.to_data().into_builder().data_type(of.clone()).build();
    typed.map_or(numbers, make_array)
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar, as written in sidecars.
fn days(text: &str) -> Option<i128> {
    let (year, rest) = text.get(1..)?.split_once('-').map(|(year, rest)| (year.len() + 1, rest))?;
    let (year, (month, day)) = (text.get(..year)?, rest.split_once('-')?);
    let part = |text: &str| u8::try_from(digits(text)?).ok();
    times::day_of(year.parse().ok()?, part(month)?, part(day)?)
}

/// Nanoseconds since 1970-01-01.
fn instant(text: &str) -> Option<i128> {
    let (date, clock) = text.split_once('T')?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':').map(digits);
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let is_time = hours < 24 && minutes < 60 && seconds < 60;
    if parts.next().is_some() || fraction.len() > 9 || !is_time {
        return None;
    }
    let nanoseconds = digits(fraction)? * 10i64.pow(9 - fraction.len() as u32);
    let seconds = days(date)?.checked_mul(86_400)? + i128::from(hours * 3600 + minutes * 60 + seconds);
    Some(seconds.checked_mul(1_000_000_000)? + i128::from(nanoseconds))
}

fn digits(text: &str) -> Option<i64> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_counted_from_1970() {
        let day = 86_400_000_000_000;
        for (text, count) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("0000-03-01", -719_468),
            ("-0001-12-31", -719_529),
            ("12345-01-01", 3_789_391),
        ] {
            assert_eq!(days(text), Some(count), "{text}");
        }
        assert_eq!(instant("1970-01-02T00:00:00.5"), Some(day + 500_000_000));
        assert_eq!(instant("1969-12-31T23:59:59.999999999"), Some(-1));
        for text in [
            "",
            "1970",
            "1970-01",
            "1970-13-01",
            "1970-1-x",
            "é-01-01",
            "1970-00-01",
            "2023-02-31",
            "2023-04-31",
        ] {
            assert_eq!(days(text), None, "{text}");
        }
        for text in [
            "1970-01-01",
            "1970-01-01T00:00",
            "1970-01-01T00:00:00:00",
            "1970-01-01T00:00:00.",
            "2023-02-30T00:00:00",
            "2023-02-01T24:00:00",
            "2023-02-01T00:60:00",
            "2023-02-01T00:00:60",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn counts_are_exact_and_fit() {
        let of = |name: &str| named(name).unwrap();
        let text = Node::text;
        assert_eq!(count(&of("int8"), &Node::int(-128)), Some(-128));
        assert_eq!(count(&of("int8"), &Node::int(128)), None);
        assert_eq!(count(&of("uint64"), &Node::int(u64::MAX)), Some(u64::MAX.into()));
        assert_eq!(count(&of("timestamp[ms]"), &text("1970-01-01T00:00:01.500")), Some(1500));
        assert_eq!(count(&of("timestamp[ms]"), &text("1970-01-01T00:00:01.5001")), None);
        assert_eq!(count(&of("timestamp[s, UTC]"), &text("1970-01-01T00:01:00Z")), Some(60));
        assert_eq!(count(&of("timestamp[s, UTC]"), &text("1970-01-01T00:01:00")), None);
        assert_eq!(count(&of("duration[us]"), &Node::int(7000)), Some(7));
        assert_eq!(count(&of("date64"), &text("1970-01-02")), Some(86_400_000));
        assert_eq!(named("time[us]"), None);
        let column = column(&of("date32"), vec![Some(1), None]);
        assert_eq!((column.data_type(), column.null_count(), column.len()), (&DataType::Date32, 1, 2));
    }

    #[test]
    fn floats_are_the_same_numbers() {
        assert_eq!(exact(-(1 << 60)), Some(-(1i64 << 60) as f64));
        assert_eq!(exact(i128::MIN), Some(-(2f64.powi(127))));
        for int in [(1 << 53) + 1, i128::MAX, i128::MAX - 1] {
            assert_eq!(exact(int), None, "{int}");
        }
    }
}
