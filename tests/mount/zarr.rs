//! The Zarr view of every format, as zarr and xarray read it.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::kit::*;

/// How many arrays were compared.
fn checked(what: &str, mount: &Path) -> usize {
    let count = python(&[&"zarr_stores.py", &what, &mount]).trim().parse().unwrap();
    assert_eq!(with_zarr_2(what, mount), count);
    count
}

/// As [`checked`], by the version of the library that many still have.
fn with_zarr_2(what: &str, mount: &Path) -> usize {
    let own = std::env::var_os("RAB_TEST_ZARR2").map(PathBuf::from);
    let folder = own.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/zarr2"));
    assert!(
        folder.join("zarr").exists(),
        "no zarr 2 at {}: run scripts/test, or name it in RAB_TEST_ZARR2",
        folder.display()
    );
    let run = "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); import zarr; assert zarr.__version__ < '3'; runpy.run_path('zarr_stores.py', run_name='__main__')";
    python(&[&"-c", &run, &folder, &what, &mount]).trim().parse().unwrap()
}

/// Containers with arrays that are cut into chunks, and with odd names; made once.
fn made() -> &'static Path {
    static MADE: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("zarr");
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        python(&[&"zarr_stores.py", &"make", &path]);
        path
    });
    &MADE
}

#[test]
fn every_sample_is_a_store() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    // The padded one is damaged.
    let excluded = ["*/bad", "*/corrupt", "*/flat_structured_padded.awkd"];
    let mount = Mount::with(&samples, &excluded.map(|name| ["--exclude", name]).concat());
    let count = checked("view", &mount.path);
    assert!(count > 150, "{count}");
}

#[test]
fn chunks_and_odd_names() {
    let mount = Mount::new(made());
    let count = checked("view", &mount.path);
    assert_eq!(count, 9 + 28 + 7 + 6 + 2 + 6);
    assert_eq!(mount.log(), "");
}

