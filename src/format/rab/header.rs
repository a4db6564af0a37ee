//! Reads the header of a file into its datasets, in windows and entry by entry: entries of the usual layout with
//! `fast`, others with the general parser, each from its own text. If that fails for any entry, the general parser
//! reads the whole header, and its result counts.
//!
//! Reading entry by entry gives the same result as reading the whole, because the list's items begin at "- " in the
//! first column. A cut before such a line inside something else (quotes, brackets, another document) leaves a piece
//! that is not valid YAML; a cut before an item leaves the parser in its initial state (unless a document ended
//! there). Anchors are carried over.
//!
//! A problem with the header itself makes opening fail; a problem with one entry affects only that entry, and is
//! logged.

use super::entry;
use super::fast;
use super::layout::Layout;
use super::records::{Records, SidecarLen, TextAt};
use super::sidecar;
use super::window::Window;
use crate::array::{Array, numpy};
use crate::error::Place;
use crate::source::Source;
use crate::tree::NameList;
use crate::yaml::{self, Anchors, Item, Problem, Stop};
use crate::{Error, Result};

/// Maximum number of damaged entries logged one by one.
const NAMED: usize = 1000;
const MAX_HEADER_LEN: u64 = 1 << 30;

/// The names and datasets of a container, in header order.
pub struct Header {
    pub names: NameList,
    pub records: Records,
}

pub fn read(source: &dyn Source, layout: Layout) -> Result<Header> {
    let header = match in_pieces(source, layout)? {
        Some(header) => header,
        None => whole(source, layout)?,
    };
    report(&header, &source.place());
    Ok(header)
}

/// The readable entries of a damaged header, up to the point where it is no longer YAML.
pub fn salvage(source: &dyn Source, layout: Layout) -> Result<Header> {
    let bytes = bounded(source, layout)?;
    let valid = std::str::from_utf8(&bytes).map_or_else(|bad| bad.valid_up_to(), str::len);
    let text = std::str::from_utf8(bytes.get(..valid).unwrap_or_default()).unwrap_or_default();
    let mut found = Collector::new(layout);
    let mut anchors = Anchors::default();
    let add = &mut |item, anchors: &Anchors<'_>| {
        let _ = found.add(item, text, 0, anchors);
        Ok(())
    };
    let _ = yaml::each_item(text, &mut anchors, add);
    found.header.records.finish(anchors);
    Ok(found.header)
}

/// Reads the header entry by entry; None if it has to be read as a whole.
fn in_pieces(source: &dyn Source, layout: Layout) -> Result<Option<Header>> {
    let mut window = Window::new(source, layout.header..layout.data);
    let mut found = Collector::new(layout);
    let mut anchors = Anchors::default();
    window.skip_line_breaks()?;
    while !window.is_done() {
        window.fill()?;
        let (text, last) = window.rest();
        if let Some(entry) = fast::entry(text, last, layout) {
            let (at, len) = (window.position(), entry.len);
            if found.usual(entry, at).is_err() {
                return Ok(None);
            }
            window.consume(len);
            continue;
        }
        let Some(piece) = window.piece()? else { return Ok(None) };
        let at = window.position();
        let Ok(text) = std::str::from_utf8(window.bytes(piece)) else { return Ok(None) };
        if ends_document(text) {
            return Ok(None);
        }
        let add = &mut |item, anchors: &Anchors<'_>| found.add(item, text, at, anchors).map_err(Error::Other);
        if yaml::each_item(text, &mut anchors, add).is_err() {
            return Ok(None);
        }
        window.consume(piece);
    }
    found.header.records.finish(anchors);
    Ok(Some(found.header))
}

/// Does the text contain a document marker? A piece still parses with one at its end, but it must not precede another.
fn ends_document(text: &str) -> bool {
    text.contains("\n...") || text.contains("\n---")
}

/// YAML first, then JSON, as the format's own reader does; if neither can read it, what is wrong with it
/// as YAML is reported.
fn whole(source: &dyn Source, layout: Layout) -> Result<Header> {
    let place = source.place();
    let bytes = bounded(source, layout)?;
    let text = std::str::from_utf8(&bytes).map_err(|bad| {
        let at = layout.header + bad.valid_up_to() as u64;
        Error::damaged(place.at(at), "the header is not UTF-8")
    })?;
    if is_tabbed_json(text) {
        let mut found = Collector::new(layout);
        let add = &mut |item, anchors: &Anchors<'_>| found.located(item, text, &place, anchors);
        if yaml::json_items(text, add).is_ok() {
            return Ok(found.header);
        }
    }
    let mut found = Collector::new(layout);
    let mut anchors = Anchors::default();
    let add = &mut |item, anchors: &Anchors<'_>| found.located(item, text, &place, anchors);
    let problem = match yaml::each_item(text, &mut anchors, add) {
        Ok(()) => {
            found.header.records.finish(anchors);
            return Ok(found.header);
        }
        Err(Stop::Caller(error)) => return Err(error),
        Err(Stop::Problem(problem)) => problem,
    };
    let mut found = Collector::new(layout);
    let add = &mut |item, anchors: &Anchors<'_>| found.located(item, text, &place, anchors);
    match yaml::json_items(text, add) {
        Ok(()) => Ok(found.header),
        Err(Stop::Caller(error)) => Err(error),
        Err(Stop::Problem(_)) => Err(unreadable(&problem, layout, &place)),
    }
}

