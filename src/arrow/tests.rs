use super::*;

fn all(content: &Content) -> Vec<u8> {
    let mut bytes = vec![0; content.known_len().unwrap() as usize];
    content.fill(&mut bytes, 0).unwrap();
    bytes
}

fn footer(file: &[u8]) -> arrow_ipc::Footer<'_> {
    assert!(file.starts_with(b"ARROW1\0\0") && file.ends_with(b"ARROW1"));
    let tail = file.len() - 10;
    let len = i32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    arrow_ipc::root_as_footer(&file[tail - len..tail]).unwrap()
}

fn column() -> Column {
    let inline = |bytes: &[u8]| Content::Inline(bytes.into());
    let offsets: Vec<u8> = [0i64, 3, 3].iter().flat_map(|at| at.to_le_bytes()).collect();
    Column {
        name: "data".into(),
        of: Of::Binary,
        buffers: vec![inline(b""), inline(&offsets), inline(b"abc")],
    }
}

#[test]
fn a_stream_becomes_a_file_with_the_same_schema() {
    let whole = all(&file(2, vec![column()]).unwrap());
    let want = footer(&whole);
    let block = want.recordBatches().unwrap().get(0);
    let (at, metadata, body) =
        (block.offset() as u64, block.metaDataLength() as u64, block.bodyLength() as u64);
    // The stream is the part of the file between the magic number and the footer.
    let stream = &whole[8..(at + metadata + body) as usize];
    let len = i32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
    let schema = &stream[8..8 + len];
    let blocks = [
        Block { at: at - 8, metadata, body, is_dictionary: false },
        Block { at: 16, metadata: 8, body: 0, is_dictionary: true },
    ];
    let made = file_of_stream(Content::Inline(stream.into()), schema, &blocks).unwrap();
    let made = all(&made);
    let found = footer(&made);
    assert_eq!(found.schema().unwrap().fields().unwrap().get(0).name(), Some("data"));
    assert_eq!(format!("{:?}", found.schema()), format!("{:?}", want.schema()));
    assert_eq!(found.recordBatches().unwrap().get(0), block);
    assert_eq!(found.dictionaries().unwrap().get(0).offset(), 24);
    assert_eq!(made[..8 + stream.len()], whole[..8 + stream.len()]);
    assert!(file_of_stream(Content::Inline(stream.into()), b"no flatbuffer", &blocks).is_none());
}

#[test]
fn what_does_not_fit_is_no_file() {
    let part =
        |len| Content::Part { whole: std::sync::Arc::new(Content::Inline([][..].into())), range: 0..len };
    let huge = |len| Column { name: "x".into(), of: Of::Binary, buffers: vec![part(len)] };
    assert!(file(1, vec![huge(u64::MAX)]).is_none());
    assert!(file(1, vec![huge(i64::MAX as u64)]).is_none());
    // Too large only together with header and footer.
    assert!(file(1, vec![huge(i64::MAX as u64 - 127)]).is_none());
    assert!(file(u64::MAX, vec![column()]).is_none());
}
