//! `NAME.jsonl`: each row of a table as an object of JSON on a line of its own. JSON has no NaN and no infinities: they
//! are null, as pandas and polars write them. Complex numbers are strings, `"0.5-2.0j"`, texts that are no UTF-8 or no
//! Unicode `{"__bytes_hex__":"ff"}`. The length is found by the
//! first stat.

use super::frame::Frame;
use super::{Dataset, Representation, View, limits};
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
        Frame::shows(about) && too_much(about).is_none()
    }

    fn refuses(&self, about: &Description) -> Option<String> {
        too_much(about).filter(|_| Frame::shows(about))
    }

    fn represent(&self, dataset: &Dataset) -> Result<Representation> {
        Ok(Representation::File(match Frame::of(dataset)? {
            Ok(frame) => lines::jsonl(frame)?,
            Err(broken) => broken,
        }))
    }
}

/// Around each value are two quotes, a colon and a comma.
fn too_much(about: &Description) -> Option<String> {
    limits::too_much(about, |name| name.len() as u64 + 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Content;
    use crate::view::kit::{about, dataset, read, represent, table};

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
        let found = represent(&Jsonl, about(None, Some(table(2, &columns))), &bytes.concat()[..]).unwrap();
        assert_eq!(found.known_len(), None);
        assert!(found.len().is_ok());
        let want = "{\"a\\\"b\":7,\"yes\":true,\"x\":0.5,\"x~2\":\"é\\n\",\"%\":\"1.0-2.0j\"}\n\
                    {\"a\\\"b\":255,\"yes\":false,\"x\":null,\"x~2\":\"tab\",\"%\":\"nan+0.0j\"}\n";
        assert_eq!(String::from_utf8(read(&found)).unwrap(), want);
    }

    #[test]
    fn names_are_not_written_without_end() {
        let name = "x".repeat(256 << 10);
        let of = dataset(about(None, Some(table(1, &[(&name, "uint8")]))), Content::Inline((*b"a").into()));
        let error = Jsonl.represent(&of).err().unwrap();
        assert!(error.to_string().contains("262144"), "{error}");
    }

    #[test]
    fn rows_are_not_made_again_and_again_without_end() {
        let of = |width: u64| about(None, Some(table(1, &[("t", &*width.to_string())])));
        for view in [&Jsonl as &dyn View, &crate::view::csv::Csv] {
            assert!(view.shows(&of(1 << 20)) && !view.shows(&of((1 << 20) + 1)));
            assert!(view.refuses(&of(60_000_000)).unwrap().starts_with("a row has 60000000 bytes, "));
        }
    }

    #[test]
    fn a_small_file_has_no_text_without_end() {
        let name = "x".repeat(1000);
        let of = |rows, stored| {
            let table = table(rows, &[(&name, "uint8")]);
            Description { stored: Some(0..stored), ..about(None, Some(table)) }
        };
        let most = (1 << 30) / 1004;
        assert!(Jsonl.shows(&of(most, 98_000)) && !Jsonl.shows(&of(most + 1, 98_000)));
        let message = Jsonl.refuses(&of(10u64.pow(8), 98_000)).unwrap();
        assert_eq!(
            message,
            "as text its 100000000 rows have more than 1073741824 bytes around their values, which is the limit"
        );
        // What is as long itself may be as long as text.
        assert!(
            Jsonl.refuses(&of(10u64.pow(8), 2 << 30)).is_none() && Jsonl.shows(&of(10u64.pow(8), 2 << 30))
        );
        let ordinary = about(None, Some(table(10u64.pow(9), &[("a", "float64"), ("time", "int64")])));
        assert!(Jsonl.shows(&Description { stored: Some(0..16 * 10u64.pow(9)), ..ordinary }));
        // A part's limit follows from its own bytes.
        let part = about(None, Some(table(10u64.pow(8), &[(&name, "uint8")])));
        assert!(!Jsonl.shows(&Description { decoded_len: Some(10u64.pow(8)), ..part }));
    }

    #[test]
    fn text_that_is_none_is_bytes() {
        let found = represent(&Jsonl, about(None, Some(table(2, &[("t", "2")]))), b"a\0\xff\0").unwrap();
        assert_eq!(read(&found), b"{\"t\":\"a\"}\n{\"t\":{\"__bytes_hex__\":\"ff\"}}\n");
    }

    #[test]
    fn nothing_has_no_rows() {
        let found = represent(&Jsonl, about(None, Some(table(0, &[("t", "1")]))), b"").unwrap();
        assert_eq!(found.known_len(), Some(0));
    }
}
