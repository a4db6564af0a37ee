//! Objects: GET and HEAD with ranges and conditions, PUT with conditions.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::http::{Answer, Body, Request};
use super::{Store, is_set};

/// Where an object is, or would be.
pub fn place(store: &Store, path: &str) -> Option<PathBuf> {
    let below = Path::new(path.trim_start_matches('/'));
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| store.folder.join(below))
}

/// Of the file as it is now.
pub fn tag(meta: &fs::Metadata) -> String {
    format!("\"{:x}-{:x}-{:x}\"", meta.ino(), meta.mtime() * 1_000_000_000 + meta.mtime_nsec(), meta.len())
}

pub fn get(store: &Store, request: &Request) -> Answer {
    let file = place(store, &request.path).and_then(|path| File::open(path).ok());
    let Some((file, meta)) = file.and_then(|file| Some((file.metadata().ok()?, file))).map(|(m, f)| (f, m))
    else {
        return missing(store, request);
    };
    if !meta.is_file() {
        return missing(store, request);
    }
    let (mut tag, len) = (tag(&meta), meta.len());
    let mut modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    if is_set(&store.options.changing) {
        tag = format!("\"{}\"", store.requests());
        modified = SystemTime::UNIX_EPOCH + Duration::from_secs(store.requests());
    }
    let heeds = !is_set(&store.options.ignore_conditions);
    let condition = |name| request.header(name).filter(|_| heeds);
    if condition("if-match").is_some_and(|wanted| wanted != tag) {
        return Answer::error(412, "PreconditionFailed");
    }
    if condition("if-none-match").is_some_and(|known| known == tag) {
        return Answer::text(304, String::new()).with("ETag", tag);
    }
    let range = request.header("range").map(|range| range_of(range, len));
    let answer = match &range {
        Some(None) => {
            return Answer::error(416, "InvalidRange").with("Content-Range", format!("bytes */{len}"));
        }
        Some(Some(range)) => Answer::text(206, String::new())
            .with("Content-Range", format!("bytes {}-{}/{len}", range.start, range.end - 1)),
        None => Answer::text(200, String::new()),
    };
    let range = range.flatten().unwrap_or(0..len);
    let answer = answer.with("Last-Modified", httpdate::fmt_http_date(modified));
    let answer = if is_set(&store.options.untagged) { answer } else { answer.with("ETag", tag) };
    Answer { body: Body::File(file, range), ..answer }
}

/// The range of `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-COUNT`; None: the object has nothing of it.
fn range_of(header: &str, len: u64) -> Option<Range<u64>> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let range = match (first.parse::<u64>().ok(), last.parse::<u64>().ok()) {
        (Some(first), last) => first..last.map_or(len, |last| len.min(last + 1)),
        (None, Some(count)) => len.saturating_sub(count)..len,
        (None, None) => return None,
    };
    (range.start < range.end).then_some(range)
}

fn missing(store: &Store, request: &Request) -> Answer {
    let bucket = request.path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let code = if store.folder.join(bucket).is_dir() { "NoSuchKey" } else { "NoSuchBucket" };
    Answer::error(404, code)
}

pub fn put(store: &Store, request: &Request) -> Answer {
    let heeds = !is_set(&store.options.ignore_conditions);
    let is_new = request.header("if-none-match") == Some("*")
        || request.header("x-goog-if-generation-match") == Some("0");
    let exists = place(store, &request.path).is_some_and(|path| path.exists());
    if heeds && is_new && exists {
        return Answer::error(412, "PreconditionFailed");
    }
    match write(store, &request.path, &request.body) {
        Ok(tag) => Answer::text(200, String::new()).with("ETag", tag).with("x-goog-generation", "1"),
        Err(_) => missing(store, request),
    }
}

/// The object appears at once. Its bucket has to be there.
pub fn write(store: &Store, path: &str, bytes: &[u8]) -> io::Result<String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let target = place(store, path).ok_or(io::ErrorKind::InvalidInput)?;
    let bucket = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    store.folder.join(bucket).metadata()?;
    fs::create_dir_all(target.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let new = store.folder.join(format!(".new-{}-{number}", std::process::id()));
    fs::write(&new, bytes)?;
    fs::rename(&new, &target)?;
    Ok(tag(&fs::metadata(&target)?))
}
