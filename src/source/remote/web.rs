//! Files on web servers, by HTTP ranges (RFC 9110, section 14).

use std::net::IpAddr;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH, LAST_MODIFIED,
    RANGE,
};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url};

use super::object::{Answer, Condition, Failure, Object, Part};

/// How many times a request is sent.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// For all tries of a request together.
const PATIENCE: Duration = Duration::from_secs(60);
const CONNECT: Duration = Duration::from_secs(3);
const MAX_REDIRECTS: usize = 5;
/// Between two pieces of an answer.
const SILENCE: Duration = Duration::from_secs(10);

pub struct Page {
    client: Client,
    url: Url,
}

impl Page {
    pub fn new(url: &str) -> Result<Page, Failure> {
        let url = Url::parse(url).map_err(|cause| Failure::Other(format!("it is no URL: {cause}")))?;
        Ok(Page { client: client()?, url })
    }
}

/// One for all pages, which so share connections.
fn client() -> Result<Client, Failure> {
    static CLIENT: OnceLock<Result<Client, String>> = OnceLock::new();
    let make = || {
        // Where it redirects to does not learn of a signature in this URL.
        let client = Client::builder().referer(false).connect_timeout(CONNECT).read_timeout(SILENCE);
        let client = client.redirect(Policy::custom(redirected));
        let name = concat!("rab-mount/", env!("CARGO_PKG_VERSION"));
        client.user_agent(name).build().map_err(|cause| described(&cause))
    };
    CLIENT.get_or_init(make).clone().map_err(Failure::Other)
}

impl Object for Page {
    fn get(&self, range: Range<u64>, tag: Option<&str>) -> Answer {
        self.answer(Wanted::Range(range), Condition::of(tag))
    }

    fn get_unless(&self, range: Range<u64>, tag: &str) -> Answer {
        self.answer(Wanted::Range(range), Condition::Unless(tag.to_owned()))
    }

    fn get_end(&self, len: u64) -> Option<Answer> {
        Some(self.answer(Wanted::End(len), Condition::None))
    }
}

impl Page {
    fn answer(&self, wanted: Wanted, condition: Condition) -> Answer {
        let (client, url) = (self.client.clone(), self.url.clone());
        Box::pin(async move {
            let all = tries(&client, &url, &wanted, &condition);
            tokio::time::timeout(PATIENCE, all).await.unwrap_or(Err(Failure::TimedOut))
        })
    }
}

/// A server may send us elsewhere, but not to the addresses at which machines of clouds get their own secrets.
fn redirected(attempt: Attempt<'_>) -> Action {
    match attempt.url().host_str() {
        _ if attempt.previous().len() > MAX_REDIRECTS => attempt.error("too many redirects"),
        Some(host) if is_link_local(host) => attempt.error("the server redirects to a link-local address"),
        _ => attempt.follow(),
    }
}

fn is_link_local(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => address.is_link_local(),
        Ok(IpAddr::V6(address)) => {
            address.is_unicast_link_local() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_link_local())
        }
        Err(_) => false,
    }
}

/// What a request asks for.
enum Wanted {
    Range(Range<u64>),
    /// The last bytes.
    End(u64),
}

impl Wanted {
    fn header(&self) -> String {
        match self {
            Wanted::Range(range) => format!("bytes={}-{}", range.start, range.end.saturating_sub(1)),
            Wanted::End(len) => format!("bytes=-{len}"),
        }
    }

    /// The bytes that an object of `len` bytes has of it.
    fn within(&self, len: u64) -> Range<u64> {
        match self {
            Wanted::Range(range) => range.start..range.end.min(len).max(range.start),
            Wanted::End(count) => len.saturating_sub(*count)..len,
        }
    }
}

/// Whether it may be different the next time.
enum Outcome {
    Failed(Failure),
    TryAgain(Failure),
}

async fn tries(client: &Client, url: &Url, wanted: &Wanted, condition: &Condition) -> Result<Part, Failure> {
    let mut pause = FIRST_PAUSE;
    let mut left = TRIES;
    loop {
        left -= 1;
        match once(client, url, wanted, condition).await {
            Ok(part) => return Ok(part),
            Err(Outcome::TryAgain(failure)) if left > 0 => {
                log::debug!("{}: tried again: {failure}", url.path())
            }
            Err(Outcome::Failed(failure) | Outcome::TryAgain(failure)) => return Err(failure),
        }
        tokio::time::sleep(pause).await;
        pause *= 3;
    }
}

