"""make_onda_polars.py TABLE DIR: the table as polars writes it (view.arrow, zstd.arrow, stream.arrow, large.arrow) and
with run ends and list views (runs.arrow); its first recording with a byte too few is short.arrow."""
import sys

import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc

table, out = ipc.open_file(sys.argv[1]).read_all(), sys.argv[2]


def plain(column):
    return [None if value is None else getattr(value, "bytes", value) for value in column.to_pylist()]


def series(name, column):
    if name == "span":
        edges = {edge: [getattr(span[edge], "value", span[edge]) for span in column.to_pylist()] for edge in ("start", "stop")}
        edges = {edge: pl.Series(edge, values).cast(pl.Duration("ns")) for edge, values in edges.items()}
        return pl.DataFrame(edges).to_struct(name)
    values = plain(column)
    binary = any(isinstance(value, bytes) for value in values)
    return pl.Series(name, values, dtype=pl.Binary if binary else None)


frame = pl.DataFrame([series(name, table[name]) for name in table.column_names])
if "file_format" in frame.columns:
    frame = frame.with_columns(pl.col("file_format").cast(pl.Categorical))
frame.write_ipc(f"{out}/view.arrow")
frame.write_ipc(f"{out}/zstd.arrow", compression="zstd")
frame.write_ipc_stream(f"{out}/stream.arrow")
frame.write_ipc(f"{out}/large.arrow", compat_level=pl.CompatLevel.oldest())


def write(name, table):
    with ipc.new_file(f"{out}/{name}", table.schema) as to:
        to.write_table(table)


def replaced(table, name, values):
    return table.set_column(table.column_names.index(name), name, values)


runs = table
if "channels" in table.column_names:
    runs = replaced(runs, "channels", pa.array(runs["channels"].to_pylist(), pa.list_view(pa.string_view())))
    runs = replaced(runs, "sample_unit", pa.RunEndEncodedArray.from_arrays(
        pa.array(range(1, len(runs) + 1), pa.int32()), runs["sample_unit"].combine_chunks()))
write("runs.arrow", runs)

recordings = plain(table["recording"])
short = replaced(table, "recording", pa.array([recordings[0][:15], *recordings[1:]], pa.binary()))
write("short.arrow", short)
