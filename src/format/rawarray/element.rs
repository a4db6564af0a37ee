//! Element types, given by eltype and elbyte together. Writers disagree about eltype 5; its elbyte decides. Types of
//! unusual sizes become opaque bytes.

use super::header::{BITS, ELBYTE, ELTYPE, FLAGS, Header};
use crate::Result;
use crate::array::{Element, Kind};

/// Values of eltype.
const STRUCT: u64 = 0;
const INT: u64 = 1;
const UINT: u64 = 2;
const FLOAT: u64 = 3;
const COMPLEX: u64 = 4;
const BOOL_OR_BFLOAT: u64 = 5;

#[derive(Clone, Debug)]
pub struct Type {
    /// Name shown to users.
    pub name: String,
    /// None if the size exceeds 32 bits.
    pub element: Option<Element>,
    /// Bytes per decoded element.
    pub size: u64,
    /// How to interpret it where numpy has no such type, or what was assumed.
    pub note: Option<String>,
}

impl Type {
    /// Reads the type from the header. Combinations that no writer produces are errors.
    pub fn of(header: &Header) -> Result<Type> {
        let Header { eltype, elbyte, .. } = *header;
        if header.has(BITS) && (eltype, elbyte) != (BOOL_OR_BFLOAT, 8) {
            let problem = format!(
                "flags say bits (4), for which eltype must be 5 and elbyte 8, but they are {eltype} and \
                 {elbyte}"
            );
            return Err(header.damaged(FLAGS, problem));
        }
        if elbyte == 0 && (header.size != 0 || header.count()? != 0 && !header.dims.is_empty()) {
            return Err(header.damaged(ELBYTE, "elbyte is 0, but the array has elements"));
        }
        if elbyte == 0 {
            let mut assumed = Type::sized(header, usual_size(eltype))?;
            let size = assumed.size;
            assumed.note = Some(format!("elbyte is 0 in an array without elements: {size} is assumed"));
            return Ok(assumed);
        }
        Type::sized(header, elbyte)
    }

    fn sized(header: &Header, elbyte: u64) -> Result<Type> {
        let bits = elbyte.saturating_mul(8);
        let eltype = header.eltype;
        let invalid = |problem: &str| Err(header.damaged(ELBYTE, format!("elbyte is {elbyte}: {problem}")));
        match (eltype, elbyte) {
            (STRUCT, _) => Ok(Type::opaque("struct".into(), elbyte, None)),
            (INT, 1 | 2 | 4 | 8) => Ok(Type::number(Kind::Int, format!("int{bits}"), elbyte)),
            (UINT, 1 | 2 | 4 | 8) => Ok(Type::number(Kind::Uint, format!("uint{bits}"), elbyte)),
            (INT, 16) => Ok(Type::non_numpy(Kind::Int, "int128", elbyte, "whole numbers with a sign")),
            (UINT, 16) => Ok(Type::non_numpy(Kind::Uint, "uint128", elbyte, "whole numbers")),
            (INT, _) => Ok(Type::odd_size(format!("int{bits}"), elbyte)),
            (UINT, _) => Ok(Type::odd_size(format!("uint{bits}"), elbyte)),
            (FLOAT, 2 | 4 | 8) => Ok(Type::number(Kind::Float, format!("float{bits}"), elbyte)),
            (FLOAT, 10 | 16) => Ok(Type::opaque(format!("float{bits}"), elbyte, Some(long_double("floats")))),
            (FLOAT, _) => invalid("floats (eltype 3) have 2, 4, 8, 10 or 16 bytes"),
            (COMPLEX, 4) => Ok(Type::non_numpy(
                Kind::Complex,
                "complex32",
                elbyte,
                "pairs of float16, real and imaginary",
            )),
            (COMPLEX, 8 | 16) => Ok(Type::number(Kind::Complex, format!("complex{bits}"), elbyte)),
            (COMPLEX, 20 | 32) => {
                Ok(Type::opaque(format!("complex{bits}"), elbyte, Some(long_double("pairs of floats"))))
            }
            (COMPLEX, _) if elbyte % 2 == 1 => invalid("complex numbers (eltype 4) have two halves"),
            (COMPLEX, _) => Ok(Type::odd_size(format!("complex{bits}"), elbyte)),
            (BOOL_OR_BFLOAT, 1) => Ok(Type::number(Kind::Bool, "bool".into(), elbyte)),
            (BOOL_OR_BFLOAT, 2) => {
                Ok(Type::non_numpy(Kind::Bfloat, "bfloat16", elbyte, "the upper halves of float32"))
            }
            (BOOL_OR_BFLOAT, 8) if header.has(BITS) => Ok(Type::number(Kind::Bool, "bool".into(), 1)),
            (BOOL_OR_BFLOAT, _) => {
                invalid("for eltype 5 it must be 1 (bool), 2 (bfloat16), or 8 with the flag for bits (4)")
            }
            _ => Err(header.damaged(ELTYPE, format!("eltype is {eltype}; only 0 to 5 are supported"))),
        }
    }

    fn number(kind: Kind, name: String, size: u64) -> Type {
        Type { element: element(kind, size), name, size, note: None }
    }

    /// A number that numpy has no name for.
    fn non_numpy(kind: Kind, name: &str, size: u64, what: &str) -> Type {
        let note = format!("numpy has no {name}: it sees {size} bytes each, which are {what}");
        Type { note: Some(note), ..Type::number(kind, name.into(), size) }
    }

    fn odd_size(name: String, size: u64) -> Type {
        let note = format!("{name} are numbers of an odd size, served as {size} raw bytes each");
        Type::opaque(name, size, Some(note))
    }

    fn opaque(name: String, size: u64, note: Option<String>) -> Type {
        Type { element: element(Kind::Opaque, size), name, size, note }
    }
}

fn element(kind: Kind, size: u64) -> Option<Element> {
    u32::try_from(size).ok().map(|size| Element { kind, size })
}

fn long_double(what: &str) -> String {
    format!(
        "they are {what} as the machine that wrote them has its long double (on x86 80 bits and padding, not IEEE \
         binary128), served as bytes"
    )
}

/// Element size assumed for empty arrays with an elbyte of 0.
fn usual_size(eltype: u64) -> u64 {
    match eltype {
        INT | UINT | FLOAT => 8,
        COMPLEX => 16,
        _ => 1,
    }
}
