//! `rab convert`: what comes out is what went in.

use std::fs;
use std::path::Path;

use crate::kit::{bytes_entry, data, names, python, rab as write, scratch, sh};
use crate::{SAMPLES, good, rab};

/// What `ls --json` says, without where things are.
fn listed(file: &Path) -> Vec<serde_json::Value> {
    serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap()
}

#[test]
fn every_sample_comes_out_as_it_went_in() {
    let dir = scratch();
    for sample in SAMPLES {
        let (file, out) = (data(&format!("{sample}.rab")), dir.path().join(format!("{sample}.rab")));
        let arguments: [&dyn AsRef<std::ffi::OsStr>; 3] = [&"convert", &file, &out];
        assert_eq!(good(&arguments), "", "{sample}");
        assert_eq!(good(&[&"diff", &file, &out]), "", "{sample}");
        assert_eq!(good(&[&"verify", &"-q", &out]), "");
        let of =
            |file: &Path, key: &str| listed(file).iter().map(|item| item[key].clone()).collect::<Vec<_>>();
        for key in ["name", "type", "shape", "compression"] {
            assert_eq!(of(&file, key), of(&out, key), "{sample}");
        }
    }
}

#[test]
fn what_is_compressed_can_be_chosen() {
    let dir = scratch();
    let compressed = |options: &[&str]| {
        let out = dir.path().join("out.rab");
        let file = data("gzip.rab");
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &"-f", &file, &out];
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        good(&arguments);
        assert_eq!(good(&[&"diff", &data("gzip.rab"), &out]), "");
        listed(&out).iter().filter(|item| item["compression"] == "gzip").count()
    };
    let (all, before) = (listed(&data("gzip.rab")).len(), compressed(&[]));
    assert!(0 < before);
    assert_eq!([compressed(&["--compress"]), compressed(&["-c=9"])], [all, all]);
    assert_eq!([compressed(&["--compress=0"]), compressed(&["--compress=none"])], [0, 0]);
    assert_eq!(rab(&[&"convert", &data("gzip.rab"), &dir.path().join("x.rab"), &"--compress=10"]).code, 2);
}

#[test]
fn npy_there_and_back() {
    let dir = scratch();
    let script = "import sys, numpy as np\nd = sys.argv[1]\n\
        a = np.arange(24).reshape(2, 3, 4).astype('>f4'); np.save(d + '/a.npy', a)\n\
        np.save(d + '/f.npy', np.asfortranarray(a.astype('<c16')))\nnp.save(d + '/s.npy', np.bool_(True))\n\
        np.save(d + '/o.npy', np.array([{}], dtype=object), allow_pickle=True)";
    python(&[&"-c", &script, &dir.path()]);
    let at = |name: &str| dir.path().join(name);
    let same = "import sys, numpy as np\na, b = map(np.load, sys.argv[1:])\n\
        assert a.dtype == b.dtype and a.shape == b.shape and a.flags.f_contiguous == b.flags.f_contiguous\n\
        assert (a == b).all()";
    fs::create_dir(at("back")).unwrap();
    for name in ["a", "f", "s"] {
        let (file, rab_file, back) =
            (at(&format!("{name}.npy")), at(&format!("{name}.rab")), at(&format!("back/{name}.npy")));
        good(&[&"convert", &file, &rab_file]);
        assert_eq!(good(&[&"ls", &rab_file]), format!("{name}\n"));
        good(&[&"convert", &rab_file, &back]);
        python(&[&"-c", &same, &file, &back]);
    }
    good(&[&"convert", &at("a.npy"), &at("named.rab"), &"--name", &"my/array", &"--compress"]);
    assert_eq!(good(&[&"ls", &at("named.rab")]), "my/array\n");
    let outcome = rab(&[&"convert", &at("named.rab"), &at("named.npy")]);
    let note = "dataset \"my/array\": its name is not kept: it will be called \"named\" like the file\n";
    assert!(outcome.code == 0 && outcome.err.ends_with(note), "{outcome:?}");
    python(&[&"-c", &same, &at("a.npy"), &at("named.npy")]);

    let outcome = rab(&[&"convert", &at("o.npy"), &at("o.rab")]);
    assert!(
        outcome.code == 1
            && outcome.err.contains("it holds Python objects (a pickle), which are not read here: ")
            && !at("o.rab").exists(),
        "{outcome:?}"
    );
    let mut short = fs::read(at("a.npy")).unwrap();
    short.pop();
    fs::write(at("short.npy"), short).unwrap();
    let outcome = rab(&[&"convert", &at("short.npy"), &at("short.rab")]);
    assert!(outcome.code == 12 && !at("short.rab").exists(), "{outcome:?}");
}

