//! Completion in shells. `COMPLETE=bash rab` prints what a shell has to source; that asks the program again,
//! with COMPLETE set, what may stand at the cursor. clap knows verbs, options and paths, `names` the names of datasets.
//!
//! The scripts are ours and not clap_complete's, whose bash one neither quotes what it inserts nor understands
//! what is quoted. bash and fish hand over the line as it was typed, and `line` takes it apart; zsh the words.

mod line;
mod names;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use clap::{Command, CommandFactory};
use clap_complete::engine::{self, CompletionCandidate};
use clap_complete::env::{CompleteEnv, EnvCompleter, Shells};

pub use names::dataset_names;

/// Answers a shell and ends the process, if it is one that asks.
pub fn answer<C: CommandFactory>() {
    let shells = [shell("bash"), shell("zsh"), shell("fish")];
    let shells: Vec<&dyn EnvCompleter> = shells.iter().map(|shell| shell as &dyn EnvCompleter).collect();
    // With another COMPLETE, which means nothing to us, the error says which shells are known.
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

/// What is typed before the word at the cursor; the completers of clap_complete are told only that word.
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
        let mut words = match self.name {
            "zsh" => arguments.clone(),
            _ => line::words(arguments.first().map_or(b"", |line| line.as_bytes()), home().as_deref()),
        };
        let Some(current) = words.last().cloned() else { return Ok(()) };
        let _ = BEFORE.set(words.drain(..words.len() - 1).collect());
        let mut words = BEFORE.get().cloned().unwrap_or_default();
        words.push(current.clone());
        let index = words.len() - 1;
        let found = engine::complete(command, words, index, directory)?;
        let found = without_options(&current, found);
        let kept = match (self.name, arguments.get(1)) {
            ("bash", Some(raw)) => before_part(current.as_bytes(), raw.as_bytes()),
            _ => 0,
        };
        for candidate in found {
            out.write_all(candidate.get_value().as_bytes().get(kept..).unwrap_or_default())?;
            if let (false, Some(help)) = (self.name == "bash", candidate.get_help()) {
                write!(out, "\t{}", help.to_string().lines().next().unwrap_or_default())?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// In bash a word also ends at a colon, and readline replaces only the part behind it, which is `raw`: how much
/// is before it.
fn before_part(word: &[u8], raw: &[u8]) -> usize {
    // Behind an open quote it is as it stands, elsewhere with its backslashes.
    let part = if word.ends_with(raw) { raw.len() } else { line::unquoted(raw).len() };
    word.len().saturating_sub(part)
}

fn is_ordinary(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte)
}

fn home() -> Option<OsString> {
    env::var_os("HOME")
}

/// Options are offered behind a dash, or where nothing else can stand.
fn without_options(current: &OsStr, mut found: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let is_option = |candidate: &CompletionCandidate| candidate.get_value().as_bytes().starts_with(b"-");
    if !current.as_bytes().starts_with(b"-") && !found.iter().all(is_option) {
        found.retain(|candidate| !is_option(candidate));
    }
    found
}
