"""A mounted .awkd against what the reference made of it.

check_awkward.py MOUNT EXPECTED.json SAMPLE CONTAINER
"""

import json
import os
import sys
import zipfile

import numpy
import yaml

mount, expected, sample, container = sys.argv[1:]
arrays = json.load(open(expected))[sample]
members = {}
for info in zipfile.ZipFile(container).infolist():
    members[info.filename] = zipfile.ZipFile(container).read(info)

REFUSED = {"flat_structured_padded": "problem"}


def plain(value):
    """What the reference's values are where it made objects of them."""
    if isinstance(value, dict) and list(value) == ["__repr__"]:
        return "?"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def same(found, wanted):
    if wanted == "?":
        return True
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(same(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted and type(found) is type(wanted)


def sidecar(path):
    return yaml.safe_load(open(path + ".meta.yaml"))


def array(path):
    about = sidecar(path)["numpy"]
    dtype = numpy.dtype(eval(about["dtype"]) if about["dtype"].startswith("[") else about["dtype"])
    found = numpy.fromfile(path, dtype=dtype)
    assert os.path.getsize(path) == found.nbytes, path
    return found.reshape(about["shape"])


def lists(folder):
    starts, stops, counts = (array(os.path.join(folder, name)) for name in ("starts", "stops", "counts"))
    assert (stops - starts == counts).all(), folder
    assert sidecar(os.path.join(folder, "stops"))["awkward"].get("computed", False) == ("offsets" in os.listdir(folder))
    if "offsets" in os.listdir(folder):
        offsets = array(os.path.join(folder, "offsets"))
        assert (offsets[:-1] == starts.reshape(-1)).all() and (offsets[1:] == stops.reshape(-1)).all()
    return starts, stops


for name, wanted in arrays.items():
    folder = os.path.join(mount, name) if name else mount
    about = yaml.safe_load(open(os.path.join(folder, "meta.yaml")))
    if sample in REFUSED:
        assert REFUSED[sample] in about, about
        continue
    assert wanted["class"].endswith("." + about["class"]) or about["class"] == wanted["class"] or "TLorentz" in about["class"]
    assert about["length"] == wanted["length"], about
    if "0x" not in wanted["type"]:
        assert about["type"] == wanted["type"], (about["type"], wanted["type"])
    if about["class"] == "numpy.ndarray" and "'" not in wanted["type"]:
        data = array(os.path.join(folder, "data"))
        found = data.tolist() if data.dtype.kind not in "cM" else None
        assert found is None or found == wanted["tolist"], name
    if about["class"] == "JaggedArray":
        lists(folder)
    if about["class"] == "StringArray":
        starts, stops = lists(folder)
        data = open(os.path.join(folder, "bytes"), "rb").read()
        texts = [data[start:stop] for start, stop in zip(starts, stops)]
        if "encoding" in about:
            assert [text.decode() for text in texts] == wanted["tolist"]
            lines = open(os.path.join(folder, "text"), "rb").read()
            assert lines == b"".join(text + b"\n" for text in texts)
    lines = os.path.join(mount, ".views/jsonl", name + ".jsonl")
    assert os.path.exists(lines) == ("circles" not in about), about
    if os.path.exists(lines):
        text = open(lines, "rb").read()
        assert os.path.getsize(lines) == len(text)
        found = [json.loads(line) for line in text.splitlines()]
        # Dates are texts.
        want = plain(wanted["tolist"])
        if about["class"] == "numpy.ndarray" and array(os.path.join(folder, "data")).dtype.kind == "M":
            want = numpy.datetime_as_string(array(os.path.join(folder, "data"))).tolist()
        assert same(found, want), (found, want)

for folder, _, files in os.walk(mount):
    for name in files:
        path = os.path.join(folder, name)
        about = {} if name.endswith("meta.yaml") or sample in REFUSED else sidecar(path)
        if "numpy" in about:
            view = numpy.load(os.path.join(mount, ".views/npy", os.path.relpath(path, mount) + ".npy"))
            data = array(path)
            assert (view.dtype, view.shape) == (data.dtype, data.shape), (path, view.dtype, data.dtype)
            assert view.tobytes() == data.tobytes(), path

for member, data in members.items():
    path = os.path.join(mount, ".views/blobs", member)
    assert open(path, "rb").read() == data, member

for folder, folders, files in os.walk(mount):
    for path in (os.path.join(folder, name) for name in folders + files):
        if os.path.islink(path):
            assert not os.path.isabs(os.readlink(path)) and os.path.exists(path), path
            assert os.path.realpath(path).startswith(os.path.realpath(mount)), path
