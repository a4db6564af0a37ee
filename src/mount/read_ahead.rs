//! Read-ahead of the kernel for sequential readers: 128 KiB on a FUSE mount, which FUSE itself cannot raise. Root,
//! which may write the mount's entry in /sys, can, which makes sequential reads faster and random reads of mapped
//! files slower.

use super::config::Config;
use super::mountinfo::Device;

/// A good value for both: more makes random faults of mapped files markedly slower.
const DEFAULT: u64 = 512 << 10;

/// Sets the read-ahead of the mount on `device`. Without a wish on the command line it is only tried.
pub fn set(config: &Config, device: Device) {
    let kib = config.read_ahead.unwrap_or(DEFAULT) >> 10;
    let path = format!("/sys/class/bdi/{}:{}/read_ahead_kb", device.major, device.minor);
    match std::fs::write(&path, kib.to_string()) {
        Ok(()) => log::debug!("{path}: {kib}"),
        Err(cause) if config.read_ahead.is_none() => log::debug!("{path} stays as it is: {cause}"),
        Err(cause) => log::warn!("--read-ahead has no effect, only root can set it: {path}: {cause}"),
    }
}
