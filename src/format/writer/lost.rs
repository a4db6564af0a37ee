//! Notes about what some formats cannot hold of a dataset, as ends of the sentence "PLACE: ...".

use std::path::Path;

use super::NewDataset;
use crate::format::Compression;

/// Of an array in F order, where elements are always in C order.
pub const F_ORDER: &str = "its F order is not kept: its elements are written in C order";

/// Where there is no metadata.
pub fn metadata(dataset: &NewDataset<'_>) -> Option<String> {
    let has_some =
        !dataset.metadata.is_null() && dataset.metadata.as_map().is_none_or(|pairs| !pairs.is_empty());
    has_some.then(|| "its metadata is not kept".into())
}

/// Where the only array is called like the file.
pub fn name(dataset: &NewDataset<'_>, path: &Path) -> Option<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    (*stem != *dataset.name.lossy())
        .then(|| format!("its name is not kept: it will be called {stem:?} like the file"))
}

/// Where nothing is compressed.
pub fn compression(dataset: &NewDataset<'_>) -> Option<String> {
    let is_asked_for = dataset.compression.is_some_and(|asked| asked != Compression::None);
    is_asked_for.then(|| "it is not compressed".into())
}

/// Where elements are always little-endian; `swapped` is how many bytes change places.
pub fn byte_order(swapped: usize) -> Option<String> {
    let note = "its big-endian byte order is not kept: its elements are written little-endian";
    (swapped > 1).then(|| note.into())
}
