//! Decoded bytes as a source, for data that is compressed a second time.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Content;
use crate::source::Source;
use crate::{Error, Result};

pub struct AsSource {
    content: Content,
    len: u64,
    path: PathBuf,
    modified: SystemTime,
}

impl AsSource {
    /// The bytes of `content`, which come from `of`. Its length is known.
    pub fn new(content: Content, of: &dyn Source) -> AsSource {
        let len = content.known_len().unwrap_or(0);
        AsSource { content, len, path: of.path().to_owned(), modified: of.modified() }
    }
}

impl Source for AsSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn modified(&self) -> SystemTime {
        self.modified
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        match offset.checked_add(buf.len() as u64) {
            Some(end) if end <= self.len => self.content.fill(buf, offset),
            _ => Err(Error::Other("read past the end".into())),
        }
    }

    fn is_in_file(&self) -> bool {
        false
    }

    /// Whoever gives the content asks its own source.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// It may have to be decoded first.
    fn is_cached(&self, _: &std::ops::Range<u64>) -> bool {
        false
    }
}
