//! What changes underneath a mounted directory, also where the system does not tell of it.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::kit::*;

fn type_in_listing(mount: &Mount, name: &str) -> String {
    let outcome = sh(r#"find "$1" -maxdepth 1 -printf '%y %P\n'"#, &[&mount.path]);
    let line = outcome.lines().find(|line| line.ends_with(name));
    line.unwrap_or_default().chars().take(1).collect()
}

#[test]
fn a_file_that_becomes_a_container_where_it_stands_is_listed_as_one() {
    for refresh in ["0", "0.5"] {
        let (dir, outside) = (scratch(), scratch());
        // Writing to it under another name is not seen by a watch of the directory.
        let file = outside.path().join("x.rab");
        fs::write(&file, "").unwrap();
        fs::hard_link(&file, dir.path().join("x.rab")).unwrap();
        let mount = Mount::with(dir.path(), &["--refresh", refresh]);
        let has_content = || sh(r#"find "$1" | wc -l"#, &[&mount.path]).trim() != "2";
        assert!(!has_content() && type_in_listing(&mount, "x.rab") == "f");
        fs::write(&file, fs::read(data("readme.rab")).unwrap()).unwrap();
        eventually("it is listed as a directory", has_content);
        assert_eq!(type_in_listing(&mount, "x.rab"), "d");
        fs::write(&file, "no container").unwrap();
        eventually("it is listed as a file", || !has_content());
        assert_eq!(type_in_listing(&mount, "x.rab"), "f");
    }
}

#[test]
fn a_name_tells_what_a_file_is_whatever_its_other_names_are() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("rabbits"), "rabbits are nice\n").unwrap();
    fs::hard_link(at("rabbits"), at("linked.rab")).unwrap();
    let mount = Mount::with(dir.path(), &["--refresh", "0"]);
    assert!(mount.join("rabbits").is_file() && mount.join("linked.rab").is_dir());
    fs::rename(at("rabbits"), at("named.rab")).unwrap();
    fs::rename(at("linked.rab"), at("text")).unwrap();
    assert!(mount.join("named.rab/ERROR.txt").is_file() && mount.join("text").is_file());
}

#[test]
fn other_permissions_of_a_container_show_and_stay() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    fs::copy(data("readme.rab"), &path).unwrap();
    let mode = |mode: u32| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let mount = Mount::with(dir.path(), &["--refresh", "0.2"]);
    let held = File::open(mount.join("x.rab")).unwrap();
    let shown = || fs::metadata(mount.join("x.rab")).unwrap().mode() & 0o777;
    assert_eq!(shown(), 0o755);
    mode(0o600);
    eventually("the mode is that on disk", || shown() == 0o700);
    for _ in 0..5 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let _ = held.metadata();
        assert_eq!(shown(), 0o700);
        assert_eq!(fs::read_dir(mount.join("x.rab")).unwrap().count() > 0, me() == 0 || shown() & 0o100 > 0);
    }
}

#[test]
fn a_process_in_a_directory_stays_in_it_when_it_is_touched() {
    let dir = scratch();
    fs::create_dir_all(dir.path().join("sub/er")).unwrap();
    let mount = Mount::with(dir.path(), &["--refresh", "0.2"]);
    let mtime = |name: &str| fs::metadata(mount.join(name)).unwrap().mtime();
    let script =
        r#"cd "$1/sub" && ls && touch -d 2001-01-01 "$2/sub" && sleep 0.5 && readlink /proc/self/cwd"#;
    let outcome = sh(script, &[&mount.path, &dir.path()]);
    assert_eq!(outcome, format!("er\n{}\n", mount.join("sub").canonicalize().unwrap().display()));
    eventually("its time shows", || mtime("sub") < 1_000_000_000);
}

#[test]
fn a_low_limit_of_descriptors_is_kept_and_nothing_fails_for_it() {
    let dir = scratch();
    for number in 0..300 {
        fs::copy(data("readme.rab"), dir.path().join(format!("{number}.rab"))).unwrap();
    }
    for (limit, options) in [("ulimit -n 64", "--max-open 512"), ("ulimit -S -n 100", "--max-open 250")] {
        let mnt = scratch();
        let script = format!(
            r#"({limit}; "$1" {options} --no-index "$2" "$3/m") || exit
               find "$3/m" -name '*.meta.yaml' -exec cat {{}} + | grep -c '^name:'
               "$1" -u "$3/m""#
        );
        let outcome = try_sh(&script, &[&PROGRAM, &dir.path(), &mnt.path()]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(
            outcome.out.trim().parse::<usize>().is_ok_and(|count| count >= 300 && count % 300 == 0),
            "{outcome:?}"
        );
        assert!(!outcome.err.contains("Too many open files"), "{outcome:?}");
    }
}
