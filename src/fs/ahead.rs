//! Which files are read next. Programs read the small files of a directory one after the other, in the order of its
//! listing. Once that is seen, the contents of the next ones are handed out before they are asked for: a few at first,
//! and twice as many each time that the program goes on behind them. Where it does not, no more is handed out.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;

use crate::content::{Content, MAX_COPIED};
use crate::tree::{FileKind, NodeId, NodeKind, Tree};

/// Number of files that are handed out at first, and later.
const FIRST_WINDOW: usize = 8;
const MAX_WINDOW: usize = 256;
/// Bytes that are handed out before the program reads on.
const MAX_BYTES: usize = 2 << 20;
/// Larger files are not handed out: they would not be copied.
const MAX_FILE: u64 = MAX_COPIED;
/// Number of reads in order, after the first, before files are handed out.
const IN_ORDER: u32 = 2;
/// Programs with several threads read files in nearly the order of their nodes, and directories may be in between.
const MAX_STEP: u64 = 4;
/// Number of entries that are listed at once.
const PIECE: usize = 512;
/// Number of entries among which a file is looked for.
const MAX_SEARCH: usize = 1 << 20;
/// Number of directories that are remembered.
const DIRECTORIES: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Takes a file, its content and the length of that. Returns false if nobody has looked the file up.
type HandOut<'a> = dyn FnMut(NodeId, &Content, usize) -> bool + 'a;

/// The files of one kind in one directory.
pub type Pass = (NodeId, FileKind);

pub struct Ahead {
    passes: Mutex<LruCache<Pass, Progress>>,
}

impl Ahead {
    pub fn new() -> Ahead {
        Ahead { passes: Mutex::new(LruCache::new(DIRECTORIES)) }
    }

    /// A program reads a file from its start. Says whether [`Ahead::hand_out`] is to be called, on another thread.
    pub fn read(&self, pass: Pass, node: NodeId) -> bool {
        let mut passes = self.passes.lock();
        let progress = passes.get_or_insert_mut(pass, || Progress::new(node));
        let is_wanted = progress.read(node) && !progress.is_busy;
        progress.is_busy |= is_wanted;
        is_wanted
    }

    /// The directory is being listed: its files are looked up by that.
    pub fn listed(&self, dir: NodeId) {
        let mut passes = self.passes.lock();
        for file in [FileKind::Data, FileKind::Sidecar] {
            if let Some(progress) = passes.peek_mut(&(dir, file)) {
                progress.needed = IN_ORDER;
            }
        }
    }

    /// [`Ahead::hand_out`] is not going to be called.
    pub fn cancel(&self, pass: Pass) {
        self.update(pass, |progress| progress.is_busy = false);
    }

    /// Calls `hand_out` with the files that come next and their contents until that is enough, or it returns false:
    /// nobody has looked the file up.
    pub fn hand_out(&self, pass: Pass, tree: &dyn Tree, hand_out: &mut HandOut<'_>) {
        // A panic would leave it busy for ever.
        let _busy = Busy { ahead: self, pass };
        loop {
            match self.step(pass) {
                Step::List { behind, cursor } => {
                    let (next, cursor) = list(tree, pass, behind, cursor);
                    self.update(pass, |progress| progress.plan.listed(next, cursor));
                }
                Step::HandOut(node) => {
                    let Some((content, len)) = small(tree, node, pass.1) else { continue };
                    let is_known = hand_out(node, &content, len);
                    self.update(pass, |progress| match is_known {
                        true => progress.plan.bytes += len,
                        false => progress.give_up(),
                    });
                }
                Step::Enough => return,
            }
        }
    }

    fn step(&self, pass: Pass) -> Step {
        let mut passes = self.passes.lock();
        // It is forgotten where there are many directories.
        let Some(progress) = passes.get_mut(&pass) else { return Step::Enough };
        let step = progress.plan.step();
        progress.is_busy = !matches!(step, Step::Enough);
        step
    }

    fn update(&self, pass: Pass, change: impl FnOnce(&mut Progress)) {
        if let Some(progress) = self.passes.lock().get_mut(&pass) {
            change(progress);
        }
    }
}

struct Busy<'a> {
    ahead: &'a Ahead,
    pass: Pass,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.ahead.cancel(self.pass);
        }
    }
}

/// The way of programs through one directory.
struct Progress {
    last: NodeId,
    /// Files that were read in order, up to the last.
    in_order: u32,
    /// How many of these it takes; more each time that files were handed out in vain.
    needed: u32,
    plan: Plan,
    /// Is a thread in [`Ahead::hand_out`]?
    is_busy: bool,
}

impl Progress {
    fn new(node: NodeId) -> Progress {
        Progress { last: node, in_order: 0, needed: IN_ORDER, plan: Plan::default(), is_busy: false }
    }

