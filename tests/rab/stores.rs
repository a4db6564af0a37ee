//! Objects of a store that fails, changes and counts requests as it is told (benches/store.rs).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::command;
use crate::kit::*;
use crate::store::Store;

/// A store with the object `bucket/large.rab`, and what is kept of it on disk.
struct Site {
    dir: TempDir,
    store: &'static Store,
    port: u16,
    bytes: Vec<u8>,
}

impl Site {
    fn new() -> Site {
        let dir = scratch();
        fs::create_dir_all(dir.path().join("files/bucket")).unwrap();
        let (store, port) = Store::start(dir.path().join("files"));
        let bytes: Vec<u8> = (0..6_000_000u32).map(|at| (at / 7 % 253) as u8).collect();
        let site = Site { dir, store, port, bytes };
        site.write(&site.bytes);
        site
    }

    fn write(&self, bytes: &[u8]) {
        let new = self.dir.path().join("new.rab");
        write_rab(&new, &bytes_entry("large", 0, bytes.len() as u64), bytes);
        fs::rename(new, self.object("large.rab")).unwrap();
    }

    fn object(&self, name: &str) -> PathBuf {
        self.dir.path().join("files/bucket").join(name)
    }

    fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/bucket/{name}", self.port)
    }

    /// What `rab` does, with a cache of this test's own.
    fn rab(&self, arguments: &[&str]) -> Outcome {
        run(self.command().args(arguments))
    }

    fn command(&self) -> Command {
        let mut command = command();
        command.env("XDG_CACHE_HOME", self.dir.path().join("cache"));
        command
    }

    fn gives_its_bytes(&self, options: &[&str]) {
        let copy = self.dir.path().join("copy");
        let mut command = self.command();
        command.args(["cat", &self.url("large.rab"), "large"]).args(options);
        let outcome = run_into(&mut command, &copy);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
        assert!(fs::read(&copy).unwrap() == fs::read(self.object("large.rab")).unwrap()[self.start()..]);
    }

    /// Where the data begins.
    fn start(&self) -> usize {
        fs::metadata(self.object("large.rab")).unwrap().len() as usize - self.bytes.len()
    }

    fn set(&self, option: &AtomicU64, value: u64) {
        option.store(value, Ordering::Relaxed);
    }

    /// The regions of blocks that are kept on disk.
    fn regions(&self) -> Vec<PathBuf> {
        let found = sh(r#"find "$1" -path '*blocks-v1/*' -type f 2>/dev/null || true"#, &[&self.dir.path()]);
        found.lines().map(PathBuf::from).collect()
    }
}

/// As [`run`], with the output in a file.
fn run_into(command: &mut Command, file: &Path) -> Outcome {
    let output = command.stdout(fs::File::create(file).unwrap()).stderr(Stdio::piped());
    let output = output.spawn().unwrap().wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Outcome { code: output.status.code().unwrap_or(-1), out: String::new(), err }
}

#[test]
fn failing_requests_cost_time_only() {
    let site = Site::new();
    let options = &site.store.options;
    // Refused, cut off, or both.
    for (refuse, cut) in [(3, 0), (0, 3), (3, 4)] {
        site.set(&options.refuse, refuse);
        site.set(&options.cut, cut);
        site.gives_its_bytes(&["--remote-cache", "off"]);
    }
}

#[test]
fn an_answer_of_another_version_is_an_error() {
    let site = Site::new();
    let options = &site.store.options;
    site.set(&options.ignore_conditions, 1);
    site.set(&options.changing, 1);
    for untagged in [0, 1] {
        site.set(&options.untagged, untagged);
        let outcome = site.rab(&["cat", &site.url("large.rab"), "large"]);
        assert!(outcome.code == 12 && outcome.err.contains("changed since it was opened"), "{outcome:?}");
    }
}

#[test]
fn what_is_known_takes_one_request_and_no_data() {
    let site = Site::new();
    site.gives_its_bytes(&[]);
    let (requests, sent) = (site.store.requests(), site.store.sent());
    assert!(sent > 6_000_000, "{sent}");
    site.gives_its_bytes(&[]);
    assert_eq!((site.store.requests() - requests, site.store.sent() - sent), (1, 0));
    // A member of an archive, whose directory is at the end.
    fs::copy(data("../npz/small.npz"), site.object("x.npz")).unwrap();
    let before = site.store.requests();
    let listings = [(); 2].map(|()| site.rab(&["ls", "-l", &site.url("x.npz")]));
    assert_eq!(listings[0].out, listings[1].out);
    assert!(site.store.requests() - before <= 3);
    // Nothing is kept if it is not to be.
    let requests = site.store.requests();
    site.gives_its_bytes(&["--remote-cache", "off"]);
    assert!(site.store.requests() - requests > 1);
}

