//! Bytes that a terminal cannot show: the user is asked before they are printed there.

use std::io::{self, IsTerminal, Write};

use super::output::escaped;
use crate::{Error, Result};

/// Bytes that are looked at.
const LOOKED_AT: usize = 8 << 10;

/// Would a terminal show something else than text? Control characters can do more to it than look odd.
pub fn is_binary(bytes: &[u8]) -> bool {
    let start = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // The last character may go on in the bytes that follow.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(start.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => return true,
    };
    text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}'))
}

/// Asks whether to print binary bytes, of which there are `len` if that is known. Without a user to ask it is an error.
pub fn may_be_printed(name: &str, len: Option<u64>) -> Result<bool> {
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
        for text in [&b"hello\n\tthere\r\n"[..], "é漢".as_bytes(), &"漢".as_bytes()[..2], b""] {
            assert!(!is_binary(text), "{text:?}");
        }
        for binary in
            [&b"a\0b"[..], b"\xff\xfe", b"\x93NUMPY", b"a\x1b[31m", b"\xc3(", "\u{9b}31m".as_bytes()]
        {
            assert!(is_binary(binary), "{binary:?}");
        }
        // A character that the end of what is looked at cuts in two.
        assert!(!is_binary(&[&vec![b'x'; LOOKED_AT - 1][..], "é".as_bytes()].concat()));
    }
}
