//! The documents are true: README's sessions are executed, the manual page names every option, the pages of the
//! formats are alike and begin with examples that work, each promise names tests that exist, and links lead somewhere.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::kit::*;

fn document(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// The commands of a console block, each with what it prints.
fn session(block: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => *printed += &format!("{line}\n"),
            (None, None) => panic!("the block begins with output: {line}"),
        }
    }
    steps
}

/// What a command of the README prints, in `folder`, with our programs and the tests' Python.
fn shell(command: &str, folder: &Path) -> Outcome {
    let bin = Path::new(PROGRAM).parent().unwrap().display().to_string();
    let python = std::env::var("RAB_TEST_PYTHON").unwrap_or_else(|_| "target/python/bin/python".into());
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join(python);
    let python = python.parent().unwrap().display();
    let path = format!("{bin}:{python}:{}", std::env::var("PATH").unwrap());
    run(Command::new("bash")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", &path)
        .env("XDG_CACHE_HOME", cache())
        .env("LC_ALL", "C.UTF-8"))
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split(before).nth(1).unwrap().split(after).next().unwrap()
}

#[test]
fn the_sessions_of_the_readme() {
    let readme = document("README.md");
    let blocks = readme.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let steps: Vec<_> = blocks.flat_map(session).collect();
    assert!(steps.len() >= 15);
    let work = scratch();
    std::fs::copy(data("readme.rab"), work.path().join("readme.rab")).unwrap();
    for (command, printed) in steps {
        let outcome = shell(&command, work.path());
        assert_eq!((outcome.code, outcome.out.as_str()), (0, printed.as_str()), "{command}: {}", outcome.err);
    }
    for mountpoint in ["weights", "mnt"] {
        assert!(!work.path().join(mountpoint).exists(), "{mountpoint} is still there");
    }
}

#[test]
fn the_picture_of_the_readme_shows_what_is_printed() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/record-session");
    let outcome = shell(&format!("{script:?} --check"), scratch().path());
    assert_eq!(outcome.code, 0, "run scripts/record-session: {}{}", outcome.out, outcome.err);
}

/// The option names in a text: `-x` and `--long-name` at the start of a word.
fn options(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.split(|c: char| !word(c))
        .filter(|w| {
            let name = w.trim_start_matches('-');
            let dashes = w.len() - name.len();
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && (dashes == 2 || (dashes == 1 && name.len() == 1))
        })
        .map(str::to_owned)
        .collect()
}

fn help() -> String {
    run(program().arg("--help")).out
}

/// The options that the list in --help introduces.
fn introduced() -> BTreeSet<String> {
    let lines = help();
    let heads = lines.lines().filter(|line| line.trim_start().starts_with('-') && line.find('-') <= Some(6));
    heads.flat_map(|line| options(line.split("  ").find(|part| part.contains('-')).unwrap_or(""))).collect()
}

#[test]
fn the_manual_page_has_every_option_of_the_help_and_no_other() {
    let page = document("man/rab-mount.1").replace("\\-", "-").replace("\\fB", " ").replace("\\fR", " ");
    let section = page.split(".SH OPTIONS").nth(1).and_then(|rest| rest.split("\n.SH ").next()).unwrap();
    let tagged: Vec<&str> = section.split(".TP\n").skip(1).map(|item| item.lines().next().unwrap()).collect();
    let in_page: BTreeSet<String> = tagged.iter().flat_map(|head| options(head)).collect();
    assert!(introduced().contains("--cache-size") && introduced().len() >= 15, "{:?}", introduced());
    assert_eq!(in_page, introduced());
}

#[test]
fn the_manual_page_is_well_formed() {
    let outcome = try_sh(
        r#"mandoc -T lint -W error "$1""#,
        &[&Path::new(env!("CARGO_MANIFEST_DIR")).join("man/rab-mount.1")],
    );
    assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
}

#[test]
fn exit_codes_are_the_same_in_help_and_manual() {
    let page = document("man/rab-mount.1");
    let status = page.split(".SH EXIT STATUS").nth(1).or(page.split(".SH \"EXIT STATUS\"").nth(1)).unwrap();
    for code in ["0", "1", "2", "3", "10", "11", "12", "20", "21"] {
        assert!(help().contains(&format!("\n{code:>4}  ")), "{code} is not in --help");
        assert!(status.contains(&format!("\n.B {code}\n")), "{code} is not in the manual page");
    }
}

/// In its prose; the sessions are executed.
#[test]
fn every_option_of_the_readme_exists() {
    let readme = document("README.md");
    let lines = readme.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let of_mount = lines.filter(|code| code.starts_with('-') || code.starts_with("rab-mount"));
    let named: BTreeSet<String> = of_mount.flat_map(options).collect();
    assert!(named.len() >= 4, "{named:?}");
    for option in named {
        assert!(introduced().contains(&option), "{option}");
    }
}

/// The pages of docs with promises.
const PROMISES: [&str; 2] = ["docs/semantics.md", "docs/views.md"];

