//! Fast access to all records in a mount: their concatenated bytes, offsets and CRCs, each as bare elements, as a .npy
//! file, and all together as an Arrow file.

use std::ops::Range;
use std::sync::Arc;

use super::chosen;
use super::records::{FOLDER, Records};
use super::rows::Rows;
use crate::array::{Array, Dtype, Element, Endian, Kind, Order, byte_len, npy};
use crate::arrow::{self, Column, Of};
use crate::content::{Bytes, Computed, Content, in_pieces, joined};
use crate::lines::{self, Part};
use crate::tree::Description;
use crate::yaml::{self, Node};
use crate::{Error, Result};

/// The file that describes all records.
pub const META: &str = "records.meta.yaml";

/// The names of the files, in listing order.
pub const NAMES: [&str; 6] = ["data", "data.npy", "offsets", "offsets.npy", "checksums", "checksums.npy"];

/// The contents of the files, in the order of [`NAMES`].
pub fn all(records: &Arc<Records>) -> Vec<Content> {
    let offsets = Content::Computed(Arc::new(Offsets { records: records.clone() }));
    let bare = [joined(records.data()), offsets, joined(records.checksums())];
    let both = arrays(records).into_iter().zip(bare).map(|(array, bare)| {
        let header = Content::Inline(npy::described(&array).into());
        [bare.clone(), joined(vec![header, bare])]
    });
    both.flatten().collect()
}

/// The arrays in the files; each is there twice, raw and as .npy.
pub fn arrays(records: &Records) -> [Array; 3] {
    let count = u64::from(records.count());
    let of = [(Kind::Uint, 1, records.data_len()), (Kind::Int, 8, count + 1), (Kind::Uint, 4, count)];
    of.map(|(kind, size, len)| {
        let dtype = Dtype { element: Element { kind, size }, endian: Endian::Little };
        Array::new(dtype, [len], Order::C)
    })
}

/// The description of one of the `.npy` files among [`NAMES`].
pub fn describe(records: &Records, at: usize) -> Option<Description> {
    let name = NAMES.get(at)?.strip_suffix(".npy")?;
    let [data, offsets, checksums] = arrays(records);
    let array = match name {
        "data" => data,
        "offsets" => offsets,
        _ => checksums,
    };
    let kind = array.dtype.element.name()?;
    let decoded_len = byte_len(array.dtype.element, &array.shape);
    let about = Description::of(format!("table/{name}").as_str(), kind);
    Some(Description { array: Some(array), decoded_len, has_header: true, ..about })
}

/// The kinds of views of the table of all records, with its file name in each.
pub const KINDS: [(&str, &str); 3] =
    [("arrow", "records.arrow"), ("jsonl", "records.jsonl"), ("csv", "records.csv")];

/// All records as one table, of a kind among [`KINDS`]; None if there is none.
pub fn table(records: &Arc<Records>, kind: &str) -> Result<Option<Content>> {
    Ok(match kind {
        "arrow" => arrow(records),
        "jsonl" => Some(lines::jsonl(Rows(records.clone()))?),
        "csv" => Some(lines::csv(Rows(records.clone()))),
        _ => None,
    })
}

/// Selected records, or columns of them, as such a table.
pub fn rows(records: &Arc<Records>, kind: &str, expression: &str) -> Result<Option<Content>> {
    let wrong = |problem| {
        let file = records.shards().next().map(|shard| shard.source.place()).unwrap_or_default();
        Error::Usage(format!("{}: [{expression}]: {problem}", file.dataset(FOLDER)))
    };
    let part = Part::new(Rows(records.clone()), expression).map_err(wrong)?;
    Ok(match kind {
        "arrow" => Some(chosen::arrow(records, &part)),
        "jsonl" => Some(lines::jsonl(part)?),
        "csv" => Some(lines::csv(part)),
        _ => None,
    })
}

/// The records as rows of an Arrow file: `data`, which refers to their bytes in place, and `crc32`. CRCs are not
/// verified.
fn arrow(records: &Arc<Records>) -> Option<Content> {
    let offsets = Content::Computed(Arc::new(Offsets { records: records.clone() }));
    arrow_of(records.count().into(), &[0, 1], offsets, joined(records.data()), joined(records.checksums()))
}

