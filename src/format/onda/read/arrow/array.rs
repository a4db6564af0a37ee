//! The stored values of one column in one batch. Loading checks that buffers are long enough for the number of values;
//! what values refer to (offsets, dictionaries, children) is checked on access, so that an invalid one is an error of
//! its row only.

use std::ops::Range;
use std::sync::Arc;

use arrow_ipc::{CompressionType, FieldNode, MetadataVersion, RecordBatch};

use super::Problem;
use super::buffer::{Budget, Buffer, decompressed};
use super::dictionary::{Dictionaries, Values};
use super::field::{ArrowType, Dictionary, Field, Int};

/// Maximum rows of a table, or values of a list column.
pub const MAX_ROWS: usize = 1 << 31;

pub struct Array {
    pub len: usize,
    /// A bit per value, 0 for null; None if there are no nulls.
    valid: Option<Buffer>,
    /// Why none of its values can be trusted.
    fault: Option<Problem>,
    pub data: Data,
}

pub enum Data {
    Null,
    Bits(Buffer),
    /// Values of a fixed size in bytes.
    Fixed(usize, Buffer),
    Bytes {
        offsets: Offsets,
        bytes: Buffer,
    },
    Views {
        views: Buffer,
        buffers: Vec<Buffer>,
    },
    List {
        offsets: Offsets,
        child: Box<Array>,
    },
    ListView {
        wide: bool,
        offsets: Buffer,
        sizes: Buffer,
        child: Box<Array>,
    },
    FixedList(usize, Box<Array>),
    Struct(Vec<Array>),
    Union {
        types: Buffer,
        offsets: Option<Buffer>,
        children: Vec<Array>,
    },
    Dictionary {
        index: Int,
        indices: Buffer,
        values: Values,
    },
    RunEnds {
        ends: Box<Array>,
        values: Box<Array>,
    },
}

/// Where each value begins, and where the last one ends: one more than there are values.
pub struct Offsets {
    wide: bool,
    bytes: Buffer,
}

impl Offsets {
    pub fn get(&self, at: usize) -> Result<Range<usize>, Problem> {
        let offset = |at| offset(&self.bytes, self.wide, at);
        // A wrong offset between two values makes both of them wrong, and also where the other one is null.
        let is_after_previous = |start| at == 0 || offset(at - 1).is_some_and(|before| before <= start);
        match (offset(at), offset(at + 1)) {
            (Some(start), Some(end)) if start <= end && is_after_previous(start) => Ok(start..end),
            _ => Err(Problem::damaged("an offset is negative, goes back, or is missing")),
        }
    }
}

/// The offset at index `at`; None if it is negative or missing.
fn offset(buffer: &Buffer, wide: bool, at: usize) -> Option<usize> {
    match wide {
        true => usize::try_from(i64::from_le_bytes(fixed(buffer, at)?)).ok(),
        false => usize::try_from(i32::from_le_bytes(fixed(buffer, at)?)).ok(),
    }
}

/// Value `at` of a buffer of `N`-byte values.
fn fixed<const N: usize>(buffer: &Buffer, at: usize) -> Option<[u8; N]> {
    let start = at.checked_mul(N)?;
    buffer.bytes().get(start..start.checked_add(N)?)?.try_into().ok()
}

impl Array {
    /// An array without nulls.
    #[cfg(test)]
    pub fn of(len: usize, data: Data) -> Array {
        Array { len, valid: None, fault: None, data }
    }

    pub fn is_null(&self, at: usize) -> bool {
        let is_valid =
            |valid: &Buffer| valid.bytes().get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
        matches!(self.data, Data::Null) || self.valid.as_ref().is_some_and(|valid| !is_valid(valid))
    }

    /// Resolves dictionaries and runs to the array and index where the value is stored; None for nulls.
    pub fn stored(&self, at: usize) -> Result<Option<(&Array, usize)>, Problem> {
        let (mut array, mut at) = (self, at);
        loop {
            if at >= array.len {
                return Err(Problem::damaged(format!("value {at} of {} was asked for", array.len)));
            }
            if let Some(fault) = &array.fault {
                return Err(fault.clone());
            }
            if array.is_null(at) {
                return Ok(None);
            }
            (array, at) = match &array.data {
                Data::Dictionary { index, indices, values } => {
                    let number = integer(indices, *index, at).unwrap_or(-1);
                    let found = usize::try_from(number).ok().and_then(|number| values.get(number));
                    found.ok_or_else(|| Problem::damaged(format!("the dictionary has no value {number}")))?
                }
                Data::RunEnds { ends, values } => (&**values, run(ends, at)?),
                _ => return Ok(Some((array, at))),
            };
        }
    }

