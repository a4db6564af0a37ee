//! The destination of the log: stderr until the daemon has detached; in the background `--log-file`, or syslog, or
//! without that a file in the user's state directory. Every message is one line.

use super::config::Config;
use super::{complain, registry};
use crate::{Error, Result};
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

static LOG: Output = Output {
    verbose: AtomicU8::new(0),
    stderr: AtomicBool::new(true),
    daemon: AtomicBool::new(false),
    file: OnceLock::new(),
};

struct Output {
    verbose: AtomicU8,
    stderr: AtomicBool,
    daemon: AtomicBool,
    file: OnceLock<File>,
}

/// Opens the log file, so that a bad path is found while somebody reads stderr. Starts no thread.
pub fn start(config: &Config) -> Result<()> {
    LOG.verbose.store(config.verbose, Relaxed);
    if let Some(path) = &config.log_file {
        let file = append(path).map_err(|cause| {
            Error::Other(format!("{}: the log file cannot be opened: {cause}; give another", path.display()))
        })?;
        let _ = LOG.file.set(file);
    }
    // Fails only if a logger is set already (tests): then that one stays.
    let _ = log::set_logger(&LOG);
    log::set_max_level(level_of(config.verbose, true));
    Ok(())
}

/// In the daemon: log to where it can be found later, and for now to stderr as well.
pub fn to_daemon_log() {
    LOG.daemon.store(true, Relaxed);
}

pub fn not_to_stderr() {
    LOG.stderr.store(false, Relaxed);
}

/// Other crates are one level quieter.
fn level_of(verbose: u8, own: bool) -> LevelFilter {
    match verbose.min(3) + u8::from(own) {
        0 => LevelFilter::Error,
        1 => LevelFilter::Warn,
        2 => LevelFilter::Info,
        3 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    }
}

impl Log for Output {
    fn enabled(&self, metadata: &Metadata) -> bool {
        let own = metadata.target().starts_with("rab");
        metadata.level() <= level_of(self.verbose.load(Relaxed), own)
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let message = one_line(record);
        if self.stderr.load(Relaxed) {
            complain(&message);
        }
        if let Some(file) = self.file.get() {
            write_to(file, &message);
        } else if self.daemon.load(Relaxed) && !to_syslog(record.level(), &message) {
            to_fallback(&message);
        }
    }

    fn flush(&self) {}
}

fn one_line(record: &Record) -> String {
    let text = printable(&record.args().to_string());
    match record.level() {
        Level::Error => format!("error: {text}"),
        Level::Warn => format!("warning: {text}"),
        _ => text,
    }
}

/// Names of files and datasets may hold anything; a log line holds no control characters.
fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '\n' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
        out
    })
}

/// One write per line, so that lines of several daemons do not mix.
fn write_to(mut file: &File, message: &str) {
    let _ =
        file.write_all(format!("{} rab-mount[{}]: {message}\n", timestamp(), std::process::id()).as_bytes());
}

fn append(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn to_syslog(level: Level, message: &str) -> bool {
    const DAEMON: u8 = 3 << 3;
    let severity = match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    };
    let line = format!("<{}>rab-mount[{}]: {message}", DAEMON | severity, std::process::id());
    UnixDatagram::unbound()
        .and_then(|socket| {
            // A syslog that hangs must not hang the mount.
            socket.set_nonblocking(true)?;
            socket.send_to(line.as_bytes(), "/dev/log")
        })
        .is_ok()
}

/// Where there is no syslog (containers): the first of these files that can be written.
fn to_fallback(message: &str) {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let file = FILE.get_or_init(|| fallback_files().iter().find_map(|path| append(path).ok()));
    if let Some(file) = file {
        write_to(file, message);
    }
}

fn fallback_files() -> Vec<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let uid = nix::unistd::geteuid().as_raw();
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    if let Some(dir) = &state {
        let _ = fs::create_dir_all(dir);
    }
    let system = (uid == 0).then(|| PathBuf::from("/var/log"));
    let directories = [state, system, registry::private_directory(uid)];
    directories.into_iter().flatten().map(|dir| dir.join("rab-mount.log")).collect()
}

/// `2024-02-29T12:34:56Z`
fn timestamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = date(seconds / 86400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The Gregorian date of a day after 1970-01-01, counted in years that begin in March.
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(19_782), (2024, 2, 29));
        assert_eq!(date(20_088), (2024, 12, 31));
        assert_eq!(date(20_089), (2025, 1, 1));
    }

    #[test]
    fn other_crates_are_one_level_quieter() {
        assert_eq!(level_of(0, true), LevelFilter::Warn);
        assert_eq!(level_of(0, false), LevelFilter::Error);
        assert_eq!(level_of(2, true), LevelFilter::Debug);
        assert_eq!(level_of(2, false), LevelFilter::Info);
    }
}
