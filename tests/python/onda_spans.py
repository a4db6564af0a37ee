"""Writes DIR/spans.onda.annotation.arrow beside test.onda.signal.arrow, and prints which bytes of which signal each
annotation covers, counted as Onda.jl does: onda_spans.py DIR"""
import json
import math
import os
import sys
import uuid

import pyarrow as pa

folder = sys.argv[1]
rows = json.load(open(os.path.join(folder, "test.onda.signal.arrow.expected.json")))["rows"]
samples = json.load(open(os.path.join(folder, "samples.expected.json")))
eeg, audio = rows[0]["recording"]["uuid_if_little_endian"], rows[2]["recording"]["uuid_if_little_endian"]
SECOND = 10**9
spans = [
    (eeg, 0, SECOND),
    (eeg, 10 * SECOND, 11 * SECOND),
    (eeg, 11 * SECOND + 1, 99 * SECOND),
    (eeg, 500_000_000, 500_000_001),
    (eeg, 3_117_692_907, 10_000_003_906),
    (audio, 0, 200 * SECOND),
    (audio, 2_500_000_000, 2_500_000_000 + 7),
    (audio, 10**15, 10**15 + 1),
]
ids = [uuid.UUID(int=(0xABC << 64) + at) for at in range(len(spans))]
stored = lambda text: uuid.UUID(str(text)).bytes[::-1]
span = pa.struct([pa.field("start", pa.duration("ns"), False), pa.field("stop", pa.duration("ns"), False)])
julia = {"ARROW:extension:name": "JuliaLang.UUID", "ARROW:extension:metadata": ""}
schema = pa.schema(
    [
        pa.field("recording", pa.binary(16), False, julia),
        pa.field("id", pa.binary(16), False, julia),
        pa.field("span", span, False),
    ],
    {"legolas_schema_qualified": "onda.annotation@1"},
)
starts, stops = (pa.array([s[at] for s in spans]).cast(pa.duration("ns")) for at in (1, 2))
arrays = [
    pa.array([stored(s[0]) for s in spans], pa.binary(16)),
    pa.array([stored(i) for i in ids], pa.binary(16)),
    pa.StructArray.from_arrays([starts, stops], fields=list(span)),
]
with pa.OSFile(os.path.join(folder, "spans.onda.annotation.arrow"), "wb") as out:
    with pa.ipc.new_file(out, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))

labels = [(row["recording"]["uuid_if_little_endian"], row["sensor_label"]) for row in rows]
expected = {}
for (recording, start, stop), annotation in zip(spans, ids):
    files = expected[str(annotation)] = {}
    for row, key in zip(rows, labels):
        about = samples.get(row["file_path"])
        own = row["span"]
        first, last = max(start, own["start"]), min(stop, own["stop"])
        if key[0] != recording or about is None or first >= last:
            continue
        index = lambda time: math.floor((time - own["start"]) / 1e9 * row["sample_rate"])
        name = key[1] + ("@%d" % own["start"] if labels.count(key) > 1 else "")
        count, channels = about["shape_samples_by_channels"]
        width = about["lpcm_size"] // count
        path = os.path.join(folder, row["file_path"])
        if path.endswith(".zst"):
            # More than one frame is not what pyarrow reads: what is in it is not said.
            if about["zstd_mode"] not in ("one", "stream", "checksum"):
                files[name + ".npy"] = None
                continue
            data = pa.input_stream(path, compression="zstd").read()
        else:
            data = open(path, "rb").read()
        files[name + ".npy"] = data[index(first) * width : (index(last - 1) + 1) * width].hex()
print(json.dumps(expected))
