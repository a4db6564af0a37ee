//! Containers on web servers and in object stores, by real servers: nginx, moto (S3), Python's http.server, those in
//! [`others`], and our own, which has faults as well.

mod cache;
mod faults;
mod google;
mod others;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::kit::*;
use crate::{RAB, command, rab};

/// A server that ends with the test.
struct Server {
    process: Child,
    port: u16,
    _dir: TempDir,
    log: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill(nix::unistd::Pid::from_raw(self.process.id() as i32), Signal::SIGTERM);
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(make: impl FnOnce(u16, &Path) -> Command) -> Server {
        let dir = scratch();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = make(port, dir.path());
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process
            .unwrap_or_else(|cause| panic!("{command:?}: {cause}: run scripts/test, which installs it"));
        let log = dir.path().join("access");
        let server = Server { process, port, _dir: dir, log };
        eventually("the server answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    /// nginx with the files of a directory.
    fn nginx(files: &Path) -> Server {
        Server::start(|port, dir| {
            let user = if nix::unistd::geteuid().is_root() { "user root;" } else { "" };
            let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
            let places =
                places.map(|name| format!("{name}_temp_path {};", dir.join(name).display())).concat();
            let config = format!(
                "{user} daemon off; worker_processes 1; pid {dir}/pid; error_log {dir}/errors;\n\
                 events {{ worker_connections 64; }}\n\
                 http {{ access_log {dir}/access; {places} server {{ listen 127.0.0.1:{port}; root {files}; }} }}\n",
                dir = dir.display(),
                files = files.display()
            );
            std::fs::write(dir.join("config"), config).unwrap();
            let mut command = Command::new("nginx");
            command.arg("-e").arg(dir.join("errors")).arg("-c").arg(dir.join("config"));
            command
        })
    }

    fn python(arguments: impl FnOnce(u16) -> Vec<String>) -> Server {
        Server::start(|port, _| {
            let mut command = Command::new(interpreter());
            command.args(arguments(port)).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rab"));
            command
        })
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The bytes sent so far.
    fn sent(&self) -> usize {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().map(|line| line.split(' ').nth(9).unwrap().parse::<usize>().unwrap()).sum()
    }

    /// The requests so far.
    fn requests(&self) -> usize {
        std::fs::read_to_string(&self.log).unwrap_or_default().lines().count()
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

#[test]
fn verbs_give_what_they_give_of_files() {
    let server = Server::nginx(&samples());
    for sample in
        ["rab/readme.rab", "rab/gzip.rab", "rab/types.rab", "npz", "safetensors", "rawarray", "awkward"]
    {
        let path = samples().join(sample);
        let files = match path.is_dir() {
            false => vec![sample.to_owned()],
            true => names(&path).into_iter().map(|name| format!("{sample}/{name}")).collect(),
        };
        for file in files.iter().filter(|file| samples().join(file).is_file()) {
            let (path, url) = (samples().join(file).display().to_string(), server.url(file));
            for verb in [&["ls", "-l"][..], &["info", "--json"], &["verify"], &["cat"]] {
                let (local, remote) = (
                    rab(&[verb, &[&path]].concat().iter().map(|a| a as _).collect::<Vec<_>>()),
                    rab(&[verb, &[&url]].concat().iter().map(|a| a as _).collect::<Vec<_>>()),
                );
                let as_local = |text: &str| text.replace(&url, &path);
                assert_eq!(local.code, remote.code, "{verb:?} {url}: {local:?} {remote:?}");
                assert_eq!(local.out, as_local(&remote.out), "{verb:?} {url}");
                assert_eq!(local.err, as_local(&remote.err), "{verb:?} {url}");
            }
        }
    }
}

#[test]
fn opening_takes_one_request() {
    let server = Server::nginx(&samples());
    for file in ["rab/readme.rab", "rab/types.rab"] {
        let before = server.requests();
        assert_eq!(rab(&[&"ls", &server.url(file)]).code, 0);
        eventually("the request is logged", || server.requests() == before + 1);
    }
}

#[test]
fn a_mounted_url_has_the_bytes_of_the_file() {
    let dir = scratch();
    let (file, plain) = (dir.path().join("large.rab"), dir.path().join("plain"));
    let bytes: Vec<u8> = (0..5_000_001u32).map(|at| (at / 3 % 251) as u8).collect();
    write_rab(
        &file,
        &[bytes_entry("small", 1, 10), bytes_entry("large", 0, bytes.len() as u64)].concat(),
        &bytes,
    );
    std::fs::write(&plain, &bytes).unwrap();
    let server = Server::nginx(dir.path());
    let mount = Mount::new(Path::new(&server.url("large.rab?signature=secret")));
    assert_eq!(mount.read("small").unwrap(), bytes[1..11]);
    check_any_range(&mount.join("large"), 100);
    sh(r#"cmp "$1" "$2""#, &[&mount.join("large"), &plain]);
    // Everything was fetched once.
    let sent = server.sent();
    assert!(sent < bytes.len() + (2 << 20), "{sent}");
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(table.contains("large.rab") && !table.contains("secret"));
    assert!(!mount.log().contains("secret"), "{}", mount.log());
    // Nor does any process show it, but for this test's.
    let shown =
        sh(r#"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -a "large.rab?" || true"#, &[]);
    assert!(shown.contains("large.rab?****") && !shown.contains("secret"), "{shown}");
}

#[test]
fn an_object_that_is_replaced_is_an_error() {
    let dir = scratch();
    let file = dir.path().join("large.rab");
    let write = |byte| write_rab(&file, &bytes_entry("large", 0, 3_000_000), &vec![byte; 3_000_000]);
    write(1);
    let server = Server::nginx(dir.path());
    let mount = Mount::new(Path::new(&server.url("large.rab")));
    let open = std::fs::File::open(mount.join("large")).unwrap();
    let mut start = [0; 100];
    std::os::unix::fs::FileExt::read_exact_at(&open, &mut start, 0).unwrap();
    assert_eq!(start, [1; 100]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    write(2);
    let mut end = [0; 100];
    let error = std::os::unix::fs::FileExt::read_exact_at(&open, &mut end, 2_900_000).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    eventually("it is logged", || mount.log().contains("large.rab"));
    assert_eq!(mount.log().matches("error: ").count(), 1, "{}", mount.log());
}

#[test]
fn objects_in_s3() {
    let server = Server::start(|port, _| {
        let mut command = Command::new(interpreter().with_file_name("moto_server"));
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        command
    });
    let endpoint = server.url("");
    let upload = "import sys, boto3\n\
        from botocore.config import Config\n\
        s3 = boto3.client('s3', endpoint_url=sys.argv[1], region_name='us-east-1', aws_access_key_id='a',\n\
        \x20   aws_secret_access_key='b')\n\
        s3.create_bucket(Bucket='bucket')\n\
        for key in sys.argv[3:]: s3.upload_file(sys.argv[2], 'bucket', key)\n\
        s3.put_object(Bucket='bucket', Key='empty.rab', Body=b'')\n\
        odd = ['', '/x', '../x', 'fine', 'both', 'both/x', 'é & <ü>', 'deep//er']\n\
        for key in odd: s3.put_object(Bucket='bucket', Key='odd/' + key, Body=b'1')";
    let keys = ["types.rab", "a folder/é?#%41+&.rab"];
    python(&[&"-c", &upload, &endpoint, &data("types.rab"), &keys[0], &keys[1]]);
    let s3 = |arguments: &[&str]| {
        let mut command = command();
        command.args(arguments).env("AWS_ENDPOINT_URL", &endpoint).env("AWS_ACCESS_KEY_ID", "a");
        run(command.env("AWS_SECRET_ACCESS_KEY", "b").env("AWS_REGION", "us-east-1"))
    };
    let want = rab(&[&"ls", &"-l", &data("types.rab")]).out;
    for key in keys {
        let outcome = s3(&["ls", "-l", &format!("s3://bucket/{key}")]);
        assert_eq!((outcome.code, outcome.out.as_str()), (0, want.as_str()), "{outcome:?}");
    }
    for (url, code, message) in [
        ("s3://bucket/none.rab", 10, "no such object"),
        ("s3://nobucket/none.rab", 10, "no such bucket"),
        ("s3://bucket/empty.rab", 11, "it is empty"),
        ("s3://bucket/", 10, "is a directory: name a file in it, mount it"),
    ] {
        let outcome = s3(&["ls", url]);
        assert!(outcome.code == code && outcome.err.contains(message), "{outcome:?}");
    }
    let mounted = s3(&["mount", "s3://bucket/types.rab", "--", "sh", "-c", "ls {} | wc -l"]);
    assert!(mounted.code == 0 && mounted.out.trim().parse::<usize>().unwrap() > 10, "{mounted:?}");

    // Keys that cannot be paths are no reason not to list the others.
    let mounted =
        s3(&["mount", "s3://bucket/odd/", "--", "sh", "-c", "cd {}; ls -p; cat fine é*; ls -p deep"]);
    assert_eq!((mounted.code, mounted.out.as_str()), (0, "both/\ndeep/\nfine\né & <ü>\n11"), "{mounted:?}");
    for named in ["odd//", "odd/../", "odd/both", "odd/deep//"] {
        assert!(mounted.err.contains(named), "{named}: {mounted:?}");
    }

    // Written in one request, and in parts.
    let dir = scratch();
    let large = dir.path().join("large.bin");
    std::fs::write(&large, (0..40_000_000u32).map(|at| (at / 5 % 241) as u8).collect::<Vec<u8>>()).unwrap();
    let (large, new) = (path(&large), "s3://bucket/new.rab");
    for input in [path(&data("readme.rab")), large] {
        let outcome = s3(&["pack", "--force", new, input]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
        let outcome = s3(&["unpack", new, dir.path().join(input.len().to_string()).to_str().unwrap()]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let unpacked = dir.path().join(input.len().to_string()).join(Path::new(input).file_name().unwrap());
        sh(r#"cmp "$1" "$2""#, &[&unpacked, &input]);
        let refused = s3(&["pack", new, input]);
        assert!(
            refused.code == 1 && refused.err.contains("new.rab: cannot be written: it exists: --force"),
            "{refused:?}"
        );
    }
    let outcome = s3(&["convert", "s3://bucket/types.rab", "s3://bucket/copy.rab"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let outcome = s3(&["diff", path(&data("types.rab")), "s3://bucket/copy.rab"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{outcome:?}");
    let refused = s3(&["pack", "s3://nobucket/x.rab", large]);
    assert!(refused.code == 1 && refused.err.contains("no such bucket"), "{refused:?}");
}

#[test]
fn what_cannot_be_opened() {
    let server = Server::python(|port| {
        ["-m", "http.server", "-b", "127.0.0.1", &port.to_string()].map(String::from).into()
    });
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (url, message) in [
        (server.url("readme.rab"), "does not send parts of files (HTTP ranges): download the file first"),
        (server.url("none.rab?token=secret"), "none.rab: cannot be opened: no such object"),
        (format!("http://127.0.0.1:{closed}/x.rab"), "no connection to 127.0.0.1: "),
        (format!("https://user:secret@127.0.0.1:{}/x.rab", server.port), "no connection to 127.0.0.1: "),
        ("http://".into(), "it is no URL: "),
    ] {
        let outcome = rab(&[&"ls", &url]);
        assert!(outcome.code == 10 && outcome.err.contains(message), "{outcome:?}");
        assert!(!outcome.err.contains("secret"), "{outcome:?}");
        let outcome = rab(&[&"mount", &url, &"--", &"true"]);
        assert!(outcome.code == 10 && outcome.err.contains(message), "{outcome:?}");
    }
    let outcome = rab(&[&"mount", &server.url("readme.rab"), &data("types.rab"), &"--", &"true"]);
    assert!(outcome.code != 0, "{outcome:?}");
}

#[test]
fn what_cannot_be_written_or_edited() {
    let url = "https://localhost/x.rab";
    for (arguments, code, message) in [
        (&["add", url, "x"][..], 2, "https://localhost/x.rab: only files can be edited: download it"),
        (&["rm", url, "x"], 2, "only files can be edited"),
        (&["mv", url, "x", "y"], 2, "only files can be edited"),
        (&["set", url, "x", "--key", "a=1"], 2, "only files can be edited"),
        (&["pack", url, path(&data("readme.rab"))], 1, "web servers can only be read"),
        (&["pack", "s3://bucket/x", "--shards=2", "--lines", path(&data("readme.rab"))], 1, "upload that"),
        (&["pack", "s3://bucket/x.arrow", path(&data("readme.rab"))], 1, "upload that"),
    ] {
        let outcome = rab(&arguments.iter().map(|argument| argument as _).collect::<Vec<_>>());
        assert!(outcome.code == code && outcome.err.contains(message), "{outcome:?}");
    }
}

#[test]
fn references_to_a_url_need_no_other() {
    let server = Server::nginx(&samples());
    let dir = scratch();
    let refs = dir.path().join("refs.json");
    sh(r#""$1" refs "$2" > "$3""#, &[&RAB, &server.url("rab/readme.rab"), &refs]);
    let script = "import sys, fsspec\n\
        store = fsspec.filesystem('reference', fo=sys.argv[1], remote_protocol='http')\n\
        sys.stdout.buffer.write(store.cat('my second array/0.0'))";
    let want = dir.path().join("want");
    sh(r#""$1" cat "$2" 'my second array' > "$3""#, &[&RAB, &data("readme.rab"), &want]);
    sh(r#""$1" -c "$2" "$3" | cmp - "$4""#, &[&interpreter(), &script, &refs, &want]);
}

#[test]
fn archives_are_listed_with_few_requests() {
    let dir = scratch();
    let write = "import sys, numpy as np\n\
        np.savez(sys.argv[1], **{f'x{n:03}': np.full(300_000 + n, n % 251, 'u1') for n in range(120)})\n\
        np.savez_compressed(sys.argv[2], **{f'x{n:03}': np.random.default_rng(n).integers(0, 256, 300_000 + n, 'u1') for n in range(60)})";
    let names = ["stored.npz", "deflated.npz"];
    let paths = names.map(|name| dir.path().join(name));
    python(&[&"-c", &write, &paths[0], &paths[1]]);
    let server = Server::nginx(dir.path());
    for (name, path, members) in [(names[0], &paths[0], 120), (names[1], &paths[1], 60)] {
        let before = server.requests();
        assert_eq!(rab(&[&"ls", &server.url(name)]).out.lines().count(), members);
        eventually("the requests are logged", || server.requests() == before + 2);
        let sent = server.sent();
        assert_eq!(rab(&[&"ls", &"-l", &server.url(name)]).out, rab(&[&"ls", &"-l", path]).out);
        eventually("the requests are logged", || server.requests() > before + 100.min(members - 5));
        let sent = server.sent() - sent;
        assert!(sent < 8 << 20, "{name}: {sent}");
        // One element of one member.
        let before = server.requests();
        assert_eq!(rab(&[&"get", &server.url(name), &"x059[7]"]).code, 0);
        eventually("the requests are logged", || (before + 2..=before + 4).contains(&server.requests()));
    }
}

#[test]
fn credentials_come_from_profiles() {
    let server = Server::start(|port, _| {
        let mut command = Command::new(interpreter().with_file_name("moto_server"));
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        command
    });
    let dir = scratch();
    let upload = "import sys, boto3\n\
        s3 = boto3.client('s3', endpoint_url=sys.argv[1], region_name='us-east-1', aws_access_key_id='a',\n\
        \x20   aws_secret_access_key='b')\n\
        s3.create_bucket(Bucket='bucket')\n\
        s3.upload_file(sys.argv[2], 'bucket', 'x.rab')";
    python(&[&"-c", &upload, &server.url(""), &data("readme.rab")]);
    let endpoint = server.url("");
    let config = format!(
        "[default]\nregion = us-east-1\n\
         [profile process]\nendpoint_url = {endpoint}\ncredential_process = echo '{{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"b\"}}'\n\
         [profile expired]\nendpoint_url = {endpoint}\ncredential_process = echo 'first line; # and' >&2; echo 'the session has expired' >&2; exit 1\n\
         [profile sso]\nendpoint_url = {endpoint}\nsso_session = x\n"
    );
    std::fs::write(dir.path().join("config"), config).unwrap();
    std::fs::write(
        dir.path().join("credentials"),
        "[keys]\naws_access_key_id = a\naws_secret_access_key = b;c#d\n",
    )
    .unwrap();
    let s3 = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = command();
        command.args(arguments).envs(variables.iter().copied());
        command.env("AWS_CONFIG_FILE", dir.path().join("config"));
        run(command.env("AWS_SHARED_CREDENTIALS_FILE", dir.path().join("credentials")))
    };
    let url = "s3://bucket/x.rab";
    let want = rab(&[&"ls", &data("readme.rab")]).out;
    for (arguments, variables) in [
        (&["ls", url, "--profile", "process"][..], &[][..]),
        (&["ls", url], &[("AWS_PROFILE", "process")]),
        (&["--profile", "keys", "ls", url, "--endpoint-url", &endpoint], &[]),
        // An option comes before the environment.
        (&["ls", url, "--profile", "process"], &[("AWS_ENDPOINT_URL_S3", ""), ("AWS_ACCESS_KEY_ID", "x")]),
    ] {
        let outcome = s3(arguments, variables);
        assert_eq!((outcome.code, &outcome.out), (0, &want), "{arguments:?} {outcome:?}");
    }
    let mounted = s3(
        &["mount", url, "-o", &format!("profile=keys,endpoint_url={endpoint}"), "--", "sh", "-c", "ls -A {}"],
        &[],
    );
    assert!(mounted.code == 0 && mounted.out.contains("my first array"), "{mounted:?}");
    for (profile, message) in [
        ("expired", "profile \"expired\" gives no credentials: the session has expired\n"),
        ("none", "there is no profile \"none\""),
    ] {
        let outcome = s3(&["ls", url, "--profile", profile], &[]);
        assert!(outcome.code == 10 && outcome.err.contains(message), "{outcome:?}");
    }
    let outcome = s3(&["ls", url, "--profile", "sso"], &[("PATH", "/nowhere")]);
    assert!(outcome.err.contains("the command aws is needed for it"), "{outcome:?}");
    for endpoint in ["localhost:9000", "", "file:///x"] {
        let outcome = s3(&["ls", url, "--profile", "keys", "--endpoint-url", endpoint], &[]);
        assert!(outcome.code == 10 && outcome.err.contains("is not the URL of a store"), "{outcome:?}");
    }
    let outcome = s3(&["ls", url, "--no-sign-request", "--profile", "keys"], &[]);
    assert_eq!(outcome.code, 2, "{outcome:?}");
}

#[test]
fn containers_name_files_below_their_own_url() {
    let server = Server::nginx(&samples());
    let table = "onda/test.onda.signal.arrow";
    let path = samples().join(table);
    for verb in ["ls", "verify", "cat"] {
        let (local, remote) = (rab(&[&verb, &path]), rab(&[&verb, &server.url(table)]));
        assert_eq!(
            (local.code, &local.out),
            (remote.code, &remote.out.replace(&server.url(table), self::path(&path))),
            "{remote:?}"
        );
    }
    let index = "safetensors/sharded/model.safetensors.index.json";
    let remote = rab(&[&"diff", &samples().join(index), &server.url(index)]);
    assert_eq!((remote.code, remote.out.as_str()), (0, ""), "{remote:?}");
    // What lies elsewhere is not fetched, unless the user says so.
    let dir = scratch();
    let folder = dir.path().join("deep/down");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(
        samples().join("safetensors/sharded/model-00001-of-00002.safetensors"),
        dir.path().join("a.safetensors"),
    )
    .unwrap();
    let other = Server::nginx(dir.path());
    let tensors = rab(&[&"ls", &dir.path().join("a.safetensors")]).out;
    let tensor = tensors.lines().next().unwrap();
    for (name, is_below) in [
        (other.url("a.safetensors"), false),
        ("../../a.safetensors".to_owned(), false),
        (format!("{}/a.safetensors", dir.path().display()), false),
        (other.url("deep/down/a.safetensors"), true),
    ] {
        let index = format!("{{\"metadata\": {{}}, \"weight_map\": {{\"{tensor}\": \"{name}\"}}}}");
        std::fs::write(folder.join("model.safetensors.index.json"), index).unwrap();
        if is_below {
            std::fs::copy(dir.path().join("a.safetensors"), folder.join("a.safetensors")).unwrap();
        }
        let url = other.url("deep/down/model.safetensors.index.json");
        let outcome = rab(&[&"cat", &url, &tensor]);
        assert_eq!(outcome.code == 0, is_below, "{name}: {outcome:?}");
        if !is_below {
            assert!(
                outcome.err.contains("outside of the container's directory") || outcome.err.contains(".."),
                "{outcome:?}"
            );
            let allowed = rab(&[&"cat", &url, &tensor, &"--allow-url", &other.url("")]);
            assert_eq!(allowed.code == 0, name.starts_with("http"), "{allowed:?}");
        }
        // Nor does a file on disk reach a URL.
        let outcome = rab(&[&"cat", &folder.join("model.safetensors.index.json"), &tensor]);
        assert!(outcome.code != 0 || !name.starts_with("http"), "{outcome:?}");
    }
}
