//! The buffers of a batch: ranges of its body, or decompressed. Total decompressed size is limited by a [`Budget`],
//! which is checked before memory is allocated.

use std::ops::Range;
use std::sync::Arc;

use arrow_ipc::CompressionType;

use super::Problem;
use crate::codec;

/// A range of shared bytes.
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

/// A limit on the memory derived from a table: a short file can refer to one value many times, or claim sizes that it
/// does not have.
pub struct Budget {
    what: &'static str,
    left: u64,
    max: u64,
}

/// A file may expand to `RATIO` times its size, but always to `ALWAYS` bytes, and never to more than `NEVER`.
const ALWAYS: u64 = 64 << 20;
const RATIO: u64 = 64;
const NEVER: u64 = 8 << 30;

impl Budget {
    /// `what` begins the error message: a subject with its verb, such as "its names have".
    pub fn new(what: &'static str, max: u64) -> Budget {
        Budget { what, left: max, max }
    }

    /// The budget for a file of this length.
    pub fn of_file(what: &'static str, file: u64) -> Budget {
        Budget::new(what, Budget::max_for(file))
    }

    /// The number of bytes to which a file of this length may expand.
    pub fn max_for(file: u64) -> u64 {
        file.saturating_mul(RATIO).clamp(ALWAYS, NEVER)
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| {
            Problem::unsupported(format!("{} more than {} bytes, which is the limit", self.what, self.max))
        })?;
        Ok(())
    }
}

/// Decompresses a buffer. It begins with its decoded length (i64, little-endian), or -1 if it is stored uncompressed;
/// empty buffers may lack that.
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
    let expected_len = usize::try_from(len)
        .map_err(|_| Problem::damaged(format!("a compressed buffer claims to have {len} bytes")))?;
    budget.take(expected_len)?;
    let decoded = match codec {
        _ if expected_len == 0 => Ok(Vec::new()),
        CompressionType::LZ4_FRAME => codec::lz4_frame(rest, expected_len),
        CompressionType::ZSTD => codec::zstd_bytes(rest, expected_len),
        other => {
            return Err(Problem::unsupported(format!(
                "its buffers are compressed by method {}; only LZ4 and zstd are supported",
                other.0
            )));
        }
    };
    let decoded = decoded.map_err(|problem| Problem::damaged(format!("a compressed buffer: {problem}")))?;
    if decoded.len() != expected_len {
        return Err(Problem::damaged(format!(
            "a compressed buffer has {} bytes, it claims to have {expected_len}",
            decoded.len()
        )));
    }
    Ok(Buffer { range: 0..decoded.len(), whole: Arc::new(decoded) })
}
