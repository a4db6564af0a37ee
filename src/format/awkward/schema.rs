//! Schema expressions, interpreted by an exact table of known calls (`calls`): what is not in it is refused where it
//! stands, and what is beside it is read. Nothing is ever called, and no pickle is read but that of one float.
//!
//! The expressions are read in two passes, as a reference may come before what it refers to: first every `id` is
//! noted, then arrays are made of calls, and scalars of what stands where one is needed.

mod calls;

use std::collections::HashMap;
use std::sync::Arc;

use self::calls::{arguments, names};
use super::dtype;
use super::graph::{Blob, Codec, Edge, Encoding, Graph, Ix, Kind, Lists, Node, Rows};
use super::json::Json;
use crate::codec::zip::Fault;

/// An array is no deeper inside others, and a schema has no more arrays.
pub const DEEPEST: usize = 128;
pub const MOST_NODES: usize = 1 << 18;
/// A reference to a reference to a reference ...
const MOST_REFS: usize = 64;

/// What identifies an expression. One has exactly one of them.
const KEYS: [&str; 11] =
    ["call", "read", "list", "tuple", "dict", "pairs", "dtype", "function", "json", "python", "ref"];

/// A schema member as it is in the container.
pub struct Document {
    pub json: Arc<Json>,
    /// What the version key says.
    pub version: String,
}

/// The error says why this is no schema.
pub fn document(json: Json) -> Result<Document, Fault> {
    let Some(_) = json.as_map() else { return Err("the schema is no JSON object".into()) };
    let Some(version) = json.get("awkward0").or_else(|| json.get("awkward")) else {
        return Err(
            "it is no schema of Awkward Array: it has neither the key \"awkward0\" nor \"awkward\"".into()
        );
    };
    if json.get("schema").is_none() {
        return Err("it has no key \"schema\"".into());
    }
    if !matches!(json.get("prefix"), None | Some(Json::Str(_))) {
        return Err("its \"prefix\" is no text".into());
    }
    let version = version.as_str().unwrap_or("?").to_owned();
    Ok(Document { json: Arc::new(json), version })
}

