//! Tables that turn the next bits into what they stand for.
//!
//! An entry is 32 bits, the lowest first:
//!
//! | bits | |
//! |---|---|
//! | 6 | how many bits it takes, extra bits included |
//! | 2 | how many literals it gives: a second symbol that fits into the index is part of the entry |
//! | 6 | the bit at which extra bits begin, plus [`SPARE`] |
//! | 1, 1 | [`SPECIAL`]: see below; [`LENGTH`]: it gives a length, after its literals |
//! | 8, 8 | the first literal; the second one, or the length less [`SHORTEST`] |
//!
//! Entries of distances have the lowest distance in the upper 16 bits. A special entry is [`INVALID`], the
//! [`END_OF_BLOCK`], or leads to a second table for codes that are longer than the index: where that begins, and in
//! place of extra bits how many bits are its index.

use super::huffman::{Code, LONGEST, Symbols};

/// Bits of the index of the first tables.
pub const LITERAL_BITS: u32 = 12;
pub const DISTANCE_BITS: u32 = 10;
/// Bits that the loop keeps below the next ones in its buffer, so that the masked index of an entry is the offset of
/// its bytes.
pub const SPARE: u32 = 2;

pub const SPECIAL: u32 = 1 << 14;
pub const LENGTH: u32 = 1 << 15;
pub const INVALID: u32 = SPECIAL | 1 << 31;
pub const END_OF_BLOCK: u32 = SPECIAL | 1 << 30;
const ONE_LITERAL: u32 = 1 << 6;
const TWO_LITERALS: u32 = 2 << 6;

/// Second tables: a code with an index of n bits has at least n + 1 symbols there, so that 286 symbols of at most 3
/// bits need at most 572 entries, and 30 symbols of at most 5 bits 160.
const LITERAL_ENTRIES: usize = (1 << LITERAL_BITS) + 576;
const DISTANCE_ENTRIES: usize = (1 << DISTANCE_BITS) + 160;

/// The shortest match (RFC 1951, 3.2.5).
pub const SHORTEST: usize = 3;
/// The symbol that ends a block, and the first that stands for a length (RFC 1951, 3.2.5).
const END: u16 = 256;
/// Symbols that do not occur (RFC 1951, 3.2.6).
const FIRST_UNUSED_LENGTH: usize = 286;

pub struct Tables {
    pub literals: [u32; LITERAL_ENTRIES],
    pub distances: [u32; DISTANCE_ENTRIES],
}

impl Tables {
    pub fn new() -> Tables {
        Tables { literals: [INVALID; LITERAL_ENTRIES], distances: [INVALID; DISTANCE_ENTRIES] }
    }

    pub fn set(&mut self, literals: &Code, distances: &Code) {
        let meanings = &LITERAL_MEANINGS;
        let mut pairs = Pairs::of(literals);
        fill_first(&mut self.literals, LITERAL_BITS, literals, meanings, |table, length| {
            pairs.fill(table, length);
        });
        fill_second(&mut self.literals, LITERAL_BITS, literals, meanings);
        fill_first(&mut self.distances, DISTANCE_BITS, distances, &DISTANCE_MEANINGS, |_, _| {});
        fill_second(&mut self.distances, DISTANCE_BITS, distances, &DISTANCE_MEANINGS);
    }
}

/// `meaning` of a symbol whose code ends `length` bits into the index.
fn entry(meaning: u32, length: u32) -> u32 {
    meaning + (length | (length + SPARE) << 8)
}

/// Entries for codes of up to `bits` bits. The table grows with the length of the codes: what it has is doubled, since
/// another bit changes nothing for those shorter, and `also` puts in what is as long.
fn fill_first(
    table: &mut [u32],
    bits: u32,
    code: &Code,
    meanings: &[u32],
    mut also: impl FnMut(&mut [u32], usize),
) {
    if let Some(first) = table.first_mut() {
        *first = INVALID;
    }
    for length in 1..=bits {
        let size = 1 << (length - 1);
        let Some(table) = table.get_mut(..2 * size) else { return };
        table.copy_within(..size, size);
        for (symbol, code) in code.of_length(length as usize).iter() {
            if let (Some(slot), Some(meaning)) = (table.get_mut(code), meanings.get(symbol)) {
                *slot = entry(*meaning, length);
            }
        }
        also(table, length as usize);
    }
}

