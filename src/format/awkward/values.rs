//! Items of an array as JSON, as the reference's `tolist()` gives them: lists, objects for rows, null for what is
//! missing. What JSON has no form for is an object with one key that says what it is: `__bytes_hex__`,
//! `__complex__` (real and imaginary part), `__tuple__` (a structure), `__float__` (nan, inf, -inf).
//!
//! What always holds: an item is no longer than [`LONGEST`] and no deeper than [`DEEPEST`], or it is an error: so
//! neither circles nor shared parts take time or memory. What is read of the parts is kept in blocks, a bounded
//! number of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::array::{Array, BLOCK};
use super::dtype::{Cell, Type};
use super::graph::{Edge, Encoding, Ix, Kind, Lists, Scalar};
use super::json::{Json, write_text};
use crate::array::json::{float, hex, scalar};
use crate::array::{self, Endian, Scalar as Number};
use crate::error::Place;
use crate::{Error, Result};

/// Bytes of JSON.
pub const LONGEST: usize = 16 << 20;
pub const DEEPEST: usize = 128;
/// Blocks that are kept; of numbers and bytes 8 KiB each, of bounds 16.
const KEPT: usize = 1024;
/// Bytes of a flat part that are read at once.
const WINDOW: u64 = 8 << 10;

/// By the part that they are of, and their number or place in it.
type Blocks<T> = HashMap<(Ix, u64), Arc<T>>;
/// Writes a list by its number.
type Each<'e, 'a> = &'e mut dyn FnMut(&mut Values<'a>, u64, &mut Vec<u8>) -> Result<()>;

pub struct Values<'a> {
    array: &'a Array,
    ints: Blocks<[i64]>,
    bounds: Blocks<[(u64, u64)]>,
    members: Blocks<[(usize, i64)]>,
    windows: Blocks<[u8]>,
}

/// A block out of what is kept, or made and kept.
fn kept<T: ?Sized>(
    map: &mut Blocks<T>,
    key: (Ix, u64),
    make: impl FnOnce() -> Result<Arc<T>>,
) -> Result<Arc<T>> {
    if let Some(known) = map.get(&key) {
        return Ok(known.clone());
    }
    if map.len() >= KEPT {
        map.clear();
    }
    let made = make()?;
    map.insert(key, made.clone());
    Ok(made)
}

