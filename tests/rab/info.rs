//! `rab info`: everything that is known, and numbers about arrays.

use serde_json::{Value, json};

use crate::kit::{bytes_entry, data, entry, python, rab as write};
use crate::{SAMPLES, expected, good, rab};

fn info(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Vec<Value> {
    let out = good(&[&[&"info" as &dyn AsRef<_>, &"--json"], arguments].concat());
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The expectations say dates, bytes and odd numbers as `{"date": ...}`; here they are plain text.
fn is_same(got: &Value, want: &Value) -> bool {
    match want {
        Value::Object(map)
            if map.len() == 1 && map.keys().all(|k| ["date", "bytes", "float"].contains(&k.as_str())) =>
        {
            got.is_string()
        }
        Value::Object(map) => {
            got.as_object().is_some_and(|got| got.len() == map.len())
                && map.iter().all(|(key, want)| got.get(key).is_some_and(|got| is_same(got, want)))
        }
        Value::Array(items) => got
            .as_array()
            .is_some_and(|got| got.len() == items.len() && got.iter().zip(items).all(|(a, b)| is_same(a, b))),
        _ => got == want,
    }
}

#[test]
fn metadata_of_every_sample() {
    for sample in SAMPLES.iter().filter(|sample| **sample != "no_datasets") {
        let all = info(&[&data(&format!("{sample}.rab")), &"*"]);
        let expected = expected(sample);
        assert_eq!(all.len(), expected.len(), "{sample}");
        for (got, want) in all.iter().zip(&expected) {
            assert_eq!(got["name"], want["name"]);
            assert!(
                is_same(&got["metadata"], &want["metadata"]),
                "{sample}: {}\n{}",
                got["metadata"],
                want["metadata"]
            );
            assert_eq!(got["codecMeta"]["type"], want["type"]);
        }
    }
}

#[test]
fn the_container_itself() {
    let file = data("readme.rab");
    let about = &info(&[&file])[0];
    assert_eq!(about["size"], std::fs::metadata(&file).unwrap().len());
    assert_eq!((about["format"].as_str(), about["datasets"].as_u64()), (Some("RAB"), Some(7)));
    let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
    assert_eq!(about["contents"], Value::Array(listed));
    let text = good(&[&"info", &file]);
    assert!(text.contains("\ncontents:\n  my first array: 'int32 (5, 3)'\n"), "{text}");
    let header: String = (0..1002).map(|number| bytes_entry(&number.to_string(), 0, 1)).collect();
    let (_dir, many) = write(&header, b"?");
    let about = &info(&[&many])[0];
    assert_eq!((about["contents"].as_array().unwrap().len(), about["more"].as_u64()), (1000, Some(2)));
}

#[test]
fn where_the_bytes_are() {
    let (_dir, file) = write(&(bytes_entry("a", 0, 2) + &bytes_entry("b", 2, 3)), b"xxabc");
    let b = &info(&[&file, &"b"])[0];
    let (offset, stored) = (b["offset"].as_u64().unwrap() as usize, b["stored"].as_u64().unwrap() as usize);
    assert_eq!(&std::fs::read(&file).unwrap()[offset..offset + stored], b"abc");
}

#[test]
fn the_text_is_yaml() {
    let text = good(&[&"info", &data("readme.rab"), &"my second array"]);
    let check = "import sys, yaml; d = yaml.safe_load(sys.argv[1]); assert d['dtype'] == '<f8' and d['shape'] == [5, 3] \
                 and d['metadata'] == {'description': 'this is just the second dataset'}, d";
    python(&[&"-c", &check, &text]);
}

#[test]
fn stats_of_every_type_are_numpys() {
    let all = info(&[&data("types.rab"), &"*", &"--stats"]);
    let script = r#"
import json, math, sys
import numpy as np
path, infos = sys.argv[1], json.loads(sys.argv[2])
raw = open(path, "rb").read()
count = 0
for i in infos:
    if i["compression"] or i["shape"] is None:
        continue
    a = np.frombuffer(raw, i["dtype"], offset=i["offset"], count=math.prod(i["shape"]))
    s, ok = i["stats"], ~np.isnan(a)
    assert s["count"] == a.size and s["nans"] == (~ok).sum() and s["zeros"] == (a == 0).sum(), i
    a = a[ok]
    if a.dtype.kind == "c":
        assert np.allclose(s["mean"], [a.real.mean(dtype="f8"), a.imag.mean(dtype="f8")]) and s["min"] is None, i
    else:
        mean = float(s["mean"])
        want = a.mean(dtype="f8") if np.isfinite(a).all() else mean
        assert math.isclose(mean, want, rel_tol=1e-12) or math.isnan(mean), (i, want)
        assert float(s["min"]) == float(a.min()) and float(s["max"]) == float(a.max()), i
        if a.dtype.kind in "iu":
            assert s["min"] == int(a.min()) and s["max"] == int(a.max()), i
    count += 1
print(count)
"#;
    let count = python(&[&"-c", &script, &data("types.rab"), &Value::Array(all.clone()).to_string()]);
    assert!(count.trim().parse::<u32>().unwrap() >= 14, "{count}");
    // The compressed ones hold the same values.
    let stats = |name: &str| all.iter().find(|info| info["name"] == name).unwrap()["stats"].clone();
    assert_eq!(stats("int16 raw"), stats("int16 gzip"));
}

#[test]
fn stats_leave_nans_out() {
    let values = [f32::NAN, 0.0, -2.5, f32::INFINITY, 0.0];
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    let codec =
        ["byteLength: 20", "byteOffset: 0", "byteOrder: C", "endianness: big", "shape: [5]", "type: float32"];
    let (_dir, file) = write(&entry("x", &codec), &bytes);
    let stats = &info(&[&file, &"x", &"--stats"])[0]["stats"];
    assert_eq!(*stats, json!({"count": 5, "min": -2.5, "max": "inf", "mean": "inf", "nans": 1, "zeros": 2}));
}

#[test]
fn stats_are_for_arrays() {
    let outcome = rab(&[&"info", &"--stats", &data("readme.rab"), &"Some text"]);
    assert!(outcome.code == 2 && outcome.err.contains("--stats is for arrays"), "{outcome:?}");
}
