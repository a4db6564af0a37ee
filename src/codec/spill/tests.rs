use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::*;

const LIMIT: u64 = 8 * PIECE as u64;

fn spill(limit: u64) -> Spill {
    Spill::in_directory(std::env::temp_dir(), Some(limit))
}

/// Pieces that all differ, within and between frames.
fn piece(frame: u64, index: usize) -> Vec<u8> {
    let start = frame.wrapping_mul(0x9e37_79b9).wrapping_add(index as u64);
    (0..PIECE / 8).flat_map(|n| (start ^ (n as u64) << 20).to_le_bytes()).collect()
}

fn write(spill: &Spill, frame: u64, pieces: usize) -> Result<Arc<Spilled>, Refused> {
    let mut writer = spill.writer().unwrap();
    (0..pieces).try_for_each(|index| writer.push(&piece(frame, index)))?;
    Ok(writer.finish((0, frame)))
}

fn check(spill: &Spill, frame: &Spilled, number: u64) {
    for index in 0..(frame.len() / PIECE as u64) as usize {
        assert!(frame.read(index, spill).unwrap() == piece(number, index));
    }
}

fn in_use(spill: &Spill) -> u32 {
    spill.disk.get().unwrap().lock().in_use()
}

#[test]
fn the_least_recently_used_frame_is_evicted_at_the_limit() {
    let spill = spill(LIMIT);
    for number in 0..20 {
        write(&spill, number, 3).unwrap();
        if number > 0 {
            // Frame 0 is used again and again, so the other one is evicted.
            check(&spill, &spill.get((0, 0)).expect("in use"), 0);
            assert_eq!(spill.get((0, number - 1)).is_some(), number < 2);
        }
    }
    assert!(spill.disk.get().unwrap().file().metadata().unwrap().len() <= LIMIT);
    assert_eq!(in_use(&spill), 6);
}

#[test]
fn the_space_of_a_frame_being_read_is_not_reused() {
    let spill = spill(LIMIT);
    let kept = write(&spill, 0, 3).unwrap();
    for number in 1..10 {
        write(&spill, number, 5).unwrap();
    }
    assert!(spill.get((0, 0)).is_none());
    check(&spill, &kept, 0);
    drop(kept);
    write(&spill, 10, 8).unwrap();
}

#[test]
fn a_frame_larger_than_the_limit_is_refused_and_leaves_nothing() {
    let spill = spill(LIMIT + 5);
    assert!(matches!(write(&spill, 0, 9), Err(Refused::TooLarge { limit: LIMIT })));
    assert_eq!(in_use(&spill), 0);
    assert!(matches!(write(&super::tests::spill(0), 0, 1), Err(Refused::TooLarge { limit: 0 })));
}

#[test]
fn frames_that_do_not_fit_together_are_written_one_after_the_other() {
    let spill = spill(LIMIT);
    std::thread::scope(|scope| {
        for number in 0..6 {
            let spill = &spill;
            scope.spawn(move || {
                let frame = loop {
                    match write(spill, number, 5 + number as usize % 4) {
                        Ok(frame) => break frame,
                        Err(Refused::Busy) => spill.wait(),
                        Err(other) => panic!("{other:?}"),
                    }
                };
                check(spill, &frame, number);
            });
        }
    });
    assert_eq!(spill.disk.get().unwrap().lock().writers, 0);
}

#[test]
fn of_two_frames_that_do_not_fit_one_continues() {
    let spill = spill(LIMIT);
    let [mut first, mut second] = [0, 1].map(|_| spill.writer().unwrap());
    for index in 0..4 {
        first.push(&piece(1, index)).unwrap();
        second.push(&piece(2, index)).unwrap();
    }
    assert!(matches!(first.push(&piece(1, 4)), Err(Refused::Busy)));
    drop(first);
    for index in 4..8 {
        second.push(&piece(2, index)).unwrap();
    }
    check(&spill, &second.finish((0, 2)), 2);
}

#[test]
fn bytes_changed_on_disk_are_an_error() {
    let spill = spill(LIMIT);
    let frame = write(&spill, 0, 2).unwrap();
    spill.disk.get().unwrap().file().write_all_at(b"x", PIECE as u64 + 77).unwrap();
    assert!(frame.read(0, &spill).is_ok());
    let message = frame.read(1, &spill).unwrap_err().to_string();
    assert!(message.contains("not what was written"), "{message}");
    assert!(frame.read(2, &spill).is_err());
}

#[test]
fn a_full_disk_is_reported() {
    let spill = spill(LIMIT);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(spill.disk.set(Arc::new(Disk::new(full, LIMIT))).is_ok());
    let Err(Refused::Failed(error)) = write(&spill, 0, 1) else { panic!("written to /dev/full") };
    let message = error.to_string();
    for part in ["--spill-size", "TMPDIR", &std::env::temp_dir().display().to_string()] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(in_use(&spill), 0);
}

#[test]
fn the_file_is_private_and_has_no_name_and_a_default_limit() {
    let directory = tempfile::tempdir().unwrap();
    let spill = Spill::in_directory(directory.path().to_owned(), None);
    let limit = spill.limit().unwrap();
    assert!(limit > 0 && limit <= 16 << 30, "{limit}");
    let about = spill.disk.get().unwrap().file().metadata().unwrap();
    assert_eq!((about.mode() & 0o777, about.nlink()), (0o600, 0));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let nowhere = Spill::in_directory("/no/directory".into(), None).limit().unwrap_err();
    assert!(nowhere.to_string().contains("/no/directory"), "{nowhere}");
}
