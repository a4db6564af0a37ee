//! Any byte range read through the mount equals that slice of the whole, in random order, from several
//! readers at once, cold and warm, with a cache of any size.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::kit::*;

fn files(mount: &Mount) -> Vec<std::path::PathBuf> {
    let listing = sh(r#"find "$1" -type f -print0"#, &[&mount.path]);
    listing.split_terminator('\0').map(Into::into).collect()
}

fn eight_readers(sample: &str, options: &[&str]) {
    eight_readers_of(&data(sample), options);
}

pub fn eight_readers_of(container: &std::path::Path, options: &[&str]) {
    let whole = Mount::new(container);
    let mount = Mount::with(container, options);
    let pairs: Vec<_> = files(&mount)
        .into_iter()
        .filter_map(|path| {
            // What is not read is for other tests.
            let bytes = whole.read(path.strip_prefix(&mount.path).unwrap());
            let bytes =
                bytes.map_err(|error| assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP))).ok()?;
            Some((File::open(&path).unwrap(), bytes, path))
        })
        .collect();
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let pairs = &pairs;
            scope.spawn(move || {
                let mut scatter = Scatter(reader);
                for _ in 0..150 {
                    let (file, bytes, path) = &pairs[scatter.below(pairs.len())];
                    let (from, size) = scatter.range(bytes.len());
                    let want = &bytes[from..bytes.len().min(from + size)];
                    let mut got = vec![0; size];
                    let count = file.read_at(&mut got, from as u64).unwrap();
                    assert!(&got[..count] == want, "{} from {from} size {size}", path.display());
                }
            });
        }
    });
}

#[test]
fn gzip() {
    eight_readers("gzip.rab", &[]);
}

#[test]
fn gzip_with_the_smallest_cache_and_one_thread() {
    eight_readers("gzip.rab", &["--cache-size", "1", "--threads", "1"]);
}

#[test]
fn types_with_four_threads() {
    eight_readers("types.rab", &["--threads", "4"]);
}

#[test]
fn ffrecord() {
    eight_readers("../ffrecord/variable_50.ffr", &[]);
    eight_readers("../ffrecord/packed_readme_example.ffr", &["--threads", "4"]);
}

#[test]
fn names_and_metadata() {
    eight_readers("names.rab", &[]);
    eight_readers("metadata.rab", &[]);
}
