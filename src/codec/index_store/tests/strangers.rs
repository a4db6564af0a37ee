//! Files and directories that others may have written.

use super::*;

#[test]
fn files_that_others_may_have_written_are_replaced() {
    let good = [KEY.header(), forged(HEADER as u64, 3, 0, 10, b"old")].concat();
    let kit = Kit::new();
    let elsewhere = kit.parent.path().join("elsewhere");
    fs::write(&elsewhere, &good).unwrap();
    let change = |what: &str, how: &dyn Fn(&Path)| {
        kit.plant(&good);
        assert!(kit.open().get(0, 10).is_some());
        how(&kit.path());
        kit.is_made_again(what);
        fs::remove_file(kit.path()).unwrap();
    };
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    change("writable for the group", &|path| mode(path, 0o620));
    change("writable for all", &|path| mode(path, 0o602));
    change("a symbolic link", &|path| {
        fs::remove_file(path).unwrap();
        symlink(&elsewhere, path).unwrap();
    });
    change("a pipe", &|path| {
        fs::remove_file(path).unwrap();
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRUSR).unwrap();
    });
    if nix::unistd::geteuid().is_root() {
        change("another user's", &|path| std::os::unix::fs::chown(path, Some(65534), None).unwrap());
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), good, "what the link leads to is not touched");
}

#[test]
fn a_directory_in_the_place_of_the_file() {
    let kit = Kit::new();
    fs::create_dir_all(kit.path().join("full")).unwrap();
    kit.is_of_no_use(&kit.open(), "a directory");
    assert_eq!(kit.names(), [KEY.file_name()], "no temporary file is left");
}

#[test]
fn a_directory_that_others_may_write_to_is_not_used() {
    let kit = Kit::new();
    kit.open().put(0, 10, b"old");
    let mode = |mode| fs::set_permissions(kit.directory(), Permissions::from_mode(mode)).unwrap();
    for bits in [0o777, 0o1777, 0o770, 0o702] {
        mode(bits);
        kit.is_of_no_use(&kit.open(), &format!("{bits:o}"));
    }
    mode(0o755);
    assert_eq!(kit.open().get(0, 10).as_deref(), Some(&b"old"[..]));
    let link = kit.parent.path().join("link");
    symlink(kit.directory(), &link).unwrap();
    kit.is_of_no_use(&IndexStore::new(link, LIMIT).open(KEY), "a symbolic link");
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(kit.directory(), Some(65534), None).unwrap();
        kit.is_of_no_use(&kit.open(), "another user's");
    }
}

#[test]
fn where_nothing_can_be_created_nothing_is_kept() {
    let kit = Kit::new();
    let file = kit.parent.path().join("file");
    File::create(&file).unwrap();
    for directory in ["/proc/rab-mount".into(), "/dev/null".into(), file.join("cache"), file] {
        let index = IndexStore::new(directory.clone(), LIMIT).open(KEY);
        kit.is_of_no_use(&index, &directory.display().to_string());
    }
}
