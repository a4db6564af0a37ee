//! The sidecar of a dataset: its header entry (name, metadata, codecMeta and whatever else it has); for a dataset
//! without bytes, its place in the header; for an array, numpy's description and a line to paste. If the entry's text
//! loads on its own to the same values in YAML 1.1 and 1.2, it is served verbatim, moved to the left margin; otherwise
//! equivalent text is generated.

use super::entry::{Data, Fault};
use super::records::EntryText;
use crate::array::{Array, numpy};
use crate::yaml::{self, Node};

/// The place in the header of a dataset without stored bytes, by which `rab pack` orders those whose offsets do not
/// determine it. `node` is the entry, if it may have a key of this name itself.
pub fn place(number: u32, data: Result<&Data, &Fault>, node: Option<&Node>) -> String {
    let has_own = || node.is_some_and(|node| node.get("number").is_some());
    match data {
        Ok(data) if data.stored.is_empty() && !has_own() => format!("number: {number}\n"),
        _ => String::new(),
    }
}

/// The sidecar of a dataset whose file is called `file_name`; `place` comes from [`place`].
pub fn build(entry: &EntryText, place: &str, array: Option<&Array>, file_name: &[u8]) -> Vec<u8> {
    let mut out = match entry.own {
        Some(column) => yaml::dedent(&entry.text, column),
        None => {
            let mut written = String::new();
            yaml::write(&entry.node, 0, &mut written);
            written
        }
    };
    out.push_str(place);
    if let Some(array) = array {
        out.push_str(&numpy::Parts::of(array, has_own_description(&entry.node)).text(file_name));
    }
    out.into_bytes()
}

/// Does the entry have a key `numpy` of its own? Ours is then left out.
pub fn has_own_description(node: &Node) -> bool {
    node.get("numpy").is_some()
}
