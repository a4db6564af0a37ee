//! `NAME.npy`: a header, then the elements as they are, from a multiple of 64 bytes on, or on a page of their own where
//! there are many. A table is an array of structures, made of its columns for each range that is asked for; its texts
//! are bytes (`S`).

use std::sync::Arc;

use super::frame::is_truth;
use super::rows::Rows;
use super::{Dataset, Representation, View};
use crate::array::names::distinct;
use crate::array::numpy::python_literal;
use crate::array::{Dtype, Endian, Order, byte_len, npy};
use crate::content::{Content, joined};
use crate::tree::{ColumnInfo, Description, Table};
use crate::{Error, Result};

/// Arrays of at least this many bytes begin on a page boundary, where they are as fast to map as the dataset's own
/// file.
const MANY: u64 = 1 << 20;
const PAGE: usize = 4096;
/// ... unless that makes the header longer than numpy opens by default: 10,000 bytes.
const MAX_LEN: usize = 2 * PAGE;

pub struct Npy;

impl View for Npy {
    fn kind(&self) -> &'static str {
        "npy"
    }

    fn extension(&self) -> &'static str {
        ".npy"
    }

    fn shows(&self, about: &Description) -> bool {
        about.array.is_some() || about.table.is_some()
    }

    fn represent(&self, dataset: &Dataset) -> Result<Representation> {
        let about = dataset.about();
        match (&about.array, &about.table) {
            (Some(array), _) => {
                let len = byte_len(array.dtype.element, &array.shape);
                let header = header(&array.descr(), array.order, &array.shape, len);
                Ok(with_header(header, dataset.elements(array)?))
            }
            (None, Some(table)) => structures(dataset, table),
            (None, None) => Err(Error::NotFound),
        }
    }
}

fn structures(dataset: &Dataset, table: &Table) -> Result<Representation> {
    let columns = dataset.exactly(table.byte_len())?;
    let header = header(&descr(table), Order::C, &[table.rows], table.byte_len());
    Ok(with_header(
        header,
        match columns {
            Content::Broken { .. } => columns,
            columns if table.byte_len() == Some(0) => columns,
            columns => Content::Computed(Arc::new(Rows::new(table, columns))),
        },
    ))
}

fn header(descr: &str, order: Order, shape: &[u64], len: Option<u64>) -> Vec<u8> {
    let before = |boundary| npy::header_before(boundary, descr, order, shape);
    let paged = len.filter(|len| *len >= MANY).map(|_| before(PAGE));
    paged.filter(|header| header.len() <= MAX_LEN).unwrap_or_else(|| before(64))
}

/// What makes no sense has no header either.
fn with_header(header: Vec<u8>, elements: Content) -> Representation {
    Representation::File(match elements {
        Content::Broken { claimed, error } => {
            Content::Broken { claimed: claimed.saturating_add(header.len() as u64), error }
        }
        elements => joined(vec![Content::Inline(header.into()), elements]),
    })
}

/// Fields must have names of their own.
fn descr(table: &Table) -> String {
    let names = distinct(table.columns.iter().map(|column| column.name.as_str()));
    let field = |(column, name): (&ColumnInfo, &String)| {
        let endian = if column.big_endian { Endian::Big } else { Endian::Little };
        let of = match column.element {
            Some(element) if is_truth(column, element) => "|b1".into(),
            Some(element) => Dtype { element, endian }.to_string(),
            None => format!("|S{}", column.width),
        };
        format!("({}, '{of}')", python_literal(name))
    };
    format!("[{}]", table.columns.iter().zip(&names).map(field).collect::<Vec<_>>().join(", "))
}
