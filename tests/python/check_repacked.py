"""Compares two RAB files as PyYAML and zlib see them: names in their order, metadata, codecMeta, decoded bytes.

    check_repacked.py ORIGINAL.rab REPACKED.rab

What is only true of stored bytes may differ (offsets, lengths, checksums), and of python tags only the values
count. Prints the number of datasets; fails at the first difference.
"""
import gzip
import re
import struct
import sys
import zlib

import yaml

from check_written import plain

STORED = {"byteOffset", "byteLength", "checksum", "decodedLength"}


class Loader(yaml.SafeLoader):
    """Takes a python tag for what it stands at: nothing is run."""


def untagged(loader, suffix, node):
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    resolved = loader.resolve(yaml.ScalarNode, node.value, (node.style is None, node.style is not None))
    return loader.construct_object(yaml.ScalarNode(resolved, node.value), deep=True)


Loader.add_multi_constructor("tag:yaml.org,2002:python/", untagged)


def datasets(path):
    with open(path, "rb") as f:
        whole = f.read()
    (size,) = struct.unpack("<I", whole[3:7])
    text = whole[7:7 + size].decode("utf-8")
    for entry in yaml.load(text, Loader=Loader):
        codec = dict(entry["codecMeta"])
        start = 7 + size + codec["byteOffset"]
        data = whole[start:start + codec["byteLength"]]
        if codec.get("compression") == "gzip":
            data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else zlib.decompress(data)
        codec.setdefault("compression", None)
        described = {key: value for key, value in codec.items() if key not in STORED}
        yield plain(entry["name"]), plain(described), plain(entry["metadata"]), data


def main():
    original, repacked = list(datasets(sys.argv[1])), list(datasets(sys.argv[2]))
    assert [d[0] for d in original] == [d[0] for d in repacked], "names or their order"
    for a, b in zip(original, repacked):
        for what, x, y in zip(("name", "codecMeta", "metadata", "bytes"), a, b):
            assert x == y, f"{a[0]}: {what} was\n{x}\nand is\n{y}"
    print(len(original))


if __name__ == "__main__":
    main()
