//! Files decoded by a program that the user names. The whole file goes to the program's standard input, and its output
//! to the spill, once for all readers. Nothing runs unless the user asked for it, and never through a shell.
//!
//! Invariants: a program that takes longer than [`MAX_DURATION`], or writes more than the spill may hold, is killed
//! with its whole process group; a failing program yields no data and is not run again (see `single_flight`).

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, LazyLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Engine;
use super::fill::in_pieces;
use super::single_flight::{Shared, SingleFlight};
use super::spill::{ADVICE, PIECE, Refused, Spilled};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Set when the whole process is to exit, which no decoder program may delay.
pub static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// How often [`INTERRUPTED`] is polled.
const WATCHED: Duration = Duration::from_millis(50);
/// How long a program may take for one file.
pub const MAX_DURATION: Duration = Duration::from_secs(600);

pub struct Piped {
    engine: Arc<Engine>,
    source: Arc<dyn Source>,
    /// The program and its arguments.
    argv: Vec<String>,
    place: Place,
    /// The file's number in the spill.
    id: u64,
    timeout: Duration,
    /// Holds the decoded length once it is known.
    state: Arc<SingleFlight<Option<u64>>>,
}

impl Piped {
    /// Decodes the whole file with `command`, which is split at white space.
    pub fn new(engine: Arc<Engine>, source: Arc<dyn Source>, command: &str, place: Place) -> Piped {
        Piped {
            id: engine.cache.new_stream(),
            argv: command.split_whitespace().map(str::to_owned).collect(),
            engine,
            source,
            place,
            timeout: MAX_DURATION,
            state: SingleFlight::new(None),
        }
    }

    pub fn known_len(&self) -> Option<u64> {
        **self.state.lock()
    }

    pub fn len(&self) -> Result<u64> {
        match self.known_len() {
            Some(len) => Ok(len),
            None => self.decoded().map(|decoded| decoded.len()),
        }
    }

    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let decoded = self.decoded()?;
        in_pieces(buf, offset, &mut |rest, at| {
            let piece = decoded.read((at / PIECE as u64) as usize, &self.engine.spill)?;
            let from = piece.get((at % PIECE as u64) as usize..).unwrap_or_default();
            let count = from.len().min(rest.len());
            if count == 0 {
                return Err(self.damaged(format!("nothing decodes to byte {at}")));
            }
            rest[..count].copy_from_slice(&from[..count]);
            Ok(count)
        })?;
        self.source.check()
    }

    /// The program's output, from the spill or produced now; concurrent readers wait for it.
    fn decoded(&self) -> Result<Arc<Spilled>> {
        let spill = &self.engine.spill;
        let spilled = |state: &mut Shared<Option<u64>>| state.damage.or(0, || spill.get((self.id, 0)));
        self.state.once(0, spilled, || {
            let decoded = spill.attempts(|| self.attempt(), |limit| self.too_large(limit));
            let decoded = decoded.map_err(|error| self.state.mark_corrupt(0, error))?;
            **self.state.lock() = Some(decoded.len());
            Ok(decoded)
        })
    }

    fn too_large(&self, limit: u64) -> Error {
        let program = self.program();
        self.unsupported(format!(
            "the decoder {program:?} writes more than {limit} bytes, which is all that may be used on disk: \
             {ADVICE}"
        ))
    }

    fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    fn attempt(&self) -> Result<Arc<Spilled>, Refused> {
        let failed = |what: &str, cause: std::io::Error| {
            Error::Other(format!(
                "{}: the decoder {:?} cannot be {what}: {cause}",
                self.place,
                self.program()
            ))
        };
        let mut command = Command::new(self.program());
        command.args(self.argv.get(1..).unwrap_or_default()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Group(command.spawn().map_err(|cause| failed("started", cause))?);
        let (input, output) = (child.0.stdin.take(), child.0.stdout.take());
        let (Some(mut input), Some(mut output)) = (input, output) else {
            return Err(failed("spoken to", ErrorKind::BrokenPipe.into()).into());
        };
        let (end, group) = (Instant::now() + self.timeout, child.id());
        let mut writer = self.engine.spill.writer()?;
        let mut pass = || -> Result<(), Refused> {
            let mut piece = vec![0; PIECE];
            loop {
                let filled = fill(&mut output, &mut piece).map_err(|cause| failed("read from", cause))?;
                if filled == 0 {
                    return Ok(());
                }
                writer.push(piece.get(..filled).unwrap_or_default())?;
            }
        };
        let passed = thread::scope(|scope| {
            let (finish, finished) = mpsc::channel::<()>();
            // A program may stop reading early: its exit code tells whether that is an error.
            let feed = thread::Builder::new().spawn_scoped(scope, move || feed(&*self.source, &mut input));
            let watch = thread::Builder::new().spawn_scoped(scope, move || {
                while !is_over(end) {
                    match finished.recv_timeout(WATCHED) {
                        Ok(()) => return,
                        Err(RecvTimeoutError::Timeout) => {}
                        // After a panic the program may be blocked writing output that nobody reads.
                        Err(RecvTimeoutError::Disconnected) => break,
                    }
                }
                kill(group);
            });
            let passed = match (&feed, &watch) {
                (Ok(_), Ok(_)) => pass(),
                _ => Err(failed("fed", ErrorKind::OutOfMemory.into()).into()),
            };
            if passed.is_err() {
                kill(group);
            }
            // Watched until it has its input: one that closed its output may never read the rest.
            let fed = feed.map(|feed| feed.join());
            let _ = finish.send(());
            passed.and(match fed {
                Ok(Ok(fed)) => fed.map_err(Refused::Failed),
                _ => Ok(()),
            })
        });
        passed?;
        match child.end(end) {
            _ if INTERRUPTED.load(Ordering::Relaxed) => Err(Error::Other("interrupted".into()).into()),
            _ if Instant::now() >= end => {
                let problem = format!(
                    "the decoder {:?} took longer than {} s, which is the limit: decode the file beforehand",
                    self.program(),
                    self.timeout.as_secs()
                );
                Err(self.unsupported(problem).into())
            }
            Ok(status) if status.success() => {
                self.source.check()?;
                Ok(writer.finish((self.id, 0)))
            }
            Ok(status) => {
                Err(self.damaged(format!("the decoder {:?} ended with {status}", self.program())).into())
            }
            Err(cause) => Err(failed("waited for", cause).into()),
        }
    }

    /// A limit was exceeded; the file itself may be fine.
    fn unsupported(&self, problem: String) -> Error {
        Error::Unsupported { place: self.place.clone(), problem }
    }

    fn damaged(&self, problem: String) -> Error {
        Error::damaged(self.place.clone(), problem)
    }
}

