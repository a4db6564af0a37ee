//! A container that cannot be opened, as a directory with one file that says why.

use std::sync::Arc;

use crate::content::Content;
use crate::tree::{Entry, Face, Kind, NodeId, ROOT, Size, Tree};
use crate::{Error, Result};

const NAME: &[u8] = b"ERROR.txt";
const FILE: NodeId = 1;

pub struct Failed {
    message: Arc<[u8]>,
}

impl Failed {
    pub fn new(error: &Error) -> Failed {
        Failed { message: format!("{error}\n").into_bytes().into() }
    }
}

impl Tree for Failed {
    fn kind(&self, node: NodeId) -> Result<Kind> {
        match node {
            ROOT => Ok(Kind::Directory { subdirectories: Some(0) }),
            FILE => Ok(Kind::File),
            _ => Err(Error::NotFound),
        }
    }

    fn parent(&self, _: NodeId) -> NodeId {
        ROOT
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        Ok((dir == ROOT && name == NAME).then_some((FILE, Face::Data)))
    }

    fn list(&self, _: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        if cursor == 0 {
            each(NAME, Entry { node: FILE, face: Face::Data, kind: Kind::File, cursor: 1 });
        }
        Ok(())
    }

    fn size(&self, _: NodeId, _: Face) -> Result<Size> {
        let len = self.message.len() as u64;
        Ok(Size { len: Some(len), stored: len })
    }

    fn content(&self, node: NodeId, _: Face) -> Result<Content> {
        if node == FILE { Ok(Content::Inline(self.message.clone())) } else { Err(Error::IsADirectory) }
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        self.content(node, face).map(Some)
    }

    fn nodes(&self) -> u64 {
        2
    }

    fn datasets(&self) -> u64 {
        0
    }
}
