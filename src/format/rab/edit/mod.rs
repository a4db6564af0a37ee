//! Editing a RAB file: its datasets are added, replaced, removed, renamed and given new metadata, and then all of it is
//! written in one step as a new file in the old one's place.
//!
//! The data of new datasets is streamed into a [`Writer`], as for a new file; what stays is copied by the kernel at
//! the end, and never decoded.
//!
//! | | |
//! |---|---|
//! | `place` | where the data of each dataset goes |
//! | `entry` | what becomes of a dataset's entry in the header |
//! | `finish` | the new file |
//! | `target` | additions as those to a container of any format |

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

use super::header::{self, Header};
use super::layout::Layout;
use super::records::Records;
use super::write::{self, Add, Writer};
use crate::error::Place;
use crate::source::{FileSource, Source};
use crate::tree::naming;
use crate::yaml::{Node, Text, Value};
use crate::{Error, Result};

/// Edits a RAB file.
///
/// Nothing of the file is touched before [`Editor::finish`], which replaces it in one step: it then holds
/// everything new, or still what it held before. Datasets keep their order, and those that stay keep their stored
/// bytes (which are copied by the kernel, and shared with the old file where the file system can) and whatever
/// their entries say, known or not. Only the tags of Python objects (`!!python/...`) in metadata are lost, as their
/// values are kept without them: a tuple becomes a list.
///
/// Of datasets with one and the same name, which no correct writer makes, the first one is meant.
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
    /// The datasets in their order, the old ones first; None where one was removed.
    slots: Vec<Option<Data>>,
    changes: HashMap<u32, Change>,
    /// Of names that come more than once the places after the first.
    later: HashMap<Box<[u8]>, VecDeque<u32>>,
    /// Has the data of new datasets behind room for all the old data, where it can stay if all that stays.
    writer: Writer,
    added: Vec<Added>,
    /// What the next dataset that the writer gets is to replace.
    replaced: Option<u32>,
    /// Length of the writer's header when it was last looked at.
    seen: Seen,
}

/// Where the data of a dataset is.
#[derive(Clone, Copy)]
enum Data {
    /// In the old file, by the entry whose number is that of the place.
    Old,
    /// In the writer, by its number in `added`.
    Added(u32),
}

/// What is new of a dataset.
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
    /// For a file that is there. Only one editor at a time can have it.
    pub fn open(path: impl AsRef<Path>) -> Result<Editor> {
        let path = path.as_ref();
        let source = FileSource::open(path)?;
        let format = super::super::shown(&source)?.name();
        if format != "RAB" {
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

    /// A new dataset behind all others. Its name is any text that no other has.
    pub fn add(&mut self, name: impl Into<Text>) -> Add<'_> {
        self.settle();
        self.writer.add(name)
    }

    /// A new dataset in the place of the one of this name, whose metadata it keeps unless it is given other.
    pub fn replace(&mut self, name: impl AsRef<[u8]>) -> Result<Add<'_>> {
        let name = name.as_ref();
        let place = self.find(name)?;
        let text = Text::from_wtf8(name).ok_or_else(|| self.no_dataset(name))?;
        let metadata = self.metadata_of(place)?;
        self.replaced = Some(place);
        Ok(self.writer.add(text).replacing(Arc::unwrap_or_clone(metadata)))
    }

    /// Takes a dataset out.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        let place = self.find(name.as_ref())?;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            *slot = None;
        }
        self.changes.remove(&place);
        self.release(name.as_ref());
        Ok(())
    }

    /// Gives a dataset another name, which no other has.
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

    /// Gives a dataset other metadata: a mapping, or null.
    pub fn set_metadata(&mut self, name: impl AsRef<[u8]>, metadata: Value) -> Result<()> {
        let place = self.find(name.as_ref())?;
        let node = write::metadata(&metadata).map_err(|problem| {
            let shown = String::from_utf8_lossy(name.as_ref());
            Error::write(self.place().dataset(&shown), io::Error::other(problem))
        })?;
        self.changes.entry(place).or_default().metadata = Some(Arc::new(write::sorted(node)));
        Ok(())
    }

    /// The metadata that a dataset has now.
    pub fn metadata(&mut self, name: impl AsRef<[u8]>) -> Result<Value> {
        let place = self.find(name.as_ref())?;
        Ok(Value::from(&*self.metadata_of(place)?))
    }

    /// Is there a dataset of this name now?
    pub fn has(&mut self, name: impl AsRef<[u8]>) -> bool {
        self.find(name.as_ref()).is_ok()
    }

    /// Takes note of the dataset that the writer has got since it was last asked: there is one at most.
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
                // Its new entry has the name and the metadata that it is to have.
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

    /// The name is that of the next dataset that has it, or free.
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

/// Two editors at once would each lose what the other does. A file system that cannot lock does without.
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
