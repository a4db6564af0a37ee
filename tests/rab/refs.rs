//! `rab refs`: what fsspec, zarr and xarray read by its references, from a disk and over HTTP.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::Value;

use crate::kit::*;
use crate::{RAB, good, rab};

/// Checks the references of one container; returns their number and the messages about other datasets.
fn check(source: &Path, over_http: bool) -> (usize, String) {
    let dir = scratch();
    let raw = dir.path().join("raw");
    good(&[&"unpack", &source, &raw]);
    let refs = dir.path().join("refs.json");
    let outcome = rab(&[&"refs", &source]);
    std::fs::write(&refs, &outcome.out).unwrap();
    let count = python(&[&"zarr_stores.py", &"refs", &refs, &raw]);
    assert_eq!(outcome.code, i32::from(count.trim() == "0"), "{outcome:?}");
    if over_http {
        assert_eq!(python(&[&"zarr_stores.py", &"http", &RAB, &source, &raw]), count);
    }
    (count.trim().parse().unwrap(), outcome.err)
}

/// Containers with arrays that are cut into chunks, and with odd names.
fn made() -> TempDir {
    let dir = scratch();
    python(&[&"zarr_stores.py", &"make", &dir.path()]);
    dir
}

/// The same members, each compressed by the ZIP archive.
fn zipped_again(of: &Path, to: &Path) {
    let mut from = zip::ZipArchive::new(std::fs::File::open(of).unwrap()).unwrap();
    let mut archive = zip::ZipWriter::new(std::fs::File::create(to).unwrap());
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for number in 0..from.len() {
        let mut member = from.by_index(number).unwrap();
        archive.start_file(member.name().to_owned(), options).unwrap();
        std::io::copy(&mut member, &mut archive).unwrap();
    }
    archive.finish().unwrap();
}

#[test]
fn what_is_compressed_twice_is_left_out() {
    let dir = scratch();
    let (once, twice) = (data("../awkward/comp_true_all.awkd"), dir.path().join("twice.awkd"));
    zipped_again(&once, &twice);
    let ranges = |outcome: &str| {
        outcome.matches("comp_true_all.awkd\",").count() + outcome.matches("twice.awkd\",").count()
    };
    assert!(ranges(&rab(&[&"refs", &once]).out) > 0);
    let outcome = rab(&[&"refs", &twice]);
    assert_eq!((outcome.code, ranges(&outcome.out)), (1, 0), "{}", outcome.out);
    assert!(
        outcome.err.contains("is compressed in the Awkward file, so references cannot point"),
        "{}",
        outcome.err
    );
    // The file is named once.
    let npz = dir.path().join("x.npz");
    python(&[&"-c", &"import sys, numpy as np; np.savez_compressed(sys.argv[1], a=np.arange(9))", &npz]);
    let outcome = rab(&[&"refs", &npz]);
    let file = npz.display();
    let want = format!(
        "rab: {file}: dataset \"a\": is compressed in the NPZ file, so references cannot point into it: \
         mount it, or convert it to an uncompressed file\nrab: {file}: has no array that references can \
         point to\n"
    );
    assert_eq!((outcome.code, outcome.err), (1, want));
}

#[test]
fn arrays_are_read_by_their_references() {
    let dir = made();
    for (name, count, left_out) in [
        ("large.rab", 8, &["members"][..]),
        ("odd.rab", 28, &[]),
        ("small.rab", 6, &["gzip twice"]),
        ("stored.npz", 6, &[]),
        ("deflated.npz", 0, &["a", "big"]),
    ] {
        let (found, outcome) = check(&dir.path().join(name), name == "large.rab" || name == "odd.rab");
        let lines = left_out.len() + usize::from(count == 0);
        assert_eq!((found, outcome.lines().count()), (count, lines), "{name}: {outcome}");
        for dataset in left_out {
            assert!(
                outcome.contains(&format!("{name}: dataset {dataset:?}: is compressed in the")),
                "{outcome}"
            );
        }
    }
    for (sample, least) in
        [(data("types.rab"), 50), (data("empty_arrays.rab"), 4), (rawarray("c/c_c16_3d_2x3x4.ra"), 1)]
    {
        assert!(check(&sample, false).0 >= least, "{}", sample.display());
    }
}

