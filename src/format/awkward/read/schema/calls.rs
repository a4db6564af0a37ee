//! The table of known calls, and what each makes of its arguments. An unknown name is refused; a wrong number of
//! arguments is an error.

use super::super::graph::{ArrayKind, Column, Flat, Lists, Scalar};
use super::super::pickle;
use super::{Parsed, Reader, unsupported, what_of, wrong};
use crate::codec::zip::Fault;
use crate::format::awkward::json::Json;

impl<'j> Reader<'j> {
    /// Interprets a call.
    pub(super) fn call(&mut self, json: &'j Json, spec: &Json, depth: usize) -> Parsed<ArrayKind> {
        let names = names(spec)?;
        let arguments = arguments(json)?;
        let is_virtual = matches!(names.as_slice(), ["awkward0" | "awkward", "VirtualArray"]);
        if !is_virtual
            && json.get("kwargs").is_some_and(|kwargs| kwargs.as_map().is_none_or(|map| !map.is_empty()))
        {
            return wrong(format!("{} has keyword arguments, which it does not take", what_of(json)));
        }
        if let Some(short) = short_module(&names) {
            return self.own(&short, arguments, json, depth);
        }
        match names.as_slice() {
            ["numpy", "frombuffer"] => self.own(&names, arguments, json, depth),
            [module, ..] if is_methods(module) => self.record(&names, arguments, depth),
            ["uproot.tree", "_LazyFiles" | "_LazyTree" | "_LazyBranch", ..] => {
                unsupported(format!("{} reads other files (ROOT), which is not done", what_of(json)))
            }
            _ => unsupported(format!("{} is an unknown call, which is not made", what_of(json))),
        }
    }

