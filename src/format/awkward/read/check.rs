//! Checks that the numbers of a part fit its other parts. All are read, in bounded memory, and compared with the parts
//! they refer to, as far as those are readable. Numbers that are invalid by themselves are damage in any case.

use std::collections::HashSet;

use parking_lot::Mutex;

use super::array::{Array, BLOCK};
use super::graph::{ArrayKind, Edge, Ix, Lists};
use crate::{Error, Result};

/// Parts whose numbers passed the check, by array and part.
#[derive(Default)]
pub struct Checked(Mutex<HashSet<(usize, Ix)>>);

impl Checked {
    /// Like [`check`].
    pub fn check(&self, number: usize, array: &Array, ix: Ix) -> Result<()> {
        let checked = check(array, ix);
        if let Ok(()) | Err(Error::Unsupported { .. }) = &checked {
            self.0.lock().insert((number, ix));
        }
        checked
    }

    /// For a dataset derived from the numbers of a part: they are checked once for all such datasets, and the error is
    /// the part's. Works whatever the numbers refer to.
    pub fn follows(&self, number: usize, array: &Array, ix: Ix) -> Result<()> {
        if self.0.lock().contains(&(number, ix)) {
            return Ok(());
        }
        match self.check(number, array, ix) {
            Err(Error::Unsupported { .. }) => Ok(()),
            checked => checked,
        }
    }
}

/// The error names the item that does not fit. Does not check nested parts.
pub fn check(array: &Array, ix: Ix) -> Result<()> {
    let node = array.valid_node(ix)?;
    match &node.kind {
        ArrayKind::Jagged { lists, content } | ArrayKind::Strings { lists, content, .. } => {
            self::lists(array, ix, lists, *content)
        }
        ArrayKind::View { rows: super::graph::Rows::Numbers(rows), table } => {
            numbers(array, ix, *rows, *table, "row", None, true)
        }
        ArrayKind::IndexedMasked { mask, content, masked_when } => {
            numbers(array, ix, *mask, *content, "index", Some(*masked_when), false)
        }
        ArrayKind::Indexed { index, content } => numbers(array, ix, *index, *content, "index", None, false),
        ArrayKind::Union { tags, index, contents } => union(array, ix, *tags, *index, contents),
        ArrayKind::Sparse { index, length, .. } => in_order(array, ix, *index, *length),
        _ => Ok(()),
    }?;
    match node.unshown() {
        Some(problem) => Err(Error::Unsupported { place: array.place(ix), problem }),
        None => Ok(()),
    }
}

/// Unknown for a refused part: reported only after the numbers were checked.
fn len(array: &Array, edge: Edge) -> Result<u64> {
    array.valid_node(edge.to).map(|node| node.len)
}

fn lists(array: &Array, ix: Ix, lists: &Lists, content: Edge) -> Result<()> {
    let have = len(array, content);
    lists.edges().into_iter().try_for_each(|edge| array.look(edge))?;
    let (count, _) = array.lists(lists)?;
    for block in 0..count.div_ceil(BLOCK) {
        let bounds = array.bounds(ix, lists, block)?;
        let Ok(have) = have else { continue };
        for (number, (start, stop)) in (block * BLOCK..).zip(bounds) {
            if stop > have && stop > start {
                return Err(array
                    .damaged(ix, format!("list {number} ends at {stop}, but its content has {have} items")));
            }
        }
    }
    have.map(drop)
}

fn numbers(
    array: &Array,
    ix: Ix,
    of: Edge,
    content: Edge,
    what: &str,
    missing: Option<i64>,
    from_end: bool,
) -> Result<()> {
    let have = len(array, content);
    array.look(of)?;
    let end = have.as_ref().map_or(i128::from(i64::MAX) + 1, |have| i128::from(*have));
    let least = if from_end { -end } else { 0 };
    for block in 0..len(array, of)?.div_ceil(BLOCK) {
        for (number, at) in (block * BLOCK..).zip(array.ints(of.to, block * BLOCK, BLOCK)?) {
            if Some(at) != missing && !(least..end).contains(&i128::from(at)) {
                let there = have.as_ref().map_or(String::new(), |have| format!(", but there are {have}"));
                return Err(array.damaged(ix, format!("item {number} has the {what} {at}{there}")));
            }
        }
    }
    have.map(drop)
}

fn union(array: &Array, ix: Ix, tags: Edge, index: Option<Edge>, contents: &[Edge]) -> Result<()> {
    [Some(tags), index].into_iter().flatten().try_for_each(|edge| array.look(edge))?;
    let lens: Vec<Option<u64>> = contents.iter().map(|content| len(array, *content).ok()).collect();
    let mut refused = None;
    for block in 0..len(array, tags)?.div_ceil(BLOCK) {
        let members = array.members(ix, tags, index, contents.len(), block)?;
        for (number, (content, at)) in (block * BLOCK..).zip(members) {
            let have = lens.get(content).copied().flatten();
            if have.is_none() {
                refused = refused.or(contents.get(content));
            }
            if u64::try_from(at).map_or(true, |at| have.is_some_and(|have| at >= have)) {
                let has = have.map_or(String::new(), |have| format!(", which has {have}"));
                return Err(
                    array.damaged(ix, format!("item {number} is item {at} of content {content}{has}"))
                );
            }
        }
    }
    refused.map_or(Ok(()), |content| len(array, *content).map(drop))
}

/// Fails if the index of a sparse array decreases or leaves its `length`. Binary search depends on it, so it is
/// checked before the first lookup. The result is cached; I/O errors are retried.
pub fn in_order(array: &Array, ix: Ix, index: Edge, length: u64) -> Result<()> {
    let known = array.ordered.get(ix).ok_or(Error::NotFound)?;
    if let Some(known) = known.get() {
        return known.clone();
    }
    let found = sparse(array, ix, index, length);
    match found {
        Ok(()) | Err(Error::Damaged { .. } | Error::Unsupported { .. }) => {
            known.get_or_init(|| found).clone()
        }
        _ => found,
    }
}

/// Numbers may repeat, as in the reference: the first one counts.
fn sparse(array: &Array, ix: Ix, index: Edge, length: u64) -> Result<()> {
    array.look(index)?;
    let mut last = 0;
    for block in 0..len(array, index)?.div_ceil(BLOCK) {
        for (number, at) in (block * BLOCK..).zip(array.ints(index.to, block * BLOCK, BLOCK)?) {
            if at < last || u64::try_from(at).map_or(true, |at| at >= length) {
                let after = if number == 0 { String::new() } else { format!(", after {last}") };
                let problem = format!("number {number} of its index is {at}{after}; its length is {length}");
                return Err(array.damaged(ix, problem));
            }
            last = at;
        }
    }
    Ok(())
}
