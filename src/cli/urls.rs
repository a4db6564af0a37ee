//! The options for containers at URLs, shared by all verbs and by mounts.

use clap::Args;

use super::values;
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
        }
    }

    pub fn access(self) -> Access {
        Access {
            endpoint: self.endpoint_url,
            region: self.region,
            profile: self.profile,
            is_unsigned: self.no_sign_request,
            memory: self.remote_memory,
        }
    }
}
