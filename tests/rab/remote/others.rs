//! Servers of others that come with Node.js: azurite, Microsoft's own emulator of its store, and s3rver, which ignores
//! conditions.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Server, path};
use crate::kit::*;

/// A command of a package for Node.js.
fn installed(name: &str) -> PathBuf {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/js/node_modules");
    std::env::var_os("RAB_TEST_NODE_PATH").map_or_else(ours, PathBuf::from).join(".bin").join(name)
}

fn rab_with(variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
    run(crate::command().envs(variables.iter().copied()).args(arguments))
}

/// A container whose head is read first and one whose end is, the latter with a name to be encoded.
fn check_reading(url: &str, variables: &[(&str, &str)]) {
    let (dir, sample) = (scratch(), data("readme.rab"));
    for (name, key) in [("local.rab", "x.rab"), ("local.npz", "a folder/é?#%41+&.npz")] {
        let (local, url) = (dir.path().join(name), format!("{url}/{key}"));
        for target in [path(&local), &url] {
            let converted = rab_with(variables, &["convert", path(&sample), target]);
            assert_eq!(converted.code, 0, "{converted:?}");
        }
        let same = rab_with(variables, &["diff", path(&local), &url]);
        assert_eq!((same.code, same.out.as_str()), (0, ""), "{same:?}");
        let refused = rab_with(variables, &["convert", path(&sample), &url]);
        assert!(refused.code == 1 && refused.err.contains("it exists: --force replaces it"), "{refused:?}");
    }
    let none = rab_with(variables, &["ls", &format!("{url}/none.rab")]);
    assert!(none.code == 10 && none.err.contains("no such object"), "{none:?}");
}

/// An object that is replaced while it is open.
fn check_replacing(url: &str, variables: &[(&str, &str)]) {
    let dir = scratch();
    let input = dir.path().join("large");
    let write = |byte: u8| {
        std::fs::write(&input, vec![byte; 20_000_000]).unwrap();
        let packed = rab_with(variables, &["pack", "--force", url, path(&input)]);
        assert_eq!(packed.code, 0, "{packed:?}");
    };
    write(1);
    let mut command = program();
    command.envs(variables.iter().copied());
    let mount = Mount::by(command, Path::new(url), &[]);
    let open = File::open(mount.join("large")).unwrap();
    let mut buf = [0; 1000];
    open.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(buf, [1; 1000]);
    write(2);
    let error = open.read_exact_at(&mut buf, 15_000_000).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    assert!(mount.log().contains("changed since it was opened"), "{}", mount.log());
}

#[test]
fn azurite() {
    let server = Server::start(|port, dir| {
        let mut command = Command::new(installed("azurite-blob"));
        command.args(["--disableTelemetry", "--skipApiVersionCheck", "--silent"]);
        command.args(["--blobPort", &port.to_string()]).arg("--location").arg(dir);
        command
    });
    let address = server.url("");
    let variables =
        [("AZURE_STORAGE_USE_EMULATOR", "true"), ("AZURITE_BLOB_STORAGE_URL", address.trim_end_matches('/'))];
    python(&[&"azure_container.py", &server.url("devstoreaccount1/bucket")]);
    check_reading("az://bucket", &variables);
    check_replacing("az://bucket/large.rab", &variables);
}

#[test]
fn s3rver() {
    let server = Server::start(|port, dir| {
        let mut command = Command::new(installed("s3rver"));
        command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "--configure-bucket", "bucket"]);
        command.arg("-d").arg(dir);
        command
    });
    let address = server.url("");
    let variables = [
        ("AWS_ENDPOINT_URL", address.as_str()),
        ("AWS_ACCESS_KEY_ID", "S3RVER"),
        ("AWS_SECRET_ACCESS_KEY", "S3RVER"),
        ("AWS_REGION", "us-east-1"),
    ];
    check_reading("s3://bucket", &variables);
    check_replacing("s3://bucket/large.rab", &variables);
}
