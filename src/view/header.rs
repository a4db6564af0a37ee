//! `header.yaml`: the header of a container as it stands, of formats that have one that is text. No dataset has this
//! face; the container derives it.

use super::{Dataset, Representation, View};
use crate::tree::Description;
use crate::{Error, Result};

pub struct Header;

impl View for Header {
    fn kind(&self) -> &'static str {
        "header"
    }

    fn extension(&self) -> &'static str {
        ".yaml"
    }

    fn shows(&self, _: &Description) -> bool {
        false
    }

    fn face(&self, _: &Dataset) -> Result<Representation> {
        Err(Error::NotFound)
    }
}
