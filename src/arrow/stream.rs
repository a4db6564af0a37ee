//! Turns an Arrow stream into a file: the messages are moved by the length of the magic number, unchanged, and a footer
//! with their positions is appended.

use std::sync::Arc;

use arrow_ipc::{Footer, FooterArgs, MetadataVersion, Schema};
use flatbuffers::{FlatBufferBuilder, WIPOffset};

use super::{MAGIC, end};
use crate::content::{Content, joined};

/// The position of a batch or dictionary, as in a footer: offset, length of the metadata (with its prefix), length of
/// the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub at: u64,
    pub metadata: u64,
    pub body: u64,
    pub is_dictionary: bool,
}

/// `stream` must end after its last message; `schema` is the flatbuffer of its first message, `blocks` are the
/// positions of the others. None if that is not a stream, or a length exceeds what Arrow can store.
pub fn file_of_stream(stream: Content, schema: &[u8], blocks: &[Block]) -> Option<Content> {
    let before = [MAGIC, &[0, 0]].concat();
    let len = stream.known_len()?;
    let padding = vec![0; (len.next_multiple_of(8) - len) as usize];
    let moved = blocks.iter().map(|block| Block { at: block.at + before.len() as u64, ..*block });
    let after = end(&footer(schema, &moved.collect::<Vec<_>>())?)?;
    let inline = |bytes: Vec<u8>| Content::Inline(Arc::from(bytes));
    Some(joined(vec![inline(before), stream, inline(padding), inline(after)]))
}

/// Flatbuffer offsets are relative, so the schema's message is copied unchanged, and the footer points into it.
fn footer(message: &[u8], blocks: &[Block]) -> Option<Vec<u8>> {
    let schema = arrow_ipc::root_as_message(message).ok()?.header_as_schema()?._tab.loc();
    let words = message.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    });
    let mut to = FlatBufferBuilder::new();
    let copy = to.create_vector(&words.collect::<Vec<_>>());
    // The builder counts offsets from the end; the vector begins with four bytes for its length.
    let schema = copy.value().checked_sub(u32::try_from(4 + schema).ok()?)?;
    let mut list = |is_dictionary| {
        let blocks = blocks.iter().filter(|block| block.is_dictionary == is_dictionary);
        let blocks = blocks.map(of_footer).collect::<Option<Vec<_>>>()?;
        Some(to.create_vector(&blocks))
    };
    let (dictionaries, batches) = (list(true)?, list(false)?);
    let args = FooterArgs {
        version: MetadataVersion::V5,
        schema: Some(WIPOffset::<Schema<'_>>::new(schema)),
        dictionaries: Some(dictionaries),
        recordBatches: Some(batches),
        custom_metadata: None,
    };
    let footer = Footer::create(&mut to, &args);
    to.finish(footer, None);
    Some(to.finished_data().to_vec())
}

pub fn of_footer(block: &Block) -> Option<arrow_ipc::Block> {
    let (at, body) = (i64::try_from(block.at).ok()?, i64::try_from(block.body).ok()?);
    Some(arrow_ipc::Block::new(at, i32::try_from(block.metadata).ok()?, body))
}
