"""What other programs make of CSV views of numbers, without an option.

usage: check_csv_readers.py make FILE.npz | check MOUNTPOINT; duckdb and sqlite3 are asked if they are there.
"""

import csv
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv as pc

try:
    import duckdb
except ImportError:
    duckdb = None

rng = np.random.default_rng(7)
N = 1000


def table(**columns):
    array = np.zeros(N, [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        array[name] = values
    return array


bits = rng.integers(0, 2**64, N, dtype="u8").view("f8")
floats = np.where(np.isnan(bits), 0.25, bits)
floats[5], floats[900] = np.inf, -np.inf
some_nan = np.where(np.arange(N) % 3 == 1, np.nan, floats)
ids = np.arange(N)
ARRAYS = {
    "events": table(**{"sample": ids - 300, "amp, µV": rng.normal(size=N).astype("f4"), 'a "b"': ids % 2 == 0, "big": ids * -(2**52)}),
    "whole": table(id=ids.astype("u4"), amp=(ids - 500).astype("i2"), yes=ids % 3 == 0),
    "truths": table(a=ids % 2 == 0, b=ids % 5 == 0),
    "gaps": table(id=ids, x=some_nan),
    "line": floats,
    "line_gaps": some_nan,
    "grid": floats.reshape(100, 10),
    "small": rng.normal(size=(50, 3)).astype("f2"),
    "ints": rng.integers(-100, 100, (50, 3), dtype="i2"),
    "bools": rng.integers(0, 2, N).astype("?"),
}


def columns(array):
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    array = array[:, None] if array.ndim == 1 else array
    return {f"#{at}" if at == 0 else str(at): array[:, at] for at in range(array.shape[1])}


def same(found, wanted, where):
    found = np.asarray([np.nan if value is None else value for value in found])
    assert found.dtype.kind in "biuf", (where, found[:3])
    assert (found.dtype.kind == "f") == (wanted.dtype.kind == "f"), (where, found.dtype)
    equal_nan = wanted.dtype.kind == "f"
    assert np.array_equal(found.astype(wanted.dtype), wanted, equal_nan=equal_nan), where


def last_whole(array):
    """In tables without a float, and in arrays of integers, it is text for duckdb."""
    names = [name for name, values in columns(array).items() if values.dtype.kind in "iu"]
    if any(values.dtype.kind == "f" for values in columns(array).values()):
        return []
    return names[-1:] if array.dtype.names else names


def check(file, array):
    wanted, gaps = columns(array), array.dtype.kind == "f" and np.isnan(array).any() or "x" in (array.dtype.names or ())
    with open(file, newline="") as opened:
        rows = list(csv.DictReader(opened))
    frames = {"pandas": pd.read_csv(file), "pyarrow": pc.read_csv(file).to_pandas(), "polars": pl.read_csv(file)}
    # It leaves doubled quotes in names.
    assert [name.replace('""', '"') for name in frames["polars"].columns] == list(wanted), file
    frames["polars"].columns = list(wanted)
    for name, values in wanted.items():
        read = {"True": 1, "False": 0}
        numbers = values if values.dtype.kind == "f" else values.astype("f8")
        same([float(read.get(row[name], row[name])) for row in rows], numbers, (file, "DictReader", name))
        for reader, frame in frames.items():
            if not (reader == "polars" and gaps):
                of = values.astype("i8") if values.dtype.kind == "b" and frame[name].dtype not in (bool, pl.Boolean) else values
                same(frame[name].to_list() if reader == "polars" else frame[name].tolist(), of, (file, reader, name))
    if duckdb:
        relation = duckdb.read_csv(file)
        assert relation.columns == list(wanted), (file, relation.columns)
        for (name, values), kind, found in zip(wanted.items(), relation.types, zip(*relation.fetchall())):
            if name in last_whole(array):
                assert str(kind) == "VARCHAR" and [int(cell) for cell in found] == values.tolist(), (file, name)
            else:
                of = values.astype("i8") if values.dtype.kind == "b" and str(kind) != "BOOLEAN" else values
                same(found, of, (file, "duckdb", name))
    if shutil.which("sqlite3"):
        kinds = ", ".join(f"c{at} {'real' if values.dtype.kind == 'f' else 'integer'}" for at, values in enumerate(wanted.values()))
        types = ", ".join(f"min(typeof(c{at})), max(typeof(c{at}))" for at in range(len(wanted)))
        script = f"create table t({kinds});\n.import --csv --skip 1 '{file}' t\n.mode list\nselect {types} from t;\n"
        said = subprocess.run(["sqlite3", ":memory:"], input=script, capture_output=True, text=True, check=True)
        found = said.stdout.strip().split("|")
        for at, (name, values) in enumerate(wanted.items()):
            if values.dtype.kind in "iuf" and not np.isnan(values).any():
                kind = "real" if values.dtype.kind == "f" else "integer"
                assert found[2 * at : 2 * at + 2] == [kind, kind], (file, name, found)
    return frames


if sys.argv[1] == "make":
    np.savez(sys.argv[2], **ARRAYS)
else:
    for name, array in ARRAYS.items():
        file = os.path.join(sys.argv[2], ".views/csv", f"{name}.csv")
        size = os.stat(file).st_size
        assert size == len(open(file, "rb").read()), name
        assert b" " not in open(file, "rb").read().split(b"\n", 1)[1], name
        check(file, array)
    print(json.dumps({"duckdb": bool(duckdb), "sqlite3": bool(shutil.which("sqlite3"))}))
