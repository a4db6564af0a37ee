//! Integers and floats as PyYAML reads them: binary, octal, hexadecimal, underscores, base 60.

use super::super::Node;

/// Numbers with more digits are not converted to decimal, which takes quadratic time.
const MAX_CONVERTED: usize = 600;

/// A plain scalar that PyYAML resolves as a float.
pub fn implicit_float(value: &str) -> Option<Node> {
    is_float(value).then(|| float(value)).flatten().map(Node::Float)
}

/// A plain scalar that PyYAML resolves as an integer.
pub fn implicit_int(value: &str) -> Option<Node> {
    is_int(value).then(|| int(value)).flatten()
}

/// True for decimal numbers that every schema of every YAML version reads alike.
pub fn is_plain_number(value: &str) -> bool {
    let body = value.strip_prefix('-').unwrap_or(value);
    if body == ".inf" || value == ".nan" {
        return true;
    }
    let whole = span(body, |b| b.is_ascii_digit());
    let (digits, rest) = body.split_at(whole);
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return false;
    }
    let Some(rest) = rest.strip_prefix('.') else { return rest.is_empty() && value != "-0" };
    let (fraction, exponent) = rest.split_at(span(rest, |b| b.is_ascii_digit()));
    !fraction.is_empty() && is_exponent(exponent)
}

fn is_float(value: &str) -> bool {
    let body = unsigned(value);
    if matches!(body, ".inf" | ".Inf" | ".INF") || matches!(value, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let Some((whole, rest)) = body.split_once('.') else { return false };
    let fraction = span(rest, is_digit_or_underscore);
    let (fraction, exponent) = rest.split_at(fraction);
    if whole.is_empty() {
        return body.len() == value.len()
            && fraction.starts_with(|c: char| c.is_ascii_digit())
            && is_exponent(exponent);
    }
    match whole.split_once(':') {
        None => starts_digits(whole) && is_exponent(exponent),
        Some((first, parts)) => starts_digits(first) && parts.split(':').all(is_sixty) && exponent.is_empty(),
    }
}

fn is_int(value: &str) -> bool {
    let body = unsigned(value);
    let all = |digits: &str, allowed: fn(u8) -> bool| !digits.is_empty() && digits.bytes().all(allowed);
    if let Some(digits) = body.strip_prefix("0b") {
        all(digits, |b| matches!(b, b'0' | b'1' | b'_'))
    } else if let Some(digits) = body.strip_prefix("0x") {
        all(digits, |b| b.is_ascii_hexdigit() || b == b'_')
    } else if let Some(digits) = body.strip_prefix('0') {
        digits.bytes().all(|b| matches!(b, b'0'..=b'7' | b'_'))
    } else {
        let mut parts = body.split(':');
        parts.next().is_some_and(starts_digits) && parts.all(is_sixty)
    }
}

/// As PyYAML's `construct_yaml_int`.
pub fn int(value: &str) -> Option<Node> {
    let value = value.replace('_', "");
    let body = unsigned(&value);
    let digits = if let Some(digits) = body.strip_prefix("0b") {
        from_base(digits, 1)?
    } else if let Some(digits) = body.strip_prefix("0x") {
        from_base(digits, 4)?
    } else if let Some(digits) = body.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        from_base(digits.strip_prefix('o').unwrap_or(digits), 3)?
    } else if body.contains(':') {
        base_sixty(body)?
    } else {
        Some(body).filter(|body| !body.is_empty() && body.bytes().all(|b| b.is_ascii_digit()))?.to_string()
    };
    let negative = value.starts_with('-') && digits != "0";
    Some(Node::Int(if negative { format!("-{digits}") } else { digits }.into()))
}

/// As PyYAML's `construct_yaml_float`.
pub fn float(value: &str) -> Option<f64> {
    let value = value.replace('_', "").to_ascii_lowercase();
    let sign = if value.starts_with('-') { -1.0 } else { 1.0 };
    let body = unsigned(&value);
    match body {
        ".inf" => Some(sign * f64::INFINITY),
        ".nan" => Some(f64::NAN),
        _ if body.starts_with(['-', '+']) => None,
        _ => Some(sign * float_sixty(body)?),
    }
}

/// Adds the smallest part first, to round as Python does.
fn float_sixty(body: &str) -> Option<f64> {
    let (mut sum, mut base) = (0.0, 1.0);
    for part in body.rsplit(':') {
        sum += part.parse::<f64>().ok()? * base;
        base *= 60.0;
    }
    Some(sum)
}

/// Converts digits of `bits` bits each to decimal, or to `0x..` if there are more than [`MAX_CONVERTED`].
fn from_base(digits: &str, bits: u32) -> Option<String> {
    let values: Vec<u32> = digits.chars().map(|c| c.to_digit(1 << bits)).collect::<Option<_>>()?;
    if values.is_empty() {
        return None;
    }
    let first = values.iter().position(|value| *value != 0).unwrap_or(values.len() - 1);
    let values = values.get(first..).unwrap_or_default();
    if values.len() <= MAX_CONVERTED {
        return Some(decimal(1 << bits, values.iter().copied()));
    }
    Some(hexadecimal(values, bits))
}

fn hexadecimal(values: &[u32], bits: u32) -> String {
    let mut nibbles = Vec::new();
    let (mut pending, mut count) = (0u32, 0);
    for value in values.iter().rev() {
        pending |= value << count;
        count += bits;
        while count >= 4 {
            nibbles.push(pending & 15);
            pending >>= 4;
            count -= 4;
        }
    }
    nibbles.push(pending);
    let digits: String = nibbles.iter().rev().filter_map(|nibble| char::from_digit(*nibble, 16)).collect();
    format!("0x{}", digits.trim_start_matches('0'))
}

fn base_sixty(body: &str) -> Option<String> {
    if body.len() > MAX_CONVERTED {
        return None;
    }
    let parts: Vec<u32> = body.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    Some(decimal(60, parts.into_iter()))
}

/// Schoolbook conversion, nine decimal digits at a time.
fn decimal(base: u32, values: impl Iterator<Item = u32>) -> String {
    const LIMB: u64 = 1_000_000_000;
    let mut limbs: Vec<u64> = vec![0];
    for value in values {
        let mut carry = u64::from(value);
        for limb in &mut limbs {
            let sum = *limb * u64::from(base) + carry;
            *limb = sum % LIMB;
            carry = sum / LIMB;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let digits: String = limbs.iter().rev().map(|limb| format!("{limb:09}")).collect();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { "0".to_string() } else { digits.to_string() }
}

fn unsigned(value: &str) -> &str {
    value.strip_prefix(['-', '+']).unwrap_or(value)
}

fn span(text: &str, allowed: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| allowed(*b)).count()
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// `[0-9][0-9_]*`
fn starts_digits(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(is_digit_or_underscore)
}

/// `[0-5]?[0-9]`
fn is_sixty(part: &str) -> bool {
    match part.as_bytes() {
        [ones] => ones.is_ascii_digit(),
        [tens, ones] => matches!(tens, b'0'..=b'5') && ones.is_ascii_digit(),
        _ => false,
    }
}

/// Empty, or `[eE][-+][0-9]+`.
fn is_exponent(text: &str) -> bool {
    match text.as_bytes() {
        [] => true,
        [b'e' | b'E', b'-' | b'+', digits @ ..] => {
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}
