"""What other programs make of CSV views, without an option: those that are padded (large) and those that are not.

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
gap = np.arange(N) % 1000 >= 100
# More than 4,194,304 cells: padded.
LONG = 100_000
SMALL = {
    "events": table(**{"sample": ids - 300, "amp, µV": rng.normal(size=N).astype("f4"), 'a "b"': ids % 2 == 0, "big": ids * -(2**52)}),
    "whole": table(id=ids.astype("u4"), amp=(ids - 500).astype("i2"), yes=ids % 3 == 0),
    "truths": table(a=ids % 2 == 0, b=ids % 5 == 0),
    "gaps": table(id=ids, x=some_nan),
    "few": ids[:3] - 1,
    "one": ids[:1],
    "line": floats,
    "line_gaps": some_nan,
    "line_gap": np.where(gap, np.nan, floats),
    "line_nan": np.where(ids < 200, np.nan, floats),
    "nan": np.full(N, np.nan),
    "grid": floats.reshape(100, 10),
    "small": rng.normal(size=(50, 3)).astype("f2"),
    "ints": rng.integers(-100, 100, (50, 3), dtype="i2"),
    "bools": rng.integers(0, 2, N).astype("?"),
    "mixed": table(id=ids, yes=ids % 3 == 0, x=some_nan, name=np.array([f"n {at}, {'é' * (at % 3)}" for at in ids])),
    "dates": np.datetime64("2026-01-01", "s") + ids,
}
large = rng.integers(-(2**31), 2**31, (LONG, 43), dtype="i4") >> rng.integers(0, 31, (LONG, 43))
odd = rng.normal(size=(LONG, 43)).astype("f4")
odd[:, 5:7], odd[3::7, 3], odd[::11, 4] = np.nan, np.inf, -np.inf
odd[500:40_000, 1] = np.nan
record = [("id", "i8"), ("yes", "?"), ("x", "f8", 40)]
rows = np.zeros(LONG, record)
rows["id"], rows["yes"], rows["x"] = np.arange(LONG) * -(2**40), np.arange(LONG) % 3 == 0, odd[:, :40]
LARGE = {"large_ints": large.astype("i4"), "large_floats": odd, "large_table": rows}
ARRAYS = SMALL | LARGE


def columns(array):
    """Those of the CSV, by name."""
    if array.dtype.names:
        shapes = {name: array.dtype[name].shape for name in array.dtype.names}
        split = {f"{name}[{at}]": array[name][:, at] for name, shape in shapes.items() if shape for at in range(shape[0])}
        return {name: array[name] for name, shape in shapes.items() if not shape} | split
    array = array[:, None] if array.ndim == 1 else array
    return {f"#{at}" if at == 0 else str(at): array[:, at] for at in range(array.shape[1])}


def expected(values, is_array):
    """Arrays of truth values are written as numbers, tables as True and False."""
    return values.astype("i8") if values.dtype.kind == "b" and is_array else values


def same(found, values, where):
    """The same values in a column of the same kind: integers, floats, truth values."""
    if values.dtype.kind in "UM":
        return
    found = np.asarray([np.nan if value is None else value for value in found])
    kinds = {"u": "i"}
    assert kinds.get(found.dtype.kind, found.dtype.kind) == kinds.get(values.dtype.kind, values.dtype.kind), (where, found.dtype, found[:3])
    assert np.array_equal(found.astype(values.dtype), values, equal_nan=values.dtype.kind == "f"), where


def of_text(cells, values):
    """What a program makes of cells that it gets as text."""
    of = {"f": float, "i": int, "u": int, "b": {"True": True, "False": False}.get, "M": np.datetime64}.get(values.dtype.kind, str)
    return [of(cell) for cell in cells]


def check_sqlite(file, wanted):
    """Without types all columns of a table made by .import are text; into columns with types go numbers."""
    kinds = ", ".join(f"c{at} {'real' if values.dtype.kind == 'f' else 'integer'}" for at, values in enumerate(wanted.values()))
    types = ", ".join(f"min(typeof(c{at})), max(typeof(c{at})), min(c{at}), max(c{at})" for at in range(len(wanted)))
    script = f"create table t({kinds});\n.import --csv --skip 1 '{file}' t\n.mode list\nselect {types} from t;\n"
    said = subprocess.run(["sqlite3", ":memory:"], input=script, capture_output=True, text=True, check=True)
    assert said.stderr == "", (file, said.stderr)
    found = said.stdout.strip().split("|")
    for at, (name, values) in enumerate(wanted.items()):
        # It has no NaN, and no truth values.
        if values.dtype.kind in "iuf" and not np.isnan(values).any():
            kind = "real" if values.dtype.kind == "f" else "integer"
            assert found[4 * at : 4 * at + 2] == [kind, kind], (file, name, found)
            ends = found[4 * at + 2 : 4 * at + 4]
            assert kind == "real" or ends == [str(values.min()), str(values.max())], (file, name, ends)


def check(file, array):
    wanted = {name: expected(values, array.dtype.names is None) for name, values in columns(array).items()}
    with open(file, newline="") as opened:
        reader = csv.reader(opened)
        assert next(reader) == list(wanted), file
        for (name, values), cells in zip(wanted.items(), zip(*reader)):
            same(of_text(cells, values), values, (file, "csv", name))
    frames = {"pandas": pd.read_csv(file), "pyarrow": pc.read_csv(file).to_pandas(), "polars": pl.read_csv(file)}
    # It leaves doubled quotes in names.
    assert [name.replace('""', '"') for name in frames["polars"].columns] == list(wanted), file
    frames["polars"].columns = list(wanted)
    if duckdb:
        frames["duckdb"] = duckdb.read_csv(file).df()
    for reader, frame in frames.items():
        assert list(frame.columns) == list(wanted), (file, reader)
        for name, values in wanted.items():
            # pyarrow takes NaN for a missing value: it knows no type of a column of nothing else.
            if not (reader == "pyarrow" and values.dtype.kind == "f" and np.isnan(values).all()):
                same(frame[name].to_numpy(), values, (file, reader, name))
    if shutil.which("sqlite3"):
        check_sqlite(file, wanted)


if sys.argv[1] == "make":
    np.savez(sys.argv[2], **ARRAYS)
else:
    for name, array in ARRAYS.items():
        file = os.path.join(sys.argv[2], ".views/csv", f"{name}.csv")
        size = os.stat(file).st_size
        with open(file, "rb") as opened:
            text = opened.read()
        assert size == len(text), name
        assert b"  " not in text or name in LARGE, name
        check(file, array)
    print(json.dumps({"duckdb": bool(duckdb), "sqlite3": bool(shutil.which("sqlite3"))}))
