"""Containers that are small and ask for much: hostile.py DIRECTORY"""
import json
import lzma
import os
import sys
import zipfile
import zlib


def call(*names, args, id=None):
    said = {"call": ["awkward0", *names], "args": args}
    return said if id is None else {**said, "id": id}


def flat(member, dtype, count, id=None, packed=False):
    read = {"read": member}
    if packed:
        read = {"call": ["zlib", "decompress"], "args": [read]}
    return call("numpy", "frombuffer", args=[read, {"dtype": dtype}, {"json": count}], id=id)


def table(*columns, id=None):
    return call("Table", "frompairs", args=[{"pairs": list(columns)}, {"json": 0}], id=id)


def union(tags, contents):
    return call("UnionArray", "fromtags", args=[tags, contents])


def write(name, schema, blobs={}, **more):
    with zipfile.ZipFile(os.path.join(sys.argv[1], name), "w", zipfile.ZIP_DEFLATED) as to:
        for member, data in blobs.items():
            to.writestr(member, data)
        to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema, **more}))


def numbers(value, count):
    return zlib.compress(value.to_bytes(8, "little") * count)


small = {"0.raw": bytes(8)}

shared = flat("0.raw", "int64", 1, 1000)
for id in range(40):
    shared = table(["a", shared], ["b", {"ref": shared["id"]}], id=id)
write("shared.awkd", shared, small)

# As many items as nobody counts, each of which is one of eight.
itself = flat("0.raw", "int8", 8, 1000)
for id in range(40):
    sizes = {"json": [8 << id, 8 << id]}
    itself = call("ChunkedArray", args=[{"list": [itself, {"ref": itself["id"]}]}, sizes], id=id)
write("itself.awkd", itself, small)

write("bomb.awkd", flat("0.raw", "uint8", 10, packed=True), {"0.raw": zlib.compress(bytes(64 << 20))})
write("count.awkd", flat("0.raw", "int64", 2**62), small)

# Paths: long names far down, of very many parts, of links and of members.
deep = union(flat("0.raw", "int8", 8), {"list": [0] * 100_000})
links = union(flat("0.raw", "int8", 8, 1), {"list": [{"ref": 1}] * 100_000})
for level in range(120):
    deep, links = table(["n" * 240, deep]), table(["n" * 240, links])
write("deep.awkd", deep, small)
write("links.awkd", links, small)
write("prefix.awkd", union(flat("0.raw", "int8", 8), {"list": [flat("0.raw", "int8", 8)] * 5000}), prefix="p" * 1_000_000)

# More parts than there may be; and a list that contains itself, again and again.
write("parts.awkd", union(flat("0.raw", "int8", 8), {"list": [0] * 1_000_000}), small)
write("values.awkd", flat("0.raw", "int8", 8), small, metadata=[0] * 5_000_000)
again = union(flat("0.raw", "int8", 8), {"ref": 7})
write("again.awkd", union(flat("0.raw", "int8", 8), {"list": [again] * 50, "id": 7}), small)
pairs = {"pairs": [["x" * 100_000, call("Table", "frompairs", args=[{"ref": 7}])]] * 2, "id": 7}
write("pairs.awkd", call("Table", "frompairs", args=[pairs]), small)
fields = {"dtype": [[f"f{at}", "int8"] for at in range(4000)], "id": 7}
types = [call("numpy", "frombuffer", args=[{"read": "0.raw"}, {"ref": 7}, {"json": 0}]) for _ in range(20_000)]
write("types.awkd", table(["a", call("numpy", "frombuffer", args=[{"read": "0.raw"}, fields, {"json": 0}])],
                          *(["b", one] for one in types)), small)

# Items that are far longer than their bytes, or need far more of them than they show.
nothing = [[f"f{at}", "|S0"] for at in range(4000)]
write("nothing.awkd", flat("0.raw", [nothing, [1 << 20]], 1), {"0.raw": b""})
write("default.awkd", call("SparseArray", args=[
    {"json": 10}, flat("0.raw", "int64", 0), flat("0.raw", "|S900000000", 0), {"json": None}]), {"0.raw": b""})
shape = ["int64", [4, 1000]]
write("strings.awkd", call("StringArray", args=[
    flat("0.raw", shape, 1, packed=True), flat("1.raw", shape, 1, packed=True),
    flat("2.raw", "uint8", 8 << 20, packed=True), {"json": "utf-8"}]),
    {"0.raw": numbers(0, 4000), "1.raw": numbers(8 << 20, 4000), "2.raw": zlib.compress(b"a" * (8 << 20))})
write("work.awkd", call("JaggedArray", "fromcounts", args=[
    flat("0.raw", "int64", 1), call("IndexedArray", args=[
        flat("1.raw", "int64", 100_000, packed=True), flat("2.raw", "|S32000000", 1, packed=True)])]),
    {"0.raw": (100_000).to_bytes(8, "little"), "1.raw": numbers(0, 100_000), "2.raw": zlib.compress(bytes(32_000_000))})
