//! How the store answers.
//!
//! | option | what it does |
//! |---|---|
//! | `first_byte=MS` | waits so long before each reply |
//! | `rate=MB/S` | of each connection; 0: no limit |
//! | `busy=SHARE` | of the requests are answered 503 |
//! | `cut=SHARE` | of the replies end in the middle of the body |
//! | `hang=SHARE` | of the requests get no answer until it is 0 again, and then none either |
//! | `status=CODE[ WORD]` | of every reply, with the store's word for it: `403 AccessDenied`; 0: as usual |
//! | `redirect=URL` | where every request is sent on to; empty: nowhere |
//! | `ranges=off` | whole objects only |
//! | `conditions=off` | `If-Match`, `If-None-Match` and the like are ignored |
//! | `tags=strong` | kind of entity tags: `strong`, `weak`, `none`, or `changing` with each reply |
//! | `replace_after=N` | after so many requests, every object has the content of `replacement=FILE` |
//! | `objects=N NAME` | so many objects that are listed and have no content: `100000 bucket/run/` |
//! | `object=FILE NAME` | a file of the folder under another name, percent-encoded: `x.rab bucket/a//%FF.rab` |

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Default)]
pub struct Options {
    pub first_byte: Duration,
    /// Bytes in a second.
    pub rate: Option<f64>,
    pub busy: f64,
    pub cut: f64,
    pub hang: f64,
    pub status: Option<(u16, String)>,
    pub redirect: Option<String>,
    pub has_no_ranges: bool,
    pub has_no_conditions: bool,
    pub tags: Tags,
    pub replacement: PathBuf,
    /// Requests until objects are replaced.
    pub replace_after: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Tags {
    #[default]
    Strong,
    Weak,
    None,
    Changing,
}

impl Options {
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<f64>().map_err(|_| format!("{name}={value}: no number"));
        match name {
            "first_byte" => self.first_byte = Duration::from_secs_f64(number()? / 1e3),
            "rate" => self.rate = Some(number()? * 1e6).filter(|rate| *rate > 0.0),
            "busy" => self.busy = number()?,
            "cut" => self.cut = number()?,
            "hang" => self.hang = number()?,
            "status" => {
                let (status, word) = value.split_once(' ').unwrap_or((value, ""));
                let status = status.parse().map_err(|_| format!("{name}={value}: no number"))?;
                self.status = Some((status, word.to_owned())).filter(|_| status > 0);
            }
            "redirect" => self.redirect = Some(value.to_owned()).filter(|url| !url.is_empty()),
            "ranges" => self.has_no_ranges = value == "off",
            "conditions" => self.has_no_conditions = value == "off",
            "tags" => {
                self.tags = match value {
                    "strong" => Tags::Strong,
                    "weak" => Tags::Weak,
                    "none" => Tags::None,
                    "changing" => Tags::Changing,
                    _ => return Err(format!("{name}={value}: strong, weak, none or changing")),
                }
            }
            "replacement" => self.replacement = value.into(),
            "replace_after" => self.replace_after = Some(number()? as u64),
            _ => return Err(format!("there is no option {name}")),
        }
        Ok(())
    }
}