/// An Arrow file of `count` records with some of the columns of [`Rows`]: their offsets, bytes and CRCs.
pub fn arrow_of(
    count: u64,
    columns: &[usize],
    offsets: Content,
    data: Content,
    checksums: Content,
) -> Option<Content> {
    let column = |name: &str, of, buffers: Vec<Content>| {
        let buffers = [vec![joined(Vec::new())], buffers].concat();
        Column { name: name.into(), of, buffers }
    };
    let crc = Of::Int { size: 4, is_signed: false };
    let columns = columns.iter().map(|number| match number {
        0 => column("data", Of::Binary, vec![offsets.clone(), data.clone()]),
        _ => column("crc32", crc, vec![checksums.clone()]),
    });
    arrow::file(count, columns.collect())
}

/// N + 1 numbers: the offset of each record, relative to the first and across files, and the end of the last.
struct Offsets {
    records: Arc<Records>,
}

impl Offsets {
    fn byte_len(&self) -> u64 {
        8 * (u64::from(self.records.count()) + 1)
    }

    /// Fills `buf` with offsets from the `first` on, of one file at most; returns the bytes filled, whole offsets only.
    fn some(&self, first: u64, buf: &mut [u8]) -> Result<usize> {
        let found = u32::try_from(first).ok().and_then(|first| self.records.shard(first));
        let Some((shard, own)) = found else {
            let end = buf.first_chunk_mut().ok_or(Error::NotFound)?;
            *end = self.records.data_len().to_le_bytes();
            return Ok(end.len());
        };
        let before = self.records.shards().take_while(|other| !std::ptr::eq(*other, shard));
        let before: u64 = before.map(|other| other.data.end - other.data.start).sum();
        let count = buf.len().min(8 * (shard.count - own) as usize);
        let made = buf.get_mut(..count).unwrap_or_default();
        shard.table.fill_offsets(made, own)?;
        for bytes in made.chunks_exact_mut(8) {
            let stored = u64::from_le_bytes((&*bytes).try_into().unwrap_or_default());
            let offset = stored.wrapping_sub(shard.data.start).wrapping_add(before);
            bytes.copy_from_slice(&offset.to_le_bytes());
        }
        Ok(count)
    }
}

impl Computed for Offsets {
    fn known_len(&self) -> Option<u64> {
        Some(self.byte_len())
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        in_pieces(buf, offset, &mut |rest, at| {
            if at >= self.byte_len() {
                return Ok(0);
            }
            let (first, skip, whole) = (at / 8, (at % 8) as usize, rest.len() / 8 * 8);
            if skip == 0 && whole > 0 {
                return self.some(first, rest.get_mut(..whole).unwrap_or_default());
            }
            let mut one = [0; 8];
            self.some(first, &mut one)?;
            let wanted = rest.iter_mut().zip(one.iter().skip(skip));
            Ok(wanted.map(|(to, from)| *to = *from).count())
        })
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        let is_ready = self.records.shards().all(|shard| shard.table.is_kept());
        if is_ready { self.read(range).map(Some) } else { Ok(None) }
    }
}

/// The contents of [`META`].
pub fn meta(records: &Records) -> String {
    let number = |value: u64| Node::Int(value.to_string().into());
    let map = |pairs: Vec<(&str, Node)>| {
        Node::Map(pairs.into_iter().map(|(key, value)| (Node::text(key).into(), value.into())).collect())
    };
    let parts: Vec<_> = records
        .shards()
        .map(|shard| {
            let name = shard.source.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let checksum = shard.checksum;
            map(vec![
                ("file", Node::text(&name)),
                ("records", number(shard.count.into())),
                ("bytes", number(shard.data.end - shard.data.start)),
                ("headerChecksum", Node::text(checksum.name())),
                ("legacy", Node::Bool(checksum == super::head::HeaderChecksum::Absent)),
            ])
            .into()
        })
        .collect();
    let whole = map(vec![
        ("records", number(records.count().into())),
        ("bytes", number(records.data_len())),
        ("files", number(parts.len() as u64)),
        ("parts", Node::Seq(parts)),
    ]);
    let mut text = String::new();
    yaml::write(&whole, 0, &mut text);
    text
}