# Strings that all are the same megabyte, beside a column that claims to be endless.
write("lines.awkd", table(
    ["a", call("StringArray", args=[
        flat("0.raw", "int64", 1 << 20, packed=True), flat("1.raw", "int64", 1 << 20, packed=True),
        flat("2.raw", "uint8", 1 << 20, packed=True), {"json": "utf-8"}])],
    ["b", call("IndexedArray", args=[
        flat("2.raw", "uint8", 1 << 20, packed=True), flat("3.raw", "int8", 2**60, packed=True)])],
    ["b", flat("2.raw", "uint8", 1 << 20, packed=True)]),
    {"0.raw": numbers(0, 1 << 20), "1.raw": numbers(1 << 20, 1 << 20), "2.raw": zlib.compress(b"a" * (1 << 20)),
     "3.raw": zlib.compress(bytes(8))})

# What is as long as the square of what is there.
wide = table(*([f"c{at}", flat("0.raw", "int8", 8)] for at in range(6000)))
write("type.awkd", table(["n" * 1_000_000, wide]), small)
write("same.awkd", table(*(["x", flat("0.raw", "int8", 8)] for at in range(20_000))), small)
write("distinct.awkd", table(*([f"c{at}", flat("0.raw", "int8", 8)] for at in range(20_000))), small)
first = flat("0.raw", "int8", 1, 0)
write("chunks.awkd", call("ChunkedArray", args=[
    {"list": [first] + [{"ref": 0}] * 99_999}, {"json": [1] * 100_000}]), small)
keys = {**{f"k{at}": 0 for at in range(50_000)}, **flat("0.raw", "int8", 8, 3)}
write("keys.awkd", table(["a", keys], *([f"c{at}", {"ref": 3}] for at in range(50_000))), small)
# Sums of many unions.
unions = [union(flat("0.raw", "int8", 1 << 20, packed=True), {"ref": 7}) for _ in range(59)]
contents = {"list": [flat("0.raw", "int8", 1 << 20, 0, packed=True)] + [{"ref": 0}] * 4095, "id": 7}
write("unions.awkd", table(["u", union(flat("0.raw", "int8", 1 << 20, packed=True), contents)],
                           *([f"u{at}", one] for at, one in enumerate(unions))), {"0.raw": zlib.compress(bytes(1 << 20))})

# What is refused leaves no length behind.
code = {"call": ["os", "system"], "args": [{"json": "true"}]}
write("column.awkd", table(["a", flat("0.raw", "int8", 8)], ["b", code]), small)
write("nobody.awkd", table(["a", flat("0.raw", "int8", 8)], ["b", {"ref": 5}]), small)
write("masked.awkd", call("BitMaskedArray", args=[flat("0.raw", "uint8", 8), code, {"json": True}, {"json": True}]), small)
int8s = lambda *said: bytes(number % 256 for number in said)
jagged = lambda how, part: call("JaggedArray", how, args=[part, code])
tagged = lambda *index: call("UnionArray", *(() if index else ("fromtags",)), args=[
    flat("0.raw", "uint8", 3), *index, {"list": [code, flat("0.raw", "int8", 1)]}])
write("count_of_none.awkd", jagged("fromcounts", flat("0.raw", "int8", 2)), {"0.raw": int8s(3, -1)})
write("offset_of_none.awkd", jagged("fromoffsets", flat("0.raw", "int8", 2)), {"0.raw": int8s(2, 1)})
write("tag_of_none.awkd", tagged(), {"0.raw": int8s(0, 1, 7)})
# Nothing follows from tags beside an index; and of many the last is wrong.
write("tag_beside_index.awkd", tagged(flat("1.raw", "int8", 3)), {"0.raw": int8s(0, 1, 7), "1.raw": int8s(0, 0, 0)})
many = call("UnionArray", args=[flat("0.raw", "uint8", 9000), flat("1.raw", "int8", 9000), {"list": [code, code]}])
write("tag_far.awkd", many, {"0.raw": bytes(8999) + b"\2", "1.raw": bytes(9000)})
write("place_in_none.awkd", tagged(flat("1.raw", "int8", 3)), {"0.raw": int8s(0, 0, 0), "1.raw": int8s(5, -1, 5)})
write("place_beside_none.awkd", tagged(flat("1.raw", "int8", 3)), {"0.raw": int8s(0, 1, 1), "1.raw": int8s(5, 0, 1)})
write("index_of_none.awkd", call("IndexedMaskedArray", args=[flat("0.raw", "int8", 2), code, {"json": -1}]),
      {"0.raw": int8s(-1, -9)})
