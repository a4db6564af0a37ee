//! Schemas: names, types, dictionaries and extension types of columns.

use arrow_ipc::{DateUnit, Endianness, Precision, TimeUnit, Type as Tag, UnionMode};
use arrow_ipc::{Field as Message, KeyValue, Schema as SchemaMessage};

use super::Problem;

/// Maximum fields of a schema, including nested ones.
const MAX_FIELDS: usize = 10_000;
/// Maximum nesting, as in the flatbuffer verifier.
pub const MAX_DEPTH: usize = 64;

pub struct Schema {
    pub fields: Vec<Field>,
    pub metadata: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub kind: ArrowType,
    pub nullable: bool,
    pub children: Vec<Field>,
    pub dictionary: Option<Dictionary>,
    pub metadata: Vec<(String, String)>,
}

/// Dictionary encoding of a column.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary {
    pub id: i64,
    pub index: Int,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int {
    pub bytes: usize,
    pub is_signed: bool,
}

/// A unit of time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit(pub i64);

const UNITS: [(Unit, &str); 4] =
    [(Unit(1), "ns"), (Unit(1_000), "us"), (Unit(1_000_000), "ms"), (Unit(1_000_000_000), "s")];

impl Unit {
    pub fn name(self) -> &'static str {
        UNITS.iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    pub fn named(name: &str) -> Option<Unit> {
        UNITS.iter().find(|(_, own)| *own == name).map(|(unit, _)| *unit)
    }
}

/// Arrow's types, distinguished by how they are stored or shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrowType {
    Null,
    Bool,
    Int(Int),
    /// Size in bytes: 2, 4 or 8.
    Float(usize),
    /// Strings. `wide` offsets have 64 bits.
    Text {
        wide: bool,
    },
    Binary {
        wide: bool,
    },
    TextView,
    BinaryView,
    FixedBinary(usize),
    Decimal {
        bytes: usize,
        precision: i32,
        scale: i32,
    },
    /// Days in 32 bits, or if `wide` milliseconds in 64 bits.
    Date {
        wide: bool,
    },
    Time {
        bytes: usize,
        unit: Unit,
    },
    Timestamp {
        unit: Unit,
        zone: Option<String>,
    },
    Duration(Unit),
    /// Size in bytes: 4 (months), 8 (days and milliseconds) or 16 (months, days, nanoseconds).
    Interval(usize),
    List {
        wide: bool,
    },
    ListView {
        wide: bool,
    },
    FixedList(usize),
    Struct,
    Map,
    Union {
        is_dense: bool,
        ids: Vec<i32>,
    },
    RunEnds,
}

impl Schema {
    /// Reads the schema from a verified message.
    pub fn read(message: SchemaMessage<'_>) -> Result<Schema, Problem> {
        if message.endianness() != Endianness::Little {
            return Err(Problem::unsupported("its numbers are big-endian, which is not supported"));
        }
        let mut count = 0;
        let fields = fields(message.fields(), 0, &mut count)?;
        for (at, field) in fields.iter().enumerate() {
            if fields.iter().take(at).any(|other| other.name == field.name) {
                return Err(Problem::damaged(format!("two columns are called {:?}", field.name)));
            }
        }
        Ok(Schema { fields, metadata: pairs(message.custom_metadata()) })
    }

