//! Limits on the memory and time that one container may use. Everything that can grow beyond the stored bytes is
//! charged here, and the budget grows with the file alone. Exceeding it is an error that names the limit.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::codec::zip::Fault;

/// What the budget is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Bytes of schemas.
    Schemas,
    /// Values of their JSON.
    Values,
    /// Arrays, and parts of arrays, counted at each use.
    Parts,
    /// Bytes of JSON, each time a reference leads there.
    Repeats,
    /// Bytes of names: of the members that are read, of files and of links.
    Names,
    /// Numbers kept so that the items before one need not be read again.
    Kept,
    /// Bytes of numbers read again to check them against another part.
    Again,
}

impl Of {
    const ALL: [Of; 7] = [Of::Schemas, Of::Values, Of::Parts, Of::Repeats, Of::Names, Of::Kept, Of::Again];

    /// The fixed allowance, and the file bytes per additional unit.
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
    /// For a container of `len` bytes.
    pub fn new(len: u64) -> Budget {
        Budget { len, left: Of::ALL.map(|of| AtomicU64::new(most(of, len))) }
    }

    /// Returns what was taken for an array that is refused as a whole. Only for what costs time once per byte of a
    /// schema, which is bounded; otherwise time would not be.
    pub fn give_back(&self, of: Of, count: u64) {
        if let Some(left) = self.left.get(of as usize) {
            left.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Takes `count`, or nothing if there is less left.
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
    fn budget_grows_with_the_file() {
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
