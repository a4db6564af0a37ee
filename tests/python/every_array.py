"""Arrays of every element type, shape and order, written by every verb that writes arrays, compared with numpy.

Usage: every_array.py RAB DIRECTORY VERB [MOUNT], where VERB is one of the functions below.
"""

import io
import itertools
import json
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

NUMBERS = "? i1 u1 <i2 >i2 <u2 >u2 <i4 >i4 <u4 >u4 <i8 >i8 <u8 >u8 <f2 >f2 <f4 >f4 <f8 >f8 <c8 >c8 <c16 >c16".split()
LONG = ["<f16", "<c32"]
TEXTS = "S1 S2 S3 S4 S5 S8 S12 S16 S17 S20 S24 S31 S32 S33 S48 <U1 <U2 >U3 <U4 <U8 >U12".split()
VOIDS = "V1 V2 V3 V5 V8 V12 V16 V20 V32 V100".split()
TIMES = ["<M8[s]", ">M8[ns]", "<m8[25ms]", ">m8[D]"]
PACKED = [
    [("a", "<i4"), ("b", ">f8")],
    [("a", "u1"), ("b", [("c", "<f2"), ("d", ">u4")]), ("e", "S3")],
    [("a", "<f4", (2, 3)), ("b", ">i2")],
]
PADDED = [
    np.dtype([("a", "u1"), ("b", "<f8")], align=True),
    {"names": ["a", "b"], "formats": ["<i2", ">f4"], "offsets": [3, 8], "itemsize": 19},
]
EVERY = [*map(np.dtype, NUMBERS + LONG + TEXTS + VOIDS + TIMES + PACKED), *map(np.dtype, PADDED)]
SHAPES = [(), (7,), (0, 3), (1, 5), (3, 1, 4), (4, 3, 2)]
# Larger than a piece of anything that copies in pieces.
LARGE = ["i1", ">f4", "S5", "U8"]

random = np.random.default_rng(1)


def fill(a):
    """Random elements, each a valid one."""
    if a.dtype.names:
        for name in a.dtype.names:
            fill(a[name])
    elif a.dtype.kind == "U":
        letters = np.array(list("abcdéöж漢🙂"))
        count = a.dtype.itemsize // 4
        texts = ["".join(random.choice(letters, count)) for _ in range(a.size)]
        a[...] = np.array(texts, a.dtype).reshape(a.shape)
    elif a.dtype.kind == "b":
        a[...] = random.integers(0, 2, a.shape)
    else:
        raw = random.integers(0, 256, a.size * a.dtype.itemsize, np.uint8)
        a[...] = raw.view(a.dtype).reshape(a.shape)


def arrays():
    made = {}
    for number, dtype in enumerate(EVERY):
        shapes = SHAPES + ([(130, 3, 170)] if dtype in map(np.dtype, LARGE) else [])
        for shape, order in itertools.product(shapes, "CF"):
            a = np.zeros(shape, dtype, order)
            if order == "C" or not a.flags.c_contiguous:
                fill(a)
                made[f"t{number:02}-{'x'.join(map(str, shape))}{order}"] = a
    return made


def layout(a):
    return "C" if a.flags.c_contiguous else "F"


def parts(a):
    """The bytes of all fields in C order, without what lies between them."""
    if a.dtype.names:
        return b"".join(parts(a[name]) for name in a.dtype.names)
    return a.tobytes()


def same(name, got, want, order=None):
    assert (got.dtype, got.shape) == (want.dtype, want.shape), (name, got.dtype, want.dtype, got.shape)
    assert parts(got) == parts(want), f"{name}: wrong elements, of {want.dtype}"
    if order and want.ndim > 1 and not (want.flags.c_contiguous and want.flags.f_contiguous):
        assert layout(got) == order, (name, order)


def run(*words):
    return subprocess.run([RAB, *words], capture_output=True, text=True)


def good(*words):
    done = run(*words)
    assert done.returncode == 0, (words, done.returncode, done.stderr)
    return done.stdout


def refused(problem, *words):
    done = run(*words)
    assert done.returncode == 1 and problem in done.stderr, (words, done.returncode, done.stderr)


