//! numpy's basic indexing: parses expressions such as `3, 10:20, ::-2, ...` into a [`Slab`] of an array.

/// A part of an array: start, step and number of positions along each axis. All positions lie within the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    pub(crate) axes: Vec<Span>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u64,
    /// Never 0.
    pub step: i64,
    pub count: u64,
    /// Selected by a single number, so the result does not have this axis.
    pub single: bool,
}

impl Span {
    /// Keeps at most `count` positions, beginning with number `from`, which must exist.
    fn narrow(&mut self, from: u64, count: u64) {
        // Fits into u64: it lies between the first and the last position of the span.
        self.start = (i128::from(self.start) + i128::from(from) * i128::from(self.step)) as u64;
        self.count = (self.count - from).min(count);
    }
}

enum Item {
    At(i64),
    Slice(Option<i64>, Option<i64>, i64),
    Rest,
}

impl Slab {
    /// The whole array.
    pub fn whole(shape: &[u64]) -> Slab {
        Slab { axes: shape.iter().map(|size| all(*size)).collect() }
    }

    /// Parses an index expression as numpy's `array[expression]` would, for an array of this shape.
    ///
    /// # Errors
    /// A message about what is wrong with the expression.
    ///
    /// # Examples
    /// ```
    /// let slab = rab::Slab::parse("3, 10:20, ..., ::-2", &[5, 100, 7, 8]).unwrap();
    /// assert_eq!(slab.shape(), [10, 7, 4]);
    /// ```
    pub fn parse(expression: &str, shape: &[u64]) -> Result<Slab, String> {
        let items = items(expression)?;
        let rests = items.iter().filter(|item| matches!(item, Item::Rest)).count();
        let given = items.len() - rests;
        if rests > 1 {
            return Err("... can stand only once in an index".into());
        }
        let Some(missing) = shape.len().checked_sub(given) else {
            return Err(format!("the index has {given} axes, the array {}", shape.len()));
        };
        let mut axes = Vec::with_capacity(shape.len());
        for item in &items {
            match item {
                Item::Rest => axes.extend(shape.iter().skip(axes.len()).take(missing).map(|size| all(*size))),
                item => {
                    let size = shape.get(axes.len()).copied().unwrap_or(0);
                    axes.push(
                        span(item, size).map_err(|problem| format!("{problem} for axis {}", axes.len()))?,
                    );
                }
            }
        }
        axes.extend(shape.iter().skip(axes.len()).map(|size| all(*size)));
        Ok(Slab { axes })
    }

    /// Parses rows of a table with `count` rows; a single number selects a table of one row.
    pub(crate) fn rows_or_row(expression: &str, count: u64) -> Result<Slab, String> {
        let mut rows = Slab::parse(expression, &[count])?;
        rows.axes.iter_mut().for_each(|row| row.single = false);
        Ok(rows)
    }

    /// The array's position, along its first axis, of position `number` of the part.
    pub(crate) fn position(&self, number: u64) -> u64 {
        let all = i128::from(number);
        self.axes.first().map_or(0, |axis| (i128::from(axis.start) + all * i128::from(axis.step)) as u64)
    }

    /// The shape of the part.
    pub fn shape(&self) -> Vec<u64> {
        self.axes.iter().filter(|axis| !axis.single).map(|axis| axis.count).collect()
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.count))
    }

    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(|axis| axis.count == 0)
    }

    /// True if the part lies inside an array of this shape.
    pub(crate) fn fits(&self, shape: &[u64]) -> bool {
        let inside = |(axis, size): (&Span, &u64)| {
            let last = i128::from(axis.start) + i128::from(axis.step) * (i128::from(axis.count) - 1);
            axis.count == 0 || (axis.start < *size && (0..i128::from(*size)).contains(&last))
        };
        self.axes.len() == shape.len() && self.axes.iter().zip(shape).all(inside)
    }

    /// The first and the last `count` positions along one axis of [`Slab::shape`]; the axis must be longer than that.
    pub(crate) fn edges(&self, axis: usize, count: u64) -> (Slab, Slab) {
        let (mut first, mut last) = (self.clone(), self.clone());
        if let Some(span) = first.axes.iter_mut().filter(|span| !span.single).nth(axis) {
            span.narrow(0, count);
        }
        if let Some(span) = last.axes.iter_mut().filter(|span| !span.single).nth(axis) {
            span.narrow(span.count.saturating_sub(count), count);
        }
        (first, last)
    }

    /// Splits into parts of at most `most` elements (at least one); concatenated in C order they give the whole.
    pub(crate) fn blocks(&self, most: u64) -> impl Iterator<Item = Slab> {
        let mut whole = 1u64;
        let fits = |axis: &&Span| {
            let more = whole.checked_mul(axis.count).filter(|more| *more <= most);
            whole = more.unwrap_or(whole);
            more.is_some()
        };
        // Each part contains the last axes whole, and as many positions as fit of the axis before them.
        let last =
            if self.is_empty() { self.axes.len() } else { self.axes.iter().rev().take_while(fits).count() };
        let cut = self.axes.len() - last;
        let room = (most / whole).max(1);
        let runs =
            cut.checked_sub(1).and_then(|at| self.axes.get(at)).map_or(1, |axis| axis.count.div_ceil(room));
        let outer = self.axes.iter().take(cut.saturating_sub(1)).map(|axis| axis.count).product::<u64>();
        let slab = self.clone();
        (0..runs.saturating_mul(outer)).map(move |number| {
            let mut part = slab.clone();
            let mut axes = part.axes.iter_mut().take(cut).rev();
            if let Some(axis) = axes.next() {
                axis.narrow(number % runs * room, room);
            }
            let mut rest = number / runs;
            for axis in axes {
                let count = axis.count;
                axis.narrow(rest % count, 1);
                rest /= count;
            }
            part
        })
    }

    /// A contiguous block: a start and a number of positions along each axis.
    pub(crate) fn block(start: &[u64], counts: &[u64]) -> Slab {
        let span =
            |(start, count): (&u64, &u64)| Span { start: *start, step: 1, count: *count, single: false };
        Slab { axes: start.iter().zip(counts).map(span).collect() }
    }

    /// A single element.
    pub(crate) fn at(position: &[u64]) -> Slab {
        Slab {
            axes: position.iter().map(|at| Span { start: *at, step: 1, count: 1, single: true }).collect(),
        }
    }
}

