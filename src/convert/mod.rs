//! Converts a container to another format, or rewrites it in its own. Names, order, types and metadata are kept;
//! whatever the new format cannot hold is reported. Datasets are copied sequentially, one after the other.
//!
//! The output path appears only once the file is complete; a damaged dataset aborts the conversion. Missing or
//! unsupported datasets are reported and left out.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::archive::{Archive, Meter};
use crate::array::{Array, Order};
use crate::content::Reader;
use crate::error::Place;
use crate::format::Compression;
use crate::format::writer::input::Utf8;
use crate::format::writer::{
    self, LEVEL, NewContainer, NewContent, NewDataset, Temporary, WriteOptions, lost,
};
use crate::pack::transpose;
use crate::tree::{Description, Rewrite, naming};
use crate::yaml::Text;
use crate::{Error, Result};

#[derive(Clone, Debug)]
pub struct Options {
    /// New name for the only dataset; None keeps its name.
    pub name: Option<Text>,
    /// Compression of all datasets; None compresses those that already are.
    pub compression: Option<Compression>,
    /// Number of compressing threads.
    pub jobs: usize,
    /// Replace an existing file.
    pub force: bool,
}

/// Callbacks for progress and problems.
pub struct Watch<'a> {
    /// This many more stored bytes have been processed.
    pub passed: &'a dyn Fn(u64),
    /// A note on something that the new format cannot hold.
    pub noted: &'a dyn Fn(&str),
    /// A deviation from a dataset's description that is not damage.
    pub warned: &'a dyn Fn(&str),
    /// A dataset is left out, or written unchanged although damaged or refused; the others continue. May repeat an
    /// error.
    pub failed: &'a dyn Fn(&Error),
    /// Set by the caller to stop early.
    pub stop: &'a AtomicBool,
}

/// Prepares an archive for the format that the extension of `out` determines: unless that is its own, it is reduced to
/// datasets that other formats can hold.
pub fn as_held_by(archive: Archive, out: &Path) -> Result<Archive> {
    match writer::format_of(out) == Some(archive.format()) {
        true => Ok(archive),
        false => archive.plain(),
    }
}

/// Writes datasets of an archive to `out`, in the format that its extension determines.
pub fn convert(
    archive: &Archive,
    numbers: &[usize],
    out: &Path,
    options: &Options,
    watch: &Watch<'_>,
) -> Result<()> {
    let is_same_format = writer::format_of(out) == Some(archive.format());
    if let Some(rewriter) = archive.rewriter().filter(|_| is_same_format && options.name.is_none()) {
        let is_whole = numbers.iter().collect::<HashSet<_>>().len() == archive.len();
        rewrite(archive, rewriter, (!is_whole).then_some(numbers), out, options, watch)?;
        return wrong(archive, &rewriter.kept(numbers), watch);
    }
    let mut new = create(archive, out, options)?;
    let (order, mut left_out) = (writer::order_of(out), 0);
    for number in numbers {
        go_on(watch)?;
        let dataset = archive.dataset_at(*number)?;
        let described = dataset.description();
        // Otherwise damaged data would get a matching checksum, and pass as intact from then on.
        dataset.can_be_copied()?;
        let reader = match dataset.reader() {
            Err(error @ (Error::Read { .. } | Error::Unsupported { .. })) => {
                (watch.failed)(&error);
                left_out += 1;
                continue;
            }
            reader => reader?,
        };
        let input = |reader| Input {
            reader,
            meter: Meter::new(described.stored_len(), described.decoded_len, watch.passed),
            stop: watch.stop,
            failed: None,
        };
        let ordered = described.array.as_ref().map(|array| in_order(array, order));
        let what = ordered.as_ref().map_or(what(described), NewContent::Array);
        let turned = described.array.as_ref().and_then(|array| transpose::needed(array, order?));
        if what == NewContent::Bytes && described.kind != "bytes" && !is_same_format {
            let place = Place::file(archive.path()).dataset(&described.printed_name());
            (watch.noted)(&format!(
                "{place}: is written as plain bytes: its type {:?} is not kept",
                described.kind
            ));
        }
        let was_compressed = described.compression.is_some();
        let compression = options.compression.or(was_compressed.then_some(Compression::Zlib(LEVEL)));
        let origin = is_same_format.then_some(&*described.codec);
        let mut new_dataset = NewDataset {
            name: options.name.as_ref().unwrap_or(&described.name),
            metadata: &described.metadata,
            what,
            compression,
            origin,
            facts: None,
        };
        let content = input(reader);
        if let Some(stored) = &turned {
            add_turned(&mut *new, &new_dataset, (stored, content), (archive.path(), out), watch)?;
        } else if let Some(at) = add(&mut *new, &new_dataset, content, archive.path(), watch)? {
            let place = Place::file(archive.path()).dataset(&described.printed_name());
            (watch.noted)(&format!("{place}: its text is not UTF-8 at byte {at}: it is written as bytes"));
            new_dataset = NewDataset { what: NewContent::Bytes, origin: None, ..new_dataset };
            add(&mut *new, &new_dataset, input(dataset.reader()?), archive.path(), watch)?;
        }
    }
    if left_out > 0 && left_out == numbers.len() {
        (watch.noted)(&format!("{}: is not written: nothing is left to write", out.display()));
        return Ok(());
    }
    for (name, target) in archive.links() {
        let path = archive.path().display();
        (watch.noted)(&format!("{path}: {name:?} is a link to {target:?}, and is not copied"));
    }
    wrong(archive, numbers, watch)?;
    new.finish()
}

