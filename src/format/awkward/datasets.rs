//! The files of all arrays as datasets: stored numbers, derived ones, and `meta.yaml`.

use std::collections::{BTreeMap, HashSet};
use std::fs::File as OnDisk;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::json::items::Values;
use super::json::lines::{self, Room};
use super::read::array::Array;
use super::read::graph::{Flat, Ix};
use super::read::store::Store;
use super::read::{check, contiguous};
use super::views::computed::{self, Lines, Numbers};
use super::views::index::Index;
use super::views::layout::{self, File, FileContent, Layout};
use super::views::meta;
use super::write::rewrite;
use crate::array::{self, Dtype, Element, Endian, Order};
use crate::content::Content;
use crate::source::Source;
use crate::tree::{
    Abilities, Checksum, Datasets, Description, Identity, Items, Link, Names, Nested, Placement, Plain,
    Provenance, Rewrite, Sidecars, Size, Validate,
};
use crate::{Error, Result};

pub struct AwkwardDatasets {
    store: Arc<Store>,
    arrays: Vec<Arc<Array>>,
    layout: Layout,
    names: Arc<Index>,
    /// Contents that are expensive to make, cached.
    made: Vec<OnceLock<Content>>,
    checked: check::Checked,
    /// Approximate memory of arrays and names, in bytes.
    described: u64,
}

/// Approximate bytes of memory for a part of an array, a member or a file, with its name.
const PART: u64 = 512;

impl AwkwardDatasets {
    pub fn new(store: Arc<Store>, arrays: Vec<Arc<Array>>, layout: Layout) -> AwkwardDatasets {
        let names = Arc::new(Index::new(&arrays, &layout));
        let made = layout.files.iter().map(|_| OnceLock::new()).collect();
        let nodes: usize = arrays.iter().map(|array| array.graph.nodes.len()).sum();
        let described = PART * (nodes + store.count() + layout.files.len()) as u64;
        AwkwardDatasets { store, arrays, layout, names, made, checked: check::Checked::default(), described }
    }

    pub fn names(&self) -> Arc<Index> {
        self.names.clone()
    }

    fn file(&self, number: u32) -> Result<(&File, &Arc<Array>)> {
        let file = self.layout.files.get(number as usize).ok_or(Error::NotFound)?;
        self.arrays.get(file.array).map(|array| (file, array)).ok_or(Error::NotFound)
    }

    fn name(&self, number: u32) -> String {
        String::from_utf8_lossy(&self.names.get(number as usize).unwrap_or_default()).into_owned()
    }

    fn sidecar_text(&self, number: u32, file_name: &[u8]) -> Result<String> {
        let (file, array) = self.file(number)?;
        Ok(meta::sidecar(array, file, (number, &self.name(number)), file_name))
    }

    /// The content of a file; expensive ones are cached.
    fn make(&self, number: u32) -> Result<Content> {
        let (file, array) = self.file(number)?;
        let made = match &file.what {
            FileContent::Meta => return Ok(Content::Inline(meta::text(array, file.ix).into_bytes().into())),
            FileContent::Data => return array.content(file.ix),
            FileContent::Index(kind) => {
                Numbers::new(array, file.ix, *kind).map(|kind| Content::Computed(Arc::new(kind)))
            }
            FileContent::Text => Lines::new(array, file.ix).map(|lines| Content::Computed(Arc::new(lines))),
            FileContent::Offsets(pick) => {
                pick.picked(array).map(|picked| Content::Computed(Arc::new(contiguous::Offsets(picked))))
            }
            // All numbers are checked: an error may be detectable only in items that are in no list.
            FileContent::Elements(pick) => array
                .verify(file.ix)
                .and_then(|()| pick.picked(array))
                .and_then(|picked| contiguous::Elements::new(picked, file.ix))
                .map(|elements| Content::Computed(Arc::new(elements))),
        };
        match made {
            Err(error @ Error::Damaged { .. } | error @ Error::Unsupported { .. }) => {
                log::error!("{error}; reads of {:?} give that error", self.name(number));
                Ok(Content::Broken { claimed: 1, error })
            }
            made => made,
        }
    }

