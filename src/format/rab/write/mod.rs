//! Writes a RAB file. Datasets of any size are streamed into a temporary file in little memory; only
//! [`Writer::finish`] puts the complete file in the target's place.
//!
//! | from the outside in | |
//! |---|---|
//! | `add` | one dataset: its settings and its kinds |
//! | `array`, `dataframe` | whatever is added, as a reader |
//! | `data` | stored bytes, with their checksum |
//! | `header` | the entries |
//! | `target` | the writer as a `NewContainer` |

mod add;
mod array;
mod data;
mod dataframe;
mod header;
mod target;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use add::{Add, Compression};
pub use array::Item;
pub use dataframe::{Column, ColumnValue};
use header::Header;
pub(super) use header::{assemble, sorted};

use crate::codec::deflate::Compressor;
use crate::error::Place;
use crate::format::writer::output::Output;
use crate::yaml::{Node, Text, Value};
use crate::{Error, Result};

/// Writes a RAB file that the format's Python and JavaScript readers can open.
///
/// The target is untouched until [`Writer::finish`], which replaces it atomically. A dataset that could not be added
/// leaves no trace, and others can be added after it.
///
/// ```
/// use ndarray::arr2;
/// use rab::{Column, Compression, Order, Value, Writer};
///
/// # fn main() -> rab::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("new.rab");
/// let samples = arr2(&[[1.5f32, 2.5, 3.5], [4.5, 5.5, 6.5]]);
///
/// let mut writer = Writer::create(&path)?;
/// writer.add("notes").text("two electrodes, three samples\n")?;
/// writer
///     .add("raw/samples")
///     .metadata(Value::map([("unit", "mV".into()), ("rate", 30_000.0.into())]))
///     .compression(Compression::Zlib(6))
///     .order(Order::F)
///     .array(samples.view())?;
/// let setup = Value::map([("amplifier", "no. 3".into()), ("ground", "yes".into())]);
/// writer.add("setup").object(&setup)?;
/// let columns = [Column::new("id", &[1, 2]), Column::new("side", &["left", "right"])];
/// writer.add("table").dataframe(&columns)?;
/// writer.finish()?;
/// # assert!(std::fs::read(&path).unwrap().starts_with(b"rab"));
/// # Ok(())
/// # }
/// ```
pub struct Writer {
    path: PathBuf,
    pub(super) output: Output,
    pub(super) header: Header,
    compressor: Compressor,
}

/// Checks that metadata can be written: a mapping or null.
pub fn metadata(value: &Value) -> Result<Node, String> {
    let node = value.node().map_err(|problem| format!("its metadata: {problem}"))?;
    let is_fit = node.is_null() || node.as_map().is_some();
    if is_fit { Ok(node) } else { Err("its metadata is not a mapping".into()) }
}

impl Writer {
    /// Begins a file at `path`, which may exist already. Several writers may share a path: the last to finish wins.
    ///
    /// # Errors
    /// If no file can be written there.
    pub fn create(path: impl AsRef<Path>) -> Result<Writer> {
        Writer::create_with(path.as_ref(), true)
    }

    /// Without `force`, what is at the path when it is finished is not replaced.
    pub(super) fn create_with(path: &Path, force: bool) -> Result<Writer> {
        Writer::with_limit(path, force, u32::MAX.into())
    }

    fn with_limit(path: &Path, force: bool, limit: u64) -> Result<Writer> {
        let output = Output::create(path, force).map_err(|cause| Error::write(Place::file(path), cause))?;
        let header = Header::new(output.directory(), limit);
        Ok(Writer { path: path.to_owned(), output, header, compressor: Compressor::new(1) })
    }

    /// Sets the number of compressing threads. The file does not depend on it.
    pub fn jobs(self, jobs: usize) -> Writer {
        Writer { compressor: Compressor::new(jobs), ..self }
    }

    /// Begins a dataset, to be described and then given its data. Its name may be any unused text.
    pub fn add(&mut self, name: impl Into<Text>) -> Add<'_> {
        Add::new(self, name.into())
    }

    /// A separate, empty header.
    pub(super) fn new_header(&self) -> Header {
        Header::new(self.output.directory(), u32::MAX.into())
    }

    /// Length of the data so far, in bytes.
    pub fn data_len(&self) -> u64 {
        self.output.len
    }

    /// Puts the file in the target's place once all of it is on disk. Without this call, nothing is left.
    ///
    /// # Errors
    /// If writing failed; the target is then as it was.
    pub fn finish(self) -> Result<()> {
        let Writer { path, output, header, .. } = self;
        let finish = || -> io::Result<()> {
            let (mut text, len) = header.finish()?;
            let pieces = output.all();
            assemble(output, &pieces, &mut text, len)?.replace()
        };
        finish().map_err(|cause| Error::write(Place::file(&path), cause))
    }
}
