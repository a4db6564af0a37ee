//! Element types as numpy's `str()` prints them, which the reference uses.

use super::super::read::dtype::{ElementKind, Type};
use crate::array::numpy::python_repr;
use crate::array::{Dtype, Endian};

impl Type {
    /// The type without its shape, in its usual form: `int64`, `>u2`, `datetime64[ns]`.
    pub fn name(&self) -> String {
        match &self.cell {
            ElementKind::Number(Dtype { element, endian: Endian::Little }) => {
                element.name().unwrap_or("?").into()
            }
            ElementKind::Time(_, name) | ElementKind::Raw(name) => match name.split_at_checked(3) {
                Some(("<M8", unit)) => format!("datetime64{unit}"),
                Some(("<m8", unit)) => format!("timedelta64{unit}"),
                _ => name.to_string(),
            },
            _ => self.descr(),
        }
    }

    /// As the type of a field: `float64`, `('<f4', (2,))`, `[('a', '<i2'), ('b', '>i4')]`.
    pub fn of_field(&self) -> String {
        match (&self.cell, self.shape.as_slice()) {
            (ElementKind::Fields(_), []) => self.brief(),
            (_, []) => self.name(),
            (_, shape) => format!("({}, {})", self.brief(), tuple(shape)),
        }
    }

    /// The type without its shape, nested in other types.
    fn brief(&self) -> String {
        if let ElementKind::Fields(fields) = &self.cell {
            let field = |(name, _, of): &(Box<str>, u64, Type)| {
                let shape =
                    if of.shape.is_empty() { String::new() } else { format!(", {}", tuple(&of.shape)) };
                format!("({}, {}{shape})", python_repr(name), of.brief())
            };
            return format!("[{}]", fields.iter().map(field).collect::<Vec<_>>().join(", "));
        }
        let descr = self.descr();
        let bare = match descr.trim_start_matches('|') {
            "b1" => "?",
            // numpy prints no number for a size of zero.
            bare if self.width == 0 => bare.trim_end_matches('0'),
            bare => bare,
        };
        format!("'{bare}'")
    }
}

fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::format::awkward::json;
    use crate::format::awkward::read::budget::Budget;
    use crate::format::awkward::read::dtype;

    /// Expected values printed by awkward0 0.15.5 with numpy 1.23.5.
    #[test]
    fn types_print_as_in_numpy() {
        for (text, name, of_field) in [
            (r#""int64""#, "int64", "int64"),
            (r#"">i2""#, ">i2", ">i2"),
            (r#""bool""#, "bool", "bool"),
            (r#""<U3""#, "<U3", "<U3"),
            (r#""|S5""#, "|S5", "|S5"),
            (r#""|V3""#, "|V3", "|V3"),
            (r#""datetime64[25s]""#, "datetime64[25s]", "datetime64[25s]"),
            (r#"">M8[ns]""#, ">M8[ns]", ">M8[ns]"),
            (r#""timedelta64""#, "timedelta64", "timedelta64"),
            (r#"">M8""#, ">M8", ">M8"),
            (r#""float128""#, "float128", "float128"),
            (r#"">f16""#, ">f16", ">f16"),
            (r#"">c32""#, ">c32", ">c32"),
            (r#"["float32", [2]]"#, "float32", "('<f4', (2,))"),
            (r#"[[["q", ["int32", [2]]]], [3, 1]]"#, "", "([('q', '<i4', (2,))], (3, 1))"),
            (r#"[["m", [["n", "uint8"]]]]"#, "", "[('m', [('n', 'u1')])]"),
            (
                r#"[["it's", "int8"], ["b", "bool"], ["c", "complex128"], ["g", ">c8"], ["u", ">U2"], ["é", "|S1"]]"#,
                "",
                r#"[("it's", 'i1'), ('b', '?'), ('c', '<c16'), ('g', '>c8'), ('u', '>U2'), ('é', 'S1')]"#,
            ),
            (
                r#"[["a", "|S0"], ["b", "|V0"], ["c", "<U0"], ["d", "datetime64"], ["e", ">m8"], ["g", "float128"], ["h", ">f16"]]"#,
                "",
                "[('a', 'S'), ('b', 'V'), ('c', '<U'), ('d', '<M8'), ('e', '>m8'), ('g', '<f16'), ('h', '>f16')]",
            ),
        ] {
            let found = dtype::parse(&json::parse(text, &Budget::new(0)).unwrap()).unwrap();
            if !name.is_empty() {
                assert_eq!(found.name(), name, "{text}");
            }
            assert_eq!(found.of_field(), of_field, "{text}");
        }
    }
}