/// Splits `NAME[INDEX]` into name and index.
pub fn indexed(name: &[u8]) -> Option<(&[u8], &str)> {
    let inside = name.strip_suffix(b"]")?;
    let mut depth = 1;
    let opens = |byte: &u8| {
        depth += i64::from(*byte == b']') - i64::from(*byte == b'[');
        depth == 0
    };
    let bracket = inside.iter().rposition(opens)?;
    let (name, index) = (inside.get(..bracket)?, inside.get(bracket + 1..)?);
    std::str::from_utf8(index).ok().map(|index| (name, index))
}

/// Every way to split `NAME[INDEX]` where the index contains quotes, the last bracket first. Unlike [`indexed`], it
/// does not pair brackets, because those within quotes are text.
pub fn quoted(name: &[u8]) -> impl Iterator<Item = (&[u8], &str)> {
    let inside = name.strip_suffix(b"]").unwrap_or_default();
    let brackets = (0..inside.len()).rev().filter(|at| inside.get(*at) == Some(&b'['));
    let split = move |at| Some((inside.get(..at)?, std::str::from_utf8(inside.get(at + 1..)?).ok()?));
    brackets.filter_map(split).filter(|(_, index)| index.contains(['"', '\'']))
}

/// A term of an index that may contain names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term<'a> {
    /// Was quoted.
    Name(&'a str),
    Bare(&'a str),
}

/// Splits at commas. Only a term that begins with a quote is quoted, since names may contain quotes.
pub fn terms(expression: &str) -> Result<Vec<Term<'_>>, String> {
    let (mut terms, mut rest) = (Vec::new(), expression);
    loop {
        let start = rest.trim_start();
        let quote = start.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (term, after) = match quote {
            Some(quote) => {
                let inside = start.strip_prefix(quote).and_then(|inside| inside.split_once(quote));
                let (name, after) = inside.ok_or_else(|| format!("{start:?} has no second {quote}"))?;
                (Term::Name(name), after.trim_start())
            }
            None => {
                let (term, after) = start.split_at(start.find(',').unwrap_or(start.len()));
                (Term::Bare(term.trim_end()), after)
            }
        };
        terms.push(term);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(terms),
            None => return Err(format!("{after:?} stands behind a name in quotes, where a comma is needed")),
        }
    }
}

/// True for a number or a slice.
pub fn is_index(term: &str) -> bool {
    let is_part = |part: &str| part.is_empty() || part.parse::<i128>().is_ok();
    term == "..." || term.split(':').all(|part| is_part(part.trim()))
}

fn all(size: u64) -> Span {
    Span { start: 0, step: 1, count: size, single: false }
}

/// Parentheses around the whole index, as in a Python tuple, are optional.
fn items(expression: &str) -> Result<Vec<Item>, String> {
    let expression = expression.trim();
    if expression.contains(['[', ']']) {
        return Err("lists of positions cannot be used: use numbers, start:stop:step or ...".into());
    }
    let tuple = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::trim);
    if tuple == Some("") {
        return Ok(Vec::new());
    }
    let listed = tuple.unwrap_or(expression);
    listed.strip_suffix(',').unwrap_or(listed).split(',').map(item).collect()
}

