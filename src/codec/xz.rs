//! One or more concatenated .xz or .lzma files of known decoded length, read at any offset. Decoding cannot begin
//! inside, so all of it is decoded at once (see `decoded`).
//!
//! Invariants: no byte is served before all have been decoded and their number is right; the decoder stops if there are
//! more, uses at most [`MAX_MEMORY`], and runs once for all concurrent readers (see `single_flight`). Bytes after the
//! last file are ignored, as in Python's `lzma.decompress`.

use std::ops::Range;
use std::sync::Arc;

use super::decoded::{self, Decoded, Here, Output, SMALL};
use super::fill::in_pieces;
use super::single_flight::{Shared, SingleFlight};
use super::spill::{ADVICE, Key, PIECE, Refused};
use super::{Block, Engine};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};
use liblzma::stream::{Action, Status, Stream};

/// Decoder memory in bytes, including the dictionary; the largest preset of xz needs 65 MiB.
const MAX_MEMORY: u64 = 256 << 20;
/// Stored bytes are read in pieces of this size.
const INPUT: u64 = 64 << 10;

pub struct Xz {
    engine: Arc<Engine>,
    id: u64,
    source: Arc<dyn Source>,
    stored: Range<u64>,
    len: u64,
    place: Place,
    state: Arc<SingleFlight<()>>,
}

impl Xz {
    /// The stream in `stored` of `source`, which decodes to `len` bytes.
    pub fn new(
        engine: Arc<Engine>,
        source: Arc<dyn Source>,
        stored: Range<u64>,
        len: u64,
        place: Place,
    ) -> Xz {
        let id = engine.cache.new_stream();
        Xz { engine, id, source, stored, len, place, state: SingleFlight::new(()) }
    }

    /// The decoded length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The actual decoded length; None if it exceeds the declared one.
    pub fn measure(&self) -> Result<Option<u64>> {
        let _turn = self.engine.spill.turn();
        let spill = &self.engine.spill;
        let total = spill.attempts(|| self.decoded(&mut |_| Ok(())), |limit| self.too_large(limit))?;
        self.source.check().map(|()| (total <= self.len).then_some(total))
    }

    /// The length not known to be damaged: all of it or 0.
    pub fn valid_len(&self) -> u64 {
        self.state.lock().damage.valid_len(self.len)
    }

