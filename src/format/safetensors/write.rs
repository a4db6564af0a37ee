//! Writes files like the reference implementation: little-endian, C order, tensors with the largest elements first, so
//! that each is aligned to its element size. The header keeps the order in which tensors were added.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::dtype::{Type, U8};
use super::header::{LENGTH, MAX_HEADER, byte_len};
use super::json::{METADATA, Pairs, parse};
use crate::array::{Array, Cell, Endian, Kind, Order, Record};
use crate::error::Place;
use crate::format::writer::input::{Exactly, swapped};
use crate::format::writer::output::{self, Output, Piece};
use crate::format::writer::{NewContent, NewDataset, NewFile, lost};
use crate::yaml::{self, Node};
use crate::{Error, Result};

pub struct Writer {
    path: PathBuf,
    output: Output,
    names: HashSet<String>,
    tensors: Vec<Tensor>,
    /// Texts.
    metadata: Map<String, Value>,
}

/// A tensor whose data has been written.
struct Tensor {
    name: String,
    form: Form,
    /// Offset and length of its data in the output.
    start: u64,
    len: u64,
}

/// A tensor's entry in the header.
struct Form {
    of: &'static Type,
    /// None for bytes of unknown length.
    shape: Option<Vec<u64>>,
    /// Size of the byte groups to reverse; 0 for none.
    swapped: usize,
}

impl Writer {
    pub fn create(path: &Path, force: bool) -> Result<Writer> {
        let output = Output::create(path, force).map_err(|cause| Error::write(Place::file(path), cause))?;
        let (names, tensors, metadata) = (HashSet::new(), Vec::new(), Map::new());
        Ok(Writer { path: path.to_owned(), output, names, tensors, metadata })
    }

    /// Appends the data. The state is unchanged if that fails.
    fn store(&mut self, name: &str, form: Form, data: &mut dyn Read) -> io::Result<()> {
        let (start, mut file) = (self.output.len, self.output.file());
        file.seek(SeekFrom::Start(start))?;
        match &form.shape {
            Some(shape) => {
                let byte_len = byte_len(form.of, shape).map_err(io::Error::other)?;
                swapped(form.swapped, &mut Exactly::new(data, byte_len), &mut file)?;
            }
            None => drop(io::copy(data, &mut file)?),
        }
        let len = file.stream_position()? - start;
        self.output.len += len;
        self.names.insert(name.to_owned());
        self.tensors.push(Tensor { name: name.to_owned(), form, start, len });
        Ok(())
    }

    fn header(&self, places: &[u64]) -> Vec<u8> {
        let mut pairs = Map::new();
        if !self.metadata.is_empty() {
            pairs.insert(METADATA.into(), Value::Object(self.metadata.clone()));
        }
        for (Tensor { name, form, len, .. }, at) in self.tensors.iter().zip(places) {
            let shape = form.shape.clone().unwrap_or_else(|| vec![*len]);
            let entry = json!({ "dtype": form.of.name, "shape": shape, "data_offsets": [at, at + len] });
            pairs.insert(name.clone(), entry);
        }
        Value::Object(pairs).to_string().into_bytes()
    }

    /// Adds metadata; the first value of a key wins. Returns notes about values not kept.
    fn add_metadata(&mut self, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let mut text = Vec::new();
        data.take(MAX_HEADER).read_to_end(&mut text)?;
        let mut notes = Vec::new();
        for (key, value) in parse_metadata(&text)? {
            match self.metadata.get(&key) {
                Some(own) if own.as_str() == Some(&value) => {}
                Some(_) => notes.push(format!("its key {key:?} is not kept: another file has another value")),
                None => drop(self.metadata.insert(key, value.into())),
            }
        }
        Ok(notes)
    }
}

/// The pairs of an object, given as JSON or YAML.
fn parse_metadata(text: &[u8]) -> io::Result<Vec<(String, String)>> {
    if let Ok(Pairs(pairs)) = parse(text) {
        return Ok(pairs);
    }
    let refused =
        || io::Error::other(format!("{METADATA} must be an object (JSON or YAML) whose values are strings"));
    let text = std::str::from_utf8(text).map_err(|_| refused())?;
    let node = yaml::value_to_write(text).map_err(|_| refused())?;
    let pairs = node.as_map().ok_or_else(refused)?;
    let texts = pairs.iter().map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())));
    texts.collect::<Option<_>>().ok_or_else(refused)
}

