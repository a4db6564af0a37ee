//! What a container derives from its datasets: files below `.views`, which are datasets like any other.

use std::sync::Arc;

use super::{Arena, Builder, Datasets, File, Files, NameList, ROOT, Tree};
use crate::Result;

/// Their names are paths below `.views`: `csv/tables/T.csv`.
#[derive(Clone)]
pub struct Derived {
    names: Arc<NameList>,
    datasets: Arc<dyn Datasets>,
}

impl Derived {
    pub fn of_files<N: AsRef<str>, F: Into<File>>(files: Vec<(N, F)>) -> Derived {
        let (names, files) = Files::new(files);
        Derived { names: Arc::new(names), datasets: Arc::new(files) }
    }

    pub fn is_empty(&self) -> bool {
        self.names.len() == 0
    }

    pub fn datasets(&self) -> &Arc<dyn Datasets> {
        &self.datasets
    }

    /// As they are found below `.views`.
    pub fn tree(&self) -> Result<Arena> {
        Builder::build(&*self.names, self.datasets.clone())
    }

    /// Those of one view: their numbers and names, without the view's directory and extension.
    pub fn of_view<'a>(&'a self, kind: &'a str, extension: &'a str) -> impl Iterator<Item = (u32, &'a [u8])> {
        let name = move |path: &'a [u8]| {
            let below = path.strip_prefix(kind.as_bytes())?.strip_prefix(b"/")?;
            below.strip_suffix(extension.as_bytes())
        };
        (0..).zip(self.names.iter()).filter_map(move |(number, path)| Some((number, name(path)?)))
    }

    /// The one of a view that is called so, or whose file is.
    pub fn find(&self, kind: &str, extension: &str, name: &[u8]) -> Option<u32> {
        let called = self.of_view(kind, extension).find(|(_, own)| *own == name);
        let path = || [kind.as_bytes(), b"/", name, extension.as_bytes()].concat();
        called.map(|(number, _)| number).or_else(|| self.at_path(&path()))
    }

    fn at_path(&self, path: &[u8]) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let tree = self.tree().ok()?;
        let mut names = path.split(|byte| *byte == b'/');
        let node = names.try_fold(ROOT, |dir, name| Some(tree.lookup(dir, name).ok()??.0))?;
        tree.dataset_of(node)
    }
}

/// Nothing.
impl Default for Derived {
    fn default() -> Derived {
        Derived::of_files(Vec::<(&str, File)>::new())
    }
}
