//! Blocks of objects on disk, shared by all programs of this user, for as long as there is room.
//!
//! ```text
//! DIR/blocks-v1/KEY/NNNN   32 blocks of an object ([`region`]); KEY is a hash of its URL, entity tag and length
//! DIR/urls-v1/KEY          which version the object of a URL had when it was last opened ([`known`])
//! ```
//!
//! Only objects with a strong entity tag are kept, as only that tells one version from the next for certain. What is in the
//! directory is believed if nobody else can have written it and its checksum is right; all else is missing, which is no
//! error.

mod known;
mod region;
mod room;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_128;

pub use known::Known;
use region::{BLOCKS, Region};

use super::object::Version;
use crate::private;
use crate::source::access::access;

/// Bytes of all blocks on disk, if the command line does not say otherwise.
const MAX_HELD: u64 = 10 << 30;
/// After so many new bytes room is made for others.
const PAUSE: u64 = 64 << 20;

/// Bytes that were written since room was made; at the start too much may be there already.
static NEW: AtomicU64 = AtomicU64::new(PAUSE);

/// The blocks of one version of an object.
pub struct Disk {
    directory: PathBuf,
    key: u128,
    has_failed: AtomicBool,
}

impl Disk {
    /// None: it is not to be kept.
    pub fn of(url: &str, version: &Version) -> Option<Disk> {
        let root = access().cache.as_deref()?;
        let tag = version.tag.as_deref().filter(|tag| !tag.starts_with("W/"))?;
        let text = format!("{}\n{tag}\n{}", place(url), version.len());
        let key = xxh3_128(text.as_bytes());
        let directory = root.join("blocks-v1").join(format!("{key:032x}"));
        Some(Disk { directory, key, has_failed: AtomicBool::new(false) })
    }

    /// A block that is there and whole.
    pub fn read(&self, number: u64, len: usize) -> Option<Vec<u8>> {
        self.region(number).read(number, len)
    }

    /// The last bytes, if they were kept beside the blocks.
    pub fn read_tail(&self, len: usize) -> Option<Vec<u8>> {
        self.tail().read(0, len)
    }

    /// Keeps a block, if that is possible.
    pub fn write(&self, number: u64, bytes: &[u8]) {
        self.write_in(&self.region(number), number, bytes);
    }

    pub fn write_tail(&self, bytes: &[u8]) {
        self.write_in(&self.tail(), 0, bytes);
    }

    fn write_in(&self, region: &Region, number: u64, bytes: &[u8]) {
        if self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        let written = private::create_directory(&self.directory).and_then(|()| region.write(number, bytes));
        if let Err(cause) = written {
            self.give_up(&cause);
        } else if NEW.fetch_add(bytes.len() as u64, Ordering::Relaxed) >= PAUSE {
            NEW.store(0, Ordering::Relaxed);
            if let Some(root) = access().cache.as_deref() {
                room::make(root, access().cache_size.unwrap_or(MAX_HELD));
            }
        }
    }

    fn region(&self, number: u64) -> Region {
        Region { path: self.directory.join(format!("{:04}", number / BLOCKS)), key: self.key }
    }

    fn tail(&self) -> Region {
        // Not to be taken for the first block.
        Region { path: self.directory.join("tail"), key: !self.key }
    }

    /// A directory that cannot be written costs speed only.
    fn give_up(&self, cause: &io::Error) {
        static IS_TOLD: AtomicBool = AtomicBool::new(false);
        self.has_failed.store(true, Ordering::Relaxed);
        if !IS_TOLD.swap(true, Ordering::Relaxed) {
            log::warn!("{}: no blocks are kept: {cause}", self.directory.display());
        }
    }
}

/// What a URL stands for: which store it is in is not in the URL.
fn place(url: &str) -> String {
    let access = access();
    let variable = |name| std::env::var(name).unwrap_or_default();
    let named = |option: &Option<String>, name| option.clone().unwrap_or_else(|| variable(name));
    let mut place = url.to_owned();
    if !url.starts_with("http") {
        place = [
            url.to_owned(),
            named(&access.endpoint, "AWS_ENDPOINT_URL"),
            variable("AWS_ENDPOINT_URL_S3"),
            named(&access.profile, "AWS_PROFILE"),
            variable("AZURE_STORAGE_ACCOUNT_NAME"),
        ]
        .join("\n");
    }
    place
}

/// Runs a disk's work where waiting for it holds up no request.
pub async fn aside<T: Send + 'static>(
    disk: &Arc<Disk>,
    work: impl FnOnce(&Disk) -> T + Send + 'static,
) -> Option<T> {
    let disk = disk.clone();
    tokio::task::spawn_blocking(move || work(&disk)).await.ok()
}

fn urls(root: &Path) -> PathBuf {
    root.join("urls-v1")
}
