//! The JSON of schemas, parsed strictly: no duplicate keys, no NaN, nothing after the value, and nesting up to
//! [`MAX_DEPTH`]. Numbers keep their digits.

pub mod items;
pub mod lines;

use std::sync::Arc;

use super::read::budget::{Budget, Of};
use crate::codec::zip::Fault;
use crate::yaml::Node;

/// Maximum nesting of lists and objects. One expression takes at most five levels.
const MAX_DEPTH: usize = 640;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// Exactly as written.
    Number(Box<str>),
    Str(Box<str>),
    List(Vec<Json>),
    Map(Vec<(Box<str>, Json)>),
}

/// The error gives the problem and its byte offset, or says that the budget is exhausted.
pub fn parse(text: &str, budget: &Budget) -> Result<Json, Fault> {
    let mut parser = Parser { text, at: 0, budget, values: 0 };
    let value = parser.value(0).and_then(|value| {
        parser.space();
        if parser.at < text.len() { Err(parser.wrong("text follows the value")) } else { Ok(value) }
    });
    value.inspect_err(|_| budget.give_back(Of::Values, parser.values))
}

impl Json {
    /// The value of an object's key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_map()?.iter().find(|(own, _)| **own == *key).map(|(_, value)| value)
    }

    pub fn as_map(&self) -> Option<&[(Box<str>, Json)]> {
        if let Json::Map(pairs) = self { Some(pairs) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Json]> {
        if let Json::List(items) = self { Some(items) } else { None }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Json::Str(text) = self { Some(text) } else { None }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// An integer without fraction or exponent.
    pub fn as_int(&self) -> Option<i64> {
        if let Json::Number(text) = self { text.parse().ok() } else { None }
    }

    /// Approximate memory in bytes.
    pub fn weight(&self) -> usize {
        let own = match self {
            Json::Null | Json::Bool(_) => 0,
            Json::Number(text) | Json::Str(text) => text.len(),
            Json::List(items) => items.iter().map(Json::weight).sum(),
            Json::Map(pairs) => pairs.iter().map(|(key, value)| key.len() + value.weight()).sum(),
        };
        own + size_of::<Json>()
    }

    /// The value as YAML.
    pub fn node(&self) -> Node {
        match self {
            Json::Null => Node::Null,
            Json::Bool(value) => Node::Bool(*value),
            Json::Number(text) => number(text),
            Json::Str(text) => Node::text(text),
            Json::List(items) => Node::seq(items.iter().map(Json::node)),
            Json::Map(pairs) => {
                let pair =
                    |(key, value): &(Box<str>, Json)| (Arc::new(Node::text(key)), Arc::new(value.node()));
                Node::Map(pairs.iter().map(pair).collect())
            }
        }
    }
}

fn number(text: &str) -> Node {
    match text.parse::<i128>() {
        Ok(whole) => Node::int(whole),
        Err(_) => text.parse().map_or_else(|_| Node::text(text), Node::Float),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    budget: &'t Budget,
    /// Values charged to the budget.
    values: u64,
}

impl Parser<'_> {
    fn wrong(&self, problem: &str) -> Fault {
        format!("{problem} (byte {})", self.at).into()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Json, Fault> {
        if depth == MAX_DEPTH {
            let problem = format!("the JSON is nested deeper than {MAX_DEPTH} levels, which is the limit");
            return Err(Fault::unsupported(self.wrong(&problem).problem));
        }
        self.budget.take(Of::Values, 1)?;
        self.values += 1;
        self.space();
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => Err(self.wrong("the JSON ends early")),
        }
    }

    fn word(&mut self) -> Result<Json, Fault> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        let is_nan = ["NaN", "Infinity"].iter().any(|word| self.rest().starts_with(word));
        Err(self.wrong(if is_nan { "NaN and Infinity are not JSON" } else { "no JSON value begins here" }))
    }

    fn number(&mut self) -> Result<Json, Fault> {
        let rest = self.rest();
        let len =
            rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let text = rest.get(..len).unwrap_or_default();
        let digits = text.trim_start_matches('-');
        let has_form = text.len() - digits.len() < 2
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.ends_with(|c: char| c.is_ascii_digit())
            && (!digits.starts_with('0')
                || !digits.get(1..).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit())))
            && !digits.contains(".e")
            && !digits.contains(".E");
        if !has_form || !text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(self.wrong("this is not a JSON number"));
        }
        let number = Json::Number(text.into());
        self.at += len;
        Ok(number)
    }

    fn list(&mut self, depth: usize) -> Result<Json, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Json::List(items));
            }
            if !self.take(b',') {
                return Err(self.wrong("',' or ']' is needed here"));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Json, Fault> {
        self.at += 1;
        let mut pairs: Vec<(Box<str>, Json)> = Vec::new();
        let mut keys = std::collections::HashSet::new();
        if self.take(b'}') {
            return Ok(Json::Map(pairs));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a key is needed here"));
            }
            let key = self.string()?;
            if !keys.insert(key.clone()) {
                return Err(self.wrong(&format!("the key {key:?} comes twice in an object")));
            }
            if !self.take(b':') {
                return Err(self.wrong("':' is needed here"));
            }
            pairs.push((key, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Json::Map(pairs));
            }
            if !self.take(b',') {
                return Err(self.wrong("',' or '}' is needed here"));
            }
        }
    }

    fn string(&mut self) -> Result<Box<str>, Fault> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain =
                rest.find(['"', '\\']).filter(|len| !rest.as_bytes().iter().take(*len).any(|b| *b < 32));
            let Some(len) = plain else {
                return Err(self.wrong("a string does not end, or has a control character"));
            };
            text.push_str(rest.get(..len).unwrap_or_default());
            self.at += len + 1;
            if self.text.as_bytes().get(self.at - 1) == Some(&b'"') {
                return Ok(text.into());
            }
            let escape = self.peek();
            self.at += 1;
            text.push(match escape {
                Some(b'"') => '"',
                Some(b'\\') => '\\',
                Some(b'/') => '/',
                Some(b'b') => '\u{8}',
                Some(b'f') => '\u{c}',
                Some(b'n') => '\n',
                Some(b'r') => '\r',
                Some(b't') => '\t',
                Some(b'u') => self.unicode()?,
                _ => return Err(self.wrong("this escape is not known")),
            });
        }
    }

    /// A UTF-16 unit of four digits, or a surrogate pair.
    fn unicode(&mut self) -> Result<char, Fault> {
        let first = self.unit()?;
        let code = match first {
            0xD800..=0xDBFF if self.rest().starts_with("\\u") => {
                self.at += 2;
                match self.unit()? {
                    second @ 0xDC00..=0xDFFF => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => return Err(self.wrong("half of a character")),
                }
            }
            whole => whole,
        };
        char::from_u32(code).ok_or_else(|| self.wrong("half of a character"))
    }

    fn unit(&mut self) -> Result<u32, Fault> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.wrong("four hexadecimal digits are needed here"))?;
        self.at += 4;
        Ok(unit)
    }
}

