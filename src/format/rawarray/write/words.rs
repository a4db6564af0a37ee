//! The words of a header for an array that is to be written.

use super::super::MAGIC;
use super::header;
use crate::array::{Array, Element, Kind, Record, byte_len};
use crate::yaml::Node;

pub struct Words {
    eltype: u64,
    elbyte: u64,
    pub size: u64,
    dims: Vec<u64>,
}

impl Words {
    /// What is lost goes into `notes`; the error is why it cannot be written. Of elements whose meaning is not known
    /// here, `origin` (the words of another file) may tell the class.
    pub fn of(array: &Array, origin: Option<&Node>, notes: &mut Vec<String>) -> Result<Words, String> {
        let Element { kind, size } = array.dtype.element;
        if array.shape.len() as u64 > header::MOST_DIMS {
            let count = array.shape.len();
            return Err(format!("it has {count} dimensions, {} are the most", header::MOST_DIMS));
        }
        let len = byte_len(array.dtype.element, &array.shape).filter(|len| *len <= i64::MAX as u64);
        let len =
            len.ok_or_else(|| format!("there is no array of {} and shape {:?}", array.dtype, array.shape))?;
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
            Kind::Opaque => {
                match array.record.as_deref().map(Record::foreign_type) {
                    Some(Some(text)) => notes.push(format!("its type {text} is left out: it is bytes")),
                    Some(None) => notes
                        .push("the fields of its elements are not described: --dtype says them again".into()),
                    None => {}
                }
                origin.and_then(|origin| class(origin, size)).unwrap_or(0)
            }
        };
        // The numpy view has the last axis fastest, and that one is the first of the dims.
        let dims = array.shape.iter().rev().copied().collect();
        Ok(Words { eltype, elbyte: size.into(), size: len, dims })
    }

    pub fn header(&self) -> Vec<u8> {
        let fixed = [0, self.eltype, self.elbyte, self.size, self.dims.len() as u64];
        let words = fixed.iter().chain(&self.dims).flat_map(|word| word.to_le_bytes());
        MAGIC.iter().copied().chain(words).collect()
    }
}

/// Of numbers of odd sizes that are the same there.
fn class(origin: &Node, size: u32) -> Option<u64> {
    let word = |name: &str| origin.get(name).and_then(Node::as_u64);
    let is_same = word("elbyte") == Some(size.into());
    word("eltype").filter(|eltype| is_same && (1..=4).contains(eltype))
}
