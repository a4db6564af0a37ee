//! Detects sidecars by content (a mapping with `name` and a format's fields for a dataset) and by a name that is
//! derived from the file beside them. A sidecar's name is always longer than its file's, so the longest names are
//! classified first: a file that turns out to be a dataset's data is not a sidecar, whatever its content.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::sync::Arc;

use super::walk::InputFile;
use crate::array::{Array, Order, byte_len, numpy};
use crate::error::Place;
use crate::format::FORMATS;
use crate::tree::naming;
use crate::yaml::{self, Node, Text};
use crate::{Error, Result};

const CODEC: &str = "codecMeta";
const NUMPY: &str = "numpy";
/// Maximum length of a sidecar in bytes.
const MAX_LEN: u64 = 64 << 20;

/// The role of a file among the others.
#[derive(Debug)]
pub enum Role {
    /// A file without a sidecar.
    Plain,
    /// A dataset's file, with its sidecar.
    Described(Sidecar),
    /// The sidecar of another file, or of a whole container.
    Sidecar,
}

#[derive(Debug)]
pub struct Sidecar {
    /// The sidecar's number among the files.
    pub file: usize,
    pub name: Text,
    pub metadata: Arc<Node>,
    pub data_type: DataType,
    /// The dataset's row in the table that described it, or its number among the datasets.
    pub row: Option<i128>,
    /// The format-specific fields.
    pub facts: Option<Arc<Node>>,
}

/// How a sidecar describes its file's bytes.
#[derive(Debug)]
pub enum DataType {
    /// As in the header of a RAB file.
    Codec(Arc<Node>),
    /// As a numpy array.
    Numpy(Arc<Node>),
    Bytes,
}

impl Sidecar {
    /// Sort key that restores the original order: the offset of the bytes (datasets without bytes first), or the table
    /// and the row or number in it.
    pub fn place(&self) -> (i128, i128, String, i128) {
        if let DataType::Codec(codec) = &self.data_type {
            let number = |key| codec.get(key).and_then(Node::as_i128).unwrap_or(i128::MAX);
            return (number("byteOffset"), number("byteLength"), String::new(), self.row.unwrap_or(0));
        }
        let fact = |key| self.facts.as_deref()?.get(key);
        let table = fact("table").and_then(Node::as_str).unwrap_or_default().to_owned();
        let number = fact("tableNumber").and_then(Node::as_i128).unwrap_or(0);
        (i128::MAX, number, table, self.row.unwrap_or(i128::MAX))
    }
}

/// Determines the role of each file. Files that look like sidecars but are not are mentioned in `notes`.
pub fn roles(files: &[InputFile], notes: &mut Vec<String>) -> Result<Vec<Role>> {
    let numbers: HashMap<&[u8], usize> =
        files.iter().enumerate().map(|(number, file)| (file.relative.as_slice(), number)).collect();
    let mut roles: Vec<Role> = files.iter().map(|_| Role::Plain).collect();
    let (mut candidates, mut orphans): (Vec<(usize, usize)>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut of_containers = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let Some(described) = described_by(&file.relative) else { continue };
        match numbers.get(described) {
            Some(data) => candidates.push((number, *data)),
            None if is_sidecar(file)? => orphans.push(number),
            None if is_of_container(file, described, files)? => of_containers.push(number),
            None => {}
        }
    }
    candidates.sort_by_key(|(number, _)| Reverse(files.get(*number).map(|file| file.relative.len())));
    for (number, data) in candidates {
        let (Some(own), Some(other)) = (files.get(number), files.get(data)) else { continue };
        let is_free = |number: usize| matches!(roles.get(number), Some(Role::Plain));
        if !is_free(number) || !is_free(data) {
            continue;
        }
        match read(number, own, other)? {
            Candidate::Sidecar(sidecar) => {
                if let Some(role) = roles.get_mut(data) {
                    *role = Role::Described(sidecar);
                }
                if let Some(role) = roles.get_mut(number) {
                    *role = Role::Sidecar;
                }
            }
            Candidate::Other => {}
            Candidate::Odd(why) => {
                notes.push(format!("{}: {why}: it is packed as a file", own.path.display()))
            }
        }
    }
    for number in of_containers {
        let (Some(file), Some(role @ Role::Plain)) = (files.get(number), roles.get_mut(number)) else {
            continue;
        };
        *role = Role::Sidecar;
        notes.push(format!("{}: skipped: it describes something that is not here", file.path.display()));
    }
    let orphans = orphans.into_iter().filter(|number| matches!(roles.get(*number), Some(Role::Plain)));
    for file in orphans.filter_map(|number| files.get(number)) {
        let shown = file.path.display();
        notes.push(format!("{shown}: is the sidecar of a file that is missing, and is ignored"));
    }
    Ok(roles)
}

