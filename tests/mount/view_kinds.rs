//! The views csv, jsonl, arrow and png as the tools open them that they are for, and reads of any range of them.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use crate::kit::*;

fn checked(mount: &Path) -> String {
    python(&[&"check_views.py", &mount])
}

#[test]
fn tools_open_the_views_of_every_sample() {
    let dir = scratch();
    let folder = dir.path().join("all");
    std::fs::create_dir(&folder).unwrap();
    let samples = [data(""), rawarray("c"), rawarray("python"), rawarray("handmade")];
    for sample in
        samples.iter().flat_map(|sample| names(sample).into_iter().map(move |name| sample.join(name)))
    {
        if sample.extension().is_some_and(|kind| kind == "rab" || kind == "ra") {
            let name = sample.file_name().unwrap();
            std::fs::copy(&sample, folder.join(name)).unwrap();
        }
    }
    let mount = Mount::new(&folder);
    let found: serde_json::Value = serde_json::from_str(&checked(&mount.path)).unwrap();
    for (kind, least) in [("csv", 50), ("png", 120), ("jsonl", 3), ("arrow", 3)] {
        assert!(found[kind].as_u64() >= Some(least), "{kind}: {found}");
    }
}

#[test]
fn every_type_and_layout_of_numpy_is_the_same_in_all_tools() {
    let dir = scratch();
    let files = ["a.npz", "b.npz"].map(|name| dir.path().join(name));
    python(&[&"make_views.py", &files[0], &files[1]]);
    for (file, csv, texts, arrow) in [(&files[0], 130, 100, 2), (&files[1], 60, 48, 1)] {
        let mount = Mount::new(file);
        let found: serde_json::Value = serde_json::from_str(&checked(&mount.path)).unwrap();
        assert!(found["csv"].as_u64() >= Some(csv) && found["arrow"].as_u64() >= Some(arrow), "{found}");
        assert_eq!(found["texts"].as_u64(), Some(texts), "{found}");
    }
}

/// One array without compression.
fn array(name: &str, of: &str, shape: &str, len: u64) -> String {
    let codec = [
        &format!("byteLength: {len}"),
        "byteOffset: 0",
        "byteOrder: C",
        "endianness: little",
        &format!("shape: [{shape}]"),
        &format!("type: {of}"),
    ];
    entry(name, &codec)
}