/// The whole header's bytes, scanned piece by piece before they are loaded, so that a claim of 4 GiB in a file that is
/// not RAB costs nothing.
fn bounded(source: &dyn Source, layout: Layout) -> Result<Vec<u8>> {
    let len = layout.data - layout.header;
    if len > MAX_HEADER_LEN {
        let limit = MAX_HEADER_LEN >> 30;
        let problem = format!(
            "the header of {len} bytes is not of the usual layout, for which the limit is {limit} GiB"
        );
        return Err(Error::damaged(source.place(), problem));
    }
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127);
    let mut at = layout.header;
    while at < layout.data {
        let end = layout.data.min(at + (1 << 20));
        if let Some(bad) = source.read_range(at..end)?.iter().position(is_control) {
            let byte = source.read_range(at + bad as u64..at + bad as u64 + 1)?;
            let problem = format!("the header cannot be read: holds the control character U+{:04X}", byte[0]);
            return Err(Error::damaged(source.place().at(at + bad as u64), problem));
        }
        at = end;
    }
    source.read_range(layout.header..layout.data)
}

/// PyYAML rejects tabs before a token, so the reference reader falls back to JSON; our YAML parser would accept them.
fn is_tabbed_json(text: &str) -> bool {
    text.trim_start().starts_with('[') && text.contains('\t')
}

fn unreadable(problem: &Problem, layout: Layout, place: &Place) -> Error {
    let at = layout.header + problem.offset;
    Error::damaged(place.at(at), format!("the header cannot be read: {}", problem.what))
}

/// Collects datasets; text positions are relative to the start of the header.
struct Collector {
    layout: Layout,
    header: Header,
    /// Computes the lengths of sidecars that have to be generated.
    measure: yaml::Measure,
    /// The last array and the length of its description, since neighbours are mostly alike.
    described: Option<(Array, usize)>,
}

impl Collector {
    fn new(layout: Layout) -> Collector {
        let header = Header { names: NameList::default(), records: Records::default() };
        Collector { layout, header, measure: yaml::Measure::new(), described: None }
    }

    fn usual(&mut self, entry: fast::Entry<'_>, at: usize) -> Result<(), String> {
        let (dash, indent) = (2, 2);
        let span = at + dash..at + entry.len;
        let len = span.len() - indent * (entry.lines - 1);
        let description = entry.array.map_or(0, |array| self.description_len(array));
        let form = yaml::Form::Block { column: indent };
        self.header.names.push(entry.name);
        let place = sidecar::place(self.header.records.len() as u32, Ok(&entry.data), None);
        let sidecar = SidecarLen { entry: len + place.len(), description };
        self.header.records.push(TextAt { span, form, own: true }, sidecar, Ok(entry.data))
    }

    /// Adds an item parsed from `text`, which begins at offset `at`.
    fn add(&mut self, item: Item, text: &str, at: usize, anchors: &Anchors<'_>) -> Result<(), String> {
        let entry = entry::entry(&item.node, self.layout)?;
        let own_text = text.get(item.span.clone()).unwrap_or_default();
        let len = match item.form {
            yaml::Form::Block { column } if item.portable => yaml::dedented_len(own_text, column),
            _ => yaml::written_len(self.measure.len(&item.node, anchors), own_text)?,
        };
        let description = match entry.array {
            Some(array) if sidecar::has_own_description(&item.node) => numpy::Parts::of(&array, true).len(),
            Some(array) => self.description_len(array),
            None => 0,
        };
        self.header.names.push(&entry.name);
        let span = at + item.span.start..at + item.span.end;
        let at = TextAt { span, form: item.form, own: item.portable };
        let place = sidecar::place(self.header.records.len() as u32, entry.data.as_ref(), Some(&item.node));
        self.header.records.push(at, SidecarLen { entry: len + place.len(), description }, entry.data)
    }

    /// Like [`Collector::add`] for the whole header's text; errors name the position.
    fn located(&mut self, item: Item, text: &str, place: &Place, anchors: &Anchors<'_>) -> Result<()> {
        let (number, line) = (self.header.records.len() + 1, item.line);
        let place = place.at(self.layout.header + item.span.start as u64);
        self.add(item, text, 0, anchors).map_err(|problem| {
            Error::damaged(place, format!("entry {number} of the header (its line {line}) {problem}"))
        })
    }

    fn description_len(&mut self, array: Array) -> usize {
        match &self.described {
            Some((last, len)) if *last == array => *len,
            _ => {
                let len = numpy::Parts::of(&array, false).len();
                self.described = Some((array, len));
                len
            }
        }
    }
}

fn report(header: &Header, place: &Place) {
    let faults = header.records.faults();
    let mut wanted = faults.iter().take(NAMED).peekable();
    for (number, name) in (0..).zip(header.names.iter()) {
        let Some((_, fault)) = wanted.next_if(|(faulty, _)| *faulty == number) else { continue };
        let name = String::from_utf8_lossy(name);
        let error = Error::damaged(place.dataset(&name), fault.problem.as_str());
        log::warn!("{error}; reads of it give an input/output error");
    }
    if faults.len() > NAMED {
        log::warn!("{place}: and {} more datasets like these", faults.len() - NAMED);
    }
}

#[cfg(test)]
mod tests;
