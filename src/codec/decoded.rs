//! Units that can only be decoded as a whole, such as zstd frames. Up to [`SMALL`] bytes a unit is one block in the
//! cache; a larger one goes to the spill file, and its pieces are cached as they are read.

use std::sync::Arc;

use super::spill::{Key, PIECE, Refused, Spill, Spilled, Writer};
use super::{Block, Engine};
use crate::Result;

/// Units of up to this many decoded bytes stay in memory, as one block.
pub const SMALL: usize = 1 << 20;

/// A decoded and verified unit.
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

    /// The unit with this stream and number, if it is still cached or spilled.
    pub fn if_available(engine: &Engine, key: Key) -> Option<Decoded> {
        let small = engine.cache.get(key.0, block_number(key.1, 0)).map(Decoded::Small);
        small.or_else(|| engine.spill.get(key).map(Decoded::Spilled))
    }

    /// Caches a small unit; larger ones are in the spill already.
    pub fn keep(&self, engine: &Engine, key: Key) {
        if let Decoded::Small(block) = self {
            engine.cache.insert(key.0, block_number(key.1, 0), block);
        }
    }

    /// The block of this unit that holds `here`, which is cached as well.
    pub fn block(&self, engine: &Engine, stream: u64, here: &Here) -> Result<Block> {
        let spilled = match self {
            Decoded::Small(block) => return Ok(block.clone()),
            Decoded::Spilled(spilled) => spilled,
        };
        let piece = spilled.read((here.within / PIECE as u64) as usize, &engine.spill);
        // The disk error may be transient: the next reader decodes the unit again.
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
    /// The place `within` bytes into a unit of `len` bytes.
    pub fn new(unit: u64, within: u64, len: u64) -> Here {
        Here { unit, within, is_small: len <= SMALL as u64 }
    }

    /// The cache's number for the block that holds this place.
    pub fn block(&self) -> u64 {
        let piece = if self.is_small { 0 } else { 1 + self.within / PIECE as u64 };
        block_number(self.unit, piece)
    }

    /// The bytes of that block from this place on.
    pub fn within<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        let skip = if self.is_small { self.within } else { self.within % PIECE as u64 };
        block.get(skip as usize..).unwrap_or_default()
    }
}

/// Block 0 is a whole small unit; the others are pieces of a spilled one. There are fewer than 2^23 units
/// (see `zstd::table`), and no disk holds 2^40 pieces.
fn block_number(unit: u64, block: u64) -> u64 {
    unit << 40 | block
}

/// `len` bytes from `offset` of a stream, if all are in the cache. `locate` finds the unit of a byte, if it is known.
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

/// Collects decoded bytes in memory, and moves them to the spill once they exceed [`SMALL`].
pub struct Output<'a> {
    spill: &'a Spill,
    small: Vec<u8>,
    writer: Option<Writer<'a>>,
}

impl<'a> Output<'a> {
    pub fn new(spill: &'a Spill) -> Output<'a> {
        Output { spill, small: Vec::new(), writer: None }
    }

    /// Appends a piece of [`PIECE`] bytes; only the last one may be shorter.
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

    /// All that was pushed, stored under `key` if it was spilled.
    pub fn finish(self, key: Key) -> Decoded {
        match self.writer {
            Some(writer) => Decoded::Spilled(writer.finish(key)),
            None => Decoded::Small(self.small.into()),
        }
    }
}
