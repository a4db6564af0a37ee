//! The tools that people already know, on a mounted file: they must see what they would see on a copy.

use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

use crate::kit::*;

/// A mount of a sample with many names, and a plain copy of it made with cat, file by file.
fn mount_and_copy(sample: &str) -> (Mount, TempDir) {
    let mount = Mount::new(&data(sample));
    let copy = scratch();
    let by_hand = r#"cd "$1" && find . -type d -exec mkdir -p "$2/{}" \; && find . -type f -exec sh -c 'cat "$1" > "$2/$1"' _ {} "$2" \;"#;
    sh(by_hand, &[&mount.path, &copy.path()]);
    (mount, copy)
}

#[test]
fn cp_tar_and_rsync_copy_everything() {
    let (mount, copy) = mount_and_copy("names.rab");
    let work = scratch();
    sh(
        r#"cp -r "$1" "$2/cp" && diff -r "$1" "$2/cp" && diff -r "$3" "$2/cp""#,
        &[&mount.path, &work.path(), &copy.path()],
    );
    sh(
        r#"mkdir "$2/tar" && tar -C "$1" -cf - . | tar -C "$2/tar" -xf - && diff -r "$3" "$2/tar""#,
        &[&mount.path, &work.path(), &copy.path()],
    );
    sh(r#"rsync -a "$1/" "$2/rsync" && diff -r "$3" "$2/rsync""#, &[&mount.path, &work.path(), &copy.path()]);
    // A second rsync has nothing to do: sizes and times are stable.
    let again = sh(r#"rsync -ai "$1/" "$2/rsync""#, &[&mount.path, &work.path()]);
    assert_eq!(again, "");
}

#[test]
fn find_and_grep_meet_every_dataset_once() {
    let mount = Mount::new(&data("gzip.rab"));
    let files = sh(r#"find "$1" -type f | wc -l"#, &[&mount.path]);
    assert_eq!(files.trim(), "24");
    let hits = sh(r#"grep -rl 'line 3999 of a text' "$1" | wc -l"#, &[&mount.path]);
    assert_eq!(hits.trim(), "9");
    let empty = sh(r#"find "$1" -empty"#, &[&mount.path]);
    assert_eq!(empty, "");
}

#[test]
fn pieces_of_a_file() {
    let (mount, copy) = mount_and_copy("gzip.rab");
    for tool in [
        r#"cat < "$1""#,
        r#"head -c 1000 "$1""#,
        r#"tail -c 1000 "$1""#,
        r#"tail -n 3 "$1""#,
        r#"dd if="$1" bs=1000 skip=7 count=3 status=none"#,
        r#"dd if="$1" bs=1 skip=70001 count=13 status=none"#,
        r#"less -f "$1" | cat"#,
        r#"md5sum < "$1""#,
        r#"od -A d -t x1 -j 4095 -N 4098 "$1""#,
        r#"wc "$1" | awk '{print $1, $2, $3}'"#,
        r#"file -b "$1""#,
        r#"stat -c '%s %F' "$1""#,
        r#"du -b --apparent-size "$1" | cut -f1"#,
    ] {
        for name in ["zlib 6", "gzip three members", "array zlib", "said gzip, uncompressed key null"] {
            let script = format!("{tool} | md5sum");
            let here = sh(&script, &[&mount.join(name)]);
            let there = sh(&script, &[&copy.path().join(name)]);
            assert_eq!(here, there, "{tool} {name}");
        }
    }
}

#[test]
fn du_counts_stored_bytes_and_df_the_container() {
    let mount = Mount::new(&data("gzip.rab"));
    let container = std::fs::metadata(data("gzip.rab")).unwrap().len();
    let used: u64 = sh(r#"du -s -B1 "$1" | cut -f1"#, &[&mount.path]).trim().parse().unwrap();
    assert!(used.abs_diff(container) < 24 * 512, "du says {used}, the container has {container}");
    let free = sh(r#"df -B1 --output=size,avail,pcent "$1" | tail -1"#, &[&mount.path]);
    let columns: Vec<&str> = free.split_whitespace().collect();
    assert_eq!(columns[0].parse::<u64>().unwrap(), container.next_multiple_of(4096));
    assert_eq!(columns[1..], ["0", "100%"]);
    let inodes = sh(r#"df --output=itotal,iavail "$1" | tail -1"#, &[&mount.path]);
    assert_eq!(inodes.split_whitespace().collect::<Vec<_>>(), ["25", "0"]);
}

#[test]
fn attributes_are_those_of_a_read_only_file_of_the_container() {
    let container = std::fs::metadata(data("names.rab")).unwrap();
    let mount = Mount::new(&data("names.rab"));
    let root = std::fs::metadata(&mount.path).unwrap();
    // names.rab has four directories in its root: a%2Fb, a%2F, %2Fabs and ..%2F..
    assert_eq!((root.mode() & 0o7777, root.nlink()), (0o755, 6));
    let file = std::fs::metadata(mount.join("plain")).unwrap();
    assert_eq!((file.mode() & 0o7777, file.nlink(), file.len()), (0o444, 1, 10));
    assert_eq!((file.uid(), file.blocks()), (root.uid(), 1));
    for meta in [&root, &file] {
        assert_eq!(meta.modified().unwrap(), container.modified().unwrap());
    }
    let again = std::fs::metadata(mount.join("plain")).unwrap();
    let listed = sh(r#"ls -i "$1" | awk '$2 == "plain" {print $1}'"#, &[&mount.path]);
    assert_eq!(listed.trim().parse::<u64>().unwrap(), file.ino());
    assert_eq!(again.ino(), file.ino());
}

#[test]
fn inodes_differ_and_dots_lead_where_they_should() {
    let mount = Mount::new(&data("names.rab"));
    let all = sh(r#"find "$1" -printf '%i\n' | sort | uniq -d"#, &[&mount.path]);
    assert_eq!(all, "");
    let inode = |path: &str| std::fs::metadata(mount.join(path)).unwrap().ino();
    assert_eq!(inode("."), inode("a%2Fb/.."));
    assert_eq!(inode("a%2Fb"), inode("a%2Fb/."));
    let outside = std::fs::metadata(mount.join("..")).unwrap();
    assert_eq!(outside.ino(), std::fs::metadata(mount.path.parent().unwrap()).unwrap().ino());
}

#[test]
fn everything_that_would_write_is_refused_as_read_only() {
    let mount = Mount::new(&data("names.rab"));
    for script in [
        r#"touch "$1/plain""#,
        r#"touch "$1/new""#,
        r#"mkdir "$1/new""#,
        r#"rm -f "$1/plain""#,
        r#"mv "$1/plain" "$1/other""#,
        r#"ln "$1/plain" "$1/other""#,
        r#"ln -s plain "$1/other""#,
        r#"chmod 777 "$1/plain""#,
        r#"chown 12345 "$1/plain""#,
        r#"truncate -s 3 "$1/plain""#,
        r#"echo x >> "$1/plain""#,
        r#"mkfifo "$1/pipe""#,
        r#"rmdir "$1/a%2Fb""#,
    ] {
        let outcome = try_sh(script, &[&mount.path]);
        assert!(outcome.code != 0 && outcome.err.contains("Read-only file system"), "{script}: {outcome:?}");
    }
    assert_eq!(mount.read("plain").unwrap(), b"dataset 0\n");
}

#[test]
fn system_calls_answer_as_on_a_read_only_disk() {
    let mount = Mount::new(&data("gzip.rab"));
    let script = r#"
import errno, os, sys
path = sys.argv[1]
def fails(number, call, *args):
    try: call(*args)
    except OSError as e: assert e.errno == number, (call, e)
    else: raise AssertionError(f"{call} succeeded")
fails(errno.EROFS, os.open, path, os.O_WRONLY)
fails(errno.EROFS, os.open, path, os.O_RDWR)
fails(errno.EROFS, os.open, path + ".new", os.O_CREAT | os.O_WRONLY)
fails(errno.ENOENT, os.open, path + ".new", os.O_RDONLY)
fails(errno.ENOTDIR, os.open, path + "/x", os.O_RDONLY)
fails(errno.ENOTDIR, os.listdir, path)
fails(errno.EINVAL, os.readlink, path)
fails(errno.ENAMETOOLONG, os.stat, os.path.dirname(path) + "/" + "x" * 256)
fails(errno.EOPNOTSUPP, os.getxattr, path, "user.x")
assert os.access(path, os.R_OK) and not os.access(path, os.W_OK)
fd = os.open(path, os.O_RDONLY)
size = os.fstat(fd).st_size
assert size > 100000
assert os.pread(fd, 0, 10) == b"" and os.pread(fd, 10, size) == b"" and os.pread(fd, 10, size + 5000) == b""
assert len(os.pread(fd, 100, size - 10)) == 10
assert os.lseek(fd, 5, os.SEEK_DATA) == 5 and os.lseek(fd, 5, os.SEEK_HOLE) == size
assert os.lseek(fd, 0, os.SEEK_END) == size
fails(errno.ENXIO, os.lseek, fd, size, os.SEEK_DATA)
d = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
fails(errno.EISDIR, os.read, d, 10)
"#;
    for name in ["zlib 6", "array zlib"] {
        python(&[&"-c", &script, &mount.join(name)]);
    }
}

#[test]
fn a_listing_decodes_nothing_and_a_stat_gives_the_size() {
    // The stream is broken, so decoding it would leave a line in the log.
    let text = b"not a stream";
    let header = entry("t", &["byteLength: 12", "byteOffset: 0", "compression: gzip", "type: text"]);
    let (_dir, file) = rab(&header, text);
    let mount = Mount::new(&file);
    assert_eq!(mount.names(), ["t", "t.meta.yaml"]);
    sh(r#"find "$1" -type f | wc -l; ls -f "$1""#, &[&mount.path]);
    assert_eq!(mount.log(), "");
    assert_eq!(std::fs::metadata(mount.join("t")).unwrap_err().raw_os_error(), Some(libc::EIO));
    assert!(mount.log().contains(r#"dataset "t": at byte"#), "{}", mount.log());
}

#[test]
fn sizes_found_late_are_right_from_the_first_moment() {
    for first in ["cat", "stat", "pread", "listing then cat"] {
        let mount = Mount::new(&data("gzip.rab"));
        let path = mount.join("zlib 6");
        match first {
            "stat" => assert_eq!(std::fs::metadata(&path).unwrap().len(), 162_890),
            "pread" => {
                let mut tail = [0; 5];
                std::fs::File::open(&path).unwrap().read_exact_at(&mut tail, 162_885).unwrap();
                assert_eq!(&tail, b"well\n");
            }
            "listing then cat" => {
                assert_eq!(mount.names().len(), 24);
                assert_eq!(std::fs::read(&path).unwrap().len(), 162_890);
            }
            _ => assert_eq!(sh(r#"cat "$1" | wc -c"#, &[&path]).trim(), "162890"),
        }
    }
}

#[test]
fn modes_follow_the_umask_and_owners_the_options() {
    let mount = Mount::with(&data("readme.rab"), &["--umask", "027", "--uid", "12", "--gid", "34"]);
    let meta = std::fs::metadata(mount.join("Some text")).unwrap();
    assert_eq!((meta.permissions().mode() & 0o7777, meta.uid(), meta.gid()), (0o440, 12, 34));
    assert_eq!(std::fs::metadata(&mount.path).unwrap().permissions().mode() & 0o7777, 0o750);
}
