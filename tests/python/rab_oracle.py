#!/usr/bin/env python3
"""An independent oracle for RAB (RandomAccessBuffer) files, for tests.

It writes and reads RAB exactly as the format's Python codec does, and shares no
code with the project.

    rab_oracle.py make DIR          write the sample files and their .json expectations
    rab_oracle.py dump FILE.rab     print what the Python codec would see, as JSON
    rab_oracle.py big FILE.rab [--mib N] [--gzip]   one large float32 array, for benchmarks
    rab_oracle.py many FILE.rab N   N small datasets, for benchmarks of the header

Needs: numpy, pyyaml (and pandas, for the dataframe sample only).
"""
import argparse
import datetime
import gzip
import hashlib
import io
import json
import math
import os
import struct
import sys
import zlib

import numpy as np
import yaml

NUMERIC = ("bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 "
           "float16 float32 float64 complex64 complex128").split()


class Writer:
    """Collects datasets, then writes one RAB file the way the Python codec does."""

    def __init__(self):
        self.entries, self.blobs = [], []

    def _add(self, name, blob, codec, metadata, compress, packer=zlib.compress):
        stored = packer(blob) if compress == "gzip" else blob
        codec = dict(codec, byteOffset=None, byteLength=len(stored))
        self.entries.append({"name": name, "metadata": metadata, "codecMeta": codec})
        self.blobs.append(stored)

    def array(self, name, a, metadata=None, compress=None, order="C", packer=zlib.compress):
        a = np.asarray(a)
        endian = {"=": sys.byteorder, "<": "little", ">": "big"}.get(a.dtype.byteorder, "na")
        codec = {"shape": list(a.shape), "strides": [int(s / a.dtype.itemsize) for s in a.strides],
                 "byteOrder": order, "type": a.dtype.name, "endianness": endian, "compression": compress}
        self._add(name, a.tobytes(order=order), codec, metadata, compress, packer)

    def text(self, name, s, metadata=None, compress=None, packer=zlib.compress):
        self._add(name, s.encode("utf-8"), {"type": "text", "compression": compress}, metadata, compress, packer)

    def buffer(self, name, b, metadata=None, compress=None, packer=zlib.compress):
        self._add(name, b, {"type": "bytes", "compression": compress}, metadata, compress, packer)

    def file(self, name, b, metadata=None):
        # a dataset added from a path carries no "compression" key at all
        self._add(name, b, {"type": "bytes"}, metadata, None)

    def object(self, name, o, metadata=None, compress=None):
        blob = yaml.dump(o, Dumper=yaml.Dumper, allow_unicode=True).encode("utf-8")
        self._add(name, blob, {"type": "object", "compression": compress}, metadata, compress)

    def dataframe(self, name, columns, metadata=None, compress=None):
        """columns: {key: list or 1-D array}, all of one length."""
        info, blob, rows = [], b"", None
        for key, values in columns.items():
            v = np.asarray(values)
            rows = len(v)
            item = {"key": key}
            if v.dtype.kind in "OUT":
                cells = [str(x).encode("utf-8") for x in v.tolist()]
                width = max(len(c) for c in cells)
                item.update(endianess="na", originalType="text", encodingType="text", maxByteSize=width)
                blob += b"".join(c.ljust(width, b"\0") for c in cells)
            elif v.dtype.kind == "b":
                item.update(endianess="na", originalType="bool", encodingType="uint8")
                blob += v.astype(np.uint8).tobytes()
            elif v.dtype.kind == "f":
                v = v.astype(np.float32)
                item.update(endianess="little", originalType="float32", encodingType="float32")
                blob += v.tobytes()
            else:
                small = next(t for t in "u1 i1 u2 i2 u4 i4 u8 i8".split()
                             if np.iinfo(t).min <= v.min() and v.max() <= np.iinfo(t).max)
                item.update(endianess="na" if v.dtype.itemsize == 1 else "little",
                            originalType=v.dtype.name, encodingType=np.dtype(small).name)
                blob += v.astype(small).tobytes()
            info.append(item)
        codec = {"type": "dataframe", "compression": compress, "rows": rows,
                 "columns": len(info), "columnInfo": info}
        self._add(name, blob, codec, metadata, compress)

    def write(self, path, header=None):
        """header: 'yaml' (default), 'flow' (PyYAML before 5.1) or 'json' (first RAB files)."""
        at = 0
        for entry, blob in zip(self.entries, self.blobs):
            entry["codecMeta"]["byteOffset"] = at
            at += len(blob)
        if header == "json":
            text = json.dumps(self.entries, ensure_ascii=False)
        else:
            style = {"default_flow_style": None} if header == "flow" else {}
            text = "\n" + yaml.dump(self.entries, Dumper=yaml.Dumper, allow_unicode=True, **style) + "\n"
        raw = text.encode("utf-8")
        with open(path, "wb") as f:
            f.write(b"rab" + struct.pack("<I", len(raw)) + raw)
            for blob in self.blobs:
                f.write(blob)


