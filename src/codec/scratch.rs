//! Memory that a thread uses again for what it reads only to make other bytes of it.

use std::cell::Cell;

/// A thread keeps no more than this.
const KEPT: usize = 2 << 20;

thread_local! {
    static LAST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Fresh memory for each request would be cleared by the kernel, and again by us, at a fifth of the cost of the request.
/// Taken twice in one thread, the second one is fresh.
pub struct Scratch(Vec<u8>);

impl Scratch {
    pub fn take() -> Scratch {
        Scratch(LAST.take())
    }

    /// So many bytes with anything in them: whoever asks writes them all before one is read.
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
    fn the_same_memory_is_used_again_by_one_at_a_time() {
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
