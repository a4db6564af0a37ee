//! Reads Onda's tables and the sample files listed in them.
//!
//! | module, lowest layer first | |
//! |---|---|
//! | `arrow` | reading untrusted Arrow tables |
//! | `schema` | detecting the kind of table |
//! | `table`, `logical`, `spans` | typed rows; numeric, date and time columns; sample ranges of time spans |
//! | `rules` | validating rows |
//! | `samples`, `decoded` | finding a signal's file; decoding compressed ones |
//! | `set` | the tables opened together, as datasets |

pub mod arrow;
pub mod decoded;
pub mod logical;
pub mod rules;
pub mod samples;
pub mod schema;
pub mod set;
pub mod spans;
pub mod table;
