//! Element types: the value of `{"dtype": ...}`, in the form the reference writes numpy's. Names without a byte order
//! mean the writer's native order, which is taken to be little-endian.
//! ```text
//! "int64", ">u2", "<U3", "|S5", "datetime64[ns]"
//! ["float32", [3, 4]]                  each element an array; a number in place of the list: of one dimension
//! [["x", "int32"], ["y", <any form>]]  fields one after the other, packed
//! ```

use std::collections::HashSet;

use super::super::json::Json;
use crate::array::{Dtype, Element, Endian, Kind, Times};
use crate::codec::zip::Fault;

/// Limit on the bytes, fields and dimensions of an element.
const MAX_BYTES: u64 = 1 << 30;
const MAX_FIELDS: usize = 1 << 12;
const MAX_DIMENSIONS: usize = 32;
const MAX_DEPTH: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    pub cell: ElementKind,
    /// Bytes per value.
    pub width: u64,
    /// Shape of the subarray that each element is; empty for a single value.
    pub shape: Vec<u64>,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementKind {
    Number(Dtype),
    /// Bytes, padded with NULs.
    Bytes,
    /// Four-byte characters, padded with NULs.
    Unicode(Endian),
    /// A date or duration, under numpy's name: `<M8[ns]`.
    Time(Times, Box<str>),
    /// Opaque bytes, or an unsupported type: `|V8`, `<M8` without a unit, `float128`.
    Raw(Box<str>),
    /// Each with its offset.
    Fields(Vec<(Box<str>, u64, Type)>),
}

/// The error says what is wrong, or which limit is exceeded.
pub fn parse(json: &Json) -> Result<Type, Fault> {
    typed(json, 0)
}

fn limit<T>(problem: String) -> Result<T, Fault> {
    Err(Fault::unsupported(problem))
}

fn typed(json: &Json, depth: usize) -> Result<Type, Fault> {
    if depth == MAX_DEPTH {
        return limit(format!(
            "the element type is nested deeper than {MAX_DEPTH} levels, which is the limit"
        ));
    }
    match json {
        Json::Str(text) => simple(text),
        Json::List(items) => match items.as_slice() {
            [of, sizes @ (Json::Number(_) | Json::List(_))] if of.as_str().is_some() || is_fields(of) => {
                repeated(typed(of, depth + 1)?, sizes)
            }
            fields => structure(fields, depth),
        },
        _ => Err("an element type is neither a string nor a list".into()),
    }
}

/// True for a list of lists that each begin with a name.
fn is_fields(json: &Json) -> bool {
    let is_field = |item: &Json| matches!(item.as_list(), Some([Json::Str(_), _]));
    json.as_list().is_some_and(|items| !items.is_empty() && items.iter().all(is_field))
}

fn repeated(of: Type, sizes: &Json) -> Result<Type, Fault> {
    let sizes = match sizes {
        Json::List(sizes) => sizes.as_slice(),
        one => std::slice::from_ref(one),
    };
    let size = |size: &Json| {
        let size = size.as_int().and_then(|size| u64::try_from(size).ok());
        size.ok_or("an element type has a shape that is not a list of whole numbers from 0 on")
    };
    let mut shape = sizes.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    shape.extend(of.shape);
    let whole = Type { shape, ..of };
    if whole.shape.len() > MAX_DIMENSIONS {
        return limit(format!(
            "an element type has more than {MAX_DIMENSIONS} dimensions, which is the limit"
        ));
    }
    whole.checked()
}

fn structure(fields: &[Json], depth: usize) -> Result<Type, Fault> {
    if fields.is_empty() {
        return Err("an element type has no fields".into());
    }
    if fields.len() > MAX_FIELDS {
        return limit(format!("an element type has {} fields, and the limit is {MAX_FIELDS}", fields.len()));
    }
    let (mut found, mut names, mut width) = (Vec::with_capacity(fields.len()), HashSet::new(), 0u64);
    for field in fields {
        let Some([Json::Str(name), of]) = field.as_list() else {
            return Err("a field of an element type is not a pair of name and type".into());
        };
        let of = typed(of, depth + 1)?;
        let size = of.size();
        if !names.insert(name) {
            return Err(format!("an element type has two fields {name:?}").into());
        }
        found.push((name.clone(), width, of));
        width += size;
    }
    Type { cell: ElementKind::Fields(found), width, shape: Vec::new() }.checked()
}

