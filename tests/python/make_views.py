"""Makes NPZ archives of arrays of every type, byte order and layout, and of tables: make_views.py PLAIN COMPRESSED."""

import sys

import numpy as np

SHAPES = {"v": 700, "m": (60, 9), "w": (2, 300), "none": (0, 4), "cube": (3, 40, 5)}
FIELDS = [("n", "<i4"), ("big", ">u8"), ("half", "<f2"), ("c", "<c8"), ("yes", "?"), ("s", "S20"), ("u", "<U7"), ("a,b", ">U2")]
RANDOM = np.random.default_rng(2)


def arrays():
    for of in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split():
        for order in "<" if of in "? i1 u1" else "<>":
            dtype = np.dtype(order + of)
            for name, shape in SHAPES.items():
                count = np.prod(shape, dtype=int)
                array = RANDOM.integers(0, 256, (count, dtype.itemsize), dtype=np.uint8).view(dtype)
                if of == "?":
                    array = array.view("u1") % 2 == 1
                name = f"{of}{'le' if order == '<' else 'be'}-{name}"
                yield name, array.reshape(shape)
                if array.reshape(shape).ndim > 1:
                    yield name + "-F", np.asfortranarray(array.reshape(shape))


def texts_and_dates():
    """Arrays of what is no number, of one and two axes, in both layouts and byte orders."""
    words = np.array(["", "a", " b", "c,d", 'e"f', "g\n", "é😀", "#h"])[RANDOM.integers(0, 8, 540)]
    for name, array in ("U", words), ("Ube", words.astype(words.dtype.newbyteorder(">"))), ("S", np.char.encode(words, "utf8")):
        yield f"{name}-v", array
        yield f"{name}-m", array.reshape(60, 9)
        yield f"{name}-F", np.asfortranarray(array.reshape(60, 9))
    yield "U-none", words[:0]
    for unit in "Y M W D h m s ms us ns ps fs as 25s 7D".split():
        for order in "<>":
            numbers = RANDOM.integers(-(2**62), 2**62, 540) >> RANDOM.integers(10, 62, 540)
            numbers[::50] = np.iinfo("i8").min
            array = numbers.astype(order + "i8").view(f"{order}M8[{unit}]")
            where = "le" if order == "<" else "be"
            yield f"M8 {unit}{where}-v", array
            yield f"M8 {unit}{where}-F", np.asfortranarray(array.reshape(60, 9))
            yield f"m8 {unit}{where}-m", array.view(f"{order}m8[{unit}]").reshape(60, 9)


def table():
    rows = np.zeros(999, FIELDS)
    for name in ("n", "big", "half", "c"):
        rows[name] = RANDOM.integers(0, 1000, 999)
    rows["yes"] = RANDOM.integers(0, 2, 999)
    rows["s"] = [('x\n"' * (at % 6) + str(at)).encode() for at in range(999)]
    rows["u"] = [" é, "[at % 4:] + "😀" * (at % 3) for at in range(999)]
    rows["a,b"] = [chr(0x4E00 + at) for at in range(999)]
    return rows


def main():
    rows = table()
    every = dict([*arrays(), *texts_and_dates()], table=rows, numbers=rows[["n", "big", "half"]].copy(), empty=rows[:0])
    np.savez(sys.argv[1], **every)
    some = {name: array for name, array in every.items() if "be-" in name or name == "table"}
    np.savez_compressed(sys.argv[2], **some)


main()
