//! A file as last examined: how it is shown, its identity and its attributes.

use std::hash::{Hash, Hasher};
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::fstat;

use crate::format::Format;
use crate::source::Source;
use crate::tree::{NodeKind, Size, Stat, removable};

/// What a file is shown as.
#[derive(Clone, Copy)]
pub enum EntryKind {
    Directory,
    Container(&'static dyn Format),
    File,
    Link,
}

impl EntryKind {
    pub fn kind(self) -> NodeKind {
        match self {
            EntryKind::Directory | EntryKind::Container(_) => NodeKind::Directory { subdirectories: None },
            EntryKind::File => NodeKind::File,
            EntryKind::Link => NodeKind::Link,
        }
    }

    pub fn number(self) -> u8 {
        match self {
            EntryKind::Directory => 0,
            EntryKind::Container(_) => 1,
            EntryKind::File => 2,
            EntryKind::Link => 3,
        }
    }
}

/// What tells one file from another, and one content from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    pub len: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl Identity {
    pub fn same_file(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// A file that was looked at.
#[derive(Clone, Copy)]
pub struct Classified {
    pub what: EntryKind,
    pub identity: Identity,
    /// Bytes on disk.
    stored: u64,
    mode: u32,
    /// What the directories leave of it that a link leads through.
    allowed: u16,
}

impl Default for Classified {
    /// A directory that is on no disk.
    fn default() -> Classified {
        Classified {
            what: EntryKind::Directory,
            identity: Identity::default(),
            stored: 0,
            mode: 0o555,
            allowed: 0o777,
        }
    }
}

impl Classified {
    pub fn new(what: EntryKind, stat: &rustix::fs::Stat) -> Classified {
        let stored = 512 * stat.st_blocks as u64;
        Classified { what, identity: identity(stat), stored, mode: stat.st_mode, allowed: 0o777 }
    }

    /// An object of a store. What identifies its version takes the place of device and inode number.
    pub fn of_object(what: EntryKind, len: u64, modified: SystemTime, id: (u64, u64)) -> Classified {
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = (modified.as_secs() as i64, modified.subsec_nanos().into());
        let identity = Identity { device: id.0, inode: id.1, len, modified };
        Classified { what, identity, stored: len, mode: 0o444, allowed: 0o777 }
    }

    /// Is this the object that was listed? Some stores have other entity tags in listings; times have no fractions of
    /// seconds in their answers.
    pub fn is_object(&self, source: &dyn Source) -> bool {
        let Identity { device, inode, len, modified } = self.identity;
        let since = source.modified().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_alike = len == source.len() && modified.0 == since.as_secs() as i64;
        source.file_id() == Some((device, inode)) || is_alike
    }

    /// The same by way of a link, whose directories leave these bits of the mode.
    pub fn by_link(self, allowed: u16) -> Classified {
        Classified { allowed, ..self }
    }

    /// The same file as it is now.
    pub fn now(&self, stat: &rustix::fs::Stat) -> Classified {
        Classified { allowed: self.allowed, ..Classified::new(self.what, stat) }
    }

    /// The same file as it is now, wherever it is.
    pub fn now_open(&self, file: impl AsFd) -> Option<Classified> {
        fstat(file).ok().map(|stat| self.now(&stat))
    }

    /// Is it the same in everything that a node keeps?
    pub fn is_same(&self, other: &Classified) -> bool {
        let is_unchanged = match self.what {
            EntryKind::Container(_) => (self.identity, self.mode) == (other.identity, other.mode),
            _ => self.identity.same_file(&other.identity),
        };
        is_unchanged && self.what.number() == other.what.number() && self.allowed == other.allowed
    }

    /// What two that are the same have in common, and is in a directory's listing already.
    pub fn hash(&self, hasher: &mut impl Hasher) {
        (self.what.number(), self.identity.inode, self.allowed).hash(hasher);
        if let EntryKind::Container(_) = self.what {
            (self.identity.len, self.identity.modified, self.mode).hash(hasher);
        }
    }

    /// A directory of which only the inode number is known.
    pub fn directory(inode: u64) -> Classified {
        Classified { identity: Identity { inode, ..Identity::default() }, ..Classified::default() }
    }

    pub fn stat(&self) -> Stat {
        let size = match self.what {
            EntryKind::File | EntryKind::Link => Size { len: Some(self.identity.len), stored: self.stored },
            EntryKind::Directory | EntryKind::Container(_) => Size::NOTHING,
        };
        let is_on_disk = self.identity != Identity::default();
        Stat {
            kind: self.what.kind(),
            size,
            modified: is_on_disk.then(|| time(self.identity.modified)),
            permissions: self.permissions(),
        }
    }

    /// Whoever may read a container may enter its directory.
    fn permissions(&self) -> u16 {
        let bits = self.mode as u16 & self.allowed;
        match self.what {
            EntryKind::Container(_) => removable((bits & 0o444) | (bits & 0o444) >> 2),
            EntryKind::Directory => removable(bits & 0o555),
            EntryKind::Link => 0o777,
            EntryKind::File => bits & 0o555,
        }
    }
}

pub fn identity(stat: &rustix::fs::Stat) -> Identity {
    Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        len: stat.st_size as u64,
        modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
    }
}

fn time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    base.unwrap_or(UNIX_EPOCH) + Duration::from_nanos(nanoseconds.clamp(0, 999_999_999) as u64)
}
