//! Editing a RAB file: its datasets are added, replaced, removed, renamed and given new metadata, and then all of it is
//! written in one step as a new file in the old one's place.
//!
//! The data of new datasets is streamed into a [`Writer`], as for a new file; data that stays is copied by the kernel
//! at the end, and never decoded.
//!
//! | | |
//! |---|---|
//! | `place` | the new offset of each dataset's data |
//! | `entry` | the new header entries |
//! | `finish` | writing the new file |
//! | `target` | the editor as a `NewContainer` |

mod entry;
mod finish;
mod place;
mod target;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};

use super::NAME;
use super::header::{self, Header};
use super::layout::Layout;
use super::records::Records;
use super::write::{self, Add, Writer};
use crate::error::Place;
use crate::source::{FileSource, Source, url, without_secrets};
use crate::tree::naming;
use crate::yaml::{Node, Text, Value};
use crate::{Error, Result};

/// Edits a RAB file.
///
/// The file is untouched until [`Editor::finish`], which replaces it atomically: it then has either all changes or
/// none. Datasets keep their order. Those that stay keep their stored bytes (copied by the kernel, and shared with the
/// old file where the file system can) and all fields of their entries, known or not. Only the tags of Python objects
/// (`!!python/...`) in metadata are lost; their values are kept, so a tuple becomes a list.
///
/// If several datasets have the same name, which no correct writer produces, the name refers to the first.
///
/// A dataset whose description makes no sense, or that lies outside the file, can be removed or replaced; as long
/// as there is one, the file cannot be rewritten.
///
/// ```
/// use rab::{Archive, Editor, Value, Writer};
///
/// # fn main() -> rab::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run7.rab");
/// # let mut writer = Writer::create(&path)?;
/// # for name in ["notes", "draft", "a"] {
/// #     writer.add(name).text("old")?;
/// # }
/// # writer.finish()?;
/// let mut editor = Editor::open(&path)?;
/// editor.add("summary").text("all is well\n")?;
/// editor.replace("notes")?.text("three electrodes\n")?;
/// editor.remove("draft")?;
/// editor.rename("a", "raw/a")?;
/// editor.set_metadata("raw/a", Value::map([("unit", "mV".into())]))?;
/// editor.finish()?;
///
/// let archive = Archive::open(&path)?;
/// assert_eq!(archive.names().collect::<Vec<_>>(), ["notes", "raw/a", "summary"]);
/// assert_eq!(archive.dataset("notes")?.text()?, "three electrodes\n");
/// # Ok(())
/// # }
/// ```
pub struct Editor {
    source: FileSource,
    layout: Layout,
    records: Records,
    /// The datasets in order, old ones first; None if removed.
    slots: Vec<Option<Data>>,
    changes: HashMap<u32, Change>,
    /// For duplicate names, the places after the first.
    later: HashMap<Box<[u8]>, VecDeque<u32>>,
    /// Holds the data of new datasets behind room for all the old data, so that it need not move if all of that stays.
    writer: Writer,
    added: Vec<Added>,
    /// The place of the dataset that the next addition replaces.
    replaced: Option<u32>,
    /// The writer's lengths when last checked.
    seen: Seen,
}

/// Where a dataset's data is.
#[derive(Clone, Copy)]
enum Data {
    /// In the old file; the entry's number is the place.
    Old,
    /// In the writer; the index into `added`.
    Added(u32),
}

/// Changes to a dataset.
#[derive(Clone, Default)]
struct Change {
    name: Option<Text>,
    metadata: Option<Arc<Node>>,
}

/// A dataset in the writer: its entry in the header, and its data.
struct Added {
    entry: Range<u64>,
    data: Range<u64>,
}

#[derive(Clone, Copy)]
struct Seen {
    header: u64,
    data: u64,
}

impl Editor {
    /// Whether this is a file of a format that can be edited.
    pub(crate) fn can_edit(path: &Path) -> bool {
        FileSource::open(path)
            .and_then(|source| super::super::shown(&source))
            .is_ok_and(|format| format.name() == NAME)
    }

