//! Compares datasets as byte streams, with one piece of each in memory.

use std::io::{self, Read};
use std::ops::ControlFlow;

use super::{Both, Difference, Emit, Flow};
use crate::content::Reader;
use crate::{Error, Result};

const PIECE: usize = 256 << 10;
/// Maximum size in bytes of an element that can be compared.
const MAX_ELEMENT_LEN: usize = 64 << 20;

/// Receives the offset of two pieces, and the pieces.
type EachPiece<'a> = &'a mut dyn FnMut(u64, &mut [u8], &mut [u8]) -> ControlFlow<()>;

impl Both<'_> {
    /// Passes pieces of both datasets to `each` that begin at the same offset and consist of whole elements of `size`
    /// bytes. All but the last have the same length.
    pub fn side_by_side(&self, size: usize, each: EachPiece<'_>) -> Flow {
        self.check_width(size)?;
        let piece = (PIECE / size.max(1)).max(1) * size.max(1);
        let (mut a, mut b) = (self.a.reader()?, self.b.reader()?);
        let [mut of_a, mut of_b] = self.meters();
        let (mut one, mut other) = (vec![0; piece], vec![0; piece]);
        let mut at = 0;
        loop {
            let (x, y) = (fill(&mut a, &mut one)?, fill(&mut b, &mut other)?);
            if x.is_empty() && y.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            of_a.passed(x.len() as u64);
            of_b.passed(y.len() as u64);
            let len = x.len().max(y.len()) as u64;
            if each(at, x, y).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            at += len;
        }
    }

    /// Fails if elements are larger than [`MAX_ELEMENT_LEN`], since they must fit into memory.
    pub fn check_width(&self, size: usize) -> Result<()> {
        let name = self.a.description().printed_name();
        let problem = || {
            format!(
                "dataset {name:?}: its elements have {size} bytes each, and at most {MAX_ELEMENT_LEN} can be \
                compared"
            )
        };
        if size > MAX_ELEMENT_LEN { Err(Error::Other(problem())) } else { Ok(()) }
    }

    /// Reports the first byte that differs, and the lengths if they differ.
    pub fn bytes(&self, emit: Emit<'_>) -> Flow {
        let (mut first, mut lens) = (None, (0, 0));
        let _ = self.side_by_side(1, &mut |at, a, b| {
            lens = (lens.0 + a.len() as u64, lens.1 + b.len() as u64);
            if first.is_none() && a != b {
                let differs = a.iter().zip(&*b).zip(at..).find(|((x, y), _)| x != y);
                first = differs.map(|((x, y), at)| Difference::Byte(at, *x, *y));
            }
            ControlFlow::Continue(())
        })?;
        if let Some(first) = first
            && emit(first).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        match lens {
            (a, b) if a == b => Ok(ControlFlow::Continue(())),
            (a, b) => Ok(emit(Difference::Length(a, b))),
        }
    }
}

/// Reads until the buffer is full or the data ends.
fn fill<'b>(reader: &mut Reader, buffer: &'b mut [u8]) -> Result<&'b mut [u8]> {
    let mut have = 0;
    while let Some(rest) = buffer.get_mut(have..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest).map_err(|cause| error(&cause))? {
            0 => break,
            count => have += count,
        }
    }
    Ok(buffer.get_mut(..have).unwrap_or_default())
}

fn error(cause: &io::Error) -> Error {
    Error::inside(cause).cloned().unwrap_or_else(|| Error::Other(cause.to_string()))
}