    pub fn metadata(&self, key: &str) -> Option<&str> {
        find(&self.metadata, key)
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

impl Field {
    /// The field of the stored values; for run-end encoding that of the runs' values.
    pub fn stored(&self) -> &Field {
        match (&self.kind, self.children.as_slice()) {
            (ArrowType::RunEnds, [_, values]) => values.stored(),
            _ => self,
        }
    }

    /// Name of the extension type.
    pub fn extension(&self) -> Option<&str> {
        find(&self.metadata, "ARROW:extension:name")
    }

    /// The type's name in messages and sidecars.
    pub fn type_name(&self) -> String {
        let bits = |bytes: usize| 8 * bytes;
        let children = |separator: &str| {
            let child = |child: &Field| match separator {
                "" => child.type_name(),
                _ => format!("{}{separator}{}", child.name, child.type_name()),
            };
            self.children.iter().map(child).collect::<Vec<_>>().join(", ")
        };
        let stored = match &self.kind {
            ArrowType::Null => "null".into(),
            ArrowType::Bool => "bool".into(),
            ArrowType::Int(Int { bytes, is_signed }) => {
                format!("{}int{}", if *is_signed { "" } else { "u" }, bits(*bytes))
            }
            ArrowType::Float(bytes) => format!("float{}", bits(*bytes)),
            ArrowType::Text { wide: false } => "utf8".into(),
            ArrowType::Text { wide: true } => "large_utf8".into(),
            ArrowType::Binary { wide: false } => "binary".into(),
            ArrowType::Binary { wide: true } => "large_binary".into(),
            ArrowType::TextView => "utf8_view".into(),
            ArrowType::BinaryView => "binary_view".into(),
            ArrowType::FixedBinary(size) => format!("fixed_size_binary[{size}]"),
            ArrowType::Decimal { bytes, scale, .. } => format!("decimal{}[{scale}]", bits(*bytes)),
            ArrowType::Date { wide } => if *wide { "date64" } else { "date32" }.into(),
            ArrowType::Time { unit, .. } => format!("time[{}]", unit.name()),
            ArrowType::Timestamp { unit, zone: None } => format!("timestamp[{}]", unit.name()),
            ArrowType::Timestamp { unit, zone: Some(zone) } => format!("timestamp[{}, {zone}]", unit.name()),
            ArrowType::Duration(unit) => format!("duration[{}]", unit.name()),
            ArrowType::Interval(_) => "interval".into(),
            ArrowType::List { wide: false } => format!("list<{}>", children("")),
            ArrowType::List { wide: true } => format!("large_list<{}>", children("")),
            ArrowType::ListView { .. } => format!("list_view<{}>", children("")),
            ArrowType::FixedList(size) => format!("fixed_size_list<{}>[{size}]", children("")),
            ArrowType::Struct => format!("struct<{}>", children(": ")),
            ArrowType::Map => format!("map<{}>", children("")),
            ArrowType::Union { .. } => format!("union<{}>", children(": ")),
            ArrowType::RunEnds => format!("run_end_encoded<{}>", children("")),
        };
        match self.dictionary {
            Some(_) => format!("dictionary<{stored}>"),
            None => stored,
        }
    }
}

fn find<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

type Vector<'a, T> = Option<flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<T>>>;

fn pairs<'a>(list: Vector<'a, KeyValue<'a>>) -> Vec<(String, String)> {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    list.iter().flat_map(|list| list.iter()).map(|pair| (text(pair.key()), text(pair.value()))).collect()
}

fn fields<'a>(list: Vector<'a, Message<'a>>, depth: usize, count: &mut usize) -> Result<Vec<Field>, Problem> {
    if depth > MAX_DEPTH {
        return Err(Problem::unsupported(format!("its columns are nested more than {MAX_DEPTH} deep")));
    }
    let mut fields = Vec::new();
    for message in list.iter().flat_map(|list| list.iter()) {
        *count += 1;
        if *count > MAX_FIELDS {
            return Err(Problem::unsupported(format!("it has more than {MAX_FIELDS} columns")));
        }
        let name = message.name().unwrap_or_default().to_owned();
        let children = fields_of(message, depth, count)?;
        let damaged = |problem: &str| Problem::damaged(format!("column {name:?}: {problem}"));
        let kind = kind(message).map_err(|problem| problem.within(format_args!("column {name:?}")))?;
        let needed = match kind {
            ArrowType::List { .. }
            | ArrowType::ListView { .. }
            | ArrowType::FixedList(_)
            | ArrowType::Map => Some(1),
            ArrowType::RunEnds => Some(2),
            ArrowType::Struct | ArrowType::Union { .. } => None,
            _ => Some(0),
        };
        if needed.is_some_and(|needed| needed != children.len()) {
            return Err(damaged("its type has not as many children as it needs"));
        }
        let dictionary = match message.dictionary() {
            None => None,
            Some(dictionary) => {
                let index = dictionary.indexType().map_or(Ok(Int { bytes: 4, is_signed: true }), int)?;
                Some(Dictionary { id: dictionary.id(), index })
            }
        };
        let (nullable, metadata) = (message.nullable(), pairs(message.custom_metadata()));
        fields.push(Field { name, kind, nullable, children, dictionary, metadata });
    }
    Ok(fields)
}

fn fields_of(message: Message<'_>, depth: usize, count: &mut usize) -> Result<Vec<Field>, Problem> {
    fields(message.children(), depth + 1, count)
}

fn int(int: arrow_ipc::Int<'_>) -> Result<Int, Problem> {
    match int.bitWidth() {
        bits @ (8 | 16 | 32 | 64) => Ok(Int { bytes: bits as usize / 8, is_signed: int.is_signed() }),
        bits => Err(Problem::unsupported(format!(
            "integers of {bits} bits are not an Arrow type (Arrow.jl wrote UUIDs so for some weeks in \
             2020); they are not read"
        ))),
    }
}

