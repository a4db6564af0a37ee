//! Names of annotations' directories: their ids, with `~2`, `~3`, ... for duplicates.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::format::onda::read::set::Set;
use crate::format::onda::read::table::{Id, shown};

/// Built when a name is first needed.
#[derive(Default)]
pub struct AnnotationNames {
    /// Annotations by id and number of earlier annotations with the same id.
    ids: OnceLock<HashMap<(Option<Id>, u32), u32>>,
    ordinals: OnceLock<Vec<u32>>,
}

impl AnnotationNames {
    pub fn name(&self, set: &Set, annotation: u32) -> Vec<u8> {
        let ordinal = self.ordinals(set).get(annotation as usize).copied().unwrap_or(1);
        let name = shown(id(set, annotation));
        if ordinal < 2 { name.into_bytes() } else { format!("{name}~{ordinal}").into_bytes() }
    }

    pub fn find(&self, set: &Set, name: &[u8]) -> Option<u32> {
        let ids = self.ids.get_or_init(|| {
            let ordinals = self.ordinals(set).iter().copied();
            (0u32..).zip(ordinals).map(|(at, ordinal)| ((id(set, at), ordinal), at)).collect()
        });
        let text = std::str::from_utf8(name).ok()?;
        let (id, ordinal) = match text.split_once('~') {
            Some((id, number)) => (id, number.parse().ok().filter(|number| *number > 1)?),
            None => (text, 1),
        };
        let parsed = match id {
            "null" => None,
            id => Some(u128::from_str_radix(&id.replace('-', ""), 16).ok()?),
        };
        let found = ids.get(&(parsed, ordinal)).copied()?;
        (self.name(set, found) == name).then_some(found)
    }

    fn ordinals(&self, set: &Set) -> &[u32] {
        self.ordinals.get_or_init(|| {
            let mut seen: HashMap<Option<Id>, u32> = HashMap::new();
            let ids = (0..set.annotations.len() as u32).map(|at| id(set, at));
            ids.map(|id| {
                let count = seen.entry(id).or_default();
                *count += 1;
                *count
            })
            .collect()
        })
    }
}

fn id(set: &Set, annotation: u32) -> Option<Id> {
    let (table, row) = set.annotation(annotation)?;
    table.id("id", row).ok().flatten()
}
