//! `rab diff`: compares two containers and prints one line for each difference.

use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;

use super::ls::sizes;
use super::output::{Done, Failure, Output};
use super::progress::Progress;
use super::{complain, diff_json, numbers, opaque, select};
use crate::cli::complete::dataset_names;
use crate::cli::reading::{READING, Reading};
use crate::cli::values;
use crate::diff::{self, ColumnDifference, DiffCell, Difference, Finding, Options, Pair, Side, Values};
use crate::{Archive, Error, Node, Result, Scalar, yaml};

const DIFFERENT: u8 = 1;
/// Maximum length of a text in a line of output; longer ones are truncated.
const SHOWN: usize = 60;

const HELP: &str = "\
Compares names, types, shapes, metadata and values, and prints a line for each difference; the exit code is \
then 1. Byte order, C or F order, compression and the order of the datasets are ignored. NaN equals NaN.

Example:
  rab diff run7.rab copy.npz --rtol 1e-6";

/// Compare two containers, of the same or different formats
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Diff {
    /// A container
    #[arg(value_name = "A")]
    first: PathBuf,

    /// The other container
    #[arg(value_name = "B")]
    second: PathBuf,

    /// Names of datasets, or globs [default: all]
    #[arg(add = dataset_names())]
    glob: Vec<OsString>,

    /// Relative tolerance: numbers a and b are equal if they differ by at most atol + rtol * |b| [default: 0]
    #[arg(long, value_name = "X", value_parser = values::tolerance, default_value = "0", hide_default_value = true)]
    rtol: f64,

    /// Absolute tolerance [default: 0]
    #[arg(long, value_name = "X", value_parser = values::tolerance, default_value = "0", hide_default_value = true)]
    atol: f64,

    /// Ignore metadata
    #[arg(long)]
    no_meta: bool,

    /// Print a JSON list with an object for each difference
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing, and stop at the first difference
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten, next_help_heading = READING)]
    reading: Reading,
}