    /// Where the stored bytes of a flat part are in the file.
    fn stored(&self, file: &File, array: &Array, described: &mut Description) -> Result<()> {
        let Some((flat, len)) = array.node(file.ix)?.flat().map(|flat| (flat, array.claimed(file.ix))) else {
            return Ok(());
        };
        let Some(member) = self.store.find(&flat.blob.member) else { return Ok(()) };
        let Some((range, record)) = self.store.stored(member)? else { return Ok(()) };
        let codec = flat.blob.codec.map(|codec| codec.name().to_owned());
        described.compression = codec.or_else(|| record.compression());
        let is_plain = described.compression.is_none();
        if record.compression().is_none() {
            let value = format!("{:08x}", record.crc);
            described.checksum = Some(Checksum { range: range.clone(), algorithm: "crc32".into(), value });
        }
        let end = if is_plain { range.end.min(range.start.saturating_add(len)) } else { range.end };
        described.stored = Some(range.start..end);
        Ok(())
    }
}

/// The type of derived numbers.
const INT64: Dtype = Dtype { element: Element { kind: array::Kind::Int, size: 8 }, endian: Endian::Little };

/// Describes `items` elements of a flat part.
fn elements(described: &mut Description, flat: &Flat, items: u64) {
    described.kind = flat.of.name();
    let shape = [&[items], &*flat.of.shape].concat();
    described.array = array::numpy::array(&flat.of.descr(), &shape, Order::C).ok().flatten();
}

fn whole_numbers(described: &mut Description, shape: Vec<u64>) {
    described.kind = "int64".into();
    described.decoded_len = array::byte_len(INT64.element, &shape);
    described.array = Some(array::Array::new(INT64, shape, Order::C));
}

impl Datasets for AwkwardDatasets {
    fn count(&self) -> u64 {
        self.layout.files.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        let Ok((file, array)) = self.file(number) else { return Size { len: None, stored: 0 } };
        match &file.what {
            FileContent::Data => {
                let flat = array.node(file.ix).ok().and_then(|node| node.flat());
                let member = flat.and_then(|flat| self.store.find(&flat.blob.member));
                let stored = member.map_or(0, |member| self.store.size(member).stored);
                Size { len: Some(array.claimed(file.ix)), stored }
            }
            FileContent::Index(kind) => {
                let shape = computed::shape(array, file.ix, *kind);
                let len = shape.ok().and_then(|shape| array::byte_len(INT64.element, &shape));
                Size { len, stored: 0 }
            }
            FileContent::Meta | FileContent::Text | FileContent::Offsets(_) | FileContent::Elements(_) => {
                let made = self.made.get(number as usize).and_then(OnceLock::get);
                Size { len: made.and_then(Content::known_len), stored: 0 }
            }
        }
    }

    fn content(&self, number: u32) -> Result<Content> {
        let kept = self.made.get(number as usize).ok_or(Error::NotFound)?;
        if let Some(content) = kept.get() {
            return Ok(content.clone());
        }
        self.store.source().check()?;
        let made = self.make(number)?;
        // Small texts are made again each time; flat parts are cached elsewhere.
        match &self.file(number)?.0.what {
            FileContent::Meta | FileContent::Data => Ok(made),
            _ => Ok(kept.get_or_init(|| made).clone()),
        }
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        Ok(self.made.get(number as usize).and_then(OnceLock::get).cloned())
    }

