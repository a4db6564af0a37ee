//! A model: the tensors and metadata of all files opened together. Tensor names are unique.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::header::{Header, MAX_HEADER, Tensor};
use super::json::{Index, METADATA, Pairs, parse};
use super::shards::is_index;
use crate::error::{Place, shortened};
use crate::format::Context;
use crate::source::Source;
use crate::{Error, Result};

pub struct Model {
    /// The file opened first.
    pub source: Arc<dyn Source>,
    pub tensors: Vec<Located>,
    /// Tensors that an index lists and that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// By name. One for all files, unless those differ about it.
    pub metadata: Vec<(String, Arc<[u8]>)>,
}

pub struct Located {
    pub tensor: Tensor,
    pub file: Arc<dyn Source>,
}

pub struct Unreadable {
    pub name: String,
    pub error: Error,
}

struct Shard {
    file: Arc<dyn Source>,
    header: Header,
}

impl Model {
    pub fn open(context: &Context) -> Result<Model> {
        let (mut shards, mut unreadable) = (Vec::new(), Vec::new());
        for file in std::iter::once(&context.source).chain(&context.others) {
            match is_index(file.path()) {
                true => shards.extend(indexed(file, context, &mut unreadable)?),
                false => shards.push(Shard { header: Header::read(&**file)?, file: file.clone() }),
            }
        }
        let metadata = metadata(&shards);
        let tensors = shards.into_iter().flat_map(|Shard { file, header }| {
            header.tensors.into_iter().map(move |tensor| Located { tensor, file: file.clone() })
        });
        let tensors: Vec<Located> = tensors.collect();
        check_names(&tensors)?;
        match unreadable.first() {
            Some(Unreadable { error, .. }) if tensors.is_empty() => Err(error.clone()),
            _ => Ok(Model { source: context.source.clone(), tensors, unreadable, metadata }),
        }
    }
}

/// The files that an index names, with the tensors it lists for them. A missing or damaged file affects only its own
/// tensors.
fn indexed(
    index: &Arc<dyn Source>,
    context: &Context,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<Shard>> {
    if index.len() > MAX_HEADER {
        let problem = format!("the index has {} bytes, and the limit is {MAX_HEADER} (100 MB)", index.len());
        return Err(Error::damaged(index.place(), problem));
    }
    let text = index.read_range(0..index.len())?;
    let parsed: Result<Index, _> = parse(&text);
    let Index { weight_map: Pairs(pairs) } = parsed.map_err(|(problem, at)| {
        Error::damaged(index.place().at(at as u64), format!("the index is invalid: {problem}"))
    })?;
    let mut listed: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut files = Vec::new();
    for (tensor, file) in &pairs {
        let tensors = listed.entry(file).or_insert_with(|| {
            files.push(file.as_str());
            HashSet::new()
        });
        tensors.insert(tensor);
    }
    let siblings = Context { source: index.clone(), ..context.clone() }.siblings();
    let open = |name: &str| -> Result<Shard> {
        let found = siblings.find(Path::new(name)).map_err(|error| not_found(&**index, name, error))?;
        let file: Arc<dyn Source> = Arc::new(found);
        Ok(Shard { header: Header::read(&*file)?, file })
    };
    let mut shards = Vec::new();
    for name in files {
        let tensors = listed.remove(name).unwrap_or_default();
        match open(name) {
            Ok(mut shard) => {
                unreadable.extend(retain_listed(&mut shard.header, tensors, &*shard.file, &index.place()));
                shards.push(shard);
            }
            Err(error) => {
                log::error!("{error}");
                let lost = |name: &str| Unreadable { name: name.to_owned(), error: of_tensor(&error, name) };
                unreadable.extend(tensors.into_iter().map(lost));
            }
        }
    }
    unreadable.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(shards)
}

/// An error of a file as an error of one of its tensors.
fn of_tensor(error: &Error, name: &str) -> Error {
    let named = |place: Place| place.dataset(name);
    match error.clone() {
        Error::Open { file, cause } => Error::Read { place: named(Place::file(&file)), cause },
        Error::Damaged { place, problem } => Error::Damaged { place: named(place), problem },
        other => other,
    }
}

fn not_found(index: &dyn Source, name: &str, error: Error) -> Error {
    match error {
        Error::Read { cause, .. } => {
            let problem = format!("it names the file {:?}, which cannot be read: {cause}", shortened(name));
            Error::open(index.path(), std::io::Error::new(cause.kind(), problem))
        }
        other => other,
    }
}

/// Removes the tensors that are not `listed` for this file, and returns those listed that it lacks.
fn retain_listed(
    header: &mut Header,
    mut listed: HashSet<&str>,
    file: &dyn Source,
    index: &Place,
) -> Vec<Unreadable> {
    let before = header.tensors.len();
    header.tensors.retain(|tensor| listed.remove(tensor.name.as_str()));
    let others = before - header.tensors.len();
    if others > 0 {
        let place = file.place();
        log::warn!("{place}: has {others} tensors that {index} does not list: they are ignored");
    }
    let problem =
        format!("the index says that it is in {}, which has no tensor of that name", file.path().display());
    let lost = |name: &str| Unreadable {
        name: name.to_owned(),
        error: Error::damaged(Place::file(&index.file).dataset(name), problem.as_str()),
    };
    listed.into_iter().map(lost).collect()
}

/// The metadata of all files as JSON.
fn metadata(shards: &[Shard]) -> Vec<(String, Arc<[u8]>)> {
    let texts = shards.iter().filter_map(|shard| Some((&shard.file, shard.header.metadata.as_ref()?)));
    let texts: Vec<_> = texts.map(|(file, pairs)| (file, text(pairs))).collect();
    let Some((_, first)) = texts.first() else { return Vec::new() };
    if texts.iter().all(|(_, text)| text == first) {
        return vec![(METADATA.into(), first.clone())];
    }
    let named = |(file, text): &(&Arc<dyn Source>, Arc<[u8]>)| {
        let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        (format!("{METADATA}/{name}"), text.clone())
    };
    texts.iter().map(named).collect()
}

fn text(Pairs(pairs): &Pairs<String>) -> Arc<[u8]> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let lines = pairs.iter().map(|(key, value)| format!("  {}: {}", quoted(key), quoted(value)));
    let lines = lines.collect::<Vec<_>>().join(",\n");
    format!("{{\n{lines}\n}}\n").into_bytes().into()
}

fn check_names(tensors: &[Located]) -> Result<()> {
    let mut first = HashMap::new();
    for Located { tensor, file } in tensors {
        if let Some(other) = first.insert(tensor.name.as_str(), file) {
            let problem = format!(
                "it is in {} too, and the names of tensors in a model must be unique",
                other.path().display()
            );
            return Err(Error::damaged(file.place().dataset(&tensor.name), problem));
        }
    }
    Ok(())
}
