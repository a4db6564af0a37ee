//! The command line as clap parses it; `resolve` turns it into a `Config`. The doc comments of options are the text of
//! `--help`; the manual page describes the same options.

use super::complete;
use super::showing::ShowingOptions;
use crate::cli::urls::Urls;
use crate::cli::values;
use clap::{ArgAction, Args, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

// The headings of --help, in the order of the manual page.
const MOUNTING: &str = "Mounting and unmounting";
const ACCESS: &str = "Owner and access";
const COMPRESSED: &str = "Compressed data and memory";
const PERFORMANCE: &str = "Performance";
const LOGGING: &str = "Logging";

const USAGE: &str = "rab-mount [OPTIONS] SOURCE... [MOUNTPOINT]
       rab-mount [OPTIONS] SOURCE... -- COMMAND [ARG {} ...]
       rab-mount -u [--lazy] MOUNTPOINT...
       rab-mount -u [--lazy] --all
       rab-mount --list";

const SHORT_NOTE: &str = "See 'rab-mount --help' or rab-mount(1) for more.";

const LONG_NOTE: &str = "\
Examples:
  rab-mount /data/run7 /mnt/run7       mount a directory of containers
  rab-mount run7.rab                   mount on ./run7, which is created
  rab-mount a.rab b.rab dir /mnt/x     /mnt/x/a.rab/, /mnt/x/b.rab/ and /mnt/x/dir/
  rab-mount run7.rab /mnt/x            mount on /mnt/x
  rab-mount -u /mnt/x                  unmount
  rab-mount -u --lazy /mnt/x           unmount although a program has its files open
  rab-mount --list                     what you have mounted, and where
  rab-mount run7.rab -- ls -l {}       mount privately, run ls, unmount
  rab-mount -f -v run7.rab /mnt/x      stay in the foreground; Ctrl-C unmounts
  mount -t fuse.rab-mount run7.rab /mnt/x -o allow_other

Exit codes:
   0  success
   1  anything not listed here; also: ended by a second signal while in use
   2  wrong usage
   3  no such dataset
  10  the container cannot be opened
  11  not a container of a known format
  12  the container is damaged
  20  the mountpoint cannot be used, or cannot be unmounted
  21  FUSE is not available
With a COMMAND: its exit code; 126 if it cannot be executed, 127 if it is not found,
128+N if signal N killed it.";

const DETAILS: &str = "Each dataset becomes a file of its decoded bytes, with its type, shape and metadata beside it in \
    NAME.meta.yaml. The mount is read-only, nosuid and nodev. The command returns when the mount can be used, and a \
    daemon serves it until it is unmounted.";

fn about() -> String {
    let formats = crate::format::known();
    format!(
        "Mount scientific container files ({formats}), and directories of them, as directories of plain files"
    )
}

#[derive(Debug, Parser)]
#[command(name = "rab-mount", version, override_usage = USAGE)]
#[command(about = about(), long_about = format!("{}\n\n{DETAILS}", about()))]
#[command(after_help = SHORT_NOTE, after_long_help = LONG_NOTE)]
#[command(max_term_width = 110)]
pub struct Options {
    /// The container, or the directory of containers, to mount; of two or more paths the last is the mountpoint
    ///
    /// In a mounted directory each container becomes a directory of its datasets; other files stay as they are. Several
    /// sources appear side by side. Without a mountpoint, a directory called like the source without its extension is
    /// used in the current directory. A mountpoint that does not exist is created, and removed when it is unmounted.
    #[arg(value_name = "SOURCE", required_unless_present_any = ["list", "all"], add = complete::paths())]
    pub paths: Vec<PathBuf>,

    /// Mount privately, run this command, unmount, and return its exit code
    ///
    /// The mountpoint is a new temporary directory. Every {} in COMMAND and its arguments is replaced by it, and the
    /// environment variable RAB_MOUNT names it.
    #[arg(value_name = "COMMAND", last = true, add = complete::command())]
    pub command: Vec<OsString>,

    /// Stay in the foreground and log to stderr; SIGINT, SIGTERM and SIGHUP unmount
    #[arg(help_heading = MOUNTING, short, long, conflicts_with = "command")]
    pub foreground: bool,

    /// Unmount the given mountpoints, dead ones included
    ///
    /// Returns when the daemon is gone and a mountpoint that it created is removed.
    #[arg(help_heading = MOUNTING, short, long, conflicts_with_all = ["foreground", "command"])]
    pub unmount: bool,

    /// With -u: detach mounts that are in use
    ///
    /// The mount disappears from the directory tree at once; its daemon serves open files until the last one is closed.
    #[arg(help_heading = MOUNTING, short = 'z', long, requires = "unmount")]
    pub lazy: bool,

    /// With -u: unmount everything that you have mounted with rab-mount
    #[arg(help_heading = MOUNTING, long, requires = "unmount", conflicts_with = "paths")]
    pub all: bool,

    /// Print your mounts: SOURCE, MOUNTPOINT, PID and AGE, separated by tabs
    ///
    /// PID is the daemon's, and AGE is [[DAYS-]HOURS:]MINUTES:SECONDS. For a dead mount, whose daemon was killed, PID
    /// is - and AGE is dead. In names a tab is written \011, a newline \012 and a backslash \134.
    #[arg(help_heading = MOUNTING, long, conflicts_with_all = ["paths", "unmount", "foreground", "command"])]
    pub list: bool,

    /// Mount options as mount(8) passes them
    ///
    /// Long options without their dashes (cache_size=512M; - and _ are the same). Accepted without effect: ro, rw, dev,
    /// nodev, suid, nosuid, exec, auto, noauto, user, users, nouser, owner, group, nofail, _netdev, defaults, atime,
    /// noatime, diratime, nodiratime, relatime, strictatime, lazytime, sync, async, dirsync, default_permissions,
    /// comment=..., x-....
    #[arg(help_heading = MOUNTING, short = 'o', value_name = "OPTION,...", add = complete::mount_options())]
    pub mount_options: Vec<OsString>,

    #[command(flatten)]
    pub settings: Settings,

    /// Refused: a mount is always read-only
    #[arg(help_heading = MOUNTING, long)]
    pub rw: bool,
}

/// The options that `-o` knows too, under the same names.
#[derive(Args, Clone, Debug, Default)]
pub struct Settings {
    /// Memory for decoded data: bytes, or with a suffix K, M, G or T [default: 256M]
    ///
    /// One cache for the whole mount. The minimum is 2M.
    #[arg(help_heading = COMPRESSED, long, value_name = "SIZE", value_parser = values::size)]
    pub cache_size: Option<u64>,

    /// Where seek points and sizes of compressed datasets are kept between mounts [default: $XDG_CACHE_HOME/rab-mount]
    ///
    /// Without XDG_CACHE_HOME it is ~/.cache/rab-mount, and without a home /var/cache/rab-mount. Created if it is
    /// missing; used only if it belongs to the mounting user and nobody else may write to it. It may be removed at any
    /// time.
    #[arg(help_heading = COMPRESSED, long, value_name = "DIR")]
    pub index_dir: Option<PathBuf>,

    /// Neither read nor write seek points and sizes on disk
    #[arg(help_heading = COMPRESSED, long, conflicts_with = "index_dir")]
    pub no_index: bool,

    /// Maximum size of all files in the directory of --index-dir [default: 1G]
    ///
    /// The least recently used are removed.
    #[arg(help_heading = COMPRESSED, long, value_name = "SIZE", value_parser = values::size)]
    pub index_size: Option<u64>,

    /// Memory for seek points [default: 64M]
    ///
    /// When it is full, every second one is dropped, and random access to compressed datasets gets slower.
    #[arg(help_heading = COMPRESSED, long, value_name = "SIZE", value_parser = values::size)]
    pub index_memory: Option<u64>,

    /// Verify the whole stream of a compressed dataset before serving any of it
    ///
    /// The first read then takes as long as decoding all of it, unless an earlier mount did so and its index is there.
    #[arg(help_heading = COMPRESSED, long)]
    pub verify_first: bool,
    /// Disk space for decoded zstd frames [default: a quarter of the free space, at most 16G]
    ///
    /// zstd cannot be read from the middle of a frame, so frames of more than 1M are decoded into an unnamed file in
    /// $TMPDIR, else /var/tmp. A frame larger than SIZE cannot be read.
    #[arg(help_heading = COMPRESSED, long, value_name = "SIZE", value_parser = values::size)]
    pub spill_size: Option<u64>,

    /// Threads that receive requests [default: 2]
    #[arg(help_heading = PERFORMANCE, long, value_name = "N", value_parser = values::threads)]
    pub threads: Option<usize>,

    /// How far the kernel reads ahead of sequential readers [default: 512K for root, else 128K]
    ///
    /// Only root can set it. More speeds up reading from front to back, and slows down random access to mapped files
    /// (np.memmap, np.load with mmap_mode).
    #[arg(help_heading = PERFORMANCE, long, value_name = "SIZE", value_parser = values::size)]
    pub read_ahead: Option<u64>,

    /// Read uncompressed datasets of at least this size without the page cache [default: off]
    ///
    /// For datasets that are read once, from front to back: what is read is not copied twice, and kept only once in
    /// memory, with the container. Reads of a few kilobytes are slower, and each program that maps such a file (np.memmap)
    /// makes the kernel drop what others have mapped of it, to be read again.
    #[arg(help_heading = PERFORMANCE, long, value_name = "SIZE", value_parser = values::size_or_off)]
    pub direct_io: Option<u64>,

    /// Do not hand small files to the kernel before they are read
    ///
    /// Otherwise, while a program reads the small files of a directory one after the other, up to 256 of those that
    /// follow in the listing are put into the page cache.
    #[arg(help_heading = PERFORMANCE, long)]
    pub no_push: bool,

    /// Do not run on the processor of the program that is answered
    ///
    /// Otherwise the threads that receive requests follow a program that makes many small ones, which saves waking up
    /// another processor. The scheduler may know better where many programs compete for few processors.
    #[arg(help_heading = PERFORMANCE, long)]
    pub no_follow: bool,

    /// Let other users use the mount, as far as the modes of the files permit
    ///
    /// Users other than root need user_allow_other in /etc/fuse.conf.
    #[arg(help_heading = ACCESS, long)]
    pub allow_other: bool,

    /// Let root (and nobody else) use the mount too: only their owner may read the files
    ///
    /// Users other than root need user_allow_other in /etc/fuse.conf.
    #[arg(help_heading = ACCESS, long, conflicts_with = "allow_other")]
    pub allow_root: bool,

    /// Unmount when the daemon dies, even if it is killed
    ///
    /// Implies --allow-root unless --allow-other is given, and needs fusermount3.
    #[arg(help_heading = ACCESS, long)]
    pub auto_unmount: bool,

    /// Do not allow files of the mount to be executed
    #[arg(help_heading = ACCESS, long)]
    pub noexec: bool,

    /// Mount over a directory that is not empty
    #[arg(help_heading = MOUNTING, long)]
    pub nonempty: bool,

    /// Numeric owner of the files [default: the mounting user]
    #[arg(help_heading = ACCESS, long, value_name = "UID", value_parser = values::id)]
    pub uid: Option<u32>,

    /// Numeric group of the files [default: the mounting user's]
    #[arg(help_heading = ACCESS, long, value_name = "GID", value_parser = values::id)]
    pub gid: Option<u32>,

    /// Permission bits to remove, in octal [default: 0, which leaves 444 for files, 755 for directories]
    #[arg(help_heading = ACCESS, long, value_name = "MASK", value_parser = values::umask)]
    pub umask: Option<u32>,

    /// The source in the mount table [default: the container's absolute path]
    #[arg(help_heading = ACCESS, long, value_name = "NAME")]
    pub fsname: Option<String>,

    /// Log more: -v for information, -vv for debugging
    #[arg(help_heading = LOGGING, short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Append the log to this file [default in the background: syslog]
    ///
    /// Without syslog the daemon logs to $XDG_STATE_HOME/rab-mount.log or ~/.local/state/rab-mount.log.
    #[arg(help_heading = LOGGING, long, value_name = "PATH")]
    pub log_file: Option<PathBuf>,

    #[command(flatten)]
    pub urls: Urls,

    #[command(flatten)]
    pub showing: ShowingOptions,
}
