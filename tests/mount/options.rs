//! The command line and what it does: usage errors, `-o` and the long options, the mount table, mountpoints
//! and machines that cannot be used, mount(8) and fstab, and where the log goes.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;

use crate::kit::*;

// Usage.

#[test]
fn wrong_usage_gets_the_reason() {
    let site = Site::new();
    for (arguments, fragments) in [
        (&[][..], &["SOURCE"][..]),
        (&["-u"], &["SOURCE"]),
        (&["--frobnicate", "run.rab", "mnt"], &["'--frobnicate'"]),
        (&["-y", "run.rab", "mnt"], &["'-y'"]),
        (&["-z", "run.rab", "mnt"], &["--unmount"]),
        (&["--all"], &["--unmount"]),
        (&["-u", "--all", "mnt"], &["--all"]),
        (&["--list", "mnt"], &["--list"]),
        (&["run.rab", "mnt", "-o"], &["-o"]),
        (&["-o", "ro,frobnicate=1,noexec", "run.rab", "mnt"], &["unknown mount option \"frobnicate\""]),
        (&["-o", "cache_size=1M", "-o", "size=1", "run.rab", "mnt"], &["unknown mount option \"size\""]),
        (&["-o", "unmount", "run.rab", "mnt"], &["unknown mount option \"unmount\""]),
        (&["-o", "noexec=1", "run.rab", "mnt"], &["noexec", "takes no value"]),
        (&["-o", "uid", "run.rab", "mnt"], &["-o uid needs a value"]),
        (&["--no-index", "--index-dir", "x", "run.rab", "mnt"], &["--no-index", "--index-dir"]),
        (&["-o", "no_index,index_dir=x", "run.rab", "mnt"], &["no_index and index_dir cannot be used"]),
        (
            &["-o", "no_index", "--index-dir", "x", "run.rab", "mnt"],
            &["no_index and index_dir cannot be used"],
        ),
        (&["-o", "verify_first=1", "run.rab", "mnt"], &["verify_first", "takes no value"]),
        (&["-o", "fsname=", "run.rab", "mnt"], &["-o fsname needs a value"]),
        (&["--rw", "run.rab", "mnt"], &["--rw", "never written", "would mean to rewrite the file"]),
        (&["run.rab", "file"], &["file: the last argument must be a directory"]),
        (&["-f", "run.rab", "--", "true"], &["--foreground"]),
        (&["-o", "foreground", "run.rab", "--", "true"], &["foreground cannot be used with a command"]),
        (&["-u", "-f", "mnt"], &["--unmount", "--foreground"]),
        (&["-u", "mnt", "--", "true"], &["--unmount"]),
        (&["--allow-other", "--allow-root", "run.rab", "mnt"], &["--allow-other", "--allow-root"]),
        (&["-o", "allow_other,allow_root", "run.rab", "mnt"], &["allow_other and allow_root cannot be used"]),
        (
            &["-o", "allow_other", "--allow-root", "run.rab", "mnt"],
            &["allow_other and allow_root cannot be used"],
        ),
    ] {
        site.sh("touch file other.rab");
        site.exits(2, arguments, fragments);
        assert_eq!(names(&site.path), ["file", "other.rab", "run.rab", "tmp"], "{arguments:?}");
        assert_eq!(site.left(), "");
    }
}

#[test]
fn bad_values_are_named_in_both_spellings() {
    let site = Site::new();
    for (option, value) in [
        ("cache-size", "1X"),
        ("cache-size", "M"),
        ("cache-size", "-1"),
        ("cache-size", "1.5G"),
        ("cache-size", "99999999999T"),
        ("cache-size", "12 M"),
        ("index-size", "1X"),
        ("index-memory", "-1"),
        ("threads", "0"),
        ("threads", "257"),
        ("threads", "two"),
        ("direct-io", "on"),
        ("umask", "8"),
        ("umask", "1000"),
        ("umask", "0x7"),
        ("uid", "root"),
        ("uid", "4294967295"),
        ("gid", "-1"),
    ] {
        let long = [&format!("--{option}={value}"), "run.rab", "mnt"];
        site.exits(2, &long, &[&format!("'{value}'"), &format!("--{option}")]);
        for name in [option.to_owned(), option.replace('-', "_")] {
            let list = format!("{name}={value}");
            site.exits(2, &["-o", &list, "run.rab", "mnt"], &[&format!("-o {list}: ")]);
        }
        assert!(!site.join("mnt").exists());
    }
}

