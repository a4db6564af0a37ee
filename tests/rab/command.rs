//! What all verbs share: exit codes, broken pipes, terminals; and `rab mount`.

use std::path::Path;
use std::process::Command;

use crate::kit::{bytes_entry, data, entry, rab as write, run, scratch, sh, try_sh};
use crate::{RAB, rab};

#[test]
fn exit_codes() {
    let dir = scratch();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    assert_eq!(rab(&[]).code, 2);
    assert_eq!(rab(&[&"ls"]).code, 2);
    assert_eq!(rab(&[&"ls", &"--nonsense", &data("readme.rab")]).code, 2);
    for (path, code) in [
        (dir.path().join("missing"), 10),
        (dir.path().to_owned(), 10),
        (file("empty", b""), 11),
        (file("text", b"hello"), 11),
        (file("short", b"rab\xff\xff\0\0"), 12),
    ] {
        for verb in ["ls", "info", "verify"] {
            let outcome = rab(&[&verb, &path]);
            assert_eq!(outcome.code, code, "{verb} {}: {outcome:?}", path.display());
            assert!(outcome.err.starts_with("rab: ") && outcome.err.lines().count() == 1, "{outcome:?}");
        }
    }
}

#[test]
fn a_broken_pipe_is_no_error() {
    let header: String = (0..20_000).map(|i| bytes_entry(&format!("dataset {i}"), 0, 1)).collect();
    let (_dir, file) = write(&header, b"?");
    for verb in ["ls \"$2\"", "ls -l \"$2\"", "ls --json \"$2\"", "info \"$2\" '*'"] {
        let script = format!("set -o pipefail; \"$1\" {verb} | head -n 1 >/dev/null");
        let outcome = try_sh(&script, &[&RAB, &file]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{verb}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let outcome = try_sh(r#""$1" ls "$2" >/dev/full"#, &[&RAB, &data("readme.rab")]);
    assert!(
        outcome.code == 1 && outcome.err.contains("rab: standard output: cannot be written"),
        "{outcome:?}"
    );
}

#[test]
fn names_are_escaped_on_terminals_only() {
    let (_dir, file) =
        write(&entry(r#""a\e[31mb""#, &["byteLength: 0", "byteOffset: 0", "type: bytes"]), b"");
    assert_eq!(rab(&[&"ls", &file]).out, "a\x1b[31mb\n");
    let on_terminal = sh(r#"script -qec "'$1' ls '$2'" /dev/null </dev/null"#, &[&RAB, &file]);
    assert_eq!(on_terminal.trim_end(), r"a\u{1b}[31mb");
    let json: serde_json::Value = serde_json::from_str(&rab(&[&"ls", &"--json", &file]).out).unwrap();
    assert_eq!(json[0]["name"], "a\x1b[31mb");
}

#[test]
fn mount_is_rab_mount() {
    let mut command = Command::new(RAB);
    command.env("XDG_CACHE_HOME", crate::kit::cache());
    let outcome = run(command.arg("mount").arg(data("readme.rab")).args(["--", "cat", "{}/Some text"]));
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    assert!(outcome.out.starts_with("hello there"), "{}", outcome.out);
    let options = |program: &Path, verb: &[&str]| {
        let help = run(Command::new(program).args(verb).arg("--help")).out;
        help.split("Options:").nth(1).expect("options").to_owned()
    };
    assert_eq!(options(RAB.as_ref(), &["mount"]), options(crate::kit::PROGRAM.as_ref(), &[]));
}

#[test]
fn a_url_that_cannot_be_opened() {
    for url in ["sftp://host/x.npz", "hdfs://host/x.rab"] {
        let outcome = rab(&[&"ls", &url]);
        assert!(
            outcome.code == 10 && outcome.err.contains("or az://: for others, download the file"),
            "{outcome:?}"
        );
    }
}
