//! In a chroot, which may lack what a system has: its root need not be a mount, and there may be no `/dev/null`.

use crate::kit::*;

/// A directory with the program, its libraries, `/proc` and `/dev/fuse`.
fn jail() -> Site {
    let site = Site::apart();
    site.sh(&format!(
        "mkdir -p jail/proc jail/dev jail/tmp && cp '{PROGRAM}' jail/rab-mount && cp run.rab jail
         ldd '{PROGRAM}' | grep -o '/[^ ]*' | sort -u | while read lib; do
             mkdir -p \"jail${{lib%/*}}\" && cp -L \"$lib\" \"jail$lib\"; done
         mount -t proc proc jail/proc && mknod jail/dev/fuse c 10 229"
    ));
    site
}

fn inside(site: &Site, arguments: &str) -> Outcome {
    run(site.command("bash").args(["-c", &format!("chroot jail /rab-mount --no-index {arguments}")]))
}

#[test]
fn in_a_chroot_whose_root_is_no_mount_one_mounts_and_unmounts() {
    if me() != 0 {
        return;
    }
    let site = jail();
    site.sh("mknod -m 666 jail/dev/null c 1 3");
    let outcome = inside(&site, "/run.rab /mnt");
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    assert_eq!(site.sh("cat jail/mnt/small"), "small");
    let outcome = inside(&site, "/run.rab /mnt");
    assert!(outcome.code == 20 && outcome.err.contains("already mounted by rab-mount"), "{outcome:?}");
    assert_eq!(inside(&site, "--list").out.split('\t').next(), Some("/run.rab"));
    let outcome = inside(&site, "-u /mnt");
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    assert!(!site.join("jail/mnt").exists());
    assert_eq!(site.left(), "");
}

#[test]
fn without_a_null_device_nothing_is_mounted() {
    if me() != 0 {
        return;
    }
    let site = jail();
    let outcome = inside(&site, "/run.rab /mnt");
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(
        outcome.err.contains("/dev/null cannot be opened") && outcome.err.contains("mknod"),
        "{outcome:?}"
    );
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    assert!(!site.join("jail/mnt").exists());
    assert_eq!(site.left(), "");
}
