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

/// How many bytes may still be made of a table: a short file can say one thing many times, and claim what it has not.
pub struct Budget {
    what: &'static str,
    left: u64,
    most: u64,
}

/// A table may become this in any case.
const ALWAYS: u64 = 64 << 20;
/// Or so many times its file.
const RATIO: u64 = 64;
/// What no table becomes.
const NEVER: u64 = 8 << 30;

impl Budget {
    /// `what` is a subject with its verb, such as "its names have".
    pub fn new(what: &'static str, most: u64) -> Budget {
        Budget { what, left: most, most }
    }

    /// For a file of this length.
    pub fn of_file(what: &'static str, file: u64) -> Budget {
        Budget::new(what, Budget::most(file))
    }

    /// What a file of this length may become.
    pub fn most(file: u64) -> u64 {
        file.saturating_mul(RATIO).clamp(ALWAYS, NEVER)
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| {
            Problem::unsupported(format!("{} more than {} bytes, which is the limit", self.what, self.most))
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
    let wanted = usize::try_from(len)
        .map_err(|_| Problem::damaged(format!("a compressed buffer claims to have {len} bytes")))?;
    budget.take(wanted)?;
    let made = match codec {
        _ if wanted == 0 => Ok(Vec::new()),
        CompressionType::LZ4_FRAME => codec::lz4_frame(rest, wanted),
        CompressionType::ZSTD => codec::zstd_bytes(rest, wanted),
        other => {
            return Err(Problem::unsupported(format!(
                "its buffers are compressed by method {}; only LZ4 and zstd are supported",
                other.0
            )));
        }
    };
    let made = made.map_err(|problem| Problem::damaged(format!("a compressed buffer: {problem}")))?;
    if made.len() != wanted {
        return Err(Problem::damaged(format!(
            "a compressed buffer has {} bytes, it claims to have {wanted}",
            made.len()
        )));
    }
    Ok(Buffer { range: 0..made.len(), whole: Arc::new(made) })
}
