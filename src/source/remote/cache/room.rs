//! Keeps the blocks on disk below their limit: the regions that were not used for longest go first.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use super::Known;
use crate::private;

/// When room is made, so much more of the limit is freed that it is not made again at once.
const SPARE: u64 = 16;
/// What a URL had so long ago is forgotten.
const MAX_AGE: Duration = Duration::from_secs(90 * 24 * 3600);

struct Found {
    used: SystemTime,
    /// Bytes that it takes on disk.
    bytes: u64,
    path: PathBuf,
}

/// Removes what is too much. Only one program does so at a time.
pub fn make(root: &Path, limit: u64) {
    let Ok(lock) = private::open_or_create(&root.join("blocks.lock")) else { return };
    if !try_lock(&lock) {
        return;
    }
    let mut found = regions(&root.join("blocks-v1"));
    found.sort_unstable_by_key(|region| region.used);
    let mut excess = found.iter().map(|region| region.bytes).sum::<u64>().saturating_sub(limit);
    if excess > 0 {
        excess += limit / SPARE;
    }
    for region in found {
        if excess == 0 {
            break;
        }
        if fs::remove_file(&region.path).is_ok() {
            excess = excess.saturating_sub(region.bytes);
        }
        // Only the last of an object's regions takes the directory with it.
        let _ = region.path.parent().map(fs::remove_dir);
    }
    Known::remove_old(root, MAX_AGE);
}

fn try_lock(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

fn regions(blocks: &Path) -> Vec<Found> {
    let inside = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let objects = inside(blocks).flat_map(|object| inside(&object.path()));
    let found = objects.filter_map(|entry| {
        let meta = fs::symlink_metadata(entry.path()).ok().filter(|meta| meta.is_file())?;
        Some(Found { used: meta.modified().ok()?, bytes: 512 * meta.blocks(), path: entry.path() })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_regions_go_first() {
        let root = tempfile::tempdir().unwrap();
        let blocks = root.path().join("blocks-v1");
        let mut files = Vec::new();
        for number in 0..8 {
            let path = blocks.join(format!("{:032x}", number / 2)).join(format!("{number:04}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![1; 1 << 16]).unwrap();
            let used = SystemTime::now() - Duration::from_secs(1000 - number);
            File::options().write(true).open(&path).unwrap().set_modified(used).unwrap();
            files.push(path);
        }
        make(root.path(), 8 << 16);
        assert!(files.iter().all(|path| path.exists()));
        make(root.path(), 4 << 16);
        let left: Vec<bool> = files.iter().map(|path| path.exists()).collect();
        assert_eq!(left, [false, false, false, false, false, true, true, true]);
        assert!(!blocks.join(format!("{:032x}", 0)).exists());
    }
}
