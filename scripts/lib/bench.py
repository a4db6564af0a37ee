"""What scripts/bench runs: bench.py PROGRAM SCRATCH [--quick] [ROW...]

Each row is a function that returns lines of the table: (what, measured) and, where it helps to
judge it, the same work on an empty FUSE file system (benches/floor.rs), which is what the kernel leaves to any FUSE
file system. Whatever is compared is measured in turns within one run, and medians are reported.
"""
import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time

import numpy as np

from bench_kit import ROWS, Bench, dd, drop_names, fromfile, median, resident, row, run, say, seconds, warm

# ---------------------------------------------------------------- reading one large array


def cold_and_warm(bench, read, read_ahead, *options):
    """Medians of cold and warm / plain, ours and the floor's; cold: nothing of the mount is cached, the container is."""
    plain, source = bench.plain(), bench.big()
    warm(plain), warm(source)
    ours = lambda: bench.mount(source, "--read-ahead", f"{read_ahead}K", *options)
    mounts = (ours, lambda: bench.floor(read_ahead=read_ahead))
    ratios = ([], []), ([], [])
    for _ in range(bench.repeat):
        direct = seconds(read, plain)
        for (cold, again), mount in zip(ratios, mounts):
            with mount() as where:
                path = os.path.join(where, "big")
                cold.append(seconds(read, path) / direct)
                again.append(seconds(read, path) / direct)
    return [[median(values) for values in of] for of in ratios]


@row
def large_array(bench):
    lines = []
    for name, read in (("dd bs=1M", dd), ("numpy.fromfile", fromfile)):
        def line(kind, reached, floor):
            lines.append((f"{name}, {kind}", f"{reached:.2f}x plain", f"{floor:.2f}x"))
        (cold, again), (floor_cold, floor_again) = cold_and_warm(bench, read, 128)
        line("cold, read-ahead as for any user", cold, floor_cold)
        if os.geteuid() == 0:
            (root, _), (floor_root, _) = cold_and_warm(bench, read, 512)
            line("cold, as root", root, floor_root)
        line("warm", again, floor_again)
        if bench.knows("--direct-io"):
            (direct, direct_again), (floor, floor_again) = cold_and_warm(bench, read, 128, "--direct-io", "0")
            line("cold, with --direct-io 0", direct, floor)
            line("warm, with --direct-io 0", direct_again, floor_again)
    return lines


@row
def page_cache(bench):
    """How much of a large array is a second time in memory once it was copied."""
    source, lines = bench.big(), []
    for name, options in (("", ()), (" with --direct-io 0", ("--direct-io", "0"))):
        with bench.mount(source, *options) as where:
            path = os.path.join(where, "big")
            run("cp", path, "/dev/null")
            cached = subprocess.run(["fincore", "-nbo", "RES", path], check=True, capture_output=True, text=True).stdout
            share = int(cached) / os.path.getsize(path)
        lines.append((f"part of an array that the mount has cached after cp{name}", f"{share:.0%}"))
    return lines


