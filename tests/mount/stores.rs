//! A store of a test's own (benches/store), with the files that the test puts there and the faults that it sets.

#[path = "../../benches/store/mod.rs"]
#[allow(dead_code, reason = "one test binary uses more of it than the other")]
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::server::Server;
use crate::kit::*;

pub struct Store {
    server: Server,
    folder: TempDir,
}

impl Store {
    /// With an empty bucket, `bucket`.
    pub fn new() -> Store {
        let folder = scratch();
        std::fs::create_dir(folder.path().join("bucket")).unwrap();
        let server = Server::start(folder.path(), "127.0.0.1:0").unwrap();
        let account = format!(
            r#"{{"gcs_base_url": "http://127.0.0.1:{}", "disable_oauth": true, "client_email": "",
            "private_key": "", "private_key_id": ""}}"#,
            server.port
        );
        std::fs::write(folder.path().join("account.json"), account).unwrap();
        Store { server, folder }
    }

    /// The file that is an object.
    pub fn file(&self, key: &str) -> PathBuf {
        self.folder.path().join("bucket").join(key)
    }

    pub fn set(&self, options: &[(&str, &str)]) {
        options.iter().try_for_each(|(name, value)| self.server.set(name, value)).unwrap();
    }

    /// As a web server, as S3 and as Google's.
    pub fn urls(&self, key: &str) -> [String; 3] {
        [self.url(key), format!("s3://bucket/{key}"), format!("gs://bucket/{key}")]
    }

    pub fn url(&self, key: &str) -> String {
        format!("http://127.0.0.1:{}/bucket/{key}", self.server.port)
    }

    /// Where a program finds the stores of its URLs.
    pub fn reached_by(&self, mut program: Command) -> Command {
        let nothing = self.folder.path().join("nothing");
        program.envs([
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AWS_REGION", "us-east-1"),
        ]);
        // Nothing is known from another test.
        program.env("XDG_CACHE_HOME", self.folder.path().join("cache"));
        program.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.server.port));
        program.env("AWS_CONFIG_FILE", &nothing).env("AWS_SHARED_CREDENTIALS_FILE", &nothing);
        program.env("GOOGLE_SERVICE_ACCOUNT", self.folder.path().join("account.json"));
        program
    }

    /// Where it speaks S3.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port)
    }

    /// Bytes of all answers so far.
    pub fn sent(&self) -> u64 {
        self.server.sent()
    }

    /// A line for each request: method, target, range, status, and `cut` if it was.
    pub fn log(&self) -> Vec<String> {
        self.server.log()
    }

    /// Requests so far, with those that wait for their answers.
    pub fn arrived(&self) -> u64 {
        self.server.arrived()
    }

    /// How many lines of the log end so.
    pub fn logged(&self, end: &str) -> usize {
        self.log().iter().filter(|line| line.trim_end().ends_with(end)).count()
    }

    /// What is neither an object nor gone.
    pub fn unfinished(&self) -> Vec<String> {
        let folder = self.folder.path().join(".uploads");
        if folder.exists() { names(&folder) } else { Vec::new() }
    }
}

/// Writes a container whose dataset `large` has these bytes.
pub fn write_large(path: &Path, bytes: &[u8]) {
    write_rab(path, &bytes_entry("large", 0, bytes.len() as u64), bytes);
}

/// Bytes that are nowhere the same as elsewhere.
pub fn distinct(len: usize) -> Vec<u8> {
    (0..len as u32 / 4).flat_map(u32::to_le_bytes).collect()
}

/// A hundred readers at random; `read` fills a buffer from an offset.
pub fn check_readers(bytes: &[u8], read: impl Fn(&mut [u8], u64) + Sync) {
    std::thread::scope(|scope| {
        for seed in 0..100 {
            let read = &read;
            scope.spawn(move || {
                let mut scatter = Scatter(seed);
                for _ in 0..10 {
                    let (from, size) = scatter.range(bytes.len());
                    let want = &bytes[from..bytes.len().min(from + size)];
                    let mut got = vec![0; want.len()];
                    read(&mut got, from as u64);
                    assert!(got == want, "{} bytes from {from}", want.len());
                }
            });
        }
    });
}
