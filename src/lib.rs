//! The map of the house. One idea carries it: a container is a tree of datasets, and a dataset is bytes at
//! an offset plus a description. A format turns a container into that tree; what is above knows only the
//! tree, what is below knows only bytes.
//!
//! | room | what it is for |
//! |---|---|
//! | [`cli`] | the command line: clap's structs, resolved into one `mount::Config` |
//! | `bench` | what benches/ may call |
//! | `open` | wiring: from a path to a file system that can be mounted |
//! | `mount` | the life of a mount: daemon, signals, unmount, exit codes |
//! | `fuse` | the only file that speaks FUSE: requests to `fs`, errors to errno |
//! | `fs` | inodes, attributes, listings, reads |
//! | [`Archive`] (`archive`) | a container opened for reading: datasets by name, as bytes, text, values, arrays |
//! | `format` | trait `Format`, detection, and one file or folder for each format |
//! | `tree` | trait `Tree`, its packed arena, and how dataset names become file names |
//! | `content` | what a file's bytes are |
//! | `array` | element types, byte order, shape; parts of arrays in memory |
//! | `codec` | decoding with random access, the block cache, the index and the spill on disk |
//! | `pool` | threads that are started as they are needed |
//! | `source` | where bytes come from, and whether they are still the same |
//! | `yaml` | YAML 1.1 as PyYAML reads and writes it, for headers and sidecars |
//! | [`error`] | the one error type, open to all |
//!
//! Imports point downward in this table, and no format knows another one; `tests/house.rs` keeps it so.

mod archive;
mod array;
#[doc(hidden)]
pub mod bench;
pub mod cli;
mod codec;
mod content;
pub mod error;
mod format;
mod fs;
mod fuse;
mod mount;
mod open;
mod pool;
mod source;
mod tree;
mod yaml;

pub use archive::{Archive, Checked, ColumnValues, Dataset, Extreme, Stats};
pub use array::{AnyArray, Array, Dtype, Element, Endian, Kind, Order, Scalar, Slab, Width};
pub use error::{Error, Result};
pub use format::ffrecord;
pub use format::{Add, Cell, Column, Compression, Item, Options, Writer};
pub use tree::{Checksum, ColumnInfo, Description, Table};
pub use yaml::{Node, Text, Value};
