//! Parses option values such as sizes and permission bits, for long options and for `-o`.

use crate::Compression;

/// Parses a size in bytes: `512`, `64K`, `512M`, `2G`, `1T`, with suffixes in powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("a size is a number of bytes with an optional suffix K, M, G or T".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "a size is a number such as 512M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

/// Parses a size, or `off`: larger than anything.
pub fn size_or_off(text: &str) -> Result<u64, String> {
    if text == "off" { Ok(u64::MAX) } else { size(text).map_err(|why| format!("{why}, or off")) }
}

/// Parses permission bits in octal, as in umask(1).
pub fn umask(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(bits) if bits <= 0o777 && !text.starts_with('+') => Ok(bits),
        _ => Err("a umask is an octal number from 0 to 777".into()),
    }
}

/// Parses a number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=256) => Ok(count),
        _ => Err("the number of threads is from 1 to 256".into()),
    }
}

/// The given number of threads, or one for each processor.
pub fn jobs_or_all(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Parses a compression level; `0` and `none` mean no compression.
pub fn compression(text: &str) -> Result<Compression, String> {
    match text.parse() {
        _ if text == "none" => Ok(Compression::None),
        Ok(0) => Ok(Compression::None),
        Ok(level @ 1..=9) => Ok(Compression::Zlib(level)),
        _ => Err("a level is from 0 to 9, or none".into()),
    }
}

/// Parses a tolerance for comparing numbers.
pub fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err("a tolerance is a number from 0 on, such as 1e-6".into()),
    }
}

/// Parses a numeric user or group ID.
pub fn id(text: &str) -> Result<u32, String> {
    match text.parse() {
        // The kernel reserves the highest number for "no ID".
        Ok(u32::MAX) | Err(_) => Err("a user or group is given by its number (see id(1))".into()),
        Ok(id) => Ok(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("3g"), Ok(3 << 30));
        for bad in ["", "M", "-1", "1X", "1.5G", "99999999999T", "12 M", "é"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn octal_and_ids() {
        assert_eq!(umask("077"), Ok(0o77));
        assert!(umask("8").is_err() && umask("1000").is_err() && umask("").is_err() && umask("+7").is_err());
        assert_eq!(id("1000"), Ok(1000));
        assert!(id("4294967295").is_err() && id("root").is_err());
        assert!(threads("0").is_err() && threads("2") == Ok(2));
    }
}
