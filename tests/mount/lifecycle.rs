//! From the first moment of a mount to its last: the daemon, the mountpoint, signals, `-u`, other people's
//! umount, killed daemons, and a command with a mount of its own. Nothing may be left of any of them.
//!
//! Files of a mount are read by child processes unless they are meant to stay open: a file that is open here
//! is for a moment also open in what other tests are just starting.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use crate::kit::*;

const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// `-f`, with no signal ignored, whatever the caller of the tests ignores.
fn foreground(site: &Site, arguments: &[&str]) -> Running {
    let mut command = site.command("env");
    command.args(["--default-signal=INT,HUP,TERM", PROGRAM, "-f", "--log-file", "log"]).args(arguments);
    let running = site.start(&mut command);
    eventually("it is mounted", || !site.state_files().is_empty());
    running
}

fn log(site: &Site) -> String {
    std::fs::read_to_string(site.join("log")).unwrap_or_default()
}

fn is_mounted(site: &Site) -> bool {
    site.table().iter().any(|line| line.fstype == "fuse.rab-mount")
}

#[track_caller]
pub fn nothing_is_left(site: &Site) {
    assert_eq!(site.left(), "");
}

pub fn nothing_is_left_soon(site: &Site) {
    eventually("nothing is left", || site.left().is_empty());
}

// The daemon.

#[test]
fn a_mount_can_be_used_when_the_command_returns() {
    let site = Site::new();
    for _ in 0..5 {
        let seen = site.sh(&format!("'{PROGRAM}' run.rab mnt && cat mnt/small mnt/dir/inner && ls mnt"));
        assert_eq!(
            seen,
            "smallsmallbig\nbig.meta.yaml\nbroken\nbroken.meta.yaml\ndir\nsmall\nsmall.meta.yaml\n"
        );
        site.ok(&["-u", "mnt"]);
    }
}

#[test]
fn the_daemon_is_detached_from_its_caller() {
    let site = Site::new();
    let outcome = run(site.program(&["run.rab", "mnt"]).stdin(File::open(site.join("run.rab")).unwrap()));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let pid = site.daemon();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let [parent, group, session, terminal] =
        [1, 2, 3, 4].map(|field| after_name[field].parse::<i32>().unwrap());
    assert_eq!((group, session, terminal), (pid, pid, 0));
    assert_ne!(parent, std::process::id() as i32);
    let link = |what: &str| std::fs::read_link(format!("/proc/{pid}/{what}")).unwrap();
    assert_eq!(link("cwd"), Path::new("/"));
    for descriptor in ["fd/0", "fd/1", "fd/2"] {
        assert_eq!(link(descriptor), Path::new("/dev/null"), "{descriptor}");
    }
}

#[test]
fn the_daemon_serves_on_when_the_directory_it_was_started_in_is_gone() {
    let site = Site::new();
    site.sh(&format!("mkdir gone && cd gone && '{PROGRAM}' ../run.rab ../mnt && cd .. && rmdir gone"));
    assert_eq!(site.sh("cat mnt/small"), "small");
    site.ok(&["-u", "mnt"]);
    nothing_is_left(&site);
}

// The mountpoint.

type End<'a> = (&'static str, Box<dyn Fn() + 'a>);

/// The ways to end a mount on `mnt` in the background.
fn ends(site: &Site) -> Vec<End<'_>> {
    let mut ends: Vec<End> = vec![
        ("-u", Box::new(|| drop(site.ok(&["-u", "mnt"])))),
        ("fusermount3 -u", Box::new(|| drop(site.sh("fusermount3 -u mnt")))),
    ];
    if me() == 0 {
        ends.push(("umount", Box::new(|| drop(site.sh("umount mnt")))));
        ends.push(("umount -l", Box::new(|| drop(site.sh("umount -l mnt")))));
    }
    for signal in SIGNALS {
        ends.push((signal.as_str(), Box::new(move || site.signal(signal))));
    }
    ends
}

#[test]
fn every_end_removes_a_created_mountpoint() {
    let site = Site::new();
    for (name, end) in ends(&site) {
        site.ok(&["run.rab", "mnt"]);
        assert_eq!(site.sh("cat mnt/small"), "small", "{name}");
        let daemon = site.daemon();
        end();
        if name == "-u" {
            assert!(is_gone(daemon), "{name} returned too early");
            assert!(!site.join("mnt").exists(), "{name} returned too early");
            nothing_is_left(&site);
        }
        nothing_is_left_soon(&site);
        eventually(&format!("{name} removes the directory"), || !site.join("mnt").exists());
    }
}

