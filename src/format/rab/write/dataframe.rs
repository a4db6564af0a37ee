//! Writes dataframes column by column, each contiguous. Integers are stored in the narrowest type that holds them all,
//! booleans as bytes, text padded with NUL bytes to the longest cell, floats unchanged.

use std::collections::{HashSet, VecDeque};
use std::io::Read;

use super::header::{Codec, int, list, map};
use crate::array::{Element, Endian};
use crate::format::writer::input::{Chain, Pieces};
use crate::tree::{ColumnInfo, Table};
use crate::yaml::{Node, Text};

/// Cells per piece.
const PIECE: usize = 4 << 10;

/// A column of a dataframe.
pub struct Column<'a> {
    key: Text,
    /// The column's original type.
    original: &'static str,
    cells: Cells<'a>,
}

pub enum Cells<'a> {
    Plain {
        stored: &'static str,
        bytes: &'a [u8],
        rows: usize,
    },
    /// Starts again at each call.
    Ints(Box<dyn Fn() -> Box<dyn ExactSizeIterator<Item = i128> + 'a> + 'a>),
    Texts(Vec<&'a str>),
}

/// Types of cells in a column: booleans, integers, `f32`, `f64` and text.
pub trait ColumnValue: Sized {
    const NAME: &'static str;

    #[doc(hidden)]
    fn cells(all: &[Self]) -> Cells<'_>;
}

macro_rules! ints {
    ($($type:ident $name:literal)*) => {
        $(impl ColumnValue for $type {
            const NAME: &'static str = $name;

            fn cells(all: &[$type]) -> Cells<'_> {
                Cells::Ints(Box::new(move || Box::new(all.iter().map(|cell| i128::from(*cell)))))
            }
        })*
    };
}

macro_rules! plain {
    ($($type:ident $name:literal $stored:literal)*) => {
        $(impl ColumnValue for $type {
            const NAME: &'static str = $name;

            fn cells(all: &[$type]) -> Cells<'_> {
                Cells::Plain { stored: $stored, bytes: bytemuck::cast_slice(all), rows: all.len() }
            }
        })*
    };
}

macro_rules! texts {
    ($($type:ty)*) => {
        $(impl ColumnValue for $type {
            const NAME: &'static str = "text";

            fn cells(all: &[Self]) -> Cells<'_> {
                Cells::Texts(all.iter().map(AsRef::as_ref).collect())
            }
        })*
    };
}

ints!(i8 "int8" i16 "int16" i32 "int32" i64 "int64" u8 "uint8" u16 "uint16" u32 "uint32" u64 "uint64");
plain!(bool "bool" "uint8" f32 "float32" "float32" f64 "float64" "float64");
texts!(&str String);

impl<'a> Column<'a> {
    pub fn new<T: ColumnValue>(key: impl Into<Text>, cells: &'a [T]) -> Column<'a> {
        Column { key: key.into(), original: T::NAME, cells: T::cells(cells) }
    }

    fn rows(&self) -> usize {
        match &self.cells {
            Cells::Plain { rows, .. } => *rows,
            Cells::Ints(cells) => cells().len(),
            Cells::Texts(cells) => cells.len(),
        }
    }

    fn describe(&self) -> Node {
        let (stored, endian) = match &self.cells {
            Cells::Plain { stored, .. } => (*stored, Endian::NATIVE),
            Cells::Ints(cells) => (narrowest(cells()).0, Endian::Little),
            Cells::Texts(_) => ("text", Endian::Little),
        };
        let endian = match (stored, endian) {
            ("text" | "int8" | "uint8", _) => "na",
            (_, Endian::Little) => "little",
            (_, Endian::Big) => "big",
        };
        let pairs = [
            ("encodingType", Node::text(stored)),
            ("endianess", Node::text(endian)),
            ("key", Node::Str(self.key.clone())),
        ];
        let width = if let Cells::Texts(cells) = &self.cells {
            Some(("maxByteSize", int(width(cells))))
        } else {
            None
        };
        map(pairs.into_iter().chain(width).chain([("originalType", Node::text(self.original))]))
    }

    fn reader(&self) -> Box<dyn Read + '_> {
        match &self.cells {
            Cells::Plain { bytes, .. } => Box::new(*bytes),
            Cells::Ints(cells) => {
                let size = narrowest(cells()).1;
                let mut cells = cells();
                Box::new(Pieces::new(move |piece: &mut Vec<u8>| {
                    cells
                        .by_ref()
                        .take(PIECE)
                        .for_each(|cell| piece.extend(cell.to_le_bytes().iter().take(size)));
                }))
            }
            Cells::Texts(cells) => {
                let width = width(cells);
                let mut cells = cells.iter();
                Box::new(Pieces::new(move |piece: &mut Vec<u8>| {
                    // Text of width 0 has no bytes at all.
                    let most = (8 * PIECE).checked_div(width).map_or(0, |most| most.max(1));
                    for cell in cells.by_ref().take(most) {
                        let end = piece.len() + width;
                        piece.extend_from_slice(cell.as_bytes());
                        piece.resize(end, 0);
                    }
                }))
            }
        }
    }
}