/// The formats that have a page of their own.
const FORMATS: [&str; 9] =
    ["rab", "npz", "rawarray", "ffrecord", "onda", "awkward", "safetensors", "npy", "zip"];

const HEADINGS: [&str; 6] =
    ["What it is", "What you see when mounted", "Views", "Writing", "Limits", "What is not read"];

fn page(format: &str) -> String {
    format!("docs/formats/{format}.md")
}

fn pages() -> Vec<String> {
    PROMISES.iter().map(|path| (*path).to_owned()).chain(FORMATS.map(page)).collect()
}

/// The tests that a text names: `file::test` of tests/mount, `rab/file::test` of tests/rab.
fn tests_in(text: &str) -> Vec<&str> {
    let is_test = |word: &&str| {
        word.contains("::") && word.chars().all(|c| c.is_ascii_lowercase() || "_/:0123456789".contains(c))
    };
    text.split('`').skip(1).step_by(2).filter(is_test).collect()
}

fn exists(test: &str) -> bool {
    let (file, name) = test.split_once("::").unwrap();
    let path = match file.starts_with("rab/") {
        true => format!("tests/{file}.rs"),
        false => format!("tests/mount/{file}.rs"),
    };
    let source = document(&path);
    let is_sample = |line: &str| line.starts_with("samples!(") && line.contains(name);
    source.contains(&format!("fn {name}()")) || source.lines().any(is_sample)
}

/// A promise is an item of a list: its tests are at its end.
#[test]
fn every_promise_names_tests_that_exist() {
    for path in pages() {
        let text = document(&path);
        let text = text.replace("`file::test`", "").replace("`rab/file::test`", "");
        for promise in text.split("\n- ").skip(1) {
            let promise = promise.split("\n#").next().unwrap();
            assert!(!tests_in(promise).is_empty(), "{path}: no test executes: {promise}");
        }
        let named = tests_in(&text);
        assert!(named.len() >= 5, "{path} names {} tests", named.len());
        for test in named {
            assert!(exists(test), "{path}: there is no test {test}");
        }
    }
}

/// Every page of a format has the same sections, and each of them but the first one names a test.
#[test]
fn the_pages_of_the_formats_are_alike() {
    for format in FORMATS {
        let text = document(&page(format));
        let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
        let headings: Vec<&str> = sections.iter().map(|section| section.lines().next().unwrap()).collect();
        assert_eq!(headings, HEADINGS, "{format}");
        for section in sections.iter().skip(1) {
            assert!(!tests_in(section).is_empty(), "{format}: no test executes: {section}");
        }
    }
}

/// The two lines that each page of a format begins with, in a directory with a sample of that format.
#[test]
fn the_examples_of_the_formats() {
    let samples = [
        ("rab", r#"cp rab/readme.rab "$to""#),
        ("npz", r#"cp npz/small.npz "$to""#),
        ("rawarray", r#"cp rawarray/python/f32_2d_3x4.ra "$to"/image.ra"#),
        ("ffrecord", r#"cp ffrecord/variable_50.ffr "$to"/train.ffr"#),
        (
            "onda",
            r#"cp -r onda/samples "$to" && for kind in signal annotation; do
                cp onda/test.onda.$kind.arrow "$to"/run.onda.$kind.arrow; done"#,
        ),
        ("awkward", r#"cp awkward/multi_names.awkd "$to"/events.awkd"#),
        ("safetensors", r#"cp safetensors/types.safetensors "$to"/model.safetensors"#),
        ("npy", r#"cp npy/big_f.npy "$to"/grid.npy"#),
        ("zip", r#"cp zip/plain.zip "$to"/files.zip"#),
    ];
    assert_eq!(samples.map(|(format, _)| format), FORMATS);
    for (format, copy) in samples {
        let text = document(&page(format));
        let example = between(&text, "```sh\n", "```");
        assert_eq!(example.lines().count(), 2, "{format}");
        let work = scratch();
        sh(&format!(r#"to=$1 && cd "$2"/.. && {copy}"#), &[&work.path(), &data("")]);
        let script = format!("trap 'rab-mount -u m' EXIT\nset -e\n{example}");
        let outcome = shell(&script, work.path());
        assert!(outcome.code == 0 && !outcome.out.is_empty(), "{format}: {outcome:?}");
    }
}

/// The anchor that GitHub makes of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

/// Links to files of the repository, and to their sections.
#[test]
fn links_lead_somewhere() {
    for path in ["README.md".to_owned()].into_iter().chain(pages()) {
        let text = document(&path);
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if link.contains("://") {
                continue;
            }
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => Path::new(&path).to_owned(),
                _ => Path::new(&path).parent().unwrap().join(file),
            };
            let target = document(&target.display().to_string());
            let mut headings = target.lines().filter(|line| line.starts_with('#'));
            let is_there = |line: &str| anchor(line.trim_start_matches('#').trim()) == section;
            assert!(section.is_empty() || headings.any(is_there), "{path}: {link} leads nowhere");
        }
    }
}