#[test]
fn no_end_removes_a_mountpoint_that_was_there() {
    let site = Site::new();
    std::fs::create_dir(site.join("mnt")).unwrap();
    for (name, end) in ends(&site) {
        site.ok(&["run.rab", "mnt"]);
        assert_eq!(site.sh("cat mnt/small"), "small", "{name}");
        end();
        nothing_is_left_soon(&site);
        assert_eq!(names(&site.join("mnt")), [""; 0], "{name}");
    }
}

#[test]
fn the_default_mountpoint_is_named_after_the_file() {
    let site = Site::new();
    std::fs::create_dir(site.join("data")).unwrap();
    for name in ["run7.rab", "run.7.rab", "a b", "ends.in.dot."] {
        std::fs::copy(site.join("run.rab"), site.join("data").join(name)).unwrap();
    }
    for (source, directory) in [
        ("data/run7.rab", "run7"),
        ("data/run.7.rab", "run.7"),
        ("./data/a b", "a b"),
        ("data/ends.in.dot.", "ends.in.dot"),
    ] {
        site.ok(&[source]);
        assert_eq!(site.sh(&format!("cat '{directory}/small'")), "small", "{source}");
        site.ok(&["-u", directory]);
        assert!(!site.join(directory).exists());
    }
    let outcome = try_sh(r#"cd "$1/data" && "$2" 'a b'"#, &[&site.path, &PROGRAM]);
    assert_eq!(
        (outcome.code, outcome.err.contains("is the source itself: give a mountpoint: rab-mount ")),
        (20, true),
        "{outcome:?}"
    );
    nothing_is_left(&site);
}

#[test]
fn a_mountpoint_may_be_written_in_many_ways() {
    let site = Site::new();
    site.sh("mkdir -p dir/real && ln -s dir/real link && ln -s dir dirlink");
    for (mount, unmount) in
        [("link", "dir/real/"), ("dir/real/", "link"), ("dirlink/./new/", "dir/../dir/new"), ("./mnt", "mnt")]
    {
        site.ok(&["run.rab", mount]);
        assert_eq!(site.sh(&format!("cat '{unmount}/small'")), "small");
        site.ok(&["-u", unmount]);
        nothing_is_left(&site);
    }
    assert_eq!(site.sh("ls -d dir/real dir/new mnt link 2>/dev/null || :"), "dir/real\nlink\n");
}

#[test]
fn a_directory_that_took_the_place_of_the_created_one_stays() {
    // Several times: often, but not always, the new one gets the inode number of the old one.
    for _ in 0..5 {
        let site = Site::new();
        site.ok(&["run.rab", "mnt"]);
        let file = open(&site);
        site.sh("fusermount3 -uz mnt && rmdir mnt && mkdir mnt");
        drop(file);
        nothing_is_left_soon(&site);
        assert!(site.join("mnt").exists(), "it was not ours to remove");
    }
}

// Signals.

#[test]
fn a_signal_ends_the_foreground_with_success() {
    let site = Site::new();
    for signal in SIGNALS {
        let running = foreground(&site, &["run.rab", "mnt"]);
        assert_eq!(site.sh("cat mnt/small"), "small");
        running.signal(signal);
        let outcome = running.end();
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{signal}");
        assert!(!site.join("mnt").exists());
        nothing_is_left(&site);
    }
}

#[test]
fn unmounting_ends_the_foreground_with_success() {
    let site = Site::new();
    for unmount in [format!("'{PROGRAM}' -u mnt"), "fusermount3 -u mnt".into()] {
        let running = foreground(&site, &["run.rab", "mnt"]);
        site.sh(&unmount);
        assert_eq!(running.end().code, 0, "{unmount}");
        assert!(!site.join("mnt").exists());
        nothing_is_left(&site);
    }
}

#[test]
fn under_nohup_only_the_other_signals_end_it() {
    let site = Site::new();
    let mut command = site.command("env");
    command.args(["--ignore-signal=HUP", PROGRAM, "-f", "-v", "run.rab", "mnt"]);
    let running = site.start(&mut command);
    eventually("it is mounted", || is_mounted(&site));
    running.signal(Signal::SIGHUP);
    assert_eq!(site.sh("cat mnt/small"), "small");
    running.signal(Signal::SIGTERM);
    let outcome = running.end();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.err.contains("unmounting on SIGTERM") && !outcome.err.contains("SIGHUP"), "{outcome:?}");
    nothing_is_left(&site);
}

