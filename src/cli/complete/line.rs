//! A command line up to the cursor, taken apart as a shell does: quotes, backslashes, `~/`. Nothing is expanded
//! but that, and nothing is run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The words; the last one is that at the cursor, maybe empty, maybe with its quotes still open.
pub fn words(line: &[u8], home: Option<&OsStr>) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        let (mut word, behind) = word(rest);
        if let (true, Some(home)) = (rest.starts_with(b"~/"), home) {
            word.splice(..1, home.as_bytes().iter().copied());
        }
        words.push(OsString::from_vec(word));
        match behind {
            Some(behind) => rest = behind,
            None => return words,
        }
    }
}

/// What a word means, maybe with its quotes still open.
pub fn unquoted(raw: &[u8]) -> Vec<u8> {
    word(raw).0
}

/// The word at the beginning, and what is behind it unless it ends the line.
fn word(line: &[u8]) -> (Vec<u8>, Option<&[u8]>) {
    let (mut word, mut quote) = (Vec::new(), None);
    let mut rest = line;
    while let Some((byte, behind)) = rest.split_first() {
        let next = behind.first().copied();
        rest = behind;
        match (quote, byte) {
            (None, b' ' | b'\t' | b'\n') => return (word, Some(behind)),
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), _) if open == *byte => quote = None,
            (Some(b'\''), _) => word.push(*byte),
            (_, b'\\') if quote.is_none() || matches!(next, Some(b'"' | b'\\' | b'$' | b'`')) => {
                word.extend(next);
                rest = behind.get(1..).unwrap_or_default();
            }
            _ => word.push(*byte),
        }
    }
    (word, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_a_shell_reads_them() {
        let home = Some(OsStr::new("/home/me"));
        for (line, expected) in [
            ("rab", &["rab"][..]),
            ("rab ", &["rab", ""]),
            ("  rab  cat x.rab my\\ fi", &["rab", "cat", "x.rab", "my fi"]),
            ("rab cat 'a b'/c \"x y", &["rab", "cat", "a b/c", "x y"]),
            (r#"rab "a\"b\c" it\'s 'it'\''s'"#, &["rab", r#"a"b\c"#, "it's", "it's"]),
            ("rab ls ~/x '~/y' a~/z", &["rab", "ls", "/home/me/x", "~/y", "a~/z"]),
            ("rab \\", &["rab", ""]),
            ("", &[""]),
        ] {
            assert_eq!(words(line.as_bytes(), home), expected, "{line}");
        }
    }
}
