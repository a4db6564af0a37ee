//! Where requests run: two threads, started with the first request, so never before a daemon has forked.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use super::object::Failure;

/// Threads that send requests and receive answers.
const THREADS: usize = 2;
/// Threads that read and write what is kept on disk.
const DISK_THREADS: usize = 8;
/// Requests on their way at a time.
const SIDE_BY_SIDE: usize = 64;

fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let start = || {
        // One provider of cryptography for all clients; it can only be set already, to the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(DISK_THREADS)
            .thread_name("rab-remote")
            .enable_all()
            .build()
            .map_err(|cause| format!("threads for requests cannot be started: {cause}"))
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|why| Failure::Other(why.clone()))
}

/// Makes clients, which need the runtime.
pub fn enter<T>(make: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let _entered = runtime()?.enter();
    make()
}

/// Runs to the end, on the calling thread.
pub fn wait<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    runtime()?.block_on(future)
}

/// Runs in the background, when there are not too many others.
pub fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Result<(), Failure> {
    static TURNS: Semaphore = Semaphore::const_new(SIDE_BY_SIDE);
    runtime()?.spawn(async {
        let _turn = TURNS.acquire().await;
        future.await;
    });
    Ok(())
}
