"""Rows about compressed datasets: reading them through, at random, sizing them, and the memory this takes.

Every stream is deflated at level 6. Peers that read gzip get the same deflate data in a gzip file.
"""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import zlib

import numpy as np
import yaml

from bench_kit import dd, median, peak, row, run, seconds, warm

MIB = 1 << 20
SPACING = 256 << 10
SMALLEST = ("--cache-size", "2M")
HEADER = ("- codecMeta:\n    byteLength: {}\n    byteOffset: {}\n    byteOrder: C\n    compression: gzip\n"
          "    endianness: little\n    shape:\n    - {}\n    type: {}\n  metadata: {{}}\n  name: {}\n")


# ---------------------------------------------------------------- data


def floats(rng, size):
    """A sensor: a sine with noise."""
    return (100 * np.sin(np.arange(size // 4) / 500) + rng.normal(size=size // 4)).astype("<f4").tobytes()


def walk(rng, size):
    """A random walk of int16."""
    return np.cumsum(rng.integers(-40, 41, size=size // 2)).astype("<i2").tobytes()


def text(rng, size):
    """Words of a vocabulary, some far more often than others, with numbers and punctuation."""
    letters = np.frombuffer(b"etaoinshrdlucmfwypvbgk", "S1")
    words = [b"".join(rng.choice(letters, size=n)) for n in rng.integers(2, 11, size=4000)]
    words += [b"%d" % n for n in rng.integers(0, 100_000, size=1000)]
    words = [word + end for word, end in zip(words, rng.choice([b" ", b" ", b" ", b" ", b", ", b".\n"], size=5000))]
    often = 1 / np.arange(10, 5010)
    picked = rng.choice(5000, p=rng.permutation(often / often.sum()), size=size // 3)
    return b"".join(map(words.__getitem__, picked.tolist()))[:size]


KINDS = {"float32": (512, floats), "text": (256, text), "int16": (256, walk)}


def mebibytes(bench, kind):
    return KINDS[kind][0] // (8 if bench.quick else 1)


def deflated(make, size, seed):
    """A zlib stream of `size` bytes, made in pieces."""
    rng, c, out = np.random.default_rng(seed), zlib.compressobj(6), []
    for at in range(0, size, 16 * MIB):
        out.append(c.compress(make(rng, min(16 * MIB, size - at))))
    return b"".join(out) + c.flush()


def write_container(path, datasets):
    """datasets: (name, type, decoded items, zlib stream)."""
    header, at = "\n", 0
    for name, kind, items, stored in datasets:
        header += HEADER.format(len(stored), at, items, kind, name)
        at += len(stored)
    raw = (header + "\n").encode()
    with open(path, "wb") as f:
        f.write(b"rab" + len(raw).to_bytes(4, "little") + raw)
        for *_, stored in datasets:
            f.write(stored)


def ranges(container):
    """Offset and length of each stream in the file."""
    with open(container, "rb") as f:
        size = int.from_bytes(f.read(7)[3:], "little")
        codecs = [entry["codecMeta"] for entry in yaml.load(f.read(size), Loader=yaml.CSafeLoader)]
    return [(7 + size + codec["byteOffset"], codec["byteLength"]) for codec in codecs]


def packed(bench, kind):
    """A container of one array, `x`; text is bytes in it, so that its size is in the header as that of the others."""
    mib, make = mebibytes(bench, kind), KINDS[kind][1]
    dtype = np.dtype("uint8" if kind == "text" else kind)
    items = mib * MIB // dtype.itemsize
    return bench.made(f"packed-{kind}-{mib}.rab",
                      lambda path: write_container(path, [("x", dtype.name, items, deflated(make, mib * MIB, 6))]))


def all_packed(bench):
    """(what it is, container, its size in MiB) of every kind, made at once since compressing takes long."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        containers = list(pool.map(lambda kind: packed(bench, kind), KINDS))
    return [(f"{mebibytes(bench, kind)} MiB {kind}", container, mebibytes(bench, kind))
            for kind, container in zip(KINDS, containers)]


def gzipped(bench, container):
    """The same deflate data as a gzip file."""
    def make(path):
        plain_sum = [0, 0]

        def count(part):
            plain_sum[:] = zlib.crc32(part, plain_sum[0]), plain_sum[1] + len(part)
        through_zlib(container, count)
        with open(container, "rb") as f, open(path, "wb") as out:
            [(offset, length)] = ranges(container)
            f.seek(offset + 2)
            out.write(b"\x1f\x8b\x08" + bytes(6) + b"\x03" + f.read(length - 6))
            out.write(b"".join(n.to_bytes(4, "little") for n in plain_sum))
    return bench.made(os.path.basename(container).replace(".rab", ".gz"), make)


# ---------------------------------------------------------------- counterparts


def through_zlib(container, use=lambda part: None):
    [(offset, length)] = ranges(container)
    decoder = zlib.decompressobj()
    with open(container, "rb") as f:
        f.seek(offset)
        for at in range(0, length, SPACING):
            use(decoder.decompress(f.read(min(SPACING, length - at))))


def inflate(bench, container):
    """Seconds of flate2 with zlib-rs for all streams, one after the other in one process."""
    program = os.path.join(os.path.dirname(bench.program), "examples", "inflate")
    numbers = [str(number) for of in ranges(container) for number in of]
    out = subprocess.run([program, container, *numbers], check=True, capture_output=True, text=True).stdout
    return float(out.split()[0])


def rapidgzip():
    """The program beside our Python or in PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "rapidgzip")
    return beside if os.path.exists(beside) else shutil.which("rapidgzip")


def through_rapidgzip(path):
    """Seconds without those that its interpreter takes to start."""
    start = seconds(run, rapidgzip(), "--version")
    return seconds(run, rapidgzip(), "-P", "1", "-d", "-c", "-f", path) - start


def indexed(path):
    """The file with a full index, or None; it reads no more at once than we do."""
    try:
        import indexed_gzip
    except ImportError:
        return None
    file = indexed_gzip.IndexedGzipFile(path, spacing=SPACING, buffer_size=4096, drop_handles=False)
    file.build_full_index()
    return file


# ---------------------------------------------------------------- reading


def no_index(bench):
    return ("--no-index",) if bench.knows("--no-index") else ()


def forget(path):
    """Out of the kernel's cache; the daemon's own is kept small by those who call this."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def first_and_second(bench, container):
    with bench.mount(container, *SMALLEST, *no_index(bench)) as where:
        path = os.path.join(where, "x")
        first = seconds(dd, path)
        forget(path)
        return first, seconds(dd, path)


@row
def compressed_through(bench):
    lines = []
    for what, container, mib in all_packed(bench):
        others = {"flate2 in one process": lambda: inflate(bench, container),
                  "Python's zlib": lambda: seconds(through_zlib, container)}
        if rapidgzip():
            gz = gzipped(bench, container)
            warm(gz)
            others["rapidgzip -P 1"] = lambda: through_rapidgzip(gz)
        warm(container)
        ours, gains, ratios = [], [], {name: [] for name in others}
        for _ in range(bench.repeat):
            first, second = first_and_second(bench, container)
            ours.append(first)
            gains.append(first / second)
            for name, theirs in others.items():
                ratios[name].append(theirs() / first)
        for name in others:
            lines.append((f"{what}, first dd bs=1M, against {name}", f"{median(ratios[name]):.2f}x its speed"))
        if not rapidgzip():
            lines.append((f"{what}, first dd bs=1M, against rapidgzip -P 1", "not available here"))
        rate, gain = mib / median(ours), median(gains)
        lines.append((f"{what}, second dd, against the first", f"{gain:.2f}x its speed"))
        lines.append(("first and second", f"{rate:.0f} and {rate * gain:.0f} MiB/s"))
    return lines


# ---------------------------------------------------------------- at random


class Reader:
    """Times reads of 4 KiB; the kernel is told not to read ahead."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_RANDOM)
        self.times = []

    def read(self, offset):
        self.times.append(seconds(os.pread, self.fd, 4096, offset) * 1e6)

    def close(self):
        os.close(self.fd)
        return median(self.times)


class Peer:
    def __init__(self, file):
        self.file, self.times = file, []

    def read(self, offset):
        start = time.perf_counter()
        self.file.seek(offset)
        self.file.read(4096)
        self.times.append((time.perf_counter() - start) * 1e6)

    def close(self):
        self.file.close()
        return median(self.times)


def at_random(bench, readers, mib):
    """Medians of reads at offsets of which none is read twice, the readers taking turns."""
    turns, reads = (3, 60) if bench.quick else (7, 100)
    pages = random.Random(6).sample(range(mib * MIB // 4096), turns * reads)
    for turn in range(turns):
        for reader in readers:
            for page in pages[turn * reads:][:reads]:
                reader.read(page * 4096)
    return [reader.close() for reader in readers]


def index_in(log):
    """The size of the index for each GiB decoded, as the daemon says when it is unmounted."""
    with open(log) as f:
        said = re.search(r"index: (\d+) bytes for ([1-9]\d*) decoded bytes", f.read())
    return f"{int(said[1]) / int(said[2]) * 1024:.1f} MiB" if said else "not told"


def indexed_before(bench, container):
    """The options that bring back the index of an earlier mount (none if there is no such thing), and what it took."""
    folder = bench.path("index")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    log = os.path.join(folder, "log")
    options = ("--index-dir", os.path.join(folder, "kept")) if bench.knows("--index-dir") else ()
    with bench.mount(container, *SMALLEST, *options, "-v", "--log-file", log) as where:
        dd(os.path.join(where, "x"))
    return options, index_in(log)


@row
def compressed_at_random(bench):
    lines = []
    for what, container, mib in all_packed(bench):
        warm(container)
        options, index = indexed_before(bench, container)
        peer = indexed(gzipped(bench, container))
        with bench.mount(container, *SMALLEST, *no_index(bench)) as first:
            path = os.path.join(first, "x")
            dd(path)
            forget(path)
            with bench.mount(container, *SMALLEST, *options) as again:
                readers = [Reader(path)]
                readers += [Peer(peer)] if peer else []
                readers += [Reader(os.path.join(again, "x"))] if options else []
                ours, *others = at_random(bench, readers, mib)
        name = f"{what}, pread of 4 KiB at random after indexing"
        theirs = f"{ours / others[0]:.2f}x its time" if peer else "not available here"
        mounted = f"{others[-1] / ours:.2f}x the time" if options else "not available here"
        lines += [(name, f"{ours:.0f} us"),
                  ("the same, against indexed_gzip", theirs),
                  ("the same, after mounting again", mounted),
                  ("index of it, for each GiB decoded", index)]
    return lines


# ---------------------------------------------------------------- sizes and memory


def copies(bench, name, kind, count, size, streams):
    """A container of `count` datasets of `size` decoded bytes, made of `streams` in turn."""
    def make(path):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            stored = list(pool.map(lambda stream: deflated(stream[0], size, stream[1]), streams))
        items = size // np.dtype("uint8" if kind == "text" else kind).itemsize
        write_container(path, [(f"x{n}", kind, items, stored[n % len(stored)]) for n in range(count)])
    return bench.made(f"{name}-{size}.rab", make)


@row
def sizes_of_texts(bench):
    size = 4 * MIB // (8 if bench.quick else 1)
    container = copies(bench, "texts", "text", 200, size, [(text, seed) for seed in range(4)])
    warm(container)
    ratios = []
    for _ in range(bench.repeat):
        with bench.mount(container, *no_index(bench)) as where:
            ours = seconds(run, "ls", "-l", where)
        ratios.append(inflate(bench, container) / ours)
    return [(f"ls -l of 200 compressed texts of {size // 1024} KiB, first time, against one thread decoding them",
             f"{median(ratios):.2f}x its speed")]


@row
def memory_of_readers(bench):
    size, during = (6 * MIB, 5) if bench.quick else (51 * MIB, 30)
    makers = [(make, 8) for make in (floats, text, walk, floats)]
    container = copies(bench, "twenty", "uint8", 20, size, makers)
    options = ("--index-memory", "64M") if bench.knows("--index-memory") else ()
    end = time.monotonic() + during

    def read_on(where, seed):
        at = random.Random(seed)
        files = [os.open(os.path.join(where, f"x{n}"), os.O_RDONLY) for n in range(20)]
        while time.monotonic() < end:
            os.pread(at.choice(files), 1 << at.randrange(10, 20), at.randrange(size))
        for fd in files:
            os.close(fd)

    with bench.mount(container, "--cache-size", "64M", *options, *no_index(bench)) as where:
        readers = [threading.Thread(target=read_on, args=(where, seed)) for seed in range(8)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        most = peak(bench.daemon(where))
    return [(f"most memory while 8 readers work at random on {20 * size // MIB} MiB, cache 64M and index 64M",
             f"{most:.0f} MiB")]
