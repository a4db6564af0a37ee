//! Splits a command line up to the cursor as a shell does: quotes, backslashes, `~/`. Nothing else is expanded, and
//! nothing is executed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The words before the cursor.
pub struct Line {
    /// The last one is the word at the cursor, which may be empty.
    pub words: Vec<OsString>,
    /// The quote that is still open in the last word.
    pub open: Option<u8>,
    /// True if the last word begins with an unquoted `~/`, which is not expanded there.
    pub from_home: bool,
}

pub fn read(line: &[u8], home: Option<&OsStr>) -> Line {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        let from_home = rest.starts_with(b"~/");
        let (mut word, behind, open) = word(rest);
        let Some(behind) = behind else {
            words.push(OsString::from_vec(word));
            return Line { words, open, from_home };
        };
        if let (true, Some(home)) = (from_home, home) {
            word.splice(..1, home.as_bytes().iter().copied());
        }
        words.push(OsString::from_vec(word));
        rest = behind;
    }
}

/// Removes the quotes of a word, which may still be open.
pub fn unquoted(raw: &[u8]) -> Vec<u8> {
    word(raw).0
}

/// Quotes a text so that bash expands nothing in it, within an `open` quote or outside quotes.
pub fn quoted(text: &[u8], open: Option<u8>) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        let is_last = at + 1 == text.len();
        match (open, byte) {
            // readline adds no closing quote to text that ends in such a quote, so it is closed here.
            (Some(b'\''), b'\'') if is_last => quoted.extend(br"'\'"),
            (Some(b'"'), b'"') if is_last => quoted.extend(br#""\""#),
            (Some(b'"'), b'!') if is_last => quoted.extend(br#""\!"""#),
            (Some(b'\''), b'\'') => quoted.extend(br"'\''"),
            // Within double quotes, bash would keep a backslash before it.
            (Some(b'"'), b'!') => quoted.extend(br#""\!""#),
            (Some(b'"'), b'"' | b'\\' | b'$' | b'`') => quoted.extend([b'\\', *byte]),
            (None, byte) if !is_plain(*byte) => quoted.extend([b'\\', *byte]),
            (_, byte) => quoted.push(*byte),
        }
    }
    quoted
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"/._-+,:=@%".contains(&byte)
}

/// Splits off the first word: returns it, the text after it unless the line ends there, and a quote that is still open.
fn word(line: &[u8]) -> (Vec<u8>, Option<&[u8]>, Option<u8>) {
    let (mut word, mut quote) = (Vec::new(), None);
    let mut rest = line;
    while let Some((byte, behind)) = rest.split_first() {
        let next = behind.first().copied();
        rest = behind;
        match (quote, byte) {
            (None, b' ' | b'\t' | b'\n') => return (word, Some(behind), None),
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
    (word, None, quote)
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
            ("rab ls ~/x", &["rab", "ls", "~/x"]),
            ("rab \\", &["rab", ""]),
            ("", &[""]),
        ] {
            assert_eq!(read(line.as_bytes(), home).words, expected, "{line}");
        }
    }

    #[test]
    fn quoted_texts_are_read_as_they_were() {
        let text: Vec<u8> = (b' '..=b'~').chain("é漢".bytes()).collect();
        for open in [None, Some(b'\''), Some(b'"')] {
            let mut line: Vec<u8> = open.into_iter().collect();
            line.extend(quoted(&text, open));
            let read = read(&line, None);
            assert_eq!((read.words, read.open), (vec![OsString::from_vec(text.clone())], open));
        }
        assert_eq!(quoted(b"a $(b) `c` ~!", None), br"a\ \$\(b\)\ \`c\`\ \~\!");
    }
}
