//! `rab cat`: prints the bytes of datasets, in bounded memory. A damaged dataset is printed up to the damage.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::Args;

use super::binary::Guarded;
use super::framed::{self, Framed};
use super::output::{Done, Output};
use super::{as_view, select};
use crate::cli::reading::{Opening, READING};
use crate::cli::{complete::dataset_and_table_names, values};
use crate::tree::naming;
use crate::{Archive, Dataset, Error, Result, view};

type Each<'a> = &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>;

const HELP: &str = "\
If a dataset is damaged, what can be decoded before the damage is printed, and the exit code is 12.

Examples:
  rab cat run7.rab notes | less
  rab cat run7.rab data --as npy > data.npy
  rab cat run7.rab --as header";

/// Print the decoded bytes of datasets
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Cat {
    /// The container
    file: PathBuf,

    /// A dataset's name, or a glob for several in a row; may be left out with --records, for all of them, and
    /// with --as, if the container itself has that view
    #[arg(add = dataset_and_table_names(), required_unless_present_any = ["kind", "records"])]
    name: Option<OsString>,

    /// Start at this byte (suffixes K, M, G and T are understood)
    #[arg(long, value_name = "BYTES", value_parser = values::size, default_value = "0", hide_default_value = true)]
    offset: u64,

    /// Print at most this many bytes
    #[arg(long, value_name = "BYTES", value_parser = values::size)]
    length: Option<u64>,

    /// Print the bytes as they are stored, without decoding
    #[arg(long)]
    stored: bool,

    /// Print binary data on a terminal without asking
    #[arg(short, long)]
    force: bool,

    /// Print this view of the dataset instead of its bytes
    #[arg(long = "as", value_name = "KIND", value_parser = as_view::kinds(), conflicts_with = "stored")]
    kind: Option<String>,

    /// Mark where each dataset ends, as rab pack --records reads it: lines, nul, length32 or length64
    #[arg(long, value_enum, value_name = "FRAMING", hide_possible_values = true, conflicts_with_all = ["offset", "length", "stored", "kind"])]
    records: Option<Framed>,

    #[command(flatten, next_help_heading = READING)]
    opening: Opening,
}

impl Cat {
    pub fn run(&self, out: &mut Output) -> Done {
        let archive = self.opening.open(&self.file)?;
        if let Some(framed) = self.records {
            let numbers = match &self.name {
                Some(name) => select::select_linked(&archive, name)?,
                None => (0..archive.len()).collect(),
            };
            let what = self.name.as_ref().map_or(self.file.as_os_str(), |name| name);
            let mut out = Guarded::new(out, &what.to_string_lossy(), None, self.force);
            return numbers
                .into_iter()
                .try_for_each(|number| framed::print(&archive.bytes_at(number)?, framed, &mut out));
        }
        let name = match (&self.name, &self.kind) {
            (None, Some(kind)) => only_derived(&archive, kind)?,
            (name, _) => name.clone().unwrap_or_default(),
        };
        if let Some(kind) = &self.kind
            && let Some(derived) = as_view::derived(&archive, &name, kind)?
        {
            let what = format!("{}.{kind}", naming::printed(name.as_bytes()));
            return self.print((&what, derived.known_len()), |each| derived.pass(each), out);
        }
        let numbers = select::select_linked(&archive, &name);
        if numbers.is_err() && archive.tables().any(|table| table == name.as_bytes()) {
            let (file, name) = (self.file.display(), name.display());
            super::note(&format!("{name} is a table: rab cat {file} {name} --as csv prints it"));
        }
        for number in numbers? {
            let dataset = archive.dataset_at(number)?;
            let len = match &self.kind {
                Some(_) => None,
                None if self.stored => Some(dataset.stored_len()),
                None => dataset.known_len(),
            };
            let name = dataset.description().printed_name();
            self.print((&name, len), |each| self.pass(&dataset, each), out)?;
        }
        Ok(())
    }

    fn pass(&self, dataset: &Dataset<'_>, each: Each<'_>) -> Result<()> {
        match &self.kind {
            Some(kind) => as_view::content(dataset, None, kind)?.pass(each),
            None if self.stored => dataset.stored_pieces(each),
            None => dataset.pieces(each),
        }
    }

    /// Prints the requested part of the bytes that `read` yields; name and length are those of the whole.
    fn print(
        &self,
        (name, len): (&str, Option<u64>),
        read: impl FnOnce(Each<'_>) -> Result<()>,
        out: &mut Output,
    ) -> Done {
        let mut part = Part { skip: self.offset, left: self.length.unwrap_or(u64::MAX) };
        if part.left == 0 {
            return Ok(());
        }
        let len = len.map(|len| len.saturating_sub(part.skip).min(part.left));
        let (mut out, mut written) = (Guarded::new(out, name, len, self.force), Ok(()));
        let read = read(&mut |piece| {
            written = out.write_all(part.take(piece));
            if written.is_err() || part.left == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        written?;
        Ok(read?)
    }
}

/// The name of the container's only derived file of this kind.
fn only_derived(archive: &Archive, kind: &str) -> Result<OsString> {
    let view = view::named(kind)?;
    let all: Vec<_> = archive.derived().of_view(kind, view.extension()).collect();
    match all.as_slice() {
        [(_, name)] => Ok(OsStr::from_bytes(name).to_owned()),
        [] if view.is_derived() => Err(view::missing(view, archive.path(), archive.format())),
        _ => Err(Error::Usage(format!(
            "{}: the name of a dataset is needed: rab ls lists them",
            archive.path().display()
        ))),
    }
}

/// The requested part that has not been printed yet.
struct Part {
    skip: u64,
    left: u64,
}

impl Part {
    /// The requested part of the next piece.
    fn take<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let skipped = self.skip.min(piece.len() as u64);
        self.skip -= skipped;
        let rest = piece.get(skipped as usize..).unwrap_or_default();
        let count = self.left.min(rest.len() as u64);
        self.left -= count;
        rest.get(..count as usize).unwrap_or_default()
    }
}
