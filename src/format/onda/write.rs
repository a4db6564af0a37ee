//! A table of signals made of arrays: each of shape (samples, channels), with what its row says in its metadata. The
//! samples go into files beside the table, never in the place of one that is there; the table comes last, so that what it
//! names is whole.
//!
//! | key | |
//! |---|---|
//! | `recording` | a UUID; if missing, the directory of the dataset's name |
//! | `sensor_label`, `sensor_type` | if missing: the last part of the dataset's name; the label |
//! | `channels`, `sample_unit`, `sample_rate` | needed |
//! | `sample_type` | if missing, the array's |
//! | `sample_resolution_in_unit`, `sample_offset_in_unit` | if missing, 1 and 0 |
//! | `file_format` | `lpcm` or `lpcm.zst`; if missing, the latter for what is to be compressed |
//! | `start` | nanoseconds; if missing, that of `span`, or 0 |
//! | `encoded` | true: the values are those that are stored; else they are in the unit, and are encoded |
//! | `file_path` | the row of a table has one: the values are those that are stored, and get another |
//! | `span` | of a row too |
//! | `kind` | of a row of `onda.signal@1`: the label and the type |
//! | others | columns of their own, see `custom` |
//!
//! In a row `start` and `encoded` are others: Onda has no such columns.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arrow::Problem;
use super::canonical::{self, NewTable, SIGNALS};
use super::custom::{Custom, Types};
use super::data::Layout;
use super::encode;
use super::faces::Scale;
use super::rules;
use super::schema::QUALIFIED;
use super::table::{Channels, Id, Signal, Span};
use super::typed::exact;
use crate::array::{self, Array, Dtype, Order};
use crate::codec::zstd_frame;
use crate::error::{Place, shortened};
use crate::format::Compression;
use crate::format::target::input::Exactly;
use crate::format::target::{NewDataset, NewFile, Temporary, What, directory};
use crate::tree::naming;
use crate::yaml::Node;
use crate::{Error, Result};

/// Columns of Onda's.
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

/// Is this a column of Onda's, of signals of any version?
pub fn is_ondas(name: &str) -> bool {
    name == "kind" || KEYS.contains(&name)
}

pub struct Writer {
    path: PathBuf,
    table: Temporary,
    /// Of the table, without `.arrow`.
    stem: String,
    rows: Vec<canonical::Row>,
    custom: Custom,
    samples: Vec<(PathBuf, Temporary)>,
    /// It was said that annotations are left out.
    told_of_annotations: bool,
    names: HashSet<String>,
}

impl Writer {
    pub fn create(path: &Path, force: bool) -> Result<Writer> {
        let failed = |cause| Error::write(Place::file(path), cause);
        let stem = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        let stem =
            stem.ok_or_else(|| failed(io::Error::other("its name is not UTF-8, as paths of Onda are")))?;
        let table = Temporary::create(path, force).map_err(failed)?;
        let (rows, samples, names) = (Vec::new(), Vec::new(), HashSet::new());
        let custom = Custom::default();
        let told_of_annotations = false;
        Ok(Writer { path: path.to_owned(), table, stem, rows, custom, samples, told_of_annotations, names })
    }

    /// What is said of a file that is no signal and stands beside those of a mount; None if it is something else.
    fn left_out(&mut self, name: &str) -> Option<Vec<String>> {
        let (directory, last) = name.rsplit_once('/').unwrap_or(("", name));
        if last.as_bytes().ends_with(naming::SIDECAR) {
            return Some(vec!["it is left out: it says something of what is not here".into()]);
        }
        let is_annotations = matches!(last, "annotations.csv" | "annotations.jsonl");
        if !is_annotations || parsed(directory).is_none() {
            return None;
        }
        let is_told = std::mem::replace(&mut self.told_of_annotations, true);
        let note = "it is left out, as are all annotations: a table of signals has none. Theirs is a table of its own, which \
                    stays as it is (rab convert writes it anew, of all or of some recordings)";
        Some(if is_told { Vec::new() } else { vec![note.into()] })
    }

    /// For a new file of samples beside the table.
    fn free_name(&self, signal: &Signal) -> (String, PathBuf) {
        let (recording, label) =
            (super::table::shown(signal.recording), signal.label.as_deref().unwrap_or_default());
        let label: String = label.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let format = signal.format.as_deref().unwrap_or("lpcm");
        let mut number = 1u64;
        loop {
            let more = if number == 1 { String::new() } else { format!("~{number}") };
            let name = format!("{}.{recording}.{label}{more}.{format}", self.stem);
            let path = directory(&self.path).join(&name);
            if !self.names.contains(&name) && fs::symlink_metadata(&path).is_err() {
                return (name, path);
            }
            number += 1;
        }
    }
}

