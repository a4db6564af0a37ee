//! .npy files as containers of one array.

use std::path::{Path, PathBuf};

use crate::kit::*;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/npy").join(name)
}

#[test]
fn the_array_of_a_file() {
    for name in ["big_f", "scalar", "empty", "text", "structure"] {
        let (file, mount) = (sample(&format!("{name}.npy")), Mount::new(&sample(&format!("{name}.npy"))));
        assert_eq!(mount.names(), [name.to_owned(), format!("{name}.meta.yaml")]);
        let script = "import sys, yaml, numpy as np\n\
            want, path = np.load(sys.argv[1]), sys.argv[2]\n\
            outcome = yaml.safe_load(open(path + '.meta.yaml'))['numpy']\n\
            dtype = np.dtype(eval(outcome['dtype'])) if outcome['dtype'].startswith('[') else np.dtype(outcome['dtype'])\n\
            found = np.frombuffer(open(path, 'rb').read(), dtype).reshape(outcome['shape'], order=outcome['order'])\n\
            view = np.load(sys.argv[3])\n\
            for a in (found, view): assert a.dtype == want.dtype and a.shape == want.shape and (a == want).all(), a\n";
        python(&[&"-c", &script, &file, &mount.join(name), &mount.join(format!(".views/npy/{name}.npy"))]);
        assert_eq!(mount.log(), "");
    }
    check_any_range(&Mount::new(&sample("big_f.npy")).join("big_f"), 50);
}

#[test]
fn objects_are_not_read() {
    let mount = Mount::new(&sample("objects.npy"));
    assert_eq!(mount.read("objects").unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    let sidecar = String::from_utf8(mount.read("objects.meta.yaml").unwrap()).unwrap();
    assert!(sidecar.contains("problem: 'it holds Python objects (a pickle)"), "{sidecar}");
}

#[test]
fn in_a_directory_they_stay_files() {
    let mount = Mount::new(&sample(""));
    assert_eq!(mount.read("big_f.npy").unwrap(), std::fs::read(sample("big_f.npy")).unwrap());
    let mount = Mount::with(&sample(""), &["--format", "npy"]);
    assert_eq!(mount.read("big_f.npy/big_f").unwrap().len(), 96);
}

#[test]
fn damaged_files_are_refused() {
    let dir = scratch();
    let file = dir.path().join("x.npy");
    let whole = std::fs::read(sample("big_f.npy")).unwrap();
    for (bytes, fragment) in [
        (&whole[..10], "its header needs 12 bytes, but the file has 10"),
        (&whole[..100], "its header needs 128 bytes, but the file has 100"),
        (&whole[..200], "it has 72 bytes of elements, but its description needs 96"),
        (&[&whole[..], b"\0"].concat(), "it has 97 bytes of elements, but its description needs 96"),
        (&[b"\x93NUMPY\x02\0\xff\xff\xff\xff", &whole[12..]].concat(), "and the limit is 1 MiB"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let outcome = run(program().arg(&file).arg(dir.path().join("mnt")));
        assert!(outcome.code == 12 && outcome.err.contains(fragment), "{outcome:?}");
    }
}
