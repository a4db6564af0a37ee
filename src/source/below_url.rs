//! Which URL a container means by the name of another file: by rules that confine a hostile container to its own
//! directory, and to the URLs that the user allows.

use super::location::{is_url, percent_encoded};

/// The URL of the file called `name`, which counts from the directory of `container` or is a URL. `container` is None
/// for a file on disk, whose names are those of files unless they are URLs.
///
/// # Errors
/// Why it is refused.
pub fn resolve(container: Option<&str>, name: &str, allowed: &[String]) -> Result<String, String> {
    let base = container.map(directory);
    let full = match (is_url(name), &base) {
        (true, _) => name.to_owned(),
        (false, Some(base)) if !name.starts_with('/') => format!("{base}{}", escaped(base, name)),
        (false, _) => return Err("it lies outside of the container's directory".into()),
    };
    let is_below = |prefix: &str| {
        let rest = full.strip_prefix(prefix);
        rest.is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
    };
    if !base.as_deref().into_iter().chain(allowed.iter().map(String::as_str)).any(is_below) {
        return Err("it lies outside of the container's directory (--allow-url PREFIX permits that)".into());
    }
    let is_step = |segment: &str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    };
    let path = full.split_once("://").map_or("", |(_, rest)| rest);
    if path.split('/').any(is_step) || path.contains(['\\', '\0', '\n', '\t', '\r']) {
        return Err("its URL has parts such as .. in it".into());
    }
    Ok(full)
}

/// Everything up to the last slash, without a query.
fn directory(url: &str) -> String {
    let is_web = url.starts_with("http");
    let path = if is_web { url.split(['?', '#']).next().unwrap_or_default() } else { url };
    let host = path.find("://").map_or(0, |at| at + 3);
    match path.rfind('/').filter(|slash| *slash >= host) {
        Some(slash) => path[..=slash].to_owned(),
        None => format!("{path}/"),
    }
}

/// A name as it is in a URL. Only those of the web are percent-encoded.
fn escaped(base: &str, name: &str) -> String {
    let name = name.strip_prefix("./").unwrap_or(name);
    if !base.starts_with("http") {
        return name.to_owned();
    }
    percent_encoded(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_the_container() {
        let of = |container, name| resolve(Some(container), name, &[]);
        for (container, name, want) in [
            ("s3://b/p/x.arrow", "samples/1.lpcm", "s3://b/p/samples/1.lpcm"),
            ("s3://b/p/x.arrow", "./a b.lpcm", "s3://b/p/a b.lpcm"),
            ("s3://b/p/x.arrow", "s3://b/p/q/1", "s3://b/p/q/1"),
            ("https://h/p/x.arrow?X-Sig=a/b", "a b?#%.lpcm", "https://h/p/a%20b%3F%23%25.lpcm"),
            ("https://h?a/b", "x", "https://h/x"),
        ] {
            assert_eq!(of(container, name).as_deref(), Ok(want), "{name}");
        }
        for name in [
            "../x",
            "a/../../x",
            "/x",
            "s3://b/x",
            "s3://b/pp/x",
            "s3://b/p/../x",
            "s3://c/p/x",
            "https://h/p/x",
            "http://169.254.169.254/latest",
            "a\\..\\..\\x",
        ] {
            assert!(of("s3://b/p/x.arrow", name).is_err(), "{name}");
        }
        for name in [
            "https://h/p/%2E%2e/x",
            "https://h/p/.%2e/x",
            "https://h/p\\..\\x",
            "https://h.evil/p/x",
            "https://h/p/\t../x",
        ] {
            assert!(of("https://h/p/x.arrow", name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_the_user_allows() {
        let allowed = ["s3://b/data".to_owned(), "https://h/".to_owned()];
        for (name, is_allowed) in [
            ("s3://b/data/x", true),
            ("s3://b/data", true),
            ("s3://b/database/x", false),
            ("s3://b/data/../x", false),
            ("https://h/x", true),
            ("https://host/x", false),
            ("x", false),
        ] {
            assert_eq!(resolve(None, name, &allowed).is_ok(), is_allowed, "{name}");
        }
    }
}
