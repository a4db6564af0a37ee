//! The files and directories that become datasets, and how: the same for all verbs that pack.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use clap::{Args, ValueEnum};

use crate::error::Place;
use crate::format::Compression;
use crate::format::target::WriteOptions;
use crate::pack;
use crate::yaml::{self, Node, Text};
use crate::{Error, Order, Result};

#[derive(Args)]
pub struct Inputs {
    /// Files and directories; - is standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// The dataset's name, of a single input
    #[arg(long)]
    name: Option<OsString>,

    /// Files that are nothing else become texts, not bytes
    #[arg(long)]
    text: bool,

    /// .yaml, .yml and .json become objects
    #[arg(long)]
    objects: bool,

    /// .csv become dataframes
    #[arg(long)]
    dataframe: bool,

    /// Compress every dataset, at a level from 0 to 9
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "6",
        value_parser = clap::value_parser!(u32).range(0..=9))]
    compress: Option<u32>,

    /// Store arrays in this order, C or F
    #[arg(long, value_enum, value_name = "ORDER")]
    order: Option<Layout>,

    /// A YAML or JSON file with the metadata of all datasets that have no sidecar
    #[arg(long, value_name = "FILE")]
    meta: Option<PathBuf>,

    /// Threads that compress (default: as many as there are processors)
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Layout {
    #[value(name = "C")]
    C,
    #[value(name = "F")]
    F,
}

impl Inputs {
    pub fn write_options(&self) -> WriteOptions {
        let jobs = self
            .jobs
            .map_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get), NonZeroUsize::get);
        WriteOptions { jobs }
    }

    pub fn plan(&self) -> Result<pack::Plan> {
        let name = self.name.as_ref().map(|name| match name.to_str() {
            Some(name) => Ok(Text::from(name)),
            None => Err(Error::Usage("the name of a dataset is UTF-8".into())),
        });
        let options = pack::Options {
            name: name.transpose()?,
            text: self.text,
            objects: self.objects,
            dataframes: self.dataframe,
            compression: self.compress.map(Compression::Zlib),
            order: self.order.map(|order| match order {
                Layout::C => Order::C,
                Layout::F => Order::F,
            }),
            metadata: self.meta.as_deref().map_or(Ok(Arc::new(Node::Null)), metadata)?,
        };
        pack::plan(&self.paths, &options)
    }
}

fn metadata(file: &Path) -> Result<Arc<Node>> {
    let text = fs::read(file).map_err(|cause| Error::open(file, cause))?;
    let refused = |problem: String| Error::Other(format!("{}: {problem}", file.display()));
    let text = String::from_utf8(text).map_err(|_| refused("is not UTF-8".into()))?;
    let node =
        yaml::value(&text).map_err(|problem| Error::damaged(Place::file(file), problem.to_string()))?;
    match *node {
        Node::Map(_) | Node::Null => Ok(node),
        _ => Err(refused("is not a mapping, which metadata is".into())),
    }
}
