//! Composes parser events into nodes, one item of the top-level list at a time. Only anchored nodes outlive their item.
//! An alias shares its anchor's node, so it costs nothing here, however large the value.

pub(super) mod keys;
mod whole;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use libyaml_safer::{Event, EventData, MappingStyle, ScalarStyle, SequenceStyle};

use super::events::Events;
use super::portable::Watch;
use super::{Form, Item, Node, Problem, Stop, resolve, surrogates};

pub use whole::{typed_value, value, value_to_write};

/// Maximum nesting depth of collections, counted through aliases.
pub const MAX_DEPTH: usize = 500;

/// Maximum size of everything that the merge keys of a text copy together: [`NODE_SIZE`] and the text of each node.
const MAX_MERGED: u64 = 64 << 20;

const NODE_SIZE: u64 = 16;

type Pair = (Arc<Node>, Arc<Node>);

/// The anchored nodes, which outlive their item. When a list is read in pieces of whole items, all pieces share one.
#[derive(Default)]
pub struct Anchors<'a> {
    /// `None` while the anchored collection is still open.
    nodes: HashMap<String, Option<Built>>,
    merged: u64,
    /// Addresses of the anchored nodes.
    addresses: HashSet<usize>,
    /// Searched for anchors that are not among `nodes`.
    outer: Option<&'a Anchors<'a>>,
}

impl<'a> Anchors<'a> {
    /// For rereading one item: can see all anchors of `outer`, and does not change it.
    pub fn within(outer: &'a Anchors<'a>) -> Anchors<'a> {
        Anchors { outer: Some(outer), ..Anchors::default() }
    }

    /// True if this very node is anchored. Anchored nodes live as long as `self`.
    pub(super) fn holds(&self, node: &Node) -> bool {
        self.addresses.contains(&std::ptr::from_ref(node).addr())
    }

    fn get(&self, anchor: &str) -> Option<&Option<Built>> {
        self.nodes.get(anchor).or_else(|| self.outer?.get(anchor))
    }
}

/// Calls `each` for every item of the top-level list, in order. An empty text and `null` count as an empty list.
/// Items before a problem have already been passed to `each` when it is found.
pub fn each_item(
    text: &str,
    anchors: &mut Anchors<'_>,
    each: &mut dyn FnMut(Item, &Anchors<'_>) -> crate::Result<()>,
) -> Result<(), Stop> {
    let parsed = surrogates::hide(text);
    Composer::new(text, &parsed, anchors)?.document(each)
}

/// A finished node, with the size and depth that an alias to it adds.
#[derive(Clone)]
struct Built {
    node: Arc<Node>,
    size: u64,
    /// Levels of nested collections, including the node itself.
    height: usize,
}

struct Composer<'t, 'a, 'o> {
    /// The original text. If `has_surrogates`, the events come from a copy in which surrogates are hidden.
    text: &'t str,
    has_surrogates: bool,
    events: Events<'t>,
    anchors: &'a mut Anchors<'o>,
    flow_level: usize,
    watch: Watch<'t>,
}

/// A collection before its tag is applied, its size and height, and the offset of its end.
type Content = (Node, Sum, usize);

/// The properties that precede a node's content.
struct Properties {
    anchor: Option<String>,
    tag: Option<String>,
}

/// Total size and maximum height of the children of an open collection.
#[derive(Default)]
struct Sum {
    size: u64,
    height: usize,
}

impl Sum {
    fn add(&mut self, child: &Built) {
        self.size = self.size.saturating_add(child.size);
        self.height = self.height.max(child.height);
    }
}

impl<'t, 'a, 'o> Composer<'t, 'a, 'o> {
    /// `parsed` is the result of [`surrogates::hide`] for the text.
    fn new(
        text: &'t str,
        parsed: &'t Cow<'t, str>,
        anchors: &'a mut Anchors<'o>,
    ) -> Result<Composer<'t, 'a, 'o>, Problem> {
        let has_surrogates = matches!(parsed, Cow::Owned(_));
        let (events, watch) = (Events::new(parsed)?, Watch::new(text, None));
        Ok(Composer { text, has_surrogates, events, anchors, flow_level: 0, watch })
    }
}

