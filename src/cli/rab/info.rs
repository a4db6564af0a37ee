//! `rab info`: describes containers or datasets in full, as YAML or JSON.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::output::{Done, Failure, Output};
use super::several::Chosen;
use super::{ls, select};
use crate::cli::complete::files_and_dataset_names;
use crate::cli::reading::{Opening, READING};
use crate::report::{self, Fields, list, number};
use crate::tree::naming;
use crate::yaml::{self, Node};
use crate::{Archive, Description, Error, Extreme, Result, Stats};

const HELP: &str = "\
An argument after FILE is another container if there is such a file, unless FILE has a dataset of \
that name (./NAME is always a file). With several containers, names are looked up in each of them.

Examples:
  rab info run7.rab
  rab info run7.rab 'my array' --stats";

/// Describe containers, or datasets with their metadata, as YAML
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Info {
    /// The container
    file: PathBuf,

    /// More containers, and names of datasets or globs [default: describe the containers]
    #[arg(value_name = "FILE|NAME", add = files_and_dataset_names())]
    others: Vec<OsString>,

    /// Compute minimum, maximum, mean and the numbers of NaNs and zeros of arrays; needs a NAME, or '*' for all
    #[arg(long, requires = "others")]
    stats: bool,

    /// Search directories for containers, at any depth
    #[arg(short, long)]
    recursive: bool,

    /// Print JSON instead of YAML, one object per line
    #[arg(long)]
    json: bool,

    #[command(flatten, next_help_heading = READING)]
    opening: Opening,
}

impl Info {
    pub fn run(&self, out: &mut Output) -> Done {
        let chosen = Chosen::of(&self.file, &self.others, &self.opening, self.recursive)?;
        if self.stats && chosen.names.is_empty() {
            let problem = "--stats is for datasets: name some, or '*' for all";
            return Err(Error::Usage(problem.into()).into());
        }
        let mut printed = 0;
        chosen.each(&mut |file| {
            let done = self.file(file, &chosen, &mut printed, out);
            if let (Err(Failure::Error(error)), true, true) = (&done, self.json, chosen.are_several) {
                let mut fields = Fields::default();
                fields.add("file", Node::text(&file.to_string_lossy()));
                fields.add("error", Node::text(&error.to_string()));
                self.next(&mut printed, &fields.finish(), out)?;
            }
            out.flush()?;
            done
        })
    }

    fn file(&self, file: &Path, chosen: &Chosen, printed: &mut u64, out: &mut Output) -> Done {
        let archive = self.opening.open(file)?;
        match chosen.names.is_empty() {
            true => self.next(printed, &container(&archive, self.json)?, out),
            false => self.datasets(&archive, chosen, printed, out),
        }
    }

    fn datasets(&self, archive: &Archive, chosen: &Chosen, printed: &mut u64, out: &mut Output) -> Done {
        let (mut is_any, mut arrays) = (false, 0);
        for name in &chosen.names {
            for number in chosen.found(name, select::select_linked(archive, name))? {
                is_any = true;
                let dataset = archive.dataset_at(number)?;
                let has_stats = self.stats && dataset.has_stats();
                arrays += usize::from(has_stats);
                let stats = if has_stats { Some(counted(&dataset.stats()?)) } else { None };
                let mut node = report::full(dataset.description(), &archive.name(number), stats);
                if let (Node::Map(pairs), true) = (&mut node, chosen.are_several) {
                    let file = Node::text(&archive.path().to_string_lossy());
                    pairs.insert(0, (Node::text("file").into(), file.into()));
                }
                self.next(printed, &node, out)?;
            }
        }
        if self.stats && is_any && arrays == 0 {
            let names = chosen.names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            let problem = format!("--stats is for arrays of numbers of up to 64 bits, which {names} is not");
            return Err(Error::Usage(problem).into());
        }
        Ok(())
    }

    /// Prints a node; separates YAML documents.
    fn next(&self, printed: &mut u64, node: &Node, out: &mut Output) -> Done {
        if *printed > 0 && !self.json {
            writeln!(out, "---")?;
        }
        *printed += 1;
        self.print(node, out)
    }

    fn print(&self, node: &Node, out: &mut Output) -> Done {
        if self.json {
            return Ok(writeln!(out, "{}", yaml::to_json(node))?);
        }
        Ok(out.write_all(report::text(node).as_bytes())?)
    }
}

/// Maximum number of datasets listed per container.
const MAX_LISTED: usize = 1000;

/// Describes a container and lists its datasets; in YAML with one line for each, as in `ncdump -h`.
fn container(archive: &Archive, as_objects: bool) -> Result<Node> {
    let mut fields = Fields::default();
    fields.add("file", Node::text(&archive.path().to_string_lossy()));
    fields.add("format", Node::text(archive.format()));
    if archive.files() > 1 {
        fields.add("files", number(archive.files() as u64));
    }
    fields.add("size", number(archive.file_len()));
    fields.add("datasets", number(archive.len() as u64));
    fields.add("stored", number(archive.stored_len()));
    let tables: Vec<_> = archive.tables().map(|name| Node::text(&naming::printed(name))).collect();
    if !tables.is_empty() {
        fields.add("tables", list(tables.into_iter()));
    }
    let listed = archive.len().min(MAX_LISTED);
    let described = (0..listed).map(|number| Ok(archive.dataset_at(number)?.description().clone()));
    let described = described.collect::<Result<Vec<_>>>()?;
    let contents = match as_objects {
        true => list(described.iter().map(|described| {
            let mut fields = report::brief(described, &described.printed_name());
            fields.add_some("units", report::units(&described.metadata).as_deref().map(Node::text));
            fields.finish()
        })),
        false => Node::Map(described.iter().map(line).collect()),
    };
    fields.add("contents", contents);
    fields.add_some(
        "more",
        Some(archive.len() - listed).filter(|more| *more > 0).map(|more| number(more as u64)),
    );
    Ok(fields.finish())
}

/// A dataset's name and a short description: `float64 (5, 3), mV`.
fn line(described: &Description) -> (Arc<Node>, Arc<Node>) {
    let shape = ls::shape(described).map_or(String::new(), |shape| format!(" {shape}"));
    let units = report::units(&described.metadata).map_or(String::new(), |units| format!(", {units}"));
    let damage = if described.fault.is_some() { ", damaged" } else { "" };
    let text = format!("{}{shape}{units}{damage}", described.kind);
    (Node::text(&described.printed_name()).into(), Node::text(&text).into())
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
