//! The header as it grows: one entry's text after the other, as PyYAML writes them (YAML 1.1, block style,
//! sorted keys), in memory only as long as it is small. No name comes twice, and the whole never needs more
//! than the length before it can say.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tempfile::SpooledTempFile;

use super::output::{ROUNDING, too_long};
use crate::yaml::{self, Node, Text};

/// Bytes of the text that stay in memory.
const IN_MEMORY: usize = 1 << 20;

/// What an entry says of its data, sorted as PyYAML sorts it.
pub type Codec = BTreeMap<&'static str, Node>;

pub struct Header {
    text: SpooledTempFile,
    len: u64,
    limit: u64,
    /// Of each name, as much of its hash as makes a clash impossible in practice: names can be long, and many.
    names: HashSet<[u8; 16]>,
}

impl Header {
    pub fn new(dir: &Path, limit: u64) -> Header {
        let text = SpooledTempFile::new_in(IN_MEMORY, dir);
        Header { text, len: 0, limit, names: HashSet::new() }
    }

    pub fn check_name(&self, name: &Text) -> io::Result<()> {
        match self.names.contains(&shortened(name)) {
            true => Err(io::Error::other("there is a dataset of this name already")),
            false => Ok(()),
        }
    }

    /// `metadata` is a mapping or null.
    pub fn add(&mut self, name: &Text, metadata: Node, codec: Node) -> io::Result<()> {
        let entry = map([
            ("codecMeta", sorted(codec)),
            ("metadata", sorted(metadata)),
            ("name", Node::Str(name.clone())),
        ]);
        let mut text = String::new();
        yaml::write(&Node::Seq(vec![Arc::new(entry)]), 0, &mut text);
        // Two line breaks go around all entries, and what rounds the length up.
        let total = self.len + text.len() as u64 + 2 + ROUNDING;
        if total > self.limit {
            return Err(too_long(total, self.limit));
        }
        self.text.seek(SeekFrom::Start(self.len))?;
        self.text.write_all(text.as_bytes())?;
        self.len += text.len() as u64;
        self.names.insert(shortened(name));
        Ok(())
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
fn sorted(node: Node) -> Node {
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

fn shortened(name: &Text) -> [u8; 16] {
    let [low, _] = bytemuck::cast::<[u8; 32], [[u8; 16]; 2]>(Sha256::digest(name.as_bytes()).into());
    low
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
