//! Arrays of every element type, shape and order through every verb that writes arrays: what numpy finds then is
//! what it saved, and what a format cannot hold is refused.

use crate::RAB;
use crate::kit::{Mount, python, scratch};

fn check(verb: &str) {
    let dir = scratch();
    assert_eq!(python(&[&"every_array.py", &RAB, &dir.path(), &verb]).trim(), "544", "{verb}");
}

#[test]
fn packed_as_npz() {
    check("pack_npz");
}

#[test]
fn packed_as_rab_and_added() {
    check("pack_rab");
}

#[test]
fn packed_and_converted_as_rawarray() {
    check("pack_ra");
}

#[test]
fn packed_and_converted_as_awkward() {
    check("pack_awkd");
}

#[test]
fn packed_and_converted_as_safetensors() {
    check("pack_safetensors");
}

#[test]
fn converted() {
    check("convert");
}

#[test]
fn unpacked_and_packed_again() {
    check("unpack");
}

#[test]
fn in_a_mount() {
    let dir = scratch();
    python(&[&"every_array.py", &RAB, &dir.path(), &"save"]);
    let mount = Mount::new(&dir.path().join("all.npz"));
    python(&[&"every_array.py", &RAB, &dir.path(), &"mounted", &mount.path]);
}
