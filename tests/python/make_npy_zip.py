"""Writes the samples of tests/data/npy with numpy and those of tests/data/zip with zipfile and zarr.

Usage: make_npy_zip.py DIRECTORY
"""

import os
import sys
import zipfile

import numpy as np
import zarr

folder = sys.argv[1]
os.makedirs(f"{folder}/npy", exist_ok=True)
os.makedirs(f"{folder}/zip", exist_ok=True)

for name, array in {
    "big_f": np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4)),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 3), "f4"),
    "text": np.array(["é", "abc"]),
    "structure": np.array([(1, 2.5), (3, 4.5)], [("a", "<i2"), ("b", ">f8")]),
    "objects": np.array([{"a": 1}, None], object),
}.items():
    np.save(f"{folder}/npy/{name}.npy", array)

with zipfile.ZipFile(f"{folder}/zip/plain.zip", "w") as file:
    text = "".join(f"line {number}\n" for number in range(3000))
    stamp = lambda name: zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    file.writestr(stamp("stored.txt"), text[:500])
    file.writestr(stamp("d/deflated.txt"), text, zipfile.ZIP_DEFLATED)
    file.writestr(stamp("d/é %/x"), b"\0\1\2")
    file.writestr(stamp("../up"), b"up")
    file.writestr(stamp("none/"), b"")
    file.writestr(stamp("empty"), b"")
    file.writestr(stamp("bzip2"), text, zipfile.ZIP_BZIP2)

for form in (2, 3):
    path = f"{folder}/zip/form{form}.zarr.zip" if form == 2 else f"{folder}/zip/form3.ozx"
    if os.path.exists(path):
        os.remove(path)
    store = zarr.storage.ZipStore(path, mode="w")
    group = zarr.create_group(store, zarr_format=form, attributes={"form": form})
    array = group.create_array("a/b", shape=(10, 6), chunks=(4, 6), dtype="i4")
    array[:] = np.arange(60).reshape(10, 6)
    store.close()
