//! Files that are not datasets: those that a format shows beside them or derives from them.

use std::sync::OnceLock;

use super::{Datasets, Description, NameList, Size};
use crate::content::Content;
use crate::{Error, Result};

type Make = Box<dyn Fn() -> Result<Content> + Send + Sync>;
type Rows = Box<dyn Fn(&str) -> Result<Option<Content>> + Send + Sync>;

/// One of them.
#[derive(Default)]
pub struct File {
    /// None: it is there already.
    make: Option<Make>,
    made: OnceLock<Content>,
    is_made_again: bool,
    size: Option<Size>,
    about: Option<Description>,
    rows: Option<Rows>,
}

impl File {
    /// Made when it is first asked for, and kept; what fails is made again.
    pub fn once(make: impl Fn() -> Result<Content> + Send + Sync + 'static) -> File {
        File { make: Some(Box::new(make)), ..File::default() }
    }

    /// Made whenever it is asked for.
    pub fn anew(size: Size, make: impl Fn() -> Result<Content> + Send + Sync + 'static) -> File {
        File { is_made_again: true, size: Some(size), ..File::once(make) }
    }

    /// With a size that is known before it is made.
    pub fn sized(self, size: Size) -> File {
        File { size: Some(size), ..self }
    }

    pub fn described(self, about: Option<Description>) -> File {
        File { about, ..self }
    }

    /// Some rows of it are files too, see [`super::Tree::rows`].
    pub fn with_rows(self, rows: impl Fn(&str) -> Result<Option<Content>> + Send + Sync + 'static) -> File {
        File { rows: Some(Box::new(rows)), ..self }
    }

    fn size(&self) -> Size {
        let len = self.made.get().and_then(Content::known_len);
        let stored = if self.make.is_none() { len.unwrap_or(0) } else { 0 };
        self.size.unwrap_or(Size { len, stored })
    }

    fn content(&self) -> Result<Content> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let content = self.make.as_ref().map_or(Err(Error::NotFound), |make| make())?;
        Ok(if self.is_made_again { content } else { self.made.get_or_init(|| content).clone() })
    }
}

/// One that is there already.
impl From<Content> for File {
    fn from(content: Content) -> File {
        File { made: content.into(), ..File::default() }
    }
}

/// For [`super::Builder`]: a slash in a name makes directories.
pub struct Files(Vec<File>);

impl Files {
    /// With their names.
    pub fn new<N: AsRef<str>, F: Into<File>>(files: Vec<(N, F)>) -> (NameList, Files) {
        let mut names = NameList::default();
        files.iter().for_each(|(name, _)| names.push(name.as_ref().as_bytes()));
        (names, Files(files.into_iter().map(|(_, file)| file.into()).collect()))
    }

    fn file(&self, number: u32) -> Result<&File> {
        self.0.get(number as usize).ok_or(Error::NotFound)
    }
}

impl Datasets for Files {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        self.file(number).map_or(Size { len: None, stored: 0 }, File::size)
    }

    fn content(&self, number: u32) -> Result<Content> {
        self.file(number)?.content()
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        Ok(self.file(number)?.made.get().cloned())
    }

    fn describe(&self, number: u32) -> Result<Description> {
        self.file(number)?.about.clone().ok_or(Error::NotFound)
    }

    fn rows(&self, number: u32, expression: &str) -> Result<Option<Content>> {
        self.file(number)?.rows.as_ref().map_or(Ok(None), |rows| rows(expression))
    }
}
