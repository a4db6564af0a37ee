//! `rab ls`: what there is, in the header's order.

use serde_json::Value;

use crate::kit::{bytes_entry, data, entry, rab as write};
use crate::{SAMPLES, expected, good, rab};

#[test]
fn json_is_what_a_correct_reader_sees() {
    for sample in SAMPLES {
        let out = good(&[&"ls", &"--json", &data(&format!("{sample}.rab"))]);
        let listed: Vec<Value> = serde_json::from_str(&out).unwrap();
        let expected = expected(sample);
        assert_eq!(listed.len(), expected.len(), "{sample}");
        for (got, want) in listed.iter().zip(&expected) {
            let has_shape = want["type"] != "dataframe";
            for key in ["name", "type", "compression", "shape"].iter().take(3 + usize::from(has_shape)) {
                assert_eq!(got[key], want[key], "{sample}: {key} of {want}");
            }
            let length = got["length"].as_u64();
            assert!(length.is_none() || length == want["length"].as_u64(), "{sample}: {got}");
            assert_eq!(
                length.is_none(),
                want["shape"].is_null() && !want["compression"].is_null() && want["type"] != "dataframe"
            );
        }
    }
}

#[test]
fn names_come_one_a_line() {
    let out = good(&[&"ls", &data("readme.rab")]);
    let names: Vec<_> = expected("readme").iter().map(|e| e["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), names);
}

#[test]
fn globs_choose_and_exact_names_win() {
    let file = data("readme.rab");
    assert_eq!(good(&[&"ls", &file, &"my *array"]).lines().count(), 3);
    assert_eq!(good(&[&"ls", &file, &"*[Tt]ext"]), "Some text\n");
    let header = ["a[1]", "a1", "d/x", "d/e/y"].map(|name| bytes_entry(name, 0, 1)).concat();
    let (_dir, file) = write(&header, b"?");
    assert_eq!(good(&[&"ls", &file, &"a[1]"]), "a[1]\n");
    assert_eq!(good(&[&"ls", &file, &"a[0-9]"]), "a1\n");
    assert_eq!(good(&[&"ls", &file, &"d/*"]), "d/x\nd/e/y\n");
    let outcome = rab(&[&"ls", &file, &"nothing*"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (3, ""), "{outcome:?}");
    assert!(
        outcome.err.starts_with("rab: ") && outcome.err.contains("has no dataset \"nothing*\""),
        "{}",
        outcome.err
    );
    assert_eq!(rab(&[&"ls", &file, &"a[1"]).code, 2);
}

#[test]
fn long_shows_types_shapes_and_lengths() {
    let out = good(&[&"ls", &"-l", &data("readme.rab")]);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["TYPE", "SHAPE", "LENGTH", "STORED", "NAME"]);
    assert_eq!(lines[2], ["float64", "(5,", "3)", "120", "120", "my", "second", "array"]);
    assert_eq!(lines[4][..3], ["text", "-", "?"]);
    let table = good(&[&"ls", &"-l", &data("dataframe.rab"), &"table"]);
    assert!(table.contains("(50, 6)"), "{table}");
}

#[test]
fn damaged_descriptions_are_listed_as_such() {
    let header =
        entry("odd", &["byteLength: 9", "byteOffset: 0", "type: bytes"]) + &bytes_entry("good", 0, 4);
    let (_dir, file) = write(&header, b"data");
    let out = good(&[&"ls", &"-l", &file]);
    assert!(out.lines().nth(1).unwrap().contains("damaged"), "{out}");
    let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
    assert!(listed[0]["problem"].as_str().unwrap().contains("it ends at byte"), "{listed:?}");
    assert!(listed[1].get("problem").is_none());
}

#[test]
fn a_listing_says_the_same_as_info() {
    for sample in SAMPLES {
        let file = data(&format!("{sample}.rab"));
        let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
        if listed.is_empty() {
            continue;
        }
        let all = good(&[&"info", &"--json", &file, &"*"]);
        assert_eq!(all.lines().count(), listed.len());
        for (brief, full) in listed.iter().zip(all.lines()) {
            let full: Value = serde_json::from_str(full).unwrap();
            for (key, value) in brief.as_object().unwrap() {
                assert_eq!(*value, full[key], "{sample}: {key}");
            }
        }
    }
}

#[test]
fn sizes_for_people_and_units() {
    let header = bytes_entry("volts", 0, 2000) + &bytes_entry("plain", 0, 2000);
    let (_dir, file) = write(&header, &[0; 2000]);
    for options in ["-lh", "-hl"] {
        let out = good(&[&"ls", &options, &file, &"volts"]);
        let last: Vec<&str> = out.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["bytes", "-", "2.0K", "2.0K", "volts"]);
    }
    // By itself it changes nothing, as with ls.
    assert_eq!(good(&[&"ls", &"-h", &file]), "volts\nplain\n");
    assert!(good(&[&"ls", &"--help"]).contains("--human-readable"));
    let units = crate::kit::scratch();
    let file = units.path().join("u.rab");
    std::fs::copy(data("readme.rab"), &file).unwrap();
    assert_eq!(crate::rab(&[&"set", &file, &"my second array", &"--key", &"units=mV"]).code, 0);
    let out = good(&[&"ls", &"-l", &file, &"my *array"]);
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["TYPE", "SHAPE", "LENGTH", "STORED", "UNIT", "NAME"]);
    assert!(rows.iter().any(|row| row.ends_with(&["mV", "my", "second", "array"])), "{out}");
    assert!(rows.iter().any(|row| row.ends_with(&["-", "my", "first", "array"])), "{out}");
    assert!(good(&[&"info", &file]).contains("\n  my second array: 'float64 (5, 3), mV'\n"));
}

