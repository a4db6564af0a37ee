//! A dataset as views see it: what is said of it, and its bytes. A part of an array is one too.

use std::sync::Arc;

use crate::array::{self, Array, Slab};
use crate::content::{Content, hyperslab};
use crate::tree::{Description, Face, Held};
use crate::{Error, Result};

/// Where a dataset is.
pub trait Origin: Send + Sync {
    /// Everything that is said of it.
    fn describe(&self) -> Result<Description>;

    /// Its decoded bytes.
    fn content(&self) -> Result<Content>;
}

impl Origin for Held {
    fn describe(&self) -> Result<Description> {
        self.tree().describe(self.node())?.ok_or(Error::NotFound)
    }

    fn content(&self) -> Result<Content> {
        self.tree().content(self.node(), Face::Data)
    }
}

#[derive(Clone)]
pub struct Dataset {
    about: Arc<Description>,
    origin: Arc<dyn Origin>,
    /// The array that it is a part of, and which.
    part: Option<Arc<(Array, Slab)>>,
}

impl Dataset {
    /// `about` may lack metadata, codec and checksum.
    pub fn new(about: Description, origin: Arc<dyn Origin>) -> Dataset {
        Dataset { about: Arc::new(about), origin, part: None }
    }

    /// The dataset whose file `held` is; None if it is no dataset's.
    pub fn of(held: &Arc<Held>) -> Result<Option<Dataset>> {
        let about = held.tree().brief(held.node())?;
        Ok(about.map(|about| Dataset::new(about, held.clone())))
    }

    /// A part of its array, given as in numpy: `3, 10:20, ::2`. The error says what is wrong with that.
    pub fn part(&self, expression: &str) -> Result<Dataset, String> {
        if self.part.is_some() {
            return Err("it is a part already".into());
        }
        let Some(array) = &self.about.array else {
            return Err(format!("it is {}, not an array of a known layout", self.about.kind));
        };
        let slab = Slab::parse(expression, &array.shape)?;
        let about = self.narrowed(Description::clone(&self.about), &slab);
        let part = Some(Arc::new((array.clone(), slab)));
        Ok(Dataset { about: Arc::new(about), origin: self.origin.clone(), part })
    }

    fn narrowed(&self, about: Description, slab: &Slab) -> Description {
        let array = about.array.map(|array| Array { shape: slab.shape().into(), ..array });
        let len = array.as_ref().and_then(|array| array::byte_len(array.dtype.element, &array.shape));
        Description { array, decoded_len: len, recorded_len: None, stored: None, checksum: None, ..about }
    }

    /// What is said of it, maybe without metadata, codec and checksum.
    pub fn about(&self) -> &Description {
        &self.about
    }

    /// Everything that is said of it.
    pub fn describe(&self) -> Result<Description> {
        let about = self.origin.describe()?;
        Ok(match self.part.as_deref() {
            None => about,
            Some((_, slab)) => self.narrowed(about, slab),
        })
    }

    /// Its decoded bytes.
    pub fn content(&self) -> Result<Content> {
        match self.part.as_deref() {
            None => self.origin.content(),
            Some((array, slab)) => hyperslab(self.elements_of(array)?, array, slab),
        }
    }

    /// The bytes of the array's elements, and no others.
    pub fn elements(&self, array: &Array) -> Result<Content> {
        if self.part.is_some() { self.content() } else { self.elements_of(array) }
    }

    fn elements_of(&self, array: &Array) -> Result<Content> {
        self.first(self.origin.content()?, array::byte_len(array.dtype.element, &array.shape))
    }

    /// The first `len` bytes, as many as its description says that it has.
    pub fn exactly(&self, len: Option<u64>) -> Result<Content> {
        self.first(self.content()?, len)
    }

    fn first(&self, content: Content, len: Option<u64>) -> Result<Content> {
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
