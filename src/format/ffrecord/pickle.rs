//! Parses the pickle in a packed folder's index: nested `collections.OrderedDict`s of names. Only the opcodes needed
//! for that are accepted, and no code is ever run. Names are kept as ranges of the pickle, and the stack and the memo
//! are limited, so memory is bounded by the pickle's length.

mod escaped;

use std::collections::HashMap;
use std::ops::Range;

use crate::error::counted;

/// A directory of the index; the first one is the root.
pub type Directory = Vec<(Name, Item)>;

/// The range of a text in [`Index::bytes`]: UTF-8 that may contain surrogates.
pub type Name = Range<usize>;

/// The parsed pickle.
#[derive(Debug)]
pub struct Index {
    /// The pickle, followed by decoded texts that it has in escaped form.
    pub bytes: Vec<u8>,
    pub directories: Vec<Directory>,
    /// The number of the outermost directory.
    pub root: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    File(u64),
    /// The number of a directory.
    Directory(usize),
}

/// Maximum number of names.
const MAX_NAMES: usize = 50_000_000;
/// Python adds at most 1000 names at a time to a directory, and [`super::folder::MAX_DEPTH`] of them can be open.
const MAX_STACK: usize = 2_000_000;
/// Minimum number of bytes of the pickle for each entry of Python's memo.
const REMEMBERED_EVERY: usize = 4;

/// The offset in the pickle, and the problem there.
pub type Wrong = (usize, String);

#[derive(Clone)]
enum Value {
    Mark,
    Text(Name),
    Int(i64),
    Class,
    Empty,
    Directory(usize),
}

impl Value {
    fn what(&self) -> &'static str {
        match self {
            Value::Mark => "a mark",
            Value::Text(_) => "a text",
            Value::Int(_) => "a number",
            Value::Class => "a class",
            Value::Empty => "an empty tuple",
            Value::Directory(_) => "a directory",
        }
    }
}

pub fn parse(pickle: Vec<u8>) -> Result<Index, Wrong> {
    let mut machine = Machine { end: pickle.len(), bytes: pickle, ..Machine::default() };
    loop {
        let at = machine.at;
        let stopped = machine.step().map_err(|problem| (at, problem))?;
        if stopped {
            return machine.finish().map_err(|problem| (at, problem));
        }
    }
}

#[derive(Default)]
struct Machine {
    /// As in [`Index`].
    bytes: Vec<u8>,
    /// The end of the pickle.
    end: usize,
    at: usize,
    stack: Vec<Value>,
    memo: HashMap<u64, Value>,
    directories: Vec<Directory>,
    names: usize,
}

type Step<T = ()> = Result<T, String>;

impl Machine {
    /// Interprets an opcode; true if it was the last.
    fn step(&mut self) -> Step<bool> {
        match self.byte()? {
            0x80 => self.protocol()?,
            0x95 => self.frame()?,
            b'.' => return Ok(true),
            b'(' => self.push(Value::Mark)?,
            b')' => self.push(Value::Empty)?,
            b't' => self.tuple()?,
            b'}' => self.directory()?,
            b'c' => self.global()?,
            0x93 => self.stack_global()?,
            b'R' => self.reduce()?,
            b's' => self.set_one()?,
            b'u' => self.set_all()?,
            op @ (0x8c | b'X' | 0x8d) => self.text(op)?,
            b'V' => self.escaped_text()?,
            op @ (b'K' | b'M' | b'J' | 0x8a) => self.number(op)?,
            b'I' => self.written_number("")?,
            b'L' => self.written_number("L")?,
            0x94 => self.memoize(self.memo.len() as u64)?,
            op @ (b'q' | b'r' | b'p') => self.put(op)?,
            op @ (b'h' | b'j' | b'g') => self.get(op)?,
            other => return Err(format!("opcode {other:#04x} has no place in the index of a packed folder")),
        }
        Ok(false)
    }

    fn finish(self) -> Step<Index> {
        if self.at != self.end {
            return Err(format!("the pickle is followed by {}", counted(self.end - self.at, "byte")));
        }
        match self.stack.as_slice() {
            [Value::Directory(root)] => {
                Ok(Index { root: *root, bytes: self.bytes, directories: self.directories })
            }
            [other] => Err(format!("the index is {}, not a directory", other.what())),
            all => Err(format!("the pickle ends with {} values", all.len())),
        }
    }

