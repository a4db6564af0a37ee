//! FFRecord files through `rab` and the library: every sample, what is refused, and files that are written.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rab::ffrecord::{Framing, Packing, Reader, Writer, pack_files, pack_folder};
use rab::{Archive, Options};
use serde_json::Value;

use crate::kit::{interpreter, names, python, scratch, sh, try_sh};
use crate::{RAB, good, rab};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ffrecord").join(name)
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file.with_extension("json")).unwrap()).unwrap()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let all = names(&sample(folder)).into_iter().filter(|name| name.ends_with(".ffr"));
    all.map(|name| sample(folder).join(name)).collect()
}

/// The records of files as an independent reader sees them, which accepts only what a strict writer writes.
fn records(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"check_ffrecord.py", &"file"];
    arguments.extend(paths.iter().map(|path| path as &dyn AsRef<std::ffi::OsStr>));
    let hex: Vec<String> = serde_json::from_str(&python(&arguments)).unwrap();
    let byte = |text: &[u8]| u8::from_str_radix(std::str::from_utf8(text).unwrap(), 16).unwrap();
    hex.iter().map(|hex| hex.as_bytes().chunks(2).map(byte).collect()).collect()
}

#[test]
fn every_sample() {
    for file in files("") {
        let expected = json(&file);
        if expected["expect"] != "ok" {
            assert_eq!(rab(&[&"verify", &file]).code, 12, "{}", file.display());
            continue;
        }
        let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
        let verified = good(&[&"verify", &file]);
        assert!(verified.contains(&format!("ok: {0} dataset", listed.len())), "{verified}");
        let samples = expected["samples"].as_array();
        let Some(packed) = expected.get("packed_folder") else {
            let samples = samples.unwrap();
            assert_eq!(listed.len(), samples.len());
            let archive = Archive::open(&file).unwrap();
            for (number, (entry, sample)) in listed.iter().zip(samples).enumerate() {
                let name = entry["name"].as_str().unwrap();
                assert_eq!(entry["length"], sample["len"]);
                assert_eq!(archive.find(name), Some(number));
                let checksum = archive.dataset(name).unwrap().description().checksum.clone().unwrap();
                assert_eq!(checksum.value, format!("{:08x}", sample["crc32"].as_u64().unwrap()));
            }
            continue;
        };
        let paths: Vec<&str> = packed["files"].as_array().unwrap().iter().map(path_of).collect();
        assert_eq!(listed.iter().map(|entry| entry["name"].as_str().unwrap()).collect::<Vec<_>>(), paths);
    }
}

fn path_of(file: &Value) -> &str {
    file.get("path").or_else(|| file.get(0)).and_then(Value::as_str).unwrap()
}

