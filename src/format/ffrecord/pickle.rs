//! The pickle in a packed folder's index: nested `collections.OrderedDict`s of names, read by the opcodes that
//! this needs and no others. Nothing in it is ever run. Names stay where they are in the pickle, so what is
//! allocated is bounded by its length.

use std::collections::HashMap;
use std::ops::Range;

/// A directory of the index; the first one is the root.
pub type Directory = Vec<(Name, Item)>;

/// A text's bytes in the pickle: UTF-8 in which surrogates may stand.
pub type Name = Range<usize>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    File(u64),
    /// The number of a directory.
    Directory(usize),
}

/// More names are refused.
pub const MOST_NAMES: usize = 50_000_000;

/// What is wrong, and at which byte of the pickle.
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

/// The directories of the index, with the number of the outermost one.
pub fn parse(pickle: &[u8]) -> Result<(Vec<Directory>, usize), Wrong> {
    let mut machine = Machine { bytes: pickle, ..Machine::default() };
    loop {
        let at = machine.at;
        let stopped = machine.step().map_err(|problem| (at, problem))?;
        if stopped {
            return machine.finish().map_err(|problem| (at, problem));
        }
    }
}

#[derive(Default)]
struct Machine<'p> {
    bytes: &'p [u8],
    at: usize,
    stack: Vec<Value>,
    memo: HashMap<u64, Value>,
    directories: Vec<Directory>,
    names: usize,
}

type Step<T = ()> = Result<T, String>;

