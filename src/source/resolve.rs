//! Resolves a path through symbolic links step by step: each directory is open before the next name is looked up in it.
//! So the target is what was actually reached, even if things are renamed meanwhile; the permissions along the way are
//! known; and resolution never enters our own mount, which would deadlock.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::{Errno, Result};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// What a path leads to.
pub struct Target {
    /// Without links.
    pub path: PathBuf,
    pub stat: Stat,
    /// The mode of each directory from `/` on.
    modes: Vec<u32>,
}

impl Target {
    /// The permission bits of those who can reach it, from the directory `from` on if it is given, else from `/`.
    pub fn permissions(&self, from: Option<&Path>) -> u16 {
        let first = from.map_or(0, |from| from.components().count());
        let ways = self.modes.iter().skip(first).map(|mode| 7 * (mode & 0o111) as u16);
        ways.fold(0o777, |all, way| all & way)
    }
}

struct Step {
    file: OwnedFd,
    stat: Stat,
}

/// Follows `path`, which is absolute, but not into the directory `avoided`.
pub fn resolve(path: &Path, avoided: Option<&Path>) -> Result<Target> {
    let mut steps: Vec<Step> = Vec::new();
    let mut at = PathBuf::new();
    let mut names = in_turn(path);
    let mut links = 0;
    while let Some(name) = names.pop() {
        if name == "/" {
            steps.clear();
            at = PathBuf::new();
        } else if name == ".." {
            // That of `/` is itself.
            if steps.len() > 1 {
                steps.pop();
                at.pop();
            }
            continue;
        }
        if avoided.is_some_and(|avoided| avoided == at.join(&name)) {
            return Err(Errno::LOOP);
        }
        let step = step(steps.last(), &name, !names.is_empty())?;
        if FileType::from_raw_mode(step.stat.st_mode) == FileType::Symlink {
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP);
            }
            let target = readlinkat(&step.file, "", Vec::new())?.into_bytes();
            names.extend(in_turn(Path::new(&OsString::from_vec(target))));
        } else {
            steps.push(step);
            at.push(&name);
        }
    }
    let stat = steps.last().ok_or(Errno::NOENT)?.stat;
    steps.pop();
    Ok(Target { path: at, stat, modes: steps.iter().map(|step| step.stat.st_mode).collect() })
}

/// The names of a path, the first one last.
fn in_turn(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).filter(|name| name != ".").collect()
}

/// Opens `name` without following it. What is passed through is asked for as a directory first: that mounts what an
/// automounter has there.
fn step(dir: Option<&Step>, name: &OsStr, is_passed: bool) -> Result<Step> {
    let open = |more: OFlags| {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
        match dir {
            Some(dir) => openat(&dir.file, name, flags, Mode::empty()),
            None => openat(CWD, name, flags, Mode::empty()),
        }
    };
    let file = match if is_passed { open(OFlags::DIRECTORY) } else { Err(Errno::NOTDIR) } {
        Err(Errno::NOTDIR | Errno::LOOP) => open(OFlags::empty())?,
        opened => opened?,
    };
    let stat = fstat(&file)?;
    Ok(Step { file, stat })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        symlink("b/../b/./file", root.join("a/relative")).unwrap();
        symlink(root.join("a"), root.join("absolute")).unwrap();
        symlink("absolute/relative", root.join("both")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("../../../../../../../../../../..", root.join("top")).unwrap();
        for name in ["a/relative", "absolute/relative", "both", "a/../both"] {
            let found = resolve(&root.join(name), None).unwrap();
            assert_eq!(found.path, root.join("a/b/file"), "{name}");
        }
        assert_eq!(resolve(&root.join("top"), None).unwrap().path, Path::new("/"));
        assert_eq!(resolve(&root.join("loop"), None).err(), Some(Errno::LOOP));
        assert_eq!(resolve(&root.join("a/none"), None).err(), Some(Errno::NOENT));
        assert_eq!(resolve(&root.join("a/b/file/none"), None).err(), Some(Errno::NOTDIR));
        assert!(resolve(&root.join("both"), Some(&root.join("a/b"))).is_err());
        assert!(resolve(&root.join("both"), Some(&root.join("a/c"))).is_ok());

        fs::set_permissions(root.join("a/b"), fs::Permissions::from_mode(0o750)).unwrap();
        let found = resolve(&root.join("both"), None).unwrap();
        assert_eq!(found.permissions(Some(&root)), 0o770);
        assert_eq!(found.permissions(Some(&root.join("a/b"))), 0o777);
    }
}
