//! Names of derived files in a directory, and the dataset that each name refers to. A derived file has its dataset's
//! name plus the view's extension; if that name is already taken there, `~2`, `~3`, ... is appended at the very end.

use std::sync::Arc;

use super::super::{Dataset, Directory, View};
use crate::array::indexed;
use crate::tree::{Description, FileKind, Held, NodeId, Tree};
use crate::{Error, Result};

/// What the files are called that a container makes.
const MADE: &[u8] = b".npy";

/// A directory of the tree, with its datasets as a view shows them.
pub struct DirNames<'a> {
    pub tree: &'a Arc<dyn Tree>,
    pub dir: NodeId,
    pub view: &'static dyn View,
    /// Names that are not the tree's.
    pub taken: &'a [&'a str],
    /// Whether what the view does not show is listed as it is, so that its name is taken; otherwise only directories
    /// are.
    pub has_others: bool,
}

/// What a name in a view means: the dataset, and the index if it is a part of one.
pub enum Match {
    There(Arc<Held>, Option<Box<str>>),
    /// The dataset has no such part, or the view does not show it.
    Wrong(Error),
}

impl DirNames<'_> {
    /// The name in the view of the dataset with this file name.
    pub fn name(&self, file_name: &[u8]) -> Result<Vec<u8>> {
        let plain = [&*self.view.shown(file_name), self.view.extension().as_bytes()].concat();
        free(plain, &|name| self.is_taken(name))
    }

    /// What a file that the container derives is called, if this is its plain name.
    pub fn name_of_derived(&self, plain: &[u8]) -> Result<Vec<u8>> {
        let is_taken = |name: &[u8]| {
            let other = || find_other(self.tree, self.dir, self.view, name);
            Ok(self.find(name)?.is_some() || other()?.is_some())
        };
        free(plain.to_vec(), &is_taken)
    }

    /// The dataset that has this name in the view.
    pub fn find(&self, name: &[u8]) -> Result<Option<Arc<Held>>> {
        for stem in self.stems(name) {
            let file_name = self.view.meant(stem);
            if let Some((held, _)) = self.dataset(&file_name)?
                && self.name(&file_name)? == name
            {
                return Ok(Some(held));
            }
        }
        Ok(None)
    }

    /// The dataset whose part has this name in the view, and the index: `NAME[2:10].npy`. Or why there is no such part.
    pub fn find_part(&self, name: &[u8]) -> Result<Option<Match>> {
        if self.view.makes_directories() {
            return Ok(None);
        }
        let Some(stem) = name.strip_suffix(self.view.extension().as_bytes()) else { return Ok(None) };
        if let Some((held, dataset)) = self.known(stem)?
            && self.view.refuses(dataset.about()).is_some()
        {
            return Ok(Some(found(self.view, held, &dataset, None)));
        }
        let Some((file_name, index)) = indexed(stem) else { return Ok(None) };
        let known = self.known(file_name)?;
        Ok(known.map(|(held, dataset)| found(self.view, held, &dataset, Some(index))))
    }

    /// The files that complete the directory `of`, but for those whose name something else has.
    pub fn beside(&self, of: &Arc<Held>) -> Result<Vec<&'static str>> {
        let mut beside = self.view.beside(&Directory::new(of.clone())).to_vec();
        for at in (0..beside.len()).rev() {
            if self.is_taken(beside[at].as_bytes())? {
                beside.remove(at);
            }
        }
        Ok(beside)
    }

    /// The file names of the datasets that may be meant: with the extension, or with a number behind it.
    fn stems<'n>(&self, name: &'n [u8]) -> impl Iterator<Item = &'n [u8]> {
        let extension = self.view.extension().as_bytes();
        let before = unnumbered(name).and_then(|plain| plain.strip_suffix(extension));
        name.strip_suffix(extension).into_iter().chain(before).filter(|stem| !stem.is_empty())
    }

    /// The dataset with this file name, if the view shows it.
    fn dataset(&self, file_name: &[u8]) -> Result<Option<(Arc<Held>, Dataset)>> {
        Ok(self.known(file_name)?.filter(|(_, dataset)| self.view.shows(dataset.about())))
    }

    /// The dataset of this file name. One of which nothing is known is an error.
    fn known(&self, file_name: &[u8]) -> Result<Option<(Arc<Held>, Dataset)>> {
        let Some((held, FileKind::Data)) = Held::find(self.tree, self.dir, file_name)? else {
            return Ok(None);
        };
        if held.is_directory()? {
            return Ok(None);
        }
        let held = Arc::new(held);
        let Some(dataset) = Dataset::of(&held)? else { return Ok(None) };
        match &dataset.about().fault {
            Some(problem) if !self.has_others && !self.view.shows(dataset.about()) => {
                Err(dataset.wrong(problem))
            }
            _ => Ok(Some((held, dataset))),
        }
    }

    fn is_taken(&self, name: &[u8]) -> Result<bool> {
        if self.taken.iter().any(|taken| taken.as_bytes() == name) {
            return Ok(true);
        }
        let Some((held, file)) = find_other(self.tree, self.dir, self.view, name)? else { return Ok(false) };
        if !self.has_others || held.is_directory()? {
            return held.is_directory();
        }
        // A dataset that the view shows is listed by its name there.
        let is_shown = file == FileKind::Data && shows(self.view, &**self.tree, held.node())?;
        Ok(!is_shown)
    }
}

