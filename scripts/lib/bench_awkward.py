"""Rows of scripts/bench about Awkward Array 0.x."""
import json
import os
import time
import zipfile
import zlib

import numpy as np

from bench_kit import median, row, seconds, warm


def flat(member, dtype, count, packed=False):
    read = {"read": member}
    if packed:
        read = {"call": ["zlib", "decompress"], "args": [read]}
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [read, {"dtype": dtype}, {"json": count}]}


def jagged(bench, items):
    """Lists of 3 numbers on average, as awkward0 saves them by default: counts compressed, floats as they are."""
    def make(path):
        rng = np.random.default_rng(6)
        counts = rng.integers(0, 7, items // 3)
        content = rng.normal(size=counts.sum())
        call = ["awkward0", "JaggedArray", "fromcounts"]
        schema = {"call": call, "args": [
            flat("0.raw", "int64", len(counts), packed=True), flat("1.raw", "float64", len(content))]}
        with zipfile.ZipFile(path, "w") as to:
            to.writestr("0.raw", zlib.compress(counts.tobytes()))
            to.writestr("1.raw", content.tobytes())
            to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
        content.tofile(path.removesuffix(".awkd.part") + ".content")
    source = bench.made(f"jagged-{items}.awkd", make)
    return source, source.removesuffix(".awkd") + ".content"


def drain(path):
    """Reads all of it; returns how many bytes that is."""
    with open(path, "rb") as f:
        return sum(len(part) for part in iter(lambda: f.read(1 << 20), b""))


@row
def awkward_jagged(bench):
    """A jagged array of ten million numbers."""
    source, plain = jagged(bench, 10_000_000)
    warm(source), warm(plain)
    mounts, contents, plains, offsets = [], [], [], []
    for _ in range(bench.repeat):
        start = time.perf_counter()
        with bench.mount(source, "--no-index") as where:
            mounts.append(time.perf_counter() - start)
            path = os.path.join(where, "content/data")
            taken = seconds(drain, path)
            contents.append(os.path.getsize(path) / taken / 1e9)
            plains.append(os.path.getsize(plain) / seconds(drain, plain) / 1e9)
            path = os.path.join(where, "offsets")
            offsets.append(os.path.getsize(path) / seconds(drain, path) / 1e6)
    return [
        ("Awkward, 10M numbers in lists: mounted in", f"{median(mounts) * 1000:.0f} ms"),
        ("... their content, first read (as a plain file)", f"{median(contents):.1f} GB/s ({median(plains):.1f})"),
        ("... their offsets, from compressed counts", f"{median(offsets):,.0f} MB/s"),
    ]


@row
def awkward_json_lines(bench):
    """One million of the numbers as JSON lines: found out how long they are, and read."""
    source, _ = jagged(bench, 1_000_000)
    warm(source)
    rates = []
    for _ in range(bench.repeat):
        with bench.mount(source, "--no-index") as where:
            path = os.path.join(where, ".views/jsonl/.jsonl")
            start = time.perf_counter()
            rates.append(drain(path) / (time.perf_counter() - start) / 1e6)
    return [("Awkward as JSON lines, first read", f"{median(rates):,.0f} MB/s")]
