//! Places datasets into an [`Arena`] by their names. A true name always wins over a made one: first every
//! dataset with a name of its own is placed, then those whose name is taken get `~2`, `~3`, ... at its
//! very end, then sidecars whose name is taken do.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::Datasets;
use super::arena::{Arena, Directory, Names, Node};
use super::names;
use super::naming;
use super::prefixes::Prefixes;
use crate::{Error, Result};

/// A bound on what names of a few bytes can make us allocate.
const MAX_DIRECTORIES: u32 = 10_000_000;

pub struct Builder {
    names: Names,
    directories: u32,
}

impl Builder {
    /// The tree of `datasets`, the dataset with number i having the i-th name (bytes in WTF-8).
    pub fn build(names: &dyn names::Names, datasets: Arc<dyn Datasets>) -> Result<Arena> {
        let mut builder = Builder { names: Names::new(names.len()), directories: 1 };
        builder.place_all(names, &*datasets)?;
        let placement = datasets.abilities().placement;
        for path in placement.map_or(Vec::new(), |placement| placement.empty_directories()) {
            path.into_iter().try_fold(0, |dir, name| builder.enter(dir, name))?;
        }
        builder.place_links(&*datasets)?;
        let renamed = builder.rename_sidecars(&*datasets);
        let (directories, children) = builder.arrange();
        Ok(Arena {
            names: builder.names,
            directories,
            children,
            renamed,
            datasets,
            of_datasets: OnceLock::new(),
            format: None,
            hides_absent: false,
        })
    }

    fn place_all(&mut self, names: &dyn names::Names, datasets: &dyn Datasets) -> Result<()> {
        let prefixes = Prefixes::new(names);
        let placement = datasets.abilities().placement;
        let placed = |dataset| placement.and_then(|placement| placement.place(dataset));
        let mut late = Vec::new();
        for (dataset, name) in (0..).zip(names.iter()) {
            let named = || naming::components(&name, &prefixes.after_datasets(&name));
            let (dir, file) = self.enter_all(placed(dataset).unwrap_or_else(named))?;
            if self.names.find(dir, &file).is_none() {
                self.names.add(dir, &file, false, dataset)?;
            } else {
                late.push((dir, file, dataset));
            }
        }
        let mut numbers = HashMap::new();
        for (dir, file, dataset) in late {
            let from = numbers.entry((dir, file.clone())).or_insert(2);
            let number = self.free_number(dir, &file, *from);
            *from = number + 1;
            self.names.add(dir, &naming::numbered(&file, number), false, dataset)?;
        }
        Ok(())
    }

    /// Links come last: they are numbered on after the datasets, and are left out where something has their name.
    fn place_links(&mut self, datasets: &dyn Datasets) -> Result<()> {
        let count = u32::try_from(datasets.count()).unwrap_or(u32::MAX);
        let links = datasets.abilities().placement.map_or(&[][..], |placement| placement.links());
        for (number, link) in (count..).zip(links) {
            let (dir, file) = self.enter_all(link.place.clone())?;
            if self.names.find(dir, &file).is_none() {
                self.names.add(dir, &file, false, number)?;
            }
        }
        Ok(())
    }

    /// The directory that all but the last of these names lead to, and the last one.
    fn enter_all(&mut self, mut parts: Vec<Vec<u8>>) -> Result<(u32, Vec<u8>)> {
        let file = parts.pop().unwrap_or_default();
        let dir = parts.into_iter().try_fold(0, |dir, part| self.enter(dir, part))?;
        Ok((dir, file))
    }

    /// The directory `name` in `dir`, made if it is not there. (A file can only stand in its way if a
    /// dataset is called like the shortened form of another name; then the directory gets the number.)
    fn enter(&mut self, dir: u32, name: Vec<u8>) -> Result<u32> {
        let mut wanted = name.clone();
        let mut number = 2;
        while let Some(found) = self.names.find(dir, &wanted) {
            if self.names.nodes[found as usize].directory {
                return Ok(found);
            }
            wanted = naming::numbered(&name, number);
            number += 1;
        }
        if self.directories == MAX_DIRECTORIES {
            return Err(Error::Other(format!(
                "the names of the datasets make more than {MAX_DIRECTORIES} directories"
            )));
        }
        self.directories += 1;
        self.names.add(dir, &wanted, true, self.directories - 1)
    }

    fn free_number(&self, dir: u32, name: &[u8], from: u32) -> u32 {
        let mut number = from;
        while self.names.find(dir, &naming::numbered(name, number)).is_some() {
            number += 1;
        }
        number
    }

    fn free_sidecar(&self, dir: u32, sidecar: &[u8]) -> u32 {
        let name = |number: u32| [sidecar, format!("~{number}").as_bytes()].concat();
        let mut number = 2;
        while self.names.find(dir, &name(number)).is_some() {
            number += 1;
        }
        number
    }

    fn rename_sidecars(&self, datasets: &dyn Datasets) -> HashMap<u32, u32> {
        let mut renamed = HashMap::new();
        let Some(sidecars) = datasets.abilities().sidecars else { return renamed };
        let has_sidecar = |node: &Node| {
            !node.directory && u64::from(node.what) < datasets.count() && sidecars.has_sidecar(node.what)
        };
        for (id, node) in (0..).zip(&self.names.nodes).filter(|(_, node)| has_sidecar(node)) {
            let sidecar = [self.names.name(node), naming::SIDECAR].concat();
            if self.names.find(node.parent, &sidecar).is_some() {
                renamed.insert(id, self.free_sidecar(node.parent, &sidecar));
            }
        }
        renamed
    }

