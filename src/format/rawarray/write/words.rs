//! Header words for an array to be written.

use super::super::MAGIC;
use super::header;
use crate::array::{Array, Cell, Element, Endian, Kind, Order, Record, byte_len};
use crate::format::writer::lost;
use crate::yaml::Node;

pub struct Words {
    eltype: u64,
    elbyte: u64,
    pub size: u64,
    /// Size of the byte groups to reverse when writing; 0 for none.
    pub swapped: usize,
    dims: Vec<u64>,
}

impl Words {
    /// Adds what will be lost to `notes`; fails with the reason if the array cannot be written. For opaque elements,
    /// `origin` (header words of the source file, or from a mount's sidecar) may give the eltype.
    pub fn of(array: &Array, origin: Option<&Node>, notes: &mut Vec<String>) -> Result<Words, String> {
        let Element { kind, size } = array.dtype.element;
        if array.order == Order::F && array.shape.len() > 1 {
            return Err("RawArray stores arrays in C order, and this one is in F order".into());
        }
        if array.shape.len() as u64 > header::MAX_DIMS {
            let count = array.shape.len();
            return Err(format!("it has {count} dimensions, and the limit is {}", header::MAX_DIMS));
        }
        let len = byte_len(array.dtype.element, &array.shape).filter(|len| *len <= i64::MAX as u64);
        let len = len
            .ok_or_else(|| format!("an array of {} and shape {:?} is too large", array.dtype, array.shape))?;
        let is_big = array.dtype.endian == Endian::Big;
        let mut swapped = if is_big { array.dtype.element.swapped() } else { 0 };
        let eltype = match kind {
            Kind::Bool => {
                notes.push("its type bool is written as uint8, which all readers know".into());
                2
            }
            Kind::Int => 1,
            Kind::Uint => 2,
            Kind::Float => 3,
            Kind::Complex => 4,
            Kind::Bfloat => 5,
            Kind::Float8(_) => {
                notes.push("its elements become bytes: that they are numbers is not kept".into());
                0
            }
            Kind::Opaque => {
                let record = array.record.as_deref();
                let is_void = |record: &Record| matches!(record.cell(), Some(Cell::Void(_)));
                let known =
                    origin.filter(|_| record.is_none_or(is_void)).and_then(|words| class(words, size));
                match record.map(Record::foreign_type) {
                    _ if known.is_some() => {}
                    Some(Some(text)) => notes.push(format!("its type {text} is not kept: it becomes bytes")),
                    Some(None) => notes.push(
                        "the fields of its elements are not kept: give them with --dtype to read them again"
                            .into(),
                    ),
                    None => {}
                }
                swapped = known.as_ref().map_or(0, |class| class.swapped);
                known.map_or(0, |class| class.eltype)
            }
        };
        notes.extend(lost::byte_order(swapped as usize));
        // numpy's last axis varies fastest, so it is the first of the dims.
        let dims = array.shape.iter().rev().copied().collect();
        Ok(Words { eltype, elbyte: size.into(), size: len, swapped: swapped as usize, dims })
    }

    pub fn header(&self) -> Vec<u8> {
        let fixed = [0, self.eltype, self.elbyte, self.size, self.dims.len() as u64];
        let words = fixed.iter().chain(&self.dims).flat_map(|word| word.to_le_bytes());
        MAGIC.iter().copied().chain(words).collect()
    }
}

struct Class {
    eltype: u64,
    swapped: u32,
}

/// Class of numbers that numpy sees as bytes (complex32, bfloat16, 128-bit, odd sizes), if `words` has the same size.
fn class(words: &Node, size: u32) -> Option<Class> {
    let word = |name: &str| words.get(name).and_then(Node::as_u64);
    let is = |name: &str, what: &str| words.get(name).and_then(Node::as_str) == Some(what);
    let eltype = word("eltype").filter(|_| word("elbyte") == Some(size.into()))?;
    let part = match (eltype, size) {
        (1..=3, _) | (5, 2) => size,
        (4, _) => size / 2,
        _ => return None,
    };
    // LEB128 decodes to little-endian, whatever the header says.
    let is_big = is("endianness", "big") && !is("compression", "leb128");
    Some(Class { eltype, swapped: if is_big { part } else { 0 } })
}
