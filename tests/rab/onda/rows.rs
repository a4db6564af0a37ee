//! Rows of which something is strange.

use std::path::PathBuf;

use crate::kit::{TempDir, python, scratch};
use crate::{good, rab};

/// A directory with what a script in the words of `onda_tables.py` makes there.
fn made(script: &str) -> TempDir {
    let dir = scratch();
    let script = format!("import os, sys\nfrom onda_tables import *\nos.chdir(sys.argv[1])\n{script}");
    python(&[&"-c", &script, &dir.path()]);
    dir
}

fn in_dir(dir: &TempDir) -> impl Fn(&str) -> PathBuf + '_ {
    move |name| dir.path().join(name)
}

/// Onda.jl does not compare them, and others round them otherwise.
#[test]
fn one_sample_more_or_less_than_the_span_has_is_no_damage() {
    let dir = made(
        "
for label in 'right', 'less', 'more', 'far':
    samples(label + '.lpcm', 20)
rows = [row('right', 20), row('less', 20, stop=19 * S // 10), row('more', 20, stop=21 * S // 10)]
signals('x.arrow', rows)
signals('far.arrow', [row('far', 20, stop=22 * S // 10)])
",
    );
    let to = in_dir(&dir);
    let doubts: Vec<_> = [(1, "less", 19), (2, "more", 21)]
        .map(|(row, label, told)| {
            format!(
                "warning: {}: dataset \"00000000-0000-0000-0000-000000000001/{label}\": row {row}: the data has 20 \
                 samples, its span and sample_rate say {told}",
                to("x.arrow").display()
            )
        })
        .into();
    let (table, files, out) = (to("x.arrow"), to("files"), to("x.rab"));
    for (verb, to) in [("verify", None), ("unpack", Some(&files)), ("convert", Some(&out))] {
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&verb, &table];
        words.extend(to.map(|to| to as &dyn AsRef<std::ffi::OsStr>));
        let said = rab(&words);
        let warnings: Vec<_> = said.err.lines().filter(|line| line.starts_with("warning: ")).collect();
        assert_eq!(
            (said.code, warnings),
            (0, doubts.iter().map(String::as_str).collect()),
            "{verb}: {said:?}"
        );
    }
    assert!(good(&[&"verify", &"-q", &to("x.arrow")]).is_empty());
    assert!(good(&[&"info", &to("x.arrow"), &"*/less"]).contains("its span and sample_rate say 19"));
    let said = rab(&[&"verify", &to("far.arrow")]);
    assert!(said.code == 12 && said.out.contains("row 0: the data has 20 samples"), "{said:?}");
}
