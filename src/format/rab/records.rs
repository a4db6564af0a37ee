//! The datasets of a container, packed: 48 bytes each, whatever their metadata. Of an entry's text only the
//! place is kept; for more (metadata, shape, the name) that piece of the header is read again.

use std::collections::HashMap;
use std::ops::Range;

use super::entry::{Data, Fault};
use super::layout::Layout;
use crate::error::Place;
use crate::source::Source;
use crate::yaml::{self, Anchors, Form, Node};
use crate::{Error, Result};

/// The decoded length is not recorded in the entry.
const UNKNOWN: u64 = u64::MAX;

#[derive(Default)]
pub struct Records {
    packed: Vec<Packed>,
    faults: HashMap<u32, Fault>,
    /// The anchors that aliases in the entries refer to.
    anchors: Anchors<'static>,
}

struct Packed {
    text: u32,
    text_len: u32,
    sidecar_len: u32,
    description_len: u32,
    stored_at: u64,
    stored_len: u64,
    decoded: u64,
    column: u16,
    form: PackedForm,
    compressed: bool,
}

#[derive(Clone, Copy)]
enum PackedForm {
    /// Served verbatim.
    Own,
    Block,
    Flow,
    Json,
}

/// The position of an entry's text in the header, and its style.
#[derive(Clone)]
pub struct TextAt {
    pub span: Range<usize>,
    pub form: Form,
    /// May be served verbatim, see [`yaml::Item::portable`].
    pub own: bool,
}

/// The lengths of the two parts of a sidecar: the entry, and the addition for arrays (without the file's name, which is
/// unknown until the tree is built; 0 if there is none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SidecarLen {
    pub entry: usize,
    pub description: usize,
}

impl Records {
    pub fn push(&mut self, at: TextAt, sidecar: SidecarLen, data: Result<Data, Fault>) -> Result<(), String> {
        let number = u32::try_from(self.packed.len()).map_err(|_| "is one too many: the limit is 2^32")?;
        let data = data.unwrap_or_else(|fault| {
            self.faults.insert(number, fault);
            Data { stored: 0..0, compressed: false, decoded: None }
        });
        let small = |len: usize| u32::try_from(len).map_err(|_| "has a description of more than 4 GiB");
        let (form, column) = match at.form {
            Form::Block { column } if at.own => (PackedForm::Own, column),
            Form::Block { column } => (PackedForm::Block, column),
            Form::Flow => (PackedForm::Flow, 0),
            Form::Json => (PackedForm::Json, 0),
        };
        self.packed.push(Packed {
            text: small(at.span.start)?,
            text_len: small(at.span.len())?,
            sidecar_len: small(sidecar.entry)?,
            description_len: small(sidecar.description)?,
            stored_at: data.stored.start,
            stored_len: data.stored.end - data.stored.start,
            decoded: data.decoded.unwrap_or(UNKNOWN),
            column: u16::try_from(column).map_err(|_| "is indented by more than 65535 columns")?,
            form,
            compressed: data.compressed,
        });
        Ok(())
    }

    /// Call when all entries are there: frees memory no longer needed.
    pub fn finish(&mut self, anchors: Anchors<'static>) {
        self.packed.shrink_to_fit();
        self.anchors = anchors;
    }

    pub fn len(&self) -> usize {
        self.packed.len()
    }

    pub fn data(&self, number: u32) -> Result<Data, &Fault> {
        if let Some(fault) = self.faults.get(&number) {
            return Err(fault);
        }
        let none = Data { stored: 0..0, compressed: false, decoded: Some(0) };
        Ok(self.packed.get(number as usize).map_or(none, |packed| Data {
            stored: packed.stored_at..packed.stored_at + packed.stored_len,
            compressed: packed.compressed,
            decoded: Some(packed.decoded).filter(|len| *len != UNKNOWN),
        }))
    }

    pub fn sidecar_len(&self, number: u32) -> SidecarLen {
        let packed = self.packed.get(number as usize);
        packed.map_or(SidecarLen { entry: 0, description: 0 }, |packed| SidecarLen {
            entry: packed.sidecar_len as usize,
            description: packed.description_len as usize,
        })
    }

    /// Reads the entry's text again.
    pub fn text(&self, number: u32, source: &dyn Source, layout: Layout) -> Result<EntryText> {
        let packed = self.packed.get(number as usize).ok_or(Error::NotFound)?;
        let start = layout.header + u64::from(packed.text);
        let bytes = source.read_range(start..start + u64::from(packed.text_len))?;
        let place = source.place().at(start);
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::damaged(place.clone(), "the header is no longer UTF-8"))?;
        let column = usize::from(packed.column);
        let (form, own) = match packed.form {
            PackedForm::Own => (Form::Block { column }, true),
            PackedForm::Block => (Form::Block { column }, false),
            PackedForm::Flow => (Form::Flow, false),
            PackedForm::Json => (Form::Json, false),
        };
        let node = yaml::reread(&text, form, &self.anchors)
            .map_err(|problem| Error::damaged(place, format!("the entry cannot be read again: {problem}")))?;
        Ok(EntryText { text, node, own: own.then_some(column) })
    }

    /// The entry's text from its dash on, if it may have the usual layout.
    pub fn usual_text(&self, number: u32, source: &dyn Source, layout: Layout) -> Result<Option<Vec<u8>>> {
        const DASH: u64 = 2;
        let packed = self.packed.get(number as usize).ok_or(Error::NotFound)?;
        if !matches!(packed.form, PackedForm::Own) || u64::from(packed.text) < DASH {
            return Ok(None);
        }
        let start = layout.header + u64::from(packed.text);
        source.read_range(start - DASH..start + u64::from(packed.text_len)).map(Some)
    }

    /// All faults, in header order.
    pub fn faults(&self) -> Vec<(u32, &Fault)> {
        let mut all: Vec<_> = self.faults.iter().map(|(number, fault)| (*number, fault)).collect();
        all.sort_by_key(|(number, _)| *number);
        all
    }
}

/// An entry that was read again.
pub struct EntryText {
    pub text: String,
    pub node: std::sync::Arc<Node>,
    /// The indentation to remove if the text is served verbatim.
    pub own: Option<usize>,
}

impl EntryText {
    /// The dataset's original name for messages, lossily converted.
    pub fn name(&self) -> String {
        match self.node.get("name") {
            Some(Node::Str(text)) => text.lossy().into_owned(),
            Some(Node::Int(digits)) => digits.to_string(),
            _ => String::new(),
        }
    }

    pub fn place(&self, source: &dyn Source) -> Place {
        source.place().dataset(&self.name())
    }
}
