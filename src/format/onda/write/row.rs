//! Builds a signal's row from an array's metadata.
//!
//! | key | |
//! |---|---|
//! | `recording` | UUID; default: the directory of the dataset's name |
//! | `sensor_label`, `sensor_type` | defaults: the last part of the dataset's name; the label |
//! | `channels`, `sample_unit`, `sample_rate` | required |
//! | `sample_type` | default: the array's |
//! | `sample_resolution_in_unit`, `sample_offset_in_unit` | defaults: 1 and 0 |
//! | `file_format` | `lpcm` or `lpcm.zst`; default: by the requested compression, which overrides a table row's |
//! | `start` | nanoseconds; default: 0 |
//! | `encoded` | true if values are already encoded; otherwise they are in the unit, and are encoded here |
//! | `file_path` | marks the metadata as a table row, whose values are already encoded; replaced by a new path |
//! | `span` | kept even if the number of samples differs; with only a start, the same as `start` |
//! | `kind` | in rows of `onda.signal@1`: label and type |
//! | others | the user's columns, see `columns` |
//!
//! In table rows, `start` and `encoded` are user columns, since Onda has no such columns.

use std::sync::Arc;

use super::super::read::logical::exact;
use super::super::read::spans::from_span;
use super::super::read::table::{Channels, Id, Signal, Span};
use super::columns::Types;
use super::encode;
use crate::array::{Array, Dtype, Order};
use crate::error::shortened;
use crate::format::Compression;
use crate::format::writer::NewDataset;
use crate::yaml::Node;

/// Onda's columns.
const KEYS: [&str; 12] = [
    "recording",
    "sensor_label",
    "sensor_type",
    "channels",
    "sample_unit",
    "sample_rate",
    "sample_type",
    "sample_resolution_in_unit",
    "sample_offset_in_unit",
    "file_format",
    "span",
    "file_path",
];

/// True for Onda's columns in signals of version 1 (`is_old`) or 2.
pub fn is_onda_column(name: &str, is_old: bool) -> bool {
    KEYS.contains(&name) || (is_old && name == "kind")
}

pub struct Row {
    pub signal: Signal,
    pub channels: Channels,
    pub is_encoded: bool,
    pub notes: Vec<String>,
}

/// An array's metadata.
pub struct SignalMetadata<'a> {
    pub node: &'a Node,
    name: String,
    origin: Origin,
}

/// Where the metadata comes from.
#[derive(PartialEq, Eq)]
enum Origin {
    User,
    Row,
    /// A row of `onda.signal@1`.
    OldRow,
}

