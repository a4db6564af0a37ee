//! Onda's columns and metadata as Onda.jl writes them: in the same column order, with float64 numbers, no nulls, UUIDs
//! in Julia's (little-endian) byte order, and Julia's extension type names.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, DurationNanosecondArray, FixedSizeBinaryArray, Float64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::super::read::arrow::Problem;
use super::super::read::table::{Channels, Id, Signal, Span};

pub const SIGNALS: &str = "onda.signal@2>onda.samples-info@2";
pub const ANNOTATIONS: &str = "onda.annotation@1";

/// Columns with their values.
pub type Columns = Vec<(Field, ArrayRef)>;

/// A row of signals.
pub type Row = (Signal, Channels);

/// Bytes of a row's variable-length values.
pub fn len(row: &Row) -> usize {
    let (signal, channels) = row;
    let texts =
        [&signal.sensor_type, &signal.unit, &signal.sample_type, &signal.path, &signal.format, &signal.label];
    let names = channels.iter().map(|name| name.as_ref().map_or(0, String::len) + 4);
    texts.into_iter().flatten().map(String::len).chain(names).sum()
}

/// Checks that the total fits into 32-bit offsets, since the array builders do not.
pub fn fits(mut lens: impl Iterator<Item = usize>) -> Result<(), Problem> {
    let max = i32::MAX as usize;
    let sum = lens.try_fold(0usize, |sum, len| sum.checked_add(len).filter(|sum| *sum <= max));
    let problem = || Problem::unsupported(format!("its texts have more than {max} bytes in a batch of rows"));
    sum.map(|_| ()).ok_or_else(problem)
}

/// The columns of `onda.signal@2` for valid rows.
pub fn signals(rows: &[Row]) -> Result<Columns, Problem> {
    fits(rows.iter().map(len))?;
    let texts = |name: &str, value: fn(&Signal) -> &Option<String>| {
        let values =
            StringArray::from_iter_values(rows.iter().map(|row| value(&row.0).as_deref().unwrap_or("")));
        (Field::new(name, DataType::Utf8, false), Arc::new(values) as ArrayRef)
    };
    let numbers = |name: &str, value: fn(&Signal) -> Option<f64>| {
        let values = Float64Array::from_iter_values(rows.iter().map(|row| value(&row.0).unwrap_or(f64::NAN)));
        (Field::new(name, DataType::Float64, false), Arc::new(values) as ArrayRef)
    };
    Ok(vec![
        texts("sensor_type", |row| &row.sensor_type),
        channels(rows),
        texts("sample_unit", |row| &row.unit),
        numbers("sample_resolution_in_unit", |row| row.resolution),
        numbers("sample_offset_in_unit", |row| row.offset),
        texts("sample_type", |row| &row.sample_type),
        numbers("sample_rate", |row| row.rate),
        ids("recording", rows.iter().map(|row| row.0.recording))?,
        texts("file_path", |row| &row.path),
        texts("file_format", |row| &row.format),
        spans(rows.iter().map(|row| row.0.span))?,
        texts("sensor_label", |row| &row.label),
    ])
}

/// The columns of `onda.annotation@1`.
pub fn annotations(rows: &[(Id, Id, Span)]) -> Result<Columns, Problem> {
    Ok(vec![
        ids("recording", rows.iter().map(|row| Some(row.0)))?,
        ids("id", rows.iter().map(|row| Some(row.1)))?,
        spans(rows.iter().map(|row| Some(row.2)))?,
    ])
}

/// The column `from` of `onda.merged-annotation@1`.
pub fn sources(rows: &[Vec<Id>]) -> Result<(Field, ArrayRef), Problem> {
    fits(rows.iter().map(Vec::len))?;
    let ids: Vec<Option<Id>> = rows.iter().flatten().copied().map(Some).collect();
    let (item, values) = self::ids("", ids.into_iter())?;
    let item = Arc::new(item);
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(Vec::len));
    let array = ListArray::try_new(item, offsets, values, None).map_err(arrow_problem)?;
    Ok((Field::new("from", array.data_type().clone(), false), Arc::new(array)))
}

fn channels(rows: &[Row]) -> (Field, ArrayRef) {
    // Arrow.jl leaves its name empty.
    let item = Field::new("", DataType::Utf8, false);
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item.clone());
    for row in rows {
        for channel in row.1.iter().flatten() {
            lists.values().append_value(channel);
        }
        lists.append(true);
    }
    (Field::new("channels", DataType::List(Arc::new(item)), false), Arc::new(lists.finish()))
}

fn ids(name: &str, ids: impl ExactSizeIterator<Item = Option<Id>>) -> Result<(Field, ArrayRef), Problem> {
    let bytes: Vec<u8> = ids.flat_map(|id| id.unwrap_or_default().to_le_bytes()).collect();
    let array = FixedSizeBinaryArray::try_new(16, bytes.into(), None).map_err(arrow_problem)?;
    let field = Field::new(name, DataType::FixedSizeBinary(16), false);
    Ok((extension(field, "JuliaLang.UUID"), Arc::new(array)))
}

fn spans(spans: impl Iterator<Item = Option<Span>>) -> Result<(Field, ArrayRef), Problem> {
    let nanoseconds = |edge: i128| {
        i64::try_from(edge)
            .map_err(|_| Problem::damaged(format!("a span has {edge} ns, which are more than 64 bits")))
    };
    let (mut starts, mut stops) = (Vec::new(), Vec::new());
    for span in spans {
        let span = span.ok_or_else(|| Problem::damaged("a span is null"))?;
        starts.push(nanoseconds(span.start)?);
        stops.push(nanoseconds(span.stop)?);
    }
    let edge = |name| {
        let field = Field::new(name, DataType::Duration(TimeUnit::Nanosecond), false);
        extension(field, "JuliaLang.Dates.Period")
    };
    let fields = vec![edge("start"), edge("stop")].into();
    let edges = [starts, stops].map(|edges| Arc::new(DurationNanosecondArray::from(edges)) as ArrayRef);
    let array = StructArray::try_new(fields, edges.to_vec(), None).map_err(arrow_problem)?;
    let field = Field::new("span", array.data_type().clone(), false);
    Ok((extension(field, "JuliaLang.TimeSpan"), Arc::new(array)))
}

fn extension(field: Field, name: &str) -> Field {
    let pairs = [("ARROW:extension:name", name), ("ARROW:extension:metadata", "")];
    field.with_metadata(HashMap::from(pairs.map(|(key, value)| (key.to_owned(), value.to_owned()))))
}

fn arrow_problem(error: arrow_schema::ArrowError) -> Problem {
    Problem::damaged(error.to_string())
}

/// An Arrow file being written, batch by batch.
pub struct NewTable<'f> {
    schema: Arc<Schema>,
    writer: FileWriter<BufWriter<&'f File>>,
}

impl<'f> NewTable<'f> {
    pub fn create(
        file: &'f File,
        fields: Vec<Field>,
        metadata: HashMap<String, String>,
    ) -> Result<NewTable<'f>, arrow_schema::ArrowError> {
        let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
        let writer = FileWriter::try_new_buffered(file, &schema)?;
        Ok(NewTable { schema, writer })
    }

    pub fn add(&mut self, columns: Vec<ArrayRef>) -> Result<(), arrow_schema::ArrowError> {
        self.writer.write(&RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    pub fn finish(mut self) -> Result<(), arrow_schema::ArrowError> {
        self.writer.finish()
    }
}
