"""FFRecord as its description says, independent of the project.

    check_ffrecord.py mount MOUNT SAMPLE.json [SAMPLE.json ...]   a mount against what its file(s) hold
    check_ffrecord.py file FILE...          files are written strictly; prints a JSON list of all records, as hex
    check_ffrecord.py folder FILE DIR       FILE is DIR as a packed folder
    check_ffrecord.py loader MOUNT LOADER   the example loader reads what `records/` shows

Fails at the first difference.
"""
import collections
import hashlib
import importlib.util
import json
import os
import pickle
import struct
import sys
import zlib

import numpy as np
import yaml

MAGIC = b"piouhjgbr"


def parse(path):
    """The records of a file that a strict writer made."""
    with open(path, "rb") as f:
        raw = f.read()
    checksum, count = struct.unpack_from("<Iq", raw)
    start = 12 + 12 * count
    sums = struct.unpack_from(f"<{count}I", raw, 12)
    offsets = list(struct.unpack_from(f"<{count}q", raw, 12 + 4 * count)) + [len(raw)]
    assert checksum == zlib.crc32(raw[4:start]) != 0, path
    assert offsets[0] == start, path
    records = [raw[a:b] for a, b in zip(offsets, offsets[1:])]
    assert [zlib.crc32(r) for r in records] == list(sums), path
    return records


class Index(pickle.Unpickler):
    def find_class(self, module, name):
        assert (module, name) == ("collections", "OrderedDict"), (module, name)
        return collections.OrderedDict


def walk(top):
    """Files and empty directories, as bytes."""
    found = {}
    for folder, dirs, files in os.walk(os.fsencode(top)):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, os.fsencode(top))] = f.read()
        if not dirs and not files:
            found[os.path.relpath(folder, os.fsencode(top)) + b"/"] = None
    return found


def flatten(tree, records, prefix=b""):
    found, order = {}, list(tree)
    assert order == sorted(order), order
    for name, what in tree.items():
        path = prefix + os.fsencode(name)
        if isinstance(what, dict):
            found.update(flatten(what, records, path + b"/") or {path + b"/": None})
        else:
            assert type(what) is int
            found[path] = records[what]
    return found


def folder(path, top):
    import io

    *files, index = parse(path)
    assert index.startswith(MAGIC)
    stream = io.BytesIO(index[len(MAGIC):])
    tree = Index(stream).load()
    assert stream.read() == b""
    want = walk(top)
    want.pop(b"./", None)
    got = flatten(tree, files)
    assert got == want, (sorted(got), sorted(want))
    assert list(got.values()) == [None if v is None else v for v in got.values()]
    # Depth first, in the order of the records.
    assert [v for v in got.values() if v is not None] == files


def table(mount):
    at = os.path.join(mount, ".views", "table")
    assert sorted(os.listdir(at)) == sorted(n + e for n in ("data", "offsets", "checksums") for e in ("", ".npy"))
    bare = {}
    for name, dtype in (("data", "u1"), ("offsets", "<i8"), ("checksums", "<u4")):
        bare[name] = np.fromfile(os.path.join(at, name), dtype=dtype)
        path = os.path.join(at, name + ".npy")
        array = np.load(path, mmap_mode="r" if bare[name].size else None)
        assert array.dtype == np.dtype(dtype) and np.array_equal(array, bare[name]), name
        with open(path, "rb") as f:
            assert len(f.read()) == 128 + bare[name].nbytes == os.stat(path).st_size
    return bare


def samples_of(expected):
    if "samples" in expected[0]:
        return [s for e in expected for s in e["samples"]]
    return None


def mount(top, *jsons):
    expected = [json.load(open(path, encoding="utf-8")) for path in jsons]
    count = sum(e["n"] for e in expected)
    faces = table(top)
    offsets, data = faces["offsets"], faces["data"]
    assert len(offsets) == count + 1 and len(faces["checksums"]) == count
    assert offsets[0] == 0 and offsets[-1] == len(data)
    for i in range(count):
        record = data[offsets[i]:offsets[i + 1]]
        assert zlib.crc32(record) == faces["checksums"][i], i
    samples = samples_of(expected)
    for i, sample in enumerate(samples or []):
        record = data[offsets[i]:offsets[i + 1]].tobytes()
        assert len(record) == sample["len"] and zlib.crc32(record) == sample["crc32"]
        assert hashlib.sha256(record).hexdigest() == sample["sha256"]
    packed = expected[0].get("packed_folder")
    if packed:
        check_folder(top, packed, data, offsets)
    else:
        check_records(top, expected, samples)
    assert "table" in os.listdir(os.path.join(top, ".views"))
    print(count)


