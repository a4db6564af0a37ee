//! Contents of the views' directories and files.

use std::ops::Range;
use std::sync::Arc;

use super::super::computed;
use super::super::sidecar;
use super::OndaTree;
use super::places::{NAMES, ViewNode};
use super::spans::SpanNames;
use crate::content::Content;
use crate::format::onda::read::samples::{Data, Encoding, Layout};
use crate::format::onda::read::spans::samples_of;
use crate::tree::{Description, Entry, FileKind, NodeId, NodeKind, ROOT, Tree, naming};
use crate::{Error, Result};

pub const NPY: &[u8] = b".npy";

/// Characters of a channel's name used for its file name, which is shortened further if necessary.
const MAX_LEN: usize = 4096;

impl OndaTree {
    /// The arena node behind a view's directory.
    fn behind(&self, place: ViewNode) -> Option<NodeId> {
        match place {
            ViewNode::View(0 | 1) => Some(ROOT),
            ViewNode::Channels(node) | ViewNode::Decoded(node) => Some(node),
            _ => None,
        }
    }

    /// The signal behind an arena node; None if that is not a signal's file.
    pub fn signal(&self, node: NodeId) -> Option<u32> {
        self.arena.dataset_of(node).filter(|dataset| (*dataset as usize) < self.set.signals.len())
    }

    /// A signal's data; None if it is not available.
    pub fn data(&self, signal: u32) -> Option<Arc<Data>> {
        self.set.data(signal).ok()
    }

    fn layout(&self, signal: u32) -> Option<(Arc<Data>, Layout)> {
        let data = self.data(signal)?;
        let layout = data.layout.filter(|_| data.encoding != Encoding::Unknown)?;
        Some((data, layout))
    }

    /// True if the views show anything of this arena directory.
    fn is_viewed(&self, node: NodeId) -> bool {
        let mut found = false;
        self.arena.each(node, 0, &mut |_, entry| {
            found = match entry.kind {
                NodeKind::Directory { .. } => self.is_viewed(entry.node),
                _ => self.signal(entry.node).is_some(),
            };
            !found
        });
        found
    }

    /// Reads only this name: there may be a million, and they may be long.
    fn channel_name(&self, signal: u32, channel: u64) -> Vec<u8> {
        let last = self.places.channels_of(signal).saturating_sub(1);
        let width = last.checked_ilog10().map_or(1, |log| log as usize + 1).max(2);
        let name =
            self.set.signal(signal).and_then(|(table, row)| table.channel(row, channel as usize).ok()?);
        let name = name.unwrap_or("null");
        let end = name.char_indices().nth(MAX_LEN).map_or(name.len(), |(end, _)| end);
        let name = name.get(..end).unwrap_or_default();
        let name = format!("{channel:0width$}_{name}");
        [naming::file_name(name.as_bytes()), NPY.to_vec()].concat()
    }

    /// The signals of an annotation's recording, in order.
    pub fn signals_of(&self, annotation: u32) -> &[u32] {
        let row = self.set.annotations.get(annotation as usize);
        let recording = row.and_then(|row| self.set.recordings.get(row.recording as usize));
        recording.map_or(&[], |recording| &recording.signals)
    }

    /// A signal's data and the range of samples that an annotation covers.
    fn span(&self, annotation: u32, signal: u32) -> Option<(Arc<Data>, Layout, Range<u64>)> {
        let row = self.set.row(signal).ok()?;
        let (table, at) = self.set.annotation(annotation)?;
        let range = samples_of(&row, table.span(at).ok()??)?;
        let (data, layout) = self.layout(signal)?;
        Some((data, layout, range))
    }

