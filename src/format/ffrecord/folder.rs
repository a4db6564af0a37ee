//! The directory tree of a packed folder. The nodes of one directory are contiguous and sorted by name (as bytes), so
//! that a name is found by binary search; the root is node 0.

use std::ops::Range;

use super::head::{FIXED, PER_RECORD};
use super::pickle::{self, Directory, Index, Item, Name, Wrong};
use super::records::Records;
use crate::content::Content;
use crate::source::Source;
use crate::{Error, Result};

/// The magic number of the index record.
pub const MAGIC: &[u8; 9] = b"piouhjgbr";
/// Maximum length of an index, in bytes.
const MAX_LEN: u64 = 2 << 30;
/// Maximum nesting depth of directories.
pub const MAX_DEPTH: usize = 512;
/// Maximum length of a file name, in bytes.
const MAX_NAME_LEN: usize = 255;
/// Bytes of names that differ from those in the index, allowed beyond the index's own size.
const OTHERS: usize = 64 << 20;

#[derive(Debug)]
pub struct Folder {
    /// The index, which has most names verbatim, followed by the names that had to be converted.
    names: Vec<u8>,
    nodes: Vec<Node>,
    /// The nodes that are files, in index order.
    files: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node {
    name: u32,
    name_len: u8,
    parent: u32,
    what: FolderEntry,
}

#[derive(Clone, Debug)]
pub enum FolderEntry {
    /// Its record number, and its number among all files.
    File { record: u32, file: u32 },
    /// Its nodes, and the number of directories among them.
    Directory { nodes: Range<u32>, subdirectories: u32 },
}

/// The tree of a packed folder; None if the last record is not an index.
pub fn of(records: &Records) -> Result<Option<Folder>> {
    let (Some(last), 1) = (records.count().checked_sub(1), records.shards().count()) else { return Ok(None) };
    let found = records.find(last)?;
    let mut magic = [0; MAGIC.len()];
    if found.len() <= magic.len() as u64 {
        return Ok(None);
    }
    let start = found.record.range.start;
    found.shard.source.read_exact_at(&mut magic, start)?;
    found.shard.source.check()?;
    if magic != *MAGIC {
        return Ok(None);
    }
    if found.len() > MAX_LEN {
        let problem = format!("the index has {} bytes, and the limit is {MAX_LEN}", found.len());
        return Err(Error::damaged(records.place(last, &found), problem));
    }
    if let Content::Broken { error, .. } = records.content(last)? {
        return Err(error);
    }
    let index = found.shard.source.read_range(start + MAGIC.len() as u64..found.record.range.end)?;
    let folder = Folder::parse(index, last.into()).map_err(|(at, problem)| {
        let place = found.shard.source.place().at(start + (MAGIC.len() + at) as u64);
        Error::damaged(place, format!("the index of the packed folder: {problem}"))
    })?;
    let shared = folder.shared(last);
    if shared > 0 {
        let file = found.shard.source.path().display();
        log::warn!("{file}: {shared} names stand for records that other names stand for too");
    }
    Ok(Some(folder))
}

/// Does the last record of a file begin with the index's magic number? Nothing else is checked.
pub fn is_packed(file: &dyn Source) -> Result<bool> {
    let mut number = [0; 8];
    file.read_exact_at(&mut number, FIXED - 8)?;
    let count = u64::from_le_bytes(number);
    let tables = count.checked_mul(PER_RECORD).and_then(|len| len.checked_add(FIXED));
    let Some(end) = tables.filter(|end| *end <= file.len() && count > 0) else { return Ok(false) };
    file.read_exact_at(&mut number, end - 8)?;
    let start = u64::from_le_bytes(number);
    let has_room = start.checked_add(MAGIC.len() as u64).is_some_and(|end| end < file.len());
    let mut magic = [0; MAGIC.len()];
    if has_room {
        file.read_exact_at(&mut magic, start)?;
    }
    file.check()?;
    Ok(magic == *MAGIC)
}

impl Folder {
    /// The tree that the pickle describes, with `count` files.
    fn parse(pickle: Vec<u8>, records: u64) -> Result<Folder, Wrong> {
        let Index { bytes, mut directories, root } = pickle::parse(pickle)?;
        let most = 2 * bytes.len() + OTHERS;
        let mut folder = Folder { names: bytes, nodes: Vec::new(), files: Vec::new() };
        let nothing = FolderEntry::Directory { nodes: 0..0, subdirectories: 0 };
        folder.nodes.push(Node { name: 0, name_len: 0, parent: 0, what: nothing });
        let mut level = vec![(0, root)];
        for depth in 0.. {
            if level.is_empty() {
                break;
            }
            if depth > MAX_DEPTH {
                let problem = format!("directories are nested deeper than {MAX_DEPTH} levels");
                return Err((0, problem));
            }
            let mut next = Vec::new();
            for (node, number) in level {
                let directory = directories.get_mut(number).map(std::mem::take).unwrap_or_default();
                folder.fill(node, directory, records, &mut next)?;
                if folder.names.len() > most {
                    return Err((0, format!("its names take more than {most} bytes")));
                }
            }
            level = next;
        }
        folder.number_files();
        Ok(folder)
    }

