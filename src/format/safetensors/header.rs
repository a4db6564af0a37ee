//! Reads and validates the header of one file. No length is trusted before it is checked against the file's.

use std::ops::Range;

use super::dtype::Type;
use super::json::{Document, Entry, Pairs, parse};
use crate::error::{Place, counted, shortened};
use crate::source::Source;
use crate::{Error, Result};

/// Maximum length in bytes; the limit of the reference implementation.
pub const MAX_HEADER: u64 = 100_000_000;
/// Bytes of the length field before the header.
pub const LENGTH: u64 = 8;
/// Beginning of a Git LFS pointer file, a placeholder for a file not yet downloaded.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

pub struct Header {
    pub metadata: Option<Pairs<String>>,
    /// In header order.
    pub tensors: Vec<Tensor>,
}

pub struct Tensor {
    pub name: String,
    pub of: &'static Type,
    pub shape: Box<[u64]>,
    /// Byte range in the file.
    pub stored: Range<u64>,
}

/// True if the file begins with a plausible header length and a JSON object.
pub fn is_plausible(head: &[u8], len: u64) -> bool {
    let Some((length, text)) = head.split_first_chunk() else { return false };
    let length = u64::from_le_bytes(*length);
    let text = text.get(..usize::try_from(length).unwrap_or(usize::MAX).min(text.len())).unwrap_or_default();
    let rest = text.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let is_object = rest.is_some_and(|rest| rest.starts_with(b"\"") || rest.starts_with(b"}"));
    (2..=MAX_HEADER).contains(&length) && length <= len.saturating_sub(LENGTH) && is_object
}

impl Header {
    pub fn read(source: &dyn Source) -> Result<Header> {
        let (text, data) = text(source)?;
        let damaged = |at: u64, problem: String| Error::damaged(source.place().at(at), problem);
        // The reference implementation accepts leading white space, although the specification forbids it.
        if !text.trim_ascii_start().starts_with(b"{") {
            let first = text.get(..8).unwrap_or(&text).escape_ascii();
            return Err(damaged(LENGTH, format!("the header begins with \"{first}\", not with {{")));
        }
        if !text.starts_with(b"{") {
            log::warn!("{}: the header begins with white space, and should begin with {{", source.place());
        }
        let document: Document = parse(&text).map_err(|(problem, at)| {
            damaged(LENGTH + at as u64, format!("the header is invalid: {problem}"))
        })?;
        drop(text);
        let place = source.place();
        let tensors =
            document.tensors.into_iter().map(|(name, entry)| Tensor::new(name, entry, data, &place));
        let tensors = tensors.collect::<Result<Vec<_>>>()?;
        check_layout(&tensors, data, source.len(), &place)?;
        Ok(Header { metadata: document.metadata, tensors })
    }
}

/// The header's text, and the offset of the data.
fn text(source: &dyn Source) -> Result<(Vec<u8>, u64)> {
    let len = source.len();
    let head = source.read_range(0..len.min(POINTER.len() as u64))?;
    if head == POINTER {
        let found = "is a pointer of Git LFS: fetch the file itself with git lfs pull".into();
        return Err(Error::NotAContainer { file: source.path().to_owned(), found });
    }
    let damaged = |at, problem: String| Err(Error::damaged(source.place().at(at), problem));
    let Some(length) = head.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)) else {
        return damaged(
            len,
            format!("the file has {len} bytes, and {LENGTH} for the length of its header alone"),
        );
    };
    if length > MAX_HEADER {
        return damaged(
            0,
            format!("the header claims to take {length} bytes, and the limit is {MAX_HEADER} (100 MB)"),
        );
    }
    let data = LENGTH + length;
    if data > len {
        return damaged(
            0,
            format!("the header claims to end at byte {data}, but the file has {len}: it is cut short"),
        );
    }
    Ok((source.read_range(LENGTH..data)?, data))
}

impl Tensor {
    fn new(name: String, entry: Entry, data: u64, place: &Place) -> Result<Tensor> {
        let damaged = |problem: String| Error::damaged(place.dataset(&name), problem);
        let of = Type::named(&entry.dtype).ok_or_else(|| {
            damaged(format!("its dtype is {:?}, which the format does not have", shortened(&entry.dtype)))
        })?;
        let [begin, end] = entry.data_offsets;
        let shape = entry.shape.0;
        let byte_len = byte_len(of, &shape).map_err(damaged)?;
        if end.checked_sub(begin) != Some(byte_len) {
            let problem = format!(
                "its data_offsets are {begin} and {end}, its shape {shape:?} of {} takes {byte_len} bytes",
                of.name
            );
            return Err(damaged(problem));
        }
        match data.checked_add(end) {
            Some(stored_end) => Ok(Tensor { of, shape, stored: data + begin..stored_end, name }),
            None => Err(damaged(format!("its data_offsets {begin} and {end} do not fit into 64 bits"))),
        }
    }
}

/// Bytes of an array of this shape. As in the reference implementation no product of the first sizes may overflow, even
/// if a later size is 0.
pub fn byte_len(of: &Type, shape: &[u64]) -> Result<u64, String> {
    let count = shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
    match count.and_then(|count| count.checked_mul(of.bits)) {
        Some(bits) if bits % 8 == 0 => Ok(bits / 8),
        Some(bits) => {
            Err(format!("its shape {shape:?} of {} takes {bits} bits, not a whole number of bytes", of.name))
        }
        None => Err(format!("its shape {shape:?} of {} does not fit into 64 bits", of.name)),
    }
}

/// Checks that tensors, in any header order, fill the file from the first byte of data to the end, without gaps.
fn check_layout(tensors: &[Tensor], data: u64, len: u64, place: &Place) -> Result<()> {
    let mut order: Vec<&Tensor> = tensors.iter().collect();
    order.sort_unstable_by_key(|tensor| (tensor.stored.start, tensor.stored.end));
    let mut at = data;
    for tensor in order {
        let Range { start, end } = tensor.stored;
        if start != at {
            let problem = match start < at {
                true => {
                    format!("its data begins at byte {start}, inside other data, which ends at byte {at}")
                }
                false => format!("its data begins at byte {start}, but the data before it ends at byte {at}"),
            };
            return Err(Error::damaged(place.dataset(&tensor.name), problem));
        }
        at = end;
    }
    if at > len {
        return Err(Error::damaged(
            place.at(len),
            format!("the data ends at byte {at}, but the file ends before: it is cut short"),
        ));
    }
    if at < len {
        let problem =
            format!("the data ends here, followed by {} outside any tensor", counted(len - at, "byte"));
        return Err(Error::damaged(place.at(at), problem));
    }
    Ok(())
}
