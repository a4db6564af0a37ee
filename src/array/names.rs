//! Default names for unnamed columns and fields.

use std::collections::{HashMap, HashSet};

/// Makes names unique and non-empty: an empty one becomes `%`, as for datasets, and a duplicate gets `~2`, `~3`, ...
pub fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let (mut taken, mut numbers) = (HashSet::new(), HashMap::new());
    let distinct = |name: &'a str| {
        let name = if name.is_empty() { "%" } else { name };
        let mut candidate = name.to_owned();
        while !taken.insert(candidate.clone()) {
            let number = numbers.entry(name).and_modify(|number| *number += 1).or_insert(2u64);
            candidate = format!("{name}~{number}");
        }
        candidate
    };
    names.into_iter().map(distinct).collect()
}
