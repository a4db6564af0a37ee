//! safetensors: files of the reference package mounted, models of several files, damage.

use std::path::{Path, PathBuf};

use crate::kit::*;
use crate::parallel::eight_readers_of;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/safetensors").join(name)
}

/// Writes a file with this header and `data` zero bytes.
fn write(path: &Path, header: &str, data: usize) {
    let data = vec![0; data];
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn files_are_as_the_reference_reads_them() {
    for (name, count) in
        [("types.safetensors", "78"), ("float4.safetensors", "2"), ("no_tensors.safetensors", "0")]
    {
        let mount = Mount::new(&sample(name));
        let found = python(&[&"check_safetensors.py", &"mounted", &mount.path, &sample(name)]);
        assert_eq!((found.trim(), mount.log().as_str()), (count, ""));
    }
    eight_readers_of(&sample("types.safetensors"), &["--threads", "4"]);
}

#[test]
fn a_model_of_several_files_is_one_container() {
    let shards = [1, 2].map(|number| sample(&format!("sharded/model-0000{number}-of-00002.safetensors")));
    for input in ["sharded", "sharded/model.safetensors.index.json"] {
        let mount = Mount::new(&sample(input));
        let found = python(&[&"check_safetensors.py", &"mounted", &mount.path, &shards[0], &shards[1]]);
        assert_eq!((found.trim(), mount.log().as_str()), ("4", ""));
        let sidecar = String::from_utf8(mount.read("layers.3.weight.meta.yaml").unwrap()).unwrap();
        assert!(sidecar.contains("file: model-00002-of-00002.safetensors"), "{sidecar}");
    }
    eight_readers_of(&sample("sharded"), &[]);
}

#[test]
fn metadata_of_files_that_differ_about_it() {
    let dir = scratch();
    let names = ["m-1-of-2.safetensors", "m-2-of-2.safetensors"];
    for name in names {
        write(&dir.path().join(name), &format!("{{\"__metadata__\":{{\"file\":\"{name}\"}}}}"), 0);
    }
    let mount = Mount::new(dir.path());
    for name in names {
        let text = String::from_utf8(mount.read(format!("__metadata__/{name}")).unwrap()).unwrap();
        assert_eq!(text, format!("{{\n  \"file\": \"{name}\"\n}}\n"));
    }
}

#[test]
fn what_is_written_is_mounted() {
    let dir = scratch();
    let file = dir.path().join("x.safetensors");
    let mut convert = std::process::Command::new(env!("CARGO_BIN_EXE_rab"));
    let outcome = run(convert.arg("convert").arg(sample("types.safetensors")).arg(&file));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let mount = Mount::new(&file);
    let found = python(&[&"check_safetensors.py", &"mounted", &mount.path, &sample("types.safetensors")]);
    assert_eq!(found.trim(), "78");
}

#[test]
fn without_an_index_all_shards_are_needed() {
    let dir = scratch();
    let shards = [1, 2].map(|number| format!("model-0000{number}-of-00002.safetensors"));
    for shard in &shards {
        std::fs::copy(sample("sharded").join(shard), dir.path().join(shard)).unwrap();
    }
    assert!(Mount::new(dir.path()).join("layers.3.weight").is_file());
    // A directory with something else, or only some of them, is shown as it is.
    std::fs::write(dir.path().join("config.json"), "{}").unwrap();
    assert!(Mount::new(dir.path()).join(&shards[1]).join("layers.3.weight").is_file());
    assert!(Mount::with(dir.path(), &["--format", "safetensors"]).join("layers.3.weight").is_file());
    std::fs::remove_file(dir.path().join("config.json")).unwrap();
    std::fs::remove_file(dir.path().join(&shards[0])).unwrap();
    assert_eq!(Mount::new(dir.path()).names(), [shards[1].as_str()]);
}

#[test]
fn an_index_in_a_directory_stays_a_file() {
    let dir = scratch();
    for name in names(&sample("sharded")) {
        std::fs::copy(sample("sharded").join(&name), dir.path().join(&name)).unwrap();
    }
    std::fs::write(dir.path().join("config.json"), "{}").unwrap();
    let mount = Mount::new(dir.path());
    let index = "model.safetensors.index.json";
    assert_eq!(mount.read(index).unwrap(), std::fs::read(dir.path().join(index)).unwrap());
    assert!(mount.join("model-00001-of-00002.safetensors/layers.0.weight").is_file());
}

#[test]
fn damaged_files_are_refused() {
    let dir = scratch();
    let file = dir.path().join("x.safetensors");
    let one =
        |more: &str| format!("{{\"a\":{{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}{more}}}");
    let second = |begin: u64| {
        one(&format!(",\"b\":{{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[{begin},{}]}}", begin + 3))
    };
    for (header, data, fragment) in [
        (one(""), 7, "the data ends at byte 70, but the file ends before: it is cut short"),
        (one(""), 9, "at byte 70: the data ends here, followed by 1 byte outside any tensor"),
        (second(7), 10, "inside other data, which ends at"),
        (second(9), 12, "but the data before it ends at"),
        (one("").replace("[2]", "[3]"), 8, "its shape [3] of F32 takes 12 bytes"),
        (one("").replace("[0,8]", "[8,0]"), 8, "its data_offsets are 8 and 0"),
        (one("").replace("F32", "F33"), 8, "its dtype is \"F33\", which the format does not have"),
        (one("").replace("[2]", "[4611686018427387904, 4]"), 8, "does not fit into 64 bits"),
        (one("").replace("[2]", "[4294967296, 4294967296, 0]"), 8, "does not fit into 64 bits"),
        (
            one(",\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[8,8]}"),
            8,
            "the key \"a\" appears twice",
        ),
        (one(",\"__metadata__\":{\"k\":1}"), 8, "expected a string"),
        (format!("[{}]", one("")), 8, "the header begins with \"[{\\\"a\\\":{\\\"\", not with {"),
    ] {
        write(&file, &header, data);
        let outcome = run(program().arg(&file).arg(dir.path().join("mnt")));
        assert!(outcome.code == 12 && outcome.err.contains(fragment), "{header}: {outcome:?}");
        assert!(outcome.err.contains("x.safetensors") && outcome.err.lines().count() == 1, "{outcome:?}");
    }
    // In a directory they are containers that say so.
    let mount = Mount::new(dir.path());
    let error = String::from_utf8(mount.read("x.safetensors/ERROR.txt").unwrap_or_default()).unwrap();
    assert!(error.is_empty() && mount.join("x.safetensors").is_file(), "{error}");
    write(&file, &one(""), 7);
    let mount = Mount::new(dir.path());
    let error = String::from_utf8(mount.read("x.safetensors/ERROR.txt").unwrap()).unwrap();
    assert!(error.contains("cut short"), "{error}");
}

#[test]
fn lengths_of_headers_are_believed_only_so_far() {
    let dir = scratch();
    let file = dir.path().join("x.safetensors");
    let refused = |bytes: &[u8], code: i32, fragment: &str| {
        std::fs::write(&file, bytes).unwrap();
        let outcome = run(program().arg(&file).arg(dir.path().join("mnt")));
        assert!(outcome.code == code && outcome.err.contains(fragment), "{fragment}: {outcome:?}");
    };
    refused(b"", 11, "it is empty");
    refused(b"1234567", 12, "the file has 7 bytes, and 8 for the length");
    refused(&[0xff; 64], 12, "18446744073709551615 bytes, and the limit is 100000000 (100 MB)");
    refused(
        &[&99_999_999u64.to_le_bytes()[..], b"{}"].concat(),
        12,
        "claims to end at byte 100000007, but the file has 10",
    );
    refused(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", 11, "with git lfs pull");
}
