//! `rab unpack`: the same tree as a mount, nothing outside of the directory, nothing half-written.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::kit::{
    Mount, Signal, TempDir, bytes_entry, data, entry, eventually, kill, names, rab as write, scratch, sh,
};
use crate::{RAB, SAMPLES, good, huge, rab};

/// All files and directories below, with their kinds.
fn below(dir: &Path) -> String {
    sh(r#"cd "$1" && find . -printf '%y %p\n' | LC_ALL=C sort"#, &[&dir])
}

#[test]
fn every_sample_is_as_a_mount_shows_it() {
    for sample in SAMPLES {
        let file = data(&format!("{sample}.rab"));
        let (dir, mount) = (scratch(), Mount::new(&file));
        let out = dir.path().join("made/here");
        assert_eq!(good(&[&"unpack", &file, &out]), "");
        sh(r#"diff -r "$1" "$2""#, &[&mount.path, &out]);
        assert_eq!(below(&mount.path), below(&out), "{sample}");
        let modified = file.metadata().unwrap().mtime();
        let times = sh(r#"find "$1" -type f -printf '%Ts\n' | sort -u"#, &[&out]);
        assert!(times.is_empty() || times.trim() == modified.to_string(), "{sample}: {times}");
    }
}

#[test]
fn names_that_lead_elsewhere_stay_inside() {
    let hostile =
        ["'../../up'", "'/abs/x'", "'..'", "'.'", "''", "'a/../../b'", r#""nul\0byte""#, "'a//b'", "'~/c'"];
    let header: String = hostile.iter().map(|name| bytes_entry(name, 0, 1)).collect();
    let (dir, file) = write(&header, b"x");
    let out = dir.path().join("deep/out");
    good(&[&"unpack", &"--no-meta", &file, &out]);
    assert_eq!(sh(r#"find "$1" -type f | wc -l"#, &[&out]).trim(), hostile.len().to_string());
    assert_eq!(names(dir.path()), ["deep", "test.rab"]);
    assert_eq!(names(&dir.path().join("deep")), ["out"]);
}

/// A container with `sub/x` and `file`, and an empty directory for it.
fn planted() -> (TempDir, std::path::PathBuf, std::path::PathBuf) {
    let (dir, file) = write(&(bytes_entry("sub/x", 0, 1) + &bytes_entry("file", 0, 1)), b"x");
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    (dir, file, out)
}

#[test]
fn no_symbolic_link_in_the_directory_is_followed() {
    for (link, target) in
        [("sub", "elsewhere"), ("sub", "nowhere"), ("file", "elsewhere/f"), ("file", "victim")]
    {
        for force in ["--no-meta", "--force"] {
            let (dir, file, out) = planted();
            fs::write(dir.path().join("victim"), "mine").unwrap();
            symlink(dir.path().join(target), out.join(link)).unwrap();
            let outcome = rab(&[&"unpack", &force, &file, &out]);
            assert!(names(&dir.path().join("elsewhere")).is_empty(), "{link} {target}");
            assert_eq!(names(dir.path()), ["elsewhere", "out", "test.rab", "victim"]);
            assert_eq!(fs::read(dir.path().join("victim")).unwrap(), b"mine");
            if link == "file" && force == "--force" {
                // It is replaced itself.
                assert_eq!(
                    (outcome.code, fs::read(out.join("file")).unwrap()),
                    (0, b"x".to_vec()),
                    "{outcome:?}"
                );
                assert!(!out.join("file").is_symlink());
            } else {
                assert_eq!(outcome.code, 1, "{outcome:?}");
                let what = if link == "sub" {
                    "a symbolic link is in the place"
                } else {
                    "it exists: --force replaces it"
                };
                assert!(
                    outcome.err.contains(&format!("out/{link}: cannot be written: "))
                        && outcome.err.contains(what),
                    "{outcome:?}"
                );
                assert_eq!(names(&out), [link], "something was written");
            }
        }
    }
    // The directory itself may be one.
    let (dir, file, out) = planted();
    symlink(&out, dir.path().join("link")).unwrap();
    good(&[&"unpack", &"--no-meta", &file, &dir.path().join("link")]);
    assert_eq!(names(&out), ["file", "sub"]);
}

#[test]
fn what_is_there_is_replaced_only_on_request() {
    let (_dir, file, out) = planted();
    fs::write(out.join("file"), "mine").unwrap();
    let outcome = rab(&[&"unpack", &file, &out]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("out/file: cannot be written: it exists: --force replaces it"));
    assert_eq!(
        (names(&out), fs::read(out.join("file")).unwrap()),
        (vec!["file".to_owned()], b"mine".to_vec())
    );
    good(&[&"unpack", &"-f", &file, &out]);
    assert_eq!(fs::read(out.join("file")).unwrap(), b"x");
    assert_eq!(names(&out), ["file", "file.meta.yaml", "sub"]);

    let (_dir, file, out) = planted();
    fs::create_dir(out.join("file")).unwrap();
    let outcome = rab(&[&"unpack", &"-f", &file, &out]);
    assert!(outcome.code == 1 && outcome.err.contains("a directory is in its place"), "{outcome:?}");
    fs::remove_dir(out.join("file")).unwrap();
    fs::write(out.join("sub"), "").unwrap();
    let outcome = rab(&[&"unpack", &"-f", &file, &out]);
    assert!(
        outcome.code == 1 && outcome.err.contains("out/sub: cannot be written: a file is in the place"),
        "{outcome:?}"
    );
}

#[test]
fn the_container_does_not_replace_itself() {
    let (dir, file) = write(&bytes_entry("test.rab", 0, 1), b"x");
    let before = fs::read(&file).unwrap();
    let outcome = rab(&[&"unpack", &"-f", &file, &dir.path()]);
    assert!(outcome.code == 1 && outcome.err.contains("it is part of the container"), "{outcome:?}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn globs_mean_the_true_names() {
    let (dir, file) =
        write(&["'a/b'", "'a'", "'a%b'", "'c.meta.yaml'"].map(|name| bytes_entry(name, 0, 1)).concat(), b"x");
    let unpacked = |globs: &[&str]| {
        let out = dir.path().join("out");
        let _ = fs::remove_dir_all(&out);
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"unpack", &"--no-meta", &file, &out];
        arguments.extend(globs.iter().map(|glob| glob as &dyn AsRef<std::ffi::OsStr>));
        good(&arguments);
        names(&out)
    };
    assert_eq!(unpacked(&["a/*"]), ["a%2Fb"]);
    assert_eq!(unpacked(&["a%b", "a"]), ["a", "a%25b"]);
    assert_eq!(unpacked(&["*.yaml"]), ["c.meta.yaml"]);
    let outcome = rab(&[&"unpack", &file, &dir.path().join("none"), &"nothing"]);
    assert!(outcome.code == 3 && !dir.path().join("none").exists(), "{outcome:?}");
}

#[test]
fn of_a_damaged_dataset_nothing_is_written_but_its_sidecar() {
    let mut raw = fs::read(data("gzip.rab")).unwrap();
    let info = good(&[&"info", &"--json", &data("gzip.rab"), &"array zlib"]);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    raw[(info["offset"].as_u64().unwrap() + info["stored"].as_u64().unwrap() / 2) as usize] ^= 0x55;
    let dir = scratch();
    let (file, out, whole) = (dir.path().join("bad.rab"), dir.path().join("out"), dir.path().join("whole"));
    fs::write(&file, raw).unwrap();
    let outcome = rab(&[&"unpack", &file, &out]);
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.lines().count()), (12, "", 1), "{outcome:?}");
    assert!(outcome.err.contains("bad.rab: dataset \"array zlib\""), "{outcome:?}");
    good(&[&"unpack", &data("gzip.rab"), &whole]);
    let mut expected = names(&whole);
    expected.retain(|name| name != "array zlib");
    assert_eq!(names(&out), expected);

    let (dir, file) = write(&(bytes_entry("a", 0, 2) + &bytes_entry("b", 2, 9)), b"0123");
    let outcome = rab(&[&"unpack", &file, &dir.path().join("out")]);
    assert!(outcome.code == 12 && outcome.err.contains("dataset \"b\""), "{outcome:?}");
    assert_eq!(names(&dir.path().join("out")), ["a", "a.meta.yaml", "b.meta.yaml"]);
}

#[test]
fn directories_deeper_than_any_path() {
    let name = (0..1500).map(|at| format!("directory{at}")).collect::<Vec<_>>().join("/");
    let header =
        bytes_entry(&format!("'{name}/x'"), 0, 1) + &bytes_entry("'directory0/directory1/side/y'", 0, 1);
    let (dir, file) = write(&header, b"x");
    let out = dir.path().join("out");
    good(&[&"unpack", &"--no-meta", &file, &out]);
    let deep = sh(r#"find "$1" -type f -printf '%d %f\n' | sort -n"#, &[&out]);
    assert_eq!(deep, "4 y\n1501 x\n");
    let outcome = rab(&[&"unpack", &file, &out]);
    assert!(outcome.code == 1 && outcome.err.contains("it exists: --force replaces it"), "{outcome:?}");
    sh(r#"rm -rf "$1""#, &[&out]);
}

#[test]
fn interrupted_it_leaves_no_half_file() {
    // Copied for longer than it takes to interrupt.
    let (dir, file) = huge(40 << 30);
    let out = dir.path().join("out");
    let mut child =
        Command::new(RAB).arg("unpack").arg(&file).arg(&out).stdin(Stdio::null()).spawn().unwrap();
    eventually("the sidecar is there", || out.join("big.meta.yaml").exists());
    kill(nix::unistd::Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2), "{status}");
    assert_eq!(names(&out), ["big.meta.yaml"]);
}

#[test]
fn a_full_disk_is_an_error_that_leaves_nothing() {
    let (dir, file) =
        write(&entry("big", &["byteLength: 9000000", "byteOffset: 0", "type: bytes"]), &vec![7; 9_000_000]);
    let script = r#"mkdir "$2" && mount -t tmpfs -o size=4m none "$2" && { "$1" unpack "$3" "$2/out"; code=$?; ls -A "$2/out"; umount "$2"; exit $code; }"#;
    let outcome = crate::kit::try_sh(script, &[&RAB, &dir.path().join("small"), &file]);
    // Of the dataset, or of its sidecar if that came second.
    assert!(outcome.code == 1 && outcome.err.contains("out/big"), "{outcome:?}");
    assert!(outcome.err.contains("cannot be written: No space left"), "{outcome:?}");
    assert!(matches!(outcome.out.as_str(), "" | "big.meta.yaml\n"), "{outcome:?}");
}
