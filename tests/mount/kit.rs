//! What the tests share: a mount that is gone when it is dropped, a way to run programs, fixtures, and a
//! writer of RAB files that writes exactly what it is given (so that it can also write broken ones).

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
pub use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rab-mount");

pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rab").join(name)
}

/// A file of tests/data/rawarray.
pub fn rawarray(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rawarray").join(name)
}

/// zlib's CRC-32, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shifted(crc)))
}

pub fn scratch() -> TempDir {
    TempDir::with_prefix("rab-test-").expect("a scratch directory")
}

/// Where programs keep their index that do not say where: not in the user's cache, and empty at first.
pub fn cache() -> &'static Path {
    static CACHE: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let _ = std::fs::remove_dir_all(&path);
        path
    });
    &CACHE
}

/// The program, ready for arguments; its index does not mix with a user's.
pub fn program() -> Command {
    need_fuse();
    let mut command = Command::new(PROGRAM);
    command.stdin(Stdio::null()).env("XDG_CACHE_HOME", cache());
    command
}

fn need_fuse() {
    assert!(
        Path::new("/dev/fuse").exists(),
        "FUSE is missing, and these tests need it: run scripts/test, or install fuse3 and load the module with \
         `modprobe fuse` (Docker: --device /dev/fuse --cap-add SYS_ADMIN)"
    );
}

/// The exit code and output of a finished program.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn run(command: &mut Command) -> Outcome {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Outcome { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// Runs `script` with sh, `$1`, `$2`, ... being `arguments`; fails the test unless it exits with 0.
pub fn sh(script: &str, arguments: &[&dyn AsRef<OsStr>]) -> String {
    let outcome = try_sh(script, arguments);
    assert_eq!(outcome.code, 0, "{script}: {outcome:?}");
    outcome.out
}

pub fn try_sh(script: &str, arguments: &[&dyn AsRef<OsStr>]) -> Outcome {
    run(Command::new("bash").arg("-c").arg(script).arg("sh").args(arguments))
}

/// A Python with numpy and what else reads our files.
pub fn interpreter() -> PathBuf {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python/bin/python");
    std::env::var_os("RAB_TEST_PYTHON").map_or_else(ours, PathBuf::from)
}

