//! A container that cannot be opened, shown as a directory with a file that says why and whatever can still be read.

use std::sync::Arc;

use crate::content::Content;
use crate::tree::{Entry, FileKind, Inner, NodeId, NodeKind, ROOT, Size, Stat, Tree};
use crate::{Error, Result};

/// What the file is called; a dataset of this name wins.
const NAMES: [&[u8]; 3] = [b"ERROR.txt", b"ERROR.txt~2", b"ERROR.txt~3"];
/// The file's number, which no dataset has.
const FILE: NodeId = u32::MAX as NodeId;

pub struct Failed {
    message: Arc<[u8]>,
    name: &'static [u8],
    /// What can be read.
    rest: Option<Arc<dyn Tree>>,
}

impl Failed {
    pub fn new(error: &Error, rest: Option<Arc<dyn Tree>>) -> Failed {
        let is_free =
            |name: &&&[u8]| rest.as_ref().is_none_or(|rest| matches!(rest.lookup(ROOT, name), Ok(None)));
        let name = NAMES.iter().find(is_free).copied().unwrap_or(NAMES[0]);
        Failed { message: format!("{error}\n").into_bytes().into(), name, rest }
    }

    fn rest(&self) -> Result<&dyn Tree> {
        self.rest.as_deref().ok_or(Error::NotFound)
    }
}

/// A cursor of the rest is 1 more than its own.
impl Tree for Failed {
    fn inner(&self, node: NodeId) -> Result<Option<Inner>> {
        Ok(self.rest.clone().filter(|_| node != FILE).map(|rest| (rest, node)))
    }

    fn kind(&self, node: NodeId) -> Result<NodeKind> {
        match (node, &self.rest) {
            (FILE, _) => Ok(NodeKind::File),
            (ROOT, None) => Ok(NodeKind::Directory { subdirectories: Some(0) }),
            _ => self.rest()?.kind(node),
        }
    }

    fn parent(&self, node: NodeId) -> NodeId {
        match (node, &self.rest) {
            (FILE, _) | (_, None) => ROOT,
            (_, Some(rest)) => rest.parent(node),
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        match &self.rest {
            _ if dir == ROOT && name == self.name => Ok(Some((FILE, FileKind::Data))),
            Some(rest) => rest.lookup(dir, name),
            None => Ok(None),
        }
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let own = Entry { node: FILE, file: FileKind::Data, kind: NodeKind::File, cursor: 1 };
        if dir == ROOT && cursor == 0 && !each(self.name, own) {
            return Ok(());
        }
        let Some(rest) = &self.rest else { return Ok(()) };
        rest.list(dir, cursor.saturating_sub(1), &mut |name, entry| {
            each(name, Entry { cursor: entry.cursor + 1, ..entry })
        })
    }

    fn stat(&self, node: NodeId, file: FileKind) -> Result<Stat> {
        match node {
            FILE => {
                let len = self.message.len() as u64;
                Ok(Stat::of(NodeKind::File, Size { len: Some(len), stored: len }))
            }
            ROOT => Ok(Stat::of(self.kind(ROOT)?, Size::NOTHING)),
            _ => self.rest()?.stat(node, file),
        }
    }

    fn content(&self, node: NodeId, file: FileKind) -> Result<Content> {
        match node {
            FILE => Ok(Content::Inline(self.message.clone())),
            ROOT => Err(Error::IsADirectory),
            _ => self.rest()?.content(node, file),
        }
    }

    /// But for the file, of which nothing can change.
    fn nodes(&self) -> u64 {
        self.rest.as_ref().map_or(1, |rest| rest.nodes())
    }

    fn datasets(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.datasets())
    }
}
