#!/usr/bin/env python3
"""Does a replay predict the model? Records prompts, replays every policy, runs the kept sets live.

    make study STUDY_MODEL=path/to/SmolLM2-135M-Instruct.Q4_1.gguf

Prompts of two tasks: needles (a secret number among three others, hidden in prose; the answer is the
model's) and prose (a text, and as the answer how it really goes on: the continuations that so small a
model makes up soon repeat themselves, and then need no prompt). Needle prompts that the model gets wrong with its full cache say
nothing about eviction and are replaced. Prompts come in parts of a few, one trace each, which is
removed when its tables and live figures are there; a run that was broken off goes on with the next.

kvreplay_study_page.py makes analysis/PREDICTS.md of what this leaves. It must not know what a
policy is, nor how figures are ranked.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from typing import Any, Iterator, List, NamedTuple, Sequence, Tuple

import kvreplay_live as live_run  # before torch: it says how its threads wait
import torch

from kvreplay_prompts import chat_text, exact_span, tokens_of
from kvreplay_record import record

HERE = os.path.dirname(os.path.abspath(__file__))
PROSE = os.path.join(HERE, "study", "prose.txt")
CITIES = ("Lisbon", "Oslo", "Cairo", "Lima", "Vienna", "Dublin", "Prague", "Athens", "Quito", "Tunis")
LENGTHS = (512, 640, 768, 896, 1024)  # tokens of a needle prompt, at most
DEPTHS = 8  # from the first sentence to the last
DISTRACTORS = 3
DIGITS = 7
NEEDLE_TOKENS, PROSE_TOKENS = 14, 24  # of the answers: at most, exactly
PART = 5  # prompts in a trace
TRIES = 20  # for a needle prompt that is answered right

POLICIES = ("independent,mean,max,page-entrokv,streaming-llm,random,h2o,observed,tova,snapkv,snapkv-heads,"
            "pyramidkv,ada-snapkv,page-gate,model-mass,knorm,keydiff,clairvoyant")
REPLAY = ["--policy", POLICIES, "--scorer", "last,window", "--budget", "0.05,0.1,0.2,0.4", "--page-size", "1,16",
          "--match", "physical", "--quiet"]


class StudyError(Exception):
    """What keeps the study from going on, in one line."""


class Prompt(NamedTuple):
    task: str
    ids: List[int]
    needles: List[Tuple[int, int]]
    answer: str  # what a right answer holds; none for prose
    rest: List[int]  # how prose goes on
    subset: str


class WrongAnswer(Exception):
    """The model errs with its full cache."""


# ---- prompts


class Prompts:
    """All prompts of the study: the same for the same seed."""

    def __init__(self, tokenizer: Any, seed: int) -> None:
        self.tokenizer, self.seed = tokenizer, seed
        with open(PROSE, encoding="utf-8") as file:
            self.passages = file.read().strip().split("\n\n")
        # The last sentence of a passage breaks off.
        self.sentences = [re.split(r"(?<=[.!?]) ", passage)[:-1] for passage in self.passages]

    def prose(self, number: int) -> Prompt:
        ids, _ = tokens_of(self.tokenizer, self.passages[number % len(self.passages)], special=True)
        return Prompt("prose", ids[:-PROSE_TOKENS], [], "", ids[-PROSE_TOKENS:], f"passage {number}")

    def needle(self, number: int, attempt: int) -> Prompt:
        """Four facts in whole sentences of prose; one is asked for, at a depth that the number decides."""
        chance = random.Random(f"{self.seed} needle {number} {attempt}")
        length, depth = LENGTHS[number % len(LENGTHS)], number * 3 % DEPTHS / (DEPTHS - 1)
        cities = chance.sample(CITIES, DISTRACTORS + 1)
        values = [str(chance.randrange(10 ** (DIGITS - 1), 10 ** DIGITS)) for _ in cities]
        facts = [f"The secret number of {city} is {value}." for city, value in zip(cities, values)]
        passages = chance.sample(self.sentences, len(self.sentences))
        hay = [sentence for passage in passages for sentence in passage]
        places = [depth] + [chance.random() for _ in facts[1:]]
        while True:
            text = self._needle_text(hay, facts, places, cities[0])
            ids, offsets = tokens_of(self.tokenizer, text)
            if len(ids) <= length:
                break
            hay = hay[:len(hay) - max(1, (len(ids) - length) // 60)]
        start = text.index(facts[0]) + len(facts[0]) - 1 - DIGITS
        span = exact_span(text, offsets, start, start + DIGITS)
        return Prompt("needle", ids, [span], values[0], [], f"{length} tokens, depth {depth:.0%}")

    def _needle_text(self, hay: Sequence[str], facts: Sequence[str], places: Sequence[float], city: str) -> str:
        sentences = list(hay)
        for place, fact in sorted(zip(places, facts), reverse=True):
            sentences.insert(round(place * len(hay)), fact)
        question = f"Read the text and answer the question.\n\n{' '.join(sentences)}\n\n" \
                   f"What is the secret number of {city}?"
        return chat_text(self.tokenizer, question) + f"The secret number of {city} is"


# ---- one part: record, replay, run


class Study:
    def __init__(self, options: argparse.Namespace) -> None:
        from transformers import AutoTokenizer

        self.options = options
        self.live = live_run.LiveModel(options.model, None, "cpu")
        folder, gguf = os.path.split(options.model)
        tokenizer = AutoTokenizer.from_pretrained(folder or ".", gguf_file=gguf)
        self.tokenizer, self.prompts = tokenizer, Prompts(tokenizer, options.seed)

    def path(self, *parts: str) -> str:
        path = os.path.join(self.options.out, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def _record_one(self, recorder: Any, prompt: Prompt) -> str:
        """Returns the answer; raises WrongAnswer, and records nothing, if it isn't the right one."""
        inputs = {"input_ids": torch.tensor([prompt.ids]), "attention_mask": torch.ones(1, len(prompt.ids)).long()}
        with recorder.prompts(inputs, [prompt.needles], task=prompt.task, subset=prompt.subset):
            if prompt.rest:
                cache = self.live.new_cache()
                for ids, start in (prompt.ids, 0), (prompt.rest, len(prompt.ids)):
                    self.live.run(self.live.stock, self.live.ids(ids), start, cache)
                return self.tokenizer.decode(prompt.rest)
            # The last token that is generated is never fed: hence one more.
            tokens = self.live.model.generate(**inputs, max_new_tokens=NEEDLE_TOKENS + 1, do_sample=False)
            said = self.tokenizer.decode(tokens[0, len(prompt.ids):-1])
            if prompt.answer not in said:
                raise WrongAnswer(said)
        return said

    def record_part(self, task: str, first: int, count: int, path: str) -> int:
        """Writes the trace of prompts first ... first + count - 1; returns how many were tried."""
        tried = 0
        self.live.model.set_attn_implementation(self.live.stock)
        with record(self.live.model, path, rows=32, store=("attention", "accumulated", "query", "key", "value"),
                    name="SmolLM2-135M-Instruct Q4_1", tokenizer=self.tokenizer) as recorder:
            for number in range(first, first + count):
                for attempt in range(TRIES):
                    tried += 1
                    prompt = self.prompts.prose(number) if task == "prose" else self.prompts.needle(number, attempt)
                    try:
                        said = self._record_one(recorder, prompt)
                    except WrongAnswer:
                        continue
                    say(f"{task} {number}: {len(prompt.ids)} tokens, said {said!r}")
                    break
                else:
                    raise StudyError(f"{task} {number}: no prompt of {TRIES} was answered right")
        return tried

    def run_part(self, task: str, first: int, count: int) -> None:
        """Leaves tables/NAME, live/NAME.csv and, last of all, live/NAME.json."""
        name = f"{task}-{first // PART}"
        done = self.path("live", f"{name}.json")
        if os.path.exists(done):
            return
        trace, kept = self.path("traces", f"{name}.h5"), self.path("traces", f"{name}.keep.h5")
        tried = self.record_part(task, first, count, trace)
        command = [self.options.kvreplay, "replay", trace, "--keep", kept, "-o", self.path("tables", name),
                   "--threads", str(self.options.threads), *REPLAY]
        if subprocess.run(command, check=False).returncode != 0:
            raise StudyError(f"failed: {' '.join(command)}")
        say(f"{name}: replayed")
        checks = live_run.Checks(self.options.verify)
        live_run.run_trace(self.live, live_run.usage().parse_args(
            [trace, "--keep", kept, "--model", self.options.model, "-o", self.path("live", f"{name}.csv"),
             "--answer", "none" if task == "prose" else "greedy"]), checks)
        facts = {"task": task, "samples": count, "tried": tried, "own": checks.own, "float": checks.in_float,
                 "double": checks.in_double}
        with open(done + ".tmp", "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.replace(done + ".tmp", done)
        for path in (trace, kept) if not self.options.keep_traces else ():
            os.unlink(path)
        say(f"{name}: done; {checks.summary()}")

    def parts(self) -> Iterator[Tuple[str, int, int]]:
        """Parts of the two tasks in turn, so that a run that is broken off has both."""
        wanted = {"needle": self.options.needles, "prose": self.options.prose}
        for first in range(0, max(wanted.values()), PART):
            for task, total in wanted.items():
                if first < total:
                    yield task, first, min(PART, total - first)


# ---- the command


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def usage() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, metavar="FILE.gguf", help="SmolLM2-135M-Instruct")
    parser.add_argument("-o", dest="out", default="build/study", metavar="DIR", help="(build/study)")
    parser.add_argument("--kvreplay", default="build/kvreplay", metavar="COMMAND", help="(build/kvreplay)")
    parser.add_argument("--needles", type=int, default=40, metavar="N", help="needle prompts (40)")
    parser.add_argument("--prose", type=int, default=20, metavar="N", help="prose prompts, at most 20 (20)")
    parser.add_argument("--verify", type=int, default=2, metavar="N",
                        help="conditions a prompt that are also run on a really evicted cache (2)")
    parser.add_argument("--seed", type=int, default=1, help="of the needle prompts (1)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(one per processor)")
    parser.add_argument("--keep-traces", action="store_true", help="don't remove traces and kept sets")
    return parser


def main() -> int:
    options = usage().parse_args()
    torch.set_num_threads(options.threads)
    try:
        study = Study(options)
        for task, first, count in study.parts():
            study.run_part(task, first, count)
    except (StudyError, live_run.LiveError, OSError) as error:
        print(f"kvreplay_study.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
