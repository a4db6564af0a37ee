//! RawArray files: every sample of every writer as its expectations say, quirks that are accepted, damage that is
//! refused, and any range of what has to be decoded.

use std::path::{Path, PathBuf};

use crate::kit::*;
use crate::parallel::eight_readers_of;

/// The samples of a folder with their expectations.
fn samples(folder: &str) -> Vec<(PathBuf, serde_json::Value)> {
    let all = names(&rawarray(folder));
    let files = all.iter().filter(|name| name.ends_with(".ra")).map(|name| rawarray(folder).join(name));
    files
        .map(|file| {
            let text = std::fs::read_to_string(file.with_extension("json")).unwrap();
            let expected = serde_json::from_str(&text).unwrap();
            (file, expected)
        })
        .collect()
}

/// All samples of a folder, mounted together.
fn check(folder: &str, least: usize) {
    let samples = samples(folder);
    assert!(samples.len() >= least);
    let mounts: Vec<Mount> = samples.iter().map(|(file, _)| Mount::new(file)).collect();
    let lines = mounts.iter().zip(&samples).map(|(mount, (file, expected))| {
        assert_eq!(expected["expect"], "ok");
        format!("{}\t{}\n", mount.path.display(), file.with_extension("json").display())
    });
    let (dir, lines) = (scratch(), lines.collect::<String>());
    let list = dir.path().join("list");
    std::fs::write(&list, lines).unwrap();
    let count = python(&[&"check_rawarray.py", &list]);
    assert_eq!(count.trim().parse::<usize>().unwrap(), samples.len());
    for (mount, (file, _)) in mounts.iter().zip(&samples) {
        let is_odd =
            file.file_name().is_some_and(|name| name == "julia_float_compress_flag_but_raw_f64_3.ra");
        assert_eq!(mount.log().is_empty(), !is_odd, "{}: {}", file.display(), mount.log());
    }
}

#[test]
fn files_of_the_c_library() {
    check("c", 30);
}

#[test]
fn files_of_python() {
    check("python", 40);
}

#[test]
fn files_of_rust() {
    check("rust", 15);
}

#[test]
fn files_of_julia_and_nested_ones() {
    check("handmade", 11);
}

#[test]
fn trailers() {
    check("trailer", 6);
}

fn refused(file: &Path) -> Outcome {
    let scratch = scratch();
    let outcome = run(program().arg(file).arg(scratch.path().join("mnt")));
    assert!(!outcome.err.contains("panic") && outcome.err.lines().count() == 1, "{outcome:?}");
    outcome
}

#[test]
fn damaged_files_are_refused_with_the_field_and_its_offset() {
    for (file, code, fragments) in [
        ("corrupt/dims_overflow", 12, &["at byte 48: dims [9223372036854775808, 3, 4]", "do not fit"][..]),
        ("corrupt/elbyte0", 12, &["at byte 24: elbyte is 0"]),
        ("corrupt/eltype9", 12, &["at byte 16: eltype is 9; only 0 to 5 are supported"]),
        ("corrupt/empty", 11, &["it is empty"]),
        ("corrupt/magic", 11, &["begins with"]),
        ("corrupt/ndims_2p61", 12, &["at byte 40: ndims is 2305843009213693952", "the file has 168"]),
        ("corrupt/ndims_2p63", 12, &["at byte 40: ndims is 9223372036854775808", "the file has 168"]),
        ("corrupt/size_small", 12, &["at byte 32: size is 9", "take 96 bytes"]),
        ("corrupt/trunc20", 12, &["at byte 20: the header has 48 bytes at least, but the file has 20"]),
        (
            "quirks/octave_logical_header_only_truncated",
            12,
            &["at byte 32: size is 6: the data ends at byte 70"],
        ),
        (
            "quirks/rs_reshape_2x2_ndims1_bug",
            12,
            &["at byte 32: size is 8, but dims [2] of uint16 (elbyte 2) take 4"],
        ),
    ] {
        let outcome = refused(&rawarray(&format!("{file}.ra")));
        assert_eq!(outcome.code, code, "{file}: {outcome:?}");
        for fragment in fragments {
            assert!(outcome.err.contains(fragment), "{file}: {fragment:?} is not in {:?}", outcome.err);
        }
    }
    assert_eq!(samples("corrupt").len() + samples("quirks").len(), 10 + 4, "all of them are tested here");
}

#[test]
fn of_unknown_flags_only_the_header_is_shown() {
    let mount = Mount::new(&rawarray("corrupt/flags8.ra"));
    assert_eq!(mount.names(), ["flags8", "flags8.meta.yaml"]);
    let sidecar = String::from_utf8(mount.read("flags8.meta.yaml").unwrap()).unwrap();
    assert!(sidecar.contains("flags: 8") && sidecar.contains("bits that are not known (0x8)"), "{sidecar}");
    assert_eq!(mount.read("flags8").unwrap_err().raw_os_error(), Some(5));
}

