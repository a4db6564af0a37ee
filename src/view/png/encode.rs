//! PNG (ISO/IEC 15948) whose pixels are stored without compression: one IDAT with a zlib stream of stored blocks.

use super::plan::Plan;
use crate::codec::{Check, crc32};

/// Bytes of a stored block at most.
const BLOCK: u64 = 0xffff;
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// A chunk without its data.
const CHUNK: u64 = 12;

/// The lines, each with the byte that says that it is not filtered.
fn filtered(plan: &Plan) -> u64 {
    (plan.line() as u64 + 1) * u64::from(plan.height)
}

fn stream(plan: &Plan) -> u64 {
    let bytes = filtered(plan);
    2 + 5 * bytes.div_ceil(BLOCK) + bytes + 4
}

/// Length of the file.
pub fn len(plan: &Plan) -> u64 {
    SIGNATURE.len() as u64 + (CHUNK + 13) + (CHUNK + stream(plan)) + CHUNK
}

/// `pixels` are line after line from the top.
pub fn encode(plan: &Plan, pixels: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(filtered(plan) as usize);
    for line in pixels.chunks_exact(plan.line()) {
        lines.push(0);
        lines.extend_from_slice(line);
    }
    let mut file = Vec::with_capacity(len(plan) as usize);
    file.extend_from_slice(SIGNATURE);
    let colours = match plan.channels {
        1 => 0,
        3 => 2,
        _ => 6,
    };
    let size = [plan.width.to_be_bytes(), plan.height.to_be_bytes()];
    chunk(&mut file, b"IHDR", &[size.as_flattened(), &[8, colours, 0, 0, 0]].concat());
    chunk(&mut file, b"IDAT", &stored(&lines));
    chunk(&mut file, b"IEND", b"");
    file
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    file.extend(kind);
    file.extend(data);
    file.extend(crc32(crc32(0, kind), data).to_be_bytes());
}

/// A zlib stream that has the bytes as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(BLOCK as usize).peekable();
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(len.to_le_bytes());
        stream.extend((!len).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(Check::Adler.update(Check::Adler.of_nothing(), bytes).to_be_bytes());
    stream
}
