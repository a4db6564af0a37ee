//! `rab get`: an array or a part of it, as text like numpy's, as a .npy file, or as its bare elements. Only what
//! is asked for is read; of a large array that is printed, only the edges.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::output::{Done, Output};
use super::{items, numbers, opaque, print, select};
use crate::array::{self, Order, Slab, npy};
use crate::cli::complete::dataset_names;
use crate::cli::reading::Opening;
use crate::{AnyArray, Archive, Dataset, Error, Result};

/// More elements are not printed one by one.
const MANY: u64 = 1000;

/// Print an array or a part of it
///
/// The part is given as in numpy: 'NAME[3, 10:20, ::-2]', with numbers from the end, steps, and ... for the
/// axes in between. Quote it for the shell. Of samples (Onda's) a channel can be named and times be given, in any order:
/// 'NAME[c3, 10s:12.5s]'; units are ns, us, ms, s, min and h.
#[derive(Args)]
pub struct Get {
    /// The container
    file: PathBuf,

    /// A dataset's name, maybe followed by an index in brackets
    #[arg(value_name = "NAME[INDEX]", add = dataset_names())]
    what: OsString,

    /// What to print: text, a .npy file, or the bare elements in C order and the dataset's byte order
    #[arg(long = "as", value_enum, value_name = "KIND", default_value = "text")]
    kind: As,

    /// JSON: numbers in lists inside each other, and of arrays of lists or rows what these are (one axis of an index)
    ///
    /// What JSON has no form for is an object with one key: __float__ (nan, inf, -inf), __complex__ (real and
    /// imaginary part), __bytes_hex__, __tuple__ (a structure).
    #[arg(long, conflicts_with = "kind")]
    json: bool,

    /// Values in their unit, as float64: resolution and offset are applied (Onda's signals)
    ///
    /// Where they change nothing, values stay as they are stored.
    #[arg(long)]
    decoded: bool,

    #[command(flatten)]
    opening: Opening,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum As {
    Text,
    Npy,
    Raw,
}

impl Get {
    pub fn run(&self, out: &mut Output) -> Done {
        let archive = self.opening.open(&self.file)?;
        let (name, index) = self.split(&archive);
        let numbers = select::select(&archive, &name)?;
        let [number] = *numbers.as_slice() else {
            return Err(
                Error::Usage(format!("{name:?} matches {} datasets, one was needed", numbers.len())).into()
            );
        };
        let dataset = archive.dataset_at(number)?;
        let dataset = if self.decoded { dataset.decoded()? } else { dataset };
        if let (true, Some(found)) = (dataset.description().array.is_none(), dataset.items())
            && self.kind == As::Text
        {
            return items::print(&*found, &index, out);
        }
        let slab = dataset.slab(&index)?;
        match self.kind {
            As::Text if self.json => items::array(&dataset.part(&slab)?, out)?,
            As::Text => writeln!(out, "{}", text(&dataset, &slab)?)?,
            As::Npy => file(&dataset, &slab, true, out)?,
            As::Raw => file(&dataset, &slab, false, out)?,
        }
        Ok(())
    }

    /// Name and index. A dataset whose own name ends in brackets is meant by that name.
    fn split(&self, archive: &Archive) -> (OsString, String) {
        let bytes = self.what.as_bytes();
        match array::indexed(bytes) {
            Some((name, index)) if !archive.has(bytes) => {
                (OsStr::from_bytes(name).to_owned(), index.to_owned())
            }
            _ => (self.what.clone(), "...".to_owned()),
        }
    }
}

fn file(dataset: &Dataset<'_>, slab: &Slab, with_header: bool, out: &mut Output) -> Done {
    let described = dataset.array_description()?;
    let array = dataset.part(slab)?;
    if with_header {
        out.write_all(&npy::header(&described.descr(), Order::C, array.shape()))?;
    }
    Ok(array.write(described.dtype.endian, out)?)
}

fn text(dataset: &Dataset<'_>, slab: &Slab) -> Result<String> {
    let sizes = slab.shape();
    let cut: Vec<bool> =
        sizes.iter().map(|size| slab.len() > MANY && *size > 2 * print::EDGE as u64).collect();
    let array = edges(dataset, slab, &cut, 0)?;
    Ok(print::layout(&texts(&array, sizes.is_empty()), array.shape(), &cut))
}

/// Every element; one `by_itself` has as many digits as it needs.
fn texts(array: &AnyArray, by_itself: bool) -> Vec<String> {
    if let AnyArray::Opaque(opaque) = array {
        return opaque.items().map(|item| opaque::text(item, opaque.record())).collect();
    }
    match array.scalars().as_slice() {
        [cell] if by_itself => vec![numbers::alone(*cell)],
        cells => numbers::aligned(cells),
    }
}

/// The part without what is cut out of its axes from `axis` on.
fn edges(dataset: &Dataset<'_>, slab: &Slab, cut: &[bool], axis: usize) -> Result<AnyArray> {
    match cut.iter().skip(axis).position(|is_cut| *is_cut) {
        None => dataset.part(slab),
        Some(further) => {
            let axis = axis + further;
            let (first, last) = slab.edges(axis, print::EDGE as u64);
            AnyArray::join(
                axis,
                &edges(dataset, &first, cut, axis + 1)?,
                &edges(dataset, &last, cut, axis + 1)?,
            )
        }
    }
}
