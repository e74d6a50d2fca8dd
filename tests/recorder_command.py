#!/usr/bin/env python3
"""Prompts with needles, and the recorder's command on a small model that is saved to a folder.

Needs torch and transformers; model and tokenizer are made here.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import tokenizers
import torch
import transformers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "traces"))
from kvreplay_prompts import Haystacks, PromptError, text_prompt  # noqa: E402

KVREPLAY = os.environ.get("KVREPLAY", os.path.join(ROOT, "build/kvreplay"))
TEMPLATE = ("{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}"
            "{% if add_generation_prompt %}<s>assistant:{% endif %}")
TEXT = "The secret number is 4711. Nothing else here is secret, and 12 is no secret number either."


def tokenizer_of(folder):
    """A byte-level tokenizer that learned a few merges from the words of the filler."""
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator([TEXT, "The old miller carried a letter near the bridge before breakfast."] * 20,
                             vocab_size=340, special_tokens=["<s>", "</s>"], show_progress=False)
    path = os.path.join(folder, "tokenizer.json")
    made.save(path)
    return transformers.PreTrainedTokenizerFast(tokenizer_file=path, bos_token="<s>", eos_token="</s>",
                                                chat_template=TEMPLATE)


class Prompts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tokenizer = tokenizer_of(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def words(self, prompt):
        return [self.tokenizer.decode(prompt.ids[start:end]) for start, end in prompt.needles]

    def test_needles_are_the_exact_tokens(self):
        prompt = text_prompt(self.tokenizer, TEXT, ["4711", "12"], False)
        self.assertEqual([word.strip() for word in self.words(prompt)], ["4711", "12"])
        self.assertEqual(self.tokenizer.decode(prompt.ids), TEXT)

    def test_every_place_of_a_needle(self):
        prompt = text_prompt(self.tokenizer, TEXT, [" secret"], True)
        self.assertEqual(self.words(prompt), [" secret"] * 3)

    def test_needles_that_are_not_there_or_not_whole_tokens(self):
        with self.assertRaisesRegex(PromptError, '"4712": is not in the prompt'):
            text_prompt(self.tokenizer, TEXT, ["4712"], False)
        with self.assertRaisesRegex(PromptError, '"ecret": its tokens hold "secret"'):
            text_prompt(self.tokenizer, TEXT, ["ecret"], False)

    def test_haystacks_hit_the_length_to_the_token(self):
        for chat in (False, True):
            haystacks = Haystacks(self.tokenizer, 5, chat=chat)
            for length in (120, 333):
                starts = []
                for depth in (0, 40, 100):
                    prompt = haystacks.prompt(length, depth)
                    self.assertEqual(len(prompt.ids), length)
                    self.assertEqual([word.strip() for word in self.words(prompt)], [prompt.attributes["answer"]])
                    starts.append(prompt.needles[0][0])
                self.assertEqual(starts, sorted(starts))
                self.assertTrue(self.tokenizer.decode(prompt.ids).endswith("assistant:" if chat else " is"))

    def test_a_seed_gives_the_same_prompts(self):
        twice = [Haystacks(self.tokenizer, 5).prompt(200, 50).ids for _ in range(2)]
        self.assertEqual(*twice)
        self.assertNotEqual(twice[0], Haystacks(self.tokenizer, 6).prompt(200, 50).ids)

    def test_given_filler(self):
        text = self.tokenizer.decode(Haystacks(self.tokenizer, 5, filler=TEXT).prompt(500, 50).ids)
        self.assertIn("Nothing else here", text)
        self.assertNotIn("miller", text)

    def test_a_length_without_room(self):
        with self.assertRaisesRegex(PromptError, "a length of 9: expected at least"):
            Haystacks(self.tokenizer, 5).prompt(9, 50)


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = os.path.join(cls.folder.name, "tiny")
        os.mkdir(cls.model)
        tokenizer_of(cls.model).save_pretrained(cls.model)
        torch.manual_seed(1)
        config = transformers.LlamaConfig(
            vocab_size=400, hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=6,
            num_key_value_heads=2, max_position_embeddings=4096, bos_token_id=0, eos_token_id=1)
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(cls.model)
        cls.out = os.path.join(cls.folder.name, "trace.h5")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def command(self, *arguments):
        return [sys.executable, os.path.join(ROOT, "traces/kvreplay_record.py"), "--model", self.model, "-o", self.out,
                *arguments]

    def run_command(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True,
                              env={**os.environ, "HF_HUB_OFFLINE": "1"})

    def test_a_grid(self):
        result = self.run_command("--niah", "90,130", "--depths", "0,100", "--batch", "3",
                                  "--generate", "4", "--store", "attention,accumulated,query,key")
        self.assertEqual(result.returncode, 0, result.stderr)
        with h5py.File(self.out) as file:
            self.assertEqual(sorted(file["samples"]), ["0", "1", "2", "3"])
            facts = [dict(file[f"samples/{name}"].attrs) for name in range(4)]
            spans = [file[f"samples/{name}/needles"][()].tolist() for name in range(4)]
        self.assertEqual([(f["prompt_length"], f.get("pad", 0)) for f in facts],
                         [(130, 40), (130, 40), (130, 0), (130, 0)])
        for f, span in zip(facts, spans):
            self.assertTrue(f.get("pad", 0) < span[0][0] < span[0][1] < 130)
        self.assertEqual(facts[1]["subset"], "90 tokens, depth 100 %")
        check = subprocess.run([KVREPLAY, "check", self.out], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)
        self.assertIn(" 0 errors, 0 warnings", check.stdout)

    def test_prompt_files(self):
        path = os.path.join(self.folder.name, "text")
        with open(path, "w") as file:
            file.write(TEXT)
        result = self.run_command("--prompt-file", path, "--needle", "4711", "--generate", "0", "--layers", "1",
                                  "--rows", "4", "--chat")
        self.assertEqual(result.returncode, 0, result.stderr)
        with h5py.File(self.out) as file:
            self.assertEqual(file["samples/0/layers/1/attention"].shape[1], 4)
            self.assertEqual(file["samples/0/needles"].shape, (1, 2))

    def test_what_is_wrong_is_told_in_one_line(self):
        with open(self.out, "w") as file:
            file.write("previous")
        path = os.path.join(self.folder.name, "none")
        for pattern, arguments in ((f"No such file or directory: '{path}'", ["--prompt-file", path]),
                                   ("a length of 5: expected at least", ["--niah", "5"])):
            result = self.run_command(*arguments)
            self.assertEqual(result.returncode, 1)
            self.assertIn(pattern, result.stderr.splitlines()[-1])
        self.assertEqual(self.run_command("--niah", "90", "--needle", "x").returncode, 2)
        with open(self.out) as file:
            self.assertEqual(file.read(), "previous")

    def test_a_signal_leaves_the_previous_file_alone(self):
        with open(self.out, "w") as file:
            file.write("previous")
        process = subprocess.Popen(self.command("--niah", "100,3000", "--depths", "1-9"),
                                   text=True, stderr=subprocess.PIPE)
        while "recorded" not in process.stderr.readline():
            self.assertIsNone(process.poll(), "it ended before the signal")
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        process.communicate()
        self.assertEqual(process.returncode, 143)
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("trace")], ["trace.h5"])
        with open(self.out) as file:
            self.assertEqual(file.read(), "previous")


if __name__ == "__main__":
    unittest.main(verbosity=1)
