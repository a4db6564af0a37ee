//! Decides whether an item's original text is portable, that is, whether PyYAML and every YAML 1.2 loader read it
//! identically once it is cut out and dedented. The rule is conservative: an item whose text might not be portable is
//! written from its node instead.

use std::ops::Range;

use libyaml_safer::ScalarStyle;

use super::Node;
use super::resolve;

/// Checks the parts of an item as they are parsed.
pub(super) struct Watch<'t> {
    text: &'t str,
    /// Column of the item's first key; `None` once something is not portable.
    indent: Option<usize>,
}

impl<'t> Watch<'t> {
    pub fn new(text: &'t str, indent: Option<usize>) -> Watch<'t> {
        Watch { text, indent }
    }

    pub fn spoil(&mut self) {
        self.indent = None;
    }

    pub fn allow_only(&mut self, allowed: bool) {
        if !allowed {
            self.spoil();
        }
    }

    /// `tag` is in short form, see [`resolve::short_tag`].
    pub fn scalar(
        &mut self,
        tag: Option<&str>,
        style: ScalarStyle,
        node: &Node,
        value: &str,
        in_flow: bool,
        at: Range<usize>,
    ) {
        let same = match (tag, style) {
            (None, ScalarStyle::Plain) => is_plain_same(node, value, in_flow),
            (None, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) => true,
            (Some("binary"), ScalarStyle::Literal) => {
                return self.allow_only(matches!(node, Node::Binary(_)));
            }
            (Some("binary"), ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) => {
                matches!(node, Node::Binary(_))
            }
            _ => false,
        };
        self.allow_only(same);
        self.stretch(at);
    }

    /// Checks a scalar or flow collection: its continuation lines must be indented more than the item's keys, because
    /// at the margin they could be taken for document markers.
    pub fn stretch(&mut self, at: Range<usize>) {
        let Some(indent) = self.indent else { return };
        let later = self.text.get(at).unwrap_or_default().split('\n').skip(1);
        let is_deeper = later.into_iter().all(|line| is_blank(line) || leading_spaces(line) > indent);
        self.allow_only(is_deeper);
    }

    /// The result for the whole item.
    pub fn finish(self, span: Range<usize>) -> bool {
        let (Some(indent), Some(text)) = (self.indent, self.text.get(span)) else { return false };
        let is_odd = |c| matches!(c, '\t' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}');
        let mut later = text.split('\n').skip(1);
        !text.contains(is_odd) && later.all(|line| is_blank(line) || leading_spaces(line) >= indent)
    }
}

/// True if an untagged plain scalar has the same value in every schema.
fn is_plain_same(node: &Node, value: &str, in_flow: bool) -> bool {
    match node {
        Node::Null => matches!(value, "" | "~" | "null"),
        Node::Bool(_) => matches!(value, "true" | "false"),
        Node::Int(_) | Node::Float(_) => resolve::is_plain_number(value),
        // Some loaders drop the time zone.
        Node::Timestamp(canonical) => {
            **canonical == *value && value.len() <= "2020-01-02 03:04:05.678900".len()
        }
        Node::Str(_) => is_word(value) && !(in_flow && value.contains([':', '?'])),
        _ => false,
    }
}

/// True if a plain scalar is a string in every schema and cannot be taken for a document marker or directive.
pub fn is_word(value: &str) -> bool {
    let Some(first) = value.chars().next() else { return false };
    if value.contains(" #") || value.contains(": ") {
        return false;
    }
    match first {
        '0'..='9' => !value.chars().all(is_number_like),
        'a'..='z' | 'A'..='Z' => !is_reserved(value),
        '_' | '/' | '(' | '$' | '\\' => true,
        _ => first >= '\u{A1}',
    }
}

/// True for words that some schema of some YAML version does not read as a string.
pub(super) fn is_reserved(value: &str) -> bool {
    const RESERVED: [&str; 10] =
        ["yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];
    RESERVED.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// True for characters that occur in numbers, dates or times of any YAML version.
fn is_number_like(c: char) -> bool {
    matches!(c, '0'..='9' | 'a'..='f' | 'A'..='F' | 'x' | 'X' | 'o' | 'O' | 't' | 'T' | 'z' | 'Z' | 'i' | 'I' | 'n' | 'N')
        || matches!(c, '_' | ':' | '.' | ',' | '+' | '-' | '\'' | ' ')
}

/// Removes up to `indent` spaces from each line but the first, which begins with its first key. The result ends in a
/// line break.
pub fn dedent(text: &str, indent: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in dedented_lines(text, indent) {
        out.push_str(line);
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The length of [`dedent`]'s result, without building it.
pub fn dedented_len(text: &str, indent: usize) -> usize {
    let (sum, last) = dedented_lines(text, indent).fold((0, ""), |(sum, _), line| (sum + line.len(), line));
    sum + usize::from(!last.ends_with('\n'))
}

fn dedented_lines(text: &str, indent: usize) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').enumerate().map(move |(number, line)| {
        let removed = if number == 0 { 0 } else { leading_spaces(line).min(indent) };
        line.get(removed..).unwrap_or_default()
    })
}

fn leading_spaces(line: &str) -> usize {
    line.bytes().take_while(|b| *b == b' ').count()
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| b == b' ')
}