impl Composer<'_, '_, '_> {
    fn document(
        &mut self,
        each: &mut dyn FnMut(Item, &Anchors<'_>) -> crate::Result<()>,
    ) -> Result<(), Stop> {
        self.events.next()?; // the stream's start
        if matches!(self.events.next()?.data, EventData::StreamEnd) {
            return Ok(());
        }
        self.root(each)?;
        self.events.next()?; // the document's end
        let after = self.events.next()?;
        match after.data {
            EventData::StreamEnd => Ok(()),
            _ => Err(self.problem(&after, "a second document begins").into()),
        }
    }

    fn root(&mut self, each: &mut dyn FnMut(Item, &Anchors<'_>) -> crate::Result<()>) -> Result<(), Stop> {
        let root = self.events.next()?;
        match &root.data {
            EventData::SequenceStart { anchor, style, .. } => {
                self.open(anchor, self.events.offset(&root.start_mark))?;
                let is_block = *style == SequenceStyle::Block;
                self.flow_level = usize::from(!is_block);
                self.items(is_block, each)
            }
            EventData::Scalar { tag: None, style: ScalarStyle::Plain, value, .. }
                if resolve::plain(value).is_null() =>
            {
                Ok(())
            }
            _ => Err(self.problem(&root, "is not a list").into()),
        }
    }

    fn items(
        &mut self,
        is_block: bool,
        each: &mut dyn FnMut(Item, &Anchors<'_>) -> crate::Result<()>,
    ) -> Result<(), Stop> {
        loop {
            let event = self.events.next()?;
            if matches!(event.data, EventData::SequenceEnd) {
                return Ok(());
            }
            let item = self.item(event, is_block)?;
            each(item, self.anchors)?;
        }
    }

    fn item(&mut self, first: Event, is_block: bool) -> Result<Item, Problem> {
        let is_mapping = matches!(first.data, EventData::MappingStart { style: MappingStyle::Block, .. });
        let is_block = is_block && is_mapping;
        let column = usize::try_from(first.start_mark.column).ok();
        self.watch = Watch::new(self.text, column.filter(|_| is_block));
        let start = self.events.offset(&first.start_mark);
        let line = first.start_mark.line.saturating_add(1);
        let (built, end) = self.node(first, 1)?;
        let span = if is_block { start..self.line_end(start, end) } else { start..end };
        let watch = std::mem::replace(&mut self.watch, Watch::new(self.text, None));
        let form = column.filter(|_| is_block).map_or(Form::Flow, |column| Form::Block { column });
        Ok(Item { node: built.node, portable: watch.finish(span.clone()), form, span, line })
    }

    /// The end of the last non-blank line before `end`, where the next item begins or the list ends.
    fn line_end(&self, start: usize, end: usize) -> usize {
        let body = self.text.get(start..end).unwrap_or_default();
        let body = match body.rsplit_once('\n') {
            Some((lines, rest)) if rest.bytes().all(|b| b == b' ') => lines,
            _ => body,
        };
        let kept = start + body.trim_end_matches([' ', '\n']).len();
        let rest = self.text.get(kept..end).unwrap_or_default();
        rest.find('\n').map_or(kept, |at| kept + at + 1)
    }

    /// Composes the node that begins with this event; also returns the offset of its end.
    fn node(&mut self, event: Event, depth: usize) -> Result<(Built, usize), Problem> {
        let start = self.events.offset(&event.start_mark);
        let end = self.events.offset(&event.end_mark);
        match event.data {
            EventData::Alias { anchor } => Ok((self.alias(&anchor, depth, start)?, end)),
            EventData::Scalar { anchor, tag, value, style, .. } => {
                Ok((self.scalar(Properties { anchor, tag }, value, style, start..end)?, end))
            }
            EventData::SequenceStart { anchor, tag, style, .. } => {
                let is_flow = style == SequenceStyle::Flow;
                self.collection(Properties { anchor, tag }, is_flow, start, depth, Self::sequence)
            }
            EventData::MappingStart { anchor, tag, style, .. } => {
                let is_flow = style == MappingStyle::Flow;
                self.collection(Properties { anchor, tag }, is_flow, start, depth, Self::mapping)
            }
            _ => Err(Problem::new(start, "is not YAML: the events of the parser are out of order")),
        }
    }

    fn alias(&mut self, anchor: &str, depth: usize, start: usize) -> Result<Built, Problem> {
        self.watch.spoil();
        let built = match self.anchors.get(anchor) {
            Some(Some(built)) => built.clone(),
            Some(None) => {
                return Err(Problem::new(start, format!("alias *{anchor} stands inside its own anchor")));
            }
            None => return Err(Problem::new(start, format!("alias *{anchor} has no anchor before it"))),
        };
        check_depth(depth - 1 + built.height, start)?;
        Ok(built)
    }

    /// Merging copies pairs, so its total size is limited.
    fn charge_merge(&mut self, merged: &Built, start: usize) -> Result<(), Problem> {
        self.anchors.merged = self.anchors.merged.saturating_add(merged.size);
        if self.anchors.merged > MAX_MERGED {
            let limit = MAX_MERGED >> 20;
            return Err(Problem::new(start, format!("more than {limit} MiB of values are merged with <<")));
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        properties: Properties,
        value: String,
        style: ScalarStyle,
        at: Range<usize>,
    ) -> Result<Built, Problem> {
        self.open(&properties.anchor, at.start)?;
        let size = NODE_SIZE + value.len() as u64;
        let tag = properties.tag.as_deref().map(resolve::short_tag);
        let node = match tag {
            Some(tag) if tag != "str" => resolve::tagged(tag, &value),
            None if style == ScalarStyle::Plain => resolve::plain(&value),
            _ => Node::text(&value),
        };
        self.watch.scalar(tag, style, &node, &value, self.flow_level > 0, at.clone());
        let node = if self.has_surrogates { self.restored(node, style, at)? } else { node };
        let built = Built { node: Arc::new(node), size, height: 0 };
        self.close(properties.anchor, &built);
        Ok(built)
    }

    /// Undoes [`surrogates::hide`] in a string.
    fn restored(&mut self, node: Node, style: ScalarStyle, at: Range<usize>) -> Result<Node, Problem> {
        let Node::Str(hidden) = node else { return Ok(node) };
        let source = self.text.get(at.clone()).unwrap_or_default();
        let restored = surrogates::restore(hidden.clone(), style, source, at.start)?;
        self.watch.allow_only(restored == hidden);
        Ok(Node::Str(restored))
    }

    fn collection(
        &mut self,
        properties: Properties,
        is_flow: bool,
        start: usize,
        depth: usize,
        compose: fn(&mut Self, usize) -> Result<Content, Problem>,
    ) -> Result<(Built, usize), Problem> {
        check_depth(depth, start)?;
        self.open(&properties.anchor, start)?;
        let tag = properties.tag.as_deref().map(resolve::short_tag);
        self.watch.allow_only(tag.is_none() || tag == Some("set"));
        self.flow_level += usize::from(is_flow);
        let (node, sum, end) = compose(self, depth)?;
        self.flow_level -= usize::from(is_flow);
        if is_flow {
            self.watch.stretch(start..end);
        }
        let node = Arc::new(retag(node, tag));
        self.watch.allow_only(tag.is_none() || matches!(*node, Node::Set(_)));
        let built = Built { node, size: sum.size.saturating_add(NODE_SIZE), height: sum.height + 1 };
        self.close(properties.anchor, &built);
        Ok((built, end))
    }

    fn sequence(&mut self, depth: usize) -> Result<Content, Problem> {
        let (mut items, mut sum) = (Vec::new(), Sum::default());
        loop {
            let event = self.events.next()?;
            if matches!(event.data, EventData::SequenceEnd) {
                return Ok((Node::Seq(items), sum, self.events.offset(&event.end_mark)));
            }
            let (item, _) = self.node(event, depth + 1)?;
            sum.add(&item);
            items.push(item.node);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Content, Problem> {
        let (mut merged, mut pairs, mut sum) = (Vec::new(), Vec::new(), Sum::default());
        loop {
            let event = self.events.next()?;
            if matches!(event.data, EventData::MappingEnd) {
                let end = self.events.offset(&event.end_mark);
                return Ok((Node::Map(self.unique(merged, pairs)), sum, end));
            }
            let is_merge = is_merge(&event.data);
            let (key, _) = self.node(event, depth + 1)?;
            let event = self.events.next()?;
            let start = self.events.offset(&event.start_mark);
            let (value, _) = self.node(event, depth + 1)?;
            if is_merge {
                self.charge_merge(&value, start)?;
            }
            sum.add(&key);
            sum.add(&value);
            if !(is_merge && keys::merge(&mut merged, &value.node)) {
                pairs.push((key.node, value.node));
            }
        }
    }

    /// Merged pairs come first, as in PyYAML.
    fn unique(&mut self, merged: Vec<Pair>, pairs: Vec<Pair>) -> Vec<Pair> {
        let pairs = if merged.is_empty() { pairs } else { merged.into_iter().chain(pairs).collect() };
        let has_odd_key = pairs.iter().any(|(key, _)| keys::is_collection(key));
        let count = pairs.len();
        let pairs = keys::unique(pairs);
        self.watch.allow_only(!has_odd_key && pairs.len() == count);
        pairs
    }

    /// As in PyYAML, an anchor cannot be redefined.
    fn open(&mut self, anchor: &Option<String>, start: usize) -> Result<(), Problem> {
        let Some(anchor) = anchor else { return Ok(()) };
        self.watch.spoil();
        match self.anchors.nodes.insert(anchor.clone(), None) {
            None => Ok(()),
            Some(_) => Err(Problem::new(start, format!("anchor &{anchor} is given twice"))),
        }
    }

    fn close(&mut self, anchor: Option<String>, built: &Built) {
        if let Some(anchor) = anchor {
            self.anchors.addresses.insert(Arc::as_ptr(&built.node).addr());
            self.anchors.nodes.insert(anchor, Some(built.clone()));
        }
    }

    fn problem(&self, event: &Event, what: &str) -> Problem {
        Problem::new(self.events.offset(&event.start_mark), what)
    }
}

fn check_depth(depth: usize, offset: usize) -> Result<(), Problem> {
    if depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(Problem::new(offset, format!("collections are nested more than {MAX_DEPTH} deep")))
}

fn is_merge(event: &EventData) -> bool {
    match event {
        EventData::Scalar { tag: None, style: ScalarStyle::Plain, value, .. } => value == "<<",
        EventData::Scalar { tag: Some(tag), value, .. } => match resolve::short_tag(tag) {
            "!" => value == "<<",
            short => short == "merge",
        },
        _ => false,
    }
}

/// Applies a collection's tag; a tag that does not fit is ignored.
fn retag(node: Node, tag: Option<&str>) -> Node {
    match (tag, node) {
        (Some("set"), Node::Map(pairs)) => Node::Set(pairs.into_iter().map(|(key, _)| key).collect()),
        (Some("omap" | "pairs"), Node::Seq(items)) => Node::Seq(keys::pairs(&items).unwrap_or(items)),
        (_, node) => node,
    }
}
