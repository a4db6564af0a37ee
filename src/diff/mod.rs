//! Compares two containers of any formats: names, types, shapes, metadata and values.
//!
//! Values are compared by meaning. Byte order, C or F order, compression, the text of an object, the width of a
//! dataframe's columns and the order of the datasets make no difference; NaN equals NaN, NaT equals NaT, and -0.0
//! equals 0.0. Only objects are ever held in memory as a whole.

mod array;
mod bytes;
mod items;
mod node;
mod table;
mod tally;

use std::borrow::Cow;
use std::cell;
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::archive::{Archive, Dataset, Meter};
use crate::array::{Meaning, Scalar};
use crate::yaml::Node;
use crate::{Error, Result, format};
use array::Elements;

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Relative tolerance: numbers a and b are equal if |a - b| <= atol + rtol * |b|.
    pub rtol: f64,
    /// Absolute tolerance, for dates and time spans in their unit.
    pub atol: f64,
    /// Also compare metadata.
    pub meta: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    First,
    Second,
}

/// A difference, or a dataset that cannot be compared.
#[derive(Debug)]
pub enum Finding {
    Only(Side, String),
    Different(String, Difference),
    /// A dataset in both containers that could not be compared.
    Failed(String, Error),
}

/// How two datasets with the same name differ. Pairs of values belong to the first and the second container.
#[derive(Debug, PartialEq)]
pub enum Difference {
    Type(String, String),
    Shape(Vec<u64>, Vec<u64>),
    /// At this key of the metadata; None where it is missing.
    Metadata(String, Option<Arc<Node>>, Option<Arc<Node>>),
    /// At this key of an object.
    Object(String, Option<Arc<Node>>, Option<Arc<Node>>),
    Values(Values),
    /// At this byte.
    Byte(u64, u8, u8),
    Length(u64, u64),
    /// In the column with this name of a dataframe.
    Column(String, ColumnDifference),
}

#[derive(Debug, PartialEq)]
pub enum ColumnDifference {
    Only(Side),
    Type(String, String),
    Values(Values),
}

/// A summary of the elements that differ.
#[derive(Debug, PartialEq)]
pub struct Values {
    pub differing: u64,
    pub compared: u64,
    /// The position of the first one; first in F order if that is the order in both containers.
    pub first: Vec<u64>,
    pub cells: (DiffCell, DiffCell),
    /// The largest absolute difference of numbers; exact for integers.
    pub largest: Option<Scalar>,
    /// The unit of `largest` for dates and time spans; otherwise empty.
    pub unit: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DiffCell {
    Number(Scalar),
    /// A date, a time span, or `NaT`.
    Time(String),
    Text(String),
    /// The bytes of a non-numeric element, and their meaning if known.
    Item(Vec<u8>, Option<Arc<Meaning>>),
}

/// Two containers, and the datasets to compare.
pub struct Pair<'a> {
    pub archives: [&'a Archive; 2],
    /// The numbers of the datasets.
    pub chosen: [Vec<usize>; 2],
}

/// Receives a finding, and decides whether to continue.
pub type Each<'a> = &'a mut dyn FnMut(Finding) -> ControlFlow<()>;

/// Progress callbacks, in stored bytes of both containers.
pub struct Watch<'a> {
    /// This many more bytes have been read.
    pub passed: &'a dyn Fn(u64),
    /// This many bytes will not be read.
    pub skipped: &'a dyn Fn(u64),
}

/// Reports every difference to `each`, and progress to `watch`; bytes passed and skipped add up to the stored length of
/// all selected datasets.
pub fn diff(pair: &Pair<'_>, options: Options, watch: &Watch<'_>, each: Each<'_>) -> ControlFlow<()> {
    let [first, second] = pair.archives;
    let [chosen, others] = &pair.chosen;
    let mut left: HashMap<Cow<'_, [u8]>, VecDeque<usize>> = HashMap::new();
    let stems = named_after_files(pair.archives);
    let name_in_first = |number: &usize| without(stems.map(|[stem, _]| stem), first.name_elsewhere(*number));
    let name_in_second =
        |number: &usize| without(stems.map(|[_, stem]| stem), second.name_elsewhere(*number));
    others.iter().for_each(|number| left.entry(name_in_second(number)).or_default().push_back(*number));
    for number in chosen {
        let name = || first.name(*number).into_owned();
        let Some(other) = left.get_mut(&name_in_first(number)).and_then(VecDeque::pop_front) else {
            (watch.skipped)(first.stored_len_of(*number));
            each(Finding::Only(Side::First, name()))?;
            continue;
        };
        let datasets = first.dataset_at(*number).and_then(|a| Ok([a, second.dataset_at(other)?]));
        let read = cell::Cell::new(0u64);
        let passed = &|bytes| {
            read.set(read.get().saturating_add(bytes));
            (watch.passed)(bytes);
        };
        let compared = datasets.and_then(|[a, b]| {
            let mut emit = |difference| each(Finding::Different(name(), difference));
            Both { a: &a, b: &b, options, passed }.compare(&mut emit)
        });
        let both = first.stored_len_of(*number).saturating_add(second.stored_len_of(other));
        (watch.skipped)(both.saturating_sub(read.get()));
        match compared {
            Ok(flow) => flow?,
            Err(error) => each(Finding::Failed(name(), error))?,
        }
    }
    let is_left =
        |number: &&usize| left.get(&name_in_second(number)).is_some_and(|kept| kept.contains(number));
    for number in others.iter().filter(is_left) {
        (watch.skipped)(second.stored_len_of(*number));
        each(Finding::Only(Side::Second, second.name(*number).into_owned()))?;
    }
    ControlFlow::Continue(())
}