/// A file of the mount that is open, and read up to its tenth byte.
pub fn open(site: &Site) -> File {
    let mut file = File::open(site.join("mnt/big")).unwrap();
    file.read_exact(&mut [0; 10]).unwrap();
    file
}

pub fn is_read_to_its_end(mut file: File) -> bool {
    let mut rest = Vec::new();
    file.read_to_end(&mut rest).is_ok() && rest == big()[10..]
}

#[test]
fn a_busy_mount_is_detached_and_served_until_its_last_file_is_closed() {
    for signal in SIGNALS {
        let site = Site::new();
        let running = foreground(&site, &["run.rab", "mnt"]);
        let file = open(&site);
        running.signal(signal);
        eventually("it is detached", || !is_mounted(&site));
        eventually("the directory is removed", || !site.join("mnt").exists());
        let pid = site.daemon();
        assert!(log(&site).contains("mnt: in use: detached, and served until the last file is closed"));
        assert!(is_read_to_its_end(file.try_clone().unwrap()));
        assert_eq!(site.daemon(), pid);
        drop(file);
        let outcome = running.end();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.err.contains("in use: detached"), "{outcome:?}");
        nothing_is_left(&site);
    }
}

#[test]
fn a_busy_daemon_in_the_background_says_so_in_its_log() {
    let site = Site::new();
    site.ok(&["--log-file", "log", "run.rab", "mnt"]);
    let file = open(&site);
    site.signal(Signal::SIGTERM);
    eventually("the log says so", || log(&site).contains("mnt: in use: detached"));
    assert!(is_read_to_its_end(file));
    nothing_is_left_soon(&site);
    assert!(!site.join("mnt").exists());
}

#[test]
fn a_second_signal_ends_a_busy_mount_at_once() {
    let site = Site::new();
    let running = foreground(&site, &["run.rab", "mnt"]);
    let file = open(&site);
    running.signal(Signal::SIGTERM);
    eventually("it is detached", || log(&site).contains("in use: detached"));
    running.signal(Signal::SIGINT);
    let outcome = running.end();
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("ended by a second signal"), "{outcome:?}");
    assert!(!is_read_to_its_end(file));
    assert!(!site.join("mnt").exists());
    nothing_is_left(&site);
}

// -u.

#[test]
fn unmounting_several_returns_when_all_are_gone() {
    let site = Site::new();
    for name in ["one", "two", "three"] {
        site.ok(&["run.rab", name]);
    }
    let daemons = site.processes();
    assert_eq!(daemons.len(), 3);
    let outcome = site.ok(&["-u", "one", "two", "three"]);
    assert!(daemons.into_iter().all(is_gone));
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", ""));
    nothing_is_left(&site);
    assert!(["one", "two", "three"].iter().all(|name| !site.join(name).exists()));
}

#[test]
fn unmounting_several_goes_on_after_an_error() {
    let site = Site::new();
    site.ok(&["run.rab", "one"]);
    site.ok(&["run.rab", "two"]);
    let outcome = site.exits(20, &["-u", "one", "missing", "two"], &["missing: is not a rab-mount mount"]);
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    nothing_is_left(&site);
}

#[test]
fn what_is_no_mount_of_ours_is_not_unmounted() {
    let site = Site::new();
    site.sh("mkdir plain && echo text > file");
    for (name, why) in [
        ("plain", "plain: is not a rab-mount mount: 'rab-mount --list' and 'findmnt -t fuse.rab-mount' list"),
        ("missing", "missing: is not a rab-mount mount"),
        ("file", "file: is not a rab-mount mount"),
        ("no/such", "no/such: its parent directory does not exist"),
        ("/", "/: is not a rab-mount mount but"),
    ] {
        site.exits(20, &["-u", name], &[why]);
    }
    assert!(site.join("plain").exists());
    // What is inside of a mount is not the mount.
    site.ok(&["run.rab", "mnt"]);
    site.exits(20, &["-u", "mnt/dir"], &["mnt/dir: is not a rab-mount mount"]);
    assert_eq!(site.sh("cat mnt/small"), "small");
    if me() == 0 {
        site.sh("mount -t tmpfs tmpfs plain && touch plain/x");
        site.exits(20, &["-u", "plain"], &["is not a rab-mount mount but tmpfs: unmount it with 'umount'"]);
        assert!(site.join("plain/x").exists());
    }
}

