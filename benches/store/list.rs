//! Listings (ListObjectsV2): pages of names below a prefix, up to a delimiter.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::Store;
use super::http::{Answer, Request};
use super::objects::tag;

const PAGE: usize = 1000;

/// What is in a page for an object or a common prefix.
type Keys = BTreeMap<String, String>;

pub fn answer(store: &Store, request: &Request) -> Answer {
    let bucket = request.path.trim_matches('/');
    let parameter = |name: &str| request.query.get(name).map_or("", String::as_str);
    let (prefix, delimiter) = (parameter("prefix"), parameter("delimiter"));
    let after =
        [parameter("continuation-token"), parameter("start-after")].into_iter().max().unwrap_or_default();
    let most = parameter("max-keys").parse().unwrap_or(PAGE).min(PAGE);
    let mut keys = Keys::new();
    if bucket == "many" {
        let count = store.options.many.load(Ordering::Relaxed);
        keys.extend((0..count).map(|number| entry(&format!("{number:08}.rab"), 1 << 20, "\"1\"", None)));
    } else if store.folder.join(bucket).is_dir() {
        collect(&store.folder.join(bucket), "", &mut keys);
    } else {
        return Answer::error(404, "NoSuchBucket");
    }
    let mut grouped = Keys::new();
    for (key, text) in keys.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix)) {
        let (name, text) = match key[prefix.len()..].split_once(delimiter).filter(|_| !delimiter.is_empty()) {
            Some((directory, _)) => {
                let name = format!("{prefix}{directory}{delimiter}");
                let text = format!("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escaped(&name));
                (name, text)
            }
            None => (key.clone(), text.clone()),
        };
        if name.as_str() > after {
            grouped.insert(name, text);
        }
    }
    let page: Vec<(&String, &String)> = grouped.iter().take(most).collect();
    let next = page.last().filter(|_| grouped.len() > most).map(|(name, _)| name);
    let next = next.map_or(String::new(), |name| {
        format!("<NextContinuationToken>{}</NextContinuationToken>", escaped(name))
    });
    let is_truncated = !next.is_empty();
    let texts: String = page.iter().map(|(_, text)| text.as_str()).collect();
    let text = format!(
        "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>{is_truncated}</IsTruncated>{texts}{next}</ListBucketResult>"
    );
    Answer::text(200, text).with("Content-Type", "application/xml")
}

fn entry(key: &str, len: u64, tag: &str, modified: Option<SystemTime>) -> (String, String) {
    let modified = chrono::DateTime::<chrono::Utc>::from(modified.unwrap_or(SystemTime::UNIX_EPOCH));
    let text = format!(
        "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{len}</Size></Contents>",
        escaped(key),
        modified.format("%Y-%m-%dT%H:%M:%S.000Z"),
        escaped(tag)
    );
    (key.to_owned(), text)
}

fn collect(directory: &Path, prefix: &str, keys: &mut Keys) {
    for file in fs::read_dir(directory).into_iter().flatten().flatten() {
        let key = format!("{prefix}{}", file.file_name().to_string_lossy());
        match file.metadata() {
            Ok(meta) if meta.is_dir() => collect(&file.path(), &format!("{key}/"), keys),
            Ok(meta) => keys.extend([entry(&key, meta.len(), &tag(&meta), meta.modified().ok())]),
            Err(_) => {}
        }
    }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