    /// Calls of Awkward Array itself, without the module name.
    fn own(
        &mut self,
        names: &[&str],
        arguments: &'j [Json],
        json: &'j Json,
        depth: usize,
    ) -> Parsed<ArrayKind> {
        Ok(match (names, arguments) {
            (["numpy" | "util", "frombuffer"], [bytes, of, count]) => {
                let (blob, of) = (self.bytes(bytes)?, self.dtype(of)?);
                let count = match self.int(count, "length")? {
                    -1 => None,
                    count => Some(u64::try_from(count).map_err(|_| Fault::from("its length is negative"))?),
                };
                ArrayKind::Flat(Flat { blob, of, count })
            }
            (["JaggedArray", "fromcounts"], [counts, content]) => {
                let lists = self.lists(counts, None, depth)?;
                ArrayKind::Jagged { lists, content: self.array(content, depth + 1)? }
            }
            (["JaggedArray", "fromoffsets"], [offsets, content]) => {
                let lists = Lists::Offsets(self.array(offsets, depth + 1)?);
                ArrayKind::Jagged { lists, content: self.array(content, depth + 1)? }
            }
            (["JaggedArray"], [starts, stops, content]) => {
                let lists = self.lists(starts, Some(stops), depth)?;
                ArrayKind::Jagged { lists, content: self.array(content, depth + 1)? }
            }
            (["Table", "frompairs"], [pairs] | [pairs, _]) => {
                ArrayKind::Table { columns: self.columns(pairs, depth)? }
            }
            (["Table", "fromview"], [view, table]) => {
                let rows = self.rows(view, depth)?;
                ArrayKind::View { rows, table: self.array(table, depth + 1)? }
            }
            (["StringArray", "fromcounts"], [counts, content, encoding]) => {
                let encoding = self.encoding(encoding)?;
                let lists = self.lists(counts, None, depth)?;
                ArrayKind::Strings { lists, content: self.array(content, depth + 1)?, encoding }
            }
            (["StringArray"], [starts, stops, content, encoding]) => {
                let encoding = self.encoding(encoding)?;
                let lists = self.lists(starts, Some(stops), depth)?;
                ArrayKind::Strings { lists, content: self.array(content, depth + 1)?, encoding }
            }
            (["MaskedArray"], [mask, content, when]) => {
                let masked_when = self.bool(when, "maskedwhen")?;
                let mask = self.array(mask, depth + 1)?;
                ArrayKind::Masked { mask, content: self.array(content, depth + 1)?, masked_when }
            }
            (["BitMaskedArray"], [mask, content, when, lsb]) => {
                let (masked_when, is_lsb) = (self.bool(when, "maskedwhen")?, self.bool(lsb, "lsborder")?);
                let mask = self.array(mask, depth + 1)?;
                ArrayKind::BitMasked { mask, content: self.array(content, depth + 1)?, masked_when, is_lsb }
            }
            (["IndexedMaskedArray"], [mask, content, when]) => {
                let masked_when = self.int(when, "maskedwhen")?;
                let mask = self.array(mask, depth + 1)?;
                ArrayKind::IndexedMasked { mask, content: self.array(content, depth + 1)?, masked_when }
            }
            (["UnionArray", "fromtags"], [tags, contents]) => {
                let tags = self.array(tags, depth + 1)?;
                let contents = self.list(contents, "list")?;
                ArrayKind::Union { tags, index: None, contents: self.arrays(contents, depth)? }
            }
            (["UnionArray"], [tags, index, contents]) => {
                let (tags, index) = (self.array(tags, depth + 1)?, Some(self.array(index, depth + 1)?));
                let contents = self.list(contents, "list")?;
                ArrayKind::Union { tags, index, contents: self.arrays(contents, depth)? }
            }
            (["ChunkedArray"], [chunks, sizes]) => self.chunked(chunks, sizes, depth)?,
            (["AppendableArray"], [_, of, chunks]) => {
                self.dtype(of)?;
                let chunks = self.list(chunks, "list")?;
                let chunks = self.arrays(chunks, depth)?.into_iter().map(|chunk| (chunk, None)).collect();
                ArrayKind::Chunked { chunks, is_appendable: true }
            }
            (["IndexedArray"], [index, content]) => {
                let index = self.array(index, depth + 1)?;
                ArrayKind::Indexed { index, content: self.array(content, depth + 1)? }
            }
            (["SparseArray"], [length, index, content, default]) => {
                let length = self.len(length, "length")?;
                let default = self.default(default)?;
                let index = self.array(index, depth + 1)?;
                ArrayKind::Sparse { length, index, content: self.array(content, depth + 1)?, default }
            }
            (["ObjectArray"], [content, generator, _, _]) => {
                let generator =
                    self.value(generator)?.get("function").ok_or("its generator is not a function")?;
                let names = generator.as_list().unwrap_or_default().iter().filter_map(Json::as_str);
                let generator = names.collect::<Vec<_>>().join(".").into();
                ArrayKind::Object { content: self.array(content, depth + 1)?, generator }
            }
            (["VirtualArray"], _) => return unsupported("its values are made by code, which is not run"),
            (["persist", ..], _) => {
                return unsupported(format!("{} would run code, and is not called", what_of(json)));
            }
            (["arrow", "_ParquetFile", ..], _) => {
                return unsupported("its values are in another file (Parquet), which is not supported");
            }
            (known, _) if is_known(known) => {
                return wrong(format!(
                    "{} has {} arguments, which is the wrong number",
                    what_of(json),
                    arguments.len()
                ));
            }
            _ => {
                return unsupported(format!("{} is an unknown call, which is not made", what_of(json)));
            }
        })
    }

    fn chunked(&mut self, chunks: &'j Json, sizes: &'j Json, depth: usize) -> Parsed<ArrayKind> {
        let chunks = self.list(chunks, "list")?;
        let sizes = self.json(sizes)?.as_list().ok_or("its sizes are not a list")?;
        if sizes.len() != chunks.len() {
            return wrong(format!("it has {} chunks and {} sizes", chunks.len(), sizes.len()));
        }
        let size = |size: &Json| {
            size.as_int()
                .and_then(|size| u64::try_from(size).ok())
                .ok_or("a size is not a whole number from 0 on")
        };
        let sizes = sizes.iter().map(size).collect::<Result<Vec<_>, _>>()?;
        let chunks = self.arrays(chunks, depth)?.into_iter().zip(sizes.into_iter().map(Some)).collect();
        Ok(ArrayKind::Chunked { chunks, is_appendable: false })
    }

    fn default(&self, json: &'j Json) -> Parsed<Scalar> {
        let found = self.value(json)?;
        if let Some(python) = found.get("python") {
            let float = python.as_str().and_then(pickle::float);
            return float.map(Scalar::Float).ok_or_else(|| {
                Fault::unsupported(
                    "its default is a Python pickle of more than a float, which is not supported",
                )
            });
        }
        self.json(json).cloned().map(Scalar::Json)
    }

