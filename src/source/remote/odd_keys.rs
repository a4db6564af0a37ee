//! Keys that cannot be names of files, such as `a//b` or `..`: object_store fails for a whole page of a listing that has
//! one. They are taken out of the page before it looks, and named in the log.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use async_trait::async_trait;
use memchr::memmem;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::path::Path;
use parking_lot::Mutex;

/// Keys that are named.
const MAX_LOGGED: usize = 1000;

/// The elements of a page, and the element in each that has its key: of S3 and Google, and of Azure.
const ELEMENTS: [(&str, &str); 4] =
    [("Contents", "Key"), ("CommonPrefixes", "Prefix"), ("Blob", "Name"), ("BlobPrefix", "Name")];

/// Connects as usual.
#[derive(Debug)]
pub struct WithoutOddKeys;

impl HttpConnector for WithoutOddKeys {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Filtered(ReqwestConnector::default().connect(options)?)))
    }
}

#[derive(Debug)]
struct Filtered(HttpClient);

#[async_trait]
impl HttpService for Filtered {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let query = request.uri().query().unwrap_or_default();
        let is_list = query.split('&').any(|pair| pair == "list-type=2" || pair == "comp=list");
        let response = self.0.execute(request).await?;
        if !is_list || !response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let page = body.bytes().await?;
        Ok(HttpResponse::from_parts(head, without_odd_keys(&page).into()))
    }
}

fn without_odd_keys(page: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(page) else { return page.to_owned() };
    let mut odd: Vec<Range<usize>> = Vec::new();
    for (element, key) in ELEMENTS {
        odd.extend(elements(text, element).filter(|range| {
            let name = text.get(range.clone()).and_then(|element| content(element, key));
            name.is_some_and(is_odd)
        }));
    }
    odd.sort_by_key(|range| range.start);
    let mut kept = Vec::with_capacity(page.len());
    let mut at = 0;
    for range in odd {
        kept.extend_from_slice(page.get(at..range.start).unwrap_or_default());
        at = range.end;
    }
    kept.extend_from_slice(page.get(at..).unwrap_or_default());
    kept
}

/// Where the elements of a name are, which never have one another inside.
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let ends: Vec<usize> = memmem::find_iter(text.as_bytes(), &close).map(|at| at + close.len()).collect();
    let starts: Vec<usize> = memmem::find_iter(text.as_bytes(), &open).collect();
    starts.into_iter().zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end)
}

/// What an element of this name has, as it is in the page.
fn content<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}"))?;
    let (_, rest) = rest.split_once('>')?;
    Some(rest.split_once(&format!("</{name}>"))?.0)
}

fn is_odd(key: &str) -> bool {
    let plain = quick_xml::escape::unescape(key);
    let is_odd = match &plain {
        // What stands for a directory ends with a slash; of two slashes the parser would take off one.
        Ok(plain) => plain.starts_with('/') || plain.ends_with("//") || Path::parse(plain).is_err(),
        Err(_) => true,
    };
    if is_odd {
        tell(key);
    }
    is_odd
}

fn tell(key: &str) {
    static LOGGED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let mut logged = LOGGED.lock();
    if logged.len() < MAX_LOGGED && logged.insert(key.to_owned()) {
        log::warn!("{key:?} is not listed: this key cannot be the path of a file");
    }
}

#[cfg(test)]
mod tests {
    use super::without_odd_keys;

    fn filtered(page: &str) -> String {
        String::from_utf8(without_odd_keys(page.as_bytes())).unwrap()
    }

    #[test]
    fn keys_that_are_no_paths_are_left_out() {
        let page = |keys: &[&str]| {
            let all = keys.iter().map(|key| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>"));
            format!("<ListBucketResult><Prefix>a//</Prefix>{}</ListBucketResult>", all.collect::<String>())
        };
        let odd = ["a//b", "/a", "a/../b", "..", "a//", "a&#xA;b", "a\u{1}", "&bad;"];
        let fine = ["a", "a/b", "a/", "ä &amp; b", "a..b", "...", "%2F"];
        let both: Vec<&str> = odd.iter().zip(fine).flat_map(|(odd, fine)| [*odd, fine]).collect();
        assert_eq!(filtered(&page(&both)), page(&fine));
        assert_eq!(filtered(&page(&fine)), page(&fine));
    }

    #[test]
    fn prefixes_and_azure() {
        let page = "<CommonPrefixes><Prefix>a//</Prefix></CommonPrefixes><CommonPrefixes><Prefix>a/</Prefix>\
                    </CommonPrefixes><Blobs><Blob><Name>b//c</Name></Blob><Blob><Name>b</Name></Blob><BlobPrefix>\
                    <Name Encoded=\"true\">//</Name></BlobPrefix></Blobs>";
        assert_eq!(
            filtered(page),
            "<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes><Blobs><Blob><Name>b</Name></Blob></Blobs>"
        );
        assert_eq!(without_odd_keys(b"\xff<Contents>"), b"\xff<Contents>");
    }
}
