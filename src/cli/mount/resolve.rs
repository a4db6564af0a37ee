//! Turns the command line into one `Config`: merges `-o` with the long options (which take precedence), separates
//! sources from the mountpoint, and refuses invalid combinations. All errors here are usage errors.

use super::list;
use super::options::{Options, Settings};
use crate::cli::user_cache;
use crate::mount::config::{
    Config, DEFAULT_CACHE, DEFAULT_INDEX_MEMORY, DEFAULT_INDEX_SIZE, DEFAULT_THREADS, MIN_CACHE, Mode,
    Unmount,
};
use crate::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub fn resolve(mut options: Options) -> Result<Config> {
    let mut from_list = Settings::default();
    for list in std::mem::take(&mut options.mount_options) {
        list::apply(&list, &mut options, &mut from_list)?;
    }
    let settings = merged(options.settings.clone(), from_list);
    let mut config = with_settings(settings)?;
    if options.list {
        config.mode = Mode::List;
        return Ok(config);
    }
    if options.unmount {
        let mountpoints = (!options.all).then_some(options.paths);
        config.mode = Mode::Unmount(Unmount { mountpoints, lazy: options.lazy });
        return Ok(config);
    }
    if options.rw {
        return Err(Error::Usage(
            "--rw: containers are never written through a mount: changing one byte of a compressed dataset \
             would mean to rewrite the file; leave --rw out"
                .into(),
        ));
    }
    let (sources, mountpoint) = split_paths(options.paths, !options.command.is_empty())?;
    config.sources = sources.iter().map(|path| absolute(path)).collect::<Result<_>>()?;
    config.mountpoint = mountpoint;
    config.mode = match (options.command, options.foreground) {
        (command, false) if !command.is_empty() => Mode::Command(command),
        (command, true) if !command.is_empty() => {
            return Err(Error::Usage("-o foreground cannot be used with a command".into()));
        }
        (_, true) => Mode::Foreground,
        (_, false) => Mode::Background,
    };
    Ok(config)
}

fn merged(long: Settings, list: Settings) -> Settings {
    Settings {
        cache_size: long.cache_size.or(list.cache_size),
        index_dir: long.index_dir.or(list.index_dir),
        no_index: long.no_index || list.no_index,
        index_size: long.index_size.or(list.index_size),
        index_memory: long.index_memory.or(list.index_memory),
        verify_first: long.verify_first || list.verify_first,
        spill_size: long.spill_size.or(list.spill_size),
        threads: long.threads.or(list.threads),
        read_ahead: long.read_ahead.or(list.read_ahead),
        direct_io: long.direct_io.or(list.direct_io),
        no_push: long.no_push || list.no_push,
        no_follow: long.no_follow || list.no_follow,
        allow_other: long.allow_other || list.allow_other,
        allow_root: long.allow_root || list.allow_root,
        auto_unmount: long.auto_unmount || list.auto_unmount,
        noexec: long.noexec || list.noexec,
        nonempty: long.nonempty || list.nonempty,
        uid: long.uid.or(list.uid),
        gid: long.gid.or(list.gid),
        umask: long.umask.or(list.umask),
        fsname: long.fsname.or(list.fsname),
        verbose: long.verbose.max(list.verbose),
        log_file: long.log_file.or(list.log_file),
        urls: long.urls.or(list.urls),
        showing: long.showing.or(list.showing),
    }
}

