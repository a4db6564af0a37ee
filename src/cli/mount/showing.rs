//! Options for how directories and containers are presented: long options, their `-o` names, and the merged result.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::list::parsed;
use crate::cli::reading::{Reading, decoder};
use crate::mirror::Filter;
use crate::mount::config::{DEFAULT_MAX_OPEN, DEFAULT_REFRESH, Showing};
use crate::{Error, Result, view};

// Headings of --help.
const SHOWN: &str = "What is shown";
const DIRECTORIES: &str = "Directories of containers";

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = SHOWN)]
pub struct ShowingOptions {
    #[command(flatten)]
    pub reading: Reading,

    /// List datasets in this form, as NAME.npy for example, instead of as raw bytes
    ///
    /// Datasets that do not have the form stay as they are. All forms are always available below .views/KIND.
    #[arg(help_heading = SHOWN, long = "as", value_name = "KIND", value_parser = PossibleValuesParser::new(view::kinds()))]
    pub kind: Option<String>,

    /// Describe datasets in extended attributes: user.dtype, user.shape, user.order, user.units, user.compression,
    /// user.format and user.checksum
    #[arg(help_heading = SHOWN, long)]
    pub xattr: bool,

    /// Merge the sources' trees into one; of two files with the same name the later source's is shown
    ///
    /// The log names what is hidden when it is met.
    #[arg(help_heading = SHOWN, long)]
    pub union: bool,

    /// Leave out the extension of a container where no other file has the resulting name
    #[arg(help_heading = DIRECTORIES, long)]
    pub strip_ext: bool,

    /// Show containers only, no other files
    #[arg(help_heading = DIRECTORIES, long)]
    pub only_containers: bool,

    /// Show N levels; 1 is the files of the directory itself
    #[arg(help_heading = DIRECTORIES, long, value_name = "N", value_parser = depth)]
    pub max_depth: Option<u32>,

    /// Show only files that match (may be given again)
    ///
    /// A pattern without a slash is compared with the name of the file, one with a slash with its path below SOURCE; *
    /// does not match a slash, ** does.
    #[arg(help_heading = DIRECTORIES, long, value_name = "GLOB")]
    pub include: Vec<String>,

    /// Hide files and directories that match (may be given again)
    #[arg(help_heading = DIRECTORIES, long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// How many containers and files are open at a time [default: 512]
    ///
    /// The least recently used one is closed, and reopened when it is needed.
    #[arg(help_heading = DIRECTORIES, long, value_name = "N", value_parser = count)]
    pub max_open: Option<usize>,

    /// How long changes on disk may take to show [default: 5]
    ///
    /// With 0 every lookup asks the disk.
    #[arg(help_heading = DIRECTORIES, long, value_name = "SECONDS", value_parser = seconds)]
    pub refresh: Option<Duration>,
}

impl ShowingOptions {
    /// Applies an item of the `-o` list; None if it is not one of these options.
    pub fn apply(&mut self, key: &str, name: &str, value: Option<OsString>) -> Option<Result<()>> {
        let flag = match name {
            "union" => Some(&mut self.union),
            "xattr" => Some(&mut self.xattr),
            "strip_ext" => Some(&mut self.strip_ext),
            "no_verify" => Some(&mut self.reading.no_verify),
            "only_containers" => Some(&mut self.only_containers),
            "follow_outside" => Some(&mut self.reading.follow_outside),
            _ => None,
        };
        if let Some(flag) = flag {
            *flag = true;
            let problem = || Err(Error::Usage(format!("-o {key} takes no value")));
            return Some(if value.is_some() { problem() } else { Ok(()) });
        }
        let text = |text: &str| Ok(text.to_owned());
        Some(match name {
            "format" => parsed(key, value, text).map(|name| self.reading.format = Some(name)),
            "dtype" => parsed(key, value, text).map(|dtype| self.reading.dtype = Some(dtype)),
            "as" => parsed(key, value, text).map(|kind| self.kind = Some(kind)),
            "decoder" => parsed(key, value, decoder).map(|decoder| self.reading.decoder.push(decoder)),
            "allow_url" => parsed(key, value, text).map(|prefix| self.reading.allow_url.push(prefix)),
            "include" => parsed(key, value, text).map(|pattern| self.include.push(pattern)),
            "exclude" => parsed(key, value, text).map(|pattern| self.exclude.push(pattern)),
            "max_depth" => parsed(key, value, depth).map(|depth| self.max_depth = Some(depth)),
            "max_open" => parsed(key, value, count).map(|count| self.max_open = Some(count)),
            "refresh" => parsed(key, value, seconds).map(|time| self.refresh = Some(time)),
            _ => return None,
        })
    }

    /// Fills in unset options from `list`.
    pub fn or(self, list: ShowingOptions) -> ShowingOptions {
        ShowingOptions {
            reading: self.reading.or(list.reading),
            kind: self.kind.or(list.kind),
            xattr: self.xattr || list.xattr,
            union: self.union || list.union,
            strip_ext: self.strip_ext || list.strip_ext,
            only_containers: self.only_containers || list.only_containers,
            max_depth: self.max_depth.or(list.max_depth),
            include: [list.include, self.include].concat(),
            exclude: [list.exclude, self.exclude].concat(),
            max_open: self.max_open.or(list.max_open),
            refresh: self.refresh.or(list.refresh),
        }
    }

    pub fn resolve(self) -> Result<Showing> {
        if let Some(name) = &self.reading.format {
            crate::format::named(name)?;
        }
        if let Some(kind) = &self.kind {
            view::named(kind)?;
        }
        Filter::new(&self.include, &self.exclude)?;
        Ok(Showing {
            formats: self.reading.options(),
            kind: self.kind,
            xattr: self.xattr,
            union: self.union,
            strip_ext: self.strip_ext,
            only_containers: self.only_containers,
            follow_outside: self.reading.follow_outside,
            max_depth: self.max_depth,
            include: self.include,
            exclude: self.exclude,
            max_open: self.max_open.unwrap_or(DEFAULT_MAX_OPEN),
            refresh: self.refresh.unwrap_or(DEFAULT_REFRESH),
        })
    }
}

fn depth(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|depth| *depth > 0).ok_or_else(|| "a number of levels, at least 1".into())
}

fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "a number of files, at least 1".into())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "a number of seconds such as 5, 0.5 or 0".into())
}
