//! The records as rows of text: `data`, in base64, and `crc32`. A row's position follows from the lengths of the
//! records before it; only the row's own bytes are read, and their CRC is verified before the first is written.

use std::ops::Range;
use std::sync::Arc;

use super::records::Records;
use crate::Result;
use crate::error::Place;
use crate::lines::{Cell, Cells};

/// Number of records whose lengths are summed at a time to find a position.
const AT_ONCE: u64 = 256;

pub struct Rows(pub Arc<Records>);

impl Cells for Rows {
    fn count(&self) -> u64 {
        self.0.count().into()
    }

    fn place(&self) -> Place {
        self.0.shards().next().map(|shard| shard.source.place()).unwrap_or_default()
    }

    fn stored(&self) -> u64 {
        // Plus at least an offset and a CRC.
        self.0.data_len() / self.count().max(1) + 12
    }

    fn rows_per_block(&self) -> Option<u64> {
        Some(AT_ONCE)
    }

    fn names(&self) -> Vec<&str> {
        vec!["data", "crc32"]
    }

    fn each(&self, rows: Range<u64>, cell: &mut dyn FnMut(usize, Cell<'_>) -> Result<()>) -> Result<()> {
        for number in rows.start as u32..rows.end as u32 {
            let found = self.0.find(number)?;
            cell(0, Cell::Bytes(self.0.claimed(&found), &|| self.0.content(number)))?;
            cell(1, Cell::Number(found.record.crc.to_string().as_bytes()))?;
        }
        Ok(())
    }
}
