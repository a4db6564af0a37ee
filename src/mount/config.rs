//! A resolved configuration: every default is filled in, every path is absolute, and nothing here knows whether a
//! setting came from a long option or from `-o`.

use crate::format;
use crate::source::Access;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The smallest useful cache: one block of a few streams.
pub const MIN_CACHE: u64 = 2 << 20;
pub const DEFAULT_CACHE: u64 = 256 << 20;
pub const DEFAULT_INDEX_SIZE: u64 = 1 << 30;
pub const DEFAULT_INDEX_MEMORY: u64 = 64 << 20;
pub const DEFAULT_THREADS: usize = 2;
pub const DEFAULT_MAX_OPEN: usize = 512;
pub const DEFAULT_REFRESH: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Return when the mount can be used; a daemon serves it.
    Background,
    /// Serve in this process until a signal or an unmount.
    Foreground,
    /// Mount privately, run this command, unmount.
    Command(Vec<OsString>),
    /// Unmount; nothing is mounted and `sources` is empty.
    Unmount(Unmount),
    /// Print the user's mounts; nothing is mounted and `sources` is empty.
    List,
}

/// What is to be unmounted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmount {
    /// None: all that this user has mounted.
    pub mountpoints: Option<Vec<PathBuf>>,
    /// Detach what is in use.
    pub lazy: bool,
}

/// What is shown of the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showing {
    /// What the user says about the containers.
    pub formats: format::Options,
    /// The kind of view that is listed in place of the datasets that have it.
    pub kind: Option<String>,
    /// Descriptions of datasets are also given as extended attributes.
    pub xattr: bool,
    /// Several sources are one tree.
    pub union: bool,
    pub strip_ext: bool,
    pub only_containers: bool,
    pub follow_outside: bool,
    /// At least 1.
    pub max_depth: Option<u32>,
    /// Patterns that are all right.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub max_open: usize,
    pub refresh: Duration,
}

impl Showing {
    /// Whether any option determines how a directory is shown.
    pub fn is_of_directory(&self) -> bool {
        let Showing { union, strip_ext, only_containers, max_depth, .. } = self;
        let is_filtered = !self.include.is_empty() || !self.exclude.is_empty();
        *union || *strip_ext || *only_containers || max_depth.is_some() || is_filtered
    }
}

impl Default for Showing {
    fn default() -> Showing {
        Showing {
            formats: format::Options::default(),
            kind: None,
            xattr: false,
            union: false,
            strip_ext: false,
            only_containers: false,
            follow_outside: false,
            max_depth: None,
            include: Vec::new(),
            exclude: Vec::new(),
            max_open: DEFAULT_MAX_OPEN,
            refresh: DEFAULT_REFRESH,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The containers and directories, absolute.
    pub sources: Vec<PathBuf>,
    /// The mountpoint as it was typed, and as it is when the sources are opened. None: named after the source, or
    /// private for a command.
    pub mountpoint: Option<PathBuf>,
    /// mount(8) called: the mountpoint has to exist.
    pub by_mount: bool,
    pub mode: Mode,
    /// Bytes, never less than [`MIN_CACHE`].
    pub cache_size: u64,
    /// Where seek points and sizes are kept between mounts, absolute; None: nowhere.
    pub index_dir: Option<PathBuf>,
    /// Bytes of all files in `index_dir` together.
    pub index_size: u64,
    /// Bytes of memory for seek points.
    pub index_memory: u64,
    /// Nothing of a compressed dataset is served before its whole stream was verified.
    pub verify_first: bool,
    /// Bytes on disk; None: as the free space permits.
    pub spill_size: Option<u64>,
    pub threads: usize,
    /// Bytes that the kernel reads ahead; None: more than usual where that is possible.
    pub read_ahead: Option<u64>,
    /// Uncompressed datasets of so many bytes are read without the page cache; None: none are.
    pub direct_io: Option<u64>,
    /// How containers at URLs are reached.
    pub access: Access,
    /// Small files are handed to the kernel before it asks for them.
    pub push: bool,
    /// Receiving threads run where the program is that they answer.
    pub follow: bool,
    pub allow_other: bool,
    /// Never together with `allow_other`; the kernel's allow_other with an owner-only `umask`.
    pub allow_root: bool,
    /// Implies `allow_root` or `allow_other`.
    pub auto_unmount: bool,
    pub noexec: bool,
    pub nonempty: bool,
    /// Owner of the files; None: the mounting user.
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// Permission bits to take from every file's mode.
    pub umask: u32,
    /// The mount table's source column; None: the container's path.
    pub fsname: Option<String>,
    pub verbose: u8,
    pub log_file: Option<PathBuf>,
    pub showing: Showing,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            sources: Vec::new(),
            mountpoint: None,
            by_mount: false,
            mode: Mode::Background,
            cache_size: DEFAULT_CACHE,
            index_dir: None,
            index_size: DEFAULT_INDEX_SIZE,
            index_memory: DEFAULT_INDEX_MEMORY,
            verify_first: false,
            spill_size: None,
            threads: DEFAULT_THREADS,
            read_ahead: None,
            direct_io: None,
            access: Access::default(),
            push: true,
            follow: true,
            allow_other: false,
            allow_root: false,
            auto_unmount: false,
            noexec: false,
            nonempty: false,
            uid: None,
            gid: None,
            umask: 0,
            fsname: None,
            verbose: 0,
            log_file: None,
            showing: Showing::default(),
        }
    }
}

impl Config {
    /// The container, for messages and names; empty when there is none (`-u`).
    pub fn source(&self) -> &Path {
        self.sources.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Whether the kernel is asked to let other users in at all.
    pub fn shared(&self) -> bool {
        self.allow_other || self.allow_root
    }
}