#[test]
fn help_and_version() {
    let site = Site::new();
    let version = site.ok(&["--version"]).out;
    assert_eq!(version, format!("rab-mount {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(site.ok(&["-V"]).out, version);
    let (short, long) = (site.ok(&["-h"]), site.ok(&["--help"]));
    for outcome in [&short, &long] {
        assert!(outcome.out.contains("Usage: rab-mount [OPTIONS] SOURCE... [MOUNTPOINT]"), "{outcome:?}");
        assert!(outcome.out.contains("--cache-size <SIZE>") && outcome.err.is_empty(), "{outcome:?}");
    }
    assert!(long.out.contains("Exit codes:") && !short.out.contains("Exit codes:"));
}

// Options.

#[test]
fn options_of_other_mounts_are_accepted_without_effect() {
    let site = Site::new();
    for list in [
        "rw,dev,suid,exec,auto,user,nofail,_netdev,defaults,x-systemd.automount,x-initrd.mount=1",
        "ro,noauto,users,x-,,",
        "",
    ] {
        site.ok(&["-o", list, "run.rab", "mnt"]);
        let line = site.line("mnt");
        assert!(["ro", "nosuid", "nodev"].iter().all(|option| line.has(option)), "{list}: {line:?}");
        assert!(!line.has("noexec"), "{line:?}");
        site.ok(&["-u", "mnt"]);
    }
}

/// What options change, in words.
fn effects(site: &Site) -> String {
    let line = site.line("mnt");
    let (options, inner) = (line.options.join(" "), line.inner_options.join(" "));
    let owner = site.sh("stat -c 'mode %a, uid %u, gid %g' mnt/small");
    let pid = site.daemon();
    let threads = names(std::path::Path::new(&format!("/proc/{pid}/task"))).into_iter();
    let called = threads.filter_map(|id| std::fs::read_to_string(format!("/proc/{pid}/task/{id}/comm")).ok());
    // They are numbered; another one waits for their end.
    let threads =
        called.filter(|name| name.trim_start_matches("fuser-").starts_with(char::is_numeric)).count();
    let helpers = site.processes().len() - 1;
    let log = std::fs::read_to_string(site.join("log")).unwrap_or_default();
    format!(
        "{options} | {inner} | source {} | {owner} | {threads} threads, {helpers} helpers | {log}",
        line.source
    )
}

#[test]
fn an_option_in_a_list_does_what_the_long_one_does() {
    let site = Site::new();
    let mount_with = |arguments: &[&str], effect: &str| {
        let _ = std::fs::remove_file(site.join("log"));
        site.ok(&[arguments, &["run.rab", "mnt"]].concat());
        // A line in the log may come a moment after the command has returned.
        eventually(&format!("{arguments:?} has the effect {effect:?}"), || effects(&site).contains(effect));
        let seen = effects(&site);
        site.ok(&["-u", "mnt"]);
        eventually("no helper is left", || site.left().is_empty());
        seen
    };
    let without = mount_with(&[], "2 threads");
    for (option, effect) in [
        ("noexec", "noexec"),
        ("allow-other", "allow_other"),
        ("allow-root", "mode 400"),
        ("allow-root", "allow_other"),
        ("auto-unmount", "1 helpers"),
        ("auto-unmount", "mode 400"),
        ("uid=12", "uid 12,"),
        ("gid=34", "gid 34\n"),
        ("umask=027", "mode 440"),
        ("fsname=a=b", "source a=b "),
        ("threads=5", "5 threads"),
        ("threads=1", " 1 threads"),
        ("log-file=log,verbose", "mounted, 4 datasets"),
    ] {
        if me() != 0 && (option.starts_with("allow") || option.starts_with("auto")) {
            continue;
        }
        assert!(!without.contains(effect), "{option} could not be distinguished from none: {without}");
        let long: Vec<String> = option.split(',').map(|option| format!("--{option}")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let dashes = format!("ro,{option},defaults");
        let underscores = dashes.replace('-', "_");
        for arguments in [&long[..], &["-o", &dashes], &["-o", &underscores], &["-oro", "-o", &dashes]] {
            mount_with(arguments, effect);
        }
    }
    assert_eq!(site.left(), "");
}

#[test]
fn the_long_option_wins_and_of_two_in_lists_the_later() {
    let site = Site::new();
    site.ok(&["--uid=5", "-o", "uid=6,gid=7", "-o", "gid=8,fsname=x", "--fsname", "y", "run.rab", "mnt"]);
    assert_eq!(site.sh("stat -c '%u %g' mnt/small"), "5 8\n");
    assert_eq!(site.line("mnt").source, "y");
}

#[test]
fn the_foreground_can_be_asked_for_in_a_list() {
    let site = Site::new();
    let running = site.start(&mut site.program(&["-o", "ro,foreground", "run.rab", "mnt"]));
    eventually("it is mounted", || !site.table().is_empty());
    running.signal(Signal::SIGTERM);
    assert_eq!(running.end().code, 0);
    assert_eq!(site.left(), "");
}

#[test]
fn sizes_have_suffixes() {
    let site = Site::new();
    for size in ["0", "1", "3000000", "64K", "64k", "8M", "8m", "1G", "1g", "1T", "1t"] {
        let list = format!("cache-size={size}");
        for arguments in [&["--cache-size", size], &["-o", &list]] {
            let outcome =
                site.ok(&[arguments, &["run.rab", "--", "cmp", "{}/small", "{}/dir/inner"][..]].concat());
            assert_eq!(outcome.err, "", "{arguments:?}");
        }
    }
}

// The mount table.

#[test]
fn the_mount_table_shows_what_is_mounted_and_how() {
    let site = Site::new();
    site.sh("mkdir -p data && ln -s data link && ln -s ../run.rab data/named.rab");
    for (arguments, source) in [
        (&["run.rab", "mnt"][..], "run.rab"),
        (&["data/../run.rab", "mnt"], "run.rab"),
        // The directory's symbolic links are followed, and the file keeps the name that it was given.
        (&["./link/named.rab", "mnt"], "data/named.rab"),
    ] {
        site.ok(arguments);
        let line = site.line("mnt");
        assert_eq!(line.source, site.join(source).to_str().unwrap(), "{arguments:?}");
        assert!(["ro", "nosuid", "nodev"].iter().all(|option| line.has(option)), "{line:?}");
        assert!(!line.has("noexec"), "{line:?}");
        let inner: Vec<&str> = line.inner_options.iter().map(String::as_str).collect();
        assert!(inner.contains(&"ro") && inner.contains(&"default_permissions"), "{inner:?}");
        assert!(inner.contains(&format!("user_id={}", me()).as_str()), "{inner:?}");
        assert!(!inner.contains(&"allow_other"), "{inner:?}");
        site.ok(&["-u", "mnt"]);
    }
    let found = "findmnt -n -t fuse.rab-mount -o SOURCE,FSTYPE,TARGET --raw mnt";
    site.ok(&["--fsname", "lab data", "run.rab", "mnt"]);
    let mnt = site.join("mnt");
    assert_eq!(site.sh(found), format!("lab\\x20data fuse.rab-mount {}\n", mnt.display()));
}

const ODD_NAMES: [&str; 7] =
    ["a b.rab", "a,b.rab", "a\\b.rab", "a\\,b.rab", "a=b,c d.rab", "#é漢字.rab", "tab\tand\nline.rab"];

#[test]
fn names_with_spaces_and_commas_are_in_the_mount_table_as_they_are() {
    let site = Site::new();
    for name in ODD_NAMES {
        std::fs::copy(site.join("run.rab"), site.join(name)).unwrap();
        let directory = name.strip_suffix(".rab").unwrap();
        // With auto_unmount, fusermount3 does the mounting, and it parses a list separated by commas.
        for options in [&[][..], &["--auto-unmount"]] {
            if me() != 0 && !options.is_empty() {
                continue;
            }
            site.ok(&[options, &[name]].concat());
            let line = site.line(directory);
            assert_eq!(line.source, site.join(name).to_str().unwrap(), "{options:?}");
            assert_eq!(std::fs::read(site.join(directory).join("small")).unwrap(), b"small");
            eventually("it is unmounted", || run(&mut site.program(&["-u", directory])).code == 0);
            assert!(!site.join(directory).exists());
            eventually("no helper is left", || site.left().is_empty());
        }
    }
}

#[test]
fn a_name_for_the_mount_table_may_hold_commas() {
    let site = Site::new();
    for (arguments, name) in [
        (["--fsname", r"a,b c\d"], r"a,b c\d"),
        (["-o", r"fsname=a\,b c\\d,noexec"], r"a,b c\d"),
        (["-o", r"auto_unmount,fsname=a\,b c\\d"], r"a,b c\d"),
    ] {
        if me() == 0 || !arguments[1].contains("auto") {
            site.ok(&[&arguments, &["run.rab", "mnt"][..]].concat());
            assert_eq!(site.line("mnt").source, name, "{arguments:?}");
            site.ok(&["-u", "mnt"]);
        }
    }
}

// What cannot be mounted on.

#[test]
fn an_unusable_mountpoint_is_refused_with_the_reason() {
    let site = Site::new();
    site.sh("mkdir -p full/x data; cp run.rab data/stem.rab; touch file stem; mkfifo pipe; ln -s nowhere dangling");
    let before = site.sh("find . | sort");
    for (arguments, why) in [
        (&["run.rab", "full"][..], "full: is not empty"),
        (&["run.rab", "pipe"], "pipe: is not a directory"),
        (&["data/stem.rab"], "stem: is not a directory"),
        (&["run.rab", "no/mnt"], "no/mnt: its parent directory does not exist"),
        (&["run.rab", "file/mnt"], "file/mnt: its parent is not a directory"),
        (&["run.rab", "dangling"], "dangling: is a symbolic link that leads nowhere"),
        (&["run.rab", "/"], "/: is not empty"),
        (&["run.rab", "/proc/mnt"], "/proc/mnt: "),
    ] {
        for mode in [&[][..], &["-f"]] {
            let outcome = site.exits(20, &[mode, arguments].concat(), &[why]);
            assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
        }
    }
    assert_eq!(site.sh("find . | sort"), before);
    assert_eq!(site.left(), "");
}

#[test]
fn a_directory_that_is_not_empty_is_hidden_if_asked_for() {
    let site = Site::new();
    site.sh("mkdir full && touch full/x");
    for arguments in [["--nonempty", "-oro"], ["-o", "nonempty"]] {
        site.ok(&[&arguments, &["run.rab", "full"][..]].concat());
        assert_eq!(site.sh("cat full/small; ls full | grep -c x || :"), "small0\n");
        site.ok(&["-u", "full"]);
        assert_eq!(names(&site.join("full")), ["x"]);
    }
    assert_eq!(site.left(), "");
}

#[test]
fn a_mountpoint_in_a_read_only_directory_is_not_created() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    site.sh("mkdir ro && mount -t tmpfs tmpfs ro && mkdir ro/there && mount -o remount,ro ro");
    site.exits(20, &["run.rab", "ro/mnt"], &["ro/mnt: does not exist, and the file system is read-only"]);
    site.ok(&["run.rab", "ro/there"]);
    site.ok(&["-u", "ro/there"]);
    // Our own mounts are such directories, too.
    site.ok(&["run.rab", "mnt"]);
    site.exits(20, &["run.rab", "mnt/new"], &["mnt/new: does not exist, and the file system is read-only"]);
    site.ok(&["--nonempty", "run.rab", "mnt/dir"]);
    assert_eq!(site.sh("cat mnt/dir/dir/inner"), "small");
    site.ok(&["-u", "mnt/dir"]);
    site.ok(&["-u", "mnt"]);
    assert_eq!(site.left(), "");
}

// Machines without FUSE.

#[test]
fn without_fuse_the_message_names_what_to_load() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    let refused = |fragments: &[&str]| {
        for arguments in [&["run.rab", "mnt"][..], &["-f", "run.rab", "mnt"], &["run.rab", "--", "true"]] {
            let outcome = site.exits(21, arguments, fragments);
            assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
            assert!(!site.join("mnt").exists());
            assert_eq!(site.left(), "");
        }
    };
    site.ok(&["run.rab", "--", "true"]);
    site.sh("rm /dev/fuse");
    refused(&["FUSE is not available", "'modprobe fuse'", "--device /dev/fuse --cap-add SYS_ADMIN"]);
    // A device file without a driver.
    site.sh("mknod /dev/fuse c 10 250");
    refused(&["FUSE is not available", "'modprobe fuse'", "rab get and rab unpack read the same data"]);
    site.sh("rm /dev/fuse && cp -a /dev/null /dev/fuse");
    refused(&["FUSE refuses to mount on", "--cap-add SYS_ADMIN"]);
    site.sh("rm /dev/fuse && mknod -m 666 /dev/fuse c 10 229");
    site.ok(&["run.rab", "--", "true"]);
}

#[test]
fn a_process_that_may_not_mount_gets_that_reason() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    let mut command = site.command("setpriv");
    command.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", PROGRAM, "run.rab", "mnt"]);
    let outcome = run(&mut command);
    assert_eq!(outcome.code, 21, "{outcome:?}");
    assert!(outcome.err.contains("--cap-add SYS_ADMIN"), "{outcome:?}");
    assert!(!site.join("mnt").exists());
    assert_eq!(site.left(), "");
}