def inflate(blob):
    """Decoded bytes of a 'gzip' dataset: a zlib stream, or gzip of one or more members."""
    if blob[:2] == b"\x1f\x8b":
        return gzip.decompress(blob)
    return zlib.decompress(blob)


def read(path):
    """[(name, type, compression, decoded bytes, codecMeta, metadata)] of a RAB file."""
    with open(path, "rb") as f:
        whole = f.read()
    if whole[:3] != b"rab":
        raise ValueError("not a RAB file")
    (size,) = struct.unpack("<I", whole[3:7])
    text = whole[7:7 + size].decode("utf-8")
    try:
        entries = yaml.load(text, Loader=Lenient)
    except yaml.scanner.ScannerError:
        entries = json.loads(text)
    out = []
    for e in entries or []:
        c = e["codecMeta"]
        start = 7 + size + c["byteOffset"]
        stored = whole[start:start + c["byteLength"]]
        plain = inflate(stored) if c.get("compression") == "gzip" else stored
        out.append((e["name"], c["type"], c.get("compression"), plain, c, e.get("metadata")))
    return out


class Lenient(yaml.SafeLoader):
    """Safe loading in which unknown tags keep their plain value instead of running anything."""


def _untag(loader, _suffix, node):
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


Lenient.add_multi_constructor("tag:yaml.org,2002:python/", _untag)
Lenient.add_multi_constructor("!", _untag)


def plain_json(v):
    """Metadata as JSON: what JSON cannot say is spelled out."""
    if isinstance(v, dict):
        return {str(k): plain_json(x) for k, x in v.items()}
    if isinstance(v, (list, tuple, set)):
        return [plain_json(x) for x in v]
    if isinstance(v, float) and not math.isfinite(v):
        return {"float": repr(v)}
    if isinstance(v, bytes):
        return {"bytes": v.hex()}
    if isinstance(v, (datetime.date, datetime.datetime)):
        return {"date": v.isoformat()}
    return v


def expectation(path):
    return [{"name": n, "type": t, "compression": c, "length": len(b),
             "sha256": hashlib.sha256(b).hexdigest(),
             "shape": codec.get("shape"), "endianness": codec.get("endianness"),
             "byteOrder": codec.get("byteOrder"), "metadata": plain_json(m)}
            for n, t, c, b, codec, m in read(path)]


# ---------------------------------------------------------------- samples