    /// The bytes of a fixed-size or variable-length value.
    pub fn bytes(&self, at: usize) -> Result<&[u8], Problem> {
        let found = match &self.data {
            Data::Fixed(width, bytes) => {
                at.checked_mul(*width).and_then(|start| bytes.bytes().get(start..start.checked_add(*width)?))
            }
            Data::Bytes { offsets, bytes } => bytes.bytes().get(offsets.get(at)?),
            Data::Views { views, buffers } => view(views, buffers, at),
            _ => None,
        };
        found.ok_or_else(|| Problem::damaged("a value lies outside of its buffer"))
    }

    /// The child array of a list, and the range of its values in it.
    pub fn list(&self, at: usize) -> Result<(&Array, Range<usize>), Problem> {
        let (child, range) = match &self.data {
            Data::List { offsets, child } => (child, Some(offsets.get(at)?)),
            Data::ListView { wide, offsets, sizes, child } => {
                let (start, size) = (offset(offsets, *wide, at), offset(sizes, *wide, at));
                (child, start.zip(size).and_then(|(start, size)| Some(start..start.checked_add(size)?)))
            }
            Data::FixedList(size, child) => {
                let start = at.checked_mul(*size);
                (child, start.and_then(|start| Some(start..start.checked_add(*size)?)))
            }
            _ => return Err(Problem::damaged("expected a list")),
        };
        match range {
            Some(range) if range.end <= child.len => Ok((child, range)),
            _ => Err(Problem::damaged("a list reaches outside of its values")),
        }
    }

    /// The type id of a union's value, and its index in that child; None in place of an invalid index.
    pub fn union(&self, at: usize) -> Option<(i8, Option<usize>)> {
        let Data::Union { types, offsets, .. } = &self.data else { return None };
        let kind = i8::from_le_bytes(fixed(types, at)?);
        Some(match offsets {
            Some(offsets) => (kind, offset(offsets, false, at)),
            None => (kind, Some(at)),
        })
    }

    pub fn bit(&self, at: usize) -> Option<bool> {
        let Data::Bits(bits) = &self.data else { return None };
        bits.bytes().get(at / 8).map(|byte| byte >> (at % 8) & 1 == 1)
    }
}

/// The value of a view: up to 12 bytes inline, otherwise a range of one of the buffers.
fn view<'a>(views: &'a Buffer, buffers: &'a [Buffer], at: usize) -> Option<&'a [u8]> {
    let start = at.checked_mul(16)?;
    let view = views.bytes().get(start..start.checked_add(16)?)?;
    let number = |at: usize| {
        let bytes = view.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(i32::from_le_bytes(bytes)).ok()
    };
    let len = number(0)?;
    if len <= 12 {
        return view.get(4..4 + len);
    }
    let from = number(12)?;
    buffers.get(number(8)?)?.bytes().get(from..from.checked_add(len)?)
}

/// The index of the run that contains value `at`.
fn run(ends: &Array, at: usize) -> Result<usize, Problem> {
    let Data::Fixed(bytes, buffer) = &ends.data else {
        return Err(Problem::damaged("expected ends of runs"));
    };
    let kind = Int { bytes: *bytes, is_signed: true };
    let (mut low, mut high) = (0, ends.len);
    while low < high {
        let middle = (low + high) / 2;
        let end =
            integer(buffer, kind, middle).ok_or_else(|| Problem::damaged("the end of a run is missing"))?;
        if end <= at as i128 { low = middle + 1 } else { high = middle }
    }
    if low < ends.len { Ok(low) } else { Err(Problem::damaged(format!("no run has value {at}"))) }
}

/// Runs are found by bisection, so their ends have to rise.
fn rising(ends: &Array) -> Result<(), Problem> {
    let Data::Fixed(bytes, buffer) = &ends.data else {
        return Err(Problem::damaged("expected ends of runs"));
    };
    let kind = Int { bytes: *bytes, is_signed: true };
    let mut last = 0;
    for at in 0..ends.len {
        match integer(buffer, kind, at) {
            Some(end) if end > last => last = end,
            _ => {
                return Err(Problem::damaged(format!(
                    "the end of run {at} is not behind that of the run before"
                )));
            }
        }
    }
    Ok(())
}

/// How many of the first `len` bits are zero.
fn zeros(bits: &Buffer, len: usize) -> usize {
    let (whole, rest) = bits.bytes().split_at_checked(len / 8).unwrap_or_default();
    let in_whole: usize = whole.iter().map(|byte| byte.count_zeros() as usize).sum();
    let last = rest.first().map_or(0, |byte| (0..len % 8).filter(|bit| byte >> bit & 1 == 0).count());
    in_whole + last
}

