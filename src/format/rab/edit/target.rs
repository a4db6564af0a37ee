//! The editor as a `NewContainer`: added datasets are appended, or replace those of the same name.

use std::io::Read;

use super::Editor;
use crate::Result;
use crate::format::writer::{NewContainer, NewDataset};

impl NewContainer for Editor {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        let name = dataset.name;
        let add = if self.has(name.as_bytes()) {
            self.replace(name.as_bytes())?
        } else {
            Editor::add(self, name.clone())
        };
        add.all_of(dataset, data)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Editor::finish(*self)
    }
}
