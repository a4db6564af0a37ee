"""What the rows of scripts/bench share: data that is made once, mounts, and small measures."""
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tests", "python"))
from rab_oracle import Writer  # noqa: E402

ROWS = []


def row(function):
    ROWS.append(function)
    return function


class Bench:
    def __init__(self, program, scratch, quick):
        self.program, self.scratch, self.quick = os.path.abspath(program), os.path.abspath(scratch), quick
        self.repeat = 3 if quick else 7
        self.mib = 256 if quick else 1024
        self.many = 200_000 if quick else 1_000_000
        self.files = 20_000 if quick else 100_000
        os.makedirs(self.scratch, exist_ok=True)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def made(self, name, make):
        """The path of `name` in the scratch folder, made once."""
        path = self.path(name)
        if not os.path.exists(path):
            say(f"making {name}")
            make(path + ".part")
            os.rename(path + ".part", path)
        return path

    # ---- data

    def plain(self):
        def make(path):
            rng = np.random.default_rng(3)
            with open(path, "wb") as f:
                for _ in range(self.mib // 64):
                    f.write(rng.integers(0, 256, 64 << 20, dtype=np.uint8).tobytes())
        return self.made(f"plain-{self.mib}", make)

    def big(self):
        """The bytes of the plain file as one float32 array, at an odd offset."""
        def make(path):
            w = Writer()
            w.text("before", "twelve bytes")
            w.array("big", np.fromfile(self.plain(), "<f4").reshape(-1, 1024))
            w.write(path)
        return self.made(f"big-{self.mib}.rab", make)

    def small(self, count, size, folder=""):
        """A RAB of `count` datasets of `size` bytes, header written by hand for speed."""
        def make(path):
            entry = ("- codecMeta:\n    byteLength: {s}\n    byteOffset: {o}\n    compression: null\n    type: bytes\n"
                     "  metadata:\n    channel: {i}\n    unit: microvolt\n  name: {f}signal {i:06}\n")
            text = "\n" + "".join(entry.format(s=size, o=i * size, i=i, f=folder) for i in range(count)) + "\n"
            with open(path, "wb") as f:
                f.write(b"rab" + len(text).to_bytes(4, "little") + text.encode())
                f.write(os.urandom(1 << 20) * (count * size // (1 << 20) + 1))
                f.truncate(7 + len(text) + count * size)
        return self.made(f"small-{count}-{size}.rab", make)

    # ---- mounts

    def knows(self, option):
        """Does the program have this option?"""
        if not hasattr(self, "help"):
            self.help = subprocess.run([self.program, "--help"], check=True, capture_output=True, text=True).stdout
        return option in self.help.split()

    @contextlib.contextmanager
    def mount(self, source, *options):
        where = tempfile.mkdtemp(dir=self.scratch)
        subprocess.run([self.program, *options, source, where], check=True)
        try:
            yield where
        finally:
            subprocess.run([self.program, "-u", where], check=True)
            os.rmdir(where)

    @contextlib.contextmanager
    def peer(self, *command):
        """A mount by another program, its last argument the mountpoint."""
        where = tempfile.mkdtemp(dir=self.scratch)
        subprocess.run([*command, where], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield where
        finally:
            subprocess.run(["fusermount3", "-u", where], check=True)
            time.sleep(0.2)
            os.rmdir(where)

    @contextlib.contextmanager
    def floor(self, count=1, size=4096, read_ahead=128):
        """The empty file system; read-ahead in KiB, which only root can raise."""
        where = tempfile.mkdtemp(dir=self.scratch)
        program = os.path.join(os.path.dirname(self.program), "examples", "floor")
        process = subprocess.Popen([program, where, str(self.mib << 20), str(count), str(size)])
        try:
            while not os.path.ismount(where):
                if process.poll() is not None:
                    raise RuntimeError("the empty file system cannot be mounted")
                time.sleep(0.002)
            if read_ahead != 128:
                device = os.stat(where).st_dev
                with open(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb", "w") as f:
                    f.write(str(read_ahead))
            yield where
        finally:
            subprocess.run(["fusermount3", "-u", where], check=True)
            process.wait()
            os.rmdir(where)

    def daemon(self, where):
        """The process that serves `where`."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
                if os.fsencode(where) in words:
                    return int(pid)
        raise RuntimeError(f"nobody serves {where}")


def say(text):
    print("==", text, file=sys.stderr, flush=True)


def seconds(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def median(values):
    return statistics.median(values)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def dd(path):
    run("dd", f"if={path}", "of=/dev/null", "bs=1M")


def fromfile(path):
    np.fromfile(path, "<f4")


def warm(path):
    """Into the page cache, and its own reading out of the measurement."""
    with open(path, "rb") as f:
        while f.read(8 << 20):
            pass


def memory(pid, label):
    """In MiB, as the kernel tells it under this label."""
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(label + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def resident(pid):
    return memory(pid, "VmRSS")


def peak(pid):
    """The most that was ever resident."""
    return memory(pid, "VmHWM")


def drop_names():
    """Forgets what is cached of the disk, so that its listing is a first one too."""
    with contextlib.suppress(OSError):
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3")
