//! The layers of src/: imports point downward in the order of the table in `lib.rs`, and the names of libraries stay in
//! the modules that wrap them.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Top to bottom, as the table in `lib.rs` has them: of each row the last name in the first column.
static ROOMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let map = std::fs::read_to_string(src().join("lib.rs")).unwrap();
    let first =
        |row: &str| Some(row.strip_prefix("//! | ")?.split(" | ").next()?.rsplit('`').nth(1)?.to_owned());
    map.lines().filter_map(first).collect()
});

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file with its path below src/ and its text, tests and comments left out.
fn files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![src()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_none_or(|name| name != "tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(src()).unwrap().display().to_string();
                found.push((name, code(&text)));
            }
        }
    }
    assert!(found.len() > 20);
    found
}

fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    before_tests.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn room(file: &str) -> Option<&str> {
    let first = file.split('/').next().unwrap();
    let name = first.strip_suffix(".rs").unwrap_or(first);
    ROOMS.iter().any(|room| room == name).then_some(name)
}

/// The rooms that a text names as `crate::room`, also in `use crate::{a, b::{c, d}}`.
fn named(text: &str) -> Vec<&str> {
    let after = text.split("crate::").skip(1);
    let words = after.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => top_level(list),
        None => vec![rest],
    });
    words.map(|word| word.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")).collect()
}

/// The items of a list up to its closing brace, not those of lists inside it.
fn top_level(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    items
}

#[test]
fn names_are_found_in_nested_lists() {
    let text = "use crate::{codec::{Engine, Stream}, fs,\n open}; crate::tree::naming::X";
    assert_eq!(named(text), ["codec", "fs", "open", "tree"]);
}

#[test]
fn imports_point_downward() {
    for (file, text) in files() {
        let Some(own) = room(&file) else { continue };
        let height = |name: &str| ROOMS.iter().position(|room| room == name);
        for other in named(&text).into_iter().filter(|other| *other != own) {
            if let Some(other_height) = height(other) {
                assert!(height(own) < Some(other_height), "{file} knows crate::{other}, which is above it");
            }
        }
    }
}

#[test]
fn every_room_is_on_the_map() {
    assert_eq!(
        (ROOMS.first().map(String::as_str), ROOMS.last().map(String::as_str)),
        (Some("cli"), Some("error"))
    );
    for (file, _) in files() {
        assert!(
            file == "lib.rs" || file.starts_with("bin/") || room(&file).is_some(),
            "{file} is in no room"
        );
    }
    for room in ROOMS.iter() {
        assert!(files().iter().any(|(file, _)| self::room(file) == Some(room)), "{room} is not there");
    }
}

#[test]
fn names_that_stay_in_their_rooms() {
    let only = |word: &str, rooms: &[&str]| {
        for (file, text) in files() {
            let home = room(&file).is_none_or(|room| rooms.contains(&room)) && file != "lib.rs";
            assert!(home || !text.contains(word), "{file} names {word}");
        }
    };
    only("fuser::", &["fuse", "mount"]);
    // Of errno in rustix's spelling, which tells what an operation met.
    only("Errno", &["fuse", "mirror", "mount", "source", "unpack"]);
    only("clap", &["cli"]);
    only("globset", &["cli", "mirror"]);
    only("indicatif", &["cli"]);
    only("flate2", &["codec"]);
    only("xxhash_rust", &["codec", "source"]);
    only("zstd::", &["codec"]);
    only("liblzma", &["codec"]);
    only("lz4_flex", &["codec"]);
    only("rawzip::", &["codec"]);
    only("libyaml_safer", &["yaml"]);
}

#[test]
fn formats_know_no_other_format() {
    let formats: Vec<String> = std::fs::read_dir(src().join("format"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".rs").to_owned())
        .filter(|name| name != "mod" && name != "writer")
        .collect();
    for (file, text) in files() {
        let Some(own) = file.strip_prefix("format/").and_then(|rest| rest.split(['/', '.']).next()) else {
            continue;
        };
        for other in formats.iter().filter(|other| *other != own && own != "mod") {
            assert!(!text.contains(&format!("format::{other}")), "{file} knows format {other}");
            assert!(!text.contains(&format!("super::super::{other}")), "{file} knows format {other}");
        }
    }
}

/// Whoever decodes records damage; what damage is depends on none of them.
#[test]
fn damage_knows_no_decoder() {
    let (_, text) = files().into_iter().find(|(file, _)| file == "codec/damage.rs").unwrap();
    assert!(!text.contains("super::"), "codec/damage.rs imports other files of its room");
}

/// Words that are more than the name of a format: `rab` is this project, .npy files are a view too and what `pack`
/// takes arrays from, and ZIP files hold two other formats.
const OTHER_WORDS: [&str; 4] = ["writer", "rab", "npy", "zip"];

/// What only one format has is reached through the abilities that it returns. The commands may explain a format to
/// users, and `pack` takes .npz files apart as it takes other files of numpy's.
#[test]
fn rooms_name_no_format() {
    let formats: Vec<String> = std::fs::read_dir(src().join("format"))
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| !OTHER_WORDS.contains(&name.as_str()))
        .collect();
    assert!(formats.len() > 4);
    for (file, text) in files() {
        let is_allowed = |format: &str| match room(&file) {
            None | Some("cli" | "format") => true,
            Some(room) => room == "pack" && format == "npz",
        };
        for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
            let is_one = formats.iter().any(|format| format == word && !is_allowed(format));
            assert!(!is_one, "{file} names the format {word}");
        }
    }
}

/// Formats lie below views, so they know none either.
#[test]
fn views_know_no_format() {
    for (file, text) in files() {
        assert!(!file.starts_with("view/") || !named(&text).contains(&"format"), "{file} knows formats");
    }
}

/// Abilities are reached through their traits: a type of a format that implements one is named in its own folder alone.
/// (The formats themselves are called by words that texts need; `rooms_name_no_format` looks after those.)
#[test]
fn implementors_stay_in_their_formats() {
    let abilities = ["tree/abilities.rs", "format/abilities.rs"];
    let files = files();
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let traits: Vec<&str> = files
        .iter()
        .filter(|(file, _)| abilities.contains(&file.as_str()))
        .flat_map(|(_, text)| text.split("pub trait ").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap())
        .collect();
    assert!(traits.len() > 6);
    let mut implementors = Vec::new();
    for (file, text) in files.iter().filter(|(file, _)| file.starts_with("format/")) {
        let folder = file.rsplit_once('/').unwrap().0.split('/').take(2).collect::<Vec<_>>().join("/") + "/";
        for line in text.lines().filter(|line| line.starts_with("impl")) {
            let Some((of, name)) = line.trim_end_matches(" {").split_once(" for ") else { continue };
            if traits.iter().any(|ability| words(of).contains(&(*ability).to_owned())) {
                implementors.push((folder.clone(), words(name).remove(0)));
            }
        }
    }
    implementors
        .retain(|(folder, name)| folder.trim_end_matches('/') != format!("format/{}", name.to_lowercase()));
    assert!(implementors.len() > 20);
    for (folder, name) in &implementors {
        for (file, text) in files.iter().filter(|(file, _)| !file.starts_with(folder)) {
            assert!(!words(text).contains(name), "{file} names {name} of {folder}");
        }
    }
}
