//! From a file to its datasets: checks the fixed part, reads the header text and hands each of its items
//! to `entry`. Whatever is wrong with the header itself refuses the container; what is wrong with one
//! entry stays with that entry, and is named in the log.

use super::MAGIC;
use super::entry::{self, Dataset};
use crate::error::Place;
use crate::source::Source;
use crate::yaml::{self, Item, Problem, Stop};
use crate::{Error, Result};

/// Magic and length.
const FIXED: u64 = 7;
/// So many damaged entries are named in the log one by one.
const NAMED: usize = 1000;

/// Names (WTF-8) and datasets in the header's order.
pub type Datasets = (Vec<Box<[u8]>>, Vec<Dataset>);

/// Where the parts of a container lie.
#[derive(Clone, Copy)]
pub struct Layout {
    /// File offset of the header text.
    pub header: u64,
    /// File offset that byteOffset counts from.
    pub data: u64,
    /// Length of the file.
    pub end: u64,
}

pub fn read(source: &dyn Source) -> Result<Datasets> {
    let layout = layout(source)?;
    let bytes = source.read_range(layout.header..layout.data)?;
    let text = std::str::from_utf8(&bytes).map_err(|bad| {
        let at = layout.header + bad.valid_up_to() as u64;
        Error::damaged(source.place().at(at), "the header is not UTF-8")
    })?;
    let datasets = parse(text, layout, &source.place())?;
    report(&datasets.1);
    Ok(datasets)
}

fn layout(source: &dyn Source) -> Result<Layout> {
    let end = source.len();
    let needed = |need: u64, what: &str| {
        Error::damaged(source.place(), format!("{what} ends at byte {need}, the file has {end}"))
    };
    if end < FIXED {
        return Err(needed(FIXED, "the header's length"));
    }
    let mut fixed = [0; FIXED as usize];
    source.read_exact_at(&mut fixed, 0)?;
    let [.., a, b, c, d] = fixed;
    debug_assert!(fixed.starts_with(MAGIC));
    let data = FIXED + u64::from(u32::from_le_bytes([a, b, c, d]));
    if data > end {
        return Err(needed(data, "the header"));
    }
    Ok(Layout { header: FIXED, data, end })
}

/// YAML first, then JSON, as the format's own reader does; if neither can read it, what is wrong with it
/// as YAML is said.
fn parse(text: &str, layout: Layout, place: &Place) -> Result<Datasets> {
    let unreadable = |problem: Problem| {
        let at = layout.header + problem.offset;
        Error::damaged(place.at(at), format!("the header cannot be read: {}", problem.what))
    };
    let mut found = (Vec::new(), Vec::new());
    let problem = match yaml::each_item(text, &mut |item| add(item, text, layout, place, &mut found)) {
        Ok(()) => return Ok(found),
        Err(Stop::Caller(error)) => return Err(error),
        Err(Stop::Problem(problem)) => problem,
    };
    found = (Vec::new(), Vec::new());
    match yaml::json_items(text, &mut |item| add(item, text, layout, place, &mut found)) {
        Ok(()) => Ok(found),
        Err(Stop::Caller(error)) => Err(error),
        Err(Stop::Problem(_)) => Err(unreadable(problem)),
    }
}

fn add(item: Item, text: &str, layout: Layout, place: &Place, found: &mut Datasets) -> Result<()> {
    let (number, line) = (found.0.len() + 1, item.line);
    let at = place.at(layout.header + item.span.start as u64);
    let (name, dataset) = entry::dataset(item, text, layout, place).map_err(|problem| {
        Error::damaged(at, format!("entry {number} of the header (its line {line}) {problem}"))
    })?;
    found.0.push(name);
    found.1.push(dataset);
    Ok(())
}

fn report(datasets: &[Dataset]) {
    let mut faults = datasets.iter().filter_map(|dataset| dataset.fault.as_ref());
    for fault in faults.by_ref().take(NAMED) {
        log::warn!("{fault}; reads of it give an input/output error");
    }
    let more = faults.count();
    if more > 0 {
        log::warn!("... and {more} more datasets like these");
    }
}
