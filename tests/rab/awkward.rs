//! The verbs on Awkward Array 0.x.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{good, kit, rab};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/awkward").join(name)
}

/// What the reference's `tolist` gives, by sample and array.
fn expected() -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(file("expected.json")).unwrap()).unwrap()
}

/// Objects that the reference made of values: we show what it made them of.
fn has_objects(value: &serde_json::Value) -> bool {
    value.to_string().contains("__repr__")
}

#[test]
fn get_gives_what_the_reference_gives() {
    let expected = expected();
    let mut compared = 0;
    for (sample, arrays) in expected.as_object().unwrap() {
        // The reference reads it as something else than was saved.
        if sample == "flat_structured_padded" {
            continue;
        }
        for (name, array) in arrays.as_object().unwrap() {
            let path = file(&format!("{sample}.awkd"));
            let want = &array["tolist"];
            if has_objects(want) {
                continue;
            }
            let found: serde_json::Value =
                serde_json::from_str(&good(&[&"get", &path, &name, &"--json"])).unwrap();
            assert_eq!(&found, want, "{sample} {name}");
            if let Some(last) = want.as_array().unwrap().last() {
                let item = format!("{name}[-1]");
                let found: serde_json::Value =
                    serde_json::from_str(&good(&[&"get", &path, &item, &"--json"])).unwrap();
                assert_eq!(&found, last, "{sample} {item}");
            }
            compared += 1;
        }
    }
    assert!(compared > 60);
    let lorentz = good(&[&"get", &file("uproot3_lorentz_jagged.awkd"), &"[2]"]);
    assert_eq!(lorentz, "[{\"pt\":30.0,\"eta\":0.3,\"phi\":3.0,\"mass\":0.5}]\n");
    assert_eq!(good(&[&"get", &file("multi_names.awkd"), &"one[::2]"]), "[[1.1,2.2],\n[3.3]]\n");
    assert_eq!(good(&[&"get", &file("multi_names.awkd"), &"tab/columns/s[1]"]), "\"b\"\n");
    assert_eq!(good(&[&"get", &file("flat_fortran_2d.awkd"), &"[1, ::-1]"]), "[5 4 3]\n");
    assert_eq!(good(&[&"get", &file("flat_fortran_2d.awkd"), &"[1, ::-1]", &"--json"]), "[5,4,3]\n");
}

#[test]
fn what_is_in_it() {
    let names = good(&[&"ls", &file("multi_names.awkd")]);
    assert!(names.starts_with("one/meta.yaml\none/counts\none/offsets\none/starts\none/stops\none/content/meta.yaml\none/content/data\n"), "{names}");
    assert!(
        good(&[&"ls", &"-l", &file("multi_names.awkd")])
            .contains("int64      (4,)                       32           32  two/data\n")
    );
    assert_eq!(good(&[&"cat", &file("multi_names.awkd"), &"two"]).len(), 32);
    let info = good(&[&"info", &file("multi_names.awkd"), &"two"]);
    for line in ["name: two/data", "type: int64", "member: two-0.raw"] {
        assert!(info.contains(line), "{line:?} is not in {info}");
    }
    assert!(good(&[&"info", &file("jagged.awkd")]).contains("format: Awkward"));
    let meta = good(&[&"cat", &file("jagged.awkd"), &"meta.yaml"]);
    assert!(
        meta.contains("type: '[0, 3) -> [0, inf) -> float64'")
            || meta.contains("type: \"[0, 3) -> [0, inf) -> float64\""),
        "{meta}"
    );
}

