//! The verbs on safetensors files, held against the reference package.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::{Mount, python, scratch};
use crate::{RAB, good, rab};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/safetensors").join(name)
}

fn same(a: &Path, b: &Path) -> String {
    python(&[&"check_safetensors.py", &"same", &a, &b]).trim().to_owned()
}

#[test]
fn headers_are_read_where_the_reference_reads_them() {
    let dir = scratch();
    assert_eq!(python(&[&"check_safetensors.py", &"rules", &RAB, &dir.path()]).trim(), "47");
}

#[test]
fn what_is_written_is_what_was_read() {
    let dir = scratch();
    for name in ["types.safetensors", "float4.safetensors", "no_tensors.safetensors"] {
        let (out, folder, packed) =
            (dir.path().join(name), dir.path().join("d"), dir.path().join("p.safetensors"));
        let outcome = rab(&[&"convert", &sample(name), &out]);
        assert_eq!((outcome.code, &*outcome.err), (0, ""), "every type is kept");
        let count = same(&sample(name), &out);
        assert_eq!(good(&[&"ls", &sample(name)]), good(&[&"ls", &out]), "the order is kept");
        if count != "0" {
            good(&[&"unpack", &sample(name), &folder]);
            good(&[&"pack", &packed, &folder]);
            assert_eq!(same(&sample(name), &packed), count);
            fs::remove_dir_all(&folder).unwrap();
            fs::remove_file(&packed).unwrap();
        }
    }
    let whole = dir.path().join("whole.safetensors");
    good(&[&"convert", &sample("sharded"), &whole]);
    assert_eq!(good(&[&"diff", &sample("sharded"), &whole]), "");
    assert_eq!(good(&[&"cat", &whole, &"__metadata__"]), "{\n  \"format\": \"pt\"\n}\n");
}

/// Types that RAB lacks are named as users know them, with what to do; a note about what nobody misses is none.
#[test]
fn types_are_named_and_metadata_is_not_missed() {
    let dir = scratch();
    let outcome = rab(&[&"convert", &sample("types.safetensors"), &dir.path().join("x.rab")]);
    let note = "\"bfloat16/1d\": RAB has no type bfloat16: it is written as bytes, and its shape [24] is not kept \
                (to keep it an array, store it as float32)";
    assert!(
        outcome.err.contains(note) && outcome.err.contains("RAB has no type float8_e5m2fnuz: "),
        "{outcome:?}"
    );
    let outcome = rab(&[&"convert", &sample("float4.safetensors"), &dir.path().join("y.rab")]);
    assert!(
        outcome.err.contains("is written as plain bytes: its type \"float4_e2m1fn\" is not kept"),
        "{outcome:?}"
    );
    assert_eq!(rab(&[&"refs", &sample("types.safetensors")]).err, "");
}

#[test]
fn metadata_goes_through_other_formats() {
    let dir = scratch();
    let (rab, back) = (dir.path().join("x.rab"), dir.path().join("x.safetensors"));
    let names: Vec<String> =
        good(&[&"ls", &sample("types.safetensors")]).lines().map(str::to_owned).collect();
    let plain: Vec<&String> =
        names.iter().filter(|name| name.ends_with("loat32/3d") || *name == "__metadata__").collect();
    assert_eq!(plain.len(), 2);
    good(&[&"convert", &sample("types.safetensors"), &rab, plain[0], plain[1]]);
    good(&[&"convert", &rab, &back]);
    let text = |file: &Path| good(&[&"cat", &file, &"__metadata__"]);
    assert_eq!(text(&back), text(&sample("types.safetensors")));
    // As YAML too.
    fs::write(dir.path().join("__metadata__"), "format: np\nnote: 'yes'\n").unwrap();
    good(&[&"pack", &"-f", &back, &dir.path().join("__metadata__")]);
    assert_eq!(text(&back), "{\n  \"format\": \"np\",\n  \"note\": \"yes\"\n}\n");
    fs::write(dir.path().join("__metadata__"), "steps: 7\n").unwrap();
    let outcome = self::rab(&[&"pack", &"-f", &back, &dir.path().join("__metadata__")]);
    assert!(outcome.code == 1 && outcome.err.contains("whose values are strings"), "{outcome:?}");
}

#[test]
fn what_it_cannot_hold_is_refused_or_named() {
    let dir = scratch();
    let out = dir.path().join("x.safetensors");
    let script = "import sys, numpy as np; np.savez(sys.argv[1], a=np.zeros(3, 'c16'), b=np.arange(6, dtype='>i4').reshape(2, 3).T)";
    let npz = dir.path().join("x.npz");
    python(&[&"-c", &script, &npz]);
    let outcome = rab(&[&"convert", &npz, &out]);
    assert!(
        outcome.code == 1 && outcome.err.contains("safetensors has no type complex128: leave it out"),
        "{outcome:?}"
    );
    assert!(!out.exists());
    // Big-endian and in F order.
    let outcome = rab(&[&"convert", &npz, &out, &"b"]);
    assert!(
        outcome.code == 0 && outcome.err.contains("its big-endian byte order is not kept"),
        "{outcome:?}"
    );
    assert_eq!(good(&[&"get", &out, &"b"]), "[[0 3]\n [1 4]\n [2 5]]\n");
    let readme = sample("../rab/readme.rab");
    let outcome = rab(&[&"convert", &"-f", &readme, &out]);
    assert!(
        outcome.code == 1 && outcome.err.contains("a safetensors file holds arrays, and this is not one"),
        "{outcome:?}"
    );
    let outcome = rab(&[&"convert", &"-f", &readme, &out, &"Some text"]);
    assert!(outcome.code == 0 && outcome.err.contains("it is written as an array of uint8"), "{outcome:?}");
    assert_eq!(good(&[&"cat", &out, &"Some text"]), good(&[&"cat", &readme, &"Some text"]));
}