#[test]
fn verbs() {
    let file = sample("text_lines.ffr");
    assert_eq!(good(&[&"cat", &file, &"records/3"]), "line 3: café");
    assert_eq!(good(&[&"cat", &file, &"records/[12]"]), "line 1: caféline 2: café");
    assert_eq!(rab(&[&"cat", &file, &"records/10"]).code, 3);
    let outcome = rab(&[&"cat", &file, &"records"]);
    assert!(outcome.code == 3 && outcome.err.contains(" records --as csv prints it\n"), "{outcome:?}");
    assert!(good(&[&"info", &file]).contains("format: FFRecord\n"));
    assert!(good(&[&"info", &file, &"records/3"]).contains("crc32: c7299d0b"));
    for kind in ["csv", "jsonl"] {
        let whole = good(&[&"get", &file, &"records", &"--as", &kind]);
        let head = usize::from(kind == "csv");
        let want: Vec<&str> = whole.lines().take(head).chain(whole.lines().skip(head + 2).take(3)).collect();
        let part = good(&[&"get", &file, &"records[2:5]", &"--as", &kind]);
        assert_eq!(part.lines().collect::<Vec<_>>(), want);
    }
    let rows = good(&[&"get", &file, &"records"]);
    let cells: Vec<(&str, &str)> = rows.lines().filter_map(|line| line.rsplit_once(',')).collect();
    let get = |what: &str| good(&[&"get", &file, &what]);
    assert_eq!(get("records[2]"), format!("data,crc32\n{},{}\n", cells[3].0, cells[3].1));
    assert_eq!(get("records[crc32, 2:4]"), format!("crc32\n{}\n{}\n", cells[3].1, cells[4].1));
    assert_eq!(get("records[-1, crc32, data]"), format!("crc32,data\n{},{}\n", cells[10].1, cells[10].0));
    let objects = good(&[&"get", &file, &"records[2:4, 'crc32']", &"--json"]);
    assert_eq!(objects, format!("[{{\"crc32\":{}}},\n{{\"crc32\":{}}}]\n", cells[3].1, cells[4].1));
    let dir = scratch();
    let arrow = dir.path().join("x.arrow");
    sh(r#""$1" get "$2" 'records[crc32, 2:4]' --as arrow > "$3""#, &[&RAB, &file, &arrow]);
    let read =
        "import sys, pyarrow.ipc as ipc; print(*ipc.open_file(sys.argv[1]).read_all().to_pydict().items())";
    assert_eq!(python(&[&"-c", &read, &arrow]), format!("('crc32', [{}, {}])\n", cells[3].1, cells[4].1));
    for (wrong, says) in [
        ("records[crc]", "has no column \"crc\"; its columns are \"data\", \"crc32\""),
        ("records[10]", "out of bounds"),
    ] {
        let outcome = rab(&[&"get", &file, &wrong]);
        assert!(outcome.code == 2 && outcome.err.contains(says), "{outcome:?}");
    }
    // Its name is suggested, and shown where datasets are.
    for kind in ["csv", "text", "jsonl"] {
        let outcome = rab(&[&"get", &file, &"record[2:5]", &"--as", &kind]);
        assert!(outcome.code == 3 && outcome.err.contains("did you mean \"records\""), "{outcome:?}");
    }
    assert!(good(&[&"info", &file]).contains("\ntables:\n- records\n"));
    assert!(
        good(&[&"ls", &"-l", &file])
            .lines()
            .any(|line| line.starts_with("table ") && line.ends_with(" records"))
    );
    assert!(!good(&[&"ls", &file]).contains("records\n"));
    let part = |options: &[&str]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"get", &file, &"records[2:5]"];
        all.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        good(&all)
    };
    assert_eq!(part(&[]), part(&["--as", "csv"]));
    let rows: Vec<Value> = serde_json::from_str(&part(&["--json"])).unwrap();
    let lines = part(&["--as", "jsonl"]);
    assert_eq!(rows, lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>());
    assert_eq!(rows.len(), 3);
    assert_eq!(good(&[&"get", &file, &"records[2:2]", &"--json"]), "[]\n");
    let folder = sample("packed_readme_example_py37_proto3.ffr");
    assert_eq!(good(&[&"cat", &folder, &"just_another_folder/*.txt"]).len(), 10);
}

#[test]
fn damaged_files() {
    for file in files("corrupt") {
        let expected = json(&file)["expect"].as_str().unwrap().to_owned();
        let outcome = rab(&[&"verify", &file]);
        assert_eq!(outcome.code, 12, "{outcome:?}");
        let lines = outcome.out.lines().count();
        match expected.as_str() {
            refused if refused.starts_with("refuse") => {
                assert!(outcome.out.is_empty() && outcome.err.lines().count() == 1, "{outcome:?}");
                assert!(outcome.err.contains(": at byte "), "{outcome:?}");
            }
            "open; sample 9 CRC error, 0..8 ok" => {
                assert!(
                    lines == 1 && outcome.out.contains("dataset \"records/9\": at byte 249"),
                    "{outcome:?}"
                );
                assert_eq!(good(&[&"cat", &file, &"records/8"]).len(), 13);
                assert_eq!(rab(&[&"cat", &file, &"records/9"]).code, 12);
                // What is there can be had.
                assert!(rab(&[&"cat", &"--stored", &file, &"records/9"]).code == 0);
            }
            _ => assert_eq!(lines, 10, "{outcome:?}"),
        }
    }
}

#[test]
fn several_files_are_one() {
    let reader = Reader::open(sample("multi")).unwrap();
    let parts = files("multi");
    assert_eq!((reader.len(), reader.files()), (25, 3));
    let want = records(&parts);
    let numbers: Vec<u64> = [24, 0, 9, 9, 17, 8, 18].into();
    for (record, number) in reader.read(&numbers).unwrap().iter().zip(&numbers) {
        assert_eq!(record, want[*number as usize]);
        assert_eq!(record, reader.get(*number).unwrap());
    }
    assert!(reader.get(25).is_err() && reader.read(&[3, 25]).is_err());
    assert!(reader.validate().is_ok());
    assert_eq!(reader.offsets(2).unwrap()[..2], [96, 101]);
    assert_eq!(reader.checksums(1).unwrap()[0], 541839333);
    let empty = scratch();
    let outcome = Reader::open(empty.path()).err().unwrap().to_string();
    assert!(outcome.contains("it has no .ffr files"), "{outcome}");
    assert!(Reader::open_files::<&str>(&[]).is_err());
    let missing = empty.path().join("no.ffr");
    let outcome = Reader::open_files(&[&parts[0], &missing]).err().unwrap().to_string();
    assert!(outcome.contains("no.ffr"), "{outcome}");
}