impl Diff {
    pub fn run(&self, out: &mut Output) -> Done {
        let archives = [self.reading.open(&self.first)?, self.reading.open(&self.second)?];
        let [first, second] = &archives;
        let chosen = self.chosen(first, second)?;
        let [a, b] = [0, 1].map(|side| select::stored_len(&archives[side], Some(&chosen[side])));
        let progress = Progress::new(a.saturating_add(b));
        let options = Options { rtol: self.rtol, atol: self.atol, meta: !self.no_meta };
        let (mut code, mut printed, mut objects) = (0, Ok(()), 0);
        if self.json {
            write!(out, "[")?;
        }
        let _ = diff::diff(
            &Pair { archives: [first, second], chosen },
            options,
            &diff::Watch { passed: &|bytes| progress.add(bytes), skipped: &|bytes| progress.skip(bytes) },
            &mut |found| {
                if let Finding::Failed(_, error) = &found {
                    // In the exit code, an error takes precedence over differences.
                    code = code.max(error.exit_code());
                    progress.hidden(|| complain(error));
                    if !self.json {
                        return ControlFlow::Continue(());
                    }
                }
                code = code.max(DIFFERENT);
                if self.quiet {
                    return ControlFlow::Break(());
                }
                printed = progress.hidden(|| match self.json {
                    true => object(&found, &mut objects, out),
                    false => self.print(&found, out),
                });
                if printed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        drop(progress);
        printed?;
        if self.json {
            writeln!(out, "\n]")?;
        }
        if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
    }

    /// The selected datasets. A pattern may match nothing in one of the containers.
    fn chosen(&self, first: &Archive, second: &Archive) -> Result<[Vec<usize>; 2]> {
        if self.glob.is_empty() {
            return Ok([(0..first.len()).collect(), (0..second.len()).collect()]);
        }
        let mut chosen = [Vec::new(), Vec::new()];
        for glob in &self.glob {
            match (select::select(first, glob), select::select(second, glob)) {
                (Err(error @ Error::NoDataset { .. }), Err(Error::NoDataset { .. })) => return Err(error),
                (a, b) => {
                    for (numbers, more) in chosen.iter_mut().zip([a, b]) {
                        match more {
                            Ok(more) => numbers.extend(more),
                            Err(Error::NoDataset { .. }) => {}
                            Err(error) => return Err(error),
                        }
                    }
                }
            }
        }
        for numbers in &mut chosen {
            numbers.sort_unstable();
            numbers.dedup();
        }
        Ok(chosen)
    }

    fn print(&self, found: &Finding, out: &mut Output) -> std::io::Result<()> {
        let line = match found {
            Finding::Only(side, name) => format!("only in {}: {name}", self.file(*side)),
            Finding::Different(name, difference) => format!("{name}: {}", self.described(difference)),
            Finding::Failed(..) => return Ok(()),
        };
        let line = out.highlighted(&crate::report::escaped(&line));
        writeln!(out, "{line}").and_then(|()| out.flush())
    }

    fn file(&self, side: Side) -> String {
        let file = if side == Side::First { &self.first } else { &self.second };
        file.display().to_string()
    }

    fn described(&self, difference: &Difference) -> String {
        match difference {
            Difference::Type(a, b) => format!("type: {a} -> {b}"),
            Difference::Shape(a, b) => format!("shape: {} -> {}", sizes(a), sizes(b)),
            Difference::Metadata(key, a, b) => {
                format!("metadata: {}", keyed(key, a.as_deref(), b.as_deref()))
            }
            Difference::Object(key, a, b) => format!("object: {}", keyed(key, a.as_deref(), b.as_deref())),
            Difference::Values(values) => said_of(values),
            Difference::Byte(at, a, b) => {
                format!("bytes: the first that differs is {at}: 0x{a:02x} -> 0x{b:02x}")
            }
            Difference::Length(a, b) => format!("length: {a} -> {b}"),
            Difference::Column(name, difference) => format!(
                "column {name}: {}",
                match difference {
                    ColumnDifference::Only(side) => format!("only in {}", self.file(*side)),
                    ColumnDifference::Type(a, b) => format!("type: {a} -> {b}"),
                    ColumnDifference::Values(values) => said_of(values),
                }
            ),
        }
    }
}

/// Writes the next object of the list.
fn object(found: &Finding, before: &mut u64, out: &mut Output) -> std::io::Result<()> {
    let comma = if *before > 0 { "," } else { "" };
    *before += 1;
    write!(out, "{comma}\n{}", yaml::to_json(&diff_json::object(found)))
}

fn said_of(values: &Values) -> String {
    let Values { differing, compared, first, cells: (a, b), largest, unit } = values;
    let space = if unit.is_empty() { "" } else { " " };
    let largest =
        largest.map(distance).map_or(String::new(), |far| format!(", largest difference {far}{space}{unit}"));
    let index = first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    format!("values: {differing} of {compared} differ{largest}, first [{index}]: {} -> {}", cell(a), cell(b))
}

fn distance(distance: Scalar) -> String {
    match distance {
        Scalar::Int(whole) => whole.to_string(),
        Scalar::Big(whole) => whole.to_string(),
        other => other.parts().0.to_string(),
    }
}

fn cell(cell: &DiffCell) -> String {
    match cell {
        DiffCell::Number(number) => numbers::alone(*number),
        DiffCell::Time(text) => text.clone(),
        DiffCell::Text(text) => shortened(format!("{text:?}")),
        DiffCell::Item(item, meaning) => shortened(opaque::text(item, meaning.as_deref())),
    }
}

fn keyed(key: &str, a: Option<&Node>, b: Option<&Node>) -> String {
    let shown = |node: Option<&Node>| {
        node.map_or("nothing".into(), |node| shortened(yaml::to_json(node).to_string()))
    };
    let key = if key.is_empty() { String::new() } else { format!("{}: ", shortened(key.to_owned())) };
    format!("{key}{} -> {}", shown(a), shown(b))
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
