//! Reading any byte range of data that is produced in pieces.

use crate::{Error, Result};

fn past_the_end() -> Error {
    Error::Other("read past the end".into())
}

/// Fills `buf` with the bytes from `offset` on. `some` gets the unfilled rest and its position, fills as much of its
/// start as it can at once, and returns the number of bytes. It returns 0 only past the end, which is an error here.
pub fn in_pieces(
    buf: &mut [u8],
    offset: u64,
    some: &mut dyn FnMut(&mut [u8], u64) -> Result<usize>,
) -> Result<()> {
    let (mut rest, mut at) = (buf, offset);
    while !rest.is_empty() {
        let count = some(rest, at)?;
        rest = rest.get_mut(count..).filter(|_| count > 0).ok_or_else(past_the_end)?;
        at += count as u64;
    }
    Ok(())
}

/// Fills `buf` with the bytes from `offset` on of numbered blocks of `size` bytes (the last may be shorter).
pub fn from_blocks<B: AsRef<[u8]>>(
    buf: &mut [u8],
    offset: u64,
    size: u64,
    block: &mut dyn FnMut(u64) -> Result<B>,
) -> Result<()> {
    in_pieces(buf, offset, &mut |rest, at| {
        let block = block(at / size)?;
        let from = block.as_ref().get((at % size) as usize..).unwrap_or_default();
        let both = rest.iter_mut().zip(from);
        let count = both.len();
        both.for_each(|(to, from)| *to = *from);
        Ok(count)
    })
}

type Whole<'f> = &'f dyn Fn(&mut [u8], u64) -> Result<()>;
type Within<'f> = &'f dyn Fn(&mut [u8], u64, u64) -> Result<()>;

/// Data made of units of equal size: rows, elements, cells.
pub struct Units {
    /// Bytes in a unit.
    pub size: u64,
    /// Total bytes.
    pub len: u64,
    /// Maximum bytes of whole units produced at once.
    pub max_chunk: u64,
}

impl Units {
    /// Fills `buf` with the bytes from `offset` on. `whole(buf, number)` produces whole units from unit `number` on;
    /// `within(buf, number, skip)` produces part of unit `number`, starting at its byte `skip`.
    pub fn fill(&self, buf: &mut [u8], offset: u64, whole: Whole<'_>, within: Within<'_>) -> Result<()> {
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > self.len) {
            return Err(past_the_end());
        }
        in_pieces(buf, offset, &mut |rest, at| {
            let (number, skip, len) = (at / self.size, at % self.size, rest.len() as u64);
            let units = len.min(self.max_chunk) / self.size * self.size;
            let is_whole = skip == 0 && units > 0;
            let count = if is_whole { units } else { len.min(self.size - skip) } as usize;
            let now = rest.get_mut(..count).ok_or_else(past_the_end)?;
            if is_whole {
                whole(now, number)?
            } else {
                within(now, number, skip)?
            }
            Ok(count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_piece_is_the_end() {
        let mut buf = [0; 5];
        let filled = in_pieces(&mut buf, 7, &mut |rest, at| {
            rest[0] = at as u8;
            Ok(1)
        });
        assert!(filled.is_ok() && buf == [7, 8, 9, 10, 11]);
        let error = in_pieces(&mut buf, 0, &mut |_, at| Ok(usize::from(at < 3))).unwrap_err();
        assert_eq!(error.to_string(), "read past the end");
        assert!(in_pieces(&mut buf, 0, &mut |_, _| Ok(6)).is_err());
    }

    #[test]
    fn any_range_of_blocks_and_of_units() {
        let all: Vec<u8> = (0..23).collect();
        for from in 0..24 {
            for to in from..24 {
                let mut buf = vec![0; to - from];
                let mut block = |number: u64| Ok(all.chunks(5).nth(number as usize).unwrap_or_default());
                from_blocks(&mut buf, from as u64, 5, &mut block).unwrap();
                assert_eq!(buf, all[from..to]);
                let units = Units { size: 4, len: 20, max_chunk: 9 };
                let made = |buf: &mut [u8], at: u64| {
                    buf.copy_from_slice(&all[at as usize..][..buf.len()]);
                    Ok(())
                };
                buf.fill(0);
                let filled = units.fill(
                    &mut buf,
                    from as u64,
                    &|buf, first| {
                        assert!(buf.len() == 4 || buf.len() == 8);
                        made(buf, 4 * first)
                    },
                    &|buf, number, skip| {
                        assert!(!buf.is_empty() && buf.len() < 4);
                        made(buf, 4 * number + skip)
                    },
                );
                assert_eq!(filled.is_ok(), to <= 20);
                assert!(to > 20 || buf == all[from..to]);
            }
        }
        assert!(from_blocks(&mut [0; 2], 22, 5, &mut |_| Ok(&all[20..])).is_err());
    }
}
