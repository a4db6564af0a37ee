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


def files(path):
    """Of a container, or of a store."""
    if os.path.isfile(path):
        return [path]
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def forget(path):
    """Out of the page cache, so that it is read from the disk."""
    for name in files(path):
        with open(name, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@row
def zarr_view(bench):
    try:
        import xarray  # noqa: F401
        import zarr  # noqa: F401
    except ImportError as missing:
        return [("zarr view", f"not measured: {missing}")]
    source = bench.big()
    store = native(bench, source)
    lines = []
    for name, read in (("zarr", by_zarr), ("xarray", by_xarray)):
        read(store)
        disks, firsts, agains = [], [], []
        for turn in range(2 * bench.repeat):
            with bench.mount(source) as where:
                path = os.path.join(where, ".views", "zarr")
                forget(store), forget(source)
                # Each is second as often as first: whoever comes second finds the disk busier.
                took = {path: 0, store: 0}
                for which in sorted(took, reverse=turn % 2):
                    took[which] = seconds(read, which)
                disks.append(took[path] / took[store])
            with bench.mount(source) as where:
                path = os.path.join(where, ".views", "zarr")
                for file in (source, *files(store)):
                    warm(file)
                for ratios in (firsts, agains):
                    direct = seconds(read, store)
                    ratios.append(seconds(read, path) / direct)
        for kind, ratios in (("from the disk", disks), ("container cached, first", firsts), ("again", agains)):
            lines.append((f"{bench.mib} MiB array by {name} from the zarr view, {kind}",
                          f"{median(ratios):.2f}x a store on disk"))
    return lines
