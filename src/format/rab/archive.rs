//! An opened RAB container: answers for its datasets by number. Streams of compressed datasets are made
//! when they are first asked for and stay, so that all readers share them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::Context;
use super::entry::Dataset;
use crate::Result;
use crate::codec::{Engine, Stream};
use crate::content::Content;
use crate::source::Source;
use crate::tree::{Datasets, Size};

pub struct Archive {
    source: Arc<dyn Source>,
    engine: Arc<Engine>,
    datasets: Vec<Dataset>,
    /// True names, lossily, of compressed datasets: their errors are found late.
    names: HashMap<u32, Box<str>>,
    streams: Mutex<HashMap<u32, Arc<Stream>>>,
    /// Sidecars are cached like decoded blocks, under this stream's number.
    sidecars: u64,
}

impl Archive {
    pub fn new(context: Context, names: &[Box<[u8]>], datasets: Vec<Dataset>) -> Archive {
        let Context { source, engine } = context;
        let names = (0..)
            .zip(names.iter().zip(&datasets))
            .filter(|(_, (_, dataset))| dataset.compressed)
            .map(|(number, (name, _))| (number, String::from_utf8_lossy(name).into()))
            .collect();
        let sidecars = engine.cache.new_stream();
        Archive { source, engine, datasets, names, streams: Mutex::default(), sidecars }
    }

    fn stream(&self, number: u32, dataset: &Dataset) -> Arc<Stream> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let name = self.names.get(&number).map_or("", |name| name);
            let place = self.source.place().dataset(name);
            let (engine, source) = (self.engine.clone(), self.source.clone());
            Arc::new(Stream::new(engine, source, dataset.stored.clone(), dataset.decoded, place))
        };
        streams.entry(number).or_insert_with(new).clone()
    }

    fn dataset(&self, number: u32) -> Result<&Dataset> {
        self.datasets.get(number as usize).ok_or(crate::Error::NotFound)
    }
}

impl Datasets for Archive {
    fn count(&self) -> u64 {
        self.datasets.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        let stored = self.dataset(number).map_or(0, |dataset| dataset.stored.end - dataset.stored.start);
        let len = self.content(number).ok().and_then(|content| content.known_len());
        Size { len, stored }
    }

    fn content(&self, number: u32) -> Result<Content> {
        let dataset = self.dataset(number)?;
        Ok(match &dataset.fault {
            Some(error) => Content::Broken { claimed: dataset.claimed, error: error.clone() },
            None if dataset.compressed => Content::Decoded(self.stream(number, dataset)),
            None => Content::Stored { source: self.source.clone(), range: dataset.stored.clone() },
        })
    }

    fn sidecar_size(&self, number: u32, file_name: &[u8]) -> Size {
        let len = self.dataset(number).map_or(0, |d| d.sidecar.len(d.array.as_ref(), file_name));
        Size { len: Some(len), stored: len }
    }

    fn sidecar(&self, number: u32, file_name: &[u8]) -> Result<Content> {
        let key = u64::from(number);
        self.source.check()?;
        if let Some(built) = self.engine.cache.get(self.sidecars, key) {
            return Ok(Content::Inline(built));
        }
        let dataset = self.dataset(number)?;
        let built = dataset.sidecar.build(&*self.source, dataset.array.as_ref(), file_name)?;
        let built: Arc<[u8]> = built.into();
        self.engine.cache.insert(self.sidecars, key, built.clone());
        Ok(Content::Inline(built))
    }
}
