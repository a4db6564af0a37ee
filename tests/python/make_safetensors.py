"""Writes the samples of tests/data/safetensors with the reference package (safetensors 0.8, ml_dtypes 0.6).

Usage: make_safetensors.py DIRECTORY
"""

import json
import os
import sys

import ml_dtypes
import numpy as np
from safetensors import TensorSpec, serialize_file
from safetensors.numpy import save_file

folder = sys.argv[1]
os.makedirs(f"{folder}/sharded", exist_ok=True)
random = np.random.default_rng(1)

NUMPY = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64".split()
OTHERS = "bfloat16 float8_e4m3fn float8_e5m2 float8_e8m0fnu float8_e4m3fnuz float8_e5m2fnuz".split()

tensors = {}
for name in NUMPY + OTHERS:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    raw = random.integers(0, 2 if name == "bool" else 256, 24 * dtype.itemsize, np.uint8)
    tensors[f"{name}/3d"] = raw.view(dtype).reshape(2, 3, 4)
    tensors[f"{name}/1d"] = raw.view(dtype)
    tensors[f"{name}/0d"] = raw.view(dtype)[:1].reshape(())
    tensors[f"{name}/empty"] = np.zeros((0, 3), dtype)
tensors["model.layers.0.self_attn.q_proj.weight"] = random.normal(size=(16, 8)).astype("f4")
tensors["Ünïcode \n%/name"] = np.arange(5, dtype="i2")
save_file(tensors, f"{folder}/types.safetensors", {"format": "np", "note": 'é " \n %', "": ""})

save_file({}, f"{folder}/no_tensors.safetensors")

# Two numbers of four bits in each byte.
halves = random.integers(0, 256, 6, np.uint8)
spec = TensorSpec(dtype="float4_e2m1fn_x2", shape=[2, 3], data_ptr=halves.ctypes.data, data_len=6)
plain = np.arange(3, dtype="f4")
other = TensorSpec(dtype="float32", shape=[3], data_ptr=plain.ctypes.data, data_len=12)
serialize_file({"packed": spec, "plain": other}, f"{folder}/float4.safetensors", None)

weights = {f"layers.{n}.weight": random.normal(size=(4, 3)).astype("f4") for n in range(4)}
shards = [f"model-{n:05}-of-00002.safetensors" for n in (1, 2)]
place = {name: shards[number // 2] for number, name in enumerate(weights)}
for shard in shards:
    save_file({k: v for k, v in weights.items() if place[k] == shard}, f"{folder}/sharded/{shard}", {"format": "pt"})
with open(f"{folder}/sharded/model.safetensors.index.json", "w") as file:
    json.dump({"metadata": {"total_size": 4 * 48}, "weight_map": place}, file, indent=2)