    /// Fills `buf` with decoded bytes from `offset`; the caller has clamped the range at the length.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let mut whole = None;
        in_pieces(buf, offset, &mut |rest, at| {
            let here = Here::new(0, at, self.len);
            let block = self.block(&here, &mut whole)?;
            let from = here.within(&block);
            let count = from.len().min(rest.len());
            rest[..count].copy_from_slice(&from[..count]);
            Ok(count)
        })?;
        self.source.check()
    }

    /// As [`Xz::read_exact_at`], or None if anything would have to be decoded.
    pub fn read_cached(&self, len: usize, offset: u64) -> Result<Option<Vec<u8>>> {
        if let Some(error) = self.state.lock().damage.at(0) {
            return Err(error);
        }
        let locate = |at| Ok(Some(Here::new(0, at, self.len)));
        let Some(bytes) = decoded::cached(&self.engine, self.id, len, offset, &locate)? else {
            return Ok(None);
        };
        self.source.check().map(|()| Some(bytes))
    }

    /// The block that holds `here`. `whole` is kept for the rest of a read, so that the spill cannot evict it
    /// meanwhile.
    fn block(&self, here: &Here, whole: &mut Option<Decoded>) -> Result<Block> {
        if let Some(block) = self.engine.cache.get(self.id, here.block()) {
            return Ok(block);
        }
        let whole = match whole {
            Some(whole) => whole,
            none => none.insert(self.whole()?),
        };
        whole.block(&self.engine, self.id, here)
    }

    fn key(&self) -> Key {
        (self.id, 0)
    }

    /// The decoded data, cached or decoded now.
    fn whole(&self) -> Result<Decoded> {
        let existing =
            |state: &mut Shared<()>| state.damage.or(0, || Decoded::if_available(&self.engine, self.key()));
        self.state.once(0, existing, || {
            let decoded = self.decode();
            // Neither bytes nor damage of a changed container are kept.
            self.source.check().inspect_err(|_| self.engine.spill.forget(self.key()))?;
            let decoded = decoded.map_err(|error| self.state.mark_corrupt(0, error))?;
            decoded.keep(&self.engine, self.key());
            Ok(decoded)
        })
    }

    fn decode(&self) -> Result<Decoded> {
        let spill = &self.engine.spill;
        if self.len > SMALL as u64 {
            // Fail early rather than after decoding as much as fits.
            let limit = spill.limit()?;
            if self.len > limit {
                return Err(self.too_large(limit));
            }
        }
        let attempt = || -> Result<Decoded, Refused> {
            // Decoders may need much memory: run one at a time.
            let _turn = spill.turn();
            let mut output = Output::new(spill);
            self.run(&mut |piece| output.push(piece))?;
            Ok(output.finish(self.key()))
        };
        spill.attempts(attempt, |limit| self.too_large(limit))
    }

    /// Passes all decoded data to `each` in pieces of [`PIECE`] bytes, the last one shorter.
    fn run(&self, each: &mut dyn FnMut(&[u8]) -> Result<(), Refused>) -> Result<(), Refused> {
        let total = self.decoded(each)?;
        if total == self.len {
            return Ok(());
        }
        let found = if total > self.len { "more".into() } else { total.to_string() };
        Err(self.wrong(self.stored.start, &format!("decodes to {found} bytes, but {} are needed", self.len)))
    }

    /// As `run`, but returns the actual length; stops at the first byte beyond the declared one.
    fn decoded(&self, each: &mut dyn FnMut(&[u8]) -> Result<(), Refused>) -> Result<u64, Refused> {
        let mut piece = vec![0; PIECE];
        let (mut filled, mut total) = (0, 0u64);
        let (mut at, mut input, mut used) = (self.stored.start, Vec::new(), 0);
        let (mut decoder, mut files) = (self.decoder()?, 0);
        // Room for one byte more than expected reveals excess data.
        while total <= self.len {
            if used == input.len() && at < self.stored.end {
                let count = (self.stored.end - at).min(INPUT);
                input.resize(count as usize, 0);
                self.source.read_exact_at(&mut input, at).map_err(Refused::Failed)?;
                (at, used) = (at + count, 0);
            }
            let is_last = at == self.stored.end;
            let before = (decoder.total_in(), decoder.total_out());
            let action = if is_last { Action::Finish } else { Action::Run };
            let from = input.get(used..).unwrap_or_default();
            let status = decoder.process(from, piece.get_mut(filled..).unwrap_or_default(), action);
            let (read, made) = (decoder.total_in() - before.0, decoder.total_out() - before.1);
            used += read as usize;
            filled += made as usize;
            total += made;
            self.engine.count_decoded(made);
            if filled == PIECE && total <= self.len {
                each(&piece)?;
                filled = 0;
            }
            match status {
                Ok(Status::StreamEnd) => {
                    files += 1;
                    if is_last && used == input.len() {
                        break;
                    }
                    decoder = self.decoder()?;
                }
                Ok(Status::Ok | Status::GetCheck) if read > 0 || made > 0 || !is_last => {}
                // Not the start of another file.
                _ if files > 0 && decoder.total_out() == 0 => break,
                Ok(_) => return Err(self.wrong(at, "the xz stream ends early")),
                Err(liblzma::stream::Error::MemLimit | liblzma::stream::Error::Mem) => {
                    let problem = format!(
                        "the xz stream needs more memory than {MAX_MEMORY} bytes, which is the limit"
                    );
                    return Err(Refused::Failed(Error::Unsupported { place: self.place.clone(), problem }));
                }
                Err(error) => {
                    return Err(self.wrong(at, &format!("the xz stream is damaged: {error}").to_lowercase()));
                }
            }
        }
        if total == self.len && filled > 0 {
            each(piece.get(..filled).unwrap_or_default())?;
        }
        Ok(total)
    }

    fn decoder(&self) -> Result<Stream, Refused> {
        let failed = |error| Refused::Failed(Error::Other(format!("the xz decoder cannot be made: {error}")));
        Stream::new_auto_decoder(MAX_MEMORY, 0).map_err(failed)
    }

    fn wrong(&self, at: u64, problem: &str) -> Refused {
        Refused::Failed(Error::damaged(self.place.at(at), problem))
    }

    fn too_large(&self, limit: u64) -> Error {
        let problem =
            format!("decodes to {} bytes, for which the spill of {limit} has no room: {ADVICE}", self.len);
        Error::Unsupported { place: self.place.clone(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::memory::MemorySource;

    fn xz(bytes: &[u8], len: u64) -> Xz {
        let source = MemorySource { bytes: bytes.to_vec(), ..MemorySource::default() };
        let place = Place { dataset: Some("x".into()), ..Place::default() };
        Xz::new(Arc::new(Engine::new(1 << 20)), Arc::new(source), 0..bytes.len() as u64, len, place)
    }

    fn encoded(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        std::io::copy(&mut liblzma::read::XzEncoder::new(data, 1), &mut out).unwrap();
        out
    }

    fn read(bytes: &[u8], len: u64) -> Result<Vec<u8>, String> {
        let xz = xz(bytes, len);
        let mut out = vec![0; len as usize];
        // From the back, in pieces.
        for piece in out.chunks_mut(100_000).rev().enumerate().collect::<Vec<_>>() {
            let start = len.saturating_sub(1) / 100_000 * 100_000 - 100_000 * piece.0 as u64;
            xz.read_exact_at(piece.1, start).map_err(|error| error.to_string())?;
        }
        Ok(out)
    }

    #[test]
    fn round_trip_of_small_and_large_data() {
        for len in [1usize, 100_000, 1 << 20, (1 << 20) + 1, 3_000_000] {
            let data: Vec<u8> = (0..len).map(|at| ((at * at) >> 7) as u8).collect();
            assert!(read(&encoded(&data), len as u64).unwrap() == data, "{len}");
        }
    }

    #[test]
    fn concurrent_readers_share_one_decoding() {
        for len in [1usize << 20, 3_000_000] {
            let data: Vec<u8> = (0..len).map(|at| ((at * at) >> 7) as u8).collect();
            let stored = encoded(&data);
            let source = MemorySource { bytes: stored.clone(), ..MemorySource::default() };
            let (engine, range) = (Arc::new(Engine::new(8 << 20)), 0..stored.len() as u64);
            let xz = Xz::new(engine, Arc::new(source), range, len as u64, Place::default());
            std::thread::scope(|scope| {
                for reader in 0..8 {
                    let (xz, data) = (&xz, &data);
                    scope.spawn(move || {
                        let mut found = vec![0; 100_000];
                        xz.read_exact_at(&mut found, 100_000 * reader as u64).unwrap();
                        assert!(found == data[100_000 * reader..][..100_000]);
                    });
                }
            });
            assert_eq!(xz.engine.decoded(), len as u64);
        }
    }

    #[test]
    fn concatenated_files_and_trailing_bytes() {
        let both = [encoded(b"one"), encoded(b"two")].concat();
        assert_eq!(read(&both, 6).unwrap(), b"onetwo");
        assert_eq!(read(&[&both[..], b"junk"].concat(), 6).unwrap(), b"onetwo");
    }

    #[test]
    fn damage_and_excess_data_are_errors() {
        let whole = encoded(&vec![7; 200_000]);
        assert!(read(&whole, 10).unwrap_err().contains("more bytes, but 10 are needed"));
        assert!(read(&whole, 200_001).unwrap_err().contains("decodes to 200000 bytes"));
        assert!(read(&whole[..whole.len() - 5], 200_000).unwrap_err().contains("ends early"));
        assert!(read(b"not xz at all", 5).unwrap_err().contains("damaged"));
        let bomb = encoded(&vec![0; 64 << 20]);
        let stream = xz(&bomb, 10);
        assert!(stream.read_exact_at(&mut [0; 10], 0).is_err());
        assert!(stream.engine.decoded() <= 2 * PIECE as u64);
    }
}