#[test]
fn numbers_of_few_bits() {
    let dir = scratch();
    let script = "import sys, numpy as np, ml_dtypes as m, safetensors.numpy as s\n\
        s.save_file({n: np.array([1.5, -0.25, 24], 'f4').astype(getattr(m, n)) for n in ('float8_e4m3fn', 'bfloat16')}, sys.argv[1])";
    let file = dir.path().join("x.safetensors");
    python(&[&"-c", &script, &file]);
    for name in ["float8_e4m3fn", "bfloat16"] {
        assert_eq!(good(&[&"get", &file, &name]), "[ 1.5  -0.25 24.  ]\n");
        assert_eq!(good(&[&"get", &"--json", &file, &format!("{name}[1]")]), "-0.25\n");
        let info = good(&[&"info", &"--stats", &file, &name]);
        assert!(info.contains("min: -0.25") && info.contains("max: 24"), "{info}");
    }
    let outcome = rab(&[&"get", &sample("float4.safetensors"), &"packed"]);
    assert!(outcome.code == 1 && outcome.err.contains("its elements have 4 bits"), "{outcome:?}");
}

#[test]
fn references_lead_to_the_shards() {
    let outcome = rab(&[&"refs", &sample("sharded/model.safetensors.index.json")]);
    assert!(outcome.code == 0 && outcome.err.is_empty(), "{outcome:?}");
    let refs: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let chunk = &refs["refs"]["layers.2.weight/0.0"];
    assert!(chunk[0].as_str().unwrap().ends_with("/model-00002-of-00002.safetensors"), "{chunk}");
    let bytes = fs::read(chunk[0].as_str().unwrap()).unwrap();
    let start = chunk[1].as_u64().unwrap() as usize;
    let raw =
        std::process::Command::new(RAB).arg("cat").arg(sample("sharded")).arg("layers.2.weight").output();
    assert_eq!(bytes[start..start + 48], raw.unwrap().stdout[..]);
}

/// A file of a model that is damaged or missing costs its own tensors only.
#[test]
fn the_other_files_of_a_model_stay_readable() {
    let dir = scratch();
    for name in ["model.safetensors.index.json", "model-00001-of-00002.safetensors"] {
        fs::copy(sample("sharded").join(name), dir.path().join(name)).unwrap();
    }
    let (index, lost) = (dir.path().join("model.safetensors.index.json"), "model-00002-of-00002.safetensors");
    let names = good(&[&"ls", &sample("sharded")]);
    for (damage, code, problem) in
        [(None, 10, "which cannot be read"), (Some(100), 12, "the header claims to end")]
    {
        if let Some(len) = damage {
            let bytes = fs::read(sample("sharded").join(lost)).unwrap();
            fs::write(dir.path().join(lost), &bytes[..len]).unwrap();
        }
        let listed = good(&[&"ls", &index]);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&listed), sorted(&names));
        let read = |from: &dyn AsRef<std::ffi::OsStr>, name: &str| {
            std::process::Command::new(RAB).arg("cat").arg(from).arg(name).output().unwrap()
        };
        assert_eq!(
            read(&index, "layers.0.weight").stdout,
            read(&sample("sharded"), "layers.0.weight").stdout
        );
        let outcome = rab(&[&"cat", &index, &"layers.3.weight"]);
        assert!(outcome.code == code && outcome.err.contains(problem), "{outcome:?}");
        let outcome = rab(&[&"verify", &index]);
        // What is damaged is on stdout, what cannot be read is an error.
        let text = if code == 12 { &outcome.out } else { &outcome.err };
        assert!(outcome.code == code && text.contains("layers.3.weight"), "{outcome:?}");
        let mount = Mount::new(&index);
        assert_eq!(mount.read("layers.0.weight").unwrap(), read(&index, "layers.0.weight").stdout);
        assert_eq!(mount.read("layers.3.weight").unwrap_err().raw_os_error(), Some(libc::EIO));
        let sidecar = String::from_utf8(mount.read("layers.3.weight.meta.yaml").unwrap()).unwrap();
        assert!(sidecar.contains("problem: ") && sidecar.contains(problem), "{sidecar}");
    }
}