#[test]
fn a_busy_mount_is_not_unmounted_by_force() {
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    let file = open(&site);
    let advice = ["mnt: is in use", "'fuser -vm mnt'", "'rab-mount -u --lazy mnt'"];
    let outcome = site.exits(20, &["-u", "mnt"], &advice);
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    assert_eq!(site.sh("cat mnt/small"), "small");
    assert!(is_read_to_its_end(file));
    // What other tests are just starting may have it open for a moment more.
    eventually("it is unmounted", || run(&mut site.program(&["-u", "mnt"])).code == 0);
    nothing_is_left(&site);
}

#[test]
fn a_detached_mount_is_served_until_its_last_file_is_closed() {
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    let file = open(&site);
    site.sh("fusermount3 -uz mnt");
    assert!(is_read_to_its_end(file));
    nothing_is_left_soon(&site);
    assert!(!site.join("mnt").exists());
}

// Dead mounts and mounts on mounts.

pub fn kill_the_daemon(site: &Site) {
    site.signal(Signal::SIGKILL);
    let read = || try_sh(r#"cat "$1"/small"#, &[&site.join("mnt")]);
    eventually("it is dead", || read().err.contains("Transport endpoint is not connected"));
}

#[test]
fn a_killed_daemon_leaves_what_can_be_cleared() {
    for was_there in [false, true] {
        let site = Site::new();
        if was_there {
            std::fs::create_dir(site.join("mnt")).unwrap();
        }
        site.ok(&["run.rab", "mnt"]);
        kill_the_daemon(&site);
        let outcome = site.ok(&["-u", "mnt"]);
        assert_eq!(outcome.err, "");
        assert_eq!(site.join("mnt").exists(), was_there);
        nothing_is_left(&site);
        site.ok(&["run.rab", "mnt"]);
        site.ok(&["-u", "mnt"]);
    }
}

#[test]
fn a_dead_mount_with_an_open_file_is_kept_until_that_is_closed() {
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    let file = open(&site);
    kill_the_daemon(&site);
    site.exits(20, &["-u", "mnt"], &["mnt: is in use"]);
    drop(file);
    eventually("it is cleared", || run(&mut site.program(&["-u", "mnt"])).code == 0);
    assert!(!site.join("mnt").exists());
    nothing_is_left(&site);
}

#[test]
fn mounting_twice_is_refused() {
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    let daemon = site.daemon();
    let hint = ["mnt: already mounted by rab-mount", "run.rab", "'rab-mount -u mnt'"];
    site.exits(20, &["run.rab", "mnt"], &hint);
    site.exits(20, &["--nonempty", "run.rab", "mnt"], &hint);
    site.exits(20, &["-f", "run.rab", "mnt"], &hint);
    assert_eq!(site.daemon(), daemon);
    assert_eq!(site.table().len(), 1);
    site.ok(&["-u", "mnt"]);
    nothing_is_left(&site);
}

#[test]
fn of_many_that_mount_at_once_one_wins() {
    let site = Site::new();
    let start =
        || site.program(&["run.rab", "mnt"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started: Vec<_> = (0..6).map(|_| start()).collect();
    let mut codes: Vec<_> = started.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    codes.sort();
    assert_eq!(codes, [0, 20, 20, 20, 20, 20].map(Some));
    assert_eq!(site.table().len(), 1);
    assert_eq!(site.sh("cat mnt/small"), "small");
    site.ok(&["-u", "mnt"]);
    assert!(!site.join("mnt").exists());
    nothing_is_left(&site);
}

/// Only root can mount other things on ours.
fn with_tmpfs(on: &str, test: impl Fn(&Site)) {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    site.ok(&["--log-file", "log", "run.rab", "mnt"]);
    site.sh(&format!("mount -t tmpfs tmpfs {on} && echo kept > {on}/file"));
    test(&site);
    assert_eq!(site.sh(&format!("cat {on}/file")), "kept\n", "what is mounted on ours was unmounted");
    site.sh(&format!("umount {on}"));
    if is_mounted(&site) {
        site.ok(&["-u", "mnt"]);
    }
    assert!(!site.join("mnt").exists());
    nothing_is_left(&site);
}

#[test]
fn what_is_mounted_on_ours_is_not_unmounted_by_a_signal() {
    for on in ["mnt", "mnt/dir"] {
        with_tmpfs(on, |site| {
            site.signal(Signal::SIGTERM);
            eventually("the log says so", || {
                log(site).contains("not unmounted, as something else is mounted")
            });
            assert!(log(site).contains(&format!("unmount {} (tmpfs) first", site.join(on).display())));
            assert_eq!(site.table().len(), 2);
            site.daemon();
        });
    }
}

#[test]
fn what_is_mounted_on_ours_is_not_unmounted_by_a_second_signal() {
    for on in ["mnt", "mnt/dir"] {
        with_tmpfs(on, |site| {
            site.signal(Signal::SIGTERM);
            eventually("the log says so", || log(site).contains("not unmounted"));
            site.signal(Signal::SIGTERM);
            eventually("it ends", || site.processes().is_empty());
            assert!(log(site).contains("left behind as a dead mount: clear it with 'rab-mount -u"));
            assert_eq!(site.table().len(), 2);
        });
    }
}

#[test]
fn what_is_mounted_on_ours_is_not_unmounted_by_unmounting() {
    with_tmpfs("mnt", |site| drop(site.exits(20, &["-u", "mnt"], &["is not a rab-mount mount but tmpfs"])));
    with_tmpfs("mnt/dir", |site| {
        let what =
            format!("mounted on it or inside it: unmount {}/dir (tmpfs) first", site.join("mnt").display());
        site.exits(20, &["-u", "mnt"], &[&what]);
    });
}

#[test]
fn what_is_mounted_on_ours_is_not_unmounted_when_the_daemon_dies() {
    with_tmpfs("mnt", |site| {
        site.signal(Signal::SIGKILL);
        eventually("it is dead", || site.processes().is_empty());
        assert_eq!(site.table().len(), 2);
    });
}

/// The path of ours leads to something else, as its parent directory was mounted over.
#[test]
fn what_hides_ours_is_not_unmounted() {
    if me() != 0 {
        return;
    }
    for end in ["-u", "signal", "two signals"] {
        let site = Site::new();
        site.sh("mkdir dir");
        site.ok(&["-v", "--log-file", "log", "run.rab", "dir/mnt"]);
        site.sh("mount -t tmpfs tmpfs dir && mkdir dir/mnt && mount -t tmpfs tmpfs dir/mnt && echo kept > dir/mnt/file");
        if end == "-u" {
            let outcome = run(&mut site.program(&["-u", "dir/mnt"]));
            assert_eq!(outcome.code, 20, "{outcome:?}");
        } else {
            site.signal(Signal::SIGTERM);
            eventually("the log has a warning", || log(&site).contains("warning: "));
        }
        if end == "two signals" {
            site.signal(Signal::SIGTERM);
            eventually("it ends", || site.processes().is_empty());
        }
        assert_eq!(site.sh("cat dir/mnt/file"), "kept\n", "{end}: {}", log(&site));
        site.sh("umount dir/mnt && umount dir");
        if is_mounted(&site) {
            site.ok(&["-u", "dir/mnt"]);
        }
        nothing_is_left_soon(&site);
    }
}

#[test]
fn what_ours_is_mounted_on_stays_mounted() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    site.sh("mkdir mnt && mount -t tmpfs tmpfs mnt && echo kept > mnt/file");
    for (name, end) in ends(&site) {
        site.ok(&["--nonempty", "run.rab", "mnt"]);
        assert_eq!(site.sh("cat mnt/small"), "small");
        end();
        nothing_is_left_soon(&site);
        assert_eq!(site.sh("cat mnt/file"), "kept\n", "{name} unmounted what is below");
    }
}

#[test]
fn unmounting_takes_a_created_mountpoint_from_other_namespaces_too() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    let holder = "cat mnt/small && until [ ! -e mnt/small ]; do sleep 0.02; done; ls mnt 2>&1; exit 5";
    let holder = site.start(site.command("unshare").args(["-m", "bash", "-c", holder]));
    eventually("the other namespace has it", || holder.out() == "small");
    site.ok(&["-u", "mnt"]);
    assert!(!site.join("mnt").exists());
    nothing_is_left(&site);
    assert_eq!(holder.end().code, 5);
}

#[test]
fn mounting_in_another_namespace_does_not_forget_a_dead_mount() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    site.ok(&["run.rab", "mnt"]);
    site.signal(Signal::SIGKILL);
    eventually("it is dead", || site.processes().is_empty());
    site.sh(&format!(
        "unshare -m sh -c \"umount -l mnt && '{PROGRAM}' run.rab other && '{PROGRAM}' -u other\""
    ));
    site.ok(&["-u", "mnt"]);
    assert!(!site.join("mnt").exists());
    nothing_is_left(&site);
}

