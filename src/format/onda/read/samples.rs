//! The sample file of a signal: its path, encoding and layout.
//!
//! A `file_path` is a URI or a path relative to the table's directory; only `file:` URIs are supported. [`Siblings`]
//! decides which files may be opened.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use super::decoded::DecodedFiles;
use super::table::Signal;
use crate::array::{Array, Dtype, Element, Endian, Order};
use crate::content::Content;
use crate::error::Place;
use crate::source::{Siblings, Source, is_url, without_secrets};
use crate::{Error, Result};

pub struct Data {
    pub source: Arc<dyn Source>,
    /// Decoded if the format is known, raw otherwise.
    content: Content,
    /// Identifies the decoded bytes: equal for rows that share a file. None if nothing is decoded.
    pub number: Option<u64>,
    pub encoding: Encoding,
    pub layout: Option<Layout>,
    place: Place,
    /// Damage is logged once.
    logged: Once,
}

/// A file's encoding, determined by `file_format` alone, never by the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Lpcm,
    Zstd,
    /// Decoded by a program that the user configured.
    Program,
    /// Served as raw bytes.
    Unknown,
}

impl Encoding {
    pub fn named(format: &str) -> Encoding {
        match format {
            "lpcm" => Encoding::Lpcm,
            "lpcm.zst" => Encoding::Zstd,
            _ => Encoding::Unknown,
        }
    }
}

/// Layout of decoded samples: channels interleaved, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub element: Element,
    pub channels: u64,
}

impl Layout {
    /// None if the row does not describe samples correctly.
    pub fn of(signal: &Signal) -> Option<Layout> {
        let name = signal.sample_type.as_deref()?;
        let is_known =
            name.starts_with("int") || name.starts_with("uint") || matches!(name, "float32" | "float64");
        let element = Element::from_name(name).filter(|_| is_known)?;
        let channels = signal.channels as u64;
        (channels > 0).then_some(Layout { element, channels })
    }

    /// Bytes per sample of all channels.
    pub fn frame(&self) -> u64 {
        u64::from(self.element.size) * self.channels
    }

    pub fn dtype(&self) -> Dtype {
        Dtype { element: self.element, endian: Endian::Little }
    }

    pub fn array(&self, samples: u64) -> Array {
        Array::new(self.dtype(), [samples, self.channels], Order::C)
    }
}

impl Data {
    pub fn find(signal: &Signal, siblings: &Siblings, files: &DecodedFiles, place: &Place) -> Result<Data> {
        let path = signal.path.as_deref().unwrap_or_default();
        let absent = |problem: &str| Error::read(place.clone(), std::io::Error::other(problem));
        let local = local(path).map_err(|problem| absent(&problem))?;
        let source = Arc::new(siblings.find(&local).map_err(|error| match error {
            Error::Read { cause, .. } if path.is_empty() => Error::Read { place: place.clone(), cause },
            Error::Read { cause, .. } if is_url(path) => {
                let problem = format!("{}: {cause}", without_secrets(&local).display());
                Error::read(place.clone(), std::io::Error::new(cause.kind(), problem))
            }
            Error::Read { cause, .. } => {
                let directory = place.file.parent().unwrap_or(Path::new(""));
                let place = Place { file: joined(directory, &local), ..place.clone() };
                Error::Read { place, cause }
            }
            other => other,
        })?);
        let place = Place { file: source.path().to_owned(), ..place.clone() };
        let format = signal.format.as_deref().unwrap_or_default();
        let (encoding, decoded) = files.find(&source, format, &place);
        let number = decoded.as_ref().map(|decoded| decoded.number);
        let content = match decoded {
            Some(decoded) => Content::Computed(decoded.bytes),
            None => Content::Stored { source: source.clone(), range: 0..source.len() },
        };
        let layout = Layout::of(signal).filter(|_| encoding != Encoding::Unknown);
        Ok(Data { source, content, number, encoding, layout, place, logged: Once::new() })
    }

    /// Decoded length, if known without reading.
    pub fn known_len(&self) -> Option<u64> {
        self.content.known_len()
    }

    /// The bytes of all samples. Afterwards their length is known.
    pub fn content(&self) -> Result<Content> {
        let len = self.content.len()?;
        Ok(match self.fault(len) {
            Some(problem) => {
                let error = Error::damaged(self.place.clone(), problem);
                self.logged.call_once(|| log::error!("{error}; reads of it give an input/output error"));
                Content::Broken { claimed: len.min(self.source.len()).max(1), error }
            }
            None => self.content.clone(),
        })
    }