#[test]
fn auto_unmount_without_fusermount3_names_what_to_install() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    site.sh("for name in fusermount3 fusermount; do while path=$(command -v $name) && [ -f $path ]; do \
             mount --bind /dev/null $(readlink -f $path); done; done");
    site.exits(
        21,
        &["--auto-unmount", "run.rab", "mnt"],
        &["auto_unmount needs", "install the package fuse3"],
    );
    assert!(!site.join("mnt").exists());
    site.ok(&["run.rab", "mnt"]);
    site.ok(&["-u", "mnt"]);
}

// mount(8).

/// A machine on which the program is installed; mount(8) looks for it in the usual directories only.
fn installed() -> Site {
    let site = Site::apart();
    site.sh(&format!("mkdir bin && ln -s '{PROGRAM}' bin/rab-mount && mount --bind bin /usr/local/bin"));
    site
}

fn bash(site: &Site, script: &str) -> Outcome {
    run(site.command("bash").args(["-c", script]))
}

#[test]
fn mount_mounts_and_umount_unmounts() {
    if me() != 0 {
        return;
    }
    let site = installed();
    site.sh("mkdir mnt 'a dir'; cp run.rab \"it's one.rab\"");
    for (mount, directory, mode) in [
        ("mount -t fuse.rab-mount run.rab mnt -o defaults,allow_other", "mnt", "444"),
        ("mount -t fuse.rab-mount \"it's one.rab\" 'a dir' -o allow_other,noexec,umask=027", "a dir", "440"),
        ("mount -t fuse.rab-mount -r run.rab mnt", "mnt", "444"),
        (
            "mount -t fuse.rab-mount -o rw,nofail,_netdev,x-a.b=c,user,allow_root $PWD/run.rab mnt",
            "mnt",
            "400",
        ),
    ] {
        let outcome = bash(&site, mount);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{mount}");
        let line = site.line(directory);
        assert!(["ro", "nosuid", "nodev"].iter().all(|option| line.has(option)), "{line:?}");
        assert_eq!(line.inner_options.iter().any(|option| option == "allow_other"), mount.contains("allow"));
        assert_eq!(
            site.sh(&format!("cat '{directory}/small'; stat -c %a '{directory}/small'")),
            format!("small{mode}\n")
        );
        site.sh(&format!("umount '{directory}'"));
        eventually("nothing is left", || site.left().is_empty());
        assert!(site.join(directory).exists());
    }
}

