//! Users other than root, and what one sees of another's mount. As root, the tests become other users in a
//! namespace with a `/dev/fuse` for everybody; otherwise only what one can do for oneself is tested.

use std::os::unix::fs::PermissionsExt;

use crate::kit::*;

const ROOT: u32 = 0;
const NOBODY: u32 = 65534;
/// A user unrelated to the mount.
const STRANGER: u32 = 12345;

/// `/etc/fuse.conf` is made by the tests: a line more or less in it is what matters.
const PERMIT: &str = "# for tests\nuser_allow_other\n";

/// The program is here for everybody, and `theirs` belongs to nobody.
fn site() -> Site {
    let site = Site::apart();
    std::fs::copy(PROGRAM, site.join("rab-mount")).unwrap();
    site.sh("mkdir theirs && cp run.rab theirs && chown -R 65534 theirs && chmod 644 run.rab theirs/run.rab");
    site
}

/// A script run as a user; `$M` is the program.
fn as_user(site: &Site, user: u32, script: &str) -> Outcome {
    let mut command = site.command("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".into()]);
    command.args(["timeout", "20", "bash", "-c", script]).env("M", site.join("rab-mount"));
    command.env_remove("XDG_STATE_HOME").env_remove("XDG_CACHE_HOME").env("HOME", site.join("theirs"));
    run(&mut command)
}

#[track_caller]
fn prints(site: &Site, user: u32, script: &str, expected: &str) {
    let outcome = as_user(site, user, script);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, expected), "user {user}, {script}: {outcome:?}");
}

/// Every way to look into a directory is refused, also by names that are known.
#[track_caller]
fn is_denied(site: &Site, user: u32, mnt: &str) {
    for look in ["ls", "cat {}/small", "stat {}/small", "stat {}/dir/inner", "ls {}/dir", "head -c1 {}/big"] {
        let look = if look.contains("{}") { look.replace("{}", mnt) } else { format!("{look} {mnt}") };
        let outcome = as_user(site, user, &look);
        assert!(
            outcome.err.contains("Permission denied") && outcome.out.is_empty(),
            "user {user}, {look}: {outcome:?}"
        );
        assert_ne!(outcome.code, 0);
    }
}

#[track_caller]
fn is_allowed(site: &Site, user: u32, mnt: &str) {
    let script = "ls -R {} > /dev/null && ls -l {}/small {}/dir > /dev/null && cat {}/small {}/dir/inner && \
                  stat -c %s {}/big && cat {}/big > /dev/null";
    prints(site, user, &script.replace("{}", mnt), "smallsmall1048576\n");
}

// What everybody can do.

/// As nobody, or as oneself.
fn mounts_reads_and_unmounts(site: &Site, user: u32) {
    let here = site.path.display();
    let script = r#""$M" ../run.rab mnt && cat mnt/small mnt/dir/inner && "$M" -u mnt && ls"#;
    if user == me() {
        site.sh(&format!("mkdir -p theirs && cp '{PROGRAM}' rab-mount"));
        assert_eq!(site.sh(&format!("M={here}/rab-mount; cd theirs; {script}")), "smallsmall");
    } else {
        prints(site, user, &format!("cd theirs; {script}"), "smallsmallrun.rab\n");
    }
    assert_eq!(site.left(), "");
}

#[test]
fn a_user_mounts_reads_and_unmounts() {
    if me() == ROOT {
        mounts_reads_and_unmounts(&site(), NOBODY);
    } else {
        mounts_reads_and_unmounts(&Site::new(), me());
    }
}

