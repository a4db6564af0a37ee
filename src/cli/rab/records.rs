//! `rab pack out.ffr`: writes whole files, or the parts that they are split into, as the records of one or more
//! FFRecord files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::framed::Framed;
use super::progress::Progress;
use super::stop::Stop;
use crate::ffrecord::{Framing, Packing, above_records, pack_files, pack_folder, unpacked};
use crate::{Error, Result};

#[derive(Args)]
pub struct Records {
    /// Split the inputs into records: lines, nul (each ends with a NUL byte), length32 or length64 (each
    /// follows its length, little-endian)
    #[arg(
        long,
        value_enum,
        value_name = "FRAMING",
        hide_possible_values = true,
        conflicts_with = "packed_folder"
    )]
    records: Option<Framed>,

    /// The same as --records=lines
    #[arg(long, conflicts_with_all = ["packed_folder", "records"])]
    lines: bool,

    /// Write a packed folder: the files of one directory, with their names
    #[arg(long)]
    packed_folder: bool,

    /// Write a directory of K files: PART_00000.ffr and so on
    #[arg(long, value_name = "K", conflicts_with = "packed_folder")]
    shards: Option<u32>,
}

impl Records {
    /// True if the output is FFRecord.
    pub fn are_meant(&self, out: &Path) -> bool {
        let is_file = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ffr"));
        is_file || self.framed().is_some() || self.packed_folder || self.is_directory()
    }

    fn framed(&self) -> Option<Framed> {
        self.records.or(self.lines.then_some(Framed::Lines))
    }

    /// True if the output is a directory.
    pub fn is_directory(&self) -> bool {
        self.shards.is_some()
    }

    pub fn pack(&self, out: &Path, inputs: &[PathBuf], force: bool, stop: &Stop) -> Result<()> {
        if inputs.iter().filter(|input| is_stdin(input)).count() > 1 {
            return Err(Error::Usage("standard input (-) is named twice, but can be read only once".into()));
        }
        let (mut len, mut files) = (0, Vec::new());
        for input in inputs {
            for file in self.files(input)? {
                len += self.check(out, &file)?;
                files.push(file);
            }
        }
        let progress = Progress::new(len);
        let mut passed = |bytes| {
            progress.add(bytes);
            stop.go_on()
        };
        if !self.packed_folder {
            let framing = self.framed().map_or(Framing::Whole, Framing::from);
            let packing = Packing { framing, shards: self.shards, force };
            return pack_files(out, &files, &packing, &mut passed).map(drop);
        }
        match files.as_slice() {
            [directory] => pack_folder(out, directory, force, &mut passed).map(drop),
            _ => Err(Error::Usage("--packed-folder takes one directory".into())),
        }
    }

    /// The files to pack for an input: the input itself, or the records in the directory of an unpacked file.
    fn files(&self, input: &Path) -> Result<Vec<PathBuf>> {
        let records = match !self.packed_folder && input.is_dir() {
            true => unpacked(input)?,
            false => None,
        };
        Ok(records.unwrap_or_else(|| vec![input.to_owned()]))
    }

    /// Checks that the input can be packed as requested, and returns its length.
    fn check(&self, out: &Path, input: &Path) -> Result<u64> {
        let refused = |problem: &str| Err(Error::Usage(format!("{}: {problem}", input.display())));
        if is_stdin(input) && !self.packed_folder {
            return match self.framed() {
                Some(_) => Ok(0),
                None => refused("say with --records how standard input is divided into records"),
            };
        }
        let meta = fs::metadata(input).map_err(|cause| Error::open(input, cause))?;
        match (meta.is_dir(), self.packed_folder) {
            (true, false) => {
                if let Some(above) = above_records(input) {
                    let above = above.display();
                    return refused(&format!(
                        "holds the records of an unpacked file: give the directory above it, {above}"
                    ));
                }
                return refused(
                    "is a directory, and not one that rab unpack made from records: --packed-folder packs \
                     it with its names",
                );
            }
            (false, true) => return refused("is not a directory, as --packed-folder needs"),
            _ => {}
        }
        match replaces(out, input) {
            true => {
                refused(&format!("would be replaced by the output {}: give that another name", out.display()))
            }
            false => Ok(meta.len()),
        }
    }
}

/// True if `input` is the file `out`, or is in the directory `out`.
fn replaces(out: &Path, input: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let is_inside = |out: PathBuf| input.canonicalize().is_ok_and(|input| input.starts_with(out));
    id(out).is_some_and(|out| id(input) == Some(out)) || out.canonicalize().is_ok_and(is_inside)
}

fn is_stdin(input: &Path) -> bool {
    input.as_os_str() == "-"
}