fn with_settings(s: Settings) -> Result<Config> {
    if s.allow_other && s.allow_root {
        return Err(Error::Usage(
            "allow_other and allow_root cannot be used together: give one of them".into(),
        ));
    }
    if s.no_index && s.index_dir.is_some() {
        return Err(Error::Usage("no_index and index_dir cannot be used together: give one of them".into()));
    }
    let index_dir =
        if s.no_index { None } else { Some(index_directory(s.index_dir, |name| std::env::var_os(name))?) };
    let allow_root = s.allow_root || (s.auto_unmount && !s.allow_other);
    // allow_root uses the kernel's allow_other; the file modes keep other users out.
    let owner_only = if allow_root { 0o077 } else { 0 };
    Ok(Config {
        cache_size: s.cache_size.unwrap_or(DEFAULT_CACHE).max(MIN_CACHE),
        index_dir,
        index_size: s.index_size.unwrap_or(DEFAULT_INDEX_SIZE),
        index_memory: s.index_memory.unwrap_or(DEFAULT_INDEX_MEMORY),
        verify_first: s.verify_first,
        spill_size: s.spill_size,
        threads: s.threads.unwrap_or(DEFAULT_THREADS),
        read_ahead: s.read_ahead,
        direct_io: s.direct_io,
        access: s.urls.access(),
        push: !s.no_push,
        follow: !s.no_follow,
        allow_other: s.allow_other,
        allow_root,
        auto_unmount: s.auto_unmount,
        noexec: s.noexec,
        nonempty: s.nonempty,
        uid: s.uid,
        gid: s.gid,
        umask: s.umask.unwrap_or(0) | owner_only,
        fsname: s.fsname,
        verbose: s.verbose,
        log_file: s.log_file.map(|path| absolute(&path)).transpose()?,
        showing: s.showing.resolve()?,
        ..Config::default()
    })
}

/// With a command after `--` all paths are sources; otherwise the last of several is the mountpoint.
fn split_paths(mut paths: Vec<PathBuf>, command: bool) -> Result<(Vec<PathBuf>, Option<PathBuf>)> {
    if command || paths.len() < 2 {
        return Ok((paths, None));
    }
    let mountpoint = paths.pop();
    if let Some(last) = mountpoint.as_deref().filter(|path| path.is_file()) {
        return Err(Error::Usage(format!(
            "{}: the last argument must be a directory to mount on, and this is a file",
            last.display()
        )));
    }
    Ok((paths, mountpoint))
}

/// The directory of the index: as given, or else in the user's cache directory.
fn index_directory(given: Option<PathBuf>, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    if let Some(path) = given {
        // A user may deliberately link to a larger disk, so a given path is resolved; the default must not be a link.
        return path.canonicalize().or_else(|_| absolute(&path));
    }
    Ok(user_cache::directory(variable))
}

