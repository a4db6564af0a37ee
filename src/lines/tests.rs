//! Tests rows with cells of every kind, read as a whole and in ranges.

use super::*;
use crate::Error;

/// Each row has one cell of each kind; row n has n * n bytes.
struct Table {
    count: u64,
    damaged: Option<u64>,
}

const NAMES: [&str; 7] = ["a,b", "", "x", "x", "list", "bytes", "missing"];

fn bytes(row: u64) -> Vec<u8> {
    (0..row * row).map(|at| (at * 7 + row) as u8).collect()
}

impl Cells for Table {
    fn count(&self) -> u64 {
        self.count
    }
    fn place(&self) -> Place {
        Place::default()
    }
    fn stored(&self) -> u64 {
        1
    }
    fn rows_per_block(&self) -> Option<u64> {
        Some(3)
    }
    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }
    fn each(&self, rows: Range<u64>, cell: &mut dyn FnMut(usize, Cell<'_>) -> Result<()>) -> Result<()> {
        for row in rows {
            let texts: [&[u8]; 4] = [b"", b"a \"b\"", b" edge", "é\n,".as_bytes()];
            cell(0, Cell::Text(texts[row as usize % 4]))?;
            cell(1, Cell::Truth(row % 2 == 0))?;
            cell(2, Cell::Number([&b"-1.5"[..], b"nan", b"-inf"][row as usize % 3]))?;
            cell(3, Cell::Number(row.to_string().as_bytes()))?;
            cell(4, Cell::Nested(br#"["a,b",{"c":null}]"#))?;
            let content = || match self.damaged == Some(row) {
                true => Ok(Content::Broken { claimed: 1, error: Error::Other("it is damaged".into()) }),
                false => Ok(Content::Inline(bytes(row).into())),
            };
            cell(5, Cell::Bytes(row * row, &content))?;
            cell(6, Cell::Null)?;
        }
        Ok(())
    }
}

fn whole(content: &Content) -> Vec<u8> {
    let len = content.len().unwrap() as usize;
    let mut all = vec![0; len];
    content.fill(&mut all, 0).unwrap();
    assert!(content.fill(&mut [0], len as u64).is_err());
    for size in [1, 2, 3, 5, 64, 1000] {
        for from in (0..len.saturating_sub(size)).step_by(size.div_ceil(3)) {
            let mut part = vec![0; size];
            content.fill(&mut part, from as u64).unwrap();
            assert!(part == all[from..from + size], "{size} bytes from {from} on");
        }
    }
    all
}

#[test]
fn csv_has_quotes_where_they_are_needed() {
    let text = String::from_utf8(whole(&csv(Table { count: 30, damaged: None }))).unwrap();
    let list = r#""[""a,b"",{""c"":null}]""#;
    let first = format!("\"a,b\",\"\",x,x,list,bytes,missing\n\"\",True,-1.5,0,{list},\"\",\n");
    assert!(text.starts_with(&first), "{}", &text[..200]);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), 30);
    for (row, cells) in (0..).zip(&rows) {
        assert_eq!(&cells[0], ["", "a \"b\"", " edge", "é\n,"][row as usize % 4]);
        assert_eq!(&cells[1], if row % 2 == 0 { "True" } else { "False" });
        assert_eq!((&cells[2], &cells[3]), (["-1.5", "NaN", "-1e999"][row as usize % 3], &*row.to_string()));
        assert_eq!((&cells[4], &cells[6]), (r#"["a,b",{"c":null}]"#, ""));
        assert_eq!(cells[5], crate::yaml::base64_of(&bytes(row)));
    }
}

#[test]
fn lines_of_json_have_every_value() {
    let text = String::from_utf8(whole(&jsonl(Table { count: 30, damaged: None }).unwrap())).unwrap();
    for (row, line) in (0..).zip(text.lines()) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["a,b", "%", "x", "x~2", "list", "bytes", "missing"]);
        assert_eq!(value["a,b"], ["", "a \"b\"", " edge", "é\n,"][row as usize % 4]);
        assert_eq!((&value["%"], &value["x~2"]), (&(row % 2 == 0).into(), &row.into()));
        assert_eq!(value["x"], if row % 3 == 0 { serde_json::json!(-1.5) } else { serde_json::Value::Null });
        assert_eq!(value["list"], serde_json::json!(["a,b", {"c": null}]));
        assert_eq!(value["bytes"], crate::yaml::base64_of(&bytes(row)));
        assert!(value["missing"].is_null());
    }
    assert_eq!(text.lines().count(), 30);
}

#[test]
fn damaged_bytes_are_an_error_where_they_are_read_and_nowhere_else() {
    let (right, damaged) =
        (csv(Table { count: 9, damaged: None }), csv(Table { count: 9, damaged: Some(5) }));
    let text = whole(&right);
    assert_eq!(damaged.len().unwrap(), text.len() as u64);
    let cell = crate::yaml::base64_of(&bytes(5));
    let at = String::from_utf8(text.clone()).unwrap().find(&cell).unwrap();
    for from in 0..text.len() - 4 {
        let mut part = [0; 4];
        let read = damaged.fill(&mut part, from as u64);
        let is_in = from + 4 > at && from < at + cell.len();
        assert_eq!(read.is_err(), is_in, "{from}");
        assert!(is_in || part == text[from..from + 4]);
    }
}

#[test]
fn long_bytes_are_read_in_pieces() {
    let bytes: Vec<u8> = (0..700_001u32).map(|at| (at / 3) as u8).collect();
    let (text, content) = (crate::yaml::base64_of(&bytes), Content::Inline(bytes.clone().into()));
    for from in [0, 1, 3, 300_001] {
        let mut room = vec![0; text.len() - from - 1];
        base64::fill(&mut room, from as u64, bytes.len() as u64, &content).unwrap();
        assert!(room == text.as_bytes()[from..text.len() - 1], "{from}");
    }
    assert_eq!(base64::len(bytes.len() as u64), text.len() as u64);
}
