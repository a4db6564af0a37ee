//! Reads the headers of the oldest files, a JSON list. The caller tries YAML first, which reads most JSON too.

use std::sync::Arc;

use serde_json::{Deserializer, Number, Value};

use super::{Anchors, Form, Item, Node, Problem, Stop, resolve};

/// As [`super::each_item`] for JSON; no item is portable.
pub fn json_items(
    text: &str,
    each: &mut dyn FnMut(Item, &Anchors<'_>) -> crate::Result<()>,
) -> Result<(), Stop> {
    let none = Anchors::default();
    let mut list = List { text, at: 0, counted: 0, line: 1 };
    if matches!(text.trim_matches(is_space), "" | "null") {
        return Ok(());
    }
    list.token("[").ok_or_else(|| list.problem("is not a list"))?;
    if list.token("]").is_none() {
        loop {
            each(list.item()?, &none)?;
            if list.token(",").is_some() {
                continue;
            }
            list.token("]").ok_or_else(|| list.problem("is not JSON: needs ',' or ']'"))?;
            break;
        }
    }
    list.skip_space();
    if list.rest().is_empty() { Ok(()) } else { Err(list.problem("text follows the list").into()) }
}

struct List<'t> {
    text: &'t str,
    at: usize,
    /// The line of byte `counted`.
    line: u64,
    counted: usize,
}

impl<'t> List<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    fn token(&mut self, token: &str) -> Option<()> {
        self.skip_space();
        self.rest().strip_prefix(token)?;
        self.at += token.len();
        Some(())
    }

    fn item(&mut self) -> Result<Item, Problem> {
        self.skip_space();
        let start = self.at;
        let mut values = Deserializer::from_str(self.item_text()).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => return Err(self.failed(&error)),
            None => return Err(self.problem("is not JSON: ends within the list")),
        };
        self.at += values.byte_offset();
        self.line +=
            self.text.get(self.counted..start).map_or(0, |passed| passed.matches('\n').count() as u64);
        self.counted = start;
        Ok(Item {
            node: Arc::new(node(value)),
            span: start..self.at,
            form: Form::Json,
            portable: false,
            line: self.line,
        })
    }

    /// The text from the item on. Values that do not delimit themselves (numbers, `null`) are cut off before the comma.
    fn item_text(&self) -> &'t str {
        let rest = self.rest();
        if rest.starts_with(['{', '[', '"']) {
            return rest;
        }
        let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn failed(&self, error: &serde_json::Error) -> Problem {
        let lines = self.rest().split_inclusive('\n').take(error.line().saturating_sub(1));
        let offset = self.at + lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or(&what);
        Problem::new(offset.min(self.text.len()), format!("is not JSON: {what}"))
    }

    fn problem(&self, what: &str) -> Problem {
        Problem::new(self.at, what)
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{FEFF}')
}

fn node(value: Value) -> Node {
    match value {
        Value::Null => Node::Null,
        Value::Bool(value) => Node::Bool(value),
        Value::Number(number) => self::number(&number),
        Value::String(text) => Node::Str(text.into()),
        Value::Array(items) => Node::Seq(items.into_iter().map(|item| Arc::new(node(item))).collect()),
        Value::Object(pairs) => {
            let pair =
                |(key, value): (String, Value)| (Arc::new(Node::Str(key.into())), Arc::new(node(value)));
            Node::Map(pairs.into_iter().map(pair).collect())
        }
    }
}

/// Integers keep all their digits.
fn number(number: &Number) -> Node {
    let text = number.as_str();
    if text.contains(['.', 'e', 'E']) {
        return text.parse().map_or_else(|_| Node::text(text), Node::Float);
    }
    resolve::tagged("int", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Item>, Stop> {
        let mut items = Vec::new();
        json_items(text, &mut |item, _| {
            items.push(item);
            Ok(())
        })?;
        Ok(items)
    }

    fn offset(text: &str) -> u64 {
        match read(text) {
            Err(Stop::Problem(problem)) => problem.offset,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn items() {
        let text =
            "\n [ {\"a\": 123456789012345678901234567890, \"b\\/\": 1e400, \"a\": -0},\n null , 7, \"x\"] ";
        let items = read(text).unwrap();
        assert_eq!(items.len(), 4);
        assert_eq!(items[0].node.get("a"), Some(&Node::int(0)));
        assert_eq!(items[0].node.get("b/"), Some(&Node::Float(f64::INFINITY)));
        assert_eq!(&text[items[3].span.clone()], "\"x\"");
        assert_eq!(items[3].line, 3);
        assert!(
            read("").unwrap().is_empty()
                && read("null").unwrap().is_empty()
                && read("[\n]\n").unwrap().is_empty()
        );
    }

    #[test]
    fn problems() {
        assert_eq!(offset("{}"), 0);
        assert_eq!(offset("[{},\n{\"a\": x}]"), 11);
        assert_eq!(offset("[1,]"), 3);
        assert_eq!(offset("[1 2]"), 3);
        assert_eq!(offset("[1] x"), 4);
        assert_eq!(offset("[1"), 2);
        assert!(offset(&"[".repeat(1_000_000)) < 1000);
    }
}
