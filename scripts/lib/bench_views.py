"""Rows of scripts/bench about the views csv, png and arrow."""
import os
import struct

import numpy as np

from bench_kit import dd, median, row, seconds, warm


def ra(path, array):
    """A RawArray file; elements are floats (type 3) or unsigned (2)."""
    kind = 3 if array.dtype.kind == "f" else 2
    head = struct.pack("<8s5Q", b"rawarray", 0, kind, array.itemsize, array.nbytes, array.ndim)
    # Its sizes begin with the one that runs fastest.
    with open(path, "wb") as f:
        f.write(head + struct.pack(f"<{array.ndim}Q", *array.shape[::-1]))
        f.write(array.tobytes())


def timed(bench, source, view, work, times):
    """Medians of `work` on a view in new mounts, and its size."""
    taken = []
    for _ in range(times):
        with bench.mount(source) as where:
            folder = os.path.join(where, ".views", view)
            path = os.path.join(folder, os.listdir(folder)[0])
            size = os.path.getsize(path)
            taken.append(seconds(work, path))
    return median(taken), size


@row
def npy_view(bench):
    """np.load of a view beside the dataset's own file, both through one mount; and a part that is scattered in it."""
    side = 256 if bench.quick else 512
    shape = (side, side, 1024)
    values = lambda: np.random.default_rng(8).random(shape, dtype="<f4")
    source = bench.made(f"cube-{side}.ra", lambda path: ra(path, values()))
    warm(source)
    name = os.path.basename(source)[:-3]

    def of_view(where):
        return float(np.load(os.path.join(where, ".views", "npy", f"{name}.npy"), mmap_mode="r").sum())

    def of_bytes(where):
        return float(np.memmap(os.path.join(where, name), "<f4", "r", shape=shape).sum())

    ratios, firsts = [], []
    for turn in range(2 * bench.repeat):
        # Which pages of memory a file gets depends on what was read before it: each is the first half of the time.
        order = [of_view, of_bytes] if turn % 2 else [of_bytes, of_view]
        with bench.mount(source) as where:
            sums = {work: work(where) for work in order}
            assert sums[of_view] == sums[of_bytes]
            taken = {work: min(seconds(work, where) for _ in range(3)) for work in order}
            ratios.append(taken[of_view] / taken[of_bytes])
        first = {}
        for work in order:
            with bench.mount(source) as where:
                first[work] = seconds(work, where)
        firsts.append(first[of_view] / first[of_bytes])
    rows = [("npy view of 1 GiB, np.load and sum, warm", f"{median(ratios):.2f}x the bytes"),
            ("the same, first time", f"{median(firsts):.2f}x the bytes")]
    with bench.mount(source) as where:
        part = os.path.join(where, ".views", "npy", f"{name}[::8, ::8, 5].npy")
        pid = bench.daemon(where)
        before = read_by(pid)
        taken = seconds(np.load, part)
        count = (side // 8) ** 2
        rows.append((f"a part of {count} elements far from each other, bytes read for each",
                     f"{(read_by(pid) - before) / count:.0f} ({taken * 1000:.0f} ms)"))
    return rows


def read_by(pid):
    """Bytes that a process has asked the system for."""
    return int(next(line for line in open(f"/proc/{pid}/io") if line.startswith("rchar")).split()[1])


@row
def csv_view(bench):
    """Text of float32: what one processor writes, since one reader waits for each piece."""
    rows = 2_000_000
    values = lambda: np.random.default_rng(6).standard_normal((rows, 8)).astype("<f4")
    source = bench.made("floats.ra", lambda path: ra(path, values()))
    warm(source)
    taken, size = timed(bench, source, "csv", dd, 3)
    sparse = bench.made("sparse.ra", lambda path: (ra(path, np.zeros((0, 10), "<f4")), stretch(path)))

    def stat():
        with bench.mount(sparse) as where:
            # What the first request of a new mount waits for is no matter of views.
            os.stat(os.path.join(where, ".views", "npy", "sparse.npy"))
            return seconds(os.stat, os.path.join(where, ".views", "csv", "sparse.csv"))
    at_once = median([stat() for _ in range(5)])

    def tail(path):
        with open(path, "rb") as f:
            f.seek(-4096, os.SEEK_END)
            assert len(f.read()) == 4096
    last, _ = timed(bench, sparse, "csv", tail, 5)
    return [("CSV view of float32, dd", f"{size / taken / 1e6:.0f} MB/s of text"),
            ("CSV view of 100 GB, stat", f"{at_once * 1000:.2f} ms"),
            ("CSV view of 100 GB, its last 4 KiB", f"{last * 1000:.1f} ms")]


def stretch(path):
    """Makes an array of (0, 10) one of 100 GB, without a byte of data."""
    rows = 2_500_000_000
    with open(path, "r+b") as f:
        f.write(struct.pack("<8s5Q2Q", b"rawarray", 0, 3, 4, 40 * rows, 2, 10, rows))
        f.truncate(64 + 40 * rows)


@row
def png_view(bench):
    side = 4_000 if bench.quick else 20_000
    values = lambda: np.random.default_rng(7).integers(0, 65536, (side, side), dtype="<u2")
    source = bench.made(f"image-{side}.ra", lambda path: ra(path, values()))
    warm(source)
    taken, _ = timed(bench, source, "png", dd, 3)
    return [(f"PNG view of {side} x {side} uint16", f"{taken:.2f} s")]
