//! The header of numpy's .npy files: read (versions 1 to 3), and written (version 1, 2 where version 1 has no room, or
//! 3 where it is not ASCII). [`Header`] is all that it can say; [`parse`] takes arrays of numbers only.
//! ```text
//! offset  bytes
//! 0       6      "\x93NUMPY"
//! 6       2      version
//! 8       2      N, length of the text, u16 (from version 2 on: 4 bytes, u32), little-endian
//!         N      {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, padded with spaces and a line break
//!                elements
//! ```

mod descr;
mod literal;
mod read;

use std::io::{self, Read};

pub use read::{FIXED, Header, Problem};

use super::{Array, Dtype, Element, Endian, Kind, Order, byte_len};
use crate::yaml::{self, Node};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longer texts are those of structured types, at most.
const LONGEST: u32 = 1 << 20;

/// Why there is no array.
#[derive(Debug)]
pub enum Refused {
    Input(io::Error),
    /// Not an array of numbers: what it is, and what to do.
    Unsuitable(String),
    Damaged(String),
}

/// Reads the header: the array, and where its elements begin.
pub fn parse(input: &mut dyn Read) -> Result<(Array, u64), Refused> {
    let mut fixed = [0; 8];
    fill(input, &mut fixed)?;
    let [magic @ .., major, _] = fixed;
    if magic != MAGIC {
        let shown = magic.escape_ascii();
        return Err(Refused::Unsuitable(format!("is no .npy file: it begins with \"{shown}\"")));
    }
    let (len, begin) = match major {
        1 => {
            let mut len = [0; 2];
            fill(input, &mut len)?;
            (u32::from(u16::from_le_bytes(len)), 10)
        }
        2 | 3 => {
            let mut len = [0; 4];
            fill(input, &mut len)?;
            (u32::from_le_bytes(len), 12)
        }
        other => return Err(Refused::Unsuitable(format!("is of version {other} of .npy, known are 1 to 3"))),
    };
    if len > LONGEST {
        let problem =
            format!("its header says that it has {len} bytes, {LONGEST} are the most that are read");
        return Err(Refused::Damaged(problem));
    }
    let mut text = vec![0; len as usize];
    fill(input, &mut text)?;
    Ok((array(&String::from_utf8_lossy(&text))?, begin + u64::from(len)))
}

fn fill(input: &mut dyn Read, buf: &mut [u8]) -> Result<(), Refused> {
    input.read_exact(buf).map_err(|cause| match cause.kind() {
        io::ErrorKind::UnexpectedEof => Refused::Damaged("ends within the header of a .npy file".into()),
        _ => Refused::Input(cause),
    })
}

/// Written with brackets for tuples, the text is YAML.
fn array(text: &str) -> Result<Array, Refused> {
    let damaged = |what: &str| Refused::Damaged(format!("its .npy header {what}"));
    let node = yaml::value(&text.replace('(', "[").replace(')', "]"))
        .map_err(|problem| damaged(&format!("cannot be read: {problem}")))?;
    let order = match node.get("fortran_order") {
        Some(Node::Bool(true)) => Order::F,
        Some(Node::Bool(false)) => Order::C,
        _ => return Err(damaged("has no fortran_order")),
    };
    let dtype = match node.get("descr") {
        Some(Node::Str(descr)) => dtype(&descr.lossy()).map_err(Refused::Unsuitable)?,
        Some(_) => return Err(Refused::Unsuitable(FIELDS.into())),
        None => return Err(damaged("has no descr")),
    };
    let Some(Node::Seq(sizes)) = node.get("shape") else { return Err(damaged("has no shape")) };
    let shape = sizes.iter().map(|size| self::size(size)).collect::<Option<Box<[u64]>>>();
    let shape = shape.ok_or_else(|| damaged("has a shape that is not made of sizes"))?;
    match byte_len(dtype.element, &shape) {
        Some(_) => Ok(Array { dtype, shape, order }),
        None => Err(damaged(&format!("has the shape {shape:?}, which does not fit into 64 bits"))),
    }
}

/// Python 2 wrote `3L`.
fn size(node: &Node) -> Option<u64> {
    match node {
        Node::Str(text) => text.as_str()?.strip_suffix('L')?.parse().ok(),
        node => node.as_u64(),
    }
}

const FIELDS: &str = "is an array with fields: save each field by itself, as np.save(\"x.npy\", a[\"x\"])";

