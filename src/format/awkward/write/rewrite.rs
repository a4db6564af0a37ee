//! A container written anew as it is: the members that its arrays are made of, decoded by the ZIP file and no further. So
//! arrays of every class stay what they are, with what they share and what is not read here. Damage ends it.

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

/// Is told of the bytes that were written, and may end it.
pub type Step<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// Writes these arrays, or all members. Returns what users should know.
pub fn rewrite(
    store: &Store,
    arrays: &[&Arc<Array>],
    is_whole: bool,
    (path, file): (&Path, &File),
    step: Step<'_>,
) -> Result<Vec<String>> {
    let mut decoded = HashSet::new();
    for array in arrays {
        sound(array, &mut decoded, step)?;
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

/// Fails if something of an array is damaged; what is refused for what it is stays as it is.
/// What is not compressed in its member is compared with its CRC-32 when it is written; the rest is decoded once for all
/// that share it.
fn sound(array: &Array, decoded: &mut HashSet<Identity>, step: Step<'_>) -> Result<()> {
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

/// All members, of two of one name the one that is read; of names that lead out of a directory those that arrays are
/// made of, as no other is asked for.
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

/// The schemas of arrays, and what they read.
fn used(store: &Store, arrays: &[&Arc<Array>]) -> Result<BTreeSet<usize>> {
    let mut numbers = BTreeSet::new();
    for array in arrays {
        array.document.as_ref().map_err(|fault| fault.error(array.place(array.graph.root.to)))?;
        numbers.extend(of_array(store, array));
    }
    Ok(numbers)
}

/// The schema of an array, and what it reads as far as that is known.
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
