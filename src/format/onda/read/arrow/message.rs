//! Reads the messages of an Arrow IPC file or stream: verified flatbuffers, each with a byte range for its body.
//! ```text
//! file     "ARROW1" 0 0 | a stream | footer | its length, i32 | "ARROW1"
//! stream   messages until one of length 0, or the end
//! message  ff ff ff ff | length, i32 | metadata (flatbuffer), padded | body, padded
//! ```
//! Files are read by their footer, so padding between the last message and the footer (as written by Arrow.jl) does not
//! matter. Every length is checked against the file before use.

use std::ops::Range;

use arrow_ipc::{MessageHeader, MetadataVersion};
use flatbuffers::InvalidFlatbuffer;

use super::Problem;
use super::field::Schema;
use super::realigned::realigned;
use crate::Result;
use crate::source::Source;

pub const MAGIC: &[u8] = b"ARROW1";
pub const CONTINUATION: [u8; 4] = [0xff; 4];

/// Maximum metadata of a message, or length of the footer.
const MAX_METADATA: u64 = 256 << 20;

/// Batches and dictionaries in reading order.
pub struct Messages {
    pub schema: Schema,
    pub batches: Vec<Message>,
    /// Set for streams.
    pub stream: Option<Stream>,
}

/// A stream's parts that are not batches.
pub struct Stream {
    /// The schema message.
    pub schema: Metadata,
    /// Offset after the last message.
    pub end: u64,
}

/// A dictionary or a record batch.
pub struct Message {
    /// Offset in the file.
    pub at: u64,
    pub metadata: Metadata,
    pub body: Range<u64>,
}

/// A message's flatbuffer.
pub struct Metadata {
    bytes: Vec<u8>,
}

impl Metadata {
    fn of_message(source: &dyn Source, range: Range<u64>) -> Result<Metadata> {
        let bytes = source.read_range(range)?;
        let moved = match arrow_ipc::root_as_message(&bytes) {
            Err(InvalidFlatbuffer::Unaligned { .. }) => realigned(&bytes),
            _ => None,
        };
        let moved = moved.filter(|moved| arrow_ipc::root_as_message(moved).is_ok());
        Ok(Metadata { bytes: moved.unwrap_or(bytes) })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The message. It is verified again, which is cheap.
    pub fn message(&self) -> Result<arrow_ipc::Message<'_>, Problem> {
        arrow_ipc::root_as_message(self.bytes()).map_err(|error| {
            Problem::damaged(format!("its metadata is not an Arrow message: {}", first_line(&error)))
        })
    }
}

/// Reads all metadata. Problems come with the offset of their message.
pub fn read(source: &dyn Source) -> Result<Result<Messages, (u64, Problem)>> {
    let head = source.read_range(0..source.len().min(8))?;
    if head.starts_with(MAGIC) { Reader { source }.file() } else { Reader { source }.stream() }
}

struct Reader<'a> {
    source: &'a dyn Source,
}

type Parsed<T> = Result<Result<T, (u64, Problem)>>;

/// Like `?` for the inner result: returns the problem as an `Ok(Err(_))`.
macro_rules! try_parsed {
    ($found:expr) => {
        match $found {
            Ok(value) => value,
            Err(problem) => return Ok(Err(problem)),
        }
    };
}

fn invalid<T>(at: u64, problem: impl Into<String>) -> Parsed<T> {
    Ok(Err((at, Problem::damaged(problem))))
}

