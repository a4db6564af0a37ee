use proptest::prelude::*;

use super::*;
use crate::array::{Cell, Dtype, Endian, Order, Record};
use crate::view::kit::{about, array, element, face, read, table};

fn text(about: Description, bytes: &[u8]) -> String {
    String::from_utf8(read(&face(&Csv, about, bytes).unwrap())).unwrap()
}

fn of_array(name: &str, shape: &[u64], bytes: &[u8]) -> String {
    text(about(Some(array(name, Endian::Little, shape, Order::C)), None), bytes)
}

fn le(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn cells_have_one_width() {
    let bytes = le(&[0.5, -1.25, f32::NAN, 1e-30]);
    // What NaN leaves is behind the digits of the next number.
    let zeros = "0".repeat(23);
    let want = format!("#0,1\n0.50000000000000,-1.2500000000000\nnan,1.{zeros}e-30\n");
    assert_eq!(of_array("float32", &[2, 2], &bytes), want);
    assert_eq!(of_array("uint8", &[2], &[7, 255]), "#0\n007\n255\n");
    assert_eq!(of_array("int8", &[2], &[0xff, 5]), "#0\n-001\n0005\n");
    assert_eq!(of_array("bool", &[2, 2], &[1, 0, 0, 1]), "#0,1\n1,0\n0,1\n");
    let many: Vec<String> = (1..1002).map(|column| format!(",{column}")).collect();
    let want = format!("#0{}\n0{}\n", many.concat(), ",0".repeat(1001));
    assert_eq!(of_array("bool", &[1, 1002], &[0; 1002]), want);
}

#[test]
fn every_reader_makes_them_infinite() {
    let found = of_array("float32", &[2], &le(&[f32::INFINITY, f32::NEG_INFINITY]));
    assert_eq!(found, "#0\n1.000000000e+999\n-1.00000000e+999\n");
}

#[test]
fn nan_next_to_nan_has_spaces() {
    assert_eq!(of_array("float32", &[2], &le(&[f32::NAN; 2])), format!("#0\n{:>16}\n{:>16}\n", "nan", "nan"));
    // Also in the last group, and where there is another number in another group.
    let mut values = vec![f32::NAN; 130];
    values[0] = 1.5;
    let found = of_array("float32", &[130], &le(&values));
    assert_eq!(found.len(), 3 + 130 * 17);
    assert_eq!((found.matches("\nnan").count(), found.matches(" nan").count()), (63, 66));
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
    assert!(matches!(Csv.face(&data), Ok(Face::File(Content::Broken { .. }))));
    let vast = array("uint8", Endian::Little, &[u64::MAX / 8, 4], Order::C);
    assert!(super::array::csv(&vast, Content::Inline([][..].into())).is_none());
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
        prop_assert_eq!(want.lines().count() as u64, rows + 1);
        for (order, f) in [(Order::C, false), (Order::F, true)] {
            for (endian, big) in [(Endian::Little, false), (Endian::Big, true)] {
                let about = about(Some(array(name, endian, &shape, order)), None);
                prop_assert_eq!(&text(about, &bytes(f, big)), &want);
            }
        }
    }
}

#[test]
fn large_arrays_are_written_in_pieces() {
    let values: Vec<f32> = (0..100_000).map(|number| number as f32 * 0.37 - 500.0).collect();
    for shape in [&[100_000][..], &[10, 10_000], &[10_000, 10]] {
        let found = of_array("float32", shape, &le(&values));
        let cells = found.lines().skip(1).flat_map(|line| line.split(','));
        let read: Vec<f32> = cells.map(|cell| cell.trim().parse().unwrap()).collect();
        assert_eq!(read, values);
    }
}

#[test]
fn tables_of_numbers_have_a_width_for_each_column() {
    let bytes = [&[1, 255][..], &[1, 0], &le(&[0.1, -2.0])].concat();
    let of = table(2, &[("a,b", "uint8"), ("yes", "bool"), ("a name that is long", "float32")]);
    let want = "\"a,b\",yes,a name that is long\n\
                1,True,0.10000000000000000\n\
                255,False,-2.0000000000000\n";
    assert_eq!(text(about(None, Some(of)), &bytes), want);
    let empty = table(0, &[("a", "int8")]);
    assert_eq!(text(about(None, Some(empty)), b""), "a\n");
    assert!(!Csv.shows(&about(None, Some(table(3, &[])))));
}

