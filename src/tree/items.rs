//! Arrays whose items differ in form, as JSON.

use std::ops::ControlFlow;

use crate::Result;

/// An array of anything: lists, rows, texts, numbers. Its items are made as they are asked for.
#[allow(clippy::len_without_is_empty)] // nobody asks
pub trait Items: Send + Sync {
    /// How many items it has.
    fn len(&self) -> Result<u64>;

    /// Hands those that are wanted to `each`, as JSON, until it breaks off.
    fn pass(
        &self,
        wanted: &mut dyn Iterator<Item = u64>,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()>;
}
