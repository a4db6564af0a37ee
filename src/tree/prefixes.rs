//! Which beginnings of a name are names of datasets themselves? Answered for all slashes of a name in one
//! walk: a hash that grows byte by byte finds candidates, which are then compared, so that neither many
//! names nor a name of a million slashes takes more than linear time.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashMap;

use super::names::Names;

pub struct Prefixes<'a> {
    all: &'a dyn Names,
    numbers: HashMap<u64, usize>,
    hash: Rolling,
}

/// A polynomial over 2^61 - 1 at a random place, so that nobody can prepare collisions.
#[derive(Clone, Copy)]
struct Rolling {
    base: u64,
}

/// A Mersenne prime, so that a remainder is a shift and an addition.
const MODULUS: u64 = (1 << 61) - 1;

impl Rolling {
    fn new() -> Rolling {
        let base = RandomState::new().hash_one(0) % (MODULUS - 1000) + 500;
        Rolling { base }
    }

    fn push(self, hash: u64, byte: u8) -> u64 {
        let value = u128::from(hash) * u128::from(self.base) + u128::from(byte) + 1;
        let folded = (value as u64 & MODULUS) + (value >> 61) as u64;
        if folded >= MODULUS { folded - MODULUS } else { folded }
    }

    fn of(self, bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |hash, byte| self.push(hash, *byte))
    }
}

impl<'a> Prefixes<'a> {
    pub fn new(names: &'a dyn Names) -> Prefixes<'a> {
        let hash = Rolling::new();
        let mut found = HashMap::new();
        // Without a slash in any name nothing will ever be asked.
        if names.iter().any(|name| name.contains(&b'/')) {
            found.reserve(names.len());
            found.extend(names.iter().enumerate().map(|(number, name)| (hash.of(&name), number)));
        }
        Prefixes { all: names, numbers: found, hash }
    }

    /// Positions of the slashes in `name` that stand right after the name of a dataset.
    pub fn after_datasets(&self, name: &[u8]) -> Vec<usize> {
        let mut hash = 0;
        let mut found = Vec::new();
        for (at, byte) in name.iter().enumerate() {
            let is_name = || {
                let found = self.numbers.get(&hash).and_then(|number| self.all.get(*number));
                found.is_some_and(|found| *found == name[..at])
            };
            if *byte == b'/' && is_name() {
                found.push(at);
            }
            hash = self.hash.push(hash, *byte);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::NameList;
    use super::*;

    #[test]
    fn finds_exactly_the_datasets() {
        let names: NameList = ["a", "a/b/c", "", "x/", "a/b", "é/q"].into_iter().collect();
        let prefixes = Prefixes::new(&names);
        assert_eq!(prefixes.after_datasets(b"a/b/c/d"), [1, 3, 5]);
        assert_eq!(prefixes.after_datasets(b"/a"), [0]);
        assert_eq!(prefixes.after_datasets(b"x//y"), [2]);
        assert_eq!(prefixes.after_datasets("é/q/é/".as_bytes()), [4]);
        assert!(prefixes.after_datasets(b"b/a").is_empty());
    }

    #[test]
    fn a_million_slashes_take_no_time() {
        let name = "/".repeat(1_000_000);
        let names: NameList = [name.as_str()].into_iter().collect();
        assert!(Prefixes::new(&names).after_datasets(name.as_bytes()).is_empty());
    }
}
