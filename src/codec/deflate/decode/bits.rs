//! Reads bits, lowest first (RFC 1951, 3.1.1).

/// The input ends before the bits that were asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short;

/// Invariant: bits of `buffer` from `count` on are 0, or those that `input` has next.
#[derive(Clone)]
pub struct Bits<'a> {
    pub input: &'a [u8],
    /// Bytes of the input that have gone into `buffer`.
    pub at: usize,
    pub buffer: u64,
    pub count: u32,
}

impl Bits<'_> {
    /// Takes the next `count` bits, at most 32.
    #[inline]
    pub fn take(&mut self, count: u32) -> Result<u32, Short> {
        self.need(count)?;
        let taken = self.buffer & ((1 << count) - 1);
        self.skip(count);
        Ok(taken as u32)
    }

    /// Has `count` bits, at most 32, in the buffer.
    #[inline]
    pub fn need(&mut self, count: u32) -> Result<(), Short> {
        if self.count < count {
            self.refill();
        }
        if self.count < count { Err(Short) } else { Ok(()) }
    }

    /// Drops bits that the buffer has.
    #[inline]
    pub fn skip(&mut self, count: u32) {
        self.buffer >>= count;
        self.count -= count;
    }

    /// Brings the buffer to at least 56 bits, or to the end of the input.
    fn refill(&mut self) {
        if let Some(word) = self.input.get(self.at..).and_then(|rest| rest.first_chunk()) {
            self.buffer |= u64::from_le_bytes(*word) << self.count;
            self.at += ((63 - self.count) >> 3) as usize;
            self.count |= 56;
            return;
        }
        while self.count < 56
            && let Some(byte) = self.input.get(self.at)
        {
            self.buffer |= u64::from(*byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
    }

    /// Drops the bits up to the end of the byte.
    pub fn align(&mut self) {
        self.skip(self.count & 7);
        self.give_back();
    }

    /// Returns whole bytes to the input, so that fewer than 8 bits stay in the buffer.
    pub fn give_back(&mut self) {
        self.at -= (self.count >> 3) as usize;
        self.count &= 7;
        self.buffer &= (1 << self.count) - 1;
    }
}
