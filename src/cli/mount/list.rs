//! Parses the `-o` list as mount(8) and fstab pass it: `key,key=value,...`. In keys `-` and `_` are equivalent; `\`
//! escapes `,` and `\`. If a key is repeated, its last value counts.

use super::options::{Options, Settings};
use crate::cli::values;
use crate::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Options of mount(8) or the kernel that have no effect, because a mount is always ro, nosuid and nodev.
const WITHOUT_EFFECT: &[&str] = &[
    "ro",
    "rw",
    "dev",
    "nodev",
    "suid",
    "nosuid",
    "exec",
    "auto",
    "noauto",
    "user",
    "users",
    "nouser",
    "owner",
    "group",
    "nofail",
    "_netdev",
    "defaults",
    "atime",
    "noatime",
    "diratime",
    "nodiratime",
    "relatime",
    "strictatime",
    "lazytime",
    "sync",
    "async",
    "dirsync",
    "default_permissions",
    "comment",
];

/// True if the arguments come from mount(8), whose FUSE helper always passes `SOURCE MOUNTPOINT -o LIST`. Its list
/// always begins with `rw` or `ro`, and has one option of each of the other pairs.
pub fn is_from_mount(arguments: &[OsString]) -> bool {
    let [_, _, option, list] = arguments else { return false };
    let items = split(list.as_bytes());
    let is_any = |item: &Vec<u8>, names: [&[u8]; 2]| names.contains(&&item[..]);
    let says = |names: [&[u8]; 2]| items.iter().any(|item| is_any(item, names));
    let begins = items.first().is_some_and(|item| is_any(item, [b"ro", b"rw"]));
    option == "-o" && begins && says([b"dev", b"nodev"]) && says([b"suid", b"nosuid"])
}

/// Applies one list: settings go to `from_list`, `foreground` to the same field as the long option.
pub fn apply(list: &OsStr, options: &mut Options, from_list: &mut Settings) -> Result<()> {
    for item in split(list.as_bytes()) {
        let (key, value) = match item.iter().position(|&b| b == b'=') {
            Some(at) => (&item[..at], Some(OsString::from_vec(item[at + 1..].to_vec()))),
            None => (&item[..], None),
        };
        let key = String::from_utf8_lossy(key).into_owned();
        apply_one(&key, value, options, from_list)?;
    }
    Ok(())
}

fn apply_one(key: &str, value: Option<OsString>, options: &mut Options, to: &mut Settings) -> Result<()> {
    let name = key.replace('-', "_");
    if WITHOUT_EFFECT.contains(&name.as_str()) || key.starts_with("x-") {
        return Ok(());
    }
    if let Some(flag) = flag(&name, options, to) {
        *flag = true;
        return match value {
            None => Ok(()),
            Some(_) => Err(Error::Usage(format!("-o {key} takes no value"))),
        };
    }
    if let Some(done) = to.showing.apply(key, &name, value.clone()) {
        return done;
    }
    match name.as_str() {
        "cache_size" => to.cache_size = Some(parsed(key, value, values::size)?),
        "index_dir" => to.index_dir = Some(required(key, value)?.into()),
        "index_size" => to.index_size = Some(parsed(key, value, values::size)?),
        "index_memory" => to.index_memory = Some(parsed(key, value, values::size)?),
        "spill_size" => to.spill_size = Some(parsed(key, value, values::size)?),
        "threads" => to.threads = Some(parsed(key, value, values::threads)?),
        "read_ahead" => to.read_ahead = Some(parsed(key, value, values::size)?),
        "direct_io" => to.direct_io = Some(parsed(key, value, values::size_or_off)?),
        "endpoint_url" => to.urls.endpoint_url = Some(parsed(key, value, |text| Ok(text.to_owned()))?),
        "region" => to.urls.region = Some(parsed(key, value, |text| Ok(text.to_owned()))?),
        "profile" => to.urls.profile = Some(parsed(key, value, |text| Ok(text.to_owned()))?),
        "remote_memory" => to.urls.remote_memory = Some(parsed(key, value, values::size)?),
        "remote_cache" => to.urls.remote_cache = Some(required(key, value)?),
        "remote_cache_size" => to.urls.remote_cache_size = Some(parsed(key, value, values::size)?),
        "uid" => to.uid = Some(parsed(key, value, values::id)?),
        "gid" => to.gid = Some(parsed(key, value, values::id)?),
        "umask" => to.umask = Some(parsed(key, value, values::umask)?),
        "fsname" => to.fsname = Some(parsed(key, value, |text| Ok(text.to_owned()))?),
        "log_file" => to.log_file = Some(required(key, value)?.into()),
        "verbose" => {
            to.verbose = value.map_or(Ok(to.verbose.saturating_add(1)), |v| parsed(key, Some(v), level))?
        }
        _ => {
            return Err(Error::Usage(format!(
                "unknown mount option {key:?}: see MOUNT OPTIONS in rab-mount(1) for those that are known"
            )));
        }
    }
    Ok(())
}

