//! The kernel's table of mounts, `/proc/self/mountinfo`. Everything we know about our own mount comes from
//! here: the daemon never stats or opens its own mountpoint, which it alone could answer.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What the mount table calls us.
pub const FSTYPE: &str = "fuse.rab-mount";

/// The number of a mounted file system, as `stat` shows it in `st_dev`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    pub major: u64,
    pub minor: u64,
}

impl Device {
    pub fn from_dev(dev: u64) -> Device {
        Device { major: nix::sys::stat::major(dev), minor: nix::sys::stat::minor(dev) }
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Device> {
        let (major, minor) = text.split_once('-')?;
        Some(Device { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.major, self.minor)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: u64,
    /// The mount that this one is mounted on or in.
    pub parent: u64,
    pub device: Device,
    pub mountpoint: PathBuf,
    pub fstype: String,
    pub source: OsString,
    /// Of the file system: `user_id=1000,allow_other,...`.
    pub options: String,
}

impl Entry {
    pub fn is_ours(&self) -> bool {
        self.fstype == FSTYPE
    }

    /// The user that mounted it, for a FUSE file system.
    pub fn owner(&self) -> Option<u32> {
        self.options.split(',').find_map(|option| option.strip_prefix("user_id=")?.parse().ok())
    }

    /// Is it a mount that this user made with rab-mount?
    pub fn is_own(&self) -> bool {
        self.is_ours() && self.owner() == Some(nix::unistd::geteuid().as_raw())
    }

    /// Ids are reused, so the other columns have a say too.
    pub fn is_same_mount(&self, other: &Entry) -> bool {
        self.id == other.id && self.device == other.device && self.mountpoint == other.mountpoint
    }
}

pub fn read() -> io::Result<Vec<Entry>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    Ok(table.split(|&b| b == b'\n').filter_map(parse).collect())
}

/// The mount whose root a look-up of `path` (absolute, without links) ends in, if it does end in one: walks
/// down as the kernel does, so that what another mount hides is not found. In a chroot the mount that its root lies in
/// is not in the table.
pub fn topmost<'a>(table: &'a [Entry], path: &Path) -> Option<&'a Entry> {
    let is_known = |id: u64| table.iter().any(|entry| entry.id == id);
    let is_on = |entry: &Entry, below: Option<&Entry>| match below {
        Some(below) => entry.parent == below.id && entry.id != below.id,
        None => entry.parent == entry.id || !is_known(entry.parent),
    };
    let mut at: Option<&Entry> = None;
    let mut prefixes: Vec<&Path> = path.ancestors().collect();
    prefixes.reverse();
    for prefix in prefixes {
        while let Some(above) = table.iter().find(|e| e.mountpoint == prefix && is_on(e, at)) {
            at = Some(above);
        }
    }
    at.filter(|entry| entry.mountpoint == path)
}

/// What is mounted on or inside a mount.
pub fn inside<'a>(table: &'a [Entry], mount: &Entry) -> impl Iterator<Item = &'a Entry> {
    let id = mount.id;
    table.iter().filter(move |entry| entry.parent == id && entry.id != id)
}

/// `36 35 0:57 /root /mountpoint mount-options optional... - fstype source super-options`
fn parse(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(|&b| b == b' ');
    let id = number(fields.next()?)?;
    let parent = number(fields.next()?)?;
    let (major, minor) = std::str::from_utf8(fields.next()?).ok()?.split_once(':')?;
    let device = Device { major: major.parse().ok()?, minor: minor.parse().ok()? };
    let mountpoint = PathBuf::from(unescape(fields.nth(1)?));
    fields.find(|field| *field == b"-")?;
    let text = |field: &[u8]| unescape(field).to_string_lossy().into_owned();
    let fstype = text(fields.next()?);
    let source = unescape(fields.next()?);
    let options = text(fields.next().unwrap_or_default());
    Some(Entry { id, parent, device, mountpoint, fstype, source, options })
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Undoes the kernel's `\040` for a space, tab, newline, backslash or `#`.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal =
            tail.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..b'8').contains(d)));
        let Some(digits) = octal else {
            bytes.push(first);
            rest = tail;
            continue;
        };
        bytes.push(digits.iter().fold(0u8, |value, digit| (value << 3) | (digit - b'0')));
        rest = &tail[3..];
    }
    OsString::from_vec(bytes)
}

/// For messages: `/a/b (ext4)`.
pub fn describe(entry: &Entry) -> String {
    format!("{} ({})", entry.mountpoint.display(), entry.fstype)
}

/// For messages: the container behind a mount.
pub fn source_of(entry: &Entry) -> std::path::Display<'_> {
    Path::new(OsStr::from_bytes(entry.source.as_bytes())).display()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
80 22 0:57 / /mnt/a\\040b rw,nosuid - fuse.rab-mount /data/x\\134y.rab ro,user_id=1000,group_id=1000
81 80 0:58 / /mnt/a\\040b rw shared:4 master:5 - tmpfs tmpfs rw
82 80 0:59 / /mnt/a\\040b/sub rw - tmpfs tmpfs rw
nonsense
";

    fn table() -> Vec<Entry> {
        TABLE.as_bytes().split(|&b| b == b'\n').filter_map(parse).collect()
    }

    #[test]
    fn reads_escaped_fields() {
        let table = table();
        assert_eq!(table.len(), 4);
        let ours = &table[1];
        assert!(ours.is_ours());
        assert_eq!(ours.mountpoint, Path::new("/mnt/a b"));
        assert_eq!(ours.source, "/data/x\\y.rab");
        assert_eq!((ours.owner(), ours.device.to_string()), (Some(1000), "0-57".into()));
        assert_eq!(Device::parse("0-57"), Some(ours.device));
    }

    #[test]
    fn the_topmost_mount_is_the_one_nothing_is_mounted_on() {
        let table = table();
        assert_eq!(topmost(&table, Path::new("/mnt/a b")).map(|e| e.id), Some(81));
        assert_eq!(topmost(&table, Path::new("/")).map(|e| e.id), Some(22));
        assert_eq!(topmost(&table, Path::new("/none")), None);
        assert_eq!(inside(&table, &table[1]).map(|e| e.id).collect::<Vec<_>>(), [81, 82]);
    }

    #[test]
    fn in_a_chroot_the_root_is_not_in_the_table() {
        let table = &table()[1..];
        assert_eq!(topmost(table, Path::new("/mnt/a b")).map(|e| e.id), Some(81));
        assert_eq!(topmost(table, Path::new("/mnt/a b/sub")), None, "it is hidden");
        assert_eq!(topmost(table, Path::new("/")), None);
    }
}
