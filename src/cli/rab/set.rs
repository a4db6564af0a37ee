//! `rab set`: changes the metadata of datasets, as a whole or key by key.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::Done;
use super::select;
use super::typed::{kind, stored};
use crate::cli::complete::{editable_dataset_names, metadata_keys};
use crate::error::Place;
use crate::tree::naming;
use crate::{Archive, Editor, Error, Result, Value, yaml};

const HELP: &str = "\
Applied in this order: --meta, --unset, --key, --key-str. In KEY, a.b is the key b of the mapping a, unless a \
key has that whole name. The file is replaced in one step: all datasets that match are changed, or none.

Examples:
  rab set run7.rab 'sub01/*' --key unit=mV
  rab set run7.rab data --unset draft --key-str start=12:30:00";

/// Change the metadata of datasets of a RAB file
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Set {
    /// The RAB file
    file: PathBuf,

    /// A dataset's name, or a glob
    #[arg(add = editable_dataset_names())]
    name: OsString,

    /// Replace all metadata by the mapping in this YAML or JSON file (- is standard input)
    #[arg(long, value_name = "FILE")]
    meta: Option<PathBuf>,

    /// Set a key to a value, read as YAML 1.1: rate=30000 is a number, note=yes a boolean (may be given again)
    #[arg(long = "key", value_name = "KEY=VALUE", value_parser = assignment, add = metadata_keys())]
    keys: Vec<Assignment>,

    /// Set a key to a text, as it is typed: t=12:30:00 (may be given again)
    #[arg(long, value_name = "KEY=TEXT", value_parser = text_assignment, add = metadata_keys())]
    key_str: Vec<Assignment>,

    /// Remove a key (may be given again)
    #[arg(long, value_name = "KEY", add = metadata_keys())]
    unset: Vec<String>,
}

/// A key with its value, and the value as it was typed.
#[derive(Clone)]
struct Assignment {
    key: String,
    value: Value,
    typed: String,
}

type Pairs = Vec<(Value, Value)>;

impl Set {
    pub fn run(&self) -> Done {
        if self.meta.is_none() && self.keys.is_empty() && self.key_str.is_empty() && self.unset.is_empty() {
            let problem =
                "nothing to change: give --key KEY=VALUE, --key-str KEY=TEXT, --unset KEY or --meta FILE";
            return Err(Error::Usage(problem.into()).into());
        }
        self.check_keys_once()?;
        let whole = self.meta.as_deref().map(mapping).transpose()?;
        let mut editor = Editor::open(&self.file)?;
        let archive = Archive::open(&self.file)?;
        let (mut unset, mut notes) = (vec![false; self.unset.len()], BTreeSet::new());
        for number in select::select(&archive, &self.name)? {
            let name = archive.raw_name(number);
            let metadata = match &whole {
                Some(whole) => whole.clone(),
                None => editor.metadata(&name)?,
            };
            let changed = self.changed(metadata, &mut unset, &mut notes).map_err(|problem| {
                let place = Place::file(&self.file).dataset(&naming::printed(&name));
                Error::Usage(format!("{place}: {problem}"))
            })?;
            editor.set_metadata(&name, changed)?;
        }
        if let Some((key, _)) = self.unset.iter().zip(unset).find(|(_, found)| !found) {
            let shown = self.file.display();
            return Err(Error::Usage(format!("{shown}: no dataset here has the key {key:?}")).into());
        }
        editor.finish()?;
        notes.iter().for_each(|note| super::note(note));
        for Assignment { key, value, typed } in self.assignments() {
            super::note(&format!("{}: {}", key.escape_debug(), stored(value, typed)));
        }
        Ok(())
    }

    /// Fails if a key is given twice, since one of the values would be lost.
    fn check_keys_once(&self) -> Result<()> {
        let mut keys = HashSet::new();
        match self.assignments().find(|assignment| !keys.insert(&assignment.key)) {
            Some(Assignment { key, .. }) => Err(Error::Usage(format!("the key {key:?} is given twice"))),
            None => Ok(()),
        }
    }

    fn assignments(&self) -> impl Iterator<Item = &Assignment> {
        self.keys.iter().chain(&self.key_str)
    }

    /// The metadata with all changes. `unset` records which of the keys to remove were found; `notes` receives notes
    /// about the new values.
    fn changed(
        &self,
        metadata: Value,
        unset: &mut [bool],
        notes: &mut BTreeSet<String>,
    ) -> Result<Value, String> {
        let mut pairs = match metadata {
            Value::Map(pairs) => pairs,
            Value::Null if self.assignments().next().is_none() => return Ok(Value::Null),
            Value::Null => Vec::new(),
            _ => return Err("its metadata is not a mapping with keys: give all of it with --meta".into()),
        };
        for (key, found) in self.unset.iter().zip(unset) {
            let (path, key) = path(&pairs, key);
            if let Some(pairs) = mapping_at(&mut pairs, &path) {
                let before = pairs.len();
                pairs.retain(|(other, _)| !is(other, key));
                *found |= pairs.len() < before;
            }
        }
        for assignment in self.assignments() {
            notes.extend(set(&mut pairs, assignment)?);
        }
        Ok(Value::Map(pairs))
    }
}

