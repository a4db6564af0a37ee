//! The tables of all records below `.views`:
//! ```text
//! table/data, table/data.npy ...
//! arrow/records.arrow, jsonl/records.jsonl, csv/records.csv
//! ```

use std::sync::Arc;

use super::faces;
use super::records::Records;
use crate::tree::{Derived, File};

/// The directory of [`faces::NAMES`].
const TABLE: &str = "table";

pub fn of(records: &Arc<Records>) -> Derived {
    let bare = faces::NAMES.iter().zip(faces::all(records)).enumerate().map(|(at, (name, content))| {
        (format!("{TABLE}/{name}"), File::from(content).described(faces::describe(records, at)))
    });
    let tables = faces::KINDS.into_iter().filter_map(|(kind, name)| {
        let table = faces::table(records, kind).ok()??;
        let records = records.clone();
        let rows = move |expression: &str| faces::rows(&records, kind, expression);
        Some((format!("{kind}/{name}"), File::from(table).with_rows(rows)))
    });
    Derived::of_files(bare.chain(tables).collect())
}
