//! Reads an object in aligned blocks. A block is fetched once, whoever waits for it ([`super::fetch`]). The first and last bytes come when the object is opened.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::block::Block;
use super::cache::Disk;
use super::fetch::{Fetch, MAX_REQUEST};
use super::memory::{self, Memory};
use super::object::{Failure, Object, Part};
use super::pieces::Pieces;
use super::readers::Readers;

/// Bytes of a block.
pub const BLOCK: u64 = 256 << 10;

pub struct Blocks {
    fetch: Arc<Fetch>,
    len: u64,
    memory: Memory,
    pieces: Pieces,
    readers: Mutex<Readers>,
}

impl Blocks {
    /// Of an object of which the first part is here, and perhaps the last of the same version.
    pub fn new(object: Arc<dyn Object>, head: Part, tail: Option<Part>, disk: Option<Arc<Disk>>) -> Blocks {
        let (version, len) = (head.version(), head.len);
        let (memory, pieces) = (Memory::new(len.div_ceil(BLOCK)), Pieces::default());
        if len > 0 {
            let mut first = Vec::new();
            drop(memory.get(0..1, BLOCK, &mut first));
            first.iter().for_each(|(_, block)| block.set(Ok(head.bytes.as_slice().into())));
        }
        if let Some(tail) = tail {
            pieces.add(&(len.saturating_sub(tail.bytes.len() as u64)..len)).set(Ok(tail.bytes.into()));
        }
        let readers = Mutex::default();
        let fetch = Arc::new(Fetch { object, len, version, disk });
        Blocks { fetch, len, memory, pieces, readers }
    }

    /// Fills `buf`; the caller stays below the length.
    pub fn read(&self, buf: &mut [u8], offset: u64) -> Result<(), Failure> {
        if let Some((start, piece)) = self.pieces.find(&(offset..offset + buf.len() as u64))
            && let Ok(bytes) = piece.wait()
            && let Some(part) = bytes.get((offset - start) as usize..)
            && let Some(part) = part.get(..buf.len())
        {
            buf.copy_from_slice(part);
            return Ok(());
        }
        let mut at = offset;
        // Not more at a time than may be held.
        for piece in buf.chunks_mut(MAX_REQUEST as usize) {
            self.read_piece(piece, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn read_piece(&self, buf: &mut [u8], offset: u64) -> Result<(), Failure> {
        let range = offset..offset + buf.len() as u64;
        let limit = memory::limit();
        // While there is much on its way already, nothing more is fetched ahead.
        let spare = if Block::on_the_way() < limit / 2 { limit / 2 } else { 0 };
        let ahead = self.readers.lock().ahead(&range, self.len, spare);
        let mut missing = Vec::new();
        let blocks = self.memory.get(numbers(&range), BLOCK, &mut missing);
        drop(self.memory.get(numbers(&ahead), BLOCK, &mut missing));
        self.fetch.blocks(missing);
        for (number, block) in numbers(&range).zip(blocks) {
            let bytes = block.wait()?;
            let start = number * BLOCK;
            let from = range.start.max(start);
            let end = range.end.min(start + bytes.len() as u64);
            let part = bytes.get((from - start) as usize..end.saturating_sub(start) as usize);
            let into = buf.get_mut((from - range.start) as usize..end.saturating_sub(range.start) as usize);
            match (part, into) {
                (Some(part), Some(into)) => into.copy_from_slice(part),
                _ => return Err(Failure::Other("the server sent less than it announced".into())),
            }
        }
        Ok(())
    }

    /// Is all of it in memory?
    pub fn are_here(&self, range: &Range<u64>) -> bool {
        self.memory.are_here(numbers(range))
            || self.pieces.find(range).is_some_and(|(_, piece)| piece.is_here())
    }

    /// Fetches what is missing of a range, as far as there is room for it, and does not wait.
    pub fn will_need(&self, range: Range<u64>) {
        let end = range.end.min(self.len).min(range.start.saturating_add(memory::limit() / 4));
        let mut missing = Vec::new();
        drop(self.memory.get(numbers(&(range.start..end)), BLOCK, &mut missing));
        self.fetch.blocks(missing);
    }

    /// Fetches small ranges, given in order, and does not wait. Those that lie close together are fetched as blocks.
    pub fn will_need_pieces(&self, ranges: &[Range<u64>]) {
        let block = |range: &Range<u64>| range.start / BLOCK;
        let mut missing = Vec::new();
        for (at, range) in ranges.iter().enumerate() {
            let range = range.start..range.end.min(self.len);
            if range.is_empty() || self.pieces.find(&range).is_some() {
                continue;
            }
            let near = [at.checked_sub(1), at.checked_add(1)];
            let mut near = near.into_iter().flatten().filter_map(|at| ranges.get(at));
            let fits = range.end - range.start <= BLOCK;
            if near.any(|other| block(other) == block(&range)) || !fits {
                drop(self.memory.get(numbers(&range), BLOCK, &mut missing));
            } else if !self.memory.has(numbers(&range)) {
                self.fetch.piece(range.start, self.pieces.add(&range));
            }
        }
        self.fetch.blocks(missing);
    }
}

fn numbers(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / BLOCK..range.end.div_ceil(BLOCK) }
}
