//! Infers the types of columns as pandas does.
//!
//! A column is `bool` if all its cells are `true`, `True`, `TRUE` or their opposites; `int64` (or else `uint64`) if
//! they are integers; `float64` if they are numbers, empty, or one of pandas' words for missing values (both become
//! NaN), and no integer among them would be rounded; and otherwise text, unchanged.

use crate::array::{Element, Kind};
use crate::tree::ColumnInfo;

/// The words that pandas reads as missing values, besides an empty cell.
const MISSING: &[&str] = &[
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// The type that a cell would have by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meaning {
    Empty,
    /// A word for a missing value.
    Missing,
    Truth(bool),
    Whole(i128),
    /// An integer that fits no type.
    Huge,
    Number(f64),
    Text,
}

impl Meaning {
    pub fn of(cell: &str) -> Meaning {
        let bare = cell.trim_matches([' ', '\t']);
        match bare {
            _ if cell.is_empty() => return Meaning::Empty,
            "true" | "True" | "TRUE" => return Meaning::Truth(true),
            "false" | "False" | "FALSE" => return Meaning::Truth(false),
            _ => {}
        }
        let digits = bare.strip_prefix(['+', '-']).unwrap_or(bare);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return bare.parse().map_or(Meaning::Huge, Meaning::Whole);
        }
        if MISSING.contains(&cell) {
            return Meaning::Missing;
        }
        // pandas reads other spellings of NaN, such as the name Nan, as text.
        let number = bare.parse().ok().filter(|number: &f64| !number.is_nan());
        number.map_or(Meaning::Text, Meaning::Number)
    }
}

/// What occurs in a column.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    empty: bool,
    missing: bool,
    truth: bool,
    whole: bool,
    fraction: bool,
    text: bool,
    /// An integer that float64 would round.
    rounded: bool,
    least: i128,
    most: i128,
    /// Length of the longest cell, in bytes.
    width: u64,
}

impl Seen {
    pub fn add(&mut self, cell: &str) {
        self.width = self.width.max(cell.len() as u64);
        match Meaning::of(cell) {
            Meaning::Empty => self.empty = true,
            Meaning::Missing => self.missing = true,
            Meaning::Truth(_) => self.truth = true,
            Meaning::Number(_) => self.fraction = true,
            Meaning::Text | Meaning::Huge => self.text = true,
            Meaning::Whole(number) => {
                self.whole = true;
                self.least = self.least.min(number);
                self.most = self.most.max(number);
                self.rounded |= number as f64 as i128 != number;
            }
        }
    }

    pub fn column(&self, name: String) -> ColumnInfo {
        let element = self.element();
        let original = match element {
            None => "text",
            Some(_) if self.truth => "bool",
            Some(Element { kind: Kind::Float, .. }) => "float64",
            Some(_) if self.most > i64::MAX.into() => "uint64",
            Some(_) => "int64",
        };
        let width = element.map_or(self.width, |element| element.size.into());
        ColumnInfo { name, element, big_endian: false, width, original: original.into() }
    }

    /// None for text. Integers and booleans get the narrowest type.
    fn element(&self) -> Option<Element> {
        let numbers = self.whole || self.fraction;
        let gaps = self.empty || self.missing;
        if self.text || self.truth && (numbers || gaps) || !numbers && self.missing {
            None
        } else if self.truth {
            Element::narrowest(0, 1)
        } else if self.whole && !self.fraction && !gaps {
            Element::narrowest(self.least, self.most)
        } else if (numbers || self.empty) && !self.rounded {
            Element::from_name("float64")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types of a column of these cells, as stored and as readers see it.
    fn types(cells: &[&str]) -> (String, String) {
        let mut seen = Seen::default();
        cells.iter().for_each(|cell| seen.add(cell));
        let column = seen.column("x".into());
        let stored = column.element.and_then(Element::name).unwrap_or("text");
        (stored.to_owned(), column.original)
    }

    #[test]
    fn types_as_pandas_finds_them() {
        let cases: [(&[&str], &str, &str); 23] = [
            (&["1", "200"], "uint8", "int64"),
            (&["-1", "+5", " 7 "], "int8", "int64"),
            (&["0", "9223372036854775807"], "uint64", "int64"),
            (&["0", "9223372036854775808"], "uint64", "uint64"),
            (&["-1", "9223372036854775808"], "text", "text"),
            (&["18446744073709551616"], "text", "text"),
            (&["1", ""], "float64", "float64"),
            (&["1", "NA", "2.5"], "float64", "float64"),
            (&["9007199254740993", ""], "text", "text"),
            (&["9007199254740992", "0.5"], "float64", "float64"),
            (&["1e5", "-inf", "nan", ".5", "1."], "float64", "float64"),
            (&["", ""], "float64", "float64"),
            (&["NA", ""], "text", "text"),
            (&["NA", "DE"], "text", "text"),
            (&["1.5", "Nan"], "text", "text"),
            (&["1.5", "-NAN"], "text", "text"),
            (&["True", "false"], "uint8", "bool"),
            (&["True", ""], "text", "text"),
            (&["True", "1"], "text", "text"),
            (&["1", "x"], "text", "text"),
            (&["0x10"], "text", "text"),
            (&["1_000"], "text", "text"),
            (&[], "text", "text"),
        ];
        for (cells, stored, original) in cases {
            assert_eq!(types(cells), (stored.to_owned(), original.to_owned()), "{cells:?}");
        }
    }
}