/// An integer of a buffer.
pub fn integer(buffer: &Buffer, kind: Int, at: usize) -> Option<i128> {
    Some(match (kind.bytes, kind.is_signed) {
        (1, true) => i8::from_le_bytes(fixed(buffer, at)?).into(),
        (1, false) => u8::from_le_bytes(fixed(buffer, at)?).into(),
        (2, true) => i16::from_le_bytes(fixed(buffer, at)?).into(),
        (2, false) => u16::from_le_bytes(fixed(buffer, at)?).into(),
        (4, true) => i32::from_le_bytes(fixed(buffer, at)?).into(),
        (4, false) => u32::from_le_bytes(fixed(buffer, at)?).into(),
        (_, true) => i64::from_le_bytes(fixed(buffer, at)?).into(),
        (_, false) => u64::from_le_bytes(fixed(buffer, at)?).into(),
    })
}

/// Loads the arrays of a batch one after the other, in schema order.
pub struct Loader<'a> {
    nodes: flatbuffers::VectorIter<'a, FieldNode>,
    buffers: flatbuffers::VectorIter<'a, arrow_ipc::Buffer>,
    variadic: Option<flatbuffers::VectorIter<'a, i64>>,
    body: Arc<Vec<u8>>,
    codec: Option<CompressionType>,
    has_old_unions: bool,
    dictionaries: &'a Dictionaries,
    budget: &'a mut Budget,
}

