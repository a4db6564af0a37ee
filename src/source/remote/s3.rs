//! Stores that speak S3. Options of the command line come first, then the variables that the AWS tools read
//! (`AWS_ENDPOINT_URL`, `AWS_REGION`, ...), then the profile.
//!
//! Credentials: of the profile that an option names; those in the environment (keys, web identity, container); of the
//! profile that `AWS_PROFILE` names, or `default`; and at last the role of the machine.

use std::env::var_os;
use std::sync::Arc;

use object_store::Error;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use reqwest::Url;

use super::profile::{Profile, ProfileCredentials};
use crate::source::access::{Access, access};

/// Variables of which one at least says where credentials come from.
const KEYS: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];

/// Most buckets are there.
const DEFAULT_REGION: &str = "us-east-1";

pub const WITHOUT_KEYS: &str = "there are no credentials in AWS_ACCESS_KEY_ID and the like, nor in the profile (--profile, \
                                AWS_PROFILE, or default in ~/.aws), and this machine has no role; --no-sign-request \
                                reads public buckets";

/// A bucket, and whether credentials for it can only come from the machine that this runs on.
pub fn builder(bucket: &str) -> Result<(AmazonS3Builder, bool), Error> {
    let Access { endpoint, region, profile, is_unsigned, .. } = access();
    let named = profile.clone().or_else(|| std::env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty()));
    let profile_found = Profile::named(named.as_deref().unwrap_or("default"));
    if named.is_some() && !profile_found.exists() {
        return Err(unknown(named.as_deref().unwrap_or_default()));
    }
    let mut builder = AmazonS3Builder::new().with_region(profile_found.region().unwrap_or(DEFAULT_REGION));
    if let Some(endpoint) = profile_found.endpoint() {
        builder = builder.with_endpoint(checked(endpoint)?);
    }
    for (name, value) in std::env::vars().filter(|(_, value)| !value.is_empty()) {
        if name.starts_with("AWS_ENDPOINT") {
            checked(&value)?;
        }
        if let Some(key) = name.strip_prefix("AWS_").and_then(|_| name.to_ascii_lowercase().parse().ok()) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(region) = region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = endpoint {
        // Of two it takes this one.
        builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, checked(endpoint)?);
    }

    let has_keys = KEYS.iter().any(|name| var_os(name).is_some());
    let mut is_without_keys = false;
    if *is_unsigned {
        builder = builder.with_skip_signature(true);
    } else if profile.is_some() || (!has_keys && profile_found.has_credentials()) {
        builder = builder.with_credentials(Arc::new(ProfileCredentials::new(profile_found)));
    } else {
        is_without_keys = !has_keys;
    }
    Ok((builder.with_bucket_name(bucket), is_without_keys))
}

fn checked(endpoint: &str) -> Result<&str, Error> {
    let is_web = |url: &Url| ["http", "https"].contains(&url.scheme()) && url.has_host();
    if Url::parse(endpoint).is_ok_and(|url| is_web(&url)) {
        return Ok(endpoint);
    }
    let problem = format!("the endpoint {endpoint:?} is not the URL of a store, such as https://HOST:PORT");
    Err(Error::Generic { store: "S3", source: problem.into() })
}

fn unknown(profile: &str) -> Error {
    let problem = format!("there is no profile {profile:?} in ~/.aws/config or ~/.aws/credentials");
    Error::Generic { store: "S3", source: problem.into() }
}
