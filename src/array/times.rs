//! numpy's dates and time spans (`M8[ms]`, `m8[25s]`): 64-bit integers counting a unit, dates since 1970; the minimum
//! value is NaT. As text, dates are what `numpy.datetime_as_string` writes (ISO 8601, as precise as the unit), and
//! spans are their integers.

use super::{Dtype, Element, Endian, Kind, Record};

/// numpy's units, with their length in seconds or digits of a second.
const UNITS: [(&str, Unit); 13] = [
    ("Y", Unit::Years),
    ("M", Unit::Months),
    ("W", Unit::Days(7)),
    ("D", Unit::Days(1)),
    ("h", Unit::Seconds(3600)),
    ("m", Unit::Seconds(60)),
    ("s", Unit::Seconds(1)),
    ("ms", Unit::Parts(3)),
    ("us", Unit::Parts(6)),
    ("ns", Unit::Parts(9)),
    ("ps", Unit::Parts(12)),
    ("fs", Unit::Parts(15)),
    ("as", Unit::Parts(18)),
];

const NONE: &str = "NaT";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Years,
    Months,
    Days(i128),
    Seconds(i128),
    /// The number of digits after the decimal point.
    Parts(u32),
}

/// A date or time span type, whose elements have eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    endian: Endian,
    unit: Unit,
    /// Units per step: 25 in `m8[25s]`.
    step: i128,
    is_span: bool,
    /// numpy's name of the unit.
    name: &'static str,
}

impl Times {
    /// The value of NaT (not a time). Unlike in numpy, it equals itself.
    pub const NAT: i64 = i64::MIN;

    /// None for other elements, or without a unit.
    pub fn of(record: &Record) -> Option<Times> {
        Times::named(record.foreign_type()?)
    }

    /// Parses numpy's type string with its byte order: `<M8[ms]`.
    pub fn named(text: &str) -> Option<Times> {
        let (endian, text) = match (text.strip_prefix('<'), text.strip_prefix('>')) {
            (Some(rest), _) => (Endian::Little, rest),
            (_, Some(rest)) => (Endian::Big, rest),
            _ => return None,
        };
        let (is_span, text) = match (text.strip_prefix("m8["), text.strip_prefix("M8[")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return None,
        };
        let text = text.strip_suffix(']')?;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (step, name) = text.split_at_checked(digits)?;
        let step = if step.is_empty() { 1 } else { step.parse::<i32>().ok()? };
        let (name, unit) = UNITS.iter().find(|(own, _)| *own == name)?;
        Some(Times { endian, unit: *unit, step: step.into(), is_span, name })
    }

    /// Equality that ignores byte order.
    pub fn is_like(&self, other: &Times) -> bool {
        Times { endian: other.endian, ..*self } == *other
    }

    /// The type of the underlying integers.
    pub fn dtype(&self) -> Dtype {
        Dtype { element: Element { kind: Kind::Int, size: 8 }, endian: self.endian }
    }

    /// True if `text`, an element as text, is a number.
    pub fn is_number(&self, text: &str) -> bool {
        self.is_span && text != NONE
    }

    /// Formats an element; None if it does not have eight bytes.
    pub fn text(&self, item: &[u8]) -> Option<String> {
        let item = item.try_into().ok()?;
        Some(self.text_of(match self.endian {
            Endian::Little => i64::from_le_bytes(item),
            Endian::Big => i64::from_be_bytes(item),
        }))
    }

    /// numpy's type string: `<M8[ms]`, `>m8[25s]`.
    pub fn numpy(&self) -> String {
        let order = if self.endian == Endian::Big { '>' } else { '<' };
        let kind = if self.is_span { "m8" } else { "M8" };
        let step = if self.step == 1 { String::new() } else { self.step.to_string() };
        format!("{order}{kind}[{step}{}]", self.name)
    }

    /// Formats an element given as an integer.
    pub fn text_of(&self, value: i64) -> String {
        match value {
            Times::NAT => NONE.into(),
            value if self.is_span => value.to_string(),
            value => date(self.unit, i128::from(value) * self.step),
        }
    }

    /// The unit, and the number of units per step.
    pub fn unit(&self) -> (&'static str, u64) {
        (self.name, self.step as u64)
    }
}

