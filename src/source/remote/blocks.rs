//! Blocks of an object that are in memory or on their way. A block is fetched once, whoever waits for it; missing blocks
//! beside each other are one request. Who reads on gets more and more ahead of time: 1 MiB at first, then twice as much
//! each time, in requests of at most 8 MiB side by side.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::{Condvar, Mutex};

use super::object::{Failure, Object, Part, Version};
use super::runtime;

/// Bytes of a block.
pub const BLOCK: u64 = 256 << 10;
/// Bytes of a request, at most.
const MAX_REQUEST: u64 = 8 << 20;
/// Bytes that are fetched ahead of a reader.
const FIRST_WINDOW: u64 = 1 << 20;
const MAX_WINDOW: u64 = 32 << 20;
/// A reader that goes on within so many bytes reads in order: the kernel's requests overtake each other.
const MAX_SKIP: u64 = 1 << 20;
/// Readers of one object that are told apart.
const READERS: usize = 8;
/// Bytes of all blocks of all objects, but for those on their way.
const MAX_HELD: u64 = 256 << 20;

static HELD: AtomicU64 = AtomicU64::new(0);

pub struct Blocks {
    object: Arc<dyn Object>,
    len: u64,
    version: Version,
    state: Mutex<State>,
}

struct State {
    blocks: LruCache<u64, Arc<Block>>,
    /// Those that read last, the latest first.
    readers: Vec<Reader>,
}

/// A reader that goes through the object.
#[derive(Clone, Copy)]
struct Reader {
    /// Where it goes on.
    next: u64,
    window: u64,
    /// Up to here everything is on its way.
    fetched: u64,
}

/// A block on its way, or here.
#[derive(Default)]
struct Block {
    bytes: Mutex<Option<Result<Arc<[u8]>, Failure>>>,
    arrived: Condvar,
}

impl Block {
    fn set(&self, bytes: Result<Arc<[u8]>, Failure>) {
        let mut slot = self.bytes.lock();
        if slot.is_none() {
            if let Ok(bytes) = &bytes {
                HELD.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            *slot = Some(bytes);
            self.arrived.notify_all();
        }
    }

    fn is_here(&self) -> bool {
        matches!(*self.bytes.lock(), Some(Ok(_)))
    }

    fn is_on_its_way(&self) -> bool {
        self.bytes.lock().is_none()
    }

    fn wait(&self) -> Result<Arc<[u8]>, Failure> {
        let mut bytes = self.bytes.lock();
        loop {
            if let Some(bytes) = &*bytes {
                return bytes.clone();
            }
            self.arrived.wait(&mut bytes);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(Ok(bytes)) = self.bytes.get_mut() {
            HELD.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
        }
    }
}

impl Blocks {
    /// Of an object of which the beginning is here.
    pub fn new(object: Arc<dyn Object>, first: Part) -> Blocks {
        let (version, len) = (first.version(), first.len);
        let state = State { blocks: LruCache::unbounded(), readers: Vec::new() };
        let blocks = Blocks { object, len, version, state: Mutex::new(state) };
        if len > 0 {
            let block = Arc::new(Block::default());
            block.set(Ok(first.bytes.into()));
            blocks.state.lock().blocks.put(0, block);
        }
        blocks
    }

    /// Fills `buf`; the caller stays below the length.
    pub fn read(&self, buf: &mut [u8], offset: u64) -> Result<(), Failure> {
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
        let (blocks, missing) = {
            let mut state = self.state.lock();
            let mut missing = Vec::new();
            let blocks: Vec<_> = numbers(&range).map(|number| state.block(number, &mut missing)).collect();
            let ahead = state.ahead(&range, self.len);
            numbers(&ahead).for_each(|number| drop(state.block(number, &mut missing)));
            state.make_room();
            (blocks, missing)
        };
        self.fetch(missing);
        for (number, block) in numbers(&range).zip(blocks) {
            let bytes = block.wait().inspect_err(|_| self.forget(number, &block))?;
            let start = number * BLOCK;
            let from = range.start.max(start);
            let end = range.end.min(start + bytes.len() as u64);
            let part = bytes.get((from - start) as usize..end.saturating_sub(start) as usize);
            let into = buf.get_mut((from - range.start) as usize..end.saturating_sub(range.start) as usize);
            match (part, into) {
                (Some(part), Some(into)) => into.copy_from_slice(part),
                _ => return Err(Failure::Other("the server sent less than it said".into())),
            }
        }
        Ok(())
    }

    /// Is all of it in memory?
    pub fn are_here(&self, range: &Range<u64>) -> bool {
        let state = self.state.lock();
        numbers(range).all(|number| state.blocks.peek(&number).is_some_and(|block| block.is_here()))
    }

    /// Fetches what is missing of a range, but for what is too much, and does not wait.
    pub fn will_need(&self, range: Range<u64>) {
        let end = range.end.min(self.len).min(range.start.saturating_add(MAX_WINDOW));
        let mut missing = Vec::new();
        let mut state = self.state.lock();
        numbers(&(range.start..end)).for_each(|number| drop(state.block(number, &mut missing)));
        drop(state);
        self.fetch(missing);
    }

    /// What failed is fetched again by whoever asks next.
    fn forget(&self, number: u64, block: &Arc<Block>) {
        let mut state = self.state.lock();
        if state.blocks.peek(&number).is_some_and(|known| Arc::ptr_eq(known, block)) {
            state.blocks.pop(&number);
        }
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
            self.request(first, run);
        }
    }

    fn request(&self, first: u64, run: Vec<Arc<Block>>) {
        let start = first * BLOCK;
        let range = start..(start + run.len() as u64 * BLOCK).min(self.len);
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

impl State {
    /// A block, on its way at least; it is added to `missing` if it has to be fetched.
    fn block(&mut self, number: u64, missing: &mut Vec<(u64, Arc<Block>)>) -> Arc<Block> {
        if let Some(block) = self.blocks.get(&number) {
            return block.clone();
        }
        let block = Arc::new(Block::default());
        missing.push((number, block.clone()));
        self.blocks.put(number, block.clone());
        block
    }

    /// What is fetched ahead of whoever reads this range.
    fn ahead(&mut self, range: &Range<u64>, len: u64) -> Range<u64> {
        let goes_on = |reader: &Reader| {
            let from = reader.next.saturating_sub(MAX_SKIP)..=reader.next.saturating_add(MAX_SKIP);
            from.contains(&range.start) && range.end > reader.next
        };
        let Some(at) = self.readers.iter().position(goes_on) else {
            self.readers.truncate(READERS - 1);
            self.readers.insert(0, Reader { next: range.end, window: 0, fetched: range.end });
            return 0..0;
        };
        let mut reader = self.readers.remove(at);
        reader.next = range.end;
        let mut ahead = 0..0;
        // Half of the window is left: the next one is requested before that is read.
        if reader.fetched < range.end + reader.window / 2 && reader.fetched < len {
            reader.window = (2 * reader.window).clamp(FIRST_WINDOW, MAX_WINDOW);
            ahead = reader.fetched.max(range.end)..len.min(range.end + reader.window);
            reader.fetched = ahead.end;
        }
        self.readers.insert(0, reader);
        ahead
    }

    /// Drops what was not used for longest, but for what is on its way.
    fn make_room(&mut self) {
        while HELD.load(Ordering::Relaxed) > MAX_HELD {
            match self.blocks.peek_lru() {
                Some((_, block)) if !block.is_on_its_way() => drop(self.blocks.pop_lru()),
                _ => return,
            }
        }
    }
}

fn numbers(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / BLOCK..range.end.div_ceil(BLOCK) }
}
