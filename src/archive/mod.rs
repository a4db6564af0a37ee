//! A container opened for reading, without a mount. Opening it reads only its index; data is read on demand, and no
//! more of it than is needed.
//!
//! Formats are known only through the [`Container`] that they return.

mod below;
mod dataset;
mod known;
mod links;
mod meter;
mod read;
mod sampling;
mod stats;
mod table;
mod verify;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::hash::BuildHasher;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::codec::Engine;
use crate::content::Content;
use crate::error::Place;
use crate::format::{self, Container, Context, Options, Parts};
use crate::source::{Source, is_directory, url};
use crate::tree::{
    Abilities, Arena, Builder, Datasets, Derived, Description, Link, Names, Rewrite, naming, nearest,
};
use crate::{Error, Result};

pub use below::containers_below;
pub use dataset::Dataset;
use known::Known;
pub use meter::Meter;
pub use stats::{Extreme, Stats};
pub use table::ColumnValues;
pub use verify::Checked;

/// Memory for decoded data.
const CACHE: u64 = 32 << 20;

/// An opened container.
///
/// ```
/// let archive = rab::Archive::open("tests/data/rab/readme.rab")?;
/// assert_eq!(archive.len(), 7);
/// assert!(archive.has("my second array") && !archive.has("nothing"));
/// assert_eq!(archive.names().next().as_deref(), Some("my first array"));
///
/// let text = archive.dataset("Some text")?;
/// assert_eq!(text.kind(), "text");
/// assert!(text.text()?.starts_with("hello there"));
/// assert_eq!(text.metadata().get("author").and_then(|author| author.as_str()), Some("Johnny Bravo"));
/// # Ok::<(), rab::Error>(())
/// ```
pub struct Archive {
    path: PathBuf,
    source: Arc<dyn Source>,
    /// Further files, if it has several.
    others: Vec<Arc<dyn Source>>,
    format: &'static str,
    names: Arc<dyn Names>,
    datasets: Arc<dyn Datasets>,
    derived: Derived,
    /// Files that tell of all of it.
    container_files: Vec<(&'static str, Content)>,
    known: Known,
    /// A note for the user.
    note: Option<String>,
    /// Made when a dataset is first looked for by its name.
    index: OnceLock<HashTable<u32>>,
    /// Made when a file is first looked for among its own.
    file_ids: OnceLock<HashSet<(u64, u64)>>,
    hasher: DefaultHashBuilder,
}

fn context(source: &Arc<dyn Source>, others: &[Arc<dyn Source>], options: &Options) -> Context {
    Context {
        others: others.to_vec(),
        options: options.clone(),
        ..Context::new(source.clone(), Arc::new(Engine::new(CACHE)))
    }
}

impl Archive {
    /// Opens a container of any known format, and reads its index. Of a directory, all files that make up one
    /// container (FFRecord's shards), in the order of their names.
    ///
    /// # Errors
    /// [`Error::Open`] if the file cannot be opened or the directory holds no container, [`Error::NotAContainer`]
    /// if it is not a container, [`Error::Damaged`] if its index is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Archive> {
        Archive::open_with(path, Options::default())
    }

