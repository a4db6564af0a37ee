//! Buckets of the stores of Amazon and others that speak S3 ([`s3`]), of Google and of Azure. The variables that the
//! stores' own tools read are read here too: `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME` and so on.
//! Connections and credentials are shared by all that is opened in a bucket.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::list::PaginatedListStore;
use object_store::{ClientOptions, Error, ObjectStore, RetryConfig};
use parking_lot::Mutex;

use super::object::Failure;
use super::odd_keys::WithoutOddKeys;
use super::s3;
use super::store::last_cause;
use crate::source::access::access;

/// As of web pages.
const TRIES: usize = 4;
pub const PATIENCE: Duration = Duration::from_secs(60);
const CONNECT: Duration = Duration::from_secs(3);
const SILENCE: Duration = Duration::from_secs(10);

pub trait Store: ObjectStore + PaginatedListStore {}

impl<T: ObjectStore + PaginatedListStore> Store for T {}

#[derive(Clone)]
pub struct Bucket {
    pub store: Arc<dyn Store>,
    /// Credentials can only come from the machine that this runs on.
    is_without_keys: bool,
    /// Azure sends no last bytes of an object of unknown length.
    pub has_ends: bool,
}

/// The scheme, bucket and key of a URL.
pub fn parts(url: &str) -> (&str, &str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    (scheme, bucket, key)
}

impl Bucket {
    /// The bucket that a URL is in.
    pub fn of(url: &str) -> Result<Bucket, Failure> {
        static KNOWN: LazyLock<Mutex<HashMap<String, Bucket>>> = LazyLock::new(Mutex::default);
        let (scheme, bucket, _) = parts(url);
        let name = format!("{scheme}://{bucket}");
        if let Some(known) = KNOWN.lock().get(&name) {
            return Ok(known.clone());
        }
        // Making it may run a program that knows the credentials: not under the lock.
        let made =
            Bucket::new(scheme, bucket).map_err(|cause| Failure::Other(last_cause(&cause).to_string()))?;
        Ok(KNOWN.lock().entry(name).or_insert(made).clone())
    }

    fn new(scheme: &str, bucket: &str) -> Result<Bucket, Error> {
        let is_unsigned = access().is_unsigned;
        let mut is_without_keys = false;
        let store: Arc<dyn Store> = match scheme {
            "s3" => {
                let (builder, no_keys) = s3::builder(bucket)?;
                is_without_keys = no_keys;
                let builder = builder.with_client_options(client());
                Arc::new(builder.with_http_connector(WithoutOddKeys).with_retry(retry()).build()?)
            }
            "gs" => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                let builder = if is_unsigned { builder.with_skip_signature(true) } else { builder };
                let builder = builder.with_client_options(client()).with_http_connector(WithoutOddKeys);
                Arc::new(builder.with_retry(retry()).build()?)
            }
            _ => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                let builder = if is_unsigned { builder.with_skip_signature(true) } else { builder };
                let builder = builder.with_client_options(client()).with_http_connector(WithoutOddKeys);
                Arc::new(builder.with_retry(retry()).build()?)
            }
        };
        Ok(Bucket { store, is_without_keys, has_ends: scheme != "az" })
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
    // Only those whose endpoint the user names do without encryption.
    ClientOptions::new()
        .with_allow_http(true)
        .with_timeout_disabled()
        .with_connect_timeout(CONNECT)
        .with_read_timeout(SILENCE)
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: TRIES, retry_timeout: PATIENCE, ..RetryConfig::default() }
}
