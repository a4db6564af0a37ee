//! Paths in the tree of a container: file names, and the dataset names they stand for where those are escaped. Entries
//! of a directory share their parent, so that deep trees with long names cost no more than flat ones with short names.

use std::sync::Arc;

/// A path from the root.
#[derive(Clone, Debug, Default)]
pub struct ViewPath(Option<Arc<Step>>);

#[derive(Debug)]
struct Step {
    above: ViewPath,
    /// The file name.
    name: Box<[u8]>,
    called: Called,
    depth: usize,
    /// Length of the dataset name in bytes, slashes included.
    len: usize,
}

/// Longer names fall back to the file name: otherwise a few parts of one array could use the whole budget for names.
const MAX_LEN: usize = 4096;

#[derive(Debug)]
enum Called {
    /// Equal to the file name.
    Plain,
    /// This component is named so.
    So(Box<str>),
    /// The whole path down to here is named so.
    Whole(Box<str>),
}

impl ViewPath {
    pub fn of(names: impl IntoIterator<Item = Vec<u8>>) -> ViewPath {
        names.into_iter().fold(ViewPath::default(), |way, name| way.below(name))
    }

    pub fn below(&self, name: impl Into<Box<[u8]>>) -> ViewPath {
        let name = name.into();
        let len = self.len_with(name.len());
        self.step(name, Called::Plain, len)
    }

    /// Like [`ViewPath::below`], for a file name that differs from the dataset name.
    pub fn below_called(&self, name: Vec<u8>, called: &str) -> ViewPath {
        if name == called.as_bytes() || called.len() > MAX_LEN {
            return self.below(name);
        }
        let len = self.len_with(called.len().max(name.len()));
        self.step(name.into(), Called::So(called.into()), len)
    }

    /// A path of these file names, with a different dataset name.
    pub fn called(names: impl IntoIterator<Item = Vec<u8>>, called: &str) -> ViewPath {
        let way = ViewPath::of(names);
        match way.0.as_deref() {
            Some(step) if called.len() <= MAX_LEN && way.joined().as_ref() != called => {
                let len = step.len.max(called.len());
                step.above.step(step.name.clone(), Called::Whole(called.into()), len)
            }
            _ => way,
        }
    }

    fn step(&self, name: Box<[u8]>, called: Called, len: usize) -> ViewPath {
        let depth = self.0.as_ref().map_or(0, |step| step.depth) + 1;
        ViewPath(Some(Arc::new(Step { above: self.clone(), name, called, depth, len })))
    }

    fn len_with(&self, more: usize) -> usize {
        self.0.as_ref().map_or(more, |step| step.len + 1 + more)
    }

    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The length in bytes of [`ViewPath::joined`], or of the file names if they are longer.
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

    /// The dataset name, also used in messages.
    pub fn joined(&self) -> Box<str> {
        let (mut parts, mut way) = (Vec::new(), self);
        while let Some(step) = &way.0 {
            parts.push(match &step.called {
                Called::Plain => String::from_utf8_lossy(&step.name),
                Called::So(name) | Called::Whole(name) => (&**name).into(),
            });
            if matches!(step.called, Called::Whole(_)) {
                break;
            }
            way = &step.above;
        }
        parts.reverse();
        parts.join("/").into()
    }

    /// The path of the file.
    pub fn escaped(&self) -> Box<str> {
        String::from_utf8_lossy(&self.names().join(&b'/')).into_owned().into()
    }

    /// The relative link to `target` from the directory that holds this path.
    pub fn to(&self, target: &ViewPath) -> Vec<u8> {
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

    fn way(text: &str) -> ViewPath {
        ViewPath::of(text.split('/').map(|part| part.as_bytes().to_vec()))
    }

    #[test]
    fn relative_links() {
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
    fn escaped_paths_keep_their_names() {
        let root = ViewPath::called([b"p".to_vec(), b"%2E%2E%2Fq".to_vec()], "p/../q");
        let column = root.below(*b"columns").below_called(b"a%25".to_vec(), "a%").below(*b"data");
        assert_eq!(&*column.joined(), "p/../q/columns/a%/data");
        assert_eq!(&*column.escaped(), "p/%2E%2E%2Fq/columns/a%25/data");
        assert_eq!(column.len(), column.escaped().len());
        assert_eq!(&*ViewPath::called([b"x".to_vec(), b"y".to_vec()], "x/y").below(*b"z").joined(), "x/y/z");
        let long = "n".repeat(MAX_LEN + 1);
        assert_eq!(&*root.below_called(b"n~1".to_vec(), &long).joined(), "p/../q/n~1");
        assert_eq!(&*ViewPath::called([b"n~1".to_vec()], &long).joined(), "n~1");
    }

    #[test]
    fn paths_know_their_length() {
        for text in ["a", "a/bc/d", "x/columns/b"] {
            assert_eq!((way(text).len(), &*way(text).joined()), (text.len(), text));
        }
        assert!(ViewPath::default().is_root() && ViewPath::default().joined().is_empty());
    }
}