fn simple(text: &str) -> Result<Type, Fault> {
    let unknown = || Fault::from(format!("the element type {text:?} is not known"));
    let (endian, bare) = match text.split_at_checked(1) {
        Some((">", bare)) => (Endian::Big, bare),
        Some(("<" | "|" | "=", bare)) => (Endian::Little, bare),
        _ => (Endian::Little, text),
    };
    let of = |cell, width| Type { cell, width, shape: Vec::new() }.checked();
    let number = |element: Element| {
        let endian = if element.size == 1 { Endian::Little } else { endian };
        of(ElementKind::Number(Dtype { element, endian }), element.size.into())
    };
    if let Some(element) = Element::from_name(bare).filter(|_| bare.len() == text.len()) {
        return number(element);
    }
    // Times without a unit have no meaning, but their numbers are kept.
    let generic = match bare.strip_suffix("[generic]").unwrap_or(bare) {
        "datetime64" | "M8" => Some("M8"),
        "timedelta64" | "m8" => Some("m8"),
        _ => None,
    };
    if let Some(kind) = generic {
        return of(ElementKind::Raw(format!("{}{kind}", mark(endian)).into()), 8);
    }
    let time = |bare: &str| {
        let long = bare.strip_prefix("datetime64[").or_else(|| bare.strip_prefix("timedelta64["));
        let unit = long
            .or_else(|| bare.strip_prefix("M8["))
            .or_else(|| bare.strip_prefix("m8["))?
            .strip_suffix(']')?;
        unit.bytes().all(|b| b.is_ascii_alphanumeric()).then(|| {
            let kind = if bare.starts_with(['d', 'M']) { "M8" } else { "m8" };
            format!("{}{kind}[{unit}]", mark(endian)).into_boxed_str()
        })
    };
    if let Some(name) = time(bare) {
        return match Times::named(&name) {
            Some(times) => of(ElementKind::Time(times, name), 8),
            None => Err(unknown()),
        };
    }
    let (kind, digits) = bare.split_at_checked(1).ok_or_else(unknown)?;
    let is_number = !digits.is_empty() && digits.len() < 10 && digits.bytes().all(|b| b.is_ascii_digit());
    let count: u64 = digits.parse().ok().filter(|_| is_number).unwrap_or(u64::MAX);
    let sized =
        |kind| u32::try_from(count).ok().map(|size| Element { kind, size }).filter(|e| e.name().is_some());
    // Numbers too wide to interpret: their bytes are kept unchanged.
    let long = |native: &str| if endian == Endian::Big { text.to_owned() } else { native.to_owned() };
    match kind {
        _ if text == "float128" => of(ElementKind::Raw(text.into()), 16),
        _ if text == "complex256" => of(ElementKind::Raw(text.into()), 32),
        _ if !is_number => Err(unknown()),
        "S" | "a" => of(ElementKind::Bytes, count),
        "V" => of(ElementKind::Raw(format!("|V{count}").into()), count),
        "U" => of(ElementKind::Unicode(endian), 4 * count),
        "f" if count == 16 => of(ElementKind::Raw(long("float128").into()), 16),
        "c" if count == 32 => of(ElementKind::Raw(long("complex256").into()), 32),
        "b" => number(sized(Kind::Bool).ok_or_else(unknown)?),
        "i" => number(sized(Kind::Int).ok_or_else(unknown)?),
        "u" => number(sized(Kind::Uint).ok_or_else(unknown)?),
        "f" => number(sized(Kind::Float).ok_or_else(unknown)?),
        "c" => number(sized(Kind::Complex).ok_or_else(unknown)?),
        _ => Err(unknown()),
    }
}

impl Type {
    /// Bytes per element; overflow was checked when the type was parsed.
    pub fn size(&self) -> u64 {
        self.shape.iter().product::<u64>() * self.width
    }

    fn checked(self) -> Result<Type, Fault> {
        // Zeros count as 1: otherwise they would hide how many nested lists there are.
        let most =
            self.shape.iter().try_fold(self.width.max(1), |size, axis| size.checked_mul((*axis).max(1)));
        match most {
            Some(size) if size <= MAX_BYTES => Ok(self),
            _ => limit(format!("an element takes more than {MAX_BYTES} bytes, which is the limit")),
        }
    }

    /// The numeric type of an element, if it is a number.
    pub fn number(&self) -> Option<Dtype> {
        match self.cell {
            ElementKind::Number(dtype) if self.shape.is_empty() => Some(dtype),
            _ => None,
        }
    }

    /// True for integers, also with several dimensions.
    pub fn is_int(&self) -> bool {
        matches!(
            self.cell,
            ElementKind::Number(Dtype { element: Element { kind: Kind::Int | Kind::Uint, .. }, .. })
        )
    }

