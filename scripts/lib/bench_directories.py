"""Rows of scripts/bench about directories of containers."""
import io
import os
import random
import threading
import time

import numpy as np

from bench_kit import median, resident, row, run, seconds

ENTRY = ("- codecMeta:\n    byteLength: {s}\n    byteOffset: {o}\n    compression: null\n    type: bytes\n"
         "  metadata: null\n  name: signal {i:02}\n")


def container(path, datasets, size):
    text = "\n" + "".join(ENTRY.format(s=size, o=i * size, i=i) for i in range(datasets)) + "\n"
    with open(path, "wb") as f:
        f.write(b"rab" + len(text).to_bytes(4, "little") + text.encode() + os.urandom(datasets * size))


def containers(bench, count, datasets, each):
    """`count` containers, `each` in a directory."""
    def make(where):
        for i in range(count):
            folder = os.path.join(where, f"{i // each:03}")
            if i % each == 0:
                os.makedirs(folder)
            container(os.path.join(folder, f"run {i:06}.rab"), datasets, 64)
    return bench.made(f"containers-{count}-{datasets}-{each}", make)


def shell(command):
    return lambda where: run("sh", "-c", f"LC_ALL=C {command} > /dev/null", "sh", where)


@row
def directory_of_many_containers(bench):
    count = 20_000 if bench.quick else 100_000
    folder = os.path.join(containers(bench, count, 1, count), "000")
    listing = shell('ls "$1"')
    listing(folder)
    times = []
    for _ in range(bench.repeat):
        there = min(seconds(listing, folder) for _ in range(2))
        start = time.perf_counter()
        with bench.mount(folder) as where:
            listing(where)
            times.append((time.perf_counter() - start, there))
    total, there = min(times)
    return [(f"mount of a directory of {count:,} containers until ls answers", f"{median([t for t, _ in times]):.2f} s")]


def twin(bench, source, count):
    """What a mount of `source` shows, as files on the disk."""
    where = bench.path(f"twin-containers-{count}")
    if not os.path.exists(where):
        with bench.mount(source) as mounted:
            run("sh", "-c", 'cp -r "$1" "$2"', "sh", mounted, where + ".part")
        run("chmod", "-R", "u+w", where + ".part")
        os.rename(where + ".part", where)
    return where


def read_at_random(where, count):
    """Eight threads read a tenth of the containers each, wherever they are."""
    def reader(seed):
        pick = random.Random(seed)
        for _ in range(count // 10):
            i = pick.randrange(count)
            with open(os.path.join(where, f"{i // 500:03}", f"run {i:06}.rab", f"signal {pick.randrange(10):02}"), "rb") as f:
                assert len(f.read()) == 64
    threads = [threading.Thread(target=reader, args=[seed]) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@row
def walk_of_containers(bench):
    count = 2_000 if bench.quick else 10_000
    source = containers(bench, count, 10, 500)
    plain = twin(bench, source, count)
    walk, sizes, open_files, cold, again = shell('find "$1"'), [], [], [], []
    walk(plain)
    for _ in range(max(3, bench.repeat // 2)):
        there = min(seconds(walk, plain) for _ in range(2))
        with bench.mount(source) as where:
            cold.append(seconds(walk, where))
            again.append(min(seconds(walk, where) for _ in range(3)) / there)
            read_at_random(where, count)
            daemon = bench.daemon(where)
            sizes.append(resident(daemon))
            open_files.append(len(os.listdir(f"/proc/{daemon}/fd")))
    return [(f"find over {count:,} containers of 10 datasets, cold", f"{median(cold):.2f} s"),
            ("the same, warm", f"{median(again):.2f}x the disk"),
            ("resident memory of its daemon after 8 readers at random", f"{median(sizes):.0f} MiB"),
            ("files that it has open then", f"{median(open_files):.0f}")]


@row
def memory_for_archives(bench):
    """NPZ keeps more beside its file than other formats do."""
    count = 2_000 if bench.quick else 20_000

    def make(where):
        os.makedirs(where)
        archive = io.BytesIO()
        np.savez(archive, a=np.arange(100.0))
        for i in range(count):
            with open(os.path.join(where, f"run {i:06}.npz"), "wb") as f:
                f.write(archive.getvalue())
    source = bench.made(f"archives-{count}", make)
    with bench.mount(source) as where:
        shell('find "$1"')(where)
        size = resident(bench.daemon(where))
    return [(f"resident memory of its daemon after find over {count:,} NPZ of 1 KiB", f"{size:.0f} MiB")]


@row
def small_containers(bench):
    count = 2_000 if bench.quick else 10_000
    source = containers(bench, count, 10, 500)
    rates = []
    for _ in range(3):
        with bench.mount(source) as where:
            paths = [os.path.join(where, f"{i // 500:03}", f"run {i:06}.rab", "signal 03") for i in range(count)]
            start = time.perf_counter()
            for path in paths:
                fd = os.open(path, os.O_RDONLY)
                os.read(fd, 4096)
                os.close(fd)
            rates.append(count / (time.perf_counter() - start))
    return [(f"{count:,} small containers opened, read and closed, cold", f"{median(rates):,.0f}/s")]
