//! Arrays as text, in the layout of numpy: nested brackets, lines of at most 75 characters, and of large arrays
//! only the edges.

/// Characters on a line.
const LINE: usize = 75;
/// Number of positions shown at each end of an axis of a large array.
pub const EDGE: usize = 3;

/// The elements' texts in C order, all of one width. An axis marked in `cut` shows only its edges, and has only
/// those.
pub fn layout(texts: &[String], shape: &[usize], cut: &[bool]) -> String {
    if shape.contains(&0) {
        return "[]".into();
    }
    let (Some((size, inner)), Some((is_cut, cuts))) = (shape.split_first(), cut.split_first()) else {
        return texts.first().cloned().unwrap_or_default();
    };
    nested(texts, *size, inner, *is_cut, cuts, 1)
}

/// What stands behind an opening bracket in column `depth - 1`, with both brackets.
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

/// The innermost axis.
fn row(texts: &[String], cut: bool, indent: &str) -> String {
    // As many closing brackets may follow as there are spaces before.
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