def picture():
    """A tiny grey PNG, standing in for the paintings of the format's own examples."""
    rows = b"".join(b"\0" + bytes((x * y) % 256 for x in range(32)) for y in range(32))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def sample_readme(w):
    w.array("my first array", np.arange(100, 115, dtype="int32").reshape(5, 3),
            {"description": "this is just the first dataset"}, "gzip")
    w.array("my second array", np.arange(1000, 1015, dtype="float64").reshape(5, 3),
            {"description": "this is just the second dataset"})
    w.array("my big-endian array", np.arange(1000, 1016, dtype=">i4").reshape(2, 8),
            {"description": "a big endian array"})
    w.text("Some text", "hello there, a very short text, é ï 漢字\n", {"author": "Johnny Bravo"}, "gzip")
    w.object("an object", {"firstname": "Johnny", "address": {"country": "USA", "zip": [1, 2, 3]}}, {}, "gzip")
    rhino = {"year": 1515, "artist": "Albrecht Dürer", "title": "Rhinoceros",
             "wikipedia link": "https://en.wikipedia.org/wiki/D%C3%BCrer%27s_Rhinoceros",
             "originalFileName": "rhinoceros.png"}
    w.file("Dürer's Rhino", picture(), rhino)
    w.buffer("Dürer's Rhino, again", picture(), dict(rhino))


def sample_types(w):
    rng = np.random.default_rng(7)
    for t in NUMERIC:
        raw = rng.integers(0, 256, size=60 * np.dtype(t).itemsize, dtype=np.uint8)
        if t == "bool":
            a = (raw % 2).astype("bool")
        elif t[0] in "fc":
            a = rng.normal(size=60).astype(t) + (1j * rng.normal(size=60).astype(t) if t[0] == "c" else 0)
            a = a.astype(t)
        else:
            a = raw.view(t)
        a = a.reshape(3, 4, 5)
        for compress in (None, "gzip"):
            tag = "gzip" if compress else "raw"
            w.array(f"{t} {tag}", a, {"kind": t}, compress)
            if a.dtype.itemsize > 1:
                w.array(f"{t} {tag} big", a.astype(a.dtype.newbyteorder(">")), {"kind": t}, compress)
    w.array("scalar", np.float64(2.5), None)
    w.array("special floats", np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324]), None)
    w.array("special halves", np.array([0, -0.0, np.inf, np.nan, 6e-8, 65504], dtype="float16"), None)


def sample_orders(w):
    a = np.arange(24, dtype="int16").reshape(2, 3, 4)
    w.array("C of C", a, {"logical": a.tolist()})
    w.array("F of C", a, {"logical": a.tolist(), "note": "bytes are in F order, strides are those of the C source"}, order="F")
    w.array("F of F", np.asfortranarray(a), {"logical": a.tolist()}, order="F")
    w.array("C of transposed", a.T, {"logical": a.T.tolist(), "note": "bytes are in C order, strides are those of the view"})
    w.array("C of every other", a[:, ::2, 1:], {"logical": a[:, ::2, 1:].tolist()})
    w.array("C of broadcast", np.broadcast_to(np.int16(9), (2, 3)), {"logical": [[9] * 3] * 2, "note": "strides are 0"})
    w.array("F gzip", a, {"logical": a.tolist()}, "gzip", order="F")


def sample_empty_arrays(w):
    w.array("no elements", np.zeros(0, "float32"))
    w.array("no rows", np.zeros((0, 3), "int16"))
    w.array("no rows gzip", np.zeros((0, 3), "int16"), None, "gzip")
    w.text("empty text", "")
    w.text("empty text gzip", "", None, "gzip")
    w.buffer("empty bytes", b"")
    w.object("empty object", {})
    w.array("last", np.arange(3, dtype="uint8"))


ODD_NAMES = ["plain", "with space", "Dürer's Young Hare", "漢字", "emoji 🦏", "a/b/c", "a/b/d", "a", "/abs/olute",
             "trailing/", "..", ".", "../../etc/passwd", "a//b", "", " ", "-rf", "--help", "new\nline", "tab\there",
             "nul\0inside", "back\\slash", "quote\"s'", "star*?[x]", "x" * 255, "y" * 300, "é" * 200,
             "plain.meta.yaml", "with space.meta.yaml.meta.yaml", "UPPER", "upper", "e\u0301", "\u00e9",
             "yes", "null", "1", "1.0", "0x1F", "~", "2020-01-01", "- dash", "# hash", "a: b", "{x}", "%2F", "a%2Fb",
             "CON", ".hidden", ".views", "con\x01trol", "\u202eevil", "end."]


