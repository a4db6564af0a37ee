//! Pulls events from the YAML parser and contains its weaknesses: feeds the text in small pieces (the parser would
//! otherwise expand all of it to four bytes per character), and turns panics, and inputs that would take quadratic
//! time, into a [`Problem`].

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{Encoding, ErrorKind, Event, EventData, Mark, Parser, ScalarStyle};

use super::Problem;

const PIECE: usize = 8192;
const MAX_DIRECTIVES: usize = 100;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread is inside the parser. Panics are caught there, so a panic hook may stay silent.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

pub(super) struct Events<'t> {
    text: &'t str,
    /// Length of the byte order mark, which is not passed to the parser.
    skipped: usize,
    parser: Parser<Pieces<'t>>,
    last: usize,
}

impl<'t> Events<'t> {
    pub fn new(text: &'t str) -> Result<Events<'t>, Problem> {
        let body = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        if let Some(offset) = too_many_directives(text) {
            return Err(Problem::new(offset, format!("more than {MAX_DIRECTIVES} lines begin with '%'")));
        }
        let mut parser = Parser::new();
        parser.set_encoding(Encoding::Utf8);
        parser.set_input(Pieces { rest: body, tail: if body.ends_with('\n') { "" } else { "\n" } });
        Ok(Events { text, skipped: text.len() - body.len(), parser, last: 0 })
    }

    pub fn next(&mut self) -> Result<Event, Problem> {
        let before = GUARDED.replace(true);
        let parsed = catch_unwind(AssertUnwindSafe(|| self.parser.parse()));
        GUARDED.set(before);
        match parsed {
            Ok(Ok(mut event)) => {
                self.take_back_tail(&mut event);
                self.last = self.offset(&event.end_mark);
                Ok(event)
            }
            Ok(Err(error)) => Err(self.problem(&error)),
            Err(_) => Err(Problem::new(self.last, "text after this place is not YAML")),
        }
    }

    /// Converts a mark to a byte offset in the whole text, never past its end.
    pub fn offset(&self, mark: &Mark) -> usize {
        let index = usize::try_from(mark.index).unwrap_or(usize::MAX);
        index.saturating_add(self.skipped).min(self.text.len())
    }

    /// Removes [`Pieces::tail`] from a block scalar that includes it as its own line break.
    fn take_back_tail(&self, event: &mut Event) {
        let EventData::Scalar { value, style: ScalarStyle::Literal | ScalarStyle::Folded, .. } =
            &mut event.data
        else {
            return;
        };
        let body = (self.text.len() - self.skipped) as u64;
        if event.end_mark.index > body && value.ends_with('\n') {
            value.pop();
        }
    }

    fn problem(&self, error: &libyaml_safer::Error) -> Problem {
        if error.kind() == ErrorKind::Reader {
            let bad = self.text.char_indices().find(|(_, c)| !is_printable(*c));
            let (offset, what) = bad.map_or((self.last, error.problem().to_string()), |(offset, c)| {
                (offset, format!("holds the control character U+{:04X}", u32::from(c)))
            });
            return Problem::new(offset, what);
        }
        let offset = error.problem_mark().map_or(self.last, |mark| self.offset(&mark));
        let context = error.context().map(|context| format!(" {context}")).unwrap_or_default();
        Problem::new(offset, format!("is not YAML: {}{context}", error.problem()))
    }
}

/// True for the characters that YAML 1.1 allows in a text.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Finds the directive that exceeds the limit: the parser compares every directive with all before it, which is
/// quadratic.
fn too_many_directives(text: &str) -> Option<usize> {
    let after_break = |at: usize| match at.checked_sub(1).and_then(|before| text.as_bytes().get(before)) {
        Some(byte) => matches!(byte, b'\n' | b'\r' | 0x85 | 0xA8 | 0xA9),
        None => true,
    };
    text.match_indices('%').map(|(at, _)| at).filter(|at| after_break(*at)).nth(MAX_DIRECTIVES)
}

/// A reader over a text that yields whole characters, at most [`PIECE`] bytes at a time.
struct Pieces<'t> {
    rest: &'t str,
    /// A final line break if the text has none; without it, the parser panics on a block scalar.
    tail: &'static str,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty() {
            self.rest = std::mem::take(&mut self.tail);
        }
        let mut end = PIECE.min(self.rest.len());
        while !self.rest.is_char_boundary(end) {
            end -= 1;
        }
        Ok(self.rest.get(..end).unwrap_or_default().as_bytes())
    }

    fn consume(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }
}
