"""Compares parts of arrays, NAME[INDEX].npy, with what numpy cuts out of NAME.npy.

usage: check_slices.py MOUNTPOINT COUNT; so many random indexes for each array. Prints how many were compared.
"""

import os
import random
import sys

import numpy as np

rng = random.Random(5)


def index(shape):
    def one(n):
        bound = lambda: rng.choice(["", "", str(rng.randint(-n - 2, n + 2))])
        if n and rng.random() < 0.3:
            return str(rng.randrange(-n, n))
        return f"{bound()}:{bound()}:{rng.choice(['', '1', '2', '-1', '-3', '50'])}"

    items = [one(n) for n in shape][: rng.randint(1, max(len(shape), 1))]
    if rng.random() < 0.3 or not items:
        items.append("...")
    return ", ".join(items)


def main():
    views, count = os.path.join(sys.argv[1], ".views", "npy"), int(sys.argv[2])
    done = 0
    for folder, _, names in os.walk(views):
        for name in names:
            whole = np.load(os.path.join(folder, name))
            for _ in range(count):
                expression = index(whole.shape)
                # A row of a dataframe by itself is no table.
                if whole.dtype.names and ":" not in expression:
                    continue
                # With an ellipsis a single element is an array too, and has all its bytes in their order.
                want = eval(f"whole[{expression}]" if "..." in expression else f"whole[{expression}, ...]")
                path = os.path.join(folder, f"{name[:-4]}[{expression}].npy")
                got = np.load(path)
                assert (got.dtype, got.shape) == (want.dtype, want.shape), (path, got.dtype, got.shape)
                assert got.tobytes() == want.tobytes(), path
                if want.size:
                    assert np.load(path, mmap_mode="r").tobytes() == want.tobytes(), path
                done += 1
    print(done)


main()