#[test]
fn several_containers_and_directories() {
    let dir = crate::kit::scratch();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("sub")).unwrap();
    std::fs::copy(data("readme.rab"), at("sub/b.rab")).unwrap();
    std::fs::copy(data("orders.rab"), at("a.rab")).unwrap();
    std::fs::write(at("notes.txt"), "nothing").unwrap();
    std::os::unix::fs::symlink(dir.path(), at("sub/loop")).unwrap();
    let (a, b) = (at("a.rab"), at("sub/b.rab"));
    let listed = |file: &std::path::Path| format!("{}:\n{}", file.display(), good(&[&"ls", &file]));
    let both = listed(&a) + "\n" + &listed(&b);
    assert_eq!(good(&[&"ls", &a, &b]), both);
    assert_eq!(good(&[&"ls", &"-r", &dir.path()]), both);
    assert!(good(&[&"ls", &b, &b, &"Some text"]).ends_with("b.rab:\nSome text\n"));

    // The others go on, and the worst counts.
    let missing = at("notes.txt");
    let outcome = rab(&[&"ls", &a, &missing, &b]);
    assert_eq!((outcome.code, &outcome.out, outcome.err.lines().count()), (11, &both, 1), "{outcome:?}");
    let outcome = rab(&[&"ls", &"--json", &a, &missing, &b]);
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    let alone = |file: &std::path::Path| -> Value {
        serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap()
    };
    assert_eq!((outcome.code, json.as_array().unwrap().len()), (11, 3), "{outcome:?}");
    assert_eq!((&json[0]["datasets"], &json[2]["datasets"]), (&alone(&a), &alone(&b)));
    assert_eq!(json[2]["file"], b.to_str().unwrap());
    assert!(
        json[1]["error"].as_str().unwrap().contains("not a container") && json[1].get("datasets").is_none()
    );
    let outcome = rab(&[&"info", &"--json", &a, &missing, &b]);
    let infos: Vec<Value> = outcome.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((outcome.code, infos.len()), (11, 3), "{outcome:?}");
    assert_eq!((&infos[1]["file"], &infos[1]["error"]), (&serde_json::json!(missing), &json[1]["error"]));
    let one: Value = serde_json::from_str(&good(&[&"ls", &"--json", &"-r", &at("sub")])).unwrap();
    assert_eq!(one.as_array().unwrap().len(), 1);

    assert_eq!(good(&[&"info", &"--json", &"-r", &dir.path()]).lines().count(), 2);
    let texts = good(&[&"info", &"--json", &b, &b, &"Some text"]);
    let texts: Vec<Value> = texts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(texts.len() == 2 && texts.iter().all(|text| text["file"] == b.to_str().unwrap()), "{texts:?}");
    let verified = good(&[&"verify", &"-r", &dir.path()]);
    assert_eq!(verified.matches(": ok: ").count(), 2, "{verified}");
    assert_eq!(rab(&[&"ls", &a, &b, &"--and", &b]).code, 2);
}

#[test]
fn a_dataset_that_is_called_as_a_file_is_meant() {
    let (dir, file) = write(&bytes_entry("x.rab", 0, 1), b"?");
    std::fs::copy(data("readme.rab"), dir.path().join("x.rab")).unwrap();
    let ls = |other: &str| {
        let mut command = std::process::Command::new(crate::RAB);
        crate::kit::run(command.arg("ls").arg(&file).arg(other).current_dir(&dir)).out
    };
    assert_eq!(ls("x.rab"), "x.rab\n");
    assert!(ls("./x.rab").contains("\n./x.rab:\nmy first array\n"), "{}", ls("./x.rab"));
}

