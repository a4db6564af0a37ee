"""A store for the rows about URLs (benches/store.rs), and other programs that read from it."""
import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

# Of object stores: to the first byte in milliseconds, and of each connection in MB/s.
FIRST_BYTE, RATE = 25, 80
# Where scripts/bench installs the AWS command line: it wants other versions of what s3fs wants.
AWS = os.path.join(os.path.dirname(sys.executable), "..", "..", "aws")
# Of ours: what was fetched in one row is not known in the next.
NOT_KEPT = ("--remote-cache", "off")

# Neither a proxy nor a user's own store comes between us and this one.
os.environ.update(NO_PROXY="*", no_proxy="*")
for variable in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[variable]


class Store:
    """Serves files as objects of a bucket: of HTTP, S3 and Google's interface alike."""

    def __init__(self, bench, options, inside=(), host="127.0.0.1"):
        self.bench, self.folder, self.host = bench, bench.path("store"), host
        os.makedirs(os.path.join(self.folder, "bucket"), exist_ok=True)
        program = os.path.join(os.path.dirname(bench.program), "examples", "store")
        command = [*inside, program, self.folder, f"address={host}:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.endpoint = f"http://{host}:{self.port}"

    def key(self, path):
        """The name of a file in the bucket."""
        name = os.path.basename(path)
        with contextlib.suppress(FileExistsError):
            os.link(path, os.path.join(self.folder, "bucket", name))
        return name

    def url(self, path):
        return f"{self.endpoint}/bucket/{self.key(path)}"

    def asked(self, target):
        connection = http.client.HTTPConnection(self.host, self.port)
        connection.request("GET", target)
        return connection.getresponse().read()

    def set(self, options):
        problem = self.asked(f"/-/set?{options}")
        assert not problem, problem

    def counts(self):
        """Requests and bytes sent so far."""
        return np.array([int(n) for n in self.asked("/-/counts").split()])

    def mount(self, source, *options):
        """Ours, of a container in it or, at s3://, through its interface. Nothing is kept on disk, unless an option says
        where."""
        options = options or NOT_KEPT
        if source.startswith("s3:"):
            options = ("--endpoint-url", self.endpoint, "--no-sign-request", *options)
        return self.bench.mount(source, *options)

    def rclone(self):
        remote = (f":s3,provider=Other,list_version=2,region=us-east-1,access_key_id=a,secret_access_key=b,"
                  f"endpoint='{self.endpoint}':bucket")
        return self.bench.peer("rclone", "mount", "--daemon", "--read-only", remote)

    @contextlib.contextmanager
    def ratarmount(self, path):
        """In the foreground, as it refuses to go into the background with a URL."""
        where = tempfile.mkdtemp(dir=self.bench.scratch)
        program = os.path.join(os.path.dirname(sys.executable), "ratarmount")
        command = [program, "-f", "--index-file", ":memory:", self.url(path), where]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not os.path.ismount(where):
                assert process.poll() is None, "ratarmount cannot mount"
                time.sleep(0.002)
            yield where
        finally:
            subprocess.run(["fusermount3", "-u", where], check=True)
            process.wait()
            os.rmdir(where)

    def fsspec(self, path):
        """An open file by fsspec, with nothing cached of another one."""
        import fsspec
        return fsspec.filesystem("http", skip_instance_cache=True).open(self.url(path))

    def s3fs(self, path):
        import s3fs
        store = s3fs.S3FileSystem(anon=True, endpoint_url=self.endpoint, skip_instance_cache=True)
        return store.open("bucket/" + self.key(path))

    def aws_ls(self, url):
        command = [sys.executable, "-m", "awscli", "--endpoint-url", self.endpoint, "--no-sign-request",
                   "--region", "us-east-1", "s3", "ls", url]
        environment = os.environ | {"PYTHONPATH": AWS}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@contextlib.contextmanager
def store(bench, *options, **where):
    serving = Store(bench, options or (f"first_byte={FIRST_BYTE}", f"rate={RATE}"), **where)
    try:
        yield serving
    finally:
        serving.process.terminate()
        serving.process.wait()


@contextlib.contextmanager
def gigabit():
    """A network namespace that sends 1 Gbit/s, for root only: the command to run in it, and its address."""
    name, here, there = f"rab-bench-{os.getpid()}", f"rb{os.getpid()}", f"rc{os.getpid()}"
    inside = ("ip", "netns", "exec", name)
    commands = [("ip", "netns", "add", name),
                ("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", name),
                ("ip", "address", "add", "10.213.97.1/30", "dev", here),
                ("ip", "link", "set", here, "up"),
                (*inside, "ip", "address", "add", "10.213.97.2/30", "dev", there),
                (*inside, "ip", "link", "set", there, "up"),
                (*inside, "tc", "qdisc", "add", "dev", there, "root", "tbf", "rate", "1gbit", "burst", "256k",
                 "latency", "50ms")]
    try:
        for command in commands:
            subprocess.run(command, check=True, capture_output=True)
        yield inside, "10.213.97.2"
    finally:
        subprocess.run(("ip", "netns", "delete", name), capture_output=True)
        subprocess.run(("ip", "link", "delete", here), capture_output=True)


def counted(serving, work, times=3):
    """Time, requests and MB of some work, the median of a few times. What it mounts or opens it puts on the stack that it
    is given: closing that is not measured."""
    results = []
    for _ in range(times):
        with contextlib.ExitStack() as stack:
            before, begun = serving.counts(), time.perf_counter()
            work(stack)
            seconds = time.perf_counter() - begun
            results.append((seconds, *(serving.counts() - before)))
    seconds, requests, sent = sorted(results)[len(results) // 2]
    return f"{seconds * 1000:.0f} ms, {requests} requests, {sent / 1e6:.1f} MB"
