//! Every sample of the reference writer: the tree, the bytes, the sidecars, and the arrays as numpy sees
//! them, against what an independent reader of the format expects.

use crate::kit::{Mount, data, python};

fn check(sample: &str) {
    let mount = Mount::new(&data(&format!("{sample}.rab")));
    let paths = data(&format!("{sample}.paths.json"));
    let expected = data(&format!("{sample}.json"));
    let count = if paths.exists() {
        python(&[&"check_sample.py", &mount.path, &expected, &paths])
    } else {
        python(&[&"check_sample.py", &mount.path, &expected])
    };
    assert_eq!(mount.err, "", "{sample}");
    assert_eq!(mount.log(), "", "{sample}");
    assert!(count.trim().parse::<u32>().is_ok());
}

macro_rules! samples {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

samples!(dataframe empty_arrays gzip metadata names no_datasets orders readme readme_flow readme_json types);

#[test]
fn every_sample_is_tested() {
    let source = include_str!("samples.rs");
    let list = source.lines().find(|line| line.starts_with("samples!(")).unwrap();
    for name in crate::kit::names(&data("")).iter().filter_map(|name| name.strip_suffix(".rab")) {
        assert!(list.contains(name), "{name} is not tested");
    }
}
