//! Turns a file without a sidecar into datasets. Files that are parsed (`.npy`, `.npz` and, on request, `.csv`,
//! `.yaml`, `.json`) lose their extension in the dataset's name; files stored as plain bytes keep it.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::input::{Input, Origin};
use super::plan::Planned;
use super::walk::InputFile;
use super::{Options, dataframe, npz};
use crate::array::npy::{self, Refused};
use crate::error::{Place, counted};
use crate::format::writer::Described;
use crate::yaml::{self, Text};
use crate::{Error, Result};

/// The datasets of a file.
pub fn datasets(file: &InputFile, options: &Options) -> Result<Vec<Planned>> {
    let extension = file.path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let path = file.path.as_path();
    let origin = Origin::open(path)?;
    let one = |name: Text, (what, input): (Described, Input)| Ok(vec![planned(name, what, input, options)]);
    match extension.as_deref() {
        Some("npy") => one(name(file, 4, options)?, array(origin)?),
        Some("npz") => npz::datasets(origin, &name(file, 4, options)?, options),
        Some("csv") if options.dataframes => {
            let table = dataframe::infer(path)?;
            let what = Described::Table(table.clone());
            one(name(file, 4, options)?, (what, Input::Csv { origin, table }))
        }
        Some(extension @ ("yaml" | "yml" | "json")) if options.objects => {
            let made = object(path, extension == "json")?;
            let name = name(file, extension.len() + 1, options)?;
            one(
                name,
                match made {
                    Some(text) => (Described::Object, Input::Made { origin, text }),
                    None => (Described::Object, Input::File { origin, from: 0 }),
                },
            )
        }
        _ => one(name(file, 0, options)?, (other(options), Input::File { origin, from: 0 })),
    }
}

/// The type of a file that is not recognized.
pub fn other(options: &Options) -> Described {
    if options.text { Described::Text } else { Described::Bytes }
}

/// A dataset without a sidecar.
pub fn planned(name: Text, what: Described, input: Input, options: &Options) -> Planned {
    Planned {
        name,
        what,
        metadata: options.metadata.clone(),
        compression: options.compression,
        origin: None,
        facts: None,
        sidecar: None,
        input,
        turned: None,
    }
}

/// The file's name without its last `cut` bytes.
fn name(file: &InputFile, cut: usize, options: &Options) -> Result<Text> {
    if let Some(name) = &options.name {
        return Ok(name.clone());
    }
    let kept = file.relative.len().saturating_sub(cut);
    let text = file.relative.get(..kept).and_then(|name| std::str::from_utf8(name).ok());
    text.map(Text::from).ok_or_else(|| {
        let shown = file.path.display();
        Error::Other(format!("{shown}: its name is not UTF-8: rename it, or pack it alone with --name"))
    })
}

fn array(origin: Origin) -> Result<(Described, Input)> {
    let file = File::open(&origin.path).map_err(|cause| Error::open(&origin.path, cause))?;
    let (array, from) =
        npy::parse(&mut BufReader::new(file)).map_err(|refused| unsuitable(&origin.path, None, refused))?;
    let what = Described::Array(array);
    check_len(&origin.path, None, &what, origin.len.saturating_sub(from))?;
    Ok((what, Input::File { origin, from }))
}

/// The error for a file, or a member of one, that is not a usable array.
pub fn unsuitable(path: &Path, member: Option<&str>, refused: Refused) -> Error {
    let within = |problem: String| match member {
        Some(member) => format!("member {member:?} {problem}"),
        None => problem,
    };
    match refused {
        Refused::Input(cause) => Error::read(Place::file(path), cause),
        Refused::Unsuitable(what) => Error::Other(format!("{}: {}", path.display(), within(what))),
        Refused::Damaged(what) => Error::damaged(Place::file(path), within(what)),
    }
}

/// Fails unless an array has exactly as many bytes as its header requires.
pub fn check_len(path: &Path, member: Option<&str>, what: &Described, have: u64) -> Result<()> {
    let need = what.byte_len().unwrap_or(have);
    let problem = if have < need {
        format!("is cut short: it has {have} bytes of elements, its .npy header needs {need}")
    } else if have > need {
        format!(
            "has {} after its array (several arrays in one file?): save each to a file of its own",
            counted(have - need, "byte")
        )
    } else {
        return Ok(());
    };
    Err(unsuitable(path, member, Refused::Damaged(problem)))
}

/// Checks an object. JSON is returned rewritten as YAML, because YAML readers understand `1e-05` and escaped surrogates
/// differently; None for YAML, which stays as it is.
fn object(path: &Path, is_json: bool) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let mut file = File::open(path).map_err(|cause| Error::open(path, cause))?;
    file.read_to_end(&mut bytes).map_err(|cause| Error::read(Place::file(path), cause))?;
    let refused = |problem: String| Error::Other(format!("{}: is not an object: {problem}", path.display()));
    let text = std::str::from_utf8(&bytes)
        .map_err(|bad| refused(format!("its text is not UTF-8 at byte {}", bad.valid_up_to())))?;
    if is_json {
        let node = yaml::json(text).map_err(|problem| refused(problem.to_string()))?;
        let mut made = String::new();
        yaml::write(&node, 0, &mut made);
        return Ok(Some(made));
    }
    yaml::value(text).map_err(|problem| refused(problem.to_string()))?;
    Ok(None)
}
