"""Tables of FFRecord and Onda below .views, as pyarrow, polars and pandas read them.

    check_tables.py records MOUNT...              .views/arrow/records.arrow against the bare tables
    check_tables.py onda MOUNT TABLE.arrow...     .views/arrow/tables and .views/jsonl/tables against the files

Fails at the first difference. Prints how many rows there were.
"""
import json
import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def mapped(path):
    table = pa.ipc.open_file(pa.memory_map(path)).read_all()
    table.validate(full=True)
    return table


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
    return len(want)


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
        rows += want.num_rows
    return rows


what, *rest = sys.argv[1:]
print(sum(map(records, rest)) if what == "records" else onda(rest[0], rest[1:]))
