use proptest::prelude::*;

use super::*;
use crate::array::{Dtype, Element, Endian};

fn array(shape: &[u64], name: &str, order: Order) -> Array {
    let dtype = Dtype { element: Element::from_name(name).unwrap(), endian: Endian::Little };
    Array::new(dtype, shape, order)
}

fn chunk(shape: &[u64], name: &str, order: Order) -> Vec<u64> {
    Layout::of(&array(shape, name, order)).unwrap().chunk().to_vec()
}

#[test]
fn chunks_are_about_four_mebibytes_and_divide_the_axis_where_that_is_possible() {
    let c = |shape: &[u64], name| chunk(shape, name, Order::C);
    assert_eq!(c(&[], "float64"), [0u64; 0]);
    assert_eq!(c(&[0, 3], "float64"), [1, 3]);
    assert_eq!(c(&[1 << 20], "float64"), [1 << 20]);
    assert_eq!(c(&[1 << 27], "float64"), [1 << 19]);
    assert_eq!(c(&[262144, 1024], "float32"), [1024, 1024]);
    assert_eq!(c(&[100_000_000], "float32"), [1_000_000]);
    assert_eq!(c(&[1 << 40, 1 << 20], "int8"), [4, 1 << 20]);
    // A prime number of rows.
    assert_eq!(c(&[10_000_019], "int8"), [4 << 20]);
    assert_eq!(c(&[3, 1 << 30], "int8"), [1, 1 << 22]);
    assert_eq!(c(&[3, 5, 7 << 20], "int8"), [1, 1, 7 << 20]);
    // The slow axis is the last one.
    assert_eq!(chunk(&[1024, 262144], "float32", Order::F), [1024, 1024]);
    assert_eq!(chunk(&[1 << 30, 3], "int8", Order::F), [1 << 22, 1]);
}

#[test]
fn arrays_that_are_no_zarr_arrays() {
    assert!(Layout::of(&array(&[u64::MAX, 2], "int8", Order::C)).is_none());
    assert!(Layout::of(&array(&[u64::MAX], "int8", Order::C)).is_none());
    assert!(Layout::of(&array(&[0, u64::MAX, u64::MAX], "int8", Order::C)).is_none());
    let nothing =
        Dtype { element: Element { kind: crate::array::Kind::Opaque, size: 0 }, endian: Endian::Little };
    assert!(Layout::of(&Array::new(nothing, [3], Order::C)).is_none());
}

#[test]
fn only_plain_names_are_those_of_chunks() {
    let layout = Layout::of(&array(&[3, 20_000_000], "int8", Order::C)).unwrap();
    assert_eq!((layout.chunk(), layout.count()), (&[1, 4_000_000][..], 15));
    assert_eq!(layout.find("2.4"), Some(14));
    for name in [
        "",
        "0",
        "2.5",
        "3.0",
        "0.0.0",
        "00.0",
        "+0.0",
        "-1.0",
        "0.",
        ".0",
        "0.0 ",
        "a.b",
        "18446744073709551616.0",
    ] {
        assert_eq!(layout.find(name), None, "{name}");
    }
    let scalar = Layout::of(&array(&[], "int8", Order::C)).unwrap();
    assert_eq!(
        (scalar.count(), scalar.find("0"), scalar.find(""), scalar.range(0)),
        (1, Some(0), None, 0..1)
    );
    assert_eq!(Layout::of(&array(&[5, 0], "int8", Order::C)).unwrap().find("0.0"), None);
}

/// For each chunk by its places the elements that it has, found one by one.
fn expected(sizes: &[u64], chunk: &[u64], order: Order, element: u64) -> Vec<(String, Vec<u64>)> {
    let mut found: Vec<(String, Vec<u64>)> = Vec::new();
    for number in 0..sizes.iter().product() {
        let (mut rest, mut places) = (number, vec![0; sizes.len()]);
        let axes: Vec<usize> = match order {
            Order::C => (0..sizes.len()).rev().collect(),
            Order::F => (0..sizes.len()).collect(),
        };
        for axis in axes {
            places[axis] = (rest % sizes[axis]) / chunk[axis];
            rest /= sizes[axis];
        }
        let name = places.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, elements)) => elements.push(number * element),
            None => found.push((name, vec![number * element])),
        }
    }
    found
}

proptest! {
    /// With small chunks, so that all shapes of them are met.
    #[test]
    fn chunks_are_ranges_of_all_elements(
        sizes in prop::collection::vec(1u64..7, 1..5), at in 0usize..4, rows in 1u64..7, is_c in any::<bool>(),
    ) {
        let order = if is_c { Order::C } else { Order::F };
        let layout = Layout::with(&array(&sizes, "int16", order), |slow, _| {
            let cut = at.min(slow.len() - 1);
            let axes = slow.iter().enumerate();
            axes.map(|(axis, size)| if axis < cut { 1 } else if axis == cut { rows.min(*size) } else { *size }).collect()
        }).unwrap();
        let want = expected(&sizes, layout.chunk(), order, 2);
        prop_assert_eq!(layout.count(), want.len() as u64);
        for (name, elements) in want {
            let number = layout.find(&name).unwrap();
            prop_assert_eq!(layout.name(number), name);
            let range = layout.range(number);
            prop_assert_eq!(range.clone().step_by(2).collect::<Vec<_>>(), elements);
            prop_assert!(range.end - range.start <= layout.chunk_len());
        }
    }

    #[test]
    fn chunks_of_any_array_are_of_a_usual_size(sizes in prop::collection::vec(0u64..300_000, 0..4), is_c in any::<bool>()) {
        let array = array(&sizes, "float64", if is_c { Order::C } else { Order::F });
        let layout = Layout::of(&array).unwrap();
        prop_assert!(layout.chunk_len() <= 8 << 20);
        prop_assert!(layout.count() <= 1 || layout.chunk_len() >= 1 << 20);
        let mut bytes = 0;
        for number in [0, layout.count() / 2, layout.count().saturating_sub(1)].into_iter().filter(|n| *n < layout.count()) {
            let range = layout.range(number);
            bytes = range.end;
            prop_assert!(range.end - range.start <= layout.chunk_len());
            prop_assert_eq!(layout.find(&layout.name(number)), Some(number));
        }
        prop_assert_eq!(Some(bytes), crate::array::byte_len(array.dtype.element, &sizes));
    }
}