/// Makes a path absolute, because the daemon changes its working directory. Resolves links in the directory, but keeps
/// the file's own name even if that is a symbolic link.
fn absolute(path: &Path) -> Result<PathBuf> {
    if crate::source::url(path).is_some() {
        return Ok(path.to_owned());
    }
    let absolute = std::path::absolute(path).map_err(|cause| Error::open(path, cause))?;
    let directory = absolute.parent().and_then(|parent| parent.canonicalize().ok());
    Ok(match (directory, absolute.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => absolute,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn config(args: &[&str]) -> Result<Config> {
        resolve(Options::try_parse_from([&["rab-mount"], args].concat()).unwrap())
    }

    #[test]
    fn long_options_win_over_the_list() {
        let c = config(&["--cache-size", "8M", "-o", "cache_size=9M,uid=5", "/a.rab", "/no/such"]).unwrap();
        assert_eq!((c.cache_size, c.uid, &c.mode), (8 << 20, Some(5), &Mode::Background));
        assert_eq!((c.source(), c.mountpoint.as_deref()), (Path::new("/a.rab"), Some(Path::new("/no/such"))));
        assert_eq!(config(&["a.rab", "--cache-size", "1"]).unwrap().cache_size, MIN_CACHE);
    }

    #[test]
    fn the_index_is_in_the_cache_directory_unless_another_is_given() {
        let with = |given: Option<&str>, cache: Option<&'static str>, home: Option<&'static str>| {
            let variable = |name: &str| if name == "HOME" { home } else { cache }.map(OsString::from);
            index_directory(given.map(PathBuf::from), variable).unwrap().display().to_string()
        };
        assert_eq!(with(None, Some("/c"), Some("/h")), "/c/rab-mount");
        for no_path in [None, Some(""), Some("relative")] {
            assert_eq!(with(None, no_path, Some("/h")), "/h/.cache/rab-mount");
            assert_eq!(with(None, no_path, no_path), "/var/cache/rab-mount");
        }
        assert_eq!(with(Some("/no/such"), Some("/c"), Some("/h")), "/no/such");
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(with(Some("some"), Some("/c"), None), here.join("some").display().to_string());
    }

    #[test]
    fn an_index_may_be_left_out_but_not_put_somewhere_then() {
        let c =
            config(&["a.rab", "-o", "index-dir=/i,index_size=2G,verify_first", "--index-size=3G"]).unwrap();
        assert_eq!((c.index_dir.as_deref(), c.index_size), (Some(Path::new("/i")), 3 << 30));
        assert_eq!((c.index_memory, c.verify_first), (DEFAULT_INDEX_MEMORY, true));
        let c = config(&["a.rab", "-o", "no_index,index_memory=1M"]).unwrap();
        assert_eq!((c.index_dir, c.index_memory, c.verify_first), (None, 1 << 20, false));
        for both in [&["--no-index", "-o", "index_dir=/i"][..], &["-o", "no_index,index_dir=/i"]] {
            let error = config(&[&["a.rab"], both].concat()).unwrap_err();
            assert!(
                error.exit_code() == 2 && error.to_string().contains("cannot be used together"),
                "{error}"
            );
        }
    }

    #[test]
    fn allow_root_means_owner_only_modes() {
        let c = config(&["a.rab", "-o", "allow_root,umask=0222"]).unwrap();
        assert!(c.shared() && !c.allow_other && c.umask == 0o277);
        let c = config(&["a.rab", "--auto-unmount"]).unwrap();
        assert!(c.allow_root && c.umask == 0o077);
        let c = config(&["a.rab", "--auto-unmount", "--allow-other"]).unwrap();
        assert!(!c.allow_root && c.umask == 0);
        assert_eq!(config(&["a.rab", "-o", "allow_root,allow_other"]).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn what_is_unmounted_and_how() {
        let unmount = |args: &[&str]| match config(args).unwrap().mode {
            Mode::Unmount(unmount) => unmount,
            mode => panic!("{mode:?}"),
        };
        let some = Unmount { mountpoints: Some(vec!["a".into(), "b".into()]), lazy: false };
        assert_eq!(unmount(&["-u", "a", "b"]), some);
        assert_eq!(unmount(&["-uz", "a", "b"]), Unmount { lazy: true, ..some });
        assert_eq!(unmount(&["-u", "--all", "--lazy"]), Unmount { mountpoints: None, lazy: true });
        assert_eq!(config(&["--list"]).unwrap().mode, Mode::List);
        for wrong in [&["-u"][..], &["--lazy", "a"], &["--all"], &["-u", "--all", "a"], &["--list", "a"], &[]]
        {
            assert!(Options::try_parse_from([&["rab-mount"], wrong].concat()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn sources_and_mountpoint() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let file = file.path().to_str().unwrap();
        let error = config(&["a.rab", file]).unwrap_err();
        assert!(error.to_string().contains("the last argument must be a directory"), "{error}");
        let c = config(&["/a.rab", "/b.rab", "/no/dir"]).unwrap();
        assert_eq!((c.sources.len(), c.mountpoint.as_deref()), (2, Some(Path::new("/no/dir"))));
        assert_eq!(config(&["a.rab", "b.rab", "--", "ls"]).unwrap().sources.len(), 2);
        let c = config(&["a.rab", "--", "ls", "-l", "{}"]).unwrap();
        assert!(matches!(c.mode, Mode::Command(words) if words.len() == 3));
        assert_eq!(config(&["--rw", "a.rab"]).unwrap_err().exit_code(), 2);
    }
}
