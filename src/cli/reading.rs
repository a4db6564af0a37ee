//! What a user may say about containers that are read: the same words for every verb and for mounts.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::source::Policy;
use crate::{Archive, Options, Result, format};

/// Of verbs that look into one container.
#[derive(Args, Clone, Debug, Default)]
pub struct Opening {
    #[command(flatten)]
    reading: Reading,

    /// Another file of the same container (FFRecord's shards), behind those before; may be given again
    ///
    /// Of a directory all its .ffr files, or Onda's tables, are meant, by their names; a note says so where rab-mount
    /// shows the directory as it is, because of something else in it.
    #[arg(long, value_name = "FILE")]
    and: Vec<PathBuf>,
}

impl Opening {
    pub fn options(&self) -> Options {
        self.reading.options()
    }

    /// The other files.
    pub fn and(&self) -> &[PathBuf] {
        &self.and
    }

    pub fn open(&self, path: &Path) -> Result<Archive> {
        if self.and.is_empty() {
            return self.reading.open(path);
        }
        let files: Vec<&Path> = [path].into_iter().chain(self.and.iter().map(PathBuf::as_path)).collect();
        Archive::open_files(&files, self.reading.options())
    }
}

#[derive(Args, Clone, Debug, Default)]
pub struct Reading {
    /// The container's format, which is then not looked for: Awkward, FFRecord, NPZ, Onda, RAB, RawArray
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(formats))]
    pub format: Option<String>,

    /// What elements are where the container does not tell (RawArray's user structs): 'S12,u4,8f8'
    ///
    /// NumPy's comma syntax: types with their sizes in bytes (b1, i1 to i8, u1 to u8, f2 to f8, c8, c16), texts (S12
    /// of bytes, U12 of characters) and V12 for anything else, each with a number before it if it is repeated. Byte
    /// orders are < and >; without one it is the container's.
    #[arg(long, value_name = "TYPE")]
    pub dtype: Option<String>,

    /// Do not compare checksums when data is read (FFRecord's, of each record)
    ///
    /// What is not right is then handed out as it is.
    #[arg(long)]
    pub no_verify: bool,

    /// Follow what leads out of the directory: symbolic links in a directory, and files that a container names
    ///
    /// Links that stay inside are followed always, unless they lead to a directory that they lie in. What is not
    /// followed is shown as a link. Of a container whose data is in other files (Onda), those beside it and below are
    /// read always; only regular files are.
    #[arg(long)]
    pub follow_outside: bool,

    /// Decode data of this format (Onda's file_format) with a program: 'flac=flac -dcs -' (may be given again)
    ///
    /// The program gets the whole file on its standard input and writes the samples, interleaved and little-endian, to its
    /// standard output; it is run without a shell, once for each file, for ten minutes at most.
    #[arg(long, value_name = "FORMAT=COMMAND", value_parser = decoder)]
    pub decoder: Vec<(String, String)>,
}

fn formats() -> Vec<CompletionCandidate> {
    format::names().map(CompletionCandidate::new).collect()
}

/// A format's name and a command.
pub fn decoder(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((format, command)) if !format.is_empty() && !command.trim().is_empty() => {
            Ok((format.to_owned(), command.to_owned()))
        }
        _ => Err("a format and a command such as 'flac=flac -dcs -'".into()),
    }
}

impl Reading {
    pub fn options(&self) -> Options {
        let policy = Policy { follow_outside: self.follow_outside, mountpoint: None };
        Options {
            format: self.format.clone(),
            dtype: self.dtype.clone(),
            no_verify: self.no_verify,
            policy,
            decoders: self.decoder.clone(),
        }
    }

    pub fn open(&self, path: &Path) -> Result<Archive> {
        let archive = Archive::open_with(path, self.options())?;
        archive.note().iter().for_each(|note| super::rab::note(note));
        Ok(archive)
    }

    /// What is not said here may be said there.
    pub fn or(self, other: Reading) -> Reading {
        Reading {
            format: self.format.or(other.format),
            dtype: self.dtype.or(other.dtype),
            no_verify: self.no_verify || other.no_verify,
            follow_outside: self.follow_outside || other.follow_outside,
            decoder: [other.decoder, self.decoder].concat(),
        }
    }
}