/// Exit codes: 0 what the reference loads, 1 what is refused for what it is, 12 damage.
#[test]
fn verify_tells_the_good_from_the_bad() {
    for name in kit::names(&file("")).iter().filter(|name| name.ends_with(".awkd")) {
        let refused = name.starts_with("virtual_") || name.starts_with("object_");
        let want = if refused {
            1
        } else if name == "flat_structured_padded.awkd" {
            12
        } else {
            0
        };
        let said = rab(&[&"verify", &file(name)]);
        assert_eq!(said.code, want, "{name}: {said:?}");
    }
    let loads = [
        "blob_long",
        "blob_unaligned",
        "id_duplicate",
        "negative_length",
        "sparse_huge",
        "string_bad_utf8",
        "table_dup_columns",
        "zip_dup_members",
        "zip_slip_names",
        "zlib_trailing",
        "cycle_tolist",
    ];
    let refused = ["call_builtins_eval", "call_topython", "function_eval", "python_pickle", "virtual_bomb"];
    let mut seen = 0;
    for name in kit::names(&file("bad")) {
        let stem = name.strip_suffix(".awkd").unwrap();
        let want = if loads.contains(&stem) {
            0
        } else if refused.contains(&stem) {
            1
        } else {
            12
        };
        seen += usize::from(want < 12);
        // An address space of 1 GB, and no more time than anybody would wait.
        let said = kit::run(
            Command::new("bash")
                .arg("-c")
                .arg("ulimit -v 1000000; timeout 20 \"$0\" verify \"$1\"")
                .arg(env!("CARGO_BIN_EXE_rab"))
                .arg(file("bad").join(&name)),
        );
        assert_eq!(said.code, want, "{name}: {said:?}");
        assert!(want == 0 || !said.out.is_empty() || !said.err.is_empty(), "{name}");
    }
    assert_eq!(seen, loads.len() + refused.len());
}