#[test]
fn every_end_of_a_users_mount_removes_the_created_directory() {
    if me() != ROOT {
        return;
    }
    let site = site();
    for end in [
        "$M -u theirs/mnt",
        "fusermount3 -u theirs/mnt",
        "kill -TERM $DAEMON",
        "kill -INT $DAEMON",
        // With an open file it is detached first.
        "exec 3< theirs/mnt/big; kill -HUP $DAEMON; while ls theirs/mnt; do sleep 0.02; done; cat <&3",
        "kill -KILL $DAEMON; while ls theirs/mnt; do sleep 0.02; done; $M -u theirs/mnt",
    ] {
        prints(&site, NOBODY, "$M run.rab theirs/mnt && cat theirs/mnt/small", "small");
        let outcome = as_user(&site, NOBODY, &format!("DAEMON={}; {{ {end}; }} > /dev/null", site.daemon()));
        assert_eq!(outcome.code, 0, "{end}: {outcome:?}");
        eventually(&format!("{end} leaves nothing"), || site.left().is_empty());
        eventually("the directory is removed", || !site.join("theirs/mnt").exists());
    }
}

#[test]
fn what_is_copied_out_of_a_mount_can_be_removed() {
    if me() != ROOT {
        return;
    }
    let site = site();
    std::fs::copy(data("readme.rab"), site.join("theirs/readme.rab")).unwrap();
    site.sh("mkdir -p theirs/set/sub && mv theirs/readme.rab theirs/set/sub && chown -R 65534 theirs/set");
    let copies = "cd theirs && cp -r mnt a && cp -a mnt b && mkdir c && tar -cf - mnt | tar -xpf - -C c && \
                  if command -v rsync > /dev/null; then rsync -a mnt/ d; fi; \
                  diff -r mnt a && diff -r mnt c/mnt && rm -rf a b c d && echo removed";
    for source in ["theirs/set", "theirs/set/sub/readme.rab", "--as npy theirs/set"] {
        prints(&site, NOBODY, &format!("$M {source} theirs/mnt"), "");
        prints(&site, NOBODY, copies, "removed\n");
        let modes =
            "find theirs/mnt -printf '%y%m\\n' | sort -u; touch theirs/mnt/new 2>&1 | grep -o Read-only.*";
        prints(&site, NOBODY, modes, "d755\nf444\nRead-only file system\n");
        prints(&site, NOBODY, "$M -u theirs/mnt", "");
    }
    prints(
        &site,
        NOBODY,
        "$M --umask=0222 theirs/set theirs/mnt && stat -c %a theirs/mnt/sub; $M -u theirs/mnt",
        "555\n",
    );
}

#[test]
fn a_users_command_has_a_mount_of_its_own() {
    if me() != ROOT {
        return;
    }
    let site = site();
    prints(
        &site,
        NOBODY,
        "$M run.rab -- cat {}/small {}/dir/inner; $M run.rab -- sh -c 'exit 3'; echo $?",
        "smallsmall3\n",
    );
    assert_eq!(site.left(), "");
}

#[test]
fn a_users_mount_table_shows_the_same() {
    if me() != ROOT {
        return;
    }
    let site = site();
    for name in ["a,b c.rab", "a\\,b.rab", "a\\b.rab"] {
        std::fs::copy(site.join("run.rab"), site.join(name)).unwrap();
        prints(&site, NOBODY, &format!("$M '{name}' theirs/mnt"), "");
        let line = site.line("theirs/mnt");
        assert_eq!(line.source, site.join(name).to_str().unwrap());
        assert!(["ro", "nosuid", "nodev"].iter().all(|option| line.has(option)), "{line:?}");
        assert!(line.inner_options.contains(&"user_id=65534".to_owned()), "{line:?}");
        prints(&site, NOBODY, "stat -c '%u %g %a' theirs/mnt/small; $M -u theirs/mnt", "65534 65534 444\n");
    }
}

#[test]
fn refused_permissions_are_reported() {
    if me() != ROOT {
        return;
    }
    let site = site();
    site.sh("mkdir roots closed && chmod 700 closed && mkdir closed/dir && cp run.rab secret.rab && chmod 600 secret.rab");
    for (code, script, why) in [
        (10, "$M secret.rab theirs/mnt", "secret.rab: cannot be opened: Permission denied"),
        (20, "$M run.rab roots", "roots: "),
        (20, "$M run.rab roots/mnt", "roots/mnt: no permission to create it"),
        (20, "$M run.rab closed", "closed: "),
        (20, "$M run.rab closed/dir", "closed/dir: no permission to use it"),
        (20, "$M run.rab closed/dir/mnt", "closed/dir/mnt: no permission to search its parent directory"),
    ] {
        for mode in ["", "-f"] {
            let outcome = as_user(&site, NOBODY, &script.replace("$M", &format!("$M {mode}")));
            assert_eq!((outcome.code, outcome.err.contains(why)), (code, true), "{script}: {outcome:?}");
            assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
            assert_eq!(site.left(), "");
        }
    }
}

