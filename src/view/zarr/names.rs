//! Names in a Zarr store. They are file names of the tree (escaped already, see `tree::naming`), but for what Zarr's
//! programs would take for something else: a backslash, which separates like a slash to them, is `%5C`, and names of
//! their own files get their dot escaped (`%2Ezarray`). Both can be turned back, since a `%` in a dataset's name is `%25`.

use std::borrow::Cow;

const RESERVED: [&[u8]; 5] = [b".zarray", b".zattrs", b".zgroup", b".zmetadata", b"zarr.json"];
const DOT: &[u8] = b"%2E";
const BACKSLASH: &[u8] = b"%5C";

pub fn escaped(file_name: &[u8]) -> Cow<'_, [u8]> {
    if RESERVED.contains(&file_name) {
        return replaced(file_name, b".", DOT).into();
    }
    match file_name.contains(&b'\\') {
        true => replaced(file_name, b"\\", BACKSLASH).into(),
        false => file_name.into(),
    }
}

/// The file name that is called so; a name that nothing is called by stays as it is.
pub fn unescaped(name: &[u8]) -> Cow<'_, [u8]> {
    let reserved = RESERVED.iter().find(|reserved| replaced(reserved, b".", DOT) == name);
    match reserved {
        Some(reserved) => (*reserved).into(),
        None => match memchr::memmem::find(name, BACKSLASH) {
            Some(_) => replaced(name, BACKSLASH, b"\\").into(),
            None => name.into(),
        },
    }
}

/// As [`escaped`], as text: bytes that are none (which only names on a disk have) are percent-encoded.
pub fn key(file_name: &[u8]) -> String {
    let name = escaped(file_name);
    let mut key = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        key.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| key.push_str(&format!("%{byte:02X}")));
    }
    key
}

fn replaced(name: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = memchr::memmem::find(rest, from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_zarr_itself_and_backslashes_are_escaped() {
        for (file_name, shown) in [
            ("a", "a"),
            (r"a\b\", "a%5Cb%5C"),
            (".zarray", "%2Ezarray"),
            (".zmetadata", "%2Ezmetadata"),
            ("zarr.json", "zarr%2Ejson"),
            (".zarr", ".zarr"),
            ("x.zarray", "x.zarray"),
            ("100%25", "100%25"),
            ("%", "%"),
        ] {
            assert_eq!(escaped(file_name.as_bytes()), shown.as_bytes());
            assert_eq!(unescaped(shown.as_bytes()), file_name.as_bytes());
            assert_eq!(key(file_name.as_bytes()), shown);
        }
        assert_eq!(key(b"a\xff\\\xc3\xa9"), "a%FF%5Cé");
    }
}
