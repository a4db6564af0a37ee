//! The writer as one of those of all formats: datasets become records, in their order. Of everything else that
//! they have, a note about each kind of loss is given at the first dataset that suffers it.

use std::io::Read;
use std::path::Path;

use super::Writer;
use crate::Result;
use crate::format::ffrecord::records::FOLDER;
use crate::format::writer::{NewContainer, NewContent, NewDataset};
use crate::yaml::Node;

pub struct Container {
    writer: Writer,
    /// The losses that were noted.
    noted: Vec<&'static str>,
}

const NAMES: &str =
    "names are not kept: an FFRecord file knows its records by number (this and later datasets)";
const METADATA: &str = "metadata is not kept: an FFRecord file has no place for it (this and later \
    datasets)";
const TYPES: &str = "types and shapes are not kept: FFRecord's records are bytes (this and later datasets)";

impl Container {
    pub fn create(path: &Path, force: bool) -> Result<Container> {
        Ok(Container { writer: Writer::new(path, None, force)?, noted: Vec::new() })
    }
}

impl NewContainer for Container {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        let number = self.writer.add_from(data)?;
        let lost = [
            (!is_number(dataset.name.as_bytes(), number)).then_some(NAMES),
            (!is_empty(dataset.metadata)).then_some(METADATA),
            (dataset.what != NewContent::Bytes).then_some(TYPES),
        ];
        let fresh = lost.into_iter().flatten().filter(|lost| !self.noted.contains(lost));
        let fresh: Vec<_> = fresh.collect();
        self.noted.extend(&fresh);
        Ok(fresh.into_iter().map(str::to_owned).collect())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }
}

/// Is this the name that the record will have anyway?
fn is_number(name: &[u8], number: u64) -> bool {
    let digits = name.strip_prefix(FOLDER.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()) == Some(number)
}

fn is_empty(metadata: &Node) -> bool {
    match metadata {
        Node::Null => true,
        Node::Map(pairs) => pairs.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Text;

    #[test]
    fn losses_are_noted_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.ffr");
        let mut container = Container::create(&path, false).unwrap();
        let mut add = |name: &str, metadata: &Node, what: NewContent<'_>| {
            let name = &Text::from(name);
            let dataset = NewDataset { name, metadata, what, compression: None, origin: None, facts: None };
            container.add(&dataset, &mut &b"bytes"[..]).unwrap()
        };
        let some = Node::Map(vec![(Node::text("unit").into(), Node::text("mV").into())]);
        assert!(add("records/0", &Node::Null, NewContent::Bytes).is_empty());
        assert_eq!(add("notes", &Node::Map(Vec::new()), NewContent::Bytes), [NAMES]);
        assert_eq!(add("more", &some, NewContent::Text), [METADATA, TYPES]);
        assert!(add("again", &some, NewContent::Object).is_empty());
        Box::new(container).finish().unwrap();
        assert_eq!(crate::ffrecord::Reader::open(&path).unwrap().get(3).unwrap(), b"bytes");
    }
}
