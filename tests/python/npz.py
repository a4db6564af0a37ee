"""NPZ archives of every kind as numpy and zipfile write them, and what a mount of one has to show.

npz.py make DIR            writes the archives
npz.py check MOUNT FILE    compares a mount with what numpy reads
npz.py xattrs MOUNT FILE   compares what the attributes say of some arrays with it
"""

import ast
import errno
import io
import os
import sys
import zipfile

import numpy as np
import yaml


def arrays():
    rng = np.random.default_rng(5)
    nested = np.dtype([("x", "<f4"), ('q"\'é', [("a", "u1", (2,)), ("b", "<U2")], (3, 2)), ("z", ">i2")])
    found = {
        "grid": np.arange(24, dtype="<i4").reshape(2, 3, 4),
        "fortran": np.asfortranarray(rng.normal(size=(30, 50))),
        "big endian": np.arange(100, dtype=">u2"),
        "scalar": np.array(7.5),
        "none": np.zeros((0, 3)),
        "large": np.cumsum(rng.normal(size=400_000)).round(2),
        "dir/inner": np.arange(5),
        "dir/é漢": np.arange(6),
        "unicode": np.array(["abc", "é漢", ""]),
        "bytes": np.array([b"abc", b"x"]),
        "dates": np.array(["2020-01-02", "NaT"], dtype="datetime64[ns]"),
        "spans": np.array([1, -5], dtype="timedelta64[25us]"),
        "dates big": np.array([["2020-01-02", "NaT", "1999-12-31"]] * 2, dtype=">M8[s]"),
        "dates fortran": np.asfortranarray(np.arange(600).reshape(20, 30).astype("M8[D]")),
        "spans fortran": np.asfortranarray(np.arange(6).reshape(2, 3).astype(">m8[ms]")),
        "longdouble big": np.arange(5).astype("longdouble").astype(np.dtype("longdouble").newbyteorder(">")),
        "structure": np.frombuffer(rng.bytes(7 * nested.itemsize), dtype="u1").reshape(7, -1),
        "gaps": np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["u1", "<i4"], "offsets": [0, 4]})),
        "void": np.frombuffer(rng.bytes(21), dtype="V7"),
        "objects": np.array([{"a": 1}, None], dtype=object),
        "mixed": np.array([(1, "x")], dtype=[("n", "i4"), ("o", object)]),
    }
    structure = np.zeros(7, nested)
    structure["x"], structure['q"\'é']["b"], structure["z"] = 1.5, "é", -3
    found["structure"] = structure
    found["structure fortran"] = np.asfortranarray(np.resize(structure, (3, 4)))
    found["dates of structures"] = np.array([("2020", 5), ("NaT", 7)], [("when", ">M8[us]"), ("what", "<i8")])
    for name in "bool int8 int64 uint8 uint64 float16 float32 complex64 complex128 longdouble clongdouble".split():
        found[name] = np.arange(-3, 9).reshape(3, 4).astype(name)
    return found


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