fn item(text: &str) -> Result<Item, String> {
    let text = text.trim();
    if text == "..." {
        return Ok(Item::Rest);
    }
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let optional = |part: &str| if part.is_empty() { Ok(None) } else { bound(part).map(Some) };
    match *parts.as_slice() {
        [""] => Err("an index is empty: use numbers, start:stop:step or ...".into()),
        [at] => Ok(Item::At(number(at)?)),
        [start, stop] => Ok(Item::Slice(optional(start)?, optional(stop)?, 1)),
        [start, stop, step] => match optional(step)? {
            Some(0) => Err(format!("the step of {text:?} is 0")),
            step => Ok(Item::Slice(optional(start)?, optional(stop)?, step.unwrap_or(1))),
        },
        _ => Err(format!("{text:?} has more than two colons")),
    }
}

/// A bound or step of a slice, clamped to 64 bits as in Python.
fn bound(text: &str) -> Result<i64, String> {
    match too_long(text) {
        Some(true) => Ok(-i64::MAX),
        Some(false) => Ok(i64::MAX),
        None => number(text),
    }
}

/// `Some(is_negative)` for an integer that does not fit into 64 bits.
fn too_long(text: &str) -> Option<bool> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let is_whole = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    (is_whole && text.parse::<i64>().is_err()).then_some(is_negative)
}

fn number(text: &str) -> Result<i64, String> {
    if too_long(text).is_some() {
        return Err(format!("index {text} is out of bounds"));
    }
    if let "None" | "newaxis" | "np.newaxis" = text {
        return Err(format!(
            "{text} adds an axis, which a part of an array cannot have: reshape it afterwards"
        ));
    }
    let problem = || format!("{text:?} is not an index: use numbers, start:stop:step or ...");
    text.parse().map_err(|_| problem())
}

