//! The directory to mount on: which one, whether it can be used, creating and removing it. It is checked
//! before the container is opened and created after that, so that a bad container leaves nothing behind.
//! Only a directory that we created is ever removed, once, empty, and only if it is still the same one.

use super::config::Config;
use super::mountinfo::{self, Entry};
use crate::source::{is_directory, without_secrets};
use crate::{Error, Result};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const NOT_IN_A_DIRECTORY: &str = "its parent is not a directory: choose another place";

#[derive(Clone, Debug)]
pub struct Mountpoint {
    /// Absolute, without symlinks: as the mount table shows it.
    pub path: PathBuf,
    /// As the user would type it, for messages.
    pub shown: PathBuf,
    pub exists: bool,
}

/// A directory that we created, by what makes it that one and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    pub dev: u64,
    pub ino: u64,
    /// Inode numbers are given again at once; in nanoseconds, 0 where the file system does not know.
    pub born: u64,
}

/// The mountpoint as the user would type it.
pub fn wanted(config: &Config) -> Result<PathBuf> {
    match &config.mountpoint {
        Some(path) => Ok(path.clone()),
        None => derived(config.source()),
    }
}

/// Where to mount, checked as far as it can be without changing anything.
pub fn choose(config: &Config) -> Result<Mountpoint> {
    let shown = wanted(config)?;
    let path = locate(&shown)?;
    outside_of_sources(config, &path)?;
    let table = table()?;
    if let Some(entry) = mountinfo::topmost(&table, &path).filter(|entry| entry.is_ours()) {
        return Err(already_mounted(&shown, entry));
    }
    let exists = check(&shown, &path, config.nonempty)?;
    if !exists && config.by_mount {
        return Err(Error::mountpoint(
            &shown,
            "does not exist, and is not created for mount(8): create it first, or mount with -o \
             X-mount.mkdir (without mount(8): put -o before the source)",
        ));
    }
    Ok(Mountpoint { path, shown, exists })
}

/// A directory that is mounted inside itself would ask itself for ever.
pub fn outside_of_sources(config: &Config, path: &Path) -> Result<()> {
    let real = |source: &PathBuf| source.canonicalize().unwrap_or_else(|_| source.clone());
    match config.sources.iter().find(|source| source.is_dir() && path.starts_with(real(source))) {
        Some(source) => Err(Error::mountpoint(
            path,
            format!("lies inside {}, the source: choose a directory outside of it", source.display()),
        )),
        None => Ok(()),
    }
}

/// The file's name without its extension, or the directory's name, in the current directory.
fn derived(source: &Path) -> Result<PathBuf> {
    let source = without_secrets(source);
    let source = source.as_path();
    let name = if is_directory(source) { source.file_name().map(OsStr::new) } else { source.file_stem() };
    let name = name.map(PathBuf::from).unwrap_or_default();
    let is_source = std::path::absolute(&name).is_ok_and(|path| path == source);
    if name.as_os_str().is_empty() || is_source {
        let named = source.file_name().map_or(source, Path::new);
        let problem = format!("is the source itself: give a mountpoint: rab-mount {} DIR", named.display());
        return Err(Error::mountpoint(named, problem));
    }
    Ok(name)
}

/// The absolute path, without asking a mount at its end, which may be dead or hang.
pub fn locate(path: &Path) -> Result<PathBuf> {
    let fail = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => {
            Error::mountpoint(path, "its parent directory does not exist: create that first")
        }
        io::ErrorKind::NotADirectory => Error::mountpoint(path, NOT_IN_A_DIRECTORY),
        io::ErrorKind::PermissionDenied => {
            Error::mountpoint(path, "no permission to search its parent directory: choose another place")
        }
        _ => Error::mountpoint(path, cause.to_string()),
    };
    let absolute = std::path::absolute(path).map_err(fail)?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return absolute.canonicalize().map_err(fail);
    };
    let located = parent.canonicalize().map_err(fail)?.join(name);
    if table()?.iter().any(|entry| entry.mountpoint == located) {
        return Ok(located);
    }
    match fs::symlink_metadata(&located) {
        Ok(is) if is.is_symlink() => located.canonicalize().map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => {
                Error::mountpoint(path, "is a symbolic link that leads nowhere: remove it")
            }
            _ => Error::mountpoint(path, cause.to_string()),
        }),
        _ => Ok(located),
    }
}

