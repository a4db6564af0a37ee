//! What is below a prefix of a store, such as `s3://BUCKET/runs/`, seen as a directory: keys up to the next slash.

use std::time::SystemTime;

#[cfg_attr(not(feature = "remote"), allow(dead_code))] // nothing is listed then
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Keys go on below it.
    Directory,
    Object {
        len: u64,
        modified: SystemTime,
        /// What the object's source has as [`super::Source::file_id`].
        id: (u64, u64),
    },
}
