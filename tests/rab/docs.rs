//! The manual page has every verb and option of --help, in the same groups and words, and no other.

use std::collections::{BTreeMap, BTreeSet};
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

/// Options with their values, as `-j, --jobs N`, and what is written about each.
type Entries = BTreeMap<String, String>;

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The options under each heading of a verb's help, in the manual page's notation, without --help.
fn headings(help: &str) -> BTreeMap<String, Entries> {
    let mut found: BTreeMap<String, Entries> = BTreeMap::new();
    for section in help.split("\n\n") {
        let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
        let is_head = |line: &str| line.trim_start().starts_with('-') && line.find('-') <= Some(6);
        if !heading.ends_with(':') || !body.lines().next().is_some_and(is_head) {
            continue;
        }
        let entries = found.entry(heading.trim_end_matches(':').to_owned()).or_default();
        let mut last = String::new();
        for line in body.lines() {
            let (head, text) = match is_head(line) {
                true => line.trim().split_once("  ").expect(line),
                false => ("", line),
            };
            if !head.is_empty() {
                last = head.replace(['<', '>'], "");
            }
            *entries.entry(last.clone()).or_default() += &format!(" {text}");
        }
        entries.retain(|head, _| !head.ends_with("--help"));
    }
    let in_the_page = |text: &String| {
        let text = words(text);
        let text = text.split(" [possible values").next().unwrap();
        text.replace('[', "(").replace(']', ")")
    };
    found.values_mut().flat_map(BTreeMap::values_mut).for_each(|text| *text = in_the_page(text));
    found
}

/// The manual page without its markup for fonts.
fn page() -> String {
    let mut page = document("man/rab.1").replace("\\-", "-").replace("\\(aq", "'").replace("\\&", "");
    for font in ["\\fB", "\\fI", "\\fR"] {
        page = page.replace(font, "");
    }
    page
}

/// The sections below a macro (`SH`, `SS`): title and text.
fn sections<'a>(page: &'a str, level: &str) -> Vec<(&'a str, &'a str)> {
    page.split(&format!("\n.{level} ")).skip(1).map(|part| part.split_at(part.find('\n').unwrap())).collect()
}

/// The options that a section of the page describes.
fn entries(section: &str) -> Entries {
    let items = section.split("\n.TP\n").skip(1).filter_map(|item| item.split_once('\n'));
    let own = |text: &str| words(text.split("\n.").next().unwrap());
    items.map(|(head, text)| (head.to_owned(), own(text))).collect()
}

/// The groups of `rab --help` with their verbs.
fn groups() -> Vec<(String, Vec<String>)> {
    let help = help(&[]);
    let groups = help.split("\n\n").skip(2).take_while(|part| !part.starts_with("Options:"));
    let verb = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let group = |part: &str| {
        let (title, verbs) = part.split_once(":\n").expect(part);
        (title.to_uppercase(), verbs.lines().map(verb).collect())
    };
    groups.map(group).collect()
}

#[test]
fn the_manual_page_has_the_verbs_of_the_help_in_the_same_groups() {
    let (page, groups) = (page(), groups());
    assert!(groups.len() >= 5, "{groups:?}");
    let verb = |(title, _): &(&str, &str)| title.split_whitespace().next().unwrap().to_owned();
    let verbs = |text| sections(text, "SS").iter().map(verb).collect::<Vec<_>>();
    let sections = sections(&page, "SH").into_iter().filter(|(title, _)| *title != "COMMON OPTIONS");
    let in_page: Vec<_> = sections.map(|(title, text)| (title.to_owned(), verbs(text))).collect();
    let in_page: Vec<_> = in_page.into_iter().filter(|(_, verbs)| !verbs.is_empty()).collect();
    assert_eq!(in_page, groups);
}

/// What is under these headings is described with the verb, the rest under COMMON OPTIONS.
const OWN: [&str; 2] = ["Options", "FFRecord files"];

