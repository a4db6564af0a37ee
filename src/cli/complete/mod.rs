//! Shell completion. `COMPLETE=bash rab` prints a script for the shell to source, which then calls the program with
//! COMPLETE set to complete the word at the cursor. clap completes verbs, options and paths, `names` dataset names.
//!
//! The scripts are our own because clap_complete's bash script neither quotes what it inserts nor understands quotes.
//! bash and fish pass the line as typed, which `line` splits; zsh passes words. zsh and fish quote what they insert;
//! for bash it is quoted here. Names come from untrusted files, so no shell must ever expand one.

mod line;
mod names;

use std::collections::HashSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use clap::{Command, CommandFactory};
use clap_complete::engine::{self, CompletionCandidate};
use clap_complete::env::{CompleteEnv, EnvCompleter, Shells};

use line::Line;
pub use names::{
    dataset_and_table_names, dataset_names, editable_dataset_names, files_and_dataset_names, metadata_keys,
};

/// Answers a shell's request for completions, if this is one, and exits.
pub fn answer<C: CommandFactory>() {
    let shells = [shell("bash"), shell("zsh"), shell("fish")];
    let shells: Vec<&dyn EnvCompleter> = shells.iter().map(|shell| shell as &dyn EnvCompleter).collect();
    // If COMPLETE names another shell, the error lists those that are supported.
    CompleteEnv::with_factory(C::command).shells(Shells(&shells)).complete();
}

fn shell(name: &'static str) -> Shell {
    let script = match name {
        "bash" => include_str!("bash.sh"),
        "zsh" => include_str!("zsh.sh"),
        _ => include_str!("fish.sh"),
    };
    Shell { name, script }
}

/// The words before the one at the cursor; clap_complete passes only that one to completers.
static BEFORE: OnceLock<Vec<OsString>> = OnceLock::new();

struct Shell {
    name: &'static str,
    script: &'static str,
}

impl EnvCompleter for Shell {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is(&self, name: &str) -> bool {
        name == self.name
    }

    fn write_registration(
        &self,
        _: &str,
        _: &str,
        bin: &str,
        program: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let quoted = format!("'{}'", program.replace('\'', r"'\''"));
        let program = if program.bytes().all(is_ordinary) { program } else { &quoted };
        let script = self.script.replace("FUNCTION", &format!("_{}", bin.replace('-', "_")));
        out.write_all(script.replace("PROGRAM", program).replace("BIN", bin).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        arguments: Vec<OsString>,
        directory: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let line = match self.name {
            "zsh" => Line { words: arguments.clone(), open: None, from_home: false },
            _ => line::read(arguments.first().map_or(b"", |line| line.as_bytes()), home().as_deref()),
        };
        let Some((current, before)) = line.words.split_last() else { return Ok(()) };
        let _ = BEFORE.set(before.to_vec());
        let found = engine::complete(command, line.words.clone(), before.len(), directory)?;
        let found = insertable(without_options(current, found));
        match self.name {
            "bash" => write_for_bash(&line, current, &arguments, &found, out),
            _ => write_with_help(&found, out),
        }
    }
}

fn write_with_help(found: &[CompletionCandidate], out: &mut dyn Write) -> io::Result<()> {
    for candidate in found {
        out.write_all(candidate.get_value().as_bytes())?;
        if let Some(help) = candidate.get_help() {
            write!(out, "\t{}", help.to_string().lines().next().unwrap_or_default())?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// `arguments` are the line, the word that readline will replace, and the type of completion.
fn write_for_bash(
    line: &Line,
    current: &OsStr,
    arguments: &[OsString],
    found: &[CompletionCandidate],
    out: &mut dyn Write,
) -> io::Result<()> {
    let kept = arguments.get(1).map_or(0, |raw| before_part(current.as_bytes(), raw.as_bytes()));
    // A list is displayed rather than inserted, unless it has a single item.
    let is_shown = arguments.get(2).is_some_and(|kind| kind == LIST) && found.len() > 1;
    let values = found.iter().map(|found| found.get_value().as_bytes().get(kept..).unwrap_or_default());
    let values: Vec<&[u8]> = values.collect();
    let quoted = |value: &[u8]| match value.strip_prefix(b"~/").filter(|_| line.from_home && kept == 0) {
        Some(below_home) => [b"~/", &line::quoted(below_home, line.open)[..]].concat(),
        None => line::quoted(value, line.open),
    };
    let insertable: Vec<Vec<u8>> = values.iter().map(|value| quoted(value)).collect();
    let written: Vec<&[u8]> =
        if is_shown { values.clone() } else { insertable.iter().map(Vec::as_slice).collect() };
    let whole = quoted(common(&values));
    // readline inserts the common prefix, which must not end within an escape sequence.
    let is_half = !is_shown && whole.len() < common(&written).len() && common(&written).starts_with(&whole);
    for value in written.iter().copied().chain(is_half.then_some(&*whole)) {
        out.write_all(value)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The longest common prefix.
fn common<'v>(values: &[&'v [u8]]) -> &'v [u8] {
    let Some((first, others)) = values.split_first() else { return &[] };
    let len = |other: &&[u8]| first.iter().zip(*other).take_while(|(a, b)| a == b).count();
    first.get(..others.iter().map(len).min().unwrap_or(first.len())).unwrap_or_default()
}

/// bash's COMP_TYPE for the second TAB: the character code of `?`.
const LIST: &str = "63";

/// Removes duplicates, and file names with characters that do not fit on a line or control the terminal. (For datasets,
/// `names` offers globs instead.)
fn insertable(mut found: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let mut seen = HashSet::new();
    found.retain(|candidate| {
        let value = candidate.get_value();
        !value.to_string_lossy().contains(char::is_control) && seen.insert(value.to_owned())
    });
    found
}

/// The words before the one at the cursor.
pub fn before() -> &'static [OsString] {
    BEFORE.get().map_or(&[], Vec::as_slice)
}

/// In bash a word also ends at a colon, and readline replaces only the part after it, `raw`. Returns the length of the
/// part before.
fn before_part(word: &[u8], raw: &[u8]) -> usize {
    // Within an open quote `raw` is literal, elsewhere it contains backslashes.
    let part = if word.ends_with(raw) { raw.len() } else { line::unquoted(raw).len() };
    word.len().saturating_sub(part)
}

fn is_ordinary(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte)
}

fn home() -> Option<OsString> {
    env::var_os("HOME")
}

/// Offers options only after a dash, or if there is nothing else to offer.
fn without_options(current: &OsStr, mut found: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let is_option = |candidate: &CompletionCandidate| candidate.get_value().as_bytes().starts_with(b"-");
    if !current.as_bytes().starts_with(b"-") && !found.iter().all(is_option) {
        found.retain(|candidate| !is_option(candidate));
    }
    found
}