fn unit(unit: TimeUnit) -> Result<Unit, Problem> {
    Ok(Unit(match unit {
        TimeUnit::SECOND => 1_000_000_000,
        TimeUnit::MILLISECOND => 1_000_000,
        TimeUnit::MICROSECOND => 1_000,
        TimeUnit::NANOSECOND => 1,
        _ => return Err(Problem::damaged("its unit of time is unknown")),
    }))
}

fn size(size: i32) -> Result<usize, Problem> {
    usize::try_from(size).map_err(|_| Problem::damaged(format!("its size is {size}")))
}

fn kind(field: Message<'_>) -> Result<ArrowType, Problem> {
    let missing = || Problem::damaged("its type is not described");
    Ok(match field.type_type() {
        Tag::Null => ArrowType::Null,
        Tag::Bool => ArrowType::Bool,
        Tag::Int => ArrowType::Int(int(field.type_as_int().ok_or_else(missing)?)?),
        Tag::FloatingPoint => match field.type_as_floating_point().ok_or_else(missing)?.precision() {
            Precision::HALF => ArrowType::Float(2),
            Precision::SINGLE => ArrowType::Float(4),
            Precision::DOUBLE => ArrowType::Float(8),
            _ => return Err(Problem::damaged("its precision is unknown")),
        },
        Tag::Utf8 => ArrowType::Text { wide: false },
        Tag::LargeUtf8 => ArrowType::Text { wide: true },
        Tag::Binary => ArrowType::Binary { wide: false },
        Tag::LargeBinary => ArrowType::Binary { wide: true },
        Tag::Utf8View => ArrowType::TextView,
        Tag::BinaryView => ArrowType::BinaryView,
        Tag::FixedSizeBinary => {
            ArrowType::FixedBinary(size(field.type_as_fixed_size_binary().ok_or_else(missing)?.byteWidth())?)
        }
        Tag::Decimal => {
            let decimal = field.type_as_decimal().ok_or_else(missing)?;
            match decimal.bitWidth() {
                bits @ (32 | 64 | 128 | 256) => ArrowType::Decimal {
                    bytes: bits as usize / 8,
                    precision: decimal.precision(),
                    scale: decimal.scale(),
                },
                bits => return Err(Problem::damaged(format!("its decimals have {bits} bits"))),
            }
        }
        Tag::Date => ArrowType::Date {
            wide: field.type_as_date().ok_or_else(missing)?.unit() == DateUnit::MILLISECOND,
        },
        Tag::Time => {
            let time = field.type_as_time().ok_or_else(missing)?;
            let bytes = if time.bitWidth() == 64 { 8 } else { 4 };
            ArrowType::Time { bytes, unit: unit(time.unit())? }
        }
        Tag::Timestamp => {
            let time = field.type_as_timestamp().ok_or_else(missing)?;
            ArrowType::Timestamp { unit: unit(time.unit())?, zone: time.timezone().map(str::to_owned) }
        }
        Tag::Duration => ArrowType::Duration(unit(field.type_as_duration().ok_or_else(missing)?.unit())?),
        Tag::Interval => match field.type_as_interval().ok_or_else(missing)?.unit() {
            arrow_ipc::IntervalUnit::YEAR_MONTH => ArrowType::Interval(4),
            arrow_ipc::IntervalUnit::DAY_TIME => ArrowType::Interval(8),
            arrow_ipc::IntervalUnit::MONTH_DAY_NANO => ArrowType::Interval(16),
            _ => return Err(Problem::damaged("its unit of time is unknown")),
        },
        Tag::List => ArrowType::List { wide: false },
        Tag::LargeList => ArrowType::List { wide: true },
        Tag::ListView => ArrowType::ListView { wide: false },
        Tag::LargeListView => ArrowType::ListView { wide: true },
        Tag::FixedSizeList => {
            ArrowType::FixedList(size(field.type_as_fixed_size_list().ok_or_else(missing)?.listSize())?)
        }
        Tag::Struct_ => ArrowType::Struct,
        Tag::Map => ArrowType::Map,
        Tag::Union => {
            let union = field.type_as_union().ok_or_else(missing)?;
            let children = field.children().map_or(0, |children| children.len());
            let ids = match union.typeIds() {
                Some(ids) => ids.iter().collect(),
                None => (0..children as i32).collect(),
            };
            ArrowType::Union { is_dense: union.mode() == UnionMode::Dense, ids }
        }
        Tag::RunEndEncoded => ArrowType::RunEnds,
        _ => return Err(Problem::unsupported("its type is not known")),
    })
}
