//! Arrays in memory with non-numeric elements, kept as their bytes in the container.

use std::io;
use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};

use super::slab::{self, Read};
use super::{Array, Order, Record, Slab, any};
use crate::{Error, Result};

/// An array of opaque elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque {
    /// The index of each element in `bytes`, in units of `size`.
    places: ArrayD<usize>,
    bytes: Vec<u8>,
    size: usize,
    record: Option<Arc<Record>>,
}

impl Opaque {
    pub(super) fn read(array: &Array, slab: &Slab, read: Read<'_>) -> Result<Opaque> {
        let size = array.dtype.element.size as usize;
        let count = slab.len();
        let mut bytes = any::room::<u8>(count.saturating_mul(size as u64))?;
        slab::fill(array, slab, &mut bytes, read)?;
        let mut places = any::room::<usize>(count)?;
        places.iter_mut().enumerate().for_each(|(number, place)| *place = number);
        let mut counts = slab.axes.iter().map(|axis| axis.count as usize).collect::<Vec<_>>();
        if array.order == Order::F {
            counts.reverse();
        }
        let places = ArrayD::from_shape_vec(IxDyn(&counts), places)
            .map_err(|problem| Error::Other(format!("the array cannot be made: {problem}")))?;
        let places = if array.order == Order::F { places.reversed_axes() } else { places };
        Ok(Opaque { places: any::finished(places, slab), bytes, size, record: array.record.clone() })
    }

    pub fn shape(&self) -> &[usize] {
        self.places.shape()
    }

    /// The fields of the elements, if known.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_deref()
    }

    /// The bytes of each element, in C order.
    pub fn items(&self) -> impl Iterator<Item = &[u8]> {
        let item = |place: &usize| self.bytes.get(place * self.size..).and_then(|rest| rest.get(..self.size));
        self.places.iter().map(move |place| item(place).unwrap_or_default())
    }

    pub(super) fn write(&self, to: &mut dyn io::Write) -> io::Result<()> {
        self.items().try_for_each(|item| to.write_all(item))
    }

    pub(super) fn join(&self, axis: usize, other: &Opaque) -> Result<Opaque> {
        let mut bytes = self.bytes.clone();
        bytes.extend_from_slice(&other.bytes);
        let before = self.bytes.len() / self.size.max(1);
        let places = any::joined(axis, &self.places, &other.places.mapv(|place| place + before))?;
        Ok(Opaque { places, bytes, size: self.size, record: self.record.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{AnyArray, Dtype, Element, Endian, Kind};

    fn array(order: Order) -> (Array, Vec<u8>) {
        let element = Element { kind: Kind::Opaque, size: 3 };
        let array = Array::new(Dtype { element, endian: Endian::Little }, [2, 4], order);
        // Each element repeats its position in C order three times.
        let of_c = |at: u8| if order == Order::C { at } else { at % 2 * 4 + at / 2 };
        (array, (0..8).flat_map(|at| [of_c(at); 3]).collect())
    }

    #[test]
    fn parts_and_pieces_of_both_orders() {
        for order in [Order::C, Order::F] {
            let (array, bytes) = array(order);
            let part = |expression: &str| {
                let slab = Slab::parse(expression, &array.shape).unwrap();
                AnyArray::read(&array, &slab, &mut |buf, at| {
                    buf.copy_from_slice(&bytes[at as usize..][..buf.len()]);
                    Ok(())
                })
                .unwrap()
            };
            let bytes_of = |array: &AnyArray| {
                let mut bytes = Vec::new();
                array.write(Endian::Big, &mut bytes).unwrap();
                bytes
            };
            assert_eq!(bytes_of(&part("...")), (0..8).flat_map(|at| [at; 3]).collect::<Vec<u8>>());
            assert_eq!(bytes_of(&part("1, ::-2")), [7, 7, 7, 5, 5, 5]);
            assert_eq!(part("1, ::-2").shape(), [2]);
            let joined = AnyArray::join(1, &part(":, :1"), &part(":, 3:")).unwrap();
            assert_eq!(joined.shape(), [2, 2]);
            assert_eq!(bytes_of(&joined), [0, 0, 0, 3, 3, 3, 4, 4, 4, 7, 7, 7]);
        }
    }
}
