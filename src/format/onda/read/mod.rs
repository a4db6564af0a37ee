//! Reading Onda's tables and the files of samples that their rows name.
//!
//! | from the bytes up | |
//! |---|---|
//! | `arrow` | Arrow tables, read without trusting them |
//! | `schema` | which of Onda's tables a table is |
//! | `table`, `logical`, `spans` | its typed rows; columns of integers that mean times and the like; time spans as samples |
//! | `rules` | what Onda requires of rows |
//! | `samples`, `decoded` | the file of a signal: where it is and what its bytes are; decoding compressed ones |
//! | `set` | all tables that were opened together, as datasets |

pub mod arrow;
pub mod decoded;
pub mod logical;
pub mod rules;
pub mod samples;
pub mod schema;
pub mod set;
pub mod spans;
pub mod table;
