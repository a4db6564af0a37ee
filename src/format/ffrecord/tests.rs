//! Tests of the format on bytes in memory: what is rejected, what is read, and that there is no other outcome.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::datasets::FFRecordDatasets;
use super::folder::{self, Folder, MAGIC};
use super::records::Records;
use super::tables;
use super::write::Writer;
use crate::codec::Check;
use crate::content::Content;
use crate::format::Format;
use crate::source::Source;
use crate::source::memory::MemorySource;
use crate::tree::{Datasets, Description, FileKind, NodeId, NodeKind, ROOT, Tree};
use crate::yaml::Node;
use crate::{Error, Result};

fn crc(bytes: &[u8]) -> u32 {
    Check::Crc.update(0, bytes)
}

/// A strictly conforming file, built from the format's specification.
pub fn file(records: &[&[u8]]) -> Vec<u8> {
    let mut head = (records.len() as u64).to_le_bytes().to_vec();
    records.iter().for_each(|record| head.extend(crc(record).to_le_bytes()));
    let mut offset = 12 + 12 * records.len() as u64;
    for record in records {
        head.extend(offset.to_le_bytes());
        offset += record.len() as u64;
    }
    [&crc(&head).to_le_bytes()[..], &head, &records.concat()].concat()
}

/// Corrects the header's checksum.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let count = u64::from_le_bytes(bytes[4..12].try_into().unwrap());
    let end =
        count.checked_mul(12).and_then(|len| len.checked_add(12)).filter(|end| *end <= bytes.len() as u64);
    let sum = crc(&bytes[4..end.unwrap_or(12) as usize]);
    bytes[..4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn source(bytes: Vec<u8>) -> Arc<MemorySource> {
    Arc::new(MemorySource { bytes, ..MemorySource::default() })
}

fn open(bytes: Vec<u8>) -> Result<Records> {
    Records::open(vec![source(bytes)], true)
}

/// The tree a mount shows.
fn shown(records: Records) -> Arc<dyn Tree> {
    super::container(Arc::new(records), None).into_tree().unwrap()
}

fn message(bytes: Vec<u8>) -> String {
    open(bytes).err().unwrap().to_string()
}

fn all(content: &Content) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    content.pass(&mut |piece| {
        bytes.extend_from_slice(piece);
        ControlFlow::Continue(())
    })?;
    Ok(bytes)
}

fn at(tree: &dyn Tree, path: &str) -> Option<NodeId> {
    path.split('/')
        .try_fold(ROOT, |dir, name| tree.lookup(dir, name.as_bytes()).unwrap().map(|(node, _)| node))
}

fn read(tree: &dyn Tree, path: &str) -> Vec<u8> {
    let node = at(tree, path).unwrap();
    let size = tree.size(node, FileKind::Data).unwrap().len;
    let bytes = all(&tree.content(node, FileKind::Data).unwrap()).unwrap();
    assert_eq!(size, Some(bytes.len() as u64), "{path}");
    bytes
}

fn listed(tree: &dyn Tree, dir: NodeId) -> Vec<String> {
    let mut names = Vec::new();
    // One at a time, so that every cursor is used.
    let mut cursor = Some(0);
    while let Some(from) = cursor.take() {
        tree.list(dir, from, &mut |name, entry| {
            names.push(String::from_utf8_lossy(name).into_owned());
            assert_eq!(tree.lookup(dir, name).unwrap(), Some((entry.node, entry.file)));
            assert_eq!(tree.parent(entry.node), dir);
            assert_eq!(tree.kind(entry.node).unwrap(), entry.kind);
            assert!(entry.node < tree.nodes());
            cursor = Some(entry.cursor);
            false
        })
        .unwrap();
    }
    names
}

