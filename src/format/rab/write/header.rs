//! The header under construction: the entries' text as PyYAML writes it (YAML 1.1, block style, sorted keys), kept in
//! memory only while small. Invariants: names are unique, and the length fits the header's length field.

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tempfile::SpooledTempFile;

use crate::format::writer::Temporary;
use crate::format::writer::output::{self, Output, Piece, ROUNDING};
use crate::yaml::{self, Node, Text};

/// Maximum bytes of text kept in memory.
const IN_MEMORY: usize = 1 << 20;

/// The codecMeta of an entry, in PyYAML's sort order.
pub type Codec = BTreeMap<&'static str, Node>;

pub struct Header {
    text: SpooledTempFile,
    len: u64,
    limit: u64,
    /// The place of each name. Names can be long and many, so only a hash is kept, wide enough to make collisions
    /// impossible in practice.
    names: HashMap<Key, u32>,
    /// Number of places taken so far.
    places: u32,
}

type Key = [u8; 12];

impl Header {
    pub fn new(dir: &Path, limit: u64) -> Header {
        let text = SpooledTempFile::new_in(IN_MEMORY, dir);
        Header { text, len: 0, limit, names: HashMap::new(), places: 0 }
    }

    pub fn check_name(&self, name: &Text) -> io::Result<()> {
        match self.place(name.as_bytes()) {
            Some(_) => Err(io::Error::other("there is already a dataset of this name")),
            None => Ok(()),
        }
    }

    /// The place of the dataset of this name, counted in header order.
    pub fn place(&self, name: &[u8]) -> Option<u32> {
        self.names.get(&key(name)).copied()
    }

    /// Gives the name to the next place; false if it is in use.
    pub fn take(&mut self, name: &[u8]) -> bool {
        let place = self.places;
        self.places = self.places.saturating_add(1);
        self.name(name, place)
    }

    /// Gives the place this name too; false if it is in use.
    pub fn name(&mut self, name: &[u8], place: u32) -> bool {
        match self.names.entry(key(name)) {
            Entry::Vacant(vacant) => *vacant.insert(place) == place,
            Entry::Occupied(_) => false,
        }
    }

    /// Frees the name.
    pub fn release(&mut self, name: &[u8]) {
        self.names.remove(&key(name));
    }

    /// Adds an entry whose name is new or about to pass to it from another dataset. `metadata` is a mapping or null.
    pub fn add(&mut self, name: &Text, metadata: Node, codec: Node) -> io::Result<()> {
        self.push(Arc::new(map([
            ("codecMeta", sorted(codec)),
            ("metadata", sorted(metadata)),
            ("name", Node::Str(name.clone())),
        ])))?;
        if self.place(name.as_bytes()).is_none() {
            self.take(name.as_bytes());
        }
        Ok(())
    }

    /// Adds an entry's text unchanged.
    pub fn push(&mut self, entry: Arc<Node>) -> io::Result<()> {
        let mut text = String::new();
        yaml::write(&Node::Seq(vec![entry]), 0, &mut text);
        // Besides the entries there are two line breaks, and the padding for alignment.
        let total = self.len + text.len() as u64 + 2 + ROUNDING;
        if total > self.limit {
            return Err(too_long(total, self.limit));
        }
        self.text.seek(SeekFrom::Start(self.len))?;
        self.text.write_all(text.as_bytes())?;
        self.len += text.len() as u64;
        Ok(())
    }

    /// Length of the text so far, in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The text of the entry at this range.
    pub fn entry(&mut self, range: &Range<u64>) -> io::Result<String> {
        let mut text = String::new();
        self.text.seek(SeekFrom::Start(range.start))?;
        (&mut self.text as &mut dyn Read).take(range.end - range.start).read_to_string(&mut text)?;
        Ok(text)
    }

    /// The complete text and its length.
    pub fn finish(mut self) -> io::Result<(impl Read, u64)> {
        let entries: &[u8] = if self.len == 0 { b"[]\n" } else { b"" };
        self.text.seek(SeekFrom::Start(0))?;
        let len = self.len + entries.len() as u64 + 2;
        Ok((b"\n".chain(entries).chain(self.text.take(self.len)).chain(&b"\n"[..]), len))
    }
}

