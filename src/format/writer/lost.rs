//! Notes about what some formats cannot hold of a dataset, each phrased to follow "PLACE: ".

use std::path::Path;

use super::NewDataset;
use crate::format::Compression;

/// For an F-ordered array in a format that is always C-ordered.
pub const F_ORDER: &str = "its F order is not kept: its elements are written in C order";

/// For formats without metadata.
pub fn metadata(dataset: &NewDataset<'_>) -> Option<String> {
    let has_some =
        !dataset.metadata.is_null() && dataset.metadata.as_map().is_none_or(|pairs| !pairs.is_empty());
    has_some.then(|| "its metadata is not kept".into())
}

/// For formats whose only array is named after the file.
pub fn name(dataset: &NewDataset<'_>, path: &Path) -> Option<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    (*stem != *dataset.name.lossy())
        .then(|| format!("its name is not kept: it will be called {stem:?} like the file"))
}

/// For formats without compression.
pub fn compression(dataset: &NewDataset<'_>) -> Option<String> {
    let is_asked_for = dataset.compression.is_some_and(|asked| asked != Compression::None);
    is_asked_for.then(|| "it is not compressed".into())
}

/// For formats that are always little-endian; `swapped` is the number of bytes per swapped word.
pub fn byte_order(swapped: usize) -> Option<String> {
    let note = "its big-endian byte order is not kept: its elements are written little-endian";
    (swapped > 1).then(|| note.into())
}