#[test]
fn names_that_are_near() {
    let file = data("readme.rab");
    let near = "has no dataset \"some txt\": did you mean \"Some text\"?\n";
    for arguments in [
        &[&"ls" as &dyn AsRef<std::ffi::OsStr>, &file, &"some txt"][..],
        &[&"info", &file, &"some txt"],
        &[&"cat", &file, &"some txt"],
        &[&"get", &file, &"some txt[0]"],
        &[&"diff", &file, &file, &"some txt"],
        &[&"convert", &file, &"/dev/null/x.rab", &"some txt"],
        &[&"unpack", &file, &"/dev/null/x", &"some txt"],
    ] {
        let outcome = rab(arguments);
        assert!(outcome.code == 3 && outcome.err.ends_with(near), "{outcome:?}");
    }
    let dir = crate::kit::scratch();
    let copy = dir.path().join("copy.rab");
    std::fs::copy(&file, &copy).unwrap();
    for arguments in [
        &[&"rm" as &dyn AsRef<std::ffi::OsStr>, &copy, &"some txt"][..],
        &[&"mv", &copy, &"some txt", &"y"],
        &[&"set", &copy, &"some txt", &"--key", &"a=1"],
    ] {
        let outcome = rab(arguments);
        assert!(outcome.code == 3 && outcome.err.ends_with(near), "{outcome:?}");
    }
}

/// Not every container of a directory has the dataset that is looked for.
#[test]
fn a_name_is_looked_for_in_a_directory() {
    let dir = crate::kit::scratch();
    let at = |name: &str| dir.path().join(name);
    std::fs::copy(data("readme.rab"), at("a.rab")).unwrap();
    std::fs::copy(data("orders.rab"), at("b.rab")).unwrap();
    let shown = at("a.rab").display().to_string();
    assert_eq!(good(&[&"ls", &"-r", &dir.path(), &"Some text"]), format!("{shown}:\nSome text\n"));
    assert_eq!(good(&[&"info", &"-r", &dir.path(), &"Some text"]).matches("name: Some text").count(), 1);
    let outcome = rab(&[&"ls", &"-r", &dir.path(), &"Some text", &"nothing"]);
    let want = format!("rab: {}: has no dataset \"nothing\"\n", dir.path().display());
    assert_eq!((outcome.code, outcome.err), (3, want));
    assert_eq!(outcome.out, format!("{shown}:\nSome text\n"));
    // Of files that are named each has to have it.
    assert_eq!(rab(&[&"ls", &at("a.rab"), &at("b.rab"), &"Some text"]).code, 3);
}

#[test]
fn arguments_that_are_no_files() {
    let (dir, file) = write(&(bytes_entry("raw", 0, 1) + &bytes_entry("run7", 0, 1)), b"?");
    std::fs::create_dir_all(dir.path().join("rwa/sub")).unwrap();
    let ls = |arguments: &[&str]| {
        let mut command = std::process::Command::new(crate::RAB);
        crate::kit::run(command.arg("ls").arg(&file).args(arguments).current_dir(&dir))
    };
    // A directory is not a container without -r, unless it is written as a path.
    let outcome = ls(&["rwa"]);
    assert!(
        outcome.code == 3 && outcome.err.contains("has no dataset \"rwa\": did you mean \"raw\"?"),
        "{outcome:?}"
    );
    assert_eq!(ls(&["./rwa"]).code, 10);
    assert_eq!(ls(&["rwa/"]).code, 10);
    // What is called as a container is one, and as near to a dataset's name a dataset.
    let outcome = ls(&["nonexistent.rab"]);
    assert!(outcome.code == 10 && outcome.err.contains("nonexistent.rab: cannot be opened"), "{outcome:?}");
    assert_eq!(ls(&["*.rab"]).code, 3);
    assert_eq!(ls(&["nonexistent"]).code, 3);
    let (dir, file) = write(&bytes_entry("member.npz", 0, 1), b"?");
    let mut command = std::process::Command::new(crate::RAB);
    let outcome = crate::kit::run(command.arg("ls").arg(&file).arg("membr.npz").current_dir(&dir));
    assert!(outcome.code == 3 && outcome.err.contains("did you mean \"member.npz\"?"), "{outcome:?}");
}

#[test]
fn the_shape_of_a_dataframe() {
    let listed = |name: &str| -> Value {
        serde_json::from_str(&good(&[&"ls", &"--json", &data(&format!("{name}.rab"))])).unwrap()
    };
    let frames: Vec<Value> = listed("dataframe").as_array().unwrap().clone();
    let frame = frames.iter().find(|it| it["type"] == "dataframe").unwrap();
    let [rows, columns] = [0, 1].map(|axis| frame["shape"][axis].as_u64().unwrap());
    let name = frame["name"].as_str().unwrap();
    let info: Value =
        serde_json::from_str(&good(&[&"info", &"--json", &data("dataframe.rab"), &name])).unwrap();
    assert_eq!(
        (Some(rows), columns),
        (info["rows"].as_u64(), info["columns"].as_array().unwrap().len() as u64)
    );
}
