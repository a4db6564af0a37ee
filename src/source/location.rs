//! Where a container is: a path, or the URL of an object. What exists as a file is one, whatever its name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(feature = "remote")]
use super::remote;
use super::{FileSource, Listed, Source};
use crate::{Error, Result};

/// Beginnings of URLs that can be opened.
const SCHEMES: [&str; 5] = ["https://", "http://", "s3://", "gs://", "az://"];

/// The URL that a path is, if it is one.
pub fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text) && !path.exists())
}

/// Does a text name something that can be opened at a URL?
pub fn is_url(text: &str) -> bool {
    cfg!(feature = "remote") && SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// A URL without what may be secret: name and password, and the signature in its query.
pub fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if !scheme.starts_with("http") {
        return url.to_owned();
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// A path as it is in URLs of the web.
pub fn percent_encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// What messages and the mount table call it.
pub fn without_secrets(path: &Path) -> PathBuf {
    url(path).map_or_else(|| path.to_owned(), |url| shown(url).into())
}

/// Opens a file or an object. `reads_end`: its last bytes will be read soon.
///
/// # Errors
/// As [`FileSource::open`].
pub fn open(path: &Path, reads_end: bool) -> Result<Arc<dyn Source>> {
    #[cfg(feature = "remote")]
    if let Some(url) = url(path) {
        return Ok(Arc::new(remote::RemoteSource::open(url, reads_end)?));
    }
    let _ = reads_end;
    Ok(Arc::new(FileSource::open(path)?))
}

/// Is it a directory, or the URL of a prefix by its spelling: does it end with a slash, or name only a bucket?
pub fn is_directory(path: &Path) -> bool {
    path.is_dir() || url(path).is_some_and(is_prefix)
}

fn is_prefix(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    !url.starts_with("http") && (rest.ends_with('/') || !rest.contains('/'))
}

/// What is directly below the prefix of a store, by its names.
///
/// # Errors
/// [`Error::Open`] says whether the bucket is missing, refused or unreachable.
pub fn list(url: &str) -> Result<BTreeMap<String, Listed>> {
    #[cfg(feature = "remote")]
    return remote::list::list(url).map_err(|failure| Error::open(Path::new(&shown(url)), failure.into()));
    #[cfg(not(feature = "remote"))]
    return Err(Error::open(Path::new(url), unsupported(url, ())));
}

/// What is directly below the prefix of a store under one name, if anything; for an empty name the prefix itself.
///
/// # Errors
/// As [`list`].
pub fn find(url: &str, name: &str) -> Result<Option<Listed>> {
    #[cfg(feature = "remote")]
    return remote::list::find(url, name)
        .map_err(|failure| Error::open(Path::new(&shown(url)), failure.into()));
    #[cfg(not(feature = "remote"))]
    return Err(Error::open(Path::new(url), unsupported(url, name)));
}

/// Before the program ends: waits a little until what was fetched is kept on disk.
pub fn finish() {
    #[cfg(feature = "remote")]
    remote::fetch::finish_writing();
}

/// Fails if an object cannot be written: because it exists and `force` is not given, or the store refuses.
pub fn may_write(url: &str, force: bool) -> io::Result<()> {
    #[cfg(feature = "remote")]
    return remote::upload::may_write(url, force);
    #[cfg(not(feature = "remote"))]
    return Err(unsupported(url, force));
}

/// Writes an object of the contents of a file. Without `force` it does not replace another one. Once `stop` is set, it
/// fails.
pub fn upload(url: &str, file: &File, force: bool, stop: &AtomicBool) -> io::Result<()> {
    #[cfg(feature = "remote")]
    return remote::upload::upload(url, file, force, stop);
    #[cfg(not(feature = "remote"))]
    return Err(unsupported(url, (file, force, stop)));
}

/// Never called, as [`url`] finds no URLs then.
#[cfg(not(feature = "remote"))]
fn unsupported<T>(url: &str, _: T) -> io::Error {
    io::Error::other(format!("{}: this program is built without support for URLs", shown(url)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        for (url, want) in [
            ("https://user:secret@host:81/a/b.rab?X-Amz-Signature=secret#x", "https://host:81/a/b.rab"),
            ("https://host?secret", "https://host"),
            ("http://host/a@b.rab", "http://host/a@b.rab"),
            ("s3://bucket/a?b.rab", "s3://bucket/a?b.rab"),
        ] {
            assert_eq!(shown(url), want);
        }
    }

    #[test]
    fn what_is_a_prefix() {
        for (url, want) in [
            ("s3://bucket", true),
            ("s3://bucket/", true),
            ("gs://bucket/a/", true),
            ("az://bucket/a", false),
            ("https://host/a/", false),
        ] {
            assert_eq!(is_directory(Path::new(url)), want, "{url}");
        }
    }

    #[test]
    fn what_is_a_url() {
        assert_eq!(url(Path::new("s3://bucket/x.rab")), Some("s3://bucket/x.rab"));
        for path in ["x.rab", "/s3://x", "ftp://host/x", "s3:/bucket/x"] {
            assert_eq!(url(Path::new(path)), None, "{path}");
        }
    }
}
