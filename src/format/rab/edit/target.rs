//! An editor as a container that is being written: what is added comes behind what there is.

use std::io::Read;

use super::Editor;
use crate::Result;
use crate::format::target::{NewContainer, NewDataset};

impl NewContainer for Editor {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        Editor::add(self, dataset.name.clone()).all_of(dataset, data)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Editor::finish(*self)
    }
}