    fn describe(&self, number: u32) -> Result<Description> {
        let (file, array) = self.file(number)?;
        let node = array.node(file.ix)?;
        let fault =
            node.fault.as_ref().filter(|fault| !fault.is_unsupported).map(|fault| fault.problem.clone());
        let mut described = Description {
            fault,
            codec: Arc::new(meta::codec(array, file)),
            ..Description::of(&*self.name(number), "object")
        };
        match (&file.what, node.flat()) {
            (FileContent::Data, Some(flat)) => {
                elements(&mut described, flat, node.len);
                described.decoded_len = node.fault.is_none().then(|| array.claimed(file.ix));
                self.stored(file, array, &mut described)?;
            }
            (FileContent::Index(kind), _) => {
                whole_numbers(&mut described, computed::shape(array, file.ix, *kind)?)
            }
            (FileContent::Offsets(pick), _) => {
                whole_numbers(&mut described, vec![pick.picked(array)?.offsets()]);
            }
            (FileContent::Elements(pick), Some(flat)) => {
                let items = pick.picked(array)?.items();
                elements(&mut described, flat, items);
                described.decoded_len = items.checked_mul(flat.of.size());
            }
            (FileContent::Text, _) => described.kind = "text".into(),
            _ if node.flat().is_some() => described.fault = None,
            _ => {}
        }
        Ok(described)
    }

    fn memory(&self) -> u64 {
        self.described + self.store.streams_memory()
    }

    fn remains(&self, number: u32) -> Result<Content> {
        let (file, array) = self.file(number)?;
        match (&file.what, array.node(file.ix)?.flat()) {
            (FileContent::Data, Some(flat)) => match self.store.find(&flat.blob.member) {
                Some(member) => self.store.content(member),
                None => Ok(Content::Inline(Arc::default())),
            },
            _ => self.make(number),
        }
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            sidecars: Some(self),
            placement: Some(self),
            provenance: Some(self),
            validate: Some(self),
            nested: Some(self),
            rewrite: Some(self),
            ..Abilities::default()
        }
    }
}

impl Sidecars for AwkwardDatasets {
    fn has_sidecar(&self, number: u32) -> bool {
        self.file(number).is_ok_and(|(file, _)| !matches!(file.what, FileContent::Meta))
    }

    fn sidecar_size(&self, number: u32, file_name: &[u8]) -> Size {
        let text = self.sidecar_text(number, file_name);
        let len = text.ok().map(|text| text.len() as u64);
        Size { len, stored: len.unwrap_or(0) }
    }

    fn sidecar(&self, number: u32, file_name: &[u8]) -> Result<Content> {
        self.store.source().check()?;
        Ok(Content::Inline(self.sidecar_text(number, file_name)?.into_bytes().into()))
    }
}

impl Placement for AwkwardDatasets {
    fn place(&self, number: u32) -> Option<Vec<Vec<u8>>> {
        self.file(number).ok().map(|(file, _)| file.way.parts())
    }

    fn links(&self) -> &[Link] {
        &self.layout.links
    }
}

impl Provenance for AwkwardDatasets {
    fn file(&self, number: u32) -> Option<Arc<dyn Source>> {
        let (_, array) = AwkwardDatasets::file(self, number).ok()?;
        self.store.file(&array.schema()).cloned()
    }

    /// The files of members, where members are files.
    fn files(&self) -> Vec<PathBuf> {
        self.store.names().filter_map(|name| Some(self.store.file(name)?.path().to_owned())).collect()
    }
}

impl Validate for AwkwardDatasets {
    fn check(&self, number: u32) -> Result<()> {
        let (file, array) = self.file(number)?;
        let is_flat = array.node(file.ix)?.flat().is_some();
        match &file.what {
            FileContent::Meta if !is_flat => self.checked.check(file.array, array, file.ix),
            FileContent::Index(_) | FileContent::Text => self.checked.follows(file.array, array, file.ix),
            FileContent::Data => array.valid_node(file.ix).map(drop),
            _ => Ok(()),
        }
    }

    fn follows(&self, number: u32) -> bool {
        self.file(number)
            .is_ok_and(|(file, _)| matches!(file.what, FileContent::Index(_) | FileContent::Text))
    }

