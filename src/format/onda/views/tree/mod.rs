//! The computed views below `.views`. Nodes are numbered by arithmetic; `arena` holds the datasets' own files.
//! ```text
//! channels/<path of a signal>/<NN_channel>.npy
//! decoded/<path of a signal>.npy
//! spans/<annotation>/<path of a signal in its recording>.npy
//! ```
//! Signals without data (because the file is missing, remote or outside) are left out; this is checked only when their
//! directory is listed or they are looked up.
//!
//! | | |
//! |---|---|
//! | `places` | numbering of nodes |
//! | `annotated`, `spans` | names of annotations, and of signals below them |
//! | `views` | contents of directories and files |

mod annotated;
mod places;
mod spans;
mod views;

use std::sync::Arc;

use super::super::read::set::Set;
use crate::content::Content;
use crate::tree::{Arena, Description, Entry, FileKind, NodeId, NodeKind, ROOT, Size, Tree};
use crate::{Error, Result};
use annotated::AnnotationNames;
use places::{Places, ViewNode};
use spans::SpanNames;

pub struct OndaTree {
    /// The datasets' files and directories.
    arena: Arc<Arena>,
    set: Arc<Set>,
    places: Places,
    annotated: AnnotationNames,
    span_names: SpanNames,
}

impl OndaTree {
    /// `others` is the number of nodes that the container has besides the arena's and the views'.
    pub fn new(arena: Arc<Arena>, others: u64, set: Arc<Set>) -> OndaTree {
        let places = Places::new(arena.nodes(), others, &set);
        let (annotated, span_names) = (AnnotationNames::default(), SpanNames::default());
        OndaTree { arena, set, places, annotated, span_names }
    }
}

impl Tree for OndaTree {
    fn kind(&self, node: NodeId) -> Result<NodeKind> {
        self.kind_of(self.places.of(node).ok_or(Error::NotFound)?)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        let Some(place) = self.places.of(node) else { return ROOT };
        match place {
            ViewNode::Root | ViewNode::View(_) => ROOT,
            ViewNode::Channels(node) => self.places.node(ViewNode::Channels(self.arena.parent(node))),
            ViewNode::Decoded(node) => self.places.node(ViewNode::Decoded(self.arena.parent(node))),
            ViewNode::Channel(signal, _) => {
                self.arena.node_of(signal).map_or(ROOT, |node| self.places.node(ViewNode::Channels(node)))
            }
            ViewNode::Annotation(_) => self.places.node(ViewNode::View(2)),
            ViewNode::Span(annotation, _) => self.places.node(ViewNode::Annotation(annotation)),
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let found = self.places.of(dir).and_then(|place| self.find(place, name));
        Ok(found.map(|place| (self.places.node(place), FileKind::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        self.places.of(dir).map_or(Ok(()), |place| self.list_view(place, cursor, each))
    }

    fn size(&self, node: NodeId, _: FileKind) -> Result<Size> {
        match self.places.of(node) {
            // For compressed samples, finding the length may require decoding.
            Some(ViewNode::Channel(signal, _)) => self.view_size(signal, node),
            Some(ViewNode::Decoded(file)) if self.signal(file).is_some() => {
                self.view_size(self.signal(file).unwrap_or_default(), node)
            }
            Some(ViewNode::Span(annotation, at)) => {
                let signal = self.signals_of(annotation).get(at as usize).copied().ok_or(Error::NotFound)?;
                self.view_size(signal, node)
            }
            Some(_) => Err(Error::IsADirectory),
            None => Err(Error::NotFound),
        }
    }

    fn content(&self, node: NodeId, _: FileKind) -> Result<Content> {
        self.view_content(self.places.of(node).ok_or(Error::NotFound)?)
    }

    fn ready_content(&self, _: NodeId, _: FileKind) -> Result<Option<Content>> {
        Ok(None)
    }

    fn nodes(&self) -> u64 {
        self.places.nodes()
    }

    fn datasets(&self) -> u64 {
        0
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        self.places.of(node).map_or(Ok(None), |place| self.describe_view(place))
    }

    fn memory(&self) -> u64 {
        self.places.memory()
    }
}

impl OndaTree {
    fn view_size(&self, signal: u32, node: NodeId) -> Result<Size> {
        let Some(data) = self.data(signal) else { return Err(Error::NotFound) };
        let len = match data.known_len() {
            Some(_) => self.content(node, FileKind::Data)?.known_len(),
            None => None,
        };
        Ok(Size { len, stored: 0 })
    }
}
