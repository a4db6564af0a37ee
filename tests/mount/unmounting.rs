//! Mounts that are in use, all mounts of a user, and dead mounts that are in the way.

use crate::kit::*;
use crate::lifecycle::{is_read_to_its_end, kill_the_daemon, nothing_is_left, nothing_is_left_soon, open};

#[test]
fn a_mount_in_use_can_be_detached_and_its_place_used_again() {
    for lazy in [&["-u", "--lazy", "mnt"][..], &["-uz", "mnt"]] {
        let site = Site::new();
        site.ok(&["run.rab", "mnt"]);
        let file = open(&site);
        site.exits(20, &["-u", "mnt"], &["mnt: is in use", "'rab-mount -u --lazy mnt'"]);
        let outcome = site.ok(lazy);
        assert_eq!((outcome.err.as_str(), site.table().len()), ("", 0));
        assert!(!site.join("mnt").exists());
        site.ok(&["run.rab", "mnt"]);
        assert_eq!(site.sh("cat mnt/small"), "small");
        assert!(is_read_to_its_end(file));
        eventually("the detached one ends", || site.processes().len() == 1);
        // That it ends removes nothing of the new one.
        assert_eq!(site.sh("cat mnt/small"), "small");
        site.ok(&["-u", "--lazy", "mnt"]);
        nothing_is_left_soon(&site);
    }
}

#[test]
fn a_mount_that_is_not_in_use_has_ended_when_lazy_unmounting_returns() {
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    site.ok(&["-uz", "mnt"]);
    nothing_is_left(&site);
    site.exits(20, &["-uz", "mnt"], &["is not a rab-mount mount"]);
}

#[test]
fn lazy_unmounting_does_not_wait_for_users_in_another_namespace() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    site.sh("mkdir mnt");
    site.ok(&["run.rab", "mnt"]);
    let holder = "cat mnt/small && until [ -e go ]; do sleep 0.02; done; cat mnt/small";
    let holder = site.start(site.command("unshare").args(["-m", "bash", "-c", holder]));
    eventually("the other namespace has it", || holder.out() == "small");
    assert_eq!(site.ok(&["-u", "--lazy", "mnt"]).err, "");
    assert_eq!(site.table().len(), 0);
    std::fs::write(site.join("go"), "").unwrap();
    let outcome = holder.end();
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "smallsmall"));
    nothing_is_left_soon(&site);
}

#[test]
fn what_is_mounted_inside_is_not_detached() {
    if me() != 0 {
        return;
    }
    let site = Site::new();
    site.ok(&["run.rab", "mnt"]);
    site.sh("mount -t tmpfs tmpfs mnt/dir");
    site.exits(20, &["-uz", "mnt"], &["unmount", "(tmpfs) first"]);
    site.sh("umount mnt/dir");
    site.ok(&["-u", "mnt"]);
    nothing_is_left(&site);
}

/// With mounts of its own, as others' are listed and unmounted too.
#[test]
fn ones_mounts_are_listed_and_unmounted_together() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    assert_eq!(site.ok(&["--list"]).out, "");
    site.ok(&["-u", "--all"]);
    site.ok(&["run.rab", "mnt"]);
    let first = site.daemon();
    let odd = "a b\tc\\.rab";
    std::fs::copy(site.join("run.rab"), site.join(odd)).unwrap();
    site.ok(&[odd, "other"]);
    let second = site.processes().into_iter().find(|pid| *pid != first).unwrap();
    let here = site.path.display();
    let list = || {
        let lines = site.ok(&["--list"]).out;
        lines.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let listed = list();
    let is_age = |text: &str| text.split(':').all(|part| part.len() == 2 && part.parse::<u32>().is_ok());
    assert!(listed.iter().all(|line| line.len() == 4 && is_age(&line[3])), "{listed:?}");
    assert_eq!(listed[0][..3], [format!("{here}/run.rab"), format!("{here}/mnt"), first.to_string()]);
    let escaped = format!("{here}/a b\\011c\\134.rab");
    assert_eq!(listed[1][..3], [escaped, format!("{here}/other"), second.to_string()]);

    kill(nix::unistd::Pid::from_raw(first), Signal::SIGKILL).unwrap();
    eventually("it is listed as dead", || list()[0][2..] == ["-", "dead"]);
    assert_eq!(list()[1][2], second.to_string());
    site.ok(&["-u", "--all"]);
    nothing_is_left(&site);
    assert!(!site.join("mnt").exists() && !site.join("other").exists());
    assert_eq!(site.ok(&["--list"]).out, "");
}

