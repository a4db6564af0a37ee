//! A view in whose form datasets are written.

use std::sync::Arc;

use crate::Result;
use crate::content::Content;
use crate::tree::{Face, Held, NodeId, Tree};
use crate::view::{self, Dataset, Faces, View};

pub struct Shown {
    pub tree: Arc<dyn Tree>,
    pub view: &'static dyn View,
}

impl Shown {
    /// The dataset whose file is `node`, if it has a face.
    fn dataset(&self, node: NodeId, face: Face) -> Result<Option<Dataset>> {
        if face == Face::Sidecar {
            return Ok(None);
        }
        let dataset = Dataset::of(&Arc::new(Held::borrowed(&self.tree, node)))?;
        Ok(dataset.filter(|dataset| self.view.shows(dataset.about())))
    }

    /// What the file of a node in `dir` is called then; None if it stays what it is.
    pub fn name(&self, dir: NodeId, name: &[u8], node: NodeId, face: Face) -> Result<Option<Vec<u8>>> {
        if self.dataset(node, face)?.is_none() {
            return Ok(None);
        }
        let faces = Faces { tree: &self.tree, dir, view: self.view, taken: &[], has_others: true };
        faces.name(name).map(Some)
    }

    /// What is in it then.
    pub fn content(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        let Some(dataset) = self.dataset(node, face)? else { return Ok(None) };
        match self.view.face(&dataset)? {
            view::Face::File(content) => Ok(Some(content)),
            view::Face::Directory(_) => Ok(None),
        }
    }
}
