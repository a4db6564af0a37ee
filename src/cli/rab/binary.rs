//! Asks the user before binary data is printed on a terminal.

use std::io::{self, IsTerminal, Write};

use super::output::{Declined, Output};
use crate::report::escaped;
use crate::{Error, Result};

/// Standard output for data that may be binary. On a terminal, asks before the first binary bytes.
pub struct Guarded<'o> {
    out: &'o mut Output,
    name: String,
    /// Total number of bytes, if known.
    len: Option<u64>,
    /// No question is needed any more.
    is_open: bool,
    /// The first bytes of a character that continues in the next piece.
    begun: Vec<u8>,
}

impl<'o> Guarded<'o> {
    /// With `force`, never asks.
    pub fn new(out: &'o mut Output, name: &str, len: Option<u64>, force: bool) -> Guarded<'o> {
        let is_open = force || !out.is_terminal();
        Guarded { out, name: name.to_owned(), len, is_open, begun: Vec::new() }
    }
}

impl Write for Guarded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_open && is_binary(bytes, &mut self.begun) {
            self.out.flush()?;
            match may_be_printed(&self.name, self.len) {
                Ok(true) => self.is_open = true,
                Ok(false) => return Err(io::Error::other(Declined)),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// True for bytes that are not plain text. Control characters count as binary because they can control a terminal.
/// `begun` holds the incomplete character at the end of the last piece.
fn is_binary(bytes: &[u8], begun: &mut Vec<u8>) -> bool {
    let joined = [begun, bytes].concat();
    begun.clear();
    let text = match std::str::from_utf8(&joined) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            let (text, rest) = joined.split_at(error.valid_up_to());
            begun.extend_from_slice(rest);
            std::str::from_utf8(text).unwrap_or_default()
        }
        Err(_) => return true,
    };
    text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}'))
}

/// Asks whether to print binary data, of `len` bytes if known. Fails if there is no user to ask.
fn may_be_printed(name: &str, len: Option<u64>) -> Result<bool> {
    let size = len.map_or(String::new(), |len| format!(" ({len} bytes)"));
    let what = format!("{} is binary{size}", escaped(name));
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Error::Other(format!("{what}: send it into a file or a pipe, or print it with --force")));
    }
    let _ = io::stderr().write_all(format!("{what}: print it anyway? [y/N] ").as_bytes());
    let mut answer = String::new();
    // No answer, at the end of input, means no.
    let _ = io::stdin().read_line(&mut answer);
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_cannot_show() {
        let is_binary = |bytes: &[u8]| super::is_binary(bytes, &mut Vec::new());
        for text in [&b"hello\n\tthere\r\n"[..], "é漢".as_bytes(), &"漢".as_bytes()[..2], b""] {
            assert!(!is_binary(text), "{text:?}");
        }
        for binary in
            [&b"a\0b"[..], b"\xff\xfe", b"\x93NUMPY", b"a\x1b[31m", b"\xc3(", "\u{9b}31m".as_bytes()]
        {
            assert!(is_binary(binary), "{binary:?}");
        }
    }

    #[test]
    fn characters_may_be_cut_in_two() {
        let mut begun = Vec::new();
        let pieces = "é漢".as_bytes().chunks(1);
        assert!(pieces.into_iter().all(|piece| !is_binary(piece, &mut begun)));
        assert!(!is_binary(b"\xc3", &mut begun) && is_binary(b"a", &mut begun));
    }
}
