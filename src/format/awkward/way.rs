//! Where something is in the tree of a container: file names, one below the other. Those of one directory share what
//! leads there, so that deep trees of long names cost no more than flat ones of short names.

use std::sync::Arc;

/// The way down from the root.
#[derive(Clone, Debug, Default)]
pub struct Way(Option<Arc<Step>>);

#[derive(Debug)]
struct Step {
    above: Way,
    name: Box<[u8]>,
    depth: usize,
    /// Bytes of all names, with slashes between them.
    len: usize,
}

impl Way {
    pub fn of(names: impl IntoIterator<Item = Vec<u8>>) -> Way {
        names.into_iter().fold(Way::default(), |way, name| way.below(name))
    }

    pub fn below(&self, name: impl Into<Box<[u8]>>) -> Way {
        let name = name.into();
        let (depth, len) = match &self.0 {
            Some(step) => (step.depth + 1, step.len + 1 + name.len()),
            None => (1, name.len()),
        };
        Way(Some(Arc::new(Step { above: self.clone(), name, depth, len })))
    }

    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// Bytes of [`Way::joined`].
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |step| step.len)
    }

    /// File names, outermost directory first.
    pub fn names(&self) -> Vec<&[u8]> {
        let mut names = Vec::with_capacity(self.0.as_ref().map_or(0, |step| step.depth));
        let mut way = self;
        while let Some(step) = &way.0 {
            names.push(&*step.name);
            way = &step.above;
        }
        names.reverse();
        names
    }

    pub fn parts(&self) -> Vec<Vec<u8>> {
        self.names().into_iter().map(<[u8]>::to_vec).collect()
    }

    /// What messages call a place, and users a dataset.
    pub fn joined(&self) -> Box<str> {
        String::from_utf8_lossy(&self.names().join(&b'/')).into_owned().into()
    }

    /// The way to `target` from the directory that holds this.
    pub fn to(&self, target: &Way) -> Vec<u8> {
        let (from, to) = (self.names(), target.names());
        let common =
            from.iter().zip(&to).take_while(|(a, b)| a == b).count().min(from.len().saturating_sub(1));
        let up = from.len().saturating_sub(1 + common);
        let mut way = vec![&b".."[..]; up];
        way.extend(to.iter().skip(common));
        if way.is_empty() { b".".to_vec() } else { way.join(&b'/') }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(text: &str) -> Way {
        Way::of(text.split('/').map(|part| part.as_bytes().to_vec()))
    }

    #[test]
    fn ways_from_place_to_place() {
        for (from, to, want) in [
            ("columns/b", "columns/a", "a"),
            ("x/columns/b", "x/columns/a/content", "a/content"),
            ("x/y/z/counts", "x/tags", "../../tags"),
            ("a", "b/c", "b/c"),
        ] {
            assert_eq!(way(from).to(&way(to)), want.as_bytes(), "{from} {to}");
        }
    }

    #[test]
    fn a_way_knows_its_length() {
        for text in ["a", "a/bc/d", "x/columns/b"] {
            assert_eq!((way(text).len(), &*way(text).joined()), (text.len(), text));
        }
        assert!(Way::default().is_root() && Way::default().joined().is_empty());
    }
}
