//! Several trees merged into one: of two files with the same name the later tree's is shown, directories with the same
//! name are merged. Hidden files are logged when they are encountered.
//!
//! A node of a single tree keeps its number there, with the tree's number plus 1 above it. Directories of several trees
//! are numbered here, for as long as the kernel remembers them.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::tree::{Changed, Entry, FileKind, Inner, Lifetime, NodeId, NodeKind, ROOT, Stat, Tree};
use crate::{Error, Result};

/// Bits of a node's number in its own tree, and of a cursor there.
const OWN: u32 = 55;
/// As many as numbers have room for: those that begin with 254 are for a tree above this one.
const MAX_TREES: usize = 250;
/// What the numbers of directories of several trees begin with.
const MERGED: u64 = 255;
/// Hidden files that are named.
const MAX_LOGGED: usize = 1000;

/// A node of one of the trees.
type Part = (usize, NodeId);

pub struct Union {
    trees: Vec<(PathBuf, Arc<dyn Tree>)>,
    merged: Arc<Mutex<Merged>>,
    logged: Mutex<HashSet<Vec<u8>>>,
}

#[derive(Default)]
struct Merged {
    by_id: HashMap<NodeId, Directory>,
}

#[derive(Clone)]
struct Directory {
    parent: NodeId,
    /// The same directory in each of several trees, the last tree first.
    parts: Arc<[Part]>,
    lookups: u64,
}

impl Union {
    /// Of the trees of these sources.
    pub fn new(trees: Vec<(PathBuf, Arc<dyn Tree>)>) -> Result<Union> {
        if trees.len() > MAX_TREES {
            return Err(Error::Usage(format!(
                "{} sources given, and the limit is {MAX_TREES} for --union",
                trees.len()
            )));
        }
        let parts = (0..trees.len()).rev().map(|tree| (tree, ROOT)).collect();
        let root = Directory { parent: ROOT, parts, lookups: 1 };
        let merged = Merged { by_id: HashMap::from([(ROOT, root)]) };
        Ok(Union { trees, merged: Arc::new(Mutex::new(merged)), logged: Mutex::default() })
    }

    fn tree(&self, number: usize) -> Result<&dyn Tree> {
        self.trees.get(number).map(|(_, tree)| &**tree).ok_or(Error::NotFound)
    }

    /// The directories that a node stands for; of any other node the one that it is.
    fn parts(&self, id: NodeId) -> Result<Arc<[Part]>> {
        if let Some(directory) = self.merged.lock().by_id.get(&id) {
            return Ok(directory.parts.clone());
        }
        match ((id >> OWN) as usize).checked_sub(1).filter(|tree| *tree < self.trees.len()) {
            Some(tree) => Ok([(tree, id & ((1 << OWN) - 1))].into()),
            None => Err(Error::NotFound),
        }
    }

    /// The tree of a node that only one has, or the first of those that have it.
    fn first(&self, id: NodeId) -> Result<Part> {
        self.parts(id)?.first().copied().ok_or(Error::NotFound)
    }

    fn own(tree: usize, node: NodeId) -> NodeId {
        ((tree as u64 + 1) << OWN) | node
    }

    /// Whatever of this name is shown, out of the trees that have `dir`: each look-up is remembered by its tree.
    fn find(&self, parts: &[Part], name: &[u8]) -> Result<Option<(Vec<Part>, FileKind)>> {
        let mut shown: Option<(Vec<Part>, FileKind, bool)> = None;
        for (tree, dir) in parts.iter().copied() {
            let looked = self.look(tree, dir, name).inspect_err(|_| {
                let all = shown.iter().flat_map(|(all, ..)| all);
                all.for_each(|(tree, node)| self.forget_in(*tree, *node, 1));
            });
            let Some((node, file, is_directory)) = looked? else { continue };
            match &mut shown {
                None => shown = Some((vec![(tree, node)], file, is_directory)),
                Some((all, _, true)) if is_directory => all.push((tree, node)),
                Some(_) => {
                    self.forget_in(tree, node, 1);
                    self.tell(tree, name);
                }
            }
        }
        Ok(shown.map(|(all, file, _)| (all, file)))
    }

    /// Looks for a name in a directory of one tree, and says whether it is a directory.
    fn look(&self, tree: usize, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind, bool)>> {
        let trees = self.tree(tree)?;
        let Some((node, file)) = or_gone(trees.lookup(dir, name), None)? else { return Ok(None) };
        let kind = trees.kind(node).inspect_err(|_| trees.forget(node, 1))?;
        Ok(Some((node, file, matches!(kind, NodeKind::Directory { .. }))))
    }