    /// An array of a uproot-methods class: the columns it was made from.
    fn record(&mut self, names: &[&str], arguments: &'j [Json], depth: usize) -> Parsed<ArrayKind> {
        let Some((_, [class, rest @ ..])) = names.split_first() else {
            return wrong("a class is needed here");
        };
        let columns = methods_columns(class, rest);
        let mut found = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            let column = columns
                .filter(|columns| columns.len() == arguments.len())
                .and_then(|columns| columns.get(at));
            let column = column.map_or_else(|| at.to_string(), |name| (*name).to_owned());
            let edge = self.array(argument, depth + 1)?;
            found.push(Column { name: column.into(), edge, is_hidden: false });
        }
        Ok(ArrayKind::Record { class: [&[*class], rest].concat().join(".").into(), columns: found })
    }
}

/// The path of a called function: a module, then attributes.
pub(super) fn names(spec: &Json) -> Parsed<Vec<&str>> {
    let names = spec.as_list().map(|names| names.iter().map(Json::as_str).collect::<Option<Vec<_>>>());
    match names.flatten() {
        Some(names) if names.len() >= 2 => Ok(names),
        Some(names) => {
            wrong(format!("a call names {} things, a module and a function are needed", names.len()))
        }
        None => wrong("what a call names is not a list of strings"),
    }
}

pub(super) fn arguments(json: &Json) -> Parsed<&[Json]> {
    match json.get("args") {
        None => Ok(&[]),
        Some(arguments) => arguments.as_list().ok_or_else(|| "the arguments of a call are not a list".into()),
    }
}

/// Names in the modules of Awkward Array: `awkward0.util` is `awkward0`'s `util`.
fn short_module<'n>(names: &[&'n str]) -> Option<Vec<&'n str>> {
    let (module, rest) = names.split_first()?;
    let below = match module.split_once('.') {
        Some(("awkward0" | "awkward", below)) => Some(below),
        None if matches!(*module, "awkward0" | "awkward") => None,
        _ => return None,
    };
    Some(below.into_iter().chain(rest.iter().copied()).collect())
}

/// For known functions a wrong number of arguments means that the file is invalid.
fn is_known(names: &[&str]) -> bool {
    matches!(
        names,
        ["numpy" | "util", "frombuffer"]
            | ["JaggedArray", "fromcounts" | "fromoffsets"]
            | ["Table", "frompairs" | "fromview"]
            | ["StringArray", "fromcounts"]
            | ["UnionArray", "fromtags"]
            | ["JaggedArray"
                | "StringArray"
                | "MaskedArray"
                | "BitMaskedArray"
                | "IndexedMaskedArray"
                | "UnionArray"]
            | ["ChunkedArray" | "AppendableArray" | "IndexedArray" | "SparseArray" | "ObjectArray"]
    )
}

/// Modules with classes that add methods to numeric arrays.
fn is_methods(module: &str) -> bool {
    let mut parts = module.split('.');
    matches!(parts.next(), Some("uproot3_methods" | "uproot_methods"))
        && matches!(parts.next(), Some("classes" | "profiles"))
}

/// Names of the arguments of known classes.
fn methods_columns(class: &str, rest: &[&str]) -> Option<&'static [&'static str]> {
    let class = class.strip_suffix("Array").unwrap_or(class);
    Some(match (class, rest) {
        ("TLorentzVector", []) => &["x", "y", "z", "t"],
        ("TLorentzVector", ["from_ptetaphim"]) => &["pt", "eta", "phi", "mass"],
        ("TLorentzVector", ["from_ptetaphi" | "from_ptetaphie"]) => &["pt", "eta", "phi", "energy"],
        ("TLorentzVector", ["from_xyzm"]) => &["x", "y", "z", "mass"],
        ("TLorentzVector", ["from_p3"]) => &["p3", "t"],
        ("TVector2", []) => &["x", "y"],
        ("TVector2", ["from_polar"]) => &["rho", "phi"],
        ("TVector3", []) => &["x", "y", "z"],
        ("TVector3", ["from_spherical"]) => &["r", "theta", "phi"],
        ("TVector3", ["from_cylindrical"]) => &["rho", "phi", "z"],
        _ => return None,
    })
}
