//! A table's dictionaries and their deltas. A batch refers to a dictionary's state before the batch with one pointer,
//! however many deltas there are; values are found by binary search.

use std::collections::HashMap;
use std::sync::Arc;

use super::Problem;
use super::array::Array;
use super::field::{Field, MAX_DEPTH};

/// The current state of dictionaries, by id.
pub type Dictionaries = HashMap<i64, Values>;

/// The values of a dictionary, immutable and cheap to clone.
#[derive(Clone, Default)]
pub struct Values {
    /// Runs of decreasing numbers of parts, merged when a new one is as long as its predecessor: there are few runs,
    /// and adding a delta copies little.
    runs: Arc<Vec<Arc<Run>>>,
    /// Nesting depth of the dictionaries among its values.
    depth: usize,
}

/// Consecutive parts, each with the index after its last value.
type Run = Vec<(usize, Arc<Array>)>;

impl Values {
    /// The part with value `at`, and the value's index in it.
    pub fn get(&self, at: usize) -> Option<(&Array, usize)> {
        let run = self.runs.partition_point(|run| end(run) <= at);
        let run = self.runs.get(run)?;
        let (end, part) = run.get(run.partition_point(|(end, _)| *end <= at))?;
        Some((part, at - (end - part.len)))
    }

    fn add(&mut self, values: Array, depth: usize) -> Result<(), Problem> {
        let count = self.runs.last().map_or(0, |run| end(run)).checked_add(values.len);
        let count =
            count.ok_or_else(|| Problem::damaged("a dictionary has more values than can be counted"))?;
        let mut runs = Vec::clone(&self.runs);
        let mut last = vec![(count, Arc::new(values))];
        while let Some(run) = runs.pop_if(|run| run.len() <= last.len()) {
            last = [run.as_slice(), &last].concat();
        }
        runs.push(Arc::new(last));
        *self = Values { runs: Arc::new(runs), depth: self.depth.max(depth) };
        Ok(())
    }
}

fn end(run: &Run) -> usize {
    run.last().map_or(0, |(end, _)| *end)
}

/// Nesting depth of dictionaries in these fields.
fn depth(fields: &[Field], known: &Dictionaries) -> usize {
    let of = |field: &Field| {
        let own_depth = field
            .dictionary
            .and_then(|dictionary| known.get(&dictionary.id))
            .map_or(0, |there| 1 + there.depth);
        own_depth.max(depth(&field.children, known))
    };
    fields.iter().map(of).max().unwrap_or(0)
}

/// Adds a dictionary or a delta. A dictionary can contain its own previous state and so grow deeper with each message;
/// the depth is limited to `MAX_DEPTH`.
pub fn add_dictionary(
    known: &mut Dictionaries,
    id: i64,
    is_delta: bool,
    (field, values): (&Field, Array),
) -> Result<(), Problem> {
    let depth = depth(&field.children, known);
    if depth > MAX_DEPTH {
        return Err(Problem::unsupported(format!("dictionaries are nested more than {MAX_DEPTH} deep")));
    }
    if !is_delta {
        known.insert(id, Values::default());
    }
    let there = known.get_mut(&id);
    there
        .ok_or_else(|| Problem::damaged(format!("there is no dictionary {id} to add to")))?
        .add(values, depth)
}

#[cfg(test)]
mod tests {
    use super::super::array::Data;
    use super::super::field::{ArrowType, Dictionary, Int};
    use super::*;

    /// Each message nests the previous state of the same dictionary.
    #[test]
    fn self_nested_dictionaries_are_limited() {
        let index = Int { bytes: 1, is_signed: true };
        let dictionary = Some(Dictionary { id: 7, index });
        let plain = |kind, dictionary, children| Field {
            name: String::new(),
            kind,
            nullable: false,
            children,
            dictionary,
            metadata: Vec::new(),
        };
        let list = plain(ArrowType::Struct, None, vec![plain(ArrowType::Null, dictionary, Vec::new())]);
        for is_delta in [false, true] {
            let mut known = Dictionaries::new();
            let mut add = |is_delta| {
                add_dictionary(&mut known, 7, is_delta, (&list, Array::of(1, Data::Struct(Vec::new()))))
            };
            assert!(add(true).unwrap_err().text().contains("no dictionary 7"));
            add(false).unwrap();
            (0..MAX_DEPTH).for_each(|_| add(is_delta).unwrap());
            assert!(add(is_delta).unwrap_err().text().contains("nested more than 64 deep"));
        }
    }

    fn values(lens: &[usize]) -> Values {
        let mut values = Values::default();
        for len in lens {
            values.add(Array::of(*len, Data::Null), 0).unwrap();
        }
        values
    }

    #[test]
    fn values_are_found_in_their_parts() {
        let lens: Vec<usize> = (0..200).map(|part| part * 7 % 5).collect();
        let found = values(&lens);
        let mut at = 0;
        for (part, len) in lens.iter().enumerate() {
            for place in 0..*len {
                let (array, found) = found.get(at).unwrap();
                assert_eq!((array.len, found), (*len, place), "{part}");
                at += 1;
            }
        }
        assert!(found.get(at).is_none() && values(&[]).get(0).is_none());
    }

    /// Snapshots are small, deltas copy little, and earlier snapshots stay unchanged.
    #[test]
    fn many_deltas_take_little_memory() {
        let mut now = values(&[1]);
        let (before, mut moved) = (now.clone(), 0);
        for _ in 0..1 << 14 {
            now.add(Array::of(1, Data::Null), 0).unwrap();
            assert!(now.runs.len() <= 15);
            moved += now.runs.last().unwrap().len();
        }
        assert!(moved < 15 << 14, "{moved}");
        assert!(Arc::ptr_eq(&now.runs, &now.clone().runs));
        assert!(before.get(1).is_none() && now.get(1 << 14).is_some());
    }
}
