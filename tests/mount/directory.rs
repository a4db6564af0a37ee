//! Directories of containers, and several sources: what is shown of them, what changes underneath, and what that
//! takes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::kit::*;

/// A container with the datasets `a` (bytes) and `dir/b` (as many of them).
fn container(path: &Path, a: &[u8]) {
    let at = |offset, name| bytes_entry(name, offset, a.len() as u64);
    let header = format!("\n{}{}\n", at(0, "a"), at(a.len() as u64, "dir/b"));
    write_rab(path, &header, &[a, a].concat());
}

/// `run.rab`, `notes.txt`, `rabbits` (a text), `empty.rab`, `cut.rab`, `sub/inner.rab`, `sub/deep/x.dat`.
fn mixed() -> TempDir {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("sub/deep")).unwrap();
    container(&at("run.rab"), b"one");
    container(&at("sub/inner.rab"), b"inside");
    container(&at("sub/deep/x.dat"), b"no extension");
    fs::write(at("notes.txt"), "notes\n").unwrap();
    fs::write(at("rabbits"), "rabbits are nice\n").unwrap();
    fs::write(at("empty.rab"), "").unwrap();
    fs::write(at("cut.rab"), &fs::read(data("readme.rab")).unwrap()[..100]).unwrap();
    dir
}

fn all(mount: &Mount) -> BTreeSet<String> {
    let found = sh(r#"cd "$1" && find . -mindepth 1 -printf '%y %P\0'"#, &[&mount.path]);
    found.split_terminator('\0').filter(|line| !line.contains(".meta.yaml")).map(str::to_owned).collect()
}

fn set(lines: &[&str]) -> BTreeSet<String> {
    lines.iter().map(|line| line.to_string()).collect()
}

#[test]
fn containers_are_directories_and_other_files_themselves() {
    let dir = mixed();
    let mount = Mount::new(dir.path());
    let want = set(&[
        "d cut.rab",
        "f cut.rab/ERROR.txt",
        "f empty.rab",
        "f notes.txt",
        "f rabbits",
        "d run.rab",
        "f run.rab/a",
        "d run.rab/dir",
        "f run.rab/dir/b",
        "d sub",
        "d sub/deep",
        "d sub/deep/x.dat",
        "f sub/deep/x.dat/a",
        "d sub/deep/x.dat/dir",
        "f sub/deep/x.dat/dir/b",
        "d sub/inner.rab",
        "f sub/inner.rab/a",
        "d sub/inner.rab/dir",
        "f sub/inner.rab/dir/b",
    ]);
    assert_eq!(all(&mount), want);
    assert_eq!(mount.read("run.rab/a").unwrap(), b"one");
    assert_eq!(mount.read("sub/deep/x.dat/dir/b").unwrap(), b"no extension");
    assert_eq!(mount.read("notes.txt").unwrap(), b"notes\n");
    assert_eq!(mount.read("rabbits").unwrap(), b"rabbits are nice\n");
    assert_eq!(mount.read("empty.rab").unwrap(), b"");
    let why = String::from_utf8(mount.read("cut.rab/ERROR.txt").unwrap()).unwrap();
    assert!(why.contains("cut.rab: the header ends at byte 1672, but the file has 100"), "{why}");
    assert!(mount.log().contains("cut.rab: the header ends"), "{}", mount.log());
    assert!(mount.read("run.rab/none").is_err() && mount.read("none").is_err());
}

#[test]
fn what_can_be_read_of_a_damaged_container_stands_beside_the_error() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let entries = [bytes_entry("good", 0, 3), "- metadata: null\n".into(), bytes_entry("ERROR.txt", 3, 4)];
    write_rab(&path, &format!("\n{}\n", entries.concat()), b"onefour");
    let mount = Mount::new(dir.path());
    assert_eq!(mount.read("x.rab/good").unwrap(), b"one");
    assert_eq!(mount.read("x.rab/ERROR.txt").unwrap(), b"four");
    let why = String::from_utf8(mount.read("x.rab/ERROR.txt~2").unwrap()).unwrap();
    assert!(why.contains("entry 2 of the header") && why.contains("has no name"), "{why}");
    let names = names(&mount.join("x.rab"));
    assert_eq!(names, ["ERROR.txt", "ERROR.txt.meta.yaml", "ERROR.txt~2", "good", "good.meta.yaml"]);

    // Cut in the middle of an entry, the header ends there.
    let text = format!("\n{}- codecMeta: {{unfinished\n", bytes_entry("good", 0, 3));
    write_rab(&path, &text, b"one");
    eventually("the container is opened anew", || {
        mount.read("x.rab/good").is_ok_and(|bytes| bytes == b"one") && mount.join("x.rab/ERROR.txt").is_file()
    });
    assert!(mount.join("x.rab/ERROR.txt").is_file());
}

