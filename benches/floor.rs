//! Measures the cost of FUSE itself: a trivial file system that answers every request immediately, with the flags,
//! lifetimes and threads of rab-mount. `scripts/bench` runs it next to rab-mount; the difference is our own cost.
//!
//! `floor DIR BIG COUNT SIZE`: until it is unmounted, DIR contains `big` with BIG bytes and COUNT files `signal NNNNNN`
//! with SIZE bytes, each with a sidecar. `folder NNNNNN/signal NNNNNN` also exists, but is not listed.

use std::ffi::OsStr;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyXattr, Request, SessionACL,
};

const DAY: Duration = Duration::from_secs(24 * 3600);
const BIG: INodeNo = INodeNo(2);
const FIRST: u64 = 3;
/// Offset of the directories' inodes; the files in a directory have inodes from the directory's own plus this.
const FOLDERS: u64 = 1 << 40;
const SIDECAR: &str = ".meta.yaml";
static BYTES: [u8; 1 << 20] = [1; 1 << 20];

struct Floor {
    big: u64,
    count: u64,
    size: u64,
}

impl Floor {
    fn attr(&self, ino: INodeNo) -> FileAttr {
        let is_folder = ino == INodeNo::ROOT || (FOLDERS..2 * FOLDERS).contains(&ino.0);
        let (kind, perm) =
            if is_folder { (FileType::Directory, 0o755) } else { (FileType::RegularFile, 0o444) };
        FileAttr {
            ino,
            size: if ino == BIG { self.big } else { self.size },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn inode(&self, parent: INodeNo, name: &str) -> Option<INodeNo> {
        if parent != INodeNo::ROOT {
            return Some(INodeNo(parent.0 + FOLDERS));
        }
        if name == "big" {
            return Some(BIG);
        }
        if let Some(number) = name.strip_prefix("folder ") {
            return Some(INodeNo(FOLDERS + number.parse::<u32>().ok().map(u64::from)?));
        }
        let name = name.strip_prefix("signal ")?;
        let (number, sidecar) = name.strip_suffix(SIDECAR).map_or((name, 0), |number| (number, 1));
        let number: u64 = number.parse().ok()?;
        (number < self.count).then_some(INodeNo(FIRST + 2 * number + sidecar))
    }
}

impl Filesystem for Floor {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_NO_OPEN_SUPPORT
            | InitFlags::FUSE_NO_OPENDIR_SUPPORT
            | InitFlags::FUSE_PARALLEL_DIROPS;
        config.add_capabilities(wanted).map_err(|missing| io::Error::other(format!("{missing:?}")))
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str().and_then(|name| self.inode(parent, name)) {
            Some(inode) => reply.entry(&DAY, &self.attr(inode), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&DAY, &self.attr(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let left = self.attr(inode).size.saturating_sub(offset).min(u64::from(size)) as usize;
        reply.data(&BYTES[..left]);
    }

    fn readdirplus(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        cursor: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        for line in cursor..2 * self.count {
            let inode = INodeNo(FIRST + line);
            let name = format!("signal {:06}{}", line / 2, if line % 2 == 0 { "" } else { SIDECAR });
            if reply.add(inode, line + 1, name.as_str(), &DAY, &self.attr(inode), Generation(0)) {
                break;
            }
        }
        reply.ok();
    }

    fn getxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _: &Request, _: INodeNo, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [directory, big, count, size] = <[String; 4]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: floor DIR BIG COUNT SIZE")?;
    let mut config = fuser::Config::default();
    config.mount_options = vec![MountOption::RO, MountOption::DefaultPermissions];
    config.acl = SessionACL::Owner;
    config.n_threads = Some(2);
    config.clone_fd = true;
    let floor = Floor { big: big.parse()?, count: count.parse()?, size: size.parse()? };
    Ok(fuser::mount(floor, directory, &config)?)
}
