//! The files that a mount shows of an array.
//!
//! | | |
//! |---|---|
//! | `path`, `layout`, `index` | where files are, which there are, and how datasets are found by name |
//! | `computed` | offsets, counts and strings, which no member holds as they are |
//! | `meta`, `type_text`, `dtype_text` | sidecars, and types as the reference prints them |
//! | `derived` | the files below `.views` |

pub mod computed;
pub mod derived;
pub mod dtype_text;
pub mod index;
pub mod layout;
pub mod meta;
pub mod path;
pub mod type_text;