impl Reader<'_> {
    fn file(&self) -> Parsed<Messages> {
        let len = self.source.len();
        let Some(end) = len.checked_sub(10).filter(|end| *end >= 8) else {
            return invalid(0, format!("an Arrow file has a footer, and this one has {len} bytes in all"));
        };
        let tail = self.source.read_range(end..len)?;
        if !tail.ends_with(MAGIC) {
            return invalid(
                len - 6,
                "the Arrow file does not end with ARROW1: it was cut, or not written to its end",
            );
        }
        let size = tail.first_chunk::<4>().map_or(-1, |bytes| i32::from_le_bytes(*bytes));
        let start = u64::try_from(size)
            .ok()
            .filter(|size| *size <= MAX_METADATA)
            .and_then(|size| end.checked_sub(size));
        let Some(start) = start.filter(|start| *start >= 8) else {
            return invalid(
                end,
                format!(
                    "the footer of the Arrow file claims to have {size} bytes, and {} are before it",
                    end - 8
                ),
            );
        };
        let metadata = self.source.read_range(start..end)?;
        let footer = match arrow_ipc::root_as_footer(&metadata) {
            Ok(footer) => footer,
            Err(error) => {
                return invalid(
                    start,
                    format!("the footer of the Arrow file cannot be read: {}", first_line(&error)),
                );
            }
        };
        let Some(schema) = footer.schema() else {
            return invalid(start, "the footer of the Arrow file has no schema");
        };
        let schema = try_parsed!(Schema::read(schema).map_err(|problem| (start, problem)));
        let blocks =
            footer.dictionaries().into_iter().chain(footer.recordBatches()).flat_map(|list| list.iter());
        let (mut batches, mut bodies) = (Vec::new(), 0u64);
        for block in blocks {
            let number = |number: i64| u64::try_from(number).ok();
            let (at, head, body) =
                (number(block.offset()), number(block.metaDataLength().into()), number(block.bodyLength()));
            let place = at.zip(head).zip(body).and_then(|((at, head), body)| {
                let from = at.checked_add(head)?;
                let to = from.checked_add(body)?;
                (to <= start && (8..=MAX_METADATA).contains(&head)).then_some((at, from, to))
            });
            let Some((at, from, to)) = place else {
                return invalid(
                    start,
                    format!(
                        "the footer of the Arrow file has a batch at byte {}, which does not fit",
                        block.offset()
                    ),
                );
            };
            bodies = bodies.saturating_add(to - at);
            if bodies > len {
                return invalid(
                    start,
                    "the batches that the footer of the Arrow file names are longer than the file",
                );
            }
            batches.push(try_parsed!(self.block(at, from, to)?));
        }
        Ok(Ok(Messages { schema, batches, stream: None }))
    }

    /// Reads a message at the place given in the footer.
    fn block(&self, at: u64, from: u64, to: u64) -> Parsed<Message> {
        let head = self.source.read_range(at..at + 8)?;
        // Files from before 2019 have no continuation marker.
        let skip = if head.starts_with(&CONTINUATION) { 8 } else { 4 };
        let metadata = Metadata::of_message(self.source, at + skip..from)?;
        let message = try_parsed!(metadata.message().map_err(|problem| (at, problem)));
        try_parsed!(check_supported(&message).map_err(|problem| (at, problem)));
        match u64::try_from(message.bodyLength()) {
            Ok(body) if body <= to - from => Ok(Ok(Message { at, metadata, body: from..from + body })),
            _ => invalid(
                at,
                format!(
                    "the batch claims to have {} bytes, but the footer says {}",
                    message.bodyLength(),
                    to - from
                ),
            ),
        }
    }

    fn stream(&self) -> Parsed<Messages> {
        let len = self.source.len();
        let (mut at, mut schema, mut batches) = (0, None, Vec::new());
        while at < len {
            let rest = len - at;
            let head = self.source.read_range(at..at + rest.min(8))?;
            let Some((mark, size)) = head.split_first_chunk::<4>() else {
                return invalid(at, "the Arrow stream ends within a message");
            };
            let (size, skip) = match (*mark == CONTINUATION, size.first_chunk::<4>()) {
                (true, Some(size)) => (i32::from_le_bytes(*size), 8),
                (true, None) => return invalid(at, "the Arrow stream ends within a message"),
                // Streams from before 2019 have no continuation marker.
                (false, _) => (i32::from_le_bytes(*mark), 4),
            };
            if size == 0 {
                break;
            }
            let from = at + skip;
            let Some(body) = u64::try_from(size)
                .ok()
                .filter(|size| *size <= (len - from).min(MAX_METADATA))
                .map(|size| from + size)
            else {
                return invalid(
                    at,
                    format!("the message claims to have {size} bytes of metadata, and {} follow", len - from),
                );
            };
            let metadata = Metadata::of_message(self.source, from..body)?;
            let message = try_parsed!(metadata.message().map_err(|problem| (at, problem)));
            let Some(end) = u64::try_from(message.bodyLength())
                .ok()
                .filter(|size| *size <= len - body)
                .map(|size| body + size)
            else {
                return invalid(
                    at,
                    format!(
                        "the message claims to have a body of {} bytes, and {} follow",
                        message.bodyLength(),
                        len - body
                    ),
                );
            };
            match (message.header_as_schema(), &schema) {
                (Some(header), None) => {
                    let read = try_parsed!(Schema::read(header).map_err(|problem| (at, problem)));
                    schema = Some((read, metadata));
                }
                (Some(_), Some(_)) => return invalid(at, "the Arrow stream has a second schema"),
                (None, None) => return invalid(at, "the Arrow stream does not begin with a schema"),
                (None, Some(_)) => {
                    try_parsed!(check_supported(&message).map_err(|problem| (at, problem)));
                    batches.push(Message { at, metadata, body: body..end });
                }
            }
            at = end;
        }
        match schema {
            Some((schema, first)) => {
                let stream = Some(Stream { schema: first, end: at });
                Ok(Ok(Messages { schema, batches, stream }))
            }
            None => invalid(0, "the Arrow stream has no schema"),
        }
    }
}

/// The verifier's message without its trace of fields.
fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Checks that a message is a batch or dictionary of a supported version.
fn check_supported(message: &arrow_ipc::Message<'_>) -> Result<(), Problem> {
    if !matches!(message.version(), MetadataVersion::V4 | MetadataVersion::V5) {
        let version = message.version().0 + 1;
        return Err(Problem::unsupported(format!(
            "its metadata is of version {version}; only 4 and 5 are supported"
        )));
    }
    match message.header_type() {
        MessageHeader::RecordBatch | MessageHeader::DictionaryBatch => Ok(()),
        other => Err(Problem::damaged(format!(
            "expected a record batch or a dictionary, found a message of type {}",
            other.0
        ))),
    }
}
