//! The verbs on RawArray files.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::get::compare_with_numpy;
use crate::kit::{names, python, rawarray, scratch};
use crate::{RAB, good, rab};

fn samples(folders: &[&str]) -> Vec<(std::path::PathBuf, String, Value)> {
    let folder = |folder: &&str| {
        let all = names(&rawarray(folder)).into_iter();
        let stems = all.filter_map(|name| name.strip_suffix(".ra").map(str::to_owned));
        let dir = rawarray(folder);
        stems.map(move |stem| {
            let text = std::fs::read_to_string(dir.join(format!("{stem}.json"))).unwrap();
            (dir.join(format!("{stem}.ra")), stem, serde_json::from_str(&text).unwrap())
        })
    };
    folders.iter().flat_map(folder).collect()
}

#[test]
fn every_sample() {
    let samples = samples(&["c", "python", "rust", "handmade", "trailer"]);
    assert!(samples.len() > 100);
    for (file, stem, want) in samples {
        let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
        assert_eq!(listed[0]["name"], stem.as_str());
        let mut shape = want["dims_column_major"].as_array().unwrap().clone();
        let info: Value = serde_json::from_str(&good(&[&"info", &"--json", &file, &stem])).unwrap();
        assert_eq!(info["codecMeta"]["dims"], want["dims_column_major"]);
        shape.reverse();
        assert_eq!(listed[0]["shape"], Value::Array(shape.clone()), "{stem}");
        assert_eq!((&info["shape"], &info["length"]), (&Value::Array(shape), &want["raw_len"]));
        assert_eq!((&info["offset"], &info["stored"]), (&want["data_offset"], &want["stored_len"]), "{stem}");

        let cat = std::process::Command::new(RAB).arg("cat").arg(&file).arg(&stem).output().unwrap();
        let digest: String = Sha256::digest(&cat.stdout).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, want["raw_sha256"].as_str().unwrap(), "{stem}");
        let count = listed.len();
        assert_eq!(count, if want["trailer_len"] == 0 { 1 } else { 2 }, "{stem}");
        let outcome = good(&[&"verify", &file]);
        let plural = if count == 1 { "" } else { "s" };
        let compressed = if info["compression"].is_null() { "" } else { ", 1 decompressed to the end" };
        let summary = format!(".ra: ok: {count} dataset{plural}, 0 with a checksum{compressed}\n");
        assert!(outcome.ends_with(&summary), "{outcome}");
    }
}

#[test]
fn damaged_and_odd_files() {
    for (file, _, want) in samples(&["corrupt", "quirks"]) {
        let expect = want["expect"].as_str().unwrap();
        let code = match expect {
            "refuse: bad magic" => 11,
            _ if file.ends_with("empty.ra") => 11,
            "lenient-empty" => 0,
            _ => 12,
        };
        let outcome = rab(&[&"verify", &file]);
        assert_eq!(outcome.code, code, "{}: {outcome:?}", file.display());
        let listed = rab(&[&"ls", &"-l", &file]);
        let is_shown = expect.starts_with("header only");
        assert_eq!(listed.code, if is_shown { 0 } else { code }, "{}: {listed:?}", file.display());
    }
    let flags = rawarray("corrupt/flags8.ra");
    assert!(good(&[&"ls", &"-l", &flags]).contains("damaged"));
    let outcome = rab(&[&"cat", &flags, &"flags8"]);
    assert!(outcome.code == 12 && outcome.err.contains("bits that are not known (0x8)"), "{outcome:?}");
}

#[test]
fn parts_are_those_of_numpys_view() {
    for sample in [
        "python/i32_2d_64x48",
        "python/c64_3d_2x3x4",
        "python/f16_3d_2x3x4",
        "python/bigendian_f32_3d_2x3x4",
        "python/bigendian_c64_2d_2x3",
        "python/u8_7d_2x2x2x2x2x2x2",
        "python/f64_0d",
        "trailer/trailer_text_f32_2x3x4",
    ] {
        assert!(compare_with_numpy(&rawarray(&format!("{sample}.ra")), "3") >= 2, "{sample}");
    }
}

