//! Lists the regular files of a directory recursively. Nothing outside it is included: a symbolic link counts only as
//! the file inside the directory that it points to.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::Place;
use crate::{Error, Result};

/// A file, with its path relative to the start of the walk: bytes, with slashes between the components.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputFile {
    pub relative: Vec<u8>,
    pub path: PathBuf,
}

/// All files below `root`, in byte order of their relative paths. Skipped entries are mentioned in `notes`.
pub fn walk(root: &Path, notes: &mut Vec<String>) -> Result<Vec<InputFile>> {
    let real_root = fs::canonicalize(root).map_err(|cause| Error::open(root, cause))?;
    let mut found = Vec::new();
    let mut open = vec![InputFile { relative: Vec::new(), path: root.to_owned() }];
    while let Some(directory) = open.pop() {
        let failed = |cause| Error::read(Place::file(&directory.path), cause);
        for entry in fs::read_dir(&directory.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let relative = joined(&directory.relative, entry.file_name().as_bytes());
            let kind = entry.file_type().map_err(|cause| Error::read(Place::file(&path), cause))?;
            let next = InputFile { relative, path };
            if kind.is_dir() {
                open.push(next);
            } else if kind.is_file() {
                found.push(next);
            } else if kind.is_symlink() {
                match followed(&next.path, &real_root) {
                    Ok(()) => found.push(next),
                    Err(why) => notes.push(format!("{}: {why}: skipped", next.path.display())),
                }
            } else {
                let shown = next.path.display();
                notes.push(format!("{shown}: is neither a file nor a directory: skipped"));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_owned() } else { [directory, b"/", name].concat() }
}

/// Checks that a symbolic link leads to a regular file inside the directory; the error says why not.
fn followed(link: &Path, root: &Path) -> Result<(), &'static str> {
    let target = fs::canonicalize(link).map_err(|_| "is a symbolic link that leads nowhere")?;
    let meta = fs::metadata(&target).map_err(|_| "is a symbolic link that leads nowhere")?;
    if !target.starts_with(root) {
        return Err("is a symbolic link that leads out of the directory");
    }
    if meta.is_file() {
        Ok(())
    } else {
        Err("is a symbolic link that leads to something that is not a \
        regular file")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_in_order_and_links_only_within() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("b/c")).unwrap();
        for name in ["b/c/x", "b-", "b/a", "a"] {
            fs::write(root.join(name), "").unwrap();
        }
        symlink("../a", root.join("b/link")).unwrap();
        symlink("b", root.join("to-dir")).unwrap();
        symlink("nothing", root.join("to-nothing")).unwrap();
        symlink(outside.path().join("secret"), root.join("to-outside")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        let mut notes = Vec::new();
        let found = walk(root, &mut notes).unwrap();
        let names: Vec<_> = found.iter().map(|found| found.relative.escape_ascii().to_string()).collect();
        assert_eq!(names, ["a", "b-", "b/a", "b/c/x", "b/link"]);
        assert_eq!(notes.len(), 5, "{notes:?}");
        for what in [
            "to-dir",
            "to-nothing",
            "to-outside: is a symbolic link that leads out",
            "loop",
            "socket: is neither",
        ] {
            assert!(notes.iter().any(|note| note.contains(what)), "{what}");
        }
    }
}
