//! GET and HEAD of one object: ranges and conditions (RFC 9110, sections 13 and 14).

use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::http::{Reply, Request};
use super::options::{Options, Tags};
use super::{Store, dates};

/// The entity tag of a file: what replaces it is another inode, or was written at another time.
pub fn tag(metadata: &Metadata) -> String {
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH);
    let nanoseconds = modified.unwrap_or_default().as_nanos();
    format!("\"{:x}-{nanoseconds:x}-{:x}\"", metadata.ino(), metadata.len())
}

/// Google counts the versions of an object.
pub fn generation(metadata: &Metadata) -> String {
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH);
    modified.unwrap_or_default().as_micros().to_string()
}

impl Store {
    /// The file that a path of a URL names. None: nothing may have that name.
    pub fn file(&self, path: &[u8]) -> Option<PathBuf> {
        let name = path.strip_prefix(b"/")?;
        let is_inside = name
            .split(|byte| *byte == b'/')
            .all(|part| !matches!(part, b"" | b"." | b"..") && !part.contains(&0));
        is_inside.then(|| self.folder.join(std::ffi::OsStr::from_bytes(name)))
    }

    /// Of an object that exists, where its bytes are.
    fn content(&self, path: &[u8], options: &Options) -> Option<PathBuf> {
        let is_replaced =
            options.replace_after.is_some_and(|count| self.faults.lock().unwrap().count() > count);
        if is_replaced {
            return Some(self.folder.join(&options.replacement));
        }
        match self.made.lock().unwrap().get(path.get(1..)?) {
            Some(entry) => entry.content.clone(),
            None => self.file(path),
        }
    }

    pub fn get(&self, request: &Request, options: &Options) -> Reply {
        let open = |path: PathBuf| {
            let file = File::open(path).ok()?;
            let metadata = file.metadata().ok()?;
            Some((file, metadata))
        };
        match self.content(&request.path, options).and_then(open) {
            Some((_, metadata)) if metadata.is_dir() && request.method == "HEAD" => {
                Reply::text(200, String::new())
            }
            Some((file, metadata)) if metadata.is_file() => self.object(request, options, file, &metadata),
            _ if self.has_bucket(&request.path) => Reply::error(404, "NoSuchKey"),
            _ => Reply::error(404, "NoSuchBucket"),
        }
    }

    fn object(&self, request: &Request, options: &Options, file: File, metadata: &Metadata) -> Reply {
        let tag = match options.tags {
            Tags::Strong => Some(tag(metadata)),
            Tags::Weak => Some(format!("W/{}", tag(metadata))),
            Tags::None => None,
            Tags::Changing => Some(format!("\"{}\"", self.faults.lock().unwrap().count())),
        };
        let with_version = |mut reply: Reply| {
            if let Some(tag) = &tag {
                reply = reply.with("ETag", tag).with("x-goog-generation", generation(metadata));
            }
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            reply.with("Last-Modified", dates::http(modified)).with("Accept-Ranges", "bytes")
        };
        let tag = tag.as_deref().unwrap_or_default();
        let named = |name| request.header(name).filter(|_| !options.has_no_conditions);
        if named("if-match").is_some_and(|tags| !names(tags, tag) || tag.starts_with("W/")) {
            return Reply::error(412, "PreconditionFailed");
        }
        if named("if-none-match").is_some_and(|tags| names(tags, tag)) {
            return with_version(Reply::text(304, String::new()));
        }
        let len = metadata.len();
        let wanted = request.header("range").filter(|_| !options.has_no_ranges);
        with_version(match wanted.and_then(|range| self::range(range, len)) {
            None => Reply::file(200, file, 0..len),
            Some(range) if range.is_empty() => {
                return Reply::error(416, "InvalidRange").with("Content-Range", format!("bytes */{len}"));
            }
            Some(range) => {
                let sent = format!("bytes {}-{}/{len}", range.start, range.end - 1);
                Reply::file(206, file, range).with("Content-Range", sent)
            }
        })
    }
}

/// Does a list of entity tags name this one?
fn names(tags: &str, tag: &str) -> bool {
    tags.split(',').map(str::trim).any(|other| other == "*" || other == tag)
}

/// An empty range cannot be satisfied; None is not understood, so that the whole is sent.
fn range(text: &str, len: u64) -> Option<Range<u64>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        return Some(len.saturating_sub(last.parse().ok()?)..len);
    }
    let first: u64 = first.parse().ok()?;
    let end = if last.is_empty() { len } else { last.parse::<u64>().ok()?.saturating_add(1) };
    Some(first.min(len)..end.min(len))
}
