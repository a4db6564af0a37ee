//! Symbolic links in a mounted directory: where they must not lead.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::kit::*;

/// A request that waits for itself would wait for ever, so the reader is killed after a while.
fn in_time(script: &str, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    sh(&format!("timeout -s KILL 20 bash -c '{script}' sh \"$@\""), arguments)
}

#[test]
fn links_into_the_own_mount_are_shown_as_links() {
    for options in [&[][..], &["--follow-outside"]] {
        let dir = scratch();
        fs::copy(data("readme.rab"), dir.path().join("x.rab")).unwrap();
        let mount = Mount::with(dir.path(), options);
        let link = |name: &str, target: &str| symlink(mount.join(target), dir.path().join(name)).unwrap();
        link("itself", "itself");
        link("there", "back");
        link("back", "there");
        link("run", "x.rab");
        link("top", "");
        symlink(mount.path.join("../mnt/itself"), dir.path().join("around")).unwrap();
        let script = r#"cd "$1" && ls -l & ls -l "$1"; stat -c "%F %N" "$1/itself"; wait"#;
        let outcome = in_time(script, &[&mount.path]);
        let links = outcome.lines().filter(|line| line.contains("->")).count();
        assert_eq!((links, outcome.contains("symbolic link")), (13, true), "{outcome}");
        let outcome = in_time(r#"stat -c %F "$1/run"; stat -L -c %F "$1/run""#, &[&mount.path]);
        assert_eq!(outcome, "symbolic link\ndirectory\n");
    }
}

#[test]
fn a_link_leads_nobody_where_they_could_not_go() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("private/deep")).unwrap();
    fs::create_dir(at("public")).unwrap();
    fs::write(at("private/deep/secret"), "secret").unwrap();
    fs::copy(data("readme.rab"), at("private/run.rab")).unwrap();
    for (name, mode) in [("private", 0o710), ("private/deep/secret", 0o644), ("private/run.rab", 0o644)] {
        fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
    }
    symlink("../private/deep/secret", at("public/secret")).unwrap();
    symlink("../private/deep", at("public/deep")).unwrap();
    symlink(at("private/run.rab"), at("public/run")).unwrap();
    symlink("../public", at("public/deeper")).unwrap();
    symlink("../outside", at("public/outside")).unwrap();
    let mount = Mount::new(dir.path());
    let mode = |name: &str| format!("{:o}", fs::metadata(mount.join(name)).unwrap().mode() & 0o777);
    for _ in 0..2 {
        assert_eq!((mode("private/deep/secret"), mode("private/run.rab")), ("444".into(), "755".into()));
        assert_eq!(mode("public/secret"), "440");
        assert_eq!((mode("public/deep"), mode("public/run")), ("750".into(), "750".into()));
        // What is open is looked at in another way.
        assert_eq!(mount.read("public/secret").unwrap(), b"secret");
    }
}
