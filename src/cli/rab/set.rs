//! `rab set`: the metadata of datasets, as a whole or key by key.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::Done;
use super::select;
use crate::cli::complete::dataset_names;
use crate::error::Place;
use crate::tree::naming;
use crate::{Archive, Editor, Error, Result, Value, yaml};

/// Change the metadata of datasets of a RAB file
///
/// The file is written anew beside the old one, which it then replaces in one step: all of the datasets that match
/// are changed, or none. First --meta counts, then --unset, then --key.
#[derive(Args)]
pub struct Set {
    /// The RAB file
    file: PathBuf,

    /// A dataset's name, or a glob: all that match
    #[arg(add = dataset_names())]
    name: OsString,

    /// In place of all metadata: the mapping in this YAML or JSON file (- is standard input)
    #[arg(long, value_name = "FILE", required_unless_present_any = ["keys", "unset"])]
    meta: Option<PathBuf>,

    /// Set a key to a value, which is read as YAML: --key rate=30000 is a number, --key 'id="7"' a text
    #[arg(long = "key", value_name = "KEY=VALUE", value_parser = assignment)]
    keys: Vec<(String, Value)>,

    /// Take a key out
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
}

impl Set {
    pub fn run(&self) -> Done {
        let whole = self.meta.as_deref().map(mapping).transpose()?;
        let mut editor = Editor::open(&self.file)?;
        let archive = Archive::open(&self.file)?;
        let mut unset = vec![false; self.unset.len()];
        for number in select::select(&archive, &self.name)? {
            let name = archive.raw_name(number);
            let metadata = match &whole {
                Some(whole) => whole.clone(),
                None => editor.metadata(&name)?,
            };
            let changed = self.changed(metadata, &mut unset).ok_or_else(|| {
                let place = Place::file(&self.file).dataset(&naming::printed(&name));
                Error::Usage(format!(
                    "{place}: its metadata is no mapping with keys: give all of it with --meta"
                ))
            })?;
            editor.set_metadata(&name, changed)?;
        }
        if let Some((key, _)) = self.unset.iter().zip(unset).find(|(_, found)| !found) {
            let shown = self.file.display();
            return Err(Error::Usage(format!("{shown}: no dataset here has the key {key:?}")).into());
        }
        Ok(editor.finish()?)
    }

    /// The metadata with all changes; `unset` notes which keys were there to be taken out. None if it can have no
    /// keys.
    fn changed(&self, metadata: Value, unset: &mut [bool]) -> Option<Value> {
        let mut pairs = match metadata {
            Value::Map(pairs) => pairs,
            Value::Null if self.keys.is_empty() => return Some(Value::Null),
            Value::Null => Vec::new(),
            _ => return None,
        };
        for (key, found) in self.unset.iter().zip(unset) {
            let before = pairs.len();
            pairs.retain(|(other, _)| !is(other, key));
            *found |= pairs.len() < before;
        }
        for (key, value) in &self.keys {
            match pairs.iter_mut().find(|(other, _)| is(other, key)) {
                Some((_, old)) => *old = value.clone(),
                None => pairs.push((key.as_str().into(), value.clone())),
            }
        }
        Some(Value::Map(pairs))
    }
}

fn is(key: &Value, text: &str) -> bool {
    matches!(key, Value::Str(key) if key.as_bytes() == text.as_bytes())
}

fn assignment(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("it needs the form KEY=VALUE")?;
    let value = yaml::value_to_write(value).map_err(|problem| problem.to_string())?;
    Ok((key.to_owned(), Value::from(&*value)))
}

/// The mapping in a file.
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
        _ => Err(wrong("holds no mapping, which metadata have to be".into())),
    }
}
