//! FFRecord files: every sample and every damaged file as its description says, tables, folders, and a file of
//! many records.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rab::ffrecord::{Writer, pack_folder};

use crate::kit::*;

pub fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ffrecord").join(name)
}

fn names_in(folder: &str) -> Vec<String> {
    let all = names(&sample(folder));
    all.iter().filter_map(|name| name.strip_suffix(".ffr")).map(str::to_owned).collect()
}

fn expectation(json: &Path) -> String {
    let text = std::fs::read_to_string(json).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["expect"].as_str().unwrap().to_owned()
}

/// Tries to mount; nothing may be left of the attempt.
fn refused(file: &Path) -> Outcome {
    let scratch = scratch();
    let mountpoint = scratch.path().join("mnt");
    let outcome = run(program().arg(file).arg(&mountpoint));
    assert!(!mountpoint.exists() && outcome.err.lines().count() == 1, "{outcome:?}");
    outcome
}

#[test]
fn samples() {
    let mut count = 0;
    for name in names_in("") {
        let (file, json) = (sample(&format!("{name}.ffr")), sample(&format!("{name}.json")));
        if expectation(&json) != "ok" {
            assert_eq!(refused(&file).code, 12, "{name}");
            continue;
        }
        let mount = Mount::new(&file);
        python(&[&"check_ffrecord.py", &"mount", &mount.path, &json]);
        match name.starts_with("legacy") {
            true => assert!(mount.log().contains("has no header checksum"), "{}", mount.log()),
            false => assert_eq!(mount.log(), "", "{name}"),
        }
        count += 1;
    }
    assert!(count > 10);
}

#[test]
fn records_are_the_rows_of_an_arrow_file() {
    let mut mounts = Vec::new();
    for name in names_in("") {
        let json = sample(&format!("{name}.json"));
        if expectation(&json) == "ok" {
            mounts.push(Mount::new(&sample(&format!("{name}.ffr"))));
        }
    }
    let parts = ["PART_00000", "PART_00001"].map(|part| sample(&format!("multi/{part}.ffr")));
    mounts.push(Mount::with(&parts[0], &[parts[1].to_str().unwrap()]));
    let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"check_tables.py", &"records"];
    mounts.iter().for_each(|mount| arguments.push(&mount.path));
    let rows: u64 = python(&arguments).trim().parse().unwrap();
    assert!(rows > 1700, "{rows}");
    for mount in &mounts {
        // Each by itself is none, so their directories have nothing.
        let files = sh(r#"cd "$1/.views/arrow" && find . -type f"#, &[&mount.path]);
        assert_eq!(files, "./records.arrow\n");
    }
}