fn flag<'a>(name: &str, options: &'a mut Options, to: &'a mut Settings) -> Option<&'a mut bool> {
    Some(match name {
        "foreground" => &mut options.foreground,
        "allow_other" => &mut to.allow_other,
        "allow_root" => &mut to.allow_root,
        "auto_unmount" => &mut to.auto_unmount,
        "noexec" => &mut to.noexec,
        "nonempty" => &mut to.nonempty,
        "no_index" => &mut to.no_index,
        "verify_first" => &mut to.verify_first,
        "no_push" => &mut to.no_push,
        "no_follow" => &mut to.no_follow,
        "no_sign_request" => &mut to.urls.no_sign_request,
        _ => return None,
    })
}

fn level(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "a number: 0, 1 or 2".to_owned())
}

fn required(key: &str, value: Option<OsString>) -> Result<OsString> {
    value
        .filter(|v| !v.is_empty())
        .ok_or_else(|| Error::Usage(format!("-o {key} needs a value: -o {key}=VALUE")))
}

pub fn parsed<T>(key: &str, value: Option<OsString>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T> {
    let value = required(key, value)?;
    let text = value.to_str().ok_or_else(|| Error::Usage(format!("-o {key}: the value is not UTF-8")))?;
    parse(text).map_err(|why| Error::Usage(format!("-o {key}={text}: {why}")))
}

/// Splits at unescaped commas and unescapes the items; leaves out empty ones.
fn split(list: &[u8]) -> Vec<Vec<u8>> {
    let mut items = vec![Vec::new()];
    let mut bytes = list.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(b',' | b'\\')) => push(&mut items, bytes.next()),
            (b',', _) => items.push(Vec::new()),
            _ => push(&mut items, Some(byte)),
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

fn push(items: &mut [Vec<u8>], byte: Option<u8>) {
    if let Some(last) = items.last_mut() {
        last.extend(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn read(list: &str) -> Result<(Options, Settings)> {
        let mut options = Options::parse_from(["rab-mount", "x.rab"]);
        let mut settings = Settings::default();
        apply(OsStr::new(list), &mut options, &mut settings)?;
        Ok((options, settings))
    }

    #[test]
    fn what_mount_passes_is_taken_or_without_effect() {
        let (options, s) = read(
            "rw,dev,suid,nofail,_netdev,x-systemd.automount,comment=a,user=me,,noexec,allow-other,uid=7,umask=027",
        )
        .unwrap();
        assert!(s.noexec && s.allow_other && !s.allow_root && !options.foreground);
        assert_eq!((s.uid, s.umask), (Some(7), Some(0o27)));
        let (options, s) =
            read("cache-size=1M,cache_size=3M,spill-size=5G,foreground,verbose,verbose,threads=4").unwrap();
        assert!(options.foreground);
        assert_eq!(s.spill_size, Some(5 << 30));
        assert_eq!((s.cache_size, s.verbose, s.threads), (Some(3 << 20), 2, Some(4)));
    }

    #[test]
    fn arguments_of_mount_and_of_users_are_distinguished() {
        let from_mount = |line: &str| is_from_mount(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(
            from_mount("x.rab mnt -o rw,noexec,dev,suid") && from_mount("x.rab mnt -o ro,nodev,a=b,nosuid")
        );
        for line in [
            "x.rab mnt -o nodev,nosuid",
            "x.rab mnt -o ro,nodev,allow_other",
            "x.rab mnt -o rw,fsname=suid,dev",
            "-o rw,dev,suid x.rab mnt",
            "x.rab mnt -o rw,dev -o suid",
            "x.rab y.rab mnt -o rw,dev,suid",
            "x.rab mnt",
        ] {
            assert!(!from_mount(line), "{line}");
        }
    }

    #[test]
    fn a_backslash_keeps_a_comma() {
        let (_, s) = read(r"fsname=a\,b\\c\d,log_file=/x=y").unwrap();
        assert_eq!(s.fsname.as_deref(), Some(r"a,b\c\d"));
        assert_eq!(s.log_file, Some("/x=y".into()));
    }

    #[test]
    fn mistakes_are_named() {
        for (list, part) in [
            ("ro,frobnicate", "frobnicate"),
            ("cache_size", "needs a value"),
            ("cache_size=", "needs a value"),
            ("threads=x", "threads=x"),
            ("noexec=1", "takes no value"),
            ("unmount", "unmount"),
        ] {
            let error = read(list).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(part), "{list}: {error}");
        }
    }
}
