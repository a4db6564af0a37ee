"""Rows of scripts/bench about containers at URLs: a store in a process of its own, with 25 ms to the first byte and
80 MB/s for each connection, as object stores have them, unless a row says otherwise. Requests and bytes are counted by
the store. The other programs' figures are of the same run and the same store."""
import concurrent.futures
import os
import random
import shutil
import subprocess
import tempfile
import time
import zipfile

import numpy as np

from bench_kit import median, peak, row, run, seconds
from bench_store import AWS, FIRST_BYTE, NOT_KEPT, RATE, counted, gigabit, store

HEADING = f"at a URL, {FIRST_BYTE} ms to the first byte, {RATE} MB/s a connection: "


def members(bench):
    """80 MB of 20 members, not compressed."""
    def make(path):
        rng = np.random.default_rng(5)
        with open(path, "wb") as file:
            np.savez(file, **{f"x{n:02}": rng.integers(0, 256, 4 << 20, "u1") for n in range(20)})
    return bench.made("members-20.npz", make)


def names(file):
    return zipfile.ZipFile(file).namelist()


@row
def url_listings(bench):
    npz, rab = members(bench), bench.big()
    program = os.path.join(os.path.dirname(bench.program), "rab")

    def verb(*arguments):
        return lambda _: run(program, *arguments, *NOT_KEPT)

    with store(bench) as serving:
        def ours(source):
            return lambda stack: os.listdir(stack.enter_context(serving.mount(source)))

        def ratarmount(stack):
            return os.listdir(stack.enter_context(serving.ratarmount(npz)))
        yield HEADING + "mount and ls of a RAB file", counted(serving, ours(serving.url(rab)))
        yield "rab ls of it", counted(serving, verb("ls", serving.url(rab)))
        yield "mount and ls of 20 members, 80 MB, NPZ", counted(serving, ours(serving.url(npz)))
        yield "rab ls -l of them", counted(serving, verb("ls", "-l", serving.url(npz)))
        yield "names by fsspec", counted(serving, lambda stack: names(stack.enter_context(serving.fsspec(npz))))
        yield "names by s3fs", counted(serving, lambda stack: names(stack.enter_context(serving.s3fs(npz))))
        yield "mount and ls by ratarmount", counted(serving, ratarmount)


def element(path):
    return int(np.memmap(path, mode="r", dtype="u1")[3_000_000])


@row
def url_one_element(bench):
    """Of an array in the middle of the container that was listed before, mapped into memory."""
    npz = members(bench)

    def mapped(serving, make, name):
        times, counts = [], []
        for _ in range(3):
            with make() as where:
                path = os.path.join(where, name)
                os.stat(path)
                before = serving.counts()
                times.append(seconds(element, path))
                counts.append(tuple(serving.counts() - before))
        requests, sent = sorted(counts)[1]
        return f"{median(times) * 1000:.0f} ms, {requests} requests, {sent / 1e6:.2f} MB"

    def by_rclone(stack):
        where = stack.enter_context(serving.rclone())
        return np.load(os.path.join(where, serving.key(npz)))["x10"][3_000_000]

    def by_fsspec(stack):
        return np.load(stack.enter_context(serving.fsspec(npz)))["x10"][3_000_000]
    with store(bench) as serving:
        yield HEADING + "one element by mmap", mapped(serving, lambda: serving.mount(serving.url(npz)), "x10")
        yield "by ratarmount", mapped(serving, lambda: serving.ratarmount(npz), "x10.npy")
        yield "with mounting, by rclone and np.load", counted(serving, by_rclone)
        yield "with opening, by fsspec and np.load", counted(serving, by_fsspec)