def only_c(out, files):
    done = run("pack", "-f", out, "--order", "F", *files)
    assert done.returncode == 2 and "stores arrays in C order only" in done.stderr, done
    good("pack", "-f", out, "--order", "C", *files)


def all_of(jobs):
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda job: job(), jobs):
            pass


def is_number(a):
    return a.dtype in map(np.dtype, NUMBERS)


def same_npz(path, order):
    with np.load(path) as found:
        names = {name.rsplit("/")[-1]: name for name in found.files}
        assert set(names) == set(ALL), set(names) ^ set(ALL)
        for name, want in ALL.items():
            same(name, found[names[name]], want, layout(want) if order == "-" else order)


def same_rab(path, order):
    raw = open(path, "rb").read()
    infos = [json.loads(line) for line in good("info", "--json", path, "t*").splitlines()]
    assert {info["name"] for info in infos} == set(ALL)
    for info in infos:
        name, want = info["name"], ALL[info["name"]]
        data = raw[info["offset"]:info["offset"] + info["stored"]]
        has = layout(want) if order == "-" or min(want.strides, default=0) < 0 else order
        if is_number(want):
            assert info["type"] == want.dtype.name, info
            got = np.frombuffer(data, info["dtype"]).reshape(want.shape, order=info["order"])
            same(name, got, want, has)
        else:
            # RAB has no such type: it becomes bytes.
            assert info["type"] == "bytes", info
            got = np.frombuffer(data, want.dtype).reshape(want.shape, order=has)
            same(name, got, want)


def same_ra(path, name, want):
    raw = open(path, "rb").read()
    assert raw[:8] == b"rawarray"
    flags, kind, size, length, ndim, *dims = map(int, np.frombuffer(raw[8:48 + 8 * want.ndim], "<u8"))
    assert (flags, size, length, dims) == (0, want.dtype.itemsize, want.nbytes, list(want.shape[::-1])), name
    assert kind == (" iufc".find(want.dtype.kind) if is_number(want) and want.dtype != bool else 2 * (want.dtype == bool)), (name, kind)
    stored = want.dtype.newbyteorder("<") if is_number(want) else want.dtype
    same(name, np.frombuffer(raw[48 + 8 * ndim:], stored).reshape(want.shape), want.astype(stored))


def same_awkd(path, names):
    with zipfile.ZipFile(path) as members:
        for name in names:
            [blob] = [member for member in members.namelist() if member.startswith(name + "-") and member.endswith(".raw")]
            want = ALL[name]
            got = np.frombuffer(members.read(blob), want.dtype).reshape(want.shape)
            same(name, got, want)


def same_safetensors(path, names):
    from safetensors.numpy import load_file

    found = load_file(path)
    assert set(found) == set(names)
    for name in names:
        same(name, found[name], ALL[name].astype(ALL[name].dtype.newbyteorder("<")))


def awkd_refuses(dtype):
    """What its schemas cannot say."""
    return dtype in EVERY[-len(PADDED):] or dtype in map(np.dtype, LONG)


def of_type(number):
    return [name for name in ALL if name.startswith(f"t{number:02}-")]


def pack_npz():
    for order in "-CF":
        out = f"{WORK}/{order}.npz"
        good("pack", out, SAVED, *(["--order", order] if order != "-" else []))
        same_npz(out, order)


def pack_rab():
    for order in "-CF":
        out = f"{WORK}/{order}.rab"
        good("pack", out, SAVED, *(["--order", order] if order != "-" else []))
        same_rab(out, order)
    # What is added to one that is there.
    for order in "-CF":
        out, note = f"{WORK}/added{order}.rab", f"{WORK}/note"
        open(note, "w").close()
        good("pack", out, note)
        good("add", out, SAVED, *(["--order", order] if order != "-" else []))
        same_rab(out, order)


def pack_ra():
    def one(name):
        out = f"{WORK}/{name}.ra"
        good("pack", out, f"{SAVED}/{name}.npy")
        same_ra(out, name, ALL[name])
        good("convert", "-f", f"{WORK}/all.npz", out, name)
        same_ra(out, name, ALL[name])
    few = [name for name in ALL if name.split("-")[1] in ("C", "4x3x2C", "4x3x2F", "0x3C", "3x1x4F", "130x3x170F")]
    all_of([lambda name=name: one(name) for name in few])