    /// Is there something to hand out?
    fn read(&mut self, node: NodeId) -> bool {
        let is_next = node != self.last && node.abs_diff(self.last) <= MAX_STEP;
        self.in_order = if is_next { self.in_order + 1 } else { 0 };
        self.last = node;
        match self.plan.read(node) {
            Met::Expected => return true,
            Met::HandedOut => return false,
            Met::InVain => self.give_up(),
            Met::Elsewhere => {}
        }
        if self.in_order < self.needed {
            return false;
        }
        // Short runs here and there: what was handed out after the last one was of no use.
        if self.plan.is_unused() {
            self.give_up();
            return false;
        }
        self.in_order = 0;
        self.plan = Plan::behind(node);
        true
    }

    fn give_up(&mut self) {
        self.plan = Plan::default();
        self.in_order = 0;
        self.needed = self.needed.saturating_mul(8);
    }
}

#[derive(Default)]
struct Plan {
    /// What the listing has next.
    next: VecDeque<NodeId>,
    /// Where the listing goes on: behind this file, which has to be found first, and at this cursor.
    behind: Option<NodeId>,
    cursor: Option<u64>,
    /// Number of files to be handed out at a time.
    window: usize,
    /// How many of them are left.
    left: usize,
    bytes: usize,
    /// What was handed out last.
    handed_out: VecDeque<NodeId>,
    /// How many of these were read all the same.
    in_vain: usize,
    /// The program has read on behind what was handed out.
    is_used: bool,
}

/// What a plan has to do with a file that is read.
enum Met {
    Expected,
    /// The file was handed out, and is read all the same: too late, or the kernel did not keep it.
    HandedOut,
    /// So were most of the others.
    InVain,
    Elsewhere,
}

enum Step {
    List { behind: Option<NodeId>, cursor: u64 },
    HandOut(NodeId),
    Enough,
}

impl Plan {
    fn behind(node: NodeId) -> Plan {
        let (window, left) = (FIRST_WINDOW, FIRST_WINDOW);
        Plan { behind: Some(node), cursor: Some(0), window, left, ..Plan::default() }
    }

    fn is_unused(&self) -> bool {
        !self.handed_out.is_empty() && !self.is_used
    }

    fn read(&mut self, node: NodeId) -> Met {
        if let Some(at) = self.next.iter().position(|next| *next == node) {
            self.next.drain(..=at);
            self.is_used = true;
            return self.go_on();
        }
        if self.handed_out.contains(&node) {
            self.in_vain += 1;
            return Met::HandedOut;
        }
        Met::Elsewhere
    }

    /// The program reads on behind what was handed out.
    fn go_on(&mut self) -> Met {
        if self.in_vain > self.window / 2 {
            return Met::InVain;
        }
        if self.left == 0 || self.bytes >= MAX_BYTES {
            self.window = MAX_WINDOW.min(2 * self.window);
            (self.left, self.bytes, self.in_vain) = (self.window, 0, 0);
        }
        Met::Expected
    }

    fn step(&mut self) -> Step {
        match (self.next.front().copied(), self.cursor) {
            (None, Some(cursor)) => Step::List { behind: self.behind, cursor },
            (Some(node), _) if self.left > 0 && self.bytes < MAX_BYTES => {
                self.next.pop_front();
                self.left -= 1;
                self.handed_out.truncate(MAX_WINDOW - 1);
                self.handed_out.push_front(node);
                Step::HandOut(node)
            }
            _ => Step::Enough,
        }
    }

    fn listed(&mut self, next: VecDeque<NodeId>, cursor: Option<u64>) {
        (self.next, self.cursor, self.behind) = (next, cursor, None);
    }
}

/// Files that a directory lists after `cursor` and behind a certain file, if there is one, and the cursor to go on
/// with: None at its end, where the directory is too large, or cannot be listed.
fn list(
    tree: &dyn Tree,
    (dir, file): Pass,
    mut behind: Option<NodeId>,
    cursor: u64,
) -> (VecDeque<NodeId>, Option<u64>) {
    let (mut next, mut goes_on, mut seen) = (VecDeque::new(), None, 0);
    let listed = tree.list(dir, cursor, &mut |_, entry| {
        seen += 1;
        let is_wanted = entry.kind == NodeKind::File && entry.file == file;
        match behind {
            Some(node) if is_wanted && entry.node == node => behind = None,
            None if is_wanted => next.push_back(entry.node),
            _ => {}
        }
        goes_on = (next.len() == PIECE).then_some(entry.cursor);
        goes_on.is_none() && seen < MAX_SEARCH
    });
    if listed.is_err() { (VecDeque::new(), None) } else { (next, goes_on) }
}

