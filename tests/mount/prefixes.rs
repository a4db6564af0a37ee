//! Prefixes of stores as directories of containers: every sample as it is on disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::*;
use crate::stores::{Store, write_large};

/// A store with the samples of all formats.
fn samples() -> Store {
    let store = Store::new();
    sh(r#"cp -r "$1"/* "$2""#, &[&folder(), &store.file("")]);
    store
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn mount(store: &Store, url: &str, options: &[&str]) -> Mount {
    let endpoint = store.endpoint();
    Mount::with(Path::new(url), &[&["--no-sign-request", "--endpoint-url", &endpoint], options].concat())
}

#[test]
fn every_sample_is_what_it_is_on_disk() {
    let store = samples();
    // In a store only names are known: what is a container by its content is a plain file there, and one that is damaged
    // a directory that says so.
    let left_out = ["*.arrow", "*.zip", "*.npy", "corrupt", "bad", "quirk_unfinished*"];
    let options: Vec<&str> = left_out.iter().flat_map(|name| ["--exclude", *name]).collect();
    let local = Mount::with(&folder(), &options);
    let remote = mount(&store, "s3://bucket/", &options);
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
    let store = samples();
    store.set(&[("objects", "2500 bucket/many/")]);
    let mounted = mount(&store, "s3://bucket/many/", &["--refresh", "60"]);
    assert_eq!(store.arrived(), 1);
    let listed = sh(r#"ls -l "$1""#, &[&mounted.path]);
    assert_eq!(listed.lines().count(), 2501);
    assert!(listed.contains("002499.rab"), "{listed}");
    // Three pages, and no object.
    assert_eq!(store.arrived(), 4);
    sh(r#"ls -l "$1" > /dev/null"#, &[&mounted.path]);
    assert!(store.arrived() <= 7);
}

#[test]
fn what_is_not_there_and_what_cannot_be_known() {
    let store = samples();
    let mounted = mount(&store, "s3://bucket/rab", &["--refresh", "0"]);
    assert_eq!(mounted.names().len(), names(&folder().join("rab")).len());
    let error = fs::metadata(mounted.join("none.rab")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    // What nobody can say is not "no such file".
    store.set(&[("busy", "1")]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let error = fs::metadata(mounted.join("other.rab")).unwrap_err();
    assert_ne!(error.raw_os_error(), Some(libc::ENOENT), "{error}");
}

#[test]
fn a_replaced_object_is_another_directory() {
    let store = samples();
    let mounted = mount(&store, "s3://bucket/rab/", &["--refresh", "0"]);
    let before = mounted.join("readme.rab");
    let names = names(&before);
    fs::copy(store.file("rab/types.rab"), store.file("rab/new")).unwrap();
    fs::rename(store.file("rab/new"), store.file("rab/readme.rab")).unwrap();
    eventually("the new one is shown", || fs::read_dir(&before).is_ok_and(|new| new.count() != names.len()));
    sh(r#"diff -r "$1/readme.rab" "$1/types.rab""#, &[&mounted.path]);
}

#[test]
fn sources_of_both_kinds() {
    let store = samples();
    let scratch = scratch();
    let mnt = scratch.path().join("mnt");
    let local = store.file("zip");
    for (union, expected) in
        [(false, &["npz", "readme.rab", "zip"][..]), (true, &["Some text", "plain.zip", "small.npz"])]
    {
        let mut command = program();
        command.env("XDG_CACHE_HOME", scratch.path().join("cache"));
        command.args(["--no-sign-request", "--endpoint-url", &store.endpoint()]);
        command.args(union.then_some("--union")).args(["s3://bucket/rab/readme.rab", "s3://bucket/npz/"]);
        let outcome = run(command.arg(&local).arg(&mnt));
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
        let found = names(&mnt);
        assert!(expected.iter().all(|name| found.iter().any(|found| found == name)), "{found:?}");
        let outcome = run(program().arg("-u").arg(&mnt));
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let mut command = program();
    command.args(["--no-sign-request", "--endpoint-url", &store.endpoint(), "s3://bucket/typo/"]);
    let outcome = run(command.arg(&local).arg(&mnt));
    assert!(
        outcome.code == 10 && outcome.err.contains("s3://bucket/typo/: cannot be opened: no object is below"),
        "{outcome:?}"
    );
}

#[test]
fn programs_and_mounts_end_while_the_store_hangs() {
    let store = samples();
    write_large(&store.file("large.rab"), &vec![1; 9_000_000]);
    let mounted = mount(&store, "s3://bucket/large.rab", &[]);
    let daemon = mounted.daemon();
    assert_eq!(mounted.names(), ["large", "large.meta.yaml"]);
    store.set(&[("hang", "1")]);
    let before = store.arrived();
    let mut reader = Command::new("tail").args(["-c", "100"]).arg(mounted.join("large")).spawn().unwrap();
    eventually("it waits", || store.arrived() > before);
    reader.kill().unwrap();
    eventually("the reader has ended", || reader.try_wait().unwrap().is_some());
    assert_eq!(run(program().arg("-u").arg(&mounted.path)).code, 0);
    eventually("the daemon has ended", || is_gone(daemon));
    store.set(&[("hang", "0")]);
}

#[test]
fn what_is_here_is_read_while_the_store_hangs() {
    let store = samples();
    let mounted = mount(&store, "s3://bucket/", &["--refresh", "3600"]);
    assert_eq!(mounted.names().len(), names(&folder()).len());
    names(&mounted.join("rab/readme.rab"));
    store.set(&[("hang", "1")]);
    let before = store.arrived();
    // More than there are threads that receive requests, in directories that were not listed.
    let directories = ["awkward", "ffrecord", "npy", "npz", "onda", "safetensors", "zip"];
    let look = |name: &str| Command::new("stat").arg(mounted.join(name).join("none")).spawn().unwrap();
    let waiting = directories.map(look);
    eventually("they wait", || store.arrived() >= before + 7);
    within(&mounted, || {
        let text = mounted.read("rab/readme.rab/Some text").unwrap();
        assert!(text.starts_with(b"hello there"));
    });
    store.set(&[("hang", "0")]);
    for mut waiting in waiting {
        assert!(!waiting.wait().unwrap().success());
    }
}
