//! Resolves names through symbolic links, as paths in a mount do.

use crate::tree::Link;

/// Links on the way to one dataset, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// The names that `name` leads to through links, from link to link: the first of them that is one is meant. Circles
/// end.
pub fn followed<'l>(links: &'l [Link], name: &[u8]) -> impl Iterator<Item = Vec<u8>> + use<'l> {
    let next = move |name: &Vec<u8>| {
        links.iter().find_map(|link| {
            let below = |place: &[u8]| {
                name.strip_prefix(place).filter(|rest| rest.first().is_none_or(|b| *b == b'/'))
            };
            let rest = below(link.name.as_bytes()).or_else(|| below(&link.place.join(&b'/')))?;
            Some([target(link).join(&b'/'), rest.to_vec()].concat())
        })
    };
    std::iter::successors(Some(name.to_vec()), next).skip(1).take(MAX_LINKS)
}

/// Where a link leads, from the root.
fn target(link: &Link) -> Vec<&[u8]> {
    let dir = link.place.split_last().map_or(&[][..], |(_, dir)| dir);
    let mut parts: Vec<&[u8]> = dir.iter().map(Vec::as_slice).collect();
    for part in link.target.split(|b| *b == b'/') {
        match part {
            b"." | b"" => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(place: &str, target: &str) -> Link {
        let name = place.replace("%25", "%").into();
        let place = place.split('/').map(|part| part.as_bytes().to_vec()).collect();
        Link { place, name, target: target.into() }
    }

    fn all(links: &[Link], name: &str) -> Vec<String> {
        followed(links, name.as_bytes()).map(|name| String::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn links_are_followed_from_the_directory_that_they_are_in() {
        let links = [
            link("columns/b", "a"),
            link("columns/bb", "../x/y"),
            link("x/y", "./z"),
            link("x/c", "c"),
            link("columns/c%25", "a"),
            link("x/d", "e/f"),
            link("x/e", "d"),
        ];
        assert_eq!(all(&links, "columns/b"), ["columns/a"]);
        assert_eq!(all(&links, "columns/b/content/data"), ["columns/a/content/data"]);
        assert_eq!(all(&links, "columns/bb/data"), ["x/y/data", "x/z/data"]);
        assert!(all(&links, "columns/bc").is_empty() && all(&links, "").is_empty());
        for name in ["columns/c%", "columns/c%25"] {
            assert_eq!(all(&links, &format!("{name}/data")), ["columns/a/data"], "{name}");
        }
        assert_eq!(all(&links, "x/c"), ["x/c"; MAX_LINKS]);
        assert_eq!(all(&links, "x/d").len(), MAX_LINKS);
    }
}
