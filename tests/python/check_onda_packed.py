"""Arrays packed into a table of Onda's, and one that is unpacked and packed again: check_onda_packed.py RAB DIRECTORY [TABLE]"""
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

rab, where = sys.argv[1:3]
path = lambda name: os.path.join(where, name)
ID = "b14d2c6d-8d84-4e46-824f-5c5d857215b4"
base = {"recording": ID, "channels": ["c3", "c4-m1", "(a+b)/2"], "sample_unit": "microvolt", "sample_rate": 128.5}


def run(*arguments, code=0):
    done = subprocess.run([rab, *arguments], capture_output=True, text=True)
    assert code in (done.returncode, None), (arguments, done)
    return done.stderr


def pack(name, array, *options, code=0, **meta):
    np.save(path("eeg.npy"), array)
    json.dump({**base, **meta}, open(path("meta.json"), "w"))
    return run("pack", path(name), path("eeg.npy"), "--meta", path("meta.json"), *options, code=code)


def row(name):
    table = ipc.open_file(path(name)).read_all()
    table.validate(full=True)
    assert table.schema.metadata == {b"legolas_schema_qualified": b"onda.signal@2>onda.samples-info@2"}
    assert not any(field.nullable for field in table.schema)
    spans = [part.cast(pa.int64()).to_pylist() for part in table["span"].combine_chunks().flatten()]
    (found,) = table.drop_columns(["span"]).to_pylist()
    return {**found, "start": spans[0][0], "stop": spans[1][0]}


def stored(name, label="eeg"):
    data = subprocess.check_output([rab, "cat", path(name), ID + "/" + label])
    return np.frombuffer(data, row(name)["sample_type"]).reshape(-1, len(row(name)["channels"]))


random = np.random.default_rng(7)
values = random.normal(0, 3000, (9000, 3))
values[:4] = [[np.nan, np.inf, -np.inf], [1e30, -1e30, 0], [0.125, 0.375, 0.625], [-0.125, -0.375, -0.0]]
for sample_type in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32"]:
    for array in [values, values.astype(">f8"), np.asfortranarray(values)]:
        pack("x.arrow", array, "-f", sample_type=sample_type, sample_resolution_in_unit=0.25,
             sample_offset_in_unit=3.5, start=1000)
        wanted = (values - 3.5) / 0.25
        if sample_type != "float32":
            least, most = np.iinfo(sample_type).min, np.iinfo(sample_type).max
            wanted = np.rint(np.where(np.isnan(wanted), most, wanted))
            wanted = [[most if value >= most else least if value <= least else int(value) for value in sample] for sample in wanted]
        assert np.array_equal(stored("x.arrow"), np.array(wanted, sample_type), equal_nan=sample_type[0] == "f")
        run("verify", path("x.arrow"))
found = row("x.arrow")
assert found["recording"] == bytes.fromhex(ID.replace("-", ""))[::-1]
assert (found["sensor_type"], found["sensor_label"], found["file_format"]) == ("eeg", "eeg", "lpcm"), found
assert (found["start"], found["stop"]) == (1000, 1000 + int(np.ceil(9000 * (1e9 / 128.5)))), found
assert found["channels"] == base["channels"] and found["sample_rate"] == 128.5
assert os.path.getsize(path(found["file_path"])) == 9000 * 3 * 4

# Samples that are there are never replaced.
ints = random.integers(-2**15, 2**15, (500, 3)).astype("<i2")
for options, meta, kind in [([], {}, "lpcm"), (["--compress"], {}, "lpcm.zst"), ([], {"file_format": "lpcm.zst"}, "lpcm.zst")]:
    name = "plain%d.onda.signal.arrow" % len(os.listdir(where))
    before = set(os.listdir(where))
    pack(name, ints, *options, sensor_label="left", sensor_type="eeg", **meta)
    assert row(name)["file_format"] == kind and row(name)["file_path"].endswith("." + kind)
    assert set(os.listdir(where)) - before == {name, row(name)["file_path"]}, os.listdir(where)
    assert np.array_equal(stored(name, "left"), ints)
    first = open(path(row(name)["file_path"]), "rb").read()
    old = row(name)["file_path"]
    pack(name, ints + 1, "-f", *options, sensor_label="left", **meta)
    assert row(name)["file_path"] != old and open(path(old), "rb").read() == first
    assert np.array_equal(stored(name, "left"), ints + 1)
    run("verify", path(name))

# What is stored already.
pack("e.arrow", ints, encoded=True, sample_resolution_in_unit=0.5, sample_offset_in_unit=1)
assert np.array_equal(stored("e.arrow"), ints)
decoded = subprocess.check_output([rab, "get", path("e.arrow"), ID + "/eeg", "--decoded", "--as", "npy"])
assert np.array_equal(np.frombuffer(decoded[-500 * 24:], "<f8").reshape(500, 3), ints * 0.5 + 1)

names = set(os.listdir(where))
for array, meta, said in [
    (ints, {"recording": "x"}, "UUID"), (ints, {"channels": ["a"]}, "(samples, 1)"),
    (ints, {"channels": ["a", "a", "b"]}, 'is called "a"'), (ints, {"sample_rate": 0}, "64 bits"),
    (ints, {"sample_resolution_in_unit": 0}, "not 0"), (ints, {"sample_type": "int24"}, "int24"),
    (ints, {"sensor_label": "EEG"}, "small letters"), (ints, {"encoded": True, "sample_type": "int8"}, "encoded"),
    (ints.astype(bool), {}, "integers or floats"), (ints, {"sample_rate": -1}, "more than 0"), (ints, {"sample_unit": 3}, "string"),
    (ints, {"file_format": "flac"}, "flac"), (ints, {"start": 2**63 - 1}, "64 bits"), ]:
    complaint = pack("bad.arrow", array, code=1, **meta)
    assert said in complaint, (meta, complaint)
    assert set(os.listdir(where)) == names, meta
assert "in C order only" in pack("bad.arrow", np.asfortranarray(ints), "--order", "F", code=2)

# What is none of Onda's columns becomes one.
assert pack("s.arrow", ints, subject="s1", age=7, score=0.5, left=True, nothing=None) == ""
found = row("s.arrow")
assert [found[key] for key in ("subject", "age", "score", "left")] == ["s1", 7, 0.5, True] and "nothing" not in found, found
assert [str(field.type) for field in ipc.open_file(path("s.arrow")).schema][-4:] == ["string", "int64", "double", "bool"]
assert "notes of its metadata is not kept" in pack("t.arrow", ints, subject="s1", notes=["a"])

# A table with columns of its own comes back from its files.
if len(sys.argv) > 3:
    old, parts = sys.argv[3], path("parts")
    run("unpack", old, parts, "*/eeg*", "*/ecg*", code=None)
    run("pack", path("again.onda.signal.arrow"), parts)
    own = lambda name: {row["sensor_label"]: row for row in ipc.open_file(name).read_all().to_pylist()}
    once, again = own(old), own(path("again.onda.signal.arrow"))
    assert again and len(again) > 1, again
    for label, new in again.items():
        for key, value in once[label].items():
            if isinstance(value, (list, dict)) and key != "channels" or key == "span":
                assert key == "span" or key not in new, (key, new)
            else:
                assert new.get(key) == value or key == "file_path", (label, key, new, value)
    assert again["ecg_left"]["quality"] == 1 and again["eeg"]["quality"] is None, again