impl<'a> Loader<'a> {
    pub fn new(
        batch: RecordBatch<'a>,
        version: MetadataVersion,
        body: Arc<Vec<u8>>,
        dictionaries: &'a Dictionaries,
        budget: &'a mut Budget,
    ) -> Result<Loader<'a>, Problem> {
        let (Some(nodes), Some(buffers)) = (batch.nodes(), batch.buffers()) else {
            return Err(Problem::damaged("the batch does not say where its values are"));
        };
        Ok(Loader {
            nodes: nodes.iter(),
            buffers: buffers.iter(),
            variadic: batch.variadicBufferCounts().map(|counts| counts.iter()),
            body,
            codec: batch.compression().map(|compression| compression.codec()),
            has_old_unions: version == MetadataVersion::V4,
            dictionaries,
            budget,
        })
    }

    fn buffer(&mut self) -> Result<Buffer, Problem> {
        let buffer = self.buffers.next().ok_or_else(|| Problem::damaged("the batch has too few buffers"))?;
        let start = usize::try_from(buffer.offset()).ok();
        let range = start.zip(usize::try_from(buffer.length()).ok()).and_then(|(start, len)| {
            let end = start.checked_add(len)?;
            (end <= self.body.len()).then_some(start..end)
        });
        let range = range.ok_or_else(|| {
            let (offset, length, body) = (buffer.offset(), buffer.length(), self.body.len());
            Problem::damaged(format!("a buffer of {length} bytes at byte {offset} of a body of {body}"))
        })?;
        let stored = Buffer::new(self.body.clone(), range);
        match self.codec {
            Some(codec) => decompressed(stored, codec, self.budget),
            None => Ok(stored),
        }
    }

    /// The next buffer, which must hold at least `count` values of `width` bytes.
    fn values(&mut self, count: usize, width: usize) -> Result<Buffer, Problem> {
        let buffer = self.buffer()?;
        match count.checked_mul(width) {
            Some(needed) if needed <= buffer.len() => Ok(buffer),
            _ => Err(Problem::damaged(format!(
                "{count} values of {width} bytes were needed, their buffer has {} bytes",
                buffer.len()
            ))),
        }
    }

    /// Columns without values may lack even the first offset.
    fn offsets(&mut self, count: usize, wide: bool) -> Result<Offsets, Problem> {
        let needed = if count == 0 { 0 } else { count + 1 };
        Ok(Offsets { wide, bytes: self.values(needed, if wide { 8 } else { 4 })? })
    }

    pub fn array(&mut self, field: &Field) -> Result<Array, Problem> {
        let node = self.nodes.next().ok_or_else(|| Problem::damaged("the batch has too few columns"))?;
        let len = usize::try_from(node.length()).ok().filter(|len| *len <= MAX_ROWS);
        let len =
            len.ok_or_else(|| Problem::damaged(format!("a column claims to have {} values", node.length())))?;
        let is_encoded = field.dictionary.is_some();
        let has_validity = match field.kind {
            _ if is_encoded => true,
            ArrowType::Null | ArrowType::RunEnds => false,
            ArrowType::Union { .. } => self.has_old_unions,
            _ => true,
        };
        let (mut valid, mut fault) = (None, None);
        if has_validity {
            let bits = self.buffer()?;
            let nulls = node.null_count();
            if nulls != 0 && bits.len() < len.div_ceil(8) {
                return Err(Problem::damaged(format!(
                    "{len} values have {} bytes that say which are null",
                    bits.len()
                )));
            }
            if bits.len() >= len.div_ceil(8) && zeros(&bits, len) as i64 != nulls {
                let found = zeros(&bits, len);
                fault = Some(Problem::damaged(format!("{nulls} values should be null, and {found} are")));
            }
            valid = Some(bits).filter(|_| nulls != 0 && len > 0);
        }
        let data = match &field.dictionary {
            Some(dictionary) => self.encoded(len, dictionary)?,
            None => self.data(len, field)?,
        };
        if let Data::RunEnds { ends, .. } = &data {
            fault = fault.or_else(|| rising(ends).err());
        }
        Ok(Array { len, valid, fault, data })
    }

    fn encoded(&mut self, len: usize, dictionary: &Dictionary) -> Result<Data, Problem> {
        let Dictionary { id, index } = *dictionary;
        let indices = self.values(len, index.bytes)?;
        // A column without values may lack its dictionary.
        let values = self.dictionaries.get(&id).cloned().unwrap_or_default();
        Ok(Data::Dictionary { index, indices, values })
    }

    fn data(&mut self, len: usize, field: &Field) -> Result<Data, Problem> {
        let one = |width: usize, loader: &mut Self| Ok(Data::Fixed(width, loader.values(len, width)?));
        Ok(match &field.kind {
            ArrowType::Null => Data::Null,
            ArrowType::Bool => Data::Bits(self.values(len.div_ceil(8), 1)?),
            ArrowType::Int(int) => one(int.bytes, self)?,
            ArrowType::Float(bytes)
            | ArrowType::Decimal { bytes, .. }
            | ArrowType::Interval(bytes)
            | ArrowType::Time { bytes, .. } => one(*bytes, self)?,
            ArrowType::FixedBinary(size) => one(*size, self)?,
            ArrowType::Date { wide } => one(if *wide { 8 } else { 4 }, self)?,
            ArrowType::Timestamp { .. } | ArrowType::Duration(_) => one(8, self)?,
            ArrowType::Text { wide } | ArrowType::Binary { wide } => {
                Data::Bytes { offsets: self.offsets(len, *wide)?, bytes: self.buffer()? }
            }
            ArrowType::TextView | ArrowType::BinaryView => {
                let views = self.values(len, 16)?;
                let count = self.variadic.as_mut().and_then(|counts| counts.next()).unwrap_or(-1);
                if count < 0 {
                    return Err(Problem::damaged("a column of views does not say how many buffers it has"));
                }
                let buffers = (0..count).map(|_| self.buffer()).collect::<Result<_, _>>()?;
                Data::Views { views, buffers }
            }
            ArrowType::List { wide } => {
                let offsets = self.offsets(len, *wide)?;
                Data::List { offsets, child: self.child(field)? }
            }
            ArrowType::Map => {
                let offsets = self.offsets(len, false)?;
                Data::List { offsets, child: self.child(field)? }
            }
            ArrowType::ListView { wide } => {
                let width = if *wide { 8 } else { 4 };
                let (offsets, sizes) = (self.values(len, width)?, self.values(len, width)?);
                Data::ListView { wide: *wide, offsets, sizes, child: self.child(field)? }
            }
            ArrowType::FixedList(size) => Data::FixedList(*size, self.child(field)?),
            ArrowType::Struct => Data::Struct(self.children(field, Some(len))?),
            ArrowType::Union { is_dense, .. } => {
                let types = self.values(len, 1)?;
                let offsets = if *is_dense { Some(self.values(len, 4)?) } else { None };
                Data::Union { types, offsets, children: self.children(field, None)? }
            }
            ArrowType::RunEnds => {
                let [ends, values] = field.children.as_slice() else {
                    return Err(Problem::damaged("expected ends of runs and values"));
                };
                Data::RunEnds { ends: Box::new(self.array(ends)?), values: Box::new(self.array(values)?) }
            }
        })
    }

    fn child(&mut self, field: &Field) -> Result<Box<Array>, Problem> {
        let child = field.children.first().ok_or_else(|| Problem::damaged("a list has no type of values"))?;
        self.array(child).map(Box::new)
    }

    fn children(&mut self, field: &Field, len: Option<usize>) -> Result<Vec<Array>, Problem> {
        let children = field.children.iter().map(|child| self.array(child)).collect::<Result<Vec<_>, _>>()?;
        match children.iter().find(|child| len.is_some_and(|len| child.len != len)) {
            Some(child) => Err(Problem::damaged(format!(
                "a part of a structure has {} values, not as many as the structure",
                child.len
            ))),
            None => Ok(children),
        }
    }
}
