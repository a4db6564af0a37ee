//! Describes non-numeric elements down to their numbers and text. The only place that interprets a [`Record`], whether
//! by its fields or by numpy's type string.

use super::npy::{Literal, descr, parse_literal};
use super::{Cell, Record, Times};

use super::MAX_AXES;

#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    Cell(Cell),
    Times(Times),
    /// A numpy type that is not interpreted, and its size in bytes.
    Other(Box<str>, u64),
    /// Without padding.
    Fields(Vec<Part>),
    /// An array of this shape within the element, in C order. Its size in bytes is never 0, since a header could claim
    /// any shape for that.
    List(Vec<u64>, Box<Meaning>),
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    /// numpy's title, a second name.
    pub title: Option<String>,
    /// Offset in the element, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    pub of: Meaning,
}

impl Part {
    /// The field's bytes within an element.
    pub fn of_item<'i>(&self, item: &'i [u8]) -> &'i [u8] {
        let (start, size) = (self.offset as usize, self.size as usize);
        item.get(start..).and_then(|rest| rest.get(..size)).unwrap_or_default()
    }
}

impl Meaning {
    pub fn of(record: &Record) -> Meaning {
        if let Some(text) = record.foreign_type() {
            let unknown = || Meaning::Other(text.into(), record.size());
            return foreign(text).unwrap_or_else(|_| unknown());
        }
        if let Some(cell) = record.cell() {
            return Meaning::Cell(cell);
        }
        let parts = record.fields().iter().map(|field| {
            let cell = Meaning::Cell(field.cell);
            let of = field.repeat.map_or(cell.clone(), |count| list(vec![count], cell, field.size()));
            Part { name: field.name.clone(), title: None, offset: field.offset, size: field.size(), of }
        });
        Meaning::fields(parts)
    }

    /// Leaves out padding, which is void and has no name.
    fn fields(parts: impl Iterator<Item = Part>) -> Meaning {
        let is_filling =
            |part: &Part| part.name.is_empty() && matches!(part.of, Meaning::Cell(Cell::Void(_)));
        Meaning::Fields(parts.filter(|part| !is_filling(part)).collect())
    }

    /// Equality that ignores byte order and the offsets of fields.
    pub fn is_like(&self, other: &Meaning) -> bool {
        match (self, other) {
            (Meaning::Cell(a), Meaning::Cell(b)) => match (a, b) {
                (Cell::Number(a), Cell::Number(b)) => a.element == b.element,
                (Cell::Unicode(a, _), Cell::Unicode(b, _)) => a == b,
                (a, b) => a == b,
            },
            (Meaning::Times(a), Meaning::Times(b)) => a.is_like(b),
            (Meaning::Fields(a), Meaning::Fields(b)) => {
                let is_like = |(a, b): (&Part, &Part)| {
                    (&a.name, &a.title) == (&b.name, &b.title) && a.of.is_like(&b.of)
                };
                a.len() == b.len() && a.iter().zip(b).all(is_like)
            }
            (Meaning::List(a, of_a), Meaning::List(b, of_b)) => a == b && of_a.is_like(of_b),
            (a, b) => a == b,
        }
    }
}

/// Splits a list of this shape into the bytes of its elements.
pub fn elements<'i>(shape: &[u64], item: &'i [u8]) -> impl Iterator<Item = &'i [u8]> + use<'i> {
    let count: u64 = shape.iter().product();
    item.chunks_exact((item.len() / (count.max(1) as usize)).max(1))
}

fn list(shape: Vec<u64>, of: Meaning, size: u64) -> Meaning {
    match size {
        0 => Meaning::Other("".into(), 0),
        _ => Meaning::List(shape, of.into()),
    }
}

fn foreign(text: &str) -> Result<Meaning, String> {
    match text.starts_with('[') {
        true => of_literal(&parse_literal(text)?),
        false => of_literal(&Literal::Str(text.into())),
    }
}

/// Interprets a type as written in a .npy header.
fn of_literal(literal: &Literal) -> Result<Meaning, String> {
    match literal {
        Literal::List(fields) => {
            let mut offset = 0u64;
            let parts = fields.iter().map(|field| {
                let part = part(field, offset)?;
                offset = offset.checked_add(part.size).ok_or("it is too large")?;
                Ok(part)
            });
            let parts: Vec<Part> = parts.collect::<Result<_, String>>()?;
            Ok(Meaning::fields(parts.into_iter()))
        }
        Literal::Tuple(pair) => match pair.as_slice() {
            [of, sizes] => shaped(of, sizes, descr(literal)?.size),
            _ => Err("a type is a tuple of other than two items".into()),
        },
        other => {
            let found = descr(other)?;
            let cell = found.dtype.map(Cell::Number).or_else(|| found.record.as_ref()?.cell());
            let times = || Times::named(&found.text).map(Meaning::Times);
            let known = cell.map(Meaning::Cell).or_else(times);
            Ok(known.unwrap_or_else(|| Meaning::Other(found.text.clone().into(), found.size)))
        }
    }
}