/// A directory's containers are groups, and its other files are nothing.
#[test]
fn a_directory_of_containers() {
    let dir = scratch();
    let sub = dir.path().join("sub/é");
    std::fs::create_dir_all(&sub).unwrap();
    std::fs::create_dir(dir.path().join("nothing")).unwrap();
    std::fs::copy(data("readme.rab"), dir.path().join("x y.rab")).unwrap();
    std::fs::copy(data("orders.rab"), sub.join("z.rab")).unwrap();
    std::fs::write(dir.path().join("notes.txt"), "notes").unwrap();
    let raw = scratch();
    for name in ["x y.rab", "sub/é/z.rab"] {
        std::fs::create_dir_all(raw.path().join(name)).unwrap();
        good(&[&"unpack", &dir.path().join(name), &raw.path().join(name)]);
    }
    let refs = raw.path().join("refs.json");
    let outcome = rab(&[&"refs", &dir.path()]);
    let others = "x y.rab: these datasets are not arrays, so there are no references to them: \"Some text\", \"an object\", ";
    assert!(outcome.code == 0 && outcome.err.lines().count() == 1, "{}", outcome.err);
    assert!(outcome.err.contains(others) && outcome.err.ends_with(" and 1 more\n"), "{}", outcome.err);
    let text = outcome.out;
    std::fs::write(&refs, &text).unwrap();
    assert_eq!(python(&[&"zarr_stores.py", &"refs", &refs, &raw.path()]).trim(), "10");

    let at = |url: &str| -> Value {
        let outcome = rab(&[&"refs", &dir.path(), &"--url", &url]);
        serde_json::from_str::<Value>(&outcome.out).unwrap()["refs"].take()
    };
    let keys = serde_json::from_str::<Value>(&text).unwrap();
    let groups: Vec<&String> =
        keys["refs"].as_object().unwrap().keys().filter(|key| key.ends_with(".zgroup")).collect();
    assert_eq!(groups, [".zgroup", "sub/.zgroup", "sub/é/.zgroup", "sub/é/z.rab/.zgroup", "x y.rab/.zgroup"]);
    let web = at("https://host/data/").to_string();
    assert!(
        web.contains("https://host/data/sub/%C3%A9/z.rab") && web.contains("https://host/data/x%20y.rab")
    );
    assert!(at("s3://bucket").to_string().contains("s3://bucket/sub/é/z.rab"));
}

/// An Onda table's samples, however the table is called.
#[test]
fn files_beside_a_container_are_found_by_its_address() {
    let (base, folder) = (data("../onda"), data(".."));
    let table = base.join("test.onda.signal.arrow");
    for (from, source, url) in [
        (&base, Path::new("test.onda.signal.arrow"), "https://h/d/onda/test.onda.signal.arrow"),
        (&folder, Path::new("onda/test.onda.signal.arrow"), "https://h/d/onda/test.onda.signal.arrow"),
        (&base, &table, "https://h/d/onda/test.onda.signal.arrow"),
        (&folder, Path::new("."), "https://h/d"),
    ] {
        let mut command = std::process::Command::new(RAB);
        let outcome = run(command.args(["refs", "--url", url]).arg(source).current_dir(from));
        let refs: Value = serde_json::from_str(&outcome.out).expect(&outcome.err);
        let mut ranges = refs["refs"].as_object().unwrap().values().filter_map(|value| value[0].as_str());
        assert!(ranges.any(|url| url == "https://h/d/onda/samples/int16_eeg.lpcm"), "{outcome:?}");
        assert!(ranges.all(|url| url.starts_with("https://h/d/") && !url.contains("//d")), "{outcome:?}");
    }
    assert_eq!(rab(&[&"refs", &table, &"--url", &""]).code, 2);
}

/// What readers could not find is left out, with its description.
#[test]
fn what_has_no_address_is_left_out() {
    let dir = scratch();
    let inner = dir.path().join("in");
    sh(
        r#"mkdir "$2" && cp "$1/test.onda.signal.arrow" "$2/t.onda.signal.arrow" && cp -r "$1/samples" "$2/.." &&
            ln -s ../samples "$2/samples""#,
        &[&data("../onda"), &inner],
    );
    let table = inner.join("t.onda.signal.arrow");
    let outcome = rab(&[&"refs", &table, &"--follow-outside", &"--url", &"https://h/t"]);
    let refs: Value = serde_json::from_str(&outcome.out).unwrap();
    let mut keys = refs["refs"].as_object().unwrap().keys();
    assert!(outcome.code == 2 && outcome.err.contains("is unknown, as it is not in"), "{outcome:?}");
    assert!(keys.all(|key| !key.ends_with(".zarray") && !key.ends_with("/0.0")), "{outcome:?}");
}

