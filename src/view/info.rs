//! `NAME.info.txt`: the output of `rab info FILE NAME`. Every dataset has it, even an invalid one; nothing is decoded.

use super::{Dataset, Representation, View};
use crate::content::Content;
use crate::tree::Description;
use crate::{Result, report};

pub struct Info;

impl View for Info {
    fn kind(&self) -> &'static str {
        "info"
    }

    fn extension(&self) -> &'static str {
        ".info.txt"
    }

    fn shows(&self, _: &Description) -> bool {
        true
    }

    fn represent(&self, dataset: &Dataset) -> Result<Representation> {
        let about = dataset.describe()?;
        let text = report::text(&report::full(&about, &about.printed_name(), None));
        Ok(Representation::File(Content::Inline(text.into_bytes().into())))
    }
}