fn span(item: &Item, size: u64) -> Result<Span, String> {
    let length = i128::from(size);
    let from_end = |at: i64| i128::from(at) + if at < 0 { length } else { 0 };
    let (start, stop, step) = match *item {
        Item::At(at) => {
            let start = u64::try_from(from_end(at)).ok().filter(|start| *start < size);
            let start = start.ok_or_else(|| format!("index {at} is out of bounds (0 to {size})"))?;
            return Ok(Span { start, step: 1, count: 1, single: true });
        }
        Item::Rest => return Ok(all(size)),
        Item::Slice(start, stop, step) => (start, stop, step),
    };
    let (lowest, highest) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let place = |at: Option<i64>, default: i128| at.map_or(default, |at| from_end(at).clamp(lowest, highest));
    let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let (start, stop) = (place(start, first), place(stop, last));
    let reach = if step > 0 { stop - start } else { start - stop };
    let stride = i128::from(step).abs();
    let count = if reach > 0 { (reach + stride - 1) / stride } else { 0 };
    let start = if count > 0 { start } else { 0 };
    // The casts are lossless: both lie between 0 and the size.
    Ok(Span { start: start as u64, step, count: count as u64, single: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn positions(axis: &Span) -> Vec<i64> {
        (0..axis.count as i64).map(|at| axis.start as i64 + at * axis.step).collect()
    }

    /// Python's slicing, element by element.
    fn model(start: Option<i64>, stop: Option<i64>, step: i64, size: i64) -> Vec<i64> {
        let from_end = |at: i64| if at < 0 { at + size } else { at };
        let mut at = start.map_or(if step > 0 { 0 } else { size - 1 }, from_end);
        let stop = stop.map_or(if step > 0 { size } else { -1 }, |stop| from_end(stop).max(-1));
        // A start out of range is clamped.
        at = if step > 0 { at.max(0) } else { at.min(size - 1) };
        let mut found = Vec::new();
        while (0..size).contains(&at) && (if step > 0 { at < stop } else { at > stop }) {
            found.push(at);
            at += step;
        }
        found
    }

    proptest! {
        #[test]
        fn slices_are_pythons(
            size in 0i64..12,
            start in prop::option::of(-15i64..15),
            stop in prop::option::of(-15i64..15),
            step in prop::sample::select(vec![-7i64, -3, -2, -1, 1, 2, 3, 7]),
        ) {
            let text = |at: Option<i64>| at.map_or(String::new(), |at| at.to_string());
            let expression = format!("{}:{}:{step}", text(start), text(stop));
            let slab = Slab::parse(&expression, &[size as u64]).unwrap();
            prop_assert_eq!(positions(&slab.axes[0]), model(start, stop, step, size));
            prop_assert!(slab.fits(&[size as u64]));
        }
    }

    /// The positions of all elements in C order.
    fn elements(slab: &Slab) -> Vec<Vec<i64>> {
        slab.axes.iter().fold(vec![Vec::new()], |before, axis| {
            let along =
                |start: Vec<i64>| positions(axis).into_iter().map(move |at| [&*start, &[at]].concat());
            before.into_iter().flat_map(along).collect()
        })
    }

    proptest! {
        #[test]
        fn blocks_are_the_whole_one_after_the_other(
            axes in prop::collection::vec(crate::array::axis(), 0..5),
            most in 1u64..40,
        ) {
            let shape: Vec<u64> = axes.iter().map(|(size, _)| *size).collect();
            let expression = axes.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>().join(",");
            let slab = if shape.is_empty() { Slab::whole(&[]) } else { Slab::parse(&expression, &shape).unwrap() };
            let blocks: Vec<Slab> = slab.blocks(most).collect();
            prop_assert!(blocks.iter().all(|block| block.len() <= most && block.fits(&shape)));
            prop_assert_eq!(blocks.iter().flat_map(elements).collect::<Vec<_>>(), elements(&slab));
        }
    }

    #[test]
    fn numbers_take_their_axis_away_and_dots_fill_up() {
        let shape = |text: &str| Slab::parse(text, &[4, 5, 6]).map(|slab| slab.shape());
        assert_eq!(shape("1").unwrap(), [5, 6]);
        assert_eq!(shape("-4, ..., -1,").unwrap(), [5]);
        assert_eq!(shape("...").unwrap(), [4, 5, 6]);
        assert_eq!(shape(" : , 1:3 ").unwrap(), [4, 2, 6]);
        assert_eq!(shape("1,2,3,...").unwrap(), [] as [u64; 0]);
        assert_eq!(shape("()").unwrap(), [4, 5, 6]);
        assert_eq!(shape("( 1, 2:4, )").unwrap(), [2, 6]);
    }

    #[test]
    fn a_name_and_its_index() {
        for (name, parts) in [
            ("x[1, 2:3]", Some(("x", "1, 2:3"))),
            ("a[0][1]", Some(("a[0]", "1"))),
            ("a[[0, 1], 2]", Some(("a", "[0, 1], 2"))),
            ("[]", Some(("", ""))),
            ("x]", None),
            ("x[1", None),
            ("x[1].npy", None),
        ] {
            assert_eq!(
                indexed(name.as_bytes()),
                parts.map(|(name, index)| (name.as_bytes(), index)),
                "{name}"
            );
        }
        assert_eq!(indexed(b"x[\xff]"), None);
    }

    #[test]
    fn brackets_in_quotes() {
        let found = |name| quoted(name).collect::<Vec<_>>();
        assert_eq!(found(b"x[\"c]\"]"), [(&b"x"[..], "\"c]\"")]);
        let names = [(&b"a[0]['"[..], "', 1"), (b"a[0]", "'[', 1"), (b"a", "0]['[', 1")];
        assert_eq!(found(b"a[0]['[', 1]"), names);
        assert_eq!((found(b"x[0]"), found(b"x['c'"), found(b"]")), (vec![], vec![], vec![]));
    }

    /// As in `np.arange(4)[:10**20]`.
    #[test]
    fn ends_and_steps_beyond_64_bits_are_clipped() {
        let big = "1".repeat(60);
        for (text, want) in [
            (format!(":{big}"), vec![0, 1, 2, 3]),
            (format!("-{big}:2"), vec![0, 1]),
            (format!("+{big}:"), vec![]),
            (format!("1::{big}"), vec![1]),
            (format!("::-{big}"), vec![3]),
            (format!("{big}:-{big}:-1"), vec![3, 2, 1, 0]),
        ] {
            let slab = Slab::parse(&text, &[4]).unwrap();
            assert_eq!(positions(&slab.axes[0]), want, "{text}");
            assert!(slab.fits(&[4]));
        }
    }

    #[test]
    fn problems_are_reported() {
        let problem = |text: &str| Slab::parse(text, &[4, 5]).unwrap_err();
        assert_eq!(problem("4"), "index 4 is out of bounds (0 to 4) for axis 0");
        assert_eq!(problem("0, -6"), "index -6 is out of bounds (0 to 5) for axis 1");
        assert_eq!(problem("1,2,3"), "the index has 3 axes, the array 2");
        assert!(problem("[0, 1], 2").contains("lists of positions cannot be used"));
        assert!(problem("").contains("is empty") && problem("1,,2").contains("is empty"));
        assert!(problem("::0").contains("is 0") && problem("...,...").contains("only once"));
        assert!(problem("None, 1").contains("None adds an axis") && problem("newaxis").contains("reshape"));
        let beyond = problem("100000000000000000000, 0");
        assert_eq!(beyond, "index 100000000000000000000 is out of bounds");
        assert!(problem("1e20:").contains("\"1e20\"") && problem("--99999999999999999999:").contains("--9"));
        assert!(problem("x").contains("\"x\"") && problem("1:2:3:4").contains("two colons"));
    }
}
