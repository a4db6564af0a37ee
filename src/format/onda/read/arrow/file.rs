//! Serves a table as an Arrow IPC file: files unchanged, streams with the file format's magic and footer added.

use std::collections::HashSet;
use std::sync::Arc;

use super::Problem;
use super::message::{self, Message};
use crate::Result;
use crate::arrow::{Block, file_of_stream};
use crate::content::Content;
use crate::source::Source;

pub fn file(source: &Arc<dyn Source>) -> Result<Content> {
    let located = |at: u64, problem: Problem| problem.at(source.place().at(at));
    let messages = message::read(&**source)?.map_err(|(at, problem)| located(at, problem))?;
    let part = |end| Content::Stored { source: source.clone(), range: 0..end };
    let Some(stream) = messages.stream else { return Ok(part(source.len())) };
    let mut known = HashSet::new();
    let blocks = messages
        .batches
        .iter()
        .map(|message| block(message, &mut known).map_err(|problem| located(message.at, problem)));
    let blocks = blocks.collect::<Result<Vec<_>>>()?;
    let found = file_of_stream(part(stream.end), stream.schema.bytes(), &blocks);
    found.ok_or_else(|| located(0, Problem::unsupported("its messages do not fit into an Arrow file")))
}

/// `known` has the dictionaries before this block.
fn block(message: &Message, known: &mut HashSet<i64>) -> Result<Block, Problem> {
    let dictionary = message.metadata.message()?;
    let dictionary = dictionary.header_as_dictionary_batch();
    if let Some(dictionary) = dictionary
        && !known.insert(dictionary.id())
        && !dictionary.isDelta()
    {
        let problem =
            "the stream replaces a dictionary, which an Arrow file cannot (as JSON lines it can be read)";
        return Err(Problem::unsupported(problem));
    }
    Ok(Block {
        at: message.at,
        metadata: message.body.start - message.at,
        body: message.body.end - message.body.start,
        is_dictionary: dictionary.is_some(),
    })
}
