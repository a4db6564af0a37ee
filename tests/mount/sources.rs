//! Several sources: what is theirs alone.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::*;

/// Two directories with a directory `sub` each.
fn two() -> (TempDir, [PathBuf; 2]) {
    let dir = scratch();
    let paths = ["one", "two"].map(|name| dir.path().join(name));
    for path in &paths {
        let name = path.file_name().unwrap();
        fs::create_dir_all(path.join("sub/deep")).unwrap();
        fs::copy(data("readme.rab"), path.join("sub/x.rab")).unwrap();
        fs::write(path.join("sub").join(name), "text").unwrap();
        fs::write(path.join(name), "text").unwrap();
    }
    (dir, paths)
}

fn found(mount: &Path) -> String {
    sh(r#"cd "$1" && find . -mindepth 1 -not -path '*.rab/*' | LC_ALL=C sort"#, &[&mount])
}

#[test]
fn a_source_that_is_gone_takes_no_other_with_it() {
    let (dir, [one, two]) = two();
    // Also by inotify it is not the later one that changes.
    for (option, gone, left) in [
        ("--union", &one, "./sub\n./sub/deep\n./sub/two\n./sub/x.rab\n./two\n"),
        ("--verbose", &two, "./one\n./one/one"),
    ] {
        let mount = Mount::with(&one, &[option, "--refresh", "0.2", &two.display().to_string()]);
        assert!(found(&mount.path).contains("x.rab"));
        let aside = dir.path().join("aside");
        fs::rename(gone, &aside).unwrap();
        eventually("what is left is shown", || found(&mount.path).starts_with(left));
        let file = if option == "--union" { "sub/two" } else { "one/sub/one" };
        assert_eq!(mount.read(file).unwrap(), b"text");
        drop(mount);
        fs::rename(&aside, gone).unwrap();
    }
}

#[test]
fn depths_and_patterns_are_those_of_each_source() {
    let (_dir, [one, two]) = two();
    let two = two.display().to_string();
    let shown = |options: &[&str]| {
        let options = [options, &[two.as_str()]].concat();
        found(&Mount::with(&one, &options).path)
    };
    assert_eq!(shown(&["--max-depth", "1"]), "./one\n./one/one\n./two\n./two/two\n");
    assert_eq!(
        shown(&["--include", "sub/*", "--exclude", "/sub/deep"]),
        "./one\n./one/sub\n./one/sub/one\n./one/sub/x.rab\n./two\n./two/sub\n./two/sub/two\n./two/sub/x.rab\n"
    );
}