/// Entries for codes longer than `bits` bits: those that begin with the same `bits` bits share a table.
fn fill_second(table: &mut [u32], bits: u32, code: &Code, meanings: &[u32]) {
    let mask = (1 << bits) - 1;
    let mut end = 1 << bits;
    let longer = bits as usize + 1..=LONGEST;
    let mut rest =
        longer.flat_map(|length| code.of_length(length).iter().map(move |of| (of, length))).peekable();
    while let Some(((_, first), _)) = rest.peek().copied() {
        let mut longest = 0;
        let (start, prefix) = (end, first & mask);
        // In order of their length, so that the last one tells how large the table has to be.
        let same = rest.clone().take_while(|((_, code), _)| code & mask == prefix);
        for (_, length) in same {
            longest = length as u32 - bits;
        }
        end = start + (1 << longest);
        let Some(second) = table.get_mut(start..end) else { return };
        second.fill(INVALID);
        while let Some(((symbol, code), length)) = rest.next_if(|((_, code), _)| code & mask == prefix) {
            let length = length as u32 - bits;
            let Some(meaning) = meanings.get(symbol) else { continue };
            for slot in second.iter_mut().skip(code >> bits).step_by(1 << length) {
                *slot = entry(*meaning, length);
            }
        }
        if let Some(slot) = table.get_mut(prefix) {
            *slot = SPECIAL | (start as u32) << 16 | longest << 8 | bits;
        }
    }
}

/// Two symbols in one entry: a literal, and a literal or a length.
struct Pairs<'a> {
    /// By the length of their codes.
    literals: [Option<Symbols<'a>>; LITERAL_BITS as usize + 1],
    lengths: [Option<Symbols<'a>>; LITERAL_BITS as usize + 1],
}

impl<'a> Pairs<'a> {
    fn of(code: &'a Code) -> Pairs<'a> {
        let mut pairs = Pairs { literals: Default::default(), lengths: Default::default() };
        for length in 1..=LITERAL_BITS as usize {
            let [literals, others] = code.of_length(length).split(END);
            let [_, others] = others.split(END + 1);
            pairs.literals[length] = Some(literals).filter(|some| !some.is_empty());
            pairs.lengths[length] = Some(others).filter(|some| !some.is_empty());
        }
        pairs
    }

    /// Entries for the pairs whose codes have `total` bits.
    fn fill(&mut self, table: &mut [u32], total: usize) {
        for first in 1..total {
            let Some(literals) = self.literals[first] else { continue };
            let second = total - first;
            for (symbol, code) in self.literals[second].iter().flat_map(|symbols| symbols.iter()) {
                let meaning = TWO_LITERALS | total as u32 | (symbol as u32) << 24;
                put(table, literals, code << first, meaning);
            }
            for (symbol, code) in self.lengths[second].iter().flat_map(|symbols| symbols.iter()) {
                if symbol >= FIRST_UNUSED_LENGTH {
                    continue;
                }
                let meaning = entry(LITERAL_MEANINGS[symbol], total as u32);
                put(table, literals, code << first, meaning | ONE_LITERAL);
            }
        }
    }
}

/// An entry for each literal in front of a second symbol.
fn put(table: &mut [u32], literals: Symbols, second: usize, meaning: u32) {
    for (literal, code) in literals.iter() {
        if let Some(slot) = table.get_mut(code | second) {
            *slot = meaning | (literal as u32) << 16;
        }
    }
}

/// RFC 1951, 3.2.5: the lowest length of the symbols from 257 on, and how many extra bits follow.
pub const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The same for distances.
pub const DISTANCES: [(u16, u8); 30] = {
    let mut ranges = [(1, 0); 30];
    let mut symbol = 1;
    while symbol < 30 {
        let (lowest, extra) = ranges[symbol - 1];
        let own = if symbol < 4 { 0 } else { symbol as u8 / 2 - 1 };
        ranges[symbol] = (lowest + (1 << extra), own);
        symbol += 1;
    }
    ranges
};

/// Entries without the length of the code.
const LITERAL_MEANINGS: [u32; 288] = {
    let mut meanings = [INVALID; 288];
    let mut symbol = 0;
    while symbol < END as usize {
        meanings[symbol] = ONE_LITERAL | (symbol as u32) << 16;
        symbol += 1;
    }
    meanings[symbol] = END_OF_BLOCK;
    let mut length = 0;
    while length < LENGTHS.len() {
        let (lowest, extra) = LENGTHS[length];
        meanings[symbol + 1 + length] = LENGTH | (lowest as u32 - SHORTEST as u32) << 24 | extra as u32;
        length += 1;
    }
    meanings
};

const DISTANCE_MEANINGS: [u32; 32] = {
    let mut meanings = [INVALID; 32];
    let mut symbol = 0;
    while symbol < DISTANCES.len() {
        let (lowest, extra) = DISTANCES[symbol];
        meanings[symbol] = (lowest as u32) << 16 | extra as u32;
        symbol += 1;
    }
    meanings
};
