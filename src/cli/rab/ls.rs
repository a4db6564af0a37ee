//! `rab ls`: lists names, one per line, then links as `name -> target`; with `-l` also their types and sizes; as JSON a
//! list with one object per line.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};

use super::output::{Done, Failure, Output};
use super::several::Chosen;
use super::{human, select};
use crate::cli::complete::files_and_dataset_names;
use crate::cli::reading::{Opening, READING};
use crate::tree::naming;
use crate::{Archive, Description, Error, Node, Result, report, yaml};

const HELP: &str = "\
An argument after FILE is another container if there is such a file, unless FILE has a dataset of \
that name (./NAME is always a file). With several containers, names are looked up in each of them.

Examples:
  rab ls run7.rab
  rab ls -lh run7.rab 'sub01/*'
  rab ls -r DIR
  rab ls --json run7.rab | jq -r '.[].name'";

/// List the datasets of containers
#[derive(Args)]
#[command(disable_help_flag = true, after_help = HELP)]
pub struct Ls {
    /// The container
    file: PathBuf,

    /// More containers, and names of datasets or globs [default: all datasets]
    #[arg(value_name = "FILE|NAME", add = files_and_dataset_names())]
    others: Vec<OsString>,

    /// Show types, shapes, lengths and stored sizes in bytes too, and units where they are known
    #[arg(short, long)]
    long: bool,

    /// With -l: print sizes such as 1.2K and 35M, in powers of 1024
    #[arg(short = 'h', long)]
    human_readable: bool,

    /// Search directories for containers, at any depth
    #[arg(short, long)]
    recursive: bool,

    /// Print a JSON list with an object for each dataset
    #[arg(long, conflicts_with_all = ["long", "human_readable"])]
    json: bool,

    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,

    #[command(flatten, next_help_heading = READING)]
    opening: Opening,
}

/// The listed datasets and links of a container.
struct Listed {
    archive: Archive,
    numbers: Vec<usize>,
    links: Vec<(String, String)>,
    /// No dataset was named.
    is_whole: bool,
}

impl Listed {
    fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.links.is_empty()
    }
}

impl Ls {
    pub fn run(&self, out: &mut Output) -> Done {
        let chosen = Chosen::of(&self.file, &self.others, &self.opening, self.recursive)?;
        match (self.json, chosen.are_several) {
            (true, true) => self.json_of_several(&chosen, out),
            (true, false) => chosen.each(&mut |file| json(&self.listed(file, &chosen)?, out)),
            (false, are_several) => {
                let mut is_first = true;
                chosen.each(&mut |file| {
                    let listed = self.listed(file, &chosen)?;
                    if chosen.is_search() && listed.is_empty() {
                        return Ok(());
                    }
                    if are_several {
                        let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
                        let shown = file.display().to_string();
                        writeln!(out, "{gap}{}:", out.shown(&shown))?;
                    }
                    self.text(&listed, out)?;
                    // So that errors in the next one are printed after it.
                    Ok(out.flush()?)
                })
            }
        }
    }

    fn listed(&self, file: &Path, chosen: &Chosen) -> Result<Listed> {
        let (archive, names) = (self.opening.open(file)?, &*chosen.names);
        let links = select::links(&archive, names)?;
        let mut numbers = Vec::new();
        for name in names {
            let found = match select::select(&archive, name) {
                Err(Error::NoDataset { .. })
                    if !select::links(&archive, std::slice::from_ref(name))?.is_empty() =>
                {
                    Ok(Vec::new())
                }
                found => found,
            };
            numbers.extend(chosen.found(name, found)?);
        }
        match names {
            [] => numbers = (0..archive.len()).collect(),
            [_] => {}
            _ => {
                numbers.sort_unstable();
                numbers.dedup();
            }
        }
        Ok(Listed { archive, numbers, links, is_whole: names.is_empty() })
    }