#[test]
fn briefly_a_record_is_described_without_what_only_info_shows() {
    let archive = FFRecordDatasets::new(Arc::new(open(file(&[b"one", b"", b"three"])).unwrap()), None);
    for number in 0..3 {
        let (full, brief) = (archive.describe(number).unwrap(), archive.brief(number).unwrap());
        let reported = |about: &Description| {
            (
                about.name.clone(),
                about.kind.clone(),
                about.stored.clone(),
                about.decoded_len,
                about.fault.clone(),
            )
        };
        assert_eq!(reported(&brief), reported(&full));
        assert!(brief.checksum.is_none() && full.checksum.is_some());
        assert!(*brief.codec == Node::Null && full.codec.get("crc32").is_some());
    }
}

#[test]
fn headers_that_make_no_sense() {
    let good = file(&[b"one", b"two"]);
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    assert!(message(b"12345".to_vec()).ends_with("at byte 0: the header takes 12 bytes, but the file has 5"));
    assert!(message(with(4, &(-3i64).to_le_bytes())).ends_with("at byte 4: the number of records is -3"));
    assert!(
        message(with(4, &(1i64 << 62).to_le_bytes()))
            .contains("take more than 2^64 bytes, but the file has 42")
    );
    assert!(
        message(with(4, &4i64.to_le_bytes()))
            .contains("at byte 4: the number of records is 4: header and tables take 60")
    );
    assert!(message(with(4, &[0])).contains("the number of records is 0, but it is followed by 30 bytes"));
    assert!(message(with(0, &[0; 12])).contains("its writer did not finish it"));
    assert!(message(with(13, b"x")).contains("at byte 0: the header checksum is 0x"));
    let offset = |number: usize, value: i64| resealed(with(20 + 8 * number, &value.to_le_bytes()));
    assert!(message(offset(0, 35)).contains("at byte 20: the offset of record 0 is 35, inside the header"));
    assert!(
        message(offset(1, 35)).contains("at byte 28: the offset of record 1 is 35, before the record ahead")
    );
    assert!(message(offset(1, 43)).contains("is 43, past the end of the file at byte 42"));
    assert!(message(offset(1, -1)).contains("is -1, which is negative"));
    assert!(Records::open(vec![source(with(13, b"x"))], false).is_ok());
}

#[test]
fn a_gap_before_the_first_record_is_left_out() {
    let mut bytes = file(&[b"abc"]);
    bytes.splice(24..24, *b"gap");
    bytes[16..24].copy_from_slice(&27u64.to_le_bytes());
    let tree = shown(open(resealed(bytes)).unwrap());
    assert_eq!(read(&*tree, "records/0"), b"abc");
    assert_eq!(read(&*tree, ".views/table/data"), b"abc");
    assert_eq!(read(&*tree, ".views/table/offsets"), [0u64, 3].map(u64::to_le_bytes).concat());
}

#[test]
fn the_tree_of_a_plain_file() {
    let parts: Vec<String> = (0..11).map(|number| "x".repeat(number % 4)).collect();
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let tree = shown(open(file(&parts)).unwrap());
    assert_eq!(listed(&*tree, ROOT), ["records", "records.meta.yaml"]);
    let records = at(&*tree, "records").unwrap();
    assert_eq!(listed(&*tree, records).join(" "), "00 01 02 03 04 05 06 07 08 09 10");
    for (number, part) in parts.iter().enumerate() {
        assert_eq!(read(&*tree, &format!("records/{number:02}")), *part);
    }
    for name in ["records/1", "records/11", "records/001", "records/+1", "records/0x", "x", "records/01/x"] {
        assert_eq!(at(&*tree, name), None, "{name}");
    }
    let views = at(&*tree, ".views").unwrap();
    assert_eq!(listed(&*tree, views), ["table", "arrow", "jsonl", "csv"]);
    for kind in ["arrow", "jsonl", "csv"] {
        let dir = at(&*tree, &format!(".views/{kind}")).unwrap();
        assert_eq!((listed(&*tree, dir), tree.parent(dir)), (vec![format!("records.{kind}")], views));
        let file = at(&*tree, &format!(".views/{kind}/records.{kind}")).unwrap();
        assert_eq!(tree.parent(file), dir);
    }
    assert!(read(&*tree, ".views/arrow/records.arrow").starts_with(b"ARROW1"));
    assert_eq!(listed(&*tree, at(&*tree, ".views/table").unwrap()), super::tables::NAMES);
    assert_eq!(read(&*tree, ".views/table/data"), parts.concat());
    assert_eq!(read(&*tree, ".views/table/data.npy").len(), 128 + parts.concat().len());
    assert_eq!((tree.datasets(), tree.nodes()), (11, 28));
    assert!(tree.kind(tree.nodes()).is_err());
    assert!(!tree.is_vast());
}

