//! Reads and writes containers of scientific data as trees of datasets. A dataset is bytes at an offset plus a
//! description. A format turns a container into such a tree; the modules above it know only the tree, those below only
//! bytes.
//!
//! | module | purpose |
//! |---|---|
//! | [`cli`] | the command line: the verbs of `rab`, and the options of `rab-mount` resolved into one `mount::Config` |
//! | `bench` | internals that benches/ may call |
//! | `open` | turns a path into a file system that can be mounted |
//! | `mount` | the life of a mount: daemon, signals, unmounting, exit codes |
//! | `fuse` | the FUSE adapter: requests to `fs`, errors to errno |
//! | `fs` | inodes, attributes, listings, reads |
//! | `unpack` | writes the tree into a directory |
//! | `diff` | compares two containers |
//! | `convert` | writes a container in another format |
//! | `pack` | turns files and directories into the datasets of a new container |
//! | `refs` | references to the arrays of containers, for programs that read Zarr |
//! | [`Archive`] (`archive`) | a container opened for reading: datasets by name, as bytes, text, values or arrays |
//! | `mirror` | directories of containers and other files as one tree |
//! | `view` | other representations of datasets (npy, CSV, ...), and the tree that shows them below `.views` |
//! | `report` | dataset reports: for `rab info`, `rab ls --json` and the view `info` |
//! | `format` | trait `Format`, optional abilities, detection, and one folder for each format |
//! | `tree` | trait `Tree`, its packed arena, and how dataset names become file names |
//! | `lines` | rows of named cells as text: CSV and JSON lines |
//! | `arrow` | Arrow IPC files around existing bytes |
//! | `content` | the bytes of a file: stored, decoded or computed |
//! | `array` | element types, byte order, shape; parts of arrays in memory |
//! | `codec` | decoding with random access, the block cache, the index and the spill on disk |
//! | `pool` | threads, started as needed |
//! | `cpus` | on which processors a thread runs |
//! | `source` | files, and objects at URLs, as sources of bytes; detection of changes |
//! | `private` | directories and files of this user alone |
//! | `yaml` | YAML 1.1 as PyYAML reads and writes it, for headers and sidecars |
//! | [`error`] | the error type that every module uses |
//!
//! Modules import only modules further down in this table, and no format depends on another; `tests/house.rs` checks
//! both. The table is flat because its order is the whole rule. The feature `mount` adds `open`, `mount`, `fuse`, `fs`
//! and `mirror`; the feature `remote` adds URLs.
//!
//! Two decisions that are not obvious: `Tree` is a trait with several implementations rather than one data structure,
//! because ten million records are computed and never stored; and Arrow tables are read by our own code (see
//! Cargo.toml).

// Items that only a mount uses are not marked one by one.
#![cfg_attr(not(feature = "mount"), allow(dead_code, unused_imports))]

mod archive;
mod array;
mod arrow;
#[doc(hidden)]
pub mod bench;
pub mod cli;
mod codec;
mod content;
mod convert;
mod cpus;
mod diff;
pub mod error;
mod format;
#[cfg(feature = "mount")]
mod fs;
#[cfg(feature = "mount")]
mod fuse;
mod lines;
#[cfg(feature = "mount")]
mod mirror;
#[cfg(feature = "mount")]
mod mount;
#[cfg(feature = "mount")]
mod open;
mod pack;
mod pool;
mod private;
mod refs;
mod report;
mod source;
mod tree;
mod unpack;
mod view;
mod yaml;

pub use archive::{Archive, Checked, ColumnValues, Dataset, Extreme, Stats};
pub use array::{
    AnyArray, Array, Cell as RecordCell, Dtype, E4m3fn, E4m3fnuz, E5m2, E5m2fnuz, E8m0fnu, Element, Endian,
    Field, Float8, Kind, Opaque, Order, Record, Scalar, Slab, Width,
};
pub use content::Reader;
pub use error::{Error, Result};
pub use format::ffrecord;
pub use format::{Add, Column, ColumnValue, Compression, Editor, Item, Options, Writer};
pub use source::Policy;
pub use tree::{Checksum, ColumnInfo, Description, Table};
pub use yaml::{Node, Text, Value};
