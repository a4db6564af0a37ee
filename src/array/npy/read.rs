//! The header of a .npy file, versions 1.0 to 3.0:
//! ```text
//! offset  bytes
//! 0       6       "\x93NUMPY"
//! 6       2       version
//! 8       2 or 4  N, length of the text (4 bytes from version 2 on), little-endian
//!         N       a Python mapping of descr, fortran_order and shape; Latin-1, from version 3 on UTF-8
//! ```

use super::super::{Array, Order, check_axes};
use super::descr::{Descr, descr};
use super::literal::{self, Literal};
use crate::yaml::Node;

pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Number of bytes needed to know the header's length.
pub const FIXED: usize = 12;
/// Why arrays of objects are not read.
pub const OBJECTS: &str = "it holds Python objects (a pickle), which are not read here: np.load(..., \
    allow_pickle=True) reads them, and runs whatever code they bring";
/// Maximum length of the header's text, in bytes.
const MAX_LEN: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub version: [u8; 2],
    /// Length of the whole header, which is the offset of the elements, in bytes.
    pub len: u64,
    pub descr: Descr,
    pub order: Order,
    pub shape: Box<[u64]>,
}

/// Why there is no header.
#[derive(Debug, PartialEq)]
pub enum Problem {
    /// The header needs this many bytes from the start of the file.
    Short(usize),
    Wrong(String),
}

impl Header {
    /// Parses a header from the first bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Header, Problem> {
        let Some((fixed, _)) = bytes.split_first_chunk::<FIXED>() else { return Err(Problem::Short(FIXED)) };
        let [.., major, minor, a, b, c, d] = *fixed;
        if !fixed.starts_with(MAGIC) {
            let wrong = format!("it begins with \"{}\", not as a .npy file", fixed[..6].escape_ascii());
            return Err(Problem::Wrong(wrong));
        }
        let (start, len) = match major {
            1 => (10, usize::from(u16::from_le_bytes([a, b]))),
            2 | 3 => (12, u32::from_le_bytes([a, b, c, d]) as usize),
            _ => return Err(Problem::Wrong(format!("its NPY version {major}.{minor} is not known"))),
        };
        if len > MAX_LEN {
            let limit = MAX_LEN >> 20;
            return Err(Problem::Wrong(format!(
                "its NPY header takes {len} bytes, and the limit is {limit} MiB"
            )));
        }
        let text = bytes.get(start..start + len).ok_or(Problem::Short(start + len))?;
        let text = match std::str::from_utf8(text) {
            Ok(text) if major >= 3 || text.is_ascii() => text.to_owned(),
            Err(_) if major >= 3 => return Err(Problem::Wrong("its NPY header is not UTF-8".into())),
            _ => text.iter().map(|byte| char::from(*byte)).collect(),
        };
        let (descr, order, shape) = meaning(&text)
            .map_err(|problem| Problem::Wrong(format!("its NPY header is invalid: {problem}")))?;
        Ok(Header { version: [major, minor], len: (start + len) as u64, descr, order, shape })
    }

    /// Size of all elements in bytes; None if it does not fit into 64 bits.
    pub fn byte_len(&self) -> Option<u64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(self.descr.size, |product, size| product.checked_mul(*size))
    }
}

impl Header {
    /// The array, if its element type is supported.
    pub fn array(&self) -> Option<Array> {
        self.descr.array(&self.shape, self.order)
    }

    /// The name of the element type.
    pub fn kind(&self) -> &str {
        let name = self.array().and_then(|array| array.dtype.element.name());
        let is_structure = self.descr.text.starts_with('[');
        name.unwrap_or(if is_structure { "structure" } else { &self.descr.text })
    }

    /// Checks that the elements take exactly `have` bytes; the error says why not.
    pub fn fits(&self, have: u64) -> Result<(), String> {
        match self.byte_len() {
            Some(need) if need == have => Ok(()),
            Some(need) => Err(format!("it has {have} bytes of elements, but its description needs {need}")),
            None => Err("its shape does not fit into 64 bits".into()),
        }
    }

    /// The sidecar's NPY-specific fields.
    pub fn node(&self) -> Node {
        let Header { version: [major, minor], len, descr, .. } = self;
        Node::map([
            ("version", Node::text(&format!("{major}.{minor}"))),
            ("headerLength", Node::int(*len)),
            ("itemSize", Node::int(descr.size)),
        ])
    }
}

