//! One dataset of an archive: its description and its bytes.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::Archive;
use crate::content::{Content, Reader};
use crate::error::Place;
use crate::source::Source;
use crate::tree::{Datasets, Description, Items};
use crate::view;
use crate::yaml::{self, Node};
use crate::{Error, Result};

/// Whoever gets a piece of bytes answers whether it wants more.
pub type Each<'a> = &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>;

/// A dataset of an [`Archive`].
pub struct Dataset<'a> {
    pub(super) archive: &'a Archive,
    pub(super) number: u32,
    description: Description,
    /// What it is read from, if that is not what the container has.
    instead: Option<Content>,
}

impl<'a> Dataset<'a> {
    pub(super) fn new(archive: &'a Archive, number: u32, description: Description) -> Dataset<'a> {
        Dataset { archive, number, description, instead: None }
    }

    /// Everything that the container says of it.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// `text`, `float32`, `dataframe`, ...
    pub fn kind(&self) -> &str {
        &self.description.kind
    }

    pub fn metadata(&self) -> &Arc<Node> {
        &self.description.metadata
    }

    /// Where its bytes are in the file; None if its description makes no sense.
    pub fn stored_range(&self) -> Option<Range<u64>> {
        self.description.stored_range()
    }

    /// The bytes that it takes in the file.
    pub fn stored_len(&self) -> u64 {
        self.description.stored_len()
    }

    /// The length of the decoded bytes, if it is known without decoding.
    pub fn known_len(&self) -> Option<u64> {
        self.description.decoded_len
    }

    /// The length of the decoded bytes. Decodes them if it is not recorded.
    ///
    /// # Errors
    /// If the dataset is damaged or cannot be read.
    pub fn decoded_len(&self) -> Result<u64> {
        match self.known_len() {
            Some(len) => Ok(len),
            None => self.content()?.len(),
        }
    }

    /// Hands the decoded bytes to `each` from front to back, in pieces, until it breaks off.
    ///
    /// # Errors
    /// If the dataset is damaged or cannot be read, after the bytes before the damage were handed out.
    pub fn pieces(&self, each: Each<'_>) -> Result<()> {
        match &self.description.fault {
            None => self.content()?.pass(each),
            Some(problem) => {
                self.remains()?.pass(each)?;
                Err(self.damaged(problem.as_str()))
            }
        }
    }

    /// All decoded bytes from front to back, as a reader.
    ///
    /// # Errors
    /// If the dataset has no bytes that can be decoded. A damaged one fails while it is read, after the bytes
    /// before the damage: the [`Error`] is inside the [`std::io::Error`].
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    /// let archive = rab::Archive::open("tests/data/rab/readme.rab")?;
    /// let mut text = String::new();
    /// archive.dataset("Some text")?.reader()?.take(5).read_to_string(&mut text).unwrap();
    /// assert_eq!(text, "hello");
    /// # Ok::<(), rab::Error>(())
    /// ```
    pub fn reader(&self) -> Result<Reader> {
        self.described_well()?;
        self.content()?.reader()
    }

    /// As [`Dataset::pieces`], for the bytes as they are stored.
    ///
    /// # Errors
    /// As [`Dataset::pieces`].
    pub fn stored_pieces(&self, each: Each<'_>) -> Result<()> {
        let range = self.description.stored.clone().unwrap_or(0..0);
        Content::Stored { source: self.file(), range }.pass(each)?;
        self.described_well()
    }

    /// An error if its description makes no sense.
    pub(crate) fn described_well(&self) -> Result<()> {
        self.description.fault.as_ref().map_or(Ok(()), |problem| Err(self.damaged(problem.as_str())))
    }

    /// What keeps it from being the array that it should be.
    pub(crate) fn no_array(&self) -> Option<Error> {
        if let Err(damaged) = self.described_well() {
            return Some(damaged);
        }
        if self.description.array.is_some() {
            return None;
        }
        // Why its bytes cannot be read, or make no elements, is why nothing is known of them.
        if let Ok(Content::Broken { error, .. }) | Err(error) = self.content() {
            return Some(error);
        }
        match self.violations() {
            Ok(against) if self.kind() != "bytes" || against.is_empty() => None,
            Ok(against) => Some(self.damaged(against.join("; "))),
            Err(error) => Some(error),
        }
    }

    /// Fills `buf` with the decoded bytes from `offset`. Decodes no more than that needs.
    ///
    /// # Errors
    /// If the range is not within the decoded bytes, or they are damaged or cannot be read.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let content = self.content()?;
        let (len, end) = (content.len()?, offset.checked_add(buf.len() as u64));
        match end {
            Some(end) if end <= len => content.fill(buf, offset),
            _ => {
                Err(self
                    .other(&format!("has {len} bytes, {} from byte {offset} on were asked for", buf.len())))
            }
        }
    }