#[test]
fn mount_passes_on_what_is_wrong() {
    if me() != 0 {
        return;
    }
    let site = installed();
    site.sh("mkdir mnt; echo text > text.rab");
    for (code, mount, why) in [
        (2, "mount -t fuse.rab-mount run.rab mnt -o frobnicate", "unknown mount option \"frobnicate\""),
        (10, "mount -t fuse.rab-mount missing.rab mnt", "missing.rab: cannot be opened: No such file"),
        (11, "mount -t fuse.rab-mount text.rab mnt", "text.rab: not a container"),
    ] {
        let outcome = bash(&site, mount);
        assert_eq!((outcome.code, outcome.err.contains(why)), (code, true), "{mount}: {outcome:?}");
        assert_eq!(site.left(), "");
    }
}

#[test]
fn mount_creates_no_mountpoint() {
    if me() != 0 {
        return;
    }
    let site = installed();
    for options in ["", "-r", "-o ro,nodev,nosuid,allow_other", "-o user,noauto"] {
        let outcome = bash(&site, &format!("mount -t fuse.rab-mount run.rab $PWD/typo {options}"));
        assert!(outcome.code == 20 && outcome.err.contains("typo: does not exist"), "{options}: {outcome:?}");
        assert!(!site.join("typo").exists(), "{options}");
        assert_eq!(site.left(), "");
    }
    let outcome = bash(
        &site,
        "mount -t fuse.rab-mount run.rab $PWD/made -o X-mount.mkdir && cat made/small && umount made",
    );
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "small"), "{outcome:?}");
    eventually("nothing is left", || site.left().is_empty());
    // rab-mount itself goes on creating it, with options of mount(8) too.
    for options in ["ro,nosuid,noatime", "nodev,nosuid"] {
        site.ok(&["run.rab", "typo", "-o", options]);
        site.ok(&["-u", "typo"]);
    }
}

