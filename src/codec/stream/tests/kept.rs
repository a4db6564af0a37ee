//! Streams over decaying bytes, indexes of other data, and reads in any order with any limits: every read gives the
//! original bytes or an error.

use parking_lot::{Condvar, Mutex};

use super::*;

fn with_store(dir: &std::path::Path) -> Arc<Engine> {
    let limits = crate::codec::Limits { cache: 64 << 20, index: 64 << 20, spill: None, verify_first: false };
    Arc::new(Engine::with(limits, Some(crate::codec::IndexStore::new(dir.to_owned(), 1 << 30))))
}

fn kept<S: Source + 'static>(engine: &Arc<Engine>, source: &Arc<S>, expected: Option<usize>) -> Arc<Stream> {
    let file = engine.index_file(&**source, 0..0).map(Arc::new);
    let (range, place) = (0..source.len(), source.place().dataset("x"));
    let expected = expected.map(|n| n as u64);
    let described = Described { stored: range, wrapper: None, expected, place };
    Stream::kept_in(file, engine.clone(), source.clone(), described)
}

/// Reads the whole stream in an earlier mount, so that its index is saved.
fn an_earlier_mount_read<S: Source + 'static>(dir: &std::path::Path, source: &Arc<S>, bytes: &[u8]) {
    let engine = with_store(dir);
    let stream = kept(&engine, source, Some(bytes.len()));
    assert!(get(&stream, 0, bytes.len()).unwrap() == bytes);
    engine.close();
}

/// The stream in a later mount, with the index that the earlier one saved.
fn kept_of_earlier(dir: &std::path::Path, source: &Arc<Hooked>, bytes: &[u8]) -> (Arc<Engine>, Arc<Stream>) {
    an_earlier_mount_read(dir, source, bytes);
    let engine = with_store(dir);
    let stream = kept(&engine, source, Some(bytes.len()));
    assert_eq!(stream.index.len(), Some(bytes.len() as u64), "what was kept is believed");
    (engine, stream)
}

fn get(stream: &Arc<Stream>, offset: usize, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    stream.read_exact_at(&mut bytes, offset as u64)?;
    Ok(bytes)
}

type Action = Box<dyn FnOnce() + Send>;

/// Bytes that can be corrupted, with a hook for the next read.
struct Hooked {
    bytes: Mutex<Vec<u8>>,
    action: Mutex<Option<Action>>,
}

impl Hooked {
    fn new(bytes: Vec<u8>) -> Arc<Hooked> {
        Arc::new(Hooked { bytes: Mutex::new(bytes), action: Mutex::new(None) })
    }
}

impl Source for Hooked {
    fn path(&self) -> &std::path::Path {
        std::path::Path::new("hooked")
    }
    fn len(&self) -> u64 {
        self.bytes.lock().len() as u64
    }
    fn modified(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH
    }
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let action = self.action.lock().take();
        if let Some(action) = action {
            action();
        }
        buf.copy_from_slice(&self.bytes.lock()[offset as usize..][..buf.len()]);
        Ok(())
    }
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

fn stored_only(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_first_read_after_damage_fails() {
    let bytes = sample(BIG);
    let mut stored = zlib(&bytes);
    stored.truncate(stored.len() / 2);
    let mut wrong = Vec::new();
    for block in 40..91 {
        let kit = open(stored.clone(), Some(BIG));
        let at = block * BLOCK as usize;
        if let Ok(got) = kit.read(at, 4096)
            && got != bytes[at..at + 4096]
        {
            let from = (0..BIG - 4096).step_by(BLOCK as usize).find(|from| bytes[*from..*from + 4096] == got);
            wrong.push((at, from));
        }
    }
    assert!(wrong.is_empty(), "wrong bytes: (asked, served) {wrong:?}");
}

#[test]
fn the_short_last_block_has_a_checksum() {
    let bytes = sample(BIG);
    let kit = open(zlib(&bytes), Some(BIG));
    assert!(kit.sequentially().unwrap() == bytes);
    assert_eq!(kit.stream.index.frontier(), (BIG as u64).div_ceil(BLOCK));
}

#[test]
fn a_length_that_is_not_a_block_multiple_is_saved() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sample(BIG);
    let source = Hooked::new(stored_only(&bytes));
    let (engine, stream) = kept_of_earlier(dir.path(), &source, &bytes);
    get(&stream, BIG - 100_000, 4096).unwrap();
    assert!(engine.decoded() < 600_000, "{}", engine.decoded());
}

