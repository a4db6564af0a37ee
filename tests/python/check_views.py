"""Opens the views csv, jsonl, arrow and png of a mount with the tools they are for, and compares them with numpy's.

usage: check_views.py MOUNTPOINT; prints how many of each there were. Knows no format: what a dataset is says its
NPY view, which has another test.
"""

import csv
import io
import json
import os
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from PIL import Image

VIEWS = os.path.join(sys.argv[1], ".views")
FOUND = Counter()
MOST = 1600


def same(found, wanted, where):
    """The same numbers, whatever NaN's bits."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if wanted.dtype.kind in "fc":
        assert np.array_equal(found.astype(wanted.dtype), wanted, equal_nan=True), where
    else:
        assert np.array_equal(found, wanted), where


def check_array(path, array):
    if array.dtype.kind in "SUMm" and array.ndim in (1, 2):
        check_csv_texts(path("csv"), array)
    if array.dtype.kind not in "biufc":
        return
    if array.ndim in (1, 2):
        check_csv_array(path("csv"), array)
    if array.size:
        check_png(path("png"), array)
    else:
        assert not os.path.exists(path("png")), path("png")


def check_csv_array(file, array):
    text = open(file).read()
    assert len(text) == os.path.getsize(file)
    FOUND["csv"] += 1
    if array.ndim == 2 and array.shape[1] == 0:
        assert text == ""
        return
    columns = array[:, None] if array.ndim == 1 else array
    lines = text.splitlines()
    assert len(lines) == len(array) + 1, file
    assert lines[0].split(",") == ["#0", *map(str, range(1, columns.shape[1]))], file
    if not array.size:
        return
    if array.dtype.kind != "c":
        # Columns of large integers would be of several types.
        dtype = array.dtype.newbyteorder("=") if array.dtype.kind in "iu" else None
        # Spaces are in front of NaN alone.
        spaces = "   nan" in text
        same(pd.read_csv(file, skipinitialspace=spaces, dtype=dtype).to_numpy().astype(array.dtype), columns, file)
    dtype = array.dtype.newbyteorder("=")
    same(np.loadtxt(file, delimiter=",", dtype=dtype, ndmin=2), columns, file)


def check_csv_texts(file, array):
    FOUND["texts"] += 1
    rows = list(csv.reader(open(file, newline="")))
    columns = array[:, None] if array.ndim == 1 else array
    assert [name.lstrip("#") for name in rows[0]] == [str(at) for at in range(columns.shape[1])], file
    if array.dtype.kind == "M":
        # It knows no byte orders.
        columns = np.datetime_as_string(columns.astype(columns.dtype.newbyteorder("=")))
    elif array.dtype.kind == "m":
        columns = np.where(np.isnat(columns), "NaT", columns.astype("i8").astype(str))
    elif array.dtype.kind == "S":
        columns = np.char.decode(columns, "utf8")
    assert rows[1:] == columns.tolist(), file


def check_png(file, array):
    FOUND["png"] += 1
    image = Image.open(file)
    image.load()
    width, height = image.size
    assert 0 < width <= MOST and 0 < height <= MOST, file
    if array.ndim == 3 and array.dtype == np.uint8 and array.shape[2] in (3, 4):
        if max(array.shape) <= MOST:
            same(np.asarray(image), array, file)
    else:
        assert image.mode in ("L", "RGB", "RGBA"), file
    assert os.path.getsize(file) == len(open(file, "rb").read())


def cells(column):
    """The values of a column as other tools give them; texts without the NULs that fill them up."""
    if column.dtype.kind == "U":
        return column.tolist()
    return [cell.decode() for cell in column] if column.dtype.kind == "S" else column


def check_table(path, array):
    check_csv_table(path("csv"), array)
    check_jsonl(path("jsonl"), array)
    check_arrow(path("arrow"), array)


def check_csv_table(file, array):
    FOUND["csv"] += 1
    text = open(file, newline="").read()
    rows = list(csv.reader(io.StringIO(text), skipinitialspace="   nan" in text))
    assert [name or "%" for name in rows[0]] == list(array.dtype.names), (file, rows[0])
    assert len(rows) == len(array) + 1, file
    for number, name in enumerate(array.dtype.names):
        found, wanted = [row[number] for row in rows[1:]], cells(array[name])
        if array.dtype[name].kind in "SU":
            assert found == wanted, (file, name)
        else:
            found = [{"True": 1, "False": 0}.get(cell, cell) for cell in found]
            same(np.array(found, dtype=array.dtype[name].newbyteorder("=")), wanted, (file, name))
    if len(array):
        frame = pd.read_csv(file, keep_default_na=False, na_values=["nan"])
        assert len(frame) == len(array), file


def check_jsonl(file, array):
    FOUND["jsonl"] += 1
    rows = [json.loads(line) for line in open(file)]
    assert len(rows) == len(array), file
    for name in array.dtype.names:
        found, wanted = [row[name] for row in rows], cells(array[name])
        if array.dtype[name].kind == "f":
            wanted = np.where(np.isfinite(wanted), wanted, np.nan)
            found = [np.nan if cell is None else cell for cell in found]
            same(np.array(found).astype(array.dtype[name]), wanted, (file, name))
        elif array.dtype[name].kind != "c":
            assert list(found) == list(wanted), (file, name)
    if len(array):
        assert len(pl.read_ndjson(file)) == len(pd.read_json(file, lines=True)) == len(array), file


def check_arrow(file, array):
    FOUND["arrow"] += 1
    with pa.memory_map(file) as source:
        table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)
        assert table.column_names == list(array.dtype.names) and len(table) == len(array), file
        for name in array.dtype.names:
            found, wanted = table[name].to_pylist(), cells(array[name])
            if array.dtype[name].kind == "c":
                found = [complex(*pair) for pair in found]
            if array.dtype[name].kind in "SU":
                assert found == wanted, (file, name)
            else:
                same(np.array(found, dtype=wanted.dtype.newbyteorder("=")), wanted, (file, name))
        assert len(pd.read_feather(file)) == len(array), file
        frame = pl.read_ipc(file)
        assert frame.columns == list(array.dtype.names) and len(frame) == len(array), file
        assert frame.to_arrow().to_pylist() == table.to_pylist() or "nan" in str(frame), file


def main():
    for folder, _, files in os.walk(os.path.join(VIEWS, "npy")):
        for file in files:
            inner = os.path.relpath(os.path.join(folder, file), os.path.join(VIEWS, "npy"))
            stem, _, number = inner.rpartition(".npy")
            if number or not stem:
                continue
            try:
                array = np.load(os.path.join(folder, file))
            except OSError:
                continue
            path = lambda kind: os.path.join(VIEWS, kind, f"{stem}.{kind}")
            if array.dtype.names:
                if all(not of.shape and of.kind in "biufcSU" for of, *_ in array.dtype.fields.values()):
                    check_table(path, array)
            else:
                check_array(path, array)
    print(json.dumps(FOUND))


main()
