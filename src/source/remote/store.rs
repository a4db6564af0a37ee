//! Objects in the stores of Amazon and others that speak S3, of Google and of Azure. The variables that their own tools
//! read are read here too: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`
//! and so on.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig};

use super::object::{Answer, Failure, Object, Part};

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
}

/// Variables of which one at least tells where credentials for S3 come from.
const KEYS: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];

impl Stored {
    pub fn new(url: &str) -> Result<Stored, Failure> {
        let failed = |cause: Error| Failure::Other(cause.to_string());
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() || key.is_empty() || key.ends_with('/') {
            return Err(Failure::Other(
                "an object is named s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/KEY".into(),
            ));
        }
        // Keys are taken as they are, with whatever is special in URLs.
        let key =
            Path::parse(key).map_err(|cause| Failure::Other(format!("this key cannot be read: {cause}")))?;
        let store: Arc<dyn ObjectStore> = match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("s3") => Arc::new(s3(bucket).map_err(failed)?),
            Some("gs") => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                Arc::new(builder.with_client_options(client()).with_retry(retry()).build().map_err(failed)?)
            }
            _ => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                Arc::new(builder.with_client_options(client()).with_retry(retry()).build().map_err(failed)?)
            }
        };
        let is_without_keys =
            url.starts_with("s3:") && KEYS.iter().all(|name| std::env::var_os(name).is_none());
        Ok(Stored { store, key, is_without_keys })
    }

    /// A failure that may be for want of credentials says so.
    pub fn explained(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Other(_) | Failure::TimedOut | Failure::Refused(_) if self.is_without_keys => {
                Failure::Refused(WITHOUT_KEYS.into())
            }
            failure => failure,
        }
    }
}

fn s3(bucket: &str) -> Result<object_store::aws::AmazonS3, Error> {
    // Without a region it is that of most buckets; others answer with the right one.
    let mut builder = AmazonS3Builder::new().with_region("us-east-1");
    for (name, value) in std::env::vars() {
        if let Some(key) = name.strip_prefix("AWS_").and_then(|_| name.to_ascii_lowercase().parse().ok()) {
            builder = builder.with_config(key, value);
        }
    }
    let options = client().with_allow_http(true);
    builder.with_bucket_name(bucket).with_client_options(options).with_retry(retry()).build()
}

fn client() -> ClientOptions {
    // The whole of an answer may take long; no part of it should.
    ClientOptions::new().with_timeout_disabled().with_connect_timeout(CONNECT).with_read_timeout(SILENCE)
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: TRIES, retry_timeout: PATIENCE, ..RetryConfig::default() }
}

const WITHOUT_KEYS: &str = "no credentials were found in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and this machine has no \
                            role: eval \"$(aws configure export-credentials --format env)\" sets those of a profile or of \
                            SSO, and AWS_SKIP_SIGNATURE=true is for public buckets";

impl Object for Stored {
    fn get(&self, range: Range<u64>, tag: Option<&str>) -> Answer {
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
    range: Range<u64>,
    tag: Option<&str>,
) -> Result<Part, Failure> {
    let strong = tag.filter(|tag| !tag.starts_with("W/"));
    let options = GetOptions {
        range: Some(GetRange::Bounded(range.clone())),
        if_match: strong.map(str::to_owned),
        ..GetOptions::default()
    };
    let answer = match store.get_opts(key, options).await {
        Ok(answer) => answer,
        // An empty object has no range; one that was asked for before has become shorter.
        Err(error) if range.start == 0 && tag.is_none() => {
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
    let expected = range.end.min(part.len).saturating_sub(range.start);
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
    match &error {
        Error::NotFound { .. } => Failure::Missing,
        Error::Precondition { .. } => Failure::Changed,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Failure::Refused(
            "set the variables that the store's own tools read (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \
             GOOGLE_SERVICE_ACCOUNT, AZURE_STORAGE_ACCOUNT_KEY), or AWS_SKIP_SIGNATURE=true for a public bucket"
                .into(),
        ),
        _ => {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(source) = cause.source() {
                cause = source;
            }
            Failure::Other(cause.to_string())
        }
    }
}
