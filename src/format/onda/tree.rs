//! What a mount shows: the datasets as an arena of files, and below `.views`, by arithmetic, other faces of them.
//! ```text
//! .views/channels/<path of a signal>/<NN_channel>.npy
//! .views/decoded/<path of a signal>.npy
//! .views/spans/<annotation>/<path of a signal in its recording>.npy
//! ```
//! A signal without data (its file is missing, remote or outside) has its sidecar only; that is found out when its
//! directory is listed or it is looked up, not before.
//!
//! Nodes are those of the arena, then `.views` and its three directories, then a node for each of the arena's in
//! `channels` and in `decoded`, then the channels of all signals, the annotations, and for each annotation the signals of
//! its recording.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::archive::Archive;
use super::data::{Data, Encoding, Layout};
use super::faces;
use super::set::Set;
use super::spans::samples_of;
use super::table::{Id, shown};
use crate::content::Content;
use crate::tree::{Arena, Description, Entry, Face, Kind, NodeId, ROOT, Size, Tree, naming};
use crate::{Error, Result};

const VIEWS_NAME: &[u8] = b".views";
const NAMES: [&[u8]; 3] = [b"channels", b"decoded", b"spans"];
const NPY: &[u8] = b".npy";

/// A mirrored directory keeps 32 bits for the nodes of a container.
const MOST_NODES: u64 = 1 << 32;

pub struct OndaTree {
    arena: Arena<Archive>,
    set: Arc<Set>,
    /// The number of nodes of the arena.
    own: NodeId,
    /// Before each signal, the channels of all signals before it.
    channels: Vec<u64>,
    /// Before each annotation, the signals of the recordings of all annotations before it.
    spans: Vec<u64>,
    /// The annotations by id and how many of the same id are before.
    ids: OnceLock<HashMap<(Option<Id>, u32), u32>>,
    ordinals: OnceLock<Vec<u32>>,
}

/// What a node number means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Own(NodeId),
    Views,
    /// One of [`NAMES`].
    View(usize),
    /// A node of the arena, in `channels`: always a directory.
    Channels(NodeId),
    /// A node of the arena, in `decoded`.
    Decoded(NodeId),
    /// A channel of a signal.
    Channel(u32, u64),
    Annotation(u32),
    /// A signal of an annotation, by its place in the recording.
    Span(u32, u32),
}

impl OndaTree {
    pub fn new(arena: Arena<Archive>, set: Arc<Set>) -> OndaTree {
        let (mut channels, mut spans) = (vec![0], vec![0]);
        let mut sum = 0u64;
        for number in 0..set.signals.len() as u32 {
            let count = set.signal(number).and_then(|(table, row)| table.channels(row).ok()).unwrap_or(0);
            sum += count as u64;
            channels.push(sum);
        }
        let mut sum = 0u64;
        for row in &set.annotations {
            sum += set
                .recordings
                .get(row.recording as usize)
                .map_or(0, |recording| recording.signals.len() as u64);
            spans.push(sum);
        }
        let own = arena.nodes();
        let mut tree =
            OndaTree { arena, set, own, channels, spans, ids: OnceLock::new(), ordinals: OnceLock::new() };
        if tree.nodes() > MOST_NODES {
            log::warn!("there are too many annotations of too many signals: .views/spans is empty");
            tree.spans = vec![0];
        }
        if tree.nodes() > MOST_NODES {
            log::warn!("there are too many channels: .views/channels is empty");
            tree.channels = vec![0];
        }
        tree
    }

    fn first(&self, part: usize) -> NodeId {
        let views = self.own + 1 + NAMES.len() as u64;
        let channels = self.channels.last().copied().unwrap_or(0);
        let annotations = self.spans.len() as u64 - 1;
        [views, views + self.own, views + 2 * self.own, views + 2 * self.own + channels]
            .get(part)
            .copied()
            .unwrap_or(views + 2 * self.own + channels + annotations)
    }

