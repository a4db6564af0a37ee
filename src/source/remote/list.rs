//! Listings of prefixes, page by page: keys up to the next slash are objects, or directories if they go on.

use std::collections::BTreeMap;
use std::time::SystemTime;

use object_store::list::{PaginatedListOptions, PaginatedListResult};
use object_store::{ObjectMeta, path::Path};

use super::bucket::{Bucket, PATIENCE, parts};
use super::object::{Failure, Version, quoted};
use super::store::failure;
use super::{file_id, runtime};
use crate::source::Listed;

/// Pages of a listing at most: ten million keys.
const MAX_PAGES: usize = 10_000;

/// All that is directly below a prefix, by its names. Of an object and a directory of one name it is the directory.
pub fn list(url: &str) -> Result<BTreeMap<String, Listed>, Failure> {
    let prefix = Prefix::of(url)?;
    runtime::wait(async {
        let mut found = BTreeMap::new();
        let mut token = None;
        for _ in 0..MAX_PAGES {
            token = prefix.page("", token, &mut found).await?;
            if token.is_none() {
                return Ok(found);
            }
        }
        Err(Failure::Other(format!("there are more than {MAX_PAGES} pages of names: mount a longer prefix")))
    })
}

/// What is directly below a prefix under one name. An empty name: the prefix itself.
pub fn find(url: &str, name: &str) -> Result<Option<Listed>, Failure> {
    let prefix = Prefix::of(url)?;
    runtime::wait(async {
        let mut found = BTreeMap::new();
        if name.is_empty() {
            prefix.page("", None, &mut found).await?;
            return Ok((!found.is_empty()).then_some(Listed::Directory));
        }
        // The object of this very name is the first of all that begin with it.
        let next = prefix.page(name, None, &mut found).await?;
        let is_directory = matches!(found.get(name), Some(Listed::Directory));
        if next.is_some() && !is_directory {
            // Whatever sorts before the slash may fill pages.
            let mut below = BTreeMap::new();
            prefix.page(&format!("{name}/"), None, &mut below).await?;
            found.extend(below);
        }
        Ok(found.get(name).copied())
    })
}

struct Prefix {
    bucket: Bucket,
    /// Empty, or ends with a slash.
    key: String,
}

impl Prefix {
    fn of(url: &str) -> Result<Prefix, Failure> {
        let (_, _, key) = parts(url);
        let key = match key.is_empty() || key.ends_with('/') {
            true => key.to_owned(),
            false => format!("{key}/"),
        };
        Ok(Prefix { bucket: runtime::enter(|| Bucket::of(url))?, key })
    }

    /// Adds one page of what begins with `name` below the prefix. Returns what the next page is asked for with.
    async fn page(
        &self,
        name: &str,
        token: Option<String>,
        found: &mut BTreeMap<String, Listed>,
    ) -> Result<Option<String>, Failure> {
        let options =
            PaginatedListOptions { delimiter: Some("/".into()), page_token: token, ..Default::default() };
        let start = format!("{}{name}", self.key);
        let page = self.bucket.store.list_paginated(Some(&start), options);
        let page = tokio::time::timeout(PATIENCE, page).await.map_err(|_| Failure::TimedOut)?;
        let PaginatedListResult { result, page_token } =
            page.map_err(|error| self.bucket.explained(failure(error)))?;
        for object in result.objects {
            if let Some(name) = self.name(&object.location) {
                found.entry(name).or_insert_with(|| listed(&object));
            }
        }
        for directory in result.common_prefixes {
            if let Some(name) = self.name(&directory)
                && let Some(Listed::Object { .. }) = found.insert(name, Listed::Directory)
            {
                log::warn!("{directory:?} is both an object and a directory: the directory is shown");
            }
        }
        Ok(page_token)
    }

    /// None: it stands for the prefix itself.
    fn name(&self, key: &Path) -> Option<String> {
        key.as_ref().strip_prefix(&self.key).filter(|name| !name.is_empty()).map(str::to_owned)
    }
}

fn listed(object: &ObjectMeta) -> Listed {
    let modified = SystemTime::from(object.last_modified);
    let tag = object.e_tag.as_deref().map(quoted);
    let version = Version::new(tag, object.size, Some(modified));
    Listed::Object { len: object.size, modified, id: file_id(&version) }
}