#[test]
fn without_permission_for_fuse_the_message_names_whom_to_ask() {
    if me() != ROOT {
        return;
    }
    let site = site();
    site.sh("chmod 600 /dev/fuse");
    let outcome = as_user(&site, NOBODY, "$M run.rab theirs/mnt");
    assert_eq!(outcome.code, 21, "{outcome:?}");
    assert!(
        outcome.err.contains("Permission denied") && outcome.err.contains("chmod 666 /dev/fuse"),
        "{outcome:?}"
    );
}

#[test]
fn without_fusermount3_the_message_names_what_to_install() {
    if me() != ROOT {
        return;
    }
    let site = site();
    site.sh("for name in fusermount3 fusermount; do while path=$(command -v $name) && [ -f $path ]; do \
             mount --bind /dev/null $(readlink -f $path); done; done");
    let outcome = as_user(&site, NOBODY, "$M run.rab theirs/mnt");
    assert_eq!(outcome.code, 21, "{outcome:?}");
    assert!(
        outcome.err.contains("users other than root need")
            && outcome.err.contains("install the package fuse3"),
        "{outcome:?}"
    );
    assert!(!site.join("theirs/mnt").exists());
}

// Each other's mounts.

#[test]
fn a_mount_is_for_the_user_that_mounted_it() {
    if me() != ROOT {
        return;
    }
    let site = site();
    site.ok(&["run.rab", "mnt"]);
    prints(&site, NOBODY, "$M run.rab theirs/mnt", "");
    is_allowed(&site, ROOT, "mnt");
    is_allowed(&site, NOBODY, "theirs/mnt");
    for (user, mnt) in [(NOBODY, "mnt"), (STRANGER, "mnt"), (ROOT, "theirs/mnt"), (STRANGER, "theirs/mnt")] {
        is_denied(&site, user, mnt);
    }
}

#[test]
fn only_the_mounting_user_and_root_can_unmount() {
    if me() != ROOT {
        return;
    }
    let site = site();
    site.ok(&["run.rab", "mnt"]);
    prints(&site, NOBODY, "$M run.rab theirs/mnt", "");
    for (user, mnt, owner) in [(NOBODY, "mnt", 0), (STRANGER, "mnt", 0), (STRANGER, "theirs/mnt", NOBODY)] {
        let outcome = as_user(&site, user, &format!("$M -u {mnt}"));
        let why =
            format!("{mnt}: was mounted by the user with id {owner}: only that user and root can unmount it");
        assert_eq!((outcome.code, outcome.err.contains(&why)), (20, true), "{outcome:?}");
    }
    assert_eq!(site.processes().len(), 2);
    // Root waits for the daemon too, although it cannot look into the mount.
    let before = site.processes();
    site.ok(&["-u", "theirs/mnt"]);
    assert_eq!(before.into_iter().filter(|pid| is_gone(*pid)).count(), 1);
    assert!(!site.join("theirs/mnt").exists());
    site.ok(&["-u", "mnt"]);
    assert_eq!(site.left(), "");
}

#[test]
fn root_clears_what_a_users_killed_daemon_left() {
    if me() != ROOT {
        return;
    }
    let site = site();
    prints(&site, NOBODY, "$M run.rab theirs/mnt", "");
    site.signal(Signal::SIGKILL);
    eventually("it is dead", || site.processes().is_empty());
    site.exits(20, &["run.rab", "theirs/mnt"], &["theirs/mnt: ", "'rab-mount -u theirs/mnt'"]);
    site.ok(&["-u", "theirs/mnt"]);
    assert!(!site.join("theirs/mnt").exists());
    assert_eq!(site.left(), "");
}

