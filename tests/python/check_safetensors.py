"""What rab and mounts make of safetensors files, compared with the reference package.

Usage: check_safetensors.py mounted MOUNT FILE...    the files of a mount, its sidecars and its npy views
       check_safetensors.py same FILE FILE           names, types, shapes, bytes and metadata of two files
       check_safetensors.py rules RAB DIRECTORY      which headers are read
"""

import json
import os
import struct
import subprocess
import sys

import ml_dtypes
import numpy as np
import yaml
from safetensors import SafetensorError, deserialize, safe_open

TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "C64": "complex64", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "BOOL": "bool", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}


def metadata(path):
    with safe_open(path, "np") as file:
        return file.metadata()


def tensors(path):
    with open(path, "rb") as file:
        return {name: (of["dtype"], of["shape"], bytes(of["data"])) for name, of in deserialize(file.read())}


def escaped(name):
    return "".join(f"%{ord(c):02X}" if c == "%" or ord(c) < 32 else c for c in name)


def mounted(mount, *files):
    want = {}
    for file in files:
        want |= tensors(file)
    for name, (dtype, shape, data) in want.items():
        path = os.path.join(mount, escaped(name))
        assert open(path, "rb").read() == data, name
        sidecar = yaml.safe_load(open(path + ".meta.yaml"))
        assert sidecar["name"] == name
        assert (sidecar["safetensors"]["dtype"], sidecar["safetensors"]["shape"]) == (dtype, shape), sidecar
        if dtype not in TYPES:
            assert "numpy" not in sidecar and "bits" in sidecar["safetensors"]["note"]
            continue
        array = np.load(os.path.join(mount, ".views/npy", escaped(name) + ".npy"), mmap_mode="r" if data else None)
        of = np.dtype(getattr(ml_dtypes, TYPES[dtype], TYPES[dtype]))
        assert array.shape == tuple(shape) and array.view(of).tobytes() == data, name
        text = os.path.join(mount, ".views/csv", escaped(name) + ".csv")
        if dtype.startswith("F8") or dtype == "BF16":
            if len(shape) == 1:
                read = np.array([float(line) for line in open(text).read().splitlines()[1:]]).astype("f4").astype(of)
                real = np.frombuffer(data, of)
                assert np.array_equal(read.astype("f4"), real.astype("f4"), equal_nan=True), (name, read, real)
    said = metadata(files[0])
    if said:
        assert json.load(open(os.path.join(mount, "__metadata__"))) == said
    print(len(want))


def same(a, b):
    assert tensors(a) == tensors(b)
    assert metadata(a) == metadata(b), (metadata(a), metadata(b))
    # What begins at a multiple of its size can be used where it is.
    header = json.loads(open(b, "rb").read()[8:][: struct.unpack("<Q", open(b, "rb").read(8))[0]])
    for name, of in header.items():
        if name != "__metadata__" and of["dtype"] in TYPES:
            size = np.dtype(getattr(ml_dtypes, TYPES[of["dtype"]], TYPES[of["dtype"]])).itemsize
            assert of["data_offsets"][0] % size == 0, (name, of)
    print(len(header))


def rules(rab, folder):
    """Every header is read by both or by neither, but for those that are said to be otherwise."""
    one = '"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
    two = '"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}'
    entry = lambda dtype, shape, begin, end: f'{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}}}'
    cases = [
        ("{" + one + "}", 8), ("{" + one + "}  \n", 8), ("{}", 0), ("{" + two + "," + one + "}", 11),
        ("{" + one + "}", 7), ("{" + one + "}", 9), ("{" + two + "}", 3), ("{" + two + "}", 11), ("{}", 1),
        ("{" + one + "," + two.replace("[8,11]", "[7,10]") + "}", 10), ("{" + one + "," + two + "}", 11),
        (entry("F32", [2], 8, 0), 8), (entry("F32", [3], 0, 8), 8), (entry("F33", [2], 0, 8), 8),
        (entry("F32", [2**62, 2**62], 0, 8), 8), (entry("F32", [2**61], 0, 8), 8), (entry("U8", [-1], 0, 0), 0),
        (entry("U8", "[1.0]", 0, 1), 1), (entry("U8", "[1e0]", 0, 1), 1), (entry("U8", 3, 0, 3), 3),
        (entry("F4", [2], 0, 1), 1), (entry("F4", [3], 0, 2), 2), (entry("F6_E2M3", [4], 0, 3), 3),
        (entry("U8", [2**64 - 1, 0], 0, 0), 0), (entry("U8", [0, 5], 0, 0), 0), (entry("U8", [], 0, 1), 1),
        ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}', 1),
        ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}', 1), ('{"a":{"dtype":"U8","shape":[1]}}', 1),
        ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":[{}]}}', 1),
        ('{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', 1),
        ('{"a":7}', 0), ("[]", 0), ("", 0), ("null", 0), ("{" + one, 8), ("{" + one + "}x", 8), ("{" + one + ",}", 8),
        ('{"__metadata__":{"k":"v"},' + one + "}", 8), ('{"__metadata__":{"k":1}}', 0), ('{"__metadata__":null}', 0),
        ('{"__metadata__":{"k":{}}}', 0), ('{"__metadata__":{},"__metadata__":{}}', 0), ('{"__metadata__":[]}', 0),
        ('{"\\ud800":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}', 1), ("{" + "[" * 500, 0),
        (" {" + one + "}", 8),
    ]
    # The description of the format forbids these, and the reference's parser is not asked to notice.
    twice = '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
    pairs = '{"__metadata__":{"k":"v","k":"w"}}'
    path = f"{folder}/x.safetensors"
    for number, (header, data) in enumerate(cases + [(twice, 0), (pairs, 0)]):
        text = header.encode()
        content = struct.pack("<Q", len(text)) + text + bytes(data)
        open(path, "wb").write(content)
        try:
            deserialize(content)
            want = 0
        except SafetensorError:
            want = 12
        if header in (twice, pairs):
            want = 12
        done = subprocess.run([rab, "verify", path], capture_output=True, text=True)
        assert done.returncode == want, (header, want, done)
        assert "panic" not in done.stderr
    print(len(cases))


globals()[sys.argv[1]](*sys.argv[2:])
