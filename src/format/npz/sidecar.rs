//! Sidecars of members: the directory entry, the NPY header, and for arrays numpy's description and a line to paste.

use super::member::{Body, Member, Record};
use crate::array::npy::Header;
use crate::array::numpy::Parts;
use crate::yaml::{self, Node};

/// The member as a mapping.
pub fn zip(record: &Record, name: &str, body: Option<&Body>) -> Node {
    let member = if record.is_npy { format!("{name}.npy") } else { name.into() };
    let fixed = [
        ("member", Node::text(&member)),
        ("compression", record.compression().map_or(Node::Null, |name| Node::text(&name))),
        ("compressedSize", Node::int(record.stored_len)),
        ("size", Node::int(record.len)),
        ("crc32", Node::text(&format!("{:08x}", record.crc))),
    ];
    let npy = body.and_then(|body| body.npy.as_ref()).map(|header| ("npy", header.node()));
    Node::map(fixed.into_iter().chain(npy))
}

/// The sidecar of a member without its file name; for an array, the text before and after the name.
pub fn build(record: &Record, (number, name): (u32, &str), member: &Member) -> (String, Option<Parts>) {
    let body = member.body.as_ref().ok();
    let fixed = [("name", Node::text(name)), ("number", Node::int(number)), ("zip", zip(record, name, body))];
    let problem = member.body.as_ref().err().map(|fault| ("problem", Node::text(&fault.problem)));
    let mut text = String::new();
    yaml::write(&Node::map(fixed.into_iter().chain(problem)), 0, &mut text);
    let parts = body.and_then(|body| body.npy.as_ref()).map(|header| {
        let Header { descr, shape, order, .. } = header;
        Parts::new(&descr.text, shape, *order, false)
    });
    (text, parts)
}