#[test]
fn several_files_are_one() {
    let files: [&[&[u8]]; 5] = [&[b"a", b"bc"], &[], &[b"", b"def"], &[], &[b"g"]];
    let sources = files.iter().map(|records| source(file(records)) as Arc<dyn Source>).collect();
    let tree = shown(Records::open(sources, true).unwrap());
    let found: Vec<_> = (0..5).map(|number| read(&*tree, &format!("records/{number}"))).collect();
    assert_eq!(found, [&b"a"[..], b"bc", b"", b"def", b"g"]);
    assert_eq!(read(&*tree, ".views/table/data"), b"abcdefg");
    let offsets = [0u64, 1, 3, 3, 6, 7].map(u64::to_le_bytes).concat();
    assert_eq!(read(&*tree, ".views/table/offsets"), offsets);
    let node = at(&*tree, ".views/table/offsets").unwrap();
    let content = tree.content(node, FileKind::Data).unwrap();
    for from in 0..offsets.len() {
        for to in from..offsets.len() {
            let mut part = vec![0; to - from];
            content.fill(&mut part, from as u64).unwrap();
            assert_eq!(part, offsets[from..to]);
        }
    }
    let sums: Vec<u8> = files.concat().iter().flat_map(|record| crc(record).to_le_bytes()).collect();
    assert_eq!(read(&*tree, ".views/table/checksums"), sums);
}

#[test]
fn a_damaged_record_fails_alone() {
    for (len, number) in [(3, 1u32), (1 << 20, 1)] {
        let middle = vec![7; len];
        let mut bytes = file(&[b"one", &middle, b"", b"three"]);
        bytes[60 + 3 + len / 2] ^= 1;
        // An empty record with a CRC.
        bytes[12 + 8] = 1;
        let records = open(resealed(bytes)).unwrap();
        let broken = |number| match records.content(number).unwrap() {
            Content::Broken { claimed, error: Error::Damaged { problem, .. } } => (claimed, problem),
            other => panic!("{:?}", all(&other)),
        };
        assert_eq!(broken(number).0, len as u64);
        assert!(broken(number).1.starts_with("its CRC-32 is 0x"));
        assert_eq!(broken(2).0, 1);
        assert_eq!(records.size(2).unwrap().len, Some(1));
        assert_eq!(all(&records.content(0).unwrap()).unwrap(), b"one");
        assert_eq!(all(&records.content(3).unwrap()).unwrap(), b"three");
        assert_eq!(all(&records.stored(number).unwrap()).unwrap().len(), len);
        assert!(super::batch::read(&records, &[0, 3, 0]).is_ok());
        let error = super::batch::read(&records, &[0, u64::from(number), 3]).err().unwrap();
        assert!(error.to_string().contains("dataset \"records/1\""), "{error}");
    }
}

fn text(records: &Arc<Records>, kind: &str) -> Content {
    tables::table(records, kind).unwrap().unwrap()
}