#[test]
fn a_user_detaches_a_mount_in_use_and_sees_only_ones_own() {
    if me() != ROOT {
        return;
    }
    let site = site();
    site.ok(&["run.rab", "mnt"]);
    prints(
        &site,
        NOBODY,
        "$M --list; $M run.rab theirs/mnt; $M --list | cut -f 2",
        &format!("{}/theirs/mnt\n", site.path.display()),
    );
    let script = "exec 3< theirs/mnt/small; $M -u theirs/mnt 2> /dev/null; echo $?; \
                  $M -u --lazy theirs/mnt; echo $?; ls theirs; cat <&3";
    prints(&site, NOBODY, script, "20\n0\nrun.rab\nsmall");
    prints(&site, NOBODY, "$M run.rab theirs/mnt; $M -u --all; $M --list; ls theirs", "run.rab\n");
    assert_eq!(site.ok(&["--list"]).out.lines().count(), 1);
    site.ok(&["-u", "--all"]);
    eventually("nothing is left", || site.left().is_empty());
}

#[test]
fn a_user_replaces_a_dead_mount() {
    if me() != ROOT {
        return;
    }
    let site = site();
    prints(&site, NOBODY, "$M run.rab theirs/mnt", "");
    site.signal(Signal::SIGKILL);
    eventually("it is dead", || site.processes().is_empty());
    prints(
        &site,
        NOBODY,
        "$M run.rab theirs/mnt && cat theirs/mnt/small; $M -u theirs/mnt; ls theirs",
        "smallrun.rab\n",
    );
    assert_eq!(site.left(), "");
}

// Sharing.

#[test]
fn allow_other_lets_everybody_in_and_warns_if_the_container_is_closed() {
    if me() != ROOT {
        return;
    }
    let site = site();
    for (mode, warns) in [(0o644, false), (0o640, true), (0o600, true)] {
        std::fs::set_permissions(site.join("run.rab"), std::fs::Permissions::from_mode(mode)).unwrap();
        for option in ["--allow-other", "-oallow_other"] {
            let outcome = site.ok(&[option, "--log-file", "log", "run.rab", "mnt"]);
            let warning = format!("run.rab: others may not read this file (mode {mode:03o})");
            assert_eq!(outcome.err.contains(&warning), warns, "{outcome:?}");
            assert_eq!(outcome.err.lines().count(), usize::from(warns), "{outcome:?}");
            for user in [ROOT, NOBODY, STRANGER] {
                is_allowed(&site, user, "mnt");
            }
            site.ok(&["-u", "mnt"]);
        }
        let outcome = site.ok(&["--allow-root", "run.rab", "mnt"]);
        assert_eq!(outcome.err, "", "nobody else is allowed");
        site.ok(&["-u", "mnt"]);
    }
}

#[test]
fn allow_other_goes_as_far_as_the_modes() {
    if me() != ROOT {
        return;
    }
    let site = site();
    site.ok(&["--allow-other", "--umask=077", "--uid=65534", "run.rab", "mnt"]);
    is_allowed(&site, NOBODY, "mnt");
    is_allowed(&site, ROOT, "mnt");
    is_denied(&site, STRANGER, "mnt");
    site.ok(&["-u", "mnt"]);
}

/// Everything is in the kernel's caches when root has looked at it, and still others may not.
#[test]
fn allow_root_keeps_others_out_also_after_root_has_read() {
    if me() != ROOT {
        return;
    }
    let site = site();
    std::fs::write(site.join("fuse.conf"), PERMIT).unwrap();
    site.ok(&["--allow-root", "run.rab", "mnt"]);
    prints(&site, NOBODY, "$M --allow-root run.rab theirs/mnt", "");
    for _ in 0..2 {
        is_allowed(&site, ROOT, "mnt");
        is_denied(&site, NOBODY, "mnt");
        is_denied(&site, STRANGER, "mnt");
        is_allowed(&site, ROOT, "theirs/mnt");
        is_denied(&site, STRANGER, "theirs/mnt");
        is_allowed(&site, NOBODY, "theirs/mnt");
    }
    prints(&site, NOBODY, "stat -c '%u %a' theirs/mnt theirs/mnt/small", "65534 700\n65534 400\n");
    prints(&site, NOBODY, "$M -u theirs/mnt", "");
    site.ok(&["-u", "mnt"]);
    assert_eq!(site.left(), "");
}

