//! Values that users of the library write: metadata and objects. A [`Value`] can hold anything that its variants allow;
//! [`Value::node`] accepts only what the format's readers read back unchanged.

use std::sync::Arc;

use super::compose::keys;
use super::{Node, Text, resolve};

/// Maximum nesting depth that is written; PyYAML fails somewhat below 500.
const MAX_DEPTH: usize = 200;
/// Python refuses to read integers with more digits.
const MAX_DIGITS: usize = 4300;

/// A YAML value.
///
/// # Examples
/// ```
/// use rab::Value;
///
/// let value = Value::map([("unit", Value::from("mV")), ("gains", vec![1.into(), 2.5.into()].into())]);
/// assert!(matches!(value, Value::Map(pairs) if pairs.len() == 2));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i128),
    /// The decimal digits of an integer that [`Value::Int`] cannot hold, with a minus sign if negative.
    BigInt(String),
    Float(f64),
    Str(Text),
    /// `2020-01-02`, or `2020-01-02 03:04:05.678900+01:00` (fraction and zone are optional).
    Timestamp(String),
    Bytes(Vec<u8>),
    Seq(Vec<Value>),
    Set(Vec<Value>),
    /// Keys are scalars without duplicates, as in Python: `1`, `1.0` and `true` are the same key.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// A mapping with text keys.
    pub fn map<K: Into<Text>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::Map(pairs.into_iter().map(|(key, value)| (Value::Str(key.into()), value)).collect())
    }

    /// Converts to a node; the error names a value that readers would not read back unchanged.
    pub(crate) fn node(&self) -> Result<Node, String> {
        self.node_at(0)
    }

    fn node_at(&self, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err(format!("lists and mappings are nested more than {MAX_DEPTH} deep"));
        }
        let inner = |value: &Value| value.node_at(depth + 1).map(Arc::new);
        Ok(match self {
            Value::Null => Node::Null,
            Value::Bool(value) => Node::Bool(*value),
            Value::Int(value) => Node::Int(value.to_string().into()),
            Value::BigInt(digits) => big(digits)?,
            Value::Float(value) => Node::Float(*value),
            Value::Str(text) => Node::Str(text.clone()),
            Value::Timestamp(time) => timestamp(time)?,
            Value::Bytes(bytes) => Node::Binary(bytes.as_slice().into()),
            Value::Seq(items) => Node::Seq(items.iter().map(inner).collect::<Result<_, _>>()?),
            Value::Set(items) => {
                let none = Arc::new(Node::Null);
                let pairs = items.iter().map(|item| Ok((inner(item)?, none.clone())));
                let pairs = checked(pairs.collect::<Result<_, String>>()?)?;
                Node::Set(pairs.into_iter().map(|(key, _)| key).collect())
            }
            Value::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| Ok((inner(key)?, inner(value)?)));
                Node::Map(checked(pairs.collect::<Result<_, String>>()?)?)
            }
        })
    }
}

fn big(digits: &str) -> Result<Node, String> {
    let bare = digits.strip_prefix('-').unwrap_or(digits);
    let is_number = digits == "0" || !bare.starts_with('0') && !bare.is_empty();
    if !is_number || !bare.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{digits:?} are not the digits of a number"));
    }
    if bare.len() > MAX_DIGITS {
        return Err(format!("a number has {} digits, and Python reads at most {MAX_DIGITS}", bare.len()));
    }
    Ok(Node::Int(digits.into()))
}

fn timestamp(time: &str) -> Result<Node, String> {
    let canonical = resolve::timestamp(time).ok_or_else(|| format!("{time:?} is not a date or time"))?;
    Ok(Node::Timestamp(canonical))
}

type Pairs = Vec<(Arc<Node>, Arc<Node>)>;

fn checked(pairs: Pairs) -> Result<Pairs, String> {
    if pairs.iter().any(|(key, _)| keys::is_collection(key)) {
        return Err("a key is itself a list or a mapping, which PyYAML cannot read".into());
    }
    let count = pairs.len();
    let kept = keys::unique(pairs);
    if kept.len() < count { Err("a mapping has the same key twice".into()) } else { Ok(kept) }
}

impl From<&Node> for Value {
    fn from(node: &Node) -> Value {
        let all = |nodes: &[Arc<Node>]| nodes.iter().map(|node| Value::from(&**node)).collect();
        match node {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(digits) => {
                digits.parse().map_or_else(|_| Value::BigInt(digits.to_string()), Value::Int)
            }
            Node::Float(value) => Value::Float(*value),
            Node::Str(text) => Value::Str(text.clone()),
            Node::Timestamp(time) => Value::Timestamp(time.to_string()),
            Node::Binary(bytes) => Value::Bytes(bytes.to_vec()),
            Node::Set(items) => Value::Set(all(items)),
            Node::Seq(items) => Value::Seq(all(items)),
            Node::Map(pairs) => {
                Value::Map(pairs.iter().map(|(key, value)| ((&**key).into(), (&**value).into())).collect())
            }
        }
    }
}

/// Implements `From` for the contents of variants.
macro_rules! from {
    ($($from:ty => |$value:ident| $into:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($value: $from) -> Value {
                $into
            }
        })*
    };
}

from! {
    bool => |value| Value::Bool(value);
    i32 => |value| Value::Int(value.into());
    i64 => |value| Value::Int(value.into());
    u32 => |value| Value::Int(value.into());
    u64 => |value| Value::Int(value.into());
    usize => |value| Value::Int(value as i128);
    i128 => |value| Value::Int(value);
    f64 => |value| Value::Float(value);
    &str => |value| Value::Str(value.into());
    String => |value| Value::Str(value.into());
    Text => |value| Value::Str(value);
    Vec<Value> => |value| Value::Seq(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_reader_would_get_back_is_refused() {
        let message = |value: Value| value.node().unwrap_err();
        let twice = Value::Map(vec![(1.into(), Value::Null), (true.into(), Value::Null)]);
        assert!(message(twice).contains("twice"));
        assert!(message(Value::Set(vec!["a".into(), "a".into()])).contains("twice"));
        let collection = Value::Map(vec![(vec![].into(), Value::Null)]);
        assert!(message(vec![collection].into()).contains("itself a list"));
        assert!(message(Value::Timestamp("2020-13-01".into())).contains("not a date"));
        for digits in ["", "-", "-0", "007", "1e3", "x", "1\n2"] {
            assert!(message(Value::BigInt(digits.into())).contains("not the digits"), "{digits}");
        }
        assert!(message(Value::BigInt("9".repeat(4301))).contains("4301 digits"));
        let deep = (0..201).fold(Value::Null, |inner, _| vec![inner].into());
        assert!(message(deep).contains("nested"));
    }

    #[test]
    fn nodes_and_values() {
        let big = format!("-{}", "9".repeat(40));
        let value = Value::Map(vec![
            (Value::Null, Value::BigInt(big)),
            (5.into(), Value::Set(vec![1.5.into(), "x".into()])),
            ("t".into(), Value::Timestamp("2020-01-02 03:04:05+01:00".into())),
            (true.into(), vec![Value::Bytes(vec![0, 255]), i128::MIN.into()].into()),
        ]);
        assert_eq!(Value::from(&value.node().unwrap()), value);
    }
}