pub fn table() -> Result<Vec<Entry>> {
    mountinfo::read().map_err(|cause| {
        Error::Other(format!("/proc/self/mountinfo: cannot be read: {cause}; mount /proc first"))
    })
}

fn already_mounted(shown: &Path, entry: &Entry) -> Error {
    let what = if super::dead::answers_nothing(&entry.mountpoint) {
        "a dead mount (its daemon was killed)"
    } else {
        "already mounted by rab-mount"
    };
    Error::mountpoint(
        shown,
        format!(
            "{what}, of {}: unmount it with 'rab-mount -u {}'",
            mountinfo::source_of(entry),
            shown.display()
        ),
    )
}

/// Whether the directory exists; an error if it is not one to mount on.
fn check(shown: &Path, path: &Path, nonempty: bool) -> Result<bool> {
    let fail = |problem: &str| Err(Error::mountpoint(shown, problem));
    match fs::metadata(path) {
        Ok(is) if is.is_dir() => {}
        Ok(_) => return fail("is not a directory: give a directory, or a name that is free"),
        Err(cause) => {
            return match cause.raw_os_error() {
                Some(libc::ENOENT) => Ok(false),
                Some(libc::ENOTDIR) => fail(NOT_IN_A_DIRECTORY),
                Some(libc::EACCES) => fail("no permission to use it: choose a directory of your own"),
                Some(libc::ENOTCONN) => fail(
                    "is a dead mount of another file system: clear it with 'umount' or 'fusermount3 -u' first",
                ),
                _ => fail(&cause.to_string()),
            };
        }
    }
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(cause) => return fail(&format!("cannot be listed ({cause}): choose a directory of your own")),
    };
    if !nonempty && entries.next().is_some() {
        return fail("is not empty: choose an empty directory, or mount over its content with --nonempty");
    }
    Ok(true)
}

/// Makes sure that the directory is there; says so if it was not.
pub fn create(place: &Mountpoint) -> Result<Option<Created>> {
    // One that was there when it was chosen may have been that of a mount which has just ended, and removed it.
    let is_gone =
        || matches!(fs::symlink_metadata(&place.path), Err(cause) if cause.kind() == io::ErrorKind::NotFound);
    if place.exists && !is_gone() {
        return Ok(None);
    }
    match fs::create_dir(&place.path) {
        Ok(()) => identity(&place.path)
            .map(Some)
            .map_err(|cause| Error::mountpoint(&place.shown, cause.to_string())),
        // Somebody else made it meanwhile; whether that was another rab-mount is seen under the claim.
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            check(&place.shown, &place.path, true).map(|_| None)
        }
        Err(cause) => Err(Error::mountpoint(&place.shown, cannot_create(&cause))),
    }
}

fn cannot_create(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => "no permission to create it: choose a place of your own".into(),
        io::ErrorKind::ReadOnlyFilesystem => {
            "does not exist, and the file system is read-only: choose another place".into()
        }
        _ => format!("cannot be created: {cause}: choose another place"),
    }
}

fn identity(path: &Path) -> io::Result<Created> {
    let is = fs::symlink_metadata(path)?;
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
    let born = is.created().ok().and_then(since).map_or(0, |age| age.as_nanos() as u64);
    Ok(Created { dev: is.dev(), ino: is.ino(), born })
}

/// As [`remove`], unless another mount is just being made there, which then keeps the directory.
pub fn remove_after(path: &Path, created: Created) {
    let _claim = lock(path);
    remove(path, created);
}

/// Removes what `create` made, unless something is mounted there, it is another one, or not empty.
pub fn remove(path: &Path, created: Created) {
    let mounted = match mountinfo::read() {
        Ok(table) => mountinfo::topmost(&table, path).is_some(),
        Err(_) => true,
    };
    if mounted || identity(path).ok() != Some(created) {
        return;
    }
    match fs::remove_dir(path) {
        // The daemon and `-u` may both try.
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            log::warn!("{}: cannot be removed: {cause}", path.display());
        }
        _ => {}
    }
}