fn date(unit: Unit, value: i128) -> String {
    const DAY: i128 = 86_400;
    match unit {
        Unit::Years => format!("{:04}", 1970 + value),
        Unit::Months => format!("{:04}-{:02}", 1970 + value.div_euclid(12), value.rem_euclid(12) + 1),
        Unit::Days(days) => day(value * days),
        Unit::Seconds(seconds) => {
            let all = value * seconds;
            let of_day = all.rem_euclid(DAY);
            let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
            let date = day(all.div_euclid(DAY));
            match seconds {
                3600 => format!("{date}T{hour:02}"),
                60 => format!("{date}T{hour:02}:{minute:02}"),
                _ => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
            }
        }
        Unit::Parts(digits) => {
            let parts = 10i128.pow(digits);
            let seconds = date(Unit::Seconds(1), value.div_euclid(parts));
            format!("{seconds}.{:0width$}", value.rem_euclid(parts), width = digits as usize)
        }
    }
}

/// Days in 400 years, and from 0000-03-01 to 1970-01-01.
const ERA: i128 = 146_097;
const TO_1970: i128 = 719_468;

/// Formats a day, counted from 1970-01-01.
pub fn day(days: i128) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The day counted from 1970-01-01; None if it does not exist, such as 1900-02-29.
pub fn day_of(year: i64, month: u8, day: u8) -> Option<i128> {
    let (year, month, day) = (i128::from(year), i128::from(month), i128::from(day));
    // As in `civil`.
    let from_march = year - i128::from(month <= 2);
    let (era, of_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - TO_1970;
    (civil(days) == (year, month, day)).then_some(days)
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar. Years begin in March
/// here, so that a leap day is the last day of its year.
fn civil(days: i128) -> (i128, i128, i128) {
    let days = days + TO_1970;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / (ERA - 1)) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str, value: i64) -> String {
        let times = Times::of(&Record::foreign(of, 8).unwrap()).unwrap();
        let bytes = if of.starts_with('>') { value.to_be_bytes() } else { value.to_le_bytes() };
        times.text(&bytes).unwrap()
    }

    /// Expected values from numpy.
    #[test]
    fn dates_are_as_numpy_writes_them() {
        for (of, value, want) in [
            ("<M8[Y]", -1971, "-001"),
            ("<M8[M]", -1, "1969-12"),
            ("<M8[W]", 1, "1970-01-08"),
            (">M8[D]", 19_860, "2024-05-17"),
            ("<M8[D]", 11_016, "2000-02-29"),
            ("<M8[h]", -1, "1969-12-31T23"),
            ("<M8[m]", 61, "1970-01-01T01:01"),
            ("<M8[25s]", 3, "1970-01-01T00:01:15"),
            ("<M8[ms]", -1, "1969-12-31T23:59:59.999"),
            ("<M8[ns]", i64::MAX, "2262-04-11T23:47:16.854775807"),
            ("<M8[as]", -1, "1969-12-31T23:59:59.999999999999999999"),
            ("<M8[D]", i64::MIN, "NaT"),
            ("<m8[D]", -5, "-5"),
        ] {
            assert_eq!(text(of, value), want, "{of} {value}");
        }
        assert!(text("<M8[Y]", i64::MAX).starts_with("9223372036854"));
    }

    #[test]
    fn days_are_there_and_back() {
        for days in (-800_000..800_000).step_by(97) {
            let (year, month, of_month) = civil(days);
            assert_eq!(day_of(year as i64, month as u8, of_month as u8), Some(days), "{}", day(days));
        }
        assert_eq!(day_of(2024, 2, 29), Some(19_782));
        for (year, month, day) in
            [(1900, 2, 29), (2023, 2, 31), (2023, 4, 31), (2023, 13, 1), (2023, 0, 1), (2023, 1, 0)]
        {
            assert_eq!(day_of(year, month, day), None, "{year}-{month}-{day}");
        }
        assert!(day_of(i64::MIN, 1, 1).is_some() && day_of(i64::MAX, 255, 255).is_none());
    }

    #[test]
    fn types_have_numpys_names() {
        for of in ["<M8[ns]", ">m8[25s]", "<m8[Y]"] {
            assert_eq!(Times::named(of).unwrap().numpy(), of);
        }
    }

    #[test]
    fn other_types_are_none() {
        for of in ["<M8", "<M8[x]", "M8[s]", "<i8", "<M8[-1s]", "<M8[99999999999s]", "[('a', '<M8[s]')]"] {
            assert!(Times::of(&Record::foreign(of, 8).unwrap()).is_none(), "{of}");
        }
    }
}