/// The names of all members that a document reads.
pub fn reads(document: &Document) -> Vec<String> {
    fn look(json: &Json, prefix: &str, found: &mut Vec<String>) {
        match json {
            Json::Map(pairs) => {
                if let Some(name) = json.get("read").and_then(Json::as_str) {
                    let is_absolute = json.get("absolute") == Some(&Json::Bool(true));
                    found.push(if is_absolute { name.to_owned() } else { format!("{prefix}{name}") });
                }
                pairs.iter().for_each(|(_, value)| look(value, prefix, found));
            }
            Json::List(items) => items.iter().for_each(|item| look(item, prefix, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let prefix = document.json.get("prefix").and_then(Json::as_str).unwrap_or("");
    look(document.json.get("schema").unwrap_or(&Json::Null), prefix, &mut found);
    found
}

/// The arrays that a document describes. Lengths and faults come with [`Graph::settle`].
pub fn graph(document: &Document) -> Graph {
    let json = &*document.json;
    let prefix = json.get("prefix").and_then(Json::as_str).unwrap_or("");
    let schema = json.get("schema").unwrap_or(&Json::Null);
    let mut reader =
        Reader { prefix, ids: HashMap::new(), made: HashMap::new(), nodes: Vec::new(), warnings: Vec::new() };
    reader.note_ids(schema);
    let root = reader.array(schema, 0);
    reader.resolve();
    let root = reader.resolved(root);
    let Reader { nodes, warnings, .. } = reader;
    Graph { nodes, root, warnings, circles: Vec::new() }
}

struct Reader<'j> {
    prefix: &'j str,
    /// None: given twice.
    ids: HashMap<i64, Option<&'j Json>>,
    made: HashMap<i64, Ix>,
    nodes: Vec<Node>,
    warnings: Vec<String>,
}

/// Edges to what is not made yet lead to the id, counted down from the highest number.
fn pending(id: i64) -> Edge {
    Edge { to: Ix::MAX - (id.unsigned_abs() as usize).min(Ix::MAX / 2), is_ref: true }
}

type Found<T> = Result<T, Fault>;

fn unsupported<T>(problem: impl Into<String>) -> Found<T> {
    Err(Fault::unsupported(problem))
}

fn wrong<T>(problem: impl Into<String>) -> Found<T> {
    Err(problem.into().into())
}

impl<'j> Reader<'j> {
    /// Every expression with an id. Values of `json` are no expressions. No deeper than the JSON, which is bounded.
    fn note_ids(&mut self, json: &'j Json) {
        match json {
            Json::Map(pairs) => {
                if let Some(id) = id_of(json) {
                    self.note(id, json);
                }
                for (_, value) in
                    pairs.iter().filter(|(key, _)| !matches!(&**key, "json" | "dtype" | "function"))
                {
                    self.note_ids(value);
                }
            }
            Json::List(items) => items.iter().for_each(|item| self.note_ids(item)),
            _ => {}
        }
    }

    fn note(&mut self, id: i64, json: &'j Json) {
        let twice = self.ids.insert(id, Some(json)).is_some();
        if twice {
            self.ids.insert(id, None);
            let warning = format!("the id {id} is given twice: what refers to it is refused");
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    fn add(&mut self, node: Node) -> Edge {
        let to = self.nodes.len();
        if let Some(id) = node.id {
            self.made.entry(id).or_insert(to);
        }
        self.nodes.push(node);
        Edge { to, is_ref: false }
    }

    fn refuse(&mut self, id: Option<i64>, what: &str, fault: Fault) -> Edge {
        let kind = Kind::Refused { what: what.into() };
        self.add(Node { fault: Some(fault), ..Node::new(id, kind) })
    }

    /// The array that an expression stands for, or what was refused in its place.
    fn array(&mut self, json: &'j Json, depth: usize) -> Edge {
        let id = id_of(json);
        if depth == DEEPEST {
            let problem = format!("arrays are nested deeper than {DEEPEST} levels, which is the limit");
            return self.refuse(id, "nested", problem.into());
        }
        if self.nodes.len() >= MOST_NODES {
            let problem = format!("the schema has more than {MOST_NODES} arrays, which is the limit");
            return self.refuse(id, "more", problem.into());
        }
        let made = identified(json).and_then(|(key, value)| match key {
            "ref" => self.reference(value).map(Err),
            "call" => self.call(json, value, depth).map(Ok),
            "python" => unsupported("it is a Python pickle, which is not read: it could run any code"),
            key => wrong(format!("an array is needed here, and a {key:?} was found")),
        });
        match made {
            Ok(Ok(kind)) => self.add(Node::new(id, kind)),
            Ok(Err(edge)) => edge,
            Err(fault) => self.refuse(id, what_of(json), fault),
        }
    }

    fn reference(&mut self, value: &Json) -> Found<Edge> {
        let mut id = value.as_int().ok_or("a \"ref\" is no whole number")?;
        for _ in 0..MOST_REFS {
            match self.ids.get(&id) {
                None => return wrong(format!("it refers to the id {id}, which nothing has")),
                Some(None) => return wrong(format!("it refers to the id {id}, which is given twice")),
                Some(Some(target)) => match target.get("ref").and_then(Json::as_int) {
                    Some(further) => id = further,
                    None if id < 0 => return wrong("an id is negative"),
                    None => return Ok(pending(id)),
                },
            }
        }
        wrong(format!("the id {id} refers to itself"))
    }

    /// After all is made, edges lead to nodes.
    fn resolve(&mut self) {
        let mut nodes = std::mem::take(&mut self.nodes);
        let count = nodes.len();
        for node in &mut nodes {
            node.kind.each_edge(&mut |edge| {
                if edge.to >= count {
                    *edge = self.find(*edge, count);
                }
            });
        }
        nodes.append(&mut self.nodes);
        self.nodes = nodes;
    }

    fn resolved(&mut self, edge: Edge) -> Edge {
        let count = self.nodes.len();
        if edge.to < count {
            return edge;
        }
        match self.made.get(&((Ix::MAX - edge.to) as i64)) {
            Some(to) => Edge { to: *to, is_ref: true },
            None => self.refuse(None, "ref", "it refers to what is no array".into()),
        }
    }

    /// `count` nodes are elsewhere, before those that are made now.
    fn find(&mut self, edge: Edge, count: usize) -> Edge {
        match self.made.get(&((Ix::MAX - edge.to) as i64)) {
            Some(to) => Edge { to: *to, is_ref: true },
            None => {
                let made = self.refuse(None, "ref", "it refers to what is no array".into());
                Edge { to: made.to + count, ..made }
            }
        }
    }

    /// What an expression is that has to be a value.
    fn value(&self, json: &'j Json) -> Found<&'j Json> {
        let mut json = json;
        for _ in 0..MOST_REFS {
            let (key, value) = identified(json)?;
            if key != "ref" {
                return Ok(json);
            }
            let id = value.as_int().ok_or("a \"ref\" is no whole number")?;
            match self.ids.get(&id) {
                Some(Some(target)) => json = target,
                Some(None) => return wrong(format!("it refers to the id {id}, which is given twice")),
                None => return wrong(format!("it refers to the id {id}, which nothing has")),
            }
        }
        wrong("a reference refers to itself")
    }

    /// A JSON value. Files of 0.5 have some without the expression around them.
    fn json(&self, json: &'j Json) -> Found<&'j Json> {
        if !matches!(json, Json::Map(_)) {
            return Ok(json);
        }
        let found = self.value(json)?;
        found
            .get("json")
            .ok_or_else(|| format!("a value is needed here, and a {:?} was found", what_of(found)).into())
    }

    fn int(&self, json: &'j Json, what: &str) -> Found<i64> {
        let value = self.json(json)?;
        value.as_int().ok_or_else(|| format!("its {what} is no whole number of 64 bits").into())
    }

    fn len(&self, json: &'j Json, what: &str) -> Found<u64> {
        let value = self.int(json, what)?;
        u64::try_from(value).map_err(|_| format!("its {what} is negative").into())
    }

    fn bool(&self, json: &'j Json, what: &str) -> Found<bool> {
        self.json(json)?.as_bool().ok_or_else(|| format!("its {what} is neither true nor false").into())
    }

    fn list(&self, json: &'j Json, key: &str) -> Found<&'j [Json]> {
        let items = self.value(json)?.get(key).and_then(Json::as_list);
        items.ok_or_else(|| format!("a {key:?} is needed here").into())
    }

    fn arrays(&mut self, items: &'j [Json], depth: usize) -> Vec<Edge> {
        items.iter().map(|item| self.array(item, depth + 1)).collect()
    }

    fn dtype(&self, json: &'j Json) -> Found<dtype::Type> {
        let found = self.value(json)?.get("dtype").ok_or("an element type is needed here")?;
        dtype::parse(found).map_err(Fault::from)
    }

    /// Bytes: a member, maybe compressed.
    fn bytes(&self, json: &'j Json) -> Found<Blob> {
        let json = self.value(json)?;
        let Some(spec) = json.get("call") else {
            return self.read(json).map(|member| Blob { member, codec: None });
        };
        let codec = match names(spec)?.as_slice() {
            ["zlib", "decompress"] => Codec::Zlib,
            ["lzma" | "backports.lzma", "decompress"] => Codec::Lzma,
            ["lz4.block", "decompress"] => Codec::Lz4Block,
            _ => return unsupported(format!("{} gives its bytes, which is not known", what_of(json))),
        };
        let [inner] = arguments(json)? else { return wrong(format!("{} takes one argument", what_of(json))) };
        let inner = self.value(inner)?;
        if inner.get("call").is_some() {
            return unsupported("its bytes are compressed more than once, and once is the limit");
        }
        self.read(inner).map(|member| Blob { member, codec: Some(codec) })
    }

    /// The name of a member.
    fn read(&self, json: &Json) -> Found<Box<str>> {
        let name = json.get("read").ok_or("bytes are needed here")?;
        let name = name.as_str().ok_or("a \"read\" is no text")?;
        match json.get("absolute") {
            Some(Json::Bool(true)) => Ok(name.into()),
            None | Some(Json::Bool(false)) => Ok(format!("{}{name}", self.prefix).into()),
            _ => wrong("\"absolute\" is neither true nor false"),
        }
    }

    fn lists(&mut self, first: &'j Json, second: Option<&'j Json>, depth: usize) -> Lists {
        let first = self.array(first, depth + 1);
        match second {
            None => Lists::Counts(first),
            Some(second) => Lists::Bounds { starts: first, stops: self.array(second, depth + 1) },
        }
    }

    fn encoding(&self, json: &'j Json) -> Found<Encoding> {
        match self.json(json)? {
            Json::Null => Ok(Encoding::Bytes),
            Json::Str(name) => match name.to_ascii_lowercase().replace('_', "-").as_str() {
                "utf-8" | "utf8" => Ok(Encoding::Utf8),
                "ascii" | "us-ascii" => Ok(Encoding::Ascii),
                "latin-1" | "latin1" | "iso-8859-1" => Ok(Encoding::Latin1),
                _ => unsupported(format!("the encoding {name:?} is not known")),
            },
            _ => wrong("its encoding is no text"),
        }
    }

    fn columns(&mut self, json: &'j Json, depth: usize) -> Found<Vec<(Box<str>, Edge)>> {
        let pairs = self.list(json, "pairs")?;
        let mut columns = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let Some([Json::Str(name), column]) = pair.as_list() else {
                return wrong("a column is no pair of name and array");
            };
            if columns.iter().any(|(own, _)| own == name) && pairs.len() < 1000 {
                self.warnings.push(format!("two columns are called {name:?}: values have the last one"));
            }
            columns.push((name.clone(), self.array(column, depth + 1)));
        }
        Ok(columns)
    }

    fn rows(&mut self, json: &'j Json, depth: usize) -> Found<Rows> {
        let view = self.value(json)?;
        let Some(items) = view.get("tuple") else { return Ok(Rows::Numbers(self.array(json, depth + 1))) };
        let Some([start, step, length]) = items.as_list() else {
            return wrong("its view is no tuple of start, step and length");
        };
        let (start, step) = (self.int(start, "start")?, self.int(step, "step")?);
        Ok(Rows::Steps { start, step, length: self.len(length, "length")? })
    }
}

/// The key that tells what an expression is, and its value.
fn identified(json: &Json) -> Found<(&'static str, &Json)> {
    if json.as_map().is_none() {
        return wrong("an expression is no JSON object");
    }
    let mut found = KEYS.into_iter().filter_map(|key| json.get(key).map(|value| (key, value)));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some((one, _)), Some((two, _))) => {
            wrong(format!("an expression has two meanings, {one:?} and {two:?}"))
        }
        (None, _) => wrong("an expression has none of the keys that are known"),
    }
}

fn id_of(json: &Json) -> Option<i64> {
    json.get("id").and_then(Json::as_int)
}

/// What is called, for messages.
fn what_of(json: &Json) -> &str {
    let key = identified(json).map_or("expression", |(key, _)| key);
    match json.get("call").and_then(Json::as_list) {
        Some(names) => names.last().and_then(Json::as_str).unwrap_or(key),
        None => key,
    }
}

impl Kind {
    fn each_edge(&mut self, each: &mut dyn FnMut(&mut Edge)) {
        let lists = |lists: &mut Lists, each: &mut dyn FnMut(&mut Edge)| match lists {
            Lists::Counts(edge) | Lists::Offsets(edge) => each(edge),
            Lists::Bounds { starts, stops } => {
                each(starts);
                each(stops);
            }
        };
        match self {
            Kind::Flat(_) | Kind::Refused { .. } => {}
            Kind::Jagged { lists: own, content } | Kind::Strings { lists: own, content, .. } => {
                lists(own, each);
                each(content);
            }
            Kind::Table { columns } | Kind::Record { columns, .. } => {
                columns.iter_mut().for_each(|(_, edge)| each(edge))
            }
            Kind::View { rows, table } => {
                if let Rows::Numbers(rows) = rows {
                    each(rows);
                }
                each(table);
            }
            Kind::Masked { mask, content, .. }
            | Kind::BitMasked { mask, content, .. }
            | Kind::IndexedMasked { mask, content, .. } => {
                each(mask);
                each(content);
            }
            Kind::Union { tags, index, contents } => {
                each(tags);
                index.iter_mut().for_each(&mut *each);
                contents.iter_mut().for_each(each);
            }
            Kind::Chunked { chunks, .. } => chunks.iter_mut().for_each(|(edge, _)| each(edge)),
            Kind::Indexed { index, content } | Kind::Sparse { index, content, .. } => {
                each(index);
                each(content);
            }
            Kind::Object { content, .. } => each(content),
        }
    }
}
