"""Reads training samples from a mounted FFRecord file with numpy alone, as a PyTorch DataLoader would.

    rab-mount train.ffr /mnt/train
    python ffrecord_loader.py /mnt/train [--batch 64] [--seed 0] [--step 0]

All records are one file, `.views/table/data`, and `.views/table/offsets` says where each begins. Both are mapped,
so a record costs no system call once it is in the page cache; workers that are forked share the maps.
(These tables are the bytes as they stand in the file: `rab verify` compares them with their checksums.)
"""
import argparse
import os

import numpy as np


class Records:
    """The records of a mounted file: `records[i]` is one, `records[[i, j, ...]]` many, as arrays of bytes.

    It is what torch.utils.data calls a map-style dataset; ffrecord.torch's `__getitem__` takes lists as well.
    """

    def __init__(self, mount):
        table = os.path.join(mount, ".views", "table")
        self.offsets = np.fromfile(os.path.join(table, "offsets"), dtype="<i8")
        data = os.path.join(table, "data")
        # A file without bytes cannot be mapped.
        empty = os.path.getsize(data) == 0
        self.data = np.empty(0, np.uint8) if empty else np.memmap(data, dtype=np.uint8, mode="r")

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, index):
        if np.ndim(index):
            return [self[i] for i in index]
        if not -len(self) <= index < len(self):
            raise IndexError(f"record {index} of {len(self)}")
        index = index % len(self)
        return self.data[self.offsets[index]:self.offsets[index + 1]]


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
