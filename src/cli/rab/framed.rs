//! Framing of records in a stream: `rab cat` writes datasets with it, and `rab pack` splits its input by it.

use std::io::Write;
use std::ops::ControlFlow;

use clap::ValueEnum;

use super::output::Done;
use crate::ffrecord::Framing;
use crate::{Dataset, Error};

/// The framings that work in a pipe.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Framed {
    /// Each record ends with a line feed
    Lines,
    /// Each record ends with a NUL byte
    Nul,
    /// Before each record its length, a 32-bit unsigned little-endian integer
    Length32,
    /// Before each record its length, a 64-bit unsigned little-endian integer
    Length64,
}

impl From<Framed> for Framing {
    fn from(framed: Framed) -> Framing {
        match framed {
            Framed::Lines => Framing::Lines,
            Framed::Nul => Framing::Nul,
            Framed::Length32 => Framing::Length32,
            Framed::Length64 => Framing::Length64,
        }
    }
}

/// Prints a dataset's decoded bytes as a record. Fails if the framing would not restore them exactly.
pub fn print(dataset: &Dataset<'_>, framed: Framed, out: &mut impl Write) -> Done {
    let wrong = |problem: String| Error::Other(format!("{}: {problem}", dataset.place()));
    match framed {
        Framed::Lines | Framed::Nul => {}
        Framed::Length32 => {
            let len = dataset.decoded_len()?;
            let short = u32::try_from(len);
            let short = short.map_err(|_| {
                wrong(format!("{len} bytes are too many for --records=length32: use length64"))
            })?;
            out.write_all(&short.to_le_bytes())?;
        }
        Framed::Length64 => out.write_all(&dataset.decoded_len()?.to_le_bytes())?,
    }
    let delimiter = Framing::from(framed).delimiter();
    let (mut at, mut inside, mut written) = (0, None, Ok(()));
    let passed = dataset.pieces(&mut |piece| {
        inside = delimiter.and_then(|byte| memchr::memchr(byte, piece)).map(|found| at + found as u64);
        at += piece.len() as u64;
        written = if inside.is_none() { out.write_all(piece) } else { Ok(()) };
        if inside.is_none() && written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    written?;
    passed?;
    if let Some(at) = inside {
        let name = if framed == Framed::Lines { "line feed" } else { "NUL" };
        let problem =
            format!("it has a {name} at byte {at}, which would end its record there: use --records=length64");
        return Err(wrong(problem).into());
    }
    Ok(delimiter.map_or(Ok(()), |byte| out.write_all(&[byte]))?)
}
