//! Extended attributes of a dataset: its type, shape, order, units, compression, format and checksum.

use crate::report::units;
use crate::tree::Description;

/// Names and values.
pub type Attributes = Vec<(&'static str, String)>;

/// The attributes of a dataset in a container of this format; unknown ones are left out.
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
