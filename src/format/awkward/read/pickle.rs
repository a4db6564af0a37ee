//! The only supported pickle: a float, which the reference writes where JSON has no number for it (NaN, infinities).
//! The caller refuses any other; nothing in it is interpreted.
//! ```text
//! 80 p             protocol 2 to 5
//! 95 ........      frame and its length, from protocol 4 on
//! 47 ........      a float64, big-endian
//! 2e               end
//! ```

use data_encoding::BASE64;

/// Longer text cannot be a float.
const MAX_LEN: usize = 64;

/// Decodes the float in base64 text of such a pickle.
pub fn float(base64: &str) -> Option<f64> {
    if base64.len() > MAX_LEN {
        return None;
    }
    let bytes = BASE64.decode(base64.as_bytes()).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_floats_are_decoded() {
        // From pickle.dumps(float("nan")) and pickle.dumps(-2.5, protocol=2).
        assert!(float("gASVCgAAAAAAAABHf/gAAAAAAAAu").unwrap().is_nan());
        assert_eq!(float("gAJHwAQAAAAAAAAu"), Some(-2.5));
        for text in ["gASVBwAAAAAAAABLAUsChpQu", "", "!", "gASVCwAAAAAAAABHf/gAAAAAAAAu", "gAJHwAQAAAAAAC4="]
        {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