impl NewFile for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let What::Array(array) = dataset.what else {
            let name = dataset.name.as_str().unwrap_or_default();
            return match self.left_out(name) {
                Some(note) => io::copy(data, &mut io::sink()).map(|_| note),
                None => Err(io::Error::other(
                    "a signal is an array, and the dataset is none: leave it out of what is packed",
                )),
            };
        };
        let said = Said::new(dataset);
        let row = said.row(array, dataset.compression).map_err(io::Error::other)?;
        let Row { mut signal, channels, is_encoded, mut notes } = row;
        let (name, path) = self.free_name(&signal);
        signal.path = Some(name.clone());
        notes.extend(
            self.custom
                .add(said.node, said.types(dataset), |key| said.is_own(key))
                .map_err(io::Error::other)?,
        );
        if let Some(wrong) = rules::row(&signal, &channels, "sensor_label").first() {
            return Err(io::Error::other(wrong.clone()));
        }
        let layout = Layout::of(&signal).ok_or_else(|| io::Error::other("its row describes no samples"))?;
        let scale = match (is_encoded, signal.scale()) {
            (false, Some(scale)) => scale,
            _ => Scale { resolution: 1.0, offset: 0.0 },
        };
        let file = Temporary::create(&path, false)?;
        let len = array::byte_len(array.dtype.element, &array.shape)
            .ok_or_else(|| io::Error::other("its shape does not fit into 64 bits"))?;
        let mut data = Exactly::new(data, len);
        let mut copy = |to: &mut dyn Write| encode::copy(&mut data, array.dtype, to, layout.element, scale);
        let mut to = BufWriter::with_capacity(256 << 10, &file.file);
        match signal.format.as_deref() {
            Some("lpcm.zst") => zstd_frame(&mut to, copy)?,
            _ => copy(&mut to).and_then(|()| to.flush())?,
        }
        drop(to);
        self.names.insert(name);
        self.samples.push((path, file));
        self.rows.push((signal, channels));
        Ok(notes)
    }

    fn close(self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Err(io::Error::other("an Onda table is made of arrays, and there is none"));
        }
        let wrong = |problem: Problem| io::Error::other(problem.text().to_owned());
        let columns = canonical::signals(&self.rows).map_err(wrong)?;
        let custom = self.custom.columns().map_err(wrong)?;
        let (fields, values) = columns.into_iter().chain(custom).unzip();
        let metadata = HashMap::from([(QUALIFIED.to_owned(), SIGNALS.to_owned())]);
        let written = NewTable::create(&self.table.file, fields, metadata).and_then(|mut new| {
            new.add(values)?;
            new.finish()
        });
        written.map_err(io::Error::other)?;
        self.table.sync()?;
        let mut there = Vec::new();
        let put = || {
            for (path, file) in self.samples {
                file.finish()?;
                there.push(path);
            }
            self.table.replace()
        };
        let done = put();
        if done.is_err() {
            // Nothing names them.
            there.iter().for_each(|path| drop(fs::remove_file(path)));
        }
        done
    }
}

struct Row {
    signal: Signal,
    channels: Channels,
    is_encoded: bool,
    notes: Vec<String>,
}

/// What is said of an array.
struct Said<'a> {
    node: &'a Node,
    name: String,
    origin: Origin,
}

/// Of what is said.
#[derive(PartialEq, Eq)]
enum Origin {
    User,
    Row,
    /// Of `onda.signal@1`.
    OldRow,
}

