//! Completion in real shells: what each would offer for a line.

use std::path::Path;
use std::process::Command;

use rab::Writer;

use crate::RAB;
use crate::kit::{Said, data, run, scratch};

/// Runs a script in a directory that has readme.rab, names.rab and `my files.rab`.
fn in_shell(shell: &str, arguments: &[&str]) -> Said {
    let work = scratch();
    for (sample, file) in [("readme", "readme.rab"), ("names", "names.rab"), ("readme", "my files.rab")] {
        std::fs::copy(data(&format!("{sample}.rab")), work.path().join(file)).unwrap();
    }
    let mut writer = Writer::create(work.path().join("many.rab")).unwrap();
    for number in 0..2000 {
        writer.add(format!("sub{:02}/x{number}", number / 100)).text("").unwrap();
    }
    writer.finish().unwrap();
    let path = format!("{}:{}", Path::new(RAB).parent().unwrap().display(), std::env::var("PATH").unwrap());
    run(Command::new(shell).args(arguments).current_dir(&work).env("PATH", &path).env("HOME", work.path()))
}

fn lines(said: &Said) -> Vec<&str> {
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    said.out.lines().collect()
}

/// As readline calls it; `part` is what it takes for the word at the cursor.
fn bash(line: &str, part: &str) -> Vec<String> {
    let name = line.split(' ').next().unwrap();
    let function = format!("_{}", name.replace('-', "_"));
    let script = r#"source <(COMPLETE=bash "$1")
        compopt() { :; }
        COMP_LINE=$3 COMP_POINT=$(printf %s "$3" | wc -c); "$2" "$1" "$4"; printf '%s\n' "${COMPREPLY[@]}""#;
    let said = in_shell("bash", &["--norc", "-c", script, "bash", name, &function, line, part]);
    lines(&said).into_iter().map(str::to_owned).collect()
}

#[test]
fn verbs_options_and_files_in_bash() {
    assert_eq!(bash("rab ver", "ver"), ["verify"]);
    assert!(bash("rab ", "").starts_with(&["ls".into(), "info".into()]));
    assert_eq!(bash("rab cat --le", "--le"), ["--length"]);
    assert_eq!(bash("rab get --as n", "n"), ["npy"]);
    assert_eq!(bash("rab cat na", "na"), ["names.rab"]);
    assert_eq!(bash("rab mount --cache-s", "--cache-s"), ["--cache-size"]);
    assert_eq!(bash("rab-mount --index-", "--index-"), ["--index-dir", "--index-size", "--index-memory"]);
    assert_eq!(bash("rab-mount my\\ f", "my\\ f"), ["my files.rab"]);
}

#[test]
fn names_of_datasets_in_bash() {
    let mine = ["my first array", "my second array", "my big-endian array"];
    for verb in ["ls -l", "info", "cat", "get"] {
        assert_eq!(bash(&format!("rab {verb} readme.rab my"), "my"), mine, "{verb}");
    }
    assert_eq!(bash("rab cat readme.rab my\\ s", "my\\ s"), ["my second array"]);
    assert_eq!(bash("rab cat readme.rab 'my s", "my s"), ["my second array"]);
    assert_eq!(bash("rab cat \"my files.rab\" an", "an"), ["an object"]);
    assert_eq!(bash("rab cat ~/my\\ files.rab an", "an"), ["an object"]);
    assert_eq!(
        bash("rab cat --offset 3 readme.rab Dürer", "Dürer"),
        ["Dürer's Rhino", "Dürer's Rhino, again"]
    );
    assert_eq!(bash("rab cat names.rab 漢", "漢"), ["漢字"]);
    // bash takes the colon for the end of a word.
    assert_eq!(bash("rab cat names.rab a:\\ ", "\\ "), [" b"]);
    // What no line can hold is offered percent-encoded.
    assert_eq!(bash("rab cat names.rab new", "new"), ["new%0Aline"]);
    assert_eq!(bash("rab cat names.rab 'star", "star"), ["star*?[x]"]);
}

#[test]
fn of_many_names_their_folders() {
    let folders: Vec<String> = (0..20).map(|n| format!("sub{n:02}/")).collect();
    assert_eq!(bash("rab cat many.rab ", ""), folders);
    assert_eq!(bash("rab cat many.rab sub07/", "sub07/").len(), 100);
}

#[test]
fn where_there_are_no_names() {
    assert_eq!(bash("rab cat missing.rab x", "x"), [""]);
    assert_eq!(bash("rab cat readme.rab zz", "zz"), [""]);
    assert_eq!(bash("rab nonsense readme.rab my", "my"), [""]);
    let said = in_shell("bash", &["-c", "COMPLETE=tcsh rab"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("unknown shell `tcsh`, expected one of `bash`, `zsh`, `fish`"), "{said:?}");
}

/// The function is called as zsh's completion does, with a compadd that prints what it is given to add.
fn zsh(words: &[&str]) -> Vec<String> {
    let script = r#"compdef() { : }
        compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }
        source <(COMPLETE=zsh $1)
        words=("$@"); CURRENT=$#; PREFIX=${words[-1]}; _${1/-/_}"#;
    let said = in_shell("zsh", &[&["-f", "-c", script, "zsh"], words].concat());
    lines(&said).into_iter().map(str::to_owned).collect()
}

#[test]
fn in_zsh() {
    assert_eq!(zsh(&["rab", "ver"]), ["verify"]);
    assert_eq!(zsh(&["rab-mount", "--index-d"]), ["--index-dir"]);
    assert_eq!(zsh(&["rab", "cat", "my\\ files.rab", "my\\ s"]), ["my second array"]);
    assert_eq!(zsh(&["rab", "cat", "'my files.rab'", "an"]), ["an object"]);
    assert_eq!(zsh(&["rab", "cat", "names.rab", "a:"]), ["a: b"]);
    assert_eq!(zsh(&["rab", "cat", "many.rab", "sub1"])[0], "sub10");
}

fn fish(line: &str) -> Vec<String> {
    let name = line.split(' ').next().unwrap();
    let script = format!("COMPLETE=fish {name} | source; complete --do-complete $argv[1]");
    let said = in_shell("fish", &["--no-config", "-c", &script, line]);
    let values = lines(&said).into_iter().map(|line| line.split('\t').next().unwrap().to_owned());
    values.collect()
}

#[test]
fn in_fish() {
    assert_eq!(fish("rab ver"), ["verify"]);
    assert_eq!(fish("rab-mount --index-d"), ["--index-dir"]);
    assert_eq!(fish("rab cat readme.rab 'my s"), ["my second array"]);
    assert_eq!(fish("rab cat my\\ files.rab my\\ s"), ["my second array"]);
    assert_eq!(fish("rab cat names.rab 漢"), ["漢字"]);
}
