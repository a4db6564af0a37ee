//! The single array of an opened file.

use std::ops::Range;
use std::sync::Arc;

use super::FACTS;
use crate::array::npy::{FIXED, Header, MAGIC, OBJECTS, Problem};
use crate::array::numpy::Parts;
use crate::content::Content;
use crate::source::Source;
use crate::tree::{Abilities, Datasets, Description, NameList, Sidecars, Size};
use crate::yaml::{self, Node};
use crate::{Error, Result};

pub struct NpyDatasets {
    source: Arc<dyn Source>,
    /// The file's name without its extension.
    stem: String,
    header: Header,
}

impl NpyDatasets {
    pub fn open(source: Arc<dyn Source>) -> Result<NpyDatasets> {
        let header = read(&*source)?;
        // The length of a pickle is not known from the header.
        if !header.descr.has_objects {
            let have = source.len() - header.len;
            header.fits(have).map_err(|problem| Error::damaged(source.place().at(header.len), problem))?;
        }
        let stem = source.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(NpyDatasets { source, stem, header })
    }

    pub fn names(&self) -> NameList {
        let mut names = NameList::default();
        names.push(self.stem.as_bytes());
        names
    }

    /// Its range in the file.
    fn stored(&self) -> Range<u64> {
        self.header.len..self.source.len()
    }

    fn sidecar_text(&self, file_name: &[u8]) -> String {
        let has_objects = self.header.descr.has_objects;
        let problem = has_objects.then(|| ("problem", Node::text(OBJECTS)));
        let fields = [("name", Node::text(&self.stem)), (FACTS, self.header.node())];
        let mut text = String::new();
        yaml::write(&Node::map(fields.into_iter().chain(problem)), 0, &mut text);
        if !has_objects {
            let Header { descr, shape, order, .. } = &self.header;
            text += &Parts::new(&descr.text, shape, *order, false).text(file_name);
        }
        text
    }
}

/// Reads the header, whose length is in its first bytes.
fn read(source: &dyn Source) -> Result<Header> {
    let damaged = |problem: String| Error::damaged(source.place(), problem);
    let mut wanted = FIXED;
    loop {
        let first = source.read_range(0..source.len().min(wanted as u64))?;
        match Header::parse(&first) {
            Ok(header) => return Ok(header),
            Err(Problem::Short(need)) if need > first.len() && need as u64 <= source.len() => wanted = need,
            Err(Problem::Short(need)) if first.starts_with(MAGIC) || MAGIC.starts_with(&first) => {
                return Err(damaged(format!(
                    "its header needs {need} bytes, but the file has {}",
                    source.len()
                )));
            }
            Err(Problem::Short(_)) => return Err(damaged("it does not begin as a .npy file".into())),
            Err(Problem::Wrong(problem)) => return Err(damaged(problem)),
        }
    }
}

impl Datasets for NpyDatasets {
    fn count(&self) -> u64 {
        1
    }

    fn size(&self, _: u32) -> Size {
        let Range { start, end } = self.stored();
        Size { len: Some(end - start), stored: end - start }
    }

    fn content(&self, number: u32) -> Result<Content> {
        if !self.header.descr.has_objects {
            return self.remains(number);
        }
        let place = self.source.place().dataset(&self.stem);
        let error = Error::Unsupported { place, problem: OBJECTS.into() };
        Ok(Content::Broken { claimed: self.source.len() - self.header.len, error })
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        self.content(number).map(Some)
    }

    fn describe(&self, _: u32) -> Result<Description> {
        let (header, stored) = (&self.header, self.stored());
        let is_opaque = header.descr.has_objects;
        Ok(Description {
            array: header.array(),
            decoded_len: Some(stored.end - stored.start).filter(|_| !is_opaque),
            stored: Some(stored),
            is_opaque,
            codec: Arc::new(header.node()),
            ..Description::of(self.stem.as_str(), if is_opaque { "pickle" } else { header.kind() })
        })
    }

    fn remains(&self, _: u32) -> Result<Content> {
        Ok(Content::Stored { source: self.source.clone(), range: self.stored() })
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { sidecars: Some(self), ..Abilities::default() }
    }
}

impl Sidecars for NpyDatasets {
    fn sidecar_size(&self, _: u32, file_name: &[u8]) -> Size {
        let len = self.sidecar_text(file_name).len() as u64;
        Size { len: Some(len), stored: len }
    }

    fn sidecar(&self, _: u32, file_name: &[u8]) -> Result<Content> {
        Ok(Content::Inline(self.sidecar_text(file_name).into_bytes().into()))
    }
}
