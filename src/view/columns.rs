//! Columns and rows of a table by an index: `x`, `10:20, x, y`, `"1", -1`.

use crate::array::{Slab, Term, is_index, terms};
use crate::tree::Table;

/// Names of columns that a message gives.
const MAX_NAMED: usize = 20;

/// The numbers of the columns, in the order in which they are named (all if none is), and the rows. A term in quotes is a
/// column; of the others a number or a slice is of rows. What is a column's name as a whole needs no quotes for its
/// commas.
pub fn parse(expression: &str, table: &Table) -> Result<(Vec<usize>, Slab), String> {
    let all_rows = Slab::whole(&[table.rows]);
    let whole = expression.trim();
    if let Some(column) = position(whole, table).filter(|_| !is_index(whole)) {
        return Ok((vec![column], all_rows));
    }
    let (mut columns, mut rows) = (Vec::new(), None);
    for term in terms(expression)? {
        match term {
            Term::Name(name) => columns.push(named(name, table)?),
            Term::Bare(index) if is_index(index) => {
                if rows.replace(Slab::rows_or_row(index, table.rows)?).is_some() {
                    return Err(format!("{expression:?} has two ranges of rows"));
                }
            }
            Term::Bare(name) => columns.push(named(name, table)?),
        }
    }
    if columns.is_empty() {
        columns = (0..table.columns.len()).collect();
    }
    Ok((columns, rows.unwrap_or(all_rows)))
}

fn position(name: &str, table: &Table) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name)
}

fn named(name: &str, table: &Table) -> Result<usize, String> {
    position(name, table).ok_or_else(|| {
        let names = table.columns.iter().take(MAX_NAMED).map(|column| format!("{:?}", column.name));
        let more = match table.columns.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("has no column {name:?}; its columns are {}{more}", names.collect::<Vec<_>>().join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::kit;

    fn parsed(expression: &str) -> Result<(Vec<usize>, u64), String> {
        let names = [("x", "uint8"), ("1", "uint8"), ("a,b", "uint8"), ("c[0]", "uint8"), ("it's", "uint8")];
        parse(expression, &kit::table(10, &names)).map(|(columns, rows)| (columns, rows.len()))
    }

    #[test]
    fn columns_and_rows() {
        for (expression, columns, rows) in [
            ("x", &[0][..], 10),
            ("x, 2:5", &[0], 3),
            ("::2, it's, x", &[4, 0], 5),
            ("1", &[0, 1, 2, 3, 4], 1),
            ("'1'", &[1], 10),
            ("\"1\", -1", &[1], 1),
            ("a,b", &[2], 10),
            ("'a,b', 'x'", &[2, 0], 10),
            ("c[0]", &[3], 10),
            ("\"c[0]\", 0:0", &[3], 0),
            ("\"it's\"", &[4], 10),
            ("...", &[0, 1, 2, 3, 4], 10),
        ] {
            assert_eq!(parsed(expression), Ok((columns.to_vec(), rows)), "{expression}");
        }
        for wrong in ["y", "'y'", "1:2, 3:4", "10", "x, y", "'x", ""] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        assert!(parsed("y").unwrap_err().starts_with("has no column \"y\"; its columns are \"x\", \"1\""));
    }
}
