//! Mounts of objects in a store that fails now and then, or replaces them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::kit::*;
use crate::stores::*;

#[test]
fn a_hundred_readers_of_a_faulty_store_get_their_bytes() {
    let store = Store::new();
    let bytes = distinct(24 << 20);
    write_large(&store.file("x.rab"), &bytes);
    store.set(&[("busy", "0.2"), ("cut", "0.1")]);
    for url in store.urls("x.rab") {
        let (busy, cut) = (store.logged("503"), store.logged("cut"));
        let mount = Mount::by(store.reached_by(program()), Path::new(&url), &[]);
        let file = File::open(mount.join("large")).unwrap();
        within(&mount, || {
            check_readers(&bytes, |buf, offset| file.read_exact_at(buf, offset).unwrap());
            assert!(mount.read("large").unwrap() == bytes, "{url}");
        });
        assert!(store.logged("503") > busy && store.logged("cut") > cut, "{:?}", store.log());
    }
}

/// Replies are cut too, so that some are continued after the object was replaced.
#[test]
fn bytes_of_two_versions_are_never_mixed() {
    let store = Store::new();
    for (name, byte) in [("x.rab", 1), ("next.rab", 2)] {
        write_large(&store.file(name), &vec![byte; 24 << 20]);
    }
    for url in store.urls("x.rab") {
        store.set(&[
            ("conditions", "off"),
            ("replacement", "bucket/next.rab"),
            ("replace_after", "1000000000"),
        ]);
        store.set(&[("cut", "0")]);
        let mount = Mount::by(store.reached_by(program()), Path::new(&url), &[]);
        let file = File::open(mount.join("large")).unwrap();
        let read = |offset| {
            let mut buf = vec![0; 100_000];
            file.read_exact_at(&mut buf, offset).map(|()| buf)
        };
        assert!(read(0).unwrap() == [1; 100_000]);
        store.set(&[("cut", "0.5"), ("replace_after", &(store.log().len() + 5).to_string())]);
        within(&mount, || {
            std::thread::scope(|scope| {
                for seed in 0..16 {
                    scope.spawn(move || {
                        let mut scatter = Scatter(seed);
                        for _ in 0..20 {
                            match read(scatter.below(24 << 20).min((24 << 20) - 100_000) as u64) {
                                Ok(buf) => assert!(buf == [1; 100_000]),
                                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EIO)),
                            }
                        }
                    });
                }
            });
            // Not all of it was there in time.
            assert!(mount.read("large").is_err(), "{url}");
        });
        assert!(mount.log().contains("changed since it was opened"), "{url}: {}", mount.log());
    }
}