    /// Sorts the nodes by directory, keeping the order in which they were added.
    fn arrange(&self) -> (Vec<Directory>, Vec<u32>) {
        let nodes = &self.names.nodes;
        let mut directories = vec![Directory::default(); self.directories as usize];
        let dir_of = |id: usize| nodes[nodes[id].parent as usize].what as usize;
        for id in 1..nodes.len() {
            directories[dir_of(id)].count += 1;
            directories[dir_of(id)].subdirectories += u32::from(nodes[id].directory);
        }
        let mut first = 0;
        for directory in &mut directories {
            directory.first = first;
            first += directory.count;
        }
        let mut next: Vec<u32> = directories.iter().map(|d| d.first).collect();
        let mut children = vec![0; nodes.len() - 1];
        for id in 1..nodes.len() {
            let slot = &mut next[dir_of(id)];
            children[*slot as usize] = id as u32;
            *slot += 1;
        }
        (directories, children)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Abilities, FileKind, NodeId, NodeKind, ROOT, Sidecars, Size, Tree};
    use super::*;
    use crate::content::Content;

    struct Numbers(u64);

    impl Datasets for Numbers {
        fn count(&self) -> u64 {
            self.0
        }

        fn size(&self, dataset: u32) -> Size {
            Size { len: Some(dataset.into()), stored: 0 }
        }

        fn content(&self, dataset: u32) -> Result<Content> {
            Ok(Content::Inline(dataset.to_string().into_bytes().into()))
        }

        fn ready_content(&self, dataset: u32) -> Result<Option<Content>> {
            self.content(dataset).map(Some)
        }

        fn describe(&self, _: u32) -> Result<crate::tree::Description> {
            Err(Error::NotFound)
        }

        fn abilities(&self) -> Abilities<'_> {
            Abilities { sidecars: Some(self), ..Abilities::default() }
        }
    }

    impl Sidecars for Numbers {
        fn sidecar_size(&self, _: u32, file_name: &[u8]) -> Size {
            Size { len: Some(file_name.len() as u64), stored: 0 }
        }

        fn sidecar(&self, _: u32, file_name: &[u8]) -> Result<Content> {
            Ok(Content::Inline(file_name.into()))
        }
    }

    fn tree(names: &[&str]) -> Arena {
        let list: names::NameList = names.iter().copied().collect();
        Builder::build(&list, Arc::new(Numbers(names.len() as u64))).unwrap()
    }

    /// Every path with what it shows: the dataset's number, or the file that a sidecar belongs to.
    fn walk(tree: &dyn Tree, dir: NodeId, prefix: &str, out: &mut Vec<String>) {
        tree.list(dir, 0, &mut |name, entry| {
            let path = format!("{prefix}{}", String::from_utf8_lossy(name));
            assert_eq!(tree.lookup(dir, name).unwrap(), Some((entry.node, entry.file)), "{path}");
            assert_eq!(tree.parent(entry.node), dir);
            if let NodeKind::Directory { .. } = entry.kind {
                walk(tree, entry.node, &format!("{path}/"), out);
            } else {
                let bytes = tree.content(entry.node, entry.file).unwrap().read(0, 999).unwrap();
                let bytes = bytes.to_vec();
                out.push(format!("{path} = {}", String::from_utf8(bytes).unwrap()));
            }
            true
        })
        .unwrap();
    }

    fn paths(names: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        walk(&tree(names), ROOT, "", &mut out);
        out.retain(|line| !line.contains(".meta.yaml = ") || line.contains("~"));
        out
    }

    #[test]
    fn a_name_that_comes_twice_gets_a_number_and_true_names_win() {
        let got = paths(&["x", "x", "x~2", "x", "d/y", "d/y"]);
        let data: Vec<_> = got.iter().filter(|l| !l.contains("meta")).map(String::as_str).collect();
        assert_eq!(data, ["x = 0", "x~2 = 2", "d/y = 4", "d/y~2 = 5", "x~3 = 1", "x~4 = 3"]);
    }

    #[test]
    fn a_sidecar_gives_way_to_datasets_and_directories() {
        let got = paths(&["p", "p.meta.yaml", "q", "q.meta.yaml/z", "p.meta.yaml~2"]);
        assert!(got.contains(&"p.meta.yaml~3 = p".to_owned()), "{got:?}");
        assert!(got.contains(&"q.meta.yaml~2 = q".to_owned()), "{got:?}");
        assert_eq!(
            tree(&["p", "p.meta.yaml"]).lookup(ROOT, b"p.meta.yaml").unwrap(),
            Some((2, FileKind::Data))
        );
    }

    #[test]
    fn a_listing_goes_on_after_any_cursor() {
        let tree = tree(&["a", "b/c", "d"]);
        let mut all = Vec::new();
        tree.list(ROOT, 0, &mut |name, entry| {
            all.push((name.to_vec(), entry.cursor));
            true
        })
        .unwrap();
        assert_eq!(all.len(), 5);
        for (at, (_, cursor)) in all.iter().enumerate() {
            let mut rest = Vec::new();
            tree.list(ROOT, *cursor, &mut |name, entry| {
                rest.push((name.to_vec(), entry.cursor));
                true
            })
            .unwrap();
            assert_eq!(rest, all[at + 1..]);
        }
    }

    #[test]
    fn a_shortened_name_that_is_also_a_dataset_clashes_with_nothing() {
        let long = "x".repeat(300);
        let short = String::from_utf8(naming::components(long.as_bytes(), &[]).remove(0)).unwrap();
        let inside = format!("{long}/in");
        assert_eq!(paths(&[&short, &inside]).len(), paths(&["a", "b"]).len() + 2);
        assert_eq!(tree(&[&long, &short]).nodes(), 3);
    }
}
