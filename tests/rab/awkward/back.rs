//! Flat and jagged arrays of an Awkward container, whatever they are called, come back through `rab unpack` and `rab
//! pack`, and through a RAB file.

use super::{good, kit, rab};

#[test]
fn arrays_that_are_called_as_parts_are_arrays_again() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    kit::python(&[&"-c", &MAKE, &dir.path()]);
    for (name, arrays) in [
        ("beside", &["", "x"][..]),
        ("counts", &["x/counts", "x/offsets", "z/q", "content"]),
        ("lists", &["", "y/content", "counts"]),
        ("inside", &["x", "x/content", "x/data", "", "%", "a%b/starts"]),
        ("below", &["x", "x/data", "x/data/counts"]),
    ] {
        let (from, files, back) = (at(&format!("{name}.awkd")), at(name), at(&format!("{name}.2.awkd")));
        good(&[&"unpack", &from, &files]);
        let written = |args: &[&dyn AsRef<std::ffi::OsStr>]| {
            let outcome = rab(args);
            assert_eq!(outcome.code, 0, "{outcome:?}");
        };
        written(&[&"pack", &back, &files]);
        let (rab_file, through) = (at(&format!("{name}.rab")), at(&format!("{name}.3.awkd")));
        good(&[&"convert", &from, &rab_file]);
        written(&[&"convert", &rab_file, &through]);
        for back in [back, through] {
            let ls = |file: &_| good(&[&"ls", file]);
            assert_eq!(ls(&back), ls(&from), "{name}");
            for array in ls(&from).lines().filter(|name| !name.ends_with("meta.yaml")) {
                let get = |file: &_| good(&[&"get", file, &array, &"--json"]);
                assert_eq!(get(&back), get(&from), "{name} {array}");
            }
            let found = kit::python(&[&"-c", &SCHEMAS, &back]);
            assert_eq!(found, format!("{:?}\n", arrays).replace('"', "'"), "{name}");
            good(&[&"verify", &back]);
        }
    }
    // Without what tells of it, it is not guessed.
    std::fs::remove_file(at("counts/x/counts/meta.yaml")).unwrap();
    let outcome = rab(&[&"pack", &at("no.awkd"), &at("counts")]);
    let want = "array \"x\": \"x\" has neither counts nor offsets nor starts and stops (datasets called counts, offsets";
    assert!(
        outcome.code == 1 && outcome.err.contains(want) && outcome.err.contains("needs another name"),
        "{outcome:?}"
    );
}

const MAKE: &str = r#"
import json, sys, zipfile, numpy as np
def make(file, **arrays):
    with zipfile.ZipFile(f"{sys.argv[1]}/{file}.awkd", "w") as to:
        for at, (name, of) in enumerate(arrays.items()):
            prefix = name + "-" if name else ""
            def flat(member, array):
                to.writestr(prefix + member, array.tobytes())
                return {"call": ["awkward0", "numpy", "frombuffer"],
                    "args": [{"read": member}, {"dtype": str(array.dtype)}, {"json": len(array)}]}
            schema = flat("0.raw", 10 * at + np.arange(of if of else 3))
            if not of:
                schema = {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [flat("1.raw", np.array([2, 0, 1])), schema]}
            top = {"awkward0": "0.15.5", "schema": schema}
            to.writestr(f"{name}.json", json.dumps({**top, "prefix": prefix} if prefix else top))
make("beside", **{"": 4, "x": 0})
make("counts", **{"x/counts": 3, "x/offsets": 4, "z/q": 0, "content": 2})
make("lists", **{"": 0, "y/content": 0, "counts": 0})
make("inside", **{"x": 0, "x/content": 0, "x/data": 3, "": 5, "%": 6, "a%b/starts": 2})
make("below", **{"x": 3, "x/data": 5, "x/data/counts": 0})
"#;

const SCHEMAS: &str = r#"
import sys, zipfile
print([name[:-5] for name in zipfile.ZipFile(sys.argv[1]).namelist() if name.endswith(".json")])
"#;

/// Texts, dates and structures are elements as numbers are.
#[test]
fn elements_of_every_type_come_back() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    for sample in ["flat_U", "flat_datetime64", "flat_structured", "flat_structured_nested"] {
        let (from, files, back) = (super::file(&format!("{sample}.awkd")), at(sample), at("back.awkd"));
        good(&[&"unpack", &from, &files]);
        let outcome = rab(&[&"pack", &"-f", &back, &files]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let get = |file: &_, what: &str| good(&[&"get", file, &"data", &what]);
        assert_eq!(get(&back, "--json"), get(&from, "--json"), "{sample}");
        let dtype = |file: &_| good(&[&"info", file]).lines().nth(1).map(str::to_owned);
        assert_eq!(dtype(&back), dtype(&from), "{sample}");
    }
    let npz = at("x.npz");
    let script = "import sys, numpy as np
s = np.zeros(2, np.dtype([('a', 'u1'), ('b', 'f8')], align=True))
np.savez(sys.argv[1], **{'s': s} if sys.argv[2] == 's' else {'l': np.zeros(2, np.longdouble)})";
    for (name, why) in [("s", "fields have gaps"), ("l", "the type \"<f16\"")] {
        kit::python(&[&"-c", &script, &npz, &name]);
        let outcome = rab(&[&"convert", &npz, &at("no.awkd")]);
        assert!(outcome.code == 1 && outcome.err.contains(why), "{outcome:?}");
    }
}
