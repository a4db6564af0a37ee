//! Measures the cost of decoding itself: decodes zlib streams one after the other on a single thread, into a reused
//! buffer. `scripts/bench` runs it next to rab-mount.
//!
//! `inflate FILE OFFSET LENGTH [OFFSET LENGTH ...]` decodes the streams in these ranges of FILE, and prints the time in
//! seconds and the number of decoded bytes.

use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use flate2::{Decompress, FlushDecompress, Status};

const BUFFER: usize = 256 << 10;

/// Decodes the stream in `length` bytes at `offset`; returns the number of decoded bytes.
fn inflate(
    file: &File,
    mut offset: u64,
    mut length: u64,
    buffers: &mut [Vec<u8>; 2],
) -> Result<u64, Box<dyn Error>> {
    let [input, output] = buffers;
    let mut decoder = Decompress::new(true);
    while length > 0 {
        let piece = &mut input[..length.min(BUFFER as u64) as usize];
        file.read_exact_at(piece, offset)?;
        let start = decoder.total_in();
        loop {
            let used = (decoder.total_in() - start) as usize;
            let before = decoder.total_out();
            let status = decoder.decompress(&piece[used..], output, FlushDecompress::None)?;
            if status == Status::StreamEnd {
                return Ok(decoder.total_out());
            }
            if decoder.total_out() - before < BUFFER as u64 {
                break;
            }
        }
        offset += piece.len() as u64;
        length -= piece.len() as u64;
    }
    Err("the stream ends early".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = File::open(arguments.next().ok_or("usage: inflate FILE OFFSET LENGTH [OFFSET LENGTH ...]")?)?;
    let numbers = arguments.map(|number| number.parse()).collect::<Result<Vec<u64>, _>>()?;
    let mut buffers = [vec![0; BUFFER], vec![0; BUFFER]];
    let start = Instant::now();
    let mut bytes = 0;
    for range in numbers.chunks_exact(2) {
        bytes += inflate(&file, range[0], range[1], &mut buffers)?;
    }
    println!("{} {bytes}", start.elapsed().as_secs_f64());
    Ok(())
}