#[test]
fn parts_of_what_is_decoded() {
    let script = r#"
import io, subprocess, sys
import numpy as np
rab, path, name = sys.argv[1:]
run = lambda *arguments: subprocess.check_output([rab, *arguments])
a = np.frombuffer(run("cat", path, name), "<i4").reshape(48, 64)
assert len(np.unique(a)) > 10
for index in ("...", "7, ::5", "-1:-9:-3, 60:", ":, 3"):
    part = np.load(io.BytesIO(run("get", path, f"{name}[{index}]", "--as", "npy")))
    assert part.dtype == a.dtype and np.array_equal(part, eval(f"a[{index}]")), index
"#;
    python(&[&"-c", &script, &RAB, &rawarray("c/lz4_i32_2d_64x48.ra"), &"lz4_i32_2d_64x48"]);
    let get = |sample: &str, what: &str| good(&[&"get", &rawarray(&format!("handmade/{sample}.ra")), &what]);
    assert_eq!(get("julia_leb128_u32_8", "julia_leb128_u32_8[:4]"), "[  0   1 127 128]\n");
    assert_eq!(
        get("julia_leb128_i64_2x3", "julia_leb128_i64_2x3[1]"),
        "[ 4611686018427387904 -9223372036854775808]\n"
    );
    assert_eq!(get("julia_bitarray_7x10", "julia_bitarray_7x10[0, :3]"), "[False  True  True]\n");
}

#[test]
fn numbers_that_numpy_does_not_have() {
    let get = |sample: &str, index: &str| {
        let stem = sample.split('/').next_back().unwrap();
        good(&[&"get", &rawarray(&format!("{sample}.ra")), &format!("{stem}{index}")])
    };
    assert_eq!(get("rust/rs_i128_1d_5", "[0]"), "-170141183460469231731687303715884105728\n");
    assert_eq!(get("rust/rs_u128_1d_4", "[-1]"), "340282366920938463463374607431768211455\n");
    assert_eq!(get("rust/rs_bf16_1d_4", "[:3]"), "[3.14 2.72 0.69]\n");
    assert_eq!(get("handmade/julia_complexf16_2x2", "[0]"), "[1.+2.j 3.+4.j]\n");
    let file = rawarray("rust/rs_i128_1d_5.ra");
    let script = "import io, subprocess, sys, numpy as np\n\
                  a = np.load(io.BytesIO(subprocess.check_output(sys.argv[1:])))\n\
                  assert a.dtype == 'V16' and a.tobytes() == open(sys.argv[3], 'rb').read()[56:]";
    python(&[&"-c", &script, &RAB, &"get", &file, &"rs_i128_1d_5", &"--as", &"npy"]);
    let outcome = rab(&[&"info", &"--stats", &file, &"*"]);
    assert!(
        outcome.code == 2 && outcome.err.contains("--stats is for arrays of numbers of up to 64 bits"),
        "{outcome:?}"
    );
    let stats: Value = serde_json::from_str(&good(&[
        &"info",
        &"--json",
        &"--stats",
        &rawarray("rust/rs_bf16_1d_4.ra"),
        &"*",
    ]))
    .unwrap();
    assert_eq!(stats["stats"]["min"], 0.69140625);
}

#[test]
fn user_structs() {
    let file = rawarray("python/user_struct80_1d_3.ra");
    let get = |options: &[&dyn AsRef<std::ffi::OsStr>]| {
        good(&[&[&"get" as &dyn AsRef<_>, &file, &"user_struct80_1d_3[0]"], options].concat())
    };
    assert!(get(&[]).starts_with("b'rec0\\x00\\x00"), "{}", get(&[]));
    let record = get(&[&"--dtype", &"S12,u4,8f8"]);
    assert!(record.starts_with("(b'rec0', 100, [") && record.ends_with("])\n"), "{record}");
    let script = "import io, subprocess, sys, numpy as np\n\
                  a = np.load(io.BytesIO(subprocess.check_output(sys.argv[1:])))\n\
                  assert a.dtype == np.dtype('S12,<u4,8<f8') and a.tobytes() == open(sys.argv[3], 'rb').read()[56:]";
    python(&[
        &"-c",
        &script,
        &RAB,
        &"get",
        &file,
        &"user_struct80_1d_3",
        &"--as",
        &"npy",
        &"--dtype",
        &"S12,u4,8f8",
    ]);
    let strings = rawarray("python/numpy_S5_1d_3_eltype0.ra");
    assert_eq!(
        good(&[&"get", &strings, &"numpy_S5_1d_3_eltype0", &"--dtype", &"S5"]),
        "[b'abc' b'de' b'fghij']\n"
    );
    let bools = rawarray("python/numpy_bool_1d_10_eltype0.ra");
    let shown = good(&[&"get", &bools, &"numpy_bool_1d_10_eltype0[:3]", &"--dtype=?"]);
    assert_eq!(shown, "[ True False False]\n");
    let outcome = rab(&[&"ls", &file, &"--dtype", &"u4"]);
    assert!(outcome.code == 2 && outcome.err.contains("takes 4 bytes, but an element has 80"), "{outcome:?}");
}