impl<'a> SignalMetadata<'a> {
    pub fn new(dataset: &NewDataset<'a>) -> SignalMetadata<'a> {
        let node = dataset.metadata;
        let has = |key| node.get(key).is_some();
        let origin = match has("file_path") {
            false => Origin::User,
            true if has("kind") && !(has("sensor_type") && has("sensor_label")) => Origin::OldRow,
            true => Origin::Row,
        };
        SignalMetadata { node, name: dataset.name.lossy().into_owned(), origin }
    }

    /// True for keys used here; others are user columns.
    pub fn is_reserved(&self, key: &str) -> bool {
        match key {
            "start" | "encoded" => self.origin == Origin::User,
            key => is_onda_column(key, self.origin == Origin::OldRow),
        }
    }

    /// Types of the user's columns.
    pub fn types(&self, dataset: &NewDataset<'a>) -> Types<'a> {
        match self.origin {
            Origin::User => Types::None,
            _ => Types::Named(dataset.facts.and_then(|facts| facts.get("types"))),
        }
    }

    /// An option for packing, which is not a column.
    fn option(&self, key: &str) -> Option<&Node> {
        self.node.get(key).filter(|_| self.is_reserved(key))
    }

    pub fn row(&self, array: &Array, compression: Option<Compression>) -> Result<Row, String> {
        let (directory, last) = self.name.rsplit_once('/').unwrap_or(("", &self.name));
        let text = |key| self.text(key);
        let (label, sensor_type) = self.label_and_type()?;
        let label = label.unwrap_or_else(|| last.to_owned());
        let recording = text("recording")?.unwrap_or_else(|| directory.to_owned());
        let recording = parsed(&recording)
            .ok_or_else(|| {
            format!(
                "its recording is {recording:?}, not a UUID (a .arrow file is an Onda table here: for other Arrow files \
                 use rab cat --as arrow)"
            )
        })?;
        let is_encoded = match self.option("encoded") {
            None => self.origin != Origin::User,
            Some(Node::Bool(is_encoded)) => *is_encoded,
            Some(_) => return Err("its encoded must be true or false".into()),
        };
        let channels = self.channels()?;
        let samples = samples(array, channels.len())?;
        let mut notes = Vec::new();
        let format = self.format(compression, &mut notes)?;
        let element = array.dtype.element.name().unwrap_or_default();
        let sample_type = text("sample_type")?.unwrap_or_else(|| element.to_owned());
        if is_encoded && sample_type != element {
            return Err(format!(
                "it is encoded, but its elements are {element}, not {sample_type} as its sample_type says"
            ));
        }
        let rate = self.number("sample_rate")?.ok_or("its metadata has no sample_rate")?;
        let signal = Signal {
            recording: Some(recording),
            path: None,
            format: Some(format),
            span: Some(self.span(samples, rate)?),
            sensor_type: Some(sensor_type.unwrap_or_else(|| label.clone())),
            label: Some(label),
            channels: channels.len(),
            unit: Some(text("sample_unit")?.ok_or("its metadata has no sample_unit")?),
            resolution: Some(self.number("sample_resolution_in_unit")?.unwrap_or(1.0)),
            offset: Some(self.number("sample_offset_in_unit")?.unwrap_or(0.0)),
            sample_type: Some(sample_type),
            rate: Some(rate),
        };
        if let Some(expected) = from_span(&signal).filter(|expected| self.has_span() && *expected != samples)
        {
            notes.push(format!(
                "the data has {samples} samples, but its span and sample_rate say {expected}: the span stays as \
                 it is"
            ));
        }
        Ok(Row { signal, channels: channels.into_iter().map(Some).collect(), is_encoded, notes })
    }

    /// The format to store samples in.
    fn format(&self, requested: Option<Compression>, notes: &mut Vec<String>) -> Result<String, String> {
        let requested =
            requested.map(|requested| if requested == Compression::None { "lpcm" } else { "lpcm.zst" });
        let format = match (self.text("file_format")?, requested) {
            // A table row has the format of the old file, which the requested compression overrides.
            (Some(_), Some(requested)) if self.origin != Origin::User => requested.to_owned(),
            (format, requested) => format.unwrap_or_else(|| requested.unwrap_or("lpcm").to_owned()),
        };
        match (format.as_str(), requested) {
            ("lpcm", Some("lpcm.zst")) => {
                notes.push("it is not compressed: its metadata says file_format: lpcm".into());
            }
            ("lpcm.zst", Some("lpcm")) => {
                notes.push("it is compressed: its metadata says file_format: lpcm.zst".into());
            }
            ("lpcm" | "lpcm.zst", _) => {}
            _ => return Err(format!("its file_format is {format:?}; lpcm and lpcm.zst are written")),
        }
        Ok(format)
    }

    fn label_and_type(&self) -> Result<(Option<String>, Option<String>), String> {
        if self.origin != Origin::OldRow {
            return Ok((self.text("sensor_label")?, self.text("sensor_type")?));
        }
        match ["sensor_label", "sensor_type"].into_iter().find(|key| self.node.get(key).is_some()) {
            Some(key) => Err(format!("its {key} clashes with the column that its kind becomes: rename it")),
            None => Ok((self.text("kind")?, None)),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.node.get(key) {
            None => Ok(None),
            Some(node) => match node.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(format!("its {key} must be a string")),
            },
        }
    }

    fn number(&self, key: &str) -> Result<Option<f64>, String> {
        match self.node.get(key) {
            None => Ok(None),
            Some(Node::Float(number)) => Ok(Some(*number)),
            Some(node) => {
                let float = node.as_i128().and_then(exact);
                float.map(Some).ok_or_else(|| format!("its {key} must be a number of float64"))
            }
        }
    }

    fn channels(&self) -> Result<Vec<String>, String> {
        let list = self.node.get("channels").ok_or("its metadata has no channels")?;
        let text = |item: &Arc<Node>| item.as_str().map(str::to_owned);
        let names = match list {
            Node::Seq(items) => items.iter().map(text).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        names.ok_or_else(|| "its channels must be a list of strings".into())
    }

    /// True if the metadata has a complete span.
    fn has_span(&self) -> bool {
        self.node.get("span").is_some_and(|span| span.get("stop").is_some())
    }

    /// The span in the metadata; if it is missing or incomplete, computed from the number of samples.
    fn span(&self, samples: u64, rate: f64) -> Result<Span, String> {
        let whole = |node: &Node| node.as_i128().filter(|count| i64::try_from(*count).is_ok());
        let span = self.node.get("span");
        let edge = |key| span.and_then(|span| span.get(key)).map(whole);
        match (span, edge("start"), edge("stop"), self.option("start")) {
            (_, Some(Some(start)), Some(Some(stop)), None) => Ok(Span { start, stop }),
            (_, _, Some(_), Some(_)) => {
                Err("its metadata has a start and a span: leave one of them out".into())
            }
            (None, .., start) => span_of_samples(samples, rate, start.map_or(Some(0), whole)),
            (_, Some(start), None, None) if self.origin == Origin::User => {
                span_of_samples(samples, rate, start)
            }
            _ => Err("its span must have start and stop, whole numbers of nanoseconds of 64 bits".into()),
        }
    }
}

/// The span of samples, computed like Onda.jl: `1e9 / rate` nanoseconds each, at least one nanosecond in all.
fn span_of_samples(samples: u64, rate: f64, start: Option<i128>) -> Result<Span, String> {
    let start = start.ok_or("its start must be a whole number of nanoseconds of 64 bits")?;
    let length = (samples as f64 * (1e9 / rate)).ceil().max(1.0);
    let stop = (length.is_finite() && length.abs() < 9e18).then(|| start.checked_add(length as i128));
    let stop = stop.flatten().filter(|stop| *stop <= i64::MAX.into());
    let stop = stop.ok_or_else(|| {
        format!(
            "{samples} samples at {rate:?} a second from {start} ns on do not fit into 64 bits of nanoseconds"
        )
    })?;
    // Invalid rates are reported by the rules.
    if rate > 0.0 && ((length / 1e9 * rate).floor() as u64).abs_diff(samples) > 1 {
        return Err(format!(
            "its sample_rate is {rate:?}, which is too high: a span of whole nanoseconds cannot describe \
             {samples} samples"
        ));
    }
    Ok(Span { start, stop })
}

/// The number of samples in the array.
fn samples(array: &Array, channels: usize) -> Result<u64, String> {
    let Dtype { element, .. } = array.dtype;
    if !encode::is_number(element) {
        return Err(format!(
            "its values are {}, but samples must be integers or floats",
            shortened(&array.numpy_type())
        ));
    }
    let samples = match *array.shape {
        [samples] if channels == 1 => samples,
        [samples, width] if width == channels as u64 => samples,
        ref shape => {
            return Err(format!("its shape is {shape:?}, but its channels need (samples, {channels})"));
        }
    };
    if array.order == Order::F && samples > 1 && channels > 1 {
        return Err(
            "its elements are in F order, and samples must be in C order: pack it with --order C".into()
        );
    }
    Ok(samples)
}

/// Parses a UUID in RFC 4122 form.
pub fn parsed(text: &str) -> Option<Id> {
    let is_right = text.len() == 36
        && text.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        });
    let digits = text.replace('-', "");
    is_right.then(|| Id::from_str_radix(&digits, 16).ok()).flatten()
}