/// The stems of both files, if both formats name datasets after their file (`.npy`, `.ra`).
fn named_after_files(archives: [&Archive; 2]) -> Option<[&[u8]; 2]> {
    let is_named = |archive: &&Archive| {
        format::named(archive.format()).is_ok_and(|format| format.marks().named_after_file)
    };
    let all = archives.iter().all(is_named);
    all.then(|| archives.map(|archive| archive.path().file_stem().unwrap_or_default().as_encoded_bytes()))
}

/// A name without the stem of its file, if it begins with that.
fn without<'n>(stem: Option<&[u8]>, name: Cow<'n, [u8]>) -> Cow<'n, [u8]> {
    match stem.and_then(|stem| name.strip_prefix(stem)) {
        Some(rest) => rest.to_owned().into(),
        None => name,
    }
}

/// Two datasets with the same name.
struct Both<'a> {
    a: &'a Dataset<'a>,
    b: &'a Dataset<'a>,
    options: Options,
    passed: &'a dyn Fn(u64),
}

type Emit<'a> = &'a mut dyn FnMut(Difference) -> ControlFlow<()>;
/// An error concerns a dataset.
type Flow = Result<ControlFlow<()>>;

impl Both<'_> {
    fn compare(&self, emit: Emit<'_>) -> Flow {
        if self.options.meta && self.metadata(emit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let (a, b) = (self.a.description(), self.b.description());
        match (&a.array, &b.array, &a.table, &b.table) {
            (Some(x), Some(y), ..) if x.record.is_some() && y.record.is_some() => self.of_items(x, y, emit),
            (Some(x), Some(y), ..) if x.dtype.element == y.dtype.element => {
                self.arrays(x, y, Elements::Numbers(None), emit)
            }
            (None, None, Some(x), Some(y)) => self.tables(x, y, emit),
            (None, None, None, None) if a.kind == b.kind && a.kind == "object" => self.objects(emit),
            (None, None, None, None) if a.kind == b.kind => self.bytes(emit),
            _ => Ok(emit(Difference::Type(a.kind.clone(), b.kind.clone()))),
        }
    }

    /// No metadata and an empty mapping are the same.
    fn metadata(&self, emit: Emit<'_>) -> Flow {
        let [a, b] = [self.a, self.b].map(|dataset| {
            let is_empty = dataset.metadata().as_map().is_some_and(<[_]>::is_empty);
            if is_empty { Arc::new(Node::Null) } else { dataset.metadata().clone() }
        });
        node::compare(&a, &b, &mut |key, a, b| emit(Difference::Metadata(key, a, b)))
            .ok_or_else(|| self.too_large("metadata"))
    }

    fn objects(&self, emit: Emit<'_>) -> Flow {
        let mut first = None;
        let flow = self.bytes(&mut |difference| {
            first = Some(difference);
            ControlFlow::Break(())
        })?;
        let Some(first) = first.filter(|_| flow.is_break()) else { return Ok(ControlFlow::Continue(())) };
        if self.a.decoded_len()?.max(self.b.decoded_len()?) > node::MAX_LEN {
            return Ok(emit(first));
        }
        let (a, b) = (self.a.object()?, self.b.object()?);
        node::compare(&a, &b, &mut |key, a, b| emit(Difference::Object(key, a, b)))
            .ok_or_else(|| self.too_large("object"))
    }

    fn too_large(&self, what: &str) -> Error {
        let name = self.a.description().printed_name();
        Error::Other(format!(
            "dataset {name:?}: its {what} is too large to compare once its aliases are written out"
        ))
    }

    fn meters(&self) -> [Meter<'_>; 2] {
        [self.a, self.b].map(|dataset| Meter::new(dataset.stored_len(), dataset.known_len(), self.passed))
    }
}