    fn forget_in(&self, tree: usize, node: NodeId, lookups: u64) {
        if let Ok(tree) = self.tree(tree) {
            tree.forget(node, lookups);
        }
    }

    fn tell(&self, tree: usize, name: &[u8]) {
        let mut logged = self.logged.lock();
        let Some((path, _)) = self.trees.get(tree) else { return };
        if logged.len() < MAX_LOGGED
            && logged.insert([path.as_os_str().as_encoded_bytes(), b"\0", name].concat())
        {
            let name = String::from_utf8_lossy(name);
            log::warn!("{}: {name:?} is hidden by that of a later source", path.display());
        }
    }

    /// The number of what several trees may have.
    fn remember(&self, parent: NodeId, found: Vec<Part>) -> NodeId {
        if let [(tree, node)] = found.as_slice() {
            return Union::own(*tree, *node);
        }
        let mut hasher = DefaultHasher::new();
        found.hash(&mut hasher);
        let mut id = (MERGED << OWN) | (hasher.finish() & ((1 << OWN) - 1));
        let mut merged = self.merged.lock();
        while let Some(known) = merged.by_id.get_mut(&id) {
            if *known.parts == *found {
                known.lookups += 1;
                return id;
            }
            id = (MERGED << OWN) | (id.wrapping_add(1) & ((1 << OWN) - 1));
        }
        merged.by_id.insert(id, Directory { parent, parts: found.into(), lookups: 1 });
        id
    }

