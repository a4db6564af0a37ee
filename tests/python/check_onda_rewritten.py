"""A table of Onda's against the same one that rab wrote anew: check_onda_rewritten.py OLD NEW BACK. BACK leads from the
new table's directory to the old one's."""
import sys

import pyarrow as pa
import pyarrow.ipc as ipc

UUID = {b"ARROW:extension:name": b"JuliaLang.UUID", b"ARROW:extension:metadata": b""}
PERIOD = {b"ARROW:extension:name": b"JuliaLang.Dates.Period", b"ARROW:extension:metadata": b""}
SPAN = {b"ARROW:extension:name": b"JuliaLang.TimeSpan", b"ARROW:extension:metadata": b""}
edge = lambda name: pa.field(name, pa.duration("ns"), False, PERIOD)
text = lambda name: pa.field(name, pa.string(), False)
number = lambda name: pa.field(name, pa.float64(), False)
uuid = lambda name: pa.field(name, pa.binary(16), False, UUID)
span = pa.field("span", pa.struct([edge("start"), edge("stop")]), False, SPAN)
SIGNALS = [
    text("sensor_type"), pa.field("channels", pa.list_(pa.field("", pa.string(), False)), False),
    text("sample_unit"), number("sample_resolution_in_unit"), number("sample_offset_in_unit"), text("sample_type"),
    number("sample_rate"), uuid("recording"), text("file_path"), text("file_format"), span, text("sensor_label"),
]
ANNOTATIONS = [uuid("recording"), uuid("id"), span]


def read(path):
    try:
        return ipc.open_file(path).read_all()
    except pa.ArrowInvalid:
        return ipc.open_stream(path).read_all()


def plain(value):
    """Durations of nanoseconds are no timedelta of Python's; NaN is not itself."""
    return "NaN" if value != value else value


def values(column):
    if pa.types.is_struct(column.type):
        parts = column.combine_chunks().flatten()
        return list(zip(*(values(part) for part in parts)))
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64()).to_pylist()
    return [plain(value) for value in column.to_pylist()]


old, new, back = read(sys.argv[1]), ipc.open_file(sys.argv[2]).read_all(), sys.argv[3]
new.validate(full=True)
is_signals = "file_path" in old.column_names
own = SIGNALS if is_signals else ANNOTATIONS
for wanted in own:
    found = new.schema.field(new.column_names.index(wanted.name))
    if wanted.name == "file_path" and old.schema.field("file_path").metadata:
        wanted = wanted.with_metadata(old.schema.field("file_path").metadata)
    assert found.equals(wanted, check_metadata=True), (wanted, found)
assert new.column_names[: len(own)] == [field.name for field in own], new.column_names

metadata = dict(new.schema.metadata)
schema = metadata.pop(b"legolas_schema_qualified")
assert (b"onda.signal@2>onda.samples-info@2" if is_signals else b"onda.annotation@1") in schema, schema
kept = {key: value for key, value in (old.schema.metadata or {}).items()
        if key not in (b"legolas_schema_qualified", b"onda_format_version")}
assert metadata == kept, (metadata, kept)

assert new.num_rows == old.num_rows
custom = [name for name in old.column_names if name not in [field.name for field in own] + ["kind"]]
assert new.column_names[len(own):] == custom, (new.column_names, custom)
for name in custom:
    assert values(new[name]) == values(old[name]), name
    before, after = old.schema.field(name), new.schema.field(name)
    if not any(word in str(before.type) for word in ("dictionary", "view", "run_end", "union")):
        assert after.equals(before, check_metadata=True), (before, after)
for field in own:
    source = field.name
    if source in ("sensor_type", "sensor_label") and source not in old.column_names:
        source = "kind"
    expected = values(old[source])
    if field.name in ("recording", "id") and (old.schema.field(source).metadata or {}) != UUID:
        expected = [value[::-1] for value in expected]
    if field.name == "file_path" and back:
        expected = [path if path.startswith("/") or "://" in path or path.startswith("file:") else back + "/" + path
                    for path in expected]
    assert values(new[field.name]) == expected, (field.name, values(new[field.name]), expected)
print(new.num_rows, len(custom))
