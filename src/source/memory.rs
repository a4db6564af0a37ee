//! An in-memory source for tests: counts the bytes read, and can be marked as changed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use super::Source;
use crate::{Error, Result};

#[derive(Default)]
pub struct MemorySource {
    pub bytes: Vec<u8>,
    pub read: AtomicU64,
    pub changed: AtomicBool,
}

impl Source for MemorySource {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn modified(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        buf.copy_from_slice(&self.bytes[offset as usize..][..buf.len()]);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        match self.changed.load(Ordering::Relaxed) {
            true => Err(Error::Changed { file: self.path().to_owned() }),
            false => Ok(()),
        }
    }
}
