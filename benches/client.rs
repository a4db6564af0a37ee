//! Reads an object with the library that rab-mount makes its requests with, and nothing around it: parts of 8 MiB, 16
//! side by side. `scripts/bench` runs it next to rab-mount.
//!
//! `client ENDPOINT BUCKET KEY LENGTH` reads the first LENGTH bytes, and prints the time in seconds.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::task::JoinSet;

const PART: u64 = 8 << 20;
const SIDE_BY_SIDE: usize = 16;

/// Reads the parts that nobody else has begun to read; returns their bytes.
async fn parts(
    store: Arc<dyn ObjectStore>,
    key: Path,
    length: u64,
    next: Arc<AtomicU64>,
) -> object_store::Result<u64> {
    let mut bytes = 0;
    loop {
        let start = next.fetch_add(PART, Ordering::Relaxed);
        if start >= length {
            return Ok(bytes);
        }
        bytes += store.get_range(&key, start..length.min(start + PART)).await?.len() as u64;
    }
}

async fn read(store: Arc<dyn ObjectStore>, key: Path, length: u64) -> Result<u64, Box<dyn Error>> {
    let (next, mut tasks) = (Arc::new(AtomicU64::new(0)), JoinSet::new());
    for _ in 0..SIDE_BY_SIDE {
        tasks.spawn(parts(store.clone(), key.clone(), length, next.clone()));
    }
    let mut bytes = 0;
    while let Some(read) = tasks.join_next().await {
        bytes += read??;
    }
    Ok(bytes)
}

fn main() -> Result<(), Box<dyn Error>> {
    let [endpoint, bucket, key, length] =
        <[String; 4]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
            .map_err(|_| "usage: client ENDPOINT BUCKET KEY LENGTH")?;
    let length = length.parse()?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _entered = runtime.enter();
    let builder = AmazonS3Builder::new().with_endpoint(endpoint).with_bucket_name(bucket);
    let store = Arc::new(builder.with_allow_http(true).with_skip_signature(true).build()?);
    let start = Instant::now();
    let bytes = runtime.block_on(read(store, Path::parse(key)?, length))?;
    println!("{}", start.elapsed().as_secs_f64());
    if bytes == length { Ok(()) } else { Err("the object is shorter".into()) }
}
