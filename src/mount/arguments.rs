//! The command line as /proc shows it to every user of the machine, for as long as a mount is served: signatures and
//! passwords in URLs are overwritten there.

use std::ops::Range;

/// Overwrites secrets in the arguments of this process. To be called while it has one thread, after the arguments were
/// parsed.
pub fn hide_secrets() {
    let Some(all) = extent() else {
        return log::debug!("/proc/self/stat cannot be read: the command line stays as it is");
    };
    // SAFETY: the kernel says that the arguments are here, in memory that stays for as long as the process. They are
    // writable, nobody holds references into them (`std::env::args` copies), and there is no other thread.
    let arguments = unsafe { std::slice::from_raw_parts_mut(all.start as *mut u8, all.end - all.start) };
    for argument in arguments.split_mut(|byte| *byte == 0) {
        for secret in secrets(argument) {
            if let Some(bytes) = argument.get_mut(secret) {
                bytes.fill(b'*');
            }
        }
    }
}

/// Where the arguments are in memory: fields 48 and 49 of /proc/self/stat, see proc_pid_stat(5).
fn extent() -> Option<Range<usize>> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, in parentheses, is a name with anything in it.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
    let (start, end) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (start > 0 && start <= end).then_some(start..end)
}

/// Name and password, and the query, of a URL of the web.
fn secrets(argument: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !argument.starts_with(b"http://") && !argument.starts_with(b"https://") {
        return found;
    }
    let position = |of: u8, within: Range<usize>| {
        let at = argument.get(within.clone())?.iter().position(|byte| *byte == of)?;
        Some(within.start + at)
    };
    let host = position(b'/', 0..argument.len()).map_or(0, |slash| slash + 2);
    let host_end = position(b'/', host..argument.len()).unwrap_or(argument.len());
    let query = position(b'?', 0..argument.len());
    if let Some(at) = position(b'@', host..host_end.min(query.unwrap_or(host_end))) {
        found.push(host..at);
    }
    found.extend(query.map(|query| query + 1..argument.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret() {
        for (argument, want) in [
            ("https://user:pass@host/a@b.rab?X=1&Y=2", "https://*********@host/a@b.rab?*******"),
            ("http://host/x", "http://host/x"),
            ("http://host?q", "http://host?*"),
            ("s3://bucket/a?b", "s3://bucket/a?b"),
            ("http://", "http://"),
            ("/a?b", "/a?b"),
        ] {
            let mut bytes = argument.as_bytes().to_vec();
            for secret in secrets(argument.as_bytes()) {
                bytes[secret].fill(b'*');
            }
            assert_eq!(String::from_utf8(bytes).unwrap(), want);
        }
    }

    #[test]
    fn the_arguments_are_found() {
        let all = extent().unwrap();
        let of_proc = std::fs::read("/proc/self/cmdline").unwrap();
        assert_eq!(all.end - all.start, of_proc.len());
    }
}
