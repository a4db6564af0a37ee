//! The command line as clap sees it. What is said here appears in `--help`; the manual page says the same,
//! option by option. Nothing is decided here: `resolve` turns this into a `Config`.

use super::complete;
use super::showing::ShowingOptions;
use crate::cli::values;
use clap::{ArgAction, Args, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

const USAGE: &str = "rab-mount [OPTIONS] SOURCE... [MOUNTPOINT]
       rab-mount [OPTIONS] SOURCE... -- COMMAND [ARG {} ...]
       rab-mount -u [--lazy] MOUNTPOINT...
       rab-mount -u [--lazy] --all
       rab-mount --list";

const SHORT_NOTE: &str = "See 'rab-mount --help' or rab-mount(1) for more.";

const LONG_NOTE: &str = "\
Examples:
  rab-mount /data/run7 /mnt/run7       mount a directory: its containers are directories of their datasets
  rab-mount run7.rab                   mount on ./run7, which is created
  rab-mount a.rab b.rab dir /mnt/x     /mnt/x/a.rab/, /mnt/x/b.rab/ and /mnt/x/dir/
  rab-mount run7.rab /mnt/x            mount on /mnt/x
  rab-mount -u /mnt/x                  unmount
  rab-mount -u --lazy /mnt/x           unmount although a program has files of it open
  rab-mount --list                     what you have mounted, and where
  rab-mount run7.rab -- ls -l {}       mount privately, run ls, unmount
  rab-mount -f -v run7.rab /mnt/x      stay in the foreground; Ctrl-C unmounts
  mount -t fuse.rab-mount run7.rab /mnt/x -o allow_other

Exit codes:
   0  success
   1  anything not listed here; also: ended by a second signal while the mount was busy
   2  wrong usage
   3  no such dataset
  10  the container cannot be opened
  11  not a container of a known format
  12  the container is damaged
  20  the mountpoint cannot be used (or not be unmounted)
  21  FUSE is not available
With a COMMAND: its exit code; 126 if it cannot be executed, 127 if it is not found,
128+N if signal N killed it.";

/// Mount scientific container files (RAB, NPZ, RawArray, FFRecord, Onda, Awkward Array), and directories of them, as directories of plain files
///
/// Every dataset of the container becomes a file that holds the dataset's decoded bytes, with its
/// description beside it in NAME.meta.yaml. The mount is read-only, nosuid and nodev. Without -f the
/// command returns when the mount can be used, and a daemon serves it until it is unmounted.
#[derive(Debug, Parser)]
#[command(name = "rab-mount", version, override_usage = USAGE)]
#[command(after_help = SHORT_NOTE, after_long_help = LONG_NOTE)]
#[command(max_term_width = 110)]
pub struct Options {
    /// The container, or the directory of containers, to mount; of two or more paths the last is the mountpoint
    ///
    /// Of a directory every container in it becomes a directory of its datasets; other files are shown as they are.
    /// Several sources are shown side by side. Without a mountpoint, a directory named after the file without its
    /// extension is used in the current directory. A mountpoint that does not exist is created, and removed when it is unmounted.
    #[arg(value_name = "SOURCE", required_unless_present_any = ["list", "all"], add = complete::paths())]
    pub paths: Vec<PathBuf>,

    /// Mount privately, run this command, unmount, and return its exit code
    ///
    /// The mountpoint is a new temporary directory. Every {} in COMMAND and its arguments is replaced by
    /// it, and the environment variable RAB_MOUNT names it.
    #[arg(value_name = "COMMAND", last = true, add = complete::command())]
    pub command: Vec<OsString>,

    /// Stay in the foreground and log to stderr; SIGINT, SIGTERM and SIGHUP unmount
    #[arg(short, long, conflicts_with = "command")]
    pub foreground: bool,

    /// Unmount the given mountpoints, also dead ones
    ///
    /// Returns when the daemon is gone and a directory that rab-mount created is removed.
    #[arg(short, long, conflicts_with_all = ["foreground", "command"])]
    pub unmount: bool,

    /// With -u: detach mounts that are in use
    ///
    /// A mount that a program has files of open, or works in, is taken away from the directory tree at once, and its daemon
    /// serves those files until the last one is closed.
    #[arg(short = 'z', long, requires = "unmount")]
    pub lazy: bool,

    /// With -u: unmount all that you have mounted with rab-mount
    #[arg(long, requires = "unmount", conflicts_with = "paths")]
    pub all: bool,

    /// Print what you have mounted with rab-mount: SOURCE, MOUNTPOINT, PID and AGE, separated by tabs
    ///
    /// One line for each mount, nothing if there is none. PID is that of the daemon, and AGE is [[DAYS-]HOURS:]MINUTES:SECONDS.
    /// Of a dead mount, whose daemon was killed, PID is - and AGE is dead. In names a tab is \011, a newline \012 and
    /// a backslash \134.
    #[arg(long, conflicts_with_all = ["paths", "unmount", "foreground", "command"])]
    pub list: bool,

    /// Mount options as mount(8) passes them: names of long options, and those of mount(8)
    ///
    /// The long options may be given without their dashes, with - or _ (cache_size=512M). Accepted without
    /// effect: ro, rw, dev, nodev, suid, nosuid, exec, auto, noauto, user, users, nouser, owner, group,
    /// nofail, _netdev, defaults, atime, noatime, diratime, nodiratime, relatime, strictatime, lazytime,
    /// sync, async, dirsync, default_permissions, comment=..., x-....
    #[arg(short = 'o', value_name = "OPTION,...", add = complete::mount_options())]
    pub mount_options: Vec<OsString>,

    #[command(flatten)]
    pub settings: Settings,

    /// Refused: a mount is always read-only
    #[arg(long)]
    pub rw: bool,
}

/// The options that `-o` knows too, under the same names.
#[derive(Args, Clone, Debug, Default)]
pub struct Settings {
    /// Memory for decoded data: bytes, or with a suffix K, M, G or T [default: 256M]
    ///
    /// One cache for the whole mount. Less than 2M is raised to 2M.
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub cache_size: Option<u64>,

    /// Where seek points and sizes of compressed datasets are kept between mounts
    /// [default: $XDG_CACHE_HOME/rab-mount]
    ///
    /// Without XDG_CACHE_HOME it is ~/.cache/rab-mount, and without a home /var/cache/rab-mount. Created if
    /// it is missing; used only if it belongs to who mounts and nobody else may write to it. Removing it does
    /// no harm.
    #[arg(long, value_name = "DIR")]
    pub index_dir: Option<PathBuf>,

    /// Neither read nor keep seek points and sizes on disk
    #[arg(long, conflicts_with = "index_dir")]
    pub no_index: bool,

    /// How large the files in the directory of --index-dir may be together [default: 1G]
    ///
    /// What was used longest ago is dropped.
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub index_size: Option<u64>,

    /// Memory for seek points [default: 64M]
    ///
    /// When it is used up every second one goes, and random access to compressed datasets takes longer.
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub index_memory: Option<u64>,

    /// Serve nothing of a compressed dataset before its whole stream was verified
    ///
    /// The first read of each dataset then takes as long as decoding all of it, unless an earlier mount did
    /// and its index is there.
    #[arg(long)]
    pub verify_first: bool,
    /// Disk space for decoded zstd frames [default: a quarter of what is free, at most 16G]
    ///
    /// An unnamed file in $TMPDIR, else in /var/tmp, made when it is first needed. zstd cannot be read from
    /// the middle of a frame, so frames of more than 1M are decoded into it; one that is larger than SIZE
    /// cannot be read. Whole units of 256K are used.
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub spill_size: Option<u64>,

    /// Threads that receive requests [default: 2]
    #[arg(long, value_name = "N", value_parser = values::threads)]
    pub threads: Option<usize>,

    /// How far the kernel reads ahead of sequential readers [default: 512K for root, else 128K]
    ///
    /// Only root can set it. More makes reading from front to back faster, and random access to mapped
    /// files (np.memmap, np.load with mmap_mode) slower: each page that is touched brings so much with it.
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub read_ahead: Option<u64>,

    /// Let other users use the mount, as far as the files' modes permit
    ///
    /// Users other than root need user_allow_other in /etc/fuse.conf for this.
    #[arg(long)]
    pub allow_other: bool,

    /// Let root (and nobody else) use the mount too: files are accessible to their owner only
    ///
    /// Users other than root need user_allow_other in /etc/fuse.conf for this.
    #[arg(long, conflicts_with = "allow_other")]
    pub allow_root: bool,

    /// Unmount when the daemon dies, even if it is killed
    ///
    /// Brings --allow-root with it unless --allow-other is given, and needs fusermount3.
    #[arg(long)]
    pub auto_unmount: bool,

    /// Do not permit to execute files of the mount
    #[arg(long)]
    pub noexec: bool,

    /// Mount over a directory that is not empty
    #[arg(long)]
    pub nonempty: bool,

    /// Owner of the files, a number [default: who mounts]
    #[arg(long, value_name = "UID", value_parser = values::id)]
    pub uid: Option<u32>,

    /// Group of the files, a number [default: that of who mounts]
    #[arg(long, value_name = "GID", value_parser = values::id)]
    pub gid: Option<u32>,

    /// Permission bits to take away, octal [default: 0, which leaves 444 for files, 755 for directories]
    #[arg(long, value_name = "MASK", value_parser = values::umask)]
    pub umask: Option<u32>,

    /// Source column of the mount table [default: the container's absolute path]
    #[arg(long, value_name = "NAME")]
    pub fsname: Option<String>,

    /// Log more: -v for information, -vv for debugging
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Append the log to this file [default in the background: syslog]
    ///
    /// Where there is no syslog, the daemon logs to $XDG_STATE_HOME/rab-mount.log or
    /// ~/.local/state/rab-mount.log.
    #[arg(long, value_name = "PATH")]
    pub log_file: Option<PathBuf>,

    #[command(flatten)]
    pub showing: ShowingOptions,
}