    /// Is something of this name in a later tree than the one at `place`?
    fn is_hidden(&self, parts: &[Part], place: usize, name: &[u8]) -> Result<bool> {
        for (tree, dir) in parts.iter().take(place).copied() {
            if let Some((node, _)) = or_gone(self.tree(tree)?.lookup(dir, name), None)? {
                self.forget_in(tree, node, 1);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A directory that is gone from one tree has nothing there; the others do not suffer.
fn or_gone<T>(answer: Result<T>, nothing: T) -> Result<T> {
    match answer {
        Err(Error::NotFound) => Ok(nothing),
        other => other,
    }
}

/// A cursor is the place among the trees of a directory, above the cursor there.
impl Tree for Union {
    /// Of a directory that several trees have that of the last.
    fn inner(&self, id: NodeId) -> Result<Option<Inner>> {
        let (tree, node) = self.first(id)?;
        Ok(self.trees.get(tree).map(|(_, tree)| (tree.clone(), node)))
    }

    fn kind(&self, id: NodeId) -> Result<NodeKind> {
        let parts = self.parts(id)?;
        match &*parts {
            [(tree, node)] => self.tree(*tree)?.kind(*node),
            _ => Ok(NodeKind::Directory { subdirectories: None }),
        }
    }

    fn parent(&self, id: NodeId) -> NodeId {
        if let Some(directory) = self.merged.lock().by_id.get(&id) {
            return directory.parent;
        }
        let Ok((tree, node)) = self.first(id) else { return ROOT };
        let above = self.tree(tree).map_or(ROOT, |trees| trees.parent(node));
        let merged = self.merged.lock();
        let of_several = merged.by_id.iter().find(|(_, directory)| directory.parts.contains(&(tree, above)));
        of_several.map_or(Union::own(tree, above), |(id, _)| *id)
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let parts = self.parts(dir)?;
        let Some((found, file)) = self.find(&parts, name)? else { return Ok(None) };
        Ok(Some((self.remember(dir, found), file)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let parts = self.parts(dir)?;
        let first = (cursor >> OWN) as usize;
        for (place, (tree, node)) in parts.iter().copied().enumerate().skip(first) {
            let from = if place == first { cursor & ((1 << OWN) - 1) } else { 0 };
            let mut outcome = Ok(true);
            let listed = self.tree(tree)?.list(node, from, &mut |name, entry| {
                match self.is_hidden(&parts, place, name) {
                    Ok(false) => {}
                    Ok(true) => return true,
                    Err(error) => {
                        outcome = Err(error);
                        return false;
                    }
                }
                let cursor = ((place as u64) << OWN) | entry.cursor;
                let goes_on = each(name, Entry { node: Union::own(tree, entry.node), cursor, ..entry });
                outcome = Ok(goes_on);
                goes_on
            });
            or_gone(listed, ())?;
            if !outcome? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn listed(&self, dir: NodeId, name: &[u8], _: &Entry) -> Result<Option<(NodeId, FileKind, Stat)>> {
        let Some((node, file)) = self.lookup(dir, name)? else { return Ok(None) };
        let stat = self.stat(node, file).inspect_err(|_| self.forget(node, 1))?;
        Ok(Some((node, file, stat)))
    }

    fn stat(&self, id: NodeId, file: FileKind) -> Result<Stat> {
        let parts = self.parts(id)?;
        let mut newest: Option<Stat> = None;
        for (tree, node) in parts.iter() {
            let Some(stat) = or_gone(self.tree(*tree)?.stat(*node, file).map(Some), None)? else { continue };
            let is_newer = newest.as_ref().is_none_or(|other| stat.modified > other.modified);
            // What is in one of them changes the listing of all.
            let first = newest.unwrap_or(stat);
            newest = Some(if is_newer { Stat { modified: stat.modified, ..first } } else { first });
        }
        newest.ok_or(Error::NotFound)
    }

    fn nodes(&self) -> u64 {
        self.trees.iter().map(|(_, tree)| tree.nodes()).sum()
    }

    fn datasets(&self) -> u64 {
        self.trees.iter().map(|(_, tree)| tree.datasets()).sum()
    }

    fn is_ready(&self, id: NodeId) -> bool {
        let ready = |(tree, node): &Part| self.tree(*tree).is_ok_and(|tree| tree.is_ready(*node));
        self.parts(id).is_ok_and(|parts| parts.iter().all(ready))
    }

    fn lifetime(&self, id: NodeId) -> Lifetime {
        match self.parts(id).as_deref() {
            Ok([(tree, node)]) => self.tree(*tree).map_or(Lifetime::Refresh, |tree| tree.lifetime(*node)),
            _ => Lifetime::Refresh,
        }
    }

    fn listing_lifetime(&self, id: NodeId) -> Lifetime {
        match self.parts(id).as_deref() {
            Ok([(tree, node)]) => {
                self.tree(*tree).map_or(Lifetime::Refresh, |tree| tree.listing_lifetime(*node))
            }
            _ => Lifetime::Refresh,
        }
    }

    fn forget(&self, id: NodeId, lookups: u64) {
        let Ok(parts) = self.parts(id) else { return };
        parts.iter().for_each(|(tree, node)| self.forget_in(*tree, *node, lookups));
        let mut merged = self.merged.lock();
        if let Some(directory) = merged.by_id.get_mut(&id).filter(|_| id != ROOT) {
            directory.lookups = directory.lookups.saturating_sub(lookups);
            if directory.lookups == 0 {
                merged.by_id.remove(&id);
            }
        }
    }

    fn siblings(&self, id: NodeId) -> Vec<Range<NodeId>> {
        let own = self.first(id).and_then(|(number, node)| Ok((number, self.tree(number)?.siblings(node))));
        let Ok((number, own)) = own else { return std::iter::once(id..id + 1).collect() };
        own.into_iter().map(|own| Union::own(number, own.start)..Union::own(number, own.end)).collect()
    }

    fn is_container(&self, dir: NodeId) -> bool {
        let is_one = |(tree, node): &Part| self.tree(*tree).is_ok_and(|tree| tree.is_container(*node));
        self.parts(dir).is_ok_and(|parts| parts.iter().any(is_one))
    }

    fn has_views_of_its_own(&self, dir: NodeId) -> bool {
        let has = |(tree, node): &Part| self.tree(*tree).is_ok_and(|tree| tree.has_views_of_its_own(*node));
        self.parts(dir).is_ok_and(|parts| parts.iter().any(has))
    }

    fn derived_kinds(&self, dir: NodeId) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = Vec::new();
        for (number, node) in self.parts(dir).iter().flat_map(|parts| parts.iter()) {
            let own = self.tree(*number).map_or(Vec::new(), |tree| tree.derived_kinds(*node));
            all.extend(own.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
        }
        all
    }

    fn watch(&self, changed: Changed) {
        for (number, (_, tree)) in self.trees.iter().enumerate() {
            let (changed, merged) = (changed.clone(), self.merged.clone());
            tree.watch(Arc::new(move |node, name| {
                let has = |directory: &Directory| directory.parts.contains(&(number, node));
                let all = merged.lock();
                let ids: Vec<_> = all.by_id.iter().filter(|(_, it)| has(it)).map(|(id, _)| *id).collect();
                drop(all);
                ids.into_iter().chain([Union::own(number, node)]).for_each(|id| changed(id, name.clone()));
            }));
        }
    }

    fn memory(&self) -> u64 {
        self.trees.iter().map(|(_, tree)| tree.memory()).sum()
    }
}
