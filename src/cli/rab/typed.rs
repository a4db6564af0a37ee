//! Describes to the user how a typed value was interpreted.

use crate::Value;

pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) | Value::BigInt(_) => "integer",
        Value::Float(_) => "float",
        Value::Timestamp(_) => "date",
        Value::Str(_) => "text",
        Value::Bytes(_) => "binary data",
        Value::Seq(_) => "list",
        Value::Set(_) => "set",
        Value::Map(_) => "mapping",
    }
}

/// A value's type and the value; if it does not look as typed, also why.
pub fn stored(value: &Value, typed: &str) -> String {
    let kind = kind(value);
    let shown = match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::BigInt(digits) => digits.clone(),
        Value::Float(value) => format!("{value:?}"),
        Value::Timestamp(time) => time.clone(),
        Value::Str(text) => return format!("{kind} {:?}", String::from_utf8_lossy(text.as_bytes())),
        Value::Bytes(bytes) => return format!("{} bytes of {kind}", bytes.len()),
        Value::Seq(items) => return format!("{kind}, length {}", items.len()),
        Value::Set(items) => return format!("{kind}, length {}", items.len()),
        Value::Map(pairs) => return format!("{kind}, length {}", pairs.len()),
    };
    let separator = if shown.is_empty() { "" } else { " " };
    let typed = typed.trim();
    match typed {
        _ if typed == shown && value != &Value::Null => format!("{kind} {shown}"),
        "" => format!("{kind} (the value is empty; --key-str keeps an empty text)"),
        _ => format!(
            "{kind}{separator}{shown} (the meaning of {} in YAML 1.1; --key-str keeps the text)",
            typed.escape_debug()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn what_yaml_makes_of_texts() {
        for (typed, want) in [
            ("12:30:00", "integer 45000 (the meaning of 12:30:00 in YAML 1.1; --key-str keeps the text)"),
            ("yes", "boolean true (the meaning of yes in YAML 1.1; --key-str keeps the text)"),
            ("~", "null (the meaning of ~ in YAML 1.1; --key-str keeps the text)"),
            ("", "null (the value is empty; --key-str keeps an empty text)"),
            ("true", "boolean true"),
            ("7", "integer 7"),
            ("0.5", "float 0.5"),
            ("2020-01-02", "date 2020-01-02"),
            ("mV", "text \"mV\""),
            ("[1, a]", "list, length 2"),
            ("{}", "mapping, length 0"),
        ] {
            let value = Value::from(&*yaml::value_to_write(typed).unwrap());
            assert_eq!(stored(&value, typed), want);
        }
    }
}
