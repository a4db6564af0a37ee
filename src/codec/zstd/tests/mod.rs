use std::sync::atomic::Ordering;

use ::zstd::zstd_safe::{CCtx, CParameter, compress_bound};
use proptest::prelude::*;

use super::*;
use crate::codec::Limits;
use crate::source::memory::MemorySource;

mod anything;
mod damage;
mod streams;

/// Bytes that compress a little, without repeated blocks.
fn sample(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(77).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 24) as u8 & 0x3f
    };
    (0..len).map(|_| next()).collect()
}

#[derive(Clone, Copy, Debug)]
struct Options {
    level: i32,
    checksum: bool,
    content_size: bool,
}

const PLAIN: Options = Options { level: 1, checksum: false, content_size: true };
const CHECKED: Options = Options { level: 1, checksum: true, content_size: true };
const UNSIZED: Options = Options { level: 1, checksum: true, content_size: false };

fn compress(bytes: &[u8], options: Options, more: &[CParameter]) -> Vec<u8> {
    let mut context = CCtx::create();
    for parameter in [
        CParameter::CompressionLevel(options.level),
        CParameter::ChecksumFlag(options.checksum),
        CParameter::ContentSizeFlag(options.content_size),
    ]
    .iter()
    .chain(more)
    {
        context.set_parameter(*parameter).unwrap();
    }
    let mut stored = Vec::with_capacity(compress_bound(bytes.len()));
    context.compress2(&mut stored, bytes).unwrap();
    stored
}

fn frame(bytes: &[u8], options: Options) -> Vec<u8> {
    compress(bytes, options, &[])
}

fn skippable(magic: u32, content: &[u8]) -> Vec<u8> {
    [&magic.to_le_bytes(), &(content.len() as u32).to_le_bytes(), content].concat()
}

fn skip(len: usize) -> Vec<u8> {
    skippable(0x184d_2a53, &vec![0x28; len])
}

/// The seek table for frames of these stored and decoded sizes.
fn seek_table(sizes: &[(usize, usize)], checksums: bool) -> Vec<u8> {
    let mut content = Vec::new();
    for (stored, decoded) in sizes {
        content.extend((*stored as u32).to_le_bytes());
        content.extend((*decoded as u32).to_le_bytes());
        content.extend(if checksums { &[7u8; 4][..] } else { &[] });
    }
    content.extend((sizes.len() as u32).to_le_bytes());
    content.push(if checksums { 0x80 } else { 0 });
    content.extend(0x8f92_eab1u32.to_le_bytes());
    skippable(0x184d_2a5e, &content)
}

struct Kit {
    stream: ZstdStream,
    source: Arc<MemorySource>,
}

fn open_with(stored: Vec<u8>, expected: Option<usize>, cache: u64, spill: u64) -> Kit {
    let source = Arc::new(MemorySource { bytes: stored, ..MemorySource::default() });
    let engine =
        Arc::new(Engine::with(Limits { cache, index: 0, spill: Some(spill), verify_first: false }, None));
    let range = 0..source.len();
    let place = source.place().dataset("x");
    let stream = ZstdStream::new(engine, source.clone(), range, expected.map(|n| n as u64), place);
    Kit { stream, source }
}

fn open(stored: Vec<u8>, expected: Option<usize>) -> Kit {
    open_with(stored, expected, 64 << 20, 64 << 20)
}

impl Kit {
    fn read(&self, offset: usize, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.stream.read_exact_at(&mut bytes, offset as u64)?;
        Ok(bytes)
    }

    fn whole(&self) -> Result<Vec<u8>> {
        let len = self.stream.len()? as usize;
        self.read(0, len)
    }

    /// As `cat` would read it: piece by piece from the front.
    fn sequentially(&self) -> Result<Vec<u8>> {
        let len = self.stream.len()? as usize;
        let mut all = Vec::new();
        while all.len() < len {
            all.extend(self.read(all.len(), (128 << 10).min(len - all.len()))?);
        }
        Ok(all)
    }

    fn bytes_fetched(&self) -> usize {
        self.source.read.load(Ordering::Relaxed) as usize
    }
}

const BIG: usize = 3_000_001;
