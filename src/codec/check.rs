//! The checksums of zlib (Adler-32, RFC 1950) and gzip (CRC-32, RFC 1952). Checksums of two pieces combine into that of
//! the whole, so each byte is hashed once for both its block and its stream.

use libz_rs_sys as z;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    Adler,
    Crc,
}

impl Check {
    /// The checksum of empty input.
    pub fn of_nothing(self) -> u32 {
        match self {
            Check::Adler => 1,
            Check::Crc => 0,
        }
    }

    pub fn update(self, value: u32, bytes: &[u8]) -> u32 {
        let value = value.into();
        // SAFETY: the pointer and the length are those of the slice.
        let value = unsafe {
            match self {
                Check::Adler => z::adler32_z(value, bytes.as_ptr(), bytes.len()),
                Check::Crc => z::crc32_z(value, bytes.as_ptr(), bytes.len()),
            }
        };
        value as u32
    }

    /// The checksum of two consecutive pieces; `len` is the length of the second.
    pub fn combine(self, first: u32, second: u32, len: u64) -> u32 {
        let (first, second, len) = (first.into(), second.into(), len as z::z_off64_t);
        let value = match self {
            Check::Adler => z::adler32_combine64(first, second, len),
            Check::Crc => z::crc32_combine64(first, second, len),
        };
        value as u32
    }
}

/// Continues the CRC-32 `value` (0 at the start) over `bytes`.
pub fn crc32(value: u32, bytes: &[u8]) -> u32 {
    Check::Crc.update(value, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(check: Check, bytes: &[u8]) -> u32 {
        check.update(check.of_nothing(), bytes)
    }

    /// Well-known test vectors.
    #[test]
    fn values() {
        assert_eq!(of(Check::Adler, b"Wikipedia"), 0x11e6_0398);
        assert_eq!(of(Check::Crc, b"123456789"), 0xcbf4_3926);
        for check in [Check::Adler, Check::Crc] {
            assert_eq!(of(check, b""), check.of_nothing());
            assert_eq!(check.combine(of(check, b"1234"), of(check, b"56789"), 5), of(check, b"123456789"));
        }
    }
}
