//! Do the numbers of a part fit its other parts? All of them are looked at, in bounded memory.

use super::array::{Array, BLOCK};
use super::graph::{Edge, Ix, Kind, Lists};
use crate::Result;

/// The error says which item does not fit. Parts of it are not looked at for themselves.
pub fn check(array: &Array, ix: Ix) -> Result<()> {
    let node = array.sound(ix)?;
    match &node.kind {
        Kind::Jagged { lists, content } | Kind::Strings { lists, content, .. } => {
            self::lists(array, ix, lists, *content)
        }
        Kind::View { rows: super::graph::Rows::Numbers(rows), table } => {
            numbers(array, ix, *rows, *table, "row", None, true)
        }
        Kind::IndexedMasked { mask, content, masked_when } => {
            numbers(array, ix, *mask, *content, "index", Some(*masked_when), false)
        }
        Kind::Indexed { index, content } => numbers(array, ix, *index, *content, "index", None, true),
        Kind::Union { tags, index, contents } => union(array, ix, *tags, *index, contents),
        Kind::Sparse { index, length, .. } => sparse(array, ix, *index, *length),
        Kind::Object { .. } => {
            let problem = "its items are made by code, which is not run; what they are made from is readable";
            Err(crate::Error::Unsupported { place: array.place(ix), problem: problem.into() })
        }
        _ => Ok(()),
    }
}

/// Of what is refused it is not known.
fn len(array: &Array, edge: Edge) -> Result<u64> {
    array.sound(edge.to).map(|node| node.len)
}

fn lists(array: &Array, ix: Ix, lists: &Lists, content: Edge) -> Result<()> {
    let have = len(array, content)?;
    lists.edges().into_iter().try_for_each(|edge| array.look(edge))?;
    let (count, _) = array.lists(lists)?;
    for block in 0..count.div_ceil(BLOCK) {
        for (number, (start, stop)) in (block * BLOCK..).zip(array.bounds(ix, lists, block)?) {
            if stop > have && stop > start {
                return Err(
                    array.damaged(ix, format!("list {number} ends at {stop}, its content has {have} items"))
                );
            }
        }
    }
    Ok(())
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
    let have = len(array, content)?;
    array.look(of)?;
    let least = if from_end { -i128::from(have) } else { 0 };
    for block in 0..len(array, of)?.div_ceil(BLOCK) {
        for (number, at) in (block * BLOCK..).zip(array.ints(of.to, block * BLOCK, BLOCK)?) {
            if Some(at) != missing && !(least..i128::from(have)).contains(&i128::from(at)) {
                return Err(array.damaged(ix, format!("item {number} has the {what} {at}, there are {have}")));
            }
        }
    }
    Ok(())
}

fn union(array: &Array, ix: Ix, tags: Edge, index: Option<Edge>, contents: &[Edge]) -> Result<()> {
    [Some(tags), index].into_iter().flatten().try_for_each(|edge| array.look(edge))?;
    for block in 0..len(array, tags)?.div_ceil(BLOCK) {
        let members = array.members(ix, tags, index, contents.len(), block)?;
        for (number, (content, at)) in (block * BLOCK..).zip(members) {
            let have = contents.get(content).map_or(Ok(0), |content| len(array, *content))?;
            if u64::try_from(at).map_or(true, |at| at >= have) {
                let problem = format!("item {number} is item {at} of content {content}, which has {have}");
                return Err(array.damaged(ix, problem));
            }
        }
    }
    Ok(())
}

fn sparse(array: &Array, ix: Ix, index: Edge, length: u64) -> Result<()> {
    array.look(index)?;
    let mut last = -1;
    for block in 0..len(array, index)?.div_ceil(BLOCK) {
        for (number, at) in (block * BLOCK..).zip(array.ints(index.to, block * BLOCK, BLOCK)?) {
            if at <= last || u64::try_from(at).map_or(true, |at| at >= length) {
                let problem =
                    format!("number {number} of its index is {at}, after {last}; its length is {length}");
                return Err(array.damaged(ix, problem));
            }
            last = at;
        }
    }
    Ok(())
}
