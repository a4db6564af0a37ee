//! What a mount shows besides the samples themselves.
//!
//! | | |
//! |---|---|
//! | `sidecar`, `annotations` | descriptions of signals and tables; the annotations of a recording |
//! | `computed` | single channels, and samples in the signal's unit |
//! | `tables` | tables as Arrow files, CSV and JSON lines |
//! | `tree` | the files below `.views` |

pub mod annotations;
pub mod computed;
pub mod sidecar;
pub mod tables;
pub mod tree;
