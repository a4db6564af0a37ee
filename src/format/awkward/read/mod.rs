//! Reading the arrays of a container.
//!
//! | from the bytes up | |
//! |---|---|
//! | `budget` | how much memory and time one container may use |
//! | `store`, `lengths` | the members, and how long they are when decompressed |
//! | `document`, `schema`, `graph` | a schema member, the interpreter of its expression, and the arrays it describes |
//! | `dtype`, `encoding`, `pickle` | element types, encodings of strings, and the one pickle that is read |
//! | `array`, `check` | an array with its bytes: integers, and where lists begin and end; whether its parts fit together |
//! | `contiguous` | lists in the order of their content |

pub mod array;
pub mod budget;
pub mod check;
pub mod contiguous;
pub mod document;
pub mod dtype;
pub mod encoding;
pub mod graph;
pub mod lengths;
pub mod pickle;
pub mod schema;
pub mod store;
