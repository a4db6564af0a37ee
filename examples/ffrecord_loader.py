"""Reads training samples from a mounted FFRecord file with numpy alone, as a PyTorch DataLoader would.

    rab-mount train.ffr /mnt/train
    python ffrecord_loader.py /mnt/train [--batch 64] [--seed 0] [--step 0]

All records are one file, `.views/table/data`, and `.views/table/offsets` says where each begins. The data is mapped,
so a record costs no system call and no copy once it is in the page cache; workers that are forked share the map.
(These tables are the bytes as they stand in the file: `rab verify` compares them with their checksums.)
"""
import argparse
import mmap
import operator
import os

import numpy as np


class Records:
    """The records of a mounted file: `records[i]` is one, `records[[i, j, ...]]` and `records[i:j]` a list of many.

    Each is a read-only memoryview of the map: `bytes(record)` copies it, `np.frombuffer(record, dtype)` does not.
    It is what torch.utils.data calls a map-style dataset; ffrecord.torch's `__getitem__` takes lists as well.
    """

    def __init__(self, mount):
        self.mount = mount
        table = os.path.join(mount, ".views", "table")
        self.offsets = np.fromfile(os.path.join(table, "offsets"), dtype="<i8")
        # Single items of a memoryview are taken much faster than those of an array.
        self.bounds = memoryview(self.offsets)
        with open(os.path.join(table, "data"), "rb") as data:
            # A file without bytes cannot be mapped.
            is_empty = os.fstat(data.fileno()).st_size == 0
            self.data = memoryview(b"" if is_empty else mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ))

    def __len__(self):
        return len(self.bounds) - 1

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.__getitems__(range(*index.indices(len(self))))
        if hasattr(index, "__len__"):
            return self.__getitems__(index)
        if isinstance(index, (bool, np.bool_)):
            raise TypeError("a record has a number, True and False are none")
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"record {index} of {len(self)}")
        index %= len(self)
        return self.data[self.bounds[index]:self.bounds[index + 1]]

    def __getitems__(self, indices):
        """Many at once. DataLoader calls this for each batch if it is there."""
        numbers = np.asarray(indices)
        if not numbers.size:
            return []
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"records have numbers, not {numbers.dtype}; of a mask take np.flatnonzero(mask)")
        for index in numbers.min(), numbers.max():
            if not -len(self) <= index < len(self):
                raise IndexError(f"record {index} of {len(self)}")
        numbers = numbers % len(self)
        starts, ends, data = self.offsets[numbers], self.offsets[numbers + 1], self.data
        return [data[start:end] for start, end in zip(starts.tolist(), ends.tolist())]

    def __reduce__(self):
        """Workers that are spawned open the mount themselves."""
        return Records, (self.mount,)


class Loader:
    """Batches of records in an order that seed and epoch alone decide.

    `set_step(k)` begins the next passes at batch k without reading the ones before it, as a training that is
    taken up again needs it; `len` counts the batches that are left.
    """

    def __init__(self, records, batch_size, seed=0, process=lambda batch: batch):
        self.records, self.batch_size, self.seed, self.process = records, batch_size, seed, process
        self.epoch, self.step = 0, 0

    def batches(self):
        return -(-len(self.records) // self.batch_size)

    def __len__(self):
        return self.batches() - self.step

    def set_epoch(self, epoch):
        self.epoch = epoch

    def set_step(self, step):
        if not 0 <= step < max(self.batches(), 1):
            raise ValueError(f"step {step} of {self.batches()}")
        self.step = step

    def __iter__(self):
        order = np.random.default_rng((self.seed, self.epoch)).permutation(len(self.records))
        for start in range(self.step * self.batch_size, len(order), self.batch_size):
            yield self.process(self.records[order[start:start + self.batch_size]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mount")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--step", type=int, default=0)
    arguments = parser.parse_args()
    loader = Loader(Records(arguments.mount), arguments.batch, arguments.seed)
    loader.set_step(arguments.step)
    for number, batch in enumerate(loader, loader.step):
        print(f"batch {number}: {len(batch)} records, {sum(map(len, batch))} bytes")


if __name__ == "__main__":
    main()
