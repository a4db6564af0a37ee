"""Compares what Zarr's programs see of containers with the containers' own bytes and sidecars.

zarr_stores.py make DIR                       containers with arrays that are cut into chunks, and with odd names
zarr_stores.py view MOUNT                     the store below .views/zarr of a mount
zarr_stores.py listed MOUNT PLAIN             a mount with --as zarr, which is a store itself, and one without
zarr_stores.py refs REFS RAW                  references, and the same unpacked by `rab unpack --meta`
zarr_stores.py http RAB SOURCE RAW            references of SOURCE, read over HTTP from its directory

Knows no format: a dataset whose sidecar says `numpy` must be an array of that type and shape with just those bytes.
Prints how many arrays there were. With zarr 2 instead of 3 in PYTHONPATH what needs 3 (references, xarray) is left out.
"""
import gzip
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import warnings

import numpy as np
import yaml
import zarr

from rab_oracle import Writer

IS_NEW = int(zarr.__version__.split(".")[0]) >= 3
RESERVED = (".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json")


# ---------------------------------------------------------------- what there must be

def described(path):
    try:
        with open(path + ".meta.yaml", encoding="utf-8") as file:
            side = yaml.safe_load(file)
    except (OSError, yaml.YAMLError):
        return None, None
    if not isinstance(side, dict) or not side.get("numpy"):
        return None, None
    return side["numpy"], side.get("metadata")


def key(name):
    """What a file name is called in a store."""
    return name.replace(".", "%2E") if name in RESERVED else name.replace("\\", "%5C")


def wanted(root):
    """Path in the store -> (path of the bytes, numpy's description, metadata)."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            numpy, metadata = described(path)
            if numpy:
                parts = os.path.relpath(path, root).split(os.sep)
                found["/".join(map(key, parts))] = (path, numpy, metadata)
    return found


def check_array(array, path, numpy, metadata, name):
    dtype = numpy["dtype"]
    dtype = np.dtype(eval(dtype) if dtype.startswith("[") else dtype)
    want = np.fromfile(path, dtype).reshape(numpy["shape"], order=numpy["order"])
    assert tuple(array.shape) == tuple(numpy["shape"]), (name, array.shape)
    got = np.asarray(array[...])
    is_date = dtype.kind in "mM" and np.datetime_data(dtype)[0] != "generic"
    assert got.dtype == dtype or got.dtype.kind == "V" and not is_date, (name, got.dtype, dtype)
    assert got.tobytes() == want.tobytes(), name
    if array.ndim and array.shape[0] > 3:
        assert np.asarray(array[-3:-1]).tobytes() == want[-3:-1].tobytes(), name
    dims = array.attrs["_ARRAY_DIMENSIONS"]
    assert len(dims) == len(set(dims)) == len(array.shape), (name, dims)
    for word, value in (metadata if isinstance(metadata, dict) else {}).items():
        if isinstance(value, (str, int)) and isinstance(word, str) and word != "_ARRAY_DIMENSIONS":
            assert array.attrs[word] == value, (name, word)


def compare(group, want):
    """All arrays of a group: those and no others."""
    found = dict(arrays(group))
    assert found.keys() == want.keys(), found.keys() ^ want.keys()
    for name, array in found.items():
        check_array(array, *want[name], name)
    return len(found)


def arrays(group, path=""):
    for name in group.keys():
        member = group[name]
        if hasattr(member, "shape"):
            yield path + name, member
        else:
            yield from arrays(member, f"{path}{name}/")


# ---------------------------------------------------------------- mounts

def sizes(root):
    """Every file is as long as it is said to be."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            size = os.stat(path).st_size
            with open(path, "rb") as file:
                assert len(file.read()) == size, path


def same_names(root):
    """Listed names are the only ones."""
    for folder, directories, names in os.walk(root):
        for name in directories + names:
            assert os.path.lexists(os.path.join(folder, name)), name
            assert not os.path.lexists(os.path.join(folder, name + "~2")), name
            assert "\\" not in name


def store(path, want):
    """A directory that is a store: opened as it is and, where it is a container, by its consolidated metadata."""
    with_all = zarr.open_group(path, mode="r", **({"use_consolidated": False} if IS_NEW else {}))
    count = compare(with_all, want)
    for folder, directories, names in os.walk(path):
        if ".zmetadata" not in names:
            continue
        below = os.path.relpath(folder, path)
        prefix = "" if below == "." else below + "/"
        own = {name[len(prefix):]: about for name, about in want.items() if name.startswith(prefix)}
        # zarr 2 takes a directory that is called .zip for a file.
        opened = zarr.open_consolidated(folder if IS_NEW else zarr.DirectoryStore(folder))
        assert compare(opened, own) == len(own)
        if IS_NEW:
            xarray_opens(folder, own)
    return count


def xarray_opens(folder, want, **options):
    import xarray
    with xarray.open_zarr(folder, **options) as dataset:
        top = {name: about for name, about in want.items() if "/" not in name}
        assert set(dataset.variables) == set(top), set(dataset.variables) ^ set(top)
        for name, (path, numpy, _) in top.items():
            dtype = numpy["dtype"]
            dtype = np.dtype(eval(dtype) if dtype.startswith("[") else dtype)
            array = np.fromfile(path, dtype).reshape(numpy["shape"], order=numpy["order"])
            got = dataset[name].values
            got = got if got.dtype.kind == "V" and not got.dtype.names else got.astype(array.dtype)
            assert got.tobytes() == array.tobytes(), name