/// The name of the file that a file of this name may describe: `x` for `x.meta.yaml` or `x.meta.yaml~2`.
fn described_by(name: &[u8]) -> Option<&[u8]> {
    let plain = || {
        let tilde = name.iter().rposition(|byte| *byte == b'~')?;
        let is_number = name.get(tilde + 1..)?.iter().all(u8::is_ascii_digit);
        name.get(..tilde).filter(|_| is_number && tilde + 1 < name.len())?.strip_suffix(naming::SIDECAR)
    };
    name.strip_suffix(naming::SIDECAR).or_else(plain)
}

enum Candidate {
    Sidecar(Sidecar),
    Other,
    /// Looks like a sidecar, but is not one.
    Odd(String),
}

fn read(number: usize, own: &InputFile, other: &InputFile) -> Result<Candidate> {
    let node = match parsed(own)? {
        None => return Ok(Candidate::Other),
        Some(Err(problem)) => {
            return Ok(Candidate::Odd(format!("looks like a sidecar, but cannot be read: {problem}")));
        }
        Some(Ok(node)) => node,
    };
    let (Some(name), Some(data_type)) = (name(&node), data_type(&node)) else { return Ok(Candidate::Other) };
    // If the dataset's name cannot have led to this file's name, packing would lose the file's name.
    if name.as_bytes() != &*other.relative && !naming::can_become(name.as_bytes(), &other.relative) {
        let shown = naming::printed(&other.relative);
        let why = format!(
            "looks like the sidecar of {:?}, whose file is not called {shown:?}",
            naming::printed(name.as_bytes())
        );
        return Ok(Candidate::Odd(why));
    }
    let metadata = node.get_shared("metadata").cloned().unwrap_or(Arc::new(Node::Null));
    let facts = facts().find_map(|key| node.get_shared(key).cloned());
    let row = facts.as_deref().and_then(|facts| facts.get("row")?.as_i128());
    let row = row.or_else(|| node.get("number")?.as_i128());
    Ok(Candidate::Sidecar(Sidecar { file: number, name, metadata, data_type, row, facts }))
}

fn is_sidecar(file: &InputFile) -> Result<bool> {
    let Some(Ok(node)) = parsed(file)? else { return Ok(false) };
    Ok(name(&node).is_some() && data_type(&node).is_some())
}

/// True if the file describes a whole container, whose files are in the directory `described`.
fn is_of_container(file: &InputFile, described: &[u8], files: &[InputFile]) -> Result<bool> {
    let is_within =
        |other: &InputFile| other.relative.strip_prefix(described).is_some_and(|rest| rest.starts_with(b"/"));
    let name = file.relative.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if !files.iter().any(is_within) {
        return Ok(false);
    }
    let node = text(file)?.and_then(|text| yaml::value_to_write(&text).ok());
    let has_all = |node: &Node, keys: &[&str]| keys.iter().all(|key| node.get(key).is_some());
    let mut summaries = FORMATS.iter().filter_map(|format| format.marks().summary);
    Ok(node.is_some_and(|node| summaries.any(|(own, keys)| own.as_bytes() == name && has_all(&node, keys))))
}

/// The parsed content of a file, if it may be a sidecar.
fn parsed(file: &InputFile) -> Result<Option<Result<Arc<Node>, yaml::Problem>>> {
    let text = text(file)?.filter(|text| keys().any(|key| text.contains(key)));
    Ok(text.map(|text| yaml::value_to_write(&text)))
}

fn name(node: &Node) -> Option<Text> {
    match node.get("name")? {
        Node::Str(text) => Some(text.clone()),
        // A name of digits that lost its quotes.
        Node::Int(digits) => Some(Text::from(&**digits)),
        _ => None,
    }
}