    fn text(&self, Listed { archive, numbers, links, is_whole }: &Listed, out: &mut Output) -> Done {
        let has_units = self.long && units_are_known(archive, numbers);
        let unit_of = |number: usize| {
            let units = || report::units(archive.dataset_at(number).ok()?.metadata());
            has_units.then(|| units().unwrap_or_else(|| "-".into()))
        };
        if self.long {
            let header = ["TYPE", "SHAPE", "LENGTH", "STORED"].map(str::to_owned);
            row(&header, has_units.then(|| "UNIT".into()), out)?;
            writeln!(out, "NAME")?;
        }
        for number in numbers {
            if self.long {
                row(&self.cells(&archive.brief_at(*number)?), unit_of(*number), out)?;
            }
            writeln!(out, "{}", out.shown(&archive.name(*number)))?;
        }
        let tables = archive.tables().filter(|_| self.long && *is_whole);
        for name in tables {
            row(&["table", "-", "-", "-"].map(str::to_owned), has_units.then(|| "-".into()), out)?;
            writeln!(out, "{}", out.shown(&naming::printed(name)))?;
        }
        for (name, target) in links {
            if self.long {
                row(&["link", "-", "-", "-"].map(str::to_owned), has_units.then(|| "-".into()), out)?;
            }
            writeln!(out, "{} -> {}", out.shown(name), out.shown(target))?;
        }
        Ok(())
    }

    /// The columns type, shape, length and stored size.
    fn cells(&self, described: &Description) -> [String; 4] {
        let size = |bytes: u64| if self.human_readable { human::size(bytes) } else { bytes.to_string() };
        let stored = match described.fault {
            None => size(described.stored_len()),
            Some(_) => "damaged".into(),
        };
        let shape = shape(described).unwrap_or_else(|| "-".into());
        [described.kind.clone(), shape, described.decoded_len.map_or("?".into(), size), stored]
    }

    /// Lists several containers; one that fails has an error instead of its datasets.
    fn json_of_several(&self, chosen: &Chosen, out: &mut Output) -> Done {
        let mut comma = "";
        write!(out, "[")?;
        let done = chosen.each(&mut |file| {
            let name = yaml::to_json(&Node::text(&file.to_string_lossy()));
            write!(out, "{comma}\n{{\"file\":{name},")?;
            comma = ",";
            let listed = self.listed(file, chosen);
            let done = match &listed {
                Ok(listed) => {
                    write!(out, "\"datasets\":")?;
                    json(listed, out)
                }
                Err(error) => {
                    let error = yaml::to_json(&Node::text(&error.to_string()));
                    Ok(write!(out, "\"error\":{error}")?)
                }
            };
            write!(out, "}}")?;
            done?;
            listed.map(drop).map_err(Failure::from)
        });
        writeln!(out, "\n]")?;
        done
    }
}

/// Number of datasets whose metadata is searched for units before the first line is printed.
const LOOKED_AT: usize = 10_000;

/// True if any of the first [`LOOKED_AT`] datasets has units.
fn units_are_known(archive: &Archive, numbers: &[usize]) -> bool {
    let has_units =
        |number: &usize| archive.dataset_at(*number).is_ok_and(|it| report::units(it.metadata()).is_some());
    numbers.iter().take(LOOKED_AT).any(has_units)
}

/// Prints the columns before the name.
fn row([kind, shape, length, stored]: &[String; 4], unit: Option<String>, out: &mut Output) -> Done {
    let kind = out.shown(kind);
    write!(out, "{kind:<10} {shape:<16} {length:>12} {stored:>12}  ")?;
    if let Some(unit) = unit {
        let unit = out.shown(&unit);
        write!(out, "{unit:<8}  ")?;
    }
    Ok(())
}

/// The shape of an array, or the numbers of rows and columns of a table.
pub fn shape(described: &Description) -> Option<String> {
    match (&described.array, &described.table) {
        (Some(array), _) => Some(sizes(&array.shape)),
        (_, Some(table)) => Some(format!("({}, {})", table.rows, table.columns.len())),
        _ => None,
    }
}

/// A shape as a Python tuple.
pub fn sizes(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn json(Listed { archive, numbers, links, .. }: &Listed, out: &mut Output) -> Done {
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
