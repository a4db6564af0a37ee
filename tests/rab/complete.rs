//! Completion in real shells: what each would offer for a line.

use std::path::Path;
use std::process::Command;

use rab::Writer;

use crate::RAB;
use crate::kit::{Outcome, data, run, scratch};

/// Runs a script in a directory that has readme.rab, names.rab and `my files.rab`.
fn in_shell(shell: &str, arguments: &[&str]) -> Outcome {
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

fn lines(outcome: &Outcome) -> Vec<&str> {
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    outcome.out.lines().collect()
}

/// As readline calls it; `part` is what it takes for the word at the cursor.
fn bash(line: &str, part: &str) -> Vec<String> {
    let name = line.split(' ').next().unwrap();
    let function = format!("_{}", name.replace('-', "_"));
    let script = r#"source <(COMPLETE=bash "$1")
        compopt() { :; }
        COMP_TYPE=63 COMP_LINE=$3 COMP_POINT=$(printf %s "$3" | wc -c); "$2" "$1" "$4"; printf '%s\n' "${COMPREPLY[@]}""#;
    let outcome = in_shell("bash", &["--norc", "-c", script, "bash", name, &function, line, part]);
    lines(&outcome).into_iter().map(str::to_owned).collect()
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
    assert_eq!(bash("rab-mount my\\ f", "my\\ f"), ["my\\ files.rab"]);
    // Files in the home are offered as they are typed.
    assert_eq!(bash("rab-mount ~/my\\ f", "~/my\\ f"), ["~/my\\ files.rab"]);
}

#[test]
fn tables_of_the_container_are_offered_where_they_can_be_read() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ffrecord/text_lines.ffr");
    let offered = |verb: &str| bash(&format!("rab {verb} {} rec", file.display()), "rec");
    for verb in ["cat", "get"] {
        assert!(offered(verb).contains(&"records".into()), "{:?}", offered(verb));
    }
    assert!(!offered("ls").contains(&"records".into()));
}

#[test]
fn names_of_datasets_in_bash() {
    let mine = ["my first array", "my second array", "my big-endian array"];
    for verb in ["ls -l", "info", "cat", "get"] {
        let found = bash(&format!("rab {verb} readme.rab my"), "my");
        assert_eq!(found[..3], mine, "{verb}");
        let files = if ["ls -l", "info"].contains(&verb) { &["my files.rab"][..] } else { &[] };
        assert_eq!(found[3..], *files, "{verb}");
    }
    // Of verbs that take several containers, files too.
    for verb in ["ls", "info"] {
        assert_eq!(bash(&format!("rab {verb} readme.rab nam"), "nam"), ["names.rab"], "{verb}");
    }
    assert_eq!(bash("rab cat readme.rab my\\ s", "my\\ s"), [r"my\ second\ array"]);
    assert_eq!(bash("rab cat readme.rab 'my s", "my s"), ["my second array"]);
    assert_eq!(bash("rab cat \"my files.rab\" an", "an"), [r"an\ object"]);
    assert_eq!(bash("rab cat ~/my\\ files.rab an", "an"), [r"an\ object"]);
    assert_eq!(
        bash("rab cat --offset 3 readme.rab Dürer", "Dürer"),
        ["Dürer's Rhino", "Dürer's Rhino, again"]
    );
    assert_eq!(bash("rab cat names.rab 漢", "漢"), ["漢字"]);
    // bash takes the colon for the end of a word.
    assert_eq!(bash("rab cat names.rab a:\\ ", "\\ "), [r"\ b"]);
    // What no line can hold is offered percent-encoded.
    assert_eq!(bash("rab cat names.rab new", "new"), ["new%0Aline"]);
    assert_eq!(bash("rab cat names.rab 'star", "star"), ["star*?[x]"]);
}

