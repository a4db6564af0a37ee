"""Tables of FFRecord and Onda below .views, as pyarrow, polars and pandas read them.

    check_tables.py records MOUNT...              records.arrow against the bare tables, its text against that
    check_tables.py onda MOUNT TABLE.arrow...     tables as Arrow files, lines of JSON and CSV against the files

Fails at the first difference. Prints how many rows there were.
"""
import base64
import csv
import json
import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

csv.field_size_limit(1 << 30)


def sized(path):
    """The size that a stat says, which is that of the bytes."""
    size, data = os.path.getsize(path), open(path, "rb").read()
    assert len(data) == size, path
    for at in (0, 1, size // 3, max(size - 5, 0)):
        with open(path, "rb") as file:
            file.seek(at)
            assert file.read(7) == data[at:at + 7], (path, at)
    return size


def mapped(path):
    table = pa.ipc.open_file(pa.memory_map(path)).read_all()
    table.validate(full=True)
    return table


def chosen(views, name, count):
    """Some rows are those that numpy cuts out of the whole, in all forms, and are not listed."""
    face = lambda kind, index="": os.path.join(views, kind, f"{name}{index}.{kind}")
    cells = lambda path: list(csv.reader(open(path, newline="")))
    everything = range(count)
    whole = mapped(face("arrow"))
    for index in ("2:5", "::-1", "-3:", "...", "1:", "40:3:-7", "5:5", ":1", "::1200", "7:2000:2"):
        rows = list(eval(f"everything[{index}]")) if index != "..." else list(everything)
        part = f"[{index}]"
        sized(face("csv", part))
        header, *lines = cells(face("csv"))
        assert cells(face("csv", part)) == [header] + [lines[row] for row in rows], (views, index)
        sized(face("jsonl", part))
        lines = open(face("jsonl")).read().splitlines()
        assert open(face("jsonl", part)).read().splitlines() == [lines[row] for row in rows], (views, index)
        sized(face("arrow", part))
        table = mapped(face("arrow", part))
        assert table.column_names == whole.column_names and table.schema.metadata == whole.schema.metadata
        # As text: NaN is another one each time.
        assert str(table.to_pylist()) == str(whole.take(rows).to_pylist() if rows else []), (views, index)
    last = f"[{header[-1]}, {count - 1}]"
    if count:
        assert cells(face("csv", last)) == [header[-1:], cells(face("csv"))[-1][-1:]], views
        assert mapped(face("arrow", last)).to_pylist() == whole.select([header[-1]]).slice(count - 1).to_pylist(), views
    for index in (str(count), "x", "1:2, 0", "::0", "None", ""):
        assert not os.path.exists(face("csv", f"[{index}]")), index
    listed = os.listdir(os.path.dirname(face("csv")))
    assert not any("[" in other for other in listed), listed


def records(mount):
    bare = lambda name: np.load(os.path.join(mount, ".views/table", name), mmap_mode="r")
    data, offsets = bare("data.npy").tobytes(), bare("offsets.npy").tolist()
    want = [data[a:b] for a, b in zip(offsets, offsets[1:])]
    path = os.path.join(mount, ".views/arrow/records.arrow")
    size, table = os.path.getsize(path), mapped(path)
    assert size == len(open(path, "rb").read())
    assert table.schema.types == [pa.large_binary(), pa.uint32()], table.schema
    assert table.column("data").to_pylist() == want
    sums = bare("checksums.npy").tolist()
    assert table.column("crc32").to_pylist() == sums
    frame = pl.read_ipc(path)
    assert frame["data"].to_list() == want and frame["crc32"].to_list() == sums
    frame = pd.read_feather(path)
    assert list(frame["data"]) == want and list(frame["crc32"]) == sums
    rows = [(base64.b64encode(data).decode(), crc) for data, crc in zip(want, sums)]
    path = os.path.join(mount, ".views/csv/records.csv")
    sized(path)
    assert [(data, int(crc)) for data, crc in list(csv.reader(open(path, newline="")))[1:]] == rows
    frame = pd.read_csv(path, keep_default_na=False)
    assert list(zip(frame["data"], frame["crc32"])) == rows
    if rows:
        types = {"data": pa.string(), "crc32": pa.uint32()}
        options = pa.csv.ConvertOptions(column_types=types, quoted_strings_can_be_null=False)
        read = pa.csv.ReadOptions(block_size=1 << 26)
        found = pa.csv.read_csv(path, convert_options=options, read_options=read).to_pylist()
        assert [tuple(row.values()) for row in found] == rows
        assert pl.read_csv(path, schema_overrides={"data": pl.String, "crc32": pl.UInt32}).rows() == rows
    path = os.path.join(mount, ".views/jsonl/records.jsonl")
    assert sized(path) > 0 or not rows
    assert [tuple(json.loads(line).values()) for line in open(path)] == rows
    if rows:
        assert pl.read_ndjson(path).rows() == rows
        read = pa.json.ReadOptions(block_size=1 << 26)
        assert [tuple(row.values()) for row in pa.json.read_json(path, read).to_pylist()] == rows
        frame = pd.read_json(path, lines=True, dtype=False)
        assert list(zip(frame["data"].astype(str), frame["crc32"])) == rows
    chosen(os.path.join(mount, ".views"), "records", len(want))
    return len(want)


def cells(name, table, path):
    """The text of the cells is that of the values, for all who read CSV."""
    sized(path)
    header, *rows = csv.reader(open(path, newline=""))
    assert header == table.column_names and len(rows) == table.num_rows, name
    texts = pl.read_csv(path, infer_schema=False) if rows else None
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    options = pa.csv.ConvertOptions(
        column_types={column: pa.string() for column in header},
        strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
    arrow = pa.csv.read_csv(path, convert_options=options) if rows else None
    assert list(frame.columns) == header and len(frame) == len(rows)
    for at, column in enumerate(header):
        kind = table.schema.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        found = [row[at] for row in rows]
        assert list(frame[column]) == found, (name, column)
        if rows:
            # Who tells nothing from no characters has the null where the table has it.
            nulls = [value is None for value in table.column(column).to_pylist()]
            for other in (texts[column].to_list(), arrow.column(column).to_pylist()):
                assert [value is None for value in other] == nulls, (name, column, other)
                assert [value or "" for value in other] == found, (name, column)
        pairs = list(zip(found, table.column(column).to_pylist()))
        if pa.types.is_string(kind):
            assert all(text == (value or "") for text, value in pairs), (name, column)
        elif pa.types.is_integer(kind):
            assert all(text == "" if value is None else int(text) == value for text, value in pairs)
        elif pa.types.is_floating(kind):
            same = lambda text, value: float(text) == value or text == "nan" and value != value
            assert all(text == "" if value is None else same(text, value) for text, value in pairs), (name, column)
        elif pa.types.is_boolean(kind):
            assert all(text == ("" if value is None else str(value)) for text, value in pairs)
        elif pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
            assert all(text == "" if value is None else json.loads(text) == value for text, value in pairs)


def plain(value):
    """A value of a row as its line has it, where that is simple to tell."""
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def onda(mount, files):
    rows = 0
    for name in files:
        stem = os.path.basename(name).removesuffix(".arrow")
        path = os.path.join(mount, ".views/arrow/tables", stem + ".arrow")
        whole = open(name, "rb").read()
        is_file = whole.startswith(b"ARROW1")
        want = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(name).read_all()
        table = mapped(path)
        assert os.path.getsize(path) == len(open(path, "rb").read())
        assert not is_file or open(path, "rb").read() == whole
        assert table.schema.equals(want.schema, check_metadata=True) and table.equals(want), name
        if table.num_rows:
            polars = pl.read_ipc(path)
            assert polars.height == want.num_rows and polars.columns == want.column_names
        lines = os.path.join(mount, ".views/jsonl/tables", stem + ".jsonl")
        size = os.path.getsize(lines)
        text = open(lines).read()
        assert len(text.encode()) == size
        found = [json.loads(line) for line in text.splitlines()]
        assert len(found) == want.num_rows
        for column in want.column_names:
            kind = want.schema.field(column).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            simple = pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
            lists = pa.types.is_list(kind) and pa.types.is_string(kind.value_type)
            if simple or lists:
                got = [row[column] for row in found]
                assert got == [plain(value) for value in want.column(column).to_pylist()], (name, column)
        assert all(list(row) == want.column_names for row in found)
        if table.num_rows:
            assert len(pd.read_json(lines, lines=True)) == want.num_rows
        cells(name, want, os.path.join(mount, ".views/csv/tables", stem + ".csv"))
        chosen(os.path.join(mount, ".views"), os.path.join("tables", stem), want.num_rows)
        rows += want.num_rows
    return rows


what, *rest = sys.argv[1:]
print(sum(map(records, rest)) if what == "records" else onda(rest[0], rest[1:]))
