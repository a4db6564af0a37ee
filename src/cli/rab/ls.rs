//! `rab ls`: names, one a line, and then links as `name -> target`; with `-l` what they are; as JSON a list with one object a line.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::output::{Done, Output};
use super::select;
use crate::cli::complete::dataset_names;
use crate::cli::reading::Opening;
use crate::{Archive, Description, Error, Node, Result, report, yaml};

/// List the datasets of a container
///
/// What a container has under a second name (shared parts of Awkward arrays) comes last, as NAME -> TARGET, where a mount
/// has a symbolic link.
#[derive(Args)]
pub struct Ls {
    /// The container
    file: PathBuf,

    /// A dataset's name, or a glob [default: all]
    #[arg(add = dataset_names())]
    glob: Option<OsString>,

    /// Also types, shapes, lengths and stored sizes in bytes (? where only decoding would tell)
    #[arg(short, long)]
    long: bool,

    /// A JSON list with an object for each dataset
    #[arg(long, conflicts_with = "long")]
    json: bool,

    #[command(flatten)]
    opening: Opening,
}

impl Ls {
    pub fn run(&self, out: &mut Output) -> Done {
        let archive = self.opening.open(&self.file)?;
        let links = select::links(&archive, self.glob.as_ref())?;
        let numbers = match select::select_or_all(&archive, self.glob.as_ref()) {
            Err(Error::NoDataset { .. }) if !links.is_empty() => Vec::new(),
            numbers => numbers?,
        };
        if self.json {
            return json(&archive, &numbers, &links, out);
        }
        if self.long {
            writeln!(out, "{:<10} {:<16} {:>12} {:>12}  NAME", "TYPE", "SHAPE", "LENGTH", "STORED")?;
        }
        for number in numbers {
            match self.long {
                true => long(&archive.brief_at(number)?, &archive.name(number), out)?,
                false => writeln!(out, "{}", out.shown(&archive.name(number)))?,
            }
        }
        for (name, target) in &links {
            if self.long {
                write!(out, "{:<10} {:<16} {:>12} {:>12}  ", "link", "-", "-", "-")?;
            }
            let (name, target) = (out.shown(name), out.shown(target));
            writeln!(out, "{name} -> {target}")?;
        }
        Ok(())
    }
}

fn long(described: &Description, name: &str, out: &mut Output) -> Done {
    let shape = match (&described.array, &described.table) {
        (Some(array), _) => sizes(&array.shape),
        (_, Some(table)) => format!("({}, {})", table.rows, table.columns.len()),
        _ => "-".into(),
    };
    let len = described.decoded_len.map_or("?".into(), |len| len.to_string());
    let stored = match described.fault {
        None => described.stored_len().to_string(),
        Some(_) => "damaged".into(),
    };
    let (kind, name) = (out.shown(&described.kind), out.shown(name));
    Ok(writeln!(out, "{kind:<10} {shape:<16} {len:>12} {stored:>12}  {name}")?)
}

/// As Python writes a tuple.
pub fn sizes(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn json(archive: &Archive, numbers: &[usize], links: &[(String, String)], out: &mut Output) -> Done {
    write!(out, "[")?;
    let datasets = numbers.iter().map(|number| -> Result<Node> {
        Ok(report::brief(&archive.brief_at(*number)?, &archive.name(*number)).finish())
    });
    let links = links.iter().map(|(name, target)| {
        let pairs = [("name", name.as_str()), ("type", "link"), ("target", target)];
        Ok(Node::map(pairs.map(|(key, value)| (key, Node::text(value)))))
    });
    for (place, node) in datasets.chain(links).enumerate() {
        let comma = if place > 0 { "," } else { "" };
        write!(out, "{comma}\n{}", yaml::to_json(&node?))?;
    }
    Ok(writeln!(out, "\n]")?)
}
