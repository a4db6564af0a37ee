//! The header as it grows: one entry's text after the other, as PyYAML writes them (YAML 1.1, block style,
//! sorted keys), in memory only as long as it is small. No name comes twice, and the whole never needs more
//! than the length before it can say.

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

/// Bytes of the text that stay in memory.
const IN_MEMORY: usize = 1 << 20;

/// What an entry says of its data, sorted as PyYAML sorts it.
pub type Codec = BTreeMap<&'static str, Node>;

pub struct Header {
    text: SpooledTempFile,
    len: u64,
    limit: u64,
    /// The place of each name. Of a name as much of its hash as makes a clash impossible in practice: names
    /// can be long, and many.
    names: HashMap<Key, u32>,
    /// Places that have been taken so far.
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

    /// Which dataset, counted in their order, has this name.
    pub fn place(&self, name: &[u8]) -> Option<u32> {
        self.names.get(&key(name)).copied()
    }

    /// The next place has this name; false if another has it.
    pub fn take(&mut self, name: &[u8]) -> bool {
        let place = self.places;
        self.places = self.places.saturating_add(1);
        self.name(name, place)
    }

    /// This place has the name as well; false if another has it.
    pub fn name(&mut self, name: &[u8], place: u32) -> bool {
        match self.names.entry(key(name)) {
            Entry::Vacant(vacant) => *vacant.insert(place) == place,
            Entry::Occupied(_) => false,
        }
    }

    /// No place has this name any more.
    pub fn release(&mut self, name: &[u8]) {
        self.names.remove(&key(name));
    }

    /// Adds an entry of a name that is new, or that is to be given to another dataset. `metadata` is a mapping or
    /// null.
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

    /// Adds the text of an entry as it is.
    pub fn push(&mut self, entry: Arc<Node>) -> io::Result<()> {
        let mut text = String::new();
        yaml::write(&Node::Seq(vec![entry]), 0, &mut text);
        // Two line breaks go around all entries, and what rounds the length up.
        let total = self.len + text.len() as u64 + 2 + ROUNDING;
        if total > self.limit {
            return Err(too_long(total, self.limit));
        }
        self.text.seek(SeekFrom::Start(self.len))?;
        self.text.write_all(text.as_bytes())?;
        self.len += text.len() as u64;
        Ok(())
    }

    /// Bytes of text so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The text of the entry that was added between two lengths.
    pub fn entry(&mut self, range: &Range<u64>) -> io::Result<String> {
        let mut text = String::new();
        self.text.seek(SeekFrom::Start(range.start))?;
        (&mut self.text as &mut dyn Read).take(range.end - range.start).read_to_string(&mut text)?;
        Ok(text)
    }

    /// The whole text, and its length.
    pub fn finish(mut self) -> io::Result<(impl Read, u64)> {
        let entries: &[u8] = if self.len == 0 { b"[]\n" } else { b"" };
        self.text.seek(SeekFrom::Start(0))?;
        let len = self.len + entries.len() as u64 + 2;
        Ok((b"\n".chain(entries).chain(self.text.take(self.len)).chain(&b"\n"[..]), len))
    }
}

/// The description of a dataset of which another file has the description `origin`: what is not known here is
/// taken over, and the columns of a dataframe as they are.
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

/// What is only true of stored bytes.
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

/// Mappings whose keys are all texts in their order, as PyYAML writes them; it leaves others as they are.
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

/// Puts the text of a header before the data, filled up with line breaks.
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
