//! References that let Zarr libraries read arrays directly from the containers, over any network and without this
//! program. The format is version 1 of kerchunk's references as JSON: each key of a Zarr store maps to its bytes or to
//! `[url, offset, length]`.
//!
//! For a directory, each container is a group named by its path. Arrays that cannot be expressed as byte ranges are
//! reported and left out.

mod containers;
mod urls;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::codec::Engine;
use crate::format::{self, Context, Options};
use crate::source::Source;
use crate::view::Directory;
use crate::view::zarr::{self, Others, Reference, References};
use crate::{Error, Result, yaml};

use containers::Container;
use urls::Urls;

/// Size of the cache for decoded data, in bytes.
const CACHE: u64 = 32 << 20;

/// What to reference, and how.
pub struct Request<'a> {
    /// A container, or a directory of them.
    pub source: &'a Path,
    /// Additional files of the container.
    pub and: &'a [PathBuf],
    pub formats: &'a Options,
    /// The URL where readers will find the source, if not at its path.
    pub url: Option<&'a str>,
}

/// Writes all references to `out` and returns the number of arrays; `left_out` receives the reasons for missing ones.
///
/// # Errors
/// Failed writes; any other [`Error`] is wrapped in the [`io::Error`].
pub fn write(
    request: &Request<'_>,
    out: &mut dyn Write,
    left_out: &mut dyn FnMut(&Error),
) -> io::Result<u64> {
    let is_directory = request.source.is_dir();
    let mut writer = Writer {
        out,
        urls: Urls::new(request.source, is_directory, request.url),
        has_begun: false,
        count: 0,
        arrays: 0,
        last: None,
        descriptions: Vec::new(),
        failed: None,
    };
    let done = if is_directory && !request.and.is_empty() {
        Err(Error::Usage("--and is for a single container, not a directory: name the files of one".into()))
    } else if is_directory {
        directory(request, &mut writer, left_out)
    } else {
        opened(request.source, request.and, request.formats)
            .and_then(|opened| group(&opened, request.source, "", &mut writer, left_out))
    };
    match (done, writer.failed.take()) {
        (_, Some(cause)) => Err(cause),
        (Err(error), None) => Err(io::Error::other(error)),
        (Ok(()), None) => writer.out.write_all(b"\n}}\n").map(|()| writer.arrays),
    }
}

/// The files of a container, and its root directory.
type Opened = (Vec<Arc<dyn Source>>, Directory);

fn opened(path: &Path, and: &[PathBuf], formats: &Options) -> Result<Opened> {
    let source = format::source(path)?;
    let others = and.iter().map(|path| format::source(path)).collect::<Result<Vec<_>>>()?;
    let engine = Arc::new(Engine::new(CACHE));
    let context =
        Context { options: formats.clone(), others: others.clone(), ..Context::new(source.clone(), engine) };
    let root = Directory::root(&format::open(context)?.into_tree()?);
    Ok(([vec![source], others].concat(), root))
}

/// Writes the container at `path` as a group whose keys begin with `key`. Any error aborts the whole output, because an
/// array with missing chunks would be read as if it had no data.
fn group(
    (sources, root): &Opened,
    path: &Path,
    key: &str,
    writer: &mut Writer<'_>,
    left_out: &mut dyn FnMut(&Error),
) -> Result<()> {
    writer.begin()?;
    writer.descriptions.push(Consolidated::new(key));
    let file = format!("{}: ", path.display());
    let mut named = |error: &Error| match error {
        Error::Other(problem) if !problem.starts_with(&file) => {
            left_out(&Error::Other(format!("{file}{problem}")))
        }
        error => left_out(error),
    };
    let urls = writer.urls.clone();
    let findable = |source: &dyn Source| urls.of(source.path()).map(drop);
    let mut each = |key: &str, reference: Reference| writer.add(key, &reference);
    let others = Others::default();
    let mut references = References {
        each: &mut each,
        findable: &findable,
        left_out: &mut named,
        format: root.format(),
        others,
    };
    references.group(root, key)?;
    if let Some(note) = references.others.note() {
        (references.left_out)(&Error::Other(note));
    }
    // The references would be wrong if the container was replaced or modified meanwhile.
    sources.iter().try_for_each(|source| source.check())?;
    writer.consolidated()
}

/// Writes a directory; its subdirectories become groups if they contain containers.
fn directory(request: &Request<'_>, writer: &mut Writer<'_>, left_out: &mut dyn FnMut(&Error)) -> Result<()> {
    let found = containers::below(request.source, request.formats, left_out)?;
    writer.begin()?;
    writer.descriptions.push(Consolidated::new(""));
    for group in &found.groups {
        writer.add(&zarr::group_key(group), &Reference::group())?;
    }
    for Container { path, key } in &found.containers {
        match opened(path, &[], request.formats) {
            Ok(opened) => group(&opened, path, &format!("{key}/"), writer, left_out)?,
            Err(error) => left_out(&error),
        }
    }
    writer.consolidated()
}

/// The consolidated metadata of a store, as it is collected. Without it, readers would have to list the store, which
/// not all of them can do for references.
struct Consolidated {
    /// The prefix of the store's keys in the output.
    prefix: String,
    text: String,
}

impl Consolidated {
    fn new(prefix: &str) -> Consolidated {
        Consolidated { prefix: prefix.into(), text: String::new() }
    }

    fn add(&mut self, key: &str, description: &str) {
        let key = key.strip_prefix(&self.prefix).unwrap_or(key);
        let comma = if self.text.is_empty() { "" } else { "," };
        self.text.push_str(&format!("{comma}{}:{description}", json!(key)));
    }
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    urls: Urls<'a>,
    has_begun: bool,
    count: u64,
    arrays: u64,
    /// The source last referenced, and its URL as JSON.
    last: Option<(Arc<dyn Source>, String)>,
    /// Metadata of the stores that are being written, the innermost last.
    descriptions: Vec<Consolidated>,
    /// The error that prevents further writing.
    failed: Option<io::Error>,
}

impl Writer<'_> {
    /// Writes the beginning once a source has been opened; before that, nothing is written.
    fn begin(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.has_begun, true) {
            Ok(())
        } else {
            self.put(r#"{"version": 1, "refs": {"#)
        }
    }

    fn add(&mut self, key: &str, reference: &Reference) -> Result<()> {
        self.arrays += u64::from(key.rsplit('/').next() == Some(zarr::ARRAY));
        let value = match reference {
            Reference::Text(text) => {
                self.descriptions.iter_mut().for_each(|all| all.add(key, text));
                json!(text).to_string()
            }
            Reference::Bytes(bytes) => json!(format!("base64:{}", yaml::base64_of(bytes))).to_string(),
            Reference::Range(source, range) => {
                let len = range.end - range.start;
                format!("[{}, {}, {len}]", self.url(source)?, range.start)
            }
        };
        self.entry(key, &value)
    }

    /// Finishes the innermost store: writes its consolidated metadata.
    fn consolidated(&mut self) -> Result<()> {
        let Some(Consolidated { prefix, text }) = self.descriptions.pop() else { return Ok(()) };
        let all = format!("{{\"metadata\":{{{text}}},\"zarr_consolidated_format\":1}}");
        self.entry(&format!("{prefix}{}", zarr::CONSOLIDATED), &json!(all).to_string())
    }

    fn entry(&mut self, key: &str, value: &str) -> Result<()> {
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
