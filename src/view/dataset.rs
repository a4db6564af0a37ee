//! A dataset as views see it: its description and its bytes. A part of an array or a range of rows is a dataset, too.

use std::sync::Arc;

use crate::array::{self, Array, Dtype, Element, Endian, Kind, Order, Slab};
use crate::content::{Content, hyperslab, joined};
use crate::tree::{ColumnInfo, Description, FileKind, Held, Table};
use crate::{Error, Result};

impl Part {
    /// The description of the whole, adapted to the part.
    fn narrowed(&self, about: Description) -> Description {
        let (mut array, mut table) = (about.array, about.table);
        let len = match self {
            Part::Elements(_, slab) => {
                array = array.map(|array| Array { shape: slab.shape().into(), ..array });
                array.as_ref().and_then(|array| array::byte_len(array.dtype.element, &array.shape))
            }
            Part::Rows(of, columns, slab) => {
                let picked =
                    || columns.iter().filter_map(|column| of.columns.get(*column).cloned()).collect();
                table = table.map(|_| Table { rows: slab.len(), columns: picked() });
                table.as_ref().and_then(Table::byte_len)
            }
        };
        Description {
            array,
            table,
            decoded_len: len,
            recorded_len: None,
            is_opaque: false,
            stored: None,
            checksum: None,
            ..about
        }
    }
}

/// Where a dataset is.
pub trait Origin: Send + Sync {
    /// Its whole description.
    fn describe(&self) -> Result<Description>;

    /// Its decoded bytes.
    fn content(&self) -> Result<Content>;
}

impl Origin for Held {
    fn describe(&self) -> Result<Description> {
        self.tree().describe(self.node())?.ok_or(Error::NotFound)
    }

    fn content(&self) -> Result<Content> {
        self.tree().content(self.node(), FileKind::Data)
    }
}

/// An array behind a header, as a container has it below its own `.views`.
struct Made(Arc<Held>);

impl Origin for Made {
    fn describe(&self) -> Result<Description> {
        self.0.tree().describe(self.0.node())?.ok_or(Error::NotFound)
    }

    /// Its elements, without the header.
    fn content(&self) -> Result<Content> {
        let whole = self.0.content()?;
        if let Content::Broken { .. } = whole {
            return Ok(whole);
        }
        let (len, elements) = (whole.len()?, self.describe()?.decoded_len.ok_or(Error::NotFound)?);
        let start = len.checked_sub(elements).ok_or(Error::NotFound)?;
        Ok(Content::Part { whole: Arc::new(whole), range: start..len })
    }
}

#[derive(Clone)]
pub struct Dataset {
    about: Arc<Description>,
    origin: Arc<dyn Origin>,
    /// What it is a part of, and which.
    part: Option<Arc<Part>>,
}

enum Part {
    Elements(Array, Slab),
    /// Columns of a table by their numbers, and rows.
    Rows(Table, Vec<usize>, Slab),
}

impl Dataset {
    /// `about` may lack metadata, codec and checksum.
    pub fn new(about: Description, origin: Arc<dyn Origin>) -> Dataset {
        Dataset { about: Arc::new(about), origin, part: None }
    }

    /// The dataset whose file `held` is; None if it is no dataset's.
    pub fn of(held: &Arc<Held>) -> Result<Option<Dataset>> {
        let about = held.tree().brief(held.node())?;
        Ok(about.map(|about| Dataset::new(about, held.clone())))
    }

    /// The array that a container has as a `.npy` file below its own `.views`; None if it is no such file.
    pub fn made(held: &Arc<Held>) -> Result<Option<Dataset>> {
        let about = held.tree().describe(held.node())?.filter(|about| about.has_header);
        Ok(about.map(|about| Dataset::new(about, Arc::new(Made(held.clone())))))
    }

