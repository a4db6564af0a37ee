//! JSON descriptions of Zarr groups and arrays.

use serde_json::{Value, json};

use super::layout::Layout;
use super::store::Compressor;
use crate::array::names::distinct;
use crate::array::{Array, Order};

/// All of a group's description.
pub fn group() -> Value {
    json!({"zarr_format": 2})
}

/// Can a store have this array?
pub fn can_hold(array: &Array) -> bool {
    Layout::of(array).is_some()
}

/// What `.zarray` has.
pub fn array(array: &Array, layout: &Layout, compressor: Option<Compressor>) -> Value {
    // The level is how it was compressed, which no reader asks.
    let compressor = compressor.map(|compressor| json!({"id": compressor.id(), "level": 1}));
    json!({
        "zarr_format": 2,
        "shape": array.shape,
        "chunks": layout.chunk(),
        "dtype": dtype(array),
        "compressor": compressor,
        "fill_value": null,
        "order": if array.order == Order::C { "C" } else { "F" },
        "filters": null,
        "dimension_separator": ".",
    })
}

/// numpy's type string, or a list of fields. Fields that are arrays or have fields themselves, which not every program
/// knows, make the whole element bytes without a meaning.
fn dtype(array: &Array) -> Value {
    match &array.record {
        Some(record) if record.foreign_type().is_some_and(|text| !is_date(text)) => {
            json!(format!("|V{}", array.dtype.element.size))
        }
        Some(record) if record.fields().iter().any(|field| field.repeat.is_some()) => {
            json!(format!("|V{}", array.dtype.element.size))
        }
        Some(record) if record.is_plain() => json!(with_order(&record.to_string())),
        Some(record) => {
            // What fills up has no name of its own, and is called otherwise than numpy would call it, after a number.
            let names = distinct(record.fields().iter().map(|field| &*field.name));
            let fields = names.into_iter().zip(record.fields());
            fields.map(|(name, field)| json!([name, with_order(&field.cell.to_string())])).collect()
        }
        None => json!(array.dtype.to_string()),
    }
}

/// Counts of a unit: `<M8[s]`.
fn is_date(dtype: &str) -> bool {
    let bare = dtype.strip_prefix(['<', '>']).unwrap_or_default();
    bare.starts_with("M8[") || bare.starts_with("m8[")
}

/// Zarr wants a byte order before each type.
fn with_order(dtype: &str) -> String {
    if dtype.starts_with(['<', '>', '|']) { dtype.to_owned() } else { format!("|{dtype}") }
}
