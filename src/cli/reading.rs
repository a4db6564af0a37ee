//! The options for reading containers, shared by the verbs and by mounts.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::source::Policy;
use crate::{Archive, Options, Result, format};

/// The heading of these options in the help of a verb.
pub const READING: &str = "Reading containers";

/// For verbs that read one container.
#[derive(Args, Clone, Debug, Default)]
pub struct Opening {
    #[command(flatten)]
    reading: Reading,

    /// Another file of the same container (a shard of FFRecord, a table of Onda), after FILE (may be given again)
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

    /// The element type of data whose container does not record it (RawArray's user structs), in numpy's comma
    /// syntax: 'S12,u4,8f8'
    #[arg(long, value_name = "TYPE")]
    pub dtype: Option<String>,

    /// Do not compare checksums when data is read (FFRecord has one for each record)
    #[arg(long)]
    pub no_verify: bool,

    /// Follow symbolic links that lead out of the directory, and open files elsewhere that a container names (Onda)
    #[arg(long)]
    pub follow_outside: bool,

    /// Fetch files elsewhere that a container names, if their URLs begin like this (may be given again)
    #[arg(long, value_name = "URL")]
    pub allow_url: Vec<String>,

    /// Decode data in a format that is not built in (Onda's file_format) with a program: 'flac=flac -dcs -' (may be
    /// given again)
    #[arg(long, value_name = "FORMAT=COMMAND", value_parser = decoder)]
    pub decoder: Vec<(String, String)>,
}

fn format_help() -> String {
    format!("Read the container as this format instead of detecting it: {}", format::known())
}

fn formats() -> Vec<CompletionCandidate> {
    format::names().map(CompletionCandidate::new).collect()
}

/// Parses FORMAT=COMMAND.
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
        let policy = Policy {
            follow_outside: self.follow_outside,
            allowed_urls: self.allow_url.clone(),
            mountpoint: None,
        };
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

    /// Fills in unset options from `other`.
    pub fn or(self, other: Reading) -> Reading {
        Reading {
            format: self.format.or(other.format),
            dtype: self.dtype.or(other.dtype),
            no_verify: self.no_verify || other.no_verify,
            follow_outside: self.follow_outside || other.follow_outside,
            allow_url: [other.allow_url, self.allow_url].concat(),
            decoder: [other.decoder, self.decoder].concat(),
        }
    }
}
