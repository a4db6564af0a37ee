//! Which version the object of a URL had when it was last opened: whoever opens it again asks the store whether that is
//! still so, and needs no data if it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::{Disk, place, urls};
use crate::private;
use crate::source::access::access;
use crate::source::remote::blocks::BLOCK;
use crate::source::remote::object::{Part, Version};

pub struct Known {
    pub tag: String,
    /// The first block, and what the store said of the object.
    pub head: Part,
    /// Its last bytes, as many as a block has, if they were read when it was opened.
    pub tail: Option<Part>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    place: String,
    tag: String,
    len: u64,
    /// Seconds and nanoseconds since 1970.
    modified: Option<(u64, u32)>,
}

impl Known {
    /// The version that was opened last, if its first block is there.
    pub fn of(url: &str, with_end: bool) -> Option<Known> {
        let file = private::open(&path(url)?, false).ok()?;
        let saved: Saved = serde_json::from_reader(file).ok()?;
        if saved.place != place_hash(url) {
            return None;
        }
        let since = |(seconds, nanos): (u64, u32)| {
            UNIX_EPOCH
                .checked_add(Duration::from_secs(seconds))?
                .checked_add(Duration::from_nanos(nanos.into()))
        };
        let modified = saved.modified.and_then(since);
        let version = Version::new(Some(saved.tag.clone()), saved.len, modified);
        let disk = Disk::of(url, &version)?;
        let end = saved.len.min(BLOCK) as usize;
        let part = |bytes| Part { bytes, len: saved.len, tag: Some(saved.tag.clone()), modified };
        let head = part(disk.read(0, end)?);
        let tail = if with_end { disk.read_tail(end).map(part) } else { None };
        Some(Known { head, tail, tag: saved.tag })
    }

    /// Saves what was opened. The next one that opens it can do without, so failures are passed over.
    pub fn save(url: &str, disk: &Disk, head: &Part, tail: Option<&Part>) {
        let (Some(path), Some(tag)) = (path(url), head.tag.clone()) else { return };
        disk.write(0, &head.bytes);
        if let Some(tail) = tail {
            disk.write_tail(&tail.bytes);
        }
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = head.modified.and_then(since).map(|since| (since.as_secs(), since.subsec_nanos()));
        let saved = Saved { place: place_hash(url), tag, len: head.len, modified };
        let Some(directory) = path.parent() else { return };
        let written = private::create_directory(directory).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            serde_json::to_writer(&mut file, &saved)?;
            file.persist(&path).map_err(|error| error.error)
        });
        if let Err(cause) = written {
            log::debug!("{}: {cause}", path.display());
        }
    }

    /// Files so old are of no use any more.
    pub fn remove_old(root: &Path, age: Duration) {
        for entry in fs::read_dir(urls(root)).into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|meta| meta.modified());
            if modified.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed > age)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn path(url: &str) -> Option<PathBuf> {
    Some(urls(access().cache.as_deref()?).join(place_hash(url)))
}

/// Of the URL only a hash is written: it may have a signature in it.
fn place_hash(url: &str) -> String {
    format!("{:032x}", xxh3_128(place(url).as_bytes()))
}
