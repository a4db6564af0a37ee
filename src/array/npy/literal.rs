//! Parses the Python literals that occur in .npy headers: strings, integers, booleans, None, tuples, lists and dicts.
//! Nothing is evaluated. Errors say what was found and at which byte.

/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Str(String),
    Int(i128),
    Bool(bool),
    None,
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

/// Parses `text`, which must be a single literal.
pub fn parse(text: &str) -> Result<Literal, String> {
    let mut parser = Parser { text, at: 0 };
    let found = parser.value(0)?;
    parser.skip_space();
    if parser.at < text.len() { Err(parser.unexpected()) } else { Ok(found) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Skips whitespace, and `wanted` if it comes next; true if it does.
    fn take(&mut self, wanted: &str) -> bool {
        self.skip_space();
        let is_there = self.rest().starts_with(wanted);
        self.at += if is_there { wanted.len() } else { 0 };
        is_there
    }

    fn unexpected(&self) -> String {
        match self.rest().chars().next() {
            Some(found) => format!("{found:?} at its byte {} was not expected", self.at),
            None => "it ends early".into(),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Literal, String> {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        self.skip_space();
        let words = [("True", Literal::Bool(true)), ("False", Literal::Bool(false)), ("None", Literal::None)];
        for (word, value) in words {
            if self.take(word) {
                return Ok(value);
            }
        }
        match self.rest().chars().next() {
            Some('\'' | '"') => self.text().map(Literal::Str),
            // Python 2 wrote such prefixes.
            Some('u' | 'b') if self.rest().get(1..2).is_some_and(|next| next == "'" || next == "\"") => {
                self.at += 1;
                self.text().map(Literal::Str)
            }
            Some('-' | '0'..='9') => self.number(),
            Some('(') => self.tuple(depth),
            Some('[') => Ok(Literal::List(self.items("[", "]", depth)?.0)),
            Some('{') => self.dict(depth),
            _ => Err(self.unexpected()),
        }
    }

    fn number(&mut self) -> Result<Literal, String> {
        let rest = self.rest();
        let digits = rest.trim_start_matches('-').trim_start_matches(|c: char| c.is_ascii_digit());
        let (number, _) = rest.split_at(rest.len() - digits.len());
        let value = number.parse().map_err(|_| self.unexpected())?;
        self.at += number.len();
        // Python 2's suffix of long integers.
        self.at += usize::from(self.rest().starts_with('L'));
        Ok(Literal::Int(value))
    }

    fn text(&mut self) -> Result<String, String> {
        let mut chars = self.rest().char_indices();
        let quote = chars.next().map(|(_, quote)| quote);
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                _ if Some(c) == quote => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some(same @ ('\\' | '\'' | '"')) => text.push(same),
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some(kind @ ('x' | 'u' | 'U')) => {
                        let count = if kind == 'x' {
                            2
                        } else if kind == 'u' {
                            4
                        } else {
                            8
                        };
                        let digits: String = chars.by_ref().take(count).map(|(_, c)| c).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == count);
                        let found = code.and_then(char::from_u32);
                        text.push(found.ok_or_else(|| format!("\\{kind}{digits} is not a character"))?);
                    }
                    _ => return Err("it has an escape that is not known".into()),
                },
                c => text.push(c),
            }
        }
        Err("it ends early".into())
    }

    /// The values between brackets, and whether a comma follows the last (true for none).
    fn items(&mut self, open: &str, close: &str, depth: usize) -> Result<(Vec<Literal>, bool), String> {
        let (mut items, mut has_comma) = (Vec::new(), true);
        if !self.take(open) {
            return Err(self.unexpected());
        }
        while !self.take(close) {
            if !has_comma {
                return Err(self.unexpected());
            }
            items.push(self.value(depth + 1)?);
            has_comma = self.take(",");
        }
        Ok((items, has_comma))
    }

    fn tuple(&mut self, depth: usize) -> Result<Literal, String> {
        let (mut items, has_comma) = self.items("(", ")", depth)?;
        match items.len() {
            1 if !has_comma => items.pop().ok_or_else(|| self.unexpected()),
            _ => Ok(Literal::Tuple(items)),
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Literal, String> {
        let (mut pairs, mut has_comma) = (Vec::new(), true);
        self.take("{");
        while !self.take("}") {
            if !has_comma {
                return Err(self.unexpected());
            }
            let key = self.value(depth + 1)?;
            if !self.take(":") {
                return Err(self.unexpected());
            }
            pairs.push((key, self.value(depth + 1)?));
            has_comma = self.take(",");
        }
        Ok(Literal::Dict(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_headers_have() {
        let text = "{'descr': [('a b', '<f4', (2, 3L)), (\"it's\", u'|S1'), ('\\xe9\\u6f22', '<i8')], 'x': (7), 'y': (7,), 'z': (), }";
        let Literal::Dict(pairs) = parse(text).unwrap() else { panic!() };
        let value = |at: usize| &pairs[at].1;
        let Literal::List(fields) = value(0) else { panic!() };
        let Literal::Tuple(first) = &fields[0] else { panic!() };
        assert_eq!(first[2], Literal::Tuple(vec![Literal::Int(2), Literal::Int(3)]));
        let Literal::Tuple(last) = &fields[2] else { panic!() };
        assert_eq!(last[0], Literal::Str("é漢".into()));
        assert_eq!((value(1), value(2)), (&Literal::Int(7), &Literal::Tuple(vec![Literal::Int(7)])));
        assert_eq!(value(3), &Literal::Tuple(vec![]));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "{",
            "(1 2)",
            "'abc",
            "f()",
            "1 2",
            "[1,,2]",
            "{1}",
            "'\\xzz'",
            "'\\",
            "-",
            "9999999999999999999999999999999999999999999",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().contains("64"));
    }
}