/// Reports datasets that are wrong or refused but were written unchanged.
fn wrong(archive: &Archive, numbers: &[usize], watch: &Watch<'_>) -> Result<()> {
    for number in numbers {
        match archive.fits(*number) {
            Err(error @ (Error::Damaged { .. } | Error::Unsupported { .. })) => (watch.failed)(&error),
            fits => {
                fits?;
                archive.doubt(*number).iter().for_each(|doubt| (watch.warned)(doubt));
            }
        }
    }
    Ok(())
}

/// Rewrites a container, or only some of its datasets, in the current version of its format.
fn rewrite(
    archive: &Archive,
    rewriter: &dyn Rewrite,
    only: Option<&[usize]>,
    out: &Path,
    options: &Options,
    watch: &Watch<'_>,
) -> Result<()> {
    may_create(archive, out, options)?;
    let failed = |cause| Error::write(Place::file(out), cause);
    let new = Temporary::create(out, options.force).map_err(failed)?;
    let mut step = |count| {
        (watch.passed)(count);
        go_on(watch)
    };
    let mut notes = rewriter.rewrite(out, &new.file, only, &mut step)?;
    match options.compression {
        Some(_) if rewriter.keeps_compression() => notes.push(
            "--compress has no effect here: what is compressed stays compressed, and the rest stays as it \
             is"
            .into(),
        ),
        Some(Compression::None) | None => {}
        Some(_) => notes.push("it is not compressed".into()),
    }
    new.finish().map_err(failed)?;
    notes.iter().for_each(|note| (watch.noted)(&format!("{}: {note}", out.display())));
    Ok(())
}

/// Fails once the caller asks to stop.
fn go_on(watch: &Watch<'_>) -> Result<()> {
    match watch.stop.load(Ordering::Relaxed) {
        true => Err(Error::Other("interrupted".into())),
        false => Ok(()),
    }
}

fn what(described: &Description) -> NewContent<'_> {
    match (&described.array, &described.table, described.kind.as_str()) {
        (Some(array), ..) => NewContent::Array(array),
        (_, Some(table), _) => NewContent::Table(table),
        (.., "text") => NewContent::Text,
        (.., "object") => NewContent::Object,
        _ => NewContent::Bytes,
    }
}

fn create(archive: &Archive, out: &Path, options: &Options) -> Result<Box<dyn NewContainer>> {
    may_create(archive, out, options)?;
    writer::create(out, &WriteOptions { jobs: options.jobs, force: options.force })
}

/// Fails if `out` must not be replaced.
fn may_create(archive: &Archive, out: &Path, options: &Options) -> Result<()> {
    let refused = |problem: &str| format!("{}: {problem}", out.display());
    if let Ok(there) = fs::metadata(out) {
        if archive.has_file(there.dev(), there.ino()) {
            let input = archive.path().display();
            let problem = format!("is part of the input {input}: give the output another name");
            return Err(Error::Usage(refused(&problem)));
        }
        if !options.force && there.is_file() {
            return Err(Error::Other(refused("exists: --force replaces it")));
        }
    }
    Ok(())
}

/// The array with its elements in the order that the new format requires, if any.
fn in_order(array: &Array, order: Option<Order>) -> Array {
    Array { order: order.unwrap_or(array.order), ..array.clone() }
}

/// Adds an array whose elements must be reordered; `stored` describes the original.
fn add_turned(
    new: &mut dyn NewContainer,
    dataset: &NewDataset<'_>,
    (stored, mut content): (&Array, Input<'_>),
    (file, out): (&Path, &Path),
    watch: &Watch<'_>,
) -> Result<()> {
    let scratch = writer::directory(out);
    let place = Place::file(file).dataset(&naming::printed(dataset.name.as_bytes()));
    let turned = transpose::turned(&mut content, stored, scratch);
    if let Some(error) = content.failed.take() {
        return Err(error);
    }
    let mut turned = turned.map_err(|cause| match cause.raw_os_error() {
        Some(_) => Error::write(Place::file(scratch), cause),
        None => Error::damaged(place.clone(), cause.to_string()),
    })?;
    let mut notes = new.add(dataset, &mut turned)?;
    notes.push(lost::F_ORDER.into());
    notes.iter().for_each(|note| (watch.noted)(&format!("{place}: {note}")));
    Ok(())
}

/// Adds a dataset. For text that is not UTF-8, adds nothing and returns the offset of the first invalid byte.
fn add(
    new: &mut dyn NewContainer,
    dataset: &NewDataset<'_>,
    mut content: Input<'_>,
    file: &Path,
    watch: &Watch<'_>,
) -> Result<Option<u64>> {
    let mut bad_at = None;
    let added = match dataset.what {
        NewContent::Text | NewContent::Object => {
            let mut text = Utf8::new(&mut content);
            let added = new.add(dataset, &mut text);
            bad_at = text.bad_at();
            added
        }
        _ => new.add(dataset, &mut content),
    };
    // An error in the input takes precedence: it is why writing failed.
    if let Some(error) = content.failed.take() {
        return Err(error);
    }
    if added.is_err() && bad_at.is_some() {
        return Ok(bad_at);
    }
    let place = Place::file(file).dataset(&naming::printed(dataset.name.as_bytes()));
    added?.iter().for_each(|note| (watch.noted)(&format!("{place}: {note}")));
    Ok(None)
}

/// Reads a dataset, counting its bytes. Keeps the error that ends reading.
struct Input<'a> {
    reader: Reader,
    meter: Meter<'a>,
    stop: &'a AtomicBool,
    failed: Option<Error>,
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.stop.load(Ordering::Relaxed) {
            true => Err(io::Error::other(Error::Other("interrupted".into()))),
            false => self.reader.read(buffer),
        };
        match &read {
            Ok(count) => self.meter.passed(*count as u64),
            Err(cause) => self.failed = Error::inside(cause).cloned(),
        }
        read
    }
}
