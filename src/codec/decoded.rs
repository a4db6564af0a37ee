//! What can only be decoded as a whole, such as a zstd frame: up to [`SMALL`] bytes it is one block in the cache, else it is
//! in the spill, and its pieces go through the cache.

use std::sync::Arc;

use super::spill::{Key, PIECE, Refused, Spill, Spilled, Writer};
use super::{Block, Engine};
use crate::Result;

/// Up to this many decoded bytes stay in memory, as one block.
pub const SMALL: usize = 1 << 20;

/// A unit, decoded and verified.
#[derive(Clone)]
pub enum Decoded {
    Small(Block),
    Spilled(Arc<Spilled>),
}

impl Decoded {
    pub fn len(&self) -> u64 {
        match self {
            Decoded::Small(block) => block.len() as u64,
            Decoded::Spilled(spilled) => spilled.len(),
        }
    }

    /// The unit of that stream and number, if it was decoded and is still there.
    pub fn at_hand(engine: &Engine, key: Key) -> Option<Decoded> {
        let small = engine.cache.get(key.0, block_number(key.1, 0)).map(Decoded::Small);
        small.or_else(|| engine.spill.get(key).map(Decoded::Spilled))
    }

    /// Keeps a small one at hand; others are in the spill already.
    pub fn keep(&self, engine: &Engine, key: Key) {
        if let Decoded::Small(block) = self {
            engine.cache.insert(key.0, block_number(key.1, 0), block);
        }
    }

    /// The block of this unit that holds a place, for the cache too.
    pub fn block(&self, engine: &Engine, stream: u64, here: &Here) -> Result<Block> {
        let spilled = match self {
            Decoded::Small(block) => return Ok(block.clone()),
            Decoded::Spilled(spilled) => spilled,
        };
        let piece = spilled.read((here.within / PIECE as u64) as usize, &engine.spill);
        // Its next reader may have more luck with the disk.
        let piece = piece.inspect_err(|_| engine.spill.forget((stream, here.unit)))?;
        Ok(engine.cache.insert(stream, here.block(), &piece))
    }
}

/// A place in a decoded unit.
pub struct Here {
    pub unit: u64,
    /// Bytes from the start of the unit.
    within: u64,
    is_small: bool,
}

impl Here {
    /// The place `within` bytes from the start of a unit of `len` bytes.
    pub fn new(unit: u64, within: u64, len: u64) -> Here {
        Here { unit, within, is_small: len <= SMALL as u64 }
    }

    /// The number in the cache of the block that holds this place.
    pub fn block(&self) -> u64 {
        let piece = if self.is_small { 0 } else { 1 + self.within / PIECE as u64 };
        block_number(self.unit, piece)
    }

    /// What that block has from this place on.
    pub fn within<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        let skip = if self.is_small { self.within } else { self.within % PIECE as u64 };
        block.get(skip as usize..).unwrap_or_default()
    }
}

/// Block 0 is a whole small unit, the others are pieces of one in the spill. There are fewer than 2^23 units
/// (see `zstd::table`), and 2^40 pieces are more than a disk has.
fn block_number(unit: u64, block: u64) -> u64 {
    unit << 40 | block
}

/// `len` bytes from `offset` of a stream, if all are in the cache. `locate` says where a byte is, if that is known.
pub fn cached(
    engine: &Engine,
    stream: u64,
    len: usize,
    offset: u64,
    locate: &dyn Fn(u64) -> Result<Option<Here>>,
) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let Some(here) = locate(offset + bytes.len() as u64)? else { return Ok(None) };
        let block = engine.cache.get(stream, here.block());
        let from = block.as_deref().map(|block| here.within(block)).unwrap_or_default();
        if from.is_empty() {
            return Ok(None);
        }
        bytes.extend_from_slice(&from[..from.len().min(len - bytes.len())]);
    }
    Ok(Some(bytes))
}

/// Where decoded bytes go: into memory, and from the first byte that is too many into the spill.
pub struct Output<'a> {
    spill: &'a Spill,
    small: Vec<u8>,
    writer: Option<Writer<'a>>,
}

impl<'a> Output<'a> {
    pub fn new(spill: &'a Spill) -> Output<'a> {
        Output { spill, small: Vec::new(), writer: None }
    }

    /// Takes [`PIECE`] bytes, or fewer as the last.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        if self.writer.is_none() && self.small.len() + bytes.len() <= SMALL {
            self.small.extend_from_slice(bytes);
            return Ok(());
        }
        if self.writer.is_none() {
            let mut writer = self.spill.writer()?;
            let small = std::mem::take(&mut self.small);
            small.chunks(PIECE).try_for_each(|piece| writer.push(piece))?;
            self.writer = Some(writer);
        }
        match &mut self.writer {
            Some(writer) if !bytes.is_empty() => writer.push(bytes),
            _ => Ok(()),
        }
    }

    /// What was taken, which the spill is to call `key`.
    pub fn finish(self, key: Key) -> Decoded {
        match self.writer {
            Some(writer) => Decoded::Spilled(writer.finish(key)),
            None => Decoded::Small(self.small.into()),
        }
    }
}
