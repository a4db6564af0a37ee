//! Sharded models, recognized by the usual file names.

use std::path::{Path, PathBuf};

const INDEX: &str = ".safetensors.index.json";
const SHARD: &str = ".safetensors";
/// Maximum number of shards of a model without an index, since each shard checks that all others exist. Files of larger
/// models are containers of their own.
const MAX_SHARDS: u64 = 1000;

pub fn is_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(INDEX.as_bytes()))
}

/// `model-00001-of-00003.safetensors`
#[derive(Debug, PartialEq)]
pub struct Shard {
    directory: PathBuf,
    /// `model`
    stem: String,
    /// Counts from 1, or from 0 with some old writers.
    number: u64,
    count: u64,
    /// Number of digits of both numbers.
    width: usize,
}

impl Shard {
    pub fn of(path: &Path) -> Option<Shard> {
        let name = path.file_name()?.to_str()?.strip_suffix(SHARD)?;
        let (name, count) = name.rsplit_once("-of-")?;
        let (stem, number) = name.rsplit_once('-')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(number) || !is_number(count) || number.len() != count.len() {
            return None;
        }
        Some(Shard {
            directory: path.parent()?.to_owned(),
            stem: stem.to_owned(),
            width: count.len(),
            number: number.parse().ok()?,
            count: count.parse().ok().filter(|count| (1..=MAX_SHARDS).contains(count))?,
        })
    }

    pub fn has_index(&self) -> bool {
        self.directory.join(format!("{}{INDEX}", self.stem)).is_file()
    }

    fn is_of(&self, other: &Shard) -> bool {
        let model = |shard: &Shard| (shard.directory.clone(), shard.stem.clone(), shard.count, shard.width);
        model(self) == model(other)
    }

    fn name(&self, number: u64) -> String {
        let Shard { stem, count, width, .. } = self;
        format!("{stem}-{number:0width$}-of-{count:0width$}{SHARD}")
    }

    /// File name of the first missing shard.
    pub fn missing(&self) -> Option<String> {
        let exists = |number: u64| self.directory.join(self.name(number)).is_file();
        let first = u64::from(self.number != 0 && !exists(0));
        let last = (first + self.count).saturating_sub(1);
        (first..=last).find(|number| !exists(*number)).map(|number| self.name(number))
    }
}

/// True if these files are one model: its index, or all of its shards.
pub fn are_one<'p>(files: impl Iterator<Item = &'p Path> + Clone) -> bool {
    if files.clone().any(is_index) {
        return files.count() == 1;
    }
    let Some(shards) = files.map(Shard::of).collect::<Option<Vec<Shard>>>() else { return false };
    let mut numbers: Vec<u64> = shards.iter().map(|shard| shard.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let is_one = shards.first().is_some_and(|first| {
        shards.iter().all(|shard| shard.is_of(first)) && numbers.len() as u64 == first.count
    });
    is_one && numbers.len() == shards.len()
}

/// The problem with a directory that has only some shards of a model.
pub fn incomplete(directory: &Path) -> Option<String> {
    let entries = directory.read_dir().ok()?.flatten();
    let shard =
        entries.filter_map(|entry| Shard::of(&entry.path())).find(|shard| shard.missing().is_some())?;
    let (stem, count, missing) = (&shard.stem, shard.count, shard.missing()?);
    Some(format!(
        "the model {stem} has {count} files, of which {missing} is not here (those that are here can be opened one by one)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shards() {
        let shard = Shard::of(Path::new("d/a-b-00002-of-00003.safetensors")).unwrap();
        assert_eq!((shard.stem.as_str(), shard.number, shard.count), ("a-b", 2, 3));
        assert_eq!(shard.name(1), "a-b-00001-of-00003.safetensors");
        for name in [
            "model.safetensors",
            "m-1-of-02.safetensors",
            "m-+1-of-02.safetensors",
            "m-of-02.safetensors",
            "m-01-of-00.safetensors",
            "m-01-of-02.bin",
            "m-0001-of-1001.safetensors",
        ] {
            assert_eq!(Shard::of(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn only_complete_sets_of_shards_are_one_model() {
        let are = |names: &[&str]| {
            let paths: Vec<PathBuf> = names.iter().map(|name| format!("{name}.safetensors").into()).collect();
            are_one(paths.iter().map(PathBuf::as_path))
        };
        assert!(are(&["m-02-of-02", "m-01-of-02"]) && are(&["m-00-of-02", "m-01-of-02"]));
        assert!(!are(&["m-01-of-03", "m-02-of-03"]) && !are(&["m-01-of-02", "n-02-of-02"]));
        assert!(!are(&["m-01-of-02", "m-01-of-02"]) && !are(&["a", "b"]) && !are(&[]));
        let are_indexes = |names: &[&str]| are_one(names.iter().map(Path::new));
        assert!(are_indexes(&["m.safetensors.index.json"]));
        assert!(!are_indexes(&["m.safetensors.index.json", "n.safetensors.index.json"]));
    }

    #[test]
    fn missing_shards_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str| std::fs::write(dir.path().join(name), "").unwrap();
        write("m-00001-of-00002.safetensors");
        let problem = incomplete(dir.path()).unwrap();
        assert!(problem.contains("m-00002-of-00002.safetensors is not here"), "{problem}");
        write("m-00002-of-00002.safetensors");
        assert_eq!(incomplete(dir.path()), None);
    }
}