    fn identity(&self, number: u32) -> Option<Identity> {
        let (file, array) = self.file(number).ok()?;
        if matches!(file.what, FileContent::Data) { array.identity(file.ix) } else { None }
    }

    /// Contradictions are reported for the array as a whole.
    fn violations(&self, number: u32) -> Result<Vec<String>> {
        Ok(match self.file(number) {
            Ok((file, array)) if matches!(file.what, FileContent::Meta) && file.ix == array.graph.root.to => {
                meta::warnings(array).collect()
            }
            _ => Vec::new(),
        })
    }
}

impl Nested for AwkwardDatasets {
    fn items(&self, number: u32) -> Option<Box<dyn Items>> {
        let (file, array) = self.file(number).ok()?;
        let is_one = matches!(file.what, FileContent::Meta | FileContent::Data) && array.document.is_ok();
        is_one.then(|| Box::new(Part { array: array.clone(), ix: file.ix }) as Box<dyn Items>)
    }
}

impl Rewrite for AwkwardDatasets {
    fn plain(&self) -> Result<Option<Plain>> {
        let place = || self.store.source().place();
        let layout = layout::plain(&self.arrays).map_err(|fault| fault.error(place()))?;
        let plain = AwkwardDatasets::new(self.store.clone(), self.arrays.clone(), layout);
        Ok(Some((plain.names(), Arc::new(plain))))
    }

    fn keeps_compression(&self) -> bool {
        true
    }

    /// Keeps all of each array.
    fn kept(&self, numbers: &[usize]) -> Vec<usize> {
        let of = |number: &usize| self.layout.files.get(*number).map(|file| file.array);
        let arrays: HashSet<_> = numbers.iter().filter_map(of).collect();
        let files = self.layout.files.iter().enumerate();
        files.filter(|(_, file)| arrays.contains(&file.array)).map(|(number, _)| number).collect()
    }

    /// Arrays are written whole, even if only one of their files is named.
    fn rewrite(
        &self,
        path: &Path,
        file: &OnDisk,
        only: Option<&[usize]>,
        step: rewrite::Step<'_>,
    ) -> Result<Vec<String>> {
        let Some(numbers) = only else {
            let arrays: Vec<_> = self.arrays.iter().collect();
            return rewrite::rewrite(&self.store, &arrays, true, (path, file), step);
        };
        // The value tells whether the array itself was named, or only a part of it.
        let mut chosen = BTreeMap::new();
        for number in numbers {
            let (file, array) = self.file(*number as u32)?;
            *chosen.entry(file.array).or_insert(false) |= file.ix == array.graph.root.to;
        }
        let arrays: Vec<_> = chosen.keys().filter_map(|number| self.arrays.get(*number)).collect();
        let mut notes = rewrite::rewrite(&self.store, &arrays, false, (path, file), step)?;
        let in_part = arrays.iter().zip(chosen.values()).filter(|(_, is_named)| !**is_named);
        notes.extend(in_part.map(|(array, _)| format!("array {:?} is written whole", array.name)));
        Ok(notes)
    }
}

/// Length of the separator between two items.
const BETWEEN: usize = 2;

/// An array or a part of one, item by item.
struct Part {
    array: Arc<Array>,
    ix: Ix,
}

impl Items for Part {
    fn len(&self) -> Result<u64> {
        self.array.valid_node(self.ix).map(|node| node.len)
    }

    fn pass(
        &self,
        wanted: &mut dyn Iterator<Item = u64>,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let (mut values, mut json) = (Values::new(&self.array), Vec::new());
        let mut room = Room::new(&self.array, self.ix, lines::LIST, wanted.size_hint().0 as u64)?;
        for item in wanted {
            json.clear();
            values.item(self.ix, item, &mut json)?;
            room.take(json.len() + BETWEEN, values.work)?;
            if each(&json).is_break() {
                break;
            }
        }
        self.array.store().source().check()
    }
}