#[test]
fn batches_larger_than_one_thread_reads() {
    let dir = scratch();
    let file = dir.path().join("large.ffr");
    let mut writer = Writer::create(&file).unwrap();
    let record = |number: u64| vec![number as u8; 100_000 + number as usize];
    (0..100).for_each(|number| assert_eq!(writer.add(&record(number)).unwrap(), number));
    writer.finish().unwrap();
    let reader = Reader::open(&file).unwrap();
    let numbers: Vec<u64> = (0..300).map(|number| number * 37 % 100).collect();
    for (bytes, number) in reader.read(&numbers).unwrap().iter().zip(&numbers) {
        assert!(bytes == record(*number), "{number}");
    }
}

#[test]
fn nothing_is_compared_if_so_asked() {
    let file = sample("corrupt/last_sample_flip.ffr");
    let options = Options { no_verify: true, ..Options::default() };
    let archive = Archive::open_with(&file, options).unwrap();
    assert_eq!(archive.dataset("records/9").unwrap().bytes().unwrap().len(), 13);
    let other = scratch();
    let other = other.path().join("no extension");
    std::fs::copy(&file, &other).unwrap();
    assert_eq!(Archive::open(&other).err().unwrap().exit_code(), 11);
    let options = Options { format: Some("ffrecord".into()), ..Options::default() };
    assert_eq!(Archive::open_with(&other, options).unwrap().len(), 10);
}

#[test]
fn shards_through_every_verb() {
    let dir = scratch();
    let parts: Vec<PathBuf> = files("multi");
    // With other files beside them there is a note about what a mount shows.
    let outcome = rab(&[&"ls", &sample("multi")]);
    assert!(
        outcome.code == 0 && outcome.err.contains("also holds PART_00000.json; its 3 files together"),
        "{outcome:?}"
    );
    let shards = dir.path().join("shards");
    sh(r#"mkdir "$2" && cp "$1"/*.ffr "$2""#, &[&sample("multi"), &shards]);
    let [a, b, c] = parts.as_slice() else { panic!("three files") };
    let want = records(&parts);
    let listed = good(&[&"ls", &shards]);
    assert_eq!(listed.lines().count(), 25);
    assert_eq!(good(&[&"ls", a, &"--and", b, &"--and", c]), listed);
    for number in [0, 8, 9, 24] {
        let name = format!("records/{number:02}");
        let text = String::from_utf8_lossy(&want[number]).into_owned();
        assert_eq!(good(&[&"cat", &shards, &name]), text);
        assert_eq!(good(&[&"cat", a, &name, &"--and", b, &"--and", c]), text);
        assert_eq!(good(&[&"cat", &"--stored", &shards, &name]), text);
    }
    let about = good(&[&"info", &shards]);
    assert!(about.contains("files: 3\n") && about.contains("datasets: 25\n"), "{about}");
    assert!(good(&[&"info", &shards, &"records/24"]).contains("PART_00002.ffr"));
    assert!(good(&[&"verify", &shards]).contains("ok: 25 datasets, 25 with a checksum"));
    let one = dir.path().join("one.ffr");
    good(&[&"convert", &shards, &one]);
    assert_eq!(records(std::slice::from_ref(&one)), want);
    good(&[&"diff", &shards, &one]);
    let out = dir.path().join("out");
    good(&[&"unpack", b, &out, &"--and", c]);
    assert_eq!(std::fs::read(out.join("records/15")).unwrap(), want[24]);
    // What is not one container, and what would destroy its own input.
    assert_eq!(rab(&[&"ls", &one, &"--and", &crate::kit::data("readme.rab")]).code, 2);
    assert_eq!(rab(&[&"ls", &crate::kit::data("readme.rab"), &"--and", &one]).code, 2);
    assert_eq!(rab(&[&"ls", &out]).code, 10);
    let own = dir.path().join("own");
    std::fs::create_dir(&own).unwrap();
    parts.iter().for_each(|part| {
        std::fs::copy(part, own.join(part.file_name().unwrap())).unwrap();
    });
    let second = own.join("PART_00001.ffr");
    let outcome = rab(&[&"convert", &"--force", &own, &second]);
    assert!(outcome.code == 2 && outcome.err.contains("is part of the input"), "{outcome:?}");
    // Damage is reported with the file that has it.
    let mut bytes = std::fs::read(&second).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&second, bytes).unwrap();
    let outcome = rab(&[&"verify", &own]);
    assert!(outcome.code == 12 && outcome.out.lines().count() == 1, "{outcome:?}");
    assert!(outcome.out.contains("PART_00001.ffr: dataset \"records/17\""), "{outcome:?}");
}

