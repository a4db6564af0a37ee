//! Names of signals below an annotation. Looking one up uses an index, so that it is fast for recordings with many
//! signals.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::views::NPY;
use crate::format::onda::read::set::Set;
use crate::tree::naming;

/// Built when a name is first looked up.
#[derive(Default)]
pub struct SpanNames {
    signals: OnceLock<HashTable<u32>>,
    hasher: DefaultHashBuilder,
}

impl SpanNames {
    /// A signal's name within its recording, as one path component.
    pub fn name(set: &Set, signal: u32) -> Vec<u8> {
        let name = set.raw_name(signal);
        let slash = name.iter().position(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        [naming::file_name(name.get(slash..).unwrap_or_default()), NPY.to_vec()].concat()
    }

    /// The index of a signal in its recording.
    pub fn find(&self, set: &Set, recording: u32, name: &[u8]) -> Option<usize> {
        let hash = |recording: u32, name: &[u8]| self.hasher.hash_one((recording, name));
        let of = |signal: u32| set.signals.get(signal as usize).map_or(u32::MAX, |row| row.recording);
        let signals = self.signals.get_or_init(|| {
            let mut signals = HashTable::with_capacity(set.signals.len());
            for signal in 0..set.signals.len() as u32 {
                let hash_of = |signal: &u32| hash(of(*signal), &SpanNames::name(set, *signal));
                signals.insert_unique(hash_of(&signal), signal, hash_of);
            }
            signals
        });
        let is_it = |signal: &u32| of(*signal) == recording && SpanNames::name(set, *signal) == name;
        let found = signals.find(hash(recording, name), is_it)?;
        // The signals of a recording are in ascending order.
        set.recordings.get(recording as usize)?.signals.binary_search(found).ok()
    }
}