/// By numpy's type string; the error says what to do.
fn dtype(descr: &str) -> Result<Dtype, String> {
    let rest = descr.trim_start_matches(['<', '>', '|', '=']);
    let endian = match descr.as_bytes().first() {
        Some(b'<' | b'|') => Endian::Little,
        Some(b'>') => Endian::Big,
        _ => Endian::NATIVE,
    };
    let kind = match rest.chars().next() {
        Some('b' | '?') => Kind::Bool,
        Some('i') => Kind::Int,
        Some('u') => Kind::Uint,
        Some('f') => Kind::Float,
        Some('c') => Kind::Complex,
        Some('O') => {
            return Err("is an array of Python objects: give it a number type before saving it, \
                 as a.astype(float), or save its values as JSON"
                .into());
        }
        Some('S' | 'U' | 'a') => {
            return Err(format!(
                "is an array of texts ({descr}): save them as .csv (see --dataframe) or JSON (see --objects)"
            ));
        }
        Some('M' | 'm') => {
            return Err(format!("is an array of dates or times ({descr}): save it as a.view(\"int64\")"));
        }
        Some('V') => return Err(FIELDS.into()),
        _ => return Err(format!("is an array of the type {descr:?}, which is not known")),
    };
    let size = rest.get(1..).and_then(|size| size.parse().ok()).or((rest == "?").then_some(1));
    let element = size.map(|size| Element { kind, size }).filter(|element| element.name().is_some());
    element.map(|element| Dtype { element, endian }).ok_or_else(|| {
        format!("is an array of the type {descr:?}, which no container holds: save it as a.astype(\"float64\") or the like")
    })
}

/// What comes before the elements, which follow in C order.
pub fn header(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let shape = shape.iter().map(|size| *size as u64).collect();
    described(&Array { dtype, shape, order: Order::C })
}

/// What comes before the elements of an array.
pub fn described(array: &Array) -> Vec<u8> {
    let Array { dtype, shape, order } = array;
    header_of(&format!("'{dtype}'"), *order, shape)
}

/// What comes before elements of the type `descr`, which is written as Python does.
pub fn header_of(descr: &str, order: Order, shape: &[u64]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let fortran = if order == Order::F { "True" } else { "False" };
    let mut text =
        format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': ({}), }}", sizes.trim_end());
    let is_short = text.len() + 64 < usize::from(u16::MAX);
    let version = if !text.is_ascii() { 3 } else { 2 - u8::from(is_short) };
    let fixed = if version == 1 { 10 } else { 12 };
    // The elements begin at a multiple of 64.
    let padding = (fixed + text.len() + 1).next_multiple_of(64) - (fixed + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    header.extend([version, 0]);
    match version {
        1 => header.extend((text.len() as u16).to_le_bytes()),
        _ => header.extend((text.len() as u32).to_le_bytes()),
    }
    header.extend(text.into_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Array, String> {
        array(text).map_err(|refused| format!("{refused:?}"))
    }

    #[test]
    fn what_is_written_is_read() {
        for (name, shape) in
            [("int16", vec![]), ("float64", vec![7]), ("bool", vec![0, 3]), ("complex64", vec![1; 9000])]
        {
            let dtype = Dtype { element: Element::from_name(name).unwrap(), endian: Endian::Little };
            let text = header(dtype, &shape);
            let (array, begin) = parse(&mut text.as_slice()).unwrap();
            let sizes: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
            assert_eq!((array.dtype, &*array.shape, array.order), (dtype, &*sizes, Order::C));
            assert_eq!(begin, text.len() as u64);
        }
    }

    #[test]
    fn types_and_orders() {
        let big = parsed("{'descr': '>c16', 'fortran_order': True, 'shape': (3L, 4), }        \n").unwrap();
        assert_eq!((big.dtype.to_string().as_str(), &*big.shape, big.order), (">c16", &[3, 4][..], Order::F));
        for (descr, problem) in [
            ("'|O'", "Python objects"),
            ("'<U7'", "texts"),
            ("'|S3'", "texts"),
            ("'<M8[ns]'", "int64"),
            ("[('a', '<i4'), ('b', '<f8', (2,))]", "with fields"),
            ("'|V4'", "with fields"),
            ("'<f16'", "astype"),
            ("'<i3'", "astype"),
            ("'<é'", "not known"),
        ] {
            let said = parsed(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3,), }}"));
            let said = said.unwrap_err();
            assert!(said.starts_with("Unsuitable") && said.contains(problem), "{said}");
        }
    }

    #[test]
    fn damaged_headers() {
        for text in [
            "",
            "{'descr': '<f8'",
            "{'descr': '<f8', 'fortran_order': 1, 'shape': (3,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': 3, }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        ] {
            assert!(parsed(text).unwrap_err().starts_with("Damaged"), "{text}");
        }
        let said = |bytes: &[u8]| format!("{:?}", parse(&mut &*bytes).unwrap_err());
        assert!(said(b"\x93NUM").contains("ends within"));
        assert!(said(b"\x93NUMPY\x01\0\x50\0{").contains("ends within"));
        assert!(said(b"\x93NUMPY\x02\0\xff\xff\xff\xff").contains("the most"));
        assert!(said(b"\x93NUMPY\x04\0").contains("version 4"));
        assert!(said(b"PK\x03\x04....").contains("is no .npy file"));
    }
}
