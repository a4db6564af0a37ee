//! Parses the layout in which PyYAML writes almost every entry, line by line and without a tree:
//! ```text
//! - codecMeta:
//!     byteLength: 8
//!     byteOffset: 0
//!     ...
//!     shape:
//!     - 2
//!     type: float32
//!   metadata:
//!     channel: 0
//!   name: group0/signal 0
//! ```
//! For anything else (an unknown, unordered or duplicate key; a scalar that is not a plain ASCII word, a number or
//! simply quoted; an anchor, a comment, another indentation) `entry` returns None, and the general parser reads that
//! entry. Invariant: what is accepted here the general parser reads the same, and considers portable; a property test
//! compares the two.

use super::entry::{Data, most_decoded};
use super::layout::Layout;
use crate::array::{self, Array, Dtype, Element, Endian, Order};
use crate::yaml;

/// Maximum nesting depth of metadata.
const MAX_DEPTH: usize = 16;
/// Maximum line length in bytes; the general parser has limits on long keys.
const MAX_LEN: usize = 1000;

#[derive(Debug, PartialEq)]
pub struct Entry<'t> {
    /// Length of the entry in bytes, including the last line break.
    pub len: usize,
    pub lines: usize,
    pub name: &'t [u8],
    pub kind: &'t [u8],
    pub array: Option<Array>,
    pub data: Data,
}

/// The entry that `text` begins with, if it has the usual layout and its end is visible: the next entry, or with
/// `last` the end of the text.
pub fn entry(text: &[u8], last: bool, layout: Layout) -> Option<Entry<'_>> {
    let mut lines = Lines { text, at: 0, count: 0 };
    lines.exactly(b"- codecMeta:")?;
    let codec = Codec::read(&mut lines)?;
    metadata(&mut lines)?;
    let name = match scalar(lines.value(2, b"name")?)? {
        Scalar::Text(name) => name,
        Scalar::Other => return None,
    };
    let rest = text.get(lines.at..)?;
    let at_end = last && rest.iter().all(|b| *b == b'\n');
    if !at_end && !rest.starts_with(b"- ") {
        return None;
    }
    let kind = codec.kind;
    let (array, data) = codec.describe(layout)?;
    Some(Entry { len: lines.at, lines: lines.count, name, kind, array, data })
}

struct Lines<'t> {
    text: &'t [u8],
    at: usize,
    count: usize,
}

impl<'t> Lines<'t> {
    /// The next line, without its line break.
    fn peek(&self) -> Option<&'t [u8]> {
        let rest = self.text.get(self.at..)?;
        let end = memchr::memchr(b'\n', rest)?;
        rest.get(..end).filter(|line| line.len() <= MAX_LEN)
    }

    fn take(&mut self, line: &[u8]) {
        self.at += line.len() + 1;
        self.count += 1;
    }

    fn exactly(&mut self, expected: &[u8]) -> Option<()> {
        let line = self.peek().filter(|line| *line == expected)?;
        self.take(line);
        Some(())
    }

    /// The next line without its `indent` leading spaces, if it is indented exactly that far.
    fn indented(&self, indent: usize) -> Option<&'t [u8]> {
        let line = self.peek()?;
        let (spaces, rest) = line.split_at_checked(indent)?;
        (spaces.iter().all(|b| *b == b' ') && !rest.starts_with(b" ")).then_some(rest)
    }

    /// The value of the line `key: value`, indented by `indent`.
    fn value(&mut self, indent: usize, key: &[u8]) -> Option<&'t [u8]> {
        let line = self.indented(indent)?;
        let value = line.strip_prefix(key)?.strip_prefix(b": ")?;
        self.at += indent + line.len() + 1;
        self.count += 1;
        Some(value)
    }
}

/// The fields of codecMeta, in PyYAML's key order.
#[derive(Default)]
struct Codec<'t> {
    length: u64,
    offset: u64,
    order: Option<&'t [u8]>,
    compression: Option<&'t [u8]>,
    decoded: Option<u64>,
    endianness: Option<&'t [u8]>,
    shape: Option<Vec<u64>>,
    kind: &'t [u8],
}

