//! The header as YAML: every word by name, and how it was interpreted.

use super::element::Type;
use super::header::{BIG_ENDIAN, BITS, COMPRESSED, Header};
use super::payload::Payload;
use crate::yaml::Node;

/// The header's words and, for valid headers, their interpretation.
pub fn words(header: &Header, meaning: Option<(&Type, &Payload)>) -> Node {
    let Header { is_big_header, flags, eltype, elbyte, size, ref dims, data, .. } = *header;
    let order = |is_big: bool| Node::text(if is_big { "big" } else { "little" });
    let fixed = [
        ("headerEndianness", order(is_big_header)),
        ("flags", Node::int(flags)),
        ("flagNames", Node::seq(names(flags).into_iter().map(Node::text))),
        ("eltype", Node::int(eltype)),
        ("elbyte", Node::int(elbyte)),
        ("size", Node::int(size)),
        ("ndims", Node::int(dims.len() as u64)),
        ("dims", Node::seq(dims.iter().map(|size| Node::int(*size)))),
        ("dataOffset", Node::int(data)),
    ];
    let meaning = meaning.map(|(of, payload)| {
        let notes = of.note.iter().chain(&payload.notes).map(|note| Node::text(note));
        let trailer = header.end - payload.stored.end;
        [
            ("type", Node::text(&of.name)),
            ("compression", payload.codec.name().map_or(Node::Null, Node::text)),
            ("endianness", order(header.is_big())),
            ("decodedLength", Node::int(payload.len)),
            ("trailerLength", Node::int(trailer)),
            ("notes", Node::seq(notes)),
        ]
    });
    Node::map(fixed.into_iter().chain(meaning.into_iter().flatten()))
}

/// Names of the bits that are set.
fn names(flags: u64) -> Vec<&'static str> {
    let known = [(BIG_ENDIAN, "BIG_ENDIAN"), (COMPRESSED, "COMPRESSED"), (BITS, "BITS")];
    let mut names: Vec<_> =
        known.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| *name).collect();
    if flags & !(BIG_ENDIAN | COMPRESSED | BITS) != 0 {
        names.push("unknown");
    }
    names
}
