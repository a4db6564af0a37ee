//! Dataframes, column by column, each with the type that the container records as its original one.

use super::Dataset;
use crate::Result;
use crate::array::{AnyArray, Array, Dtype, Element, Endian, Order, Slab, trimmed};
use crate::content::Content;
use crate::tree::{ColumnInfo, Table};

/// Maximum number of rows without a single byte.
const MAX_EMPTY: u64 = 1 << 24;

/// The cells of a column of a dataframe.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// An array of one axis.
    Values(AnyArray),
    Texts(Vec<String>),
}

impl Dataset<'_> {
    /// The columns of a dataframe with their names.
    ///
    /// # Errors
    /// If the dataset is not a dataframe, does not fit into memory, is damaged or cannot be read.
    ///
    /// # Examples
    /// ```
    /// let archive = rab::Archive::open("tests/data/rab/dataframe.rab")?;
    /// let columns = archive.dataset("table")?.columns()?;
    /// assert_eq!(columns.len(), 6);
    /// let (name, rab::ColumnValues::Values(rab::AnyArray::Int64(count))) = &columns[1] else { panic!() };
    /// assert_eq!((name.as_str(), count[[3]]), ("count", 2993));
    /// # Ok::<(), rab::Error>(())
    /// ```
    pub fn columns(&self) -> Result<Vec<(String, ColumnValues)>> {
        let table = self.description().table.as_ref();
        let table = table.ok_or_else(|| self.other(&format!("is {}, not a dataframe", self.kind())))?;
        self.described_well()?;
        if table.rows > MAX_EMPTY && table.columns.iter().all(|column| column.width == 0) {
            return Err(self.damaged(format!("it has {} rows without a byte", table.rows)));
        }
        let content = self.content()?;
        let mut offset = 0;
        let mut columns = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            columns.push((column.name.clone(), self.column(column, table, &content, offset)?));
            // All of them together fit into 64 bits, or the description has a fault.
            offset += table.rows * column.width;
        }
        Ok(columns)
    }

    fn column(
        &self,
        column: &ColumnInfo,
        table: &Table,
        content: &Content,
        offset: u64,
    ) -> Result<ColumnValues> {
        let Some(element) = column.element else {
            return self.texts(column, table.rows, content, offset).map(ColumnValues::Texts);
        };
        let endian = if column.big_endian { Endian::Big } else { Endian::Little };
        let array = Array::new(Dtype { element, endian }, [table.rows], Order::C);
        let stored = AnyArray::read(&array, &Slab::whole(&array.shape), &mut |buf, at| {
            content.fill(buf, offset + at)
        })?;
        let original = Element::from_name(&column.original).and_then(|element| stored.to_element(element));
        Ok(ColumnValues::Values(original.unwrap_or(stored)))
    }

    fn texts(&self, column: &ColumnInfo, rows: u64, content: &Content, offset: u64) -> Result<Vec<String>> {
        let too_large = || self.other(&format!("column {:?} does not fit into memory", column.name));
        let width = usize::try_from(column.width).map_err(|_| too_large())?;
        let mut texts = Vec::new();
        let rows = usize::try_from(rows).ok().filter(|rows| texts.try_reserve_exact(*rows).is_ok());
        let rows = rows.ok_or_else(too_large)?;
        let mut cell = Vec::new();
        cell.try_reserve_exact(width).map_err(|_| too_large())?;
        cell.resize(width, 0);
        for row in 0..rows as u64 {
            if width > 0 {
                content.fill(&mut cell, offset + row * column.width)?;
            }
            let text = std::str::from_utf8(trimmed(&cell));
            let wrong = |_| self.other(&format!("row {row} of column {:?} is not UTF-8", column.name));
            texts.push(text.map_err(wrong)?.to_owned());
        }
        Ok(texts)
    }
}

impl AnyArray {
    /// The same values as another type; None where that has no room for them.
    fn to_element(&self, element: Element) -> Option<AnyArray> {
        AnyArray::from_scalars(element, &self.scalars())
    }
}