def sample_names(w):
    for i, n in enumerate(ODD_NAMES):
        w.text(n, f"dataset {i}\n", {"index": i, "true name": n})


def sample_metadata(w):
    shared = {"lab": "A", "nested": {"deep": [1, 2, {"x": None}]}}
    w.text("scalars", "s", {
        "int": 1, "negative": -5, "big": 2 ** 70, "u64": 2 ** 64 - 1, "float": 0.1, "tiny": 1e-300, "exp": 1e23,
        "inf": float("inf"), "minus inf": float("-inf"), "nan": float("nan"), "true": True, "none": None,
        "date": datetime.date(2020, 1, 2), "time": datetime.datetime(2020, 1, 2, 3, 4, 5, 678900),
        "bytes": b"\x00\xff\x10", 5: "integer key", True: "boolean key", None: "null key", 1.5: "float key"})
    w.text("strings that look like something else", "s", {
        k: k for k in ["yes", "no", "on", "off", "null", "~", "1", "1.0", "1e3", "0o17", "017", "0x1F", "12:30:00",
                       "1_000", ".inf", "=", "<<", "2020-01-02", "- x", "a: b", "# c", "", " ", "\t", "multi\nline\n",
                       "trailing \n  spaces", "'", "\"", "\\", "\u0085", "\u2028", "\ufeff", "🦏", "!!python/x", "&a", "*a"]})
    w.text("shared 1", "s", shared)
    w.text("shared 2", "s", shared)         # YAML anchor and alias across two entries
    w.text("shared default", "s", SHARED_EMPTY)
    w.text("shared default again", "s", SHARED_EMPTY)
    w.text("none", "s", None)
    w.text("long", "s", {"text": "word " * 2000, "list": list(range(2000)), "one line": "x" * 5000})
    w.text("tuple", "s", {"t": (1, 2), "set": {1}})          # python tags: keep, never run


SHARED_EMPTY = {}


