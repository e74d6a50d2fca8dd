#!/usr/bin/env python3
"""The recorder for transformers against eager attention, on small models with random weights.

Eager attention returns its weights: another way to the same rows, through the models' own code. It
runs over the whole sequence at once, the recorder listens to a fused run that decodes with a cache.
Needs torch and transformers (no model files); models of real size are not for a test.
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import torch
import transformers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "traces"))
import kvreplay_record  # noqa: E402
from kvreplay_record import DATASETS, TraceError, record  # noqa: E402

KVREPLAY = os.environ.get("KVREPLAY", "build/kvreplay")
SIZES = dict(vocab_size=97, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
             num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=256,
             pad_token_id=0, bos_token_id=1, eos_token_id=2)
HALF = 2.0 ** -11  # what rounding to half moves a weight below 1 by, at most


def model_of(config, attention="sdpa"):
    torch.manual_seed(7)
    config._attn_implementation = attention
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith(("q_proj.weight", "k_proj.weight")):
                weights.mul_(8)  # rows that differ from uniform ones
            if name.endswith("sinks"):
                weights.copy_(torch.linspace(-1, 2, weights.numel()))
    return model


def eager_rows(model, tokens):
    """Weights of all layers, [layer][head][row][column], of one sequence without padding."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(torch.tensor([tokens]), output_attentions=True)
    return np.stack([weights[0].float().numpy() for weights in out.attentions])