/// Writes a JSON string, with quotes.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend([b'\\', c as u8]),
            '\n' => out.extend(b"\\n"),
            '\r' => out.extend(b"\\r"),
            '\t' => out.extend(b"\\t"),
            '\0'..='\x1f' => out.extend(format!("\\u{:04x}", c as u32).into_bytes()),
            c => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Json, Fault> {
        super::parse(text, &Budget::new(0))
    }

    #[test]
    fn values() {
        let json =
            parse(" {\"a\": [1, -2.5e3, true, null, \"x\\u00e9\\ud83d\\ude00\\n\"], \"b\": {}} ").unwrap();
        let list = json.get("a").and_then(Json::as_list).unwrap();
        assert_eq!((list[0].as_int(), list[1].as_int()), (Some(1), None));
        assert_eq!(list[1], Json::Number("-2.5e3".into()));
        assert_eq!(list[4].as_str(), Some("xé😀\n"));
        assert_eq!(json.get("b").and_then(Json::as_map).map(<[_]>::len), Some(0));
        let mut out = Vec::new();
        write_text("a\"\\\u{1}é", &mut out);
        assert_eq!(parse(std::str::from_utf8(&out).unwrap()).unwrap().as_str(), Some("a\"\\\u{1}é"));
    }

    #[test]
    fn refused_json_returns_its_budget() {
        let (budget, most) = (Budget::new(0), 1 << 22);
        super::parse("[1, 2, {\"a\": nul", &budget).unwrap_err();
        budget.take(Of::Values, most - 3).unwrap();
        assert!(super::parse("[1, 2, 3]", &budget).unwrap_err().is_unsupported);
        super::parse("[1, 2]", &budget).unwrap();
        budget.take(Of::Values, 1).unwrap_err();
    }

    #[test]
    fn invalid_json_is_rejected() {
        let message = |text: &str| parse(text).unwrap_err().problem;
        assert!(message("NaN").contains("not JSON"));
        assert!(message("{\"a\":1,\"a\":2}").contains("comes twice"));
        assert!(message("1 2").contains("follows"));
        assert!(message("\"\\ud800\"").contains("half of a character"));
        assert!(message(&"[".repeat(5000)).contains("deeper than 640"));
        for text in [
            "",
            "[1,]",
            "{\"a\"}",
            "{a:1}",
            "01",
            "1.",
            "-",
            "1e",
            ".5",
            "1e999",
            "tru",
            "\"\n\"",
            "\"x",
            "[1 2]",
            "--1",
            "\"\\u12\"",
            "1.e5",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