async fn once(client: &Client, url: &Url, wanted: &Wanted, condition: &Condition) -> Result<Part, Outcome> {
    // What a server compresses on its way has other offsets.
    let mut request =
        client.get(url.clone()).header(RANGE, wanted.header()).header(ACCEPT_ENCODING, "identity");
    if let Some(tag) = condition.if_match() {
        request = request.header(IF_MATCH, tag);
    }
    if let Some(tag) = condition.if_none_match() {
        request = request.header(IF_NONE_MATCH, tag);
    }
    let answer = request.send().await.map_err(|cause| Outcome::TryAgain(failed(&cause)))?;
    let part = of_head(&answer, wanted)?;
    condition.check(part.tag.as_deref()).map_err(Outcome::Failed)?;
    let range = wanted.within(part.len);
    let expected = range.end - range.start;
    let bytes = answer.bytes().await.map_err(|cause| Outcome::TryAgain(failed(&cause)))?;
    match bytes.len() as u64 == expected {
        true => Ok(Part { bytes: bytes.into(), ..part }),
        false => Err(Outcome::TryAgain(Failure::Other(format!(
            "the server sent {} bytes where {expected} were asked for",
            bytes.len()
        )))),
    }
}

/// What an answer says of the object, before its bytes.
fn of_head(answer: &Response, wanted: &Wanted) -> Result<Part, Outcome> {
    let status = answer.status();
    let failed = |failure| Err(Outcome::Failed(failure));
    let text = |name: HeaderName| answer.headers().get(name)?.to_str().ok().map(str::to_owned);
    let part = |len| Part { bytes: Vec::new(), len, tag: text(ETAG), modified: modified(answer.headers()) };
    match status {
        StatusCode::PARTIAL_CONTENT => match text(CONTENT_RANGE).as_deref().and_then(content_range) {
            Some((from, len)) if from == wanted.within(len).start => Ok(part(len)),
            _ => failed(Failure::Other("the server sent another range than it was asked for".into())),
        },
        StatusCode::OK if answer.content_length() == Some(0) => Ok(part(0)),
        StatusCode::OK => failed(Failure::NoRanges),
        // Not even the first byte: it is empty.
        StatusCode::RANGE_NOT_SATISFIABLE if wanted.within(0).start == 0 => Ok(part(0)),
        StatusCode::RANGE_NOT_SATISFIABLE | StatusCode::PRECONDITION_FAILED => failed(Failure::Changed),
        StatusCode::NOT_MODIFIED => failed(Failure::Unchanged),
        StatusCode::NOT_FOUND | StatusCode::GONE => failed(Failure::Missing),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => failed(Failure::Refused(status.to_string())),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            Err(Outcome::TryAgain(Failure::Other(status.to_string())))
        }
        _ if status.is_server_error() => Err(Outcome::TryAgain(Failure::Other(status.to_string()))),
        _ => failed(Failure::Other(format!("the server answers {status}"))),
    }
}

/// The first byte and the length of the whole, of `bytes 0-99/1000`.
fn content_range(text: &str) -> Option<(u64, u64)> {
    let (range, len) = text.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, len.parse().ok()?))
}

fn modified(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(LAST_MODIFIED)?.to_str().ok()?).ok()
}

fn failed(error: &reqwest::Error) -> Failure {
    if error.is_timeout() { Failure::TimedOut } else { Failure::Other(described(error)) }
}

/// The last cause, which says what happened; the others repeat the URL, with whatever secret it has.
fn described(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match error.url().and_then(Url::host_str) {
        Some(host) if error.is_connect() => format!("no connection to {host}: {cause}"),
        _ => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{content_range, is_link_local};

    #[test]
    fn addresses_that_are_not_redirected_to() {
        for host in ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"] {
            assert!(is_link_local(host), "{host}");
        }
        for host in ["10.0.0.1", "localhost", "[::1]", "example.org"] {
            assert!(!is_link_local(host), "{host}");
        }
    }

    #[test]
    fn ranges_of_answers() {
        assert_eq!(content_range("bytes 0-99/1000"), Some((0, 1000)));
        for other in ["bytes */1000", "bytes 0-99/*", "0-99/1000", "bytes 0/1", ""] {
            assert_eq!(content_range(other), None, "{other}");
        }
    }
}