    /// Whatever can be recovered: the decoded bytes even if they end within a sample, or the raw file if decoding
    /// fails. Nothing if a limit is exceeded.
    pub fn remains(&self) -> Content {
        match self.content.len() {
            Ok(_) => self.content.clone(),
            Err(error @ Error::Unsupported { .. }) => Content::Broken { claimed: 1, error },
            Err(_) => Content::Stored { source: self.source.clone(), range: 0..self.source.len() },
        }
    }

    pub fn content_if_known(&self) -> Result<Option<Content>> {
        if self.known_len().is_some() { self.content().map(Some) } else { Ok(None) }
    }

    /// The array of all samples; None if the layout is unknown or the data ends within a sample.
    pub fn array(&self) -> Result<Option<Array>> {
        let Some(layout) = &self.layout else { return Ok(None) };
        let len = self.content.len()?;
        Ok(self.fault(len).is_none().then(|| layout.array(len / layout.frame())))
    }

    pub fn len(&self) -> Result<u64> {
        self.content.len()
    }

    /// The problem with a decoded length that is not a whole number of samples.
    pub fn fault(&self, len: u64) -> Option<String> {
        let Layout { element, channels } = self.layout?;
        let frame = u64::from(element.size) * channels;
        (!len.is_multiple_of(frame)).then(|| {
            format!(
                "its data has {len} bytes, not a whole number of samples: {channels} channels of {} bytes \
                 make {frame}",
                element.size
            )
        })
    }
}

/// True if this `file_path` is relative to the table's directory.
pub fn is_relative(path: &str) -> bool {
    !is_url(path) && local(path).is_ok_and(|path| path.is_relative())
}

/// The location of the file that a table in `directory` refers to, or why it cannot be local.
pub fn path(path: &str, directory: &Path) -> Result<PathBuf, String> {
    if is_url(path) {
        return Err(format!("{path} is remote"));
    }
    local(path).map(|local| joined(directory, &local))
}

/// The path as shown to users.
fn joined(directory: &Path, path: &Path) -> PathBuf {
    let path = path.strip_prefix(".").unwrap_or(path);
    if path.as_os_str().is_empty() { directory.to_owned() } else { directory.join(path) }
}

/// The local path or URL that a `file_path` means, or why it can be neither.
fn local(path: &str) -> Result<PathBuf, String> {
    let scheme = path.split_once(':').filter(|(scheme, _)| {
        scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    });
    match scheme {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") && rest.starts_with('/') => {
            let path = match rest.strip_prefix("//") {
                Some(after) => {
                    let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
                    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                        return Err(format!("the file is on another machine, {host}"));
                    }
                    path
                }
                None => rest,
            };
            Ok(percent_decoded(path))
        }
        Some(_) if is_url(path) => Ok(path.into()),
        Some((scheme, rest)) if rest.starts_with("//") => {
            Err(format!("{path} is remote ({scheme}), and remote files are not fetched"))
        }
        _ if path.contains('\0') => Err("the path has a NUL byte".into()),
        _ => Ok(Path::new(path).to_owned()),
    }
}

fn percent_decoded(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        let decoded = digits.filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match decoded.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris() {
        let ok = |path: &str| local(path).unwrap().display().to_string();
        assert_eq!(ok("samples/a b%20c.lpcm"), "samples/a b%20c.lpcm");
        assert_eq!(ok("a:b"), "a:b");
        assert_eq!(ok("./x"), "./x");
        assert_eq!(ok("file:///tmp/a%20b%2fc%"), "/tmp/a b/c%");
        assert_eq!(ok("FILE://localhost/x"), "/x");
        assert_eq!(ok("file:/x"), "/x");
        for (path, why) in [
            ("hdfs://b/x", "remote (hdfs)"),
            ("ftp://h/x", "remote"),
            ("file://other/x", "other"),
            ("a\0", "NUL"),
        ] {
            assert!(local(path).unwrap_err().contains(why), "{path}");
        }
    }

    #[test]
    fn formats_are_case_sensitive() {
        assert_eq!(Encoding::named("lpcm"), Encoding::Lpcm);
        assert_eq!(Encoding::named("lpcm.zst"), Encoding::Zstd);
        for other in ["LPCM", "lpcm.zstd", "flac", ""] {
            assert_eq!(Encoding::named(other), Encoding::Unknown);
        }
    }
}