#[test]
fn a_format_that_is_named_is_not_looked_for() {
    let dir = scratch();
    let file = dir.path().join("x");
    std::fs::copy(rawarray("python/f64_0d.ra"), &file).unwrap();
    assert_eq!(good(&[&"ls", &file, &"--format", &"rawarray"]), "x\n");
    let outcome = rab(&[&"ls", &file, &"--format", &"tar"]);
    assert!(outcome.code == 2 && outcome.err.contains("is not a known format"), "{outcome:?}");
    std::fs::write(&file, b"something else").unwrap();
    let outcome = rab(&[&"ls", &file, &"--format", &"RawArray"]);
    assert!(outcome.code == 11 && outcome.err.contains("is not a RawArray file"), "{outcome:?}");
}

/// Numbers that numpy has no type for are the same numbers after they were unpacked and packed, or converted.
#[test]
fn foreign_numbers_keep_their_type_and_byte_order() {
    let dir = scratch();
    for (eltype, elbyte, part) in
        [(4, 4, 2), (1, 16, 16), (2, 16, 16), (3, 16, 16), (4, 32, 16), (5, 2, 2), (1, 3, 3), (4, 10, 5)]
    {
        let values: Vec<u8> = (0..6 * elbyte as u8).map(|n| n.wrapping_mul(37)).collect();
        let header =
            |flags| [flags, eltype, elbyte, 6 * elbyte, 2, 3, 2].into_iter().flat_map(u64::to_le_bytes);
        let little: Vec<u8> = b"rawarray".iter().copied().chain(header(0)).chain(values.clone()).collect();
        let turned = values.chunks(part).flat_map(|number| number.iter().rev().copied());
        let big: Vec<u8> = b"rawarray".iter().copied().chain(header(1)).chain(turned).collect();
        for file in [&little, &big] {
            let [x, out, again] = ["x.ra", "out", "again.ra"].map(|name| dir.path().join(name));
            std::fs::write(&x, file).unwrap();
            good(&[&"unpack", &"-f", &x, &out]);
            let outcome = rab(&[&"pack", &"-f", &again, &out]);
            assert_eq!(outcome.code, 0, "{outcome:?}");
            assert!(std::fs::read(&again).unwrap() == little, "packed: {eltype} {elbyte}");
            let outcome = rab(&[&"convert", &"-f", &x, &again]);
            assert_eq!(outcome.code, 0, "{outcome:?}");
            assert!(std::fs::read(&again).unwrap() == little, "converted: {eltype} {elbyte}");
        }
    }
}

/// Elements are written in little-endian byte order, with a note.
#[test]
fn a_byte_order_that_is_not_kept() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    let make = "import sys, numpy as np; np.save(sys.argv[1], np.arange(3, dtype='>i4')); np.save(sys.argv[2], np.arange(3, dtype='<i4'))";
    python(&[&"-c", &make, &at("big.npy"), &at("little.npy")]);
    let note = "its big-endian byte order is not kept: its elements are written little-endian";
    for (name, is_noted) in [("big", true), ("little", false)] {
        let [npy, npz] = ["npy", "npz"].map(|extension| at(&format!("{name}.{extension}")));
        let packed = rab(&[&"pack", &at(&format!("{name}.ra")), &npy]);
        good(&[&"pack", &npz, &npy]);
        let converted = rab(&[&"convert", &npz, &at(&format!("{name}.ra")), &"--force"]);
        for outcome in [packed, converted] {
            assert_eq!((outcome.code, outcome.err.contains(note)), (0, is_noted), "{outcome:?}");
        }
        assert_eq!(good(&[&"get", &at(&format!("{name}.ra")), &name]), "[0 1 2]\n");
    }
}

/// With the sidecars that the mount and unpack give them.
#[test]
fn a_trailer_comes_back_through_unpack_and_pack() {
    let dir = scratch();
    let file = Path::new("tests/data/rawarray/trailer/trailer_text_f32_2x3x4.ra");
    let (unpacked, packed) = (dir.path().join("u"), dir.path().join("trailer_text_f32_2x3x4.ra"));
    good(&[&"unpack", &file, &unpacked]);
    let outcome = rab(&[&"pack", &packed, &unpacked]);
    assert!(
        outcome.code == 0 && outcome.err.contains("which readers in Python and Rust refuse"),
        "{outcome:?}"
    );
    assert_eq!(std::fs::read(&packed).unwrap(), std::fs::read(file).unwrap());
}
