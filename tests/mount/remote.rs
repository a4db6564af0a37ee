//! Containers in stores, mounted: every sample as it is on disk, and prefixes as directories of containers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use crate::kit::*;
use crate::store::Store;

/// A store with the samples of all formats in the bucket `data`.
struct Samples {
    _dir: TempDir,
    store: &'static Store,
    endpoint: String,
    files: PathBuf,
}

impl Samples {
    fn new() -> Samples {
        let dir = scratch();
        let files = dir.path().join("data");
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        sh(r#"cp -r "$1" "$2""#, &[&samples, &files]);
        let (store, port) = Store::start(dir.path().to_owned());
        Samples { endpoint: format!("http://127.0.0.1:{port}"), _dir: dir, store, files }
    }

    fn mount(&self, url: &str, options: &[&str]) -> Mount {
        let s3 = ["--no-sign-request", "--endpoint-url", &self.endpoint];
        Mount::with(Path::new(url), &[&s3, options].concat())
    }
}

#[test]
fn every_sample_is_what_it_is_on_disk() {
    let samples = Samples::new();
    // In a store only names are known: what is a container by its content is a plain file there, and one that is damaged
    // a directory that says so.
    let left_out = ["*.arrow", "*.zip", "*.npy", "corrupt", "bad", "quirk_unfinished*"];
    let options: Vec<&str> = left_out.iter().flat_map(|name| ["--exclude", *name]).collect();
    let local = Mount::with(&samples.files, &options);
    let remote = samples.mount("s3://data/", &options);
    let files = |mount: &Mount| sh(r#"cd "$1"; find . -type f | sort"#, &[&mount.path]);
    let found = files(&remote);
    assert_eq!(files(&local), found);
    assert!(found.lines().count() > 2000, "{}", found.lines().count());
    // That one names the file.
    for (number, name) in found.lines().filter(|name| !name.ends_with("ERROR.txt")).enumerate() {
        let outcomes = [&local, &remote].map(|mount| mount.read(name).map_err(|error| error.raw_os_error()));
        assert!(outcomes[0] == outcomes[1], "{name}");
        if number % 7 == 0 && outcomes[1].is_ok() {
            check_any_range(&remote.join(name), 5);
        }
    }
}

#[test]
fn a_prefix_is_listed_without_its_objects() {
    let samples = Samples::new();
    fs::create_dir(samples.files.parent().unwrap().join("many")).unwrap();
    samples.store.options.many.store(2500, Ordering::Relaxed);
    let mount = samples.mount("s3://many", &["--refresh", "60"]);
    assert_eq!(samples.store.requests(), 1);
    let listed = sh(r#"ls -l "$1""#, &[&mount.path]);
    assert_eq!(listed.lines().count(), 2501);
    assert!(listed.contains("00002499.rab"), "{listed}");
    // Three pages, and no object.
    assert_eq!(samples.store.requests(), 4);
    sh(r#"ls -l "$1" > /dev/null"#, &[&mount.path]);
    assert!(samples.store.requests() <= 7);
}

#[test]
fn what_is_not_there_and_what_cannot_be_known() {
    let samples = Samples::new();
    let mount = samples.mount("s3://data/rab", &["--refresh", "0"]);
    assert_eq!(mount.names().len(), names(&samples.files.join("rab")).len());
    let error = fs::metadata(mount.join("none.rab")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    // What nobody can say is not "no such file".
    samples.store.options.refuse.store(1, Ordering::Relaxed);
    std::thread::sleep(std::time::Duration::from_secs(6));
    let error = fs::metadata(mount.join("other.rab")).unwrap_err();
    assert_ne!(error.raw_os_error(), Some(libc::ENOENT), "{error}");
}

#[test]
fn a_replaced_object_is_another_directory() {
    let samples = Samples::new();
    let mount = samples.mount("s3://data/rab/", &["--refresh", "0"]);
    let before = mount.join("readme.rab");
    let names = names(&before);
    fs::copy(samples.files.join("rab/types.rab"), samples.files.join("rab/new")).unwrap();
    fs::rename(samples.files.join("rab/new"), samples.files.join("rab/readme.rab")).unwrap();
    eventually("the new one is shown", || fs::read_dir(&before).is_ok_and(|new| new.count() != names.len()));
    sh(r#"diff -r "$1/readme.rab" "$1/types.rab""#, &[&mount.path]);
}

#[test]
fn sources_of_both_kinds() {
    let samples = Samples::new();
    let scratch = scratch();
    let mnt = scratch.path().join("mnt");
    let local = samples.files.join("zip");
    for (union, expected) in
        [(false, &["npz", "readme.rab", "zip"][..]), (true, &["Some text", "plain.zip", "small.npz"])]
    {
        let mut command = program();
        command.env("XDG_CACHE_HOME", scratch.path().join("cache"));
        command.args(["--no-sign-request", "--endpoint-url", &samples.endpoint]);
        command.args(union.then_some("--union")).args(["s3://data/rab/readme.rab", "s3://data/npz/"]);
        let outcome = run(command.arg(&local).arg(&mnt));
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
        let found = names(&mnt);
        assert!(expected.iter().all(|name| found.iter().any(|found| found == name)), "{found:?}");
        let outcome = run(program().arg("-u").arg(&mnt));
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let mut command = program();
    command.args(["--no-sign-request", "--endpoint-url", &samples.endpoint, "s3://data/typo/"]);
    let outcome = run(command.arg(&local).arg(&mnt));
    assert!(
        outcome.code == 10 && outcome.err.contains("s3://data/typo/: cannot be opened: no object is below"),
        "{outcome:?}"
    );
}

#[test]
fn programs_and_mounts_end_while_the_store_hangs() {
    let samples = Samples::new();
    let large = samples.files.join("large.rab");
    write_rab(&large, &bytes_entry("large", 0, 9_000_000), &vec![1; 9_000_000]);
    let mount = samples.mount("s3://data/large.rab", &[]);
    let daemon = mount.daemon();
    assert_eq!(mount.names(), ["large", "large.meta.yaml"]);
    samples.store.options.hang.store(1, Ordering::Relaxed);
    let mut reader = Command::new("tail").args(["-c", "100"]).arg(mount.join("large")).spawn().unwrap();
    // It waits for a page by now, or soon will.
    std::thread::sleep(std::time::Duration::from_millis(300));
    reader.kill().unwrap();
    eventually("the reader has ended", || reader.try_wait().unwrap().is_some());
    assert_eq!(run(program().arg("-u").arg(&mount.path)).code, 0);
    eventually("the daemon has ended", || is_gone(daemon));
    samples.store.options.hang.store(0, Ordering::Relaxed);
}

#[test]
fn what_is_here_is_read_while_the_store_hangs() {
    let samples = Samples::new();
    let mount = samples.mount("s3://data/", &["--refresh", "3600"]);
    assert_eq!(mount.names().len(), names(&samples.files).len());
    names(&mount.join("rab/readme.rab"));
    samples.store.options.hang.store(1, Ordering::Relaxed);
    // More than there are threads that receive requests, in directories that were not listed.
    let waiting = (0..8).map(|number| mount.join(format!("zip/none{number}")));
    let waiting: Vec<_> = waiting.map(|path| Command::new("stat").arg(path).spawn().unwrap()).collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    within(&mount, || {
        let text = mount.read("rab/readme.rab/Some text").unwrap();
        assert!(text.starts_with(b"hello there"));
    });
    samples.store.options.hang.store(0, Ordering::Relaxed);
    for mut waiting in waiting {
        assert!(!waiting.wait().unwrap().success());
    }
}
