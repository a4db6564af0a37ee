//! Formats elements as numpy prints them: all with the same width, and with as many digits as needed.

use crate::array::text::simplest;
use crate::{Scalar, Width};

/// Maximum number of digits after the point.
const DIGITS: usize = 8;

/// Every element, padded to the width of the widest.
pub fn aligned(cells: &[Scalar]) -> Vec<String> {
    let part = |of: fn((f64, f64)) -> f64| cells.iter().map(|cell| of(cell.parts())).collect::<Vec<_>>();
    match cells.first() {
        Some(Scalar::Float(_, width)) => floats(&part(|parts| parts.0), *width, false),
        Some(Scalar::Complex(_, _, width)) => {
            let real = floats(&part(|parts| parts.0), *width, false);
            let imaginary = floats(&part(|parts| parts.1), *width, true);
            let pair = |(real, imaginary): (String, String)| {
                let digits = imaginary.trim_end();
                let spaces = " ".repeat(imaginary.len() - digits.len());
                format!("{real}{digits}j{spaces}")
            };
            real.into_iter().zip(imaginary).map(pair).collect()
        }
        // numpy always leaves room for "False".
        Some(Scalar::Bool(_)) => cells.iter().map(|cell| format!("{:>5}", alone(*cell))).collect(),
        _ => right_aligned(cells.iter().map(|cell| alone(*cell)).collect()),
    }
}

/// A single element, without padding.
pub fn alone(cell: Scalar) -> String {
    match cell {
        Scalar::Bool(value) => if value { "True" } else { "False" }.into(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Big(value) => value.to_string(),
        Scalar::Float(value, width) => single(value, width, ".0"),
        Scalar::Complex(real, imaginary, width) => {
            let sign = if imaginary.is_sign_negative() && !imaginary.is_nan() { "" } else { "+" };
            let (real_text, imaginary) = (single(real, width, ""), single(imaginary, width, ""));
            match real == 0.0 && real.is_sign_positive() {
                true => format!("{imaginary}j"),
                false => format!("({real_text}{sign}{imaginary}j)"),
            }
        }
    }
}

fn single(value: f64, width: Width, whole: &str) -> String {
    if !value.is_finite() {
        return special(value, false);
    }
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        let text = shortest(value, width);
        return if text.contains('.') { text } else { text + whole };
    }
    let text = format!("{:e}", simplest(value, width));
    let digits = fraction(&text).len();
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = split_exponent(&text);
    format!("{mantissa}e{exponent:+03}")
}

fn floats(values: &[f64], width: Width, signed: bool) -> Vec<String> {
    let sizes: Vec<f64> = values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v != 0.0).collect();
    let (least, most) = sizes.iter().fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(*v), b.max(*v)));
    let scientific = !sizes.is_empty() && (most >= 1e8 || least < 1e-4 || most / least > 1000.0);
    let write = if scientific { scientific_text } else { positional };
    let texts: Vec<_> = values.iter().map(|v| v.is_finite().then(|| write(*v, width))).collect();
    let longest = |len: fn(&str) -> usize| texts.iter().flatten().map(|text| len(text)).max().unwrap_or(0);
    let fractions = longest(|text| fraction(text).len());
    let exponents = longest(|text| split_exponent(text).1.abs().to_string().len()).max(2);
    let finish = |(value, text): (&f64, &Option<String>)| {
        let sign = if signed && !value.is_sign_negative() { "+" } else { "" };
        match text {
            None => special(*value, signed),
            Some(_) if scientific => sign.to_owned() + &filled(*value, fractions, exponents),
            Some(text) => format!("{sign}{text}{}", " ".repeat(fractions - fraction(text).len())),
        }
    };
    right_aligned(values.iter().zip(&texts).map(finish).collect())
}

fn special(value: f64, signed: bool) -> String {
    let text = match value {
        _ if value.is_nan() => "nan",
        _ if value > 0.0 => "inf",
        _ => "-inf",
    };
    if signed && !text.starts_with('-') { format!("+{text}") } else { text.into() }
}

/// Pads all texts to the width of the widest.
pub fn right_aligned(texts: Vec<String>) -> Vec<String> {
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.into_iter().map(|text| format!("{text:>width$}")).collect()
}

/// Positional notation: always with a point, never with trailing zeros: `12.`, `0.5`.
fn positional(value: f64, width: Width) -> String {
    let text = shortest(value, width);
    let text = if fraction(&text).len() > DIGITS { format!("{value:.DIGITS$}") } else { text };
    if text.contains('.') { text.trim_end_matches('0').to_owned() } else { text + "." }
}

/// Scientific notation with as many digits as needed: `1.5e10`.
fn scientific_text(value: f64, width: Width) -> String {
    let text = format!("{:e}", simplest(value, width));
    if fraction(&text).len() <= DIGITS {
        return text;
    }
    let text = format!("{value:.DIGITS$e}");
    let (mantissa, exponent) = split_exponent(&text);
    format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
}

/// Scientific notation with fixed numbers of digits after the point and in the exponent.
fn filled(value: f64, fractions: usize, exponents: usize) -> String {
    let text = format!("{value:.fractions$e}");
    let (mantissa, exponent) = split_exponent(&text);
    let point = if fractions == 0 { "." } else { "" };
    format!("{mantissa}{point}e{exponent:+0width$}", width = exponents + 1)
}

fn split_exponent(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

/// The digits after the point.
fn fraction(text: &str) -> &str {
    let mantissa = text.split('e').next().unwrap_or_default();
    mantissa.split_once('.').map_or("", |(_, digits)| digits)
}

/// The fewest digits that distinguish the value from its neighbours; of two equally close texts the even one, as in
/// numpy.
fn shortest(value: f64, width: Width) -> String {
    let text = simplest(value, width).to_string();
    match fraction(&text).len() {
        0 => text,
        digits => format!("{value:.digits$}"),
    }
}
