//! A dataset as views see it: what is said of it, and its bytes.

use std::sync::Arc;

use crate::array::{self, Array};
use crate::content::Content;
use crate::tree::{Description, Face, Held};
use crate::{Error, Result};

#[derive(Clone)]
pub struct Dataset {
    about: Arc<Description>,
    held: Arc<Held>,
}

impl Dataset {
    /// The dataset whose file `held` is; None if it is no dataset's.
    pub fn of(held: Arc<Held>) -> Result<Option<Dataset>> {
        let about = held.tree().brief(held.node())?;
        Ok(about.map(|about| Dataset { about: Arc::new(about), held }))
    }

    /// Its node in the tree.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }

    /// What is said of it, maybe without metadata, codec and checksum.
    pub fn about(&self) -> &Description {
        &self.about
    }

    /// Its decoded bytes.
    pub fn content(&self) -> Result<Content> {
        self.held.tree().content(self.held.node(), Face::Data)
    }

    /// The bytes of the array's elements, and no others.
    pub fn elements(&self, array: &Array) -> Result<Content> {
        self.exactly(array::byte_len(array.dtype.element, &array.shape))
    }

    /// The first `len` bytes, as many as its description says that it has.
    pub fn exactly(&self, len: Option<u64>) -> Result<Content> {
        let content = self.content()?;
        let Some(len) = len else { return Err(self.wrong("its shape does not fit into 64 bits")) };
        match content.known_len() {
            _ if matches!(content, Content::Broken { .. }) => Ok(content),
            Some(known) if known == len => Ok(content),
            Some(known) if known < len => {
                let error = self.wrong(&format!("it has {known} bytes, and its description says {len}"));
                Ok(Content::Broken { claimed: len, error })
            }
            _ => Ok(Content::Part { whole: Arc::new(content), range: 0..len }),
        }
    }

    /// Something of it makes no sense.
    pub fn wrong(&self, problem: &str) -> Error {
        Error::Other(format!("dataset {:?}: {problem}", self.about.name.lossy()))
    }
}