/// Two mounts at once on one directory would cover each other, and one would not know who created it: who
/// holds this claim (a lock on the directory that it is in) may create it and mount.
pub fn claim(place: &Mountpoint) -> Result<Option<nix::fcntl::Flock<File>>> {
    let claim = lock(&place.path);
    match mountinfo::topmost(&table()?, &place.path).filter(|entry| entry.is_ours()) {
        Some(entry) => Err(already_mounted(&place.shown, entry)),
        None => Ok(claim),
    }
}

/// Somebody may hold a lock on it for other reasons, or we may not read it: then we go on without.
pub fn lock(path: &Path) -> Option<nix::fcntl::Flock<File>> {
    let parent = File::open(path.parent().unwrap_or(path)).ok()?;
    super::registry::lock_within(parent, std::time::Duration::from_secs(2))
}

/// What private directories are called: this, the process's number, `-` and a number.
const PRIVATE: &str = "rab-mount-";

/// Is it called like one that [`private`] makes?
pub fn is_private(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PRIVATE)?.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.is_some_and(|(pid, attempt)| is_number(pid) && is_number(attempt))
}

/// Where private directories are made: `$TMPDIR` or `/tmp`.
pub fn temporary() -> PathBuf {
    std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty()).map_or_else(|| "/tmp".into(), PathBuf::from)
}

/// A new private directory for a command's mount.
pub fn private() -> Result<(Mountpoint, Created)> {
    // Without it nothing could be mounted, nor distinguished from a mount when it is removed.
    table()?;
    let parent = &*temporary();
    let fail = |cause: io::Error| {
        Error::mountpoint(parent, format!("no temporary directory can be created here: {cause}; set TMPDIR"))
    };
    let parent_path = parent.canonicalize().map_err(fail)?;
    for attempt in 0..1000 {
        let path = parent_path.join(format!("{PRIVATE}{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                let created = identity(&path).map_err(fail)?;
                return Ok((Mountpoint { shown: path.clone(), path, exists: true }, created));
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(fail(cause)),
        }
    }
    Err(Error::mountpoint(
        parent,
        "no temporary directory can be created here: all names are taken; clear it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_without_extension() {
        assert_eq!(derived(Path::new("/d/run.7.rab")).unwrap(), Path::new("run.7"));
        assert_eq!(derived(Path::new("/elsewhere/data")).unwrap(), Path::new("data"));
        let here = std::env::current_dir().unwrap().join("data");
        assert_eq!(derived(&here).unwrap_err().exit_code(), 20);
    }

    #[test]
    fn private_directories_are_known_by_their_names() {
        let is = |name: &str| is_private(Path::new(name));
        assert!(is("/tmp/rab-mount-17-0") && is("/x/rab-mount-1-999"));
        assert!(
            !is("/tmp/rab-mount-17") && !is("/tmp/rab-mount--0") && !is("/tmp/rab-mount-a-0") && !is("/")
        );
    }

    #[test]
    fn what_cannot_be_mounted_on() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(check(&file, &file, false).unwrap_err().to_string().contains("not a directory"));
        assert!(check(dir.path(), dir.path(), false).unwrap_err().to_string().contains("not empty"));
        assert!(check(dir.path(), dir.path(), true).unwrap());
        assert!(!check(&file, &dir.path().join("new"), false).unwrap());
        assert_eq!(locate(&dir.path().join("no/dir")).unwrap_err().exit_code(), 20);
    }

    #[test]
    fn one_that_a_mount_removes_at_its_end_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("x");
        let before =
            create(&Mountpoint { path: path.clone(), shown: path.clone(), exists: false }).unwrap().unwrap();
        // Chosen while it was there.
        let place = Mountpoint { path: path.clone(), shown: path.clone(), exists: true };
        assert_eq!(create(&place).unwrap(), None);
        remove_after(&path, before);
        assert!(!path.exists());
        let created = create(&place).unwrap().unwrap();
        assert!(path.is_dir());
        remove(&path, created);
        assert!(!path.exists());
    }

    #[test]
    fn only_the_directory_that_was_created_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("x");
        let place = Mountpoint { path: path.clone(), shown: path.clone(), exists: false };
        let created = create(&place).unwrap().unwrap();
        remove(&path, Created { ino: created.ino + 1, ..created });
        assert!(path.exists());
        remove(&path, created);
        assert!(!path.exists());
    }
}