#[test]
fn what_is_wrong_is_said() {
    for (name, problem) in [
        ("two_keys", "two meanings, \"call\" and \"json\""),
        ("json_nan", "NaN and Infinity are not JSON (byte 38)"),
        ("json_dup_keys", "the key \"read\" comes twice"),
        ("no_signature", "neither the key \"awkward0\" nor \"awkward\""),
        ("no_schema", "no key \"schema\""),
        ("missing_blob", "there is no member \"7.raw\""),
        ("wrong_prefix", "there is no member \"y-0.raw\""),
        ("absolute_escape", "there is no member \"../../etc/passwd\""),
        ("call_topython", "would run code"),
        ("python_pickle", "Python pickle"),
        ("deep_nesting", "deeper than 640 levels, which is the limit"),
        ("lz4_bad_prefix", "said to have 2147483647 bytes, 16 are needed"),
        ("dtype_huge_shape", "more than 1073741824 bytes, which is the limit"),
        ("jagged_counts_overflow", "do not fit into 63 bits"),
        ("jagged_negative_start", "goes from -1 to"),
        ("index_out_of_range", "item 1 has the index 9, there are 2"),
        ("union_fewer_values", "which has 2"),
        ("bitmask_short", "its mask has 8 bits, its content 10 items"),
        ("ref_cycle_direct", "refers to itself"),
        ("unknown_kwargs", "keyword arguments"),
        ("jagged_fewer_stops", "2 starts and only 1 stops"),
        ("jagged_float_counts", "are float64, not whole numbers"),
        ("zip_truncated", "no ZIP directory"),
        ("zip_empty", "no arrays"),
    ] {
        let said = rab(&[&"verify", &file("bad").join(format!("{name}.awkd"))]);
        assert!((said.out.clone() + &said.err).contains(problem), "{name}: {said:?}");
    }
    let said = rab(&[&"get", &file("bad/cycle_tolist.awkd"), &"[0]", &"--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("nested deeper than 128 levels, which is the limit"), "{said:?}");
    let said = good(&[&"get", &file("bad/sparse_huge.awkd"), &"[1152921504606846970:]", &"--json"]);
    assert_eq!(said, "[0,\n0,\n0,\n0,\n0,\n0]\n");
}

#[test]
fn unpack_writes_what_a_mount_shows() {
    let dir = kit::scratch();
    let out = dir.path().join("out");
    good(&[&"unpack", &file("shared_buffer_ref.awkd"), &out]);
    assert_eq!(std::fs::read_link(out.join("columns/b")).unwrap(), Path::new("a"));
    assert_eq!(std::fs::read(out.join("columns/b/data")).unwrap().len(), 40);
    assert!(std::fs::read_to_string(out.join("meta.yaml")).unwrap().contains("class: Table"));
}

#[test]
fn convert_keeps_flat_and_jagged_arrays() {
    let dir = kit::scratch();
    let out = dir.path().join("out.rab");
    good(&[&"convert", &file("multi_names.awkd"), &out]);
    assert_eq!(good(&[&"get", &out, &"one/offsets"]), "[0 2 2 3]\n");
    assert_eq!(good(&[&"get", &out, &"one/content/data"]), "[1.1 2.2 3.3]\n");
    assert_eq!(good(&[&"get", &out, &"two/data"]), "[0 1 2 3]\n");
    assert!(good(&[&"cat", &out, &"one/meta.yaml"]).contains("class: JaggedArray"));
}

#[test]
fn equal_containers_have_no_difference() {
    good(&[&"diff", &file("jagged.awkd"), &file("jagged.awkd")]);
    let said = rab(&[&"diff", &file("sparse.awkd"), &file("sparse_default7.awkd")]);
    assert_eq!(said.code, 1, "{said:?}");
}

/// The blobs and schemas of a container as files.
fn unzipped(name: &str, to: &Path) {
    let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    kit::python(&[&"-c", &script, &file(name), &to]);
}

#[test]
fn a_directory_of_blobs_and_schemas_is_a_container() {
    let dir = kit::scratch();
    unzipped("multi_names.awkd", dir.path());
    assert_eq!(good(&[&"get", &dir.path(), &"one[0]"]), "[1.1,2.2]\n");
    assert_eq!(good(&[&"get", &dir.path(), &"two"]), "[0 1 2 3]\n");
    good(&[&"verify", &dir.path()]);
    assert_eq!(good(&[&"get", &dir.path().join("tab.json"), &"tab[1]"]), "{\"x\":2,\"s\":\"b\"}\n");
    // Blobs with a name of their own are no obstacle to who says what the directory is.
    let dir = kit::scratch();
    unzipped("custom_delimiter.awkd", dir.path());
    assert_eq!(good(&[&"get", &dir.path(), &"x", &"--format", &"awkward"]), "[[1],\n[2,3]]\n");
    // What a schema names is not looked for outside, nor does a link lead there.
    let dir = kit::scratch();
    unzipped("bad/absolute_escape.awkd", dir.path());
    let said = rab(&[&"verify", &dir.path().join(".json")]);
    assert_eq!(said.code, 12, "{said:?}");
    assert!(said.out.contains("there is no member \"../../etc/passwd\""), "{said:?}");
    let dir = kit::scratch();
    unzipped("flat_uint8.awkd", dir.path());
    std::fs::remove_file(dir.path().join("0.raw")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("0.raw")).unwrap();
    assert_eq!(rab(&[&"get", &dir.path().join(".json"), &""]).code, 12);
}

#[test]
fn pack_and_convert_write_what_reads_back() {
    let dir = kit::scratch();
    let arrays = dir.path().join("arrays");
    let script = "import sys, os, numpy as np
d = sys.argv[1]
os.makedirs(d + '/j/content/content')
np.save(d + '/j/counts.npy', np.array([2, 0]))
np.save(d + '/j/content/offsets.npy', np.array([0, 1, 3]))
np.save(d + '/j/content/content/data.npy', np.arange(6.).reshape(3, 2))
np.save(d + '/flat.npy', np.arange(3, dtype='>i2'))";
    kit::python(&[&"-c", &script, &arrays]);
    let out = dir.path().join("out.awkd");
    good(&[&"pack", &out, &arrays]);
    good(&[&"verify", &out]);
    let names = good(&[&"ls", &out]);
    let before = names.lines().find_map(|name| name.strip_suffix("flat/data")).unwrap();
    assert_eq!(good(&[&"get", &out, &format!("{before}j")]), "[[[[0.0,1.0]],[[2.0,3.0],[4.0,5.0]]],\n[]]\n");
    assert_eq!(good(&[&"get", &out, &format!("{before}flat")]), "[0 1 2]\n");

    // With what follows from the counts left out.
    for (name, array) in [
        ("jagged", ""),
        ("comp_context_counts_only", "j"),
        ("jagged_sliced", ""),
        ("jagged_starts_stops", ""),
    ] {
        let (from, to) = (file(&format!("{name}.awkd")), dir.path().join(format!("{name}.awkd")));
        let said = rab(&[&"convert", &from, &to]);
        assert_eq!(said.code, 0, "{name}: {said:?}");
        assert_eq!(
            good(&[&"get", &to, &array, &"--json"]),
            good(&[&"get", &from, &array, &"--json"]),
            "{name}"
        );
        good(&[&"verify", &to]);
    }

    // Lists that need more than there is are not written.
    let script = "import sys, numpy as np; np.save(sys.argv[1] + '/j/counts.npy', np.array([2, 5]))";
    kit::python(&[&"-c", &script, &arrays]);
    let said = rab(&[&"pack", &dir.path().join("bad.awkd"), &arrays]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("need 7 items, its content has 2"), "{said:?}");
    assert!(!dir.path().join("bad.awkd").exists());
}

/// A container made by a few lines of Python: `w(name, schema, blobs)`.
const HOSTILE: &str = r#"
import json, os, sys, zipfile, zlib
def flat(member, dtype, count, id):
    args = [{"read": member}, {"dtype": dtype}, {"json": count}]
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": args, "id": id}
def write(name, schema, blobs):
    with zipfile.ZipFile(os.path.join(sys.argv[1], name), "w") as to:
        for member, data in blobs.items():
            to.writestr(member, data)
        to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
shared = flat("0.raw", "int64", 1, 1000)
for id in range(40):
    columns = {"pairs": [["a", shared], ["b", {"ref": shared["id"]}]]}
    shared = {"call": ["awkward0", "Table", "frompairs"], "args": [columns, {"json": 0}], "id": id}
write("shared.awkd", shared, {"0.raw": bytes(8)})
bomb = flat("0.raw", "uint8", 10, 0)
bomb["args"][0] = {"call": ["zlib", "decompress"], "args": [{"read": "0.raw"}]}
write("bomb.awkd", bomb, {"0.raw": zlib.compress(bytes(64 << 20))})
write("count.awkd", flat("0.raw", "int64", 2**62, 0), {"0.raw": bytes(8)})
"#;

#[test]
fn hostile_containers_take_neither_memory_nor_time() {
    let dir = kit::scratch();
    kit::python(&[&"-c", &HOSTILE, &dir.path()]);
    for (name, verb, index, code, problem) in [
        ("shared.awkd", "verify", "", 0, "ok: "),
        ("shared.awkd", "get", "[0]", 1, "more than 16777216 bytes as JSON, which is the limit"),
        ("bomb.awkd", "verify", "", 12, "decodes to more bytes, its description needs 10"),
        ("bomb.awkd", "get", "[0]", 12, "decodes to more bytes, its description needs 10"),
        ("count.awkd", "verify", "", 12, "do not fit into 64 bits"),
        ("count.awkd", "get", "[0]", 12, "do not fit into 64 bits"),
    ] {
        let script = "ulimit -v 1000000; timeout 60 \"$0\" \"$@\"";
        let mut command = Command::new("bash");
        command.args(["-c", script]).arg(env!("CARGO_BIN_EXE_rab")).arg(verb).arg(dir.path().join(name));
        if !index.is_empty() {
            command.arg(index);
        }
        let said = kit::run(&mut command);
        assert_eq!(said.code, code, "{verb} {name}: {said:?}");
        assert!((said.out.clone() + &said.err).contains(problem), "{verb} {name}: {said:?}");
    }
}