    /// As [`Archive::open`], with options for what the file does not record itself.
    ///
    /// # Errors
    /// As [`Archive::open`], and [`Error::Usage`] if the options do not suit the file.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Archive> {
        let path = path.as_ref();
        if !is_directory(path) {
            return Archive::open_files(&[path], options);
        }
        let problem =
            "is a directory: name a file in it, mount it, or let ls, info or verify look below it with -r";
        let directory = || Error::open(path, std::io::Error::other(problem));
        if url(path).is_some() {
            return Err(directory());
        }
        let Parts { files, other } = format::parts(path, &options)?;
        if files.is_empty() {
            return Err(format::foreign_store(path).unwrap_or_else(directory));
        }
        let archive = Archive { path: path.to_owned(), ..Archive::open_files(&files, options)? };
        Ok(Archive { note: other.map(|other| archive.beside(&other)), ..archive })
    }

    /// The note for a directory that also holds other files, which a mount would show.
    fn beside(&self, other: &OsStr) -> String {
        let (path, format, files) = (self.path.display(), self.format, self.files());
        let files = if files == 1 { "1 file is".into() } else { format!("{files} files together are") };
        format!(
            "{path}: also holds {}; its {files} read as {format} here, while rab-mount shows the directory \
             as it is (with --format {format} both read it so)",
            other.display()
        )
    }

    /// What a user may want to know of how it was opened.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Opens several files as one container, in this order, if their format has such containers (FFRecord).
    ///
    /// # Errors
    /// As [`Archive::open`], and [`Error::Usage`] if the files are not one container.
    pub fn open_files<P: AsRef<Path>>(paths: &[P], options: Options) -> Result<Archive> {
        let mut sources = paths.iter().map(|path| format::source(path.as_ref()));
        let source = sources.next().ok_or_else(|| Error::Usage("no file was named".into()))??;
        let others = sources.collect::<Result<Vec<_>>>()?;
        let container = format::open(context(&source, &others, &options))?;
        let Container { format, names, datasets, derived, files: container_files, .. } = container;
        let (index, hasher) = (OnceLock::new(), DefaultHashBuilder::default());
        let (path, note) = (source.path().to_owned(), None);
        let known = Known::new();
        Ok(Archive {
            path,
            source,
            others,
            format,
            names,
            datasets,
            derived,
            container_files,
            known,
            note,
            index,
            file_ids: OnceLock::new(),
            hasher,
        })
    }

    /// The files that a mount has below `.views` beside those of datasets.
    pub(crate) fn derived(&self) -> &Derived {
        &self.derived
    }

    /// The files of a mount's root that tell of the whole container.
    pub(crate) fn container_files(&self) -> Vec<(&'static str, Content)> {
        self.container_files.clone()
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What users call the format: `RAB`.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// How many datasets there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The length of its files.
    pub fn file_len(&self) -> u64 {
        self.sources().map(|source| source.len()).sum()
    }

    /// How many files it has.
    pub fn files(&self) -> usize {
        self.sources().count()
    }

    /// What all datasets take in the file together.
    pub fn stored_len(&self) -> u64 {
        (0..self.len()).map(|number| self.stored_len_of(number)).fold(0, u64::saturating_add)
    }

    /// What the dataset with this number takes in the file.
    pub fn stored_len_of(&self, number: usize) -> u64 {
        u32::try_from(number).map_or(0, |number| self.datasets.size(number).stored)
    }

    /// The names of all datasets in the container's order, as [`Archive::name`] gives them.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|number| self.name(number))
    }

    /// The name of a dataset by its number, as text by which [`Archive::find`] finds it. One that is not UTF-8 is
    /// percent-encoded: `caf%E9`.
    pub fn name(&self, number: usize) -> Cow<'_, str> {
        let name = match self.raw_name(number) {
            Cow::Borrowed(name) => match std::str::from_utf8(name) {
                Ok(text) => return text.into(),
                Err(_) => Cow::Borrowed(name),
            },
            Cow::Owned(name) => match String::from_utf8(name) {
                Ok(text) => return text.into(),
                Err(not_text) => Cow::Owned(not_text.into_bytes()),
            },
        };
        // Another dataset may truly be called like the escaped form.
        let mut forms = (0..=name.len()).map(|more| naming::escaped(&name, more));
        let free = forms.find(|form| self.find_raw(form.as_bytes()).is_none());
        free.unwrap_or_else(|| naming::escaped(&name, 0)).into()
    }

    /// The names as they are, in WTF-8.
    pub fn raw_names(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        (0..self.len()).map(|number| self.raw_name(number))
    }

    /// The name of a dataset by its number, in WTF-8; empty if there is none.
    pub fn raw_name(&self, number: usize) -> Cow<'_, [u8]> {
        self.names.get(number).unwrap_or_default()
    }

    /// Is there a dataset of this name, as [`Archive::find`] takes names?
    pub fn has(&self, name: impl AsRef<[u8]>) -> bool {
        self.find(name).is_some()
    }

    /// The number of the first dataset of this name, or if there is none, of the one that it means percent-encoded
    /// (`caf%E9`), which is how [`Archive::names`] gives names that are not UTF-8.
    pub fn find(&self, name: impl AsRef<[u8]>) -> Option<usize> {
        let name = name.as_ref();
        self.find_raw(name).or_else(|| self.find_raw(&naming::unescaped(name)?))
    }

    fn find_raw(&self, name: &[u8]) -> Option<usize> {
        if let Some(found) = self.names.find(name) {
            return found;
        }
        let index = self.index.get_or_init(|| self.index());
        let found =
            index.find(self.hasher.hash_one(name), |number| &*self.raw_name(*number as usize) == name);
        found.map(|number| *number as usize)
    }

    /// A dataset by its name.
    ///
    /// # Errors
    /// [`Error::NoDataset`] with similar names, or an error in reading the dataset's description.
    pub fn dataset(&self, name: impl AsRef<[u8]>) -> Result<Dataset<'_>> {
        let name = name.as_ref();
        match self.find(name) {
            Some(number) => self.dataset_at(number),
            None => Err(self.no_dataset(name)),
        }
    }

    /// A dataset by its number in the container's order, from 0 on.
    ///
    /// # Errors
    /// [`Error::NoDataset`] if there is no such number, or an error in reading the dataset's description.
    pub fn dataset_at(&self, number: usize) -> Result<Dataset<'_>> {
        let known = u32::try_from(number).ok().filter(|_| number < self.len());
        let number = known.ok_or_else(|| self.no_dataset(number.to_string().as_bytes()))?;
        Ok(Dataset::new(self, number, self.datasets.describe(number)?))
    }

    /// As [`Archive::dataset_at`], quickly, for its bytes: its description is [`Archive::brief_at`].
    pub(crate) fn bytes_at(&self, number: usize) -> Result<Dataset<'_>> {
        Ok(Dataset::new(self, number as u32, self.brief_at(number)?))
    }

    /// What a listing needs of a dataset, quickly: metadata, codec and checksum may be left out.
    pub(crate) fn brief_at(&self, number: usize) -> Result<Description> {
        let known = u32::try_from(number).ok().filter(|_| number < self.len());
        let number = known.ok_or_else(|| self.no_dataset(number.to_string().as_bytes()))?;
        self.datasets.brief(number)
    }

    /// Is a dataset right beside the others, and by the format's rules, as [`Dataset::verify`] finds it? Its own bytes
    /// are not looked at.
    pub(crate) fn fits(&self, number: usize) -> Result<()> {
        let Ok(known) = u32::try_from(number) else { return Ok(()) };
        if !self.is_first(number) {
            return self.dataset_at(number)?.is_first();
        }
        let Some(validate) = self.abilities().validate else { return Ok(()) };
        let checked = validate.check(known);
        match validate.violations(known) {
            Ok(against) if against.is_empty() => checked,
            _ => self.dataset_at(number)?.with_violations(checked),
        }
    }

    /// Has no dataset before it its name?
    fn is_first(&self, number: usize) -> bool {
        self.find_raw(&self.raw_name(number)) == Some(number)
    }

    /// The name as the datasets of other containers have it: of one that is not UTF-8 the text that it becomes there.
    pub(crate) fn name_elsewhere(&self, number: usize) -> Cow<'_, [u8]> {
        let name = self.raw_name(number);
        let text = || self.brief_at(number).ok().map(|about| about.name);
        match std::str::from_utf8(&name).is_err().then(text).flatten() {
            Some(text) => text.as_bytes().to_vec().into(),
            None => name,
        }
    }

    /// A deviation from the description that is not damage: a warning with its place.
    pub(crate) fn doubt(&self, number: usize) -> Option<String> {
        let doubt = self.abilities().validate?.doubt(u32::try_from(number).ok()?)?;
        let place = Place { file: self.path().to_owned(), ..self.dataset_at(number).ok()?.place() };
        Some(format!("{place}: {doubt}"))
    }

    /// The error that there is no such dataset, with the names nearest to it.
    pub fn no_dataset(&self, name: &[u8]) -> Error {
        self.missing(self.raw_names(), name)
    }

    /// The same where the name of a table of the container itself could stand too.
    pub(crate) fn no_dataset_or_table(&self, name: &[u8]) -> Error {
        self.missing(self.tables().map(Cow::Borrowed).chain(self.raw_names()), name)
    }

    /// The tables of the whole container, as `rab get` takes their names: FFRecord's `records`.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &[u8]> {
        self.derived.of_view("csv", ".csv").map(|(_, name)| name)
    }

    fn missing<'n>(&self, names: impl Iterator<Item = Cow<'n, [u8]>>, name: &[u8]) -> Error {
        let near = nearest(names, name);
        let name = naming::printed(name).into_owned();
        Error::NoDataset { file: self.path().to_owned(), name, near }
    }

    /// The tree that a mount shows; the number of a dataset is the same in it.
    pub(crate) fn tree(&self) -> Result<Arena> {
        Builder::build(&*self.names, self.datasets.clone())
    }

    /// Other names of datasets, and what they lead to.
    pub(crate) fn links(&self) -> impl Iterator<Item = (String, String)> {
        let text = |bytes: &[u8]| naming::printed(bytes).into_owned();
        self.all_links().iter().map(move |link| (text(&link.place.join(&b'/')), text(&link.target)))
    }

    /// The number of the dataset that a name leads to through links.
    pub(crate) fn find_linked(&self, name: &[u8]) -> Option<usize> {
        links::followed(self.all_links(), name).find_map(|name| self.find(name))
    }

    /// When the last of its files was modified.
    pub(crate) fn modified(&self) -> SystemTime {
        self.sources().map(|source| source.modified()).max().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Is this file one of those that the container consists of?
    pub(crate) fn has_file(&self, device: u64, inode: u64) -> bool {
        self.file_ids.get_or_init(|| self.file_ids()).contains(&(device, inode))
    }

    /// Device and inode number of the files that it was opened by and of those that these name.
    fn file_ids(&self) -> HashSet<(u64, u64)> {
        let named = self.abilities().provenance.map_or(Vec::new(), |provenance| provenance.files());
        let there = named.iter().filter_map(|path| fs::metadata(path).ok());
        let opened = self.sources().filter_map(|source| source.file_id());
        opened.chain(there.map(|meta| (meta.dev(), meta.ino()))).collect()
    }

    /// The same container as formats other than its own can hold it.
    pub(crate) fn plain(self) -> Result<Archive> {
        let plain = self.rewriter().map_or(Ok(None), |rewriter| rewriter.plain())?;
        let Some((names, datasets)) = plain else { return Ok(self) };
        Ok(Archive { names, datasets, index: OnceLock::new(), ..self })
    }

    /// Rewrites the whole container, where that differs from writing its datasets one after the other.
    pub(crate) fn rewriter(&self) -> Option<&dyn Rewrite> {
        self.abilities().rewrite
    }

    fn abilities(&self) -> Abilities<'_> {
        self.datasets.abilities()
    }

    fn all_links(&self) -> &[Link] {
        self.abilities().placement.map_or(&[], |placement| placement.links())
    }

    fn sources(&self) -> impl Iterator<Item = &Arc<dyn Source>> {
        [&self.source].into_iter().chain(&self.others)
    }

    /// Of two datasets of one name the first one.
    fn index(&self) -> HashTable<u32> {
        let mut index = HashTable::with_capacity(self.len());
        for (number, name) in (0..).zip(self.raw_names()) {
            let hash = self.hasher.hash_one(&*name);
            let name_of = |other: &u32| self.raw_name(*other as usize);
            if index.find(hash, |other| name_of(other) == name).is_none() {
                index.insert_unique(hash, number, |other| self.hasher.hash_one(&*name_of(other)));
            }
        }
        index
    }
}
