#!/usr/bin/env python3
"""Import and export against NumPy itself: what it writes is read bit for bit, and the other way.

Needs numpy and h5py, and the command in KVREPLAY.
"""
import json
import os
import struct
import subprocess
import tempfile
import unittest
import zipfile

import h5py
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KVREPLAY = os.environ.get("KVREPLAY", os.path.join(ROOT, "build/kvreplay"))
LAYERS, BATCH, HEADS, KV_HEADS, ROWS, TOKENS, SIZE = 3, 2, 6, 2, 5, 37, 8


def bits(array):
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()


class Imported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.chance = np.random.default_rng(5)

    def path(self, name):
        return os.path.join(self.folder, name)

    def rows(self, dtype="f2", shape=(LAYERS, BATCH, HEADS, ROWS, TOKENS)):
        rows = self.chance.random(shape).astype(dtype)
        rows.flat[:4] = [np.nan, np.inf, 5e-324, -0.0]
        return rows

    def run_import(self, *arguments):
        command = [KVREPLAY, "import", *arguments, "-o", self.path("t.h5"), "--kv-heads", str(KV_HEADS)]
        return subprocess.run(command, capture_output=True, text=True)

    def assert_rows(self, expected, *arguments):
        """Imports, and compares with rows [layers][samples][heads][rows][tokens]."""
        done = self.run_import(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.path("t.h5"), "r") as trace:
            self.assertEqual(len(trace["samples"]), expected.shape[1])
            for layer in range(expected.shape[0]):
                for sample in range(expected.shape[1]):
                    found = trace[f"samples/{sample}/layers/{layer}/attention"][:]
                    self.assertEqual(found.shape, expected.shape[2:])
                    self.assertEqual(bits(found), bits(expected[layer, sample]))

    def test_every_type_order_and_byte_order(self):
        for dtype in "<f2", ">f2", "<f4", ">f4", "<f8", ">f8":
            for order in "C", "F":
                rows = np.asarray(self.rows(dtype), order=order)
                np.save(self.path("attention.npy"), rows)
                with self.subTest(dtype=dtype, order=order):
                    self.assert_rows(rows, self.path("attention.npy"))

    def test_archives(self):
        rows = self.rows()
        names = {f"model.layers.{layer}.self_attn.attn_weights": rows[layer] for layer in range(LAYERS)}
        np.savez(self.path("a.npz"), **names)
        self.assert_rows(rows, self.path("a.npz"))
        np.savez_compressed(self.path("a.npz"), **names)
        self.assert_rows(rows, self.path("a.npz"))
        with zipfile.ZipFile(self.path("a.npz"), "w") as archive:
            for name, values in names.items():
                with archive.open(name + ".npy", "w", force_zip64=True) as entry:
                    np.save(entry, values)
        self.assert_rows(rows, self.path("a.npz"))

    def test_layers_in_files_of_their_own(self):
        rows = self.rows(shape=(LAYERS, 1, HEADS, ROWS, TOKENS))
        paths = [self.path(f"attn_{layer}.npy") for layer in range(LAYERS)]
        for path, values in zip(paths, rows):
            np.save(path, values[0])
        self.assert_rows(rows, *paths)

    def test_transposed_axes(self):
        rows = self.rows()
        np.save(self.path("attention.npy"), rows.transpose(1, 4, 0, 3, 2))
        self.assert_rows(rows, self.path("attention.npy"), "--layout", "attention=BTLQH")

    def test_safetensors(self):
        rows = self.rows(shape=(1, 1, HEADS, ROWS, TOKENS))
        key = self.chance.integers(0, 1 << 16, (KV_HEADS, TOKENS, SIZE)).astype("<u2")
        key &= 0xBFFF  # finite
        pieces = {"layers.0.attention": ("F16", rows[0, 0]), "layers.0.key": ("BF16", key)}
        header, data = {"__metadata__": {"format": "pt"}}, b""
        for name, (dtype, values) in pieces.items():
            stop = len(data) + values.nbytes
            header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [len(data), stop]}
            data += values.tobytes()
        text = json.dumps(header).encode().ljust(1000)
        with open(self.path("a.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data)
        self.assert_rows(rows, self.path("a.safetensors"))
        subprocess.run([KVREPLAY, "export", self.path("t.h5"), "-o", self.path("b.npz"), "--quiet"], check=True)
        with np.load(self.path("b.npz")) as back:
            found = back["samples/0/layers/0/key"]
        self.assertEqual(found.dtype, np.dtype("<f4"))
        self.assertEqual((found.view("<u4") >> 16).astype("<u2").tobytes(), key.tobytes())

    def test_queries_and_keys_of_a_cache(self):
        arrays = {
            "query_7": self.chance.normal(size=(BATCH, HEADS, ROWS, SIZE)).astype("f4"),
            "past_key_values.7.key": self.chance.normal(size=(BATCH, KV_HEADS, TOKENS, SIZE)).astype("f2"),
            "past_key_values.7.value": self.chance.normal(size=(BATCH, KV_HEADS, TOKENS, SIZE)).astype("f2"),
            "input_ids": self.chance.integers(0, 1000, (BATCH, TOKENS)),
            "query_positions": np.arange(3, 3 + 2 * ROWS, 2),
            "layers/7/scale": np.float64(0.25),
            "prompt_length": np.int64(30),
        }
        np.savez(self.path("a.npz"), **arrays)
        done = self.run_import(self.path("a.npz"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.path("t.h5"), "r") as trace:
            for number in range(BATCH):
                sample = trace[f"samples/{number}"]
                self.assertEqual(sample.attrs["prompt_length"], 30)
                self.assertEqual(sample["layers/7"].attrs["scale"], 0.25)
                self.assertEqual(sample["query_positions"][:].tolist(), arrays["query_positions"].tolist())
                self.assertEqual(sample["tokens"][:].tolist(), arrays["input_ids"][number].tolist())
                for name, source in ("query", "query_7"), ("key", "past_key_values.7.key"):
                    self.assertEqual(bits(sample[f"layers/7/{name}"][:]), bits(arrays[source][number]))

    def test_exported_arrays_are_those_of_the_trace(self):
        trace = os.path.join(ROOT, "traces/smollm2-niah-1k.h5")
        subprocess.run([KVREPLAY, "export", trace, "-o", self.path("a.npz"), "--quiet"], check=True)
        seen = 0
        with h5py.File(trace, "r") as file, np.load(self.path("a.npz")) as arrays:
            for name in arrays.files:
                if arrays[name].ndim > 0:
                    seen += 1
                    self.assertEqual(arrays[name].dtype, file[name].dtype)
                    self.assertEqual(bits(arrays[name]), bits(file[name][:]))
        self.assertGreater(seen, 50)


if __name__ == "__main__":
    unittest.main()
