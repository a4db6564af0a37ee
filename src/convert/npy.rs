//! numpy's .npy files, each of one array: read, and written as something like a container.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::array::{self, Array, Dtype, Element, Endian, Kind, Order, npy};
use crate::error::Place;
use crate::format::target::{NewContainer, NewDataset, What};
use crate::source::Source;
use crate::yaml::{self, Node};
use crate::{Error, Result};

/// Of the header that is looked at.
const LONGEST: u64 = 1 << 20;

/// The array in a .npy file, and where its elements are.
pub fn read(source: &dyn Source) -> Result<(Array, Range<u64>)> {
    let damaged = |problem: String| Error::damaged(source.place(), problem);
    let head = source.read_range(0..source.len().min(12))?;
    let (start, len) = match *head.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, ..] => (10, u16::from_le_bytes([a, b]).into()),
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, a, b, c, d] => {
            (12, u64::from(u32::from_le_bytes([a, b, c, d])))
        }
        _ => {
            let found = "it is no .npy file, or of a version that is not known".into();
            return Err(Error::NotAContainer { file: source.path().to_owned(), found });
        }
    };
    let data = start + len;
    if len > LONGEST || data > source.len() {
        return Err(damaged(format!("its header ends at byte {data}, the file has {}", source.len())));
    }
    let bytes = source.read_range(start..data)?;
    let array = parse(&String::from_utf8_lossy(&bytes)).map_err(damaged)?;
    let need = array::byte_len(array.dtype.element, &array.shape);
    match need.and_then(|need| data.checked_add(need)) {
        Some(end) if end == source.len() => Ok((array, data..end)),
        _ => {
            let have = source.len() - data;
            Err(damaged(format!(
                "its shape {:?} of {} does not fit its {have} bytes",
                array.shape, array.dtype
            )))
        }
    }
}

/// The header is a literal of Python; with its tuples as lists it is YAML too.
fn parse(text: &str) -> Result<Array, String> {
    let node = yaml::value(&text.replace('(', "[").replace(')', "]"));
    let node = node.map_err(|problem| format!("its header cannot be read: {problem}"))?;
    let descr = node.get("descr").ok_or("its header has no descr")?;
    let dtype = descr.as_str().and_then(dtype).ok_or_else(|| {
        format!(
            "its elements are {}, which is not supported: only booleans and numbers are",
            yaml::to_json(descr)
        )
    })?;
    let order = match node.get("fortran_order") {
        Some(Node::Bool(true)) => Order::F,
        Some(Node::Bool(false)) => Order::C,
        _ => return Err("its header has no fortran_order".into()),
    };
    let shape = match node.get("shape") {
        Some(Node::Seq(sizes)) => sizes.iter().map(|size| size.as_u64()).collect::<Option<_>>(),
        _ => None,
    };
    let shape = shape.ok_or("its header has no shape")?;
    Ok(Array { dtype, shape, order })
}

fn dtype(text: &str) -> Option<Dtype> {
    let mut letters = text.chars();
    let endian = match letters.next()? {
        '<' => Endian::Little,
        '>' => Endian::Big,
        '=' | '|' => Endian::NATIVE,
        _ => return None,
    };
    let kind = match letters.next()? {
        'b' => Kind::Bool,
        'i' => Kind::Int,
        'u' => Kind::Uint,
        'f' => Kind::Float,
        'c' => Kind::Complex,
        _ => return None,
    };
    let element = Element { kind, size: letters.as_str().parse().ok()? };
    element.name().map(|_| Dtype { element, endian })
}

/// A .npy file that is being written.
pub struct NewArray {
    path: PathBuf,
    file: NamedTempFile,
    is_there: bool,
}

impl NewArray {
    pub fn create(path: &Path) -> Result<NewArray> {
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mode = Permissions::from_mode(0o666);
        let file =
            tempfile::Builder::new().prefix(".rab-").suffix(".tmp").permissions(mode).tempfile_in(directory);
        let file = file.map_err(|cause| Error::write(Place::file(path), cause))?;
        Ok(NewArray { path: path.to_owned(), file, is_there: false })
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::write(Place::file(&self.path), cause)
    }

    fn refused(&self, problem: &str) -> Error {
        self.failed(io::Error::other(problem))
    }
}

impl NewContainer for NewArray {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        let What::Array(array) = dataset.what else {
            return Err(self.refused("a .npy file holds an array, and the dataset is none"));
        };
        if std::mem::replace(&mut self.is_there, true) {
            return Err(self.refused("a .npy file holds one array; name one"));
        }
        let mut file = self.file.as_file();
        let written = file.write_all(&npy::described(array)).and_then(|()| io::copy(data, &mut file));
        let count = written.map_err(|cause| self.failed(cause))?;
        if array::byte_len(array.dtype.element, &array.shape) != Some(count) {
            return Err(self.refused("the array has other bytes than its shape needs"));
        }
        let is_empty = dataset.metadata.is_null() || dataset.metadata.as_map().is_some_and(<[_]>::is_empty);
        Ok(if is_empty { Vec::new() } else { vec!["its metadata is left out".into()] })
    }

    fn finish(self: Box<Self>) -> Result<()> {
        if !self.is_there {
            return Err(self.refused("a .npy file holds one array, and there is none"));
        }
        let NewArray { path, file, .. } = *self;
        let finish = || {
            file.as_file().sync_all()?;
            file.persist(&path).map(|_: File| ()).map_err(|error| error.error)
        };
        finish().map_err(|cause| Error::write(Place::file(&path), cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let parsed = parse("{'descr': '>c8', 'fortran_order': True, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!((parsed.dtype.to_string().as_str(), parsed.order), (">c8", Order::F));
        assert_eq!(&*parsed.shape, [3, 4]);
        let back = npy::described(&parsed);
        assert_eq!(parse(std::str::from_utf8(&back[10..]).unwrap()).unwrap(), parsed);
        let one = parse("{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }").unwrap();
        assert_eq!(&*one.shape, [7]);
        assert!(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (), }").unwrap().shape.is_empty());
        for descr in ["'|O'", "'<U5'", "[('a', '<i4')]", "'<f16'", "'f8'", "3"] {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (7,), }}");
            assert!(parse(&text).unwrap_err().contains("not supported"), "{descr}");
        }
        for text in ["", "{", "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