impl<'t> Codec<'t> {
    fn read(lines: &mut Lines<'t>) -> Option<Codec<'t>> {
        let length = number(lines.value(4, b"byteLength")?)?;
        let offset = number(lines.value(4, b"byteOffset")?)?;
        let order = lines.value(4, b"byteOrder");
        checksum(lines)?;
        let compression = lines.value(4, b"compression");
        let decoded = match lines.value(4, b"decodedLength") {
            Some(digits) => Some(number(digits)?),
            None => None,
        };
        let endianness = lines.value(4, b"endianness");
        let shape = sizes(lines, b"shape")?;
        let _strides = sizes(lines, b"strides")?;
        let kind = lines.value(4, b"type")?;
        Some(Codec { length, offset, order, compression, decoded, endianness, shape, kind })
    }

    /// Like `entry::describe`, for unambiguous cases only.
    fn describe(self, layout: Layout) -> Option<(Option<Array>, Data)> {
        let compressed = match self.compression {
            None | Some(b"null") => false,
            Some(b"gzip") => true,
            Some(_) => return None,
        };
        let stored = layout.stored(self.offset.into(), self.length.into()).ok()?;
        if matches!(self.kind, b"text" | b"bytes" | b"object") {
            let known = [self.order, self.endianness].iter().all(Option::is_none) && self.shape.is_none();
            let decoded = if compressed { self.decoded } else { Some(self.length) };
            let known = known && decoded.is_none_or(|len| len <= most_decoded(self.length));
            return known.then_some((None, Data { stored, compressed, decoded }));
        }
        let length = self.length;
        let most = if compressed { most_decoded(length).min(i64::MAX as u64) } else { length };
        let array = self.array()?;
        let len = array::byte_len(array.dtype.element, &array.shape)?;
        let decoded = Some(len).filter(|len| if compressed { *len <= most } else { *len == length })?;
        Some((Some(array), Data { stored, compressed, decoded: Some(decoded) }))
    }

    fn array(self) -> Option<Array> {
        let element = Element::from_name(std::str::from_utf8(self.kind).ok()?)?;
        let endian = match self.endianness? {
            b"little" => Endian::Little,
            b"big" => Endian::Big,
            b"na" if element.size == 1 => Endian::Little,
            _ => return None,
        };
        let order = match self.order? {
            b"C" => Order::C,
            b"F" => Order::F,
            _ => return None,
        };
        let shape = self.shape.filter(|shape| array::check_axes(shape.len()).is_ok())?;
        Some(Array::new(Dtype { element, endian }, shape, order))
    }
}

/// Skips the checksum that our writer adds. None if it is there but not as we write it.
fn checksum(lines: &mut Lines<'_>) -> Option<()> {
    if lines.indented(4) != Some(b"checksum:") {
        return Some(());
    }
    lines.take(lines.peek()?);
    mapping(lines, 6)
}

/// A list of sizes under `key`: `Some(None)` if the key is absent, None if its value is unusual.
#[allow(clippy::option_option)]
fn sizes(lines: &mut Lines<'_>, key: &[u8]) -> Option<Option<Vec<u64>>> {
    let Some(rest) = lines.indented(4).and_then(|line| line.strip_prefix(key)?.strip_prefix(b":")) else {
        return Some(None);
    };
    lines.take(lines.peek()?);
    if rest == b" []" {
        return Some(Some(Vec::new()));
    }
    let mut sizes = Vec::new();
    while let Some(item) = lines.indented(4).and_then(|line| line.strip_prefix(b"- ")) {
        sizes.push(number(item)?);
        lines.take(lines.peek()?);
    }
    (rest.is_empty() && !sizes.is_empty()).then_some(Some(sizes))
}

fn metadata(lines: &mut Lines<'_>) -> Option<()> {
    let rest = lines.indented(2)?.strip_prefix(b"metadata:")?;
    lines.take(lines.peek()?);
    match rest {
        b" {}" | b" null" => Some(()),
        b"" => mapping(lines, 4),
        _ => None,
    }
}

/// A block mapping at this indentation, with keys in strictly ascending order (so there are no duplicates).
fn mapping(lines: &mut Lines<'_>, indent: usize) -> Option<()> {
    let mut before: &[u8] = b"";
    let mut is_first = true;
    while let Some(line) = lines.indented(indent) {
        if line.starts_with(b"- ") {
            break;
        }
        let (key, value) = split_key(line)?;
        if !is_first && key <= before {
            return None;
        }
        (before, is_first) = (key, false);
        lines.take(lines.peek()?);
        match value {
            Some(value) => drop(leaf(value)?),
            None => inside(lines, indent)?,
        }
    }
    (!is_first).then_some(())
}

/// The value of a key without one on its own line: a list at the key's column, or a deeper mapping.
fn inside(lines: &mut Lines<'_>, indent: usize) -> Option<()> {
    if !lines.indented(indent).is_some_and(|line| line.starts_with(b"- ")) {
        return if indent < 2 * MAX_DEPTH { mapping(lines, indent + 2) } else { None };
    }
    while let Some(item) = lines.indented(indent).and_then(|line| line.strip_prefix(b"- ")) {
        leaf(item)?;
        lines.take(lines.peek()?);
    }
    Some(())
}

/// `key: value` or `key:`. Keys are strings, without their quotes here.
fn split_key(line: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let end = if line.starts_with(b"'") {
        2 + memchr::memchr(b'\'', line.get(1..)?)?
    } else {
        memchr::memchr(b':', line)?
    };
    let (key, rest) = line.split_at_checked(end)?;
    let Scalar::Text(key) = scalar(key)? else { return None };
    match rest {
        b":" => Some((key, None)),
        _ => Some((key, Some(rest.strip_prefix(b": ")?))),
    }
}

/// A single-line value.
fn leaf(value: &[u8]) -> Option<()> {
    if matches!(value, b"{}" | b"[]") {
        return Some(());
    }
    scalar(value).map(drop)
}

enum Scalar<'t> {
    Text(&'t [u8]),
    /// A number, a boolean or null.
    Other,
}

/// A scalar that every YAML loader reads the same.
fn scalar(text: &[u8]) -> Option<Scalar<'_>> {
    if let Some(quoted) = text.strip_prefix(b"'") {
        let inner = quoted.strip_suffix(b"'")?;
        return inner.iter().all(|b| matches!(b, b' '..=b'~') && *b != b'\'').then_some(Scalar::Text(inner));
    }
    let plain = text.iter().all(|b| b.is_ascii_alphanumeric() || b" _-./()+%=".contains(b));
    if !plain || text.ends_with(b" ") {
        return None;
    }
    if matches!(text, b"true" | b"false" | b"null") {
        return Some(Scalar::Other);
    }
    let text_or_number = std::str::from_utf8(text).ok()?;
    match text.first()? {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => yaml::is_word(text_or_number).then_some(Scalar::Text(text)),
        b'0'..=b'9' | b'-' => yaml::is_plain_number(text_or_number).then_some(Scalar::Other),
        _ => None,
    }
}

/// A number as PyYAML writes it: at most 18 digits, without a leading zero.
fn number(text: &[u8]) -> Option<u64> {
    let ok = matches!(text, [b'0'] | [b'1'..=b'9', ..]) && text.len() <= 18;
    if !ok {
        return None;
    }
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0')))
}