#[test]
fn all_that_can_be_unmounted_is() {
    if me() != 0 {
        return;
    }
    let site = Site::apart();
    site.sh(&format!("for name in a b c; do '{PROGRAM}' run.rab $name; done"));
    site.sh(&format!(
        "exec 3< b/small; '{PROGRAM}' -u --all 2> outcome; echo $? > code; '{PROGRAM}' -u --all -z; cat <&3 > small"
    ));
    assert_eq!(site.sh("cat code small; grep -c 'b: is in use' outcome; wc -l < outcome"), "20\nsmall1\n1\n");
    nothing_is_left_soon(&site);
}

#[test]
fn a_dead_mount_of_ones_own_is_replaced() {
    for (was_there, is_in_foreground) in [(false, false), (true, false), (false, true)] {
        let site = Site::new();
        if was_there {
            std::fs::create_dir(site.join("mnt")).unwrap();
        }
        site.ok(&["run.rab", "mnt"]);
        // That somebody has a file of it open is in nobody's way.
        let file = open(&site);
        kill_the_daemon(&site);
        let mut running = None;
        if is_in_foreground {
            running = Some(site.start(&mut site.program(&["-f", "run.rab", "mnt"])));
        } else {
            site.ok(&["run.rab", "mnt"]);
        }
        eventually("it is mounted again", || {
            try_sh(r#"cat "$1""#, &[&site.join("mnt/small")]).out == "small"
        });
        drop(file);
        assert_eq!(site.table().len(), 1);
        site.ok(&["-u", "mnt"]);
        running.into_iter().for_each(|running| assert_eq!(running.end().code, 0));
        assert_eq!(site.join("mnt").exists(), was_there);
        nothing_is_left(&site);
    }
}

const WAITING: &str = "until [ -e go ]; do sleep 0.02; done; cat {}/small";

/// Its process goes on until the command ends, and nobody waits for that.
#[test]
fn the_mount_of_a_running_command_is_unmounted() {
    let site = Site::new();
    let command = "echo {}; until [ -e go ]; do sleep 0.02; done; ls {}";
    let running = site.start(&mut site.program(&["run.rab", "--", "sh", "-c", command]));
    eventually("the command runs", || running.out().ends_with('\n'));
    let mountpoint = running.out().trim().to_owned();
    assert_eq!(site.ok(&["-u", &mountpoint]).err, "");
    assert_eq!(site.table().len(), 0);
    std::fs::write(site.join("go"), "").unwrap();
    let outcome = running.end();
    assert!(outcome.code != 0 && outcome.err.contains("was unmounted while the command runs"), "{outcome:?}");
    nothing_is_left(&site);
}

#[test]
fn what_a_killed_command_left_is_cleared_by_the_next() {
    let site = Site::new();
    let killed = site.start(&mut site.program(&["run.rab", "--", "sh", "-c", "echo {}; exec sleep 60"]));
    eventually("the command runs", || killed.out().ends_with('\n'));
    killed.signal(Signal::SIGKILL);
    let dead = killed.out().trim().to_owned();
    eventually("it is dead", || try_sh(r#"ls "$1""#, &[&dead]).err.contains("not connected"));
    // One that lives stays.
    let living = site.start(&mut site.program(&["run.rab", "--", "sh", "-c", WAITING]));
    eventually("only the living one is there", || {
        site.table().len() == 1 && !std::path::Path::new(&dead).exists()
    });
    assert_eq!(site.ok(&["run.rab", "--", "cat", "{}/small"]).out, "small");
    std::fs::write(site.join("go"), "").unwrap();
    assert_eq!((living.end().code, killed.end().code), (0, -1));
    nothing_is_left(&site);
}