/// A dataset or a part of it in a view, or why the view does not show it.
fn found(view: &dyn View, held: Arc<Held>, dataset: &Dataset, index: Option<&str>) -> Match {
    let lacks = |what: &str, about: &Description| {
        let problem = view.refuses(about).map_or_else(String::new, |problem| format!(": {problem}"));
        format!("{what} cannot be shown as {}{problem}", view.kind())
    };
    let problem = match index {
        None if view.shows(dataset.about()) => return Match::There(held, None),
        None => lacks("it", dataset.about()),
        Some(index) => match dataset.part(index) {
            Ok(part) if view.shows(part.about()) => return Match::There(held, Some(index.into())),
            Ok(part) => format!("[{index}]: {}", lacks("such a part", part.about())),
            Err(problem) => format!("[{index}]: {problem}"),
        },
    };
    Match::Wrong(dataset.wrong(&problem))
}

/// What has this name beside a `.npy` file that a container has below its own `.views`: its array in another view, or
/// one of a part of it.
pub fn find_made(
    tree: &Arc<dyn Tree>,
    dir: NodeId,
    views: &[&'static dyn View],
    name: &[u8],
) -> Result<Option<(&'static dyn View, Match)>> {
    for view in views.iter().filter(|view| !view.makes_directories() && !view.extension().is_empty()) {
        let Some(stem) = name.strip_suffix(view.extension().as_bytes()) else { continue };
        let whole = (stem, None);
        for (file_name, index) in
            [Some(whole), indexed(stem).map(|(name, index)| (name, Some(index)))].into_iter().flatten()
        {
            let Some((held, FileKind::Data)) = Held::find(tree, dir, &[file_name, MADE].concat())? else {
                continue;
            };
            let held = Arc::new(held);
            if let Some(dataset) = Dataset::made(&held)? {
                return Ok(Some((*view, found(*view, held, &dataset, index))));
            }
        }
    }
    Ok(None)
}

/// Rows of a table that a container has as a file in a directory of its own: `NAME[INDEX].EXT` where there is
/// `NAME.EXT`.
pub fn find_rows(tree: &Arc<dyn Tree>, dir: NodeId, name: &[u8]) -> Result<Option<Match>> {
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else { return Ok(None) };
    let (stem, extension) = name.split_at(dot);
    let Some((table, index)) = indexed(stem) else { return Ok(None) };
    let Some((held, FileKind::Data)) = Held::find(tree, dir, &[table, extension].concat())? else {
        return Ok(None);
    };
    match tree.rows(held.node(), index) {
        Ok(rows) => Ok(rows.map(|_| Match::There(Arc::new(held), Some(index.into())))),
        Err(error @ Error::Usage(_)) => Ok(Some(Match::Wrong(error))),
        Err(error) => Err(error),
    }
}

/// What has this name in a view and is not a dataset that it shows. Names that the view reserves belong to nothing.
pub fn find_other(
    tree: &Arc<dyn Tree>,
    dir: NodeId,
    view: &dyn View,
    name: &[u8],
) -> Result<Option<(Held, FileKind)>> {
    let meant = view.meant(name);
    if *view.shown(&meant) == *name { Held::find(tree, dir, &meant) } else { Ok(None) }
}

/// Does the view show this dataset? Not if it is damaged. One that cannot be read now may be shown later: listed as it
/// is in its place, it would be a file where programs know a directory.
pub fn shows(view: &dyn View, tree: &dyn Tree, node: NodeId) -> Result<bool> {
    match tree.brief(node) {
        Ok(about) => Ok(about.is_some_and(|about| view.shows(&about))),
        Err(error @ (Error::Changed { .. } | Error::Read { .. })) => Err(error),
        Err(_) => Ok(false),
    }
}

/// The name, or with the first number behind it by which nothing else is called.
fn free(plain: Vec<u8>, is_taken: &dyn Fn(&[u8]) -> Result<bool>) -> Result<Vec<u8>> {
    let (mut name, mut number) = (plain.clone(), 1);
    while is_taken(&name)? {
        number += 1;
        name = [&plain, format!("~{number}").as_bytes()].concat();
    }
    Ok(name)
}

/// A name without the number behind it, if it has one.
pub fn unnumbered(name: &[u8]) -> Option<&[u8]> {
    name.iter().rposition(|byte| *byte == b'~').and_then(|tilde| name.get(..tilde))
}