write("good_of_none.awkd", jagged("fromcounts", flat("0.raw", "int8", 2)), {"0.raw": int8s(3, 1)})
view = lambda *rows: {"tuple": [{"json": row} for row in rows]}
write("step.awkd", call("Table", "fromview", args=[view(0, 0, 2**62), table(["a", flat("0.raw", "int8", 8)])]), small)
write("rows.awkd", call("Table", "fromview", args=[
    view(0, 1, 2**62), table(["a", flat("0.raw", "|S0", 2**62)])]), small)

# Lists of lists of lists, each block of which needs two blocks of those that it is in.
picked = flat("1.raw", "int8", 8192)
for level in range(30):
    picked = call("JaggedArray", "fromcounts", args=[flat("1.raw", "int8", 8192), picked])
write("picked.awkd", call("JaggedArray", args=[flat("2.raw", "int16", 8192), flat("3.raw", "int16", 8192), picked]), {
    "1.raw": bytes([0]) + bytes([1]) * 8191,
    "2.raw": b"".join(at.to_bytes(2, "little") for at in range(8192)),
    "3.raw": bytes(2) + b"".join(at.to_bytes(2, "little") for at in range(2, 8193))})

# Very many arrays of the same bytes, compressed and not; and of one compressed blob that has a length for each.
with zipfile.ZipFile(os.path.join(sys.argv[1], "many.awkd"), "w") as to:
    to.writestr("packed", zlib.compress(bytes(16 << 20)))
    to.writestr("plain", bytes(16 << 20))
    for at in range(8000):
        schema = flat("packed", "uint8", 16 << 20, packed=True) if at % 2 else flat("plain", "uint8", (16 << 20) - at)
        to.writestr(f"{at}.json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
write("lengths.awkd", union(flat("1.raw", "int8", 8), {"list": [
    flat("0.raw", "uint8", at, packed=True) for at in range(1, 1000)]}),
    {"0.raw": zlib.compress(bytes(16 << 20)), "1.raw": bytes(8)})
asked = lambda call: union(flat("1.raw", "int8", 8), {"list": [
    {"call": ["awkward0", "numpy", "frombuffer"],
     "args": [{"call": [call, "decompress"], "args": [{"read": "0.raw"}]}, {"dtype": "int8"}, {"json": at}]}
    for at in range(1, 40)]})
write("asked.awkd", asked("zlib"), {"0.raw": zlib.compress(bytes([7]) * 19), "1.raw": bytes(8)})
write("xz.awkd", asked("lzma"), {"0.raw": lzma.compress(bytes([7]) * 19), "1.raw": bytes(8)})

# Arrays of different lengths of one member that the ZIP file compresses.
random = os.urandom(1 << 20)
for count in [1, 100]:
    parts = {"list": [flat("0.raw", "uint8", (1 << 20) - at) for at in range(count)]}
    write(f"parts_{count}.awkd", union(flat("1.raw", "int8", 8), parts), {"0.raw": random, "1.raw": bytes(8)})
write("torn.awkd", table(["a", flat("0.raw", "uint8", 8)], ["b", flat("0.raw", "uint8", 9)]), {"0.raw": bytes(1000)})
with open(os.path.join(sys.argv[1], "torn.awkd"), "r+b") as to:
    whole = to.read()
    for start in (whole.index(b"PK\1\2") + 16, 14):
        to.seek(start)
        to.write(b"\1\2\3\4")

# Damage behind all lists of what is compressed, which nobody sees who reads the lists alone.
torn = bytearray(zlib.compress(bytes(range(200)) * 12_000, 0))
torn[40_000] ^= 1
lists = call("JaggedArray", args=[flat("0.raw", "int64", 1), flat("1.raw", "int64", 1), flat("2.raw", "int64", 300_000, packed=True)])
with zipfile.ZipFile(os.path.join(sys.argv[1], "unlisted.awkd"), "w") as to:
    blobs = {"0.raw": bytes(8), "1.raw": (6_000).to_bytes(8, "little"), "2.raw": bytes(torn)}
    for member, data in [*blobs.items(), ("j.json", json.dumps({"awkward0": "0.15.5", "schema": lists}))]:
        to.writestr(member, data)

# Sound, but for a reader with 1 GiB of memory for it: the size of the dictionary is in the block's header.
large = bytearray(lzma.compress(bytes(8)))
large[16] = 36
end = 12 + (large[12] + 1) * 4
large[end - 4:end] = zlib.crc32(large[12:end - 4]).to_bytes(4, "little")
read = call("numpy", "frombuffer", args=[{"call": ["lzma", "decompress"], "args": [{"read": "0.raw"}]}, {"dtype": "int64"}, {"json": 1}])
write("dictionary.awkd", read, {"0.raw": bytes(large)})
