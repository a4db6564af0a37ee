//! `rab-mount --list`: the mounts of this user, one line for each, in the order of the mount table.

use super::mountinfo::Entry;
use super::{fail, mountpoint, registry};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::time::Duration;

pub fn run() -> ExitCode {
    let table = match mountpoint::table() {
        Ok(table) => table,
        Err(error) => return fail(&error),
    };
    let lines: Vec<u8> = table.iter().filter(|entry| entry.is_own()).flat_map(line).collect();
    // The reader of the lines may have closed the pipe.
    let _ = io::stdout().write_all(&lines);
    ExitCode::SUCCESS
}

/// `SOURCE<tab>MOUNTPOINT<tab>PID<tab>AGE`
fn line(entry: &Entry) -> Vec<u8> {
    let state = entry.owner().and_then(|owner| registry::find(&[owner], entry.device));
    let living = state.and_then(|state| Some((state.pid, state.age()?)));
    let (pid, age) = match living {
        Some((pid, age)) => (pid.to_string(), elapsed(age)),
        None if super::dead::answers_nothing(&entry.mountpoint) => ("-".into(), "dead".into()),
        None => ("-".into(), "-".into()),
    };
    let names = [entry.source.as_bytes(), entry.mountpoint.as_os_str().as_bytes()].map(escaped);
    [&names[0], &b"\t"[..], &names[1], format!("\t{pid}\t{age}\n").as_bytes()].concat()
}

/// With `\011` for a tab, `\012` for a newline and `\134` for a backslash, as the mount table has them.
fn escaped(name: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
        _ => vec![*byte],
    };
    name.iter().flat_map(escape).collect()
}

/// `[[DAYS-]HOURS:]MINUTES:SECONDS`, as ps(1) prints how long a process has been running.
fn elapsed(age: Duration) -> String {
    let seconds = age.as_secs();
    let (days, hours) = (seconds / 86400, seconds / 3600 % 24);
    let rest = format!("{:02}:{:02}", seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => rest,
        (0, _) => format!("{hours:02}:{rest}"),
        _ => format!("{days}-{hours:02}:{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_printed_as_ps_prints_them() {
        let printed = |seconds| elapsed(Duration::from_secs(seconds));
        assert_eq!((printed(0), printed(61)), ("00:00".into(), "01:01".into()));
        assert_eq!((printed(3600), printed(90061)), ("01:00:00".into(), "1-01:01:01".into()));
    }

    #[test]
    fn a_name_takes_one_column_of_one_line() {
        assert_eq!(escaped(b"a b\tc\nd\\e"), b"a b\\011c\\012d\\134e");
    }
}
