"""Rows of scripts/bench about Onda's tables."""
import os
import time
import uuid

from bench_kit import median, row, seconds, warm

try:
    import pyarrow as pa
except ImportError:
    pa = None


def table(path, rows):
    """A table of signals: dicts of what differs between rows."""
    julia = {"ARROW:extension:name": "JuliaLang.UUID", "ARROW:extension:metadata": ""}
    span = pa.struct([pa.field("start", pa.duration("ns"), False), pa.field("stop", pa.duration("ns"), False)])
    column = lambda key, kind: pa.array([r[key] for r in rows], kind)
    same = lambda value, kind: pa.array([value] * len(rows), kind)
    starts, stops = (same(value, pa.int64()).cast(pa.duration("ns")) for value in (0, 10**9))
    columns = [
        ("recording", column("recording", pa.binary(16)), julia),
        ("file_path", column("path", pa.string()), None),
        ("file_format", same("lpcm", pa.string()), None),
        ("span", pa.StructArray.from_arrays([starts, stops], fields=list(span)), None),
        ("sensor_type", same("eeg", pa.string()), None),
        ("sensor_label", column("label", pa.string()), None),
        ("channels", column("channels", pa.list_(pa.string())), None),
        ("sample_unit", same("microvolt", pa.string()), None),
        ("sample_resolution_in_unit", same(0.25, pa.float64()), None),
        ("sample_offset_in_unit", same(3.6, pa.float64()), None),
        ("sample_type", column("type", pa.string()), None),
        ("sample_rate", same(256.0, pa.float64()), None),
    ]
    fields = [pa.field(name, array.type, False, metadata) for name, array, metadata in columns]
    schema = pa.schema(fields, {"legolas_schema_qualified": "onda.signal@2>onda.samples-info@2"})
    with pa.OSFile(path, "wb") as out, pa.ipc.new_file(out, schema) as writer:
        writer.write_batch(pa.record_batch([array for _, array, _ in columns], schema=schema))


@row
def onda_faces(bench):
    """Channels and decoded values of a large signal, read from front to back."""
    if pa is None:
        return [("Onda: channels and decoded values", "no pyarrow")]
    recording = uuid.UUID(int=1)

    def make(path):
        os.makedirs(path)
        rows = []
        for kind, channels in (("int16", 2), ("int16", 16), ("float32", 2)):
            name = f"{kind}_{channels}"
            with open(os.path.join(path, name), "wb") as f:
                f.write(os.urandom(256 << 20))
            names = [f"c{number}" for number in range(channels)]
            rows.append({"recording": recording.bytes[::-1], "path": name, "label": name, "channels": names, "type": kind})
        table(os.path.join(path, "x.onda.signal.arrow"), rows)
    folder = bench.made("onda", make)
    found = []
    with bench.mount(os.path.join(folder, "x.onda.signal.arrow")) as where:
        for label, face in (("int16_2", "decoded"), ("float32_2", "decoded"), ("int16_2", "01_c1"), ("int16_16", "05_c5")):
            parts = ["decoded", str(recording), label + ".npy"] if face == "decoded" else \
                ["channels", str(recording), label, face + ".npy"]
            path = os.path.join(where, ".views", *parts)
            samples = os.path.join(folder, label)
            warm(samples)
            size, rates, plain = os.path.getsize(path), [], []
            for _ in range(bench.repeat):
                plain.append(size / seconds(warm, samples) / 1e9)
                os.posix_fadvise(descriptor := os.open(path, os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)
                rates.append(size / seconds(warm, path) / 1e9)
            what = "decoded" if face == "decoded" else "one channel"
            # All samples are read for one channel: their plain read is what any way of it costs at least.
            found.append((f"Onda: {what} of {label.replace('_', ' x ')}",
                          f"{median(rates):.2f} GB/s of output (its samples read and nothing made of them: {median(plain):.2f})"))
    return found


@row
def onda_rows(bench):
    """A table of 100,000 signals: the mount, and a directory of it."""
    if pa is None:
        return [("Onda: a table of 100,000 rows", "no pyarrow")]
    count = 100_000

    def make(path):
        channels = [f"c{number}" for number in range(20)]
        rows = [{"recording": uuid.UUID(int=at // 100 + 1).bytes[::-1], "path": f"samples/{at}.lpcm",
                 "label": f"sensor_{at % 100}", "channels": channels, "type": "int16"} for at in range(count)]
        os.makedirs(path)
        table(os.path.join(path, "x.onda.signal.arrow"), rows)
    source = os.path.join(bench.made("onda-rows", make), "x.onda.signal.arrow")
    warm(source)
    mounts, lists = [], []
    for _ in range(bench.repeat):
        start = time.perf_counter()
        with bench.mount(source) as where:
            mounts.append(time.perf_counter() - start)
            lists.append(seconds(os.listdir, where))
    return [(f"Onda: mount of a table of {count:,} rows", f"{median(mounts):.2f} s"),
            ("its recordings listed", f"{median(lists) * 1000:.0f} ms")]
