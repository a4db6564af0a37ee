//! Reads an object in aligned blocks. A block is fetched once, whoever waits for it; missing blocks beside each other are
//! one request. The first and last bytes come when the object is opened.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::block::Block;
use super::memory::{self, Memory};
use super::object::{Failure, Object, Part, Version};
use super::pieces::Pieces;
use super::readers::Readers;
use super::runtime;

/// Bytes of a block.
pub const BLOCK: u64 = 256 << 10;
/// Bytes of a request, at most.
const MAX_REQUEST: u64 = 8 << 20;

pub struct Blocks {
    object: Arc<dyn Object>,
    len: u64,
    version: Version,
    memory: Memory,
    pieces: Pieces,
    readers: Mutex<Readers>,
}

impl Blocks {
    /// Of an object of which the first part is here, and perhaps the last.
    pub fn new(object: Arc<dyn Object>, head: Part, tail: Option<Part>) -> Blocks {
        let (version, len) = (head.version(), head.len);
        let (memory, pieces) = (Memory::new(len.div_ceil(BLOCK)), Pieces::default());
        if len > 0 {
            let mut first = Vec::new();
            drop(memory.get(0..1, BLOCK, &mut first));
            first.iter().for_each(|(_, block)| block.set(Ok(head.bytes.as_slice().into())));
        }
        // Of another version it is of no use; the first read that needs it finds that out.
        if let Some(tail) = tail.filter(|tail| tail.version() == version && tail.bytes.len() as u64 <= len) {
            pieces.add(&(len - tail.bytes.len() as u64..len)).set(Ok(tail.bytes.into()));
        }
        let readers = Mutex::default();
        Blocks { object, len, version, memory, pieces, readers }
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
        self.fetch(missing);
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
        self.fetch(missing);
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
                self.request(range.clone(), vec![self.pieces.add(&range)]);
            }
        }
        self.fetch(missing);
    }

    /// Requests blocks, given in order.
    fn fetch(&self, missing: Vec<(u64, Arc<Block>)>) {
        let mut rest = missing.into_iter().peekable();
        while let Some((first, block)) = rest.next() {
            let mut run = vec![block];
            let is_next = |number: u64, run: &[Arc<Block>]| {
                number == first + run.len() as u64 && (run.len() as u64) < MAX_REQUEST / BLOCK
            };
            while let Some((_, block)) = rest.next_if(|(number, _)| is_next(*number, &run)) {
                run.push(block);
            }
            let start = first * BLOCK;
            self.request(start..(start + run.len() as u64 * BLOCK).min(self.len), run);
        }
    }

    /// Requests a range that is a run of blocks.
    fn request(&self, range: Range<u64>, run: Vec<Arc<Block>>) {
        let (answer, version) = (self.object.get(range, self.version.tag.as_deref()), self.version.clone());
        // Set whatever happens, as somebody may be waiting.
        let run = Run(run);
        let spawned = runtime::spawn(async move {
            match answer.await {
                Ok(part) if part.version() != version => {
                    run.0.iter().for_each(|block| block.set(Err(Failure::Changed)));
                }
                Ok(part) => {
                    let pieces = part.bytes.chunks(BLOCK as usize);
                    run.0.iter().zip(pieces).for_each(|(block, bytes)| block.set(Ok(bytes.into())));
                }
                Err(failure) => run.0.iter().for_each(|block| block.set(Err(failure.clone()))),
            }
        });
        if let Err(failure) = spawned {
            log::error!("{failure}");
        }
    }
}

/// Blocks that are fetched together. Whatever ends that, they are not waited for in vain.
struct Run(Vec<Arc<Block>>);

impl Drop for Run {
    fn drop(&mut self) {
        let ended = || Err(Failure::Other("the request was not answered".into()));
        self.0.iter().for_each(|block| block.set(ended()));
    }
}

fn numbers(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / BLOCK..range.end.div_ceil(BLOCK) }
}