#[test]
fn mount_replaces_a_dead_mount_and_keeps_its_directory() {
    if me() != 0 {
        return;
    }
    let site = installed();
    site.ok(&["run.rab", "mnt"]);
    site.signal(Signal::SIGKILL);
    eventually("it is dead", || site.processes().is_empty());
    let outcome = bash(&site, "mount -t fuse.rab-mount run.rab mnt && cat mnt/small && umount mnt");
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "small"), "{outcome:?}");
    eventually("nothing is left", || site.left().is_empty());
    assert!(site.join("mnt").exists());
}

#[test]
fn a_line_in_fstab_mounts() {
    if me() != 0 {
        return;
    }
    let site = installed();
    let here = site.path.display();
    let fstab = format!(
        "{here}/run.rab {here}/mnt fuse.rab-mount defaults,allow_other 0 0\n\
         {here}/a\\040b.rab {here}/x\\040y fuse.rab-mount noauto,nofail,user,_netdev,allow_other,cache_size=8M 0 0\n"
    );
    std::fs::write(site.join("fstab"), fstab).unwrap();
    site.sh("mkdir mnt 'x y'; cp run.rab 'a b.rab'");
    for directory in ["mnt", "x y"] {
        let outcome = bash(&site, &format!("mount -T fstab \"$PWD/{directory}\""));
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{directory}");
        assert!(site.line(directory).inner_options.iter().any(|option| option == "allow_other"));
        assert_eq!(site.sh(&format!("cat '{directory}/small'")), "small");
        site.sh(&format!("umount '{directory}'"));
        eventually("nothing is left", || site.left().is_empty());
    }
    // As at boot.
    let outcome = bash(&site, "mount -T fstab -a -t fuse.rab-mount");
    assert_eq!((outcome.code, site.table().len()), (0, 1), "{outcome:?}");
    site.sh("umount mnt");
    eventually("nothing is left", || site.left().is_empty());
}

