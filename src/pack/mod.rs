//! Packing: files and directories become the datasets of a container. First everything is planned, and what
//! cannot be packed is found out; only then is anything written.
//!
//! | from the outside in | |
//! |---|---|
//! | `plan` | the datasets that the arguments become, in their order, no name twice |
//! | `rules` | what becomes of one file, by its extension and the options |
//! | `sidecar` | files that a mount's sidecars describe |
//! | `walk` | the files of a directory |
//! | `write` | the plan carried out |
//! | `input`, `opened` | where a dataset's bytes come from |
//! | `npz`, `dataframe` | archives of arrays; tables of text |
//! | `transpose` | arrays in the other order, larger than memory |

mod dataframe;
mod input;
mod npz;
mod opened;
mod plan;
mod rules;
mod sidecar;
pub mod transpose;
mod walk;
mod write;

use std::sync::Arc;

pub use plan::{Plan, plan};
pub use write::write;

use crate::array::Order;
use crate::format::Compression;
use crate::yaml::{Node, Text};

/// How files become datasets.
pub struct Options {
    /// The name of the only input.
    pub name: Option<Text>,
    /// Files that are nothing else are texts.
    pub text: bool,
    /// `.yaml`, `.yml` and `.json` are objects.
    pub objects: bool,
    /// `.csv` are dataframes.
    pub dataframes: bool,
    /// For every dataset; by default only for those whose sidecar says that they were compressed.
    pub compression: Option<Compression>,
    /// For every array; by default the order it has.
    pub order: Option<Order>,
    /// Of datasets without sidecar: a mapping, or null.
    pub metadata: Arc<Node>,
}
