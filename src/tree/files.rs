//! A directory of a few files that are no datasets: what a format has to show beside them.

use super::{Entry, Face, Kind, NodeId, ROOT, Size, Tree};
use crate::content::Content;
use crate::{Error, Result};

/// Node n is the n-th file, from 1 on.
pub struct Files {
    files: Vec<(&'static str, Content)>,
}

impl Files {
    pub fn new(files: Vec<(&'static str, Content)>) -> Files {
        Files { files }
    }

    fn file(&self, node: NodeId) -> Result<&Content> {
        let at = node.checked_sub(1).ok_or(Error::IsADirectory)?;
        let found = usize::try_from(at).ok().and_then(|at| self.files.get(at));
        found.map(|(_, content)| content).ok_or(Error::NotFound)
    }
}

/// A cursor is the entry's node.
impl Tree for Files {
    fn kind(&self, node: NodeId) -> Result<Kind> {
        if node == ROOT {
            Ok(Kind::Directory { subdirectories: Some(0) })
        } else {
            self.file(node).map(|_| Kind::File)
        }
    }

    fn parent(&self, _: NodeId) -> NodeId {
        ROOT
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        let found = (1..).zip(&self.files).find(|(_, (own, _))| dir == ROOT && own.as_bytes() == name);
        Ok(found.map(|(node, _)| (node, Face::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let mut left = (1..).zip(&self.files).filter(|(node, _)| dir == ROOT && *node > cursor);
        let _ = left.all(|(node, (name, _))| {
            each(name.as_bytes(), Entry { node, face: Face::Data, kind: Kind::File, cursor: node })
        });
        Ok(())
    }

    fn size(&self, node: NodeId, _: Face) -> Result<Size> {
        let len = self.file(node)?.known_len();
        Ok(Size { len, stored: len.unwrap_or(0) })
    }

    fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        if face == Face::Data { self.file(node).cloned() } else { Err(Error::NotFound) }
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        self.content(node, face).map(Some)
    }

    fn nodes(&self) -> u64 {
        self.files.len() as u64 + 1
    }

    fn datasets(&self) -> u64 {
        0
    }
}