/// Datasets of files that cannot be edited are not offered for it.
#[test]
fn names_to_edit() {
    let npz = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/npz/small.npz");
    let in_npz = |verb: &str| bash(&format!("rab {verb} {} gr", npz.display()), "gr");
    for verb in ["rm", "mv", "set"] {
        assert_eq!(bash(&format!("rab {verb} readme.rab my\\ f"), "my\\ f"), [r"my\ first\ array"], "{verb}");
        assert_eq!(in_npz(verb), [""], "{verb}");
    }
    assert_eq!(in_npz("cat"), ["grid"]);
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
    let outcome = in_shell("bash", &["-c", "COMPLETE=tcsh rab"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.err.contains("unknown shell `tcsh`, expected one of `bash`, `zsh`, `fish`"),
        "{outcome:?}"
    );
}

#[test]
fn values_of_options() {
    let of_no = ["no_index", "noexec"].map(String::from);
    assert!(of_no.iter().all(|option| bash("rab-mount x.rab -o no", "no").contains(option)));
    assert_eq!(bash("rab-mount x.rab -o noexec,cache", "noexec,cache"), ["noexec,cache_size="]);
    assert_eq!(
        bash("rab-mount x.rab -o noexec,r", "noexec,r"),
        [
            "noexec,ro",
            "noexec,read_ahead=",
            "noexec,region=",
            "noexec,remote_memory=",
            "noexec,remote_cache=",
            "noexec,remote_cache_size=",
            "noexec,refresh="
        ]
    );
    assert_eq!(bash("rab ls --format R", "R"), ["RAB", "RawArray"]);
    assert_eq!(bash("rab set names.rab x --unset zz", "zz"), [""]);
    assert_eq!(bash("rab-mount -u na", "na"), [""]);
    assert!(bash("rab-mount names.rab -- l", "l").contains(&"ls".to_owned()));
    assert_eq!(bash("rab-mount names.rab -- ls na", "na"), ["names.rab"]);
}

/// Names that a shell would expand, each with what is typed of it and what comes of it.
fn hostile() -> Vec<(String, String)> {
    let bodies = [
        "$((a[$(touch OWNED_A)]))",
        "${x:-$(touch OWNED_B)}",
        "`touch OWNED_C`",
        "$(touch OWNED_D)",
        "; touch OWNED_E;",
        "& touch OWNED_F &",
        "| touch OWNED_G",
        "\n touch OWNED_H\n",
        "\u{1b}]0;OWNED\u{7}\u{1b}[2J",
        "'; touch OWNED_I; '",
        "\"; touch OWNED_J; \"",
        "<(touch OWNED_K)",
        "*?[x]{a,b}~!#^=:@%+,",
        " two  spaces ",
        "\\",
        "\\$(touch OWNED_L)",
        "/$(touch OWNED_M)/x",
        "${(e):-`touch OWNED_N`}",
        "!touch",
        "(touch OWNED_O)",
        "é漢",
        "\r\ttouch OWNED_P\r",
        "%(touch OWNED_Q)",
        "=(touch OWNED_R)",
        "\u{9b}31m",
    ];
    let names = bodies
        .iter()
        .enumerate()
        .map(|(number, body)| (format!("{}{}", char::from(b'a' + number as u8), "q"), (*body).to_owned()));
    names.map(|(start, body)| (start.clone(), start + &body)).collect()
}

/// A name that no line can hold is percent-encoded.
fn as_argument(name: &str) -> String {
    let encoded = |c: char| c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    match name.contains(char::is_control) {
        false => name.to_owned(),
        true => name.chars().map(|c| if c.is_control() { encoded(c) } else { c.to_string() }).collect(),
    }
}

#[test]
fn nothing_that_a_name_says_is_run() {
    for shell in ["bash", "zsh", "fish"] {
        let work = scratch();
        let mut writer = Writer::create(work.path().join("x.rab")).unwrap();
        let mut wanted = Vec::new();
        for (start, name) in hostile() {
            writer.add(name.as_str()).text("").unwrap();
            wanted.push((start, as_argument(&name)));
        }
        for name in ["t$((a[$(touch OWNED_S)]))/x", "v${x:-$(touch OWNED_T)}/`touch OWNED_U`"] {
            writer.add(name).text("").unwrap();
        }
        // Of names that go on with what is quoted, no half of a quote is inserted.
        for name in ["z$(x", "z${y"] {
            writer.add(name).text("").unwrap();
        }
        writer.finish().unwrap();
        // Within quotes too, which fish and zsh close in their own ways.
        if shell == "bash" {
            let quoted = wanted
                .iter()
                .flat_map(|(start, name)| ["'", "\""].map(|quote| (format!("{quote}{start}"), name.clone())));
            wanted.extend(quoted.collect::<Vec<_>>());
            wanted.push(("z$".into(), "z$".into()));
        }
        std::fs::write(work.path().join("names.json"), serde_json::to_string(&wanted).unwrap()).unwrap();
        let path =
            format!("{}:{}", Path::new(RAB).parent().unwrap().display(), std::env::var("PATH").unwrap());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/complete_in_pty.py");
        let mut command = Command::new(crate::kit::interpreter());
        let outcome =
            run(command.args([script, shell]).current_dir(&work).env("PATH", &path).env("HOME", work.path()));
        assert_eq!((outcome.code, outcome.out.as_str()), (0, "ok\n"), "{shell}: {outcome:?}");
    }
}

/// The function is called as zsh's completion does, with a compadd that prints what it is given to add.
fn zsh(words: &[&str]) -> Vec<String> {
    let script = r#"compdef() { : }
        compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }
        source <(COMPLETE=zsh $1)
        words=("$@"); CURRENT=$#; PREFIX=${words[-1]}; _${1/-/_}"#;
    let outcome = in_shell("zsh", &[&["-f", "-c", script, "zsh"], words].concat());
    lines(&outcome).into_iter().map(str::to_owned).collect()
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
    let outcome = in_shell("fish", &["--no-config", "-c", &script, line]);
    let values = lines(&outcome).into_iter().map(|line| line.split('\t').next().unwrap().to_owned());
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