const EVEN: usize = 4 << 20;

#[test]
fn corruption_that_the_saved_index_reveals_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sample(EVEN);
    let source = Hooked::new(stored_only(&bytes));
    an_earlier_mount_read(dir.path(), &source, &bytes);
    source.bytes.lock()[2 << 20] ^= 1;
    let engine = with_store(dir.path());
    let stream = kept(&engine, &source, Some(EVEN));
    assert_eq!(stream.index.len(), Some(EVEN as u64));
    let at = (2 << 20) - 8192;
    let got = get(&stream, at, 16384);
    assert!(got.is_err() || got.unwrap() == bytes[at..at + 16384], "wrong bytes are served");
}

#[test]
fn corruption_after_a_verified_read_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sample(EVEN);
    let source = Hooked::new(stored_only(&bytes));
    an_earlier_mount_read(dir.path(), &source, &bytes);
    let limits = crate::codec::Limits { cache: 512 << 10, index: 64 << 20, spill: None, verify_first: true };
    let store = crate::codec::IndexStore::new(dir.path().to_owned(), 1 << 30);
    let engine = Arc::new(Engine::with(limits, Some(store)));
    let stream = kept(&engine, &source, Some(EVEN));
    assert!(get(&stream, 0, EVEN).unwrap() == bytes);
    source.bytes.lock()[2 << 20] ^= 1;
    let at = (2 << 20) - 8192;
    let got = get(&stream, at, 16384);
    assert!(
        got.is_err() || got.unwrap() == bytes[at..at + 16384],
        "wrong bytes are served, with verify_first"
    );
}

#[test]
fn a_stale_index_does_not_mark_good_data_corrupt() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sample(EVEN);
    let source = Hooked::new(stored_only(&bytes));
    let (_engine, stream) = kept_of_earlier(dir.path(), &source, &bytes);
    // While a run decodes, another one finds that the saved index does not fit.
    let other = stream.clone();
    *source.action.lock() = Some(Box::new(move || {
        other.mark_corrupt(
            other.index.version(),
            0,
            Error::damaged(other.place.clone(), "as another run would"),
        );
    }));
    let at = 3 << 20;
    let got = get(&stream, at, 4096);
    assert!(
        got.as_ref().is_ok_and(|got| *got == bytes[at..at + 4096]),
        "{:?}",
        got.err().map(|e| e.to_string())
    );
    assert!(!stream.is_damaged());
}

#[test]
fn readers_do_not_wait_for_runs_that_never_start() {
    let bytes = sample(EVEN);
    let kit = open(zlib(&bytes), Some(EVEN));
    let hold = Arc::new((Mutex::new(true), Condvar::new()));
    for _ in 0..32 {
        let hold = hold.clone();
        kit.stream.engine.in_background(move || {
            let mut held = hold.0.lock();
            while *held {
                hold.1.wait(&mut held);
            }
        });
    }
    let stream = kit.stream.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for at in 0..8 {
            get(&stream, at << 17, 128 << 10).unwrap();
            sender.send(at).unwrap();
        }
    });
    for at in 0..8 {
        let waited = receiver.recv_timeout(std::time::Duration::from_secs(10));
        if waited.is_err() {
            *hold.0.lock() = false;
            hold.1.notify_all();
        }
        assert_eq!(waited, Ok(at), "32 other runs keep the threads");
    }
    *hold.0.lock() = false;
    hold.1.notify_all();
}

