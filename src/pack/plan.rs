//! Plans which datasets the arguments become. Everything that can be known without reading all data is checked here:
//! conflicting names, inputs that cannot be opened, invalid arrays.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::input::{Input, Origin};
use super::sidecar::{self, DataType, Role, Sidecar};
use super::walk::{self, InputFile};
use super::{Options, rules, transpose};
use crate::array::Array;
use crate::format::writer::{Described, LEVEL, lost};
use crate::format::{Compression, described};
use crate::tree::naming;
use crate::yaml::{Node, Text};
use crate::{Error, Result};

/// The argument that means standard input.
const STDIN: &str = "-";

pub struct Plan {
    pub datasets: Vec<Planned>,
    /// Notes for the user about files that are left out or treated unexpectedly.
    pub notes: Vec<String>,
}

/// A dataset to be written.
#[derive(Debug)]
pub struct Planned {
    pub name: Text,
    /// The type of the new dataset.
    pub what: Described,
    pub metadata: Arc<Node>,
    pub compression: Option<Compression>,
    /// The description that the dataset had in its container.
    pub origin: Option<Arc<Node>>,
    /// The format's own fields in its sidecar, beside the metadata.
    pub facts: Option<Arc<Node>>,
    /// The sidecar that describes it.
    pub sidecar: Option<PathBuf>,
    pub input: Input,
    /// The array as in the input, if its elements must be reordered.
    pub turned: Option<Array>,
}

impl Plan {
    /// Bytes that will be read.
    pub fn len(&self) -> u64 {
        // Archives can claim any lengths for their members, so the sum may overflow.
        self.datasets.iter().map(|dataset| dataset.input.len()).fold(0, u64::saturating_add)
    }

    /// Notes which arrays lose their F order because the format does not support it.
    pub fn note_orders(&mut self) {
        let turned = self.datasets.iter().filter(|dataset| dataset.turned.is_some());
        self.notes.extend(turned.map(|dataset| format!("{}: {}", dataset.input, lost::F_ORDER)));
    }

    /// The input that is the same file as `target`.
    pub fn reads(&self, target: &Path) -> Option<&Path> {
        let meta = fs::metadata(target).ok()?;
        let is_target = |origin: &&Origin| (origin.dev, origin.ino) == (meta.dev(), meta.ino());
        let origins = self.datasets.iter().filter_map(|dataset| dataset.input.origin());
        origins.filter(is_target).map(|origin| origin.path.as_path()).next()
    }
}

/// Plans the datasets for `paths`. Plain files form one group and each directory another; groups come in the order of
/// their first argument.
pub fn plan(paths: &[PathBuf], options: &Options) -> Result<Plan> {
    let mut plan = Plan { datasets: Vec::new(), notes: Vec::new() };
    for group in groups(paths, options, &mut plan.notes)? {
        match group {
            Group::Stdin => plan.datasets.push(stdin(options)),
            Group::Files(files) => plan.add(&files, options)?,
        }
    }
    plan.check_names()?;
    Ok(plan)
}

/// Inputs that are examined together, for sidecars.
enum Group {
    Stdin,
    Files(Vec<InputFile>),
}

fn groups(paths: &[PathBuf], options: &Options, notes: &mut Vec<String>) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    let mut plain_at = None;
    for path in paths {
        if path.as_os_str() == STDIN {
            groups.push(Group::Stdin);
            continue;
        }
        let meta = fs::metadata(path).map_err(|cause| Error::open(path, cause))?;
        if options.name.is_some() && (paths.len() > 1 || meta.is_dir()) {
            return Err(Error::Usage("--name is for a single input that is not a directory".into()));
        }
        if meta.is_dir() {
            groups.push(Group::Files(walk::walk(path, notes)?));
            continue;
        }
        let file = plain(path, meta.is_file())?;
        match plain_at.and_then(|at: usize| groups.get_mut(at)) {
            Some(Group::Files(files)) => files.push(file),
            _ => {
                plain_at = Some(groups.len());
                groups.push(Group::Files(vec![file]));
            }
        }
    }
    Ok(groups)
}