fn meaning(text: &str) -> Result<(Descr, Order, Box<[u64]>), String> {
    let Literal::Dict(pairs) = literal::parse(text)? else { return Err("it is not a mapping".into()) };
    let find = |wanted: &str| {
        let mut found = pairs.iter().filter(|(key, _)| matches!(key, Literal::Str(key) if key == wanted));
        let value = found.next().map(|(_, value)| value).ok_or_else(|| format!("it has no {wanted}"))?;
        if found.next().is_some() { Err(format!("it has {wanted} twice")) } else { Ok(value) }
    };
    let order = match find("fortran_order")? {
        Literal::Bool(true) => Order::F,
        Literal::Bool(false) => Order::C,
        _ => return Err("its fortran_order is neither True nor False".into()),
    };
    let Literal::Tuple(sizes) = find("shape")? else { return Err("its shape is not a tuple".into()) };
    check_axes(sizes.len())?;
    let size = |size: &Literal| match size {
        Literal::Int(size) => u64::try_from(*size).ok(),
        _ => None,
    };
    let shape = sizes
        .iter()
        .map(size)
        .collect::<Option<_>>()
        .ok_or("its shape has a size that is not a number from 0 to 2^64 - 1")?;
    let descr = descr(find("descr")?)?;
    match pairs.len() {
        3 => Ok((descr, order, shape)),
        _ => Err("it has other keys than descr, fortran_order and shape".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::header;
    use super::*;
    use crate::array::{Dtype, Element, Endian};
    use proptest::prelude::*;

    fn file(version: u8, text: &[u8]) -> Vec<u8> {
        let len = text.len() as u32;
        let len = &len.to_le_bytes()[..if version == 1 { 2 } else { 4 }];
        [MAGIC, &[version, 0], len, text].concat()
    }

    const USUAL: &str = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }   \n";

    #[test]
    fn every_version() {
        for version in 1..=3 {
            let bytes = file(version, USUAL.as_bytes());
            let found = Header::parse(&[&bytes[..], b"data"].concat()).unwrap();
            assert_eq!((found.len, found.order, &*found.shape), (bytes.len() as u64, Order::F, &[3, 4][..]));
            assert_eq!(found.byte_len(), Some(48));
            for cut in 0..bytes.len() {
                let needed = if cut < FIXED { FIXED } else { bytes.len() };
                assert_eq!(Header::parse(&bytes[..cut]), Err(Problem::Short(needed)));
            }
        }
        let field = "{'descr': [('\u{e9}', '<i4')], 'fortran_order': False, 'shape': (), }";
        let latin: Vec<u8> = field.chars().map(|c| c as u8).collect();
        for bytes in [file(1, &latin), file(3, field.as_bytes())] {
            assert_eq!(Header::parse(&bytes).unwrap().descr.text, "[(\"\u{e9}\", \"<i4\")]");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let dtype = Dtype { element: Element::from_name("int16").unwrap(), endian: Endian::Big };
        for shape in [&[][..], &[7], &[0, 3], &[2, 3, 4]] {
            let written = header(&format!("'{dtype}'"), Order::C, shape);
            let found = Header::parse(&written).unwrap();
            let shape: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
            assert_eq!(
                (found.len, &*found.shape, found.descr.dtype),
                (written.len() as u64, &*shape, Some(dtype))
            );
        }
    }

    #[test]
    fn senseless_requests_are_refused_with_the_reason() {
        let message = |text: &str| match Header::parse(&file(1, text.as_bytes())) {
            Err(Problem::Wrong(problem)) => problem,
            other => panic!("{other:?}"),
        };
        assert!(message(&USUAL.replace("True", "1")).contains("fortran_order"));
        assert!(message(&USUAL.replace("(3, 4)", "(3, -4)")).contains("shape"));
        assert!(message(&USUAL.replace("(3, 4)", "3")).contains("shape is not a tuple"));
        assert!(message(&USUAL.replace("'shape'", "'shade'")).contains("no shape"));
        assert!(message(&USUAL.replace("<f4", "<f5")).contains("\"<f5\" is not known"));
        assert!(message(&USUAL.replace("}", "'more': 1}")).contains("other keys"));
        assert!(message("[]").contains("not a mapping"));
        let long = [MAGIC, &[2, 0], &[0xff; 4]].concat();
        assert!(matches!(Header::parse(&long), Err(Problem::Wrong(message)) if message.contains("1 MiB")));
        assert!(
            matches!(Header::parse(&file(4, b"{}")), Err(Problem::Wrong(message)) if message.contains("4.0"))
        );
    }

    proptest! {
        #[test]
        fn no_header_is_too_wild(at in 0usize..1000, byte: u8, garbage in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = file(1, USUAL.as_bytes());
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Header::parse(&bytes).map(|header| header.byte_len());
            let _ = Header::parse(&file(3, &garbage));
        }
    }
}
