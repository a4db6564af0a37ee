"""Makes a table of Onda's signals, version 1, with custom columns of all types: make_onda_custom.py OUT ROWS"""
import datetime
import decimal
import sys
import uuid

import pyarrow as pa
import pyarrow.ipc as ipc

out, rows = sys.argv[1], int(sys.argv[2])
every = lambda make: [None if row % 5 == 3 else make(row) for row in range(rows)]
whole = lambda make: [make(row) for row in range(rows)]
words = every(lambda row: "word %d" % (row % 7))
sparse = pa.UnionArray.from_sparse(
    pa.array(whole(lambda row: row % 2), pa.int8()),
    [pa.array(whole(lambda row: row), pa.int32()), pa.array(whole(lambda row: "x" * (row % 9)))], ["number", "text"])
runs = pa.RunEndEncodedArray.from_arrays(pa.array([rows // 2, rows], pa.int32()), pa.array(["first", None]))
ids = whole(lambda row: uuid.UUID(int=(row << 80) | (4 << 76) | (2 << 62)).bytes)
period = pa.duration("ns")
own = {
    "recording": pa.array(ids, pa.binary(16)),
    "kind": pa.array(whole(lambda row: "kind_%d" % row)),
    "file_path": pa.array(whole(lambda row: "samples/%d.lpcm" % row)),
    "file_format": pa.array(["lpcm"] * rows),
    "span": pa.array(whole(lambda row: {"start": row, "stop": row + 1}), pa.struct([("start", period), ("stop", period)])),
    "channels": pa.array(whole(lambda row: ["a", "b/c"][: 1 + row % 2])),
    "sample_unit": pa.array(["microvolt"] * rows),
    "sample_resolution_in_unit": pa.array([3] * rows, pa.int16()),
    "sample_offset_in_unit": pa.array([-7] * rows, pa.int64()),
    "sample_type": pa.array(["int16"] * rows),
    "sample_rate": pa.array([0.5] * rows, pa.float32()),
}
custom = {
    "nothing": pa.nulls(rows),
    "flag": pa.array(every(lambda row: row % 3 == 0)),
    "tiny": pa.array(every(lambda row: row % 100 - 50), pa.int8()),
    "huge": pa.array(every(lambda row: 2**64 - 1 - row), pa.uint64()),
    "half": pa.array(every(lambda row: row % 8 / 8), pa.float32()).cast(pa.float16()),
    "real": pa.array(every(lambda row: float("nan") if row % 4 == 0 else row / 3)),
    "large": pa.array(words, pa.large_string()),
    "bytes": pa.array(every(lambda row: bytes([row % 256] * (row % 4))), pa.binary()),
    "view": pa.array(every(lambda row: "a longer text, %d" % row), pa.string_view()),
    "pool": pa.array(words).dictionary_encode(),
    "pool_lists": pa.array(every(lambda row: ["p", None, "q"][: row % 4])),
    "runs": runs,
    "price": pa.array(every(lambda row: decimal.Decimal(row).scaleb(-2)), pa.decimal128(20, 2)),
    "day": pa.array(every(lambda row: datetime.date(2024, 2, 1 + row % 28)), pa.date32()),
    "clock": pa.array(every(lambda row: row), pa.time64("ns")),
    "moment": pa.array(every(lambda row: row), pa.timestamp("ms", "UTC")),
    "long": pa.array(every(lambda row: row), pa.duration("s")),
    "calendar": pa.array(every(lambda row: (row, 2, 3)), pa.month_day_nano_interval()),
    "pairs": pa.array(every(lambda row: [("k%d" % k, k) for k in range(row % 3)]), pa.map_(pa.string(), pa.int64())),
    "point": pa.array(every(lambda row: [row, None]), pa.list_(pa.int32(), 2)),
    "nested": pa.array(every(lambda row: {"a": row, "b": [{"c": "x"}, None][: row % 3]})),
    "either": sparse,
    "listed": pa.array(every(lambda row: list(range(row % 3))), pa.list_view(pa.int32())),
    "other_id": pa.array(ids, pa.binary(16)),
}
table = pa.table({**custom, **own}).replace_schema_metadata(
    {"legolas_schema_qualified": "onda.signal@1>onda.samples-info@1", "mine": "kept"})
with ipc.new_file(out, table.schema) as file:
    file.write_table(table, max_chunksize=max(rows // 3, 1))