    /// Opens an existing file, and locks it so that only one editor at a time has it.
    ///
    /// # Errors
    /// If it cannot be opened or locked, is not a RAB file, or its header is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Editor> {
        let path = path.as_ref();
        if url(path).is_some() {
            let shown = without_secrets(path);
            return Err(Error::Usage(format!(
                "{}: only files can be edited: download it, edit the copy and upload that",
                shown.display()
            )));
        }
        let source = FileSource::open(path)?;
        let format = super::super::shown(&source)?.name();
        if format != NAME {
            let shown = path.display();
            return Err(Error::Usage(format!(
                "{shown}: only RAB files can be edited, not {format}: convert it first (rab convert)"
            )));
        }
        let mut writer = Writer::create(path)?;
        lock(&source)?;
        let layout = Layout::read(&source)?;
        let Header { names, records } = header::read(&source, layout)?;
        let (mut slots, mut later) = (Vec::new(), HashMap::new());
        for (place, name) in (0..).zip(names.iter()) {
            if !writer.header.take(name) {
                later.entry(name.into()).or_insert_with(VecDeque::new).push_back(place);
            }
            slots.push(Some(Data::Old));
        }
        let whole = (0..slots.len() as u32).filter_map(|number| records.data(number).ok());
        writer.output.len = place::place(whole.map(|data| place::Part::Old(data.stored))).len;
        let seen = Seen { header: 0, data: writer.output.len };
        let (changes, added) = (HashMap::new(), Vec::new());
        Ok(Editor { source, layout, records, slots, changes, later, writer, added, replaced: None, seen })
    }

    /// Sets the number of compressing threads. The file does not depend on it.
    pub fn jobs(self, jobs: usize) -> Editor {
        Editor { writer: self.writer.jobs(jobs), ..self }
    }

    /// Adds a dataset after all others. Its name may be any unused text.
    pub fn add(&mut self, name: impl Into<Text>) -> Add<'_> {
        self.settle();
        self.writer.add(name)
    }

    /// Replaces the dataset of this name, keeping its metadata unless new metadata is given.
    ///
    /// # Errors
    /// [`Error::NoDataset`] if there is none of this name.
    pub fn replace(&mut self, name: impl AsRef<[u8]>) -> Result<Add<'_>> {
        let name = name.as_ref();
        let place = self.find(name)?;
        let text = Text::from_wtf8(name).ok_or_else(|| self.no_dataset(name))?;
        let metadata = self.metadata_of(place)?;
        self.replaced = Some(place);
        Ok(self.writer.add(text).replacing(Arc::unwrap_or_clone(metadata)))
    }

    /// Removes a dataset.
    ///
    /// # Errors
    /// [`Error::NoDataset`] if there is none of this name.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        let place = self.find(name.as_ref())?;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            *slot = None;
        }
        self.changes.remove(&place);
        self.release(name.as_ref());
        Ok(())
    }

    /// Renames a dataset. The new name must be unused.
    ///
    /// # Errors
    /// [`Error::NoDataset`] if there is none of the old name, or an error if the new one is in use.
    pub fn rename(&mut self, from: impl AsRef<[u8]>, to: impl Into<Text>) -> Result<()> {
        let (from, to) = (from.as_ref(), to.into());
        let place = self.find(from)?;
        if from == to.as_bytes() {
            return Ok(());
        }
        let taken = self.writer.header.check_name(&to);
        taken.map_err(|cause| Error::write(self.place().dataset(&naming::printed(to.as_bytes())), cause))?;
        self.release(from);
        self.writer.header.name(to.as_bytes(), place);
        self.changes.entry(place).or_default().name = Some(to);
        Ok(())
    }

    /// Replaces a dataset's metadata: a mapping, or null.
    ///
    /// # Errors
    /// [`Error::NoDataset`] if there is none of this name, or an error if the value is neither.
    pub fn set_metadata(&mut self, name: impl AsRef<[u8]>, metadata: Value) -> Result<()> {
        let place = self.find(name.as_ref())?;
        let node = write::metadata(&metadata).map_err(|problem| {
            let shown = String::from_utf8_lossy(name.as_ref());
            Error::write(self.place().dataset(&shown), io::Error::other(problem))
        })?;
        self.changes.entry(place).or_default().metadata = Some(Arc::new(write::sorted(node)));
        Ok(())
    }

    /// A dataset's current metadata.
    ///
    /// # Errors
    /// [`Error::NoDataset`] if there is none of this name.
    pub fn metadata(&mut self, name: impl AsRef<[u8]>) -> Result<Value> {
        let place = self.find(name.as_ref())?;
        Ok(Value::from(&*self.metadata_of(place)?))
    }

    /// Is there currently a dataset of this name?
    pub fn has(&mut self, name: impl AsRef<[u8]>) -> bool {
        self.find(name.as_ref()).is_ok()
    }

    /// Registers the dataset added to the writer since the last check, if any; there is at most one.
    fn settle(&mut self) {
        let now = Seen { header: self.writer.header.len(), data: self.writer.output.len };
        let (seen, replaced) = (std::mem::replace(&mut self.seen, now), self.replaced.take());
        if now.header == seen.header {
            return;
        }
        let data = Some(Data::Added(self.added.len() as u32));
        self.added.push(Added { entry: seen.header..now.header, data: seen.data..now.data });
        match replaced {
            Some(place) => {
                // The new entry already has the right name and metadata.
                self.changes.remove(&place);
                if let Some(slot) = self.slots.get_mut(place as usize) {
                    *slot = data;
                }
            }
            None => self.slots.push(data),
        }
    }

    /// The place of a dataset.
    fn find(&mut self, name: &[u8]) -> Result<u32> {
        self.settle();
        self.writer.header.place(name).ok_or_else(|| self.no_dataset(name))
    }

    /// Passes the name to the next dataset that has it, or frees it.
    fn release(&mut self, name: &[u8]) {
        self.writer.header.release(name);
        if let Some(next) = self.later.get_mut(name).and_then(VecDeque::pop_front) {
            self.writer.header.name(name, next);
        }
    }

    fn no_dataset(&self, name: &[u8]) -> Error {
        let name = String::from_utf8_lossy(name).into_owned();
        // The names themselves are not kept here.
        Error::NoDataset { file: self.source.path().to_owned(), name, near: Vec::new() }
    }

    fn place(&self) -> Place {
        self.source.place()
    }
}

/// Two editors at once would lose each other's changes. File systems without locks are accepted.
fn lock(source: &FileSource) -> Result<()> {
    let locked = flock(source.own_file(), FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from);
    match locked {
        Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {
            let problem = "it is being edited by another program; try again when that is done";
            Err(Error::write(source.place(), io::Error::other(problem)))
        }
        _ => Ok(()),
    }
}
