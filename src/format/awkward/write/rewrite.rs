//! Rewrites a container without conversion: the members of its arrays, decoded by the ZIP file only. Arrays of every
//! class survive, with their shared parts and whatever is unsupported here. Damage stops it.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Component, Path};
use std::sync::Arc;

use super::super::read::array::Array;
use super::super::read::graph::Flat;
use super::super::read::store::Store;
use super::super::read::{check, document};
use crate::error::Place;
use crate::format::Compression;
use crate::format::writer::zip::{Body, Members};
use crate::format::writer::{LEVEL, directory};
use crate::tree::Identity;
use crate::{Error, Result};

/// Called with the number of bytes written; its error stops the rewrite.
pub type Step<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// Writes these arrays, or all members. Returns notes for the user.
pub fn rewrite(
    store: &Store,
    arrays: &[&Arc<Array>],
    is_whole: bool,
    (path, file): (&Path, &File),
    step: Step<'_>,
) -> Result<Vec<String>> {
    let mut decoded = HashSet::new();
    for array in arrays {
        check_valid(array, &mut decoded, step)?;
    }
    let twice = |name: &str| format!("of two members {name:?} the last is written, as it is read");
    let mut notes = store.twice.iter().map(|name| twice(name)).collect();
    let numbers = if is_whole { every(store, arrays, &mut notes) } else { used(store, arrays)? };
    let mut members = Members::new(1);
    for number in numbers {
        add(store, number, &mut members, (path, file))?;
        step(store.size(number).stored)?;
    }
    members.finish(file).map_err(|cause| Error::write(Place::file(path), cause))?;
    Ok(notes)
}

/// Fails if anything in an array is damaged; unsupported parts are copied unchanged. Uncompressed members are checked
/// against their CRC-32 when written; compressed ones are decoded once for all arrays that share them.
fn check_valid(array: &Array, decoded: &mut HashSet<Identity>, step: Step<'_>) -> Result<()> {
    for (ix, node) in array.graph.nodes.iter().enumerate() {
        step(0)?;
        let mut is_known = |flat: &Flat| {
            flat.blob.codec.is_none() || array.identity(ix).is_some_and(|of| !decoded.insert(of))
        };
        let looked = match node.flat() {
            Some(flat) if node.fault.is_none() && is_known(flat) => Ok(()),
            Some(_) => array.content(ix)?.pass(&mut |_| ControlFlow::Continue(())),
            None => check::check(array, ix),
        };
        match looked {
            Err(Error::Unsupported { .. }) => {}
            looked => looked?,
        }
    }
    Ok(())
}

/// All members: of equal names, the one that is read; of names that lead out of the directory, only those that arrays
/// use.
fn every(store: &Store, arrays: &[&Arc<Array>], notes: &mut Vec<String>) -> BTreeSet<usize> {
    let used: BTreeSet<usize> = arrays.iter().flat_map(|array| of_array(store, array)).collect();
    let is_inside = |name: &str| {
        let is_part = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        !name.contains('\\') && Path::new(name).components().all(is_part)
    };
    let mut numbers = BTreeSet::new();
    for (name, number) in store.names().filter_map(|name| Some((name, store.find(name)?))) {
        if used.contains(&number) || is_inside(name) {
            numbers.insert(number);
        } else {
            notes.push(format!(
                "the member {name:?} is not copied: no array reads it, and its path leads elsewhere"
            ));
        }
    }
    numbers
}

/// The schemas of arrays, and the members they refer to.
fn used(store: &Store, arrays: &[&Arc<Array>]) -> Result<BTreeSet<usize>> {
    let mut numbers = BTreeSet::new();
    for array in arrays {
        array.document.as_ref().map_err(|fault| fault.error(array.place(array.graph.root.to)))?;
        numbers.extend(of_array(store, array));
    }
    Ok(numbers)
}

/// The schema of an array, and the members it refers to, as far as known.
fn of_array(store: &Store, array: &Array) -> Vec<usize> {
    let reads = array.document.as_ref().map(document::reads).unwrap_or_default();
    let names = reads.into_iter().chain([array.schema()]);
    names.filter_map(|name| store.find(&name)).collect()
}

fn add(store: &Store, number: usize, members: &mut Members, (path, file): (&Path, &File)) -> Result<()> {
    let name = store.names().nth(number).unwrap_or_default();
    let record = store.stored(number)?.map(|(_, record)| record);
    let is_compressed = record.is_some_and(|record| record.compression().is_some());
    let compression = if is_compressed { Compression::Zlib(LEVEL) } else { Compression::None };
    let mut data = store.content(number)?.reader()?;
    let body = Body { head: Vec::new(), data: &mut data, compression };
    let written = members.write(file, directory(path), name, body).map_err(|cause| {
        Error::inside(&cause).cloned().unwrap_or_else(|| Error::write(Place::file(path).dataset(name), cause))
    })?;
    if let Some(record) = record.filter(|record| record.crc != written.crc) {
        let problem = format!("its CRC-32 is {:08x}, but {:08x} is recorded", written.crc, record.crc);
        return Err(Error::damaged(store.place(name, name), problem));
    }
    members.keep(written);
    Ok(())
}
