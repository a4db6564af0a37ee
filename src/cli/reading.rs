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
    #[arg(long, value_name = "NAME", help = format_help(), add = ArgValueCandidates::new(formats))]
    pub format: Option<String>,

    /// The element type of data whose container does not record it (user structs of RawArray): 'S12,u4,8f8'
    ///
    /// numpy's comma syntax: types with their size in bytes (b1, i1 to i8, u1 to u8, f2 to f8, c8, c16), text (S12 for
    /// bytes, U12 for characters) and V12 for anything else, each with an optional count in front. Byte orders are <
    /// and >; without one it is the container's.
    #[arg(long, value_name = "TYPE")]
    pub dtype: Option<String>,

    /// Do not compare checksums when data is read (FFRecord has one for each record)
    ///
    /// Damaged bytes are then returned as they are.
    #[arg(long)]
    pub no_verify: bool,

    /// Follow symbolic links that lead out of the directory, and open files elsewhere that a container names (Onda)
    ///
    /// Without it only what lies in the directory is opened; links that stay inside are always followed.
    #[arg(long)]
    pub follow_outside: bool,

    /// Decode data in a format that is not built in (Onda's file_format) with a program: 'flac=flac -dcs -' (may be
    /// given again)
    ///
    /// The program gets the whole file on standard input and writes the samples, interleaved and little-endian, to
    /// standard output. It is run without a shell, once for each file, for at most ten minutes.
    #[arg(long, value_name = "FORMAT=COMMAND", value_parser = decoder)]
    pub decoder: Vec<(String, String)>,
}

fn format_help() -> String {
    format!("Read the container as this format instead of detecting it: {}", format::known())
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
