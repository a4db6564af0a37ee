//! Numbering of nodes: the root and its three directories; a node per arena node in `channels` and again in `decoded`;
//! the channels of all signals; the annotations; and for each annotation the signals of its recording.

use crate::format::onda::read::set::Set;
use crate::tree::{NodeId, ROOT};

pub const NAMES: [&[u8]; 3] = [b"channels", b"decoded", b"spans"];

/// Mirrored directories use 32 bits for the nodes of a container.
const MAX_NODES: u64 = 1 << 32;

/// What a node number means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewNode {
    Root,
    /// One of [`NAMES`].
    View(usize),
    /// An arena node in `channels`, always a directory.
    Channels(NodeId),
    /// An arena node in `decoded`.
    Decoded(NodeId),
    /// A channel of a signal.
    Channel(u32, u64),
    Annotation(u32),
    /// An annotation's signal, by its index in the recording.
    Span(u32, u32),
}

/// The counts from which node numbers are computed.
pub struct Places {
    /// Number of arena nodes.
    arena: NodeId,
    /// For each signal, the number of channels of all signals before it.
    channels: Vec<u64>,
    /// For each annotation, the number of signals in the recordings of all annotations before it.
    spans: Vec<u64>,
}

impl Places {
    /// `arena` and `others` count the container's other nodes. If there are too many nodes, `spans` and then also
    /// `channels` become empty.
    pub fn new(arena: NodeId, others: u64, set: &Set) -> Places {
        let of_signal = |number| set.signal(number).and_then(|(table, row)| table.channels(row).ok());
        let channels = (0..set.signals.len() as u32).map(|number| of_signal(number).unwrap_or(0));
        let spans = set.annotations.iter().map(|row| {
            set.recordings.get(row.recording as usize).map_or(0, |recording| recording.signals.len())
        });
        let mut places = Places { arena, channels: sums(channels), spans: sums(spans) };
        let max = MAX_NODES.saturating_sub(arena + others);
        if places.nodes() > max {
            log::warn!("there are too many annotations of too many signals: .views/spans is empty");
            places.spans = vec![0];
        }
        if places.nodes() > max {
            log::warn!("there are too many channels: .views/channels is empty");
            places.channels = vec![0];
        }
        places
    }

    /// The number of nodes.
    pub fn nodes(&self) -> u64 {
        self.first(4) + self.spans.last().copied().unwrap_or(0)
    }

    /// The number of annotations with a directory.
    pub fn annotations(&self) -> u64 {
        self.spans.len() as u64 - 1
    }

    /// The number of channels of a signal with a file.
    pub fn channels_of(&self, signal: u32) -> u64 {
        let edge = |at: usize| self.channels.get(at).copied();
        edge(signal as usize).zip(edge(signal as usize + 1)).map_or(0, |(start, end)| end - start)
    }

    pub fn memory(&self) -> u64 {
        8 * (self.channels.len() + self.spans.len()) as u64
    }

    fn first(&self, part: usize) -> NodeId {
        let views = 1 + NAMES.len() as u64;
        let channels = self.channels.last().copied().unwrap_or(0);
        [views, views + self.arena, views + 2 * self.arena, views + 2 * self.arena + channels]
            .get(part)
            .copied()
            .unwrap_or(views + 2 * self.arena + channels + self.annotations())
    }

    /// What a number means.
    pub fn of(&self, node: NodeId) -> Option<ViewNode> {
        let after = |part| node.checked_sub(self.first(part));
        if let Some(at) = after(4) {
            let (annotation, signal) = within(&self.spans, at)?;
            return Some(ViewNode::Span(annotation, signal as u32));
        }
        if let Some(at) = after(3) {
            return Some(ViewNode::Annotation(at as u32));
        }
        if let Some(at) = after(2) {
            let (signal, channel) = within(&self.channels, at)?;
            return Some(ViewNode::Channel(signal, channel));
        }
        if let Some(at) = after(1) {
            return Some(ViewNode::Decoded(at));
        }
        if let Some(at) = after(0) {
            return Some(ViewNode::Channels(at));
        }
        Some(match node {
            ROOT => ViewNode::Root,
            view => ViewNode::View(view as usize - 1),
        })
    }

    pub fn node(&self, place: ViewNode) -> NodeId {
        let before = |list: &[u64], at: u32| list.get(at as usize).copied().unwrap_or(0);
        match place {
            ViewNode::Root => ROOT,
            ViewNode::View(view) => 1 + view as u64,
            ViewNode::Channels(ROOT) => self.node(ViewNode::View(0)),
            ViewNode::Decoded(ROOT) => self.node(ViewNode::View(1)),
            ViewNode::Channels(node) => self.first(0) + node,
            ViewNode::Decoded(node) => self.first(1) + node,
            ViewNode::Channel(signal, channel) => self.first(2) + before(&self.channels, signal) + channel,
            ViewNode::Annotation(at) => self.first(3) + u64::from(at),
            ViewNode::Span(at, signal) => self.first(4) + before(&self.spans, at) + u64::from(signal),
        }
    }
}

/// 0, followed by the running sums.
fn sums(counts: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut sum = 0;
    let sums = counts.map(|count| {
        sum += count as u64;
        sum
    });
    std::iter::once(0).chain(sums.collect::<Vec<_>>()).collect()
}

/// The part that contains `at`, and the position in it. `starts` are the starts of the parts.
fn within(starts: &[u64], at: u64) -> Option<(u32, u64)> {
    let part = starts.partition_point(|start| *start <= at).checked_sub(1)?;
    let start = *starts.get(part)?;
    (part + 1 < starts.len()).then_some((part as u32, at - start))
}