def pack_awkd():
    def one(number):
        names, out = of_type(number), f"{WORK}/{number}.awkd"
        files = [f"{SAVED}/{name}.npy" for name in names]
        back = f"{WORK}/back{number}.npz"
        for words in ("pack", "-f", out, *files), ("convert", "-f", f"{WORK}/all.npz", out, *names):
            if awkd_refuses(EVERY[number]):
                refused("type" if EVERY[number].names is None else "gaps", *words)
                continue
            good(*words)
            same_awkd(out, names)
            only_c(out, files)
            same_awkd(out, names)
            good("convert", "-f", out, back)
            with np.load(back) as found:
                for name in names:
                    # Without axes it has one element there.
                    want = ALL[name].reshape(ALL[name].shape or (1,))
                    same(name, found[f"{name}/data"], want)
    all_of([lambda number=number: one(number) for number in range(len(EVERY))])


def pack_safetensors():
    def one(number):
        names, out = of_type(number), f"{WORK}/{number}.safetensors"
        files = [f"{SAVED}/{name}.npy" for name in names]
        for words in ("pack", "-f", out, *files), ("convert", "-f", f"{WORK}/all.npz", out, *names):
            if not is_number(ALL[names[0]]) or EVERY[number].itemsize == 16:
                refused("safetensors has no type", *words)
                continue
            good(*words)
            same_safetensors(out, names)
            only_c(out, files)
            same_safetensors(out, names)
    all_of([lambda number=number: one(number) for number in range(len(EVERY))])


def convert():
    all_npz = f"{WORK}/all.npz"
    good("convert", all_npz, f"{WORK}/a.rab")
    same_rab(f"{WORK}/a.rab", "-")
    good("convert", all_npz, f"{WORK}/a.npz")
    same_npz(f"{WORK}/a.npz", "-")
    good("convert", f"{WORK}/a.rab", f"{WORK}/b.npz")
    with np.load(f"{WORK}/b.npz") as found:
        for name, want in ALL.items():
            if is_number(want):
                same(name, found[name], want, layout(want))

    def one(name):
        out = f"{WORK}/{name}.out.npy"
        good("convert", all_npz, out, name)
        same(name, np.load(out), ALL[name], layout(ALL[name]))
        got = subprocess.run([RAB, "get", all_npz, name, "--as", "npy"], capture_output=True, check=True).stdout
        same(name, np.load(io.BytesIO(got)), ALL[name])
    all_of([lambda name=name: one(name) for name in ALL if "4x3x2" in name or "130" in name])


def unpack():
    all_npz = f"{WORK}/all.npz"
    good("unpack", all_npz, f"{WORK}/out")
    for order in "-CF":
        out = f"{WORK}/again{order}.npz"
        good("pack", out, f"{WORK}/out", *(["--order", order] if order != "-" else []))
        same_npz(out, order)
    same_npy(all_npz)
    good("pack", f"{WORK}/all.rab", SAVED)
    same_npy(f"{WORK}/all.rab")


def same_npy(path):
    out = f"{path}.views"
    good("unpack", "--as", "npy", "--no-meta", path, out)
    compared = 0
    for name, want in ALL.items():
        if is_number(want) or path.endswith(".npz"):
            same(name, np.load(f"{out}/{name}.npy"), want)
            compared += 1
    assert compared > 200


def save():
    """For a mount of all.npz."""


def mounted():
    for name, want in ALL.items():
        same(name, np.load(f"{sys.argv[4]}/.views/npy/{name}.npy"), want)
        memory = np.fromfile(f"{sys.argv[4]}/{name}", want.dtype)
        same(name, memory.reshape(want.shape, order=layout(want)), want)


RAB, WORK, VERB = sys.argv[1:4]
ALL = arrays()
SAVED = f"{WORK}/saved"
if not os.path.exists(SAVED):
    os.mkdir(SAVED)
    for name, a in ALL.items():
        np.save(f"{SAVED}/{name}.npy", a)
    np.savez(f"{WORK}/all.npz", **ALL)
globals()[VERB]()
print(len(ALL))
