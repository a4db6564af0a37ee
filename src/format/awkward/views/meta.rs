//! Describes arrays and their files as YAML: `meta.yaml`, and the sidecars.

use super::super::read::array::Array;
use super::super::read::graph::{ArrayKind, Ix, Node as Part, Rows, Scalar};
use super::computed;
use super::layout::{File, FileContent};
use super::type_text;
use crate::array::numpy::Parts;
use crate::yaml::{self, Node};

/// Maximum number of refused parts and cycles listed.
pub const MAX_NAMED: usize = 1000;

/// `meta.yaml` of an array or a part of it.
pub fn text(array: &Array, ix: Ix) -> String {
    let mut fields = Vec::new();
    if ix == array.graph.root.to {
        fields.push(("array", Node::text(&array.name)));
    }
    // Only where the file names do not already show it.
    let place = array.places.get(ix).and_then(Option::as_ref).filter(|_| !array.is_by_path);
    let called = place.map(|way| (way.joined(), way.escaped())).filter(|(name, path)| name != path);
    fields.extend(called.map(|(name, _)| ("name", Node::text(&name))));
    if let Ok(node) = array.node(ix) {
        part(array, ix, node, &mut fields);
    }
    if ix == array.graph.root.to {
        whole(array, &mut fields);
    }
    let mut text = String::new();
    yaml::write(&Node::map(fields), 0, &mut text);
    text
}

