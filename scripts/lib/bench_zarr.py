"""Rows of scripts/bench about the Zarr view: beside a store of the same chunks, uncompressed, on the disk."""
import os
import shutil

from bench_kit import median, row, seconds, warm


def native(bench, source):
    """The view itself, copied out: the same chunks and descriptions as files."""
    def make(path):
        with bench.mount(source) as where:
            shutil.copytree(os.path.join(where, ".views", "zarr"), path)
    return bench.made(f"native-{bench.mib}.zarr", make)


def by_zarr(path):
    import zarr
    return zarr.open_group(path, mode="r")["big"][...]


def by_xarray(path):
    import xarray
    with xarray.open_zarr(path) as dataset:
        return dataset["big"].values


@row
def zarr_view(bench):
    try:
        import xarray  # noqa: F401
        import zarr  # noqa: F401
    except ImportError as missing:
        return [("zarr view", f"not measured: {missing}", "")]
    source = bench.big()
    store = native(bench, source)
    for folder, _, names in os.walk(store):
        for name in names:
            warm(os.path.join(folder, name))
    warm(source)
    lines = []
    for name, read in (("zarr", by_zarr), ("xarray", by_xarray)):
        read(store)
        colds, warms = [], []
        for _ in range(bench.repeat):
            with bench.mount(source) as where:
                path = os.path.join(where, ".views", "zarr")
                direct = seconds(read, store)
                colds.append(seconds(read, path) / direct)
                direct = seconds(read, store)
                warms.append(seconds(read, path) / direct)
        for kind, ratios in (("first", colds), ("again", warms)):
            lines.append((f"{bench.mib} MiB array by {name} from the zarr view, {kind}",
                          f"{median(ratios):.2f}x a store on disk", "at most 1.0x"))
    return lines
