//! Packs files and directories as the datasets of a container. Everything is planned first, which finds what cannot be
//! packed; only then is anything written.
//!
//! | module | purpose |
//! |---|---|
//! | `plan` | turns the arguments into datasets, in order and with unique names |
//! | `rules` | turns one file into datasets, by its extension and the options |
//! | `sidecar` | finds files that a mount's sidecars describe |
//! | `walk` | lists the files of a directory |
//! | `write` | executes the plan |
//! | `input`, `opened` | the sources of datasets' bytes |
//! | `npz`, `dataframe` | archives of arrays; CSV tables |
//! | `transpose` | converts arrays between C and F order, even if they are larger than memory |

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

/// How to turn files into datasets.
pub struct Options {
    /// The name of the only input.
    pub name: Option<Text>,
    /// Store files that are nothing else as text.
    pub text: bool,
    /// Store `.yaml`, `.yml` and `.json` files as objects.
    pub objects: bool,
    /// Store `.csv` files as dataframes.
    pub dataframes: bool,
    /// Compression of every dataset; by default only those that were compressed according to their sidecars.
    pub compression: Option<Compression>,
    /// Order of every array's elements; by default each keeps its own.
    pub order: Option<Order>,
    /// Metadata of datasets without a sidecar: a mapping, or null.
    pub metadata: Arc<Node>,
}
