//! The headers of blocks (RFC 1951, 3.2.3 to 3.2.7).

use super::bits::{Bits, Short};
use super::huffman::{Code, Unfit};
use super::tables::Tables;

/// The order in which the lengths of the codes for code lengths are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Bits of the longest code for code lengths.
const LONGEST: u32 = 7;
/// How many symbols the two alphabets have at most.
const MAX_LITERALS: usize = 286;
const MAX_DISTANCES: usize = 30;
/// The symbol that ends a block.
const END: usize = 256;

pub enum Kind {
    /// So many bytes follow.
    Stored(u16),
    /// Symbols follow, whose codes are now in place.
    Coded,
}

pub struct Header {
    pub is_last: bool,
    pub kind: Kind,
}

/// Why there is no header.
pub enum Fault {
    Short,
    Invalid(&'static str),
}

impl From<Short> for Fault {
    fn from(_: Short) -> Fault {
        Fault::Short
    }
}

/// The codes of a block.
pub struct Codes {
    pub literals: Code,
    pub distances: Code,
    pub tables: Tables,
    /// They are those of RFC 1951, 3.2.6.
    are_fixed: bool,
}

impl Codes {
    pub fn new() -> Codes {
        Codes { literals: Code::new(), distances: Code::new(), tables: Tables::new(), are_fixed: false }
    }

    /// Reads a header, and the codes of the block.
    pub fn header(&mut self, bits: &mut Bits) -> Result<Header, Fault> {
        let is_last = bits.take(1)? == 1;
        let kind = match bits.take(2)? {
            0 => stored(bits)?,
            1 => {
                self.set_fixed();
                Kind::Coded
            }
            2 => {
                self.read(bits)?;
                Kind::Coded
            }
            _ => return Err(Fault::Invalid("invalid block type")),
        };
        bits.give_back();
        Ok(Header { is_last, kind })
    }

    /// The codes of blocks that bring none (RFC 1951, 3.2.6).
    fn set_fixed(&mut self) {
        if self.are_fixed {
            return;
        }
        let mut lengths = [8; 288];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        // Both are complete.
        let _ = self.literals.set(&lengths);
        let _ = self.distances.set(&[5; 32]);
        self.tables.set(&self.literals, &self.distances);
        self.are_fixed = true;
    }

    fn read(&mut self, bits: &mut Bits) -> Result<(), Fault> {
        bits.need(14)?;
        let literals = 257 + bits.take(5)? as usize;
        let distances = 1 + bits.take(5)? as usize;
        let stored = 4 + bits.take(4)? as usize;
        if literals > MAX_LITERALS || distances > MAX_DISTANCES {
            return Err(Fault::Invalid("too many length or distance symbols"));
        }
        let mut of_lengths = [0; 19];
        for symbol in ORDER.iter().take(stored) {
            of_lengths[*symbol] = bits.take(3)? as u8;
        }
        let mut lengths = [0; MAX_LITERALS + MAX_DISTANCES];
        let lengths = &mut lengths[..literals + distances];
        read_lengths(&of_lengths, lengths, bits)?;
        if lengths[END] == 0 {
            return Err(Fault::Invalid("invalid code -- missing end-of-block"));
        }
        let (of_literals, of_distances) = lengths.split_at(literals);
        self.are_fixed = false;
        self.literals.set(of_literals).map_err(|_| Fault::Invalid("invalid literal/lengths set"))?;
        self.distances.set(of_distances).map_err(|_| Fault::Invalid("invalid distances set"))?;
        self.tables.set(&self.literals, &self.distances);
        Ok(())
    }
}

fn stored(bits: &mut Bits) -> Result<Kind, Fault> {
    bits.align();
    let (len, complement) = (bits.take(16)?, bits.take(16)?);
    if len != !complement & 0xffff {
        return Err(Fault::Invalid("invalid stored block lengths"));
    }
    Ok(Kind::Stored(len as u16))
}

/// Fills `lengths`, which are stored as symbols of a code of their own (RFC 1951, 3.2.7).
fn read_lengths(of_lengths: &[u8], lengths: &mut [u8], bits: &mut Bits) -> Result<(), Fault> {
    let table = table_of_lengths(of_lengths).map_err(|_| Fault::Invalid("invalid code lengths set"))?;
    let mut filled = 0;
    while filled < lengths.len() {
        let symbol = read_symbol(&table, bits)?;
        let (value, count) = match symbol {
            16 => {
                let count = 3 + bits.take(2)?;
                let last = filled.checked_sub(1).and_then(|last| lengths.get(last));
                (*last.ok_or(Fault::Invalid("invalid bit length repeat"))?, count)
            }
            17 => (0, 3 + bits.take(3)?),
            18 => (0, 11 + bits.take(7)?),
            length => (length, 1),
        };
        let repeated = lengths.get_mut(filled..filled + count as usize);
        repeated.ok_or(Fault::Invalid("invalid bit length repeat"))?.fill(value);
        filled += count as usize;
    }
    Ok(())
}

/// The symbol and the length of the code with which the next bits begin.
type LengthTable = [(u8, u8); 1 << LONGEST];

fn table_of_lengths(of_lengths: &[u8]) -> Result<LengthTable, Unfit> {
    let mut code = Code::new();
    code.set(of_lengths)?;
    // Without any symbol every bit is a length of 0, as in zlib.
    let mut table = [(0, 1); 1 << LONGEST];
    if !code.is_complete() && !code.is_empty() {
        return Err(Unfit::Incomplete);
    }
    for length in 1..=LONGEST as usize {
        for (symbol, code) in code.of_length(length).iter() {
            table
                .iter_mut()
                .skip(code)
                .step_by(1 << length)
                .for_each(|slot| *slot = (symbol as u8, length as u8));
        }
    }
    Ok(table)
}

fn read_symbol(table: &LengthTable, bits: &mut Bits) -> Result<u8, Short> {
    // Near the end of the input there may be fewer bits than the longest code has.
    let _ = bits.need(LONGEST);
    let (symbol, length) = table[(bits.buffer & ((1 << LONGEST) - 1)) as usize];
    bits.need(length.into())?;
    bits.skip(length.into());
    Ok(symbol)
}
