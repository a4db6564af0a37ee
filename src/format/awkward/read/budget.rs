//! What one container may take of memory and time, whatever is written in it: all that can grow beyond the bytes
//! that are stored is taken from here, and what there is grows with the file alone. Who needs more gets an error that
//! names the limit.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::codec::zip::Fault;

/// What is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Bytes of schemas.
    Schemas,
    /// Values of their JSON.
    Values,
    /// Arrays, and parts of arrays, wherever they are used.
    Parts,
    /// Bytes of JSON, each time that a reference leads there.
    Repeats,
    /// Bytes of names: of the members that are read, of files and of links.
    Names,
    /// Numbers that are kept so that what is before an item has not to be looked at again.
    Kept,
    /// Bytes of numbers that are looked at again, to see whether they fit another part.
    Again,
}

impl Of {
    const ALL: [Of; 7] = [Of::Schemas, Of::Values, Of::Parts, Of::Repeats, Of::Names, Of::Kept, Of::Again];

    /// So many there always are, and one more for so many bytes of the file.
    fn most(self) -> (u64, u64) {
        match self {
            Of::Schemas => (64 << 20, 4),
            Of::Values => (1 << 22, 64),
            Of::Parts => (1 << 18, 512),
            Of::Repeats => (32 << 20, 8),
            Of::Names => (64 << 20, 4),
            Of::Kept => (1 << 22, 256),
            Of::Again => (64 << 30, 1),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Of::Schemas => "bytes of schemas",
            Of::Values => "JSON values in its schemas",
            Of::Parts => "arrays and parts of arrays",
            Of::Repeats => "bytes of JSON that references repeat",
            Of::Names => "bytes of paths of its parts",
            Of::Again => "bytes of numbers of shared parts to be looked at again",
            Of::Kept => "sums of counts and tags to be kept",
        }
    }
}

pub struct Budget {
    /// Bytes of the file.
    len: u64,
    left: [AtomicU64; Of::ALL.len()],
}

impl Budget {
    /// Of a container with so many bytes.
    pub fn new(len: u64) -> Budget {
        Budget { len, left: Of::ALL.map(|of| AtomicU64::new(most(of, len))) }
    }

    /// What was taken for an array that is refused as a whole is not there any more. Only of what costs time once for each
    /// byte of a schema, of which there are so many: else the time would have no bound.
    pub fn give_back(&self, of: Of, count: u64) {
        if let Some(left) = self.left.get(of as usize) {
            left.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Takes so many; nothing if there are fewer.
    pub fn take(&self, of: Of, count: u64) -> Result<(), Fault> {
        let Some(left) = self.left.get(of as usize) else { return Ok(()) };
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(count));
        let (most, name) = (most(of, self.len), of.name());
        let too_many = || format!("the container has more than {most} {name}, which is the limit");
        taken.map(drop).map_err(|_| Fault::unsupported(too_many()))
    }
}

fn most(of: Of, len: u64) -> u64 {
    let (fixed, bytes) = of.most();
    fixed + len / bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_so_much_and_more_of_longer_files() {
        let budget = Budget::new(512);
        budget.take(Of::Parts, 1 << 18).unwrap();
        budget.take(Of::Parts, 1).unwrap();
        let fault = budget.take(Of::Parts, 1).unwrap_err();
        assert!(fault.is_unsupported);
        assert_eq!(
            fault.problem,
            "the container has more than 262145 arrays and parts of arrays, which is the limit"
        );
        budget.give_back(Of::Parts, 1);
        budget.take(Of::Parts, 1).unwrap();
        budget.take(Of::Names, 5).unwrap();
        assert!(budget.take(Of::Kept, u64::MAX).is_err());
    }
}
