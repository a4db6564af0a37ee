//! What Python users do: fromfile, memmap and slices of it, YAML on sidecars.

use crate::kit::*;

#[test]
fn fromfile_and_memmap_see_the_array() {
    let mount = Mount::new(&data("gzip.rab"));
    let script = r#"
import os, sys
import numpy as np
import yaml
os.chdir(sys.argv[1])
side = yaml.safe_load(open("array zlib.meta.yaml"))
assert side["numpy"] == {"dtype": "<f4", "shape": [120, 1000], "order": "C"}, side
want = np.cumsum(np.random.default_rng(1).normal(size=120000)).astype("float32").reshape(120, 1000)
m = np.memmap("array zlib", mode="r", dtype="<f4", shape=(120, 1000))
assert np.array_equal(m[::7, 3:900:11], want[::7, 3:900:11])
assert np.array_equal(np.fromfile("array zlib", "<f4").reshape(120, 1000), want)
assert np.fromfile("array zlib", "<f4", count=5, offset=4 * 119995).tolist() == want.ravel()[-5:].tolist()
try:
    np.memmap("array zlib", mode="r+", dtype="<f4")
except OSError as e:
    assert e.errno == 30, e
else:
    raise AssertionError("a writable map of a read-only file")
assert np.array_equal(np.memmap("array gzip members", mode="r", dtype="<i4"), np.arange(120000))
"#;
    python(&[&"-c", &script, &mount.path]);
}

#[test]
fn dataframes_are_their_columns_one_after_the_other() {
    let mount = Mount::new(&data("dataframe.rab"));
    let script = r#"
import os, sys
import numpy as np
import yaml
os.chdir(sys.argv[1])
for name in ("table", "table gzip"):
    side = yaml.safe_load(open(name + ".meta.yaml"))["codecMeta"]
    at, columns = 0, {}
    for c in side["columnInfo"]:
        text = c["encodingType"] == "text"
        dtype = np.dtype(f"S{c['maxByteSize']}") if text else np.dtype(c["encodingType"])
        columns[c["key"]] = np.fromfile(name, dtype, count=side["rows"], offset=at)
        at += side["rows"] * dtype.itemsize
    assert at == os.stat(name).st_size
    assert columns["count"].tolist() == [i * 1000 - 7 for i in range(50)]
    assert columns["label"][7].decode() == "ligne é 7" * 3
    assert columns["wide"].tolist() == [i * 2 ** 40 for i in range(50)]
"#;
    python(&[&"-c", &script, &mount.path]);
}

/// What a header may hold beside the samples: every value comes back as PyYAML has it.
#[test]
fn sidecars_of_odd_headers() {
    let folder = scratch();
    python(&[&"odd_headers.py", &PROGRAM, &folder.path()]);
}

#[test]
fn lone_surrogates_in_names_and_metadata() {
    let header = "- codecMeta:\n    byteLength: 1\n    byteOffset: 0\n    type: bytes\n  metadata:\n    x: \"\\uD83E\"\n  name: \"a\\uD800b\"\n";
    let (_dir, file) = rab(header, b"?");
    let mount = Mount::new(&file);
    assert_eq!(mount.names(), ["a%ED%A0%80b", "a%ED%A0%80b.meta.yaml"]);
    let script = r#"
import sys, yaml
side = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
assert side["name"] == "a\ud800b" and side["metadata"] == {"x": "\ud83e"}, side
"#;
    python(&[&"-c", &script, &mount.join("a%ED%A0%80b.meta.yaml")]);
}