impl Machine<'_> {
    /// Runs an opcode; true if it was the last.
    fn step(&mut self) -> Step<bool> {
        match self.byte()? {
            0x80 => self.protocol()?,
            0x95 => self.frame()?,
            b'.' => return Ok(true),
            b'(' => self.stack.push(Value::Mark),
            b')' => self.stack.push(Value::Empty),
            b'}' => self.directory(),
            b'c' => self.global()?,
            0x93 => self.stack_global()?,
            b'R' => self.reduce()?,
            b's' => self.set_one()?,
            b'u' => self.set_all()?,
            op @ (0x8c | b'X' | 0x8d) => self.text(op)?,
            op @ (b'K' | b'M' | b'J' | 0x8a) => self.number(op)?,
            0x94 => self.memoize(self.memo.len() as u64)?,
            op @ (b'q' | b'r' | b'p') => self.put(op)?,
            op @ (b'h' | b'j' | b'g') => self.get(op)?,
            other => return Err(format!("opcode {other:#04x} has no place in the index of a packed folder")),
        }
        Ok(false)
    }

    fn finish(self) -> Step<(Vec<Directory>, usize)> {
        if self.at != self.bytes.len() {
            return Err(format!("{} bytes follow the end of the pickle", self.bytes.len() - self.at));
        }
        match self.stack.as_slice() {
            [Value::Directory(root)] => Ok((self.directories, *root)),
            [other] => Err(format!("the index is {}, not a directory", other.what())),
            all => Err(format!("the pickle ends with {} values", all.len())),
        }
    }

    fn take(&mut self, count: u64) -> Step<Range<usize>> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        let end = end.filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            format!(
                "{count} bytes are needed at byte {} of the pickle, which has {}",
                self.at,
                self.bytes.len()
            )
        })?;
        Ok(std::mem::replace(&mut self.at, end)..end)
    }

    /// The next bytes, of which there are at most eight, as a number.
    fn unsigned(&mut self, count: u64) -> Step<u64> {
        let range = self.take(count)?;
        let bytes = self.bytes.get(range).unwrap_or_default();
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn byte(&mut self) -> Step<u8> {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => Err("the pickle does not end with STOP".into()),
        }
    }

    /// Up to the end of the line, which is taken and not in it.
    fn line(&mut self) -> Step<&[u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = memchr::memchr(b'\n', rest).ok_or("a line has no end")?;
        self.at += len + 1;
        Ok(rest.get(..len).unwrap_or_default())
    }

    fn decimal(&mut self) -> Step<u64> {
        let line = self.line()?;
        let number = std::str::from_utf8(line).ok().and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| format!("\"{}\" is no number", line.escape_ascii()))
    }

    fn protocol(&mut self) -> Step {
        match self.byte()? {
            0..=5 => Ok(()),
            other => Err(format!("pickle protocol {other} is not known")),
        }
    }

    /// Frames only help who reads from a pipe.
    fn frame(&mut self) -> Step {
        let len = self.unsigned(8)?;
        let left = (self.bytes.len() - self.at) as u64;
        if len <= left { Ok(()) } else { Err(format!("a frame has {len} bytes, {left} are left")) }
    }

    fn text(&mut self, op: u8) -> Step {
        let len = self.unsigned(match op {
            0x8c => 1,
            b'X' => 4,
            _ => 8,
        })?;
        let range = self.take(len)?;
        self.stack.push(Value::Text(range));
        Ok(())
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
        self.stack.push(Value::Int(number));
        Ok(())
    }

    fn global(&mut self) -> Step {
        let module = self.line()?.to_vec();
        let name = self.line()?.to_vec();
        self.class(&module, &name)
    }

    fn stack_global(&mut self) -> Step {
        let (name, module) = (self.pop_text()?, self.pop_text()?);
        let bytes = self.bytes;
        self.class(bytes.get(module).unwrap_or_default(), bytes.get(name).unwrap_or_default())
    }

    fn class(&mut self, module: &[u8], name: &[u8]) -> Step {
        if (module, name) != (b"collections", b"OrderedDict") {
            let shown = |bytes: &[u8]| {
                bytes.get(..bytes.len().min(60)).unwrap_or_default().escape_ascii().to_string()
            };
            let (module, name) = (shown(module), shown(name));
            return Err(format!("it names {module}.{name}; only collections.OrderedDict is let in"));
        }
        self.stack.push(Value::Class);
        Ok(())
    }

    fn reduce(&mut self) -> Step {
        match (self.pop()?, self.pop()?) {
            (Value::Empty, Value::Class) => {
                self.directory();
                Ok(())
            }
            (with, what) => Err(format!("{} is called with {}", what.what(), with.what())),
        }
    }

    fn directory(&mut self) {
        self.stack.push(Value::Directory(self.directories.len()));
        self.directories.push(Vec::new());
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

    /// Keys and values in turn, for the directory on the stack.
    fn set(&mut self, mut pairs: impl Iterator<Item = Value>) -> Step {
        let Some(Value::Directory(directory)) = self.stack.last() else {
            return Err("names are put into something that is no directory".into());
        };
        let directory = *directory;
        while let Some(key) = pairs.next() {
            let item = match (&key, pairs.next()) {
                (Value::Text(_), Some(Value::Int(number))) => Item::File(
                    u64::try_from(number).map_err(|_| format!("a name stands for record {number}"))?,
                ),
                // A directory is always newer than the one it is put into, so there are no circles.
                (Value::Text(_), Some(Value::Directory(inner))) if inner > directory => {
                    Item::Directory(inner)
                }
                (key, Some(value)) => return Err(format!("{} stands for {}", key.what(), value.what())),
                (_, None) => return Err("a name stands for nothing".into()),
            };
            self.names += 1;
            if self.names > MOST_NAMES {
                return Err(format!("it has more than {MOST_NAMES} names"));
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

    /// What is on top of the stack gets a number.
    fn memoize(&mut self, number: u64) -> Step {
        match self.stack.last() {
            None | Some(Value::Mark) => Err("nothing is there to be remembered".into()),
            Some(value) => {
                self.memo.insert(number, value.clone());
                Ok(())
            }
        }
    }

    /// Directories are not fetched: each is in one place.
    fn get(&mut self, op: u8) -> Step {
        let number = self.memo_number(op, [b'h', b'j'])?;
        match self.memo.get(&number) {
            Some(Value::Directory(_)) => Err("one directory is in two places".into()),
            Some(value) => {
                self.stack.push(value.clone());
                Ok(())
            }
            None => Err(format!("it recalls number {number}, which was not remembered")),
        }
    }

    fn memo_number(&mut self, op: u8, [short, long]: [u8; 2]) -> Step<u64> {
        match op {
            _ if op == short => self.unsigned(1),
            _ if op == long => self.unsigned(4),
            _ => self.decimal(),
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
