"""Headers with what the samples lack: every value comes back from the sidecar as PyYAML has it.

    odd_headers.py RAB-MOUNT FOLDER
"""
import os, struct, subprocess, sys
import yaml
import ruamel.yaml
program, folder = sys.argv[1:]
C = "  codecMeta: {byteLength: 1, byteOffset: 0, type: bytes}\n"
cases = {
    "anchor on a scalar": "- name: a\n  x: &v yes\n" + C + "- name: b\n  y: *v\n" + C,
    "merge key": "- name: a\n  base: &b {p: 1, q: 2}\n  got: {<<: *b, q: 3}\n" + C,
    "yaml 1.1 words": "- name: a\n  x: [yes, Off, 017, 0o17, 1e3, 1_000, 12:30:00, 0b11, 0x_f, .5, +.inf, 1.e+3, ~]\n" + C,
    "numpy of its own": "- name: a\n  numpy: mine\n  codecMeta: {byteLength: 1, byteOffset: 0, type: int8, shape: [1], byteOrder: C, endianness: na}\n",
    "python tags": "- name: a\n  x: !!python/tuple [1, !!python/name:os.system '', !!python/object/apply:os.system ['touch /tmp/ran']]\n" + C,
    "a local tag": "- name: a\n  x: !mine {k: v}\n" + C,
    "comments and blank lines": "# head\n- name: a # why\n\n  # between\n  x: 1\n" + C + "\n\n- name: b\n" + C + "# end\n",
    "document markers": "%YAML 1.1\n---\n- name: a\n" + C + "...\n",
    "carriage returns": "- name: a\r\n  x: [1,\r\n    2]\r\n" + C.replace("\n", "\r\n"),
    "block scalars": "- name: a\n  x: |2\n      two\n    less\n\n  y: >-\n    folded\n    text\n" + C,
    "a key twice": "- name: a\n  x: 1\n  x: 2\n" + C,
    "deeper indentation": "  - name: a\n    x:\n      - 1\n" + C.replace("  codec", "    codec"),
    "flow": "[{name: a, codecMeta: {byteLength: 1, byteOffset: 0, type: bytes}, x: 'it''s'}]\n",
}
def plain(node):
    if isinstance(node, dict): return {k: plain(v) for k, v in node.items()}
    if isinstance(node, (list, tuple)): return [plain(v) for v in node]
    return node
class Lenient(yaml.SafeLoader): pass
def untag(loader, suffix, node):
    if isinstance(node, yaml.MappingNode): return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode): return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)
Lenient.add_multi_constructor("tag:yaml.org,2002:python/", untag)
Lenient.add_multi_constructor("!", untag)
for title, text in cases.items():
    path = os.path.join(folder, "x.rab")
    raw = text.encode()
    with open(path, "wb") as f: f.write(b"rab" + struct.pack("<I", len(raw)) + raw + b"?")
    where = os.path.join(folder, "x")
    subprocess.run([program, path, where], check=True)
    try:
        for want in yaml.load(text, Loader=Lenient):
            with open(os.path.join(where, want["name"] + ".meta.yaml"), newline="") as f: side = f.read()
            new = ruamel.yaml.YAML(typ="safe", pure=True)
            for got in (yaml.safe_load(side), new.load(side)):
                if "shape" in want["codecMeta"] and "numpy" not in want: got.pop("numpy")
                assert plain(got) == plain(want), (title, side, got, want)
    finally:
        subprocess.run([program, "-u", where], check=True)
assert not os.path.exists("/tmp/ran")