    /// Adds the contents of one directory; its subdirectories are added to `next` with their nodes.
    fn fill(
        &mut self,
        parent: u32,
        directory: Directory,
        records: u64,
        next: &mut Vec<(u32, usize)>,
    ) -> Result<(), Wrong> {
        let (first, earlier) = (self.nodes.len(), next.len());
        for (name, item) in directory {
            let place = name.start;
            let wrong = |problem: String| (place, problem);
            let (start, name_len) = self.file_name(name).map_err(wrong)?;
            let too_much = |_| wrong("its names take more than 4 GiB".into());
            let id = u32::try_from(self.nodes.len()).map_err(too_much)?;
            let what = match item {
                Item::File(record) => {
                    FolderEntry::File { record: own(record, records).map_err(wrong)?, file: 0 }
                }
                Item::Directory(number) => {
                    next.push((id, number));
                    FolderEntry::Directory { nodes: 0..0, subdirectories: 0 }
                }
            };
            let start = u32::try_from(start).map_err(too_much)?;
            self.nodes.push(Node { name: start, name_len, parent, what });
        }
        let own = next.get_mut(earlier..).unwrap_or_default();
        self.sort(parent, first, own).map_err(|name| {
            (0, format!("the name \"{}\" appears twice in one directory", name.escape_ascii()))
        })
    }

    /// The place and length of a name in `names` as a file name; appended to the others if it needs changes.
    fn file_name(&mut self, text: Name) -> Result<(usize, u8), String> {
        let bytes = self.names.get(text.clone()).unwrap_or_default();
        let (start, len) = match std::str::from_utf8(bytes) {
            Ok(_) => (text.start, text.len()),
            Err(_) => {
                let name = without_surrogates(bytes)?;
                let start = self.names.len();
                self.names.extend_from_slice(&name);
                (start, name.len())
            }
        };
        check_name(self.names.get(start..start + len).unwrap_or_default())?;
        Ok((start, len as u8))
    }

    /// Sorts the nodes from `first` on, the children of `parent`; the error is a duplicate name.
    fn sort(&mut self, parent: u32, first: usize, next: &mut [(u32, usize)]) -> Result<(), Vec<u8>> {
        let names = &self.names;
        let fresh = self.nodes.get_mut(first..).unwrap_or_default();
        let mut order: Vec<u32> = (0..fresh.len() as u32).collect();
        let name = |at: u32| fresh.get(at as usize).map_or(&[][..], |node| name_in(names, node));
        order.sort_unstable_by(|a, b| name(*a).cmp(name(*b)));
        if let Some(pair) = order.windows(2).find(|pair| matches!(pair, [a, b] if name(*a) == name(*b))) {
            return Err(pair.first().map_or(&[][..], |at| name(*at)).to_vec());
        }
        let sorted: Vec<Node> = order.iter().filter_map(|at| fresh.get(*at as usize).cloned()).collect();
        let mut moved = vec![0; order.len()];
        for (to, from) in (0u32..).zip(&order) {
            if let Some(place) = moved.get_mut(*from as usize) {
                *place = first as u32 + to;
            }
        }
        fresh.clone_from_slice(&sorted);
        let subdirectories =
            sorted.iter().filter(|node| matches!(node.what, FolderEntry::Directory { .. })).count();
        for (node, _) in next {
            if let Some(place) = moved.get(*node as usize - first) {
                *node = *place;
            }
        }
        let nodes = first as u32..self.nodes.len() as u32;
        if let Some(node) = self.nodes.get_mut(parent as usize) {
            node.what = FolderEntry::Directory { nodes, subdirectories: subdirectories as u32 };
        }
        Ok(())
    }

    /// Numbers the files depth first; these numbers are the datasets'.
    fn number_files(&mut self) {
        let mut stack = vec![0u32];
        while let Some(node) = stack.pop() {
            match self.nodes.get_mut(node as usize).map(|node| &mut node.what) {
                Some(FolderEntry::Directory { nodes, .. }) => stack.extend(nodes.clone().rev()),
                Some(FolderEntry::File { file, .. }) => {
                    *file = self.files.len() as u32;
                    self.files.push(node);
                }
                None => {}
            }
        }
    }

