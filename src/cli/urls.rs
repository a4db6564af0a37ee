//! The options for containers at URLs, shared by all verbs and by mounts.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::{user_cache, values};
use crate::source::Access;

/// The heading of these options in the help.
const URLS: &str = "Containers at URLs";

#[derive(Args, Clone, Debug, Default)]
pub struct Urls {
    /// The URL of a store that speaks S3 but is not Amazon's
    #[arg(help_heading = URLS, long, value_name = "URL", global = true)]
    pub endpoint_url: Option<String>,

    /// The region of an S3 bucket [default: the profile's, or us-east-1]
    #[arg(help_heading = URLS, long, value_name = "NAME", global = true)]
    pub region: Option<String>,

    /// Take credentials, region and endpoint from this profile of the AWS tools
    #[arg(help_heading = URLS, long, value_name = "NAME", global = true)]
    pub profile: Option<String>,

    /// Send no credentials, for public buckets
    #[arg(help_heading = URLS, long, global = true, conflicts_with = "profile")]
    pub no_sign_request: bool,

    /// Memory for what is fetched from URLs [default: 256M]
    #[arg(help_heading = URLS, long, value_name = "SIZE", value_parser = values::size, global = true)]
    pub remote_memory: Option<u64>,

    /// Keep what is fetched from URLs in this directory; off keeps nothing [default: ~/.cache/rab-mount]
    #[arg(help_heading = URLS, long, value_name = "DIR|off", global = true)]
    pub remote_cache: Option<OsString>,

    /// Size of that directory; what was not used for longest goes first [default: 10G]
    #[arg(help_heading = URLS, long, value_name = "SIZE", value_parser = values::size, global = true)]
    pub remote_cache_size: Option<u64>,
}

impl Urls {
    /// Fills in unset options from `other`.
    pub fn or(self, other: Urls) -> Urls {
        Urls {
            endpoint_url: self.endpoint_url.or(other.endpoint_url),
            region: self.region.or(other.region),
            profile: self.profile.or(other.profile),
            no_sign_request: self.no_sign_request || other.no_sign_request,
            remote_memory: self.remote_memory.or(other.remote_memory),
            remote_cache: self.remote_cache.or(other.remote_cache),
            remote_cache_size: self.remote_cache_size.or(other.remote_cache_size),
        }
    }

    pub fn access(self) -> Access {
        Access {
            endpoint: self.endpoint_url,
            region: self.region,
            profile: self.profile,
            is_unsigned: self.no_sign_request,
            memory: self.remote_memory,
            cache: cache(self.remote_cache),
            cache_size: self.remote_cache_size,
        }
    }
}

/// Absolute, as a daemon changes its working directory.
fn cache(given: Option<OsString>) -> Option<PathBuf> {
    match given {
        None => Some(user_cache::directory(|name| std::env::var_os(name))),
        Some(off) if off == "off" => None,
        Some(given) => Some(std::path::absolute(&given).unwrap_or_else(|_| given.into())),
    }
}
