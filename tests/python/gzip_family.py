"""Compressed streams of every kind that zlib can make, for tests.

    gzip_family.py KIND DIR     writes DIR/family.rab and, as DIR/plain/NAME, what each of its datasets decodes to

Half of the datasets are uint8 arrays, whose size the header tells, and half are bytes, whose size it does not.
"""
import gzip
import itertools
import os
import sys
import zlib

import numpy as np

import rab_oracle

RNG = np.random.default_rng(4)
STRATEGIES = {"default": zlib.Z_DEFAULT_STRATEGY, "filtered": zlib.Z_FILTERED, "huffman": zlib.Z_HUFFMAN_ONLY,
              "rle": zlib.Z_RLE, "fixed": zlib.Z_FIXED}
FLUSHES = {"none": zlib.Z_NO_FLUSH, "partial": zlib.Z_PARTIAL_FLUSH, "sync": zlib.Z_SYNC_FLUSH,
           "full": zlib.Z_FULL_FLUSH, "block": zlib.Z_BLOCK}
WORDS = [RNG.bytes(int(n)).hex().encode() for n in RNG.integers(1, 6, size=3000)]
DATA = {
    "zeros": lambda size: bytes(size),
    "random": RNG.bytes,
    "text": lambda size: b" ".join(WORDS[n] for n in RNG.integers(0, 3000, size=size // 3 + 1))[:size],
    "floats": lambda size: values(np.sin(np.arange(size // 4 + 1) / 99) + RNG.normal(size=size // 4 + 1), "<f4", size),
    "ramp": lambda size: values(np.arange(size // 2 + 1) * 3 % 32749, "<i2", size),
}
KIB, MIB = 1 << 10, 1 << 20


def values(numbers, dtype, size):
    return numbers.astype(dtype).tobytes()[:size]


def deflated(plain, level=6, strategy="default", window=15, flush="none", memory=8):
    """A stream with flushes at uneven distances; a window of 25 to 31 makes it gzip."""
    c = zlib.compressobj(level, zlib.DEFLATED, window, memory, STRATEGIES[strategy])
    out, at = [], 0
    while flush != "none" and at < len(plain):
        step = int(RNG.integers(1, 90_000))
        out += [c.compress(plain[at:at + step]), c.flush(FLUSHES[flush])]
        at += step
    return b"".join(out) + c.compress(plain[at:]) + c.flush()


def field_by_field(plain):
    """A gzip member with every optional field of its header: extra, name, comment and checksum."""
    head = b"\x1f\x8b\x08\x1e" + bytes(4) + b"\0\x03" + b"\x05\0extra" + b"name\0" + b"comment\0"
    head += (zlib.crc32(head) & 0xffff).to_bytes(2, "little")
    tail = zlib.crc32(plain).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
    return head + deflated(plain, window=-15) + tail


class Family:
    def __init__(self, folder):
        self.folder, self.writer, self.count = folder, rab_oracle.Writer(), 0
        os.makedirs(os.path.join(folder, "plain"))

    def expect(self, name, plain):
        with open(os.path.join(self.folder, "plain", name), "wb") as f:
            f.write(plain)

    def add(self, name, plain, stored, known=None):
        self.count += 1
        known = self.count % 2 == 0 if known is None else known
        name += ", known" if known else ", unknown"
        self.expect(name, plain)
        if known:
            self.writer.array(name, np.frombuffer(plain, "u1"), None, "gzip", packer=lambda _: stored)
        else:
            self.writer.buffer(name, plain, None, "gzip", packer=lambda _: stored)

    def write(self):
        self.writer.write(os.path.join(self.folder, "family.rab"))


def samples(family):
    """tests/data/rab/gzip.rab as it is."""
    path = os.path.join(os.path.dirname(__file__), "..", "data", "rab", "gzip.rab")
    for name, _, _, plain, _, _ in rab_oracle.read(path):
        family.expect(name, plain)
    os.symlink(os.path.abspath(path), os.path.join(family.folder, "family.rab"))


def settings(family):
    """Every level with every strategy, and every window with every flush; the rest by chance."""
    any_of = lambda options: list(options)[RNG.integers(len(options))]

    def add(level, strategy, window, flush):
        kind, gz = any_of(DATA), any_of([0, 16])
        plain = DATA[kind](any_of([70_001, 600_000, 1_300_003]))
        name = f"{kind}, level {level} {strategy}, window {window}, flush {flush}, {'gzip' if gz else 'zlib'}"
        family.add(name, plain, deflated(plain, level, strategy, window + gz, flush, any_of(range(1, 10))))

    for level, strategy in itertools.product(range(10), STRATEGIES):
        add(level, strategy, any_of(range(9, 16)), any_of(FLUSHES))
    for window, flush in itertools.product(range(9, 16), FLUSHES):
        add(any_of(range(1, 10)), any_of(STRATEGIES), window, flush)


def members(family):
    """Gzip of several members, with empty ones, zeros between and after them, and odd headers."""
    one = lambda part: gzip.compress(part, 6, mtime=0)
    text = DATA["text"](2 * MIB + 5)
    ways = {
        "one": one(text),
        "two": one(text[:MIB]) + one(text[MIB:]),
        "at the ends of blocks": b"".join(one(text[at:at + 256 * KIB]) for at in range(0, len(text), 256 * KIB)),
        "many": b"".join(one(text[at:at + 5000]) for at in range(0, len(text), 5000)),
        "empty in front": one(b"") * 3 + one(text),
        "empty between": one(text[:MIB]) + one(b"") * 500 + one(text[MIB:]),
        "empty after": one(text) + one(b"") * 3,
        "zeros after": one(text) + bytes(100_000),
        "zeros between": one(text[:MIB]) + bytes(512) + one(text[MIB:]) + bytes(3),
        "all fields": field_by_field(text[:MIB]) + field_by_field(b"") + field_by_field(text[MIB:]),
        "other windows": deflated(text[:MIB], window=25) + deflated(text[MIB:], window=31),
    }
    for (name, stored), known in itertools.product(ways.items(), (True, False)):
        family.add(name, text, stored, known)
    family.add("nothing", b"", one(b""), known=False)
    family.add("twice nothing", b"", one(b"") * 2, known=False)


def lengths(family):
    """Lengths around those at which something changes."""
    around = [at + by for at in (256 * KIB, 512 * KIB, MIB) for by in (-1, 0, 1)]
    for size in [1, 2, 3, 4095, 4097, 32 * KIB, *around, 3 * MIB + 7]:
        plain = DATA["floats"](size)
        for window, known in itertools.product((15, 31), (True, False)):
            family.add(f"{size} bytes, window {window}", plain, deflated(plain, 1, window=window), known)


def long(family):
    """64 MiB that differ everywhere, and 64 MiB of zeros and a few numbers in three members."""
    noise = (RNG.integers(0, 2**32, size=16 * MIB, dtype="u4") & 0x3f3f3f3f).tobytes()
    family.add("noise", noise, deflated(noise, 1), known=True)
    sparse = np.zeros(16 * MIB, "<u4")
    sparse[::5003] = np.arange(len(sparse[::5003]))
    sparse = sparse.tobytes()
    parts = (sparse[:10_000_001], sparse[10_000_001:40_000_003], sparse[40_000_003:])
    family.add("sparse", sparse, b"".join(gzip.compress(part, 1, mtime=0) for part in parts), known=False)


def main():
    kind, folder = sys.argv[1:]
    family = Family(folder)
    {"samples": samples, "settings": settings, "members": members, "lengths": lengths, "long": long}[kind](family)
    if kind != "samples":
        family.write()


main()
