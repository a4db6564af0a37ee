use proptest::prelude::*;

use super::*;
use crate::array::{Cell, Dtype, Endian, Order, Record};
use crate::tree::Table;
use crate::view::kit::{about, array, dataset, element, read, represent, table};

fn text(about: Description, bytes: &[u8]) -> String {
    String::from_utf8(read(&represent(&Csv, about, bytes).unwrap())).unwrap()
}

fn of_array(name: &str, shape: &[u64], bytes: &[u8]) -> String {
    text(about(Some(array(name, Endian::Little, shape, Order::C)), None), bytes)
}

/// As [`of_array`], padded as if there were too many cells to count.
fn padded_array(name: &str, shape: &[u64], bytes: &[u8]) -> String {
    let array = array(name, Endian::Little, shape, Order::C);
    String::from_utf8(read(&super::array::padded(&array, Content::Inline(bytes.into())).unwrap())).unwrap()
}

fn padded_table(of: Table, bytes: &[u8]) -> String {
    let data = dataset(about(None, Some(of)), Content::Inline(bytes.into()));
    let frame = Frame::of(&data).unwrap().ok().unwrap();
    String::from_utf8(read(&super::table::padded(frame).unwrap())).unwrap()
}

fn whole(content: &Content) -> Vec<u8> {
    content.read(0, usize::MAX).unwrap().to_vec()
}

/// All cells after the header.
fn values(text: &str) -> Vec<f64> {
    let cells = text.lines().skip(1).flat_map(|line| line.split(','));
    cells.map(|cell| cell.trim_start().parse().unwrap()).collect()
}

