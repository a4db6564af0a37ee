//! `--as KIND`: datasets in the form of a view, without a mount.

use crate::kit::{data, python};
use crate::{RAB, good, rab};

/// What is said of words that are refused.
fn refused(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let said = rab(arguments);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    said.err
}

#[test]
fn numpy_reads_what_cat_and_get_print() {
    let script = r#"
import io, subprocess, sys
import numpy as np
rab, path = sys.argv[1:]
load = lambda *words: np.load(io.BytesIO(subprocess.check_output([rab, *words, "--as", "npy"])))
whole = load("cat", path, "my second array")
assert whole.shape == (5, 3) and whole[2, 0] == 1006, whole
assert np.array_equal(load("get", path, "my second array"), whole)
assert np.array_equal(load("get", path, "my second array[::-2, 1]"), whole[::-2, 1])
"#;
    python(&[&"-c", &script, &RAB, &data("readme.rab")]);
    let table = "import io,subprocess,sys,numpy as np; a=np.load(io.BytesIO(subprocess.check_output([sys.argv[1],'get',sys.argv[2],'table','--as','npy']))); assert a.shape == (50,) and a['count'][1] == 993, a";
    python(&[&"-c", &table, &RAB, &data("dataframe.rab")]);
}

#[test]
fn what_has_no_such_face_is_said() {
    let file = data("readme.rab");
    let said = refused(&[&"cat", &file, &"Some text", &"--as", &"npy"]);
    assert!(said.contains("is text, which has no face as npy"), "{said}");
    let said = refused(&[&"get", &file, &"my second array[9]", &"--as", &"npy"]);
    assert!(said.contains("index 9 is out of bounds"), "{said}");
    let said = refused(&[&"cat", &file, &"Some text", &"--as", &"tiff"]);
    assert!(said.contains("npy"), "{said}");
}

#[test]
fn unpack_writes_faces_where_there_are_some() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    good(&[&"unpack", &data("readme.rab"), &out, &"--as", &"npy"]);
    let there = |name: &str| out.join(name).is_file();
    assert!(there("my second array.npy") && !there("my second array") && there("Some text"));
    assert!(there("my second array.meta.yaml"));
    let script = "import sys, numpy as np; assert np.load(sys.argv[1], mmap_mode='r').shape == (5, 3)";
    python(&[&"-c", &script, &out.join("my second array.npy")]);
}
