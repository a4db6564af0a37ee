"""Compares two RAB files as PyYAML and zlib see them: names in their order, metadata, codecMeta, decoded bytes.

    check_repacked.py ORIGINAL.rab REPACKED.rab

What is only true of stored bytes may differ (offsets, lengths, checksums), and of python tags only the values
count. Prints the number of datasets; fails at the first difference.
"""
import sys

import rab_oracle
from check_written import plain

STORED = {"byteOffset", "byteLength", "checksum", "decodedLength"}


def datasets(path):
    for name, _, compression, data, codec, metadata in rab_oracle.read(path):
        described = {key: value for key, value in codec.items() if key not in STORED}
        yield plain(name), plain({**described, "compression": compression}), plain(metadata), data


def main():
    original, repacked = list(datasets(sys.argv[1])), list(datasets(sys.argv[2]))
    assert [d[0] for d in original] == [d[0] for d in repacked], "names or their order"
    for a, b in zip(original, repacked):
        for what, x, y in zip(("name", "codecMeta", "metadata", "bytes"), a, b):
            assert x == y, f"{a[0]}: {what} was\n{x}\nand is\n{y}"
    print(len(original))


if __name__ == "__main__":
    main()