#[test]
fn a_damaged_empty_record_is_no_text() {
    let mut bytes = file(&[b"one", b"", b"", b"three"]);
    bytes[12 + 4] = 1;
    let records = Arc::new(open(resealed(bytes)).unwrap());
    let row = |number: u32, text: &str, crc: u32| match number {
        0 => format!("{text},{crc}\n"),
        _ => format!("{{\"data\":\"{text}\",\"crc32\":{crc}}}\n"),
    };
    for (number, table) in [(0, text(&records, "csv")), (1, text(&records, "jsonl"))] {
        let message = all(&table).unwrap_err();
        assert!(matches!(&message, Error::Damaged { place, .. } if place.to_string().contains("records/1")));
        // The records around it can be read, as with other damage.
        let first =
            [if number == 0 { "data,crc32\n" } else { "" }, &row(number, "b25l", crc(b"one"))].concat();
        let last = row(number, "dGhyZWU=", crc(b"three"));
        let read = |from: u64, size: usize| table.read(from, size).unwrap().to_vec();
        assert_eq!(read(0, first.len()), first.as_bytes());
        assert_eq!(read(table.len().unwrap() - last.len() as u64, 1 << 20), last.as_bytes());
    }
    let unverified =
        Arc::new(Records::open(records.shards().map(|shard| shard.source.clone()).collect(), false).unwrap());
    let text = String::from_utf8(all(&text(&unverified, "csv")).unwrap()).unwrap();
    assert!(text.contains("\n\"\",1\n"), "{text}");
}

#[test]
fn a_record_is_compared_once() {
    let memory = source(file(&[&[5; 1000]]));
    let records = Records::open(vec![memory.clone()], true).unwrap();
    let before = memory.read.load(Ordering::Relaxed);
    assert_eq!(all(&records.content(0).unwrap()).unwrap(), [5; 1000]);
    assert_eq!(memory.read.load(Ordering::Relaxed) - before, 1000);
    assert!(matches!(records.ready_content(0).unwrap(), Some(Content::Stored { .. })));
    assert_eq!(memory.read.load(Ordering::Relaxed) - before, 1000);
}

#[test]
fn a_file_is_recognized_by_its_header() {
    use crate::format::{Candidate, HEAD};
    let good = file(&[b"one", b"two"]);
    let tells = |name: &str, bytes: &[u8], asked_for: bool| {
        let head = &bytes[..bytes.len().min(HEAD)];
        let candidate = Candidate { path: name.as_ref(), head, len: bytes.len() as u64, asked_for };
        super::FFRecord.detect(&candidate)
    };
    assert!(tells("x.ffr", &good, false) && tells("X.FFR", &good, true));
    assert!(!tells("x.bin", &good, true) && !tells("x.ffr", b"", true));
    for at in 0..36 {
        let mut changed = good.clone();
        changed[at] ^= 1;
        assert!(!tells("x.ffr", &changed, false) && tells("x.ffr", &changed, true), "{at}");
    }
    assert!(!tells("x.ffr", b"a text that has nothing to do with records", false));
    assert!(!tells("x.ffr", b"short", false) && tells("x.ffr", &file(&[]), false));
    // Tables longer than the first bytes are verified on opening.
    let many = file(&vec![&b"r"[..]; 5000]);
    assert!(tells("x.ffr", &many, false) && !tells("x.ffr", &many[..many.len() / 2], false));
}

#[test]
fn tables_of_many_files_take_no_more_memory_than_of_one() {
    // 1.5 MB of tables each.
    let part = source(file(&vec![&b""[..]; 131_072]));
    let records = Records::open((0..20).map(|_| part.clone() as Arc<dyn Source>).collect(), true).unwrap();
    assert!(records.memory() < 17 << 20, "{}", records.memory());
    assert_eq!(records.find(20 * 131_072 - 1).unwrap().len(), 0);
}

#[test]
fn what_changed_is_not_read() {
    let memory = source(file(&[b"abc"]));
    let records = Records::open(vec![memory.clone()], true).unwrap();
    memory.changed.store(true, Ordering::Relaxed);
    assert!(matches!(records.content(0), Err(Error::Changed { .. })));
    assert!(matches!(super::batch::read(&records, &[0]), Err(Error::Changed { .. })));
}

/// A packed folder of two files and this pickle.
fn packed(pickle: &[u8]) -> Result<Option<Folder>> {
    let index = [MAGIC, pickle].concat();
    folder::of(&open(file(&[b"one", b"two", &index])).unwrap())
}

