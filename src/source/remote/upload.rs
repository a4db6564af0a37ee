//! Writes objects to stores: a small one in one request, a large one in parts that are sent side by side. An object
//! appears whole or not at all.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object_store::{Error, MultipartUpload, ObjectStoreExt, PutMode, WriteMultipart};

use super::object::Failure;
use super::runtime;
use super::store::{Stored, failure};

/// Bytes of a part, at least; S3 takes 10,000 of them.
const PART: u64 = 16 << 20;
const MAX_PARTS: u64 = 9_000;
/// Parts on their way at a time.
const SIDE_BY_SIDE: usize = 4;
/// How often `stop` is polled while waiting for the store.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the answer to a request is waited for that was given up.
const LAST_ANSWER: Duration = Duration::from_secs(2);

/// Fails if there is an object already and `force` is not given, or the store refuses.
pub fn may_write(url: &str, force: bool) -> io::Result<()> {
    let stored = stored(url)?;
    let exists = runtime::wait(async {
        match stored.bucket.store.head(&stored.key).await {
            Err(Error::NotFound { .. }) => Ok(Ok(false)),
            Ok(_) => Ok(Ok(!force)),
            Err(error) => Ok(Err(refused(&stored, error))),
        }
    })??;
    if exists { Err(exists_already()) } else { Ok(()) }
}

/// Writes the whole of `file` as the object. Once `stop` is set, what was sent is given up.
pub fn upload(url: &str, file: &File, force: bool, stop: &AtomicBool) -> io::Result<()> {
    let stored = stored(url)?;
    let len = file.metadata()?.len();
    runtime::wait(async {
        let sent = if len <= PART {
            whole(&stored, file, len, force, stop).await
        } else {
            in_parts(&stored, file, len, force, stop).await
        };
        Ok(sent)
    })?
}

fn stored(url: &str) -> io::Result<Stored> {
    if url.starts_with("http") {
        return Err(io::Error::other(
            "web servers can only be read: name an object of a store, such as s3://BUCKET/KEY",
        ));
    }
    Ok(runtime::enter(|| Stored::new(url))?)
}

fn refused(stored: &Stored, error: Error) -> io::Error {
    match stored.bucket.explained(failure(error)) {
        Failure::Missing => io::Error::other("no such bucket"),
        other => other.into(),
    }
}

fn exists_already() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "it exists: --force replaces it")
}

async fn whole(stored: &Stored, file: &File, len: u64, force: bool, stop: &AtomicBool) -> io::Result<()> {
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let mode = if force { PutMode::Overwrite } else { PutMode::Create };
    match unless(stop, stored.bucket.store.put_opts(&stored.key, bytes.into(), mode.into())).await? {
        Ok(_) => Ok(()),
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Err(exists_already()),
        Err(error) => Err(refused(stored, error)),
    }
}

async fn in_parts(stored: &Stored, file: &File, len: u64, force: bool, stop: &AtomicBool) -> io::Result<()> {
    let failed = |error: Error| refused(stored, error);
    let upload = begun(stored, stop).await?.map_err(failed)?;
    let part = PART.max(len.div_ceil(MAX_PARTS));
    let mut upload = WriteMultipart::new_with_chunk_size(upload, part as usize);
    let sent = async {
        for at in (0..len).step_by(part as usize) {
            unless(stop, upload.wait_for_capacity(SIDE_BY_SIDE)).await?.map_err(failed)?;
            let mut bytes = vec![0; part.min(len - at) as usize];
            file.read_exact_at(&mut bytes, at)?;
            upload.put(bytes.into());
        }
        unless(stop, upload.wait_for_capacity(1)).await?.map_err(failed)?;
        // Stores have no condition for objects in parts: what appears within this moment would be replaced.
        if !force && stored.bucket.store.head(&stored.key).await.is_ok() {
            return Err(exists_already());
        }
        Ok(())
    };
    match sent.await {
        Ok(()) => upload.finish().await.map(drop).map_err(failed),
        Err(cause) => {
            if let Err(error) = upload.abort().await {
                log::warn!("{}: parts of it may have stayed in the store: {error}", stored.key);
            }
            Err(cause)
        }
    }
}

/// Begins an upload in parts. If that is given up, its answer is still waited for a little: only that says what is to be
/// removed from the store.
async fn begun(stored: &Stored, stop: &AtomicBool) -> io::Result<Result<Box<dyn MultipartUpload>, Error>> {
    let mut begun = std::pin::pin!(stored.bucket.store.put_multipart(&stored.key));
    match unless(stop, &mut begun).await {
        Err(cause) => {
            if let Ok(Ok(mut upload)) = tokio::time::timeout(LAST_ANSWER, begun).await {
                let _ = upload.abort().await;
            }
            Err(cause)
        }
        begun => begun,
    }
}

/// Waits for `work`, but gives up once `stop` is set.
async fn unless<T>(stop: &AtomicBool, work: impl Future<Output = T>) -> io::Result<T> {
    let mut work = std::pin::pin!(work);
    loop {
        if let Ok(done) = tokio::time::timeout(PAUSE, &mut work).await {
            return Ok(done);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
    }
}
