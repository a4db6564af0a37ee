//! The map of the house. One idea carries it: a container is a tree of datasets, and a dataset is bytes at
//! an offset plus a description. A format turns a container into that tree; what is above knows only the
//! tree, what is below knows only bytes.
//!
//! | room | what it is for |
//! |---|---|
//! | [`cli`] | the command line: the verbs of `rab`, and the options of `rab-mount` resolved into one `mount::Config` |
//! | `bench` | what benches/ may call |
//! | `open` | wiring: from a path to a file system that can be mounted |
//! | `mount` | the life of a mount: daemon, signals, unmount, exit codes |
//! | `fuse` | the only room that speaks FUSE: requests to `fs`, errors to errno |
//! | `fs` | inodes, attributes, listings, reads |
//! | `unpack` | the tree written into a directory |
//! | `diff` | what is different in two containers |
//! | `convert` | a container written anew in another format |
//! | `pack` | files and directories as the datasets of a new container |
//! | `refs` | where the arrays of containers are, for programs that read Zarr |
//! | [`Archive`] (`archive`) | a container opened for reading: datasets by name, as bytes, text, values, arrays |
//! | `mirror` | directories of containers and other files as one tree |
//! | `view` | other faces of datasets (npy, ...), and the tree that has them below `.views` |
//! | `report` | what is told of a dataset: `rab info`, `rab ls --json` and the view of that |
//! | `format` | trait `Format` and what some formats can do besides, detection, and one folder for each format |
//! | `tree` | trait `Tree`, its packed arena, and how dataset names become file names |
//! | `lines` | rows of named cells as text: CSV and lines of JSON |
//! | `arrow` | Arrow IPC files around bytes that are there already |
//! | `content` | what a file's bytes are |
//! | `array` | element types, byte order, shape; parts of arrays in memory |
//! | `codec` | decoding with random access, the block cache, the index and the spill on disk |
//! | `pool` | threads that are started as they are needed |
//! | `source` | where bytes come from, and whether they are still the same |
//! | `yaml` | YAML 1.1 as PyYAML reads and writes it, for headers and sidecars |
//! | [`error`] | the one error type, open to all |
//!
//! Imports point downward in this table, and no format knows another one; `tests/house.rs` keeps it so.
//! The feature `mount` adds the rooms `open`, `mount`, `fuse` and `fs`.

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
