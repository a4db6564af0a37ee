//! Values as JSON text with a length limit. Every step writes at least a byte and checks for space first, so nested,
//! repeated or zero-width values cannot run forever.

use super::super::{Json, write_text};
use super::MAX_LEN;
use crate::array::json::{hex, scalar, time};
use crate::array::{Endian, Scalar as Number};
use crate::format::awkward::read::array::Array;
use crate::format::awkward::read::dtype::{ElementKind, Type};
use crate::format::awkward::read::encoding::Encoding;
use crate::format::awkward::read::graph::Ix;
use crate::{Error, Result};

/// JSON text of an item.
pub struct Out<'o> {
    pub bytes: &'o mut Vec<u8>,
    /// Maximum length.
    most: usize,
    array: &'o Array,
    ix: Ix,
}

impl<'o> Out<'o> {
    pub fn new(bytes: &'o mut Vec<u8>, array: &'o Array, ix: Ix) -> Out<'o> {
        Out { most: bytes.len() + MAX_LEN, bytes, array, ix }
    }

    /// Fails unless `count` more bytes fit.
    pub fn room(&self, count: u64) -> Result<()> {
        if (self.bytes.len() as u64).saturating_add(count) <= self.most as u64 {
            return Ok(());
        }
        let problem = format!("an item takes more than {MAX_LEN} bytes as JSON, which is the limit");
        Err(Error::Unsupported { place: self.array.place(self.ix), problem })
    }

    pub fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub fn null(&mut self) {
        self.bytes.extend(b"null");
    }

    pub fn text(&mut self, text: &str) -> Result<()> {
        self.room(text.len() as u64)?;
        write_text(text, self.bytes);
        Ok(())
    }
}

/// Writes a list; `each` writes the items.
pub fn sequence(
    items: std::ops::Range<u64>,
    out: &mut Out<'_>,
    each: &mut dyn FnMut(u64, &mut Out<'_>) -> Result<()>,
) -> Result<()> {
    out.push(b'[');
    for at in items.clone() {
        out.room(1)?;
        if at > items.start {
            out.push(b',');
        }
        each(at, out)?;
    }
    out.push(b']');
    Ok(())
}

/// Writes nested lists of this shape; `first` is the number of the first item.
pub fn shaped(
    shape: &[u64],
    first: u64,
    out: &mut Out<'_>,
    each: &mut dyn FnMut(u64, &mut Out<'_>) -> Result<()>,
) -> Result<()> {
    let Some((size, inner)) = shape.split_first() else { return each(first, out) };
    let step = inner.iter().product::<u64>();
    sequence(0..*size, out, &mut |at, out| shaped(inner, first + at * step, out, each))
}

/// Writes an element, given its bytes.
pub fn typed(of: &Type, bytes: &[u8], out: &mut Out<'_>) -> Result<()> {
    let width = of.width as usize;
    shaped(&of.shape, 0, out, &mut |at, out| {
        let start = at as usize * width;
        cell(&of.cell, bytes.get(start..start + width).unwrap_or_default(), out)
    })
}

fn cell(of: &ElementKind, bytes: &[u8], out: &mut Out<'_>) -> Result<()> {
    let trimmed =
        || bytes.get(..bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)).unwrap_or_default();
    match of {
        ElementKind::Number(dtype) => match Number::from_bytes(bytes, *dtype) {
            Some(number) => scalar(number, out.bytes),
            None => hex(bytes, out.bytes),
        },
        ElementKind::Bytes => hex(trimmed(), out.bytes),
        ElementKind::Raw(_) => hex(bytes, out.bytes),
        ElementKind::Time(times, _) => time(*times, bytes, out.bytes),
        ElementKind::Unicode(endian) => {
            let unit = |item: &[u8]| {
                let item = item.try_into().unwrap_or_default();
                let code =
                    if *endian == Endian::Big { u32::from_be_bytes(item) } else { u32::from_le_bytes(item) };
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            };
            let text: String = bytes.chunks_exact(4).map(unit).collect();
            return out.text(text.trim_end_matches('\0'));
        }
        ElementKind::Fields(fields) => {
            out.bytes.extend(b"{\"__tuple__\":[");
            for (number, (_, offset, of)) in fields.iter().enumerate() {
                out.room(1)?;
                if number > 0 {
                    out.push(b',');
                }
                let start = *offset as usize;
                typed(of, bytes.get(start..start + of.size() as usize).unwrap_or_default(), out)?;
            }
            out.bytes.extend(b"]}");
        }
    }
    Ok(())
}

/// Writes a string; without a known text encoding, as bytes.
pub fn string(bytes: &[u8], encoding: &Encoding, out: &mut Out<'_>) -> Result<()> {
    match encoding.decode(bytes) {
        Some(text) => out.text(&text),
        None => {
            hex(bytes, out.bytes);
            Ok(())
        }
    }
}

/// Writes a value of a schema.
pub fn written(json: &Json, out: &mut Out<'_>) -> Result<()> {
    out.room(1)?;
    match json {
        Json::Null => out.null(),
        Json::Bool(value) => out.bytes.extend(value.to_string().into_bytes()),
        Json::Number(text) => {
            out.room(text.len() as u64)?;
            out.bytes.extend(text.bytes());
        }
        Json::Str(text) => out.text(text)?,
        Json::List(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                written(item, out)?;
            }
            out.push(b']');
        }
        Json::Map(pairs) => {
            out.push(b'{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.text(key)?;
                out.push(b':');
                written(value, out)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}
