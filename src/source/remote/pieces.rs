//! Small parts of an object that were asked for together, such as the headers of an archive's members: fetched each for
//! itself, as whole blocks around them would be too much.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::block::Block;

/// How many are kept of an object; each is read once or twice.
const MAX: usize = 2048;

#[derive(Default)]
pub struct Pieces(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// By their offsets.
    pieces: BTreeMap<u64, Arc<Block>>,
    /// The oldest first.
    offsets: VecDeque<u64>,
}

impl Pieces {
    /// The piece that has all of a range, and its offset.
    pub fn find(&self, range: &Range<u64>) -> Option<(u64, Arc<Block>)> {
        let kept = self.0.lock();
        let (start, piece) = kept.pieces.range(..=range.start).next_back()?;
        (range.end <= start + piece.len()).then(|| (*start, piece.clone()))
    }

    /// A new piece, which the caller requests.
    pub fn add(&self, range: &Range<u64>) -> Arc<Block> {
        let piece = Block::new(range.end - range.start);
        let mut kept = self.0.lock();
        if kept.pieces.insert(range.start, piece.clone()).is_none() {
            kept.offsets.push_back(range.start);
        }
        if kept.offsets.len() > MAX
            && let Some(oldest) = kept.offsets.pop_front()
        {
            kept.pieces.remove(&oldest);
        }
        piece
    }
}
