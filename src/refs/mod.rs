//! References: what Zarr's programs need to read the arrays of containers from the containers themselves, over whatever
//! network they lie on and without us. Version 1 of kerchunk's references, as JSON: for every key of a Zarr store its
//! bytes, or `[url, offset, length]`.
//!
//! Of a directory every container is a group by its path. What bytes of a file cannot stand for is left out and named.

mod containers;
mod urls;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::codec::Engine;
use crate::format::{self, Context, Options};
use crate::source::{FileSource, Source};
use crate::view::Directory;
use crate::view::zarr::{self, Reference, References};
use crate::{Error, Result, yaml};

use urls::Urls;

/// Memory for decoded data.
const CACHE: u64 = 32 << 20;

/// What the user says.
pub struct Request<'a> {
    /// A container, or a directory of them.
    pub source: &'a Path,
    pub formats: &'a Options,
    /// Where readers will find it, if not at its path.
    pub url: Option<&'a str>,
}

/// Writes all references to `out`; `left_out` is told why something is missing. An [`Error`] that ends it is inside the
/// [`io::Error`].
pub fn write(request: &Request<'_>, out: &mut dyn Write, left_out: &mut dyn FnMut(&Error)) -> io::Result<()> {
    let is_directory = request.source.is_dir();
    let mut writer = Writer {
        out,
        urls: Urls::new(request.source, is_directory, request.url),
        count: 0,
        last: None,
        failed: None,
    };
    let done = if is_directory {
        directory(request, &mut writer, left_out)
    } else {
        opened(request.source, request.formats)
            .and_then(|root| writer.begin().and_then(|()| group(&root, "", &mut writer, left_out)))
    };
    match (done, writer.failed.take()) {
        (_, Some(cause)) => Err(cause),
        (Err(error), None) => Err(io::Error::other(error)),
        (Ok(()), None) => writer.out.write_all(b"\n}}\n"),
    }
}

fn opened(path: &Path, formats: &Options) -> Result<Directory> {
    let source: Arc<dyn Source> = Arc::new(FileSource::open(path)?);
    let context = Context { options: formats.clone(), ..Context::new(source, Arc::new(Engine::new(CACHE))) };
    Ok(Directory::root(&format::open(context)?))
}

fn group(
    root: &Directory,
    path: &str,
    writer: &mut Writer<'_>,
    left_out: &mut dyn FnMut(&Error),
) -> Result<()> {
    References { each: &mut |key, reference| writer.add(key, &reference), left_out }.group(root, path)
}

/// Directories are groups as far as they lead to containers.
fn directory(
    request: &Request<'_>,
    writer: &mut Writer<'_>,
    left_out: &mut dyn FnMut(&Error),
) -> Result<()> {
    let found = containers::below(request.source, request.formats, left_out)?;
    writer.begin()?;
    for group in &found.groups {
        writer.add(&zarr::group_key(group), &Reference::group())?;
    }
    for container in &found.containers {
        match opened(&container.path, request.formats) {
            Ok(root) => group(&root, &format!("{}/", container.key), writer, left_out)?,
            Err(error) => left_out(&error),
        }
    }
    Ok(())
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    urls: Urls<'a>,
    count: u64,
    /// The last source and its address, as JSON.
    last: Option<(Arc<dyn Source>, String)>,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
}

impl Writer<'_> {
    fn begin(&mut self) -> Result<()> {
        self.put(r#"{"version": 1, "refs": {"#)
    }

    fn add(&mut self, key: &str, reference: &Reference) -> Result<()> {
        let value = match reference {
            Reference::Text(text) => json!(text).to_string(),
            Reference::Bytes(bytes) => json!(format!("base64:{}", yaml::base64_of(bytes))).to_string(),
            Reference::Range(source, range) => {
                let len = range.end - range.start;
                format!("[{}, {}, {len}]", self.url(source)?, range.start)
            }
        };
        let comma = if self.count > 0 { "," } else { "" };
        self.count += 1;
        self.put(&format!("{comma}\n{}: {value}", json!(key)))
    }

    fn url(&mut self, source: &Arc<dyn Source>) -> Result<&str> {
        let is_last = self.last.as_ref().is_some_and(|(last, _)| Arc::ptr_eq(last, source));
        if !is_last {
            let url = json!(self.urls.of(source.path())?).to_string();
            self.last = Some((source.clone(), url));
        }
        Ok(self.last.as_ref().map_or("", |(_, url)| url))
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.out.write_all(text.as_bytes()).map_err(|cause| {
            self.failed = Some(cause);
            Error::Other("the references cannot be written".into())
        })
    }
}
