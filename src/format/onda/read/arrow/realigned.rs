//! Repairs messages of polars 1.0 to 1.20, whose variadic buffer counts, a vector of 64-bit integers, are not aligned
//! to 8 bytes. Reading does not need that, but the flatbuffer verifier insists on it.
//! ```text
//! Message      1: type of the header   2: header
//! Dictionary   1: its RecordBatch
//! RecordBatch  4: the buffer counts
//! table        offset back to its vtable, i32 | values
//! vtable       its length, u16 | u16 | for each field the offset of its value, u16, 0 if absent
//! vector       count, u32 | values
//! ```

use arrow_ipc::MessageHeader;

/// A copy of the message with that vector appended at an aligned offset, not verified. None if there is no such vector.
pub fn realigned(message: &[u8]) -> Option<Vec<u8>> {
    let root = target(message, 0)?;
    let header = target(message, field(message, root, 2)?)?;
    let batch = match MessageHeader(*message.get(field(message, root, 1)?)?) {
        MessageHeader::DictionaryBatch => target(message, field(message, header, 1)?)?,
        _ => header,
    };
    let place = field(message, batch, 4)?;
    let vector = message.get(target(message, place)?..)?;
    let count = u32::from_le_bytes(*vector.first_chunk()?) as usize;
    let vector = vector.get(..count.checked_mul(8)?.checked_add(4)?)?;
    let mut moved = message.to_vec();
    // The values, which follow their count, have to be aligned.
    moved.resize((message.len() + 4).next_multiple_of(8) - 4, 0);
    let distance = u32::try_from(moved.len().checked_sub(place)?).ok()?;
    *moved.get_mut(place..)?.first_chunk_mut()? = distance.to_le_bytes();
    moved.extend_from_slice(vector);
    Some(moved)
}

/// Follows the relative offset stored at `at`.
fn target(bytes: &[u8], at: usize) -> Option<usize> {
    at.checked_add(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

/// Offset of a field's value in a table.
fn field(bytes: &[u8], table: usize, field: usize) -> Option<usize> {
    let back = i32::from_le_bytes(*bytes.get(table..)?.first_chunk()?);
    let vtable = bytes.get(usize::try_from(i64::try_from(table).ok()? - i64::from(back)).ok()?..)?;
    let number = |at: usize| Some(usize::from(u16::from_le_bytes(*vtable.get(at..)?.first_chunk()?)));
    let entry = 4 + 2 * field;
    let distance = if entry < number(0)? { number(entry)? } else { 0 };
    if distance == 0 { None } else { table.checked_add(distance) }
}