#[test]
fn text_of_records_reads_only_those_that_are_in_it() {
    let dir = scratch();
    let file = dir.path().join("x.ffr");
    let mut writer = Writer::create(&file).unwrap();
    for number in 0..6u8 {
        writer.add(&vec![number; 1 << 20][..]).unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let damaged = 12 + 12 * 6 + 3 * (1 << 20) + 1000;
    bytes[damaged] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let mount = Mount::new(&file);
    let line = (1usize << 20).div_ceil(3) * 4;
    for (name, around) in
        [("csv/records.csv", 2), ("jsonl/records.jsonl", "{\"data\":\"\",\"crc32\":}\n".len())]
    {
        let path = mount.join(format!(".views/{name}"));
        let size = std::fs::metadata(&path).unwrap().len() as usize;
        assert!((6 * (line + around)..6 * (line + around + 10) + 11).contains(&size), "{name}: {size}");
        // Well inside of each record, whose middle is the same byte over and over.
        let file = std::fs::File::open(&path).unwrap();
        for number in [5u8, 3, 0, 1, 4, 2] {
            let mut part = [0; 4];
            let at = usize::from(number) * (size / 6) + size / 12;
            let read = std::os::unix::fs::FileExt::read_exact_at(&file, &mut part, (at - at % 4) as u64);
            match number {
                3 => assert_eq!(read.unwrap_err().raw_os_error(), Some(libc::EIO), "{name}"),
                _ => read.unwrap(),
            }
            assert!(number != 0 || part == *b"AAAA", "{name}: {part:?}");
        }
    }
    // Of rows only theirs are read: none where it is damaged.
    for (index, is_right) in [("[4:]", true), ("[:3]", true), ("[5:3:-1]", true), ("[3:4]", false)] {
        for kind in ["csv", "jsonl"] {
            let read = mount.read(format!(".views/{kind}/records{index}.{kind}"));
            assert_eq!(read.is_ok(), is_right, "{index} {kind}");
        }
    }
    let outcome = mount.log();
    assert!(
        outcome.lines().all(|line| line.contains("record") && line.contains("its CRC-32 is 0x")),
        "{outcome}"
    );
}

/// What the message says of each file that is refused.
const REFUSED: &[(&str, &str)] = &[
    ("big_endian", "at byte 4: the number of records is 720575940379279360: header and tables take"),
    ("meta_crc_flip", "at byte 0: the header checksum is 0x"),
    ("n_2pow62", "at byte 4: the number of records is 4611686018427387904"),
    ("n_negative", "at byte 4: the number of records is -1"),
    ("n_off_by_one_more", "at byte 0: the header checksum is 0x"),
    ("offset0_inside_header_crcfixed", "at byte 52: the offset of record 0 is 0, inside the header"),
    ("offset_past_eof_crcfixed", "at byte 124: the offset of record 9 is 1000000000000, past the end"),
    ("offsets_swapped_crcfixed", "at byte 84: the offset of record 4 is 171, before the record ahead"),
    ("trunc_in_tables", "at byte 4: the number of records is 10: header and tables take 132 bytes"),
];

#[test]
fn damaged_files() {
    let mut refusals = 0;
    for name in names_in("corrupt") {
        let file = sample(&format!("corrupt/{name}.ffr"));
        let expected = expectation(&file.with_extension("json"));
        if expected.starts_with("refuse") {
            let outcome = refused(&file);
            let (_, fragment) = REFUSED.iter().find(|(known, _)| *known == name).expect("it is in the list");
            assert!(outcome.code == 12 && outcome.err.contains(fragment), "{name}: {outcome:?}");
            refusals += 1;
        } else {
            let last_only = expected == "open; sample 9 CRC error, 0..8 ok";
            assert!(last_only || expected.ends_with("every sample CRC fails"), "{expected}");
            let mount = Mount::new(&file);
            for number in 0..10 {
                let read = mount.read(format!("records/{number}"));
                let is_damaged = number == 9 || !last_only;
                match read {
                    Ok(bytes) => assert!(!is_damaged && bytes.len() == 13, "{name} {number}"),
                    Err(error) => assert!(is_damaged && error.raw_os_error() == Some(5), "{name}: {error}"),
                }
                // A reader that comes back, too.
                assert_eq!(mount.read(format!("records/{number}")).is_err(), is_damaged);
            }
            let log = mount.log();
            let lines = log.lines().filter(|line| line.contains("its CRC-32 is 0x")).count();
            assert_eq!(lines, if last_only { 1 } else { 10 }, "each is outcome once: {log}");
            assert!(!mount.read(".views/table/data").unwrap().is_empty());
        }
    }
    assert_eq!(refusals, REFUSED.len());
}

#[test]
fn an_empty_file_is_no_container() {
    let dir = scratch();
    let file = dir.path().join("x.ffr");
    std::fs::write(&file, b"").unwrap();
    assert_eq!(refused(&file).code, 11);
    std::fs::write(&file, b"short").unwrap();
    assert_eq!(refused(&file).code, 12);
    // Without the extension nothing tells what it is.
    let other = dir.path().join("x.bin");
    std::fs::copy(sample("n1.ffr"), &other).unwrap();
    assert_eq!(refused(&other).code, 11);
}

#[test]
fn in_a_directory_the_header_tells() {
    let dir = scratch();
    for (name, from) in [("good.ffr", "n1.ffr"), ("flipped.ffr", "corrupt/meta_crc_flip.ffr")] {
        std::fs::copy(sample(from), dir.path().join(name)).unwrap();
    }
    std::fs::write(dir.path().join("text.ffr"), "something else with that extension").unwrap();
    std::fs::copy(sample("corrupt/last_sample_flip.ffr"), dir.path().join("damaged.ffr")).unwrap();
    std::fs::write(dir.path().join("notes"), "").unwrap();
    let mount = Mount::new(dir.path());
    assert!(mount.join("good.ffr/records").is_dir() && mount.join("damaged.ffr/records").is_dir());
    for name in ["text.ffr", "flipped.ffr"] {
        assert_eq!(mount.read(name).unwrap(), std::fs::read(dir.path().join(name)).unwrap());
    }
    drop(mount);
    // Where the format is given, the problem is reported.
    let mount = Mount::with(dir.path(), &["--format", "ffrecord"]);
    let outcome = String::from_utf8(mount.read("flipped.ffr/ERROR.txt").unwrap()).unwrap();
    assert!(outcome.contains("the header checksum is 0x"), "{outcome}");
}

#[test]
fn the_example_loader() {
    let mount = Mount::new(&sample("variable_50.ffr"));
    let loader = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ffrecord_loader.py");
    python(&[&"check_ffrecord.py", &"loader", &mount.path, &loader]);
    let out = python(&[&loader, &mount.path, &"--batch", &"20", &"--step", &"1"]);
    assert_eq!(out.lines().count(), 2);
    assert!(out.starts_with("batch 1: 20 records, "), "{out}");
}

#[test]
fn a_folder_with_names_of_every_kind() {
    let dir = scratch();
    let (from, file) = (dir.path().join("from"), dir.path().join("out.ffr"));
    for folder in ["empty", "a/b/c", "é"] {
        std::fs::create_dir_all(from.join(folder)).unwrap();
    }
    let odd: [&[u8]; 7] =
        [b"latin\xe9.txt", b"a/b/c/deep", b"new\nline", b"100%", "é/🦏".as_bytes(), b"a.txt", b"\xff\xfe"];
    for name in odd {
        std::fs::write(from.join(OsStr::from_bytes(name)), name).unwrap();
    }
    std::fs::write(from.join("x".repeat(255)), b"").unwrap();
    assert_eq!(pack_folder(&file, &from, true, &mut |_| Ok(())).unwrap(), 8);
    python(&[&"check_ffrecord.py", &"folder", &file, &from]);
    let mount = Mount::new(&file);
    sh(r#"diff -r "$1" "$2""#, &[&from, &mount.path]);
    assert!(mount.join("empty").is_dir());
    assert_eq!(mount.read(OsStr::from_bytes(b"latin\xe9.txt")).unwrap(), b"latin\xe9.txt");
}

#[test]
fn a_million_records_and_more() {
    const COUNT: u64 = 1_500_000;
    let dir = scratch();
    let file = dir.path().join("many.ffr");
    let mut writer = Writer::create_for(&file, COUNT).unwrap();
    for number in 0..COUNT {
        writer.add(if number % 1000 == 7 { b"seven" } else { b"" }).unwrap();
    }
    writer.finish().unwrap();
    let mount = Mount::new(&file);
    let first = sh(r#"ls -U "$1/records" | head -3"#, &[&mount.path]);
    assert_eq!(first, "0000000\n0000001\n0000002\n");
    assert_eq!(mount.read("records/1499007").unwrap(), b"seven");
    assert_eq!(mount.read("records/1499999").unwrap(), b"");
    assert!(mount.read("records/1500000").is_err());
    assert_eq!(std::fs::metadata(mount.join(".views/table/offsets")).unwrap().len(), 8 * (COUNT + 1));
    let offsets = mount.read(".views/table/offsets").unwrap();
    assert_eq!(offsets[offsets.len() - 8..], (5 * COUNT / 1000).to_le_bytes());
    assert_eq!(sh(r#"ls -U "$1/records" | wc -l"#, &[&mount.path]).trim(), COUNT.to_string());
    let status = std::fs::read_to_string(format!("/proc/{}/status", mount.daemon())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 64 << 10, "{peak} KiB of memory were used");
}

#[test]
fn records_beyond_4_gib() {
    use std::os::unix::fs::FileExt;
    const HOLE: u64 = 9 << 29;
    let dir = scratch();
    let path = dir.path().join("large.ffr");
    let file = std::fs::File::create(&path).unwrap();
    let begin = 12 + 12 * 3;
    // The second record takes no room, and its CRC is wrong.
    let sums = [crc32(b"first"), 1, crc32(b"last")].map(u32::to_le_bytes).concat();
    let offsets = [begin, begin + 5, begin + 5 + HOLE].map(u64::to_le_bytes).concat();
    let head = [&3u64.to_le_bytes()[..], &sums, &offsets].concat();
    file.write_all_at(&[&crc32(&head).to_le_bytes()[..], &head, b"first"].concat(), 0).unwrap();
    file.write_all_at(b"word", begin + HOLE - 100).unwrap();
    file.write_all_at(b"last", begin + 5 + HOLE).unwrap();
    let reader = rab::ffrecord::Reader::open(&path).unwrap();
    assert_eq!(
        reader.read(&[2, 0, 2]).unwrap().iter().collect::<Vec<_>>(),
        [b"last", &b"first"[..], b"last"]
    );
    assert_eq!(reader.offsets(0).unwrap(), [begin, begin + 5, begin + 5 + HOLE, begin + 9 + HOLE]);
    let mount = Mount::with(&path, &["--no-verify"]);
    assert_eq!(mount.read("records/2").unwrap(), b"last");
    let read = |name: &str, offset: u64| {
        let (file, mut word) = (std::fs::File::open(mount.join(name)).unwrap(), [1; 4]);
        file.read_exact_at(&mut word, offset).unwrap();
        word
    };
    assert_eq!(std::fs::metadata(mount.join("records/1")).unwrap().len(), HOLE);
    assert_eq!(&read("records/1", HOLE - 105), b"word");
    assert_eq!(&read(".views/table/data", HOLE - 100), b"word");
    assert_eq!(&read(".views/table/data", HOLE + 5), b"last");
    let offsets = mount.read(".views/table/offsets").unwrap();
    assert_eq!(offsets, [0, 5, 5 + HOLE, 9 + HOLE].map(u64::to_le_bytes).concat());
}

#[test]
fn a_file_that_changes_gives_errors() {
    let dir = scratch();
    let file = dir.path().join("x.ffr");
    std::fs::copy(sample("variable_50.ffr"), &file).unwrap();
    let mount = Mount::new(&file);
    assert_eq!(mount.read("records/00").unwrap().len(), 664);
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(700).unwrap();
    for name in ["records/01", "records/49", ".views/table/data"] {
        assert_eq!(mount.read(name).unwrap_err().raw_os_error(), Some(5), "{name}");
    }
}

#[test]
fn several_files_are_one_container() {
    let parts = ["PART_00000.ffr", "PART_00001.ffr", "PART_00002.ffr"];
    let (shards, scratch) = (scratch(), scratch());
    let point = scratch.path().join("m");
    for part in parts {
        std::fs::copy(sample("multi").join(part), shards.path().join(part)).unwrap();
    }
    let files: Vec<PathBuf> = parts.iter().map(|part| shards.path().join(part)).collect();
    let want: Vec<Vec<u8>> = files
        .iter()
        .flat_map(|file| {
            let reader = rab::ffrecord::Reader::open(file).unwrap();
            (0..reader.len()).map(move |number| reader.get(number).unwrap()).collect::<Vec<_>>()
        })
        .collect();
    let unmount = || run(program().arg("-u").arg(&point));
    let format = vec!["--format".into(), "ffrecord".into(), shards.path().into()];
    for arguments in [files.clone(), format, vec![shards.path().into()]] {
        let outcome = run(program().args(&arguments).arg(&point));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found: Vec<_> = names(&point.join("records"));
        let read = found.iter().map(|name| std::fs::read(point.join("records").join(name)).unwrap());
        let read: Vec<Vec<u8>> = read.collect();
        unmount();
        assert_eq!(read.len(), 25);
        assert_eq!(read, want);
    }
    let outcome = run(program().arg("--union").args(&files).arg(&point));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let count = names(&point.join("records")).len();
    unmount();
    assert_eq!(count, 9);
    // With --only-containers the shards are shown as a directory.
    let mount = Mount::with(shards.path(), &["--only-containers"]);
    assert_eq!(names(&mount.path), parts);
    drop(mount);
    // One that is no shard makes it a directory like any other, and so does a packed folder.
    for other in ["notes.txt", "folder.ffr", "empty.ffr"] {
        let path = shards.path().join(other);
        match other {
            "folder.ffr" => drop(std::fs::copy(sample("packed_one_file.ffr"), &path).unwrap()),
            _ => std::fs::write(&path, "").unwrap(),
        }
        let mount = Mount::new(shards.path());
        assert!(mount.names().contains(&"PART_00001.ffr".to_owned()), "{other}: {:?}", mount.names());
        assert!(mount.names().contains(&other.to_owned()));
        drop(mount);
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::write(shards.path().join(".hidden"), "").unwrap();
    assert_eq!(names(&Mount::new(shards.path()).join("records")).len(), 25);
    let packed = sample("packed_one_file.ffr");
    let outcome = run(program().args([&packed, &files[0]]).arg(&point));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(names(&point), ["PART_00000.ffr", "packed_one_file.ffr"]);
    unmount();
}

#[test]
fn checksums_may_be_left_alone() {
    let damaged = sample("corrupt/last_sample_flip.ffr");
    let last = |mount: &Mount| {
        let last = names(&mount.join("records")).pop().unwrap();
        mount.read(format!("records/{last}"))
    };
    assert_eq!(last(&Mount::new(&damaged)).unwrap_err().raw_os_error(), Some(5));
    for options in [&["--no-verify"][..], &["-o", "no_verify"]] {
        assert!(last(&Mount::with(&damaged, options)).is_ok());
    }
}

/// They are arrays as those of other containers.
#[test]
fn tables_have_parts_other_views_and_attributes() {
    let script = r#"
import os, sys, numpy as np
table = os.path.join(sys.argv[1], ".views/table")
for name in "data", "offsets", "checksums":
    path = os.path.join(table, name)
    whole = np.load(path + ".npy")
    for index in ":3", "::-2", "-1", "...":
        want, got = eval(f"whole[{index}]"), np.load(f"{path}[{index}].npy")
        assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes(), (name, index)
    assert (np.loadtxt(path + ".csv", dtype=whole.dtype, ndmin=1) == whole).all(), name
    outcome = [os.getxattr(path + ".npy", "user." + key).decode() for key in ("dtype", "shape", "format")]
    assert outcome == [whole.dtype.str, f"[{len(whole)}]", "FFRecord"], outcome
assert len(os.listdir(table)) == 6
"#;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ffrecord/n1.ffr");
    let mount = Mount::with(&file, &["--xattr"]);
    python(&[&"-c", &script, &mount.path]);
    assert_eq!(mount.log(), "");
}

/// What is below a directory, by paths: the bytes of files, nothing of directories.
fn all_below(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let (mut found, mut left) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let is_dir = path.is_dir();
            found.insert(
                path.strip_prefix(root).unwrap().into(),
                (!is_dir).then(|| std::fs::read(&path).unwrap()),
            );
            left.extend(is_dir.then_some(path));
        }
    }
    found
}

fn random_name(random: &mut Scatter) -> Vec<u8> {
    const PIECES: [&[u8]; 24] = [
        b"a",
        b"b",
        b".",
        b"..",
        b"~2",
        b"%",
        b"%0A",
        b"%FF",
        b"\n",
        b"\x01",
        b"\x7f",
        b" ",
        b"\xff",
        b"\xe9",
        b"\xed\xa0\x80",
        "é".as_bytes(),
        "🦏".as_bytes(),
        b".meta.yaml",
        b".views",
        b"records",
        b"npy",
        b"\\",
        b"*[",
        &[b'x'; 255],
    ];
    let mut name = Vec::new();
    for _ in 0..=random.below(3) {
        name.extend_from_slice(PIECES[random.below(PIECES.len())]);
    }
    name.truncate(255);
    if matches!(name.as_slice(), b"." | b"..") { b"dots".to_vec() } else { name }
}

/// Directories, empty ones too, files, empty ones too, and links to files, which are packed as what they lead to.
fn random_folder(root: &Path, random: &mut Scatter) {
    let mut dirs = vec![root.to_owned()];
    for number in 0..12 {
        let path = dirs[random.below(dirs.len())].join(OsStr::from_bytes(&random_name(random)));
        // Of a name that is taken, or a path that is too long, there is no other.
        if random.below(3) == 0 {
            dirs.extend(std::fs::create_dir(&path).is_ok().then_some(path));
        } else if !path.exists()
            && std::fs::write(&path, format!("{number}").repeat(random.below(40))).is_ok()
        {
            std::os::unix::fs::symlink(&path, root.join(format!("link{number}"))).unwrap();
        }
    }
}

#[test]
fn folders_keep_every_name_through_mount_unpack_and_pack() {
    const RAB: &str = env!("CARGO_BIN_EXE_rab");
    let (dir, mut random) = (scratch(), Scatter(7));
    let to = |name: String| dir.path().join(name);
    let packed = to("packed".into());
    std::fs::create_dir(&packed).unwrap();
    let numbers = 0..25;
    for number in numbers.clone() {
        let (from, file) = (to(format!("from{number}")), packed.join(format!("{number}.ffr")));
        std::fs::create_dir(&from).unwrap();
        match number {
            0 => std::fs::write(from.join(".views"), "a file").unwrap(),
            1..5 => {
                std::fs::create_dir_all(from.join(".views/npy/empty")).unwrap();
                std::fs::write(from.join(".views/npy/x"), "x").unwrap();
            }
            _ => {}
        }
        random_folder(&from, &mut random);
        sh(r#""$1" pack --packed-folder "$2" "$3""#, &[&RAB, &file, &from]);
        if number < 8 {
            python(&[&"check_ffrecord.py", &"folder", &file, &from]);
        }
    }
    let together = Mount::with(&packed, &["--only-containers"]);
    for number in numbers {
        let (from, file) = (to(format!("from{number}")), packed.join(format!("{number}.ffr")));
        let want = all_below(&from);
        assert_eq!(all_below(&together.join(format!("{number}.ffr"))), want, "{number}");
        if number < 5 {
            assert_eq!(all_below(&Mount::new(&file).path), want, "{number}");
        }
        let (unpacked, again) = (to(format!("unpacked{number}")), to(format!("{number}.ffr")));
        sh(
            r#""$1" unpack "$2" "$3" && "$1" pack --packed-folder "$4" "$3""#,
            &[&RAB, &file, &unpacked, &again],
        );
        assert_eq!(all_below(&unpacked), want, "{number}");
        assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&file).unwrap(), "{number}");
        sh(
            r#""$1" verify "$2" && "$1" convert "$2" "$3" && "$1" diff "$2" "$3""#,
            &[&RAB, &file, &to(format!("{number}.rab"))],
        );
    }
}

#[test]
fn views_of_a_folders_own_are_what_it_has_and_hide_those_of_the_mount() {
    let dir = scratch();
    let (from, file) = (dir.path().join("from"), dir.path().join("out.ffr"));
    std::fs::create_dir_all(from.join(".views/jsonl")).unwrap();
    std::fs::write(from.join(".views/jsonl/mine"), "mine").unwrap();
    std::fs::write(from.join("other"), "other").unwrap();
    pack_folder(&file, &from, false, &mut |_| Ok(())).unwrap();
    let mount = Mount::new(&file);
    assert_eq!(mount.names(), [".views", "other"]);
    assert_eq!(names(&mount.join(".views")), ["jsonl"]);
    assert!(!mount.join(".views/table").exists() && !mount.join(".views/info").exists());
    for kind in ["info", "jsonl"] {
        let (mount, unpacked) = (Mount::with(&file, &["--as", kind]), dir.path().join(kind));
        let outcome = run(std::process::Command::new(env!("CARGO_BIN_EXE_rab"))
            .args(["unpack", "--as", kind])
            .args([&file, &unpacked]));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert_eq!(all_below(&unpacked), all_below(&mount.path));
        let mine = if kind == "info" { ".views/jsonl/mine.info.txt" } else { ".views/jsonl/mine" };
        assert!(mount.join(mine).is_file(), "{kind}");
    }
    // The directory around it has views of it all the same.
    let around = Mount::new(dir.path());
    assert!(around.read(".views/info/out.ffr/.views/jsonl/mine.info.txt").unwrap().starts_with(b"name: "));
}