#[test]
fn a_moved_mount_is_not_taken_for_gone() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    // In a namespace of its own, since mounts can be moved only where nothing is shared.
    let script = format!(
        "mkdir a b && '{PROGRAM}' run.rab a/mnt && mount --move a/mnt b && cat b/small && \
         '{PROGRAM}' -u b && ls a b"
    );
    let outcome = run(site.command("unshare").args(["-m", "bash", "-c", &script]));
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "smalla:\n\nb:\n"), "{outcome:?}");
    nothing_is_left_soon(&site);
}

// A command with a mount of its own.

#[test]
fn a_command_gets_the_mountpoint_wherever_it_wants_it() {
    let site = Site::new();
    let print = r#"printf '%s\n' "$0" "$@" "$RAB_MOUNT" "$PWD""#;
    let outcome =
        site.ok(&["run.rab", "--", "bash", "-c", print, "{}", "a={}/b:{}", "{ }", "", "{{}}", "--", "-u"]);
    let lines: Vec<&str> = outcome.out.lines().collect();
    let mnt = lines[0];
    assert!(Path::new(mnt).starts_with(site.join("tmp")), "{mnt}");
    let here = site.path.to_str().unwrap();
    let expected =
        [mnt, &format!("a={mnt}/b:{mnt}"), "{ }", "", &format!("{{{mnt}}}"), "--", "-u", mnt, here];
    assert_eq!(lines, expected);
    assert!(!Path::new(mnt).exists());
    nothing_is_left(&site);
}