fn plain(path: &Path, is_file: bool) -> Result<InputFile> {
    let shown = path.display();
    if !is_file {
        return Err(Error::Other(format!(
            "{shown}: is not a regular file: read it as standard input, with -"
        )));
    }
    let name =
        path.file_name().ok_or_else(|| Error::Other(format!("{shown}: has no name to give to a dataset")))?;
    Ok(InputFile { relative: name.as_bytes().to_vec(), path: path.to_owned() })
}

fn stdin(options: &Options) -> Planned {
    Planned {
        name: options.name.clone().unwrap_or_else(|| "stdin".into()),
        what: rules::other(options),
        metadata: options.metadata.clone(),
        compression: options.compression,
        origin: None,
        facts: None,
        sidecar: None,
        input: Input::Stdin,
        turned: None,
    }
}

impl Plan {
    /// Adds the files with sidecars in their original order, then the others in the given order.
    fn add(&mut self, files: &[InputFile], options: &Options) -> Result<()> {
        let roles = sidecar::roles(files, &mut self.notes)?;
        let mut described: Vec<(&InputFile, &Sidecar)> = Vec::new();
        let mut others = Vec::new();
        for (file, role) in files.iter().zip(&roles) {
            match role {
                Role::Described(sidecar) => described.push((file, sidecar)),
                Role::Plain => others.push(file),
                Role::Sidecar => {}
            }
        }
        described.sort_by_cached_key(|(file, sidecar)| (sidecar.place(), file.relative.clone()));
        for (file, sidecar) in described {
            let path = files.get(sidecar.file).map_or(Path::new(""), |file| &file.path);
            let dataset = from_sidecar(file, path, sidecar, options, &mut self.notes)?;
            self.push(dataset, options);
        }
        for file in others {
            for dataset in rules::datasets(file, options)? {
                self.push(dataset, options);
            }
        }
        Ok(())
    }

    fn push(&mut self, mut dataset: Planned, options: &Options) {
        if let (Described::Array(array), Some(order)) = (&mut dataset.what, options.order) {
            dataset.turned = transpose::needed(array, order);
            array.order = order;
        }
        self.datasets.push(dataset);
    }

    fn check_names(&self) -> Result<()> {
        let mut first = HashMap::new();
        for dataset in &self.datasets {
            if let Some(other) = first.insert(dataset.name.as_bytes(), &dataset.input) {
                return Err(Error::Other(format!(
                    "{other} and {} would both become the dataset {:?}: rename one of them",
                    dataset.input,
                    naming::printed(dataset.name.as_bytes())
                )));
            }
        }
        Ok(())
    }
}

fn from_sidecar(
    file: &InputFile,
    path: &Path,
    sidecar: &Sidecar,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Planned> {
    let wrong = |problem: String| Error::Other(format!("{}: {problem}", path.display()));
    let (what, was_compressed) = match &sidecar.data_type {
        DataType::Codec(codec) => {
            described(codec).map_err(|problem| wrong(format!("its codecMeta: {problem}")))?
        }
        DataType::Numpy(of) => {
            let array = sidecar::array(of).map_err(|problem| wrong(format!("its numpy: {problem}")))?;
            if array.is_none() {
                notes.push(format!(
                    "{}: describes elements that no container has: it is packed as bytes",
                    path.display()
                ));
            }
            (array.map_or_else(|| rules::other(options), Described::Array), false)
        }
        DataType::Bytes => (rules::other(options), false),
    };
    let origin = Origin::open(&file.path)?;
    if let Some(need) = what.byte_len().filter(|need| *need != origin.len) {
        let shown = file.path.display();
        return Err(wrong(format!("describes {need} bytes, {shown} has {}", origin.len)));
    }
    let kept = was_compressed.then_some(Compression::Zlib(LEVEL));
    Ok(Planned {
        name: options.name.clone().unwrap_or_else(|| sidecar.name.clone()),
        what,
        metadata: sidecar.metadata.clone(),
        compression: options.compression.or(kept),
        origin: match &sidecar.data_type {
            DataType::Codec(codec) => Some(codec.clone()),
            _ => None,
        },
        facts: sidecar.facts.clone(),
        sidecar: Some(path.to_owned()),
        input: Input::File { origin, from: 0 },
        turned: None,
    })
}
