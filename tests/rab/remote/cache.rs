//! What is kept of objects on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::RAB;
use crate::kit::*;
use crate::stores::{Store, write_large};

/// A store with the object `large.rab`, and a cache of this test's own.
struct Site {
    store: Store,
    cache: TempDir,
    bytes: Vec<u8>,
}

impl Site {
    fn new() -> Site {
        let bytes: Vec<u8> = (0..6_000_000u32).map(|at| (at / 7 % 253) as u8).collect();
        let site = Site { store: Store::new(), cache: scratch(), bytes };
        write_large(&site.store.file("large.rab"), &site.bytes);
        site
    }

    fn url(&self) -> String {
        self.store.url("large.rab")
    }

    fn command(&self) -> Command {
        let mut command = self.store.reached_by(Command::new(RAB));
        command.env("XDG_CACHE_HOME", self.cache.path());
        command
    }

    fn gives(&self, bytes: &[u8], options: &[&str]) {
        let copy = self.cache.path().join("copy");
        let mut command = self.command();
        command.args(["cat", &self.url(), "large"]).args(options);
        let output = command.stdout(fs::File::create(&copy).unwrap()).stderr(Stdio::piped());
        let output = output.spawn().unwrap().wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read(&copy).unwrap() == bytes);
    }

    /// Requests and bytes that this takes.
    fn costs(&self, work: impl FnOnce()) -> (u64, u64) {
        let (requests, sent) = (self.store.arrived(), self.store.sent());
        work();
        (self.store.arrived() - requests, self.store.sent() - sent)
    }

    /// The files of blocks that are kept.
    fn regions(&self) -> Vec<PathBuf> {
        let found = sh(r#"find "$1" -path '*blocks-v1/*' -type f"#, &[&self.cache.path()]);
        found.lines().map(PathBuf::from).collect()
    }
}

#[test]
fn what_is_known_takes_one_request_and_no_data() {
    let site = Site::new();
    let (_, sent) = site.costs(|| site.gives(&site.bytes, &[]));
    assert!(sent >= 6_000_000, "{sent}");
    assert_eq!(site.costs(|| site.gives(&site.bytes, &[])), (1, 0));
    // An archive, whose directory is at its end.
    fs::copy(data("../npz/small.npz"), site.store.file("x.npz")).unwrap();
    let list = || run(site.command().args(["ls", &site.store.url("x.npz")])).out;
    let first = list();
    assert!(first.lines().count() > 3);
    assert_eq!(site.costs(|| assert_eq!(list(), first)), (1, 0));
    // Nothing is kept, and nothing used, if that is not wanted.
    let (_, sent) = site.costs(|| site.gives(&site.bytes, &["--remote-cache", "off"]));
    assert!(sent >= 6_000_000, "{sent}");
}

#[test]
fn what_is_damaged_on_disk_is_fetched_again() {
    let site = Site::new();
    site.gives(&site.bytes, &[]);
    assert!(!site.regions().is_empty());
    for region in site.regions() {
        let mut bytes = fs::read(&region).unwrap();
        (0..bytes.len()).step_by(1000).for_each(|at| bytes[at] ^= 1);
        fs::write(&region, bytes).unwrap();
    }
    assert!(site.costs(|| site.gives(&site.bytes, &[])).1 >= 6_000_000);
    for region in site.regions() {
        fs::OpenOptions::new().write(true).open(&region).unwrap().set_len(100_000).unwrap();
    }
    site.gives(&site.bytes, &[]);
    for region in site.regions() {
        fs::remove_file(&region).unwrap();
        fs::create_dir(&region).unwrap();
    }
    let outcome = run(site.command().args(["ls", &site.url()]));
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "large\n"), "{outcome:?}");
}

#[test]
fn what_others_may_have_written_is_not_believed() {
    let site = Site::new();
    site.gives(&site.bytes, &[]);
    for region in site.regions() {
        fs::set_permissions(&region, fs::Permissions::from_mode(0o666)).unwrap();
    }
    assert!(site.costs(|| site.gives(&site.bytes, &[])).1 >= 6_000_000);
}

#[test]
fn a_new_version_is_noticed_when_it_is_opened() {
    let site = Site::new();
    site.gives(&site.bytes, &[]);
    let other: Vec<u8> = site.bytes.iter().map(|byte| byte ^ 0x55).collect();
    write_large(&site.store.file("large.rab"), &other);
    site.gives(&other, &[]);
    // Nor is anything kept of an object that has no tag to tell versions by.
    let before = site.regions().len();
    site.store.set(&[("tags", "none")]);
    write_large(&site.store.file("large.rab"), &site.bytes);
    site.gives(&site.bytes, &[]);
    assert_eq!(site.regions().len(), before);
}

#[test]
fn a_cache_that_cannot_be_written_costs_speed_only() {
    let site = Site::new();
    let file = site.cache.path().join("a-file");
    fs::write(&file, "").unwrap();
    site.gives(&site.bytes, &["--remote-cache", file.to_str().unwrap()]);
}

#[test]
fn a_signal_ends_a_program_that_waits_for_a_store() {
    let site = Site::new();
    site.store.set(&[("hang", "1")]);
    let mut waiting = site.command().args(["ls", &site.url()]).spawn().unwrap();
    eventually("it waits", || site.store.arrived() > 0);
    kill(nix::unistd::Pid::from_raw(waiting.id() as i32), Signal::SIGINT).unwrap();
    eventually("it has ended", || waiting.try_wait().unwrap().is_some());
}
