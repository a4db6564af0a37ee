//! How many bytes compressed members decode to, where arrays disagree. The first claim is trusted until the member is
//! decoded; other claims are checked by decoding up to twice their length, so that the total work is a small multiple
//! of the longest claim, however many there are.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::error::Place;
use crate::{Error, Result};

#[derive(Default)]
pub struct Lengths(Mutex<HashMap<usize, Known>>);

#[derive(Clone)]
struct Known {
    /// The first length claimed.
    first: u64,
    /// It is known to be longer than this.
    more: u64,
    /// Its actual length once known, or why it has none.
    whole: Option<Result<u64>>,
}

impl Lengths {
    /// Fails if the member does not decode to `need` bytes. `measure` returns the decoded length, or None if it
    /// exceeds its argument.
    pub fn check(
        &self,
        member: usize,
        need: u64,
        place: &Place,
        measure: &dyn Fn(u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        let mut known = self.with(member, need, |known| known.clone());
        if known.first == need {
            return Ok(());
        }
        if known.whole.is_none() && need > known.more {
            let most = need.saturating_mul(2);
            let found = match measure(most) {
                Ok(found) => found.map(Ok),
                Err(error @ Error::Damaged { .. }) => Some(Err(error)),
                Err(error) => return Err(error),
            };
            known = self.with(member, need, |known| {
                known.more = if found.is_none() { known.more.max(most) } else { known.more };
                known.whole = known.whole.take().or(found);
                known.clone()
            });
        }
        let found = match known.whole.transpose()? {
            Some(len) if len == need => return Ok(()),
            Some(len) => len.to_string(),
            None => "more".into(),
        };
        Err(Error::damaged(
            place.clone(),
            format!("decodes to {found} bytes, but its description needs {need}"),
        ))
    }

    fn with<T>(&self, member: usize, need: u64, of: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.0.lock();
        of(known.entry(member).or_insert(Known { first: need, more: 0, whole: None }))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_right_length_is_found_in_any_order_with_little_decoding() {
        let (lengths, decoded) = (Lengths::default(), Cell::new(0));
        let measure = |most: u64| {
            decoded.set(decoded.get() + most.min(1000));
            Ok((most >= 1000).then_some(1000))
        };
        let check = |need| lengths.check(0, need, &Place::default(), &measure).map_err(|e| e.to_string());
        for need in (1..1000).chain(1001..2000) {
            let checked = check(need);
            assert_eq!(checked.is_ok(), need == 1, "{need}");
        }
        assert_eq!(check(1000), Ok(()));
        assert!(check(7).unwrap_err().contains("decodes to 1000 bytes, but its description needs 7"));
        assert!(decoded.get() <= 3000, "{}", decoded.get());
    }

    #[test]
    fn damage_is_found_once_and_other_errors_again() {
        let lengths = Lengths::default();
        let check = |need, error: Error| {
            lengths.check(3, need, &Place::default(), &|_| Err(error.clone())).map_err(|e| e.to_string())
        };
        assert_eq!(check(1, Error::NotFound), Ok(()));
        assert_eq!(check(2, Error::Other("later".into())), Err("later".into()));
        let damage = Error::damaged(Place::default(), "torn");
        assert_eq!(check(3, damage.clone()), Err(damage.to_string()));
        assert_eq!(check(4, Error::NotFound), Err(damage.to_string()));
    }
}
