//! Plain ZIP files: members as files, Zarr stores in them, damage.

use std::path::{Path, PathBuf};

use crate::kit::*;
use crate::parallel::eight_readers_of;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/zip").join(name)
}

#[test]
fn members_are_files() {
    let mount = Mount::new(&sample("plain.zip"));
    let script = "import sys, os, zipfile\n\
        z, count = zipfile.ZipFile(sys.argv[1]), 0\n\
        for i in z.infolist():\n\
        \x20   path = os.path.join(sys.argv[2], i.filename.replace('%', '%25').replace('..', '%2E%2E'))\n\
        \x20   if i.is_dir(): assert os.path.isdir(path) and not os.listdir(path)\n\
        \x20   elif i.filename == 'bzip2': assert os.path.getsize(path) > 0\n\
        \x20   else: assert open(path, 'rb').read() == z.read(i), path\n\
        \x20   count += 1\n\
        print(count)";
    assert_eq!(python(&[&"-c", &script, &sample("plain.zip"), &mount.path]), "7\n");
    let files = sh(r#"cd "$1" && find . -type f | sort"#, &[&mount.path]);
    assert_eq!(files, "./%2E%2E/up\n./bzip2\n./d/deflated.txt\n./d/é %25/x\n./empty\n./stored.txt\n");
    assert_eq!(mount.read("bzip2").unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    eight_readers_of(&sample("plain.zip"), &["--cache-size", "1"]);
}

#[test]
fn zarr_stores_are_read_from_it() {
    let dir = scratch();
    for name in ["form2.zarr.zip", "form3.ozx", "plain.zip"] {
        std::fs::copy(sample(name), dir.path().join(name)).unwrap();
    }
    let all = Mount::new(dir.path());
    for name in ["form2.zarr.zip", "form3.ozx"] {
        let alone = Mount::new(&sample(name));
        let script = "import sys, zarr, numpy as np\n\
            for path in sys.argv[1:]:\n\
            \x20   group = zarr.open_group(path, mode='r')\n\
            \x20   assert (group['a/b'][:] == np.arange(60).reshape(10, 6)).all() and 'form' in group.attrs\n";
        python(&[&"-c", &script, &alone.path, &all.join(name)]);
        assert_eq!(alone.log(), "");
    }
    // One that is no store stays a file.
    assert_eq!(all.read("plain.zip").unwrap(), std::fs::read(sample("plain.zip")).unwrap());
    let named = Mount::with(dir.path(), &["--format", "zip"]);
    assert_eq!(named.read("plain.zip/stored.txt").unwrap().len(), 500);
}

/// Zarr's `ZipStore` adds what it changes again, behind what was there.
#[test]
fn the_last_member_of_a_name_counts() {
    let dir = scratch();
    let path = dir.path().join("changed.zarr.zip");
    let script = "import sys, warnings, zarr, numpy as np\n\
        warnings.simplefilter('ignore')\n\
        with zarr.storage.ZipStore(sys.argv[1], mode='w') as store:\n\
        \x20   array = zarr.create_array(store, shape=(4,), chunks=(2,), dtype='i4')\n\
        \x20   array[:] = 1\n\
        \x20   array[:] = 2\n\
        \x20   array.attrs['k'] = 'v'\n\
        \x20   array.resize((6,))\n\
        \x20   array[4:] = 5";
    python(&[&"-c", &script, &path]);
    let mount = Mount::new(&path);
    let script = "import sys, zarr\n\
        array = zarr.open_array(sys.argv[1], mode='r')\n\
        print(array[:].tolist(), dict(array.attrs))";
    assert_eq!(python(&[&"-c", &script, &mount.path]), "[2, 2, 2, 2, 5, 5] {'k': 'v'}\n");
    let verified =
        std::process::Command::new(env!("CARGO_BIN_EXE_rab")).arg("verify").arg(&path).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn other_formats_are_detected_first() {
    let dir = scratch();
    for (from, to, shown) in [("npz/small.npz", "a.zip", "NPZ"), ("awkward/jagged.awkd", "b.zip", "Awkward")]
    {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(from);
        std::fs::copy(from, dir.path().join(to)).unwrap();
        let mut info = std::process::Command::new(env!("CARGO_BIN_EXE_rab"));
        let outcome = run(info.arg("info").arg(dir.path().join(to)));
        assert!(outcome.out.contains(&format!("format: {shown}\n")), "{outcome:?}");
    }
    // Many files are ZIP files for their programs only.
    std::fs::copy(sample("plain.zip"), dir.path().join("x.docx")).unwrap();
    let outcome = run(program().arg(dir.path().join("x.docx")).arg(dir.path().join("mnt")));
    assert!(
        outcome.code == 11 && outcome.err.contains("is a ZIP file: --format zip shows its members"),
        "{outcome:?}"
    );
    let mount = Mount::with(&dir.path().join("x.docx"), &["--format", "zip"]);
    assert!(mount.join("stored.txt").is_file());
}

#[test]
fn damage() {
    let dir = scratch();
    let file = dir.path().join("x.zip");
    let whole = std::fs::read(sample("plain.zip")).unwrap();
    for (bytes, code, fragment) in [
        (&whole[..whole.len() - 30], 12, "it has no ZIP directory, which stands at the end"),
        (b"not a ZIP file".as_slice(), 11, "like a text file"),
        (b"", 11, "it is empty"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let outcome = run(program().arg(&file).arg(dir.path().join("mnt")));
        assert!(outcome.code == code && outcome.err.contains(fragment), "{outcome:?}");
    }
    // A member whose checksum is wrong is an error, and the others are read.
    let mut bytes = whole.clone();
    let at = whole.windows(14).position(|window| window == b"d/deflated.txt").unwrap() + 60;
    bytes[at] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let mount = Mount::new(&file);
    assert_eq!(mount.read("d/deflated.txt").unwrap_err().raw_os_error(), Some(libc::EIO));
    assert_eq!(mount.read("stored.txt").unwrap().len(), 500);
}

/// Members that are something else than their bytes, by their flags, and directories that should have bytes.
#[test]
fn flags_that_change_the_meaning_of_a_member_are_refused() {
    let dir = scratch();
    let file = dir.path().join("x.zip");
    let script = "import sys, zipfile\n\
        with zipfile.ZipFile(sys.argv[1], 'w') as z:\n\
        \x20   for name in 'plain', 'strong', 'masked', 'patch', 'd/', 'lost/': z.writestr(name, b'' if '/' in name else b'data')\n\
        data = bytearray(open(sys.argv[1], 'rb').read())\n\
        for name, flag in (b'strong', 1 << 6), (b'masked', 1 << 13), (b'patch', 1 << 5):\n\
        \x20   at = data.find(name)\n\
        \x20   for flags in at - 30 + 6, data.rfind(name) - 46 + 8:\n\
        \x20       data[flags:flags + 2] = (int.from_bytes(data[flags:flags + 2], 'little') | flag).to_bytes(2, 'little')\n\
        at = data.rfind(b'lost/') - 46 + 16\n\
        data[at:at + 4] = b'\\1\\2\\3\\4'\n\
        open(sys.argv[1], 'wb').write(data)";
    python(&[&"-c", &script, &file]);
    let mount = Mount::new(&file);
    assert_eq!(mount.read("plain").unwrap(), b"data");
    for name in ["strong", "masked", "patch"] {
        assert_eq!(mount.read(name).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP), "{name}");
    }
    assert!(mount.join("d").is_dir());
    let verified = run(std::process::Command::new(env!("CARGO_BIN_EXE_rab")).arg("verify").arg(&file));
    for problem in [
        "\"strong\": it is encrypted, which is not supported",
        "\"patch\": it is patch data",
        "dataset \"lost/\": ",
    ] {
        assert!(verified.out.contains(problem), "{problem}: {verified:?}");
    }
    assert_eq!(verified.code, 12);
}
