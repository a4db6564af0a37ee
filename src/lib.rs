//! Module overview. A container is a tree of datasets, and a dataset is bytes at an offset plus a description. A format
//! turns a container into that tree; the modules above know only the tree, those below only bytes.
//!
//! | module | purpose |
//! |---|---|
//! | [`cli`] | the command line: the verbs of `rab`, and the options of `rab-mount` resolved into one `mount::Config` |
//! | `bench` | what benches/ may call |
//! | `open` | from a path to a file system that can be mounted |
//! | `mount` | the life of a mount: daemon, signals, unmounting, exit codes |
//! | `fuse` | the FUSE adapter: requests to `fs`, errors to errno |
//! | `fs` | inodes, attributes, listings, reads |
//! | `unpack` | writes the tree into a directory |
//! | `diff` | compares two containers |
//! | `convert` | writes a container in another format |
//! | `pack` | turns files and directories into the datasets of a new container |
//! | `refs` | where the arrays of containers are, for programs that read Zarr |
//! | [`Archive`] (`archive`) | a container opened for reading: datasets by name, as bytes, text, values, arrays |
//! | `mirror` | directories of containers and other files as one tree |
//! | `view` | other representations of datasets (npy, CSV, ...), and the tree that has them below `.views` |
//! | `report` | dataset reports: for `rab info`, `rab ls --json` and the view `info` |
//! | `format` | trait `Format`, optional abilities, detection, and one folder for each format |
//! | `tree` | trait `Tree`, its packed arena, and how dataset names become file names |
//! | `lines` | rows of named cells as text: CSV and JSON lines |
//! | `arrow` | Arrow IPC files around bytes that exist already |
//! | `content` | the bytes of a file: stored, decoded or computed |
//! | `array` | element types, byte order, shape; parts of arrays in memory |
//! | `codec` | decoding with random access, the block cache, the index and the spill on disk |
//! | `pool` | threads, started as they are needed |
//! | `source` | where bytes come from, and whether they are still the same |
//! | `yaml` | YAML 1.1 as PyYAML reads and writes it, for headers and sidecars |
//! | [`error`] | the error type that every module uses |
//!
//! Imports point downward in this table, and no format knows another one; `tests/house.rs` checks both. That is why the
//! table is flat: its order is the whole rule. The feature `mount` adds the modules `open`, `mount`, `fuse` and `fs`.
//!
//! Two decisions that are not obvious: `Tree` is a trait with several implementations rather than one data structure,
//! since ten million records are computed and never stored; and Arrow tables are read by our own code (see Cargo.toml).

// What only a mount calls is not marked item by item.
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