    pub fn find(&self, dir: ViewNode, name: &[u8]) -> Option<ViewNode> {
        let without = || name.strip_suffix(NPY);
        let lookup = |dir, name| match self.arena.find(dir, name) {
            Some((node, FileKind::Data)) => Some(node),
            _ => None,
        };
        match dir {
            ViewNode::Root => NAMES.iter().position(|view| *view == name).map(ViewNode::View),
            ViewNode::View(2) => {
                let found = self.annotated.find(&self.set, name);
                found.filter(|at| u64::from(*at) < self.places.annotations()).map(ViewNode::Annotation)
            }
            ViewNode::Annotation(at) => {
                let recording = self.set.annotations.get(at as usize)?.recording;
                let place = self.span_names.find(&self.set, recording, name)?;
                self.span(at, *self.signals_of(at).get(place)?)?;
                Some(ViewNode::Span(at, place as u32))
            }
            ViewNode::Channels(node) if self.signal(node).is_some() => {
                let signal = self.signal(node)?;
                self.layout(signal)?;
                let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let channel = std::str::from_utf8(name.get(..digits)?).ok()?.parse().ok()?;
                let is_one =
                    channel < self.places.channels_of(signal) && self.channel_name(signal, channel) == name;
                is_one.then_some(ViewNode::Channel(signal, channel))
            }
            ViewNode::View(0) | ViewNode::Channels(_) => {
                let node = lookup(self.behind(dir)?, name)?;
                let is_shown = match self.signal(node) {
                    Some(signal) => self.layout(signal).is_some(),
                    None => self.arena.dataset_of(node).is_none() && self.is_viewed(node),
                };
                is_shown.then_some(ViewNode::Channels(node))
            }
            ViewNode::View(1) | ViewNode::Decoded(_) => {
                let dir = self.behind(dir)?;
                let file = without()
                    .and_then(|name| lookup(dir, name))
                    .filter(|node| self.signal(*node).is_some_and(|signal| self.has_decoded(signal)));
                let directory = || {
                    lookup(dir, name)
                        .filter(|node| self.arena.dataset_of(*node).is_none() && self.is_viewed(*node))
                };
                file.or_else(directory).map(ViewNode::Decoded)
            }
            _ => None,
        }
    }

    fn has_decoded(&self, signal: u32) -> bool {
        self.layout(signal).is_some() && self.set.row(signal).is_ok_and(|row| row.scale().is_some())
    }

    pub fn kind_of(&self, place: ViewNode) -> Result<NodeKind> {
        Ok(match place {
            ViewNode::Decoded(node) if self.signal(node).is_some() => NodeKind::File,
            ViewNode::Channel(..) | ViewNode::Span(..) => NodeKind::File,
            ViewNode::Annotation(_) => NodeKind::Directory { subdirectories: Some(0) },
            ViewNode::Root | ViewNode::View(_) | ViewNode::Channels(_) | ViewNode::Decoded(_) => {
                NodeKind::Directory { subdirectories: None }
            }
        })
    }

    /// The content of a view's file.
    pub fn view_content(&self, place: ViewNode) -> Result<Content> {
        match place {
            ViewNode::Channel(signal, channel) => {
                let (data, layout) = self.layout(signal).ok_or(Error::NotFound)?;
                if_valid(data.content()?, |samples| computed::channel(samples, layout, channel))
            }
            ViewNode::Decoded(node) => {
                let signal = self.signal(node).ok_or(Error::IsADirectory)?;
                let (data, layout) = self.layout(signal).ok_or(Error::NotFound)?;
                let scale = self.set.row(signal)?.scale().ok_or(Error::NotFound)?;
                if_valid(data.content()?, |samples| {
                    let (array, elements) = computed::decoded(samples, layout, scale)?;
                    Ok(computed::with_header(&array, elements))
                })
            }
            ViewNode::Span(annotation, at) => {
                let signal = self.signals_of(annotation).get(at as usize).copied().ok_or(Error::NotFound)?;
                let (data, layout, range) = self.span(annotation, signal).ok_or(Error::NotFound)?;
                if_valid(data.content()?, |samples| {
                    let count = samples.len()? / layout.frame();
                    let range = range.start.min(count)..range.end.min(count);
                    Ok(computed::part(samples, layout, range))
                })
            }
            _ => Err(Error::IsADirectory),
        }
    }

    /// The description of a view's array: that of the signal, without the location of its bytes, and with the identity
    /// scale for decoded values.
    pub fn describe_view(&self, place: ViewNode) -> Result<Option<Description>> {
        let signal = match place {
            ViewNode::Channel(signal, _) => Some(signal),
            ViewNode::Decoded(node) => self.signal(node),
            ViewNode::Span(annotation, at) => self.signals_of(annotation).get(at as usize).copied(),
            _ => None,
        };
        let Some(signal) = signal else { return Ok(None) };
        let Some((data, layout)) = self.layout(signal) else { return Ok(None) };
        let Some(all) = data.array()? else { return Ok(None) };
        let count = all.shape.first().copied().unwrap_or(0);
        let name =
            |view: usize, rest: &[u8]| [NAMES.get(view).copied().unwrap_or_default(), b"/", rest].concat();
        let shown = self.set.shown_name(signal);
        let (name, array) = match place {
            ViewNode::Channel(_, channel) => {
                let file = self.channel_name(signal, channel);
                let path = [shown.as_bytes(), b"/", file.strip_suffix(NPY).unwrap_or(&file)].concat();
                (name(0, &path), computed::channel_array(layout, count))
            }
            ViewNode::Decoded(_) => {
                let Some(scale) = self.set.row(signal)?.scale() else { return Ok(None) };
                (name(1, shown.as_bytes()), computed::decoded_array(layout, scale, count))
            }
            ViewNode::Span(annotation, _) => {
                let Some((.., range)) = self.span(annotation, signal) else { return Ok(None) };
                let path = [&*self.annotated.name(&self.set, annotation), b"/", shown.as_bytes()].concat();
                (name(2, &path), layout.array(range.end.min(count) - range.start.min(count)))
            }
            _ => return Ok(None),
        };
        let node = self.arena.node_of(signal).ok_or(Error::NotFound)?;
        let Some(about) = self.arena.describe(node)? else { return Ok(None) };
        let about = match place {
            ViewNode::Decoded(_) => sidecar::describe_decoded(about, array),
            _ => sidecar::describe_derived(about, array),
        };
        let name = String::from_utf8_lossy(&name).as_ref().into();
        Ok(Some(Description { name, has_header: true, ..about }))
    }