#[test]
fn a_container_is_a_store_by_itself_too() {
    for name in ["small.rab", "odd.rab", "stored.npz", "types.npz"] {
        let mount = Mount::new(&made().join(name));
        assert!(checked("view", &mount.path) > 5);
        let shown = Mount::with(&made().join(name), &["--as", "zarr"]);
        assert!(shown.join(".zgroup").is_file() && !shown.join("nothing/.zgroup").exists());
    }
    let (file, plain) = (made().join("small.rab"), Mount::new(&made().join("small.rab")));
    let mount = Mount::with(&file, &["--as", "zarr"]);
    assert_eq!(python(&[&"zarr_stores.py", &"listed", &mount.path, &plain.path]).trim(), "7");
    // Directories are called there as in the store.
    let (file, plain) = (made().join("odd.rab"), Mount::new(&made().join("odd.rab")));
    let odd = Mount::with(&file, &["--as", "zarr"]);
    assert_eq!(python(&[&"zarr_stores.py", &"listed", &odd.path, &plain.path]).trim(), "28");
    assert!(odd.join(r"d%5Cir/x/0").is_file() && odd.names().contains(&r"d%5Cir".to_owned()));
    let outcome = sh(r#"find "$1" -name .zgroup -o -name .zmetadata"#, &[&mount.path]);
    assert_eq!(outcome.lines().count(), 2, "{outcome}");
}

/// Checks the modes themselves, since they do not restrict root, who may run this test.
#[test]
fn readers_of_an_array_can_enter_its_directory() {
    let modes = |mount: &Mount, kind: &str| {
        let outcome = sh(
            r#"find "$1/.views/zarr" -mindepth 1 -type "$2" -printf '%m\n' | sort -u"#,
            &[&mount.path, &kind],
        );
        outcome.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let mount = Mount::new(&made().join("small.rab"));
    assert_eq!((modes(&mount, "d"), modes(&mount, "f")), (vec!["755".into()], vec!["444".into()]));
}

#[test]
fn names_on_a_disk_that_look_escaped_are_found() {
    let dir = scratch();
    let names_there =
        [(r"a\b", "a%5Cb"), ("a%5Cb", "a%255Cb"), ("a%255Cb", "a%25255Cb"), ("%2Ezgroup", "%252Ezgroup")];
    for (number, (name, _)) in names_there.iter().enumerate() {
        std::fs::create_dir(dir.path().join(name)).unwrap();
        std::fs::copy(made().join("small.rab"), dir.path().join(name).join(format!("{number}.rab"))).unwrap();
    }
    let mount = Mount::with(dir.path(), &["--as", "zarr"]);
    let mut shown: Vec<_> = names_there.iter().map(|(_, shown)| shown.to_string()).collect();
    shown.push(".zgroup".into());
    shown.sort_unstable();
    for root in ["", ".views/zarr"] {
        let mut found = names(&mount.join(root));
        found.sort_unstable();
        assert_eq!(found, shown);
        for (number, (_, name)) in names_there.iter().enumerate() {
            let inner = mount.join(root).join(name);
            assert_eq!(names(&inner), [".zgroup".to_owned(), format!("{number}.rab")]);
            assert!(inner.join(format!("{number}.rab/.zmetadata")).is_file(), "{name}");
        }
    }
}

#[test]
fn any_range_of_a_chunk_is_that_of_the_whole() {
    let mount = Mount::new(&made().join("large.rab"));
    for chunk in ["last/2", "zipped/0.0", "fortran/0.0.1"] {
        let path = mount.join(".views/zarr").join(chunk);
        let whole = std::fs::read(&path).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut scatter = Scatter(3);
        for _ in 0..200 {
            let (from, size) = scatter.range(whole.len());
            let mut got = vec![0; size];
            let count = file.read_at(&mut got, from as u64).unwrap();
            assert_eq!(got[..count], whole[from..(from + size).min(whole.len())], "{chunk} {from}");
        }
    }
}

#[test]
fn a_damaged_array_is_an_input_error_and_not_one_without_data() {
    let codec = |length: u32, shape: &str, more: &[&str]| {
        let length = format!("byteLength: {length}");
        let lines = [length.as_str(), "byteOffset: 0", "byteOrder: C"];
        let all = [&lines[..], more, &["endianness: little", shape, "type: float32"]].concat();
        all.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let entry =
        |name: &str, codec: Vec<String>| entry(name, &codec.iter().map(String::as_str).collect::<Vec<_>>());
    let header = [
        entry("good", codec(40, "shape: [10]", &[])),
        entry("long", codec(40, "shape: [11]", &[])),
        entry("cut off", codec(4000, "shape: [1000]", &[])),
        entry("no stream", codec(40, "shape: [100]", &["compression: gzip"])),
    ];
    let (_dir, file) = rab(&format!("\n{}\n", header.concat()), &[7; 40]);
    let mount = Mount::new(&file);
    let chunk = |name: &str| mount.read(Path::new(".views/zarr").join(name).join("0"));
    assert_eq!(chunk("good").unwrap(), [7; 40]);
    for bad in ["long", "cut off", "no stream"] {
        assert!(mount.join(".views/zarr").join(bad).join("0").metadata().is_ok(), "{bad}");
        assert_eq!(chunk(bad).unwrap_err().raw_os_error(), Some(libc::EIO), "{bad}");
    }
    let read = "
import sys, numpy, zarr
group = zarr.open_group(sys.argv[1], mode='r')
assert numpy.asarray(group['good']).tobytes() == bytes([7] * 40)
for name in sys.argv[2:]:
    try:
        group[name][...]
    except Exception:
        continue
    raise SystemExit(name + ' was read')";
    python(&[&"-c", &read, &mount.join(".views/zarr"), &"long", &"cut off", &"no stream"]);
}

/// A program that has an array open takes what is missing of it for zeros.
#[test]
fn an_array_that_was_there_is_missed_and_not_read_as_zeros() {
    let dir = scratch();
    let script = r#"
import os, sys, time, shutil, numpy as np, zarr
source, mount, below = sys.argv[1:]
folder = os.path.join(source, "sub")
path = os.path.join(folder, "x.npz")
def write(name):
    os.makedirs(folder, exist_ok=True)
    np.savez(path + ".new.npz", **{name: np.arange(1, 101)})
    os.rename(path + ".new.npz", path)
def missed(of):
    for _ in range(3):
        try:
            values = of[:4]
        except Exception:
            continue
        return values.tolist() == [1, 2, 3, 4] and "whole"
    return "missed"
def opened():
    return zarr.open_array(os.path.join(mount, below), mode="r", zarr_format=2)
ways = {
    "removed": lambda: os.remove(path),
    "other": lambda: write("b"),
    "garbage": lambda: open(path, "wb").write(b"PK\3\4" + b"z" * 2000),
    "plain": lambda: open(path, "wb").write(b"no container"),
    "directory": lambda: shutil.rmtree(folder),
}
for name, way in ways.items():
    write("a")
    for _ in range(100):
        try:
            array = opened()
            break
        except Exception:
            time.sleep(0.1)
    assert array[:4].tolist() == [1, 2, 3, 4]
    way()
    for _ in range(4):
        outcome = missed(array)
        assert outcome in ("missed", "whole"), (name, outcome)
        time.sleep(0.5)
    assert outcome == "missed", name
write("a")
"#;
    let first = "import sys, numpy as np; np.savez(sys.argv[1], a=np.arange(1, 101))";
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    python(&[&"-c", &first, &dir.path().join("sub/x.npz")]);
    std::fs::write(dir.path().join("notes.txt"), "more than one file").unwrap();
    let shown = ["--refresh", "1", "--as", "zarr"];
    for (below, options) in [
        (".views/zarr/sub/x.npz/a", &shown[..2]),
        ("sub/x.npz/.views/zarr/a", &shown[..2]),
        ("sub/x.npz/a", &shown[..]),
        ("sub/x/a", &["--refresh", "1", "--as", "zarr", "--strip-ext"]),
    ] {
        let mount = Mount::with(dir.path(), options);
        python(&[&"-c", &script, &dir.path(), &mount.path, &below]);
        assert!(mount.log().contains("it is gone: open what is in it again"), "{}", mount.log());
        // Other names are missing as ever.
        let missing = std::fs::metadata(mount.join("sub/y.npz")).unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
    }
}

/// All that a program knows of such a store it has from one file, and asks for no array before it wants the data.
#[test]
fn a_store_opened_by_what_says_all_of_it_is_missed_and_not_read_as_zeros() {
    let script = r#"
import os, sys, time, numpy as np, xarray, zarr
source, mount, below = sys.argv[1:]
def write(name, **arrays):
    np.savez(os.path.join(source, "new"), **arrays)
    os.rename(os.path.join(source, "new.npz"), os.path.join(source, name))
def plain(name):
    with open(os.path.join(source, name), "wb") as file:
        file.write(b"no container")
openers = {
    "xarray": lambda path: xarray.open_zarr(path, consolidated=True, chunks=None),
    "zarr": lambda path: zarr.open_consolidated(path, zarr_format=2, mode="r"),
    "as it is": lambda path: zarr.open_group(path, zarr_format=2, mode="r", use_consolidated=False),
}
ways = {
    "removed": lambda name: os.remove(os.path.join(source, name)),
    "other": lambda name: write(name, b=np.arange(1, 101)),
    "a group": lambda name: write(name, **{"a/b": np.arange(1, 101)}),
    "plain": plain,
}
def at(name):
    return os.path.join(mount, below.replace("NAME", name))
opened = {}
for opener in openers:
    for way in ways:
        name = (opener + "-" + way + ".npz").replace(" ", "-")
        write(name, a=np.arange(1, 101), c=np.arange(1, 101))
        opened[name] = (way, openers[opener](at(name)))
# What a container has not is no error.
assert "y" not in zarr.open_group(at("zarr-other.npz"), zarr_format=2, mode="r")
for name, (way, _) in opened.items():
    ways[way](name)
# A reader that may have what was there before does not get "no such file" either.
time.sleep(3)
assert openers["xarray"](at("zarr-other.npz"))["b"].values[:2].tolist() == [1, 2]
for again in range(2):
    for name, (way, store) in opened.items():
        for array in "a", "c":
            try:
                values = np.asarray(store[array][:4])
            except Exception:
                continue
            raise SystemExit(f"{name}: {array} was read: {values}")
    # Neither after a listing, which looks at all that is there.
    os.system("ls -lR " + mount + " > /dev/null 2>&1")
"#;
    where_stores_are_replaced(script);
}

/// Runs a script that replaces containers of a mounted directory, for each place where their stores are.
fn where_stores_are_replaced(script: &str) {
    for (below, options) in [
        (".views/zarr/NAME", &["--refresh", "1"][..]),
        ("NAME/.views/zarr", &["--refresh", "1"]),
        ("NAME", &["--refresh", "1", "--as", "zarr"]),
    ] {
        let dir = scratch();
        std::fs::write(dir.path().join("notes.txt"), "more than one file").unwrap();
        let mount = Mount::with(dir.path(), options);
        python(&[&"-c", &script, &dir.path(), &mount.path, &below]);
        assert!(mount.log().contains("its container was replaced"), "{}", mount.log());
    }
}

/// A container can hold a store as files: its missing chunks are data of a sort, too.
#[test]
fn a_zipped_store_is_missed_and_not_read_as_zeros() {
    let script = r#"
import os, sys, time, warnings, numpy as np, zarr
warnings.simplefilter("ignore")
source, mount, suffix = sys.argv[1:]
def write(name, zarr_format, array="x", shards=slice(None), base=1):
    new = os.path.join(source, "new")
    with zarr.storage.ZipStore(new, mode="w") as store:
        group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
        x = group.create_array(array, shape=(100,), chunks=(10,), dtype="i4")
        x[shards] = np.arange(base, base + 100)[shards]
    os.rename(new, os.path.join(source, name))
def cut(name):
    path = os.path.join(source, name)
    whole = open(path, "rb").read()
    open(os.path.join(source, "new"), "wb").write(whole[:len(whole) // 2])
    os.rename(os.path.join(source, "new"), path)
ways = {
    "removed": lambda name, form: os.remove(os.path.join(source, name)),
    "cut": lambda name, form: cut(name),
    "sparse": lambda name, form: write(name, form, shards=slice(0, 10)),
    "other": lambda name, form: write(name, form, array="y"),
}
opened = []
for form in 2, 3:
    for way in ways:
        name = f"{way}{form}.zarr.zip"
        write(name, form)
        array = zarr.open_group(os.path.join(mount, name.removesuffix(suffix)), mode="r")["x"]
        assert array[:4].tolist() == [1, 2, 3, 4]
        opened.append((name, way, form, array))
# A chunk that was never there is one of zeros, as ever.
write("kept.zarr.zip", 3, shards=slice(0, 10))
kept = zarr.open_group(os.path.join(mount, "kept.zarr.zip".removesuffix(suffix)), mode="r")["x"]
assert kept[8:12].tolist() == [9, 10, 0, 0]
for name, way, form, _ in opened:
    ways[way](name, form)
time.sleep(3)
for again in range(2):
    for name, way, form, array in opened:
        try:
            values = array[50:54].tolist()
        except Exception:
            continue
        raise SystemExit(f"{name}: was read: {values}")
    os.system("ls -lR " + mount + " > /dev/null 2>&1")
assert kept[8:12].tolist() == [9, 10, 0, 0]
"#;
    for (suffix, options) in [("", &["--refresh", "1"][..]), (".zip", &["--refresh", "1", "--strip-ext"])] {
        let dir = scratch();
        std::fs::write(dir.path().join("notes.txt"), "more than one file").unwrap();
        let mount = Mount::with(dir.path(), options);
        python(&[&"-c", &script, &dir.path(), &mount.path, &suffix]);
        assert!(mount.log().contains("its container was replaced"), "{}", mount.log());
    }
}

/// A description that a program has read may be that of an array with more chunks than the one that is there now.
#[test]
fn a_chunk_that_an_array_has_not_is_an_error_and_not_zeros() {
    let script = r#"
import os, sys, time, numpy as np, zarr
source, mount = sys.argv[1:]
def write(**arrays):
    np.savez(os.path.join(source, "new"), **arrays)
    os.rename(os.path.join(source, "new.npz"), os.path.join(source, "x.npz"))
def opened():
    return zarr.open_group(os.path.join(mount, ".views/zarr/x.npz"), zarr_format=2, mode="r", use_consolidated=False)
whole = np.arange(1.0, 3_000_001)
for other in whole[:100], whole.reshape(1000, 3000), whole[:0], whole[0]:
    write(x=whole)
    time.sleep(3)
    x = opened()["x"]
    assert x[2_900_000] == 2_900_001
    write(x=other)
    time.sleep(3)
    try:
        values = x[2_900_000:2_900_003]
    except Exception:
        values = None
    assert values is None, (other.shape, values)
    # What is there now is read as ever, also what has no chunks.
    assert np.array_equal(opened()["x"][...], other), other.shape
"#;
    let dir = scratch();
    std::fs::write(dir.path().join("notes.txt"), "more than one file").unwrap();
    let mount = Mount::with(dir.path(), &["--refresh", "1"]);
    python(&[&"-c", &script, &dir.path(), &mount.path]);
    assert!(mount.log().contains("it has all of its pieces"), "{}", mount.log());
    // Also where nothing changes.
    let script = "import sys, numpy as np; np.savez(sys.argv[1], x=np.arange(9.0))";
    let file = dir.path().join("one.npz");
    python(&[&"-c", &script, &file]);
    let mount = Mount::new(&file);
    let missing = |name: &str| std::fs::metadata(mount.join(".views/zarr/x").join(name)).unwrap_err();
    for (name, is) in
        [("1", libc::EIO), ("0.0", libc::EIO), ("zarr.json", libc::ENOENT), ("0.", libc::ENOENT)]
    {
        assert_eq!(missing(name).raw_os_error(), Some(is), "{name}");
    }
}

/// The directory that is mounted may be moved away, with all that programs have open of it.
#[test]
fn a_store_is_missed_when_what_is_mounted_is_gone() {
    let script = r#"
import os, sys, time, numpy as np, xarray, zarr
source, mount, below = sys.argv[1:]
path = os.path.join(mount, below)
group = zarr.open_group(path, zarr_format=2, mode="r", use_consolidated=False)
consolidated = zarr.open_consolidated(path, zarr_format=2, mode="r")
stores = {
    "xarray": lambda: xarray_store["a"].values,
    "array": lambda: array[:],
    "group": lambda: group["a"][:],
    "consolidated": lambda: consolidated["g/b"][:],
}
xarray_store = xarray.open_zarr(path, consolidated=True, chunks=None)
array = group["g/b"]
def check(is_there):
    for name, values in stores.items():
        try:
            found = np.asarray(values())
        except Exception as error:
            assert not is_there, (name, error)
            continue
        # What xarray has read once it keeps.
        assert found.tolist() == list(range(1, 101)), (name, found[:4])
def wait(is_there):
    for _ in range(100):
        try:
            there = bool(os.listdir(mount))
        except OSError as error:
            assert error.errno == 5, error
            there = False
        if there == is_there:
            return
        check(is_there=False)
        time.sleep(0.1)
    raise SystemExit(f"not there: {is_there}")
os.rename(source, source + "-away")
wait(is_there=False)
check(is_there=False)
for name in "notes.txt", "nothing", below:
    try:
        os.stat(os.path.join(mount, name))
    except OSError as error:
        assert error.errno == 5, (name, error)
# Another directory is not what was mounted.
os.mkdir(source)
time.sleep(1.5)
check(is_there=False)
os.rmdir(source)
os.rename(source + "-away", source)
wait(is_there=True)
check(is_there=True)
"#;
    let write =
        "import sys, numpy as np; np.savez(sys.argv[1], **dict.fromkeys(['a', 'g/b'], np.arange(1, 101)))";
    for (below, options) in [
        (".views/zarr/x.npz", &["--refresh", "1"][..]),
        ("x.npz/.views/zarr", &["--refresh", "1"]),
        ("x.npz", &["--refresh", "1", "--as", "zarr"]),
    ] {
        let dir = scratch();
        let source = dir.path().join("source");
        std::fs::create_dir(&source).unwrap();
        python(&[&"-c", &write, &source.join("x.npz")]);
        std::fs::write(source.join("notes.txt"), "more than one file").unwrap();
        let mount = Mount::with(&source, options);
        python(&[&"-c", &script, &source, &mount.path, &below]);
        assert!(mount.log().contains("the source of this mount is gone"), "{}", mount.log());
    }
}

/// A lookup of a chunk visits each directory on its path, and any of them may disappear meanwhile.
#[test]
fn a_store_that_comes_and_goes_is_never_just_not_there() {
    let script = r#"
import os, sys, shutil, threading, time, numpy as np
source, mount, below = sys.argv[1:]
folder, kept = os.path.join(source, "sub"), os.path.join(source, "kept.npz")
np.savez(kept, a=np.arange(1, 101))
def put():
    os.makedirs(folder, exist_ok=True)
    shutil.copy(kept, os.path.join(folder, "new"))
    os.rename(os.path.join(folder, "new"), os.path.join(folder, "x.npz"))
def read():
    try:
        with open(os.path.join(mount, below), "rb") as file:
            return len(file.read())
    except OSError as error:
        return -error.errno
put()
assert read() == 800
found, over = set(), False
def reads():
    while not over:
        found.add(read())
threads = [threading.Thread(target=reads) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(200):
    shutil.rmtree(folder)
    time.sleep(0.003)
    put()
    time.sleep(0.01)
over = True
for thread in threads:
    thread.join()
assert found <= {800, -5}, found
"#;
    for (below, options) in
        [("sub/x.npz/.views/zarr/a/0", &["--refresh", "1"][..]), ("sub/x.npz/a/0", &["--as", "zarr"])]
    {
        let dir = scratch();
        std::fs::write(dir.path().join("notes.txt"), "more than one file").unwrap();
        let mount = Mount::with(dir.path(), options);
        python(&[&"-c", &script, &dir.path(), &mount.path, &below]);
    }
}

/// Where an array was there may be other things, called like its chunks.
#[test]
fn what_stands_where_a_chunk_was_is_an_error_and_not_zeros() {
    let script = r#"
import os, sys, time, numpy as np, xarray, zarr
source, mount, below = sys.argv[1:]
sys.path.insert(0, os.getcwd())
from rab_oracle import Writer
whole = np.arange(1, 101)
def write(name, texts=(), **arrays):
    rab = Writer()
    for at in arrays:
        rab.array(at, arrays[at])
    for at in texts:
        rab.text(at, "x" * 400)
    rab.write(os.path.join(source, "new"))
    os.rename(os.path.join(source, "new"), os.path.join(source, name))
openers = {
    "xarray": lambda path: xarray.open_zarr(path, consolidated=True, chunks=None),
    "zarr": lambda path: zarr.open_consolidated(path, zarr_format=2, mode="r"),
    "as it is": lambda path: zarr.open_group(path, zarr_format=2, mode="r", use_consolidated=False),
}
others = {
    "array": lambda name: write(name, **{"x/0": whole, "g/y/0/z": whole, "n/0": whole}),
    "texts": lambda name: write(name, ["x/0", "g", "n/0"], z=whole),
    "text": lambda name: write(name, ["x", "g/y/0", "n/0"], z=whole),
}
def at(name):
    return os.path.join(mount, below.replace("NAME", name))
opened = {}
for opener in openers:
    for other in others:
        name = (opener + "-" + other + ".rab").replace(" ", "-")
        write(name, x=whole, **{"g/y": whole, "n/0": whole})
        store = openers[opener](at(name))
        # Who has the descriptions only knows nothing of the data.
        known = {key: store[key] for key in (["x", "g/y"] if opener != "xarray" else ["x"])}
        opened[name] = (other, known)
for name, (other, _) in opened.items():
    others[other](name)
time.sleep(3)
for again in range(2):
    for name, (_, known) in opened.items():
        for key, array in known.items():
            try:
                values = np.asarray(array[:4])
            except Exception:
                continue
            raise SystemExit(f"{name}: {key} was read: {values}")
    os.system("ls -lR " + mount + " > /dev/null 2>&1")
# What was a group is one still, with arrays that are called like chunks.
new = zarr.open_group(at("as-it-is-array.rab"), zarr_format=2, mode="r", use_consolidated=False)
assert new["n"]["0"][:4].tolist() == [1, 2, 3, 4]
"#;
    where_stores_are_replaced(script);
}

/// A `find` enters more directories than anybody wants to remember.
#[test]
fn a_store_is_missed_also_after_many_directories() {
    let script = r#"
import os, sys, numpy as np, xarray
source, mount = sys.argv[1:]
path = os.path.join(source, "sub/x.npz")
os.mkdir(os.path.join(source, "sub"))
np.savez(path, **{"a/b": np.arange(1, 101)})
for at in range(17_000):
    os.mkdir(os.path.join(source, f"{at}"))
store = xarray.open_zarr(os.path.join(mount, "sub/x.npz/.views/zarr/a"), consolidated=False, chunks=None)
for at in range(17_000):
    os.stat(os.path.join(mount, f"{at}"))
os.remove(path)
try:
    values = store["b"].values.tolist()
except Exception:
    values = None
assert values in (None, list(range(1, 101))), values[:4]
"#;
    let dir = scratch();
    let mount = Mount::with(dir.path(), &["--refresh", "60"]);
    python(&[&"-c", &script, &dir.path(), &mount.path]);
}

/// One name can be of more directories than a stack has room for.
#[test]
fn what_is_nested_too_deep_is_left_out_of_what_says_all() {
    let script = r#"
import sys, numpy as np
np.savez(sys.argv[1], **{"a/" * 10_000 + "x": np.arange(4), "k": np.arange(4)})
"#;
    let dir = scratch();
    let path = dir.path().join("deep.npz");
    python(&[&"-c", &script, &path]);
    let mount = Mount::new(&path);
    let all: serde_json::Value =
        serde_json::from_slice(&mount.read(".views/zarr/.zmetadata").unwrap()).unwrap();
    let keys = all["metadata"].as_object().unwrap();
    assert!(keys.contains_key("k/.zarray") && keys.len() == 2 + 1 + 128, "{}", keys.len());
    assert!(mount.log().contains("deeper than 128 levels, which is the limit"), "{}", mount.log());
}