/// The description of a dataset that `origin` describes in another file: unknown fields are carried over, and a
/// dataframe's columns are kept as they are.
pub fn adopt(mut codec: Codec, origin: Option<&Node>) -> Node {
    let same_type = |origin: &&Node| origin.get("type") == codec.get("type");
    let Some(Node::Map(others)) = origin.filter(same_type) else { return map(codec) };
    let is_theirs = |key: &Node| key.as_text().is_some_and(|key| key.as_bytes() == b"columnInfo");
    if others.iter().any(|(key, _)| is_theirs(key)) {
        codec.remove("columnInfo");
    }
    let is_ours = |key: &Node| {
        let key = key.as_text().and_then(Text::as_str);
        key.is_some_and(|key| OURS.contains(&key) || codec.contains_key(key))
    };
    let taken: Vec<_> = others.iter().filter(|(key, _)| !is_ours(key)).cloned().collect();
    let Node::Map(mut pairs) = map(codec) else { return Node::Null };
    pairs.extend(taken);
    Node::Map(pairs)
}

/// Fields that describe the stored bytes, so are never carried over.
const OURS: &[&str] = &["byteLength", "byteOffset", "checksum", "compression", "decodedLength"];

pub fn map(pairs: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
    Node::Map(pairs.into_iter().map(|(key, value)| (Arc::new(Node::text(key)), Arc::new(value))).collect())
}

pub fn list(items: impl IntoIterator<Item = Node>) -> Node {
    Node::Seq(items.into_iter().map(Arc::new).collect())
}

pub fn int(number: impl ToString) -> Node {
    Node::Int(number.to_string().into())
}

/// Sorts mappings whose keys are all text, as PyYAML does; it leaves others unchanged.
pub fn sorted(node: Node) -> Node {
    let inner = |node: Arc<Node>| Arc::new(sorted(Arc::unwrap_or_clone(node)));
    match node {
        Node::Seq(items) => Node::Seq(items.into_iter().map(inner).collect()),
        Node::Map(pairs) => {
            let mut pairs: Vec<_> = pairs.into_iter().map(|(key, value)| (key, inner(value))).collect();
            if pairs.iter().all(|(key, _)| key.as_text().is_some()) {
                pairs.sort_by(|(a, _), (b, _)| a.as_text().cmp(&b.as_text()));
            }
            Node::Map(pairs)
        }
        other => other,
    }
}

/// Magic and length.
const FIXED: u64 = 7;

/// Puts the header's text in front of the data, padded with line breaks.
pub fn assemble(
    output: Output,
    pieces: &[Piece<'_>],
    text: &mut dyn Read,
    text_len: u64,
) -> io::Result<Temporary> {
    let room = output::room(FIXED + text_len, output::data_len(pieces), 1);
    let len = u32::try_from(room - FIXED).map_err(|_| too_long(room - FIXED, u32::MAX.into()))?;
    let fixed = [super::super::MAGIC, &len.to_le_bytes()[..]].concat();
    output.assemble(pieces, &mut fixed.chain(text.take(text_len)).chain(io::repeat(b'\n')), room)
}

fn too_long(len: u64, limit: u64) -> io::Error {
    io::Error::other(format!("the header would take {len} bytes, and a RAB file can have at most {limit}"))
}

fn key(name: &[u8]) -> Key {
    let sum: [u8; 32] = Sha256::digest(name).into();
    std::array::from_fn(|at| sum[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codec() -> Codec {
        Codec::from([("type", Node::text("text")), ("byteLength", int(1)), ("byteOffset", int(0))])
    }

    #[test]
    fn entries_look_as_pyyaml_writes_them() {
        let mut header = Header::new(Path::new("."), 1 << 20);
        let inner = map([("y", Node::text("yes")), ("x", int(5))]);
        header.add(&"a b".into(), map([("b", list([int(1)])), ("a", inner)]), map(codec())).unwrap();
        header.add(&"null".into(), Node::Null, map(codec())).unwrap();
        let mut text = String::new();
        let (mut whole, len) = header.finish().unwrap();
        whole.read_to_string(&mut text).unwrap();
        let codec = "- codecMeta:\n    byteLength: 1\n    byteOffset: 0\n    type: text\n";
        let first = "  metadata:\n    a:\n      x: 5\n      'y': 'yes'\n    b:\n    - 1\n  name: a b\n";
        assert_eq!(text, format!("\n{codec}{first}{codec}  metadata: null\n  name: 'null'\n\n"));
        assert_eq!(len, text.len() as u64);
    }

    #[test]
    fn the_limit_is_met_before_it_is_too_late() {
        let mut header = Header::new(Path::new("."), 4096 + 200);
        header.add(&"a".into(), Node::Null, map(codec())).unwrap();
        let refused = header.add(&"b".repeat(200).as_str().into(), Node::Null, map(codec())).unwrap_err();
        assert!(refused.to_string().starts_with("the header would take 4"), "{refused}");
        header.check_name(&"b".repeat(200).as_str().into()).unwrap();
        assert!(header.check_name(&"a".into()).is_err());
    }
}
