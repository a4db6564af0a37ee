//! Objects in the stores of Amazon and others that speak S3 ([`s3`]), of Google and of Azure. The variables that the
//! stores' own tools read are read here too: `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME` and so on.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig};

use super::object::{Answer, Failure, Object, Part};
use super::profile::NoCredentials;
use super::s3;
use crate::source::access::access;

/// As of web pages.
const TRIES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);
const CONNECT: Duration = Duration::from_secs(3);
const SILENCE: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Stored {
    pub store: Arc<dyn ObjectStore>,
    pub key: Path,
    /// Credentials can only come from the machine that this runs on.
    is_without_keys: bool,
    /// Azure sends no last bytes of an object of unknown length.
    has_ends: bool,
}

impl Stored {
    pub fn new(url: &str) -> Result<Stored, Failure> {
        let failed = |cause: Error| Failure::Other(last_cause(&cause).to_string());
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() || key.is_empty() || key.ends_with('/') {
            return Err(Failure::Other(
                "an object is named s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/KEY".into(),
            ));
        }
        // Keys are taken as they are, with whatever is special in URLs.
        let key =
            Path::parse(key).map_err(|cause| Failure::Other(format!("this key cannot be read: {cause}")))?;
        if scheme == "s3" {
            let (store, is_without_keys) = s3::store(bucket, client(), retry()).map_err(failed)?;
            return Ok(Stored { store, key, is_without_keys, has_ends: true });
        }
        let is_unsigned = access().is_unsigned;
        let store: Arc<dyn ObjectStore> = if scheme == "gs" {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
            let builder = if is_unsigned { builder.with_skip_signature(true) } else { builder };
            Arc::new(builder.with_client_options(client()).with_retry(retry()).build().map_err(failed)?)
        } else {
            let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
            let builder = if is_unsigned { builder.with_skip_signature(true) } else { builder };
            Arc::new(builder.with_client_options(client()).with_retry(retry()).build().map_err(failed)?)
        };
        Ok(Stored { store, key, is_without_keys: false, has_ends: scheme == "gs" })
    }

    /// A failure that may be for want of credentials says so.
    pub fn explained(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Other(_) | Failure::TimedOut if self.is_without_keys => {
                Failure::Refused(s3::WITHOUT_KEYS.into())
            }
            Failure::Refused(why) if self.is_without_keys => {
                Failure::Refused(format!("{why}; {}", s3::WITHOUT_KEYS))
            }
            failure => failure,
        }
    }
}

fn client() -> ClientOptions {
    // The whole of an answer may take long; no part of it should.
    ClientOptions::new().with_timeout_disabled().with_connect_timeout(CONNECT).with_read_timeout(SILENCE)
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: TRIES, retry_timeout: PATIENCE, ..RetryConfig::default() }
}

impl Object for Stored {
    fn get(&self, range: Range<u64>, tag: Option<&str>) -> Answer {
        self.answer(GetRange::Bounded(range), tag)
    }

    fn get_end(&self, len: u64) -> Option<Answer> {
        self.has_ends.then(|| self.answer(GetRange::Suffix(len), None))
    }
}

impl Stored {
    fn answer(&self, range: GetRange, tag: Option<&str>) -> Answer {
        let (stored, tag) = (self.clone(), tag.map(str::to_owned));
        Box::pin(async move {
            let answer = get(&*stored.store, &stored.key, range, tag.as_deref());
            let answer = tokio::time::timeout(PATIENCE, answer).await.unwrap_or(Err(Failure::TimedOut));
            answer.map_err(|failure| stored.explained(failure))
        })
    }
}

async fn get(
    store: &dyn ObjectStore,
    key: &Path,
    range: GetRange,
    tag: Option<&str>,
) -> Result<Part, Failure> {
    let strong = tag.filter(|tag| !tag.starts_with("W/"));
    let options = GetOptions {
        range: Some(range.clone()),
        if_match: strong.map(str::to_owned),
        ..GetOptions::default()
    };
    let answer = match store.get_opts(key, options).await {
        Ok(answer) => answer,
        // An empty object has no range; one that was asked for before has become shorter.
        Err(error @ Error::Generic { .. }) if tag.is_none() => {
            return empty(store, key).await.ok_or_else(|| failure(error));
        }
        Err(error) => return Err(failure(error)),
    };
    let part = Part {
        bytes: Vec::new(),
        len: answer.meta.size,
        tag: answer.meta.e_tag.clone(),
        modified: Some(SystemTime::from(answer.meta.last_modified)),
    };
    if tag.is_some() && part.tag.as_deref() != tag {
        return Err(Failure::Changed);
    }
    let expected = match range {
        GetRange::Bounded(range) => range.end.min(part.len).saturating_sub(range.start),
        GetRange::Offset(start) => part.len.saturating_sub(start),
        GetRange::Suffix(count) => count.min(part.len),
    };
    let bytes = answer.bytes().await.map_err(failure)?;
    match bytes.len() as u64 == expected {
        true => Ok(Part { bytes: bytes.into(), ..part }),
        false => Err(Failure::Other(format!(
            "the store sent {} bytes where {expected} were asked for",
            bytes.len()
        ))),
    }
}

async fn empty(store: &dyn ObjectStore, key: &Path) -> Option<Part> {
    let meta = store.head(key).await.ok().filter(|meta| meta.size == 0)?;
    Some(Part { bytes: Vec::new(), len: 0, tag: meta.e_tag, modified: Some(meta.last_modified.into()) })
}

pub fn failure(error: Error) -> Failure {
    let cause = last_cause(&error);
    if let Some(none) = cause.downcast_ref::<NoCredentials>() {
        return Failure::Refused(none.to_string());
    }
    let text = cause.to_string();
    match &error {
        Error::NotFound { .. } => Failure::Missing,
        Error::Precondition { .. } => Failure::Changed,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            // Stores explain themselves in XML.
            let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
            log::debug!("{error}");
            let status = if matches!(error, Error::Unauthenticated { .. }) { "401" } else { "403" };
            Failure::Refused(code.map_or(status, |(code, _)| code).to_owned())
        }
        _ if text.contains("incorrectly configured region") => {
            Failure::Other("the bucket is in another region: name it with --region".into())
        }
        _ => Failure::Other(text),
    }
}

fn last_cause(error: &Error) -> &(dyn std::error::Error + 'static) {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}
