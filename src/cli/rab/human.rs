//! Sizes as `ls -h` prints them: `17`, `1.2K`, `35M`, in powers of 1024 and rounded up.

pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return bytes.to_string();
    }
    let (mut unit, mut letters) = (1024u64, "KMGTPE".chars());
    let mut letter = letters.next().unwrap_or_default();
    for next in letters {
        // Rounding up must not lead to four digits.
        if bytes.div_ceil(unit) < 1024 {
            break;
        }
        unit *= 1024;
        letter = next;
    }
    let tenths = (u128::from(bytes) * 10).div_ceil(unit.into());
    match tenths {
        ..100 => format!("{}.{}{letter}", tenths / 10, tenths % 10),
        _ => format!("{}{letter}", bytes.div_ceil(unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn as_ls_prints_them() {
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10_137, "9.9K"),
            (10_138, "10K"),
            (10_241, "11K"),
            (1023 * 1024, "1023K"),
            (1023 * 1024 + 1, "1.0M"),
            (5 << 30, "5.0G"),
            (u64::MAX, "16E"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }
}
