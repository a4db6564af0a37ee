//! Writes nodes as YAML that PyYAML and YAML 1.2 loaders read alike, in PyYAML's layout: block style, the dashes of a
//! list in the column of its key, one line per scalar.
//!
//! Deeply indented collections (see [`FLOW_FROM`]) are written in flow style, so that indentation does not dominate the
//! output.

mod scalar;

use std::collections::HashMap;
use std::sync::Arc;

use data_encoding::BASE64;

use super::{Anchors, Node};

/// Collections that start in this column or further right are written on one line.
const FLOW_FROM: usize = 64;

/// Longer keys are written with `? `, because loaders search for the colon over a limited distance only.
const MAX_PLAIN_KEY: usize = 120;

/// Appends `node` with every line indented by `indent` spaces, and a final line break.
pub fn write(node: &Node, indent: usize, out: &mut String) {
    lines(node, indent, out);
}

/// The base64 text of a `!!binary` scalar.
pub fn base64_of(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Output of up to this many bytes is allowed whatever the length of the input.
const MAX_LEN: usize = 64 << 20;

/// Checks the length of the output: aliases may make it longer than the input, but only up to a limit.
pub fn written_len(len: u64, own_text: &str) -> Result<usize, String> {
    match usize::try_from(len) {
        Ok(len) if len <= MAX_LEN.max(8 * own_text.len()) => Ok(len),
        _ => Err(format!("takes more than {} MiB once its aliases are written out", MAX_LEN >> 20)),
    }
}

/// Computes the length of what [`write()`] would append at column 0, without building it. Aliased values are measured
/// once, however often they would be written.
pub struct Measure {
    known: HashMap<(usize, Style), u64>,
}

impl Measure {
    pub fn new() -> Measure {
        Measure { known: HashMap::new() }
    }

    /// `anchors` must belong to the list that `node` is from, and be the same in every call.
    pub fn len(&mut self, node: &Node, anchors: &Anchors<'_>) -> u64 {
        let mut counter = Counter { len: 0, known: &mut self.known, anchors };
        lines(node, 0, &mut counter);
        counter.len
    }
}

/// The layout of a node, as far as its text depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Style {
    Block { indent: usize },
    Inline,
}

/// Where text is written.
trait Sink {
    fn push_str(&mut self, text: &str);
    fn scalar(&mut self, node: &Node);

    /// Writes the collection `node` by calling `write`, or does something equivalent.
    fn collection(&mut self, node: &Node, style: Style, write: impl FnOnce(&mut Self)) {
        let _ = (node, style);
        write(self);
    }

    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }
}

impl Sink for String {
    fn push_str(&mut self, text: &str) {
        String::push_str(self, text);
    }

    fn scalar(&mut self, node: &Node) {
        scalar::write(node, self);
    }
}

/// Counts bytes, and caches the counts of anchored nodes by address. That is safe because these nodes live as long as
/// the anchors, so their addresses are not reused.
struct Counter<'a> {
    len: u64,
    known: &'a mut HashMap<(usize, Style), u64>,
    anchors: &'a Anchors<'a>,
}

impl Sink for Counter<'_> {
    fn push_str(&mut self, text: &str) {
        self.len = self.len.saturating_add(text.len() as u64);
    }

    fn scalar(&mut self, node: &Node) {
        let mut text = String::new();
        scalar::write(node, &mut text);
        self.push_str(&text);
    }

    fn collection(&mut self, node: &Node, style: Style, write: impl FnOnce(&mut Self)) {
        if !self.anchors.holds(node) {
            return write(self);
        }
        let key = (std::ptr::from_ref(node).addr(), style);
        if let Some(len) = self.known.get(&key) {
            self.len = self.len.saturating_add(*len);
            return;
        }
        let before = std::mem::take(&mut self.len);
        write(self);
        self.known.insert(key, self.len);
        self.len = self.len.saturating_add(before);
    }
}

fn lines<O: Sink>(node: &Node, indent: usize, out: &mut O) {
    spaces(indent, out);
    block(node, indent, out);
}

/// Writes `node` at column `indent`, where the output already is: the value of a document, a dash or a question mark.
fn block<O: Sink>(node: &Node, indent: usize, out: &mut O) {
    if is_inline(node, indent) {
        inline(node, Keys::Text, out);
        out.push('\n');
        return;
    }
    out.collection(node, Style::Block { indent }, |out| match node {
        Node::Map(pairs) => block_pairs(pairs, indent, out),
        Node::Set(keys) => {
            out.push_str("!!set\n");
            keys.iter().for_each(|key| {
                spaces(indent, out);
                out.push_str("? ");
                key_text(key, Keys::Text, out);
                out.push('\n');
            });
        }
        Node::Seq(items) => block_items(items, indent, out),
        _ => {}
    });
}

fn block_items<O: Sink>(items: &[Arc<Node>], indent: usize, out: &mut O) {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            spaces(indent, out);
        }
        out.push_str("- ");
        block(item, indent + 2, out);
    }
}

