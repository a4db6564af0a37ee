//! The sidecar of a dataset: its header entry (name, metadata, codecMeta and whatever else it has), for
//! arrays followed by numpy's description and a line to paste. Where the entry's text loads by itself to
//! the same values in YAML 1.1 and 1.2 it is served as it stands in the header, moved to the left margin;
//! otherwise a text of the same values is written.

use super::records::EntryText;
use crate::array::{Array, numpy};
use crate::yaml::{self, Node};

/// The bytes of the sidecar file of a dataset whose file is called `file_name`.
pub fn build(entry: &EntryText, array: Option<&Array>, file_name: &[u8]) -> Vec<u8> {
    let mut out = match entry.own {
        Some(column) => yaml::dedent(&entry.text, column),
        None => {
            let mut written = String::new();
            yaml::write(&entry.node, 0, &mut written);
            written
        }
    };
    if let Some(array) = array {
        out.push_str(&numpy::Parts::of(array, has_own_description(&entry.node)).text(file_name));
    }
    out.into_bytes()
}

/// The entry has a key `numpy` of its own, so ours is left out.
pub fn has_own_description(node: &Node) -> bool {
    node.get("numpy").is_some()
}
