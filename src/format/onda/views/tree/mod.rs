//! What is computed below `.views`, by arithmetic: other faces of the datasets, which are an arena of files.
//! ```text
//! channels/<path of a signal>/<NN_channel>.npy
//! decoded/<path of a signal>.npy
//! spans/<annotation>/<path of a signal in its recording>.npy
//! ```
//! A signal without data (its file is missing, remote or outside) is not there; that is found out when its directory is
//! listed or it is looked up, not before.
//!
//! | | |
//! |---|---|
//! | `places` | the numbers of nodes |
//! | `annotated`, `spans` | the names of annotations, and of signals below them |
//! | `views` | what the directories hold |

mod annotated;
mod places;
mod spans;
mod views;

use std::sync::Arc;

use super::super::read::set::Set;
use crate::content::Content;
use crate::tree::{Arena, Description, Entry, FileKind, NodeId, NodeKind, ROOT, Size, Tree};
use crate::{Error, Result};
use annotated::Annotated;
use places::{Places, ViewNode};
use spans::SpanNames;

pub struct OndaTree {
    /// The datasets.
    arena: Arc<Arena>,
    set: Arc<Set>,
    places: Places,
    annotated: Annotated,
    span_names: SpanNames,
}

impl OndaTree {
    /// `others` are the nodes that the container has beside these and those of the arena.
    pub fn new(arena: Arc<Arena>, others: u64, set: Arc<Set>) -> OndaTree {
        let places = Places::new(arena.nodes(), others, &set);
        let (annotated, span_names) = (Annotated::default(), SpanNames::default());
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
            // Of compressed samples the length may have to be found first.
            Some(ViewNode::Channel(signal, _)) => self.face_size(signal, node),
            Some(ViewNode::Decoded(own)) if self.signal(own).is_some() => {
                self.face_size(self.signal(own).unwrap_or_default(), node)
            }
            Some(ViewNode::Span(annotation, at)) => {
                let signal = self.signals_of(annotation).get(at as usize).copied().ok_or(Error::NotFound)?;
                self.face_size(signal, node)
            }
            Some(_) => Err(Error::IsADirectory),
            None => Err(Error::NotFound),
        }
    }

    fn content(&self, node: NodeId, _: FileKind) -> Result<Content> {
        self.face(self.places.of(node).ok_or(Error::NotFound)?)
    }

    fn content_at_once(&self, _: NodeId, _: FileKind) -> Result<Option<Content>> {
        Ok(None)
    }

    fn nodes(&self) -> u64 {
        self.places.nodes()
    }

    fn datasets(&self) -> u64 {
        0
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        self.places.of(node).map_or(Ok(None), |place| self.describe_face(place))
    }

    fn memory(&self) -> u64 {
        self.places.memory()
    }
}

impl OndaTree {
    fn face_size(&self, signal: u32, node: NodeId) -> Result<Size> {
        let Some(data) = self.data(signal) else { return Err(Error::NotFound) };
        let len = match data.known_len() {
            Some(_) => self.content(node, FileKind::Data)?.known_len(),
            None => None,
        };
        Ok(Size { len, stored: 0 })
    }
}
