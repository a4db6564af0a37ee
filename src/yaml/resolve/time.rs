//! Parses dates and times as PyYAML does, and normalizes them to the form in which it writes them.

/// Consumes bytes from the front of a text.
struct Cursor<'t>(&'t [u8]);

impl Cursor<'_> {
    /// Between `min` and `max` digits.
    fn number(&mut self, min: usize, max: usize) -> Option<u32> {
        let count = self.0.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        (count >= min).then(|| digits.iter().fold(0, |sum, b| sum * 10 + u32::from(b - b'0')))
    }

    fn byte(&mut self, allowed: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first().filter(|(first, _)| allowed.contains(first))?;
        self.0 = rest;
        Some(*first)
    }

    fn blanks(&mut self) -> usize {
        std::iter::from_fn(|| self.byte(b" \t")).count()
    }
}

/// The canonical form; `None` if PyYAML does not recognize a date or fails to construct it.
pub fn canonical(value: &str) -> Option<Box<str>> {
    let mut at = Cursor(value.as_bytes());
    let date = date(&mut at)?;
    if at.0.is_empty() {
        return Some(date.into());
    }
    if at.byte(b"Tt").is_none() && at.blanks() == 0 {
        return None;
    }
    let clock = clock(&mut at)?;
    let fraction = fraction(&mut at);
    let zone = zone(&mut at)?;
    at.0.is_empty().then(|| format!("{date} {clock}{fraction}{zone}").into())
}

fn date(at: &mut Cursor) -> Option<String> {
    let year = at.number(4, 4)?;
    at.byte(b"-")?;
    let month = at.number(1, 2)?;
    at.byte(b"-")?;
    let day = at.number(1, 2)?;
    let exists = year >= 1 && (1..=days_in(year, month)).contains(&day);
    exists.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn days_in(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

fn clock(at: &mut Cursor) -> Option<String> {
    let hour = at.number(1, 2)?;
    at.byte(b":")?;
    let minute = at.number(2, 2)?;
    at.byte(b":")?;
    let second = at.number(2, 2)?;
    (hour < 24 && minute < 60 && second < 60).then(|| format!("{hour:02}:{minute:02}:{second:02}"))
}

/// Keeps microseconds, the first six digits.
fn fraction(at: &mut Cursor) -> String {
    if at.byte(b".").is_none() {
        return String::new();
    }
    let digits: String = std::iter::from_fn(|| at.byte(b"0123456789")).map(char::from).take(6).collect();
    while at.byte(b"0123456789").is_some() {}
    if digits.bytes().all(|b| b == b'0') { String::new() } else { format!(".{digits:0<6}") }
}

fn zone(at: &mut Cursor) -> Option<String> {
    at.blanks();
    if at.0.is_empty() {
        return Some(String::new());
    }
    if at.byte(b"Z").is_some() {
        return Some("+00:00".to_string());
    }
    let sign = char::from(at.byte(b"+-")?);
    let hour = at.number(1, 2)?;
    let minute = if at.byte(b":").is_some() { at.number(2, 2)? } else { 0 };
    (hour * 60 + minute < 24 * 60).then(|| format!("{sign}{hour:02}:{minute:02}"))
}
