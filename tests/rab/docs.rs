//! The manual page names every verb and option of --help, and no other.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::RAB;
use crate::kit::{PROGRAM, data, run, scratch, try_sh};

fn document(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

fn help(verb: &[&str]) -> String {
    run(Command::new(RAB).args(verb).arg("--help")).out
}

/// The option names in a text: `-x` and `--long-name` at the start of a word.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_option = |word: &&str| {
        let name = word.trim_start_matches('-');
        let dashes = word.len() - name.len();
        name.starts_with(|c: char| c.is_ascii_alphabetic()) && (dashes == 2 || dashes == 1 && name.len() == 1)
    };
    words.filter(is_option).map(str::to_owned).collect()
}

/// The options that a help text introduces, but for those that all verbs have.
fn introduced(help: &str) -> BTreeSet<String> {
    let heads = help.lines().filter(|line| line.trim_start().starts_with('-') && line.find('-') <= Some(6));
    let heads = heads.map(|line| line.trim_start().split("  ").next().unwrap_or(""));
    let found: BTreeSet<String> = heads.flat_map(options).collect();
    without_common(found)
}

fn without_common(mut options: BTreeSet<String>) -> BTreeSet<String> {
    for common in ["-h", "--help", "-V", "--version"] {
        options.remove(common);
    }
    options
}

fn verbs() -> Vec<String> {
    let help = help(&[]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs = list.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    verbs.filter(|verb| verb != "help").collect()
}

#[test]
fn the_manual_page_has_every_verb_and_option_and_no_other() {
    let page = document("man/rab.1").replace("\\-", "-");
    let sections: Vec<&str> =
        page.split("\n.SS ").skip(1).map(|part| part.split("\n.SH ").next().unwrap()).collect();
    let named: Vec<&str> =
        sections.iter().map(|section| section.split_whitespace().next().unwrap()).collect();
    assert_eq!(named, verbs());
    let mut count = 0;
    for (verb, section) in named.iter().zip(sections).filter(|(verb, _)| **verb != "mount") {
        let heads = section.split(".TP\n").skip(1).map(|item| item.lines().next().unwrap());
        let in_page = without_common(heads.flat_map(options).collect());
        assert_eq!(in_page, introduced(&help(&[verb])), "{verb}");
        count += in_page.len();
    }
    assert!(count >= 9);
}

#[test]
fn the_manual_page_is_well_formed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("man/rab.1");
    let said = try_sh(r#"mandoc -T lint -W error "$1""#, &[&page]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}

#[test]
fn exit_codes_are_the_same_in_help_and_manual() {
    let page = document("man/rab.1");
    let status = page.split(".SH EXIT STATUS").nth(1).unwrap();
    for code in ["0", "1", "2", "3", "10", "11", "12", "20", "21"] {
        assert!(help(&[]).contains(&format!("\n{code:>4}  ")), "{code} is not in --help");
        assert!(status.contains(&format!("\n.B {code}\n")), "{code} is not in the manual page");
    }
}

/// What an error says when nothing else fits, behind a colon.
fn listed(arguments: &[&str]) -> Vec<String> {
    let said = run(Command::new(RAB).args(arguments)).err;
    said.trim().rsplit(": ").next().unwrap().split(", ").map(str::to_owned).collect()
}

#[test]
fn every_format_is_named_wherever_formats_are() {
    let formats = listed(&["ls", "--format", "none", data("readme.rab").to_str().unwrap()]);
    assert!(formats.len() >= 9 && formats.contains(&"safetensors".to_owned()), "{formats:?}");
    let list = formats.join(", ");
    let mount = run(Command::new(PROGRAM).arg("--help")).out;
    for (what, text) in [
        ("rab --help", help(&[])),
        ("rab ls --help", help(&["ls"])),
        ("rab-mount --help", mount),
        ("man/rab.1", document("man/rab.1")),
        ("man/rab-mount.1", document("man/rab-mount.1")),
        ("Cargo.toml", document("Cargo.toml")),
    ] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&list), "{what} does not have {list:?}");
    }
    let readme = document("README.md");
    let table = readme
        .split("## Formats")
        .nth(1)
        .unwrap()
        .split(
            "

",
        )
        .nth(1)
        .unwrap();
    let missing = formats.iter().find(|format| !table.contains(&format!("| [{format}")));
    assert_eq!(missing, None, "README's table has all formats");
}

#[test]
fn every_extension_that_is_written_is_named() {
    let dir = scratch();
    let input = dir.path().join("x");
    std::fs::write(&input, "").unwrap();
    let (input, out) = (input.to_str().unwrap(), dir.path().join("x.none"));
    let extensions = listed(&["pack", out.to_str().unwrap(), input]);
    assert!(extensions.len() >= 8 && extensions.contains(&".npy".to_owned()), "{extensions:?}");
    let page = document("man/rab.1");
    let section =
        |verb: &str| page.split(&format!("\n.SS {verb} ")).nth(1).unwrap().split("\n.SS ").next().unwrap();
    for extension in extensions {
        for verb in ["pack", "convert"] {
            assert!(section(verb).contains(&extension), "{extension} is not in man/rab.1, {verb}");
        }
    }
}
