//! Selects columns and rows of a table by an index: `x`, `10:20, x, y`, `"1", -1`.

use super::{Slab, Term, is_index, terms};

/// Maximum number of column names listed in a message.
const MAX_NAMED: usize = 20;

/// The selected columns by number, in the order named (all if none is named), and the selected rows. A quoted term is a
/// column; an unquoted number or slice selects rows. If the whole expression is a column's name, its commas need no
/// quotes.
pub(crate) fn select(expression: &str, columns: &[&str], rows: u64) -> Result<(Vec<usize>, Slab), String> {
    let all_rows = Slab::whole(&[rows]);
    let whole = expression.trim();
    if let Some(column) = position(whole, columns).filter(|_| !is_index(whole)) {
        return Ok((vec![column], all_rows));
    }
    if let Ok(rows) = Slab::rows_or_row(whole, rows) {
        return Ok(((0..columns.len()).collect(), rows));
    }
    let (mut chosen, mut chosen_rows) = (Vec::new(), None);
    for term in terms(expression)? {
        match term {
            Term::Name(name) => chosen.push(named(name, columns)?),
            Term::Bare(index) if is_index(index) => {
                if chosen_rows.replace(Slab::rows_or_row(index, rows)?).is_some() {
                    return Err(format!("{expression:?} has two ranges of rows"));
                }
            }
            Term::Bare(name) => chosen.push(named(name, columns)?),
        }
    }
    if chosen.is_empty() {
        chosen = (0..columns.len()).collect();
    }
    Ok((chosen, chosen_rows.unwrap_or(all_rows)))
}

fn position(name: &str, columns: &[&str]) -> Option<usize> {
    columns.iter().position(|column| *column == name)
}

fn named(name: &str, columns: &[&str]) -> Result<usize, String> {
    position(name, columns).ok_or_else(|| {
        let names = columns.iter().take(MAX_NAMED).map(|column| format!("{column:?}"));
        let more = match columns.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("has no column {name:?}; its columns are {}{more}", names.collect::<Vec<_>>().join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(expression: &str) -> Result<(Vec<usize>, u64), String> {
        select(expression, &["x", "1", "a,b", "c[0]", "it's"], 10)
            .map(|(columns, rows)| (columns, rows.len()))
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
            ("::2, ...", &[0, 1, 2, 3, 4], 5),
        ] {
            assert_eq!(parsed(expression), Ok((columns.to_vec(), rows)), "{expression}");
        }
        for wrong in ["y", "'y'", "1:2, 3:4", "10", "x, y", "'x", ""] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        assert!(parsed("y").unwrap_err().starts_with("has no column \"y\"; its columns are \"x\", \"1\""));
    }
}
