//! Canonical Huffman codes (RFC 1951, 3.2.2).

use super::bits::{Bits, Short};

/// The longest code of literals, lengths and distances, in bits (RFC 1951, 3.2.7).
pub const LONGEST: usize = 15;
/// Symbols of the literal/length alphabet; those of the others are fewer (RFC 1951, 3.2.6).
const SYMBOLS: usize = 288;

/// The symbols of an alphabet that have codes, by the length of their codes and then by value.
pub struct Code {
    symbols: [u16; SYMBOLS],
    /// The code of each of `symbols`, its first bit lowest, as it arrives.
    codes: [u16; SYMBOLS],
    /// Where in `symbols` those of each length begin.
    starts: [u16; LONGEST + 2],
    /// Bits that decide whether there is a symbol: the length of the longest code.
    longest: usize,
    is_complete: bool,
}

/// Why lengths make no code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    Oversubscribed,
    /// There are bits that no symbol has, and more than one symbol.
    Incomplete,
}

impl Code {
    pub fn new() -> Code {
        Code {
            symbols: [0; SYMBOLS],
            codes: [0; SYMBOLS],
            starts: [0; LONGEST + 2],
            longest: 1,
            is_complete: false,
        }
    }

    /// Takes the code in which each symbol has the length given, or none if that is 0. Incomplete codes are those of a
    /// single symbol of one bit, as RFC 1951, 3.2.7 permits for distances, and of no symbol at all.
    pub fn set(&mut self, lengths: &[u8]) -> Result<(), Unfit> {
        let mut counts = [0u16; LONGEST + 1];
        for length in lengths {
            counts[usize::from(length & 15)] += 1;
        }
        counts[0] = 0;
        // The next code of each length, with its first bit highest.
        let mut next = [0u16; LONGEST + 1];
        let mut unused = 1i32;
        let mut code = 0;
        for length in 1..=LONGEST {
            self.starts[length + 1] = self.starts[length] + counts[length];
            unused = 2 * unused - i32::from(counts[length]);
            if unused < 0 {
                return Err(Unfit::Oversubscribed);
            }
            code = (code + counts[length - 1]) << 1;
            next[length] = code;
        }
        let count = self.starts[LONGEST + 1];
        if unused > 0 && count > counts[1] {
            return Err(Unfit::Incomplete);
        }
        self.is_complete = unused == 0;
        self.longest = counts.iter().rposition(|count| *count > 0).unwrap_or(1);
        let mut places = self.starts;
        // Symbols without a code all go to the last place, which the others then do not need.
        places[0] = SYMBOLS as u16 - 1;
        for (symbol, length) in (0..).zip(lengths) {
            let place = &mut places[usize::from(length & 15)];
            self.symbols[usize::from(*place) % SYMBOLS] = symbol;
            *place += u16::from(*length > 0);
        }
        for (length, next) in next.into_iter().enumerate().skip(1) {
            let range = usize::from(self.starts[length])..usize::from(self.starts[length + 1]);
            for (code, place) in (next..).zip(self.codes.get_mut(range).unwrap_or_default()) {
                *place = code.reverse_bits() >> (16 - length);
            }
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.starts[LONGEST + 1] == 0
    }

    /// Does each sequence of bits begin with a symbol?
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The symbols whose codes have this length (1 to 15) with their codes.
    pub fn of_length(&self, length: usize) -> Symbols<'_> {
        let range = usize::from(self.starts[length])..usize::from(self.starts[length + 1]);
        let (symbols, codes) = (self.symbols.get(range.clone()), self.codes.get(range));
        Symbols { symbols: symbols.unwrap_or_default(), codes: codes.unwrap_or_default() }
    }

    /// The next symbol, read bit by bit; None if no symbol has these bits.
    pub fn read(&self, bits: &mut Bits) -> Result<Option<u16>, Short> {
        let (mut code, mut first) = (0, 0);
        for length in 1..=self.longest {
            code |= bits.take(1)? as u16;
            let (start, end) = (self.starts[length], self.starts[length + 1]);
            if code - first < end - start {
                return Ok(self.symbols.get(usize::from(start + code - first)).copied());
            }
            first = (first + end - start) << 1;
            code <<= 1;
        }
        Ok(None)
    }
}

/// Symbols of one length, in order.
#[derive(Clone, Copy)]
pub struct Symbols<'a> {
    symbols: &'a [u16],
    codes: &'a [u16],
}

impl<'a> Symbols<'a> {
    pub fn is_empty(self) -> bool {
        self.symbols.is_empty()
    }

    /// Each symbol and its code.
    pub fn iter(self) -> impl Iterator<Item = (usize, usize)> + Clone + 'a {
        let pairs = self.symbols.iter().zip(self.codes);
        pairs.map(|(symbol, code)| (usize::from(*symbol), usize::from(*code)))
    }

    /// Those below `symbol`, and the others.
    pub fn split(self, symbol: u16) -> [Symbols<'a>; 2] {
        let below = self.symbols.partition_point(|other| *other < symbol);
        let (symbols, codes) = (self.symbols.split_at(below), self.codes.split_at(below));
        [Symbols { symbols: symbols.0, codes: codes.0 }, Symbols { symbols: symbols.1, codes: codes.1 }]
    }
}
