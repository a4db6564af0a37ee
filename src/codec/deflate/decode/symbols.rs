//! The loop that decodes the symbols of a block.
//!
//! Each turn takes up to four entries of literals, or fewer and then a match. It looks ahead without asking whether
//! there is so much input and room: it stops before there might not be.

use super::bits::Bits;
use super::output::{Output, SLACK};
use super::references::References;
use super::repeat::repeat;
use super::tables::{
    DISTANCE_BITS, END_OF_BLOCK, INVALID, LENGTH, LITERAL_BITS, SHORTEST, SPARE, SPECIAL, Tables,
};

pub const BAD_LITERAL: &str = "invalid literal/length code";
pub const BAD_DISTANCE: &str = "invalid distance code";
pub const TOO_FAR: &str = "invalid distance too far back";

/// Bytes of input that one turn may look at: it refills its buffer up to three times, with the next 8 bytes, of which
/// it uses up to 7.
const AHEAD: usize = 24;

/// Why the loop has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    EndOfBlock,
    Room,
    /// The input may end within the next few symbols.
    Input,
}

/// Decodes until the block ends, `limit` is reached (and up to [`SLACK`] bytes more), or there may be too little input
/// for another turn.
pub fn decode(
    tables: &Tables,
    bits: &mut Bits,
    out: &mut Output,
    limit: usize,
) -> Result<Stop, &'static str> {
    if out.is_tracked {
        // References end a window after the origin: what comes then is decoded faster.
        let end = out.references.as_ref().map_or(0, References::end);
        if out.end < end {
            let stopped = decode_best::<true>(tables, bits, out, limit.min(end))?;
            if stopped != Stop::Room || out.end >= limit {
                return Ok(stopped);
            }
        }
    }
    decode_best::<false>(tables, bits, out, limit)
}

fn decode_best<const TRACKED: bool>(
    tables: &Tables,
    bits: &mut Bits,
    out: &mut Output,
    limit: usize,
) -> Result<Stop, &'static str> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("bmi1") && std::arch::is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has these instructions.
        return unsafe { decode_with_bmi2::<TRACKED>(tables, bits, out, limit) };
    }
    decode_here::<TRACKED>(tables, bits, out, limit)
}

/// Shifts by a variable number of bits are one instruction here, and three elsewhere.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn decode_with_bmi2<const TRACKED: bool>(
    tables: &Tables,
    bits: &mut Bits,
    out: &mut Output,
    limit: usize,
) -> Result<Stop, &'static str> {
    decode_here::<TRACKED>(tables, bits, out, limit)
}

/// One function, since the compiler keeps less of it in registers when it is several.
#[inline(always)]
fn decode_here<const TRACKED: bool>(
    tables: &Tables,
    bits: &mut Bits,
    out: &mut Output,
    limit: usize,
) -> Result<Stop, &'static str> {
    let mut rest = bits.input.get(bits.at..).unwrap_or_default();
    let Some(ahead) = rest.first_chunk() else { return Ok(Stop::Input) };
    let (bytes, mut end) = (&mut *out.bytes, out.end);
    let mut references = out.references.as_mut().filter(|_| TRACKED);
    let limit = limit.min(bytes.len() - SLACK);
    let mut buffer = Buffer { word: bits.buffer << SPARE, count: bits.count + SPARE };
    let mut used = 0;
    buffer.refill(ahead, &mut used);
    rest = after(rest, used);
    // Looked up before it is known whether it will be needed, as the next one always is.
    let mut entry = buffer.find(&tables.literals, LITERAL_BITS);
    let stopped = loop {
        if end >= limit {
            break Ok(Stop::Room);
        }
        let Some(ahead) = rest.first_chunk() else { break Ok(Stop::Input) };
        let Some(room) = bytes.get_mut(end..).and_then(|rest| rest.first_chunk_mut()) else {
            break Ok(Stop::Room);
        };
        // A refill gives at least 54 bits. Literals take up to 12, a length up to 20.
        let (mut used, mut written) = (0, 0);
        buffer.refill(ahead, &mut used);
        let mut before = buffer.take(entry);
        write(room, &mut written, entry);
        if entry & (LENGTH | SPECIAL) == 0 {
            entry = buffer.find(&tables.literals, LITERAL_BITS);
            before = buffer.take(entry);
            write(room, &mut written, entry);
            if entry & (LENGTH | SPECIAL) == 0 {
                entry = buffer.find(&tables.literals, LITERAL_BITS);
                buffer.refill(ahead, &mut used);
                before = buffer.take(entry);
                write(room, &mut written, entry);
                if entry & (LENGTH | SPECIAL) == 0 {
                    entry = buffer.find(&tables.literals, LITERAL_BITS);
                    before = buffer.take(entry);
                    write(room, &mut written, entry);
                    if entry & (LENGTH | SPECIAL) == 0 {
                        entry = buffer.find(&tables.literals, LITERAL_BITS);
                        rest = after(rest, used);
                        end += written;
                        continue;
                    }
                }
            }
        }
        if entry & SPECIAL != 0 {
            if entry & INVALID != INVALID && entry & END_OF_BLOCK != END_OF_BLOCK {
                entry = buffer.find_second(&tables.literals, entry);
                before = buffer.take(entry);
                write(room, &mut written, entry);
                if entry & (LENGTH | SPECIAL) == 0 {
                    entry = buffer.find(&tables.literals, LITERAL_BITS);
                    rest = after(rest, used);
                    end += written;
                    continue;
                }
            }
            if entry & SPECIAL != 0 {
                rest = after(rest, used);
                end += written;
                break if entry & INVALID == INVALID { Err(BAD_LITERAL) } else { Ok(Stop::EndOfBlock) };
            }
        }
        let length = (entry >> 24) as usize + SHORTEST + extra(before, entry);
        let mut of_distance = buffer.find(&tables.distances, DISTANCE_BITS);
        buffer.refill(ahead, &mut used);
        rest = after(rest, used);
        if of_distance & SPECIAL != 0 && of_distance & INVALID != INVALID {
            buffer.take(DISTANCE_BITS);
            of_distance = buffer.find_second(&tables.distances, of_distance);
        }
        if of_distance & SPECIAL != 0 {
            end += written;
            break Err(BAD_DISTANCE);
        }
        let before = buffer.take(of_distance);
        let distance = (of_distance >> 16) as usize + extra(before, of_distance);
        entry = buffer.find(&tables.literals, LITERAL_BITS);
        if !repeat(bytes, end, written, distance, length) {
            end += written;
            break Err(TOO_FAR);
        }
        if let Some(references) = &mut references {
            references.note(end + written - distance, length);
        }
        end += written + length;
    };
    bits.count = (buffer.count & 63) - SPARE;
    bits.buffer = buffer.word >> SPARE;
    bits.at = bits.input.len() - rest.len();
    bits.give_back();
    out.end = end;
    stopped
}