/// The content of a file and its length if it is small and takes little to find out.
fn small(tree: &dyn Tree, node: NodeId, file: FileKind) -> Option<(Content, usize)> {
    let size = tree.size(node, file).ok()?;
    let len = size.len.filter(|len| *len <= MAX_FILE && size.stored <= MAX_FILE)?;
    Some((tree.content(node, file).ok()?, len as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::tree::{Entry, ROOT, Size};

    /// A directory of files with these lengths; the first has number 1.
    struct Folder(Vec<u64>);

    impl Tree for Folder {
        fn kind(&self, node: NodeId) -> Result<NodeKind> {
            Ok(if node == ROOT { NodeKind::Directory { subdirectories: None } } else { NodeKind::File })
        }

        fn parent(&self, _: NodeId) -> NodeId {
            ROOT
        }

        fn lookup(&self, _: NodeId, _: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
            Ok(None)
        }

        fn list(&self, _: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
            let entry = |node, file, cursor| Entry { node, file, kind: NodeKind::File, cursor };
            for node in cursor + 1..=self.0.len() as u64 {
                if !each(b"", entry(node, FileKind::Sidecar, node - 1))
                    || !each(b"", entry(node, FileKind::Data, node))
                {
                    break;
                }
            }
            Ok(())
        }

        fn size(&self, node: NodeId, _: FileKind) -> Result<Size> {
            let len = self.0[node as usize - 1];
            Ok(Size { len: Some(len), stored: len })
        }

        fn content(&self, node: NodeId, _: FileKind) -> Result<Content> {
            Ok(Content::Inline(vec![7; self.0[node as usize - 1] as usize].into()))
        }

        fn nodes(&self) -> u64 {
            self.0.len() as u64 + 1
        }

        fn datasets(&self) -> u64 {
            self.0.len() as u64
        }
    }

    const DATA: Pass = (ROOT, FileKind::Data);

    /// Reads a file, and returns what is handed out then.
    fn read(ahead: &Ahead, folder: &Folder, node: NodeId, is_known: bool) -> Vec<NodeId> {
        let mut out = Vec::new();
        if ahead.read(DATA, node) {
            ahead.hand_out(DATA, folder, &mut |node, _, len| {
                assert_eq!(len as u64, folder.0[node as usize - 1]);
                out.push(node);
                is_known
            });
        }
        out
    }

    #[test]
    fn files_are_handed_out_behind_those_that_are_read_in_order() {
        let (ahead, folder) = (Ahead::new(), Folder(vec![10; 2000]));
        let read = |node| read(&ahead, &folder, node, true);
        assert_eq!((read(1), read(2)), (vec![], vec![]));
        assert_eq!(read(3), (4..=11).collect::<Vec<_>>());
        // Too late, or thrown away by the kernel: read all the same.
        assert!(read(4).is_empty());
        assert_eq!(read(12), (13..=28).collect::<Vec<_>>());
        let (mut next, mut windows) = (29, Vec::new());
        while next < 2000 {
            let handed_out = read(next);
            windows.push(handed_out.len());
            next += 1 + handed_out.len() as u64;
        }
        assert_eq!(windows, [32, 64, 128, 256, 256, 256, 256, 256, 256, 202]);
        // The end of the directory, from where it begins again.
        assert!(read(1).is_empty() && read(2).is_empty());
        assert_eq!(read(3).len(), 8);
    }

    #[test]
    fn nothing_is_handed_out_to_readers_of_any_order() {
        let (ahead, folder) = (Ahead::new(), Folder(vec![10; 2000]));
        for step in 0..1000 {
            assert!(read(&ahead, &folder, 1 + step * 769 % 2000, true).is_empty());
        }
    }

    #[test]
    fn where_nobody_has_looked_files_up_it_is_tried_ever_more_rarely() {
        let (ahead, folder) = (Ahead::new(), Folder(vec![10; 2000]));
        let tried = (1..=2000).filter(|node| !read(&ahead, &folder, *node, false).is_empty());
        assert_eq!(tried.collect::<Vec<_>>(), [3, 19, 147, 1171]);
        ahead.listed(ROOT);
        assert!([7, 8].into_iter().all(|node| read(&ahead, &folder, node, true).is_empty()));
        assert_eq!(read(&ahead, &folder, 9, true).len(), 8);
    }

    #[test]
    fn files_that_the_kernel_does_not_keep_are_not_handed_out_for_long() {
        let (ahead, folder) = (Ahead::new(), Folder(vec![10; 2000]));
        let handed_out: usize = (1..=2000).map(|node| read(&ahead, &folder, node, true).len()).sum();
        assert_eq!(handed_out, 32);
    }

    #[test]
    fn large_files_are_not_handed_out_and_bytes_are_bounded() {
        let (ahead, mut folder) = (Ahead::new(), Folder(vec![MAX_FILE; 500]));
        folder.0[5] = MAX_FILE + 1;
        let read = |node| read(&ahead, &folder, node, true);
        assert_eq!((read(1), read(2), read(3)), (vec![], vec![], vec![4, 5, 7, 8, 9, 10, 11]));
        let mut most = 0;
        let mut next = 12;
        while next < 500 {
            let handed_out = read(next).len();
            most = most.max(handed_out);
            next += 1 + handed_out as u64;
        }
        assert_eq!(most, MAX_BYTES / MAX_FILE as usize);
    }
}
