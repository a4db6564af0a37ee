//! Converts nodes to JSON, for programs such as `jq`. Values without a JSON form become strings: dates as written,
//! bytes in base64, and the floats `nan`, `inf` and `-inf`. Keys that are not strings become their YAML text.

use serde_json::{Map, Number, Value};

use super::{Node, emit};

pub fn to_json(node: &Node) -> Value {
    match node {
        Node::Null => Value::Null,
        Node::Bool(value) => Value::Bool(*value),
        Node::Int(digits) => digits.parse::<Number>().map_or_else(|_| text(digits), Value::Number),
        Node::Float(value) => Number::from_f64(*value).map_or_else(|| text(special(*value)), Value::Number),
        Node::Str(value) => text(&value.lossy()),
        Node::Timestamp(time) => text(time),
        Node::Binary(bytes) => text(&emit::base64_of(bytes)),
        Node::Set(items) | Node::Seq(items) => Value::Array(items.iter().map(|item| to_json(item)).collect()),
        Node::Map(pairs) => {
            Value::Object(pairs.iter().map(|(k, v)| (key(k), to_json(v))).collect::<Map<_, _>>())
        }
    }
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The name of a float that JSON cannot represent.
pub fn special(value: f64) -> &'static str {
    match value {
        _ if value.is_nan() => "nan",
        _ if value > 0.0 => "inf",
        _ => "-inf",
    }
}

fn key(node: &Node) -> String {
    match node {
        Node::Str(text) => text.lossy().into_owned(),
        // In Python's spelling, so that they do not collide with keys such as "true" or "null".
        Node::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Node::Null => "None".to_owned(),
        other => {
            let mut written = String::new();
            emit::write(other, 0, &mut written);
            written.trim_end().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_lacks_becomes_text() {
        let node = Node::map([
            ("big", Node::int(1i128 << 70)),
            ("nan", Node::Float(f64::NAN)),
            ("low", Node::Float(f64::NEG_INFINITY)),
            ("whole", Node::Float(1.0)),
            ("day", Node::Timestamp("2020-01-02".into())),
            ("bytes", Node::Binary([0, 255, 16].into())),
            ("list", Node::seq([Node::Null, Node::Bool(true)])),
        ]);
        let want = r#"{"big":1180591620717411303424,"nan":"nan","low":"-inf","whole":1.0,"day":"2020-01-02","bytes":"AP8Q","list":[null,true]}"#;
        assert_eq!(to_json(&node).to_string(), want);
        let odd =
            Node::Map(vec![(Node::int(5).into(), Node::Null.into()), (Node::Null.into(), Node::Null.into())]);
        assert_eq!(to_json(&odd).to_string(), r#"{"5":null,"None":null}"#);
    }
}
