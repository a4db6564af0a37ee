//! LIST, version 2: pages of the names in a bucket, in order.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::http::{Reply, Request, decoded, encoded};
use super::{Store, dates, objects};

const MAX_KEYS: usize = 1000;
/// More than any byte of UTF-8: comes after every key that goes on in any other way.
const AFTER_ALL: u8 = 0xFF;

pub struct Entry {
    len: u64,
    modified: SystemTime,
    tag: String,
    /// None: it is only listed.
    pub content: Option<PathBuf>,
}

impl Entry {
    fn of(metadata: &Metadata, content: PathBuf) -> Entry {
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        Entry { len: metadata.len(), modified, tag: objects::tag(metadata), content: Some(content) }
    }
}

/// The entries of `COUNT BUCKET/PREFIX`.
pub fn many(value: &str) -> Result<Vec<(Vec<u8>, Entry)>, String> {
    let (count, prefix) = value.split_once(' ').ok_or("objects=COUNT BUCKET/PREFIX")?;
    let count: u64 = count.parse().map_err(|_| format!("{count}: no number"))?;
    let one = |number: u64| {
        let modified = UNIX_EPOCH + Duration::from_secs(1_600_000_000 + number);
        let entry = Entry { len: 1000 + number, modified, tag: format!("\"{number:x}\""), content: None };
        (format!("{prefix}{number:06}.rab").into_bytes(), entry)
    };
    Ok((0..count).map(one).collect())
}

/// The entry of `FILE BUCKET/KEY`.
pub fn one(folder: &Path, value: &str) -> Result<(Vec<u8>, Entry), String> {
    let (file, name) = value.split_once(' ').ok_or("object=FILE BUCKET/KEY")?;
    let content = folder.join(file);
    let metadata = content.metadata().map_err(|cause| format!("{file}: {cause}"))?;
    Ok((decoded(name), Entry::of(&metadata, content)))
}

type Entries = BTreeMap<Vec<u8>, Entry>;

/// The files of a folder and of those in it.
fn collect(folder: &Path, prefix: &[u8], entries: &mut Entries) {
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, mut name) = (file.path(), [prefix, file.file_name().as_bytes()].concat());
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                name.push(b'/');
                collect(&path, &name, entries);
            }
            Ok(metadata) => drop(entries.insert(name, Entry::of(&metadata, path))),
            Err(_) => {}
        }
    }
}

/// What a request asks for.
struct Wanted<'a> {
    prefix: Vec<u8>,
    delimiter: &'a str,
    after: Bound<Vec<u8>>,
    max_keys: usize,
    is_encoded: bool,
}

impl Store {
    pub fn has_bucket(&self, path: &[u8]) -> bool {
        let (bucket, _) = bucket_and_key(path);
        let start = [bucket, b"/"].concat();
        let made = self.made.lock().unwrap();
        let has_made = made.range(start.clone()..).next().is_some_and(|(name, _)| name.starts_with(&start));
        has_made || self.file(&[b"/", bucket].concat()).is_some_and(|folder| folder.is_dir())
    }

    pub fn list(&self, request: &Request) -> Reply {
        if !self.has_bucket(&request.path) {
            return Reply::error(404, "NoSuchBucket");
        }
        let (bucket, _) = bucket_and_key(&request.path);
        let bucket = [bucket, b"/"].concat();
        let text = |name| request.query(name).unwrap_or_default();
        let prefix = [&bucket, text("prefix").as_bytes()].concat();
        let after = match (text("continuation-token"), text("start-after")) {
            ("", "") => Bound::Included(prefix.clone()),
            ("", start) => Bound::Excluded([&bucket, start.as_bytes()].concat().max(prefix.clone())),
            (token, _) => Bound::Excluded(decoded(token)),
        };
        let wanted = Wanted {
            prefix,
            delimiter: text("delimiter"),
            after,
            max_keys: text("max-keys").parse().unwrap_or(MAX_KEYS).min(MAX_KEYS),
            is_encoded: text("encoding-type") == "url",
        };
        let mut files = Entries::new();
        let folder = self.file(&request.path[..bucket.len()]);
        folder.into_iter().for_each(|folder| collect(&folder, &bucket, &mut files));
        let page = page(&[&files, &self.made.lock().unwrap()], &wanted, bucket.len());
        Reply::text(200, page).with("Content-Type", "application/xml")
    }
}

fn page(entries: &[&Entries], wanted: &Wanted<'_>, bucket: usize) -> String {
    let shown = |key: &[u8]| match wanted.is_encoded {
        true => encoded(&key[bucket..]),
        false => escaped(&String::from_utf8_lossy(&key[bucket..])),
    };
    let next = |after: &Bound<Vec<u8>>| {
        let range = (after.clone(), Bound::Unbounded);
        let firsts = entries.iter().filter_map(|entries| entries.range(range.clone()).next());
        firsts.min_by_key(|(key, _)| *key).filter(|(key, _)| key.starts_with(&wanted.prefix))
    };
    let (mut after, mut count) = (wanted.after.clone(), 0);
    let [mut contents, mut prefixes, mut token] = [const { String::new() }; 3];
    while let Some((key, entry)) = next(&after) {
        if count == wanted.max_keys {
            let (Bound::Included(last) | Bound::Excluded(last)) = &after else { break };
            token = format!("<NextContinuationToken>{}</NextContinuationToken>", encoded(last));
            break;
        }
        count += 1;
        after = Bound::Excluded(match common(key, wanted) {
            Some(prefix) => {
                prefixes += &format!("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", shown(prefix));
                [prefix, &[AFTER_ALL]].concat()
            }
            None => {
                contents += &content(&shown(key), entry);
                key.clone()
            }
        });
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>bucket</Name><Prefix>{}</Prefix>\
         <KeyCount>{count}</KeyCount><MaxKeys>{}</MaxKeys><IsTruncated>{}</IsTruncated>{token}{}{contents}{prefixes}</ListBucketResult>",
        shown(&wanted.prefix),
        wanted.max_keys,
        !token.is_empty(),
        if wanted.is_encoded { "<EncodingType>url</EncodingType>" } else { "" },
    )
}

/// Of a key that has the delimiter behind the prefix, all up to that.
fn common<'a>(key: &'a [u8], wanted: &Wanted<'_>) -> Option<&'a [u8]> {
    let delimiter = Some(wanted.delimiter.as_bytes()).filter(|delimiter| !delimiter.is_empty())?;
    let rest = &key[wanted.prefix.len()..];
    let at = rest.windows(delimiter.len()).position(|part| part == delimiter)?;
    Some(&key[..wanted.prefix.len() + at + delimiter.len()])
}

fn content(key: &str, entry: &Entry) -> String {
    format!(
        "<Contents><Key>{key}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size>\
         <StorageClass>STANDARD</StorageClass></Contents>",
        dates::iso(entry.modified),
        escaped(&entry.tag),
        entry.len
    )
}

fn escaped(text: &str) -> String {
    let one = |c: char| match c {
        '&' | '<' | '>' | '"' | '\0'..=' ' => format!("&#{};", u32::from(c)),
        _ => c.to_string(),
    };
    text.chars().map(one).collect()
}

/// `/BUCKET/KEY` in two.
pub fn bucket_and_key(path: &[u8]) -> (&[u8], &[u8]) {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
    (&path[..end], path.get(end + 1..).unwrap_or_default())
}
