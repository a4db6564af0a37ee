//! Fixed-size, NUL-padded text in array elements and table cells.

use super::Endian;

/// The text without its NUL padding.
pub fn trimmed(cell: &[u8]) -> &[u8] {
    let end = cell.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    cell.get(..end).unwrap_or_default()
}

/// Converts UTF-32 in place to NUL-padded UTF-8; None if a character is invalid.
pub fn to_utf8(cell: &mut [u8], endian: Endian) -> Option<()> {
    let (mut end, characters) = (0, cell.len() / 4);
    for at in 0..characters {
        let item: [u8; 4] = cell.get(4 * at..4 * at + 4)?.try_into().ok()?;
        let code = if endian == Endian::Big { u32::from_be_bytes(item) } else { u32::from_le_bytes(item) };
        let mut room = [0; 4];
        let text = char::from_u32(code)?.encode_utf8(&mut room).as_bytes();
        cell.get_mut(end..end + text.len())?.copy_from_slice(text);
        end += text.len();
    }
    cell.get_mut(end..)?.fill(0);
    Some(())
}