#[test]
fn an_index_that_does_not_fit_its_files() {
    let dir = scratch();
    let (index, shard) = (dir.path().join("m.safetensors.index.json"), "model-00001-of-00002.safetensors");
    fs::copy(sample("sharded").join(shard), dir.path().join(shard)).unwrap();
    let outside = format!("../{}/{shard}", dir.path().file_name().unwrap().to_str().unwrap());
    for (map, code, fragment) in [
        (format!("{{\"layers.0.weight\":\"{shard}\"}}"), 0, ""),
        (format!("{{\"layers.0.weight\":\"{outside}\"}}"), 0, ""),
        (format!("{{\"layers.9.weight\":\"{shard}\"}}"), 12, "which has no tensor of that name"),
        (
            "{\"a\":\"gone.safetensors\"}".into(),
            10,
            "it names the file \"gone.safetensors\", which cannot be read",
        ),
        ("{\"a\":\"/etc/hostname\"}".into(), 10, "outside of the container's directory"),
        ("{\"a\":7}".into(), 12, "at byte 19: the index is invalid"),
        ("{\"a\":\"x\",\"a\":\"y\"}".into(), 12, "the key \"a\" appears twice"),
    ] {
        fs::write(&index, format!("{{\"weight_map\":{map}}}")).unwrap();
        let outcome = rab(&[&"ls", &index]);
        assert!(outcome.code == code && outcome.err.contains(fragment), "{map}: {outcome:?}");
    }
    let outcome = rab(&[&"ls", &dir.path()]);
    assert!(outcome.code == 12, "{outcome:?}");
    fs::remove_file(&index).unwrap();
    let outcome = rab(&[&"ls", &dir.path()]);
    assert!(
        outcome.code == 1 && outcome.err.contains("model-00002-of-00002.safetensors is not here"),
        "{outcome:?}"
    );
}

/// numpy reads them as bytes of the same size.
#[test]
fn types_that_numpy_lacks_are_noted_in_npz_and_npy() {
    let dir = scratch();
    let (file, npz, npy) =
        (dir.path().join("x.safetensors"), dir.path().join("x.npz"), dir.path().join("y.npy"));
    let script = "import sys, numpy as np, ml_dtypes as m, safetensors.numpy as s\n\
        s.save_file({'a': np.array([1.5], m.bfloat16), 'b': np.array([1.5], 'f4')}, sys.argv[1])";
    python(&[&"-c", &script, &file]);
    let note = "its type bfloat16 is not kept: numpy has |V2, as .view(ml_dtypes.bfloat16) reads it";
    let outcome = rab(&[&"convert", &file, &npz]);
    assert!(outcome.code == 0 && outcome.err.contains(&format!("\"a\": {note}")), "{outcome:?}");
    assert!(!outcome.err.contains("\"b\""), "{outcome:?}");
    let outcome = rab(&[&"convert", &file, &npy, &"a"]);
    assert!(outcome.code == 0 && outcome.err.contains(note), "{outcome:?}");
    let read = "import sys, numpy as np, ml_dtypes as m; print(np.load(sys.argv[1]).view(m.bfloat16)[0], np.load(sys.argv[2])['a'].view(m.bfloat16)[0])";
    assert_eq!(python(&[&"-c", &read, &npy, &npz]), "1.5 1.5\n");
}

/// Tensors of the same names are not damage, and others are not merged.
#[test]
fn two_models_in_a_directory_are_not_one() {
    let dir = scratch();
    let script = "import sys, json, numpy as np, safetensors.numpy as s\nd = sys.argv[1] + '/'\n\
        for m, value in ('m', 1), ('n', 2):\n\
        \x20   for i in 1, 2: s.save_file({f'w{i}': np.full(3, value, 'f4')}, f'{d}{m}-0000{i}-of-00002.safetensors')\n";
    python(&[&"-c", &script, &dir.path()]);
    let indexes = "import sys, json\nfor m in 'mn':\n\
        \x20   files = {f'w{i}': f'{m}-0000{i}-of-00002.safetensors' for i in (1, 2)}\n\
        \x20   json.dump({'metadata': {}, 'weight_map': files}, open(f'{sys.argv[1]}/{m}.safetensors.index.json', 'w'))";
    for has_indexes in [false, true] {
        if has_indexes {
            python(&[&"-c", &indexes, &dir.path()]);
            let index = dir.path().join("n.safetensors.index.json");
            assert_eq!(good(&[&"get", &index, &"w2"]), "[2. 2. 2.]\n");
        }
        let outcome = rab(&[&"ls", &dir.path()]);
        assert!(
            outcome.code == 10 && outcome.err.contains("is a directory: name a file in it"),
            "{outcome:?}"
        );
        assert_eq!(good(&[&"ls", &"-r", &dir.path()]).matches(".safetensors:").count(), 4);
        let mount = crate::kit::Mount::new(dir.path());
        assert_eq!(mount.read("n-00001-of-00002.safetensors/w1").unwrap(), 2f32.to_le_bytes().repeat(3));
    }
    // One of them alone is one model.
    crate::kit::sh(r#"rm "$1"/n*"#, &[&dir.path()]);
    assert_eq!(good(&[&"ls", &dir.path()]), "w1\nw2\n");
}
