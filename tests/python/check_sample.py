"""Compares a mounted RAB file with what a correct reader must see.

    check_sample.py MOUNT SAMPLE.json [SAMPLE.paths.json]

Reads data through the mount, sidecars with PyYAML's safe_load and with a YAML 1.2 loader, and arrays with
numpy as their sidecars describe them. Prints the number of datasets; fails at the first difference.
"""
import hashlib
import json
import math
import os
import re
import sys
import urllib.parse

import numpy as np
import ruamel.yaml
import yaml

from rab_oracle import plain_json


def yaml12(text):
    loader = ruamel.yaml.YAML(typ="safe", pure=True)
    loader.version = (1, 2)
    return loader.load(text)


def simple_paths(entries):
    """Where names are plain: path and sidecar of each dataset."""
    return [{"path": e["name"], "sidecar": e["name"] + ".meta.yaml"} for e in entries]


def same(a, b):
    """Equal, NaN included; JSON has no other way to say 1 and 1.0 apart, so types count."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def check_array(path, text, sidecar, entry):
    """The line to paste and the numpy key describe the array that the metadata spells out."""
    describe = sidecar["numpy"]
    line = re.search(r"^# (np\..*)$", text, re.M).group(1)
    os.chdir(os.path.dirname(path))
    pasted = eval(line, {"np": np})
    a = np.fromfile(path, dtype=describe["dtype"]).reshape(describe["shape"], order=describe["order"])
    assert pasted.dtype == a.dtype and pasted.shape == a.shape and pasted.tobytes() == a.tobytes(), line
    assert list(a.shape) == entry["shape"], (a.shape, entry)
    logical = (entry["metadata"] or {}).get("logical")
    if logical is not None:
        assert a.tolist() == logical, path


def check(mount, entry, where):
    path = os.path.join(mount, where["path"])
    with open(path, "rb") as f:
        data = f.read()
    assert len(data) == entry["length"] == os.stat(path).st_size, (path, len(data), entry["length"])
    assert hashlib.sha256(data).hexdigest() == entry["sha256"], path

    with open(os.path.join(mount, where["sidecar"]), encoding="utf-8", newline="") as f:
        text = f.read()
    assert len(text.encode()) == os.stat(os.path.join(mount, where["sidecar"])).st_size, path
    old, new = yaml.safe_load(text), yaml12(text)
    for sidecar in (old, new):
        got = plain_json(sidecar["metadata"])
        assert same(got, entry["metadata"]), (path, got, entry["metadata"])
        assert sidecar["name"] == entry["name"], path
        assert sidecar["codecMeta"]["type"] == entry["type"], path
        assert sidecar["codecMeta"].get("compression") == entry["compression"], path
    if entry["shape"] is not None:
        check_array(path, text, old, entry)


def walk(mount):
    return sorted(os.path.relpath(os.path.join(d, f), mount) for d, _, files in os.walk(mount) for f in files)


def main():
    mount, expected = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(expected, encoding="utf-8") as f:
        entries = json.load(f)
    paths = simple_paths(entries)
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as f:
            paths = json.load(f)
        for entry, where in zip(entries, paths):
            if "~" not in where["path"].rsplit("/", 1)[-1]:
                back = "" if where["path"] == "%" else urllib.parse.unquote(where["path"])
                assert back == entry["name"], (back, entry["name"])
    assert len(entries) == len(paths)
    listed = sorted(p for where in paths for p in (where["path"], where["sidecar"]))
    assert walk(mount) == listed, (walk(mount), listed)
    for entry, where in zip(entries, paths):
        check(mount, entry, where)
    print(len(entries))


main()