    fn place(&self, node: NodeId) -> Option<Place> {
        let after = |part| node.checked_sub(self.first(part));
        if node < self.own {
            return Some(Place::Own(node));
        }
        if let Some(at) = after(4) {
            let (annotation, signal) = within(&self.spans, at)?;
            return Some(Place::Span(annotation, signal as u32));
        }
        if let Some(at) = after(3) {
            return Some(Place::Annotation(at as u32));
        }
        if let Some(at) = after(2) {
            let (signal, channel) = within(&self.channels, at)?;
            return Some(Place::Channel(signal, channel));
        }
        if let Some(at) = after(1) {
            return Some(Place::Decoded(at));
        }
        if let Some(at) = after(0) {
            return Some(Place::Channels(at));
        }
        Some(match node - self.own {
            0 => Place::Views,
            view => Place::View(view as usize - 1),
        })
    }

    fn node(&self, place: Place) -> NodeId {
        let before = |list: &[u64], at: u32| list.get(at as usize).copied().unwrap_or(0);
        match place {
            Place::Own(node) => node,
            Place::Views => self.own,
            Place::View(view) => self.own + 1 + view as u64,
            Place::Channels(ROOT) => self.node(Place::View(0)),
            Place::Decoded(ROOT) => self.node(Place::View(1)),
            Place::Channels(node) => self.first(0) + node,
            Place::Decoded(node) => self.first(1) + node,
            Place::Channel(signal, channel) => self.first(2) + before(&self.channels, signal) + channel,
            Place::Annotation(at) => self.first(3) + u64::from(at),
            Place::Span(at, signal) => self.first(4) + before(&self.spans, at) + u64::from(signal),
        }
    }

    /// The node of the arena that a directory of a view stands for.
    fn behind(&self, place: Place) -> Option<NodeId> {
        match place {
            Place::View(0 | 1) => Some(ROOT),
            Place::Channels(node) | Place::Decoded(node) => Some(node),
            _ => None,
        }
    }

    /// The signal that is the file `node` of the arena.
    fn signal(&self, node: NodeId) -> Option<u32> {
        self.arena.dataset_of(node).filter(|dataset| (*dataset as usize) < self.set.signals.len())
    }

    /// A signal whose data can be had, and what it is.
    fn data(&self, signal: u32) -> Option<Arc<Data>> {
        self.set.data(signal).ok()
    }

    fn layout(&self, signal: u32) -> Option<(Arc<Data>, Layout)> {
        let data = self.data(signal)?;
        let layout = data.layout.filter(|_| data.encoding != Encoding::Unknown)?;
        Some((data, layout))
    }

    /// Has the directory `node` of the arena anything that a view shows?
    fn is_viewed(&self, node: NodeId) -> bool {
        let mut found = false;
        let _ = self.arena.list(node, 0, &mut |_, entry| {
            found = match entry.kind {
                Kind::Directory { .. } => self.is_viewed(entry.node),
                _ => self.signal(entry.node).is_some(),
            };
            !found
        });
        found
    }

    /// Is the file of the arena there? One of a signal without data is not.
    fn is_there(&self, node: NodeId, face: Face) -> bool {
        face == Face::Sidecar || self.signal(node).is_none_or(|signal| self.data(signal).is_some())
    }

