//! The container changes while it is mounted: an error from then on, never other bytes, and one log line.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;

use crate::kit::*;

fn mounted_copy() -> (TempDir, std::path::PathBuf, Mount) {
    let dir = scratch();
    let file = dir.path().join("copy.rab");
    std::fs::copy(data("gzip.rab"), &file).unwrap();
    let mount = Mount::new(&file);
    (dir, file, mount)
}

fn fails(mount: &Mount, name: &str) {
    let error = mount.read(name).expect_err("a read of a changed container");
    assert_eq!(error.raw_os_error(), Some(libc::EIO), "{name}");
}

fn notices(change: impl FnOnce(&std::path::Path)) {
    let (_dir, file, mount) = mounted_copy();
    assert_eq!(mount.read("zlib 6").unwrap().len(), 162_890);
    change(&file);
    fails(&mount, "array zlib");
    fails(&mount, "said gzip, uncompressed key null");
    fails(&mount, "gzip");
    // A store that says that it has no arrays would be one.
    fails(&mount, ".views/zarr/.zmetadata");
    // What was served before is forgotten: it may not go on looking alive.
    eventually("the kernel has forgotten the pages", || mount.read("zlib 6").is_err());
    let log = mount.log();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("copy.rab: changed on disk since it was opened"), "{log}");
}

#[test]
fn truncated() {
    notices(|file| OpenOptions::new().write(true).open(file).unwrap().set_len(2000).unwrap());
}

#[test]
fn appended_to() {
    notices(|file| OpenOptions::new().append(true).open(file).unwrap().write_all(b"x").unwrap());
}

#[test]
fn overwritten_in_place() {
    notices(|file| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        OpenOptions::new().write(true).open(file).unwrap().write_all_at(b"x", 5000).unwrap();
    });
}

/// A file in its place would be "not a directory" to a reader of chunks, which Zarr takes for a missing chunk: zeros.
#[test]
fn an_array_that_cannot_be_described_is_no_file_where_its_store_was() {
    let dir = scratch();
    let file = dir.path().join("copy.rab");
    std::fs::copy(data("gzip.rab"), &file).unwrap();
    let mount = Mount::with(&file, &["--as", "zarr"]);
    assert!(names(&mount.path).iter().any(|name| name == ".zgroup"));
    OpenOptions::new().append(true).open(&file).unwrap().write_all(b"x").unwrap();
    fails(&mount, "array zlib/.zarray");
    // Nobody knows of the change before something is read; the kernel then forgets what was listed.
    let list = || std::fs::read_dir(&mount.path).and_then(|all| all.collect::<Result<Vec<_>, _>>());
    eventually("a changed container is not listed", || {
        list().is_err_and(|error| error.raw_os_error() == Some(libc::EIO))
    });
    fails(&mount, "array zlib/.zarray");
    fails(&mount, "array zlib/0");
}

#[test]
fn a_file_renamed_over_it_leaves_the_old_one_served() {
    let (dir, file, mount) = mounted_copy();
    let other = dir.path().join("other");
    std::fs::write(&other, b"something else").unwrap();
    std::fs::rename(&other, &file).unwrap();
    assert_eq!(mount.read("gzip").unwrap().len(), 162_890);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(mount.read("zlib 9").unwrap().len(), 162_890);
    assert_eq!(mount.log(), "");
}