#[test]
fn arrays_without_elements_that_only_a_lenient_reader_takes() {
    for (name, shape, note) in [
        (
            "octave_empty_0x3_elbyte0",
            "shape: [3, 0]",
            "elbyte is 0 in an array without elements: 8 is assumed",
        ),
        ("rs_new_ndims0_size0", "shape: [0]", "ndims and size are 0: read as an array without elements"),
    ] {
        let mount = Mount::new(&rawarray(&format!("quirks/{name}.ra")));
        assert_eq!(mount.read(name).unwrap(), b"");
        let sidecar = String::from_utf8(mount.read(format!("{name}.meta.yaml")).unwrap()).unwrap();
        assert!(sidecar.contains(shape) && sidecar.contains(note), "{sidecar}");
        assert!(mount.log().contains(note), "{}", mount.log());
    }
}

/// A RawArray file of these words and bytes.
fn write_ra(path: &Path, words: &[u64], data: &[u8]) {
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = b"rawarray".iter().copied().chain(words).chain(data.iter().copied()).collect();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn contradictions_are_refused() {
    let dir = scratch();
    let file = dir.path().join("bad.ra");
    for (words, data, fragment) in [
        (&[4, 2, 8, 8, 1, 3][..], 8, "at byte 8: flags say bits (4), for which eltype must be 5"),
        (&[6, 5, 8, 16, 1, 3], 16, "at byte 32: size is 16, but dims [3] of bits in words of 8 bytes take 8"),
        (&[0, 5, 8, 8, 1, 1], 8, "at byte 24: elbyte is 8: for eltype 5"),
        (&[0, 5, 4, 4, 1, 1], 4, "at byte 24: elbyte is 4"),
        (&[0, 3, 3, 3, 1, 1], 3, "at byte 24: elbyte is 3: floats (eltype 3) have"),
        (&[0, 4, 5, 5, 1, 1], 5, "at byte 24: elbyte is 5: complex numbers (eltype 4) have two halves"),
        (&[0, 2, 4, 16, 1, 3], 16, "at byte 32: size is 16, but dims [3]"),
        (&[0, 2, 4, 0, 1, 3], 0, "at byte 32: size is 0, but dims [3]"),
        (&[0, 2, 4, 0, 2, 1 << 62, 8], 0, "at byte 48: dims [4611686018427387904, 8]"),
        (&[0, 2, 1, 1 << 63, 1, 1 << 63], 0, "at byte 48: dims [9223372036854775808]"),
        (
            &[2, 2, 1, 5, 1, 5000],
            5,
            "at byte 32: size is 5: LZ4 data of that length decodes to 1291 bytes at most",
        ),
        (&[2, 2, 1, 5, 1, 0], 5, "at byte 32: size is 5"),
        (&[2, 1, 8, 32, 1, 4], 3, "at byte 32: size is 32: the data ends at byte 88, but the file has 59"),
        (&[2, 3, 4, 8, 1, 2], 9, "at byte 8: flags say that the data is compressed, but it decodes neither"),
        (&[0, 2, 1, 0, 2000], 16_000, "at byte 40: ndims is 2000, and the limit is 1024"),
    ] {
        write_ra(&file, words, &vec![0xff; data]);
        let outcome = refused(&file);
        assert_eq!(outcome.code, 12, "{words:?}: {outcome:?}");
        assert!(outcome.err.contains(fragment), "{fragment:?} is not in {:?}", outcome.err);
    }
}

/// Zero times anything is nothing.
#[test]
fn a_zero_extent_beside_enormous_ones() {
    let dir = scratch();
    let file = dir.path().join("x.ra");
    write_ra(&file, &[0, 3, 4, 0, 3, 1 << 63, 2, 0], b"");
    let mount = Mount::new(&file);
    assert_eq!(mount.read("x").unwrap(), b"");
}

/// A file with a large LZ4 block, one of LEB128 numbers, and one of bits.
fn compressed(dir: &Path) -> [(PathBuf, Vec<u8>); 3] {
    let numbers: Vec<u32> = (0..600_000u32).map(|at| at.wrapping_mul(2_654_435_761) >> (at % 31)).collect();
    let raw: Vec<u8> = (0..600_000u32).flat_map(|at| (at / 3 * 7 % 65_521).to_le_bytes()).collect();
    let block = lz4_flex::block::compress(&raw);
    let lz4 = dir.join("lz4.ra");
    write_ra(&lz4, &[2, 2, 4, block.len() as u64, 1, 600_000], &[&block[..], b"and more"].concat());

    let leb128 = dir.join("leb128.ra");
    let varints: Vec<u8> = numbers.iter().flat_map(|number| varint(*number)).collect();
    write_ra(&leb128, &[2, 2, 4, 2_400_000, 1, 600_000], &varints);

    let bits = dir.join("bits.ra");
    let words: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    write_ra(&bits, &[6, 5, 8, 2_400_000, 1, 19_200_000 - 5], &words);
    let unpacked = words.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1)).take(19_200_000 - 5);
    [
        (lz4, raw),
        (leb128, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
        (bits, unpacked.collect()),
    ]
}

