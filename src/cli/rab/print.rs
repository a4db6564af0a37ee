//! Lays out arrays as numpy does: nested brackets, lines of at most 75 characters, and only the edges of large arrays.

/// Maximum length of a line, in characters.
const LINE: usize = 75;
/// Number of positions shown at each end of an axis of a large array.
pub const EDGE: usize = 3;

/// Lays out the texts of elements, which are in C order and have the same width. Axes marked in `cut` contain only
/// their edges.
pub fn layout(texts: &[String], shape: &[usize], cut: &[bool]) -> String {
    if shape.contains(&0) {
        return "[]".into();
    }
    let (Some((size, inner)), Some((is_cut, cuts))) = (shape.split_first(), cut.split_first()) else {
        return texts.first().cloned().unwrap_or_default();
    };
    nested(texts, *size, inner, *is_cut, cuts, 1)
}

/// Lays out an array whose opening bracket is in column `depth - 1`, including its brackets.
fn nested(texts: &[String], size: usize, inner: &[usize], cut: bool, cuts: &[bool], depth: usize) -> String {
    let indent = " ".repeat(depth);
    let Some((inner_size, rest)) = inner.split_first() else {
        return row(texts, cut, &indent);
    };
    let each = texts.len() / size.max(1);
    let break_line = format!("{}{indent}", "\n".repeat(inner.len()));
    let mut blocks: Vec<String> = texts
        .chunks(each.max(1))
        .map(|block| {
            let (is_cut, rest_cuts) = cuts.split_first().map_or((false, &[][..]), |(a, b)| (*a, b));
            nested(block, *inner_size, rest, is_cut, rest_cuts, depth + 1)
        })
        .collect();
    if cut {
        blocks.insert(EDGE.min(blocks.len()), "...".into());
    }
    format!("[{}]", blocks.join(&break_line))
}

/// Lays out the innermost axis.
fn row(texts: &[String], cut: bool, indent: &str) -> String {
    // Leaves room for closing brackets, of which there may be as many as spaces in the indentation.
    let room = LINE - indent.len().min(LINE / 2);
    let mut words: Vec<&str> = texts.iter().map(String::as_str).collect();
    if cut {
        words.insert(EDGE.min(words.len()), "...");
    }
    let (mut text, mut line) = (String::from("["), String::new());
    for word in words {
        if !line.is_empty() && indent.len() + line.len() + word.len() > room {
            text += line.trim_end();
            text += "\n";
            text += indent;
            line.clear();
        }
        line += word;
        line += " ";
    }
    text + line.strip_suffix(' ').unwrap_or(&line) + "]"
}