#[inline(always)]
fn after(rest: &[u8], used: usize) -> &[u8] {
    rest.get(used..).unwrap_or_default()
}

/// The bits that come next, above [`SPARE`] others.
struct Buffer {
    word: u64,
    /// How many there are, in the lowest 6 bits; what is above these means nothing.
    count: u32,
}

impl Buffer {
    /// Brings the buffer to at least 56 bits, the spare ones included; `used` is how many of the bytes ahead are in it.
    #[inline(always)]
    fn refill(&mut self, ahead: &[u8; AHEAD], used: &mut usize) {
        let next = ahead.get(*used..).and_then(|rest| rest.first_chunk());
        self.word |= u64::from_le_bytes(*next.unwrap_or(&[0; 8])) << (self.count & 63);
        *used += 7 - (self.count as usize >> 3 & 7);
        self.count |= 56;
    }

    /// The entry for the next bits.
    #[inline(always)]
    fn find(&self, table: &[u32], bits: u32) -> u32 {
        let mask = (1 << bits) - 1;
        table.get((self.word >> SPARE & mask) as usize).copied().unwrap_or(INVALID)
    }

    /// The entry in the second table that `entry` leads to.
    #[inline(always)]
    fn find_second(&self, table: &[u32], entry: u32) -> u32 {
        let index = lowest(self.word >> SPARE, entry >> 8 & 31) as usize;
        table.get((entry >> 16) as usize + index).copied().unwrap_or(INVALID)
    }

    /// Takes the bits of `entry`; returns all of them as they were before.
    #[inline(always)]
    fn take(&mut self, entry: u32) -> u64 {
        let before = self.word;
        self.word >>= entry & 63;
        self.count = self.count.wrapping_sub(entry);
        before
    }
}

/// The lowest `count` bits.
#[inline(always)]
fn lowest(word: u64, count: u32) -> u64 {
    word & !(u64::MAX << (count & 63))
}

/// The extra bits of `entry`, which was found in `word`.
#[inline(always)]
fn extra(word: u64, entry: u32) -> usize {
    (lowest(word, (entry & 63) + SPARE) >> (entry >> 8 & 63)) as usize
}

/// Writes the literals of `entry`; `written` is how many bytes there are.
#[inline(always)]
fn write(room: &mut [u8; SLACK], written: &mut usize, entry: u32) {
    if let Some(two) = room.get_mut(*written..).and_then(|rest| rest.first_chunk_mut()) {
        *two = ((entry >> 16) as u16).to_le_bytes();
    }
    *written += entry as usize >> 6 & 3;
}
