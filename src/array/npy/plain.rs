//! Reads the header of a .npy file from a stream, for callers that want only its array.

use std::io::{self, Read};

use super::super::Array;
use super::read::{FIXED, Header, MAGIC, Problem};

/// Why there is no array.
#[derive(Debug)]
pub enum Refused {
    Input(io::Error),
    /// Not an array that a container can hold; says what it is and what to do instead.
    Unsuitable(String),
    Damaged(String),
}

/// Reads the header; returns the array and the offset of its elements in bytes.
pub fn parse(input: &mut dyn Read) -> Result<(Array, u64), Refused> {
    let (mut first, mut wanted) = (Vec::new(), FIXED);
    let header = loop {
        let missing = wanted.saturating_sub(first.len()) as u64;
        (&mut *input).take(missing).read_to_end(&mut first).map_err(Refused::Input)?;
        match Header::parse(&first) {
            Ok(header) => break header,
            _ if !MAGIC.starts_with(&first) && !first.starts_with(MAGIC) => {
                let shown = first.get(..MAGIC.len()).unwrap_or(&first).escape_ascii();
                return Err(Refused::Unsuitable(format!("is not a .npy file: it begins with \"{shown}\"")));
            }
            Err(Problem::Short(_)) if first.len() < wanted => {
                return Err(Refused::Damaged("ends within the header of a .npy file".into()));
            }
            Err(Problem::Short(longer)) => wanted = longer,
            Err(Problem::Wrong(problem)) => return Err(Refused::Damaged(problem)),
        }
    };
    if header.byte_len().is_none() {
        let problem =
            format!("its .npy header has the shape {:?}, which does not fit into 64 bits", header.shape);
        return Err(Refused::Damaged(problem));
    }
    let array = header.descr.array(&header.shape, header.order);
    Ok((array.ok_or_else(|| Refused::Unsuitable(instead(&header)))?, header.len))
}

/// Says what an unsuitable array is, and what to do instead.
fn instead(header: &Header) -> String {
    let descr = header.descr.text.as_str();
    match header.descr.has_objects {
        true => "is an array of Python objects: give it a number type before saving it, \
                 as a.astype(float), or save its values as JSON"
            .into(),
        false => format!(
            "is an array of the type {descr:?}, which no container holds: save it as a.astype(\"float64\") or the like"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Dtype, Element, Endian, Order};

    fn parsed(text: &str) -> Result<Array, String> {
        let bytes = [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        parse(&mut bytes.as_slice()).map(|(array, _)| array).map_err(|refused| format!("{refused:?}"))
    }

    #[test]
    fn what_is_written_is_read() {
        for (name, shape) in
            [("int16", vec![]), ("float64", vec![7]), ("bool", vec![0, 3]), ("complex64", vec![1; 64])]
        {
            let dtype = Dtype { element: Element::from_name(name).unwrap(), endian: Endian::Little };
            let text = super::super::header(&format!("'{dtype}'"), Order::C, &shape);
            let (array, begin) = parse(&mut [&text[..], b"elements"].concat().as_slice()).unwrap();
            let sizes: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
            assert_eq!((array.dtype, &*array.shape, array.order), (dtype, &*sizes, Order::C));
            assert_eq!(begin, text.len() as u64);
        }
    }

    #[test]
    fn types_and_orders() {
        let big = parsed("{'descr': '>c16', 'fortran_order': True, 'shape': (3L, 4), }        \n").unwrap();
        assert_eq!((big.dtype.to_string().as_str(), &*big.shape, big.order), (">c16", &[3, 4][..], Order::F));
        for (descr, problem) in
            [("'|O'", "Python objects"), ("[('a', '|O')]", "Python objects"), ("'<U0'", "astype")]
        {
            let message = parsed(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3,), }}"));
            let message = message.unwrap_err();
            assert!(message.starts_with("Unsuitable") && message.contains(problem), "{message}");
        }
    }

    #[test]
    fn what_only_numpy_understands_keeps_its_type() {
        for descr in [
            "'<U7'",
            "'|S3'",
            "'>M8[ns]'",
            "'|V4'",
            "'<f16'",
            "[(\"a\", \"<i4\"), (\"b\", [(\"c\", \"<M8[s]\")], (2,))]",
        ] {
            let of =
                parsed(&format!("{{'descr': {descr}, 'fortran_order': True, 'shape': (3,), }}")).unwrap();
            assert_eq!((of.descr(), of.order), (descr.replace('|', ""), Order::F));
            assert!(of.dtype.element.size > 1 && of.record.is_some());
        }
    }

    #[test]
    fn damaged_headers() {
        for text in [
            "{'descr': '<f8'",
            "{'descr': '<i3', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        ] {
            assert!(parsed(text).unwrap_err().starts_with("Damaged"), "{text}");
        }
        let message = |bytes: &[u8]| format!("{:?}", parse(&mut &*bytes).unwrap_err());
        assert!(message(b"\x93NUM").contains("ends within"));
        assert!(message(b"\x93NUMPY\x01\0\x50\0{").contains("ends within"));
        assert!(message(b"\x93NUMPY\x02\0\xff\xff\xff\xff").contains("limit"));
        assert!(message(b"\x93NUMPY\x04\0abcd").contains("version 4"));
        assert!(message(b"PK\x03\x04....").contains("is not a .npy file"));
        assert!(message(b"PK").contains("is not a .npy file"));
    }
}
