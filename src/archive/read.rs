//! Arrays of a dataset, whole or in part. Only what is needed is read and decoded.

use super::Dataset;
use super::sampling::{Meant, in_numbers};
use crate::array::{AnyArray, Array, Order, Slab};
use crate::yaml::Node;
use crate::{Error, Result};

/// Bytes of a piece of an array that is read front to back.
const NEAR: u64 = 1 << 20;

/// Bytes of a piece that is read across the stored order. The whole array is read, and maybe decoded, for each piece:
/// at most eight times, as the time would otherwise grow with the square of the length, until a piece reaches the
/// memory limit.
fn far(bytes: u64) -> u64 {
    (bytes / 8).clamp(64 << 20, 1 << 30)
}

impl Dataset<'_> {
    /// The array's description.
    ///
    /// # Errors
    /// If the dataset is not an array.
    pub fn array_description(&self) -> Result<&Array> {
        let other = || {
            let note = self.description().codec.get("note").and_then(Node::as_str);
            let why = note.map_or(String::new(), |note| format!(": {note}"));
            self.other(&format!("is {}, not an array{why}", self.kind()))
        };
        self.description().array.as_ref().ok_or_else(|| self.no_array().unwrap_or_else(other))
    }

    /// The whole array.
    ///
    /// # Errors
    /// If the dataset is not an array, does not fit into memory, is damaged or cannot be read.
    ///
    /// # Examples
    /// ```
    /// let archive = rab::Archive::open("tests/data/rab/readme.rab")?;
    /// let rab::AnyArray::Float64(array) = archive.dataset("my second array")?.array()? else { panic!() };
    /// assert_eq!((array.shape(), array[[2, 0]]), (&[5, 3][..], 1006.0));
    /// # Ok::<(), rab::Error>(())
    /// ```
    pub fn array(&self) -> Result<AnyArray> {
        self.part(&Slab::whole(&self.array_description()?.shape))
    }

    /// A part of the array, given as in numpy: `3, 10:20, ::2`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the expression does not fit the shape; otherwise as [`Dataset::array`].
    ///
    /// # Examples
    /// ```
    /// let archive = rab::Archive::open("tests/data/rab/readme.rab")?;
    /// let part = archive.dataset("my second array")?.slice("-1, ::-2")?;
    /// assert_eq!(part.shape(), [2]);
    /// # Ok::<(), rab::Error>(())
    /// ```
    pub fn slice(&self, expression: &str) -> Result<AnyArray> {
        self.part(&self.slab(expression)?)
    }

    /// Resolves an expression in numpy's syntax for this array. For samples (Onda's), channels may be named and
    /// times given, in any order: `c3, 10s:12.5s`; a name that could be a number or a time is in quotes, `"3"`.
    /// Times must begin within the samples, and are cut at their end.
    ///
    /// # Errors
    /// [`Error::Usage`] if the expression does not fit the array.
    pub fn slab(&self, expression: &str) -> Result<Slab> {
        let shape = &self.array_description()?.shape;
        let Meant { expression, notes } = self.meant(expression)?;
        Slab::parse(&expression, shape).map_err(|problem| {
            let problems = [vec![problem], notes].concat().join("; ");
            Error::Usage(format!("{}: {problems}", self.place()))
        })
    }

    /// An expression without channels and times: numbers stand for them.
    pub(crate) fn meant(&self, expression: &str) -> Result<Meant> {
        let sampling = || self.archive.abilities().sampled?.sampling(self.number);
        let array = self.description().array.as_ref();
        match array.and_then(|array| Some((sampling()?, array.shape.first()?))) {
            Some((sampling, count)) => in_numbers(expression, &sampling, *count)
                .map_err(|problem| Error::Usage(format!("{}: {problem}", self.place()))),
            None => Ok(Meant::as_it_is(expression)),
        }
    }

    /// One element, as an array without axes.
    ///
    /// # Errors
    /// As [`Dataset::array`], and if the position is outside of the shape.
    pub fn element(&self, position: &[u64]) -> Result<AnyArray> {
        self.part(&Slab::at(position))
    }

    /// A part of the array in pieces, the last axis fastest: no more of it is in memory than one of them.
    pub(crate) fn blocks(&self, slab: &Slab) -> Result<impl Iterator<Item = Result<AnyArray>>> {
        let array = self.array_description()?;
        let size = u64::from(array.dtype.element.size).max(1);
        // Neighbours along the first axis lie together in F order.
        let is_across = array.order == Order::F && array.shape.len() > 1;
        let most = if is_across { far(slab.len().saturating_mul(size)) } else { NEAR } / size;
        Ok(slab.blocks(most.max(1)).map(|part| self.part(&part)))
    }

    /// A part of the array.
    ///
    /// # Errors
    /// As [`Dataset::array`].
    pub fn part(&self, slab: &Slab) -> Result<AnyArray> {
        self.part_as(self.array_description()?, slab)
    }

    /// A part of the array, whose elements are what `array` says: one of the same shape, order and size of elements.
    pub(crate) fn part_as(&self, array: &Array, slab: &Slab) -> Result<AnyArray> {
        if !slab.fits(&array.shape) {
            let problem = format!("has the shape {:?}, and the requested part lies outside it", array.shape);
            return Err(Error::Usage(format!("{}: {problem}", self.place())));
        }
        // Before room is made for what it claims to hold.
        self.described_well()?;
        let content = self.content()?;
        AnyArray::read(array, slab, &mut |buf, offset| content.fill(buf, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::far;

    #[test]
    fn what_is_read_across_has_few_pieces() {
        for (bytes, pieces) in [(1u64, 1), (64 << 20, 1), (1 << 30, 8), (8 << 30, 8), (80 << 30, 80)] {
            assert_eq!(bytes.div_ceil(far(bytes)), pieces, "{bytes}");
        }
        assert_eq!(far(u64::MAX), 1 << 30);
    }
}
