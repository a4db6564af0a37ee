//! How stores are reached, for the whole process: the command line says so before anything is opened.

use std::path::PathBuf;
use std::sync::OnceLock;

/// What overrides the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The URL of a store that speaks S3.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// The profile of the AWS tools.
    pub profile: Option<String>,
    /// Without credentials.
    pub is_unsigned: bool,
    /// Bytes of memory for what is fetched.
    pub memory: Option<u64>,
    /// The directory for what is fetched; None: nothing is kept on disk.
    pub cache: Option<PathBuf>,
    /// Bytes that may be kept there.
    pub cache_size: Option<u64>,
}

static ACCESS: OnceLock<Access> = OnceLock::new();

/// Only the first call has an effect, and only before anything at a URL is opened.
pub fn configure(access: Access) {
    let _ = ACCESS.set(access);
}

#[cfg(feature = "remote")]
pub fn access() -> &'static Access {
    ACCESS.get_or_init(Access::default)
}