#[test]
fn shards_are_replaced_only_with_force() {
    let dir = scratch();
    let (input, out) = (dir.path().join("lines"), dir.path().join("out"));
    let pack = |force: &[&str]| {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"pack", &"--lines", &"--shards", &"2", &out, &input];
        arguments.extend(force.iter().map(|word| word as &dyn AsRef<std::ffi::OsStr>));
        rab(&arguments)
    };
    std::fs::write(&input, "one\ntwo\nthree\n").unwrap();
    assert_eq!(pack(&[]).code, 0);
    std::fs::write(&input, "four\n").unwrap();
    let outcome = pack(&[]);
    assert!(outcome.code == 1 && outcome.err.contains("--force replaces it"), "{outcome:?}");
    assert_eq!(Reader::open(&out).unwrap().len(), 3);
    assert_eq!(pack(&["--force"]).code, 0);
    assert_eq!(Reader::open(&out).unwrap().get(0).unwrap(), b"four");
    assert_eq!(names(&out), ["PART_00000.ffr"]);
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    let outcome = pack(&["--force"]);
    assert!(outcome.code == 1 && outcome.err.contains("notes.txt, which is not a .ffr file"), "{outcome:?}");
    assert_eq!(names(&out), ["PART_00000.ffr", "notes.txt"]);
    std::fs::remove_dir_all(&out).unwrap();
    std::fs::write(&out, "a file").unwrap();
    assert_eq!(pack(&["--force"]).code, 1);
    assert_eq!(names(dir.path()), ["lines", "out"], "nothing else is left");
}

#[test]
fn files_and_lines_become_records() {
    let dir = scratch();
    let [a, b, out] = ["a", "b", "out.ffr"].map(|name| dir.path().join(name));
    std::fs::write(&a, "one\ntwo\r\n\nfour").unwrap();
    std::fs::write(&b, "five\n").unwrap();
    let inputs = [a.clone(), b.clone()];
    let mut read = 0;
    let mut passed = |bytes| {
        read += bytes;
        Ok(())
    };
    assert_eq!(pack_files(&out, &inputs, &Packing::default(), &mut passed).unwrap(), 2);
    assert_eq!(
        (records(std::slice::from_ref(&out)), read),
        (vec![b"one\ntwo\r\n\nfour".to_vec(), b"five\n".to_vec()], 19)
    );
    let lines = Packing { framing: Framing::Lines, force: true, shards: None };
    assert_eq!(pack_files(&out, &inputs, &lines, &mut |_| Ok(())).unwrap(), 5);
    let want = [&b"one"[..], b"two\r", b"", b"four", b"five"];
    assert_eq!(records(&[out]), want);

    // Of any length, with line breaks anywhere in what is read at once.
    let sizes = [0, 1, 262_143, 262_144, 3, 300_000, 600_000, 0, 16_384, 5];
    let long: Vec<Vec<u8>> = sizes.iter().zip(b'a'..).map(|(size, byte)| vec![byte; *size]).collect();
    let text: Vec<u8> = long.join(&b'\n');
    std::fs::write(&a, &text).unwrap();
    let out = dir.path().join("out.ffr");
    assert_eq!(pack_files(&out, &inputs[..1], &lines, &mut |_| Ok(())).unwrap(), 10);
    assert_eq!(records(&[out]), long);
    std::fs::write(&a, "one\ntwo\r\n\nfour").unwrap();

    let parts = dir.path().join("parts");
    let shards = |count| Packing { framing: Framing::Lines, force: false, shards: Some(count) };
    assert_eq!(pack_files(&parts, &inputs, &shards(2), &mut |_| Ok(())).unwrap(), 5);
    assert_eq!(names(&parts), ["PART_00000.ffr", "PART_00001.ffr"]);
    assert_eq!(records(&[parts.join("PART_00000.ffr"), parts.join("PART_00001.ffr")]), want);
    assert_eq!(Reader::open(&parts).unwrap().len(), 5);
    // What is there stays.
    assert_eq!(pack_files(&parts, &inputs, &shards(2), &mut |_| Ok(())).err().unwrap().exit_code(), 1);
    let four = dir.path().join("four");
    pack_files(&four, &inputs, &shards(4), &mut |_| Ok(())).unwrap();
    assert_eq!(names(&four).len(), 3, "ceil(5 / 4) records in each");
    let none = dir.path().join("none");
    pack_files(&none, &[], &shards(3), &mut |_| Ok(())).unwrap();
    assert_eq!(Reader::open(&none).unwrap().len(), 0);
    assert_eq!(names(dir.path()), ["a", "b", "four", "none", "out.ffr", "parts"]);
}

