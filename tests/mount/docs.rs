//! The documents tell the truth: README's session is executed, the manual page names every option, and each
//! promise of docs/semantics.md names tests that exist.

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
fn shell(command: &str, folder: &Path) -> Said {
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

/// A line that begins with an exclamation mark is one for the shell.
#[test]
fn the_notebook_of_the_readme() {
    let readme = document("README.md");
    let (cell, printed) = (between(&readme, "```python\n", "```"), between(&readme, "```text\n", "```"));
    let python = cell.lines().map(|line| match line.strip_prefix('!') {
        Some(command) => format!("subprocess.run({command:?}, shell=True, check=True)\n"),
        None => format!("{line}\n"),
    });
    let work = scratch();
    std::fs::copy(data("readme.rab"), work.path().join("readme.rab")).unwrap();
    std::fs::write(work.path().join("cell.py"), format!("import subprocess\n{}", python.collect::<String>()))
        .unwrap();
    let said = shell("python cell.py; code=$?; rab-mount -u readme && exit $code", work.path());
    assert_eq!((said.code, said.out.as_str()), (0, printed), "{}", said.err);
    assert_eq!(cell.lines().count(), 5);
}

#[test]
fn the_sessions_of_the_readme() {
    let readme = document("README.md");
    let blocks = readme.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let steps: Vec<_> = blocks.filter(|block| block.starts_with("$ rab-mount")).flat_map(session).collect();
    assert!(steps.len() >= 9);
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    std::fs::copy(data("readme.rab"), at("readme.rab")).unwrap();
    std::fs::create_dir_all(at("data/run7")).unwrap();
    std::fs::copy(data("readme.rab"), at("data/run7/readme.rab")).unwrap();
    std::fs::write(at("data/notes.txt"), "notes").unwrap();
    for (command, printed) in steps {
        // `cd x && ...` is one step of a reader's shell, and does not outlive it here.
        let said = shell(&command, work.path());
        assert_eq!((said.code, said.out.as_str()), (0, printed.as_str()), "{command}: {}", said.err);
    }
    assert_eq!(names(work.path()), ["data", "readme.rab"]);
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
    let said = try_sh(
        r#"mandoc -T lint -W error "$1""#,
        &[&Path::new(env!("CARGO_MANIFEST_DIR")).join("man/rab-mount.1")],
    );
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}

#[test]
fn exit_codes_are_the_same_in_help_manual_and_readme() {
    let (page, readme) = (document("man/rab-mount.1"), document("README.md"));
    let status = page.split(".SH EXIT STATUS").nth(1).or(page.split(".SH \"EXIT STATUS\"").nth(1)).unwrap();
    let line = readme.split("Exit codes:").nth(1).unwrap().split("\n\n").next().unwrap();
    for code in ["0", "1", "2", "3", "10", "11", "12", "20", "21"] {
        assert!(help().contains(&format!("\n{code:>4}  ")), "{code} is not in --help");
        assert!(status.contains(&format!("\n.B {code}\n")), "{code} is not in the manual page");
        assert!(line.contains(&format!(" {code} ")), "{code} is not in README.md");
    }
}

#[test]
fn every_option_of_the_readme_exists() {
    let readme = document("README.md");
    let table = readme.split("| option | |").nth(1).unwrap().split("\n\n").next().unwrap();
    for option in options(table) {
        assert!(introduced().contains(&option), "{option}");
    }
}

#[test]
fn every_promise_names_tests_that_exist() {
    let text = document("docs/semantics.md");
    let promises: Vec<&str> = text.split("\n- ").skip(1).collect();
    assert!(promises.len() > 10);
    for promise in promises {
        let named: Vec<&str> = promise.split('`').filter(|word| word.contains("::")).collect();
        assert!(!named.is_empty(), "no test executes: {promise}");
        for test in named {
            let (file, name) = test.split_once("::").unwrap();
            let source = document(&format!("tests/mount/{file}.rs"));
            let sample = source.lines().any(|line| line.starts_with("samples!(") && line.contains(name));
            assert!(sample || source.contains(&format!("fn {name}()")), "there is no test {test}");
        }
    }
}
