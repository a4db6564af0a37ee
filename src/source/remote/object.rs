//! What a store is asked for: ranges of one object.

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::time::SystemTime;

/// The answer to a request.
pub type Answer = Pin<Box<dyn Future<Output = Result<Part, Failure>> + Send>>;

pub trait Object: Send + Sync {
    /// A range of the object, at most up to its end. With an entity tag it is the object of that tag, or
    /// [`Failure::Changed`].
    fn get(&self, range: Range<u64>, tag: Option<&str>) -> Answer;

    /// A range of the object, or [`Failure::Unchanged`] if it still has this entity tag.
    fn get_unless(&self, range: Range<u64>, tag: &str) -> Answer;

    /// Its last `len` bytes, or all of a shorter one. None: this store cannot be asked for them without knowing the length.
    fn get_end(&self, len: u64) -> Option<Answer>;
}

/// Which version is asked for.
pub enum Condition {
    None,
    /// The one of this entity tag.
    Is(String),
    /// Any but that of this entity tag.
    Unless(String),
}

impl Condition {
    pub fn of(tag: Option<&str>) -> Condition {
        tag.map_or(Condition::None, |tag| Condition::Is(tag.to_owned()))
    }

    /// A weak tag never matches (RFC 9110, section 13.1.1); it is compared with the answer's by [`Condition::check`].
    pub fn if_match(&self) -> Option<&str> {
        match self {
            Condition::Is(tag) => Some(tag.as_str()).filter(|tag| !tag.starts_with("W/")),
            _ => None,
        }
    }

    pub fn if_none_match(&self) -> Option<&str> {
        match self {
            Condition::Unless(tag) => Some(tag),
            _ => None,
        }
    }

    /// Not every store honours conditions.
    pub fn check(&self, answered: Option<&str>) -> Result<(), Failure> {
        match self {
            Condition::Is(tag) if answered != Some(tag) => Err(Failure::Changed),
            Condition::Unless(tag) if answered == Some(tag) => Err(Failure::Unchanged),
            _ => Ok(()),
        }
    }
}

/// Some bytes of an object, from the beginning of the range that was asked for.
pub struct Part {
    pub bytes: Vec<u8>,
    /// Bytes of the whole object.
    pub len: u64,
    /// Its entity tag (RFC 9110, section 8.8.3), with quotes.
    pub tag: Option<String>,
    pub modified: Option<SystemTime>,
}

/// What distinguishes an object from the one that replaces it. Servers without entity tags leave the time and length.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct Version {
    pub tag: Option<String>,
    len: u64,
    modified: Option<SystemTime>,
}

impl Version {
    pub fn new(tag: Option<String>, len: u64, modified: Option<SystemTime>) -> Version {
        let modified = modified.filter(|_| tag.is_none());
        Version { tag, len, modified }
    }

    pub fn len(&self) -> u64 {
        self.len
    }
}

/// An entity tag with quotes, which Azure leaves out in listings.
pub fn quoted(tag: &str) -> String {
    if tag.ends_with('"') { tag.to_owned() } else { format!("\"{tag}\"") }
}

impl Part {
    pub fn version(&self) -> Version {
        Version::new(self.tag.clone(), self.len, self.modified)
    }
}

#[derive(Clone, Debug)]
pub enum Failure {
    Missing,
    NoBucket,
    /// With what the store says.
    Refused(String),
    /// The object is not the one that was opened.
    Changed,
    /// The object is still that of the entity tag.
    Unchanged,
    /// The server sends whole objects only.
    NoRanges,
    TimedOut,
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Missing => f.write_str("no such object"),
            Failure::NoBucket => f.write_str("no such bucket"),
            Failure::Refused(why) => write!(f, "access is refused: {why}"),
            Failure::Changed => f.write_str("it was replaced while it was read"),
            Failure::Unchanged => f.write_str("it has not changed"),
            Failure::NoRanges => {
                f.write_str("the server does not send parts of files (HTTP ranges): download the file first")
            }
            Failure::TimedOut => f.write_str("the server did not answer in time"),
            Failure::Other(why) => f.write_str(why),
        }
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        let kind = match failure {
            Failure::Missing | Failure::NoBucket => io::ErrorKind::NotFound,
            Failure::Refused(_) => io::ErrorKind::PermissionDenied,
            Failure::TimedOut => return io::Error::from_raw_os_error(libc::ETIMEDOUT),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, failure.to_string())
    }
}