def sample_gzip(w):
    text = "".join(f"line {i} of a text that compresses well\n" for i in range(4000))
    b = text.encode()
    members = lambda x: gzip.compress(x[:1000], mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(x[1000:], mtime=0)
    one = lambda x: gzip.compress(x, mtime=0)
    named = io.BytesIO()
    with gzip.GzipFile("inner name.txt", "wb", mtime=1, fileobj=named) as g:
        g.write(b)
    w.text("zlib 6", text, None, "gzip")
    w.text("zlib 0 stored", text, None, "gzip", packer=lambda x: zlib.compress(x, 0))
    w.text("zlib 9", text, None, "gzip", packer=lambda x: zlib.compress(x, 9))
    w.text("zlib small window", text, None, "gzip", packer=lambda x: _raw(x, wbits=9))
    w.text("zlib huffman only", text, None, "gzip", packer=lambda x: _raw(x, strategy=zlib.Z_HUFFMAN_ONLY))
    w.text("zlib full flushes", text, None, "gzip", packer=_flushed)
    w.text("gzip", text, None, "gzip", packer=one)
    w.text("gzip three members", text, None, "gzip", packer=members)
    w.text("gzip with name", text, None, "gzip", packer=lambda x: named.getvalue())
    w.array("array zlib", np.cumsum(np.random.default_rng(1).normal(size=120000)).astype("float32").reshape(120, 1000), None, "gzip")
    w.array("array gzip members", np.arange(120000, dtype="int32"), None, "gzip", packer=members)
    w.text("said gzip, uncompressed key null", "plain", None, None)


def _raw(x, wbits=15, strategy=zlib.Z_DEFAULT_STRATEGY):
    c = zlib.compressobj(6, zlib.DEFLATED, wbits, 8, strategy)
    return c.compress(x) + c.flush()


def _flushed(x):
    c = zlib.compressobj()
    out = b"".join(c.compress(x[i:i + 50000]) + c.flush(zlib.Z_FULL_FLUSH) for i in range(0, len(x), 50000))
    return out + c.flush()


def sample_dataframe(w):
    n = 50
    frame = {"x": np.linspace(0, 1, n), "count": np.arange(n) * 1000 - 7, "small": np.arange(n, dtype="int64"),
             "flag": np.arange(n) % 3 == 0, "label": [f"ligne é {i}" * (i % 4) for i in range(n)],
             "wide": np.arange(n, dtype="int64") * 2 ** 40}
    w.dataframe("table", frame, {"description": "columns of several types"})
    w.dataframe("table gzip", frame, {"description": "the same, compressed"}, "gzip")
    w.dataframe("blank text", {"a": ["", ""], "b": [1, 2]})


SAMPLES = {"readme": (sample_readme, None), "types": (sample_types, None), "orders": (sample_orders, None),
           "empty_arrays": (sample_empty_arrays, None), "names": (sample_names, None),
           "metadata": (sample_metadata, None), "gzip": (sample_gzip, None), "dataframe": (sample_dataframe, None),
           "no_datasets": (lambda w: None, None), "readme_json": (sample_readme, "json"),
           "readme_flow": (sample_readme, "flow")}


def make(folder):
    os.makedirs(folder, exist_ok=True)
    for name, (fill, header) in SAMPLES.items():
        w = Writer()
        fill(w)
        path = os.path.join(folder, name + ".rab")
        w.write(path, header)
        with open(path[:-4] + ".json", "w") as f:
            json.dump(expectation(path), f, indent=1, ensure_ascii=False)
        print(path, os.path.getsize(path))


def big(path, mib, compress):
    rng = np.random.default_rng(3)
    n = mib * 2 ** 20 // 4
    a = np.cumsum(rng.normal(size=n).astype("float32") * 0.01, dtype="float32").round(2)
    w = Writer()
    w.text("before", "twelve bytes", None)   # so that the array starts at an odd offset
    w.array("big", a.reshape(-1, 1024), {"unit": "mV"}, "gzip" if compress else None)
    w.write(path)


def many(path, n):
    """Streams the header by hand: PyYAML would take minutes for a million entries."""
    item = ("- codecMeta:\n    byteLength: 8\n    byteOffset: {o}\n    byteOrder: C\n    compression: null\n"
            "    endianness: little\n    shape:\n    - 2\n    strides:\n    - 1\n    type: float32\n"
            "  metadata:\n    channel: {i}\n    unit: microvolt\n  name: group{g}/signal {i}\n")
    text = "\n" + "".join(item.format(o=i * 8, i=i, g=i // 1000) for i in range(n)) + "\n"
    raw = text.encode()
    with open(path, "wb") as f:
        f.write(b"rab" + struct.pack("<I", len(raw)) + raw)
        f.write(np.arange(2 * n, dtype="float32").tobytes())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="verb", required=True)
    sub.add_parser("make").add_argument("dir")
    sub.add_parser("dump").add_argument("file")
    b = sub.add_parser("big")
    b.add_argument("file")
    b.add_argument("--mib", type=int, default=256)
    b.add_argument("--gzip", action="store_true")
    m = sub.add_parser("many")
    m.add_argument("file")
    m.add_argument("n", type=int)
    a = p.parse_args()
    if a.verb == "make":
        make(a.dir)
    elif a.verb == "dump":
        print(json.dumps(expectation(a.file), indent=1, ensure_ascii=False))
    elif a.verb == "big":
        big(a.file, a.mib, a.gzip)
    else:
        many(a.file, a.n)


if __name__ == "__main__":
    main()
