"""Compares mounted RawArray files with what a correct reader must see.

    check_rawarray.py LIST

Each line of LIST has a mountpoint and the JSON file with the expectations of what is mounted there, with a tab
between. Reads bytes through the mounts, sidecars with PyYAML and with a YAML 1.2 loader, and arrays with numpy as
the sidecars describe them. Prints the number of files; fails at the first difference.
"""
import hashlib
import json
import math
import os
import re
import sys

import numpy as np
import ruamel.yaml
import yaml


def yaml12(text):
    loader = ruamel.yaml.YAML(typ="safe", pure=True)
    loader.version = (1, 2)
    return loader.load(text)


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    assert len(data) == os.stat(path).st_size, path
    return data


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def same(a, b):
    if isinstance(b, str):
        b = float(b) if b in ("inf", "-inf", "nan") else int(b)
    if isinstance(b, list):
        return same(a.real, b[0]) and same(a.imag, b[1])
    return a == b or math.isnan(a) and math.isnan(b)


def values(kind, a):
    """The elements in storage order, in Python's types."""
    flat = a.ravel()
    if kind == "bfloat16":
        return (flat.view("<u2").astype("u4") << 16).view("f4").tolist()
    if kind == "c32":
        pairs = flat.view("<f2").reshape(-1, 2).astype("f8")
        return [complex(*p) for p in pairs.tolist()]
    if kind in ("i128", "u128"):
        return [int.from_bytes(e.tobytes(), "little", signed=kind == "i128") for e in flat]
    return flat.tolist()


def check_numpy(path, text, sidecar, want, data):
    describe = sidecar["numpy"]
    a = np.frombuffer(data, describe["dtype"]).reshape(describe["shape"], order=describe["order"])
    os.chdir(os.path.dirname(path))
    line = re.search(r"^# (np\..*)$", text, re.M).group(1)
    pasted = eval(line, {"np": np})
    assert pasted.dtype == a.dtype and pasted.shape == a.shape and pasted.tobytes() == a.tobytes(), line
    assert describe["shape"] == want["dims_column_major"][::-1] and describe["order"] == "C", path
    assert a.dtype.itemsize * a.size == want["raw_len"], path
    first, kind = want["first_values_storage_order"], want["type"]
    if isinstance(first, str):
        assert data[:16].hex() == first and a.dtype.kind == "V", path
        return
    assert (a.dtype.byteorder == ">") == want["data_big_endian"], path
    got = values(kind, a)[: len(first)]
    assert len(first) == min(6, a.size) and all(map(same, got, first)), (path, got, first)


def check(mount, want):
    stem = want["file"].removesuffix(".ra")
    names = [stem, stem + ".meta.yaml"]
    if want["trailer_len"]:
        names += [stem + ".trailer", stem + ".trailer.meta.yaml"]
        trailer = read(os.path.join(mount, stem + ".trailer"))
        assert (len(trailer), sha256(trailer)) == (want["trailer_len"], want["trailer_sha256"]), mount
    assert sorted(os.listdir(mount)) == sorted(names), (os.listdir(mount), names)
    path = os.path.join(mount, stem)
    data = read(path)
    assert (len(data), sha256(data)) == (want["raw_len"], want["raw_sha256"]), path

    text = read(path + ".meta.yaml").decode()
    sidecar = yaml.safe_load(text)
    assert sidecar == yaml12(text) and sidecar["name"] == stem, path
    words = sidecar["rawarray"]
    for key in ("flags", "eltype", "elbyte", "size", "ndims"):
        assert words[key] == want[key], (path, key)
    assert words["dims"] == want["dims_column_major"] and words["dataOffset"] == want["data_offset"], path
    assert words["headerEndianness"] == want["header_endian"] and words["trailerLength"] == want["trailer_len"], path
    codec = {"leb128-zigzag": "leb128", "lz4-block": "lz4", "bitarray-u64-LSB-first": "bits"}
    payload = codec.get(want["payload"], want["payload"])
    assert (words["compression"] or "raw") == payload.removesuffix("-despite-flag"), (path, words)
    check_numpy(path, text, sidecar, want, data)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        pairs = [line.rstrip("\n").split("\t") for line in f]
    for mount, expected in pairs:
        with open(expected, encoding="utf-8") as f:
            check(mount, json.load(f))
    print(len(pairs))


main()
