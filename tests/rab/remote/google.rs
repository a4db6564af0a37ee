//! Objects at `gs://`, by our own server: those that can be installed send no entity tags.

use std::io::Write;
use std::process::{Command, Stdio};

use super::path;
use crate::RAB;
use crate::kit::*;
use crate::stores::{Store, write_large};

fn gs(store: &Store, arguments: &[&str]) -> Outcome {
    run(store.reached_by(Command::new(RAB)).args(arguments))
}

#[test]
fn objects_are_read() {
    let store = Store::new();
    std::fs::create_dir(store.file("a folder")).unwrap();
    for key in ["types.rab", "a folder/é?#%41+&.rab"] {
        std::fs::copy(data("types.rab"), store.file(key)).unwrap();
        let url = format!("gs://bucket/{key}");
        for verb in ["ls", "cat", "verify"] {
            let (local, remote) = (crate::rab(&[&verb, &data("types.rab")]), gs(&store, &[verb, &url]));
            let [out, err] =
                [remote.out, remote.err].map(|text| text.replace(&url, path(&data("types.rab"))));
            assert_eq!((remote.code, out, err), (local.code, local.out, local.err), "{verb} {url}");
        }
    }
    for (url, message) in [
        ("gs://bucket/none.rab", "no such object"),
        ("gs://nobucket/types.rab", "no such bucket"),
        ("gs://bucket/", "is a directory: name a file in it, mount it"),
    ] {
        let outcome = gs(&store, &["ls", url]);
        assert!(outcome.code == 10 && outcome.err.contains(message), "{outcome:?}");
    }
}

#[test]
fn opening_takes_one_request() {
    let store = Store::new();
    std::fs::copy(data("readme.rab"), store.file("x.rab")).unwrap();
    for (count, url) in store.urls("x.rab").iter().enumerate() {
        assert_eq!(gs(&store, &["ls", url]).code, 0);
        assert_eq!(store.log().len(), count + 1, "{:?}", store.log());
    }
    // Several looks at a header are no reading in order.
    write_large(&store.file("large.rab"), &vec![1; 4 << 20]);
    let before = store.log().len();
    assert_eq!(gs(&store, &["ls", "-l", &store.url("large.rab")]).code, 0);
    assert_eq!(store.log().len(), before + 1, "{:?}", store.log());
}

#[test]
fn objects_are_written_whole_and_replaced_only_by_force() {
    let store = Store::new();
    let dir = scratch();
    let large = dir.path().join("large.bin");
    std::fs::write(&large, (0..40_000_000u32).map(|at| (at / 5 % 241) as u8).collect::<Vec<u8>>()).unwrap();
    for (url, input) in [
        ("gs://bucket/small.rab", path(&data("readme.rab"))),
        ("gs://bucket/folder/large.rab", path(&large)),
        ("s3://bucket/s3/small.rab", path(&data("readme.rab"))),
        ("s3://bucket/s3/large.rab", path(&large)),
    ] {
        let local = dir.path().join("local.rab");
        assert_eq!(crate::rab(&[&"pack", &"--force", &local, &input]).code, 0);
        let written = gs(&store, &["pack", url, input]);
        assert_eq!((written.code, written.err.as_str()), (0, ""), "{written:?}");
        let object = store.file(url.split("bucket/").nth(1).unwrap());
        assert!(std::fs::read(&object).unwrap() == std::fs::read(local).unwrap(), "{url}");
        std::fs::write(&object, "other").unwrap();
        let refused = gs(&store, &["pack", url, input]);
        assert!(refused.code == 1 && refused.err.contains("it exists: --force replaces it"), "{refused:?}");
        assert_eq!(std::fs::read(&object).unwrap(), b"other");
        assert_eq!(gs(&store, &["pack", "--force", url, input]).code, 0);
        assert_ne!(std::fs::read(&object).unwrap(), b"other");
    }
    let refused = gs(&store, &["pack", "gs://nobucket/x.rab", path(&large)]);
    assert!(refused.code == 1 && refused.err.contains("no such bucket"), "{refused:?}");
    assert_eq!(store.unfinished(), [""; 0]);
}

/// The store itself refuses: the object was not there yet when `pack` looked.
#[test]
fn an_object_that_appears_meanwhile_is_not_replaced() {
    for scheme in ["gs", "s3"] {
        let store = Store::new();
        let mut command = store.reached_by(Command::new(RAB));
        command.args(["pack", &format!("{scheme}://bucket/x.rab"), "-", "--name", "x"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually("it has looked for the object", || store.logged("404") == 1);
        std::fs::write(store.file("x.rab"), "other").unwrap();
        child.stdin.take().unwrap().write_all(b"bytes").unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && err.contains("it exists: --force replaces it"), "{err}");
        assert_eq!(std::fs::read(store.file("x.rab")).unwrap(), b"other");
        assert_eq!((store.logged("412"), store.unfinished().len()), (1, 0));
    }
}

#[test]
fn an_upload_that_is_interrupted_leaves_nothing() {
    for scheme in ["gs", "s3"] {
        let store = Store::new();
        let dir = scratch();
        let large = dir.path().join("large.bin");
        std::fs::write(&large, vec![7; 40_000_000]).unwrap();
        store.set(&[("first_byte", "1000")]);
        let mut command = store.reached_by(Command::new(RAB));
        command.args(["pack", &format!("{scheme}://bucket/x.rab"), path(&large)]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        eventually("parts are on their way", || store.arrived() > 2);
        kill(nix::unistd::Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        assert_ne!(child.wait().unwrap().code(), Some(0));
        assert!(!store.file("x.rab").exists());
        eventually("the upload is given up", || store.unfinished().is_empty());
        assert!(store.log().iter().any(|line| line.starts_with("DELETE")), "{:?}", store.log());
    }
}