impl Form {
    /// The error says why the data cannot be written. `origin` is the source file's header entry for the same bytes.
    fn of(what: NewContent<'_>, origin: Option<&Node>, notes: &mut Vec<String>) -> Result<Form, String> {
        match what {
            NewContent::Array(array) => Form::of_array(array, origin),
            NewContent::Bytes | NewContent::Text => {
                Ok(origin.and_then(Form::from_facts).unwrap_or_else(|| {
                    notes.push("it is written as an array of uint8".into());
                    Form { of: U8, shape: None, swapped: 0 }
                }))
            }
            NewContent::Object | NewContent::Table(_) => {
                Err("a safetensors file holds arrays, and this is not one: leave it out, or write a .rab \
                    file"
                    .into())
            }
        }
    }

    fn of_array(array: &Array, origin: Option<&Node>) -> Result<Form, String> {
        let element = array.dtype.element;
        let is_void = |record: &Record| matches!(record.cell(), Some(Cell::Void(_)));
        let is_bytes = element.name().is_none() && array.record.as_deref().is_none_or(is_void);
        let same = |form: &Form| form.of.element.is_some_and(|own| own.size == element.size);
        let from_origin =
            || origin.filter(|_| is_bytes).and_then(Form::from_facts).filter(same).map(|form| form.of);
        let of = Type::of(element).or_else(from_origin).ok_or_else(|| {
            let advice = match element.name().or_else(|| element.ml_name()) {
                // A complex type has no substitute.
                Some(name) if element.kind != Kind::Complex => {
                    return format!(
                        "safetensors has no type {name}: convert it first, as with a.astype(\"float32\")"
                    );
                }
                Some(name) => format!("no type {name}"),
                None => format!("no type {}", array.numpy_type()),
            };
            format!("safetensors has {advice}: leave it out, or write a .npz or .rab file")
        })?;
        if array.order == Order::F && array.shape.len() > 1 {
            return Err("safetensors stores arrays in C order, and this one is in F order".into());
        }
        let is_big = array.dtype.endian == Endian::Big;
        let swapped = if is_big { element.swapped() as usize } else { 0 };
        Ok(Form { of, shape: Some(array.shape.to_vec()), swapped })
    }

    /// Reads the entry of another file's header, or of a mount's sidecar.
    fn from_facts(node: &Node) -> Option<Form> {
        let of = Type::named(node.get("dtype")?.as_str()?)?;
        let Node::Seq(sizes) = node.get("shape")? else { return None };
        let shape = sizes.iter().map(|size| size.as_u64()).collect::<Option<_>>()?;
        Some(Form { of, shape: Some(shape), swapped: 0 })
    }
}

impl NewFile for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let name = dataset.name.as_str().ok_or_else(|| io::Error::other("its name is not Unicode"))?;
        let is_metadata =
            name.strip_prefix(METADATA).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_metadata && !matches!(dataset.what, NewContent::Array(_) | NewContent::Table(_)) {
            return self.add_metadata(data);
        }
        if name == METADATA {
            return Err(io::Error::other("no array can have this name: it is that of the metadata"));
        }
        if self.names.contains(name) {
            return Err(io::Error::other("there is already a dataset of this name"));
        }
        let mut notes = Vec::new();
        let form =
            Form::of(dataset.what, dataset.origin.or(dataset.facts), &mut notes).map_err(io::Error::other)?;
        notes.extend(lost::byte_order(form.swapped));
        self.store(name, form, data)?;
        notes.extend([lost::metadata(dataset), lost::compression(dataset)].into_iter().flatten());
        Ok(notes)
    }

    fn close(self) -> io::Result<()> {
        let mut order: Vec<usize> = (0..self.tensors.len()).collect();
        let bits = |number: &usize| self.tensors.get(*number).map_or(0, |tensor| tensor.form.of.bits.max(8));
        order.sort_by_key(|number| std::cmp::Reverse(bits(number)));
        let (mut places, mut pieces) = (vec![0; order.len()], Vec::<Piece<'_>>::new());
        let mut at = 0;
        for number in order {
            let Some(Tensor { start, len, .. }) = self.tensors.get(number) else { continue };
            if let Some(place) = places.get_mut(number) {
                *place = at;
            }
            match pieces.last_mut() {
                Some(last) if last.start + last.len == *start => last.len += len,
                _ => pieces.push(Piece { from: None, start: *start, len: *len, at }),
            }
            at += len;
        }
        let text = self.header(&places);
        let room = output::room(LENGTH + text.len() as u64, at, LENGTH);
        let length = room - LENGTH;
        if length > MAX_HEADER {
            let problem =
                format!("its header would take {length} bytes, and the limit is {MAX_HEADER} (100 MB)");
            return Err(io::Error::other(problem));
        }
        let mut header = [&length.to_le_bytes()[..], &text].concat();
        header.resize(usize::try_from(room).unwrap_or(header.len()), b' ');
        self.output.assemble(&pieces, &mut header.as_slice(), room)?.replace()
    }
}