/// Runs a Python program of tests/python, or with `-c` the text itself.
pub fn python(arguments: &[&dyn AsRef<OsStr>]) -> String {
    let interpreter = interpreter();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let mut command = Command::new(&interpreter);
    command
        .env("PYTHONPATH", &folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(&folder)
        .args(arguments);
    assert!(
        interpreter.exists(),
        "no Python with numpy and PyYAML at {}: run scripts/test, or name one in RAB_TEST_PYTHON",
        interpreter.display()
    );
    let outcome = run(&mut command);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    outcome.out
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
        Mount::by(program(), file, options)
    }

    /// By a program with an environment of its own.
    pub fn by(mut command: Command, file: &Path, options: &[&str]) -> Mount {
        let scratch = scratch();
        let path = scratch.path().join("mnt");
        let log = scratch.path().join("log");
        // No other test's index of the same fixture.
        command.env("XDG_CACHE_HOME", scratch.path().join("cache"));
        command.arg("--log-file").arg(&log).args(options).arg(file).arg(&path);
        let outcome = run(&mut command);
        assert_eq!(outcome.code, 0, "{} does not mount: {}", file.display(), outcome.err);
        Mount { path, log, err: outcome.err, _scratch: scratch }
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

    /// Unmounts, and returns what the log says then.
    pub fn end(self) -> String {
        sh(r#""$1" -u "$2""#, &[&PROGRAM, &self.path]);
        self.log()
    }

    /// The process that serves.
    pub fn daemon(&self) -> i32 {
        let pids = sh(r#"pgrep -f -- "--log-file $1""#, &[&self.log]);
        pids.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a daemon")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let outcome = run(program().arg("-u").arg(&self.path));
        if outcome.code != 0 && self.path.exists() {
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

/// A generator good enough to scatter reads, the same in every run.
pub struct Scatter(pub u64);

impl Scatter {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end.max(1)
    }

    /// An offset in a file of `len` bytes, and a size: mostly small, at most 256 KiB, maybe past the end.
    pub fn range(&mut self, len: usize) -> (usize, usize) {
        let (from, bits) = (self.below(len + 1), self.below(18) + 1);
        (from, self.below(1 << bits))
    }
}

/// Whatever is read of a file by four threads is that of the whole.
pub fn check_any_range(path: &Path, times: usize) {
    let whole = std::fs::read(path).unwrap();
    let file = File::open(path).unwrap();
    assert_eq!(whole.len() as u64, file.metadata().unwrap().len(), "{path:?}");
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (whole, file) = (&whole, &file);
            scope.spawn(move || {
                let mut scatter = Scatter(seed);
                for _ in 0..times {
                    let (from, size) = scatter.range(whole.len());
                    let mut got = vec![0; size];
                    let count = file.read_at(&mut got, from as u64).unwrap();
                    assert_eq!(got[..count], whole[from..(from + size).min(whole.len())], "{path:?}");
                }
            });
        }
    });
}

/// Waits until `done`, at most ten seconds.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Two minutes, which is ten times what any reading here takes on a slow machine.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// Runs `work`, which reads from the mount. If it hangs, the daemon is killed: its reads then fail, and so
/// does the test.
pub fn within(mount: &Mount, work: impl FnOnce()) {
    let (done, over) = channel::<()>();
    std::thread::scope(|scope| {
        let done = done;
        scope.spawn(move || {
            if over.recv_timeout(MAX_WAIT) == Err(RecvTimeoutError::Timeout) {
                eprintln!("the readers hang: not done after {MAX_WAIT:?}, so the daemon is killed");
                kill(Pid::from_raw(mount.daemon()), Signal::SIGKILL).expect("the process is there");
            }
        });
        work();
        drop(done);
    });
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

/// A directory of a test's own, in which it runs the program, and what the program has there: mounts,
/// processes, state files. Dropping it kills and unmounts what is left.
///
/// Every process that is started through it has the directory's path in its environment, and so have their
/// children: that is how they are known again.
pub struct Site {
    pub path: PathBuf,
    namespace: Option<Child>,
    scratch: TempDir,
    /// Beside it, so that no index appears among the files of the directory.
    cache: TempDir,
}

/// What the dataset `big` of a site's container holds.
pub fn big() -> Vec<u8> {
    (0..1u32 << 18).flat_map(u32::to_le_bytes).collect()
}

impl Site {
    /// With a container, `run.rab`: `small`, `dir/inner`, `big`, and `broken`, which cannot be decoded.
    pub fn new() -> Site {
        let scratch = scratch();
        let path = scratch.path().canonicalize().expect("the scratch directory");
        let site = Site { path, namespace: None, scratch, cache: self::scratch() };
        std::fs::create_dir(site.join("tmp")).expect("a directory");
        for (name, mode) in [(".", 0o755), ("tmp", 0o1777)] {
            std::fs::set_permissions(site.join(name), Permissions::from_mode(mode)).expect("a mode");
        }
        let big = big();
        let broken = ["byteLength: 5", "byteOffset: 0", "compression: gzip", "type: text"];
        let entries = [
            bytes_entry("small", 0, 5),
            bytes_entry("dir/inner", 0, 5),
            entry("broken", &broken),
            bytes_entry("big", 5, big.len() as u64),
        ];
        write_rab(&site.join("run.rab"), &entries.concat(), &[b"small", big.as_slice()].concat());
        site
    }

    /// With mounts, a `/dev`, a `/run` and an `/etc/fuse.conf` of its own, for root only. `/dev/fuse` is for
    /// everybody and there is no syslog, whatever the machine has.
    pub fn apart() -> Site {
        let mut site = Site::new();
        std::fs::write(site.join("fuse.conf"), "").expect("a file");
        // What other tests have mounted is copied, and would be held, so it is let go at once.
        let script = "set -e
            umount -a -l -c -t fuse.rab-mount 2> /dev/null || :
            mount -t tmpfs -o mode=755 tmpfs /dev
            mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/fuse c 10 229
            mount -t tmpfs -o mode=755 tmpfs /run
            mkdir -p /run/user/65534; chown 65534:65534 /run/user/65534; chmod 700 /run/user/65534
            [ ! -e /etc/fuse.conf ] || mount --bind fuse.conf /etc/fuse.conf
            echo ready; exec cat";
        let mut command = site.command("unshare");
        command.args(["-m", "bash", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.spawn().expect("unshare starts");
        let mut ready = [0; 6];
        let out = holder.stdout.as_mut().expect("a pipe");
        assert!(out.read_exact(&mut ready).is_ok(), "no mount namespace can be made");
        site.namespace = Some(holder);
        site
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// A command that runs in this directory.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        need_fuse();
        let mut command = match &self.namespace {
            None => Command::new(program),
            Some(holder) => {
                let mut inside = Command::new("nsenter");
                inside.arg(format!("--mount=/proc/{}/ns/mnt", holder.id()));
                inside.args(["sh", "-c", r#"cd "$0" && exec "$@""#]).arg(&self.path).arg(program);
                inside
            }
        };
        command.current_dir(&self.path).stdin(Stdio::null()).env("LC_ALL", "C");
        command.env("XDG_STATE_HOME", self.join("state")).env("TMPDIR", self.join("tmp"));
        command.env("XDG_CACHE_HOME", self.cache.path());
        command
    }

    pub fn program(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(PROGRAM);
        command.args(arguments);
        command
    }

    /// Runs the program, which must exit with 0.
    pub fn ok(&self, arguments: &[&str]) -> Outcome {
        self.exits(0, arguments, &[])
    }

    /// Runs the program, which must exit with this code and say all of this on stderr.
    pub fn exits(&self, code: i32, arguments: &[&str], fragments: &[&str]) -> Outcome {
        let outcome = run(&mut self.program(arguments));
        assert_eq!(outcome.code, code, "{arguments:?}: {outcome:?}");
        for fragment in fragments {
            assert!(
                outcome.err.contains(fragment),
                "{arguments:?}: {fragment:?} is not in {:?}",
                outcome.err
            );
        }
        outcome
    }

    /// What a script prints that runs in this directory; it must exit with 0.
    pub fn sh(&self, script: &str) -> String {
        let outcome = run(self.command("bash").args(["-c", script]));
        assert_eq!(outcome.code, 0, "{script}: {outcome:?}");
        outcome.out
    }

    /// Starts a command, whose output goes to files.
    pub fn start(&self, command: &mut Command) -> Running {
        let [out, err] = ["out", "err"].map(|name| {
            let path = self.scratch.path().join(format!("{name}-of-running"));
            (File::create(&path).expect("a file"), path)
        });
        let child = command.stdout(out.0).stderr(err.0).spawn().expect("the program starts");
        Running { child, out: out.1, err: err.1 }
    }

    /// The mounts at and below this directory, in the order of the mount table.
    pub fn table(&self) -> Vec<MountLine> {
        let process = self.namespace.as_ref().map_or("self".to_owned(), |holder| holder.id().to_string());
        let table = std::fs::read_to_string(format!("/proc/{process}/mountinfo")).expect("a mount table");
        let lines = table.lines().map(MountLine::parse);
        lines.filter(|line| line.mountpoint.starts_with(&self.path)).collect()
    }

    /// The line of the program's mount at `name`.
    pub fn line(&self, name: &str) -> MountLine {
        let mut ours = self.table().into_iter().filter(|line| line.mountpoint == self.join(name));
        let line = ours.next_back().unwrap_or_else(|| panic!("nothing is mounted on {name}"));
        assert_eq!(line.fstype, "fuse.rab-mount");
        line
    }

    /// The program's processes, and those of fusermount3 that it started.
    pub fn processes(&self) -> Vec<i32> {
        let ours =
            |pid: &i32| name_of(*pid).starts_with("rab-mount") || name_of(*pid).starts_with("fusermount");
        self.started().into_iter().filter(ours).collect()
    }

    /// The one process that serves.
    pub fn daemon(&self) -> i32 {
        let serves = |pid: &i32| name_of(*pid).starts_with("rab-mount");
        let daemons: Vec<i32> = self.processes().into_iter().filter(serves).collect();
        assert_eq!(daemons.len(), 1, "{daemons:?}");
        daemons[0]
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.daemon()), signal).expect("the process is there");
    }

    fn started(&self) -> Vec<i32> {
        let mark = self.path.as_os_str().as_encoded_bytes();
        let pids = names(Path::new("/proc")).into_iter().filter_map(|name| name.parse().ok());
        let has_mark = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|window| window == mark)
        };
        pids.filter(has_mark).collect()
    }

    /// Written when a mount is ready.
    pub fn state_files(&self) -> Vec<PathBuf> {
        let root =
            self.namespace.as_ref().map_or("/".into(), |holder| format!("/proc/{}/root/", holder.id()));
        let users = [0, 65534, me()];
        let folders = users.into_iter().flat_map(|user| {
            ["run/rab-mount".into(), format!("run/user/{user}/rab-mount"), format!("tmp/rab-mount-{user}")]
        });
        let files =
            folders.filter_map(|folder| std::fs::read_dir(root.clone() + &folder).ok()).flatten().flatten();
        let path = self.path.to_str().expect("a path of ASCII");
        let names_us = |file: &PathBuf| std::fs::read_to_string(file).is_ok_and(|text| text.contains(path));
        let ours = |file: &PathBuf| file.extension().is_none_or(|end| end != "log") && names_us(file);
        files.map(|file| file.path()).filter(ours).collect()
    }

    /// What there is of the program here, in words; empty if there is nothing.
    pub fn left(&self) -> String {
        let processes = self.processes().into_iter().map(|pid| format!("process {pid}"));
        let mounts = self.table().into_iter().filter(|line| line.fstype == "fuse.rab-mount");
        let mounts = mounts.map(|line| format!("mount {}", line.mountpoint.display()));
        let files = self.state_files().into_iter().map(|file| format!("state {}", file.display()));
        let private = names(&self.join("tmp")).into_iter().map(|name| format!("directory {name}"));
        processes.chain(mounts).chain(files).chain(private).collect::<Vec<_>>().join(", ")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for pid in self.started() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        match self.namespace.take() {
            Some(mut holder) => drop(holder.wait()),
            // Before unmounting: after it, another mount may have the file's name.
            None => self.state_files().into_iter().for_each(|file| drop(std::fs::remove_file(file))),
        }
        for line in self.table().iter().rev() {
            let _ = run(Command::new(if me() == 0 { "umount" } else { "fusermount3" })
                .arg(if me() == 0 { "-l" } else { "-uz" })
                .arg(&line.mountpoint));
        }
    }
}

fn name_of(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

/// A zombie counts as gone: its parent has yet to wait for it.
pub fn is_gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim_start().starts_with(['Z', 'X']))
}

pub fn me() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// A line of /proc/self/mountinfo.
#[derive(Debug)]
pub struct MountLine {
    pub mountpoint: PathBuf,
    pub options: Vec<String>,
    pub fstype: String,
    pub source: String,
    /// Those of the file system, not of the mount.
    pub inner_options: Vec<String>,
}

impl MountLine {
    fn parse(line: &str) -> MountLine {
        let (first, last) = line.split_once(" - ").expect("a separator");
        let (first, last): (Vec<&str>, Vec<&str>) = (first.split(' ').collect(), last.split(' ').collect());
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        MountLine {
            mountpoint: unescape(first[4]).into(),
            options: list(first[5]),
            fstype: last[0].to_owned(),
            source: unescape(last[1]),
            inner_options: list(last[2]),
        }
    }

    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|other| other == option)
    }
}

/// `\040` is a space.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let byte = u8::from_str_radix(&part[..3], 8).expect("an octal number");
        text + &char::from(byte).to_string() + &part[3..]
    })
}

/// A program that runs on; dropping it kills it.
pub struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("the process is there");
    }

    pub fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap_or_default()
    }

    pub fn err(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap_or_default()
    }

    /// Waits for its end, like [`eventually`].
    pub fn end(mut self) -> Outcome {
        let mut status = None;
        eventually("it ends", || {
            status = self.child.try_wait().expect("a status");
            status.is_some()
        });
        let code = status.and_then(|status| status.code()).unwrap_or(-1);
        Outcome { code, out: self.out(), err: self.err() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
