//! All files that are opened together: the tensors of them, each once.

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
    /// What was opened first.
    pub source: Arc<dyn Source>,
    pub tensors: Vec<Located>,
    /// By name. One for all files, unless those differ about it.
    pub metadata: Vec<(String, Arc<[u8]>)>,
}

pub struct Located {
    pub tensor: Tensor,
    pub file: Arc<dyn Source>,
}

struct Shard {
    file: Arc<dyn Source>,
    header: Header,
}

impl Model {
    pub fn open(context: &Context) -> Result<Model> {
        let mut shards = Vec::new();
        for file in std::iter::once(&context.source).chain(&context.others) {
            match is_index(file.path()) {
                true => shards.extend(indexed(file, context)?),
                false => shards.push(Shard { header: Header::read(&**file)?, file: file.clone() }),
            }
        }
        let metadata = metadata(&shards);
        let tensors = shards.into_iter().flat_map(|Shard { file, header }| {
            header.tensors.into_iter().map(move |tensor| Located { tensor, file: file.clone() })
        });
        let tensors: Vec<Located> = tensors.collect();
        check_names(&tensors)?;
        Ok(Model { source: context.source.clone(), tensors, metadata })
    }
}

/// The files that an index names, with the tensors that it says they have.
fn indexed(index: &Arc<dyn Source>, context: &Context) -> Result<Vec<Shard>> {
    if index.len() > MAX_HEADER {
        let problem = format!("the index has {} bytes, and the limit is {MAX_HEADER} (100 MB)", index.len());
        return Err(Error::damaged(index.place(), problem));
    }
    let text = index.read_range(0..index.len())?;
    let parsed: Result<Index, _> = parse(&text);
    let Index { weight_map: Pairs(pairs) } = parsed.map_err(|(problem, at)| {
        Error::damaged(index.place().at(at as u64), format!("the index is invalid: {problem}"))
    })?;
    let mut wanted: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut files = Vec::new();
    for (tensor, file) in &pairs {
        let tensors = wanted.entry(file).or_insert_with(|| {
            files.push(file.as_str());
            HashSet::new()
        });
        tensors.insert(tensor);
    }
    let siblings = Context { source: index.clone(), ..context.clone() }.siblings();
    let shard = |name: &str| {
        let found = siblings.find(Path::new(name)).map_err(|error| missing(&**index, name, error))?;
        let file: Arc<dyn Source> = Arc::new(found);
        let mut header = Header::read(&*file)?;
        let tensors = wanted.remove(name).unwrap_or_default();
        keep(&mut header, tensors, &*file, &index.place())?;
        Ok(Shard { file, header })
    };
    files.into_iter().map(shard).collect()
}

fn missing(index: &dyn Source, name: &str, error: Error) -> Error {
    match error {
        Error::Read { cause, .. } => {
            let problem = format!("it names the file {:?}, which cannot be read: {cause}", shortened(name));
            Error::open(index.path(), std::io::Error::new(cause.kind(), problem))
        }
        other => other,
    }
}

/// Leaves out the tensors that are not `wanted` of this file; fails if one of those is not there.
fn keep(header: &mut Header, mut wanted: HashSet<&str>, file: &dyn Source, index: &Place) -> Result<()> {
    let before = header.tensors.len();
    header.tensors.retain(|tensor| wanted.remove(tensor.name.as_str()));
    if let Some(name) = wanted.iter().min() {
        let problem = format!(
            "the index says that it is in {}, which has no tensor of that name",
            file.path().display()
        );
        return Err(Error::damaged(index.dataset(name), problem));
    }
    let others = before - header.tensors.len();
    if others > 0 {
        let place = file.place();
        log::warn!("{place}: has {others} tensors that {index} does not list: they are ignored");
    }
    Ok(())
}

/// The metadata of all files, as JSON.
fn metadata(shards: &[Shard]) -> Vec<(String, Arc<[u8]>)> {
    let said = shards.iter().filter_map(|shard| Some((&shard.file, shard.header.metadata.as_ref()?)));
    let said: Vec<_> = said.map(|(file, pairs)| (file, text(pairs))).collect();
    let Some((_, first)) = said.first() else { return Vec::new() };
    if said.iter().all(|(_, text)| text == first) {
        return vec![(METADATA.into(), first.clone())];
    }
    let named = |(file, text): &(&Arc<dyn Source>, Arc<[u8]>)| {
        let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        (format!("{METADATA}/{name}"), text.clone())
    };
    said.iter().map(named).collect()
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
