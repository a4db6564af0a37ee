//! Element types in the reference's notation (see [`super::super::read::dtype`]).

use super::super::json;
use super::super::read::budget::Budget;
use super::super::read::dtype;
use super::schema::ascii;
use crate::array::{Array, Cell, Dtype, Endian, Meaning, Order};

/// The reference's notation. An array without axes has one element.
pub fn dtype(array: &Array) -> Result<String, String> {
    if array.order == Order::F && array.shape.len() > 1 {
        return Err("it is in F order, and blobs are in C order: save it in C order with numpy".into());
    }
    let inner = array.shape.get(1..).unwrap_or_default();
    let of = match array.record.as_deref() {
        None => number(array.dtype)?,
        Some(record) => of_meaning(&Meaning::of(record), record.size())?,
    };
    let text = if inner.is_empty() { of } else { shaped(&of, inner) };
    // Written types must be readable: no excessive nesting, no duplicate field names.
    let json = json::parse(&text, &Budget::new(text.len() as u64)).map_err(|fault| fault.problem)?;
    dtype::parse(&json).map_err(|fault| fault.problem)?;
    Ok(text)
}

fn shaped(of: &str, sizes: &[u64]) -> String {
    format!("[{of}, [{}]]", sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

fn number(of: Dtype) -> Result<String, String> {
    let name = of.element.name().ok_or("its elements are of no type that numpy has a name for")?;
    let is_big = of.endian == Endian::Big && of.element.swapped() > 1;
    Ok(if is_big { format!("\"{of}\"") } else { format!("\"{name}\"") })
}

/// For elements of `size` bytes.
fn of_meaning(meaning: &Meaning, size: u64) -> Result<String, String> {
    match meaning {
        Meaning::Cell(Cell::Number(of)) => number(*of),
        Meaning::Cell(Cell::Text(size)) => Ok(format!("\"|S{size}\"")),
        Meaning::Cell(Cell::Void(size)) => Ok(format!("\"|V{size}\"")),
        Meaning::Cell(of @ Cell::Unicode(..)) => Ok(format!("\"{of}\"")),
        Meaning::Times(times) => Ok(format!("\"{}\"", times.numpy())),
        Meaning::Other(text, _) => {
            Err(format!("its elements are of the type {text:?}, which cannot be written"))
        }
        Meaning::List(shape, of) => {
            let count: u64 = shape.iter().product();
            Ok(shaped(&of_meaning(of, size / count.max(1))?, shape))
        }
        Meaning::Fields(parts) => {
            let (mut texts, mut end) = (Vec::new(), 0);
            for part in parts {
                if part.offset != end || part.title.is_some() {
                    break;
                }
                end += part.size;
                let mut text = b"[".to_vec();
                ascii(&part.name, &mut text);
                let of = of_meaning(&part.of, part.size)?;
                texts.push(format!("{}, {of}]", String::from_utf8_lossy(&text)));
            }
            let is_packed = end == size && texts.len() == parts.len();
            let why = "its fields have gaps or titles, which the schema cannot express: repack it with \
                numpy.lib.recfunctions.repack_fields";
            if is_packed { Ok(format!("[{}]", texts.join(", "))) } else { Err(why.into()) }
        }
    }
}