#[test]
fn the_manual_page_has_every_option_of_the_help_in_the_same_words_and_no_other() {
    let page = page();
    let common = page.split("\n.SH COMMON OPTIONS").nth(1).unwrap().split("\n.SH ").next().unwrap();
    let mut unused: BTreeSet<String> =
        sections(common, "SS").iter().flat_map(|(_, text)| entries(text).into_keys()).collect();
    unused.retain(|head| !["-h, --help", "-V, --version"].contains(&head.as_str()));
    assert!(unused.len() >= 15, "{unused:?}");
    for verb in groups().into_iter().flat_map(|(_, verbs)| verbs).filter(|verb| verb != "mount") {
        let start = format!("\n.SS {verb} ");
        let section = page.split(&start).nth(1).unwrap().split("\n.S").next().unwrap();
        let (mut own, mut help) = (Entries::new(), headings(&help(&[&verb])));
        OWN.iter().filter_map(|heading| help.remove(*heading)).for_each(|entries| own.extend(entries));
        let described = entries(section);
        assert!(described.keys().eq(own.keys()), "{verb}: {:?}, --help: {:?}", described.keys(), own.keys());
        for (head, text) in &own {
            assert!(
                described[head].starts_with(text),
                "{verb} {head}: {:?}, --help: {text:?}",
                described[head]
            );
        }
        for (title, text) in sections(common, "SS").into_iter().filter(|(title, _)| *title != "Help") {
            let named = verbs_of(text).contains(&verb);
            assert_eq!(named, help.contains_key(title), "{verb}: {title}");
            let (described, mut own) = (entries(text), help.remove(title).unwrap_or_default());
            for (head, text) in &described {
                match own.remove(head) {
                    Some(help) => {
                        assert!(text.starts_with(&help), "{verb} {head}: {text:?}, --help: {help:?}");
                        unused.remove(head);
                    }
                    None => assert!(!named || excepts(text, &verb), "{verb} {head}"),
                }
            }
            assert!(own.is_empty(), "{verb}: not in the page: {own:?}");
        }
        assert!(help.is_empty(), "{verb}: not in the page: {help:?}");
    }
    assert!(unused.is_empty(), "no verb has {unused:?}");
}

/// The verbs in the first sentence of a common section, `For pack and add.`
fn verbs_of(section: &str) -> Vec<String> {
    let sentence =
        section.trim_start().strip_prefix("For ").expect(section).split(['.', ';']).next().unwrap();
    if sentence == "all verbs" {
        return groups().into_iter().flat_map(|(_, verbs)| verbs).collect();
    }
    let is_word = |word: &&str| !["", "and"].contains(word);
    sentence.split([' ', ',', '\n']).filter(is_word).map(str::to_owned).collect()
}

/// `Not for verify and diff.`
fn excepts(text: &str, verb: &str) -> bool {
    text.split("Not for ").nth(1).is_some_and(|verbs| verbs.contains(verb))
}

#[test]
fn every_option_that_the_manual_page_mentions_exists() {
    let verbs = groups().into_iter().flat_map(|(_, verbs)| verbs);
    let known: BTreeSet<String> = verbs
        .flat_map(|verb| options(&help(&[&verb])))
        .chain(["-V", "--version"].map(str::to_owned))
        .collect();
    let unknown: Vec<String> =
        options(&page()).into_iter().filter(|option| !known.contains(option)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// A `.npy` file of float32 zeros of shape (5, 20, 4).
fn npy() -> Vec<u8> {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 20, 4), }";
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes(), &[0; 1600]].concat()
}

#[test]
fn the_examples_of_the_verbs_in_the_manual_page() {
    let dir = scratch();
    let make = "mkdir -p in/sub01 in/draft && cp samples.npy 'in/my array.npy' && cp samples.npy in/data.npy
        cp samples.npy in/sub01 && echo a > in/draft/a && echo hi > notes.txt && cp notes.txt in/notes
        printf 'x,y\\n1,2\\n' > table.csv && rab pack run7.rab in && rab convert run7.rab copy.npz";
    std::fs::write(dir.path().join("samples.npy"), npy()).unwrap();
    let path = format!("{}:{}", Path::new(RAB).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let bash = |line: &str| {
        let outcome = run(Command::new("bash").args(["-c", line]).current_dir(dir.path()).env("PATH", &path));
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
    };
    bash(make);
    let page = page();
    let verbs = page.split("\n.SH COMMON OPTIONS").next().unwrap();
    let lines: Vec<&str> = verbs.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let named = |verb: &String| lines.iter().any(|line| line.starts_with(&format!("rab {verb} ")));
    assert!(groups().iter().flat_map(|(_, verbs)| verbs).all(named), "{lines:?}");
    // A mount would stay, and one example copies from it.
    let is_run = |line: &&&str| !line.starts_with("rab mount") && !line.contains("/mnt/");
    lines.iter().filter(is_run).for_each(|line| bash(&line.replace(" | less", "")));
}

#[test]
fn the_manual_page_is_well_formed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("man/rab.1");
    let outcome = try_sh(r#"mandoc -T lint -W error "$1""#, &[&page]);
    assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
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
    let outcome = run(Command::new(RAB).args(arguments)).err;
    let list = outcome.trim().rsplit(": choose one of ").next().unwrap();
    list.split(", ").map(str::to_owned).collect()
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
