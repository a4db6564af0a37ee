//! The true names of a container's datasets: needed until a tree is built, or to find datasets without one.
//! Kept packed in a [`NameList`], or computed where there is a rule.

use std::borrow::Cow;

/// Names by the numbers of their datasets, in WTF-8.
#[allow(clippy::len_without_is_empty)] // nobody asks
pub trait Names: Send + Sync {
    fn len(&self) -> usize;

    fn get(&self, number: usize) -> Option<Cow<'_, [u8]>>;

    /// The dataset of a name, where it can be computed; None: search all of them.
    fn find(&self, name: &[u8]) -> Option<Option<usize>> {
        let _ = name;
        None
    }
}

impl dyn Names + '_ {
    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        (0..self.len()).map(|number| self.get(number).unwrap_or_default())
    }
}

impl Names for NameList {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, number: usize) -> Option<Cow<'_, [u8]>> {
        self.get(number).map(Cow::Borrowed)
    }
}

#[derive(Clone, Default)]
pub struct NameList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl NameList {
    pub fn push(&mut self, name: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let start = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(start..*self.ends.get(number)?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[*start..*end])
    }
}

#[cfg(test)]
impl<'a> FromIterator<&'a str> for NameList {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> NameList {
        let mut list = NameList::default();
        names.into_iter().for_each(|name| list.push(name.as_bytes()));
        list
    }
}