/// A field at this offset.
fn part(field: &Literal, offset: u64) -> Result<Part, String> {
    // The size of a structure with only this field.
    let size = descr(&Literal::List(vec![field.clone()]))?.size;
    let Literal::Tuple(items) = field else { return Err("it is not a tuple".into()) };
    let (name, of) = match items.as_slice() {
        [name, of] => (name, of_literal(of)?),
        [name, of, sizes] => (name, shaped(of, sizes, size)?),
        _ => return Err("it has neither two nor three items".into()),
    };
    let (title, name) = match name {
        Literal::Str(name) => (None, name),
        Literal::Tuple(names) => match names.as_slice() {
            [Literal::Str(title), Literal::Str(name)] => (Some(title.clone()), name),
            _ => return Err("its name is other than a title and a name".into()),
        },
        _ => return Err("its name is not a string".into()),
    };
    Ok(Part { name: name.clone(), title, offset, size, of })
}

fn shaped(of: &Literal, sizes: &Literal, size: u64) -> Result<Meaning, String> {
    let sizes = match sizes {
        Literal::Tuple(sizes) => sizes.as_slice(),
        one => std::slice::from_ref(one),
    };
    let shape = sizes.iter().map(|size| match size {
        Literal::Int(size) => u64::try_from(*size).map_err(|_| "a size is negative".to_owned()),
        _ => Err("a size is not a number".into()),
    });
    if shape.len() > MAX_AXES {
        return Err(format!("a shape has more than {MAX_AXES} sizes"));
    }
    let (shape, of) = (shape.collect::<Result<Vec<_>, _>>()?, of_literal(of)?);
    Ok(if shape.is_empty() { of } else { list(shape, of, size) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endian;

    fn of(text: &str) -> Meaning {
        Meaning::of(&Record::foreign(text, 100).unwrap())
    }

    #[test]
    fn types_are_alike_but_for_byte_order_and_place() {
        let alike = |a: &str, b: &str| of(a).is_like(&of(b));
        assert!(alike("[('a', '<i4'), ('b', '<M8[s]')]", "[('a', '>i4'), ('', '|V4'), ('b', '>M8[s]')]"));
        assert!(!alike("[('a', '<i4'), ('b', '<i4')]", "[('b', '<i4'), ('a', '<i4')]"));
        assert!(!alike("[('a', '<i4')]", "[('a', '<u4')]") && !alike("<M8[s]", "<M8[ms]"));
        assert!(alike("[('a', '<U3', (2, 3))]", "[('a', '>U3', (2, 3))]"));
        assert!(!alike("[('a', '<U3', (2, 3))]", "[('a', '<U3', (3, 2))]") && !alike("<f16", ">f16"));
        assert!(!alike("[('a', [('x', '<i2')])]", "[('a', [('y', '<i2')])]"));
        assert!(!alike("[(('t', 'a'), '<i4')]", "[(('u', 'a'), '<i4')]"));
    }

    #[test]
    fn fields_have_their_places() {
        let Meaning::Fields(parts) = of("[('a', '|u1'), ('', '|V3'), ('b', [('x', '<i2')], (2, 1))]") else {
            panic!()
        };
        let places: Vec<_> = parts.iter().map(|part| (part.name.as_str(), part.offset, part.size)).collect();
        assert_eq!(places, [("a", 0, 1), ("b", 4, 4)]);
        assert_eq!(elements(&[2, 1], &[1, 2, 3, 4]).collect::<Vec<_>>(), [[1, 2], [3, 4]]);
        let named = Meaning::of(&Record::parse("S3,2u2", Endian::Little).unwrap());
        assert_eq!(named, of("[('f0', 'S3'), ('f1', '<u2', (2,))]"));
    }

    #[test]
    fn axes_are_not_without_end() {
        let of_axes = |count: usize| of(&format!("[('a', '|u1', ({}))]", "1, ".repeat(count)));
        assert!(matches!(of_axes(64), Meaning::Fields(_)) && matches!(of_axes(65), Meaning::Other(..)));
    }

    #[test]
    fn a_list_without_bytes_is_not_gone_through() {
        let huge = of("[('a', '<U0', (1152921504606846976,)), ('b', '|u1')]");
        let Meaning::Fields(parts) = huge else { panic!() };
        assert_eq!(parts[0].of, Meaning::Other("".into(), 0));
    }
}
