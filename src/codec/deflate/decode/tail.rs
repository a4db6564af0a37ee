//! Symbols one after the other, each as soon as its bits are there: near the end of a stream, where the loop would need
//! bytes behind the end.

use super::bits::Bits;
use super::codes::{Codes, Fault};
use super::output::Output;
use super::symbols::{BAD_DISTANCE, BAD_LITERAL, Stop, TOO_FAR};
use super::tables::{DISTANCES, LENGTHS};

/// The symbol that ends a block (RFC 1951, 3.2.5).
const END: u16 = 256;

/// Decodes until the block ends, `limit` is reached, or the input ends before the next symbol does.
pub fn decode(codes: &Codes, bits: &mut Bits, out: &mut Output, limit: usize) -> Result<Stop, &'static str> {
    while out.end < limit {
        let mut after = bits.clone();
        match symbol(codes, &mut after, out) {
            Ok(is_end) => {
                *bits = after;
                if is_end {
                    return Ok(Stop::EndOfBlock);
                }
            }
            Err(Fault::Short) => return Ok(Stop::Input),
            Err(Fault::Invalid(why)) => return Err(why),
        }
    }
    Ok(Stop::Room)
}

/// Takes the end of the block if it is next.
pub fn take_end(codes: &Codes, bits: &mut Bits) -> bool {
    let mut after = bits.clone();
    let is_end = codes.literals.read(&mut after) == Ok(Some(END));
    if is_end {
        *bits = after;
    }
    is_end
}

/// Decodes one symbol; returns whether it ends the block.
fn symbol(codes: &Codes, bits: &mut Bits, out: &mut Output) -> Result<bool, Fault> {
    let symbol = codes.literals.read(bits)?.ok_or(Fault::Invalid(BAD_LITERAL))?;
    if let Ok(literal) = u8::try_from(symbol) {
        out.push(literal);
        return Ok(false);
    }
    let Some(number) = usize::from(symbol).checked_sub(257) else { return Ok(true) };
    let (lowest, extra) = *LENGTHS.get(number).ok_or(Fault::Invalid(BAD_LITERAL))?;
    let length = u32::from(lowest) + bits.take(extra.into())?;
    let symbol = codes.distances.read(bits)?.ok_or(Fault::Invalid(BAD_DISTANCE))?;
    let (lowest, extra) = *DISTANCES.get(usize::from(symbol)).ok_or(Fault::Invalid(BAD_DISTANCE))?;
    let distance = u32::from(lowest) + bits.take(extra.into())?;
    if !out.repeat(distance as usize, length as usize) {
        return Err(Fault::Invalid(TOO_FAR));
    }
    Ok(false)
}