#[test]
fn every_sample_in_a_directory_is_as_mounted_by_itself() {
    let dir = scratch();
    let samples: Vec<PathBuf> = ["names", "metadata", "types", "gzip", "orders", "dataframe", "empty_arrays"]
        .map(|name| data(&format!("{name}.rab")))
        .into();
    for sample in &samples {
        fs::copy(sample, dir.path().join(sample.file_name().unwrap())).unwrap();
    }
    let mount = Mount::with(dir.path(), &["--max-open", "2"]);
    for sample in &samples {
        let alone = Mount::new(sample);
        let here = mount.join(sample.file_name().unwrap());
        sh(r#"diff -r --no-dereference "$1" "$2""#, &[&alone.path, &here]);
    }
}

#[test]
fn attributes_are_those_on_disk() {
    let dir = mixed();
    let at = |name: &str| dir.path().join(name);
    fs::set_permissions(at("notes.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(at("run.rab"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(at("sub"), fs::Permissions::from_mode(0o750)).unwrap();
    let mount = Mount::new(dir.path());
    let mode = |name: &str| fs::metadata(mount.join(name)).unwrap().mode() & 0o7777;
    assert_eq!(
        [mode("notes.txt"), mode("sub"), mode("run.rab"), mode("run.rab/a")],
        [0o440, 0o750, 0o700, 0o400]
    );
    let (disk, here) =
        (fs::metadata(at("notes.txt")).unwrap(), fs::metadata(mount.join("notes.txt")).unwrap());
    assert_eq!((disk.len(), disk.mtime(), disk.mtime_nsec()), (here.len(), here.mtime(), here.mtime_nsec()));
    let inner = fs::metadata(mount.join("run.rab/a")).unwrap();
    assert_eq!(inner.mtime_nsec(), fs::metadata(at("run.rab")).unwrap().mtime_nsec());
    assert!(fs::write(mount.join("new"), "x").unwrap_err().raw_os_error() == Some(libc::EROFS));
    // Numbers are unique, and a listing gives the same as a stat.
    let found = sh(r#"cd "$1" && find . -printf '%i\n' | sort | uniq -d"#, &[&mount.path]);
    assert_eq!(found, "");
    let listed = sh(r#"cd "$1" && ls -iU | sort"#, &[&mount.path]);
    let stated = sh(r#"cd "$1" && for f in *; do stat -c '%i %n' "$f"; done | sort"#, &[&mount.path]);
    let trimmed = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(trimmed(&listed), trimmed(&stated));
}

#[test]
fn links_inside_are_followed_and_others_are_shown() {
    let dir = mixed();
    let at = |name: &str| dir.path().join(name);
    let outside = scratch();
    container(&outside.path().join("out.rab"), b"outside");
    symlink("../run.rab", at("sub/to-run.rab")).unwrap();
    symlink("deep", at("sub/to-deep")).unwrap();
    symlink("..", at("sub/deep/up")).unwrap();
    symlink(outside.path().join("out.rab"), at("out.rab")).unwrap();
    symlink(outside.path(), at("outside")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("loop", at("loop")).unwrap();
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();

    let mount = Mount::new(dir.path());
    assert_eq!(mount.read("sub/to-run.rab/a").unwrap(), b"one");
    assert_eq!(mount.read("sub/to-deep/x.dat/a").unwrap(), b"no extension");
    let target = |name: &str| fs::read_link(mount.join(name)).map(|path| path.display().to_string());
    assert_eq!(target("out.rab").unwrap(), outside.path().join("out.rab").display().to_string());
    assert_eq!(target("sub/deep/up").unwrap(), "..");
    assert_eq!((target("dangling").unwrap(), target("loop").unwrap()), ("nowhere".into(), "loop".into()));
    assert!(target("sub/to-deep").is_err() && !mount.names().contains(&"pipe".to_owned()));
    assert!(fs::symlink_metadata(mount.join("pipe")).is_err());
    assert_eq!(fs::symlink_metadata(mount.join("dangling")).unwrap().len(), "nowhere".len() as u64);
    let found = sh(r#"timeout 20 find "$1" -printf '%P\n'"#, &[&mount.path]);
    assert!(found.lines().all(|path| path.split('/').count() < 6), "{found}");

    let mount = Mount::with(dir.path(), &["--follow-outside"]);
    assert_eq!(mount.read("out.rab/a").unwrap(), b"outside");
    assert_eq!(mount.read("outside/out.rab/dir/b").unwrap(), b"outside");
    assert!(fs::read_link(mount.join("sub/deep/up")).is_ok());
}

#[test]
fn what_is_shown_can_be_chosen() {
    let dir = mixed();
    container(&dir.path().join("twin.rab"), b"rab");
    fs::write(dir.path().join("twin"), "text").unwrap();
    let shown = |options: &[&str]| all(&Mount::with(dir.path(), options));
    let top = |lines: &BTreeSet<String>| {
        lines.iter().filter(|line| !line.contains('/')).map(|line| line[2..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(top(&shown(&["--only-containers"])), ["cut.rab", "run.rab", "sub", "twin.rab"]);
    assert_eq!(
        top(&shown(&["--strip-ext"])),
        ["cut", "run", "sub", "twin.rab", "empty.rab", "notes.txt", "rabbits", "twin"]
    );
    assert!(shown(&["--strip-ext"]).contains("f sub/inner/dir/b"));
    assert!(
        !shown(&["--max-depth", "2"]).contains("d sub/deep")
            && shown(&["--max-depth", "2"]).contains("d sub")
    );
    assert!(!shown(&["-o", "max_depth=1"]).contains("d sub"));
    assert_eq!(
        top(&shown(&["--include", "*.rab", "--exclude", "sub"])),
        ["cut.rab", "run.rab", "twin.rab", "empty.rab"]
    );
    let no_inner = shown(&["--exclude=sub/*.rab", "-o", "exclude=twin*"]);
    assert!(
        !no_inner.contains("d sub/inner.rab")
            && !no_inner.contains("f twin")
            && no_inner.contains("d sub/deep/x.dat")
    );
    assert!(shown(&["--format", "rab"]).contains("d run.rab"));
    let outcome = run(program().args(["--format", "nonsense"]).arg(dir.path()));
    assert!(outcome.code == 2 && outcome.err.contains("\"nonsense\" is not a known format: "), "{outcome:?}");
    let outcome = run(program().args(["--include", "[a"]).arg(dir.path()));
    assert!(outcome.code == 2 && outcome.err.contains("[a"), "{outcome:?}");
}

#[test]
fn a_mountpoint_inside_of_the_source_is_refused() {
    let dir = mixed();
    for place in ["sub/deep", "sub/new", "."] {
        let outcome = run(program().arg(dir.path()).arg(dir.path().join(place)));
        assert!(outcome.code == 20 && outcome.err.contains(", the source"), "{place}: {outcome:?}");
    }
}

#[test]
fn several_sources_are_side_by_side() {
    let (one, two) = (mixed(), mixed());
    container(&two.path().join("run.rab"), b"two");
    let (scratch, point) = (scratch(), "m");
    let point = scratch.path().join(point);
    let sources = [one.path().join("run.rab"), two.path().join("run.rab"), two.path().join("sub")];
    sh(r#""$@""#, &[&env!("CARGO_BIN_EXE_rab-mount"), &sources[0], &sources[1], &sources[2], &point]);
    let read = |name: &str| fs::read(point.join(name)).unwrap();
    let names = names(&point);
    let contents = (read("run.rab/a"), read("run.rab~2/a"), read("sub/inner.rab/a"));
    let missing = fs::read(point.join("run.rab~3")).is_err();
    sh(r#""$1" -u "$2""#, &[&env!("CARGO_BIN_EXE_rab-mount"), &point]);
    assert_eq!(names, ["run.rab", "run.rab~2", "sub"]);
    assert_eq!(contents, (b"one".into(), b"two".into(), b"inside".into()));
    assert!(missing);
    let outcome = run(program().arg(&sources[0]).arg(one.path().join("notes.txt")).arg(&point));
    assert!(outcome.code == 11 && outcome.err.contains("notes.txt"), "{outcome:?}");
    let outcome = run(program().arg(&sources[0]).arg(one.path().join("none.rab")).arg(&point));
    assert!(outcome.code == 10 && outcome.err.contains("none.rab"), "{outcome:?}");
}

#[test]
fn a_union_shows_the_later_of_two_and_merges_directories() {
    let (one, two) = (mixed(), mixed());
    fs::write(two.path().join("notes.txt"), "later\n").unwrap();
    fs::write(two.path().join("sub/own"), "own").unwrap();
    fs::remove_file(two.path().join("sub/inner.rab")).unwrap();
    fs::remove_file(two.path().join("rabbits")).unwrap();
    fs::create_dir(two.path().join("rabbits")).unwrap();
    let scratch = scratch();
    let (point, log) = (scratch.path().join("m"), scratch.path().join("log"));
    let arguments: [&dyn AsRef<std::ffi::OsStr>; 4] = [&one.path(), &two.path(), &point, &log];
    let program = env!("CARGO_BIN_EXE_rab-mount");
    sh(&format!(r#"{program} --union --log-file "$4" "$1" "$2" "$3""#), &arguments);
    let found = sh(
        r#"cd "$1" && find . -mindepth 1 -printf '%y %P\n' | grep -v meta.yaml | LC_ALL=C sort"#,
        &[&point],
    );
    let doubled = sh(r#"cd "$1" && find . | sort | uniq -d"#, &[&point]);
    let read = |name: &str| String::from_utf8(fs::read(point.join(name)).unwrap()).unwrap();
    let contents = [read("notes.txt"), read("sub/own"), read("sub/inner.rab/a"), read("sub/deep/x.dat/a")];
    let up = sh(r#"cd "$1/sub/deep/.." && ls"#, &[&point]);
    sh(r#""$1" -u "$2""#, &[&program, &point]);
    for line in
        ["d rabbits", "d run.rab/dir", "d sub/deep/x.dat", "d sub/inner.rab", "f notes.txt", "f sub/own"]
    {
        assert!(found.lines().any(|other| other == line), "{line}: {found}");
    }
    assert_eq!(contents, ["later\n", "own", "inside", "no extension"]);
    assert_eq!((doubled.as_str(), up.lines().count()), ("", 3));
    let log = fs::read_to_string(log).unwrap();
    let first = one.path().display();
    assert!(log.contains(&format!("{first}: \"notes.txt\" is hidden by that of a later source")), "{log}");
}

#[test]
fn changes_on_disk_show() {
    let dir = mixed();
    let at = |name: &str| dir.path().join(name);
    for refresh in ["0", "0.2"] {
        let mount = Mount::with(dir.path(), &["--refresh", refresh]);
        let names = mount.names();
        assert!(mount.read("new.rab/a").is_err() && mount.read("new.txt").is_err());
        container(&at("new.rab"), b"new");
        fs::write(at("new.txt"), "new").unwrap();
        // No look-up that found nothing is remembered.
        assert_eq!(mount.read("new.rab/a").unwrap(), b"new");
        assert_eq!(mount.read("new.txt").unwrap(), b"new");
        eventually("the listing has them", || mount.names().len() == names.len() + 2);

        // Replaced by rename, overwritten in place, and grown.
        container(&at("other"), b"replaced");
        fs::rename(at("other"), at("new.rab")).unwrap();
        fs::write(at("new.txt"), "longer than before").unwrap();
        eventually("the new content", || {
            mount.read("new.rab/a").is_ok_and(|bytes| bytes == b"replaced")
                && mount.read("new.txt").is_ok_and(|bytes| bytes == b"longer than before")
        });
        std::thread::sleep(std::time::Duration::from_millis(20));
        container(&at("new.rab"), b"in place");
        eventually("the container is opened anew", || {
            mount.read("new.rab/a").is_ok_and(|bytes| bytes == b"in place")
        });

        // What was a container becomes a file, a file a directory.
        fs::write(at("new.rab"), "a text now").unwrap();
        fs::remove_file(at("new.txt")).unwrap();
        fs::create_dir(at("new.txt")).unwrap();
        eventually("they are what they are", || {
            mount.read("new.rab").is_ok_and(|bytes| bytes == b"a text now") && mount.join("new.txt").is_dir()
        });
        fs::remove_file(at("new.rab")).unwrap();
        fs::remove_dir(at("new.txt")).unwrap();
        eventually("they are gone", || mount.read("new.rab").is_err() && mount.names() == names);
    }
}

#[test]
fn changes_on_disk_show_at_once_where_the_system_tells_them() {
    let dir = mixed();
    let at = |name: &str| dir.path().join(name);
    let mount = Mount::with(dir.path(), &["--refresh", "3600"]);
    assert_eq!(mount.read("notes.txt").unwrap(), b"notes\n");
    assert_eq!(mount.read("sub/inner.rab/a").unwrap(), b"inside");
    let names = mount.names();
    fs::write(at("notes.txt"), "other notes").unwrap();
    container(&at("other"), b"replaced");
    fs::rename(at("other"), at("sub/inner.rab")).unwrap();
    fs::write(at("new"), "new").unwrap();
    eventually("the new content", || {
        mount.read("notes.txt").is_ok_and(|bytes| bytes == b"other notes")
            && mount.read("sub/inner.rab/a").is_ok_and(|bytes| bytes == b"replaced")
            && mount.names().len() == names.len() + 1
    });
    fs::remove_file(at("new")).unwrap();
    eventually("it is gone", || mount.read("new").is_err() && mount.names() == names);
}

#[test]
fn an_open_file_keeps_its_content() {
    let dir = mixed();
    let at = |name: &str| dir.path().join(name);
    let long = |byte: u8| vec![byte; 1 << 20];
    container(&at("long.rab"), &long(1));
    fs::write(at("long.txt"), long(1)).unwrap();
    let mount = Mount::with(dir.path(), &["--refresh", "0", "--max-open", "4"]);
    let inner = File::open(mount.join("long.rab/a")).unwrap();
    let mut plain = File::open(mount.join("long.txt")).unwrap();
    container(&at("other"), &long(2));
    fs::rename(at("other"), at("long.rab")).unwrap();
    fs::write(at("other"), long(2)).unwrap();
    fs::rename(at("other"), at("long.txt")).unwrap();
    assert_eq!(mount.read("long.rab/a").unwrap()[0], 2);
    assert_eq!(mount.read("long.txt").unwrap()[0], 2);
    let mut bytes = vec![0; 1 << 20];
    inner.read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes == long(1));
    bytes.clear();
    plain.read_to_end(&mut bytes).unwrap();
    assert!(bytes == long(1));
}

#[test]
fn containers_that_come_and_go_under_load_never_give_other_bytes() {
    let dir = scratch();
    let at = |number: usize| dir.path().join(format!("{:03}/{number:04}.rab", number / 100));
    let content = |number: usize, version: u8| {
        let mut bytes = format!("{number:08}").into_bytes();
        bytes.resize(400 + number % 700, version);
        bytes
    };
    for number in 0..2000 {
        fs::create_dir_all(at(number).parent().unwrap()).unwrap();
        container(&at(number), &content(number, 0));
        if number % 10 == 0 {
            fs::write(at(number).with_extension("txt"), content(number, 0)).unwrap();
        }
    }
    let mount = Mount::with(dir.path(), &["--refresh", "0.05", "--max-open", "64"]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut scatter = Scatter(99);
            for version in 1..=60 {
                for _ in 0..20 {
                    let number = scatter.below(2000);
                    let other = dir.path().join("other");
                    container(&other, &content(number, version));
                    fs::rename(&other, at(number)).unwrap();
                    let number = scatter.below(2000);
                    let _ = fs::remove_file(at(number));
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        for reader in 0..6 {
            let (mount, is_over, content) = (&mount, &is_over, &content);
            scope.spawn(move || {
                let mut scatter = Scatter(reader);
                while !is_over.load(Ordering::Relaxed) {
                    let number = scatter.below(2000);
                    let name = format!("{:03}/{number:04}.rab/{}", number / 100, ["a", "dir/b"][number % 2]);
                    let Ok(bytes) = mount.read(&name) else { continue };
                    let version = *bytes.last().unwrap();
                    assert!(version <= 60 && bytes == content(number, version), "{name}");
                }
            });
        }
    });
    // All that is there now is as it is on disk.
    eventually("nothing is old any more", || {
        (0..2000).all(|number| {
            let read = mount.read(format!("{:03}/{number:04}.rab/a", number / 100));
            let there = fs::read(at(number));
            match (read, there) {
                (Ok(read), Ok(there)) => !read.is_empty() && there.ends_with(&read.repeat(2)),
                (Err(_), Err(_)) => true,
                _ => false,
            }
        })
    });
    let open = fs::read_dir(format!("/proc/{}/fd", mount.daemon())).unwrap().count();
    assert!(open < 64 + 40, "{open} descriptors");
}

/// Only root may ask the kernel for it.
#[test]
fn plain_files_are_read_by_the_kernel_itself() {
    use nix::sys::signal::{Signal, kill};
    if me() != 0 {
        return;
    }
    let dir = mixed();
    let long: Vec<u8> = (0..1u32 << 18).flat_map(u32::to_le_bytes).collect();
    fs::write(dir.path().join("long"), &long).unwrap();
    let mount = Mount::new(dir.path());
    let mut files = [1, 2].map(|_| File::open(mount.join("long")).unwrap());
    let daemon = nix::unistd::Pid::from_raw(mount.daemon());
    kill(daemon, Signal::SIGSTOP).unwrap();
    let (done, read) = std::sync::mpsc::channel();
    let len = long.len();
    std::thread::spawn(move || {
        for file in &mut files {
            let mut bytes = vec![0; len];
            let _ = done.send(file.read_exact(&mut bytes).map(|()| bytes));
        }
    });
    // Readers that need the daemon wait until it continues.
    let read = [1, 2].map(|_| read.recv_timeout(std::time::Duration::from_secs(30)));
    kill(daemon, Signal::SIGCONT).unwrap();
    assert!(read.into_iter().all(|bytes| bytes.expect("the daemon was needed").unwrap() == long));
}

#[test]
fn nodes_are_dropped_when_the_kernel_forgets_them() {
    let dir = scratch();
    for number in 0..3000 {
        container(&dir.path().join(format!("{number}.rab")), b"x");
    }
    let mount = Mount::with(dir.path(), &["--max-open", "50"]);
    sh(r#"find "$1" | wc -l"#, &[&mount.path]);
    let inodes = || {
        let shown = sh(r#"stat -f -c %c "$1""#, &[&mount.path]);
        shown.trim().parse::<u64>().unwrap()
    };
    assert!(inodes() > 3000, "{}", inodes());
    if me() != 0 {
        return;
    }
    eventually("they are forgotten", || {
        fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
        inodes() < 100
    });
    assert_eq!(mount.read("77.rab/a").unwrap(), b"x");
}

#[test]
fn only_those_who_may_read_a_container_see_its_datasets() {
    let dir = mixed();
    fs::set_permissions(dir.path().join("run.rab"), fs::Permissions::from_mode(0o000)).unwrap();
    let mount = Mount::new(dir.path());
    let mode = fs::metadata(mount.join("run.rab")).unwrap().mode() & 0o777;
    assert_eq!(mode, 0);
}

/// Many small ones of the formats that keep most beside their files; each is looked into and read of.
#[test]
fn thousands_of_containers_take_little_memory() {
    let sample = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    for name in ["npz/small.npz", "awkward/appended.awkd"] {
        let dir = scratch();
        let (_, extension) = name.rsplit_once('.').unwrap();
        for number in 0..1500 {
            fs::copy(sample(name), dir.path().join(format!("{number:04}.{extension}"))).unwrap();
        }
        let mount = Mount::with(dir.path(), &["--no-index"]);
        sh(r#"find "$1" -type f ! -name things -exec head -qc 1 {} + > "$2""#, &[&mount.path, &"/dev/null"]);
        let status = fs::read_to_string(format!("/proc/{}/status", mount.daemon())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        println!("{name}: {kibibytes} KiB");
        assert!(kibibytes < 96 << 10, "{name}: {kibibytes} KiB");
    }
}
