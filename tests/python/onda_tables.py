"""Tables of Onda for tests: signals(path, rows) with rows of row(...), annotations(path, rows) of (id, start, stop)."""
import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

S = 10**9
EDGES = pa.struct([("start", pa.duration("ns")), ("stop", pa.duration("ns"))])
UUID = {"ARROW:extension:name": "JuliaLang.UUID", "ARROW:extension:metadata": ""}
TYPES = {
    "recording": pa.binary(16), "id": pa.binary(16), "span": EDGES, "channels": pa.list_(pa.string()),
    "sample_resolution_in_unit": pa.float64(), "sample_offset_in_unit": pa.float64(), "sample_rate": pa.float64()}


def uuid(number):
    return number.to_bytes(16, "little")


def row(label, samples, start=0, stop=None, **more):
    """Of 10 samples a second, the span as is needed for them."""
    stop = start + samples * S // 10 if stop is None else stop
    return {
        "recording": uuid(1), "file_path": label + ".lpcm", "file_format": "lpcm", "span": {"start": start, "stop": stop},
        "sensor_type": "eeg", "sensor_label": label, "channels": ["a", "b"], "sample_unit": "volt",
        "sample_resolution_in_unit": 0.5, "sample_offset_in_unit": 1.0, "sample_type": "int16", "sample_rate": 10.0, **more}


def samples(path, count):
    np.arange(2 * count, dtype="<i2").tofile(path)


def written(path, rows, schema):
    names = list(rows[0])
    columns = [pa.array([row[name] for row in rows], TYPES.get(name)) for name in names]
    fields = [
        pa.field(name, column.type, metadata=UUID if name in ("recording", "id") else None)
        for name, column in zip(names, columns)]
    schema = pa.schema(fields, {"legolas_schema_qualified": schema})
    with ipc.new_file(path, schema) as out:
        out.write_table(pa.Table.from_arrays(columns, schema=schema))


def signals(path, rows):
    written(path, rows, "onda.signal@2>onda.samples-info@2")


def annotations(path, rows, **columns):
    """`columns` are further ones, with a value for each row."""
    rows = [
        {"recording": uuid(1), "id": uuid(id), "span": {"start": start, "stop": stop}}
        | {name: values[at] for name, values in columns.items()}
        for at, (id, start, stop) in enumerate(rows)]
    written(path, rows, "onda.annotation@1")
