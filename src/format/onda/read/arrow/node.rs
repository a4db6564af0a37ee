//! Values as YAML. Unknown extension types are shown as their storage type, times as strings with all digits, durations
//! in nanoseconds. Very long lists are shown as their length and first values.

use super::Problem;
use super::buffer::Budget;
use super::column::{Items, Value};
use super::field::{ArrowType, Unit};
use crate::array::times;
use crate::error::shortened;
use crate::yaml::Node;

/// Maximum nested values shown.
const MAX_NODES: usize = 4096;
/// Memory of a node besides its bytes.
const NODE: usize = 64;

/// Remaining nested values of this value, and remaining memory of everything shown.
struct Room<'b> {
    values: usize,
    budget: &'b mut Budget,
}

impl Value<'_> {
    /// The value, with long lists shortened. Memory is taken from the budget.
    pub fn node(&self, budget: &mut Budget) -> Result<Node, Problem> {
        self.shown(&mut Room { values: MAX_NODES, budget })
    }

    /// Like [`Value::node`], but without shortening lists.
    pub fn whole(&self, budget: &mut Budget) -> Result<Node, Problem> {
        self.shown(&mut Room { values: usize::MAX, budget })
    }

    fn shown(&self, room: &mut Room<'_>) -> Result<Node, Problem> {
        room.budget.take(NODE.saturating_add(self.bytes().map_or(0, <[u8]>::len)))?;
        let type_error = || Problem::damaged(format!("expected a {}", shortened(&self.field.type_name())));
        let int = || self.int().ok_or_else(type_error);
        Ok(match &self.field.kind {
            ArrowType::Null => Node::Null,
            ArrowType::Bool => Node::Bool(self.bool().ok_or_else(type_error)?),
            ArrowType::Int(_) => Node::int(int()?),
            ArrowType::Float(_) => Node::Float(self.float().ok_or_else(type_error)?),
            ArrowType::Text { .. } | ArrowType::TextView => Node::text(self.text()?),
            ArrowType::Binary { .. } | ArrowType::BinaryView => Node::Binary(self.bytes()?.into()),
            ArrowType::FixedBinary(_) => Node::text(&match self.field.extension() {
                Some("JuliaLang.UUID") => uuid(reversed(self.bytes()?)),
                Some("arrow.uuid") => uuid(self.bytes()?.iter().copied()),
                _ => hex(self.bytes()?.iter().copied()),
            }),
            ArrowType::Decimal { scale, .. } => Node::text(&decimal(self.bytes()?, *scale)),
            ArrowType::Date { wide } => {
                let days = if *wide { int()?.div_euclid(86_400_000) } else { int()? };
                Node::text(&times::day(days))
            }
            ArrowType::Time { unit, .. } => Node::text(&time_of_day(nanoseconds(int()?, *unit), *unit)),
            ArrowType::Timestamp { unit, zone } => {
                let instant = nanoseconds(int()?, *unit);
                let (days, rest) = (instant.div_euclid(DAY), instant.rem_euclid(DAY));
                let utc = if zone.is_some() { "Z" } else { "" };
                Node::text(&format!("{}T{}{utc}", times::day(days), time_of_day(rest, *unit)))
            }
            ArrowType::Duration(unit) => Node::int(nanoseconds(int()?, *unit)),
            ArrowType::Interval(_) => interval(self.bytes()?),
            ArrowType::List { .. } | ArrowType::ListView { .. } | ArrowType::FixedList(_) => {
                list(&self.list()?, room)?
            }
            ArrowType::Map => map(&self.list()?, room)?,
            ArrowType::Struct => {
                let names = self.field.children.iter().map(|child| child.name.as_str());
                let values = (0..self.field.children.len()).map(|at| maybe(self.nth(at)?, room));
                let values = values.collect::<Result<Vec<_>, Problem>>()?;
                mapping(names.zip(values).collect())
            }
            ArrowType::Union { .. } => maybe(self.chosen()?, room)?,
            ArrowType::RunEnds => return Err(type_error()),
        })
    }
}

fn maybe(value: Option<Value<'_>>, room: &mut Room<'_>) -> Result<Node, Problem> {
    match value {
        Some(value) => value.shown(room),
        None => room.budget.take(NODE).map(|()| Node::Null),
    }
}

fn list(items: &Items<'_>, room: &mut Room<'_>) -> Result<Node, Problem> {
    let shown = items.len().min(room.values);
    room.values -= shown;
    let nodes = items.iter().take(shown).map(|item| maybe(item?, room)).collect::<Result<Vec<_>, _>>()?;
    Ok(with_length(items, shown, Node::seq(nodes)))
}

