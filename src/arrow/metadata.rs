//! Arrow metadata as flatbuffers: schema, record batch and footer.

use arrow_ipc::{
    BoolBuilder, Buffer, Endianness, Field, FieldArgs, FieldNode, FixedSizeBinary, FixedSizeBinaryArgs,
    FixedSizeList, FixedSizeListArgs, FloatingPoint, FloatingPointArgs, Footer, FooterArgs, Int, IntArgs,
    LargeBinaryBuilder, Message, MessageArgs, MessageHeader, MetadataVersion, Precision, RecordBatch,
    RecordBatchArgs, Schema, SchemaArgs, Type, Utf8ViewBuilder,
};
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

use super::stream::of_footer;
use super::{Block, Column, Of};

type Builder<'a> = FlatBufferBuilder<'a>;

/// The schema message, which comes first.
pub fn schema(columns: &[Column]) -> Vec<u8> {
    let mut to = Builder::new();
    let schema = schema_in(&mut to, columns);
    finish(to, MessageHeader::Schema, schema.as_union_value(), 0)
}

/// The record batch message before the buffers, which are at `places` and take `len` bytes.
pub fn batch(rows: u64, columns: &[Column], places: &[(u64, u64)], len: u64) -> Option<Vec<u8>> {
    let mut to = Builder::new();
    let rows = i64::try_from(rows).ok()?;
    let nodes = columns.iter().flat_map(|column| match column.of {
        Of::Pair(_) => vec![FieldNode::new(rows, 0), FieldNode::new(rows.saturating_mul(2), 0)],
        _ => vec![FieldNode::new(rows, 0)],
    });
    let nodes = to.create_vector(&nodes.collect::<Vec<_>>());
    let places = places.iter().map(|(at, len)| Buffer::new(*at as i64, *len as i64));
    let places = to.create_vector(&places.collect::<Vec<_>>());
    let texts = columns.iter().filter(|column| column.of == Of::Text);
    let texts = texts.map(|column| column.buffers.len() as i64 - 2).collect::<Vec<_>>();
    let texts = (!texts.is_empty()).then(|| to.create_vector(&texts));
    let args = RecordBatchArgs {
        length: rows,
        nodes: Some(nodes),
        buffers: Some(places),
        compression: None,
        variadicBufferCounts: texts,
    };
    let batch = RecordBatch::create(&mut to, &args);
    Some(finish(to, MessageHeader::RecordBatch, batch.as_union_value(), i64::try_from(len).ok()?))
}

/// The footer: the schema again, and the position of the batch.
pub fn footer(columns: &[Column], batch: &Block) -> Option<Vec<u8>> {
    let mut to = Builder::new();
    let schema = schema_in(&mut to, columns);
    let batches = to.create_vector(&[of_footer(batch)?]);
    let none = to.create_vector::<arrow_ipc::Block>(&[]);
    let args = FooterArgs {
        version: MetadataVersion::V5,
        schema: Some(schema),
        dictionaries: Some(none),
        recordBatches: Some(batches),
        custom_metadata: None,
    };
    let footer = Footer::create(&mut to, &args);
    to.finish(footer, None);
    Some(to.finished_data().to_vec())
}

fn finish(mut to: Builder<'_>, kind: MessageHeader, header: WIPOffset<UnionWIPOffset>, body: i64) -> Vec<u8> {
    let args = MessageArgs {
        version: MetadataVersion::V5,
        header_type: kind,
        header: Some(header),
        bodyLength: body,
        custom_metadata: None,
    };
    let message = Message::create(&mut to, &args);
    to.finish(message, None);
    to.finished_data().to_vec()
}

fn schema_in<'a>(to: &mut Builder<'a>, columns: &[Column]) -> WIPOffset<Schema<'a>> {
    let fields: Vec<_> = columns.iter().map(|column| field(to, &column.name, column.of)).collect();
    let fields = to.create_vector(&fields);
    let args = SchemaArgs {
        endianness: Endianness::Little,
        fields: Some(fields),
        custom_metadata: None,
        features: None,
    };
    Schema::create(to, &args)
}

fn field<'a>(to: &mut Builder<'a>, name: &str, of: Of) -> WIPOffset<Field<'a>> {
    let children = match of {
        Of::Pair(part) => vec![field(to, "item", Of::Float(part))],
        _ => Vec::new(),
    };
    let name = to.create_string(name);
    let children = to.create_vector(&children);
    let (kind, described) = described(to, of);
    let args = FieldArgs {
        name: Some(name),
        nullable: false,
        type_type: kind,
        type_: Some(described),
        dictionary: None,
        children: Some(children),
        custom_metadata: None,
    };
    Field::create(to, &args)
}

fn described(to: &mut Builder<'_>, of: Of) -> (Type, WIPOffset<UnionWIPOffset>) {
    match of {
        Of::Text => (Type::Utf8View, Utf8ViewBuilder::new(to).finish().as_union_value()),
        Of::Binary => (Type::LargeBinary, LargeBinaryBuilder::new(to).finish().as_union_value()),
        Of::Bool => (Type::Bool, BoolBuilder::new(to).finish().as_union_value()),
        Of::Int { size, is_signed } => {
            let args = IntArgs { bitWidth: 8 * size, is_signed };
            (Type::Int, Int::create(to, &args).as_union_value())
        }
        Of::Float(size) => {
            let precision = match size {
                2 => Precision::HALF,
                4 => Precision::SINGLE,
                _ => Precision::DOUBLE,
            };
            let of = FloatingPoint::create(to, &FloatingPointArgs { precision });
            (Type::FloatingPoint, of.as_union_value())
        }
        Of::Pair(_) => {
            let of = FixedSizeList::create(to, &FixedSizeListArgs { listSize: 2 });
            (Type::FixedSizeList, of.as_union_value())
        }
        Of::Bytes(size) => {
            let of = FixedSizeBinary::create(to, &FixedSizeBinaryArgs { byteWidth: size });
            (Type::FixedSizeBinary, of.as_union_value())
        }
    }
}