    /// A part of its array, given as in numpy: `3, 10:20, ::2`, or rows and columns of its table: `10:20, x, "1"`. The
    /// error says what is wrong with that.
    pub fn part(&self, expression: &str) -> Result<Dataset, String> {
        if self.part.is_some() {
            return Err("it is already a part".into());
        }
        let part = match (&self.about.array, &self.about.table) {
            (Some(array), _) => Part::Elements(array.clone(), Slab::parse(expression, &array.shape)?),
            (None, Some(table)) => {
                let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
                let (columns, rows) = array::select(expression, &names, table.rows)?;
                Part::Rows(table.clone(), columns, rows)
            }
            (None, None) => {
                return Err(format!("it is {}, not an array", self.about.kind));
            }
        };
        Ok(self.narrowed(part))
    }

    fn narrowed(&self, part: Part) -> Dataset {
        let about = Arc::new(part.narrowed(Description::clone(&self.about)));
        Dataset { about, origin: self.origin.clone(), part: Some(Arc::new(part)) }
    }

    /// Its description, possibly without metadata, codec and checksum.
    pub fn about(&self) -> &Description {
        &self.about
    }

    /// Its whole description.
    pub fn describe(&self) -> Result<Description> {
        let about = self.origin.describe()?;
        Ok(match self.part.as_deref() {
            None => about,
            Some(part) => part.narrowed(about),
        })
    }

    /// Its decoded bytes.
    pub fn content(&self) -> Result<Content> {
        match self.part.as_deref() {
            None => self.origin.content(),
            Some(Part::Elements(array, slab)) => hyperslab(self.elements_of(array)?, array, slab),
            Some(Part::Rows(table, columns, slab)) => self.rows(table, columns, slab),
        }
    }

    /// Columns of a table again, each with some of its rows only.
    fn rows(&self, table: &Table, picked: &[usize], slab: &Slab) -> Result<Content> {
        let whole = self.first(self.origin.content()?, table.byte_len())?;
        if let Content::Broken { error, .. } = whole {
            let claimed = self.about.decoded_len.unwrap_or(1);
            return Ok(Content::Broken { claimed, error });
        }
        let place = |start: &mut u64, column: &ColumnInfo| {
            // All of them fit into the content.
            let end = *start + column.width * table.rows;
            Some((std::mem::replace(start, end)..end, column.width))
        };
        let places: Vec<_> = table.columns.iter().scan(0, place).collect();
        let mut columns = Vec::with_capacity(picked.len());
        let picked = picked.iter().filter_map(|column| places.get(*column));
        for (range, width) in picked.filter(|(_, width)| *width > 0) {
            let size = u32::try_from(*width);
            let size = size.map_err(|_| self.wrong("one of its columns is too wide for parts"))?;
            let dtype = Dtype { element: Element { kind: Kind::Opaque, size }, endian: Endian::Little };
            let cells = Array::new(dtype, [table.rows], Order::C);
            columns.push(hyperslab(whole.part(range.clone()), &cells, slab)?);
        }
        Ok(joined(columns))
    }

    /// The bytes of the array's elements, and no others.
    pub fn elements(&self, array: &Array) -> Result<Content> {
        if self.part.is_some() { self.content() } else { self.elements_of(array) }
    }

    fn elements_of(&self, array: &Array) -> Result<Content> {
        self.first(self.origin.content()?, array::byte_len(array.dtype.element, &array.shape))
    }

    /// The first `len` bytes, as many as its description says that it has.
    pub fn exactly(&self, len: Option<u64>) -> Result<Content> {
        self.first(self.content()?, len)
    }

    fn first(&self, content: Content, len: Option<u64>) -> Result<Content> {
        let Some(len) = len else { return Err(self.wrong("its shape does not fit into 64 bits")) };
        match content.known_len() {
            _ if matches!(content, Content::Broken { .. }) => Ok(content),
            Some(known) if known == len => Ok(content),
            Some(known) if known < len => {
                let error = self.wrong(&format!("it has {known} bytes, and its description says {len}"));
                Ok(Content::Broken { claimed: len, error })
            }
            _ => Ok(Content::Part { whole: Arc::new(content), range: 0..len }),
        }
    }

    /// Something of it makes no sense.
    pub fn wrong(&self, problem: &str) -> Error {
        let file = self.origin.content().ok().and_then(|content| content.file());
        Error::Other(format!("{}: {problem}", file.unwrap_or_default().dataset(&self.about.printed_name())))
    }
}
