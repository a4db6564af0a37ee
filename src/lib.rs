//! The map of the house.
mod array;
mod codec;
mod content;
pub mod error;
mod format;
mod fs;
mod fuse;
mod open;
mod pool;
mod source;
mod tree;
mod yaml;

pub use error::{Error, Result};

pub fn probe(file: &std::path::Path, mnt: &std::path::Path) {
    let owner = fs::Owner { uid: 0, gid: 0, umask: 0 };
    let opened = open::open(file, 256 << 20, owner).unwrap_or_else(|e| { eprintln!("{e}"); std::process::exit(e.exit_code().into()) });
    let fuse = fuse::Fuse::new(opened.fs).unwrap();
    let hook = fuse.on_mounted();
    let mut config = fuser::Config::default();
    config.mount_options = vec![fuser::MountOption::RO];
    config.n_threads = Some(2);
    config.clone_fd = true;
    let session = fuser::Session::new(fuse, mnt, &config).unwrap();
    hook(session.notifier());
    session.run().unwrap();
}