    /// The number of names for a record that another name already stands for.
    pub(super) fn shared(&self, records: u32) -> usize {
        let mut seen = vec![0u64; (records as usize).div_ceil(64)];
        let mut is_seen = |record: u32| {
            let (word, bit) = (seen.get_mut(record as usize / 64), 1 << (record % 64));
            word.is_some_and(|word| std::mem::replace(word, *word | bit) & bit != 0)
        };
        let files = self.files.iter().filter_map(|node| self.what(*node));
        files.filter(|what| matches!(what, FolderEntry::File { record, .. } if is_seen(*record))).count()
    }

    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    pub fn what(&self, node: u32) -> Option<&FolderEntry> {
        self.nodes.get(node as usize).map(|node| &node.what)
    }

    pub fn name(&self, node: u32) -> &[u8] {
        self.nodes.get(node as usize).map_or(&[], |node| name_in(&self.names, node))
    }

    pub fn parent(&self, node: u32) -> u32 {
        self.nodes.get(node as usize).map_or(0, |node| node.parent)
    }

    /// The node of this name in a directory.
    pub fn find(&self, directory: u32, name: &[u8]) -> Option<u32> {
        let FolderEntry::Directory { nodes, .. } = self.what(directory)? else { return None };
        let inside = self.nodes.get(nodes.start as usize..nodes.end as usize)?;
        let at = inside.binary_search_by(|node| name_in(&self.names, node).cmp(name)).ok()?;
        Some(nodes.start + at as u32)
    }

    /// The node at a slash-separated path; empty components and `.` are ignored.
    pub fn at_path(&self, path: &[u8]) -> Option<u32> {
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        names.try_fold(0, |node, name| self.find(node, name))
    }

    /// Memory used, in bytes.
    pub fn memory(&self) -> u64 {
        let Folder { names, nodes, files } = self;
        (names.capacity() + size_of::<Node>() * nodes.capacity() + 4 * files.capacity()) as u64
    }

    /// The number of files.
    pub fn files(&self) -> u32 {
        self.files.len() as u32
    }

    /// A file's record and path.
    pub fn file(&self, number: u32) -> Option<(u32, Vec<u8>)> {
        let node = *self.files.get(number as usize)?;
        let FolderEntry::File { record, .. } = self.what(node)? else { return None };
        Some((*record, self.path(node)))
    }

    /// The paths of empty directories, except the root.
    pub fn empty_directories(&self) -> impl Iterator<Item = Vec<u8>> {
        let is_empty = |node: &u32| matches!(self.what(*node), Some(FolderEntry::Directory { nodes, .. }) if nodes.is_empty());
        (1..self.len()).filter(is_empty).map(|node| self.path(node))
    }

    fn path(&self, node: u32) -> Vec<u8> {
        let mut names = vec![self.name(node)];
        let mut at = self.parent(node);
        while at != 0 {
            names.push(self.name(at));
            at = self.parent(at);
        }
        names.reverse();
        names.join(&b'/')
    }
}

fn name_in<'a>(names: &'a [u8], node: &Node) -> &'a [u8] {
    names.get(node.name as usize..).and_then(|rest| rest.get(..node.name_len.into())).unwrap_or_default()
}

/// Checks a file's record number; it must come before the index.
fn own(record: u64, index: u64) -> Result<u32, String> {
    let known = u32::try_from(record).ok().filter(|_| record < index);
    known.ok_or_else(|| format!("a name stands for record {record}; files are in records below {index}"))
}

/// A file name as bytes: Python writes bytes that are not UTF-8 as surrogates U+DC80 to U+DCFF.
fn without_surrogates(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let (before, after) = rest.split_at(valid);
        name.extend_from_slice(before);
        rest = match after {
            [] => after,
            [0xED, second @ 0xB2..=0xB3, third @ 0x80..=0xBF, left @ ..] => {
                name.push((second & 3) << 6 | third & 0x3F);
                left
            }
            _ => return Err(format!("the name \"{}\" is not valid text", shown(text))),
        };
    }
    Ok(name)
}

/// Checks that this can be a file name.
fn check_name(name: &[u8]) -> Result<(), String> {
    match name {
        b"" => Err("a name is empty".into()),
        b"." | b".." => Err(format!("\"{}\" is not a valid name", shown(name))),
        long if long.len() > MAX_NAME_LEN => Err(format!(
            "the name \"{}...\" has {} bytes, and the limit is {MAX_NAME_LEN}",
            shown(name),
            long.len()
        )),
        other if other.iter().any(|byte| matches!(byte, 0 | b'/')) => {
            Err(format!("the name \"{}\" has a slash or a NUL byte", shown(name)))
        }
        _ => Ok(()),
    }
}

/// For messages.
fn shown(name: &[u8]) -> String {
    name.get(..name.len().min(100)).unwrap_or_default().escape_ascii().to_string()
}
