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
    }
    assert!(!other.exists());
    let said = crate::kit::try_sh(r#"timeout 3 "$1" verify "$2" 2>&1"#, &[&RAB, &file]);
    assert_eq!(said.out, "");
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
