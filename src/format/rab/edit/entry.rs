//! Edits entries of the header: they keep all of their fields, known or not, except for what was changed.

use std::sync::Arc;

use super::{Data, Editor};
use crate::error::Place;
use crate::source::Source;
use crate::yaml::{self, Anchors, Form, Node};
use crate::{Error, Result};

type Pairs = Vec<(Arc<Node>, Arc<Node>)>;

impl Editor {
    /// The new entry of the dataset in this place, whose data will be at `offset`.
    pub(super) fn entry(&mut self, place: u32, offset: u64) -> Result<Arc<Node>> {
        let mut entry = pairs(&*self.recorded(place)?);
        let codec = entry.iter().find(|(key, _)| is(key, "codecMeta")).map(|(_, codec)| pairs(codec));
        let mut codec = codec.unwrap_or_default();
        set(&mut codec, "byteOffset", Arc::new(Node::Int(offset.to_string().into())));
        set(&mut entry, "codecMeta", Arc::new(Node::Map(codec)));
        if self.is_replaced(place) {
            let old = self.old(place)?;
            let others = pairs(&old).into_iter().filter(|(key, _)| entry.iter().all(|(own, _)| own != key));
            let others: Vec<_> = others.collect();
            entry.extend(others);
        }
        let change = self.changes.get(&place).cloned().unwrap_or_default();
        if let Some(name) = change.name {
            set(&mut entry, "name", Arc::new(Node::Str(name)));
        }
        if let Some(metadata) = change.metadata {
            set(&mut entry, "metadata", metadata);
        }
        Ok(Arc::new(Node::Map(entry)))
    }

    /// Its current metadata.
    pub(super) fn metadata_of(&mut self, place: u32) -> Result<Arc<Node>> {
        if let Some(metadata) = self.changes.get(&place).and_then(|change| change.metadata.clone()) {
            return Ok(metadata);
        }
        let recorded = self.recorded(place)?;
        Ok(recorded.get_shared("metadata").cloned().unwrap_or_else(|| Arc::new(Node::Null)))
    }

    /// The entry in the old header, or in the writer's.
    fn recorded(&mut self, place: u32) -> Result<Arc<Node>> {
        match self.slots.get(place as usize) {
            Some(Some(Data::Added(number))) => self.added_entry(*number),
            _ => self.old(place),
        }
    }

    fn old(&self, place: u32) -> Result<Arc<Node>> {
        Ok(self.records.text(place, &self.source, self.layout)?.node)
    }

    fn is_replaced(&self, place: u32) -> bool {
        let is_added = matches!(self.slots.get(place as usize), Some(Some(Data::Added(_))));
        is_added && (place as usize) < self.records.len()
    }

    fn added_entry(&mut self, number: u32) -> Result<Arc<Node>> {
        let added = self.added.get(number as usize).ok_or(Error::NotFound)?;
        let place = Place::file(self.source.path());
        let text = self.writer.header.entry(&added.entry).map_err(|cause| Error::write(place, cause))?;
        let item = text.strip_prefix("- ").unwrap_or(&text);
        let node = yaml::reread(item, Form::Block { column: 2 }, &Anchors::default());
        node.map_err(|problem| Error::Other(format!("a new entry cannot be read again: {problem}")))
    }
}

fn pairs(node: &Node) -> Pairs {
    node.as_map().unwrap_or_default().to_vec()
}

fn is(key: &Node, name: &str) -> bool {
    key.as_text().is_some_and(|key| key.as_bytes() == name.as_bytes())
}

/// Replaces the value of a key, or inserts the key in sorted order.
fn set(pairs: &mut Pairs, name: &str, value: Arc<Node>) {
    if let Some((_, old)) = pairs.iter_mut().find(|(key, _)| is(key, name)) {
        *old = value;
        return;
    }
    let comes_after =
        |(key, _): &(Arc<Node>, _)| key.as_text().is_some_and(|key| key.as_bytes() > name.as_bytes());
    let at = pairs.iter().position(comes_after).unwrap_or(pairs.len());
    pairs.insert(at, (Arc::new(Node::text(name)), value));
}
