//! A panic, which no input should cause: tests of the debug build ask for one at a byte of a file.

use std::fs;
use std::process::Command;

use crate::RAB;
use crate::kit::{Outcome, eventually, names, program, python, run, scratch};

/// Two archives, of stored and of deflated members that do not fit into what is read of a file at first.
const MAKE: &str = r#"
import sys, numpy as np
a = np.random.default_rng(1).integers(0, 9, 3000000).astype("u1")
np.savez(sys.argv[1] + "/stored.npz", a=a, b=a)
np.savez_compressed(sys.argv[1] + "/deflated.npz", a=a, b=a)
"#;

/// A byte in the first member of either.
const AT: &str = "300000";

fn panicking(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Outcome {
    run(Command::new(RAB).env("RAB_TEST_PANIC_AT", AT).args(arguments))
}

fn is_report(line: &str, program: &str) -> bool {
    let version = env!("CARGO_PKG_VERSION");
    line.starts_with("internal error: a test wants a panic at byte 300000 (src/source/file.rs:")
        && line.ends_with(&format!("), {program} {version}; please report this line"))
}

#[test]
fn every_verb_reports_one_and_leaves_nothing_half_written() {
    let dir = scratch();
    python(&[&"-c", &MAKE, &dir.path()]);
    for file in ["stored.npz", "deflated.npz"] {
        let (file, out) = (dir.path().join(file), dir.path().join("out"));
        let before = names(dir.path());
        // What is stored is unpacked by the kernel, which reads without us.
        let is_read = |verb: &&str| *verb != "unpack" || file.ends_with("deflated.npz");
        for verb in ["cat", "info", "verify", "diff", "unpack", "convert"].into_iter().filter(is_read) {
            let new = out.with_extension("rab");
            let outcome = match verb {
                "cat" => panicking(&[&verb, &file, &"a"]),
                "info" => panicking(&[&verb, &file, &"a", &"--stats"]),
                "verify" => panicking(&[&verb, &file]),
                "diff" => panicking(&[&verb, &file, &file]),
                "unpack" => panicking(&[&verb, &file, &out]),
                _ => panicking(&[&verb, &file, &new]),
            };
            let reports = outcome.err.lines().filter(|line| line.contains("internal error: a test"));
            let reports: Vec<_> = reports.filter_map(|line| line.strip_prefix("rab: ")).collect();
            assert!(
                outcome.code == 1 && reports.len() == 1 && is_report(reports[0], "rab"),
                "{verb}: {outcome:?}"
            );
            if verb == "unpack" {
                let left = names(&out);
                assert!(
                    !left.contains(&"a".to_owned()) && !left.iter().any(|name| name.starts_with('.')),
                    "{left:?}"
                );
                fs::remove_dir_all(&out).unwrap();
            }
            assert_eq!(names(dir.path()), before, "{verb}");
        }
    }
}

#[test]
fn a_mount_answers_with_an_error_and_logs_it() {
    let dir = scratch();
    python(&[&"-c", &MAKE, &dir.path()]);
    let (path, log) = (dir.path().join("mnt"), dir.path().join("log"));
    let mut command = program();
    command.env("RAB_TEST_PANIC_AT", AT).env("XDG_CACHE_HOME", dir.path().join("cache"));
    command.arg("--log-file").arg(&log).arg(dir.path().join("deflated.npz")).arg(&path);
    assert_eq!(run(&mut command).code, 0);
    let error = fs::read(path.join("a")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "{error}");
    // It serves on.
    assert!(fs::read(path.join("b.meta.yaml")).is_ok());
    let logged = || fs::read_to_string(&log).unwrap();
    let is_logged = |text: &str| {
        text.lines()
            .any(|line| line.split_once(": error: ").is_some_and(|(_, rest)| is_report(rest, "rab-mount")))
    };
    assert!(is_logged(&logged()), "{}", logged());
    assert_eq!(run(program().arg("-u").arg(&path)).code, 0);
    eventually("the daemon ends", || !path.join("a").exists());
}

/// One container at which it panics is a directory that says so, however often that is looked into.
#[test]
fn a_mounted_directory_shows_where_it_panicked_and_logs_that_once() {
    let dir = scratch();
    let files = dir.path().join("files");
    fs::create_dir(&files).unwrap();
    python(&[&"-c", &MAKE, &files]);
    // In the central directory, which opening reads; the other archive is shorter.
    let at = fs::metadata(files.join("stored.npz")).unwrap().len() - 30;
    let (path, log) = (dir.path().join("mnt"), dir.path().join("log"));
    let mut command = program();
    command.env("RAB_TEST_PANIC_AT", at.to_string()).env("XDG_CACHE_HOME", dir.path().join("cache"));
    assert_eq!(run(command.arg("--log-file").arg(&log).args([&files, &path])).code, 0);
    for _ in 0..3 {
        assert_eq!(names(&path.join("stored.npz")), ["ERROR.txt"]);
        assert!(names(&path.join("deflated.npz")).contains(&"a".to_owned()));
    }
    let why = fs::read_to_string(path.join("stored.npz/ERROR.txt")).unwrap();
    assert!(why.contains("stored.npz: not opened because of an internal error"), "{why}");
    let logged = fs::read_to_string(&log).unwrap();
    assert_eq!(logged.matches("internal error: a test wants a panic").count(), 1, "{logged}");
    // Lazily: a child that another test has just forked may still hold a file of the mount.
    assert_eq!(run(program().args(["-u", "--lazy"]).arg(&path)).code, 0);
}
