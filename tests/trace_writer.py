#!/usr/bin/env python3
"""TraceWriter, and the ten lines of FORMAT.md: what they write is read by kvreplay, bit for bit.

Needs numpy and h5py, and the command in KVREPLAY.
"""
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "traces"))
from kvreplay_trace import ELEMENTS, TraceError, TraceWriter, bfloat16_bits, choose_chunk  # noqa: E402

KVREPLAY = os.environ.get("KVREPLAY", os.path.join(ROOT, "build/kvreplay"))
HEADS, KV_HEADS, LENGTH, PROMPT, SIZE = 6, 2, 70, 60, 8
ROWS = list(range(44, PROMPT)) + [62, 69]


def softmax(logits):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def layer_of(seed):
    """Queries, keys and what follows from them: rows and column sums, as MEASURES has them."""
    chance = np.random.default_rng(seed)
    query = chance.normal(size=(HEADS, LENGTH, SIZE)).astype("f2").astype("f8")
    key = chance.normal(size=(KV_HEADS, LENGTH, SIZE)).astype("f2").astype("f8")
    logits = np.einsum("hqd,hnd->hqn", query, np.repeat(key, HEADS // KV_HEADS, 0)) / SIZE ** 0.5
    logits[:, np.triu(np.ones((LENGTH, LENGTH), bool), 1)] = -np.inf
    weights = softmax(logits)
    return {"attention": weights[:, ROWS], "accumulated": weights[:, :PROMPT].sum(1), "query": query[:, ROWS],
            "key": key, "value": chance.normal(size=key.shape), "scores": {"gate": chance.random((KV_HEADS, LENGTH))}}


def kvreplay(*arguments):
    return subprocess.run([KVREPLAY, *arguments], capture_output=True, text=True)


class Written(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "trace.h5")

    def write(self, **options):
        with TraceWriter(self.path, model="a model", **options) as trace:
            for number in range(2):
                sample = trace.sample(tokens=range(LENGTH), prompt_length=PROMPT, query_heads=HEADS,
                                      kv_heads=KV_HEADS, query_positions=ROWS, needles=[(7, 9)], task=f"task {number}")
                for layer in (0, 5):
                    sample.layer(layer, **layer_of(layer + number))

    def stored(self, name):
        with h5py.File(self.path) as file:
            return file[f"samples/1/layers/5/{name}"][()]

    def clean(self, path=None):
        result = kvreplay("check", path or self.path)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn(" 0 errors, 0 warnings", result.stdout)

    def replays(self, path=None):
        out = os.path.join(self.folder, "out")
        result = kvreplay("replay", path or self.path, "-o", out, "--quiet", "--policy", "mean,independent")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(os.path.exists(os.path.join(out, "measures.csv")))

    def test_every_element_round_trips_bit_for_bit(self):
        made = layer_of(6)
        made["scores/gate"] = made.pop("scores")["gate"]
        for element, kind in ELEMENTS.items():
            with self.subTest(element):
                self.write(element=element)
                for name, values in made.items():
                    if element == "bfloat16" and name != "accumulated":
                        expected = bfloat16_bits(values)
                    else:
                        expected = values.astype("<f4" if name == "accumulated" and element != "double" else kind)
                    found = self.stored(name)
                    self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
                    self.assertEqual(found.tobytes(), expected.tobytes(), name)
                self.clean()

    def test_it_is_described_and_replayed(self):
        self.write()
        facts = kvreplay("info", self.path)
        self.assertEqual(facts.returncode, 0, facts.stderr)
        for line in ("a model", "task 1", "2 layers", "half, little-endian", "shuffle, deflate 1"):
            self.assertIn(line, facts.stdout)
        self.replays()

    def test_bfloat16_rounds_to_the_nearest_and_ties_to_even(self):
        bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0x7F800000, 0x7F7FFFFF, 0x7F800001,
                         0x80000000], "<u4")
        expected = [0x3F80, 0x3F82, 0x3F81, 0x3F80, 0x7F80, 0x7F80, 0x7FC0, 0x8000]
        self.assertEqual(bfloat16_bits(bits.view("<f4")).tolist(), expected)

    def test_what_half_cannot_hold_is_stored_as_float(self):
        layer = layer_of(0)
        layer["key"] = layer["key"].astype("f4")
        layer["key"][0, 0, 0] = 70000
        with TraceWriter(self.path) as trace:
            trace.sample(context_length=LENGTH, query_heads=HEADS, kv_heads=KV_HEADS,
                         query_positions=ROWS).layer(0, **layer)
        with h5py.File(self.path) as file:
            stored = file["samples/0/layers/0"]
            self.assertEqual((stored["key"].dtype, stored["value"].dtype), (np.dtype("f4"), np.dtype("f2")))
            self.assertEqual(stored["key"][0, 0, 0], 70000)

    def test_chunks_hold_whole_groups(self):
        self.assertEqual(choose_chunk((32, 8, 1024), 4, 2), (32, 8, 1024))
        self.assertEqual(choose_chunk((32, 32, 4096), 4, 2), (4, 16, 4096))
        self.assertEqual(choose_chunk((32, 32, 100000), 4, 2), (4, 1, 50000))
        self.assertEqual(choose_chunk((8, 100000, 128), 1, 2), (1, 2041, 128))

    def test_texts_of_any_kind(self):
        with TraceWriter(self.path, model="caf\u00e9") as trace:
            sample = trace.sample(context_length=LENGTH, query_heads=HEADS, kv_heads=KV_HEADS, query_positions=ROWS,
                                  generated="a\0b\ud800c")
            sample.layer(0, attention=layer_of(0)["attention"])
        with h5py.File(self.path) as file:
            self.assertEqual(file["samples/0"].attrs["generated"], "a\ufffdb?c")
        self.clean()

    def test_uncompressed(self):
        self.write(deflate=0)
        with h5py.File(self.path) as file:
            self.assertIsNone(file["samples/0/layers/0/attention"].compression)
        self.clean()

    def refuses(self, pattern, **layer):
        with self.assertRaisesRegex(TraceError, pattern), TraceWriter(self.path) as trace:
            sample = trace.sample(context_length=LENGTH, query_heads=HEADS, kv_heads=KV_HEADS, query_positions=ROWS)
            sample.layer(0, **layer)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_does_not_fit_is_refused(self):
        rows = layer_of(0)["attention"]
        self.refuses(r"layers/0/attention: expected \[6\]\[18\]\[70\], found \[6\]\[18\]\[69\]", attention=rows[:, :, 1:])
        self.refuses(r"found \[1\]\[6\]\[18\]\[70\]", attention=rows[None])
        self.refuses(r"key: expected \[2\]\[70\]\[8\], found \[6\]", query=layer_of(0)["query"], key=rows)
        self.refuses(r"found int64", attention=rows.astype("i8"))
        self.refuses(r"or query and key, found none", key=layer_of(0)["key"])
        self.refuses(r"a multiple of kv_heads", attention=rows, kv_heads=4)
        for pattern, facts in (("below 70 that ascend", {"query_positions": [3, 3]}),
                               ("start < end <= 70", {"needles": [(69, 71)]}),
                               ("prompt_length: expected 1", {"prompt_length": 71}),
                               ("pad: expected 0", {"pad": 70}), ("70 tokens", {"tokens": range(3)})):
            with self.assertRaisesRegex(TraceError, pattern), TraceWriter(self.path) as trace:
                trace.sample(context_length=LENGTH, query_heads=HEADS, kv_heads=KV_HEADS, **facts)
        with self.assertRaisesRegex(TraceError, "at least one sample"), TraceWriter(self.path):
            pass
        with self.assertRaisesRegex(TraceError, "/samples/0: expected at least one layer"):
            with TraceWriter(self.path) as trace:
                trace.sample(context_length=LENGTH, query_heads=HEADS, kv_heads=KV_HEADS)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_no_reader_would_take_is_refused(self):
        vectors = layer_of(0)
        rows, query, key = vectors["attention"], vectors["query"], vectors["key"]
        for pattern, layer in ((r"layers/0@scale: .* found nan", {"attention": rows, "scale": float("nan")}),
                               (r"@softcap: .* 0 or more, found -1", {"attention": rows, "softcap": -1.0}),
                               (r"@sliding_window: .* found 2.5", {"attention": rows, "sliding_window": 2.5}),
                               (r"@sink_logits: .* 0 ... 1, found 7", {"attention": rows, "sink_logits": 7}),
                               (r"scores: .* found 'a/b'", {"scores": {"a/b": rows[:, 0]}}),
                               (r"key: expected \[2\]\[70\]\[8\], found \[2\]\[70\]\[7\]", {"query": query, "key": key[:, :, 1:]})):
            self.refuses(pattern, **layer)
        for pattern, facts in (("found 59.5", {"prompt_length": 59.5}), ("found 1.5", {"query_positions": [1.5]}),
                               ("found nan", {"query_positions": [float("nan")]}),
                               ("found 4294967297", {"query_positions": [2**32 + 1]}),
                               (r"found \(1, 2, 3\)", {"needles": [(1, 2, 3)]}),
                               ("found 1099511627776", {"tokens": [2**40] * LENGTH}),
                               ("@head_dim", {"head_dim": 0}), ("has no slash", {"name": "."}),
                               ("has no slash", {"name": "a\0b"}), ("has no slash", {"name": "x" * 256}),
                               ("has no slash", {"name": "\ud800"})):
            with self.assertRaisesRegex(TraceError, pattern), TraceWriter(self.path) as trace:
                trace.sample(**{"context_length": LENGTH, "query_heads": HEADS, "kv_heads": KV_HEADS, **facts})
        for number in -1, 2**32, 1.7, "x":
            with self.assertRaisesRegex(TraceError, "number of a layer"), TraceWriter(self.path) as trace:
                trace.sample(context_length=LENGTH, query_heads=HEADS, kv_heads=KV_HEADS).layer(number)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_is_no_file_is_not_replaced(self):
        os.mkfifo(self.path)
        for path in self.path, self.folder:
            with self.assertRaisesRegex(TraceError, "expected a regular file"):
                TraceWriter(path)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(self.path)])

    def test_one_writer_at_a_time(self):
        with TraceWriter(self.path) as trace:
            with self.assertRaisesRegex(TraceError, "could not be written"):
                TraceWriter(self.path)
            trace.sample(context_length=LENGTH, query_heads=HEADS, kv_heads=KV_HEADS,
                         query_positions=ROWS).layer(0, attention=layer_of(0)["attention"])
        self.assertTrue(os.path.exists(self.path))

    def test_an_error_leaves_the_previous_file(self):
        self.write()
        with open(self.path, "rb") as file:
            before = file.read()
        with self.assertRaisesRegex(KeyboardInterrupt, ""), TraceWriter(self.path) as trace:
            trace.sample(tokens=range(9), query_heads=1, kv_heads=1)
            raise KeyboardInterrupt
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(self.folder), ["trace.h5"])

    def writes_forever(self):
        """A process that writes random layers to the path until something stops it."""
        program = ("import sys, numpy as np\n"
                   "from kvreplay_trace import TraceWriter, TraceError\n"
                   "try:\n"
                   "    with TraceWriter(sys.argv[1]) as trace:\n"
                   "        sample = trace.sample(context_length=500, query_heads=4, kv_heads=4)\n"
                   "        print('begun', flush=True)\n"
                   "        for number in range(10 ** 6):\n"
                   "            sample.layer(number, accumulated=np.random.random((4, 500)))\n"
                   "except TraceError as error:\n"
                   "    sys.exit(str(error))\n")
        limit = 2 << 20
        return subprocess.Popen(
            [sys.executable, "-c", program, self.path], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "traces")},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def test_a_full_disk_is_told_and_nothing_stays(self):
        with open(self.path, "w") as file:
            file.write("previous")
        process = self.writes_forever()
        _, errors = process.communicate()
        self.assertEqual((process.returncode, errors), (1, f'"{self.path}": could not be written: File too large\n'))
        self.assertEqual(os.listdir(self.folder), ["trace.h5"])
        with open(self.path) as file:
            self.assertEqual(file.read(), "previous")

    def test_a_killed_writer_leaves_the_previous_file(self):
        with open(self.path, "w") as file:
            file.write("previous")
        process = self.writes_forever()
        process.stdout.readline()
        time.sleep(0.05)
        process.kill()
        process.communicate()
        with open(self.path) as file:
            self.assertEqual(file.read(), "previous")

    def test_the_ten_lines_of_the_format(self):
        with open(os.path.join(ROOT, "traces/FORMAT.md"), encoding="utf-8") as file:
            code = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
        names = {}
        exec(code, names)  # the document's own words
        rows = [layer_of(seed)["attention"] for seed in range(3)]
        names["write_trace"](self.path, range(LENGTH), ROWS, rows, KV_HEADS, PROMPT, [(7, 9)])
        with h5py.File(self.path) as file:
            self.assertEqual(file["samples/0/layers/2/attention"][()].tobytes(), rows[2].astype("<f2").tobytes())
        self.clean()
        self.replays()


if __name__ == "__main__":
    unittest.main(verbosity=1)
