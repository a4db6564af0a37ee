"""Rows of scripts/bench about the command rab: packing, unpacking, verifying, listing."""
import os
import subprocess
import sys
import time

import numpy as np

from bench_gzip import KINDS, MIB
from bench_kit import median, peak, row, warm


def rab(bench):
    return os.path.join(os.path.dirname(bench.program), "rab")


def measured(*command):
    """Seconds and the most memory in MiB that a command takes. (Its rusage would count ours before it is executed.)"""
    start = time.perf_counter()
    process, most = subprocess.Popen(command, stdout=subprocess.DEVNULL), 0
    while True:
        try:
            process.wait(0.01)
            break
        except subprocess.TimeoutExpired:
            most = max(most, peak(process.pid))
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return time.perf_counter() - start, most


def on_disk(*command):
    """As `measured`, until the last argument is on the disk."""
    start = time.perf_counter()
    _, memory = measured(*command)
    subprocess.run(["sync", command[-1]], check=True)
    return time.perf_counter() - start, memory


def removed(path):
    subprocess.run(["rm", "-rf", path], check=True)
    subprocess.run(["sync", os.path.dirname(path)], check=True)
    return path


def array(bench):
    def make(path):
        a = np.fromfile(bench.plain(), "<f4").reshape(-1, 1024)
        with open(path, "wb") as f:
            np.save(f, a)
    return bench.made(f"array-{bench.mib}.npy", make)


@row
def packing(bench):
    source, out, copied = array(bench), bench.path("packed.rab"), bench.path("copied")
    folder, unpacked = bench.path("unpacked"), bench.path("unpacked/" + os.path.basename(array(bench))[:-4])
    warm(source)
    pack, unpack, verify, most = [], [], [], [0, 0, 0]
    for _ in range(bench.repeat):
        there, _ = on_disk("cp", "--reflink=never", source, removed(copied))
        ours, most[0] = max_of(measured(rab(bench), "pack", removed(out), source), most[0])
        pack.append(ours / there)
        ours, most[1] = max_of(measured(rab(bench), "unpack", out, removed(folder)), most[1])
        start = time.perf_counter()
        subprocess.run(["sync", unpacked], check=True)
        unpack.append((ours + time.perf_counter() - start) / there)
        ours, most[2] = max_of(measured(rab(bench), "verify", out), most[2])
        verify.append(bench.mib * MIB / 1e9 / ours)
    for path in (out, copied, folder):
        removed(path)
    size = f"{bench.mib} MiB"
    return [(f"rab pack of an array of {size}, checksum and disk included", f"{median(pack):.2f}x cp + sync"),
            (f"rab unpack of the same, with sync", f"{median(unpack):.2f}x cp + sync"),
            ("rab verify of the same", f"{median(verify):.2f} GB/s"),
            ("memory of pack, unpack and verify", ", ".join(f"{mib:.0f}" for mib in most) + " MiB")]


def max_of(result, most):
    seconds, memory = result
    return seconds, max(memory, most)


@row
def compressing(bench):
    lines, out = [], bench.path("compressed.rab")
    for kind, (mib, make) in KINDS.items():
        mib = mib // (8 if bench.quick else 2)
        name = bench.made(f"raw-{kind}-{mib}", lambda path: write(path, make, mib))
        warm(name)
        one, pigz, memory = [], [], 0
        for _ in range(max(3, bench.repeat // 2)):
            two, used = measured(rab(bench), "pack", "--compress=6", "--jobs", "2", removed(out), name)
            single, _ = measured(rab(bench), "pack", "--compress=6", "--jobs", "1", removed(out), name)
            start = time.perf_counter()
            with open(bench.path("pigz.gz"), "wb") as f:
                subprocess.run(["pigz", "-6", "-p", "2", "-c", name], stdout=f, check=True)
                os.fsync(f.fileno())
            there = time.perf_counter() - start
            memory = max(memory, used)
            one.append(single / two)
            pigz.append(two / there)
        size = os.path.getsize(out) / os.path.getsize(bench.path("pigz.gz"))
        what = f"rab pack --compress=6 of {mib} MiB {kind}, two jobs"
        lines += [(what, f"{median(one):.2f}x as fast as one job"),
                  ("the same against pigz -6 -p 2", f"{median(pigz):.2f}x its time, {size:.3f}x its size"),
                  ("its memory", f"{memory:.0f} MiB")]
    removed(out), removed(bench.path("pigz.gz"))
    return lines


def write(path, make, mib):
    rng = np.random.default_rng(7)
    with open(path, "wb") as f:
        for _ in range(mib // 16):
            f.write(make(rng, 16 * MIB))


@row
def listing_with_rab(bench):
    def make(path):
        subprocess.run([sys.executable, os.path.join(sys.path[0], "rab_oracle.py"), "many", path, str(bench.many)], check=True)
    source = bench.made(f"many-{bench.many}.rab", make)
    warm(source)
    lines = []
    for options in (), ("-l",):
        times = [measured(rab(bench), "ls", *options, source)[0] for _ in range(bench.repeat)]
        lines.append((" ".join(("rab ls", *options, f"of {bench.many:,} datasets")), f"{median(times):.2f} s"))
    return lines
