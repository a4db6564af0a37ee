//! Extended attributes: what is said of a dataset, one word each.

use crate::tree::Description;
use crate::yaml::Node;

/// Names and values.
pub type Attributes = Vec<(&'static str, String)>;

/// Those of a dataset in a container of this format; what is not said of it is left out.
pub fn of(about: &Description, format: Option<&str>) -> Attributes {
    let array = about.array.as_ref();
    let sizes = |shape: &[u64]| shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    // One of other bytes too, as that of a member of a ZIP file with its header, says nothing of the dataset's.
    let checksum = about.checksum.as_ref().filter(|checksum| about.stored.as_ref() == Some(&checksum.range));
    let all = [
        ("user.dtype", array.map(|array| array.numpy_type())),
        ("user.shape", array.map(|array| format!("[{}]", sizes(&array.shape)))),
        ("user.order", array.map(|array| array.order.to_string())),
        ("user.units", units(&about.metadata)),
        ("user.compression", about.compression.clone()),
        ("user.format", format.map(str::to_owned)),
        ("user.checksum", checksum.map(|checksum| format!("{}:{}", checksum.algorithm, checksum.value))),
    ];
    all.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

/// What the metadata says of the values as they are: `sample_unit` is that of values that are scaled.
fn units(metadata: &Node) -> Option<String> {
    let mut keys = vec!["units", "unit", "Units", "Unit"];
    if is(metadata, "sample_resolution_in_unit", 1) && is(metadata, "sample_offset_in_unit", 0) {
        keys.push("sample_unit");
    }
    let found = keys.iter().find_map(|key| metadata.get(key)?.as_text());
    found.map(|text| text.lossy().into_owned())
}

/// Is this number so, if it is said at all?
fn is(metadata: &Node, key: &str, number: i32) -> bool {
    match metadata.get(key) {
        None => true,
        Some(Node::Float(said)) => *said == f64::from(number),
        Some(said) => said.as_i128() == Some(number.into()),
    }
}