/// From a pipe and back, in every framing.
#[test]
fn records_come_from_a_pipe_and_go_into_one() {
    let dir = scratch();
    let [out, again, stream] = ["out.ffr", "again.ffr", "stream"].map(|name| dir.path().join(name));
    let long = vec![b'x'; 700_000];
    let binary = [&b"one"[..], b"", b"\0\n", &long[..]];
    let text = [&b"one"[..], b"", b"two words\r", &long[..]];
    for (framing, want) in [("lines", text), ("nul", text), ("length32", binary), ("length64", binary)] {
        let framed = want.iter().map(|record| match framing {
            "lines" => [*record, &b"\n"[..]].concat(),
            "nul" => [*record, &b"\0"[..]].concat(),
            "length32" => [&(record.len() as u32).to_le_bytes()[..], *record].concat(),
            _ => [&(record.len() as u64).to_le_bytes()[..], *record].concat(),
        });
        std::fs::write(&stream, framed.collect::<Vec<_>>().concat()).unwrap();
        let pipe = r#"set -e -o pipefail
            cat "$2" | "$1" pack "$3" - --records="$4" --force
            "$1" cat "$3" --records="$4" | cmp - "$2"
            "$1" cat "$3" 'records/*' --records="$4" | "$1" pack "$5" - --records="$4" --force
            "$1" verify -q "$5" && cmp "$3" "$5""#;
        sh(pipe, &[&RAB, &stream, &out, &framing, &again]);
        assert_eq!(records(std::slice::from_ref(&out)), want, "{framing}");
        let shards = dir.path().join(framing);
        good(&[&"pack", &"--shards", &"2", &shards, &stream, &"--records", &framing]);
        assert_eq!(Reader::open(&shards).unwrap().get(3).unwrap(), long);
    }
    good(&[&"pack", &"-f", &out, &stream, &"--records=length64"]);
    let outcome = rab(&[&"cat", &out, &"--records=lines"]);
    assert!(
        outcome.code == 1 && outcome.err.contains("\"records/2\": it has a line feed at byte 1"),
        "{outcome:?}"
    );
    let outcome = rab(&[&"cat", &out, &"--records=nul"]);
    assert!(
        outcome.code == 1 && outcome.err.contains("\"records/2\": it has a NUL at byte 0"),
        "{outcome:?}"
    );
}

#[test]
fn a_pipe_that_ends_within_a_record_leaves_nothing() {
    let dir = scratch();
    let out = dir.path().join("out.ffr");
    for (bytes, framing, problem) in [
        (
            r"\1\0\0\0a\5\0\0\0bcd",
            "length32",
            "standard input: at byte 12: it ends 2 bytes before the end of record 1",
        ),
        (
            r"\1\0\0\0a\5",
            "length32",
            "at byte 6: it ends within the length of record 1, 1 bytes of 4 are there",
        ),
        (
            r"\1\0\0\0a",
            "length64",
            "at byte 5: it ends within the length of record 0, 5 bytes of 8 are there",
        ),
        (
            "a line\n",
            "length32",
            "each record must be preceded by its length, a 32-bit little-endian integer",
        ),
    ] {
        let pipe = r#"printf "$3" | "$1" pack "$2" - --records="$4""#;
        let outcome = try_sh(pipe, &[&RAB, &out, &bytes, &framing]);
        assert!(outcome.code == 12 && outcome.err.contains(problem), "{problem}: {outcome:?}");
        assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
    }
    let outcome = try_sh(r#"printf a | "$1" pack "$2" - --lines --shards 2"#, &[&RAB, &out]);
    assert!(outcome.code == 2 && outcome.err.contains("save the input to a file first"), "{outcome:?}");
    assert!(names(dir.path()).is_empty());
}

/// What was made of a record before its checksum was found to be wrong is not printed, nor is what it would have been.
#[test]
fn rows_of_a_damaged_record_are_left_out_whole() {
    let file = sample("corrupt").join("last_sample_flip.ffr");
    for options in [&["--as", "csv"][..], &["--json"]] {
        let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"get", &file, &"records"];
        all.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        let outcome = rab(&all);
        assert!(
            outcome.code == 12 && outcome.out.len() > 20 && !outcome.out.contains('\0'),
            "{options:?}: {outcome:?}"
        );
    }
}