#[test]
fn several_files_are_one_container() {
    let tables = ["test.onda.signal.arrow", "v1_integer_numbers.onda.signal.arrow"];
    let tables = tables.map(|name| data("../onda").join(name));
    let arrays = |arguments: &[&dyn AsRef<std::ffi::OsStr>]| {
        let outcome = rab(&[&[&"refs" as &dyn AsRef<_>], arguments].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        outcome.out.matches("/.zarray\": ").count()
    };
    let (first, second) = (arrays(&[&tables[0]]), arrays(&[&tables[1]]));
    assert!(first > 5 && second > 2, "{first} {second}");
    let both = arrays(&[&tables[0], &"--and", &tables[1]]);
    assert!(both > first && both <= first + second, "{both}");
    let outcome = rab(&[&"refs", &data(""), &"--and", &tables[0]]);
    assert!(outcome.code == 2 && outcome.err.contains("name the files of one"), "{}", outcome.err);
}

#[test]
fn no_key_is_there_twice() {
    let dir = scratch();
    // Only names that are no text can become one.
    for name in [&b"a\xffb"[..], b"a%FFb"] {
        let at = |name: &[u8]| dir.path().join(OsStr::from_bytes(name));
        std::fs::create_dir(at(name)).unwrap();
        std::fs::copy(data("orders.rab"), at(name).join("x.rab")).unwrap();
        std::fs::copy(data("orders.rab"), at(&[name, b".rab"].concat())).unwrap();
    }
    let outcome = rab(&[&"refs", &dir.path()]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let mut keys: Vec<&str> =
        outcome.out.lines().filter_map(|line| line.split("\": ").next()?.strip_prefix('"')).collect();
    let all = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), all);
    let containers = keys.iter().filter(|key| key.ends_with(".rab/.zmetadata")).count();
    assert_eq!((containers, outcome.err.lines().count()), (2, 2), "{}", outcome.err);
    assert_eq!(outcome.err.matches("another file already has its key \"a%FFb").count(), 2, "{}", outcome.err);
}

#[test]
fn damaged_arrays_are_left_out_whole_and_reported() {
    let codec = |length: &str, more: &[&str]| {
        let lines =
            [length, "byteOffset: 0", "byteOrder: C", "endianness: little", "shape: [10]", "type: float32"];
        [&lines[..], more].concat().join("\n    ")
    };
    let header = [
        entry("good", &[&codec("byteLength: 40", &[])]),
        entry("short", &[&codec("byteLength: 39", &[])]),
        entry("no shape", &[&codec("byteLength: 40", &[]).replace("[10]", "[-1]")]),
        entry("no stream", &[&codec("byteLength: 40", &["compression: gzip"])]),
    ];
    let (dir, file) = crate::kit::rab(&format!("\n{}\n", header.concat()), &[7; 40]);
    let outcome = rab(&[&"refs", &file]);
    assert_eq!(outcome.code, 12, "{outcome:?}");
    for name in ["short", "no stream", "no shape"] {
        assert!(outcome.err.contains(&format!("dataset {name:?}")), "{outcome:?}");
    }
    let refs: Value = serde_json::from_str(&outcome.out).unwrap();
    let keys: Vec<&String> = refs["refs"].as_object().unwrap().keys().collect();
    assert_eq!(keys, [".zgroup", "good/.zarray", "good/.zattrs", "good/0", ".zmetadata"]);

    // A directory's other containers are still referred to.
    std::fs::write(dir.path().join("b.rab"), b"rab\xff\xff\xff\xff").unwrap();
    let outcome = rab(&[&"refs", &dir.path()]);
    assert!(
        outcome.code == 12 && outcome.err.contains("b.rab") && outcome.out.contains("test.rab/good/0"),
        "{outcome:?}"
    );
    let outcome = rab(&[&"refs", &dir.path().join("b.rab")]);
    assert_eq!((outcome.code, outcome.out.as_str()), (12, ""), "{outcome:?}");
    assert_eq!(rab(&[&"refs", &dir.path().join("nothing")]).code, 10);
    assert_eq!(rab(&[&"refs", &data("readme.json")]).code, 11);
}