fn block_pairs<O: Sink>(pairs: &[(Arc<Node>, Arc<Node>)], indent: usize, out: &mut O) {
    for (number, (key, value)) in unique(pairs).into_iter().enumerate() {
        if number > 0 {
            spaces(indent, out);
        }
        if key.len() > MAX_PLAIN_KEY {
            out.push_str("? ");
            out.push_str(&key);
            out.push('\n');
            spaces(indent, out);
            out.push_str(": ");
            block(value, indent + 2, out);
        } else {
            out.push_str(&key);
            out.push(':');
            block_value(value, indent, out);
        }
    }
}

/// Writes the value after `key:`.
fn block_value<O: Sink>(value: &Node, indent: usize, out: &mut O) {
    match value {
        _ if is_inline(value, indent) => {
            out.push(' ');
            block(value, indent, out);
        }
        Node::Seq(_) => {
            out.push('\n');
            lines(value, indent, out);
        }
        Node::Set(_) => {
            out.push(' ');
            block(value, indent + 2, out);
        }
        _ => {
            out.push('\n');
            lines(value, indent + 2, out);
        }
    }
}

fn is_inline(node: &Node, indent: usize) -> bool {
    match node {
        Node::Map(pairs) => pairs.is_empty() || indent >= FLOW_FROM,
        Node::Seq(items) | Node::Set(items) => items.is_empty() || indent >= FLOW_FROM,
        _ => true,
    }
}

/// How to write keys that are collections.
#[derive(Clone, Copy, PartialEq)]
enum Keys {
    /// As a string, because PyYAML cannot load collections as keys.
    Text,
    /// Unquoted, within such a string, where quoting again would double the length at each level.
    Bare,
}

/// Writes `node` on one line.
fn inline<O: Sink>(node: &Node, keys: Keys, out: &mut O) {
    match node {
        Node::Map(_) | Node::Set(_) | Node::Seq(_) if keys == Keys::Text => {
            out.collection(node, Style::Inline, |out| inline_collection(node, keys, out));
        }
        _ => inline_collection(node, keys, out),
    }
}

fn inline_collection<O: Sink>(node: &Node, keys: Keys, out: &mut O) {
    match node {
        Node::Map(pairs) => braces("{", "}", out, |out, next| inline_pairs(pairs, keys, out, next)),
        Node::Set(items) => braces("!!set {", "}", out, |out, next| {
            for item in items {
                next(out);
                inline_key(item, keys, out);
                out.push_str("null");
            }
        }),
        Node::Seq(items) => braces("[", "]", out, |out, next| {
            for item in items {
                next(out);
                inline(item, keys, out);
            }
        }),
        _ => out.scalar(node),
    }
}

fn inline_pairs<O: Sink>(
    pairs: &[(Arc<Node>, Arc<Node>)],
    keys: Keys,
    out: &mut O,
    next: &mut dyn FnMut(&mut O),
) {
    if keys == Keys::Bare {
        for (key, value) in pairs {
            next(out);
            inline_key(key, keys, out);
            inline(value, keys, out);
        }
        return;
    }
    for (key, value) in unique(pairs) {
        next(out);
        colon(&key, out);
        inline(value, keys, out);
    }
}

fn inline_key<O: Sink>(key: &Node, keys: Keys, out: &mut O) {
    let mut text = String::new();
    key_text(key, keys, &mut text);
    colon(&text, out);
}

fn colon<O: Sink>(key: &str, out: &mut O) {
    let (before, after) = if key.len() > MAX_PLAIN_KEY { ("? ", " : ") } else { ("", ": ") };
    out.push_str(before);
    out.push_str(key);
    out.push_str(after);
}

fn key_text<O: Sink>(key: &Node, keys: Keys, out: &mut O) {
    match key {
        Node::Map(_) | Node::Seq(_) | Node::Set(_) if keys == Keys::Text => {
            let mut flow = String::new();
            inline(key, Keys::Bare, &mut flow);
            out.scalar(&Node::text(&flow));
        }
        _ => inline(key, keys, out),
    }
}

/// The written keys without duplicates, since a collection's text can equal another key.
fn unique(pairs: &[(Arc<Node>, Arc<Node>)]) -> Vec<(String, &Node)> {
    let is_collection = |node: &Node| matches!(node, Node::Map(_) | Node::Seq(_) | Node::Set(_));
    let written = pairs.iter().map(|(key, value)| {
        let mut text = String::new();
        key_text(key, Keys::Text, &mut text);
        (text, &**value)
    });
    if !pairs.iter().any(|(key, _)| is_collection(key)) {
        return written.collect();
    }
    let mut places = HashMap::new();
    let mut kept: Vec<(String, &Node)> = Vec::new();
    for (text, value) in written {
        let place = *places.entry(text.clone()).or_insert(kept.len());
        match kept.get_mut(place) {
            Some((_, old)) => *old = value,
            None => kept.push((text, value)),
        }
    }
    kept
}

/// Calls `fill` with a closure that writes the commas.
fn braces<O: Sink>(open: &str, close: &str, out: &mut O, fill: impl FnOnce(&mut O, &mut dyn FnMut(&mut O))) {
    out.push_str(open);
    let mut is_first = true;
    fill(out, &mut |out| {
        if !std::mem::take(&mut is_first) {
            out.push_str(", ");
        }
    });
    out.push_str(close);
}

fn spaces<O: Sink>(count: usize, out: &mut O) {
    out.push_str(&" ".repeat(count));
}