/// The example in Python, without a file for each record.
#[test]
fn the_example_writer() {
    let dir = scratch();
    let [out, announced] = ["out.ffr", "announced.ffr"].map(|name| dir.path().join(name));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let script = r#"
import os, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from ffrecord_writer import Writer
many = [b"", np.arange(3, dtype="<i4"), np.zeros((0, 2)), bytearray(b"x")] + [b"%d" % n for n in range(200_000)]
with Writer(sys.argv[2]) as writer:
    assert [writer.add(record) for record in many] == list(range(len(many))) and len(writer) == len(many)
with Writer(sys.argv[3], len(many)) as writer:
    for record in many:
        writer.add(record)
for count, problem in (None, KeyError), (2, ValueError), (0, ValueError):
    try:
        with Writer(sys.argv[2], count) as writer:
            writer.add(b"one")
            if count is None:
                raise problem
        raise AssertionError(count)
    except problem:
        pass
assert sorted(os.listdir(os.path.dirname(sys.argv[2]))) == ["announced.ffr", "out.ffr"]
"#;
    python(&[&"-c", &script, &examples, &out, &announced]);
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&announced).unwrap());
    assert!(good(&[&"verify", &out]).ends_with("ok: 200004 datasets, 200004 with a checksum\n"));
    let reader = Reader::open(&out).unwrap();
    let found = reader.read(&[0, 1, 2, 3, 4, 200_003]).unwrap();
    let want = [&b""[..], &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0], b"", b"x", b"0", b"199999"];
    assert_eq!(found.iter().collect::<Vec<_>>(), want);

    let lines = r#"printf 'one\n\ntwo' | "$1" "$2" "$3""#;
    sh(lines, &[&interpreter(), &examples.join("ffrecord_writer.py"), &out]);
    assert_eq!(records(&[out]), [&b"one"[..], b"", b"two"]);
}

#[test]
fn what_fails_leaves_nothing() {
    let dir = scratch();
    let out = dir.path().join("out.ffr");
    let missing = [dir.path().join("missing")];
    for packing in [Packing::default(), Packing { framing: Framing::Lines, force: false, shards: Some(2) }] {
        let error = pack_files(&out, &missing, &packing, &mut |_| Ok(())).unwrap_err();
        assert!(error.exit_code() == 10 && error.to_string().contains("missing"), "{error}");
    }
    assert!(pack_files(&out, &[dir.path().to_owned()], &Packing::default(), &mut |_| Ok(())).is_err());
    let inside = pack_folder(&out, dir.path(), true, &mut |_| Ok(())).unwrap_err();
    assert!(inside.exit_code() == 2 && inside.to_string().contains("lies inside"), "{inside}");
    assert!(
        Writer::create(dir.path().join("out.bin")).err().unwrap().to_string().contains("must end in .ffr")
    );
    let mut writer = Writer::create_for(&out, 2).unwrap();
    writer.add(b"one").unwrap();
    assert!(writer.finish().unwrap_err().to_string().contains("2 records were announced, 1 were added"));
    let mut writer = Writer::create_for(&out, 0).unwrap();
    assert!(writer.add(b"one").is_err());
    drop(writer);
    assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
}

#[test]
fn a_record_that_cannot_be_read_leaves_no_trace() {
    struct Fails(bool);
    impl std::io::Read for Fails {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            into.fill(1);
            if std::mem::replace(&mut self.0, true) {
                Err(std::io::Error::other("no"))
            } else {
                Ok(into.len())
            }
        }
    }
    let dir = scratch();
    for count in [None, Some(2)] {
        let out = dir.path().join("out.ffr");
        let mut writer =
            count.map_or_else(|| Writer::create(&out), |count| Writer::create_for(&out, count)).unwrap();
        writer.add(b"one").unwrap();
        assert!(writer.add_from(&mut Fails(false)).is_err());
        assert_eq!(writer.add(b"two").unwrap(), 1);
        writer.finish().unwrap();
        assert_eq!(records(&[out]), [b"one", b"two"]);
    }
}

