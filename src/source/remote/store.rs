//! Objects in stores.

use std::ops::Range;
use std::time::SystemTime;

use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStoreExt};

use super::bucket::{Bucket, PATIENCE, Store, parts};
use super::object::{Answer, Condition, Failure, Object, Part};
use super::profile::NoCredentials;

#[derive(Clone)]
pub struct Stored {
    pub bucket: Bucket,
    pub key: Path,
}

impl Stored {
    pub fn new(url: &str) -> Result<Stored, Failure> {
        let (_, bucket, key) = parts(url);
        if bucket.is_empty() || key.is_empty() || key.ends_with('/') {
            return Err(Failure::Other(
                "an object is named s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/KEY".into(),
            ));
        }
        // Keys are taken as they are, with whatever is special in URLs.
        let key =
            Path::parse(key).map_err(|cause| Failure::Other(format!("this key cannot be read: {cause}")))?;
        Ok(Stored { bucket: Bucket::of(url)?, key })
    }
}

impl Object for Stored {
    fn get(&self, range: Range<u64>, tag: Option<&str>) -> Answer {
        self.answer(GetRange::Bounded(range), Condition::of(tag))
    }

    fn get_unless(&self, range: Range<u64>, tag: &str) -> Answer {
        self.answer(GetRange::Bounded(range), Condition::Unless(tag.to_owned()))
    }

    fn get_end(&self, len: u64) -> Option<Answer> {
        self.bucket.has_ends.then(|| self.answer(GetRange::Suffix(len), Condition::None))
    }
}

impl Stored {
    fn answer(&self, range: GetRange, condition: Condition) -> Answer {
        let stored = self.clone();
        Box::pin(async move {
            let answer = get(&*stored.bucket.store, &stored.key, range, &condition);
            let answer = tokio::time::timeout(PATIENCE, answer).await.unwrap_or(Err(Failure::TimedOut));
            answer.map_err(|failure| stored.bucket.explained(failure))
        })
    }
}

async fn get(store: &dyn Store, key: &Path, range: GetRange, condition: &Condition) -> Result<Part, Failure> {
    let options = GetOptions {
        range: Some(range.clone()),
        if_match: condition.if_match().map(str::to_owned),
        if_none_match: condition.if_none_match().map(str::to_owned),
        ..GetOptions::default()
    };
    let answer = match store.get_opts(key, options).await {
        Ok(answer) => answer,
        // An empty object has no range; one that was asked for before has become shorter.
        Err(error @ Error::Generic { .. }) if !matches!(condition, Condition::Is(_)) => {
            return empty(store, key).await.ok_or_else(|| failure(error));
        }
        Err(error) => return Err(failure(error)),
    };
    let part = Part {
        bytes: Vec::new(),
        len: answer.meta.size,
        tag: answer.meta.e_tag.clone(),
        modified: Some(SystemTime::from(answer.meta.last_modified)),
    };
    condition.check(part.tag.as_deref())?;
    let expected = match range {
        GetRange::Bounded(range) => range.end.min(part.len).saturating_sub(range.start),
        GetRange::Offset(start) => part.len.saturating_sub(start),
        GetRange::Suffix(count) => count.min(part.len),
    };
    let bytes = answer.bytes().await.map_err(failure)?;
    match bytes.len() as u64 == expected {
        true => Ok(Part { bytes: bytes.into(), ..part }),
        false => Err(Failure::Other(format!(
            "the store sent {} bytes where {expected} were asked for",
            bytes.len()
        ))),
    }
}

async fn empty(store: &dyn Store, key: &Path) -> Option<Part> {
    let meta = store.head(key).await.ok().filter(|meta| meta.size == 0)?;
    Some(Part { bytes: Vec::new(), len: 0, tag: meta.e_tag, modified: Some(meta.last_modified.into()) })
}

pub fn failure(error: Error) -> Failure {
    let cause = last_cause(&error);
    if let Some(none) = cause.downcast_ref::<NoCredentials>() {
        return Failure::Refused(none.to_string());
    }
    if has_timed_out(&error) {
        return Failure::TimedOut;
    }
    let text = cause.to_string();
    // Stores explain themselves in XML.
    let code =
        text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    match &error {
        _ if code.is_some_and(|code| ["NoSuchBucket", "ContainerNotFound"].contains(&code)) => {
            Failure::NoBucket
        }
        Error::NotFound { .. } => Failure::Missing,
        Error::NotModified { .. } => Failure::Unchanged,
        Error::Precondition { .. } => Failure::Changed,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            log::debug!("{error}");
            let status = if matches!(error, Error::Unauthenticated { .. }) { "401" } else { "403" };
            Failure::Refused(code.unwrap_or(status).to_owned())
        }
        _ if text.contains("incorrectly configured region") => {
            Failure::Other("the bucket is in another region: name it with --region".into())
        }
        _ => Failure::Other(match code {
            Some(code) => format!("{} {code}", text.split('<').next().unwrap_or_default().trim()),
            None => text,
        }),
    }
}

fn has_timed_out(error: &Error) -> bool {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| cause.source());
    let mut causes = causes.filter_map(|cause| cause.downcast_ref::<HttpError>());
    causes.any(|cause| cause.kind() == HttpErrorKind::Timeout)
}

pub fn last_cause(error: &Error) -> &(dyn std::error::Error + 'static) {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}