const DICT: &[u8] = b"\x80\x04\x8c\x0bcollections\x8c\x0bOrderedDict\x93\x94)R";

fn with(rest: &[u8]) -> Vec<u8> {
    [DICT, rest].concat()
}

#[test]
fn folders_of_any_pickle_protocol() {
    // A text's length includes the three bytes of its surrogate.
    let raw = with(b"(\x8c\x05\xED\xB3\xA9.tK\x01\x8c\x01dh\0)R\x8c\x01xK\0su.");
    let folder = packed(&raw).unwrap().unwrap();
    let paths: Vec<_> = (0..folder.files()).map(|file| folder.file(file).unwrap()).collect();
    assert_eq!(paths, [(0, b"d/x".to_vec()), (1, b"\xE9.t".to_vec())]);
    let old =
        b"\x80\x02ccollections\nOrderedDict\nq\0)Rq\x01(X\x01\0\0\0aq\x02K\0X\x01\0\0\0bq\x03h\0)Rq\x04u.";
    let folder = packed(old).unwrap().unwrap();
    assert_eq!((folder.files(), folder.file(0)), (1, Some((0, b"a".to_vec()))));
    assert!(folder.find(0, b"b").is_some() && folder.at_path(b"./b//").is_some());
    let plain = packed(b"}p7\n(X\x01\0\0\0a\x8a\x01\x01u.").unwrap().unwrap();
    assert_eq!((plain.file(0), plain.shared(2)), (Some((1, b"a".to_vec())), 0));
    // Names that share a record, like hard links.
    let linked = packed(&with(b"(\x8c\x01aK\x01\x8c\x01bK\x00\x8c\x01cK\x01u.")).unwrap().unwrap();
    assert_eq!((linked.file(2), linked.shared(2)), (Some((1, b"c".to_vec())), 1));
    let oldest =
        b"ccollections\nOrderedDict\np0\n(tp1\nRp2\nVa\\u005cb \xe9.txt\np3\nI0\nsVd\np4\ng0\n(tp5\nRp6\n\
        V\\u6f22\\udce9\np7\nL1L\nss.";
    let folder = packed(oldest).unwrap().unwrap();
    assert_eq!(folder.file(0), Some((0, "a\\b é.txt".as_bytes().to_vec())));
    assert_eq!(folder.file(1), Some((1, b"d/\xe6\xbc\xa2\xe9".to_vec())));
}