#[test]
fn links_that_lead_back_are_found() {
    let dir = scratch();
    let (from, out) = (dir.path().join("from"), dir.path().join("out.ffr"));
    std::fs::create_dir_all(from.join("sub")).unwrap();
    std::os::unix::fs::symlink("..", from.join("sub/up")).unwrap();
    let error = pack_folder(&out, &from, true, &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("leads back"), "{error}");
    std::fs::remove_file(from.join("sub/up")).unwrap();
    std::fs::write(from.join("file"), b"linked").unwrap();
    std::os::unix::fs::symlink("../file", from.join("sub/link")).unwrap();
    assert_eq!(pack_folder(&out, &from, true, &mut |_| Ok(())).unwrap(), 2);
    python(&[&"check_ffrecord.py", &"folder", &out, &from]);
}

#[test]
fn a_folder_of_many_files() {
    let dir = scratch();
    let (from, out) = (dir.path().join("from"), dir.path().join("out.ffr"));
    std::fs::create_dir_all(&from).unwrap();
    (0..2500).for_each(|number| std::fs::write(from.join(number.to_string()), number.to_string()).unwrap());
    pack_folder(&out, &from, true, &mut |_| Ok(())).unwrap();
    python(&[&"check_ffrecord.py", &"folder", &out, &from]);
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.get(reader.record_at("1234").unwrap()).unwrap(), b"1234");
    assert_eq!(reader.paths().count(), 2500);
    assert_eq!(reader.record_at("/1234"), None);
}

/// What its directory says of all records is none of them.
#[test]
fn unpacked_records_are_packed_without_their_descriptions() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    good(&[&"unpack", &sample("text_lines.ffr"), &to("files")]);
    let outcome = rab(&[&"pack", &to("new.rab"), &to("files")]);
    assert!(outcome.code == 0 && outcome.err.contains("records.meta.yaml: skipped"), "{outcome:?}");
    good(&[&"diff", &sample("text_lines.ffr"), &to("new.rab")]);
    // A user's file of that name stays.
    std::fs::write(to("files/records.meta.yaml"), "records: 7\n").unwrap();
    let outcome = rab(&[&"pack", &to("other.rab"), &to("files")]);
    assert!(outcome.code == 0 && outcome.err.is_empty(), "{outcome:?}");
    assert!(good(&[&"ls", &to("other.rab")]).contains("records.meta.yaml"));
}

