//! Interprets schema expressions with a fixed table of known calls (`calls`): an unknown expression is refused where
//! it stands, and the rest is still read. Nothing is ever called, and the only pickle decoded is that of a float.
//!
//! Two passes, as a reference may precede its target: first every `id` is recorded, then calls become arrays, and
//! scalars are read where one is needed.

mod calls;
mod scalars;

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use super::super::json::Json;
use super::budget::{Budget, Of};
use super::document::Document;
use super::graph::{ArrayKind, Column, Edge, Graph, Ix, Lists, Node, Rows};
use crate::codec::zip::Fault;

/// Maximum nesting of arrays.
pub const MAX_DEPTH: usize = 128;
/// Maximum length of a chain of references.
const MAX_REFS: usize = 64;
/// Maximum number of keys of an expression.
const MAX_KEYS: usize = 64;
/// Characters of a name shown in messages.
const SHOWN: usize = 200;

/// The keys that identify an expression; each has exactly one of them.
const KEYS: [&str; 11] =
    ["call", "read", "list", "tuple", "dict", "pairs", "dtype", "function", "json", "python", "ref"];

/// The graph that a document describes. Lengths and faults are set by [`Graph::settle`].
pub fn graph(document: &Document, budget: &Budget) -> Graph {
    let json = &*document.json;
    let prefix = json.get("prefix").and_then(Json::as_str).unwrap_or("");
    let schema = json.get("schema").unwrap_or(&Json::Null);
    let mut reader = Reader {
        prefix,
        budget,
        is_spent: Cell::new(false),
        parts: Cell::new(0),
        ids: HashMap::new(),
        made: HashMap::new(),
        nodes: Vec::new(),
        warnings: BTreeSet::new(),
    };
    reader.note_ids(schema);
    match reader.array(schema, 0) {
        Ok(root) => {
            reader.resolve();
            let root = reader.resolved(root);
            let Reader { nodes, warnings, .. } = reader;
            Graph { nodes, root, warnings: warnings.into_iter().collect(), circles: Vec::new() }
        }
        Err(fault) => {
            budget.give_back(Of::Parts, reader.parts.get());
            Graph::refused("schema", fault)
        }
    }
}

struct Reader<'j> {
    prefix: &'j str,
    budget: &'j Budget,
    /// The budget is exhausted: nothing more is built, and what was built is not used.
    is_spent: Cell<bool>,
    /// How much was taken from the budget.
    parts: Cell<u64>,
    /// None: a duplicate id.
    ids: HashMap<i64, Option<&'j Json>>,
    made: HashMap<i64, Ix>,
    nodes: Vec<Node>,
    warnings: BTreeSet<String>,
}

/// An edge to a node that is not built yet: the id, counted down from the maximum index.
fn pending(id: i64) -> Edge {
    Edge { to: Ix::MAX - (id.unsigned_abs() as usize).min(Ix::MAX / 2), is_ref: true }
}

type Parsed<T> = Result<T, Fault>;

fn unsupported<T>(problem: impl Into<String>) -> Parsed<T> {
    Err(Fault::unsupported(problem))
}

fn wrong<T>(problem: impl Into<String>) -> Parsed<T> {
    Err(problem.into().into())
}