#[test]
fn no_saved_record_hangs_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sample(20_000);
    let source = Hooked::new(zlib(&bytes));
    let engine = with_store(dir.path());
    {
        let stored = source.bytes.lock().clone();
        let mut record = Vec::new();
        record.extend(20_000u64.to_le_bytes());
        record.extend((stored.len() as u64).to_le_bytes());
        record.extend([&stored[..8], &stored[stored.len() - 8..]].concat());
        record.extend(1u32.to_le_bytes());
        record.extend(7u32.to_le_bytes());
        record.extend(1u32.to_le_bytes());
        for number in [30_000u64, 2, 0] {
            record.extend(number.to_le_bytes());
        }
        record.extend([0; 4]);
        record.extend([0, 0]);
        record.extend([0; 8]);
        let file = engine.index_file(&*source, 0..0).unwrap();
        file.put(0, stored.len() as u64, &record);
    }
    let engine = with_store(dir.path());
    let stream = kept(&engine, &source, Some(20_000));
    assert_eq!(stream.index.frontier(), 0, "a point behind the end");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(get(&stream, 0, 20_000).is_ok()));
    assert!(receiver.recv_timeout(std::time::Duration::from_secs(10)).is_ok(), "spins for ever");
}

#[test]
fn checksums_alone_do_not_thin_out_all_points() {
    let account = Arc::new(crate::codec::index::Account::new(64 << 10));
    let index = account.open(None, None);
    for block in 0..20_000 {
        index.see(0, block, 0);
    }
    let point = crate::codec::inflate::Point {
        position: 1000,
        stored: 10,
        bits: 0,
        wrapper: crate::codec::wrapper::Wrapper::Zlib,
        member: 0,
        check: 0,
        window: crate::codec::window::Window::empty(),
    };
    index.add(0, point, 256 << 10);
    assert!(account.spacing() < 1 << 40, "{}", account.spacing());
}

/// Several readers resume from a saved index that belongs to other data.
#[test]
fn a_stale_index_and_many_readers() {
    for round in 0..30 {
        let dir = tempfile::tempdir().unwrap();
        let bytes = sample(EVEN);
        // Other bytes with the same Adler-32, so that the index seems to be this stream's.
        let mut others = bytes.clone();
        for three in others[100..EVEN - 200].chunks_exact_mut(3).filter(|three| three[1] >= 2) {
            three[0] += 1;
            three[1] -= 2;
            three[2] += 1;
        }
        let stream_of = stored_only;
        let source = Hooked::new(stream_of(&others));
        {
            let engine = with_store(dir.path());
            let stream = kept(&engine, &source, Some(EVEN));
            assert!(get(&stream, 0, EVEN).unwrap() == others);
            engine.close();
        }
        *source.bytes.lock() = stream_of(&bytes);
        let engine = with_store(dir.path());
        let stream = kept(&engine, &source, Some(EVEN));
        assert_eq!(stream.index.len(), Some(EVEN as u64));
        std::thread::scope(|scope| {
            for at in [1 << 20, 2 << 20, 3 << 20] {
                let (stream, bytes) = (&stream, &bytes);
                scope.spawn(move || {
                    let got = get(stream, at, 4096);
                    let message = got.as_ref().err().map(|e| e.to_string());
                    assert!(got.is_ok_and(|got| got == bytes[at..at + 4096]), "round {round}: {message:?}");
                });
            }
        });
    }
}

#[test]
fn a_saved_size_of_other_data_is_not_reported() {
    let dir = tempfile::tempdir().unwrap();
    let long = sample(50_000);
    let pad = |bytes: &[u8]| {
        let mut stored = gzip(bytes);
        stored.resize(60_000, 0);
        stored
    };
    let source = Hooked::new(pad(&long[..40_000]));
    {
        let engine = with_store(dir.path());
        let stream = kept(&engine, &source, None);
        assert_eq!(stream.len().unwrap(), 40_000);
        engine.close();
    }
    *source.bytes.lock() = pad(&long);
    let engine = with_store(dir.path());
    let stream = kept(&engine, &source, None);
    let announced = stream.len().unwrap() as usize;
    let read = get(&stream, 0, announced);
    assert!(announced == 50_000 || read.is_err(), "size {announced}, and a whole read of that size succeeds");
}