fn varint(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[test]
fn any_range_of_decoded_data_by_eight_readers() {
    let dir = scratch();
    for (file, whole) in compressed(dir.path()) {
        let mount = Mount::new(&file);
        assert!(mount.read(file.file_stem().unwrap()).unwrap() == whole, "{}", file.display());
        for options in [&[][..], &["--cache-size", "2M", "--threads", "1"]] {
            eight_readers_of(&file, options);
        }
    }
}

#[test]
fn any_range_of_stored_data_by_eight_readers() {
    eight_readers_of(&rawarray("python/i32_2d_64x48.ra"), &[]);
    eight_readers_of(&rawarray("trailer/trailer_binary_f32_2x3x4.ra"), &[]);
}

#[test]
fn what_comes_before_damage_is_served() {
    let dir = scratch();
    let [(file, whole), _, _] = compressed(dir.path());
    let mut bytes = std::fs::read(&file).unwrap();
    // A distance of 0, somewhere in the middle.
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0);
    std::fs::write(&file, &bytes).unwrap();
    let mount = Mount::new(&file);
    assert_eq!(mount.read("lz4").unwrap_err().raw_os_error(), Some(5));
    let start = sh(r#"head -c 1000 "$1" | sha256sum"#, &[&mount.join("lz4")]);
    std::fs::write(dir.path().join("start"), &whole[..1000]).unwrap();
    assert_eq!(start, sh(r#"sha256sum < "$1""#, &[&dir.path().join("start")]));
    assert!(
        mount.log().contains("dataset \"lz4\": at byte") && mount.log().lines().count() == 1,
        "{}",
        mount.log()
    );
    assert_eq!(mount.read("lz4.trailer").unwrap(), b"and more");
}

#[test]
fn leb128_numbers_with_something_behind_them() {
    let dir = scratch();
    let file = dir.path().join("x.ra");
    write_ra(&file, &[2, 1, 4, 16, 1, 4], &[0, 1, 2, 3, 77]);
    let mount = Mount::new(&file);
    let want: Vec<u8> = [0i32, -1, 1, -2].into_iter().flat_map(i32::to_le_bytes).collect();
    assert_eq!(mount.read("x").unwrap(), want);
    assert!(mount.log().contains("at byte 60: bytes follow the last LEB128 number"), "{}", mount.log());
}

#[test]
fn the_type_of_user_structs_can_be_given() {
    let file = rawarray("python/user_struct80_1d_3.ra");
    let script = r#"
import os, sys
import numpy as np
import yaml
os.chdir(sys.argv[1])
side = yaml.safe_load(open("user_struct80_1d_3.meta.yaml"))["numpy"]
assert side == {"dtype": "S12,<u4,8<f8", "shape": [3], "order": "C"}, side
a = np.fromfile("user_struct80_1d_3", side["dtype"])
assert a.dtype.names == ("f0", "f1", "f2") and a["f2"].shape == (3, 8)
assert a["f0"][0] == b"rec0" and a["f1"][0] == 100, a
"#;
    let long = Mount::with(&file, &["--dtype", "S12,u4,8f8", "--format", "rawarray"]);
    python(&[&"-c", &script, &long.path]);
    let listed = Mount::with(&file, &["-o", r"dtype=S12\,u4\,8f8,format=RawArray"]);
    python(&[&"-c", &script, &listed.path]);
    for (options, fragment) in [
        (["--dtype", "S12,u4"], "that takes 16 bytes, but an element has 80 (elbyte)"),
        (["--dtype", "nonsense"], "\"nonsense\" is not a type that is understood"),
        (["--format", "tar"], "\"tar\" is not a known format: "),
    ] {
        let outcome = run(program().args(options).arg(&file).arg(scratch().path().join("mnt")));
        assert!(outcome.code == 2 && outcome.err.contains(fragment), "{outcome:?}");
    }
}

/// Claims are compared with the file before anything is allocated for them.
#[test]
fn claims_take_no_memory() {
    let dir = scratch();
    let file = dir.path().join("x.ra");
    let claims: [&[u64]; 4] = [
        &[0, 2, 1, 1 << 40, 1, 1 << 40],
        &[2, 2, 8, 1 << 43, 1, 1 << 40],
        &[2, 2, 8, 1 << 40, 1, 1 << 40],
        &[6, 5, 8, 1 << 40, 1, 1 << 43],
    ];
    for words in claims {
        write_ra(&file, words, &[0; 100]);
        let outcome = run(std::process::Command::new("bash")
            .args(["-c", r#"ulimit -v 2000000; exec timeout 20 "$0" -f "$1" "$2""#, PROGRAM])
            .args([&file, &dir.path().join("mnt")]));
        assert_eq!(outcome.code, 12, "{words:?}: {outcome:?}");
    }
}
