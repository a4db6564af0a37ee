//! The URLs at which external readers find the containers' files.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, Result, source};

#[derive(Clone)]
pub struct Urls<'a> {
    /// The container or directory.
    source: &'a Path,
    is_directory: bool,
    url: Option<&'a str>,
}

impl<'a> Urls<'a> {
    pub fn new(source: &'a Path, is_directory: bool, url: Option<&'a str>) -> Urls<'a> {
        Urls { source, is_directory, url }
    }

    /// The URL of a file: the source itself, or a file in or next to it.
    pub fn of(&self, file: &Path) -> Result<String> {
        let Some(url) = self.url else { return absolute(file) };
        if file == self.source {
            return Ok(url.to_owned());
        }
        let (base, folder) = match self.is_directory {
            true => (url.trim_end_matches('/'), self.source),
            false => (
                url.rsplit_once('/').map_or("", |(base, _)| base),
                self.source.parent().unwrap_or(Path::new("")),
            ),
        };
        let below = below(file, folder).ok_or_else(|| {
            let (file, folder) = (file.display(), folder.display());
            Error::Usage(format!(
                "{file}: its address below {url} is unknown, as it is not in {folder} or its path is not \
                 Unicode"
            ))
        })?;
        // Only web URLs are percent-encoded.
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        let below = if is_web { source::percent_encoded(&below) } else { below };
        Ok(if base.is_empty() { below } else { format!("{base}/{below}") })
    }
}

/// The path of `file` relative to `folder`, first by their names, then with symbolic links resolved.
fn below(file: &Path, folder: &Path) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let within = |whole: fn(&Path) -> io::Result<PathBuf>| {
        let (file, folder) = (whole(file).ok()?, whole(folder).ok()?);
        file.strip_prefix(folder).ok()?.to_str().map(str::to_owned)
    };
    within(|path| std::path::absolute(path)).or_else(|| within(|path| path.canonicalize()))
}

fn absolute(file: &Path) -> Result<String> {
    if let Some(url) = source::url(file) {
        return Ok(url.to_owned());
    }
    let path = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        let shown = path.display();
        Error::Usage(format!(
            "{shown}: its path is not Unicode, which references need: name an address with --url"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str, is_directory: bool, url: &str, file: &str) -> Option<String> {
        Urls::new(Path::new(source), is_directory, Some(url)).of(Path::new(file)).ok()
    }

    #[test]
    fn addresses() {
        let container = |url, file| of("d/x.rab", false, url, file);
        assert_eq!(container("s3://b/x y.rab", "d/x.rab").as_deref(), Some("s3://b/x y.rab"));
        assert_eq!(container("s3://b/x.rab", "d/x 1.ffr").as_deref(), Some("s3://b/x 1.ffr"));
        assert_eq!(container("https://h/x.rab", "d/x 1.ffr").as_deref(), Some("https://h/x%201.ffr"));
        assert_eq!(container("x.rab", "d/e/y").as_deref(), Some("e/y"));
        assert_eq!(container("https://h/x.rab", "other/y"), None);
        let directory = |url, file| of("d", true, url, file);
        assert_eq!(directory("https://h/d/", "d/é.rab").as_deref(), Some("https://h/d/%C3%A9.rab"));
        assert_eq!(directory("gs://b", "d/e/x.rab").as_deref(), Some("gs://b/e/x.rab"));
        assert!(Urls::new(Path::new("x"), false, None).of(Path::new("x")).unwrap().ends_with("/x"));
    }
}
