//! Changes on disk reported by inotify, so that they show immediately. Only a hint: where inotify is not available
//! (network file systems, too many directories), the kernel revalidates what it cached after a while anyway.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use parking_lot::Mutex;

use super::nodes::Node;
use crate::tree::{Changed, NodeId};

/// Directories that are watched. The system has a limit of its own for each user.
const MAX_WATCHES: usize = 8192;
/// Interval in which repeated changes are reported once.
const PAUSE: Duration = Duration::from_millis(50);

pub struct Watch {
    /// None where it cannot be had, or until somebody wants to know.
    shared: Mutex<Option<Arc<Shared>>>,
}

struct Shared {
    inotify: Inotify,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    nodes: HashMap<WatchDescriptor, NodeId>,
    descriptors: HashMap<NodeId, WatchDescriptor>,
}

impl Watched {
    fn wants(&self, dir: NodeId) -> bool {
        self.descriptors.len() < MAX_WATCHES && !self.descriptors.contains_key(&dir)
    }
}

impl Watch {
    pub fn new() -> Watch {
        Watch { shared: Mutex::new(None) }
    }

    /// From now on `changed` is called for whatever changes in directories that are added.
    pub fn start(&self, changed: Changed) {
        let inotify = match Inotify::init(InitFlags::IN_CLOEXEC) {
            Ok(inotify) => inotify,
            Err(cause) => return log::info!("changes on disk show with a delay, as inotify fails: {cause}"),
        };
        let shared = Arc::new(Shared { inotify, watched: Mutex::default() });
        *self.shared.lock() = Some(shared.clone());
        let work = move || shared.work(&*changed);
        if let Err(cause) = thread::Builder::new().name("rab-watch".into()).spawn(work) {
            log::info!("changes on disk show with a delay, as a thread cannot be started: {cause}");
        }
    }

    /// Watches a directory.
    pub fn add(&self, dir: &Node) {
        let Some(shared) = self.shared.lock().clone() else { return };
        if dir.is_remote || !shared.watched.lock().wants(dir.id) {
            return;
        }
        let flags = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_ONLYDIR;
        // Not under the lock: a file system that does not answer holds up nobody elsewhere. Of two threads that add a
        // directory at a time each gets the same descriptor.
        if let Ok(descriptor) = shared.inotify.add_watch(&dir.path(), flags) {
            let mut watched = shared.watched.lock();
            watched.nodes.insert(descriptor, dir.id);
            watched.descriptors.insert(dir.id, descriptor);
        }
    }

    /// The kernel does not know the directory any more.
    pub fn remove(&self, dir: &Node) {
        let Some(shared) = self.shared.lock().clone() else { return };
        let mut watched = shared.watched.lock();
        if let Some(descriptor) = watched.descriptors.remove(&dir.id) {
            watched.nodes.remove(&descriptor);
            // It may be gone with the directory.
            let _ = shared.inotify.rm_watch(descriptor);
        }
    }
}

impl Shared {
    fn work(&self, changed: &dyn Fn(NodeId, Option<OsString>)) {
        loop {
            let events = match self.inotify.read_events() {
                Ok(events) => events,
                Err(nix::errno::Errno::EINTR) => continue,
                Err(cause) => return log::info!("changes on disk show with a delay: inotify: {cause}"),
            };
            let changes: HashSet<_> = {
                let watched = self.watched.lock();
                let dir = |descriptor| watched.nodes.get(&descriptor).copied();
                let events = events.into_iter().filter(|event| !is_of_directory_itself(event));
                events.filter_map(|event| Some((dir(event.wd)?, event.name))).collect()
            };
            changes.into_iter().for_each(|(dir, name)| changed(dir, name));
            thread::sleep(PAUSE);
        }
    }
}

/// A directory with other attributes is still that one: its name need not be forgotten, with the mounts on it and the
/// processes in it. Its own watch, if it has one, tells the same.
fn is_of_directory_itself(event: &InotifyEvent) -> bool {
    event.name.is_some() && event.mask.contains(AddWatchFlags::IN_ATTRIB | AddWatchFlags::IN_ISDIR)
}