#[test]
fn pickles_that_are_refused() {
    let refused = |pickle: &[u8], fragment: &str| {
        let error = packed(pickle).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("the index of the packed folder: ") && message.contains(fragment),
            "{message}"
        );
        assert_eq!(error.exit_code(), 12);
    };
    refused(b"cos\nsystem\n.", "it names os.system; only collections.OrderedDict is allowed");
    refused(b"\x8c\x02os\x8c\x06system\x93.", "it names os.system");
    refused(&with(b""), "does not end with STOP");
    refused(&with(b".."), "followed by 1 byte");
    refused(&with(b"b."), "opcode 0x62 has no place");
    refused(&with(b"\x81."), "opcode 0x81 has no place");
    refused(&with(b"\x8c\x01aK\x02s."), "record 2; files are in records below 2");
    refused(&with(b"\x8c\x01aJ\xff\xff\xff\xffs."), "record -1");
    refused(&with(b"\x8c\x01a\x88s."), "opcode 0x88");
    refused(&with(b"\x8c\0K\0s."), "a name is empty");
    refused(&with(b"\x8c\x02..K\0s."), "is not a valid name");
    refused(&with(b"\x8c\x03a/bK\0s."), "has a slash");
    refused(&with(b"\x8c\x02a\0K\0s."), "NUL");
    refused(&with(b"\x8c\x03\xED\xA0\x80K\0s."), "is not valid text");
    refused(&with(b"(\x8c\x01aK\0\x8c\x01aK\x01u."), "appears twice in one directory");
    refused(&with(b"h\x09."), "recalls number 9");
    refused(&with(b"q\x05\x8c\x01ah\x05s."), "in two places");
    refused(&with(b"(\x8c\x01aK\0\x8c\x01bu."), "stands for nothing");
    refused(&with(b"K\0K\0s."), "a number stands for a number");
    refused(&with(b"K\0."), "ends with 2 values");
    refused(b"K\0.", "the index is a number");
    refused(b".", "0 values");
    refused(b"X\xff\xff\xff\xff.", "4294967295 bytes are needed");
    refused(b"\x95\xff\xff\xff\xff\xff\xff\xff\xff.", "a frame has");
    refused(b"\x80\x09.", "protocol 9");
    refused(&with(b"u."), "there is no mark");
    refused(b")h\0R.", "recalls");
    refused(b"))R.", "an empty tuple is called");
    refused(&with(b"Va\nI01\ns."), "\"01\" is not a number");
    refused(&with(b"Va\nI-1\ns."), "\"-1\" is not a number");
    refused(&with(b"Va\nL1\ns."), "\"1\" is not a number");
    refused(&with(b"Va\\u12\nI1\ns."), "is not valid text");
    refused(&with(b"(K\0t."), "a tuple that is not empty");
    let long = [DICT, b"X\0\x01\0\0", &[b'x'; 256], b"K\0s."].concat();
    refused(&long, "has 256 bytes");
    let deep = [DICT, &b"\x8c\x01dh\0)R".repeat(600), &b"s".repeat(600), b"."].concat();
    refused(&deep, "deeper than 512 levels");
    let fits = [DICT, &b"\x8c\x01dh\0)R".repeat(500), &b"s".repeat(500), b"."].concat();
    assert_eq!(packed(&fits).unwrap().unwrap().len(), 501);
}

#[test]
fn what_an_index_takes_is_bounded_by_its_length() {
    let refused = |rest: &[u8], fragment: &str| {
        let message = packed(&with(rest)).unwrap_err().to_string();
        assert!(message.contains(fragment), "{message}");
    };
    refused(&b"(".repeat(3_000_000), "more than 2000000 values wait");
    refused(&b"\x94".repeat(100_000), "it remembers more than 25");
    // A long name recalled again and again: verbatim it takes no more memory; converted it counts against the limit.
    let again = |name: &[u8]| {
        let mut index = [b"X", &(name.len() as u32).to_le_bytes()[..], name, b"\x94K\0s"].concat();
        for number in 0..400_000u32 {
            if number % 1000 == 0 {
                index.extend(b"(");
            }
            index.extend([b"\x8c\x06", format!("{number:06}").as_bytes(), b"}h\x01K\0s"].concat());
            if number % 1000 == 999 {
                index.extend(b"u");
            }
        }
        index.push(b'.');
        index
    };
    let folder = packed(&with(&again(&[b'x'; 250]))).unwrap().unwrap();
    assert!(folder.files() == 400_001 && folder.memory() < 40 << 20, "{}", folder.memory());
    refused(&again(&b"\xED\xB3\xA9".repeat(250)), "its names take more than");
}

#[test]
fn a_tree_of_many_directories_takes_linear_time() {
    let mut pickle = [DICT, b"("].concat();
    for number in 0..100_000 {
        pickle.extend(b"\x8c\x06");
        pickle.extend(format!("{number:06}").bytes());
        pickle.extend(b"h\0)R\x8c\x01fK\x01s");
    }
    pickle.extend(b"u.");
    let folder = packed(&pickle).unwrap().unwrap();
    assert_eq!((folder.len(), folder.files()), (200_001, 100_000));
    assert_eq!(folder.file(77_777), Some((1, b"077777/f".to_vec())));
}

