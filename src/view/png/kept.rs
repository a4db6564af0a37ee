//! Pictures as contents: rendered when the first byte is read, and cached until others need the room.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

use super::plan::{Picture, Plan};
use super::signal::Signal;
use super::{encode, image};
use crate::array::Array;
use crate::content::{Computed, Content};
use crate::{Error, Result};

/// Bytes of pictures that are kept.
const ROOM: usize = 64 << 20;

pub struct Rendered {
    array: Array,
    elements: Content,
    plan: Plan,
    /// Its number among those that are kept.
    id: u64,
    /// Whoever holds it is making the picture; others would only do the same.
    making: Mutex<()>,
    /// Why there is no picture.
    failed: OnceLock<Error>,
}

impl Rendered {
    pub fn content(array: Array, elements: Content, plan: Plan) -> Content {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (making, failed) = (Mutex::default(), OnceLock::new());
        Content::Computed(Arc::new(Rendered { array, elements, plan, id, making, failed }))
    }

    fn file(&self) -> Result<Arc<[u8]>> {
        if let Some(file) = kept().files.get(&self.id) {
            return Ok(file.clone());
        }
        let _making = self.making.lock();
        if let Some(file) = kept().files.get(&self.id) {
            return Ok(file.clone());
        }
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        let pixels = self.pixels().inspect_err(|error| {
            if error.lasts() {
                let _ = self.failed.set(error.clone());
            }
        })?;
        let file: Arc<[u8]> = encode::encode(&self.plan, &pixels).into();
        kept().keep(self.id, file.clone());
        Ok(file)
    }

    fn pixels(&self) -> Result<Vec<u8>> {
        let Rendered { array, elements, plan, .. } = self;
        match &plan.what {
            Picture::Image(slab) => image::pixels(array, elements, slab, plan),
            Picture::Signal { lead, channels, samples, layout } => {
                let (channels, samples, layout) = (*channels, *samples, *layout);
                Signal { array, elements, lead, channels, samples, layout }.pixels(plan)
            }
        }
    }
}

impl Drop for Rendered {
    fn drop(&mut self) {
        kept().leave_out(self.id);
    }
}

impl Computed for Rendered {
    fn known_len(&self) -> Option<u64> {
        Some(encode::len(&self.plan))
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let file = self.file()?;
        let from = usize::try_from(offset).ok().and_then(|at| file.get(at..)?.get(..buf.len()));
        buf.copy_from_slice(from.ok_or_else(|| Error::Other("read past the end".into()))?);
        Ok(())
    }
}

struct Kept {
    files: LruCache<u64, Arc<[u8]>>,
    bytes: usize,
}

impl Kept {
    fn keep(&mut self, id: u64, file: Arc<[u8]>) {
        self.bytes += file.len();
        self.files.put(id, file);
        while self.bytes > ROOM
            && self.files.len() > 1
            && let Some((_, dropped)) = self.files.pop_lru()
        {
            self.bytes -= dropped.len();
        }
    }

    fn leave_out(&mut self, id: u64) {
        if let Some(file) = self.files.pop(&id) {
            self.bytes -= file.len();
        }
    }
}

fn kept() -> MutexGuard<'static, Kept> {
    static KEPT: LazyLock<Mutex<Kept>> =
        LazyLock::new(|| Mutex::new(Kept { files: LruCache::unbounded(), bytes: 0 }));
    KEPT.lock()
}