def check_records(top, expected, samples):
    width = len(str(max(len(samples) - 1, 0)))
    names = [f"{i:0{width}}" for i in range(len(samples))]
    assert sorted(os.listdir(top)) == ["records", "records.meta.yaml"]
    assert sorted(os.listdir(os.path.join(top, "records"))) == names
    for name, sample in zip(names, samples):
        path = os.path.join(top, "records", name)
        with open(path, "rb") as f:
            data = f.read()
        assert len(data) == sample["len"] == os.stat(path).st_size
        assert hashlib.sha256(data).hexdigest() == sample["sha256"], path
    with open(os.path.join(top, "records.meta.yaml"), encoding="utf-8") as f:
        meta = yaml.safe_load(f)
    assert meta["records"] == len(samples) and meta["files"] == len(meta["parts"]) == len(expected)
    for part, e in zip(meta["parts"], expected):
        legacy = e["header_checksum"] == 0
        assert part["file"] == os.path.basename(e["file"]) and part["records"] == e["n"]
        assert part["legacy"] == legacy and part["headerChecksum"] == ("absent" if legacy else "valid")


def check_folder(top, packed, data, offsets):
    found = walk(top)
    dirs = {os.fsencode(d) + b"/" for d in packed["dirs"]}
    assert {p for p, v in found.items() if v is None and p != b"./"} <= dirs
    for d in packed["dirs"]:
        assert os.path.isdir(os.path.join(top, d))
    files = packed["files"]
    for f in files:
        if isinstance(f, list):
            path, index, length = f
            path, sha = os.fsencode(path), None
        else:
            path, index, length, sha = bytes.fromhex(f["path_bytes_hex"]), f["index"], f["len"], f["sha256"]
        content = found.pop(path)
        assert len(content) == length and content == data[offsets[index]:offsets[index + 1]].tobytes(), path
        assert sha is None or hashlib.sha256(content).hexdigest() == sha, path
    assert len(files) == packed["num_files"] and not [p for p, v in found.items() if v is not None]


def loader(top, path):
    spec = importlib.util.spec_from_file_location("loader", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    at = os.path.join(top, "records")
    want = [open(os.path.join(at, name), "rb").read() for name in sorted(os.listdir(at))]
    records = module.Records(top)
    assert len(records) == len(want) and [r.tobytes() for r in records[range(len(want))]] == want
    assert records[-1].tobytes() == want[-1] and records[np.int64(1)] == want[1]
    assert records[[]] == [] and [bytes(r) for r in records[[-1, 0, -1]]] == [want[-1], want[0], want[-1]]
    assert all(isinstance(r, memoryview) and r.readonly for r in [records[0], *records.__getitems__([0])])
    for wrong in (len(want), [0, len(want)], [-len(want) - 1, 0]):
        try:
            records[wrong]
        except IndexError:
            continue
        raise AssertionError(wrong)
    assert [bytes(r) for r in records[1:6:2]] == want[1:6:2] and records[5:2] == []
    for wrong in ([True] + [False] * (len(want) - 1), np.zeros(2, bool), True, 1.0, [0.0, 1.0]):
        try:
            records[wrong]
        except TypeError:
            continue
        raise AssertionError(wrong)
    # As for workers that are spawned.
    sys.modules["loader"] = module
    assert pickle.loads(pickle.dumps(records))[0] == want[0]
    batches = module.Loader(records, 8, seed=5)
    whole = [[r.tobytes() for r in batch] for batch in batches]
    assert sorted(sum(whole, [])) == sorted(want) and sum(whole, []) != want
    assert len(batches) == len(whole)
    batches.set_step(3)
    assert [[r.tobytes() for r in batch] for batch in batches] == whole[3:] and len(batches) == len(whole) - 3
    batches.set_step(0)
    batches.set_epoch(1)
    assert [[r.tobytes() for r in batch] for batch in batches] != whole


def file(*paths):
    print(json.dumps([r.hex() for path in paths for r in parse(path)]))


{"mount": mount, "file": file, "folder": folder, "loader": loader}[sys.argv[1]](*sys.argv[2:])