#[test]
fn without_proc_a_command_is_refused_and_leaves_no_directory() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    let script = format!("umount -l /proc && '{PROGRAM}' run.rab -- true");
    let outcome = run(site.command("unshare").args(["-m", "bash", "-c", &script]));
    assert!(outcome.code == 1 && outcome.err.contains("/proc/self/mountinfo: cannot be read"), "{outcome:?}");
    assert_eq!(names(&site.join("tmp")), [""; 0]);
}

#[test]
fn a_command_reads_its_mount_and_the_standard_input() {
    let site = Site::new();
    std::fs::write(site.join("input"), "from stdin\n").unwrap();
    let mut command = site.program(&["run.rab", "--", "cat", "{}/dir/inner", "-", "{}/small"]);
    let outcome = run(command.stdin(File::open(site.join("input")).unwrap()));
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "smallfrom stdin\nsmall", ""));
    let outcome = site.ok(&["run.rab", "--", "stat", "-c", "%a", "{}/..", "{}"]);
    assert_eq!(outcome.out, "1777\n755\n");
    nothing_is_left(&site);
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let site = Site::new();
    site.sh("echo 'no program' > file && mkdir directory");
    for (code, command, words) in [
        (0, &["true"][..], ""),
        (7, &["sh", "-c", "exit 7"], ""),
        (255, &["sh", "-c", "exit 255"], ""),
        (137, &["sh", "-c", "kill -KILL $$"], ""),
        (143, &["sh", "-c", "kill -TERM $$"], ""),
        (127, &["no-such-command"], "rab-mount: no-such-command: command not found"),
        (127, &["./no/such/command"], "rab-mount: ./no/such/command: command not found"),
        (126, &["./file"], "rab-mount: ./file: cannot be executed: Permission denied"),
        (126, &["./directory"], "rab-mount: ./directory: cannot be executed: Permission denied"),
    ] {
        // Directories of the PATH that one may not search would be another reason.
        let outcome = run(site.program(&["run.rab", "--"]).args(command).env("PATH", "/usr/bin:/bin"));
        assert_eq!(outcome.code, code, "{command:?}: {outcome:?}");
        assert!(outcome.err.contains(words) && outcome.err.is_empty() == words.is_empty(), "{outcome:?}");
        nothing_is_left(&site);
    }
}