    fn channel_name(&self, signal: u32, channel: u64, names: &[Option<String>]) -> Vec<u8> {
        let _ = signal;
        let width = names.len().saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1).max(2);
        let name = usize::try_from(channel).ok().and_then(|channel| names.get(channel)).cloned().flatten();
        let name = format!("{channel:0width$}_{}", name.as_deref().unwrap_or("null"));
        [naming::file_name(name.as_bytes()), NPY.to_vec()].concat()
    }

    fn ordinals(&self) -> &[u32] {
        self.ordinals.get_or_init(|| {
            let mut seen: HashMap<Option<Id>, u32> = HashMap::new();
            let ids = (0..self.set.annotations.len() as u32).map(|at| self.id(at));
            ids.map(|id| {
                let count = seen.entry(id).or_default();
                *count += 1;
                *count
            })
            .collect()
        })
    }

    fn id(&self, annotation: u32) -> Option<Id> {
        let (table, row) = self.set.annotation(annotation)?;
        table.id("id", row).ok().flatten()
    }

    fn annotation_name(&self, annotation: u32) -> Vec<u8> {
        let ordinal = self.ordinals().get(annotation as usize).copied().unwrap_or(1);
        let name = shown(self.id(annotation));
        if ordinal < 2 { name.into_bytes() } else { format!("{name}~{ordinal}").into_bytes() }
    }

    fn find_annotation(&self, name: &[u8]) -> Option<u32> {
        let ids = self.ids.get_or_init(|| {
            let ordinals = self.ordinals().iter().copied();
            (0u32..).zip(ordinals).map(|(at, ordinal)| ((self.id(at), ordinal), at)).collect()
        });
        let text = std::str::from_utf8(name).ok()?;
        let (id, ordinal) = match text.split_once('~') {
            Some((id, number)) => (id, number.parse().ok().filter(|number| *number > 1)?),
            None => (text, 1),
        };
        let parsed = match id {
            "null" => None,
            id => Some(u128::from_str_radix(&id.replace('-', ""), 16).ok()?),
        };
        let found =
            ids.get(&(parsed, ordinal)).copied().filter(|at| (*at as usize) + 1 < self.spans.len())?;
        (self.annotation_name(found) == name).then_some(found)
    }

    /// The signals of an annotation's recording, by their place in it.
    fn signals_of(&self, annotation: u32) -> &[u32] {
        let row = self.set.annotations.get(annotation as usize);
        let recording = row.and_then(|row| self.set.recordings.get(row.recording as usize));
        recording.map_or(&[], |recording| &recording.signals)
    }

    /// What an annotation's signal is called: its name in the recording, in one component.
    fn span_name(&self, signal: u32) -> Vec<u8> {
        let name = self.set.raw_name(signal);
        let slash = name.iter().position(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        [naming::file_name(name.get(slash..).unwrap_or_default()), NPY.to_vec()].concat()
    }

    /// The data of a signal and the samples of it that an annotation covers.
    fn span(&self, annotation: u32, signal: u32) -> Option<(Arc<Data>, Layout, std::ops::Range<u64>)> {
        let row = self.set.row(signal).ok()?;
        let (table, at) = self.set.annotation(annotation)?;
        let wanted = samples_of(&row, table.span(at).ok()??)?;
        let (data, layout) = self.layout(signal)?;
        Some((data, layout, wanted))
    }

    fn find(&self, dir: Place, name: &[u8]) -> Option<Place> {
        let without = || name.strip_suffix(NPY);
        let own = |dir, name| match self.arena.lookup(dir, name) {
            Ok(Some((node, Face::Data))) => Some(node),
            _ => None,
        };
        match dir {
            Place::Own(ROOT) if name == VIEWS_NAME => Some(Place::Views),
            Place::Views => NAMES.iter().position(|view| *view == name).map(Place::View),
            Place::View(2) => self.find_annotation(name).map(Place::Annotation),
            Place::Annotation(at) => {
                let signals = self.signals_of(at);
                let place = signals.iter().position(|signal| self.span_name(*signal) == name)?;
                self.span(at, *signals.get(place)?)?;
                Some(Place::Span(at, place as u32))
            }
            Place::Channels(node) if self.signal(node).is_some() => {
                let signal = self.signal(node)?;
                let row = self.set.row(signal).ok()?;
                self.layout(signal)?;
                let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let channel = std::str::from_utf8(name.get(..digits)?).ok()?.parse().ok()?;
                let is_one = channel < row.channels.len() as u64
                    && (signal as usize) + 1 < self.channels.len()
                    && self.channel_name(signal, channel, &row.channels) == name;
                is_one.then_some(Place::Channel(signal, channel))
            }
            Place::View(0) | Place::Channels(_) => {
                let node = own(self.behind(dir)?, name)?;
                let is_shown = match self.signal(node) {
                    Some(signal) => self.layout(signal).is_some(),
                    None => self.arena.dataset_of(node).is_none() && self.is_viewed(node),
                };
                is_shown.then_some(Place::Channels(node))
            }
            Place::View(1) | Place::Decoded(_) => {
                let dir = self.behind(dir)?;
                let file = without()
                    .and_then(|name| own(dir, name))
                    .filter(|node| self.signal(*node).is_some_and(|signal| self.has_decoded(signal)));
                let directory = || {
                    own(dir, name)
                        .filter(|node| self.arena.dataset_of(*node).is_none() && self.is_viewed(*node))
                };
                file.or_else(directory).map(Place::Decoded)
            }
            _ => None,
        }
    }

    fn has_decoded(&self, signal: u32) -> bool {
        self.layout(signal).is_some() && self.set.row(signal).is_ok_and(|row| row.scale().is_some())
    }

    fn kind_of(&self, place: Place) -> Result<Kind> {
        Ok(match place {
            Place::Own(node) => self.arena.kind(node)?,
            Place::Views => Kind::Directory { subdirectories: Some(NAMES.len() as u64) },
            Place::Decoded(node) if self.signal(node).is_some() => Kind::File,
            Place::Channel(..) | Place::Span(..) => Kind::File,
            Place::Annotation(_) => Kind::Directory { subdirectories: Some(0) },
            Place::View(_) | Place::Channels(_) | Place::Decoded(_) => {
                Kind::Directory { subdirectories: None }
            }
        })
    }

    /// The bytes of a file of a view.
    fn face(&self, place: Place) -> Result<Content> {
        match place {
            Place::Channel(signal, channel) => {
                let (data, layout) = self.layout(signal).ok_or(Error::NotFound)?;
                right(data.content()?, |samples| faces::channel(samples, layout, channel))
            }
            Place::Decoded(node) => {
                let signal = self.signal(node).ok_or(Error::IsADirectory)?;
                let (data, layout) = self.layout(signal).ok_or(Error::NotFound)?;
                let scale = self.set.row(signal)?.scale().ok_or(Error::NotFound)?;
                right(data.content()?, |samples| {
                    let (array, elements) = faces::decoded(samples, layout, scale)?;
                    Ok(faces::with_header(&array, elements))
                })
            }
            Place::Span(annotation, at) => {
                let signal = self.signals_of(annotation).get(at as usize).copied().ok_or(Error::NotFound)?;
                let (data, layout, range) = self.span(annotation, signal).ok_or(Error::NotFound)?;
                right(data.content()?, |samples| {
                    let count = samples.len()? / layout.frame();
                    let range = range.start.min(count)..range.end.min(count);
                    Ok(faces::part(samples, layout, range))
                })
            }
            Place::Own(_) => Err(Error::NotFound),
            _ => Err(Error::IsADirectory),
        }
    }

    /// Lists `count` entries from `cursor` on, those that are there.
    fn list_some(
        &self,
        cursor: u64,
        count: u64,
        each: &mut dyn FnMut(&[u8], Entry) -> bool,
        entry: &dyn Fn(u64) -> Option<(Vec<u8>, Place)>,
    ) -> Result<()> {
        for at in cursor..count {
            let Some((name, place)) = entry(at) else { continue };
            let kind = self.kind_of(place)?;
            let entry = Entry { node: self.node(place), face: Face::Data, kind, cursor: at + 1 };
            if !each(&name, entry) {
                break;
            }
        }
        Ok(())
    }

    fn list_view(&self, dir: Place, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        match dir {
            Place::Views => self.list_some(cursor, NAMES.len() as u64, each, &|at| {
                Some((NAMES.get(at as usize)?.to_vec(), Place::View(at as usize)))
            }),
            Place::View(2) => self.list_some(cursor, self.spans.len() as u64 - 1, each, &|at| {
                Some((self.annotation_name(at as u32), Place::Annotation(at as u32)))
            }),
            Place::Annotation(annotation) => {
                let signals = self.signals_of(annotation);
                self.list_some(cursor, signals.len() as u64, each, &|at| {
                    let signal = *signals.get(at as usize)?;
                    self.span(annotation, signal)?;
                    Some((self.span_name(signal), Place::Span(annotation, at as u32)))
                })
            }
            Place::Channels(node) if self.signal(node).is_some() => {
                let signal = self.signal(node).ok_or(Error::NotFound)?;
                let names = self.set.row(signal)?.channels;
                let count = if (signal as usize) + 1 < self.channels.len() { names.len() as u64 } else { 0 };
                self.list_some(cursor, count, each, &|at| {
                    Some((self.channel_name(signal, at, &names), Place::Channel(signal, at)))
                })
            }
            Place::View(_) | Place::Channels(_) | Place::Decoded(_) => self.list_like(dir, cursor, each),
            _ => Err(Error::NotADirectory),
        }
    }

    /// A directory of a view that has what the arena's has.
    fn list_like(&self, dir: Place, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let node = self.behind(dir).ok_or(Error::NotADirectory)?;
        let is_decoded = matches!(dir, Place::View(1) | Place::Decoded(_));
        let mut failed = Ok(());
        self.arena.list(node, cursor, &mut |name, entry| {
            if entry.face == Face::Sidecar {
                return true;
            }
            let is_file = entry.kind == Kind::File;
            let name = if is_decoded && is_file { [name, NPY].concat() } else { name.to_vec() };
            let Some(place) = self.find(dir, &name) else { return true };
            match self.kind_of(place) {
                Ok(kind) => each(&name, Entry { node: self.node(place), kind, ..entry }),
                Err(error) => {
                    failed = Err(error);
                    false
                }
            }
        })?;
        failed
    }
}

