//! Schemas of written arrays: flat, or jagged according to the names of the parts.

use super::super::json::write_text;
use super::types::dtype;
use super::{Added, Writer, below, pairs};

pub struct Schema<'w> {
    writer: &'w Writer,
    root: &'w str,
    pub json: Vec<u8>,
    next: u64,
    /// Members that the array uses.
    pub used: Vec<&'w str>,
}

impl<'w> Schema<'w> {
    pub fn new(writer: &'w Writer, root: &'w str) -> Schema<'w> {
        Schema { writer, root, json: Vec::new(), next: 0, used: Vec::new() }
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Adds the array at `place`; returns its dimensions, None for those of lists.
    pub fn array(&mut self, place: &str, depth: usize) -> Result<Vec<Option<u64>>, String> {
        let writer = self.writer;
        if depth == super::super::read::schema::MAX_DEPTH {
            return Err(format!("it is nested deeper than {depth} levels, which is the limit"));
        }
        if let Some(flat) = writer.elements(place) {
            self.flat(flat)?;
            return Ok([length(flat)].iter().chain(inner(flat)).copied().map(Some).collect());
        }
        let id = self.id();
        let boundaries = ["counts", "offsets", "starts", "stops"].map(|part| writer.part(place, part));
        let (call, parts): (&str, Vec<&Added>) = match boundaries {
            // Counts are redundant beside starts and stops.
            [_, None, Some(starts), Some(stops)] => ("\"JaggedArray\"", vec![starts, stops]),
            [Some(counts), None, None, None] => ("\"JaggedArray\", \"fromcounts\"", vec![counts]),
            [None, Some(offsets), None, None] => ("\"JaggedArray\", \"fromoffsets\"", vec![offsets]),
            [None, None, None, None] => {
                return Err(format!("{place:?} has neither counts nor offsets nor starts and stops"));
            }
            _ => return Err(format!("counts, offsets, starts and stops of {place:?} do not say the same")),
        };
        self.used.extend(boundaries.into_iter().flatten().map(|part| &*part.member));
        self.json.extend(format!("{{\"call\": [\"awkward0\", {call}], \"args\": [").into_bytes());
        for part in &parts {
            self.flat(part)?;
            self.json.extend(b", ");
        }
        let content = self.array(&below(place, "content"), depth + 1)?;
        self.json.extend(format!("], \"id\": {id}}}").into_bytes());
        let (len, need) = lists(&parts, call)?;
        let have = content.first().copied().flatten().unwrap_or(0);
        if let [starts, stops] = parts[..] {
            let fit = pairs::check(&writer.file.file, starts, stops, have);
            fit.map_err(|problem| format!("the lists of {place:?}: {problem}"))?;
        }
        match need {
            Some(need) if need > have.into() => {
                Err(format!("the lists of {place:?} need {need} items, but its content has {have}"))
            }
            _ => {
                let inner = parts.first().map_or(&[][..], |part| inner(part));
                let inner = inner.iter().copied().map(Some);
                Ok([Some(len)]
                    .into_iter()
                    .chain(inner)
                    .chain([None])
                    .chain(content.into_iter().skip(1))
                    .collect())
            }
        }
    }

    fn flat(&mut self, flat: &'w Added) -> Result<(), String> {
        self.used.push(&flat.member);
        let (id, length_id) = (self.id(), self.id());
        let relative = match self.root {
            "" => Some(&*flat.member),
            root => flat.member.strip_prefix(&format!("{root}-")),
        };
        self.json.extend(b"{\"call\": [\"awkward0\", \"numpy\", \"frombuffer\"], \"args\": [{\"read\": ");
        ascii(relative.unwrap_or(&flat.member), &mut self.json);
        // The blob was written before its array was known.
        if relative.is_none() {
            self.json.extend(b", \"absolute\": true");
        }
        let (dtype, count) = (dtype(&flat.array)?, length(flat));
        self.json.extend(
            format!(
                "}}, {{\"dtype\": {dtype}}}, {{\"json\": {count}, \"id\": {length_id}}}], \"id\": {id}}}"
            )
            .into_bytes(),
        );
        Ok(())
    }
}

fn length(flat: &Added) -> u64 {
    flat.array.shape.first().copied().unwrap_or(1)
}

/// The sizes of all dimensions but the first.
fn inner(flat: &Added) -> &[u64] {
    flat.array.shape.get(1..).unwrap_or_default()
}

/// The number of lists, and the items they need, where known.
fn lists(parts: &[&Added], call: &str) -> Result<(u64, Option<i128>), String> {
    let [first, others @ ..] = parts else { return Err("it has no lists".into()) };
    let is_alike = |part: &&Added| inner(part) == inner(first);
    let numbers = |part: &Added| part.numbers.clone().ok_or("its lists are not given by whole numbers");
    let found = numbers(first)?;
    if others.is_empty() && !inner(first).is_empty() {
        return Err("counts and offsets of several dimensions are not written: starts and stops are".into());
    }
    if !others.iter().all(is_alike) {
        return Err("its starts and stops have different inner dimensions".into());
    }
    let len = length(first);
    if found.least < 0 {
        return Err(format!("where its lists are is given by {}, which is negative", found.least));
    }
    match others {
        [stops] => {
            numbers(stops)?;
            if length(stops) < len { Err("it has more starts than stops".into()) } else { Ok((len, None)) }
        }
        _ if call.ends_with("\"fromcounts\"") => {
            Ok((len, Some(found.sum.ok_or("its counts do not fit into 64 bits together")?)))
        }
        _ if len == 0 => Err("its offsets are empty".into()),
        _ if !found.is_rising || found.first != Some(0) => Err("its offsets do not rise from 0 on".into()),
        _ => Ok((len - 1, Some(found.last))),
    }
}

/// Writes a JSON string in ASCII, as the reference does.
pub fn ascii(text: &str, out: &mut Vec<u8>) {
    let mut plain = Vec::new();
    write_text(text, &mut plain);
    for c in String::from_utf8_lossy(&plain).chars() {
        if c.is_ascii() {
            out.push(c as u8);
        } else {
            let units =
                c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            out.extend(units.into_bytes());
        }
    }
}
