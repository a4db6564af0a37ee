//! The one pickle that is read: a float, which the reference writes where JSON has no number for it (NaN, infinities).
//! Any other is refused by who asks; nothing of it is looked at.
//! ```text
//! 80 p             protocol 2 to 5
//! 95 ........      frame and its length, from protocol 4 on
//! 47 ........      a float64, big-endian
//! 2e               end
//! ```

/// The float in the base64 text of such a pickle.
pub fn float(base64: &str) -> Option<f64> {
    let bytes = decode(base64)?;
    let rest = match bytes.as_slice() {
        [0x80, 2..=5, rest @ ..] => rest,
        _ => return None,
    };
    let rest = match rest {
        [0x95, a, b, c, d, e, f, g, h, framed @ ..] => {
            let len = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
            Some(framed).filter(|framed| framed.len() as u64 == len)?
        }
        rest => rest,
    };
    match rest {
        [b'G', float @ .., b'.'] => float.try_into().ok().map(f64::from_be_bytes),
        _ => None,
    }
}

/// Longer texts are no float.
const LONGEST: usize = 64;

fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    if text.len() > LONGEST {
        return None;
    }
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_and_nothing_else() {
        // pickle.dumps(float("nan")), pickle.dumps(-2.5, protocol=2).
        assert!(float("gASVCgAAAAAAAABHf/gAAAAAAAAu").unwrap().is_nan());
        assert_eq!(float("gAJHwAQAAAAAAAAu"), Some(-2.5));
        for text in ["gASVBwAAAAAAAABLAUsChpQu", "", "!", "gASVCwAAAAAAAABHf/gAAAAAAAAu", "gAJHwAQAAAAAAC4="]
        {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