#[test]
fn what_is_damaged_on_disk_is_fetched_again() {
    let site = Site::new();
    site.gives_its_bytes(&[]);
    assert!(!site.regions().is_empty());
    for region in site.regions() {
        let mut bytes = fs::read(&region).unwrap();
        (0..bytes.len()).step_by(1000).for_each(|at| bytes[at] ^= 1);
        fs::write(&region, bytes).unwrap();
    }
    let before = site.store.requests();
    site.gives_its_bytes(&[]);
    assert!(site.store.requests() - before > 1);
    // Cut off, or a directory.
    for region in site.regions() {
        fs::OpenOptions::new().write(true).open(&region).unwrap().set_len(100_000).unwrap();
    }
    site.gives_its_bytes(&[]);
    for region in site.regions() {
        fs::remove_file(&region).unwrap();
        fs::create_dir(&region).unwrap();
    }
    let url = site.url("large.rab");
    let outcome = site.rab(&["cat", &url, "large"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

#[test]
fn what_others_may_have_written_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    site.gives_its_bytes(&[]);
    for region in site.regions() {
        fs::set_permissions(&region, fs::Permissions::from_mode(0o666)).unwrap();
    }
    let before = site.store.requests();
    site.gives_its_bytes(&[]);
    assert!(site.store.requests() - before > 1);
}

#[test]
fn a_new_version_is_noticed_when_it_is_opened() {
    let site = Site::new();
    site.gives_its_bytes(&[]);
    let other: Vec<u8> = site.bytes.iter().map(|byte| byte ^ 0x55).collect();
    site.write(&other);
    site.gives_its_bytes(&[]);
    // Nor is anything kept of an object that has no tag to tell versions by.
    let before = site.regions().len();
    site.set(&site.store.options.untagged, 1);
    site.write(&site.bytes);
    site.gives_its_bytes(&[]);
    assert_eq!(site.regions().len(), before);
}

#[test]
fn a_cache_that_cannot_be_written_costs_speed_only() {
    let site = Site::new();
    let file = site.dir.path().join("a-file");
    fs::write(&file, "").unwrap();
    let (url, cache) = (site.url("large.rab"), file.display().to_string());
    let outcome = site.rab(&["cat", &url, "large", "--remote-cache", &cache]);
    assert!(outcome.code == 0 && outcome.out.len() >= 6_000_000 / 2, "{}", outcome.err);
}

#[test]
fn objects_in_google_cloud_storage() {
    let site = Site::new();
    let account = site.dir.path().join("account.json");
    let base = format!("http://127.0.0.1:{}", site.port);
    let text = format!(
        r#"{{"gcs_base_url": "{base}", "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}}"#
    );
    fs::write(&account, text).unwrap();
    let gs = |arguments: &[&str]| run(site.command().args(arguments).env("GOOGLE_SERVICE_ACCOUNT", &account));
    assert_eq!(gs(&["ls", "gs://bucket/large.rab"]).out, "large\n");
    let sample = data("readme.rab").display().to_string();
    for (force, code) in [(&["--force"][..], 0), (&[], 1), (&["--force"], 0)] {
        let outcome = gs(&[&["convert", &sample, "gs://bucket/runs/new.rab"], force].concat());
        assert_eq!(outcome.code, code, "{outcome:?}");
    }
    let outcome = gs(&["diff", &sample, "gs://bucket/runs/new.rab"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{outcome:?}");
    let large = Path::new(&site.dir.path().join("large.bin")).to_owned();
    fs::write(&large, vec![7; 40_000_000]).unwrap();
    let outcome = gs(&["pack", "gs://bucket/parts.rab", large.to_str().unwrap()]);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let outcome = gs(&[
        "mount",
        "gs://bucket/",
        "--",
        "sh",
        "-c",
        "cd {}; ls; cmp parts.rab/large.bin $0",
        large.to_str().unwrap(),
    ]);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "large.rab\nparts.rab\nruns\n"), "{outcome:?}");
}

#[test]
fn a_signal_ends_a_program_that_waits_for_a_store() {
    let site = Site::new();
    site.set(&site.store.options.hang, 1);
    let mut waiting = site.command().args(["ls", &site.url("large.rab")]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    kill(nix::unistd::Pid::from_raw(waiting.id() as i32), Signal::SIGINT).unwrap();
    eventually("it has ended", || waiting.try_wait().unwrap().is_some());
    site.set(&site.store.options.hang, 0);
}
