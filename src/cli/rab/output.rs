//! Buffered standard output for results. Control characters in names are escaped on a terminal, and a closed pipe
//! (`rab ls x | head`) is not an error.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use crate::Error;
use crate::report::escaped;

/// Why a verb ends early.
pub enum Failure {
    Error(Error),
    /// The reader of standard output is gone.
    Pipe,
    /// The problem has already been printed; the exit code.
    Reported(u8),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

/// For errors in writing to standard output.
impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::Pipe,
            _ if cause.get_ref().is_some_and(|inner| inner.is::<Declined>()) => Failure::Reported(1),
            _ if let Some(error) = Error::inside(&cause) => Failure::Error(error.clone()),
            _ => Failure::Error(Error::Other(format!("standard output: cannot be written: {cause}"))),
        }
    }
}

/// The user declined to print binary data.
#[derive(Debug)]
pub struct Declined;

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not printed")
    }
}

impl std::error::Error for Declined {}

pub type Done<T = ()> = Result<T, Failure>;

pub struct Output {
    to: BufWriter<File>,
    terminal: bool,
    coloured: bool,
}

impl Output {
    pub fn new() -> Done<Output> {
        let stdout = io::stdout();
        // The standard library's own stdout would flush every line.
        let file = File::from(stdout.as_fd().try_clone_to_owned()?);
        let terminal = stdout.is_terminal();
        let coloured = terminal && wants_colour();
        Ok(Output { to: BufWriter::with_capacity(64 << 10, file), terminal, coloured })
    }

    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Colours the beginning of a line, up to the first colon.
    pub fn highlighted(&self, line: &str) -> String {
        let end = line.find(": ").unwrap_or(0);
        painted(&line[..end], CYAN, self.coloured) + &line[end..]
    }

    /// A name for display.
    pub fn shown<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.terminal { escaped(name) } else { name.into() }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

const RED: &str = "\x1b[31m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

fn painted(text: &str, colour: &str, is_on: bool) -> String {
    if is_on && !text.is_empty() { format!("{colour}{text}{PLAIN}") } else { text.to_owned() }
}

/// See no-color.org.
fn wants_colour() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// Prints a line on stderr, which may be closed.
pub fn complain_of(subject: &str, what: &str) {
    let is_terminal = io::stderr().is_terminal();
    let subject = painted(subject, RED, is_terminal && wants_colour());
    let what = if is_terminal { escaped(what) } else { what.into() };
    let _ = io::stderr().write_all(format!("{subject}: {what}\n").as_bytes());
}
