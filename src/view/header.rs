//! `header.yaml`: a container's own header, unchanged, for formats whose header is text. No dataset has this view; the
//! container derives the file.

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

    fn represent(&self, _: &Dataset) -> Result<Representation> {
        Err(Error::NotFound)
    }
}