impl<'j> Reader<'j> {
    /// Records every expression with an id, except inside `json` values. Recursion is bounded by the depth of the
    /// JSON.
    fn note_ids(&mut self, json: &'j Json) {
        match json {
            Json::Map(pairs) => {
                if let Some(id) = id_of(json).filter(|_| pairs.len() <= MAX_KEYS) {
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
            self.warnings.insert(format!("the id {id} is given twice: what refers to it is refused"));
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
        let kind = ArrayKind::Refused { what: what.into() };
        self.add(Node { fault: Some(fault), ..Node::new(id, kind) })
    }

    fn take(&self, of: Of, count: usize) -> Parsed<()> {
        let taken = self.budget.take(of, count as u64);
        self.is_spent.set(self.is_spent.get() || taken.is_err());
        taken
    }

    /// The array of an expression, or a refused node in its place. Fails when the budget is exhausted.
    fn array(&mut self, json: &'j Json, depth: usize) -> Parsed<Edge> {
        self.take(Of::Parts, 1)?;
        self.parts.set(self.parts.get() + 1);
        let id = id_of(json);
        if depth == MAX_DEPTH {
            let problem = format!("arrays are nested deeper than {MAX_DEPTH} levels, which is the limit");
            return Ok(self.refuse(id, "nested", Fault::unsupported(problem)));
        }
        let made = identified(json).and_then(|(key, value)| match key {
            "ref" => self.reference(value).map(Err),
            "call" => self.call(json, value, depth).map(Ok),
            "python" => unsupported("it is a Python pickle, which is not supported: it could run any code"),
            key => wrong(format!("expected an array here, found a {key:?}")),
        });
        match made {
            Err(fault) if self.is_spent.get() => Err(fault),
            Ok(Ok(kind)) => Ok(self.add(Node::new(id, kind))),
            Ok(Err(edge)) => Ok(edge),
            Err(fault) => Ok(self.refuse(id, &what_of(json), fault)),
        }
    }

    fn reference(&mut self, value: &Json) -> Parsed<Edge> {
        let mut id = value.as_int().ok_or("a \"ref\" is not a whole number")?;
        for _ in 0..MAX_REFS {
            match self.ids.get(&id) {
                None => return wrong(format!("it refers to the id {id}, which does not exist")),
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

    /// Once everything is built, makes pending edges lead to nodes.
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
            None => self.refuse(None, "ref", "it refers to what is not an array".into()),
        }
    }

    /// Resolves an edge. A reference that fails becomes a refused node here, as nothing else would show it. The first
    /// `count` nodes already exist.
    fn find(&mut self, edge: Edge, count: usize) -> Edge {
        match self.made.get(&((Ix::MAX - edge.to) as i64)) {
            Some(to) => Edge { to: *to, is_ref: true },
            None => {
                let made = self.refuse(None, "ref", "it refers to what is not an array".into());
                Edge { to: made.to + count, ..made }
            }
        }
    }

    fn arrays(&mut self, items: &'j [Json], depth: usize) -> Parsed<Vec<Edge>> {
        items.iter().map(|item| self.array(item, depth + 1)).collect()
    }

    fn lists(&mut self, first: &'j Json, second: Option<&'j Json>, depth: usize) -> Parsed<Lists> {
        let first = self.array(first, depth + 1)?;
        Ok(match second {
            None => Lists::Counts(first),
            Some(second) => Lists::Bounds { starts: first, stops: self.array(second, depth + 1)? },
        })
    }

    fn columns(&mut self, json: &'j Json, depth: usize) -> Parsed<Vec<Column>> {
        let pairs = self.list(json, "pairs")?;
        let mut last = HashMap::new();
        for (at, pair) in pairs.iter().enumerate() {
            let Some([Json::Str(name), _]) = pair.as_list() else {
                return wrong("a column is not a pair of name and array");
            };
            if last.insert(name, at).is_some() {
                let warning = format!("two columns are called {name:?}: values have the last one");
                self.warnings.insert(warning);
            }
        }
        let mut columns = Vec::with_capacity(pairs.len());
        for (at, pair) in pairs.iter().enumerate() {
            let Some([Json::Str(name), column]) = pair.as_list() else { continue };
            let is_hidden = last.get(name) != Some(&at);
            columns.push(Column { name: name.clone(), edge: self.array(column, depth + 1)?, is_hidden });
        }
        Ok(columns)
    }

    fn rows(&mut self, json: &'j Json, depth: usize) -> Parsed<Rows> {
        let view = self.value(json)?;
        let Some(items) = view.get("tuple") else { return Ok(Rows::Numbers(self.array(json, depth + 1)?)) };
        let Some([start, step, length]) = items.as_list() else {
            return wrong("its view is not a tuple of start, step and length");
        };
        let (start, step) = (self.int(start, "start")?, self.int(step, "step")?);
        Ok(Rows::Steps { start, step, length: self.len(length, "length")? })
    }
}

/// The key that identifies an expression, and its value.
fn identified(json: &Json) -> Parsed<(&'static str, &Json)> {
    let Some(pairs) = json.as_map() else { return wrong("an expression is not a JSON object") };
    if pairs.len() > MAX_KEYS {
        return unsupported(format!("an expression has {} keys, and the limit is {MAX_KEYS}", pairs.len()));
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

/// The name of a call, for messages.
fn what_of(json: &Json) -> String {
    let key = identified(json).map_or("expression", |(key, _)| key);
    let called = json.get("call").and_then(Json::as_list).and_then(|names| names.last()?.as_str());
    shown(called.unwrap_or(key))
}

/// The beginning of a text, for messages.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
