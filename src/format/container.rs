//! An opened container, as mounts, `rab` and the library see it.

use std::sync::Arc;

use crate::Result;
use crate::content::Content;
use crate::tree::{Arena, Builder, Datasets, Derived, Files, Names, Tree, WithViews};

pub struct Container {
    pub format: &'static str,
    /// The datasets' original names, by number.
    pub names: Arc<dyn Names>,
    pub datasets: Arc<dyn Datasets>,
    /// Files below `.views`.
    pub derived: Derived,
    /// Files in the root that describe the container as a whole.
    pub files: Vec<(&'static str, Content)>,
    /// What a mount shows, if it is not a tree of names in memory.
    pub tree: Option<Arc<dyn Tree>>,
    /// Makes the computed nodes below `.views`, which are shown beside the derived files.
    pub views: Option<Views>,
}

/// Receives the tree of the datasets.
pub type Views = Box<dyn FnOnce(&Arc<Arena>) -> Arc<dyn Tree> + Send + Sync>;

impl Container {
    /// A container with only datasets.
    pub fn new(format: &'static str, names: Arc<dyn Names>, datasets: Arc<dyn Datasets>) -> Container {
        Container {
            format,
            names,
            datasets,
            derived: Derived::default(),
            files: Vec::new(),
            tree: None,
            views: None,
        }
    }

    /// Builds the tree that a mount shows.
    pub fn into_tree(self) -> Result<Arc<dyn Tree>> {
        let mut views: Option<Arc<dyn Tree>> = None;
        if !self.derived.is_empty() {
            views = Some(Arc::new(self.derived.tree()?));
        }
        let mut tree = match self.tree {
            Some(tree) => tree,
            None => {
                let arena = Arc::new(Builder::build(&*self.names, self.datasets)?.shown_as(self.format));
                if let Some(make) = self.views {
                    let computed = make(&arena);
                    views = Some(match views {
                        Some(derived) => Arc::new(WithViews::beside(computed, derived)),
                        None => computed,
                    });
                }
                arena
            }
        };
        if !self.files.is_empty() {
            let (names, files) = Files::new(self.files);
            tree = Arc::new(WithViews::beside(tree, Arc::new(Builder::build(&names, Arc::new(files))?)));
        }
        Ok(match views {
            Some(views) => Arc::new(WithViews::new(tree, views)),
            None => tree,
        })
    }
}
