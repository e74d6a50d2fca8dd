#!/usr/bin/env python3
"""kvreplay_live.py on small models with random weights: masked, really evicted and unmodified runs.

Figures are computed here a second time, from the model's own eager attention under a mask that is
written out token by token. Needs torch and transformers (no model files).
"""
import csv
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "traces"))
import kvreplay_live as live_run  # noqa: E402  before torch
import h5py  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

from kvreplay_record import record  # noqa: E402

KVREPLAY = os.environ.get("KVREPLAY", "build/kvreplay")
SIZES = dict(vocab_size=97, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=256, pad_token_id=0, bos_token_id=1,
             eos_token_id=2)
PROMPT, ANSWER = 60, 6
POLICIES = "mean,independent,ada-snapkv,pyramidkv,knorm,random"


def sharp(model):
    """Random weights that attend to some tokens more than to others."""
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith(("q_proj.weight", "k_proj.weight")):
                weights.mul_(8)
    return model.eval()


class Live(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, name):
        return os.path.join(self.folder, name)

    def prepare(self, config, answer=None):
        """Saves a model, records one prompt of it, replays; `answer` in place of the model's own."""
        torch.manual_seed(7)
        model = sharp(transformers.AutoModelForCausalLM.from_config(config))
        model.save_pretrained(self.at("model"))
        tokens = np.random.default_rng(3).integers(3, 97, PROMPT).tolist()
        with record(model, self.at("trace.h5"), rows=32, element="float",
                    store=("attention", "accumulated", "query", "key", "value")) as recorder:
            with recorder.prompts([tokens]):
                cache = transformers.DynamicCache()
                with torch.no_grad():
                    out = model(torch.tensor([tokens]), past_key_values=cache, use_cache=True)
                    for step in range(ANSWER):
                        token = int(out.logits[0, -1].argmax()) if answer is None else answer[step]
                        out = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
        subprocess.run([KVREPLAY, "replay", self.at("trace.h5"), "--keep", self.at("kept.h5"), "-o", self.at("tables"),
                        "--policy", POLICIES, "--scorer", "window", "--budget", "0.1,0.3", "--page-size", "1,4",
                        "--quiet"], check=True)
        return model

    def run_live(self, *options):
        out = self.at("live.csv")
        live_run.torch.set_num_threads(1)
        asked = live_run.usage().parse_args([self.at("trace.h5"), "--keep", self.at("kept.h5"), "--model",
                                             self.at("model"), "-o", out, "--quiet", "--verify", "100", *options])
        checks = live_run.Checks(asked.verify)
        live_run.run_trace(live_run.LiveModel(asked.model, asked.gguf, asked.device), asked, checks)
        with open(out, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file)), checks

    def kept(self, row, layer):
        """[KV heads][P], true where kept: from the file, with sets of Python."""
        with h5py.File(self.at("kept.h5")) as file:
            sets = file[f"samples/0/{row['policy']}/{row['scorer'].replace('/', '%2F')}/p{row['page_size']}"
                        f"/b{row['budget']}/layers/{layer}"]
            offsets, positions = sets["offsets"][()].tolist(), sets["positions"][()].tolist()
        rows = [set(positions[a:b]) for a, b in zip(offsets, offsets[1:])]
        heads = len(rows) // 2
        return [[p in set().union(*rows[g * heads:(g + 1) * heads]) for p in range(PROMPT)] for g in range(2)]

    def expected(self, model, row):
        """Logits of the decode rows: eager attention whose mask is replaced in every layer."""
        with h5py.File(self.at("trace.h5")) as file:
            tokens = file["samples/0/tokens"][()].astype(int).tolist()
        handles = []

        def masking(layer, window):
            mask = torch.full((4, len(tokens), len(tokens)), -torch.inf)
            kept = self.kept(row, layer)
            for head in range(4):
                for q in range(len(tokens)):
                    for p in range(q + 1):
                        seen = q < PROMPT or p >= PROMPT or kept[head // 2][p]
                        if seen and (not window or p > q - window):
                            mask[head, q, p] = 0

            def hook(_module, arguments, given):
                given["attention_mask"] = mask[None]
                return arguments, given
            return hook

        for number, layer in enumerate(model.model.layers):
            window = getattr(layer.self_attn, "sliding_window", None)
            handles.append(layer.self_attn.register_forward_pre_hook(masking(number, window), with_kwargs=True))
        try:
            model.set_attn_implementation("eager")
            with torch.no_grad():
                return model(torch.tensor([tokens])).logits[0, PROMPT:].double(), tokens[PROMPT:]
        finally:
            for handle in handles:
                handle.remove()

    def full(self, model):
        with h5py.File(self.at("trace.h5")) as file:
            tokens = file["samples/0/tokens"][()].astype(int).tolist()
        with torch.no_grad():
            return model(torch.tensor([tokens])).logits[0, PROMPT:].double()

    def agrees(self, model, rows):
        full = self.full(model).log_softmax(-1)
        for row in rows[::3]:
            logits, answer = self.expected(model, row)
            log_p = logits.log_softmax(-1)
            each = [float(log_p[i, answer[i + 1]]) for i in range(len(answer) - 1)]
            each_full = [float(full[i, answer[i + 1]]) for i in range(len(answer) - 1)]
            kl = float((full.exp() * (full - log_p)).sum(-1).mean())
            self.assertAlmostEqual(float(row["logprob"]), np.mean(each), delta=2e-4)
            self.assertAlmostEqual(float(row["logprob_full"]), np.mean(each_full), delta=2e-4)
            self.assertAlmostEqual(float(row["kl"]), kl, delta=2e-4)
            same = all(int(logits[i].argmax()) == answer[i + 1] for i in range(len(answer) - 1))
            self.assertEqual(row["right"], str(int(same)))

    def test_llama(self):
        model = self.prepare(transformers.LlamaConfig(**SIZES))
        rows, checks = self.run_live()
        self.assertEqual(len(rows), 6 * 2 * 2)
        self.agrees(model, rows)
        found = checks.in_float["evicted"] + checks.in_double["evicted"]
        self.assertGreaterEqual(len(found), 16)
        self.assertGreater(checks.own, 4)
        self.assertGreaterEqual(len(found) - checks.own, 4)
        self.assertEqual(len(checks.in_float["unmodified"] + checks.in_double["unmodified"]), 1)

    def test_softcap_and_windows(self):
        layers = ["sliding_attention", "full_attention", "sliding_attention"]
        model = self.prepare(transformers.Gemma2Config(**SIZES, sliding_window=24, layer_types=layers,
                                                       query_pre_attn_scalar=16))
        rows, checks = self.run_live()
        self.agrees(model, rows)
        self.assertEqual(checks.own, 0)

    def test_small_batches_are_the_same(self):
        self.prepare(transformers.LlamaConfig(**SIZES))
        many, _ = self.run_live("--rows", "10000")
        few, _ = self.run_live("--rows", "1")
        for a, b in zip(many, few):
            self.assertAlmostEqual(float(a["logprob"]), float(b["logprob"]), delta=1e-4)
            self.assertEqual(a["right"], b["right"])

    def test_answers_of_others(self):
        """Right is judged by what the full cache says, or by what was recorded, or not at all."""
        model = self.prepare(transformers.LlamaConfig(**SIZES), answer=[5, 6, 7, 8, 9, 10])
        rows, _ = self.run_live("--verify", "0")
        live = live_run.LiveModel(self.at("model"), None, "cpu")
        with live_run.open_hdf5(self.at("trace.h5"), "kvreplay-trace") as trace:
            sample, = live_run.read_samples(trace, None)
        greedy = live.greedy(live.prefill(sample), sample.answer)
        with torch.no_grad():
            own = model.generate(torch.tensor([sample.tokens[:PROMPT].tolist()]), max_new_tokens=ANSWER, do_sample=False)
        self.assertEqual(greedy.tolist(), own[0, PROMPT:].tolist())
        self.assertEqual({row["right"] for row in self.run_live("--answer", "recorded")[0]}, {"0"})
        self.assertEqual({row["right"] for row in self.run_live("--answer", "none")[0]}, {""})
        self.assertLessEqual({row["right"] for row in rows}, {"0", "1"})

    def test_full_sets_change_nothing(self):
        self.prepare(transformers.LlamaConfig(**SIZES))
        subprocess.run([KVREPLAY, "replay", self.at("trace.h5"), "--keep", self.at("kept.h5"), "-o", self.at("tables"),
                        "--policy", "mean", "--scorer", "window", "--budget", "1", "--page-size", "1",
                        "--quiet"], check=True)
        rows, _ = self.run_live()
        for row in rows:
            self.assertEqual((row["right"], float(row["kl"]), row["logprob"]), ("1", 0, row["logprob_full"]))

    def test_refused(self):
        self.prepare(transformers.LlamaConfig(**SIZES))

        def says(expected, *options):
            with self.assertRaisesRegex(live_run.LiveError, expected):
                self.run_live(*options)
            self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".tmp")], [])

        says("no such sample", "--samples", "7")
        with h5py.File(self.at("kept.h5"), "a") as file:
            file.attrs["trace"] = "other.h5"
        says("expected trace.h5, found other.h5")
        with h5py.File(self.at("kept.h5"), "a") as file:
            file.attrs["trace"] = "trace.h5"
            file["samples/0/mean/window/p1/b0.1/layers/0/positions"][0] = PROMPT
        says("expected sets of 2 KV heads within 3 layers and 60 positions")
        with h5py.File(self.at("kept.h5"), "a") as file:
            file.attrs["version"] = 2
        says("expected kvreplay-keep, version 1")
        with h5py.File(self.at("trace.h5"), "a") as file:
            del file["samples/0/tokens"]
        os.unlink(self.at("kept.h5"))
        says("cannot be opened")


if __name__ == "__main__":
    unittest.main()
