//! `rab info`: everything that is known of a container or of datasets, as YAML or JSON.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::output::{Done, Output};
use super::select;
use crate::cli::complete::dataset_names;
use crate::cli::reading::Opening;
use crate::report::{self, Fields, list, number};
use crate::yaml::{self, Node};
use crate::{Archive, Error, Extreme, Stats};

/// Show everything known of a container, or of datasets with their metadata
#[derive(Args)]
pub struct Info {
    /// The container
    file: PathBuf,

    /// A dataset's name, or a glob [default: about the container itself]
    #[arg(add = dataset_names())]
    name: Option<OsString>,

    /// Also minimum, maximum, mean and the numbers of NaNs and zeros of arrays, which are read once for it
    ///
    /// NaNs are left out of minimum, maximum and mean. Complex numbers have no minimum and maximum.
    #[arg(long, requires = "name")]
    stats: bool,

    /// JSON: one object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    opening: Opening,
}

impl Info {
    pub fn run(&self, out: &mut Output) -> Done {
        let archive = self.opening.open(&self.file)?;
        let Some(name) = &self.name else { return self.print(&about(&archive), out) };
        let numbers = select::select_linked(&archive, name)?;
        let mut arrays = 0;
        for (place, number) in numbers.iter().enumerate() {
            let dataset = archive.dataset_at(*number)?;
            let has_stats = self.stats && dataset.has_stats();
            arrays += usize::from(has_stats);
            let stats = if has_stats { Some(counted(&dataset.stats()?)) } else { None };
            if place > 0 && !self.json {
                writeln!(out, "---")?;
            }
            self.print(&report::full(dataset.description(), &archive.name(*number), stats), out)?;
        }
        if self.stats && arrays == 0 {
            return Err(Error::Usage(format!(
                "--stats is for arrays of numbers of up to 64 bits, and {name:?} is none"
            ))
            .into());
        }
        Ok(())
    }

    fn print(&self, node: &Node, out: &mut Output) -> Done {
        if self.json {
            return Ok(writeln!(out, "{}", yaml::to_json(node))?);
        }
        Ok(out.write_all(report::text(node).as_bytes())?)
    }
}

fn about(archive: &Archive) -> Node {
    let mut fields = Fields::default();
    fields.add("file", Node::text(&archive.path().to_string_lossy()));
    fields.add("format", Node::text(archive.format()));
    if archive.files() > 1 {
        fields.add("files", number(archive.files() as u64));
    }
    fields.add("size", number(archive.file_len()));
    fields.add("datasets", number(archive.len() as u64));
    fields.add("stored", number(archive.stored_len()));
    fields.finish()
}

fn counted(stats: &Stats) -> Node {
    let extreme = |value: Option<Extreme>| match value {
        Some(Extreme::Int(value)) => number(value),
        Some(Extreme::Float(value)) => Node::Float(value),
        None => Node::Null,
    };
    let mut fields = Fields::default();
    fields.add("count", number(stats.count));
    fields.add("min", extreme(stats.min));
    fields.add("max", extreme(stats.max));
    let mean = stats.mean.map_or(Node::Null, Node::Float);
    fields.add(
        "mean",
        match stats.imaginary_mean {
            Some(imaginary) => list([mean, Node::Float(imaginary)].into_iter()),
            None => mean,
        },
    );
    fields.add("nans", number(stats.nans));
    fields.add("zeros", number(stats.zeros));
    fields.finish()
}