impl<'a> Values<'a> {
    pub fn new(array: &'a Array) -> Values<'a> {
        Values {
            array,
            ints: HashMap::new(),
            bounds: HashMap::new(),
            members: HashMap::new(),
            windows: HashMap::new(),
        }
    }

    /// Appends item `k` of a part.
    pub fn item(&mut self, ix: Ix, k: u64, out: &mut Vec<u8>) -> Result<()> {
        let most = out.len() + LONGEST;
        self.write(ix, k, out, 0, most)
    }

    fn write(&mut self, ix: Ix, k: u64, out: &mut Vec<u8>, depth: usize, most: usize) -> Result<()> {
        if depth == DEEPEST {
            return Err(
                self.limit(ix, format!("an item is nested deeper than {DEEPEST} levels, which is the limit"))
            );
        }
        if out.len() > most {
            return Err(self
                .limit(ix, format!("an item takes more than {LONGEST} bytes as JSON, which is the limit")));
        }
        let array = self.array;
        let node = array.sound(ix)?;
        if k >= node.len {
            return Err(array.damaged(ix, format!("item {k} is needed, it has {}", node.len)));
        }
        match &node.kind {
            Kind::Flat(flat) => {
                let size = flat.of.size();
                if flat.of.cells() > LONGEST as u64 / 2 {
                    return Err(self.limit(
                        ix,
                        format!("an item takes more than {LONGEST} bytes as JSON, which is the limit"),
                    ));
                }
                let bytes = self.bytes(ix, k * size, size)?;
                typed(&flat.of, &bytes, out);
                Ok(())
            }
            Kind::Jagged { lists, content } => self.nested(ix, k, lists, out, &mut |values, list, out| {
                let (start, stop) = values.list(ix, lists, list)?;
                values.check_end(ix, list, start, stop, content.to)?;
                sequence(start..stop, out, &mut |at, out| values.write(content.to, at, out, depth + 1, most))
            }),
            Kind::Strings { lists, content, encoding } => {
                self.nested(ix, k, lists, out, &mut |values, list, out| {
                    let (start, stop) = values.list(ix, lists, list)?;
                    values.check_end(ix, list, start, stop, content.to)?;
                    if stop - start > LONGEST as u64 {
                        return Err(values.limit(
                            ix,
                            format!("string {list} has more than {LONGEST} bytes, which is the limit"),
                        ));
                    }
                    let bytes = values.bytes(content.to, start, stop - start)?;
                    string(&bytes, *encoding, out);
                    Ok(())
                })
            }
            Kind::Table { columns } | Kind::Record { columns, .. } => self.row(columns, k, out, depth, most),
            Kind::View { rows, table } => {
                let block =
                    kept(&mut self.ints, (ix, k / BLOCK), || Ok(array.rows(ix, rows, k / BLOCK)?.into()))?;
                let row = block.get((k % BLOCK) as usize).copied().unwrap_or(-1);
                let have = array.node(table.to)?.len;
                let row = self.place(ix, "row", k, row, have, true)?;
                self.write(table.to, row, out, depth + 1, most)
            }
            Kind::Masked { mask, content, masked_when } => {
                let is_masked = (self.bytes(mask.to, k, 1)?.first() != Some(&0)) == *masked_when;
                self.unless(is_masked, content, k, out, depth, most)
            }
            Kind::BitMasked { mask, content, masked_when, is_lsb } => {
                let byte = self.bytes(mask.to, k / 8, 1)?.first().copied().unwrap_or(0);
                let bit = if *is_lsb { byte >> (k % 8) } else { byte >> (7 - k % 8) };
                self.unless((bit & 1 == 1) == *masked_when, content, k, out, depth, most)
            }
            Kind::IndexedMasked { mask, content, masked_when } => {
                let at = self.number(mask.to, k)?;
                if at == *masked_when {
                    out.extend(b"null");
                    return Ok(());
                }
                let have = array.node(content.to)?.len;
                let at = self.place(ix, "index", k, at, have, false)?;
                self.write(content.to, at, out, depth + 1, most)
            }
            Kind::Union { tags, index, contents } => {
                let make = || Ok(array.members(ix, *tags, *index, contents.len(), k / BLOCK)?.into());
                let block = kept(&mut self.members, (ix, k / BLOCK), make)?;
                let (content, at) = block.get((k % BLOCK) as usize).copied().unwrap_or((0, -1));
                let content = contents.get(content).ok_or(Error::NotFound)?;
                let have = array.node(content.to)?.len;
                let at = self.place(ix, "index", k, at, have, false)?;
                self.write(content.to, at, out, depth + 1, most)
            }
            Kind::Chunked { chunks, .. } => {
                let mut at = k;
                for (edge, size) in chunks {
                    let size = size.map_or_else(|| array.node(edge.to).map(|node| node.len), Ok)?;
                    if at < size {
                        return self.write(edge.to, at, out, depth + 1, most);
                    }
                    at -= size;
                }
                Err(Error::NotFound)
            }
            Kind::Indexed { index, content } => {
                let at = self.number(index.to, k)?;
                let have = array.node(content.to)?.len;
                let at = self.place(ix, "index", k, at, have, true)?;
                self.write(content.to, at, out, depth + 1, most)
            }
            Kind::Sparse { index, content, default, .. } => match self.search(index.to, k)? {
                Some(at) => self.write(content.to, at, out, depth + 1, most),
                None => self.default(*content, default, out),
            },
            Kind::Object { .. } => Err(self.refused(
                ix,
                "its items are made by code, which is not run; what they are made from is readable",
            )),
            Kind::Refused { .. } => Err(self.refused(ix, "it is not read")),
        }
    }

    fn refused(&self, ix: Ix, problem: &str) -> Error {
        Error::Unsupported { place: self.where_is(ix), problem: problem.into() }
    }

    fn limit(&self, ix: Ix, problem: String) -> Error {
        Error::Unsupported { place: self.where_is(ix), problem }
    }

    fn where_is(&self, ix: Ix) -> Place {
        self.array.store().place(self.array.path(ix))
    }

    /// The lists of item `k`, which are inside each other where the lists have inner dimensions.
    fn nested(&mut self, ix: Ix, k: u64, lists: &Lists, out: &mut Vec<u8>, each: Each<'_, 'a>) -> Result<()> {
        let (_, inner) = self.array.lists(lists)?;
        // Checked when the element type was read.
        let (count, most) =
            (inner.iter().product::<u64>(), inner.iter().map(|size| (*size).max(1)).product::<u64>());
        if most > LONGEST as u64 / 2 {
            return Err(self.limit(ix, format!("an item has {most} lists, {} are the limit", LONGEST / 2)));
        }
        shaped(inner, k * count, out, &mut |list, out| each(self, list, out))
    }

    fn list(&mut self, ix: Ix, lists: &Lists, list: u64) -> Result<(u64, u64)> {
        let make = || Ok(self.array.bounds(ix, lists, list / BLOCK)?.into());
        let block = kept(&mut self.bounds, (ix, list / BLOCK), make)?;
        block.get((list % BLOCK) as usize).copied().ok_or(Error::NotFound)
    }

    fn check_end(&self, ix: Ix, list: u64, start: u64, stop: u64, content: Ix) -> Result<()> {
        let have = self.array.sound(content)?.len;
        if stop > have && stop > start {
            return Err(self
                .array
                .damaged(ix, format!("list {list} ends at {stop}, its content has {have} items")));
        }
        Ok(())
    }

    /// Of two columns of one name the last counts.
    fn row(
        &mut self,
        columns: &[(Box<str>, Edge)],
        k: u64,
        out: &mut Vec<u8>,
        depth: usize,
        most: usize,
    ) -> Result<()> {
        out.push(b'{');
        let mut is_first = true;
        for (at, (name, edge)) in columns.iter().enumerate() {
            let is_last =
                columns.len() > 1000 || !columns.iter().skip(at + 1).any(|(other, _)| other == name);
            if !is_last {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            write_text(name, out);
            out.push(b':');
            self.write(edge.to, k, out, depth + 1, most)?;
        }
        out.push(b'}');
        Ok(())
    }

    fn unless(
        &mut self,
        is_masked: bool,
        content: &Edge,
        k: u64,
        out: &mut Vec<u8>,
        depth: usize,
        most: usize,
    ) -> Result<()> {
        if is_masked {
            out.extend(b"null");
            return Ok(());
        }
        self.write(content.to, k, out, depth + 1, most)
    }

    /// A place in a content of `have` items; negative ones count from the end, where they may.
    fn place(&self, ix: Ix, what: &str, k: u64, at: i64, have: u64, from_end: bool) -> Result<u64> {
        let at_end = if from_end && at < 0 { at.checked_add_unsigned(have) } else { Some(at) };
        let place = at_end.and_then(|at| u64::try_from(at).ok()).filter(|at| *at < have);
        place.ok_or_else(|| self.array.damaged(ix, format!("item {k} has the {what} {at}, there are {have}")))
    }

    fn number(&mut self, ix: Ix, k: u64) -> Result<i64> {
        let make = || Ok(self.array.ints(ix, k / BLOCK * BLOCK, BLOCK)?.into());
        let block = kept(&mut self.ints, (ix, k / BLOCK), make)?;
        block.get((k % BLOCK) as usize).copied().ok_or(Error::NotFound)
    }

    /// Where `k` is in a sorted index.
    fn search(&mut self, index: Ix, k: u64) -> Result<Option<u64>> {
        let (mut low, mut high) = (0, self.array.node(index)?.len);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.number(index, middle)?.cmp(&(k as i64)) {
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// What a sparse array has where it has nothing: what was said, or zero.
    fn default(&self, content: Edge, default: &Scalar, out: &mut Vec<u8>) -> Result<()> {
        match default {
            Scalar::Float(value) => float(*value, out),
            Scalar::Json(Json::Null) => match self.array.sound(content.to)?.flat() {
                Some(flat) if flat.of.size() <= WINDOW => {
                    typed(&flat.of, &vec![0; flat.of.size() as usize], out)
                }
                _ => out.extend(b"null"),
            },
            Scalar::Json(json) => written(json, out),
        }
        Ok(())
    }

    /// Bytes of a flat part.
    fn bytes(&mut self, ix: Ix, offset: u64, len: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len as usize];
        if len > WINDOW {
            self.array.content(ix)?.fill(&mut bytes, offset)?;
            return Ok(bytes);
        }
        let (mut filled, mut at) = (0, offset);
        while filled < bytes.len() {
            let start = at / WINDOW * WINDOW;
            let make = || {
                let content = self.array.content(ix)?;
                let end = content.known_len().unwrap_or(0).min(start + WINDOW);
                let mut window = vec![0; end.saturating_sub(start) as usize];
                content.fill(&mut window, start)?;
                Ok(window.into())
            };
            let window = kept(&mut self.windows, (ix, start), make)?;
            let from = window.get((at - start) as usize..).unwrap_or_default();
            let count = from.len().min(bytes.len() - filled);
            let into = bytes.get_mut(filled..filled + count).filter(|into| !into.is_empty());
            into.ok_or(Error::NotFound)?.copy_from_slice(from.get(..count).unwrap_or_default());
            (filled, at) = (filled + count, at + count as u64);
        }
        Ok(bytes)
    }
}

/// A list of what `each` writes.
fn sequence(
    items: std::ops::Range<u64>,
    out: &mut Vec<u8>,
    each: &mut dyn FnMut(u64, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    out.push(b'[');
    for at in items.clone() {
        if at > items.start {
            out.push(b',');
        }
        each(at, out)?;
    }
    out.push(b']');
    Ok(())
}

/// Lists inside each other, as the shape says; `first` is the number of the first item.
fn shaped(
    shape: &[u64],
    first: u64,
    out: &mut Vec<u8>,
    each: &mut dyn FnMut(u64, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let Some((size, inner)) = shape.split_first() else { return each(first, out) };
    let step = inner.iter().product::<u64>();
    sequence(0..*size, out, &mut |at, out| shaped(inner, first + at * step, out, each))
}

/// An element out of its bytes.
fn typed(of: &Type, bytes: &[u8], out: &mut Vec<u8>) {
    let width = of.width as usize;
    let written = shaped(&of.shape, 0, out, &mut |at, out| {
        let start = at as usize * width;
        cell(&of.cell, bytes.get(start..start + width).unwrap_or_default(), out);
        Ok(())
    });
    debug_assert!(written.is_ok(), "no cell fails");
}

fn cell(of: &Cell, bytes: &[u8], out: &mut Vec<u8>) {
    let trimmed =
        || bytes.get(..bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)).unwrap_or_default();
    match of {
        Cell::Number(dtype) => match Number::from_bytes(bytes, *dtype) {
            Some(number) => scalar(number, out),
            None => hex(bytes, out),
        },
        Cell::Bytes => hex(trimmed(), out),
        Cell::Raw(_) => hex(bytes, out),
        Cell::Time(endian, _) => {
            let int = array::Element { kind: array::Kind::Int, size: 8 };
            scalar(Number::Int(array::int(bytes, array::Dtype { element: int, endian: *endian })), out);
        }
        Cell::Unicode(endian) => {
            let unit = |item: &[u8]| {
                let item = item.try_into().unwrap_or_default();
                let code =
                    if *endian == Endian::Big { u32::from_be_bytes(item) } else { u32::from_le_bytes(item) };
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            };
            let text: String = bytes.chunks_exact(4).map(unit).collect();
            write_text(text.trim_end_matches('\0'), out);
        }
        Cell::Fields(fields) => {
            out.extend(b"{\"__tuple__\":[");
            for (number, (_, offset, of)) in fields.iter().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                let start = *offset as usize;
                typed(of, bytes.get(start..start + of.size() as usize).unwrap_or_default(), out);
            }
            out.extend(b"]}");
        }
    }
}

fn string(bytes: &[u8], encoding: Encoding, out: &mut Vec<u8>) {
    match encoding {
        Encoding::Bytes => hex(bytes, out),
        Encoding::Utf8 => write_text(&String::from_utf8_lossy(bytes), out),
        Encoding::Latin1 => write_text(&bytes.iter().map(|b| char::from(*b)).collect::<String>(), out),
        Encoding::Ascii => {
            let character = |b: &u8| if b.is_ascii() { char::from(*b) } else { char::REPLACEMENT_CHARACTER };
            write_text(&bytes.iter().map(character).collect::<String>(), out);
        }
    }
}

fn written(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.extend(b"null"),
        Json::Bool(value) => out.extend(value.to_string().into_bytes()),
        Json::Number(text) => out.extend(text.bytes()),
        Json::Str(text) => write_text(text, out),
        Json::List(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                written(item, out);
            }
            out.push(b']');
        }
        Json::Map(pairs) => {
            out.push(b'{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_text(key, out);
                out.push(b':');
                written(value, out);
            }
            out.push(b'}');
        }
    }
}