def prompt(length, seed=3):
    return np.random.default_rng(seed).integers(3, 97, length).tolist()


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "trace.h5")
        self.addCleanup(setattr, kvreplay_record, "TILE_ROWS", kvreplay_record.TILE_ROWS)
        kvreplay_record.TILE_ROWS = 7  # so that small prompts take several tiles

    def run_model(self, model, tokens, steps=5, **options):
        """Records one prompt and `steps` decoded tokens."""
        options = {"rows": 8, "element": "float", **options}
        with record(model, self.path, **options) as recorder, recorder.prompts([tokens]):
            model.generate(torch.tensor([tokens]), max_new_tokens=steps + 1, min_new_tokens=steps + 1,
                           do_sample=False)

    def layer(self, number, sample="0"):
        with h5py.File(self.path) as file:
            layer = file[f"samples/{sample}/layers/{number}"]
            return {name: values[()] for name, values in layer.items()}, dict(layer.attrs)

    def whole(self, sample="0"):
        with h5py.File(self.path) as file:
            group = file[f"samples/{sample}"]
            return group["tokens"][()].tolist(), group["query_positions"][()], dict(group.attrs)

    def agrees(self, model, sample="0", most=2e-6, sum_most=2e-5):
        tokens, positions, facts = self.whole(sample)
        pad, prompt_length = facts.get("pad", 0), facts["prompt_length"]
        expected = eager_rows(model, tokens[pad:])
        for number, rows in enumerate(expected):
            arrays, _ = self.layer(number, sample)
            self.assertFalse(arrays["attention"][:, :, :pad].any())
            ours = arrays["attention"][:, :, pad:]
            self.assertLessEqual(np.abs(ours - rows[:, positions - pad]).max(), most)
            sums = rows[:, :prompt_length - pad].sum(1)
            self.assertLessEqual(np.abs(arrays["accumulated"][:, pad:] - sums).max(), sum_most)

    def passes_check(self):
        result = subprocess.run([KVREPLAY, "check", self.path], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(" 0 errors, 0 warnings", result.stdout)

    def test_llama_with_fused_attention(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        self.run_model(model, prompt(40), store=DATASETS)
        tokens, positions, facts = self.whole()
        self.assertEqual((len(tokens), facts["prompt_length"]), (45, 40))
        self.assertEqual(positions.tolist(), list(range(32, 45)))
        self.agrees(model)
        self.passes_check()

    def test_vectors_give_the_rows(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        self.run_model(model, prompt(40), store=DATASETS)
        arrays, _ = self.layer(1)
        key = np.repeat(arrays["key"], 2, 0)
        logits = np.einsum("hqd,hnd->hqn", arrays["query"], key) / 4
        columns, positions = np.arange(45), np.arange(32, 45)
        logits[:, columns[None, :] > positions[:, None]] = -np.inf
        weights = np.exp(logits - logits.max(2, keepdims=True))
        weights /= weights.sum(2, keepdims=True)
        self.assertLess(np.abs(weights - arrays["attention"]).max(), 2e-6)
        self.assertEqual(arrays["value"].shape, (2, 45, 16))

    def test_eager_attention_is_listened_to_as_well(self):
        model = model_of(transformers.LlamaConfig(**SIZES), "eager")
        self.run_model(model, prompt(33), steps=0)
        self.agrees(model)

    def test_half_is_off_by_its_rounding(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        self.run_model(model, prompt(40), element="half")
        self.agrees(model, most=HALF)
        self.passes_check()

    def test_windows_shorter_than_the_prompt(self):
        model = model_of(transformers.MistralConfig(**SIZES, sliding_window=9))
        self.run_model(model, prompt(40), store=DATASETS)
        self.agrees(model)
        self.assertEqual(self.layer(0)[1]["sliding_window"], 9)
        self.passes_check()

    def test_softcap_and_layers_that_differ(self):
        config = transformers.Gemma2Config(**SIZES, sliding_window=9, attn_logit_softcapping=5.0,
                                           query_pre_attn_scalar=20)
        model = model_of(config, "eager")
        self.run_model(model, prompt(40), store=DATASETS)
        self.agrees(model)
        windows = [self.layer(number)[1].get("sliding_window", 0) for number in range(3)]
        self.assertEqual(windows, [9, 0, 9])
        _, attributes = self.layer(0)
        self.assertEqual(attributes["softcap"], 5)
        self.assertAlmostEqual(attributes["scale"], 20 ** -0.5)
        self.passes_check()

    def test_sink_logits(self):
        config = transformers.GptOssConfig(**SIZES, sliding_window=9, num_local_experts=2, num_experts_per_tok=1)
        model = model_of(config, "eager")
        self.run_model(model, prompt(40), store=DATASETS)
        self.agrees(model)
        arrays, attributes = self.layer(0)
        self.assertEqual(attributes["sink_logits"], 1)
        self.assertLess(arrays["attention"].sum(2).min(), 0.99)
        self.passes_check()

    def test_padded_batch_equals_single_runs(self):
        model = model_of(transformers.Qwen2Config(**SIZES))
        texts = [prompt(40, 1), prompt(29, 2), prompt(5, 3)]
        ids = torch.tensor([[0] * (40 - len(text)) + text for text in texts])
        with record(model, self.path, rows=8, element="float") as recorder:
            inputs = {"input_ids": ids, "attention_mask": (ids != 0).long()}
            with recorder.prompts(inputs, needles=[[(3, 5)], [], [(36, 38)]], task=["a", "b", "c"]):
                model.generate(**inputs, max_new_tokens=5, min_new_tokens=5, do_sample=False)
        for sample, text in enumerate(texts):
            tokens, positions, facts = self.whole(str(sample))
            self.assertEqual(tokens[40 - len(text):40], text)
            self.assertEqual(facts.get("pad", 0), 40 - len(text))
            self.assertEqual(positions[0], max(32, 40 - len(text)))
            self.assertEqual(facts["task"], "abc"[sample])
            self.agrees(model, str(sample), most=1e-5, sum_most=1e-4)
            model.set_attn_implementation("sdpa")
        self.passes_check()

    def test_an_answer_that_ends_is_cut(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        text = torch.tensor([prompt(20, 1), prompt(20, 2)])
        with torch.no_grad():
            free = model.generate(text, max_new_tokens=8, do_sample=False, eos_token_id=None)[:, 20:]
        end = free[0, 3].item()
        first = free[0].tolist().index(end)
        self.assertNotIn(end, free[1].tolist())
        model.generation_config.eos_token_id = end
        with record(model, self.path, rows=4) as recorder, recorder.prompts(text):
            model.generate(text, max_new_tokens=7, do_sample=False)
        self.assertEqual(len(self.whole("0")[0]), 20 + first)
        self.assertEqual(len(self.whole("1")[0]), 26)

    def test_prompts_in_pieces(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        ids = torch.tensor([prompt(40)])
        with record(model, self.path, rows=8, element="float") as recorder, recorder.prompts(ids):
            model.generate(ids, max_new_tokens=4, min_new_tokens=4, do_sample=False, prefill_chunk_size=11)
        self.agrees(model)

    def test_chosen_layers(self):
        self.run_model(model_of(transformers.LlamaConfig(**SIZES)), prompt(20), layers=[2], store=["attention"])
        with h5py.File(self.path) as file:
            self.assertEqual(list(file["samples/0/layers"]), ["2"])
            self.assertEqual(list(file["samples/0/layers/2"]), ["attention"])

    def test_all_rows_and_no_weights(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        self.run_model(model, prompt(20), rows=None)
        self.assertEqual(self.whole()[1].tolist(), list(range(25)))
        self.agrees(model)
        model.set_attn_implementation("sdpa")
        self.run_model(model, prompt(20), store=["query", "key"])
        self.assertEqual(sorted(self.layer(0)[0]), ["key", "query"])
        self.passes_check()
        with self.assertRaisesRegex(TraceError, "both of query and key"):
            self.run_model(model, prompt(20), store=["key"])

    def test_bfloat16(self):
        model = model_of(transformers.LlamaConfig(**SIZES)).to(torch.bfloat16)
        self.run_model(model, prompt(40), store=DATASETS)
        self.passes_check()

    def refuses(self, pattern, model, use, **options):
        with open(self.path, "w") as file:
            file.write("previous")
        with self.assertRaisesRegex(TraceError, pattern), record(model, self.path, **options) as recorder:
            use(recorder)
        self.assertEqual(os.listdir(self.folder.name), ["trace.h5"])
        with open(self.path) as file:
            self.assertEqual(file.read(), "previous")

    def test_what_cannot_be_recorded(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        ids = torch.tensor([prompt(20)])

        def right_padding(recorder):
            with recorder.prompts({"input_ids": ids, "attention_mask": torch.arange(20)[None] < 15}):
                pass

        def nothing(recorder):
            with recorder.prompts(ids):
                pass

        def without_cache(recorder):
            with recorder.prompts(ids):
                model.generate(ids, max_new_tokens=3, min_new_tokens=3, use_cache=False)

        def other_tokens(recorder):
            with recorder.prompts(ids):
                model(ids + 1)

        def static_cache(recorder):
            with recorder.prompts(ids):
                model.generate(ids, max_new_tokens=3, cache_implementation="static")

        self.refuses("padding on the left only", model, right_padding)
        self.refuses("no layer was heard", model, nothing)
        self.refuses("use_cache=True", model, without_cache)
        self.refuses("other tokens than those announced", model, other_tokens)
        self.refuses("static and shortened caches", model, static_cache)
        model.config.kv_lora_rank = 8
        self.refuses("multi-head latent attention", model, nothing)

    def test_an_error_leaves_the_previous_file_and_no_hook(self):
        model = model_of(transformers.LlamaConfig(**SIZES))
        before = kvreplay_record.AttentionInterface.get_interface

        def stop(recorder):
            with recorder.prompts(torch.tensor([prompt(20)])):
                raise TraceError("stopped")

        self.refuses("stopped", model, stop)
        self.assertIs(kvreplay_record.AttentionInterface.get_interface, before)
        self.assertFalse(model._forward_pre_hooks)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(verbosity=1)
