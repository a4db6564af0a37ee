//! The header of numpy's .npy files (version 1, or 2 where version 1 has no room).

/// What comes before the elements, which follow in C order; `descr` is what [`super::Array::descr`] says.
pub fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let mut text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    let is_short = text.len() + 64 < usize::from(u16::MAX);
    let fixed = if is_short { 10 } else { 12 };
    // The elements begin at a multiple of 64.
    let padding = (fixed + text.len() + 1).next_multiple_of(64) - (fixed + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    match is_short {
        true => header.extend([&[1, 0][..], &(text.len() as u16).to_le_bytes()].concat()),
        false => header.extend([&[2, 0][..], &(text.len() as u32).to_le_bytes()].concat()),
    }
    header.extend(text.into_bytes());
    header
}
