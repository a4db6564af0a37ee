//! Uploads in parts: kept in memory until they are complete.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Store;
use super::http::{Answer, Request};
use super::list::escaped;
use super::objects::write;

/// By their numbers.
pub type Parts = BTreeMap<u32, Vec<u8>>;

fn id(request: &Request) -> &str {
    request.query.get("uploadId").map_or("", String::as_str)
}

pub fn begin(store: &Store, request: &Request) -> Answer {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let id = NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
    let text =
        format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>");
    if !store.folder.join(request.path.trim_start_matches('/').split('/').next().unwrap_or_default()).is_dir()
    {
        return Answer::error(404, "NoSuchBucket");
    }
    store.uploads.lock().unwrap().insert(id, Parts::new());
    Answer::text(200, text)
}

pub fn part(store: &Store, request: &Request) -> Answer {
    let mut uploads = store.uploads.lock().unwrap();
    let number = request.query.get("partNumber").and_then(|number| number.parse().ok());
    match (uploads.get_mut(id(request)), number) {
        (Some(parts), Some(number)) => {
            parts.insert(number, request.body.clone());
            Answer::text(200, String::new()).with("ETag", format!("\"part{number}\""))
        }
        _ => Answer::error(404, "NoSuchUpload"),
    }
}

pub fn complete(store: &Store, request: &Request) -> Answer {
    let Some(parts) = store.uploads.lock().unwrap().remove(id(request)) else {
        return Answer::error(404, "NoSuchUpload");
    };
    match write(store, &request.path, &parts.into_values().flatten().collect::<Vec<u8>>()) {
        Ok(tag) => {
            let text = "CompleteMultipartUploadResult";
            let tag = escaped(&tag);
            Answer::text(200, format!("<{text}><ETag>{tag}</ETag></{text}>")).with("x-goog-generation", "1")
        }
        Err(_) => Answer::error(500, "InternalError"),
    }
}

pub fn abort(store: &Store, request: &Request) -> Answer {
    match store.uploads.lock().unwrap().remove(id(request)) {
        Some(_) => Answer::text(204, String::new()),
        None => Answer::error(404, "NoSuchUpload"),
    }
}
