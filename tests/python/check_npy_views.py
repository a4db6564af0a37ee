"""Opens every NPY view of a mount with numpy and compares it with the dataset's own bytes and its sidecar.

usage: check_npy_views.py MOUNTPOINT [MINIMUM]; prints how many there were. Knows no format: a dataset whose
sidecar says `numpy` must have a view of that type, shape and order with just those bytes.
"""

import os
import sys

import numpy as np
import yaml


def described(path):
    try:
        with open(path + ".meta.yaml", encoding="utf-8") as file:
            side = yaml.safe_load(file)
    except (OSError, yaml.YAMLError):
        return None
    return side.get("numpy") if isinstance(side, dict) else None


def check(raw, view):
    mode = "r" if os.path.getsize(view) > 128 else None
    array = np.load(view, mmap_mode=mode)
    with open(view, "rb") as file:
        header = file.read(os.path.getsize(view) - array.nbytes)
        rest = file.read()
    assert len(header) % 64 == 0 and header.endswith(b"\n"), (view, len(header))
    assert len(rest) == array.nbytes, view
    if array.dtype.names is None or described(raw):
        with open(raw, "rb") as file:
            assert file.read() == rest, view
    else:
        rows(raw, array)
    about = described(raw)
    if about:
        dtype, shape, order = about["dtype"], tuple(about["shape"]), about["order"]
        dtype = eval(dtype) if dtype.startswith("[") else dtype
        assert array.dtype == np.dtype(dtype), (view, array.dtype, dtype)
        assert array.shape == shape, (view, array.shape, shape)
        if array.ndim > 1 and array.size > 1:
            assert array.flags["F_CONTIGUOUS" if order == "F" else "C_CONTIGUOUS"], view
    if mode:
        np.array_equal(array, np.load(view))


def rows(raw, array):
    """A table: its columns lie one after the other in the dataset."""
    at = 0
    for name in array.dtype.names:
        of = array.dtype[name]
        if of.itemsize:
            column = np.fromfile(raw, of, count=len(array), offset=at)
            assert array[name].tobytes() == column.tobytes(), (raw, name)
        at += of.itemsize * len(array)
    assert at == os.path.getsize(raw), raw


def main():
    root = sys.argv[1]
    views = os.path.join(root, ".views", "npy")
    count = 0
    for folder, _, names in os.walk(views):
        for name in names:
            assert name.endswith(".npy"), name
            view = os.path.join(folder, name)
            check(os.path.join(root, os.path.relpath(view, views))[:-4], view)
            count += 1
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".meta.yaml") and described(path):
                assert os.path.exists(os.path.join(views, os.path.relpath(path, root)) + ".npy"), path
    print(count)


main()
