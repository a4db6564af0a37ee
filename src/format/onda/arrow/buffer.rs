//! The bytes of a batch: its body, and what was decompressed of it. All buffers together are bounded by what the file
//! has, or may have decompressed ([`Budget`]), before room for them is made.

use std::ops::Range;
use std::sync::Arc;

use arrow_ipc::CompressionType;

use super::Problem;
use crate::codec;

/// Bytes that somebody shares.
#[derive(Clone, Default)]
pub struct Buffer {
    whole: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Buffer {
    pub fn new(whole: Arc<Vec<u8>>, range: Range<usize>) -> Buffer {
        Buffer { whole, range }
    }

    pub fn bytes(&self) -> &[u8] {
        self.whole.get(self.range.clone()).unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.bytes().len()
    }
}

/// How many bytes may still be decompressed for a table.
pub struct Budget {
    left: u64,
    most: u64,
}

/// A table may decompress to this in any case.
const ALWAYS: u64 = 64 << 20;
/// Or to so many times the file.
const RATIO: u64 = 64;
/// What no table has.
const NEVER: u64 = 8 << 30;

impl Budget {
    pub fn new(file: u64) -> Budget {
        let most = file.saturating_mul(RATIO).clamp(ALWAYS, NEVER);
        Budget { left: most, most }
    }

    pub fn take(&mut self, bytes: u64) -> Result<(), Problem> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let most = self.most;
            Problem::damaged(format!("its buffers are said to decompress to more than {most} bytes, the limit for a file of this size"))
        })?;
        Ok(())
    }
}

/// A buffer of a compressed body: 8 bytes say its length, or -1 that it is stored as it is. One without bytes may
/// lack them.
pub fn decompressed(stored: Buffer, codec: CompressionType, budget: &mut Budget) -> Result<Buffer, Problem> {
    let Some((len, rest)) = stored.bytes().split_first_chunk::<8>() else {
        return match stored.len() {
            0 => Ok(stored),
            len => Err(Problem::damaged(format!(
                "a compressed buffer has {len} bytes, its length alone takes 8"
            ))),
        };
    };
    let len = i64::from_le_bytes(*len);
    if len == -1 {
        return Ok(Buffer { range: stored.range.start + 8..stored.range.end, whole: stored.whole });
    }
    let wanted = u64::try_from(len)
        .map_err(|_| Problem::damaged(format!("a compressed buffer is said to have {len} bytes")))?;
    budget.take(wanted)?;
    let wanted = wanted as usize;
    let made = match codec {
        _ if wanted == 0 => Ok(Vec::new()),
        CompressionType::LZ4_FRAME => codec::lz4_frame(rest, wanted),
        CompressionType::ZSTD => codec::zstd_bytes(rest, wanted),
        other => {
            return Err(Problem::unsupported(format!(
                "its buffers are compressed by method {}, known are LZ4 and zstd",
                other.0
            )));
        }
    };
    let made = made.map_err(|problem| Problem::damaged(format!("a compressed buffer: {problem}")))?;
    if made.len() != wanted {
        return Err(Problem::damaged(format!(
            "a compressed buffer has {} bytes, it is said to have {wanted}",
            made.len()
        )));
    }
    Ok(Buffer { range: 0..made.len(), whole: Arc::new(made) })
}
