//! Every truncation, and every bit of the header flipped.

use std::sync::Arc;

use super::*;
use crate::array::npy::described;
use crate::array::{Array, Dtype, Element, Endian, Order};
use crate::source::memory::MemorySource;
use crate::tree::Datasets;

fn open(bytes: Vec<u8>) -> Result<NpyDatasets> {
    NpyDatasets::open(Arc::new(MemorySource { bytes, ..MemorySource::default() }))
}

fn sample() -> Vec<u8> {
    let dtype = Dtype { element: Element::from_name("int16").unwrap(), endian: Endian::Big };
    let mut bytes = described(&Array::new(dtype, [2, 3], Order::F));
    bytes.extend(0..12);
    bytes
}

#[test]
fn lengths_match_the_file() {
    let whole = sample();
    let archive = open(whole.clone()).unwrap();
    assert_eq!(archive.describe(0).unwrap().array.unwrap().dtype.to_string(), ">i2");
    assert_eq!(archive.content(0).unwrap().read(0, 100).unwrap().to_vec(), (0..12).collect::<Vec<u8>>());
    for at in 0..whole.len() {
        assert!(open(whole[..at].to_vec()).is_err(), "cut at {at}");
    }
    for at in 0..whole.len() - 12 {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            if let Ok(archive) = open(bytes) {
                let len = archive.content(0).unwrap().known_len().unwrap();
                assert!(len <= whole.len() as u64, "byte {at}, bit {bit}");
            }
        }
    }
    assert!(open([whole, vec![0]].concat()).is_err());
}
