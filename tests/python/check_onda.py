"""A mounted table of Onda's signals against what is expected of it: check_onda.py MOUNT TABLE.expected.json
samples.expected.json. Prints how many signals have data."""
import hashlib
import json
import os
import sys

import numpy as np
import yaml

mount, table, samples = sys.argv[1], json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
view = lambda *parts: os.path.join(mount, ".views", *parts)
sha = lambda data: hashlib.sha256(data).hexdigest()
escaped = lambda name: {".": "%2E", "..": "%2E%2E"}.get(name, name.replace("%", "%25").replace("/", "%2F"))

rows = table["rows"]
order = "uuid_if_big_endian" if table["file"].startswith("plain") else "uuid_if_little_endian"
label = lambda row: row["sensor_label"] if "sensor_label" in row else row["kind"]
recording = lambda row: row["recording"][order]
keys = [(recording(row), label(row)) for row in rows]
starts = [(*key, row["span"]["start"]) for key, row in zip(keys, rows)]
seen, found = {}, 0
for key, row in zip(keys, rows):
    name = label(row)
    if keys.count(key) > 1:
        name += "@%d" % row["span"]["start"]
        seen[key, name] = seen.get((key, name), 0) + 1
        if seen[key, name] > 1:
            name += "~%d" % seen[key, name]
    path = os.path.join(recording(row), name)
    side = yaml.safe_load(open(os.path.join(mount, path + ".meta.yaml")))
    assert side["name"] == path, side["name"]
    assert side["onda"]["recordingBytes"] == row["recording"]["bytes_hex"]
    row_said = side["metadata"]
    assert list(row_said) == list(row), (list(row_said), list(row))
    for column, value in row.items():
        if column == "recording":
            assert row_said[column] == recording(row)
        elif column in ("sample_type", "channels", "span", "file_path", "sample_rate"):
            assert row_said[column] == value, (column, value, row_said[column])
    about = samples.get(row["file_path"])
    listed = os.listdir(os.path.join(mount, recording(row)))
    assert name + ".meta.yaml" in listed
    if about is None:
        assert side["onda"]["noData"], side
        assert name not in listed and not os.path.exists(os.path.join(mount, path))
        assert not os.path.exists(view("decoded", path + ".npy")), path
        continue
    found += 1
    assert name in listed
    data = open(os.path.join(mount, path), "rb").read()
    assert len(data) == about["lpcm_size"] == os.stat(os.path.join(mount, path)).st_size
    assert sha(data) == about["lpcm_sha256"], path
    shape = about["shape_samples_by_channels"]
    numpy = side["numpy"]
    assert (numpy["dtype"], numpy["shape"], numpy["order"]) == (about["dtype_numpy"], shape, "C")
    assert side["onda"]["samples"] == shape[0]
    array = np.memmap(os.path.join(mount, path), mode="r", dtype=numpy["dtype"], shape=tuple(shape))

    decoded = np.load(view("decoded", path + ".npy"))
    if (row["sample_resolution_in_unit"], row["sample_offset_in_unit"]) == (1, 0):
        assert decoded.dtype == array.dtype and decoded.tobytes() == data
    else:
        assert decoded.dtype == "<f8" and decoded.shape == tuple(shape)
        assert sha(decoded.tobytes()) == about["decoded_float64_sha256"], path

    width = max(2, len(str(len(row["channels"]) - 1)))
    names = ["%0*d_%s.npy" % (width, at, escaped(channel)) for at, channel in enumerate(row["channels"])]
    assert os.listdir(view("channels", path)) == names, os.listdir(view("channels", path))
    for at, channel in enumerate(names):
        values = np.load(view("channels", path, channel))
        assert values.flags.c_contiguous and values.tobytes() == np.ascontiguousarray(array[:, at]).tobytes()
print(found)