/// Sets a key; returns a note for the user, if there is one.
fn set(
    pairs: &mut Pairs,
    Assignment { key: whole, value, .. }: &Assignment,
) -> Result<Option<String>, String> {
    let (path, key) = path(pairs, whole);
    let is_nested = !path.is_empty();
    let Some(pairs) = mapping_at(pairs, &path) else { return Ok(None) };
    if let Some((_, old)) = pairs.iter_mut().find(|(other, _)| is(other, key)) {
        *old = value.clone();
        return Ok(None);
    }
    let parent = key.match_indices('.').find_map(|(dot, _)| {
        let (_, value) = pairs.iter().find(|(other, _)| is(other, &key[..dot]))?;
        Some((whole.get(..whole.len() - key.len() + dot)?, value))
    });
    let note = match parent {
        // A key after the dot would make this mapping part of the path.
        Some((parent, Value::Map(_))) => {
            return Err(format!(
                "the key {whole:?} ends after its dot: name a key of the mapping {parent:?}"
            ));
        }
        Some((parent, value)) if is_nested => {
            return Err(format!(
                "{parent:?} is not a mapping, so it has no keys (its type is {})",
                kind(value)
            ));
        }
        Some((parent, value)) => {
            let (whole, kind) = (whole.escape_debug(), kind(value));
            Some(format!("{whole}: is a key of its own, as {parent:?} is not a mapping (its type is {kind})"))
        }
        None if is_nested && key.contains('.') => {
            return Err(format!("the key {whole:?} is in no mapping: give the mapping with all of its keys"));
        }
        None => None,
    };
    pairs.push((key.into(), value.clone()));
    Ok(note)
}

/// Finds the position of a key, existing or new: the path of mappings, each by its number in the one above, and the key
/// in the last one. A key with the whole dotted name takes precedence over a nested one.
fn path<'k>(pairs: &[(Value, Value)], key: &'k str) -> (Vec<usize>, &'k str) {
    let (mut pairs, mut key, mut path) = (pairs, key, Vec::new());
    while !pairs.iter().any(|(other, _)| is(other, key)) {
        let inner = key.match_indices('.').find_map(|(dot, _)| {
            let (parent, child) = (key.get(..dot)?, key.get(dot + 1..)?);
            let number = pairs.iter().position(|(other, _)| is(other, parent))?;
            match pairs.get(number)? {
                (_, Value::Map(inner)) if !child.is_empty() => Some((number, inner.as_slice(), child)),
                _ => None,
            }
        });
        let Some((number, inner, child)) = inner else { break };
        path.push(number);
        (pairs, key) = (inner, child);
    }
    (path, key)
}

fn mapping_at<'p>(pairs: &'p mut Pairs, path: &[usize]) -> Option<&'p mut Pairs> {
    let Some((number, rest)) = path.split_first() else { return Some(pairs) };
    match pairs.get_mut(*number)? {
        (_, Value::Map(inner)) => mapping_at(inner, rest),
        _ => None,
    }
}

fn is(key: &Value, text: &str) -> bool {
    matches!(key, Value::Str(key) if key.as_bytes() == text.as_bytes())
}

fn assignment(text: &str) -> Result<Assignment, String> {
    let (key, typed) = divided(text, "KEY=VALUE")?;
    let value = yaml::typed_value(typed)
        .map_err(|problem| format!("{problem} (--key-str {key}=... stores text as it is)"))?;
    Ok(Assignment { key: key.to_owned(), value: Value::from(&*value), typed: typed.to_owned() })
}

fn divided<'t>(text: &'t str, form: &str) -> Result<(&'t str, &'t str), String> {
    let divided = text.split_once('=').filter(|(key, _)| !key.is_empty());
    divided.ok_or_else(|| format!("it must have the form {form}, with a key before the ="))
}

fn text_assignment(text: &str) -> Result<Assignment, String> {
    let (key, typed) = divided(text, "KEY=TEXT")?;
    Ok(Assignment { key: key.to_owned(), value: typed.into(), typed: typed.to_owned() })
}

/// Reads a mapping from a file.
fn mapping(path: &Path) -> Result<Value> {
    let mut text = String::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.map_err(|cause| Error::open(path, cause))?;
    let wrong = |what: String| Error::Usage(format!("{}: {what}", path.display()));
    let value = super::inputs::of_extension(path, &text)
        .map_err(|problem| wrong(format!("cannot be read as YAML or JSON: {problem}")))?;
    match Value::from(&*value) {
        value @ (Value::Map(_) | Value::Null) => Ok(value),
        _ => Err(wrong("is not a mapping (key: value), as metadata must be".into())),
    }
}
