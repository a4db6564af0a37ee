//! What a container has below `.views` of a mount by itself, of what is none of its datasets: as a tree for one view.

use std::sync::Arc;

use super::chosen::Chosen;
use crate::archive::Archive;
use crate::content::Content;
use crate::tree::{Builder, Datasets, Description, NameList, Size};
use crate::view::View;
use crate::{Error, Result};

pub struct Own {
    kind: &'static str,
    names: Vec<Vec<u8>>,
    of: Arc<dyn Datasets>,
}

impl Own {
    /// All of it, or those faces of it that are chosen by their names.
    pub fn tree(archive: &Archive, view: &dyn View, chosen: Option<&[Vec<u8>]>) -> Result<Chosen> {
        let (kind, names) = (view.kind(), archive.own_faces(view.kind()));
        let mut paths = NameList::default();
        for name in &names {
            paths.push(&[kind.as_bytes(), b"/", name, view.extension().as_bytes()].concat());
        }
        let is_chosen = |name: &Vec<u8>| chosen.is_none_or(|chosen| chosen.contains(name));
        let numbers: Vec<_> = (0..names.len()).filter(|at| names.get(*at).is_some_and(is_chosen)).collect();
        let own: Arc<dyn Datasets> = Arc::new(Own { kind, names, of: archive.datasets().clone() });
        Ok(Chosen::new(Builder::build(&paths, own)?, &numbers))
    }
}

impl Datasets for Own {
    fn count(&self) -> u64 {
        self.names.len() as u64
    }

    fn size(&self, _: u32) -> Size {
        Size { len: None, stored: 0 }
    }

    fn content(&self, number: u32) -> Result<Content> {
        let name = self.names.get(number as usize).ok_or(Error::NotFound)?;
        self.of.own_face(name, self.kind)?.ok_or(Error::NotFound)
    }

    fn content_at_once(&self, _: u32) -> Result<Option<Content>> {
        Ok(None)
    }

    fn describe(&self, _: u32) -> Result<Description> {
        Err(Error::NotFound)
    }

    fn remains(&self, number: u32) -> Result<Content> {
        self.content(number)
    }
}