#[test]
fn a_command_is_not_run_without_a_mount() {
    let site = Site::new();
    std::fs::write(site.join("bad.rab"), "rab\u{1}\0\0\0x").unwrap();
    let bad = ["bad.rab", "--", "touch", "ran"];
    site.exits(12, &bad, &["bad.rab"]);
    site.exits(10, &["missing.rab", "--", "touch", "ran"], &["missing.rab"]);
    let outcome = run(site.program(&["run.rab", "--", "touch", "ran"]).env("TMPDIR", site.join("nowhere")));
    assert_eq!((outcome.code, outcome.err.contains("set TMPDIR")), (20, true), "{outcome:?}");
    assert!(!site.join("ran").exists());
    nothing_is_left(&site);
}

#[test]
fn what_a_command_leaves_running_does_not_hold_it_up() {
    let site = Site::new();
    let script = r#"exec 3< "$RAB_MOUNT/big"; sleep 1000 > /dev/null 2>&1 & echo $!"#;
    let outcome = site.start(&mut site.program(&["run.rab", "--", "bash", "-c", script])).end();
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let sleeper: i32 = outcome.out.trim().parse().unwrap();
    assert!(Path::new(&format!("/proc/{sleeper}")).exists(), "it was to be left running");
    nothing_is_left(&site);
}

#[test]
fn a_signal_is_passed_on_to_the_command() {
    let site = Site::new();
    let script = "trap 'echo got TERM; exit 5' TERM; trap 'echo got HUP; exit 6' HUP; echo ready; \
                  while :; do sleep 0.02; done";
    for (signal, code, word) in [(Signal::SIGTERM, 5, "got TERM"), (Signal::SIGHUP, 6, "got HUP")] {
        let mut command = site.command("env");
        command.args(["--default-signal=HUP,TERM", PROGRAM, "run.rab", "--", "bash", "-c", script]);
        let running = site.start(&mut command);
        eventually("the command runs", || running.out().contains("ready"));
        running.signal(signal);
        let outcome = running.end();
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (code, format!("ready\n{word}\n").as_str()),
            "{outcome:?}"
        );
        nothing_is_left(&site);
    }
}

#[test]
fn an_interrupt_is_left_to_the_command() {
    let site = Site::new();
    let script = "echo ready; while [ ! -e go ]; do sleep 0.02; done; cat {}/small";
    let mut command = site.command("env");
    command.args(["--default-signal=INT", PROGRAM, "run.rab", "--", "bash", "-c", script]);
    let running = site.start(&mut command);
    eventually("the command runs", || running.out().contains("ready"));
    running.signal(Signal::SIGINT);
    site.sh("touch go");
    let outcome = running.end();
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "ready\nsmall"), "{outcome:?}");
    nothing_is_left(&site);
}

#[test]
fn a_command_whose_mount_is_taken_away_keeps_its_exit_code() {
    let site = Site::new();
    let script = "fusermount3 -u {}; cat {}/small 2> /dev/null; exit 9";
    let outcome = site.exits(9, &["run.rab", "--", "bash", "-c", script], &[]);
    assert_eq!(outcome.out, "");
    nothing_is_left(&site);
}

#[test]
fn nothing_that_a_command_mounts_inside_is_unmounted() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    let script = "mount -t tmpfs tmpfs {}/dir && echo kept > {}/dir/file && echo {}";
    let outcome =
        site.exits(0, &["run.rab", "--", "bash", "-c", script], &["left behind as a dead mount", "(tmpfs)"]);
    let mnt = outcome.out.trim();
    let tmpfs =
        site.table().into_iter().find(|line| line.fstype == "tmpfs").expect("the tmpfs is still there");
    site.sh(&format!("umount {}", tmpfs.mountpoint.display()));
    site.ok(&["-u", mnt]);
    assert!(!Path::new(mnt).exists());
    nothing_is_left(&site);
}

#[test]
fn commands_and_mounts_of_one_file_do_not_disturb_each_other() {
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    let start = || site.program(&["run.rab", "--", "cmp", "{}/big", "mnt/big"]).spawn().unwrap();
    let started: Vec<_> = (0..6).map(|_| start()).collect();
    assert!(started.into_iter().all(|mut child| child.wait().unwrap().success()));
    site.ok(&["-u", "mnt"]);
    nothing_is_left(&site);
}