    fn push(&mut self, value: Value) -> Step {
        if self.stack.len() >= MAX_STACK {
            return Err(format!("more than {MAX_STACK} values wait to be put into directories"));
        }
        self.stack.push(value);
        Ok(())
    }

    fn take(&mut self, count: u64) -> Step<Range<usize>> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        let end = end.filter(|end| *end <= self.end).ok_or_else(|| {
            format!("{count} bytes are needed at byte {} of the pickle, which has {}", self.at, self.end)
        })?;
        Ok(std::mem::replace(&mut self.at, end)..end)
    }

    /// The next `count` bytes, at most eight, as a little-endian number.
    fn unsigned(&mut self, count: u64) -> Step<u64> {
        let range = self.take(count)?;
        let bytes = self.bytes.get(range).unwrap_or_default();
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn byte(&mut self) -> Step<u8> {
        match self.bytes.get(self.at).filter(|_| self.at < self.end) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => Err("the pickle does not end with STOP".into()),
        }
    }

    /// The rest of the line; the line break is consumed but not included.
    fn line(&mut self) -> Step<Range<usize>> {
        let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
        let len = memchr::memchr(b'\n', rest).ok_or("a line has no end")?;
        let end = self.at + len;
        Ok(std::mem::replace(&mut self.at, end + 1)..end)
    }

    fn text_at(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// A line of digits followed by `behind`.
    fn decimal(&mut self, behind: &str) -> Step<u64> {
        let line = self.line()?;
        let line = self.text_at(line);
        let digits = std::str::from_utf8(line).ok().and_then(|text| text.strip_suffix(behind));
        // `00` and `01` stand for false and true.
        let digits = digits.filter(|digits| *digits == "0" || !digits.starts_with(['0', '+']));
        let number = digits.and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| format!("\"{}\" is not a number", shown(line)))
    }

    fn protocol(&mut self) -> Step {
        match self.byte()? {
            0..=5 => Ok(()),
            other => Err(format!("pickle protocol {other} is not known")),
        }
    }

    /// Frames only help readers of pipes.
    fn frame(&mut self) -> Step {
        let len = self.unsigned(8)?;
        let left = (self.end - self.at) as u64;
        if len <= left { Ok(()) } else { Err(format!("a frame has {len} bytes, {left} are left")) }
    }

    fn text(&mut self, op: u8) -> Step {
        let len = self.unsigned(match op {
            0x8c => 1,
            b'X' => 4,
            _ => 8,
        })?;
        let range = self.take(len)?;
        self.push(Value::Text(range))
    }

    /// A line with escaped characters.
    fn escaped_text(&mut self) -> Step {
        let line = self.line()?;
        let line = self.text_at(line);
        let text = escaped::decode(line).ok_or_else(|| format!("\"{}\" is not valid text", shown(line)))?;
        let start = self.bytes.len();
        self.bytes.extend(text);
        self.push(Value::Text(start..self.bytes.len()))
    }

    fn written_number(&mut self, behind: &str) -> Step {
        let number = self.decimal(behind)?;
        let number = i64::try_from(number).map_err(|_| format!("a name stands for record {number}"))?;
        self.push(Value::Int(number))
    }

    fn number(&mut self, op: u8) -> Step {
        let size = match op {
            b'K' => 1,
            b'M' => 2,
            b'J' => 4,
            _ => u64::from(self.byte()?),
        };
        if size > 8 {
            return Err(format!("a number has {size} bytes"));
        }
        let raw = self.unsigned(size)?;
        let is_signed = matches!(op, b'J' | 0x8a) && size > 0;
        let unused = if is_signed { 64 - 8 * size } else { 0 };
        let number = if is_signed { ((raw << unused) as i64) >> unused } else { raw as i64 };
        self.push(Value::Int(number))
    }

    fn global(&mut self) -> Step {
        let (module, name) = (self.line()?, self.line()?);
        self.class(module, name)
    }

    fn stack_global(&mut self) -> Step {
        let (name, module) = (self.pop_text()?, self.pop_text()?);
        self.class(module, name)
    }

    fn class(&mut self, module: Name, name: Name) -> Step {
        let (module, name) = (self.text_at(module), self.text_at(name));
        if (module, name) != (b"collections", b"OrderedDict") {
            let (module, name) = (shown(module), shown(name));
            return Err(format!("it names {module}.{name}; only collections.OrderedDict is allowed"));
        }
        self.push(Value::Class)
    }

    /// Makes a tuple of the items after the mark; it must be empty.
    fn tuple(&mut self) -> Step {
        match self.stack.pop() {
            Some(Value::Mark) => self.push(Value::Empty),
            _ => Err("it has a tuple that is not empty".into()),
        }
    }

    fn reduce(&mut self) -> Step {
        match (self.pop()?, self.pop()?) {
            (Value::Empty, Value::Class) => self.directory(),
            (with, what) => Err(format!("{} is called with {}", what.what(), with.what())),
        }
    }

    fn directory(&mut self) -> Step {
        self.push(Value::Directory(self.directories.len()))?;
        self.directories.push(Vec::new());
        Ok(())
    }

    fn set_one(&mut self) -> Step {
        let (value, key) = (self.pop()?, self.pop()?);
        self.set([key, value].into_iter())
    }

    fn set_all(&mut self) -> Step {
        let mark =
            self.stack.iter().rposition(|value| matches!(value, Value::Mark)).ok_or("there is no mark")?;
        let pairs = self.stack.split_off(mark + 1);
        self.stack.truncate(mark);
        self.set(pairs.into_iter())
    }

    /// Adds alternating keys and values to the directory on top of the stack.
    fn set(&mut self, mut pairs: impl Iterator<Item = Value>) -> Step {
        let Some(Value::Directory(directory)) = self.stack.last() else {
            return Err("names are put into something that is not a directory".into());
        };
        let directory = *directory;
        while let Some(key) = pairs.next() {
            let item = match (&key, pairs.next()) {
                (Value::Text(_), Some(Value::Int(number))) => Item::File(
                    u64::try_from(number).map_err(|_| format!("a name stands for record {number}"))?,
                ),
                // A directory must be newer than the one it is added to, so there are no cycles.
                (Value::Text(_), Some(Value::Directory(inner))) if inner > directory => {
                    Item::Directory(inner)
                }
                (key, Some(value)) => return Err(format!("{} stands for {}", key.what(), value.what())),
                (_, None) => return Err("a name stands for nothing".into()),
            };
            self.names += 1;
            if self.names > MAX_NAMES {
                return Err(format!("it has more than {MAX_NAMES} names"));
            }
            if let (Value::Text(name), Some(to)) = (key, self.directories.get_mut(directory)) {
                to.push((name, item));
            }
        }
        Ok(())
    }

    fn put(&mut self, op: u8) -> Step {
        let number = self.memo_number(op, [b'q', b'r'])?;
        self.memoize(number)
    }

    /// Stores the top of the stack in the memo.
    fn memoize(&mut self, number: u64) -> Step {
        let most = self.end / REMEMBERED_EVERY + 1;
        match self.stack.last() {
            None | Some(Value::Mark) => Err("nothing is there to be remembered".into()),
            Some(_) if self.memo.len() >= most => Err(format!("it remembers more than {most} things")),
            Some(value) => {
                self.memo.insert(number, value.clone());
                Ok(())
            }
        }
    }

    /// Fetches from the memo, except directories: each must be in one place only.
    fn get(&mut self, op: u8) -> Step {
        let number = self.memo_number(op, [b'h', b'j'])?;
        match self.memo.get(&number) {
            Some(Value::Directory(_)) => Err("one directory is in two places".into()),
            Some(value) => self.push(value.clone()),
            None => Err(format!("it recalls number {number}, which was not remembered")),
        }
    }

    fn memo_number(&mut self, op: u8, [short, long]: [u8; 2]) -> Step<u64> {
        match op {
            _ if op == short => self.unsigned(1),
            _ if op == long => self.unsigned(4),
            _ => self.decimal(""),
        }
    }

    fn pop(&mut self) -> Step<Value> {
        match self.stack.pop() {
            None | Some(Value::Mark) => Err("a value is missing".into()),
            Some(value) => Ok(value),
        }
    }

    fn pop_text(&mut self) -> Step<Name> {
        match self.pop()? {
            Value::Text(name) => Ok(name),
            other => Err(format!("{} is not a name", other.what())),
        }
    }
}

/// For messages.
fn shown(bytes: &[u8]) -> String {
    bytes.get(..bytes.len().min(60)).unwrap_or_default().escape_ascii().to_string()
}
