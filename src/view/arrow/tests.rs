use super::*;
use crate::arrow::ALIGNMENT;
use crate::view::kit::{about, read, represent, table};

/// The rows and the buffers of a file, which is read by its footer.
fn opened(file: &[u8]) -> (i64, Vec<Vec<u8>>, Vec<String>) {
    assert!(file.starts_with(b"ARROW1\0\0") && file.ends_with(b"ARROW1"));
    let tail = file.len() - 10;
    let len = i32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    let footer = arrow_ipc::root_as_footer(&file[tail - len..tail]).unwrap();
    let fields = footer.schema().unwrap().fields().unwrap();
    let names = fields.iter().map(|field| format!("{} {:?}", field.name().unwrap(), field.type_type()));
    let block = footer.recordBatches().unwrap().get(0);
    let (at, metadata) = (block.offset() as usize, block.metaDataLength() as usize);
    let message = arrow_ipc::root_as_message(&file[at + 8..at + metadata]).unwrap();
    let body = &file[at + metadata..at + metadata + block.bodyLength() as usize];
    assert_eq!(((at + metadata) as u64 % ALIGNMENT, message.bodyLength()), (0, body.len() as i64));
    assert_eq!(file[at + metadata + body.len()..][..8], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let batch = message.header_as_record_batch().unwrap();
    let buffers = batch.buffers().unwrap().iter().map(|place| {
        assert_eq!(place.offset() as u64 % ALIGNMENT, 0);
        body[place.offset() as usize..][..place.length() as usize].to_vec()
    });
    (batch.length(), buffers.collect(), names.collect())
}

fn arrow(table: crate::tree::Table, bytes: &[u8]) -> (i64, Vec<Vec<u8>>, Vec<String>) {
    opened(&read(&represent(&Arrow, about(None, Some(table)), bytes).unwrap()))
}

#[test]
fn numbers_are_as_they_are_and_texts_are_views() {
    let long = "a text that is long";
    let columns = [("n", "uint16"), ("n", "bool"), ("t", "20"), ("c", "complex64")];
    let texts = format!("{:\0<20}{:\0<20}", "short", long);
    let numbers: Vec<u8> = (0..16).collect();
    let bytes = [&[1, 2, 3, 4, 1, 0][..], texts.as_bytes(), &numbers].concat();
    let (rows, buffers, names) = arrow(table(2, &columns), &bytes);
    assert_eq!(rows, 2);
    assert_eq!(names, ["n Int", "n~2 Bool", "t Utf8View", "c FixedSizeList"]);
    let view = |len: u8, rest: &[u8]| [&[len, 0, 0, 0], rest, &[0; 12][rest.len()..]].concat();
    let views = [view(5, b"short"), view(19, b"a te\0\0\0\0\x14\0\0\0")].concat();
    let none = &[][..];
    let want: [&[u8]; 10] =
        [none, &[1, 2, 3, 4], none, &[1], none, &views, texts.as_bytes(), none, none, &numbers];
    assert_eq!(buffers, want);
}

#[test]
fn other_byte_orders_and_types_are_made() {
    let mut big = table(3, &[("a", "uint32"), ("b", "bfloat16"), ("c", "int128"), ("d", "float8_e5m2")]);
    big.columns[0].big_endian = true;
    let bytes: Vec<u8> = (0..69).collect();
    let (_, buffers, names) = arrow(big, &bytes);
    assert_eq!(names, ["a Int", "b FloatingPoint", "c FixedSizeBinary", "d FloatingPoint"]);
    assert_eq!(buffers[1], [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]);
    assert_eq!(buffers[3], [0, 0, 12, 13, 0, 0, 14, 15, 0, 0, 16, 17]);
    assert_eq!(buffers[5], &bytes[18..66]);
    let f = |bits: u16| half::f16::from_bits(bits << 8).to_f32();
    let floats: Vec<u8> = [f(66), f(67), f(68)].iter().flat_map(|float| float.to_le_bytes()).collect();
    assert_eq!(buffers[7], floats);
}

#[test]
fn bits_of_many_rows() {
    let bytes: Vec<u8> = (0..1000u32).map(|row| u8::from(row % 3 == 0)).collect();
    let (_, buffers, _) = arrow(table(1000, &[("yes", "bool")]), &bytes);
    let bits = (0..1000).map(|row| buffers[1][row / 8] >> (row % 8) & 1);
    assert!(bits.eq(bytes) && buffers[1].len() == 125);
}

#[test]
fn tables_without_rows_or_bytes() {
    let (rows, buffers, _) = arrow(table(0, &[("a", "uint32"), ("t", "3")]), b"");
    assert_eq!((rows, buffers), (0, vec![vec![]; 4]));
    let (_, buffers, _) = arrow(table(2, &[("t", "0")]), b"");
    assert_eq!(buffers, [vec![], vec![0; 32]]);
    let vast = represent(&Arrow, about(None, Some(table(1 << 61, &[("a", "uint32")]))), b"").unwrap();
    assert!(matches!(vast, Content::Broken { .. }));
}

#[test]
fn texts_that_are_none_are_errors() {
    let file = represent(&Arrow, about(None, Some(table(1, &[("t", "1")]))), b"\xff").unwrap();
    assert!(file.known_len().is_some() && file.read(0, usize::MAX).is_err());
}