#[test]
fn an_array_larger_than_memory_is_text_at_once() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let rows = 2_500_000_000u64;
    let len = 40 * rows;
    write_rab(&path, &array("a", "float32", &format!("{rows}, 10"), len), &[]);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let header = file.metadata().unwrap().len();
    file.set_len(header + len).unwrap();
    file.write_all_at(&1.25f32.to_le_bytes(), header + len - 4).unwrap();
    let mount = Mount::new(&path);
    let csv = mount.join(".views/csv/a.csv");
    let (header, line) = ("#0,1,2,3,4,5,6,7,8,9\n".len() as u64, 10 * 17);
    assert_eq!(std::fs::metadata(&csv).unwrap().size(), header + rows * line);
    let outcome = sh(r#"tail -n 2 "$1" | cut -d , -f 9-"#, &[&csv]);
    let (none, some) = (format!("0.{}", "0".repeat(14)), format!("1.25{}", "0".repeat(12)));
    assert_eq!(outcome, format!("{none},{none}\n{none},{some}\n"));
    let last = sh(r#"tail -c 18 "$1""#, &[&csv]);
    assert_eq!(last, format!(",{some}\n"));
    // less wants a terminal to go to the end.
    let less = r#"script -qec "less -n +Gq '$1'" /dev/null < /dev/null | tail -c 400"#;
    assert!(sh(less, &[&csv]).contains("1.25"));
    let read = "import sys, numpy, pandas\n\
        print(numpy.loadtxt(sys.argv[1], delimiter=',', max_rows=3).sum())\n\
        print(len(pandas.read_csv(sys.argv[1], nrows=1000)))\n";
    assert_eq!(python(&[&"-c", &read, &csv]), "0.0\n1000\n");
    // A picture looks at some of it.
    let png = std::fs::metadata(mount.join(".views/png/a.png")).unwrap().size();
    assert!(png > 1000 && png < 4 << 20, "{png}");
    let kind = run(Command::new("file").arg("-b").arg(mount.join(".views/png/a.png")));
    assert!(kind.out.starts_with("PNG image data, 1600 x 1600, 8-bit grayscale"), "{kind:?}");
}

#[test]
fn readers_take_cells_for_numbers_without_options() {
    let dir = scratch();
    let file = dir.path().join("x.npz");
    python(&[&"check_csv_readers.py", &"make", &file]);
    let mount = Mount::new(&file);
    python(&[&"check_csv_readers.py", &"check", &mount.path]);
    check_any_range(&mount.join(".views/csv/gaps.csv"), 300);
    check_any_range(&mount.join(".views/csv/line_gaps.csv"), 300);
    assert_eq!(mount.log(), "");
}

#[test]
fn a_text_that_cannot_be_written_has_no_file_and_is_logged() {
    let dir = scratch();
    let file = dir.path().join("x.npz");
    let script = "import sys, numpy as np; np.savez_compressed(sys.argv[1], wide=np.zeros((2, 300_000), 'S1'), empty=np.zeros((0, 2**62), 'i1'), keys=np.zeros(10**6, 'u1').view([('k' * 2000, 'u1')]))";
    python(&[&"-c", &script, &file]);
    let mount = Mount::new(&file);
    let around =
        "as text its 1000000 rows have more than 1073741824 bytes around their values, which is the limit";
    for (name, kind, problem) in [
        ("wide", "csv", "a row can be more than 1048576 bytes of text, which is the limit"),
        ("empty", "csv", "as text it would be longer than a file can be"),
        ("keys", "jsonl", around),
    ] {
        let missing = std::fs::metadata(mount.join(format!(".views/{kind}/{name}.{kind}"))).unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
        let outcome = format!("dataset {name:?}: it cannot be shown as {kind}: {problem}");
        assert_eq!(mount.log().matches(&outcome).count(), 1, "{}", mount.log());
    }
    assert!(mount.read(".views/csv/wide[:, :1000].csv").unwrap().starts_with(b"#0,1,2,"));
    assert_eq!(names(&mount.join(".views/csv")), ["keys.csv"]);
    assert_eq!(names(&mount.join(".views/jsonl")), [""; 0]);
    assert_eq!(mount.read(".views/jsonl/keys[:2].jsonl").unwrap().len(), 2 * (2000 + 7));
    assert!(std::fs::metadata(mount.join(".views/csv/wide[:, 1:290000].csv")).is_err());
    assert!(mount.log().contains("such a part cannot be shown as csv: a row"), "{}", mount.log());
}

#[test]
fn any_range_of_a_view_is_that_of_the_whole() {
    let mount = Mount::new(&data("gzip.rab"));
    let tables = Mount::new(&data("dataframe.rab"));
    let orders = Mount::new(&data("orders.rab"));
    let mut paths = vec![mount.join(".views/csv/array zlib.csv"), mount.join(".views/png/array zlib.png")];
    for kind in ["csv", "jsonl", "arrow"] {
        paths.extend(["table", "table gzip"].map(|name| tables.join(format!(".views/{kind}/{name}.{kind}"))));
    }
    paths.extend(names(&orders.join(".views/csv")).iter().map(|name| orders.join(".views/csv").join(name)));
    assert!(paths.len() > 8);
    for path in paths {
        check_any_range(&path, 50);
    }
}

#[test]
fn damaged_datasets_are_input_errors_in_their_views() {
    let zip = [
        "byteLength: 40",
        "byteOffset: 0",
        "byteOrder: C",
        "compression: gzip",
        "decodedLength: 400",
        "endianness: little",
        "shape: [10, 10]",
        "type: float32",
    ];
    let column = "columnInfo: [{encodingType: text, key: t, maxByteSize: 5, originalType: text}]";
    let table = |rows| {
        ["byteLength: 40".to_owned(), "byteOffset: 0".into(), column.into(), rows, "type: dataframe".into()]
    };
    let strs = |table: &[String; 5]| entry("table", &table.each_ref().map(String::as_str));
    let header = entry("zip", &zip)
        + &strs(&table("rows: 8".into()))
        + &strs(&table("rows: 9".into())).replace("table", "long");
    let (_dir, file) = rab(&format!("\n{header}\n"), &[0xff; 40]);
    let mount = Mount::new(&file);
    for bad in ["csv/zip.csv", "png/zip.png", "csv/long.csv", "jsonl/long.jsonl", "arrow/long.arrow"] {
        let error = mount.read(format!(".views/{bad}")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{bad}");
    }
    // Text that is none is no damage, but none for Arrow.
    let error = mount.read(".views/arrow/table.arrow").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
    let line = *b"{\"t\":{\"__bytes_hex__\":\"ffffffffff\"}}\n";
    assert_eq!(mount.read(".views/jsonl/table.jsonl").unwrap(), line.repeat(8));
    assert_eq!(mount.read(".views/csv/table.csv").unwrap()[..8], *b"t\n\xff\xff\xff\xff\xff\n");
}