    /// All decoded bytes.
    ///
    /// # Errors
    /// As [`Dataset::pieces`].
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut short = false;
        self.pieces(&mut |piece| {
            short = bytes.try_reserve(piece.len()).is_err();
            if short {
                return ControlFlow::Break(());
            }
            bytes.extend_from_slice(piece);
            ControlFlow::Continue(())
        })?;
        if short { Err(self.other("does not fit into memory")) } else { Ok(bytes) }
    }

    /// All decoded bytes as text.
    ///
    /// # Errors
    /// As [`Dataset::pieces`], and if they are not UTF-8.
    pub fn text(&self) -> Result<String> {
        String::from_utf8(self.bytes()?).map_err(|bad| {
            let at = bad.utf8_error().valid_up_to();
            self.other(&format!("is not UTF-8: byte {at} of its decoded bytes"))
        })
    }

    /// The value of an object, stored as YAML or JSON.
    ///
    /// # Errors
    /// If the dataset is not an object, or its text is neither YAML nor JSON.
    ///
    /// # Examples
    /// ```
    /// let archive = rab::Archive::open("tests/data/rab/readme.rab")?;
    /// assert!(archive.dataset("an object")?.object()?.as_map().is_some());
    /// # Ok::<(), rab::Error>(())
    /// ```
    pub fn object(&self) -> Result<Arc<Node>> {
        if self.kind() != "object" {
            return Err(self.other(&format!("is {}, not an object", self.kind())));
        }
        yaml::value(&self.text()?)
            .map_err(|problem| self.damaged(format!("the object cannot be read: {problem}")))
    }

    /// As views see it.
    pub(crate) fn seen(&self) -> view::Dataset {
        let listed = Listed {
            about: self.description.clone(),
            datasets: self.archive.datasets.clone(),
            number: self.number,
            instead: self.instead.clone(),
        };
        view::Dataset::new(self.description.clone(), Arc::new(listed))
    }

    /// The array that it is, or stands for, item by item; None if its format has no such arrays.
    pub(crate) fn items(&self) -> Option<Box<dyn Items>> {
        self.archive.abilities().nested?.items(self.number)
    }

    /// The same dataset with its values in their unit (Onda's signals: `fma(resolution, value, offset)` as
    /// float64).
    ///
    /// # Errors
    /// [`Error::Usage`] if its values have no unit.
    pub fn decoded(self) -> Result<Dataset<'a>> {
        let sampled = self.archive.abilities().sampled;
        let decoded = sampled.map_or(Ok(None), |sampled| sampled.decoded(self.number, &self.description))?;
        let Some((description, content)) = decoded else {
            let none = || Error::Usage(format!("{}: its values have no unit to be decoded to", self.place()));
            return Err(self.no_array().unwrap_or_else(none));
        };
        Ok(Dataset { description, instead: Some(content), ..self })
    }

    pub(super) fn content(&self) -> Result<Content> {
        if let Some(content) = &self.instead {
            return Ok(content.clone());
        }
        self.archive.datasets.content(self.number)
    }

    /// What there is of it if it makes no sense, or is not read here.
    pub(super) fn remains(&self) -> Result<Content> {
        self.archive.datasets.remains(self.number)
    }

    /// What is against its format's rules.
    pub(super) fn violations(&self) -> Result<Vec<String>> {
        let validate = self.archive.abilities().validate;
        validate.map_or(Ok(Vec::new()), |validate| validate.violations(self.number))
    }

    /// The file that its stored bytes are in, if that is not the one that the container was opened by.
    pub(super) fn other_file(&self) -> Option<Arc<dyn Source>> {
        self.archive.abilities().provenance?.file(self.number)
    }

    /// The file that its stored bytes are in.
    pub(super) fn file(&self) -> Arc<dyn Source> {
        self.other_file().unwrap_or_else(|| self.archive.source.clone())
    }

    pub(crate) fn place(&self) -> Place {
        let place = self.file().place().dataset(&self.description.printed_name());
        let row = self.archive.abilities().provenance.and_then(|provenance| provenance.row(self.number));
        Place { row: row.map(Box::new), ..place }
    }

    pub(super) fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::damaged(self.place(), problem)
    }

    /// It is asked for something that it does not have.
    pub(super) fn other(&self, problem: &str) -> Error {
        Error::Other(format!("{}: {problem}", self.place()))
    }
}

/// A dataset by its number.
struct Listed {
    about: Description,
    datasets: Arc<dyn Datasets>,
    number: u32,
    instead: Option<Content>,
}

impl view::Origin for Listed {
    fn describe(&self) -> Result<Description> {
        Ok(self.about.clone())
    }

    fn content(&self) -> Result<Content> {
        self.instead.clone().map_or_else(|| self.datasets.content(self.number), Ok)
    }
}