impl<'a> Said<'a> {
    fn new(dataset: &NewDataset<'a>) -> Said<'a> {
        let node = dataset.metadata;
        let has = |key| node.get(key).is_some();
        let origin = match has("file_path") {
            false => Origin::User,
            true if has("kind") && !(has("sensor_type") && has("sensor_label")) => Origin::OldRow,
            true => Origin::Row,
        };
        Said { node, name: dataset.name.lossy().into_owned(), origin }
    }

    /// Else it is a column of the user's own.
    fn is_own(&self, key: &str) -> bool {
        match key {
            "start" | "encoded" => self.origin == Origin::User,
            "kind" => self.origin == Origin::OldRow,
            key => KEYS.contains(&key),
        }
    }

    /// Those of its columns.
    fn types(&self, dataset: &NewDataset<'a>) -> Types<'a> {
        match self.origin {
            Origin::User => Types::None,
            _ => Types::Named(dataset.facts.and_then(|facts| facts.get("types"))),
        }
    }

    /// What is said for pack itself.
    fn option(&self, key: &str) -> Option<&Node> {
        self.node.get(key).filter(|_| self.is_own(key))
    }

    fn row(&self, array: &Array, compression: Compression) -> Result<Row, String> {
        let (directory, last) = self.name.rsplit_once('/').unwrap_or(("", &self.name));
        let text = |key| self.text(key);
        let (label, sensor_type) = self.label_and_type()?;
        let label = label.unwrap_or_else(|| last.to_owned());
        let recording = text("recording")?.unwrap_or_else(|| directory.to_owned());
        let recording = parsed(&recording)
            .ok_or_else(|| format!("its recording is {recording:?}, and has to be a UUID"))?;
        let is_encoded = match self.option("encoded") {
            None => self.origin != Origin::User,
            Some(Node::Bool(is_encoded)) => *is_encoded,
            Some(_) => return Err("its encoded has to be true or false".into()),
        };
        let channels = self.channels()?;
        let samples = samples(array, channels.len())?;
        let format = match compression {
            Compression::None => "lpcm",
            _ => "lpcm.zst",
        };
        let asked_for = format;
        let format = match text("file_format")? {
            // That is how the samples of a row were stored; now they are to be compressed.
            Some(said) if said == "lpcm" && self.origin != Origin::User => asked_for.to_owned(),
            said => said.unwrap_or_else(|| asked_for.to_owned()),
        };
        let mut notes = Vec::new();
        if format == "lpcm" && asked_for != format {
            notes.push("it is not compressed: its metadata say file_format: lpcm".to_owned());
        }
        if !matches!(format.as_str(), "lpcm" | "lpcm.zst") {
            return Err(format!("its file_format is {format:?}; lpcm and lpcm.zst are written"));
        }
        let own = array.dtype.element.name().unwrap_or_default();
        let sample_type = text("sample_type")?.unwrap_or_else(|| own.to_owned());
        if is_encoded && sample_type != own {
            return Err(format!("it is encoded, and has {own} where its sample_type is {sample_type}"));
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
        Ok(Row { signal, channels: channels.into_iter().map(Some).collect(), is_encoded, notes })
    }

    fn label_and_type(&self) -> Result<(Option<String>, Option<String>), String> {
        if self.origin != Origin::OldRow {
            return Ok((self.text("sensor_label")?, self.text("sensor_type")?));
        }
        match ["sensor_label", "sensor_type"].into_iter().find(|key| self.node.get(key).is_some()) {
            Some(key) => Err(format!("its {key} is in the way of that which its kind becomes: rename it")),
            None => Ok((self.text("kind")?, None)),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.node.get(key) {
            None => Ok(None),
            Some(node) => match node.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(format!("its {key} has to be a text")),
            },
        }
    }

    fn number(&self, key: &str) -> Result<Option<f64>, String> {
        match self.node.get(key) {
            None => Ok(None),
            Some(Node::Float(number)) => Ok(Some(*number)),
            Some(node) => {
                let float = node.as_i128().and_then(exact);
                float.map(Some).ok_or_else(|| format!("its {key} has to be a number of float64"))
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
        names.ok_or_else(|| "its channels have to be a list of texts".into())
    }

    /// As Onda.jl counts it: each sample takes `1e9 / rate` nanoseconds.
    fn span(&self, samples: u64, rate: f64) -> Result<Span, String> {
        let of_row = || self.node.get("span")?.get("start");
        let start = match self.option("start").or_else(of_row) {
            None => 0,
            Some(node) => node.as_i128().ok_or("its start has to be a whole number of nanoseconds")?,
        };
        let length = (samples as f64 * (1e9 / rate)).ceil();
        let stop = (length.is_finite() && length.abs() < 9e18).then(|| start.checked_add(length as i128));
        let stop = stop.flatten().filter(|stop| *stop <= i64::MAX.into());
        let stop = stop.ok_or_else(|| {
            format!("{samples} samples at {rate} a second from {start} ns on do not fit into 64 bits of nanoseconds")
        })?;
        Ok(Span { start, stop })
    }
}

/// How many there are.
fn samples(array: &Array, channels: usize) -> Result<u64, String> {
    let Dtype { element, .. } = array.dtype;
    if !encode::is_number(element) {
        return Err(format!(
            "its values are {}, and samples are integers or floats",
            shortened(&array.numpy_type())
        ));
    }
    let samples = match *array.shape {
        [samples] if channels == 1 => samples,
        [samples, width] if width == channels as u64 => samples,
        ref shape => {
            return Err(format!(
                "its shape is {shape:?}, and (samples, {channels}) is needed for its channels"
            ));
        }
    };
    if array.order == Order::F && samples > 1 && channels > 1 {
        return Err("its elements are in the order F, and samples are in C: pack it with --order C".into());
    }
    Ok(samples)
}

/// A UUID as RFC 4122 writes it.
fn parsed(text: &str) -> Option<Id> {
    let is_right = text.len() == 36
        && text.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        });
    let digits = text.replace('-', "");
    is_right.then(|| Id::from_str_radix(&digits, 16).ok()).flatten()
}
