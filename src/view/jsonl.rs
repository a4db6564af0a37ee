//! `NAME.jsonl`: each row of a table as an object of JSON on a line of its own. JSON has no NaN and no infinities: they
//! are null, as pandas and polars write them. Complex numbers are strings, `"0.5-2.0j"`. The length is found by the
//! first stat.

use super::frame::Frame;
use super::{Dataset, Face, View};
use crate::tree::Description;
use crate::{Result, lines};

pub struct Jsonl;

impl View for Jsonl {
    fn kind(&self) -> &'static str {
        "jsonl"
    }

    fn extension(&self) -> &'static str {
        ".jsonl"
    }

    fn shows(&self, about: &Description) -> bool {
        Frame::shows(about)
    }

    fn face(&self, dataset: &Dataset) -> Result<Face> {
        Ok(Face::File(match Frame::of(dataset)? {
            Ok(frame) => lines::jsonl(frame)?,
            Err(broken) => broken,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Content;
    use crate::view::kit::{about, dataset, face, read, table};

    #[test]
    fn rows_are_objects() {
        let columns = [("a\"b", "uint8"), ("yes", "bool"), ("x", "float32"), ("x", "5"), ("", "complex64")];
        let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let bytes = [
            &[7, 255, 1, 0][..],
            &floats(&[0.5, f32::NEG_INFINITY]),
            "é\n\0\0tab\0\0".as_bytes(),
            &floats(&[1.0, -2.0, f32::NAN, 0.0]),
        ];
        let found = face(&Jsonl, about(None, Some(table(2, &columns))), &bytes.concat()[..]).unwrap();
        assert_eq!(found.known_len(), None);
        assert!(found.len().is_ok());
        let want = "{\"a\\\"b\":7,\"yes\":true,\"x\":0.5,\"x~2\":\"é\\n\",\"~2\":\"1.0-2.0j\"}\n\
                    {\"a\\\"b\":255,\"yes\":false,\"x\":null,\"x~2\":\"tab\",\"~2\":\"nan+0.0j\"}\n";
        assert_eq!(String::from_utf8(read(&found)).unwrap(), want);
    }

    #[test]
    fn names_are_not_written_without_end() {
        let name = "x".repeat(256 << 10);
        let of = dataset(about(None, Some(table(1, &[(&name, "uint8")]))), Content::Inline((*b"a").into()));
        let error = Jsonl.face(&of).err().unwrap();
        assert!(error.to_string().contains("262144"), "{error}");
    }

    #[test]
    fn text_that_is_none_is_named() {
        let found = face(&Jsonl, about(None, Some(table(2, &[("t", "1")]))), b"a\xff").unwrap();
        let said = found.len().unwrap_err().to_string();
        assert!(said.contains("row 1") && said.contains("\"t\""), "{said}");
    }

    #[test]
    fn nothing_has_no_rows() {
        let found = face(&Jsonl, about(None, Some(table(0, &[("t", "1")]))), b"").unwrap();
        assert_eq!(found.known_len(), Some(0));
    }
}