/// The length of the longest text, in bytes.
fn width(cells: &[&str]) -> usize {
    cells.iter().map(|cell| cell.len()).max().unwrap_or(0)
}

/// The narrowest type that holds all cells, and its size in bytes.
fn narrowest(cells: impl Iterator<Item = i128>) -> (&'static str, usize) {
    let (least, most) = cells.fold((0, 0), |(least, most), cell| (cell.min(least), cell.max(most)));
    let found = Element::narrowest(least, most);
    found.and_then(|element| Some((element.name()?, element.size as usize))).unwrap_or(("int64", 8))
}

/// The codecMeta of a table; the error says why the columns do not form one.
pub fn describe(columns: &[Column<'_>]) -> Result<Codec, String> {
    let rows = columns.first().map_or(0, Column::rows);
    let mut keys = HashSet::new();
    for column in columns {
        let (key, have) = (column.key.lossy(), column.rows());
        if have != rows {
            return Err(format!("its column {key:?} has {have} rows, the first one has {rows}"));
        }
        if !keys.insert(column.key.as_bytes()) {
            return Err(format!("it has two columns {key:?}"));
        }
        if let Cells::Texts(cells) = &column.cells
            && cells.iter().any(|cell| cell.ends_with('\0'))
        {
            return Err(format!("its column {key:?} has a string that ends in a NUL, which would be lost"));
        }
    }
    Ok(Codec::from([
        ("type", Node::text("dataframe")),
        ("rows", int(rows)),
        ("columns", int(columns.len())),
        ("columnInfo", list(columns.iter().map(Column::describe))),
    ]))
}

/// The codecMeta of an already encoded table.
pub fn codec(table: &Table) -> Codec {
    Codec::from([
        ("type", Node::text("dataframe")),
        ("rows", int(table.rows)),
        ("columns", int(table.columns.len())),
        ("columnInfo", list(table.columns.iter().map(stored_column))),
    ])
}

fn stored_column(column: &ColumnInfo) -> Node {
    let endian = match column.element {
        Some(element) if element.size > 1 => {
            if column.big_endian {
                "big"
            } else {
                "little"
            }
        }
        _ => "na",
    };
    let stored = column.element.and_then(Element::name).unwrap_or("text");
    let pairs = [
        ("encodingType", Node::text(stored)),
        ("endianess", Node::text(endian)),
        ("key", Node::text(&column.name)),
    ];
    let width = if column.element.is_none() { Some(("maxByteSize", int(column.width))) } else { None };
    map(pairs.into_iter().chain(width).chain([("originalType", Node::text(&column.original))]))
}

/// The bytes of the table.
pub fn reader<'a>(columns: &'a [Column<'_>]) -> impl Read + 'a {
    Chain(columns.iter().map(Column::reader).collect::<VecDeque<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_stored_as_narrow_as_can_be() {
        let cases: [(&[i128], &str); 9] = [
            (&[], "uint8"),
            (&[0, 255], "uint8"),
            (&[-1, 127], "int8"),
            (&[5, 256], "uint16"),
            (&[-1, 128], "int16"),
            (&[-129, 65535], "int32"),
            (&[1 << 32], "uint64"),
            (&[-1, 1 << 31], "int64"),
            (&[i64::MIN.into(), i64::MAX.into()], "int64"),
        ];
        for (cells, name) in cases {
            assert_eq!(narrowest(cells.iter().copied()).0, name, "{cells:?}");
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let message = |columns: &[Column<'_>]| describe(columns).unwrap_err();
        let (one, two): (&[i32], &[i32]) = (&[1], &[1, 2]);
        assert!(message(&[Column::new("a", one), Column::new("b", two)]).contains("\"b\" has 2 rows"));
        assert!(message(&[Column::new("a", one), Column::new("a", one)]).contains("two columns \"a\""));
        assert!(message(&[Column::new("a", &["x", "y\0"])]).contains("ends in a NUL"));
    }
}
