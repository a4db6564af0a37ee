//! Tests across the format.
