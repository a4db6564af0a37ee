"""Reads a RAB file as the format's Python codec does, and compares it with what it was written from.

    check_written.py FILE.rab EXPECTED.json

The codec's way: PyYAML loads the whole header, "gzip" is zlib.decompress, arrays are numpy's by type, shape,
byteOrder and endianness. EXPECTED.json is a list of {"name", "type", "compression", "value", "metadata"}, in
the order of the file; values that JSON has no words for are spelled as `plain` does. Prints the number of
datasets; fails at the first difference.
"""
import datetime
import hashlib
import json
import math
import struct
import sys
import zlib

import numpy as np
import yaml


def plain(v):
    """A value in JSON's words. Mappings become lists of pairs, since their keys may be anything."""
    if isinstance(v, dict):
        pairs = [[plain(k), plain(x)] for k, x in v.items()]
        return {"map": sorted(pairs, key=json.dumps)}
    if isinstance(v, set):
        return {"set": sorted((plain(x) for x in v), key=json.dumps)}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, bool) or v is None:
        return v
    if isinstance(v, int):
        return {"int": str(v)}
    if isinstance(v, float):
        return {"float": "nan" if math.isnan(v) else struct.pack(">d", v).hex()}
    if isinstance(v, bytes):
        return {"bytes": v.hex()}
    if isinstance(v, (datetime.date, datetime.datetime)):
        return {"date": v.isoformat(" ") if isinstance(v, datetime.datetime) else v.isoformat()}
    # Text: JSON's own escapes would hide lone surrogates from the other side.
    return {"str": v.encode("utf-8", "surrogatepass").hex()}


def array(data, c):
    dtype = np.dtype(c["type"])
    if c["endianness"] != "na":
        dtype = dtype.newbyteorder({"little": "<", "big": ">"}[c["endianness"]])
    a = np.frombuffer(data, dtype=dtype).reshape(c["shape"], order=c["byteOrder"])
    # As its elements in C order, little-endian.
    logical = np.ascontiguousarray(a).astype(dtype.newbyteorder("<")).tobytes()
    return {"shape": list(a.shape), "bytes": logical.hex()}


def dataframe(data, c):
    at, columns = 0, []
    for column in c["columnInfo"]:
        kind = column["encodingType"]
        if kind == "text":
            width = column["maxByteSize"]
            cells = [data[at + i * width:at + (i + 1) * width].rstrip(b"\0").decode() for i in range(c["rows"])]
            at += width * c["rows"]
        else:
            dtype = np.dtype(kind).newbyteorder({"little": "<", "big": ">", "na": "="}[column["endianess"]])
            values = np.frombuffer(data, dtype=dtype, count=c["rows"], offset=at)
            cells = values.astype(column["originalType"]).tolist()
            at += dtype.itemsize * c["rows"]
        columns.append([column["key"], kind, column["originalType"], [plain(x) for x in cells]])
    assert at == len(data) and c["columns"] == len(columns), (at, c)
    return columns


def value(data, c):
    kind = c["type"]
    if kind == "bytes":
        return data.hex()
    if kind == "text":
        return data.decode("utf-8").encode().hex()
    if kind == "object":
        return plain(yaml.load(data.decode("utf-8"), Loader=yaml.FullLoader))
    if kind == "dataframe":
        return dataframe(data, c)
    return array(data, c)


def read(path):
    with open(path, "rb") as f:
        whole = f.read()
    assert whole[:3] == b"rab"
    (size,) = struct.unpack("<I", whole[3:7])
    text = whole[7:7 + size].decode("utf-8")
    entries = yaml.load(text, Loader=yaml.FullLoader)
    assert plain(entries) == plain(yaml.load(text, Loader=yaml.SafeLoader))
    at = 0
    for e in entries:
        c = e["codecMeta"]
        assert list(e) == sorted(e) and list(c) == sorted(c), "PyYAML sorts keys"
        assert c["byteOffset"] == at, "datasets follow each other"
        at += c["byteLength"]
        stored = whole[7 + size + c["byteOffset"]:7 + size + at]
        assert c["checksum"] == {"algorithm": "sha256", "value": hashlib.sha256(stored).hexdigest()}, e["name"]
        data = zlib.decompress(stored) if c.get("compression") == "gzip" else stored
        if c.get("compression") == "gzip":
            assert c["decodedLength"] == len(data), e["name"]
        yield {"name": plain(e["name"]), "type": c["type"], "compression": c.get("compression", "no key"),
               "value": value(data, c), "metadata": plain(e["metadata"])}
    assert 7 + size + at == len(whole)


def main():
    with open(sys.argv[2], encoding="utf-8") as f:
        expected = json.load(f)
    count = 0
    for got in read(sys.argv[1]):
        want = expected[count]
        for key in want:
            assert got[key] == want[key], f"{want['name']}: {key} is\n{got[key]}, expected\n{want[key]}"
        count += 1
    assert count == len(expected)
    print(count)


if __name__ == "__main__":
    main()