#[test]
fn reads_in_any_order_with_any_memory_limit() {
    struct Rng(u64);
    impl Rng {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) as usize) % end.max(1)
        }
    }
    for round in 0..150 {
        let mut rng = Rng(round);
        let len = match rng.below(4) {
            0 => (1 + rng.below(14)) * (256 << 10),
            1 => (1 + rng.below(100)) * (32 << 10),
            _ => 1 + rng.below(4 << 20),
        };
        let mut bytes: Vec<u8> = Vec::with_capacity(len);
        while bytes.len() < len {
            if bytes.len() > 40_000 && rng.below(3) > 0 {
                let from = bytes.len() - 1 - rng.below(32_768);
                let count = 3 + rng.below(300);
                for at in from..from + count {
                    bytes.push(bytes[at]);
                }
            } else {
                (0..1 + rng.below(200)).for_each(|_| {
                    let b = rng.below(256) as u8;
                    bytes.push(b)
                });
            }
        }
        bytes.truncate(len);
        let level = Compression::new(rng.below(10) as u32);
        let (is_gzip, flush) = (rng.below(2) == 0, [1 << 30, 100_000, 3_000, 300][rng.below(4)]);
        let mut stored = Vec::new();
        let mut at = 0;
        let member = if is_gzip { [1 << 30, 400_000, 20_000][rng.below(3)] } else { 1 << 30 };
        loop {
            let end = len.min(at + 1 + rng.below(member));
            let end = if member == 1 << 30 { len } else { end };
            let feed = |out: &mut dyn Write, rng: &mut Rng| {
                let mut from = at;
                while from < end {
                    let to = end.min(from + 1 + rng.below(flush));
                    let to = if flush == 1 << 30 { end } else { to };
                    out.write_all(&bytes[from..to]).unwrap();
                    if flush != 1 << 30 {
                        out.flush().unwrap();
                    }
                    from = to;
                }
            };
            stored.extend(if is_gzip {
                let mut e = GzEncoder::new(Vec::new(), level);
                feed(&mut e, &mut rng);
                e.finish().unwrap()
            } else {
                let mut e = ZlibEncoder::new(Vec::new(), level);
                feed(&mut e, &mut rng);
                e.finish().unwrap()
            });
            at = end;
            if at == len {
                break;
            }
        }
        if is_gzip && rng.below(3) == 0 {
            stored.extend(gzip(b""));
        }
        let has_len = rng.below(2) == 0;
        let index = [64 << 20, 200 << 10, 20 << 10, 0][rng.below(4)];
        let cache = [64 << 20, 2 << 20, 100 << 10][rng.below(3)];
        let limits = crate::codec::Limits { cache, index, spill: None, verify_first: rng.below(4) == 0 };
        let dir = tempfile::tempdir().unwrap();
        let source = Hooked::new(stored);
        for mount in 0..2 {
            let store = crate::codec::IndexStore::new(dir.path().to_owned(), 1 << 30);
            let engine = Arc::new(Engine::with(limits, Some(store)));
            let stream = kept(&engine, &source, has_len.then_some(len));
            assert_eq!(stream.len().unwrap(), len as u64);
            std::thread::scope(|scope| {
                for reader in 0..4 {
                    let (stream, bytes) = (&stream, &bytes);
                    let mut rng = Rng(round * 100 + mount * 10 + reader);
                    scope.spawn(move || {
                        let mut from = rng.below(len);
                        for _ in 0..20 {
                            if rng.below(3) == 0 {
                                from = rng.below(len);
                            }
                            let bits = 6 + rng.below(12);
                            let count = (1 + rng.below(1 << bits)).min(len - from);
                            let got = match stream.read_cached(count, from as u64) {
                                Ok(Some(got)) => Ok(got),
                                Ok(None) => get(stream, from, count),
                                Err(e) => Err(e),
                            };
                            match got {
                                Ok(got) => assert!(got == bytes[from..from + count], "round {round} mount {mount}: wrong at {from}"),
                                Err(e) => panic!("round {round} mount {mount} level {level:?} flush {flush} member {member}: {e}"),
                            }
                            from = (from + count) % len;
                        }
                    });
                }
            });
            engine.close();
        }
    }
}

#[test]
fn a_rebuilt_index_is_counted_once() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sample(EVEN);
    let source = Hooked::new(stored_only(&bytes));
    let (engine, stream) = kept_of_earlier(dir.path(), &source, &bytes);
    stream.mark_corrupt(stream.index.version(), 0, Error::damaged(stream.place.clone(), "stale"));
    assert!(get(&stream, 0, EVEN).unwrap() == bytes);
    assert_eq!(engine.account.totals().2, EVEN as u64);
}
