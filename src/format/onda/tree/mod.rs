//! What a mount shows: the datasets as an arena of files, and below `.views`, by arithmetic, other faces of them.
//! ```text
//! .views/channels/<path of a signal>/<NN_channel>.npy
//! .views/decoded/<path of a signal>.npy
//! .views/spans/<annotation>/<path of a signal in its recording>.npy
//! .views/arrow/tables/..., .views/jsonl/tables/...      (see `tables`)
//! ```
//! A signal without data (its file is missing, remote or outside) has its sidecar only; that is found out when its
//! directory is listed or it is looked up, not before.
//!
//! | | |
//! |---|---|
//! | `places` | the numbers of nodes |
//! | `annotated`, `spans` | the names of annotations, and of signals below them |
//! | `views` | what is below `.views` |

mod annotated;
mod places;
mod spans;
mod views;

use std::sync::Arc;

use super::archive::Archive;
use super::set::Set;
use super::tables::Tables;
use crate::content::Content;
use crate::format::Format;
use crate::tree::{Arena, Description, Entry, Face, Kind, NodeId, ROOT, Size, Tree};
use crate::{Error, Result};
use annotated::Annotated;
use places::{Place, Places};
use spans::SpanNames;

pub struct OndaTree {
    arena: Arena<Archive>,
    /// What is beside [`places::NAMES`].
    tables: Arena<Tables>,
    set: Arc<Set>,
    places: Places,
    annotated: Annotated,
    span_names: SpanNames,
}

impl OndaTree {
    pub fn new(arena: Arena<Archive>, tables: Arena<Tables>, set: Arc<Set>) -> OndaTree {
        let places = Places::new(arena.nodes(), tables.nodes(), &set);
        let (annotated, span_names) = (Annotated::default(), SpanNames::default());
        OndaTree { arena, tables, set, places, annotated, span_names }
    }
}

impl Tree for OndaTree {
    fn kind(&self, node: NodeId) -> Result<Kind> {
        self.kind_of(self.places.of(node).ok_or(Error::NotFound)?)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        let Some(place) = self.places.of(node) else { return ROOT };
        match place {
            Place::Own(node) => self.arena.parent(node),
            Place::Views => ROOT,
            Place::View(_) => self.places.node(Place::Views),
            Place::Tables(node) => self.places.node(Place::Tables(self.tables.parent(node))),
            Place::Channels(node) => self.places.node(Place::Channels(self.arena.parent(node))),
            Place::Decoded(node) => self.places.node(Place::Decoded(self.arena.parent(node))),
            Place::Channel(signal, _) => {
                self.arena.node_of(signal).map_or(ROOT, |node| self.places.node(Place::Channels(node)))
            }
            Place::Annotation(_) => self.places.node(Place::View(2)),
            Place::Span(annotation, _) => self.places.node(Place::Annotation(annotation)),
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        let Some(place) = self.places.of(dir) else { return Ok(None) };
        if let Place::Own(dir) = place
            && let Some((node, face)) = self.arena.lookup(dir, name)?
        {
            return Ok(self.is_there(node, face).then_some((node, face)));
        }
        Ok(self.find(place, name).map(|place| (self.places.node(place), Face::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        match self.places.of(dir) {
            Some(Place::Own(dir)) => self.arena.list(dir, cursor, &mut |name, entry| {
                !self.is_there(entry.node, entry.face) || each(name, entry)
            }),
            Some(place) => self.list_view(place, cursor, each),
            None => Ok(()),
        }
    }

    fn size(&self, node: NodeId, face: Face) -> Result<Size> {
        match self.places.of(node) {
            Some(Place::Own(node)) => self.arena.size(node, face),
            // Of compressed samples the length may have to be found first.
            Some(Place::Channel(signal, _)) => self.face_size(signal, node),
            Some(Place::Decoded(own)) if self.signal(own).is_some() => {
                self.face_size(self.signal(own).unwrap_or_default(), node)
            }
            Some(Place::Span(annotation, at)) => {
                let signal = self.signals_of(annotation).get(at as usize).copied().ok_or(Error::NotFound)?;
                self.face_size(signal, node)
            }
            Some(Place::Tables(node)) => self.tables.size(node, Face::Data),
            Some(_) => Err(Error::IsADirectory),
            None => Err(Error::NotFound),
        }
    }

    fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        match self.places.of(node).ok_or(Error::NotFound)? {
            Place::Own(node) => self.arena.content(node, face),
            _ if face == Face::Sidecar => Err(Error::NotFound),
            place => self.face(place),
        }
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        match self.places.of(node).ok_or(Error::NotFound)? {
            Place::Own(node) => self.arena.content_at_once(node, face),
            Place::Tables(node) => self.tables.content_at_once(node, face),
            _ => Ok(None),
        }
    }

    fn nodes(&self) -> u64 {
        self.places.nodes()
    }

    fn datasets(&self) -> u64 {
        self.set.signals.len() as u64
    }

    fn format(&self, _: NodeId) -> Option<&'static str> {
        Some(Format::name(&super::Onda))
    }

    fn name(&self, dir: NodeId) -> Option<Vec<u8>> {
        match self.places.of(dir)? {
            Place::Own(dir) => self.arena.name(dir),
            _ => None,
        }
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        match self.places.of(node) {
            Some(Place::Own(node)) => self.arena.describe(node),
            _ => Ok(None),
        }
    }

    fn describe_made(&self, node: NodeId) -> Result<Option<Description>> {
        self.places.of(node).map_or(Ok(None), |place| self.describe_face(place))
    }

    fn rows_of_made(&self, node: NodeId, expression: &str) -> Result<Option<Content>> {
        match self.places.of(node) {
            Some(Place::Tables(node)) => self.tables.rows_of_made(node, expression),
            _ => Ok(None),
        }
    }

    fn brief(&self, node: NodeId) -> Result<Option<Description>> {
        match self.places.of(node) {
            Some(Place::Own(node)) => self.arena.brief(node),
            _ => Ok(None),
        }
    }

    fn memory(&self) -> u64 {
        self.arena.memory() + self.tables.memory() + self.places.memory()
    }
}

impl OndaTree {
    fn face_size(&self, signal: u32, node: NodeId) -> Result<Size> {
        let Some(data) = self.data(signal) else { return Err(Error::NotFound) };
        let len = match data.known_len() {
            Some(_) => self.content(node, Face::Data)?.known_len(),
            None => None,
        };
        Ok(Size { len, stored: 0 })
    }
}
