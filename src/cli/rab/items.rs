//! Prints values as JSON: arrays of numbers, arrays whose items are lists, rows or text, and tables.

use std::io::Write;
use std::ops::ControlFlow;

use super::output::{Done, Output};
use crate::array::{Slab, json};
use crate::content::Content;
use crate::tree::Items;
use crate::{Dataset, Error, view};

/// Prints the items that a one-dimensional index selects, as a list, or the single item that a number selects.
pub fn print(dataset: &Dataset<'_>, items: &dyn Items, index: &str, out: &mut Output) -> Done {
    let wrong = |problem| Error::Usage(format!("{}: {problem}", dataset.place()));
    let slab = Slab::parse(index, &[items.len()?]).map_err(wrong)?;
    let mut wanted = (0..slab.len()).map(|number| slab.position(number));
    let (mut is_first, mut failed) = (true, Ok(()));
    let (begin, end) = if slab.shape().len() == 1 { ("[", "]") } else { ("", "") };
    let passed = items.pass(&mut wanted, &mut |json| {
        let before = if std::mem::take(&mut is_first) { begin } else { ",\n" };
        failed = write!(out, "{before}").and_then(|()| out.write_all(json));
        if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    failed?;
    passed?;
    Ok(writeln!(out, "{}{end}", if is_first { begin } else { "" })?)
}

/// Prints an array or a part of one.
pub fn array(dataset: &Dataset<'_>, slab: &Slab, out: &mut Output) -> Done {
    if slab.is_empty() && json::Lists::are_too_many(&slab.shape()) {
        let (place, shape, most) = (dataset.place(), slab.shape(), json::MAX_EMPTY);
        let problem = format!("the shape {shape:?} is that of more than {most} empty lists");
        return Err(Error::Other(format!("{place}: {problem}, which is the limit")).into());
    }
    let record = dataset.array_description()?.record.as_deref();
    let mut lists = json::Lists::new(slab.shape(), record);
    let most = view::limits::most_around(dataset.description());
    if slab.len().saturating_mul(lists.around()) > most {
        let (place, count) = (dataset.place(), slab.len());
        let problem =
            format!("as JSON {count} elements have more than {most} bytes of names, which is the limit");
        return Err(Error::Other(format!("{place}: {problem}")).into());
    }
    for part in dataset.blocks(slab)? {
        lists.add(&part?, out)?;
    }
    if slab.is_empty() {
        json::Lists::empty(&slab.shape(), out)?;
    }
    Ok(writeln!(out)?)
}

/// Prints JSON lines as a list.
pub fn lines(content: &Content, out: &mut Output) -> Done {
    let (mut is_empty, mut is_start, mut written) = (true, true, Ok(()));
    content.pass(&mut |piece| {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            let begin = match (is_start, is_empty) {
                (false, _) => "",
                (true, true) => "[",
                (true, false) => ",\n",
            };
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            (is_empty, is_start) = (false, text.len() < line.len());
            written = write!(out, "{begin}").and_then(|()| out.write_all(text));
            if written.is_err() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    written?;
    Ok(writeln!(out, "{}]", if is_empty { "[" } else { "" })?)
}
