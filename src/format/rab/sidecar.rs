//! The sidecar of a dataset: its header entry (name, metadata, codecMeta and whatever else it has), of one without
//! bytes its place in the header, for arrays followed by numpy's description and a line to paste. Where the entry's text loads by itself to
//! the same values in YAML 1.1 and 1.2 it is served as it stands in the header, moved to the left margin;
//! otherwise a text of the same values is written.

use super::entry::{Data, Fault};
use super::records::EntryText;
use crate::array::{Array, numpy};
use crate::yaml::{self, Node};

/// The place of a dataset in the header, which `rab pack` orders by where the offset does not tell it: of datasets that
/// have no stored bytes. `node` is the entry, if it may have a key of this name itself.
pub fn place(number: u32, data: Result<&Data, &Fault>, node: Option<&Node>) -> String {
    let has_own = || node.is_some_and(|node| node.get("number").is_some());
    match data {
        Ok(data) if data.stored.is_empty() && !has_own() => format!("number: {number}\n"),
        _ => String::new(),
    }
}

/// The bytes of the sidecar file of a dataset whose file is called `file_name`; `place` is what [`place`] gives.
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

/// The entry has a key `numpy` of its own, so ours is left out.
pub fn has_own_description(node: &Node) -> bool {
    node.get("numpy").is_some()
}