/// A program and its process group, killed on drop.
struct Group(Child);

impl Group {
    fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits for the program until `end`, then kills it.
    fn end(&mut self, end: Instant) -> std::io::Result<ExitStatus> {
        while !is_over(end) {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        kill(self.id());
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // If it was waited for already, its process id may belong to another process.
        if let Ok(None) = self.0.try_wait() {
            kill(self.id());
            let _ = self.0.wait();
        }
    }
}

/// Has the deadline passed, or is the process exiting?
fn is_over(end: Instant) -> bool {
    Instant::now() >= end || INTERRUPTED.load(Ordering::Relaxed)
}

fn kill(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // It may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn feed(source: &dyn Source, input: &mut impl Write) -> Result<()> {
    let (mut at, mut piece) = (0, vec![0; PIECE]);
    while at < source.len() {
        let count = (source.len() - at).min(PIECE as u64);
        let now = piece.get_mut(..count as usize).unwrap_or_default();
        source.read_exact_at(now, at)?;
        if input.write_all(now).is_err() {
            return Ok(());
        }
        at += count;
    }
    Ok(())
}

/// Fills `buf`; fewer bytes only at the end.
fn fill(output: &mut impl Read, buf: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match output.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Limits;
    use crate::source::memory::MemorySource;

    fn piped(bytes: &[u8], command: &str) -> Piped {
        let limits = Limits { cache: 1 << 20, index: 1 << 20, spill: Some(1 << 20), verify_first: false };
        let source = Arc::new(MemorySource { bytes: bytes.to_vec(), ..MemorySource::default() });
        Piped::new(Arc::new(Engine::with(limits, None)), source, command, Place::default())
    }

    #[test]
    fn output_can_be_read_in_any_order() {
        let bytes: Vec<u8> = (0..300_000u32).map(|number| (number * 7) as u8).collect();
        let piped = piped(&bytes, "cat -");
        assert_eq!((piped.known_len(), piped.len().unwrap()), (None, 300_000));
        for at in [299_990, 0, 32_760, 65_536] {
            let mut found = [0; 10];
            piped.read_exact_at(&mut found, at as u64).unwrap();
            assert_eq!(found, bytes[at..at + 10]);
        }
        assert!(piped.read_exact_at(&mut [0; 2], 299_999).is_err());
        assert_eq!(self::piped(b"", "cat").len().unwrap(), 0);
        // A program that reads nothing may still succeed.
        assert_eq!(self::piped(&bytes, "true").len().unwrap(), 0);
    }

    #[test]
    fn failing_or_endless_programs_are_errors() {
        let message = |piped: &Piped| piped.len().unwrap_err().to_string();
        assert!(message(&piped(b"x", "false")).contains("ended with exit status: 1"));
        assert!(message(&piped(b"x", "no-such-program-here")).contains("cannot be started"));
        assert!(message(&piped(b"x", "")).contains("cannot be started"));
        let much = piped(b"x", "cat /dev/zero");
        assert!(message(&much).contains("writes more than") && message(&much).contains("set TMPDIR"));
        assert!(matches!(much.len(), Err(Error::Unsupported { .. })), "a limit is no damage");
        let slow = Piped { timeout: Duration::from_millis(300), ..piped(b"x", "sleep 1000") };
        assert!(matches!(slow.len(), Err(Error::Unsupported { .. })), "a limit is no damage");
        assert!(message(&slow).contains("took longer"));
        assert!(message(&slow).contains("took longer"), "and is not run again");
        // With its output closed, and more input than fits into a pipe.
        let script = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(script.path(), "exec >&-\nsleep 1000\n").unwrap();
        let deaf = piped(&[0; 1 << 20], &format!("sh {}", script.path().display()));
        let deaf = Piped { timeout: Duration::from_millis(300), ..deaf };
        assert!(message(&deaf).contains("took longer"));
    }
}