type Fields = Vec<(&'static str, Node)>;

fn part(array: &Array, ix: Ix, node: &Part, fields: &mut Fields) {
    fields.push(("class", Node::text(node.class())));
    let is_refused = matches!(node.kind, ArrayKind::Refused { .. });
    if !is_refused {
        // The length of a part that was refused because of another is unknown.
        if node.fault.is_none() || node.flat().is_some() {
            fields.push(("length", Node::int(node.len)));
        }
        fields.push(("type", Node::text(&type_text::text(array, ix))));
    }
    if let Some(id) = node.id {
        fields.push(("id", Node::int(id)));
    }
    own(node, fields);
    if let Some(fault) = &node.fault {
        fields.push((if is_refused { "refused" } else { "problem" }, Node::text(&fault.problem)));
    }
}

/// Fields specific to a class, apart from its parts.
fn own(node: &Part, fields: &mut Fields) {
    match &node.kind {
        ArrayKind::Masked { masked_when, .. } => fields.push(("maskedWhen", Node::Bool(*masked_when))),
        ArrayKind::BitMasked { masked_when, is_lsb, .. } => {
            fields.push(("maskedWhen", Node::Bool(*masked_when)));
            let order = if *is_lsb { "least significant first" } else { "most significant first" };
            fields.push(("bits", Node::text(order)));
        }
        ArrayKind::IndexedMasked { masked_when, .. } => fields.push(("maskedWhen", Node::int(*masked_when))),
        ArrayKind::Strings { encoding, .. } => {
            fields.extend(encoding.name().map(|name| ("encoding", Node::text(name))));
        }
        ArrayKind::View { rows: Rows::Steps { start, step, length }, .. } => {
            let view = [("start", *start), ("step", *step), ("length", *length as i64)];
            fields.push(("view", Node::map(view.map(|(key, value)| (key, Node::int(value))))));
            fields.push(("note", Node::text("the columns are whole; index has the rows that count")));
        }
        ArrayKind::View { .. } => {
            fields.push(("note", Node::text("the columns are whole; index has the rows that count")))
        }
        ArrayKind::Chunked { chunks, .. } => {
            let sizes: Option<Vec<u64>> = chunks.iter().map(|(_, size)| *size).collect();
            if let Some(sizes) = sizes {
                fields.push(("sizes", Node::seq(sizes.into_iter().map(Node::int))));
            }
        }
        ArrayKind::Sparse { default, .. } => {
            let value = match default {
                Scalar::Float(value) => Node::Float(*value),
                Scalar::Json(json) => json.node(),
            };
            fields.push(("default", value));
        }
        ArrayKind::Object { generator, .. } => fields.push(("generator", Node::text(generator))),
        _ => {}
    }
}

/// Fields of an array as a whole.
fn whole(array: &Array, fields: &mut Fields) {
    let refused = array.graph.nodes.iter().enumerate().filter(|(_, node)| {
        matches!(node.kind, ArrayKind::Refused { .. }) || node.fault.is_some() || node.unshown().is_some()
    });
    let refused: Vec<Node> = refused.take(MAX_NAMED).map(|(ix, node)| refusal(array, ix, node)).collect();
    if !refused.is_empty() {
        fields.push(("refused", Node::seq(refused)));
        fields.retain({
            let mut seen = false;
            move |(key, value)| {
                !(*key == "refused" && matches!(value, Node::Str(_)) && !std::mem::replace(&mut seen, true))
            }
        });
    }
    let circles = array.graph.circles.iter().take(MAX_NAMED);
    let circle = |(from, to): &(Ix, Ix)| {
        Node::map([("in", Node::text(&array.path(*from))), ("contains", Node::text(&array.path(*to)))])
    };
    let circles: Vec<Node> = circles.map(circle).collect();
    if !circles.is_empty() {
        fields.push(("circles", Node::seq(circles)));
    }
    let warnings: Vec<Node> = warnings(array).map(|text| Node::text(&text)).collect();
    if !warnings.is_empty() {
        fields.push(("warnings", Node::seq(warnings)));
    }
    if let Ok(document) = &array.document {
        fields.push(("awkward", Node::text(&document.version)));
        for key in ["doc", "metadata", "prefix", "schema"] {
            if let Some(value) = document.json.get(key) {
                fields.push((key, value.node()));
            }
        }
    }
}

/// Contradictions that are tolerated, as the library does.
pub fn warnings(array: &Array) -> impl Iterator<Item = String> {
    let twice = array.store().twice.iter();
    let twice = twice.map(|name| format!("there are two members {name:?}: the last one is read"));
    array.graph.warnings.iter().cloned().chain(twice).take(MAX_NAMED)
}

fn refusal(array: &Array, ix: Ix, node: &Part) -> Node {
    let why = node.fault.as_ref().map(|fault| fault.problem.clone());
    let why = why.or_else(|| node.unshown()).unwrap_or_default();
    Node::map([
        ("part", Node::text(&array.path(ix))),
        ("what", Node::text(node.class())),
        ("why", Node::text(&why)),
    ])
}

/// Describes a file: codec fields beside its bytes.
pub fn codec(array: &Array, file: &File) -> Node {
    let Ok(node) = array.node(file.ix) else { return Node::Null };
    let id = node.id.map(|id| ("id", Node::int(id)));
    match (&file.what, node.flat()) {
        (FileContent::Data, Some(flat)) => {
            let codec = flat.blob.codec.map_or(Node::Null, |codec| Node::text(codec.name()));
            let fixed = [
                ("member", Node::text(&flat.blob.member)),
                ("compression", codec),
                ("dtype", Node::text(&flat.of.name())),
                ("length", Node::int(node.len)),
            ];
            let need = node.len.saturating_mul(flat.of.size());
            let have = array.store().blob_len(&flat.blob).unwrap_or(need);
            let is_longer = flat.blob.codec.is_none() && have > need;
            let unused = is_longer.then(|| ("unusedBytes", Node::int(have - need)));
            Node::map(fixed.into_iter().chain(id).chain(unused))
        }
        (FileContent::Index(kind), _) => {
            let fixed = [("computed", Node::Bool(true)), ("meaning", Node::text(kind.meaning()))];
            Node::map(fixed)
        }
        (FileContent::Offsets(_) | FileContent::Elements(_), _) => {
            let meaning =
                "the lists one after the other, as their starts and stops had them anywhere in the content";
            Node::map([("computed", Node::Bool(true)), ("meaning", Node::text(meaning))])
        }
        (FileContent::Text, _) => {
            let meaning = "each string, then a line feed; where one holds a line feed, use the offsets and \
                bytes beside it";
            Node::map([("computed", Node::Bool(true)), ("meaning", Node::text(meaning))])
        }
        _ => Node::Null,
    }
}

/// The sidecar of a file named `file_name`, for the dataset with this number and name.
pub fn sidecar(array: &Array, file: &File, (number, name): (u32, &str), file_name: &[u8]) -> String {
    let mut fields =
        vec![("name", Node::text(name)), ("number", Node::int(number)), ("awkward", codec(array, file))];
    let fault = array.node(file.ix).ok().and_then(|node| node.fault.as_ref());
    fields.extend(fault.map(|fault| ("problem", Node::text(&fault.problem))));
    let mut text = String::new();
    yaml::write(&Node::map(fields), 0, &mut text);
    text.extend(parts(array, file).map(|parts| parts.text(file_name)));
    text
}

fn parts(array: &Array, file: &File) -> Option<Parts> {
    let node = array.node(file.ix).ok()?;
    let (descr, shape) = match (&file.what, node.flat()) {
        (FileContent::Data, Some(flat)) => (flat.of.descr(), [&[node.len], &*flat.of.shape].concat()),
        (FileContent::Index(kind), _) => ("<i8".into(), computed::shape(array, file.ix, *kind).ok()?),
        _ => return None,
    };
    Some(Parts::new(&descr, &shape, crate::array::Order::C, false))
}

/// Can all of its items be shown?
pub fn is_whole(array: &Array) -> bool {
    let is_readable = |node: &Part| match &node.kind {
        ArrayKind::Refused { .. } => false,
        _ if node.unshown().is_some() => false,
        _ => node.fault.as_ref().is_none_or(|fault| !fault.is_unsupported),
    };
    array.graph.circles.is_empty() && array.graph.nodes.iter().all(is_readable)
}
