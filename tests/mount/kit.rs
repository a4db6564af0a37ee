//! What the tests share: a mount that is gone when it is dropped, a way to run programs, fixtures, and a
//! writer of RAB files that says only what it is told (so that it can also write broken ones).

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rab-mount");

pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rab").join(name)
}

pub fn scratch() -> TempDir {
    TempDir::with_prefix("rab-test-").expect("a scratch directory")
}

/// The program, ready for arguments; its state files do not mix with a user's.
pub fn program() -> Command {
    need_fuse();
    let mut command = Command::new(PROGRAM);
    command.stdin(Stdio::null());
    command
}

fn need_fuse() {
    assert!(
        Path::new("/dev/fuse").exists(),
        "FUSE is missing, and these tests need it: run scripts/test, or install fuse3 and load the module with \
         `modprobe fuse` (Docker: --device /dev/fuse --cap-add SYS_ADMIN)"
    );
}

/// What a finished program said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn run(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// Runs `script` with sh, `$1`, `$2`, ... being `arguments`; fails the test unless it exits with 0.
pub fn sh(script: &str, arguments: &[&dyn AsRef<OsStr>]) -> String {
    let said = try_sh(script, arguments);
    assert_eq!(said.code, 0, "{script}: {said:?}");
    said.out
}

pub fn try_sh(script: &str, arguments: &[&dyn AsRef<OsStr>]) -> Said {
    run(Command::new("bash").arg("-c").arg(script).arg("sh").args(arguments))
}

/// Runs a Python program of tests/python, or with `-c` the text itself.
pub fn python(arguments: &[&dyn AsRef<OsStr>]) -> String {
    let interpreter = std::env::var_os("RAB_TEST_PYTHON")
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python/bin/python").into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let mut command = Command::new(&interpreter);
    command
        .env("PYTHONPATH", &folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(&folder)
        .args(arguments);
    assert!(
        Path::new(&interpreter).exists(),
        "no Python with numpy and PyYAML at {}: run scripts/test, or name one in RAB_TEST_PYTHON",
        interpreter.display()
    );
    let said = run(&mut command);
    assert_eq!(said.code, 0, "{}", said.err);
    said.out
}

/// A background mount with a log of its own; dropping it unmounts, whatever state the test left.
pub struct Mount {
    pub path: PathBuf,
    pub log: PathBuf,
    /// What mounting printed on stderr.
    pub err: String,
    _scratch: TempDir,
}

impl Mount {
    pub fn new(file: &Path) -> Mount {
        Mount::with(file, &[])
    }

    pub fn with(file: &Path, options: &[&str]) -> Mount {
        let scratch = scratch();
        let path = scratch.path().join("mnt");
        let log = scratch.path().join("log");
        let mut command = program();
        command.arg("--log-file").arg(&log).args(options).arg(file).arg(&path);
        let said = run(&mut command);
        assert_eq!(said.code, 0, "{} does not mount: {}", file.display(), said.err);
        Mount { path, log, err: said.err, _scratch: scratch }
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    pub fn read(&self, name: impl AsRef<Path>) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.join(name))
    }

    /// The names in the root, sorted.
    pub fn names(&self) -> Vec<String> {
        names(&self.path)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let said = run(program().arg("-u").arg(&self.path));
        if said.code != 0 {
            let _ = run(Command::new("fusermount3").arg("-uz").arg(&self.path));
        }
        if !std::thread::panicking() {
            let log = self.log();
            assert!(!log.contains("panic"), "{log}");
        }
    }
}

pub fn names(directory: &Path) -> Vec<String> {
    let listing = std::fs::read_dir(directory).expect("a listing");
    let mut names: Vec<String> =
        listing.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits until `done`, at most ten seconds.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes a RAB file with this header text and these data bytes.
pub fn write_rab(path: &Path, header: &str, data: &[u8]) {
    write_raw(path, &(header.len() as u32).to_le_bytes(), header.as_bytes(), data);
}

pub fn write_raw(path: &Path, length: &[u8], header: &[u8], data: &[u8]) {
    let mut file = std::fs::File::create(path).expect("a file");
    for part in [b"rab", length, header, data] {
        file.write_all(part).expect("writes");
    }
}

/// A header entry as PyYAML writes it; `codec` holds the lines of codecMeta.
pub fn entry(name: &str, codec: &[&str]) -> String {
    let codec: String = codec.iter().map(|line| format!("    {line}\n")).collect();
    format!("- codecMeta:\n{codec}  metadata: {{}}\n  name: {name}\n")
}

/// A header entry of plain bytes.
pub fn bytes_entry(name: &str, offset: u64, length: u64) -> String {
    entry(name, &[&format!("byteLength: {length}"), &format!("byteOffset: {offset}"), "type: bytes"])
}

/// A scratch directory with one RAB file in it.
pub fn rab(header: &str, data: &[u8]) -> (TempDir, PathBuf) {
    let dir = scratch();
    let path = dir.path().join("test.rab");
    write_rab(&path, header, data);
    (dir, path)
}