    /// Lists those of the `count` entries from `cursor` on that exist.
    fn list_some(
        &self,
        cursor: u64,
        count: u64,
        each: &mut dyn FnMut(&[u8], Entry) -> bool,
        entry: &dyn Fn(u64) -> Option<(Vec<u8>, ViewNode)>,
    ) -> Result<()> {
        for at in cursor..count {
            let Some((name, place)) = entry(at) else { continue };
            let kind = self.kind_of(place)?;
            let entry = Entry { node: self.places.node(place), file: FileKind::Data, kind, cursor: at + 1 };
            if !each(&name, entry) {
                break;
            }
        }
        Ok(())
    }

    pub fn list_view(
        &self,
        dir: ViewNode,
        cursor: u64,
        each: &mut dyn FnMut(&[u8], Entry) -> bool,
    ) -> Result<()> {
        match dir {
            ViewNode::Root => self.list_some(cursor, NAMES.len() as u64, each, &|at| {
                Some((NAMES.get(at as usize)?.to_vec(), ViewNode::View(at as usize)))
            }),
            ViewNode::View(2) => self.list_some(cursor, self.places.annotations(), each, &|at| {
                Some((self.annotated.name(&self.set, at as u32), ViewNode::Annotation(at as u32)))
            }),
            ViewNode::Annotation(annotation) => {
                let signals = self.signals_of(annotation);
                self.list_some(cursor, signals.len() as u64, each, &|at| {
                    let signal = *signals.get(at as usize)?;
                    self.span(annotation, signal)?;
                    Some((SpanNames::name(&self.set, signal), ViewNode::Span(annotation, at as u32)))
                })
            }
            ViewNode::Channels(node) if self.signal(node).is_some() => {
                let signal = self.signal(node).ok_or(Error::NotFound)?;
                self.list_some(cursor, self.places.channels_of(signal), each, &|at| {
                    Some((self.channel_name(signal, at), ViewNode::Channel(signal, at)))
                })
            }
            ViewNode::View(_) | ViewNode::Channels(_) | ViewNode::Decoded(_) => {
                self.list_like(dir, cursor, each)
            }
            _ => Err(Error::NotADirectory),
        }
    }

    /// Lists a view's directory that mirrors an arena directory.
    fn list_like(
        &self,
        dir: ViewNode,
        cursor: u64,
        each: &mut dyn FnMut(&[u8], Entry) -> bool,
    ) -> Result<()> {
        let node = self.behind(dir).ok_or(Error::NotADirectory)?;
        let is_decoded = matches!(dir, ViewNode::View(1) | ViewNode::Decoded(_));
        let mut failed = Ok(());
        self.arena.each(node, cursor, &mut |name, entry| {
            if entry.file == FileKind::Sidecar {
                return true;
            }
            let is_file = entry.kind == NodeKind::File;
            let name = if is_decoded && is_file { [name, NPY].concat() } else { name.to_vec() };
            let Some(place) = self.find(dir, &name) else { return true };
            match self.kind_of(place) {
                Ok(kind) => each(&name, Entry { node: self.places.node(place), kind, ..entry }),
                Err(error) => {
                    failed = Err(error);
                    false
                }
            }
        });
        failed
    }
}

/// Applies `make` to valid samples; broken ones keep their error.
fn if_valid(samples: Content, make: impl FnOnce(Content) -> Result<Content>) -> Result<Content> {
    match samples {
        Content::Broken { .. } => Ok(samples),
        samples => make(samples),
    }
}