    /// The type without its shape, in Python syntax, as .npy headers have it.
    pub fn descr(&self) -> String {
        match &self.cell {
            ElementKind::Number(dtype) => dtype.to_string(),
            ElementKind::Bytes => format!("|S{}", self.width),
            ElementKind::Unicode(endian) => format!("{}U{}", mark(*endian), self.width / 4),
            ElementKind::Time(_, name) => name.to_string(),
            ElementKind::Raw(name) if name.starts_with(['|', '<', '>']) => name.to_string(),
            ElementKind::Raw(_) if self.width == 32 => "<c32".into(),
            ElementKind::Raw(_) => "<f16".into(),
            ElementKind::Fields(fields) => {
                let field = |(name, _, of): &(Box<str>, u64, Type)| {
                    let name = crate::array::numpy::python_literal(name);
                    let descr = of.descr();
                    let quoted = if descr.starts_with('[') { descr } else { format!("'{descr}'") };
                    let sizes: String = of.shape.iter().map(|size| format!("{size}, ")).collect();
                    let shape =
                        if sizes.is_empty() { String::new() } else { format!(", ({})", sizes.trim_end()) };
                    format!("({name}, {quoted}{shape})")
                };
                format!("[{}]", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn mark(endian: Endian) -> char {
    if endian == Endian::Big { '>' } else { '<' }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::*;
    use crate::format::awkward::json;

    fn of(text: &str) -> Result<(String, u64, Vec<u64>), String> {
        let found = parse(&json::parse(text, &Budget::new(0)).unwrap()).map_err(|fault| fault.problem)?;
        Ok((found.descr(), found.size(), found.shape))
    }

    #[test]
    fn every_form() {
        for (text, descr, size, shape) in [
            (r#""int64""#, "<i8", 8, vec![]),
            (r#"">u2""#, ">u2", 2, vec![]),
            (r#""bool""#, "|b1", 1, vec![]),
            (r#""<U3""#, "<U3", 12, vec![]),
            (r#""|S5""#, "|S5", 5, vec![]),
            (r#""|V8""#, "|V8", 8, vec![]),
            (r#""datetime64[ns]""#, "<M8[ns]", 8, vec![]),
            (r#"">m8[25us]""#, ">m8[25us]", 8, vec![]),
            (r#""datetime64""#, "<M8", 8, vec![]),
            (r#"">m8""#, ">m8", 8, vec![]),
            (r#""timedelta64[generic]""#, "<m8", 8, vec![]),
            (r#""float128""#, "<f16", 16, vec![]),
            (r#"["float32", [3, 4]]"#, "<f4", 48, vec![3, 4]),
            (r#"["float32", 5]"#, "<f4", 20, vec![5]),
            (r#"["float32", [0]]"#, "<f4", 0, vec![0]),
            (
                r#"[["x", "int32"], ["y", ["float32", [2]]]]"#,
                r#"[("x", '<i4'), ("y", '<f4', (2,))]"#,
                12,
                vec![],
            ),
            (r#"[["x", "int32"], ["y", "int8"]]"#, r#"[("x", '<i4'), ("y", '|i1')]"#, 5, vec![]),
            (r#"[[["p", "int8"]], [2]]"#, r#"[("p", '|i1')]"#, 2, vec![2]),
        ] {
            assert_eq!(of(text), Ok((descr.into(), size, shape)), "{text}");
        }
    }

    #[test]
    fn exceeded_limits_are_not_damage() {
        let deep = format!("{}\"int8\"{}", "[[\"x\", ".repeat(17), "]]".repeat(17));
        let fields = (0..4097).map(|n| format!("[\"{n}\", \"int8\"]")).collect::<Vec<_>>().join(", ");
        let axes = format!("[\"int8\", [{}1]]", "1, ".repeat(32));
        for text in [&*deep, &format!("[{fields}]"), &axes, "[\"int8\", [1073741825]]"] {
            let fault = parse(&json::parse(text, &Budget::new(0)).unwrap()).unwrap_err();
            assert!(fault.is_unsupported && fault.problem.contains("limit"), "{fault:?}");
        }
    }

    #[test]
    fn invalid_types_are_refused() {
        for text in [
            r#""int24""#,
            r#""object""#,
            r#""|O""#,
            r#"["int64", [4294967296, 4294967296]]"#,
            r#"["int64", [-1]]"#,
            r#"["int64", [1.5]]"#,
            r#""|S99999999999""#,
            r#""é""#,
            r#"[]"#,
            r#"[["x"]]"#,
            r#"[["x", "int8"], ["x", "int8"]]"#,
            r#"5"#,
            r#""f3""#,
            r#""""#,
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
