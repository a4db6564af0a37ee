"""Writes FFRecord files with Python alone, record by record, without a file for each.

    from ffrecord_writer import Writer

    with Writer("train.ffr") as writer:
        for sample in samples:
            writer.add(sample)          # bytes, a memoryview, an array: anything with a buffer

    producer | python ffrecord_writer.py train.ffr      # a record for each line

The file appears under its name when it is whole: an exception leaves what was there before. Memory holds 12 bytes for each
record. (`producer | rab pack train.ffr - --records=length32` does the same with records that carry their lengths.)
"""
import argparse
import os
import secrets
import shutil
import sys
import zlib
from array import array


def little_endian(numbers):
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


class Writer:
    """Collects records in a temporary file beside the target, and puts them behind the tables when it is closed.

    The tables stand before the records and are as long as there are records. With `count`, the number of records to come,
    each is written at its place at once, and no second copy is made.
    """

    def __init__(self, path, count=None):
        self.path, self.count = os.fspath(path), count
        if not self.path.endswith(".ffr"):
            raise ValueError(f"{self.path}: the name of an FFRecord file ends in .ffr")
        self.checksums, self.offsets, self.len = array("I"), array("q"), 0
        self.data = self._temporary()
        if count is not None:
            self.data.seek(12 + 12 * count)

    def _temporary(self):
        return open(f"{self.path}.{secrets.token_hex(4)}.part", "x+b", buffering=1 << 20)

    def __len__(self):
        return len(self.offsets)

    def add(self, record):
        """Adds a record; returns its number."""
        record = memoryview(record)
        # Views without an element cannot be cast.
        record = record.cast("B") if record.nbytes else b""
        if len(self) == self.count:
            raise ValueError(f"{self.path}: {self.count} records were announced, and one more is added")
        self.data.write(record)
        self.offsets.append(self.len)
        self.checksums.append(zlib.crc32(record))
        self.len += len(record)
        return len(self) - 1

    def close(self):
        """Puts the file in its place."""
        try:
            if self.count not in (None, len(self)):
                raise ValueError(f"{self.path}: {self.count} records were announced, {len(self)} were added")
            if self.data.tell() != self.len + (0 if self.count is None else 12 + 12 * self.count):
                raise OSError(f"{self.path}: a record could not be written")
            if self.count is None:
                self._move_behind_tables()
            self._write_tables()
            self.data.flush()
            os.fsync(self.data.fileno())
            os.replace(self.data.name, self.path)
        except BaseException:
            self.abandon()
            raise
        self.data.close()

    def abandon(self):
        """Leaves nothing behind."""
        self.data.close()
        if os.path.exists(self.data.name):
            os.remove(self.data.name)

    def _move_behind_tables(self):
        records, self.data = self.data, self._temporary()
        try:
            records.seek(0)
            self.data.seek(12 + 12 * len(self))
            shutil.copyfileobj(records, self.data, 1 << 20)
        finally:
            records.close()
            os.remove(records.name)

    def _write_tables(self):
        """CRC-32 of all that follows it (4 bytes), number of records (8), CRC-32 of each (4), offset of each (8)."""
        start = 12 + 12 * len(self)
        offsets = array("q", (start + offset for offset in self.offsets))
        tables = [len(self).to_bytes(8, "little"), little_endian(self.checksums), little_endian(offsets)]
        checksum = 0
        for table in tables:
            checksum = zlib.crc32(table, checksum)
        self.data.seek(0)
        for part in [checksum.to_bytes(4, "little"), *tables]:
            self.data.write(part)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close() if kind is None else self.abandon()


def main():
    parser = argparse.ArgumentParser(description="Writes a record for each line of standard input.")
    parser.add_argument("out")
    with Writer(parser.parse_args().out) as writer:
        for line in sys.stdin.buffer:
            writer.add(line.removesuffix(b"\n"))


if __name__ == "__main__":
    main()