fn map(items: &Items<'_>, room: &mut Room<'_>) -> Result<Node, Problem> {
    let (mut pairs, count) = (Vec::new(), items.len().min(room.values));
    room.values -= count;
    for item in items.iter().take(count) {
        let Some(entry) = item? else { continue };
        pairs.push((maybe(entry.nth(0)?, room)?, maybe(entry.nth(1)?, room)?));
    }
    let names: Option<Vec<String>> = pairs.iter().map(|(key, _)| key.as_str().map(str::to_owned)).collect();
    Ok(with_length(
        items,
        count,
        match names {
            Some(names) => mapping(
                names.iter().map(String::as_str).zip(pairs.into_iter().map(|(_, value)| value)).collect(),
            ),
            None => Node::seq(pairs.into_iter().map(|(key, value)| Node::seq([key, value]))),
        },
    ))
}

/// The node for a list: all items, or the number of items and the first ones.
fn with_length(items: &Items<'_>, shown: usize, node: Node) -> Node {
    match shown < items.len() {
        true => Node::map([("length", Node::int(items.len() as u64)), ("first", node)]),
        false => node,
    }
}

/// A mapping, or a list of pairs if there are duplicate names, which YAML forbids.
fn mapping(pairs: Vec<(&str, Node)>) -> Node {
    let mut names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    match names.windows(2).any(|two| matches!(two, [one, other] if one == other)) {
        true => Node::seq(pairs.into_iter().map(|(name, value)| Node::seq([Node::text(name), value]))),
        false => Node::map(pairs),
    }
}

fn reversed(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().rev().copied()
}

pub fn hex(bytes: impl Iterator<Item = u8>) -> String {
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// A UUID in RFC 4122 form, from bytes in that order.
pub fn uuid(bytes: impl Iterator<Item = u8>) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    text
}

const DAY: i128 = 86_400_000_000_000;

fn nanoseconds(count: i128, unit: Unit) -> i128 {
    // Counts have at most 64 bits, so this cannot overflow.
    count * i128::from(unit.0)
}

fn time_of_day(nanoseconds: i128, unit: Unit) -> String {
    let (seconds, rest) = (nanoseconds.div_euclid(1_000_000_000), nanoseconds.rem_euclid(1_000_000_000));
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    match unit.name() {
        "s" => clock,
        "ms" => format!("{clock}.{:03}", rest / 1_000_000),
        "us" => format!("{clock}.{:06}", rest / 1_000),
        _ => format!("{clock}.{rest:09}"),
    }
}

fn interval(bytes: &[u8]) -> Node {
    let int = |at: usize| {
        let bytes: [u8; 4] =
            bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        Node::int(i32::from_le_bytes(bytes))
    };
    let long = |at: usize| {
        let bytes: [u8; 8] =
            bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        Node::int(i64::from_le_bytes(bytes))
    };
    match bytes.len() {
        4 => Node::map([("months", int(0))]),
        8 => Node::map([("days", int(0)), ("milliseconds", int(4))]),
        _ => Node::map([("months", int(0)), ("days", int(4)), ("nanoseconds", long(8))]),
    }
}

/// A decimal: a little-endian two's complement integer with `scale` digits after the point.
fn decimal(bytes: &[u8], scale: i32) -> String {
    let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut rest: Vec<u8> = bytes.to_vec();
    if is_negative {
        let mut carry = true;
        for byte in &mut rest {
            (*byte, carry) = (!*byte).overflowing_add(carry.into());
        }
    }
    let mut digits = Vec::new();
    while rest.iter().any(|byte| *byte != 0) {
        let mut remainder = 0u16;
        for byte in rest.iter_mut().rev() {
            let value = remainder << 8 | u16::from(*byte);
            (*byte, remainder) = ((value / 10) as u8, value % 10);
        }
        digits.push(char::from(b'0' + remainder as u8));
    }
    let point = usize::try_from(scale).unwrap_or(0).min(1000);
    while digits.len() <= point {
        digits.push('0');
    }
    digits.reverse();
    let mut text: String = if is_negative { "-".into() } else { String::new() };
    let (whole, part) = digits.split_at(digits.len() - point);
    text.extend(whole);
    if point > 0 {
        text.push('.');
        text.extend(part);
    }
    if scale < 0 {
        text.push_str(&format!("e{}", -i64::from(scale)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times() {
        assert_eq!(
            [0, -1, 19_782, 11_016, -719_528].map(times::day),
            ["1970-01-01", "1969-12-31", "2024-02-29", "2000-02-29", "0000-01-01"]
        );
        assert_eq!(time_of_day(3_661_000_000_001, Unit(1)), "01:01:01.000000001");
    }

    #[test]
    fn decimals() {
        assert_eq!(decimal(&12345i64.to_le_bytes(), 2), "123.45");
        assert_eq!(decimal(&(-5i128).to_le_bytes(), 3), "-0.005");
        assert_eq!(decimal(&0i32.to_le_bytes(), 0), "0");
        assert_eq!(decimal(&7i32.to_le_bytes(), -2), "7e2");
        assert_eq!(decimal(&i128::MIN.to_le_bytes(), 0), i128::MIN.to_string());
    }

    #[test]
    fn a_uuid_has_its_dashes() {
        let bytes: Vec<u8> = (0x10..0x20).collect();
        assert_eq!(uuid(bytes.into_iter()), "10111213-1415-1617-1819-1a1b1c1d1e1f");
    }
}
