//! Completes dataset names from the container named earlier on the line. If there are too many to list, offers common
//! prefixes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};

use super::before;
use crate::tree::naming;
use crate::{Archive, Editor, Node};

/// Maximum number of names offered one by one.
const MANY: usize = 500;

/// For an argument that names a dataset: `#[arg(add = dataset_names())]`.
pub fn dataset_names() -> ArgValueCompleter {
    ArgValueCompleter::new(of_datasets)
}

/// For an argument that names a dataset to edit: offers names only from files that can be edited.
pub fn editable_dataset_names() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let archive = container(before()).filter(|archive| Editor::can_edit(archive.path()));
        candidates(
            archive.map_or_else(Vec::new, |archive| completions(archive.raw_names(), current.as_bytes())),
        )
    })
}

/// For an argument that names a dataset or another container.
pub fn files_and_dataset_names() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut found = of_datasets(current);
        found.extend(PathCompleter::any().complete(current));
        found
    })
}

/// For an argument that names a dataset, or a table of the whole container.
pub fn dataset_and_table_names() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let named = |archive: &Archive| {
            let tables = archive.tables().map(Cow::Borrowed);
            completions(tables.chain(archive.raw_names()), current.as_bytes())
        };
        candidates(container(before()).as_ref().map_or_else(Vec::new, named))
    })
}

fn of_datasets(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = container(before()).map(|archive| completions(archive.raw_names(), current.as_bytes()));
    candidates(names.unwrap_or_default())
}

/// For an argument that names a key of a dataset's metadata; keys of nested mappings are joined with dots.
pub fn metadata_keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut keys = Vec::new();
        if let Some(archive) = container(before()) {
            let dataset = before().iter().find_map(|word| archive.dataset(word.as_bytes()).ok());
            dataset.iter().for_each(|dataset| add_keys(dataset.metadata(), "", &mut keys));
        }
        keys.retain(|key| !key.contains(char::is_control));
        candidates(completions(keys.iter(), current.as_bytes()))
    })
}

fn add_keys(node: &Node, before: &str, keys: &mut Vec<String>) {
    let Node::Map(pairs) = node else { return };
    for (key, value) in pairs {
        if let Node::Str(key) = &**key {
            let key = format!("{before}{}", String::from_utf8_lossy(key.as_bytes()));
            add_keys(value, &format!("{key}."), keys);
            keys.push(key);
        }
    }
}

fn candidates(found: Vec<Vec<u8>>) -> Vec<CompletionCandidate> {
    found.into_iter().map(|name| CompletionCandidate::new(OsString::from_vec(name))).collect()
}

/// Opens the first file or directory after the verb; None if that fails.
fn container(words: &[OsString]) -> Option<Archive> {
    let path = words.iter().skip(1).map(Path::new).find(|path| path.exists())?;
    Archive::open(path).ok()
}

/// The names with this prefix, in the container's order. If there are too many, prefixes of them: up to the next slash,
/// or else the next character.
fn completions<N: AsRef<[u8]>>(names: impl Iterator<Item = N>, start: &[u8]) -> Vec<Vec<u8>> {
    let found =
        names.map(|name| typed(name.as_ref())).filter(|name| !name.is_empty() && name.starts_with(start));
    let found: Vec<Vec<u8>> = found.collect();
    if found.len() <= MANY {
        return found;
    }
    let to_slash = |name: &Vec<u8>| match name.iter().skip(start.len()).position(|byte| *byte == b'/') {
        Some(at) => name[..start.len() + at + 1].to_vec(),
        None => name.clone(),
    };
    let folders: BTreeSet<Vec<u8>> = found.iter().map(to_slash).collect();
    if folders.len() <= MANY {
        return folders.into_iter().collect();
    }
    let common = folders.first().zip(folders.last()).map_or(0, |(first, last)| common(first, last));
    let next = folders.iter().map(|name| name[..character_end(name, common)].to_vec());
    next.collect::<BTreeSet<_>>().into_iter().collect()
}

/// A name as it can be typed: characters that do not fit on a line are percent-encoded.
fn typed(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(text) if text.contains(char::is_control) => naming::escaped(name, 0).into_bytes(),
        _ => naming::printed(name).into_owned().into_bytes(),
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The end of the character that contains byte `at`.
fn character_end(name: &[u8], at: usize) -> usize {
    let behind = name.iter().enumerate().skip(at + 1);
    behind.clone().find(|(_, byte)| **byte & 0xC0 != 0x80).map_or(name.len(), |(end, _)| end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(names: &[&str], start: &str) -> Vec<String> {
        let names = names.iter().map(|name| name.as_bytes());
        let found = completions(names, start.as_bytes());
        found.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn names_with_the_same_start() {
        assert_eq!(complete(&["b", "a c", "a/b", "é"], "a"), ["a c", "a/b"]);
        assert_eq!(complete(&["b", "é", ""], ""), ["b", "é"]);
        assert_eq!(complete(&["line\nbreak*", "line"], "line"), ["line%0Abreak*", "line"]);
        assert_eq!(completions([b"caf\xE9"].iter(), b"ca"), [b"caf%E9"]);
    }

    #[test]
    fn of_many_names_how_they_go_on() {
        let names: Vec<String> = (0..3000).map(|n| format!("sub{:02}/run{n}", n / 300)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let folders: Vec<String> = (0..10).map(|n| format!("sub{n:02}/")).collect();
        assert_eq!(complete(&names, ""), folders);
        assert_eq!(complete(&names, "sub03/").len(), 300);
        let names: Vec<String> = (1000..9000).map(|n| format!("é{n}é")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(complete(&names, "")[0], "é1");
        assert_eq!(complete(&names, "é").len(), 8);
        assert_eq!(complete(&names, "é2").len(), 10);
        assert_eq!(complete(&names, "é20").len(), 100);
    }

    #[test]
    fn of_many_names_every_one_can_be_reached() {
        let names: Vec<String> =
            (0..600).map(|n| format!("x{}", char::from_u32(0xE0 + n).unwrap())).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut found = complete(&names, "x");
        found.sort();
        assert_eq!(found, names);
    }
}
