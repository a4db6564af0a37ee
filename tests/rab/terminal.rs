//! What is shown on a terminal only: progress bars, and colour.

use std::fs;
use std::path::Path;

use crate::kit::{bytes_entry, python, rab as write, scratch};
use crate::{RAB, huge};

/// Runs a command with stdout and stderr on a terminal, and returns what came out there. It is ended once that
/// contains `until`, if there is one.
fn on_terminal(until: &str, colour: &str, arguments: &[&Path]) -> String {
    let script = "import os, pty, sys, signal\n\
        until, colour, *command = sys.argv[1:]\n\
        pid, fd = pty.fork()\n\
        if pid == 0:\n    os.environ.update(TERM='xterm', NO_COLOR=colour)\n    os.execv(command[0], command)\n\
        signal.alarm(60)\n\
        out = b''\n\
        try:\n    while piece := os.read(fd, 65536):\n        out += piece\n\
        \x20       if until and until.encode() in out:\n\
        \x20           os.kill(pid, signal.SIGTERM)\n            until = ''\n\
        except OSError:\n    pass\n\
        os.waitpid(pid, 0)\n\
        sys.stdout.buffer.write(out)";
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"-c", &script, &until, &colour, &RAB];
    all.extend(arguments.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>));
    python(&all)
}

#[test]
fn a_progress_bar_for_what_takes_a_while() {
    // So large that it is never done.
    let (dir, file) = huge(4 << 40);
    let other = dir.path().join("other.rab");
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    let verify: [&Path; 2] = ["verify".as_ref(), &file];
    let diff: [&Path; 3] = ["diff".as_ref(), &file, &file];
    let convert: [&Path; 3] = ["convert".as_ref(), &file, &other];
    let unpack: [&Path; 3] = ["unpack".as_ref(), &file, &out];
    let pack: [&Path; 3] = ["pack".as_ref(), &other, &file];
    for arguments in [&verify[..], &diff, &convert, &unpack, &pack] {
        let shown = on_terminal(" left", "", arguments);
        assert!(shown.contains(".00 TiB, ") && shown.contains("left"), "{arguments:?}: {shown}");
        // Nothing reads terabytes in seconds.
        let rest = shown.split(".00 TiB, ").nth(1).and_then(|rest| rest.split(" left").next());
        assert!(rest.is_some_and(|rest| !rest.ends_with('s')), "{arguments:?}: {shown}");
    }
    assert!(!other.exists());
    let outcome = crate::kit::try_sh(r#"timeout 3 "$1" verify "$2" 2>&1"#, &[&RAB, &file]);
    assert_eq!(outcome.out, "");
}

#[test]
fn colour_on_a_terminal_unless_it_is_not_wanted() {
    let (_a, a) = write(&bytes_entry("x", 0, 1), b"1");
    let (_b, b) = write(&bytes_entry("x", 0, 1), b"2");
    let diff: [&Path; 3] = ["diff".as_ref(), &a, &b];
    assert!(on_terminal("", "", &diff).starts_with("\x1b[36mx\x1b[0m: bytes: "));
    assert!(on_terminal("", "1", &diff).starts_with("x: bytes: "));
    let dir = scratch();
    let missing = dir.path().join("none.rab");
    let ls: [&Path; 2] = ["ls".as_ref(), &missing];
    assert!(on_terminal("", "", &ls).starts_with("\x1b[31mrab\x1b[0m: "));
    assert!(on_terminal("", "1", &ls).starts_with("rab: "));
}

/// Runs `rab` with its output on a terminal, and what it reads there being `answer`; or with nothing to read if that is
/// empty. Returns the exit code, and what came out.
fn asked_on_terminal(answer: &str, arguments: &[&Path]) -> (i32, String) {
    let script = "import os, pty, sys, subprocess
answer, *command = sys.argv[1:]
ours, terminal = pty.openpty()
stdin = terminal if answer else subprocess.DEVNULL
child = subprocess.Popen(command, stdin=stdin, stdout=terminal, stderr=terminal)
os.close(terminal)
os.write(ours, answer.encode())
out = b''
try:
    while piece := os.read(ours, 65536): out += piece
except OSError: pass
sys.stdout.buffer.write(b'%d ' % child.wait() + out)";
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"-c", &script, &answer, &RAB];
    all.extend(arguments.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>));
    let outcome = python(&all);
    let (code, out) = outcome.split_once(' ').unwrap();
    (code.parse().unwrap(), out.to_owned())
}

#[test]
fn binary_data_is_not_printed_on_a_terminal_unasked() {
    let header = bytes_entry("binary", 0, 4) + &bytes_entry("text", 4, 4);
    let (_dir, file) = write(&header, b"\0\x01abtext");
    let question = "binary is binary (4 bytes): print it anyway? [y/N] ";
    let shown = |answer: &str, name: &str| asked_on_terminal(answer, &["cat".as_ref(), &file, name.as_ref()]);
    let (code, out) = shown("y\n", "binary");
    assert!(code == 0 && out.contains(question) && out.ends_with("\0\x01ab"), "{out:?}");
    let (code, out) = shown("n\n", "binary");
    assert!(code == 1 && out.contains(question) && !out.contains("\x01ab"), "{out:?}");
    let (code, out) = shown("", "binary");
    assert!(code == 1 && out.contains("print it with --force") && !out.contains("\x01ab"), "{out:?}");
    assert_eq!(shown("", "text"), (0, "text".into()));
    assert_eq!(
        asked_on_terminal("", &["cat".as_ref(), "-f".as_ref(), &file, "binary".as_ref()]),
        (0, "\0\x01ab".into())
    );
    // Nothing is asked where it is not a terminal that it goes to.
    assert_eq!(crate::good(&[&"cat", &file, &"binary"]), "\0\x01ab");
}

/// Also behind a text of any length, as records, and as an array's bytes.
#[test]
fn binary_data_is_asked_for_wherever_it_comes() {
    let text = "é\n".repeat(200_000);
    let bytes = [text.as_bytes(), b"\0\x01ab"].concat();
    let array = [
        "byteOffset: 600000",
        "byteLength: 4",
        "byteOrder: C",
        "endianness: na",
        "shape: [4]",
        "type: uint8",
    ];
    let header = bytes_entry("long", 0, bytes.len() as u64) + &crate::kit::entry("array", &array);
    let (_dir, file) = write(&header, &bytes);
    for arguments in [
        &["cat", "long"][..],
        &["cat", "long", "--records=length32"],
        &["get", "array", "--as=raw"],
        &["get", "array", "--as=npy"],
    ] {
        let asked = |answer: &str, more: &[&str]| {
            let all = [&arguments[..1], more, &[file.to_str().unwrap()], &arguments[1..]].concat();
            asked_on_terminal(answer, &all.iter().map(Path::new).collect::<Vec<_>>())
        };
        let (code, out) = asked("n\n", &[]);
        assert!(
            code == 1 && out.contains("print it anyway? [y/N] ") && !out.contains('\x01'),
            "{arguments:?}"
        );
        let (code, out) = asked("", &[]);
        assert!(code == 1 && out.contains("print it with --force") && !out.contains('\x01'), "{arguments:?}");
        let (code, out) = asked("", &["--force"]);
        assert!(code == 0 && !out.contains("is binary"), "{arguments:?}");
    }
}
