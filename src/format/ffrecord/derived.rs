//! The tables of all records below `.views`:
//! ```text
//! table/data, table/data.npy ...
//! arrow/records.arrow, jsonl/records.jsonl, csv/records.csv
//! ```

use std::sync::Arc;

use super::records::Records;
use super::tables;
use crate::tree::{Derived, File};

/// The directory of [`tables::NAMES`].
const TABLE: &str = "table";

pub fn of(records: &Arc<Records>) -> Derived {
    let bare = tables::NAMES.iter().zip(tables::all(records)).enumerate().map(|(at, (name, content))| {
        (format!("{TABLE}/{name}"), File::from(content).described(tables::describe(records, at)))
    });
    let tables = tables::KINDS.into_iter().filter_map(|(kind, name)| {
        let table = tables::table(records, kind).ok()??;
        let records = records.clone();
        let rows = move |expression: &str| tables::rows(&records, kind, expression);
        Some((format!("{kind}/{name}"), File::from(table).with_rows(rows)))
    });
    Derived::of_files(bare.chain(tables).collect())
}