fn le(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn numbers_are_as_short_as_they_are() {
    let bytes = le(&[0.5, -1.25, f32::NAN, 1e-30, f32::INFINITY, f32::NEG_INFINITY]);
    let want = "#0,1\n0.5,-1.25\nNaN,1e-30\n1e999,-1e999\n";
    assert_eq!(of_array("float32", &[3, 2], &bytes), want);
    assert_eq!(of_array("int8", &[2], &[0xff, 5]), "#0\n-1\n5\n");
    assert_eq!(of_array("bool", &[2, 2], &[1, 0, 0, 1]), "#0,1\n1,0\n0,1\n");
    let many: Vec<String> = (1..1002).map(|column| format!(",{column}")).collect();
    let want = format!("#0{}\n0{}\n", many.concat(), ",0".repeat(1001));
    assert_eq!(of_array("bool", &[1, 1002], &[0; 1002]), want);
    assert_eq!(padded_array("bool", &[1, 1002], &[0; 1002]), want);
}

#[test]
fn padded_cells_read_as_the_same_numbers() {
    let bytes = le(&[0.5, -1.25, f32::NAN, 1e-30, f32::INFINITY, f32::NEG_INFINITY]);
    // What NaN leaves of its 16 bytes is spread over the five others.
    let want = "#0,1\n0.50000000000000000,-1.2500000000000000\n\
                NaN,1.0000000000000e-30\n1.000000000000e999,-1.00000000000e999\n";
    assert_eq!(padded_array("float32", &[3, 2], &bytes), want);
    assert_eq!(padded_array("uint8", &[2], &[7, 255]), "#0\n  7\n255\n");
    assert_eq!(padded_array("int8", &[2], &[0xff, 5]), "#0\n  -1\n   5\n");
}

#[test]
fn the_first_rows_of_whole_numbers_have_no_spaces() {
    let items: Vec<u8> = (0..4000u32).flat_map(|number| (number % 200).to_le_bytes()).collect();
    let text = padded_array("uint32", &[1000, 4], &items);
    assert_eq!(text.len(), "#0,1,2,3\n".len() + 4000 * 11);
    assert!(text.lines().take(129).all(|line| !line.contains(' ')));
    assert!(text.lines().skip(129).all(|line| line.split(',').all(|cell| (10..=20).contains(&cell.len()))));
    assert_eq!(values(&text), (0..4000).map(|number| f64::from(number % 200)).collect::<Vec<_>>());
    // The float of each row takes what its neighbour leaves.
    let bytes = [items[..2000].to_vec(), le(&[1.5; 500])].concat();
    let text = padded_table(table(500, &[("n", "uint32"), ("x", "float32")]), &bytes);
    assert!(
        text.starts_with("n,x\n0,1.50000000000000") && text.lines().take(129).all(|line| !line.contains(' '))
    );
    assert_eq!(text.len(), "n,x\n".len() + 500 * (11 + 17));
}

#[test]
fn nan_leaves_its_padding_to_numbers_of_its_group() {
    let mut floats = vec![f32::NAN; 20_000];
    floats[1] = 1.5;
    floats[4000] = 2.5;
    let text = padded_array("float32", &[20_000], &le(&floats));
    assert_eq!(text.len(), 3 + 20_000 * 17);
    let found = values(&text);
    assert!(found.iter().zip(&floats).all(|(a, b)| a.is_nan() && b.is_nan() || *a == f64::from(*b)));
    let spaced = text.lines().skip(1).map(|line| line.contains(' ')).collect::<Vec<_>>();
    // Groups have 64 KiB: 3855 cells.
    assert!(spaced[..2 * 3855].iter().all(|is_spaced| !is_spaced) && spaced[2 * 3855..].iter().all(|is| *is));
    assert!(text.lines().all(|line| line.len() < 1 << 17));
}

#[test]
fn arrays_without_elements() {
    assert_eq!(of_array("float32", &[0], b""), "#0\n");
    assert_eq!(of_array("uint8", &[0, 2], b""), "#0,1\n");
    assert_eq!(of_array("uint8", &[2, 0], b""), "");
    for shape in [&[][..], &[1, 1, 1]] {
        assert!(!Csv.shows(&about(Some(array("uint8", Endian::Little, shape, Order::C)), None)));
    }
}

#[test]
fn lengths_are_those_of_files() {
    let long = array("uint8", Endian::Little, &[1 << 61], Order::C);
    let data = crate::view::kit::dataset(
        about(Some(long), None),
        Content::Broken { claimed: 1 << 61, error: crate::Error::NotFound },
    );
    assert!(matches!(Csv.represent(&data), Ok(Representation::File(Content::Broken { .. }))));
    let vast = array("uint8", Endian::Little, &[u64::MAX / 8, 4], Order::C);
    assert!(super::array::padded(&vast, Content::Inline([][..].into())).is_none());
}

const NAMES: &[&str] = &[
    "bool",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "int128",
    "float16",
    "bfloat16",
    "float8_e5m2",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

proptest! {
    #[test]
    fn layouts_and_byte_orders_are_the_same_text(
        rows in 1u64..40,
        columns in 1u64..40,
        name in prop::sample::select(NAMES),
        seed in any::<u64>(),
    ) {
        let size = element(name).size as u64;
        let item = |row: u64, column: u64| (0..size).map(move |byte| {
            (seed.rotate_left((row * columns + column) as u32 % 61) >> (byte % 8 * 8)) as u8
        });
        let cells = |f: bool| {
            let (outer, inner) = if f { (columns, rows) } else { (rows, columns) };
            (0..outer).flat_map(move |a| (0..inner).map(move |b| if f { (b, a) } else { (a, b) }))
        };
        let bytes = |f, big: bool| -> Vec<u8> {
            let part = element(name).swapped() as usize;
            let mut bytes: Vec<u8> = cells(f).flat_map(|(row, column)| item(row, column)).collect();
            if big {
                bytes.chunks_mut(part).for_each(<[u8]>::reverse);
            }
            bytes
        };
        let shape = [rows, columns];
        let want = of_array(name, &shape, &bytes(false, false));
        let padded = padded_array(name, &shape, &bytes(false, false));
        prop_assert_eq!(want.lines().count() as u64, rows + 1);
        for (order, f) in [(Order::C, false), (Order::F, true)] {
            for (endian, big) in [(Endian::Little, false), (Endian::Big, true)] {
                let about = about(Some(array(name, endian, &shape, order)), None);
                let elements = Content::Inline(bytes(f, big).into());
                let found = super::array::padded(about.array.as_ref().unwrap(), elements).unwrap();
                prop_assert_eq!(whole(&found), padded.as_bytes());
                prop_assert_eq!(whole(&represent(&Csv, about, &bytes(f, big)).unwrap()), want.as_bytes());
            }
        }
    }
}

#[test]
fn large_arrays_are_written_in_pieces() {
    let numbers: Vec<f32> = (0..100_000).map(|number| number as f32 * 0.37 - 500.0).collect();
    for shape in [&[100_000][..], &[10, 10_000], &[10_000, 10]] {
        for found in
            [of_array("float32", shape, &le(&numbers)), padded_array("float32", shape, &le(&numbers))]
        {
            let read: Vec<f32> = values(&found).into_iter().map(|value| value as f32).collect();
            assert_eq!(read, numbers);
        }
    }
}

#[test]
fn tables_of_numbers_are_padded_too() {
    let bytes = [&[1, 255][..], &[1, 0], &le(&[0.1, -2.0])].concat();
    let of = table(2, &[("a,b", "uint8"), ("yes", "bool"), ("a name that is long", "float32")]);
    let header = "\"a,b\",yes,a name that is long\n";
    let plain = format!("{header}1,True,0.1\n255,False,-2.0\n");
    assert_eq!(text(about(None, Some(of.clone())), &bytes), plain);
    // The first cell takes the byte that True is shorter than False.
    let padded = format!("{header}   1,True,0.10000000000000\n255,False,-2.0000000000000\n");
    assert_eq!(padded_table(of, &bytes), padded);
    let truths = table(2, &[("yes", "bool"), ("no", "bool")]);
    assert_eq!(padded_table(truths.clone(), &[1, 0, 0, 0]), "yes,no\n1,0\n0,0\n");
    assert_eq!(text(about(None, Some(truths)), &[1, 0, 0, 0]), "yes,no\nTrue,False\nFalse,False\n");
    let empty = table(0, &[("a", "int8")]);
    assert_eq!(text(about(None, Some(empty)), b""), "a\n");
    assert!(!Csv.shows(&about(None, Some(table(3, &[])))));
}

#[test]
fn records_are_rows_too() {
    let record = Record::parse("<u2,2i1,<f4", Endian::Little).unwrap();
    let mut of = array("uint8", Endian::Little, &[2], Order::C);
    of.dtype.element = crate::array::Element { kind: crate::array::Kind::Opaque, size: 8 };
    of.record = Some(std::sync::Arc::new(record));
    let bytes = [&[1, 2, 3, 0xff][..], &le(&[0.5]), &[0, 1, 4, 5], &le(&[1.5])].concat();
    let want = "f0,f1[0],f1[1],f2\n513,3,-1,0.5\n256,4,5,1.5\n";
    assert_eq!(text(about(Some(of), None), &bytes), want);
}

#[test]
fn what_fills_records_up_is_no_column() {
    let cells = [
        ("a", Cell::Number(Dtype { element: element("uint8"), endian: Endian::Little })),
        ("", Cell::Void(3)),
    ];
    let record = Record::of_fields(cells.map(|(name, cell)| (name.to_owned(), cell, None))).unwrap();
    let mut of = array("uint8", Endian::Little, &[2], Order::C);
    of.dtype.element = crate::array::Element { kind: crate::array::Kind::Opaque, size: 4 };
    of.record = Some(std::sync::Arc::new(record));
    assert_eq!(text(about(Some(of), None), &[1, 9, 9, 9, 2, 9, 9, 9]), "a\n1\n2\n");
}

#[test]
fn characters_of_four_bytes_are_texts() {
    for endian in [Endian::Little, Endian::Big] {
        let record = Record::parse("U3,u1", endian).unwrap();
        let mut of = array("uint8", Endian::Little, &[2], Order::C);
        of.dtype.element = crate::array::Element { kind: crate::array::Kind::Opaque, size: 13 };
        of.record = Some(std::sync::Arc::new(record));
        let code =
            |c: char| if endian == Endian::Big { (c as u32).to_be_bytes() } else { (c as u32).to_le_bytes() };
        let bytes = |text: [char; 6]| {
            let [a, b, c, d, e, f] = text.map(code);
            [&a[..], &b, &c, &[7], &d, &e, &f, &[8]].concat()
        };
        let rows = |text| represent(&Csv, about(Some(of.clone()), None), &bytes(text)).unwrap();
        let found = rows(['é', '😀', '€', 'a', '\0', '\0']);
        assert!(found.len().is_ok());
        assert_eq!(String::from_utf8(read(&found)).unwrap(), "f0,f1\né😀€,7\na,8\n");
    }
    let mut surrogate = array("uint8", Endian::Little, &[1], Order::C);
    surrogate.dtype.element = crate::array::Element { kind: crate::array::Kind::Opaque, size: 4 };
    surrogate.record = Some(std::sync::Arc::new(Record::parse("U1,", Endian::Little).unwrap()));
    let found = represent(&Csv, about(Some(surrogate), None), &[0, 0xd8, 0, 0]).unwrap();
    assert!(found.len().unwrap_err().to_string().contains("row 0"));
}

/// The header would be made whole even where there are no rows.
#[test]
fn rows_of_more_than_a_mebibyte_of_texts_are_in_no_view() {
    let shows = |width: u32, shape: &[u64]| {
        let element = crate::array::Element { kind: crate::array::Kind::Opaque, size: width };
        let mut of = Array::new(Dtype { element, endian: Endian::Little }, shape, Order::C);
        of.record = Some(std::sync::Arc::new(Record::parse(&format!("S{width}"), Endian::Little).unwrap()));
        Csv.shows(&about(Some(of), None))
    };
    for shape in [&[0, 1 << 26][..], &[1, 1 << 26], &[2, 110_000], &[0, u64::MAX]] {
        assert!(!shows(1, shape), "{shape:?}");
    }
    assert!(shows(1, &[2, 100_000]) && shows(1, &[1 << 40]) && shows((1 << 20) - 4, &[2]));
    assert!(!shows((1 << 20) - 3, &[2]) && !shows(1 << 10, &[2, 1 << 10]));
}

#[test]
fn texts_are_quoted_where_they_have_to() {
    let texts = [&b"plain\0\0"[..], b"a,\"b\"\0\0", b" s\0\0\0\0\0", b"a\nb\0\0\0\0", b"\xff\0\0\0\0\0\0"];
    let bytes = [&texts.concat()[..], &[1, 2, 3, 4, 5]].concat();
    let found = represent(&Csv, about(None, Some(table(5, &[("t", "7"), ("n", "int8")]))), &bytes).unwrap();
    assert_eq!(found.known_len(), None);
    assert!(found.len().is_ok());
    let want = b"t,n\nplain,1\n\"a,\"\"b\"\"\",2\n\" s\",3\n\"a\nb\",4\n\xff,5\n";
    assert_eq!(read(&found), want);
    // An empty cell that is all of a line.
    let found = represent(&Csv, about(None, Some(table(2, &[("t", "1")]))), b"\0x").unwrap();
    assert!(found.len().is_ok());
    assert_eq!(read(&found), b"t\n\"\"\nx\n");
}

#[test]
fn many_rows_of_texts_are_found_at_any_place() {
    let rows = 20_000;
    let mut bytes: Vec<u8> =
        (0..rows).flat_map(|row| format!("{:\0<9}", row * row % 77_777).into_bytes()).collect();
    bytes.extend((0..rows).flat_map(|row| (row as u32).to_le_bytes()));
    let found =
        represent(&Csv, about(None, Some(table(rows, &[("t", "9"), ("n", "uint32")]))), &bytes).unwrap();
    assert!(found.len().is_ok());
    let want: String = (0..rows).map(|row| format!("{},{row}\n", row * row % 77_777)).collect();
    assert!(read(&found) == ("t,n\n".to_owned() + &want).as_bytes());
}

#[test]
fn rows_without_a_byte_come_to_an_end() {
    let about = |rows| about(None, Some(table(rows, &[("t", "0")])));
    let none = |rows| represent(&Csv, about(rows), b"").unwrap();
    assert!(!Csv.shows(&about(u64::MAX / 2)));
    assert!(none(1 << 25).len().is_err());
    assert!(none(2).len().is_ok_and(|len| len == 8));
}