/// A packed folder with these names, each of which has itself as its bytes.
fn folder_of(names: &[&[u8]]) -> (tempfile::TempDir, PathBuf) {
    let dir = scratch();
    let (from, file) = (dir.path().join("from"), dir.path().join("folder.ffr"));
    for name in names {
        let path = from.join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
    pack_folder(&file, &from, false, &mut |_| Ok(())).unwrap();
    (dir, file)
}

/// The true names of the last two are escaped forms of the one before them.
const NOT_UTF_8: [&[u8]; 8] = [
    b"100%",
    b"caf\xE9",
    b"new\nline",
    b"sub\xFF/50%\x01\xE9",
    "é".as_bytes(),
    b"xyz\xFF",
    b"xyz%FF",
    b"%78yz%FF",
];

#[test]
fn names_that_are_not_utf_8_are_names_like_others() {
    let (dir, file) = folder_of(&NOT_UTF_8);
    assert!(good(&[&"verify", &file]).contains("ok: 8 datasets, 8 with a checksum"));
    let copy = dir.path().join("copy.rab");
    good(&[&"convert", &file, &copy]);
    assert!(good(&[&"verify", &copy]).contains("ok: 8 datasets"));
    good(&[&"diff", &file, &copy]);
    let (_other, fewer) = folder_of(&NOT_UTF_8[..1]);
    let outcome = rab(&[&"diff", &file, &fewer]);
    assert!(outcome.code == 1 && outcome.out.contains("folder.ffr: caf%E9\n"), "{outcome:?}");
    for name in
        [OsStr::from_bytes(b"caf\xE9"), OsStr::new("caf%E9"), OsStr::new("caf%e9"), OsStr::new("c*%E9")]
    {
        let copied = good(&[&"cat", &copy, &"caf%ED%B3%A9"]);
        assert_eq!([good(&[&"cat", &file, &name]), copied], ["caf\u{fffd}", "caf\u{fffd}"]);
    }
    assert_eq!(rab(&[&"cat", &file, &"caf%EA"]).code, 3);
    let chosen = dir.path().join("chosen");
    good(&[&"unpack", &file, &chosen, &"caf%E9", &"sub%FF/*"]);
    assert_eq!(std::fs::read(chosen.join(OsStr::from_bytes(NOT_UTF_8[3]))).unwrap(), NOT_UTF_8[3]);
    assert_eq!(std::fs::read_dir(&chosen).unwrap().count(), 2);
    assert!(good(&[&"info", &file, &"caf%E9"]).starts_with("name: caf%E9\n"));
    let bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(4).position(|four| four == b"caf\xE9").unwrap();
    let damaged = dir.path().join("damaged.ffr");
    std::fs::write(&damaged, [&bytes[..at], b"k", &bytes[at + 1..]].concat()).unwrap();
    let outcome = rab(&[&"verify", &damaged]);
    assert!(outcome.code == 12 && outcome.out.contains("dataset \"caf%E9\""), "{outcome:?}");
}

#[test]
fn every_name_that_is_printed_finds_its_dataset() {
    let (dir, file) = folder_of(&NOT_UTF_8);
    let copy = dir.path().join("copy.rab");
    good(&[&"convert", &file, &copy]);
    for file in [&file, &copy] {
        let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", file])).unwrap();
        let archive = Archive::open(file).unwrap();
        let names: Vec<String> = archive.names().map(|name| name.into_owned()).collect();
        assert_eq!(listed.iter().map(|entry| entry["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
        let printed = |number: usize| good(&[&"info", &"--json", file, &names[number]]);
        for (number, name) in names.iter().enumerate() {
            assert_eq!(archive.find(name), Some(number), "{name}");
            let outcome: Value = serde_json::from_str(&printed(number)).unwrap();
            assert_eq!(outcome["name"].as_str(), Some(name.as_str()));
        }
        let mut bytes: Vec<_> =
            names.iter().map(|name| archive.dataset(name).unwrap().bytes().unwrap()).collect();
        bytes.sort();
        let mut want: Vec<_> = NOT_UTF_8.iter().map(|name| name.to_vec()).collect();
        want.sort();
        assert_eq!(bytes, want);
    }
}

#[test]
fn unpacked_records_are_packed_in_their_order() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    let empty_ones = to("empty_ones.ffr");
    let mut writer = Writer::create(&empty_ones).unwrap();
    (0..120).for_each(|n| assert_eq!(writer.add(&b"x".repeat(n % 3)).unwrap(), n as u64));
    writer.finish().unwrap();
    let shards = to("shards");
    good(&[&"pack", &shards, &sample("variable_50.ffr"), &sample("n1.ffr"), &"--shards", &"2"]);
    let sources = [sample("variable_50.ffr"), sample("text_lines.ffr"), sample("n0.ffr"), empty_ones, shards];
    for (at, source) in sources.iter().enumerate() {
        let (files, bare, again) =
            (to(&format!("files{at}")), to(&format!("bare{at}")), to(&format!("{at}.ffr")));
        good(&[&"unpack", source, &files]);
        good(&[&"unpack", &"--no-meta", source, &bare]);
        if bare.join("records").is_dir() {
            let outcome = rab(&[&"pack", &again, &bare.join("records")]);
            let hint = format!("give the directory above it, {}", bare.canonicalize().unwrap().display());
            assert!(outcome.code == 2 && outcome.err.contains(&hint), "{outcome:?}");
        }
        let want = Reader::open(source).unwrap();
        let want: Vec<_> = (0..want.len()).map(|number| want.get(number).unwrap()).collect();
        for files in [&files, &bare] {
            good(&[&"pack", &"--force", &again, files]);
            assert_eq!(records(std::slice::from_ref(&again)), want, "{}", source.display());
        }
        if want.len() > 10 {
            let parts = to(&format!("parts{at}"));
            good(&[&"pack", &parts, &files, &"--shards", &"3"]);
            good(&[&"diff", source, &parts]);
        }
    }
}

#[test]
fn records_that_are_not_all_there_are_not_packed_under_other_numbers() {
    let dir = scratch();
    let (files, out) = (dir.path().join("files"), dir.path().join("new.ffr"));
    let refused = |code: i32, fragment: &str| {
        let outcome = rab(&[&"pack", &out, &files]);
        assert!(outcome.code == code && outcome.err.contains(fragment) && !out.exists(), "{outcome:?}");
    };
    good(&[&"unpack", &sample("text_lines.ffr"), &files]);
    std::fs::remove_file(files.join("records/9")).unwrap();
    refused(1, "record 9 is missing: unpack all records again");
    std::fs::remove_file(files.join("records/3")).unwrap();
    refused(1, "record 3 is missing: unpack all records again");
    std::fs::write(files.join("records/note.txt"), "").unwrap();
    refused(2, "is a directory, and not one that rab unpack");
}