/// What is made of samples that are right; of others their error stays.
fn right(samples: Content, make: impl FnOnce(Content) -> Result<Content>) -> Result<Content> {
    match samples {
        Content::Broken { .. } => Ok(samples),
        samples => make(samples),
    }
}

/// Which of the parts that begin at these numbers has `at`, and where in it.
fn within(starts: &[u64], at: u64) -> Option<(u32, u64)> {
    let part = starts.partition_point(|start| *start <= at).checked_sub(1)?;
    let start = *starts.get(part)?;
    (part + 1 < starts.len()).then_some((part as u32, at - start))
}

impl Tree for OndaTree {
    fn kind(&self, node: NodeId) -> Result<Kind> {
        self.kind_of(self.place(node).ok_or(Error::NotFound)?)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        let Some(place) = self.place(node) else { return ROOT };
        match place {
            Place::Own(node) => self.arena.parent(node),
            Place::Views => ROOT,
            Place::View(_) => self.node(Place::Views),
            Place::Channels(node) => self.node(Place::Channels(self.arena.parent(node))),
            Place::Decoded(node) => self.node(Place::Decoded(self.arena.parent(node))),
            Place::Channel(signal, _) => {
                self.arena.node_of(signal).map_or(ROOT, |node| self.node(Place::Channels(node)))
            }
            Place::Annotation(_) => self.node(Place::View(2)),
            Place::Span(annotation, _) => self.node(Place::Annotation(annotation)),
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        let Some(place) = self.place(dir) else { return Ok(None) };
        if let Place::Own(dir) = place
            && let Some((node, face)) = self.arena.lookup(dir, name)?
        {
            return Ok(self.is_there(node, face).then_some((node, face)));
        }
        Ok(self.find(place, name).map(|place| (self.node(place), Face::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        match self.place(dir) {
            Some(Place::Own(dir)) => self.arena.list(dir, cursor, &mut |name, entry| {
                !self.is_there(entry.node, entry.face) || each(name, entry)
            }),
            Some(place) => self.list_view(place, cursor, each),
            None => Ok(()),
        }
    }

    fn size(&self, node: NodeId, face: Face) -> Result<Size> {
        match self.place(node) {
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
            Some(_) => Err(Error::IsADirectory),
            None => Err(Error::NotFound),
        }
    }

    fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        match self.place(node).ok_or(Error::NotFound)? {
            Place::Own(node) => self.arena.content(node, face),
            _ if face == Face::Sidecar => Err(Error::NotFound),
            place => self.face(place),
        }
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        match self.place(node).ok_or(Error::NotFound)? {
            Place::Own(node) => self.arena.content_at_once(node, face),
            _ => Ok(None),
        }
    }

    fn nodes(&self) -> u64 {
        self.first(4) + self.spans.last().copied().unwrap_or(0)
    }

    fn datasets(&self) -> u64 {
        self.set.signals.len() as u64
    }

    fn format(&self, _: NodeId) -> Option<&'static str> {
        Some(super::super::Format::name(&super::Onda))
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        if node < self.own { self.arena.describe(node) } else { Ok(None) }
    }

    fn brief(&self, node: NodeId) -> Result<Option<Description>> {
        if node < self.own { self.arena.brief(node) } else { Ok(None) }
    }

    fn memory(&self) -> u64 {
        self.arena.memory() + 8 * (self.channels.len() + self.spans.len()) as u64
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
