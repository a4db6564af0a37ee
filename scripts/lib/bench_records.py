"""Rows of scripts/bench about FFRecord and RawArray."""
import os
import subprocess
import time
import zlib

import numpy as np

from bench_kit import fromfile, median, peak, row, run, seconds, warm

try:
    import h5py
except ImportError:
    h5py = None

RECORD = 1024

READER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int n, char **v) {
  if (n < 4 || chdir(v[1])) return 1;
  int count = atoi(v[3]), *order = malloc(count * sizeof *order);
  char name[256], buf[65536];
  for (int i = 0; i < count; i++) order[i] = i;
  srandom(7);
  for (int i = count - 1; i > 0 && n < 5; i--) {
    int j = random() % (i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, v[2], order[i], order[i]);
    int fd = open(name, O_RDONLY);
    if (fd < 0 || read(fd, buf, sizeof buf) <= 0) return 1;
    close(fd);
  }
  return 0;
}
"""


def reader(bench):
    """A C program that opens, reads and closes files in random order, or in order: READER DIR FORMAT COUNT [in-order]."""
    def make(path):
        subprocess.run(["cc", "-O2", "-w", "-x", "c", "-", "-o", path], input=READER, text=True, check=True)
    return bench.made("records-reader", make)


def header(checksums, offsets):
    head = len(checksums).to_bytes(8, "little") + checksums.tobytes() + offsets.tobytes()
    return zlib.crc32(head).to_bytes(4, "little") + head


def records(bench, count, size):
    """An FFRecord file of `count` records of `size` random bytes."""
    def make(path):
        rng = np.random.default_rng(4)
        begin = 12 + 12 * count
        with open(path, "wb") as f:
            f.seek(begin)
            sums = np.empty(count, "<u4")
            for first in range(0, count, 10_000):
                part = rng.integers(0, 256, (min(10_000, count - first), size), dtype=np.uint8)
                sums[first:first + len(part)] = [zlib.crc32(record) for record in part]
                f.write(part.tobytes())
            f.seek(0)
            f.write(header(sums, begin + size * np.arange(count, dtype="<i8")))
    # FFRecord has no magic: its name tells.
    folder = bench.made(f"records-{count}-{size}", lambda path: (os.makedirs(path), make(os.path.join(path, "x.ffr"))))
    return os.path.join(folder, "x.ffr")


def rate(value):
    return f"{value / 1000:,.0f}k/s"


@row
def random_records(bench):
    """200,000 records of 1 KiB in random order, one process."""
    count = 200_000
    source, program = records(bench, count, RECORD), reader(bench)
    library = os.path.join(os.path.dirname(bench.program), "examples", "records")
    warm(source)
    order = np.random.default_rng(5).permutation(count)

    def through_map(where):
        table = os.path.join(where, ".views", "table")
        data = memoryview(np.memmap(os.path.join(table, "data"), np.uint8, "r"))
        offsets = np.fromfile(os.path.join(table, "offsets"), "<i8")
        starts, ends = offsets[order].tolist(), offsets[order + 1].tolist()

        def copy():
            for start, end in zip(starts, ends):
                bytes(data[start:end])
        copy()
        return count / min(seconds(copy) for _ in range(3))

    def opened(where, name):
        times = [seconds(run, program, where, name, str(count)) for _ in range(4)]
        return count / times[0], count / min(times[1:])

    def batches():
        out = subprocess.run([library, source, "64", "2000000"], check=True, capture_output=True, text=True).stdout
        return float(out.split()[0])

    mapped, cold, again, many, floor_cold, floor_again, listed = [], [], [], [], [], [], []
    for _ in range(3):
        with bench.mount(source) as where:
            mapped.append(through_map(where))
            first, after = opened(os.path.join(where, "records"), "%06d")
            cold.append(first), again.append(after)
        with bench.mount(source) as where:
            os.listdir(os.path.join(where, "records"))
            taken = seconds(run, program, os.path.join(where, "records"), "%06d", str(count), "in-order")
            listed.append(count / taken)
        with bench.floor(count, RECORD) as where:
            first, after = opened(where, "signal %06d")
            floor_cold.append(first), floor_again.append(after)
        many.append(batches())
    return [("records of 1 KiB, random, data + offsets by np.memmap, warm", rate(median(mapped))),
            ("records/NNN, open + read + close, cold", rate(median(cold)), rate(median(floor_cold))),
            ("the same, warm", rate(median(again)), rate(median(floor_again))),
            ("the same in order, cold, after a listing", rate(median(listed))),
            ("library, batches of 64", rate(median(many)))]


@row
def many_records(bench):
    """10,000,000 empty records: what is measured is the tables."""
    count = 1_000_000 if bench.quick else 10_000_000
    def make(path):
        os.makedirs(path)
        with open(os.path.join(path, "x.ffr"), "wb") as f:
            f.write(header(np.zeros(count, "<u4"), np.full(count, 12 + 12 * count, "<i8")))
    source = os.path.join(bench.made(f"records-{count}", make), "x.ffr")
    warm(source)
    mounts, lists, sizes = [], [], []
    for _ in range(bench.repeat):
        start = time.perf_counter()
        with bench.mount(source) as where:
            mounts.append(time.perf_counter() - start)
            lists.append(seconds(run, "sh", "-c", 'ls -U "$1" | head', "sh", os.path.join(where, "records")))
            sizes.append(peak(bench.daemon(where)))
    return [(f"mount of {count:,} records", f"{median(mounts):.2f} s"),
            ("the first lines of ls -U of them", f"{median(lists) * 1000:.0f} ms"),
            ("the most memory of its daemon", f"{median(sizes):.0f} MiB")]


def rawarray(path, array):
    """Written with the last axis first, as the format counts them."""
    kinds = {"i": 1, "u": 2, "f": 3, "c": 4}
    words = [0, kinds[array.dtype.kind], array.dtype.itemsize, array.nbytes, array.ndim, *array.shape[::-1]]
    with open(path, "wb") as f:
        f.write(b"rawarray" + np.array(words, "<u8").tobytes() + array.tobytes())


@row
def large_rawarray(bench):
    plain = bench.plain()
    folder = bench.made(f"big-{bench.mib}-ra", lambda path: (os.makedirs(path), rawarray(os.path.join(path, "big.ra"), np.fromfile(plain, "<f4"))))
    source = os.path.join(folder, "big.ra")
    warm(plain), warm(source)
    lines = []
    for read_ahead in (128, 512):
        cold, again = [], []
        for _ in range(bench.repeat):
            direct = seconds(fromfile, plain)
            with bench.mount(source, "--read-ahead", f"{read_ahead}K") as where:
                path = os.path.join(where, "big")
                cold.append(seconds(fromfile, path) / direct)
                again.append(seconds(fromfile, path) / direct)
        kind = "as root" if read_ahead == 512 else "read-ahead as for any user"
        lines.append((f"np.fromfile of a RawArray file, cold, {kind}", f"{median(cold):.2f}x plain"))
        if os.geteuid() != 0:
            break
    return [*lines, ("the same, warm", f"{median(again):.2f}x plain")]


@row
def small_rawarrays(bench):
    """10,000 images of 3 KB, each a RawArray file, against as many datasets of one HDF5 file."""
    count = 10_000
    images = np.random.default_rng(6).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    name = "image %06d"
    def make(path):
        os.makedirs(path)
        for number, image in enumerate(images):
            rawarray(os.path.join(path, f"{name % number}.ra"), image)
    folder = bench.made(f"images-{count}", make)
    if h5py is None:
        return [("10,000 RawArray files of 3 KB against h5py", "h5py is not available here")]
    def make_hdf5(path):
        with h5py.File(path, "w") as f:
            for number, image in enumerate(images):
                f[name % number] = image
    hdf5 = bench.made(f"images-{count}.h5", make_hdf5)
    for number in range(count):
        warm(os.path.join(folder, f"{name % number}.ra"))
    warm(hdf5)

    def through_hdf5():
        with h5py.File(hdf5, "r") as f:
            for number in range(count):
                f[name % number][()]

    def through_mount(where, name=name, extension=".ra", inside=name):
        for number in range(count):
            # Without a buffer: Python asks of one with whether the file is a terminal, which goes to the daemon.
            with open(os.path.join(where, name % number + extension, inside % number), "rb", 0) as f:
                np.frombuffer(f.read(), np.uint8).reshape(32, 32, 3)

    first, after, floor, floor_after = [], [], [], []
    for _ in range(bench.repeat):
        there = seconds(through_hdf5)
        with bench.mount(folder) as where:
            first.append(there / seconds(through_mount, where))
            after.append(there / min(seconds(through_mount, where) for _ in range(2)))
        with bench.floor(count, images[0].nbytes) as where:
            empty = lambda: through_mount(where, "folder %06d", "", "signal %06d")
            floor.append(there / seconds(empty))
            floor_after.append(there / min(seconds(empty) for _ in range(2)))
    faster = lambda ratios: f"{median(ratios):.2f}x as fast as h5py"
    return [("10,000 RawArray files of 3 KB in a mounted directory, first read", faster(first), faster(floor)),
            ("the same, again", faster(after), "", faster(floor_after))]
