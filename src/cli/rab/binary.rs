//! Bytes that a terminal cannot show: the user is asked before they are printed there.

use std::io::{self, IsTerminal, Write};

use super::output::{Declined, Output};
use crate::report::escaped;
use crate::{Error, Result};

/// Standard output for bytes that may be binary. On a terminal the user is asked before the first of them.
pub struct Guarded<'o> {
    out: &'o mut Output,
    name: String,
    /// Bytes in all, if that is known.
    len: Option<u64>,
    /// Nothing is left to ask.
    is_open: bool,
    /// The first bytes of a character that goes on in the next piece.
    begun: Vec<u8>,
}

impl<'o> Guarded<'o> {
    /// With `force` nobody is asked.
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

/// Would a terminal show something else than text? Control characters can do more to it than look odd. `begun` is what
/// the piece before ended in of a character.
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

/// Asks whether to print binary bytes, of which there are `len` if that is known. Without a user to ask it is an error.
fn may_be_printed(name: &str, len: Option<u64>) -> Result<bool> {
    let size = len.map_or(String::new(), |len| format!(" ({len} bytes)"));
    let what = format!("{} is binary{size}", escaped(name));
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Error::Other(format!("{what}: send it into a file or a pipe, or print it with --force")));
    }
    let _ = io::stderr().write_all(format!("{what}: print it anyway? [y/N] ").as_bytes());
    let mut answer = String::new();
    // Of an end without an answer nothing is printed.
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
