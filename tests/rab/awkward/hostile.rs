//! Small files that ask for much: each is refused, or takes no more than its size is worth.

use std::process::Command;

use super::kit;

const CONTAINERS: &str = include_str!("hostile.py");

/// A file, the arguments, the exit code, and the expected message.
type Case = (&'static str, &'static [&'static str], i32, &'static str);

const LIMIT: &str = "which is the limit";

fn check(cases: &[Case]) {
    let dir = kit::scratch();
    kit::python(&[&"-c", &CONTAINERS, &dir.path()]);
    for (name, asked, code, problem) in cases {
        // An address space of 1 GB, and no more time than anybody would wait.
        let script = "ulimit -v 1000000; timeout 60 \"$0\" \"$@\"";
        let (verb, rest) = asked.split_first().unwrap();
        let mut command = Command::new("bash");
        command.args(["-c", script]).arg(env!("CARGO_BIN_EXE_rab")).arg(verb);
        command.current_dir(dir.path()).arg(dir.path().join(format!("{name}.awkd"))).args(rest);
        let outcome = kit::run(&mut command);
        let start = |text: &str| text.chars().take(2000).collect::<String>();
        let (out, err) = (start(&outcome.out), start(&outcome.err));
        assert_eq!(outcome.code, *code, "{name} {asked:?}: {out} {err}");
        assert!((outcome.out + &outcome.err).contains(problem), "{name} {asked:?}: {out} {err}");
    }
}

#[test]
fn what_refers_or_is_compressed_takes_what_is_there() {
    check(&[
        ("shared", &["verify"], 0, "ok: "),
        ("shared", &["get", "[0]"], 1, "more than 16777216 bytes as JSON, which is the limit"),
        ("itself", &["verify"], 0, "ok: "),
        ("itself", &["get", "[-1]", "--json"], 0, "0\n"),
        ("itself", &["cat", "", "--as", "jsonl"], 1, "more than 67108864 bytes, which is the limit"),
        ("bomb", &["verify"], 12, "decodes to more bytes, but its description needs 10"),
        ("bomb", &["get", "[0]"], 12, "decodes to more bytes, but its description needs 10"),
        ("count", &["verify"], 12, "do not fit into 63 bits"),
        ("count", &["get", "[0]"], 12, "do not fit into 63 bits"),
    ]);
}

#[test]
fn paths_and_parts_are_no_more_than_a_file_is_worth() {
    check(&[
        ("deep", &["verify"], 1, "bytes of paths of its parts, which is the limit"),
        ("links", &["verify"], 1, "bytes of paths of its parts, which is the limit"),
        ("prefix", &["verify"], 1, "bytes of paths of its parts, which is the limit"),
        ("parts", &["verify"], 1, "arrays and parts of arrays, which is the limit"),
        ("values", &["verify"], 1, "JSON values in its schemas, which is the limit"),
        ("again", &["verify"], 1, LIMIT),
        ("pairs", &["verify"], 1, "bytes of JSON that references repeat, which is the limit"),
        ("types", &["verify"], 1, "bytes of JSON that references repeat, which is the limit"),
    ]);
}

/// Of all arrays that give a length for one blob, the one that gives the right one is valid.
#[test]
fn one_length_is_right_whoever_asked_before() {
    let dir = kit::scratch();
    kit::python(&[&"-c", &CONTAINERS, &dir.path()]);
    for name in ["asked", "xz"] {
        let outcome = kit::run(
            Command::new(env!("CARGO_BIN_EXE_rab"))
                .arg("verify")
                .arg(dir.path().join(format!("{name}.awkd"))),
        );
        assert_eq!(outcome.code, 12, "{outcome:?}");
        assert!(outcome.out.contains("\"contents/17/data\": decodes"), "{outcome:?}");
        assert!(!outcome.out.contains("\"contents/18/data\""), "{outcome:?}");
    }
}

#[test]
fn items_are_no_longer_than_their_limit() {
    const LONG: &str = "more than 16777216 bytes as JSON, which is the limit";
    check(&[
        ("nothing", &["get", "[0]", "--json"], 1, LONG),
        ("default", &["get", "[3]", "--json"], 1, LONG),
        ("strings", &["get", "[0]", "--json"], 1, LONG),
        ("work", &["get", "[0]", "--json"], 1, "more than 1073741824 bytes must be read, which is the limit"),
    ]);
}

#[test]
fn nothing_takes_the_square_of_what_is_there() {
    check(&[
        ("type", &["cat", "meta.yaml"], 0, "..."),
        ("same", &["get", "[0]", "--json"], 0, "{\"x\":0}"),
        ("same", &["ls"], 0, "columns/x~20000/data\n"),
        ("distinct", &["get", "[0]", "--json"], 0, "\"c19999\":0}"),
        ("chunks", &["get", "[99990:]", "--json"], 0, "[0,\n0,"),
        ("chunks", &["get", "", "--json"], 0, "[0,\n0,"),
        ("keys", &["verify"], 12, "an expression has 50003 keys, and the limit is 64"),
        ("picked", &["convert", "picked.rab"], 0, ""),
        ("many", &["verify"], 0, "ok: 16000 datasets"),
        ("many", &["convert", "copy.awkd"], 0, ""),
        (
            "lengths",
            &["verify"],
            12,
            "dataset \"contents/998/data\": decodes to more bytes, but its description needs 999",
        ),
        // The right one is right, whoever asked before.
        ("asked", &["get", "contents/18"], 0, "7 7 7]\n"),
        (
            "asked",
            &["verify"],
            12,
            "dataset \"contents/19/data\": decodes to 19 bytes, but its description needs 20",
        ),
        ("asked", &["cat", "contents/17/data"], 12, "its description needs 18"),
        (
            "xz",
            &["verify"],
            12,
            "dataset \"contents/19/data\": decodes to 19 bytes, but its description needs 20",
        ),
        // What the ZIP file compresses is decoded once, however long the arrays are that it is of.
        ("torn", &["verify"], 12, "dataset \"columns/b/data\": at byte 46: the deflate stream is damaged"),
        ("unions", &["verify"], 1, "sums of counts and tags to be kept, which is the limit"),
    ]);
}

/// Bytes that many arrays are made of are read, and so decoded, as often as those of one.
#[test]
fn what_many_arrays_share_is_decoded_once() {
    let dir = kit::scratch();
    kit::python(&[&"-c", &CONTAINERS, &dir.path()]);
    let read = |count: u64| {
        // What a shell's children have read counts as its own when they have ended.
        let script = "\"$0\" verify \"$1\" && while read -r line; do echo \"$line\"; done < /proc/$$/io";
        let file = dir.path().join(format!("parts_{count}.awkd"));
        let outcome =
            kit::run(Command::new("bash").args(["-c", script, env!("CARGO_BIN_EXE_rab")]).arg(file));
        assert!(outcome.code == 0 && outcome.out.contains(": ok: "), "{outcome:?}");
        let bytes = outcome.out.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        bytes.parse::<u64>().unwrap()
    };
    let (of_one, of_many) = (read(1), read(100));
    assert!(
        of_one > 1 << 20 && of_many < of_one + (1 << 20),
        "{of_one} bytes for one array, {of_many} for 100"
    );
}

#[test]
fn what_is_refused_makes_nothing_empty() {
    check(&[
        ("column", &["verify"], 1, "dataset \"meta.yaml\": its column \"b\": system is an unknown call"),
        ("column", &["get", "", "--json"], 1, "its column \"b\": system is an unknown call"),
        ("column", &["get", "columns/a"], 0, "[0 0 0 0 0 0 0 0]\n"),
        (
            "nobody",
            &["verify"],
            12,
            "dataset \"meta.yaml\": its column \"b\": it refers to the id 5, which does not exist",
        ),
        ("masked", &["verify"], 1, "dataset \"meta.yaml\": its content: system is an unknown call"),
        ("masked", &["get", "", "--json"], 1, "its content: system is an unknown call"),
        // Numbers that are wrong by themselves, whatever they tell of.
        ("count_of_none", &["verify"], 12, "dataset \"meta.yaml\": list 1 has the count -1"),
        ("count_of_none", &["convert", "no.awkd"], 12, "dataset \"meta.yaml\": list 1 has the count -1"),
        ("offset_of_none", &["verify"], 12, "dataset \"meta.yaml\": list 0 goes from 2 to 1"),
        ("tag_of_none", &["verify"], 12, "item 2 has the tag 7, but there are 2 contents"),
        (
            "tag_beside_index",
            &["verify"],
            12,
            "dataset \"meta.yaml\": item 2 has the tag 7, but there are 2 contents",
        ),
        (
            "tag_far",
            &["verify"],
            12,
            "dataset \"meta.yaml\": item 8999 has the tag 2, but there are 2 contents",
        ),
        ("place_in_none", &["verify"], 12, "item 1 is item -1 of content 0"),
        ("place_beside_none", &["verify"], 12, "item 2 is item 1 of content 1, which has 1"),
        ("index_of_none", &["verify"], 12, "item 1 has the index -9"),
        ("good_of_none", &["verify"], 1, "dataset \"content\": system is an unknown call"),
        ("good_of_none", &["convert", "copy.awkd"], 1, "dataset \"content\": system is an unknown call"),
        ("step", &["verify"], 12, "its view has the step 0"),
        ("step", &["get", "[0]", "--json"], 12, "its view has the step 0"),
        ("rows", &["verify"], 1, " numbers, and the limit is "),
    ]);
}

#[test]
fn what_no_list_has_is_looked_at_before_lists_are_written_elsewhere() {
    check(&[
        ("unlisted", &["verify"], 12, "incorrect data check"),
        ("unlisted", &["convert", "x.rab"], 12, "incorrect data check"),
        ("unlisted", &["convert", "x.npz"], 12, "incorrect data check"),
    ]);
}

#[test]
fn what_is_refused_for_its_memory_is_not_called_right() {
    for verb in [&["verify"][..], &["unpack", "x"], &["get", ""]] {
        check(&[(
            "dictionary",
            verb,
            1,
            "the xz stream needs more memory than 268435456 bytes, which is the limit",
        )]);
    }
}

#[test]
fn what_a_refused_array_took_is_there_for_the_others() {
    let dir = kit::scratch();
    kit::python(&[&"-c", &OTHERS, &dir.path()]);
    for (name, problem) in [
        ("parts", "arrays and parts of arrays, which is the limit"),
        ("paths", "bytes of paths of its parts, which is the limit"),
    ] {
        let file = dir.path().join(format!("{name}.awkd"));
        let outcome = crate::rab(&[&"verify", &file]);
        assert!(outcome.code == 1 && outcome.out.matches(problem).count() >= 2, "{name}: {outcome:.2000?}");
        for intact in ["b", "d"] {
            assert_eq!(super::good(&[&"get", &file, &intact, &"--json"]), "[1]\n", "{name}");
        }
    }
}

const OTHERS: &str = r#"
import json, sys, zipfile
flat = {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "0.raw"}, {"dtype": "int64"}, {"json": 1}]}
def union(list): return {"call": ["awkward0", "UnionArray", "fromtags"], "args": [flat, {"list": list}]}
deep = union([0] * 100_000)
for level in range(120):
    deep = {"call": ["awkward0", "Table", "frompairs"], "args": [{"pairs": [["n" * 240, deep]]}]}
arrays = {"parts": {"schema": union([0] * 262_200)}, "paths": {"schema": deep}}
for name, array in arrays.items():
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.awkd", "w", zipfile.ZIP_DEFLATED) as to:
        for at, array in enumerate([array, {"schema": flat}] * 2):
            of = "abcd"[at]
            to.writestr(of + "-0.raw", (1).to_bytes(8, "little"))
            to.writestr(of + ".json", json.dumps({"awkward0": "0.15.5", "prefix": of + "-", **array}))
"#;