@row
def peers(bench):
    """Cold dd of the same bytes through other programs, in turns with ours."""
    folder = bench.path("image")
    os.makedirs(folder, exist_ok=True)
    inside = os.path.join(folder, "big")
    if not os.path.exists(inside):
        os.link(bench.plain(), inside)
    ours = lambda: bench.mount(bench.big())
    others = {}
    squash = bench.made(f"big-{bench.mib}.squashfs", lambda p: run("mksquashfs", folder, p, "-noI", "-noD", "-noF", "-noX"))
    others["squashfuse"] = lambda: bench.peer("squashfuse", squash)
    if shutil.which("erofsfuse"):
        erofs = bench.made(f"big-{bench.mib}.erofs", lambda p: run("mkfs.erofs", p, folder))
        others["erofsfuse"] = lambda: bench.peer("erofsfuse", erofs)
    tar = bench.made(f"big-{bench.mib}.tar", lambda p: run("tar", "-C", folder, "-cf", p, "big"))
    ratarmount = os.path.join(os.path.dirname(sys.executable), "ratarmount")
    others["ratarmount"] = lambda: bench.peer(ratarmount, tar)
    lines = []
    for name, theirs in others.items():
        ratios = []
        for _ in range(max(3, bench.repeat // 2)):
            with ours() as where:
                a = seconds(dd, os.path.join(where, "big"))
            with theirs() as where:
                b = seconds(dd, os.path.join(where, "big"))
            ratios.append(a / b)
        lines.append((f"dd bs=1M, cold, against {name}", f"{median(ratios):.2f}x its time"))
    if "erofsfuse" not in others:
        lines.append(("dd bs=1M, cold, against erofsfuse", "not available here"))
    return lines


@row
def random_reads(bench):
    source = bench.big()
    warm(source)
    ours, floor = (lambda: bench.mount(source, "--read-ahead", "128K")), bench.floor
    faults, numbers = (5_000, 20_000) if bench.quick else (20_000, 60_000)

    def touch(where):
        a = np.memmap(os.path.join(where, "big"), mode="r", dtype="u1")
        pages = random.Random(5).sample(range(len(a) // 4096), faults)
        return seconds(lambda: sum(int(a[p * 4096]) for p in pages)) / faults * 1e6

    def preads(jobs):
        def rate(where):
            out = subprocess.run(
                ["fio", "--name=r", f"--filename={where}/big", "--rw=randread", "--bs=4k", "--ioengine=psync",
                 "--readonly", f"--numjobs={jobs}", "--group_reporting", "--norandommap", "--fadvise_hint=random",
                 "--invalidate=0", f"--number_ios={numbers}", "--output-format=json"],
                check=True, capture_output=True, text=True).stdout
            return json.loads(out[out.index("{"):])["jobs"][0]["read"]["iops"]
        return rate

    def both(measure):
        results = [], []
        for _ in range(3):
            for values, mount in zip(results, (ours, floor)):
                with mount() as where:
                    values.append(measure(where))
        return [median(values) for values in results]

    page, page_floor = both(touch)
    one, one_floor = both(preads(1))
    four, four_floor = both(preads(4))
    us = lambda value: f"{value:.0f} us"
    rate = lambda value: f"{value / 1000:.0f}k/s"
    return [("np.memmap, random page, cold, 1 job", us(page), us(page_floor)),
            ("pread of 4 KiB at random, cold, 1 job", us(1e6 / one), us(1e6 / one_floor)),
            ("pread of 4 KiB at random, cold, 4 jobs", rate(four), rate(four_floor))]


# ---------------------------------------------------------------- many files


def read_all(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.read(fd, 4096)
        os.close(fd)


READER = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int n, char **v) {
  char path[4096], buf[4096];
  if (n < 3 || chdir(v[1])) return 1;
  for (int i = 0, end = atoi_(v[2]); i < end; i++) {
    snprintf(path, sizeof path, "signal %06d", i);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, buf, sizeof buf) != sizeof buf) return 1;
    close(fd);
  }
  return 0;
}
""".replace("atoi_", "atoi").replace("#include <stdio.h>", "#include <stdio.h>\n#include <stdlib.h>")


def reader(bench):
    """A C program that opens, reads and closes files, so that an interpreter's time is not measured."""
    def make(path):
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", path], input=READER, text=True, check=True)
    return bench.made("reader", make)


@row
def small_files(bench):
    count = 10_000
    source, program = bench.small(count, 4096), reader(bench)
    warm(source)
    rates = ([], [], []), ([], [], [])
    for _ in range(bench.repeat):
        for (cold, again, listed), mount in zip(rates, (lambda: bench.mount(source), lambda: bench.floor(count))):
            with mount() as where:
                cold.append(count / seconds(run, program, where, str(count)))
                again.append(count / min(seconds(run, program, where, str(count)) for _ in range(3)))
            with mount() as where:
                os.listdir(where)
                listed.append(count / seconds(run, program, where, str(count)))
    ours, floor = [[f"{median(values) / 1000:.0f}k/s" for values in of] for of in rates]
    names = ("10,000 files of 4 KiB, open + read + close, cold", "the same, warm", "the same, cold, after a listing")
    return list(zip(names, ours, floor))


def twin(bench, source, count):
    """The same entries on the disk's own file system."""
    where = bench.path(f"twin-{count}")
    if not os.path.exists(where):
        say(f"making twin-{count}")
        with bench.mount(source) as mounted:
            os.makedirs(where + ".part")
            for name in os.listdir(mounted):
                with open(os.path.join(where + ".part", name), "wb"):
                    os.truncate(os.path.join(where + ".part", name), os.stat(os.path.join(mounted, name)).st_size)
        os.rename(where + ".part", where)
    return where


@row
def listings(bench):
    count = bench.files
    source = bench.small(count, 16)
    plain = twin(bench, source, count)
    mounts = lambda: bench.mount(source), lambda: bench.floor(count, 16)
    shell = lambda command: lambda where: run("sh", "-c", f"LC_ALL=C {command} > /dev/null", "sh", where)
    lines = []
    for name, command in (("ls -l", shell('ls -l "$1"')), ("find", shell('find "$1"'))):
        ratios = [], []
        for _ in range(bench.repeat):
            drop_names()
            there = seconds(command, plain)
            for values, mount in zip(ratios, mounts):
                with mount() as where:
                    values.append(seconds(command, where) / there)
        reached, floor = (f"{median(values):.2f}x" for values in ratios)
        lines.append((f"{name} of {count:,} datasets and their sidecars, first time", f"{reached} the disk", floor))
    listing = shell('ls -f "$1"')
    listing(plain)
    times = ([], []), ([], [])
    for _ in range(bench.repeat):
        there = min(seconds(listing, plain) for _ in range(2))
        for (first, after), mount in zip(times, mounts):
            with mount() as where:
                first.append(seconds(listing, where) / (2 * count) * 1e6)
                after.append(min(seconds(listing, where) for _ in range(2)) / there)
    (first, after), (floor_first, floor_after) = [[median(values) for values in of] for of in times]
    lines.append(("ls -f of the same, first time", f"{first:.2f} us per entry", f"{floor_first:.2f} us"))
    lines.append(("ls -f of the same, after", f"{after:.2f}x the disk", f"{floor_after:.2f}x"))
    return lines


# ---------------------------------------------------------------- size and time of the program


@row
def a_million_datasets(bench):
    def make(path):
        run(sys.executable, os.path.join(sys.path[0], "rab_oracle.py"), "many", path, str(bench.many))
    source = bench.made(f"many-{bench.many}.rab", make)
    warm(source)
    times, sizes = [], []
    for _ in range(bench.repeat):
        start = time.perf_counter()
        with bench.mount(source) as where:
            assert len(os.listdir(os.path.join(where, "group77"))) == 2000
            times.append(time.perf_counter() - start)
            sizes.append(resident(bench.daemon(where)))
    return [(f"mount of {bench.many:,} datasets until a sub-directory is listed", f"{median(times):.2f} s"),
            ("resident memory of its daemon", f"{median(sizes):.0f} MiB")]


@row
def a_small_archive(bench):
    source = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "data", "rab", "readme.rab")
    times, sizes = [], []
    for _ in range(bench.repeat * 3):
        start = time.perf_counter()
        with bench.mount(source) as where:
            times.append(time.perf_counter() - start)
            os.listdir(where)
            sizes.append(resident(bench.daemon(where)))
    return [("mount of a small archive", f"{median(times) * 1000:.1f} ms"),
            ("resident memory of its daemon", f"{median(sizes):.1f} MiB")]


import bench_directories  # noqa: E402,F401
import bench_gzip  # noqa: E402,F401
import bench_rab  # noqa: E402,F401
import bench_records  # noqa: E402,F401
import bench_remote  # noqa: E402,F401
import bench_onda  # noqa: E402,F401
import bench_awkward  # noqa: E402,F401
import bench_views  # noqa: E402,F401
import bench_zarr  # noqa: E402,F401 (their rows come last)


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} x {cpu}, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}, {time.strftime('%Y-%m-%d')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("scratch")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("rows", nargs="*")
    arguments = parser.parse_args()
    bench = Bench(arguments.program, arguments.scratch, arguments.quick)
    print(f"{machine()}\n\n| work | measured | empty FUSE file system |\n|---|---|---|", flush=True)
    for function in ROWS:
        if not arguments.rows or any(word in function.__name__ for word in arguments.rows):
            say(function.__name__.replace("_", " "))
            for line in function(bench):
                print("| " + " | ".join(line + ("",) * (3 - len(line))) + " |", flush=True)


main()
