//! Per-thread scratch buffers, reused for data that is read only to be converted.

use std::cell::Cell;

/// Maximum bytes that a thread keeps.
const KEPT: usize = 2 << 20;

thread_local! {
    static LAST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Fresh memory would be zeroed by the kernel and again by us, a fifth of the cost of a request. If a thread takes a
/// second buffer while the first is in use, the second is fresh.
pub struct Scratch(Vec<u8>);

impl Scratch {
    pub fn take() -> Scratch {
        Scratch(LAST.take())
    }

    /// `len` bytes with unspecified contents: the caller writes all of them before reading any.
    pub fn bytes(&mut self, len: usize) -> &mut [u8] {
        if self.0.len() < len {
            self.0.resize(len, 0);
        }
        self.0.get_mut(..len).unwrap_or_default()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.0.capacity() <= KEPT {
            LAST.set(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_by_one_user_at_a_time() {
        let place = |scratch: &mut Scratch| scratch.bytes(100_000).as_ptr();
        let mut first = Scratch::take();
        let (mut second, was) = (Scratch::take(), place(&mut first));
        assert!(first.bytes(10).len() == 10 && place(&mut second) != was);
        drop(second);
        drop(first);
        assert_eq!(place(&mut Scratch::take()), was);
        drop({
            let mut large = Scratch::take();
            large.bytes(KEPT + 1);
            large
        });
        assert_eq!(LAST.take().capacity(), 0);
    }
}