def read_at_random(path, count, readers):
    """Seconds for `count` reads of 4 KiB, by so many readers together."""
    size = os.path.getsize(path)

    def reader(seed):
        order = random.Random(seed)
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            for _ in range(count // readers):
                os.pread(file.fileno(), 4096, order.randrange(size // 4096) * 4096)
    begun = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(readers) as pool:
        list(pool.map(reader, range(readers)))
    return time.perf_counter() - begun


@row
def url_random_reads(bench):
    source, count = bench.big(), 200 if bench.quick else 1000

    def measured(serving, mount, name, count, readers):
        with mount() as where:
            path = os.path.join(where, name)
            os.stat(path)
            before = serving.counts()
            took = read_at_random(path, count, readers)
            return took, (serving.counts() - before)[1]
    with store(bench) as serving:
        ours, rclone = lambda: serving.mount(serving.url(source)), serving.rclone
        one, sent = measured(serving, ours, "big", count, 1)
        many, _ = measured(serving, ours, "big", count, 16)
        theirs, their_sent = measured(serving, rclone, serving.key(source), count // 10, 1)
    each = one / count * 1000
    yield (HEADING + f"{count:,} reads of 4 KiB at random, 1 reader",
           f"{each:.1f} ms each, {each / FIRST_BYTE:.2f}x the time to the first byte, {sent / count / 1e6:.2f} MB each")
    yield "16 readers", f"{one / many:.1f}x as many"
    yield "1 reader, by rclone", f"{theirs / (count // 10) * 1000:.1f} ms each, {their_sent / (count // 10) / 1e6:.2f} MB each"


def head(path, length):
    run("dd", f"if={path}", "of=/dev/null", "bs=1M", f"count={length >> 20}")


@row
def url_sequential(bench):
    source, length = bench.big(), bench.mib << 20
    program = os.path.join(os.path.dirname(bench.program), "examples", "client")
    with store(bench) as serving:
        key, ratios, rates = serving.key(source), [], []
        for _ in range(3):
            command = [program, serving.endpoint, "bucket", key, str(length)]
            client = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            with serving.mount(f"s3://bucket/{key}") as where:
                took = seconds(head, os.path.join(where, "big"), length)
            ratios.append(client / took)
            rates.append(length / took)
        short = min(length, 256 << 20)
        with serving.rclone() as where:
            rclone = short / seconds(head, os.path.join(where, key), short)
    yield (HEADING + f"dd bs=1M of {bench.mib} MiB, against the plain object_store client with 16 connections",
           f"{median(ratios):.2f}x its speed ({median(rates) / 1e6:.0f} MB/s)")
    yield "against rclone", f"{median(rates) / rclone:.1f}x its speed ({rclone / 1e6:.0f} MB/s)"


@row
def url_kept_on_disk(bench):
    """Another mount of what was read before."""
    source, length, ratios, rates = bench.big(), bench.mib << 20, [], []
    with store(bench) as serving, tempfile.TemporaryDirectory(dir=bench.scratch) as cache:
        kept = ("--remote-cache", cache)
        with serving.mount(serving.url(source), *kept) as where:
            head(os.path.join(where, "big"), length)

        def again(stack):
            return os.listdir(stack.enter_context(serving.mount(serving.url(source), *kept)))
        yield HEADING + "mount and ls of what was read before", counted(serving, again)
        for _ in range(3):
            with bench.mount(source) as where:
                local = seconds(head, os.path.join(where, "big"), length)
            with serving.mount(serving.url(source), *kept) as where:
                took = seconds(head, os.path.join(where, "big"), length)
            ratios.append(local / took)
            rates.append(length / took)
    yield "dd bs=1M of it, against a mount of the file", f"{median(ratios):.2f}x its speed ({median(rates) / 1e6:.0f} MB/s)"


@row
def url_gigabit(bench):
    """A network of 1 Gbit/s instead of a limit for each connection."""
    what = "at a URL, 1 Gbit/s: dd bs=1M, against curl"
    if os.geteuid() != 0 or not shutil.which("tc"):
        return [(what, "not available here")]
    source, length, ratios, rates = bench.big(), bench.mib << 20, [], []
    with gigabit() as (inside, host), store(bench, "first_byte=0", inside=inside, host=host) as serving:
        url = serving.url(source)
        for _ in range(3):
            curl = seconds(run, "curl", "--noproxy", "*", "-o", "/dev/null", "-r", f"0-{length - 1}", url)
            with serving.mount(url) as where:
                took = seconds(head, os.path.join(where, "big"), length)
            ratios.append(curl / took)
            rates.append(length / took)
    return [(what, f"{median(ratios):.2f}x its speed ({median(rates) / 1e6:.0f} MB/s)")]


@row
def url_many_objects(bench):
    """Sizes and times of objects come with their names, 1,000 at a time."""
    count = 100_000
    with store(bench, f"first_byte={FIRST_BYTE}", f"objects={count} many/run/") as serving:
        def ours(stack):
            where = stack.enter_context(serving.mount("s3://many/run/"))
            run("sh", "-c", 'LC_ALL=C ls -l "$1" > /dev/null', "sh", where)

        def theirs(_):
            assert serving.aws_ls("s3://many/run/").count("\n") == count
        try:
            yield f"mount and ls -l of {count:,} objects", counted(serving, ours)
        except subprocess.CalledProcessError:
            yield f"mount and ls -l of {count:,} objects", "cannot be mounted"
        has_aws = os.path.isdir(os.path.join(AWS, "awscli"))
        yield "aws s3 ls of them", counted(serving, theirs, 1) if has_aws else "not available here"


def check_readers(where, plain, readers=100, times=20):
    """Readers at random, who compare every byte."""
    size = os.path.getsize(plain)
    with open(plain, "rb") as want, open(os.path.join(where, "big"), "rb", buffering=0) as got:
        def reader(seed):
            order = random.Random(seed)
            for _ in range(times):
                at, length = order.randrange(size - 65536), order.randrange(65536)
                assert os.pread(got.fileno(), length, at) == os.pread(want.fileno(), length, at), (at, length)
        with concurrent.futures.ThreadPoolExecutor(readers) as pool:
            list(pool.map(reader, range(readers)))


@row
def url_faults(bench):
    source, plain, times, sizes = bench.big(), bench.plain(), {}, []
    with store(bench) as serving:
        for _ in range(3):
            for faults in ("busy=0&cut=0", "busy=0.05&cut=0.01"):
                serving.set("busy=0&cut=0")
                with serving.mount(f"s3://bucket/{serving.key(source)}") as where:
                    serving.set(faults)
                    times.setdefault(faults, []).append(seconds(check_readers, where, plain))
                    sizes.append(peak(bench.daemon(where)))
    without, with_faults = (median(values) for values in times.values())
    yield (HEADING + "100 readers at random, 5 % of requests refused (503), 1 % of replies cut off",
           f"{with_faults / without:.2f}x the time without, every byte right")
    yield "the most memory of its daemon", f"{max(sizes):.0f} MiB"
