//! Tests through the built program and real mounts, one file per kind of behaviour.
//!
//! They need FUSE and, for what Python users do, an interpreter with numpy and PyYAML: `scripts/test`
//! installs both. A test that lacks one fails and says so.

mod kit;
#[allow(dead_code, reason = "these tests write little")]
mod stores;

mod ahead;
mod awkward;
mod changed;
mod chroot;
mod damaged;
mod decoding;
mod directory;
mod docs;
mod ffrecord;
mod gzip;
mod index;
mod info;
mod lifecycle;
mod links;
mod model;
mod npy;
mod npz;
mod numpy;
mod onda;
mod options;
mod parallel;
mod prefixes;
mod rawarray;
mod readers;
mod remote;
mod safetensors;
mod samples;
mod sources;
mod tools;
mod underneath;
mod unmounting;
mod unpacked;
mod users;
mod view_kinds;
mod views;
mod zarr;
mod zip;