// The log.

const COMPLAINT: &str = "dataset \"broken\": at byte";

fn read_broken(site: &Site) {
    site.sh("if cat mnt/broken 2> /dev/null; then exit 1; fi");
}

fn mode_of(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn the_log_file_gets_the_warnings_of_the_daemon() {
    let site = Site::new();
    site.sh("echo earlier > log");
    for directory in ["mnt", "other"] {
        site.ok(&["--log-file", "log", "run.rab", directory]);
    }
    read_broken(&site);
    let log = std::fs::read_to_string(site.join("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "earlier"), "{log}");
    assert!(lines[1].contains("rab-mount[") && lines[1].contains("]: error: "), "{log}");
    assert!(lines[1].contains("run.rab") && lines[1].contains(COMPLAINT), "{log}");
    assert!(!site.join("state").exists(), "it is logged twice");
}

#[test]
fn in_the_foreground_the_log_is_on_stderr() {
    for options in [&["-f", "run.rab", "mnt"][..], &["-f", "--log-file", "log", "run.rab", "mnt"]] {
        let site = Site::new();
        let running = site.start(&mut site.program(options));
        eventually("it is mounted", || !site.table().is_empty());
        read_broken(&site);
        running.signal(Signal::SIGTERM);
        let outcome = running.end();
        assert!(
            outcome.err.starts_with("rab-mount: error: ") && outcome.err.contains(COMPLAINT),
            "{outcome:?}"
        );
        let log = std::fs::read_to_string(site.join("log")).unwrap_or_default();
        assert_eq!(log.contains(COMPLAINT), options.len() > 3, "{log}");
    }
}

#[test]
fn verbose_says_more() {
    for (options, speaks) in [(&[][..], false), (&["-v"], true), (&["-vv"], true)] {
        let site = Site::new();
        site.ok(&[options, &["--log-file", "log", "run.rab", "mnt"]].concat());
        site.ok(&["-u", "mnt"]);
        let log = std::fs::read_to_string(site.join("log")).unwrap_or_default();
        assert_eq!(log.contains("mnt: mounted, 4 datasets"), speaks, "{options:?}: {log}");
        assert_eq!(log.contains("mnt: unmounted"), speaks, "{options:?}: {log}");
        assert_eq!(log.is_empty(), !speaks, "{options:?}: {log}");
    }
}

#[test]
fn a_log_file_that_cannot_be_opened_is_reported_at_once() {
    let site = Site::new();
    for log in ["no/such/log", "tmp"] {
        let why = format!("/{log}: the log file cannot be opened");
        site.exits(1, &["--log-file", log, "run.rab", "mnt"], &[&why]);
        assert!(!site.join("mnt").exists());
    }
}

#[test]
fn without_syslog_warnings_are_in_the_state_directory() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    for (variable, log) in [("XDG_STATE_HOME", "state/rab-mount.log"), ("HOME", ".local/state/rab-mount.log")]
    {
        let value = if variable == "HOME" { site.path.clone() } else { site.join("state") };
        let mut command = site.program(&["run.rab", "mnt"]);
        let outcome = run(command.env_remove("XDG_STATE_HOME").env(variable, value));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        read_broken(&site);
        let path = site.join(log);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text.contains("]: error: ") && text.contains(COMPLAINT), "{variable}: {text}");
        assert_eq!((text.lines().count(), mode_of(&path)), (1, 0o600));
        site.ok(&["-u", "mnt"]);
    }
}

#[test]
fn with_syslog_warnings_go_there() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    let socket = UnixDatagram::bind(site.join("socket")).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    site.sh(r#"ln -s "$PWD/socket" /dev/log"#);
    site.ok(&["run.rab", "mnt"]);
    read_broken(&site);
    let mut line = [0; 4096];
    let length = socket.recv(&mut line).expect("a line in the syslog");
    let line = String::from_utf8_lossy(&line[..length]);
    let daemon = site.daemon();
    assert!(
        line.starts_with(&format!("<27>rab-mount[{daemon}]: error: ")) && line.contains(COMPLAINT),
        "{line}"
    );
    assert!(!site.join("state").exists(), "it is logged twice: {line}");
}