class Pipe(io.RawIOBase):
    """What cannot seek, so that zipfile writes data descriptors."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def odd(path, mode="w", to=None, **keywords):
    method = keywords.pop("compression", zipfile.ZIP_DEFLATED)
    members = {
        "v1.npy": npy(np.arange(1000), (1, 0)),
        "v2.npy": npy(np.arange(1001.0), (2, 0)),
        "v3.npy": npy(np.zeros(3, [("é", "<f4")]), (3, 0)),
        "long.npy": npy(np.zeros(2, [(f"field number {n}", "<f4") for n in range(3000)])),
        "notes.txt": "é plain\n".encode() * 50,
        "empty.txt": b"",
        "sub/": b"",
        "sub/x.npy": npy(np.arange(50_000)[::-1]),
    }
    with zipfile.ZipFile(to or path, mode, method) as file:
        for name, data in members.items():
            file.writestr(name, data)
        file.comment = keywords.pop("comment", b"")


def make(folder):
    os.chdir(folder)
    np.savez("stored.npz", **arrays())
    np.savez_compressed("deflated.npz", **arrays())
    np.savez("nothing.npz")
    odd("odd.npz", comment=b"a comment " * 100)
    odd("odd_stored.npz", compression=zipfile.ZIP_STORED)
    odd("descriptors.npz", to=Pipe("descriptors.npz"))
    odd("descriptors_stored.npz", to=Pipe("descriptors_stored.npz"), compression=zipfile.ZIP_STORED)
    with open("prefix.npz", "wb") as file:
        file.write(b"#!/bin/sh\nexit 1\n" * 20)
    odd("prefix.npz", mode="a")
    with open("shifted.npz", "wb") as file:
        file.write(b"#!/bin/sh\nexit 1\n" * 20 + open("odd.npz", "rb").read())
    os.rename(os.path.join(folder, "odd_stored.npz"), "no_extension")
    with zipfile.ZipFile("other.npz", "w") as file:
        data = npy(np.arange(1000))
        file.writestr("bzip2.npy", data, zipfile.ZIP_BZIP2)
        file.writestr("lzma.npy", data, zipfile.ZIP_LZMA)
        file.writestr("good.npy", data)
        file.writestr("secret.npy", data)
    raw = bytearray(open("other.npz", "rb").read())
    for at in (raw.find(b"secret.npy") - 30 + 6, raw.rfind(b"secret.npy") - 46 + 8):
        raw[at] |= 1
    open("other.npz", "wb").write(raw)
    with zipfile.ZipFile("twice.npz", "w") as file:
        for n in range(3):
            sys.modules["warnings"].simplefilter("ignore")
            file.writestr("same.npy", npy(np.arange(n + 1, dtype="u1")))
    with zipfile.ZipFile("many.npz", "w") as file:
        data = npy(np.arange(4, dtype="u1"))
        for n in range(66_000):
            file.writestr(f"{n:05}.npy", data)


def dtype(text):
    literal = ast.literal_eval(text) if text.startswith("[") else text
    return np.lib.format.descr_to_dtype(literal)


def refused(path):
    try:
        open(path, "rb").read()
    except OSError as error:
        return error.errno
    raise AssertionError(path)


def check_array(path, array):
    side = yaml.safe_load(open(path + ".meta.yaml", encoding="utf-8"))
    size = os.stat(path).st_size
    assert os.stat(path + ".meta.yaml").st_size == len(open(path + ".meta.yaml", "rb").read()), path
    if array.dtype.hasobject:
        assert "pickle" in side["problem"] and "numpy" not in side, side
        assert refused(path) == errno.EOPNOTSUPP
        return
    told = side["numpy"]
    assert size == array.nbytes, (path, size, array.nbytes)
    assert told["shape"] == list(array.shape), (path, told)
    raw = open(path, "rb").read()
    assert raw == array.tobytes("A"), path
    # numpy itself gives gaps in structures names of their own.
    if array.dtype.names is None or "" not in [field[0] for field in array.dtype.descr]:
        assert dtype(told["dtype"]) == array.dtype, (path, told, array.dtype)
    again = np.frombuffer(raw, dtype(told["dtype"])).reshape(told["shape"], order=told["order"])
    line = open(path + ".meta.yaml", encoding="utf-8").read().splitlines()[-1]
    assert line.startswith("# np."), line
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    pasted = eval(line[2:], {"np": np})
    os.chdir(here)
    assert pasted.shape == array.shape and pasted.dtype.itemsize == array.dtype.itemsize
    for found in (again, pasted):
        assert found.tobytes() == array.tobytes(), path


def check_view(path, array):
    """What numpy opens of it is just the same."""
    if array.dtype.hasobject:
        assert not os.path.exists(path), path
        return
    found = np.load(path, max_header_size=1 << 20)
    assert (found.dtype, found.shape) == (array.dtype, array.shape), (path, found.dtype, array.dtype)
    assert found.tobytes() == array.tobytes(), path
    assert found.flags.f_contiguous == array.flags.f_contiguous, path


def xattrs(mount, path):
    """Of a mount with --xattr."""
    with np.load(path, allow_pickle=True) as archive:
        for name in ["dates", "dates big", "spans fortran", "longdouble", "structure", "structure fortran"]:
            file = os.path.join(mount, name)
            told = {key: os.getxattr(file, f"user.{key}").decode() for key in ("dtype", "shape", "order")}
            assert dtype(told["dtype"]) == archive[name].dtype, (name, told)
            assert told["shape"] == str(list(archive[name].shape)), (name, told)
            assert told["order"] == ("F" if name.endswith("fortran") else "C"), (name, told)
        assert "user.dtype" not in os.listxattr(os.path.join(mount, "mixed"))


def check(mount, path):
    count = 0
    # np.load wants the ZIP's first bytes at the start of the file.
    file = open(path, "rb")
    with np.lib.npyio.NpzFile(file, own_fid=True, allow_pickle=True) as archive, zipfile.ZipFile(path) as members:
        for info in members.infolist():
            if info.is_dir():
                continue
            key = info.filename.removesuffix(".npy")
            place = os.path.join(mount, key)
            if info.filename.endswith(".npy"):
                check_array(place, archive[key])
                check_view(os.path.join(mount, ".views", "npy", f"{key}.npy"), archive[key])
            else:
                assert open(place, "rb").read() == members.read(info), place
                assert os.stat(place).st_size == info.file_size
            zipped = yaml.safe_load(open(place + ".meta.yaml", encoding="utf-8"))["zip"]
            assert zipped["member"] == info.filename and zipped["crc32"] == f"{info.CRC:08x}"
            assert (zipped["compressedSize"], zipped["size"]) == (info.compress_size, info.file_size)
            count += 1
    found = sum(len(files) for _, _, files in os.walk(mount))
    assert found == 2 * count, (found, count)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