#[test]
fn a_folder_is_the_root_and_its_own_names_win() {
    let index = [MAGIC, with(b"(\x8c\x06.viewsK\0\x8c\x01dh\0)R\x8c\x01xK\x01su.").as_slice()].concat();
    let records = Arc::new(open(file(&[b"one", b"two", &index])).unwrap());
    let folder = folder::of(&records).unwrap().map(Arc::new);
    let tree = super::container(records, folder).into_tree().unwrap();
    assert_eq!(listed(&*tree, ROOT), [".views", "d"]);
    assert_eq!(read(&*tree, ".views"), b"one");
    assert_eq!(read(&*tree, "d/x"), b"two");
    assert_eq!(at(&*tree, "records"), None);
    assert_eq!(tree.kind(ROOT).unwrap(), NodeKind::Directory { subdirectories: Some(1) });
    assert_eq!(tree.datasets(), 2);
}

#[test]
fn a_file_that_only_begins_like_a_folder_is_plain() {
    assert!(folder::of(&open(file(&[])).unwrap()).unwrap().is_none());
    assert!(folder::of(&open(file(&[MAGIC])).unwrap()).unwrap().is_none());
    assert!(folder::of(&open(file(&[b"piouhjgbX.", b""])).unwrap()).unwrap().is_none());
}

/// Reads everything found through every interface.
fn exercise(bytes: Vec<u8>) {
    let len = bytes.len() as u64;
    let Ok(records) = open(bytes) else { return };
    let records = Arc::new(records);
    assert!(u64::from(records.count()) <= len / 12);
    let Ok(folder) = folder::of(&records) else { return };
    let tree = super::container(records.clone(), folder.map(Arc::new)).into_tree().unwrap();
    for node in 0..tree.nodes() + 2 {
        match tree.kind(node) {
            Ok(NodeKind::Directory { .. }) => drop(listed(&*tree, node)),
            Ok(NodeKind::File) => {
                let size = tree.size(node, FileKind::Data).unwrap();
                let content = tree.content(node, FileKind::Data).unwrap();
                assert_eq!(size.len, content.known_len());
                drop(all(&content));
            }
            _ => {}
        }
    }
    drop(super::batch::read(&records, &[0, 1, 2, 1]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn headers_with_any_bytes_changed(
        changes in prop::collection::vec((0usize..70, any::<u8>()), 1..6),
        cut in 0usize..90,
        sealed: bool,
    ) {
        let mut bytes = file(&[b"one", b"", b"three", b"four"]);
        for (at, byte) in changes {
            bytes[at % 70] = byte;
        }
        bytes.truncate(bytes.len().saturating_sub(cut.saturating_sub(60)));
        exercise(if sealed && bytes.len() >= 12 { resealed(bytes) } else { bytes });
    }

    #[test]
    fn pickles_with_any_bytes_changed(changes in prop::collection::vec((0usize..200, any::<u8>()), 1..8), cut in 0usize..300) {
        let mut pickle = with(b"(\x94\x8c\x01aK\0\x8c\x01dh\0)R\x94(X\x01\0\0\0xM\x01\0\x8c\x01yJ\0\0\0\0u\x8c\x01z\x8a\x01\x01u.");
        for (at, byte) in changes {
            let at = at % pickle.len();
            pickle[at] = byte;
        }
        pickle.truncate(pickle.len().saturating_sub(cut.saturating_sub(250)));
        let index = [MAGIC, pickle.as_slice()].concat();
        exercise(file(&[b"one", b"two", &index]));
    }

    #[test]
    fn what_is_written_is_read(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
        wanted in prop::collection::vec(0usize..20, 0..40),
        announced: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.ffr");
        let writer = if announced { Writer::create_for(&path, records.len() as u64) } else { Writer::create(&path) };
        let mut writer = writer.unwrap();
        for record in &records {
            writer.add(record).unwrap();
        }
        writer.finish().unwrap();
        let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(std::fs::read(&path).unwrap(), file(&slices));
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let reader = super::Reader::open(&path).unwrap();
        let wanted: Vec<u64> = wanted.into_iter().filter(|at| *at < records.len()).map(|at| at as u64).collect();
        let batch = reader.read(&wanted).unwrap();
        for (place, number) in wanted.iter().enumerate() {
            prop_assert_eq!(batch.get(place), Some(records[*number as usize].as_slice()));
        }
    }
}