/// The array described by the mapping `numpy` of a sidecar; None if no container supports its element type.
pub fn array(described: &Node) -> Result<Option<Array>, String> {
    let item = |key| described.get(key).ok_or_else(|| format!("it has no {key}"));
    let dtype = item("dtype")?.as_str().ok_or("its dtype is not a string")?;
    let order = match item("order")?.as_str() {
        Some("C") => Order::C,
        Some("F") => Order::F,
        _ => return Err("its order is neither C nor F".into()),
    };
    let Node::Seq(sizes) = item("shape")? else { return Err("its shape is not a list".into()) };
    let sizes: Option<Vec<u64>> = sizes.iter().map(|size| size.as_u64()).collect();
    let shape = sizes.ok_or("its shape has a size that is not a number from 0 to 2^64 - 1")?;
    let array = numpy::array(dtype, &shape, order)?;
    match &array {
        Some(array) if byte_len(array.dtype.element, &shape).is_none() => {
            Err(format!("its shape {shape:?} does not fit into 64 bits"))
        }
        _ => Ok(array),
    }
}

/// Every sidecar of a mount has one of these keys.
fn keys() -> impl Iterator<Item = &'static str> {
    facts().chain([NUMPY])
}

fn facts() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().filter_map(|format| format.marks().facts)
}

fn data_type(node: &Node) -> Option<DataType> {
    let mapping = |key| node.get_shared(key).filter(|value| value.as_map().is_some()).cloned();
    let numpy = || mapping(NUMPY).filter(|of| of.get("dtype").is_some()).map(DataType::Numpy);
    let described = mapping(CODEC).map(DataType::Codec).or_else(numpy);
    described.or_else(|| facts().any(|key| mapping(key).is_some()).then_some(DataType::Bytes))
}

/// Reads a file; None if it is too long or not text.
fn text(file: &InputFile) -> Result<Option<String>> {
    let len = fs::metadata(&file.path).map_err(|cause| Error::open(&file.path, cause))?.len();
    if len > MAX_LEN {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let opened = File::open(&file.path).map_err(|cause| Error::open(&file.path, cause))?;
    let read = opened.take(MAX_LEN).read_to_end(&mut bytes);
    read.map_err(|cause| Error::read(Place::file(&file.path), cause))?;
    Ok(String::from_utf8(bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sidecars() {
        for (name, data) in
            [("x.meta.yaml", "x"), ("d/x.meta.yaml~2", "d/x"), ("x.meta.yaml.meta.yaml", "x.meta.yaml")]
        {
            assert_eq!(described_by(name.as_bytes()), Some(data.as_bytes()), "{name}");
        }
        for name in ["x", "x.yaml", "x.meta.yaml~", "x.meta.yaml~b", "x.meta.yaml2"] {
            assert_eq!(described_by(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_dataset_that_looks_like_the_sidecar_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let sidecar = |name: &str| format!("codecMeta:\n  type: bytes\nname: {name}\n");
        let written = [
            ("a", String::from("1")),
            ("a.meta.yaml", sidecar("a")),
            ("a.meta.yaml.meta.yaml", sidecar("a.meta.yaml")),
            ("a.meta.yaml~2", sidecar("a")),
            ("b", String::from("2")),
            ("b.meta.yaml", sidecar("c")),
            ("c.meta.yaml", sidecar("c")),
            ("d", String::from("3")),
            ("d.meta.yaml", String::from("name: d\n")),
        ];
        let files = written.iter().map(|(name, text)| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            InputFile { relative: name.as_bytes().to_vec(), path }
        });
        let files: Vec<_> = files.collect();
        let mut notes = Vec::new();
        let shown: Vec<_> = roles(&files, &mut notes)
            .unwrap()
            .iter()
            .map(|role| match role {
                Role::Plain => "plain".to_owned(),
                Role::Described(sidecar) => sidecar.file.to_string(),
                Role::Sidecar => "sidecar".to_owned(),
            })
            .collect();
        assert_eq!(shown, ["3", "2", "sidecar", "sidecar", "plain", "plain", "plain", "plain", "plain"]);
        assert_eq!(notes.len(), 2);
        assert!(notes[0].contains(r#"b.meta.yaml: looks like the sidecar of "c""#), "{notes:?}");
        let orphan = "c.meta.yaml: is the sidecar of a file that is missing, and is ignored";
        assert!(notes[1].ends_with(orphan), "{notes:?}");
    }
}
