"""Writes .npy files of every type, byte order, layout and version into a directory, and what they hold as JSON.

    make_arrays.py DIR

Prints {name: [type string, shape, order of the bytes, elements in C order as hex]}.
"""
import json
import os
import sys

import numpy as np

folder, said = sys.argv[1], {}
rng = np.random.default_rng(5)


def save(name, a, version=None):
    with open(os.path.join(folder, name + ".npy"), "wb") as f:
        np.lib.format.write_array(f, a, version=version)
    order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    said[name] = [a.dtype.str, list(a.shape), order, a.tobytes().hex()]


for kind in "?bBhHiIqQefdFD":
    raw = rng.integers(0, 2 if kind == "?" else 256, 24 * np.dtype(kind).itemsize, dtype="u1")
    a = raw.view(kind).reshape(2, 3, 4)
    save(f"{kind}-c", a)
    save(f"{kind}-f", np.asfortranarray(a))
    save(f"{kind}-big", a.astype(a.dtype.newbyteorder(">")))
save("scalar", np.array(1.5))
save("empty", np.zeros((0, 3), "<i2"))
save("line", np.arange(5))
save("strided", np.arange(60).reshape(6, 10)[::2, 1:7])
save("version 2", np.arange(6).reshape(2, 3), (2, 0))
save("version 3", np.arange(6).reshape(2, 3), (3, 0))
save("wide", rng.integers(0, 1 << 30, (3, 700, 1100), dtype="<u4").transpose(1, 2, 0).copy())
save("wide-f", np.asfortranarray(rng.standard_normal((5, 1, 130, 3000))))
print(json.dumps(said))
