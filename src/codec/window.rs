//! The decoded bytes before a seek point that later bytes refer to, found while these were decoded: of 32,768 about 40
//! before float32, 1,400 before int16 and 8,000 before text.

use std::sync::Arc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use super::deflate::WINDOW;

/// Level 1 takes 4/5 of the time but gives a third more bytes; higher levels are slower for little gain.
const LEVEL: u32 = 2;
/// Larger windows are deflated; smaller ones would hardly shrink.
const LARGE: usize = 4 << 10;
/// Unused bytes between used ones that are kept rather than begin another run.
const GAP: usize = 2;
/// No window takes more: the numbers of a run take less than the gap before it and the run itself.
pub const MAX_BYTES: usize = 2 * WINDOW;

#[derive(Clone)]
pub enum Window {
    /// How many bytes from the first used one to the point, and then for each run of used bytes how many unused ones
    /// precede it, how many it has, and these. Numbers are in LEB128.
    Runs(Arc<[u8]>),
    /// The same deflated, and its length before.
    Deflated { len: u32, bytes: Arc<[u8]> },
}

impl Window {
    pub fn empty() -> Window {
        Window::Runs(Arc::default())
    }

    /// Those of `bytes`, which end at the point, that are marked in `used`, which ends there as well.
    pub fn new(bytes: &[u8], used: &[bool]) -> Window {
        let used = used.get(used.len().saturating_sub(bytes.len())..).unwrap_or_default();
        let Some(first) = next_used(used, 0) else { return Window::empty() };
        let mut out = Vec::new();
        put(&mut out, used.len() - first);
        let mut at = first;
        while let Some(start) = next_used(used, at) {
            let end = run_end(used, start);
            put(&mut out, start - at);
            put(&mut out, end - start);
            out.extend(bytes.get(start..end).unwrap_or_default());
            at = end;
        }
        Window::Runs(out.into())
    }

    /// Would it be smaller deflated?
    pub fn is_large(&self) -> bool {
        matches!(self, Window::Runs(bytes) if bytes.len() > LARGE)
    }

    /// Memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Window::Runs(bytes) | Window::Deflated { bytes, .. } => bytes.len(),
        }
    }

    /// The bytes before the seek point, without leading unreferenced ones. A window that fails to unpack gives wrong
    /// blocks, which their checksums reveal.
    pub fn unpack(&self) -> Vec<u8> {
        let spread = match self {
            Window::Runs(runs) => spread(runs),
            Window::Deflated { len, bytes } => {
                let mut runs = vec![0; (*len as usize).min(MAX_BYTES)];
                let _ = Decompress::new(false).decompress(bytes, &mut runs, FlushDecompress::Finish);
                spread(&runs)
            }
        };
        spread.unwrap_or_default()
    }

    #[must_use]
    pub fn deflated(&self) -> Window {
        let Window::Runs(runs) = self else { return self.clone() };
        let mut out = Vec::with_capacity(runs.len() + runs.len() / 8 + 64);
        // There is room for the worst case, stored blocks; if there were not, blocks would fail their checksums.
        let _ =
            Compress::new(Compression::new(LEVEL), false).compress_vec(runs, &mut out, FlushCompress::Finish);
        Window::Deflated { len: runs.len() as u32, bytes: out.into() }
    }
}

/// The first used byte at or after `at`.
fn next_used(used: &[bool], at: usize) -> Option<usize> {
    let rest = used.get(at..)?;
    // Most are unused: 32 are passed at once.
    let unused = 32 * rest.chunks_exact(32).take_while(|chunk| **chunk == [false; 32]).count();
    let next = rest.get(unused..)?.iter().position(|used| *used)?;
    Some(at + unused + next)
}

/// The end of the run of used bytes that begins at `start`, short gaps included.
fn run_end(used: &[bool], start: usize) -> usize {
    let mut end = start + 1;
    for (at, used) in used.iter().enumerate().skip(end) {
        if *used {
            end = at + 1;
        } else if at >= end + GAP {
            break;
        }
    }
    end
}

/// The bytes of these runs in their places, zeros between them.
fn spread(mut runs: &[u8]) -> Option<Vec<u8>> {
    if runs.is_empty() {
        return Some(Vec::new());
    }
    let mut bytes = vec![0; take(&mut runs)?.min(WINDOW)];
    let mut at = 0;
    while !runs.is_empty() {
        at += take(&mut runs)?;
        let count = take(&mut runs)?;
        let (run, rest) = runs.split_at_checked(count)?;
        bytes.get_mut(at..at.checked_add(count)?)?.copy_from_slice(run);
        (at, runs) = (at + count, rest);
    }
    Some(bytes)
}

fn put(out: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A number of at most three bytes.
fn take(from: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in [0, 7, 14] {
        let byte = from.split_off_first()?;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn used_bytes_come_back(used in prop::collection::vec(prop::bool::weighted(0.2), 0..3000), short in 0usize..3000) {
            let mut all = vec![false; WINDOW - used.len()];
            all.extend(&used);
            let bytes: Vec<u8> = (0..used.len().saturating_sub(short)).map(|at| 1 + (at % 251) as u8).collect();
            let used = &used[used.len() - bytes.len()..];
            let window = Window::new(&bytes, &all);
            for window in [window.clone(), window.deflated()] {
                let back = window.unpack();
                let missing = bytes.len() - back.len();
                prop_assert!(used[..missing].iter().all(|used| !used));
                for (at, used) in used.iter().enumerate().skip(missing).filter(|(_, used)| **used) {
                    prop_assert!(*used && back[at - missing] == bytes[at]);
                }
            }
        }

        #[test]
        fn other_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), len: u32) {
            Window::Runs(bytes.clone().into()).unpack();
            Window::Deflated { len, bytes: bytes.into() }.unpack();
        }
    }

    #[test]
    fn places_take_little() {
        let mut used = vec![false; WINDOW];
        for at in (0..WINDOW).step_by(1000) {
            used[at..at + 20].fill(true);
        }
        let window = Window::new(&vec![7; WINDOW], &used);
        assert!(window.bytes() < 33 * 23 + 4 && !window.is_large(), "{}", window.bytes());
        assert!(Window::new(&[], &used).unpack().is_empty());
    }
}