def view(mount):
    path = os.path.join(mount, ".views", "zarr")
    sizes(path)
    same_names(path)
    # Some types are known to numpy and described nowhere else, so that no view has them.
    npy = os.path.join(mount, ".views", "npy")
    is_array = lambda raw: os.path.exists(os.path.join(npy, os.path.relpath(raw, mount)) + ".npy")
    return store(path, {name: about for name, about in wanted(mount).items() if is_array(about[0])})


def listed(mount, plain):
    names = os.listdir(mount)
    assert ".zgroup" in names and ".zmetadata" in names, names
    return compare(zarr.open_consolidated(mount), wanted(plain))


# ---------------------------------------------------------------- references

def referred(refs, raw, **options):
    with open(refs, encoding="utf-8") as file:
        keys = json.load(file)["refs"]
    want = wanted(raw)
    there = {name[:-len("/.zarray")] for name in keys if name.endswith("/.zarray")}
    assert there <= want.keys(), there - want.keys()
    want = {name: want[name] for name in there}
    options = {"storage_options": {"fo": refs, **options}}
    group = zarr.open_consolidated("reference://", zarr_format=2, **options)
    assert compare(group, want) == len(there)
    xarray_opens("reference://", want, **options)
    return len(there)


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Files by ranges, as every storage on the web has them."""

    def do_GET(self):
        path = self.translate_path(self.path)
        wanted = self.headers.get("Range")
        if not wanted or not os.path.isfile(path):
            return super().do_GET()
        first, last = wanted.removeprefix("bytes=").split("-")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            last = min(int(last or size), size - 1)
            file.seek(int(first))
            body = file.read(last - int(first) + 1)
        self.send_response(206)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def over_http(rab, source, raw):
    folder = os.path.dirname(os.path.abspath(source))
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *arguments: Ranges(*arguments, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/" + urllib.parse.quote(os.path.basename(source))
    with tempfile.NamedTemporaryFile(suffix=".json") as refs:
        subprocess.run([rab, "refs", source, "--url", url], check=True, stdout=refs)
        refs.flush()
        count = referred(refs.name, raw, remote_protocol="http", remote_options={"asynchronous": True})
    server.shutdown()
    return count


# ---------------------------------------------------------------- containers

def make(folder):
    rng = np.random.default_rng(9)
    large = Writer()
    for name, shape, dtype, order in (
        ("rows", (2200, 1000), "<i4", "C"),
        ("prime", (1_048_583, 2), "<f4", "C"),
        ("fortran", (101, 103, 211), "<f4", "F"),
        ("planes", (3, 1_500_007), "<i2", "C"),
        ("deep", (2, 3, 700_003), ">u2", "F"),
        ("dir/tail", (10_000_019,), "|u1", "C"),
    ):
        array = rng.integers(0, 100, shape).astype(dtype)
        large.array(name, np.asarray(array, order=order), {"unit": "mV", "name": name}, order=order)
    zipped = rng.integers(0, 4, (3001, 1000)).astype("<i4")
    large.array("zipped", zipped, compress="gzip")
    large.array("members", zipped[:2000], compress="gzip", packer=lambda blob: gzip.compress(blob[:999]) + gzip.compress(blob[999:], 1))
    # The last one, whose last chunk reaches beyond the end of the file.
    large.array("last", rng.integers(0, 100, 9_000_011).astype("|u1"))
    large.write(os.path.join(folder, "large.rab"))

    odd = Writer()
    for number, name in enumerate((
        "plain", "dir/in", "dir/sub/in", r"back\slash", r"d\ir/x", "é 漢/ü", "100%", ".zarray", ".zattrs", ".zgroup",
        ".zmetadata", "zarr.json", "dir/.zgroup", "dir/.zmetadata", ".zarray2", "0.0", "dir/0.0", "", "a\nb", "a//b",
        "..", "x" * 300, '"quoted"', "#?&=", "{{u}}", "dim_3", ".views", "~2",
    )):
        odd.array(name, np.arange(number, number + 3, dtype="<i4"))
    odd.write(os.path.join(folder, "odd.rab"))

    small = Writer()
    a = np.arange(24, dtype="<i4").reshape(4, 6)
    small.array("zlib", a, compress="gzip")
    small.array("gzip", a, compress="gzip", packer=gzip.compress)
    small.array("gzip twice", a, compress="gzip", packer=lambda blob: gzip.compress(blob[:7]) + gzip.compress(blob[7:]))
    small.array("fortran zlib", np.asfortranarray(a), compress="gzip", order="F")
    small.array("named axes", a, {"_ARRAY_DIMENSIONS": ["t", "x"], "list": [1, None, {"a": 2.5}], "nan": float("nan")})
    small.array("metadata is a list", a, [1, 2])
    small.array("square", np.arange(9.0).reshape(3, 3))
    small.write(os.path.join(folder, "small.rab"))
    np.savez(os.path.join(folder, "stored.npz"), a=a, big=rng.normal(size=(1200, 1000)), flags=a % 2 == 0, half=a.astype("f2"), z=np.array(1j), none=np.zeros((0, 3)))
    np.savez_compressed(os.path.join(folder, "deflated.npz"), a=a, big=zipped)
    dates, deep = a.astype("M8[s]"), np.dtype([("x", [("y", "<i2")]), ("z", "<f4", (2, 2))])
    np.savez(os.path.join(folder, "types.npz"), dates=dates, big=dates.astype(">M8[D]"), spans=a.astype("m8[25us]"),
             units=a.astype("m8"), deep=np.resize(np.array([((1,), 2)], deep), (4, 3)), long=a.astype("longdouble"))
    return 0


def main():
    warnings.simplefilter("ignore")
    what, *arguments = sys.argv[1:]
    modes = {"make": make, "view": view, "listed": listed, "refs": referred, "http": over_http}
    print(modes[what](*arguments))


main()
