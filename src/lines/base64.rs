//! Encodes any range of a content as base64, in which three bytes become four characters.

use crate::content::Content;
use crate::yaml::base64_of;
use crate::{Error, Result};

/// Bytes read at once: whole groups of three.
const PIECE: u64 = 3 << 16;

/// The number of characters for this many bytes.
pub fn len(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Fills `room` with the characters from number `from` on; the content has `bytes` bytes.
pub fn fill(room: &mut [u8], from: u64, bytes: u64, content: &Content) -> Result<()> {
    if let Content::Broken { error, .. } = content {
        return Err(error.clone());
    }
    let (mut room, mut group, mut skip) = (room, from / 4, (from % 4) as usize);
    while !room.is_empty() {
        let wanted = ((room.len() + skip).div_ceil(4) as u64 * 3).min(PIECE);
        let mut piece = vec![0; wanted.min(bytes.saturating_sub(3 * group)) as usize];
        content.fill(&mut piece, 3 * group)?;
        let text = base64_of(&piece).into_bytes();
        let text = text.get(skip..).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| Error::Other("read past the end".into()))?;
        let (now, rest) = room.split_at_mut(text.len().min(room.len()));
        now.copy_from_slice(text.get(..now.len()).unwrap_or_default());
        (room, group, skip) = (rest, group + wanted / 3, 0);
    }
    Ok(())
}