/// Mounts with auto_unmount, looks at the mount, and kills the daemon: is the mount gone then?
fn vanishes(site: &Site, user: u32, options: &str, others: bool) -> bool {
    let script = format!("chmod 755 theirs; mkdir -p theirs/mnt; $M {options} run.rab theirs/mnt");
    prints(site, user, &script, "");
    is_allowed(site, ROOT, "theirs/mnt");
    match others {
        true => is_allowed(site, STRANGER, "theirs/mnt"),
        false => is_denied(site, STRANGER, "theirs/mnt"),
    }
    prints(site, user, &format!("kill -KILL {}", site.daemon()), "");
    eventually("it is dead, and fusermount3 done", || site.processes().is_empty());
    site.table().is_empty() || {
        site.ok(&["-u", "theirs/mnt"]);
        false
    }
}

#[test]
fn a_killed_daemon_with_auto_unmount_leaves_no_mount_and_never_let_others_in() {
    if me() != ROOT {
        return;
    }
    let site = site();
    std::fs::write(site.join("fuse.conf"), PERMIT).unwrap();
    for (user, options, others) in [
        (ROOT, "--auto-unmount", false),
        (NOBODY, "--auto-unmount", false),
        (ROOT, "-o auto_unmount,allow_other", true),
        (NOBODY, "-o auto_unmount,allow_other", true),
    ] {
        // fusermount3 learns of the daemon's end a moment before the kernel does, and gives up if it looks too
        // early: seldom, and so not five times.
        let vanished = (0..5).any(|_| vanishes(&site, user, options, others));
        assert!(vanished, "user {user}, {options}: the mount stays");
        assert_eq!(names(&site.join("theirs/mnt")), [""; 0]);
        std::fs::remove_dir(site.join("theirs/mnt")).unwrap();
    }
}

#[test]
fn auto_unmount_ends_like_any_other_mount() {
    if me() != ROOT {
        return;
    }
    let site = site();
    for end in ["-u", "SIGTERM"] {
        site.ok(&["--auto-unmount", "run.rab", "mnt"]);
        if end == "-u" {
            site.ok(&["-u", "mnt"]);
        } else {
            site.sh(&format!("kill -TERM {}", site.daemon()));
        }
        eventually("nothing is left", || site.left().is_empty() && !site.join("mnt").exists());
    }
}

#[test]
fn sharing_needs_a_line_in_fuse_conf() {
    if me() != ROOT {
        return;
    }
    let site = site();
    for conf in ["", "# user_allow_other\nmount_max = 1000\n"] {
        std::fs::write(site.join("fuse.conf"), conf).unwrap();
        for options in
            ["--allow-other", "--allow-root", "--auto-unmount", "-o allow_other", "-f --allow-root"]
        {
            let outcome = as_user(&site, NOBODY, &format!("$M {options} run.rab theirs/mnt"));
            assert_eq!(outcome.code, 21, "{options}: {outcome:?}");
            assert!(outcome.err.contains("/etc/fuse.conf has a line 'user_allow_other'"), "{outcome:?}");
            assert!(!site.join("theirs/mnt").exists());
            assert_eq!(site.left(), "");
        }
    }
    std::fs::write(site.join("fuse.conf"), PERMIT).unwrap();
    prints(&site, NOBODY, "$M --allow-other run.rab theirs/mnt", "");
    is_allowed(&site, STRANGER, "theirs/mnt");
    prints(&site, NOBODY, "$M -u theirs/mnt", "");
}
