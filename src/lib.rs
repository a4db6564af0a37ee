//! The map of the house.
pub mod error;
pub use error::{Error, Result};