#[test]
fn without_a_float_the_last_whole_number_has_the_zeros() {
    let bytes = [&[1, 255][..], &[1, 0], &[0xff, 2], &[1, 0]].concat();
    let of = table(2, &[("a", "uint8"), ("yes", "bool"), ("b", "int8"), ("no", "bool")]);
    assert_eq!(
        text(about(None, Some(of)), &bytes),
        "a,yes,b,no\n1,True,-0000001,True\n255,False,0002,False\n"
    );
    let truths = table(2, &[("yes", "bool"), ("no", "bool")]);
    assert_eq!(text(about(None, Some(truths)), &[1, 0, 0, 0]), "yes,no\n1,0\n0,0\n");
}

#[test]
fn records_are_rows_too() {
    let record = Record::parse("<u2,2i1,<f4", Endian::Little).unwrap();
    let mut of = array("uint8", Endian::Little, &[2], Order::C);
    of.dtype.element = crate::array::Element { kind: crate::array::Kind::Opaque, size: 8 };
    of.record = Some(std::sync::Arc::new(record));
    let bytes = [&[1, 2, 3, 0xff][..], &le(&[0.5]), &[0, 1, 4, 5], &le(&[1.5])].concat();
    let want = "f0,f1[0],f1[1],f2\n513,3,-1,0.500000000000000000000\n256,4,5,1.5000000000000000000000\n";
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
    assert_eq!(text(about(Some(of), None), &[1, 9, 9, 9, 2, 9, 9, 9]), "a\n001\n002\n");
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
        let rows = |text| face(&Csv, about(Some(of.clone()), None), &bytes(text)).unwrap();
        let found = rows(['é', '😀', '€', 'a', '\0', '\0']);
        assert!(found.len().is_ok());
        assert_eq!(String::from_utf8(read(&found)).unwrap(), "f0,f1\né😀€,7\na,8\n");
    }
    let mut surrogate = array("uint8", Endian::Little, &[1], Order::C);
    surrogate.dtype.element = crate::array::Element { kind: crate::array::Kind::Opaque, size: 4 };
    surrogate.record = Some(std::sync::Arc::new(Record::parse("U1,", Endian::Little).unwrap()));
    let found = face(&Csv, about(Some(surrogate), None), &[0, 0xd8, 0, 0]).unwrap();
    assert!(found.len().unwrap_err().to_string().contains("row 0"));
}

/// The header would be made whole even where there are no rows.
#[test]
fn rows_of_more_than_a_mebibyte_of_texts_have_no_face() {
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
    let found = face(&Csv, about(None, Some(table(5, &[("t", "7"), ("n", "int8")]))), &bytes).unwrap();
    assert_eq!(found.known_len(), None);
    assert!(found.len().is_ok());
    let want = b"t,n\nplain,1\n\"a,\"\"b\"\"\",2\n\" s\",3\n\"a\nb\",4\n\xff,5\n";
    assert_eq!(read(&found), want);
    // An empty cell that is all of a line.
    let found = face(&Csv, about(None, Some(table(2, &[("t", "1")]))), b"\0x").unwrap();
    assert!(found.len().is_ok());
    assert_eq!(read(&found), b"t\n\"\"\nx\n");
}

#[test]
fn many_rows_of_texts_are_found_at_any_place() {
    let rows = 20_000;
    let mut bytes: Vec<u8> =
        (0..rows).flat_map(|row| format!("{:\0<9}", row * row % 77_777).into_bytes()).collect();
    bytes.extend((0..rows).flat_map(|row| (row as u32).to_le_bytes()));
    let found = face(&Csv, about(None, Some(table(rows, &[("t", "9"), ("n", "uint32")]))), &bytes).unwrap();
    assert!(found.len().is_ok());
    let want: String = (0..rows).map(|row| format!("{},{row}\n", row * row % 77_777)).collect();
    assert!(read(&found) == ("t,n\n".to_owned() + &want).as_bytes());
}

#[test]
fn rows_without_a_byte_come_to_an_end() {
    let about = |rows| about(None, Some(table(rows, &[("t", "0")])));
    let none = |rows| face(&Csv, about(rows), b"").unwrap();
    assert!(!Csv.shows(&about(u64::MAX / 2)));
    assert!(none(1 << 25).len().is_err());
    assert!(none(2).len().is_ok_and(|len| len == 8));
}