#[test]
fn a_npy_file_holds_one_array() {
    let dir = scratch();
    let out = dir.path().join("x.npy");
    let outcome = rab(&[&"convert", &data("readme.rab"), &out]);
    assert!(outcome.code == 2 && outcome.err.contains("holds one array"), "{outcome:?}");
    let outcome = rab(&[&"convert", &data("readme.rab"), &out, &"my second array"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(
        outcome.err.starts_with("note: ") && outcome.err.contains("its metadata is not kept"),
        "{outcome:?}"
    );
    fs::remove_file(&out).unwrap();
    let outcome = rab(&[&"convert", &data("readme.rab"), &out, &"Some text"]);
    assert!(outcome.code == 1 && outcome.err.contains("holds an array"), "{outcome:?}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_npy_file_takes_its_target_s_place_as_a_container_does() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    let convert = |out: &str, options: &[&str]| {
        let (from, to) = (data("readme.rab"), at(out));
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"convert", &from, &to, &"my second array"];
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        rab(&arguments)
    };
    sh(
        r#"cd "$1"; mkfifo fifo.npy; mkdir dir.npy; ln -s none dangling.npy; echo old > old; ln -s old link.npy
        chmod 600 old"#,
        &[&dir.path()],
    );
    for (name, problem) in [
        ("fifo.npy", "it is not a regular file"),
        ("dir.npy", "is a directory"),
        ("dangling.npy", "it is a symbolic link that leads nowhere"),
    ] {
        let outcome = convert(name, &["-f"]);
        assert!(outcome.code == 1 && outcome.err.contains(problem), "{outcome:?}");
    }
    assert_eq!(convert("link.npy", &["-f"]).code, 0);
    assert!(fs::read(at("old")).unwrap().starts_with(b"\x93NUMPY"));
    assert_eq!(sh(r#"cd "$1"; stat -c %a old; readlink link.npy"#, &[&dir.path()]), "600\nold\n");
    assert_eq!(names(dir.path()), ["dangling.npy", "dir.npy", "fifo.npy", "link.npy", "old"]);
}

#[test]
fn impossible_requests_are_refused_before_anything_is_written() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    fs::copy(data("readme.rab"), at("in.rab")).unwrap();
    let refused = |out: &str, options: &[&str], code: i32, fragment: &str| {
        let (from, to) = (at("in.rab"), at(out));
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &from, &to];
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        let outcome = rab(&arguments);
        assert!(outcome.code == code && outcome.err.contains(fragment), "{outcome:?}");
    };
    refused("in.rab", &["-f"], 2, "is part of the input");
    fs::hard_link(at("in.rab"), at("link.rab")).unwrap();
    refused("link.rab", &["-f"], 2, "is part of the input");
    fs::write(at("there.rab"), "mine").unwrap();
    refused("there.rab", &[], 1, "--force replaces it");
    assert_eq!(fs::read(at("there.rab")).unwrap(), b"mine");
    refused("x.unknown", &[], 2, "cannot write .unknown files: choose one of .npz, ");
    refused("x.rab", &["--name", "a"], 2, "--name is for");
    assert_eq!(names(dir.path()), ["in.rab", "link.rab", "there.rab"]);
}

/// Files that the opened one only names are the input too: shards of a model, and samples of a table.
#[test]
fn no_file_of_the_input_is_replaced() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    sh(
        r#"cp -r "$2"/safetensors/sharded "$2"/onda/samples "$2"/onda/test.onda.signal.arrow "$1"; ln -s int8.lpcm "$1"/samples/x.rab"#,
        &[&dir.path(), &tests],
    );
    let refused = |input: &str, out: &str| {
        let before = fs::read(at(out)).unwrap();
        let outcome = rab(&[&"convert", &"-f", &at(input), &at(out)]);
        assert!(
            outcome.code == 2 && outcome.err.contains(&format!("{out}: is part of the input")),
            "{outcome:?}"
        );
        assert!(fs::read(at(out)).unwrap() == before, "{out}");
    };
    refused("sharded/model.safetensors.index.json", "sharded/model-00002-of-00002.safetensors");
    refused("sharded", "sharded/model-00001-of-00002.safetensors");
    refused("test.onda.signal.arrow", "samples/x.rab");
}

#[test]
fn damage_leaves_nothing() {
    let (dir, file) = write(&(bytes_entry("a", 0, 2) + &bytes_entry("b", 2, 9)), b"0123");
    let outcome = rab(&[&"convert", &file, &dir.path().join("out.rab")]);
    assert!(outcome.code == 12 && outcome.err.contains("dataset \"b\""), "{outcome:?}");
    assert_eq!(names(dir.path()), ["test.rab"]);
    let mut raw = fs::read(data("gzip.rab")).unwrap();
    let info = good(&[&"info", &"--json", &data("gzip.rab"), &"array zlib"]);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    raw[(info["offset"].as_u64().unwrap() + info["stored"].as_u64().unwrap() / 2) as usize] ^= 0x55;
    fs::write(&file, raw).unwrap();
    let outcome = rab(&[&"convert", &file, &dir.path().join("out.rab")]);
    assert!(outcome.code == 12 && outcome.err.contains("dataset \"array zlib\""), "{outcome:?}");
    assert_eq!(names(dir.path()), ["test.rab"]);
}

#[test]
fn damage_is_not_given_a_checksum_of_its_own() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("b"), [7; 3000]).unwrap();
    good(&[&"pack", &at("x.rab"), &at("b")]);
    let mut bytes = fs::read(at("x.rab")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(at("x.rab"), bytes).unwrap();
    let outcome = rab(&[&"convert", &at("x.rab"), &at("y.rab")]);
    assert!(outcome.code == 12 && outcome.err.contains("the sha256 of its stored bytes"), "{outcome:?}");
    assert!(!at("y.rab").exists());
}

/// It would bury the note itself.
#[test]
fn a_type_of_many_fields_is_not_printed_whole_in_notes() {
    let dir = scratch();
    let script = "
import sys, numpy as np
np.savez(sys.argv[1] + '/x.npz', a=np.zeros(3, [('field%d' % i, '<f4') for i in range(210)]))
";
    python(&[&"-c", &script, &dir.path()]);
    let outcome = rab(&[&"convert", &dir.path().join("x.npz"), &dir.path().join("x.rab")]);
    assert!(
        outcome.code == 0 && outcome.err.contains("RAB has no type") && outcome.err.len() < 600,
        "{outcome:?}"
    );
}
