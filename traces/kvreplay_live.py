#!/usr/bin/env python3
"""Lets a model go on from a cache that was really cut to the sets that kvreplay says are kept.

    kvreplay replay trace.h5 --keep kept.h5 -o tables
    kvreplay_live.py trace.h5 --keep kept.h5 --model FOLDER -o live.csv [--gguf FILE] [--verify 8]
    kvreplay predict tables --live live.csv

Needs torch, transformers (5.x), h5py and numpy. It must not know how a set came to be kept, nor what
the tables say of it: those two are held against each other by `kvreplay predict`.

What is prefill and what is decode, as in the trace: the prompt's P tokens go through the whole model
with nothing evicted, so the answer's first token comes from the last prompt row and is the same
under every policy. Then the cache is cut, once. The answer's tokens at P ... N-1 are the decode rows:
each sees, in every layer and KV head, exactly the kept prompt positions (at the rotary positions that
they always had) and all answer tokens up to itself. Row P+i is what token P+i+1 comes from.

Columns of live.csv, one row a sample, policy, scorer, page size and budget:

    right         1 if greedy decoding gives the answer that it gives with the full cache (--answer greedy)
                  or the recorded answer (--answer recorded), token for token; else 0; empty for --answer none
    logprob       mean natural log-probability of the recorded answer's tokens after the first, which no
                  eviction can touch; empty if there is one token only
    logprob_full  the same with the full cache
    kl            mean over the decode rows of KL(full cache || cut cache) in nats, the last row included

A policy that keeps a set per query head fills its group's buffer with their union, and every head of
the group sees all of it. Layers that the kept sets don't speak of, and groups that the replay excluded,
keep everything.
"""
from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import h5py
import numpy as np

from kvreplay_evicted import LiveError, LiveModel, Prefix, Sample  # before torch: it sets what torch reads
import torch

COLUMNS = ("trace", "sample", "policy", "scorer", "page_size", "budget", "right", "logprob", "logprob_full", "kl")
TOLERANCE = 1e-4  # of a logit, between the masked and the really evicted cache


# ---- files


class Condition(NamedTuple):
    """One way of cutting a sample's cache, and the HDF5 group of its layers."""

    policy: str
    scorer: str
    page_size: int
    budget: str
    layers: h5py.Group


def text_of(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def open_hdf5(path: str, expected: str) -> h5py.File:
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise LiveError(f'"{path}": cannot be opened as HDF5: {" ".join(str(error).split())}') from error
    found = text_of(file.attrs.get("format", "no format"))
    if found != expected or int(file.attrs.get("version", 0)) != 1:
        raise LiveError(f'"{path}": /: expected {expected}, version 1, found {found}')
    return file


def name_order(name: str) -> Tuple[bool, int, str]:
    """Names that are numbers first, by number: the order of samples in kvreplay's tables."""
    return (not name.isdecimal(), int(name) if name.isdecimal() else 0, name)


def read_samples(trace: h5py.File, wanted: Optional[Sequence[str]]) -> Iterator[Sample]:
    for name in wanted or sorted(trace["samples"], key=name_order):
        place = f'"{trace.filename}": /samples/{name}'
        if name not in trace["samples"]:
            raise LiveError(f"{place}: no such sample")
        group = trace["samples"][name]
        if "tokens" not in group:
            raise LiveError(f"{place}/tokens: expected the sample's tokens, found none")
        tokens = group["tokens"][()].astype(np.int64)
        prompt = int(group.attrs.get("prompt_length", len(tokens)))
        if int(group.attrs.get("pad", 0)) != 0:
            raise LiveError(f"{place}@pad: expected no padding, found {group.attrs['pad']}")
        if not 1 <= prompt < len(tokens):
            raise LiveError(f"{place}@prompt_length: expected an answer behind the prompt, found none")
        yield Sample(name, tokens, prompt)


def read_conditions(kept: h5py.File, sample: str) -> List[Condition]:
    """All conditions of a sample, in the file's order (names ascending)."""
    found = []
    for policy in kept["samples"].get(sample, {}).values():
        if not isinstance(policy, h5py.Group):
            continue
        for scorer in policy.values():
            for page_name, pages in scorer.items():
                for budget in pages.values():
                    found.append(Condition(text_of(policy.attrs["policy"]), text_of(scorer.attrs["scorer"]),
                                           int(page_name[1:]), text_of(budget.attrs["budget"]), budget["layers"]))
    return found


def read_visible(condition: Condition, layers: int, kv_heads: int, prompt: int) -> np.ndarray:
    """[layers][KV heads][P], true where the position is kept for the heads of the group."""
    visible = np.ones((layers, kv_heads, prompt), bool)
    for number, layer in condition.layers.items():
        offsets, positions = layer["offsets"][()], layer["positions"][()]
        rows = len(offsets) - 1
        heads_a_group = rows // kv_heads
        if int(number) >= layers or rows % kv_heads or (positions.size and positions.max() >= prompt):
            raise LiveError(f'"{layer.file.filename}": {layer.name}: expected sets of {kv_heads} KV heads within '
                            f"{layers} layers and {prompt} positions, as the model and the trace have them")
        groups = np.repeat(np.arange(rows) // heads_a_group, np.diff(offsets))
        visible[int(number)] = False
        visible[int(number), groups, positions] = True
        if "excluded" in layer:
            visible[int(number), layer["excluded"][()]] = True
    return visible


# ---- figures


class Outcome(NamedTuple):
    right: Optional[bool]
    logprob: float
    logprob_full: float
    kl: float


def judge(logits: torch.Tensor, full: torch.Tensor, answer: np.ndarray) -> List[Outcome]:
    """Figures of each condition's logits [conditions][rows][vocabulary] against full [rows][vocabulary]."""
    target = torch.as_tensor(answer[1:], device=full.device)
    base = full.log_softmax(-1)
    rows = torch.arange(len(target), device=full.device)
    outcomes = []
    for one in logits:
        log_p = one.log_softmax(-1)
        right = bool((one[:-1].argmax(-1) == target).all())
        kl = (base.exp() * (base - log_p)).sum(-1, dtype=torch.float64).clamp(min=0).mean()
        means = [float(p[rows, target].double().mean()) if len(target) else float("nan") for p in (log_p, base)]
        outcomes.append(Outcome(right, means[0], means[1], float(kl)))
    return outcomes


class Checks:
    """How far the masked run is from unmodified and really evicted ones, in logits, over all samples so far.

    Some evictions (of the sinks, above all) amplify float's rounding beyond the tolerance. What differs by
    more is therefore run once more in double, both ways, and has to agree there.
    """

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted  # conditions a sample
        self.chance = np.random.default_rng(0)
        self.own = 0  # conditions evicted from the model's own cache, and run with its own attention
        self.in_float: Dict[str, List[float]] = {"unmodified": [], "evicted": []}
        self.in_double: Dict[str, List[float]] = {"unmodified": [], "evicted": []}

    def add(self, kind: str, place: str, masked: torch.Tensor, other: torch.Tensor,
            in_double: Callable[[], Tuple[torch.Tensor, torch.Tensor]]) -> None:
        difference = float((masked - other).abs().max())
        if difference <= TOLERANCE:
            self.in_float[kind].append(difference)
            return
        masked, other = in_double()
        self.in_double[kind].append(float((masked - other).abs().max()))
        if not self.in_double[kind][-1] <= TOLERANCE:
            raise LiveError(f"{place}: the masked run: expected logits within {TOLERANCE:g} of the {kind} one's, "
                            f"found {difference:.3g} in float and {self.in_double[kind][-1]:.3g} in double")

    def choose(self, conditions: int) -> Set[int]:
        """Which of conditions 1 ... are evicted for real: others in each sample."""
        return set((1 + self.chance.permutation(max(0, conditions - 1))[:self.wanted]).tolist())

    def summary(self) -> str:
        lines = []
        for kind, what in ("unmodified", "full cache against an unmodified forward pass"), \
                          ("evicted", f"masked against really evicted ({self.own} by the model's own attention)"):
            parts = [f"{len(found)} in {name} (largest difference of a logit {max(found):.2g})"
                     for name, found in (("float", self.in_float[kind]), ("double", self.in_double[kind])) if found]
            if parts:
                lines.append(f"{what}: equal within {TOLERANCE:g} in " + " and ".join(parts))
        return "\n".join(lines)


def check_unmodified(live: LiveModel, prefix: Prefix, sample: Sample, full: torch.Tensor, checks: Checks,
                     place: str) -> None:
    def in_double() -> Tuple[torch.Tensor, torch.Tensor]:
        double = live.in_double()
        own = double.prefill(sample)
        everything = np.ones((1, len(own.keys), own.keys[0].shape[0], own.prompt), bool)
        return double.see(own, everything, sample.answer)[0], own.logits[1:]

    checks.add("unmodified", place, full, prefix.logits[1:], in_double)


def check_evicted(live: LiveModel, prefix: Prefix, visible: np.ndarray, sample: Sample, masked: torch.Tensor,
                  checks: Checks, place: str) -> None:
    def in_double() -> Tuple[torch.Tensor, torch.Tensor]:
        double, same = live.in_double(), prefix.double()
        masked = double.see(same, visible[None], sample.answer)[0]
        return masked, double.decode_evicted(same, visible, sample.answer)[0]

    evicted, own = live.decode_evicted(prefix, visible, sample.answer)
    checks.add("evicted", place, masked, evicted, in_double)
    checks.own += own


def run_masks(live: LiveModel, prefix: Prefix, masks: np.ndarray, answer: np.ndarray, rows_at_once: int,
              check: Callable[[int, torch.Tensor], None]) -> List[Outcome]:
    """Figures of every mask [masks][layers][KV heads][P], the first of which is the full cache.

    `check` is called with each mask's index and logits.
    """
    step = max(1, rows_at_once // len(answer))
    full, outcomes = None, []
    for begin in range(0, len(masks), step):
        logits = live.see(prefix, masks[begin:begin + step], answer)
        full = logits[0].clone() if full is None else full
        outcomes += judge(logits, full, answer)
        for index, one in enumerate(logits, begin):
            check(index, one)
    return outcomes


def unpack_masks(packed: Iterable[bytes], shape: Tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape))
    return np.stack([np.unpackbits(np.frombuffer(bits, np.uint8), count=size).reshape(shape).astype(bool)
                     for bits in packed])


def run_sample(live: LiveModel, sample: Sample, conditions: Sequence[Condition], options: argparse.Namespace,
               checks: Checks, place: str) -> List[Outcome]:
    """Conditions whose sets are the same, in all layers and heads, are run once."""
    prefix = live.prefill(sample)
    shape = (len(prefix.keys), prefix.keys[0].shape[0], sample.prompt)
    packed = {np.packbits(np.ones(shape, bool)).tobytes(): 0}
    of_condition = [packed.setdefault(np.packbits(read_visible(at, *shape)).tobytes(), len(packed))
                    for at in conditions]
    masks = unpack_masks(packed, shape)
    chosen = checks.choose(len(masks))

    def check(index: int, logits: torch.Tensor) -> None:
        if index == 0:
            check_unmodified(live, prefix, sample, logits, checks, place)
        elif index in chosen:
            check_evicted(live, prefix, masks[index], sample, logits, checks, place)

    outcomes = run_masks(live, prefix, masks, sample.answer, options.rows, check)
    if options.answer == "none":
        outcomes = [outcome._replace(right=None) for outcome in outcomes]
    elif options.answer == "recorded":
        first = int(prefix.logits[0].argmax()) == sample.answer[0]
        outcomes = [outcome._replace(right=outcome.right and first) for outcome in outcomes]
    else:
        greedy = live.greedy(prefix, sample.answer)
        if not np.array_equal(greedy, sample.answer):
            print(f"{place}: the recorded answer isn't this model's greedy one; right is judged by the latter",
                  file=sys.stderr)
            own = run_masks(live, prefix, masks, greedy, options.rows, lambda *_: None)
            outcomes = [outcome._replace(right=other.right) for outcome, other in zip(outcomes, own)]
    return [outcomes[index] for index in of_condition]


# ---- the command


def number(value: Optional[float]) -> str:
    return "" if value is None or value != value else f"{value:.9g}"


def write_trace(live: LiveModel, options: argparse.Namespace, checks: Checks, table: Any) -> int:
    """Adds the rows of all samples that have kept sets; returns their number."""
    trace, kept = open_hdf5(options.trace, "kvreplay-trace"), open_hdf5(options.keep, "kvreplay-keep")
    name, said = os.path.basename(options.trace), text_of(kept.attrs.get("trace", ""))
    if said and said != name:
        raise LiveError(f'"{options.keep}": /@trace: expected {name}, found {said}')
    total = 0
    for sample in read_samples(trace, options.samples):
        place, began = f'"{options.trace}": /samples/{sample.name}', time.time()
        conditions = read_conditions(kept, sample.name)
        if not conditions:
            continue
        outcomes = run_sample(live, sample, conditions, options, checks, place)
        for at, outcome in zip(conditions, outcomes):
            table.writerow([name, sample.name, at.policy, at.scorer, at.page_size, at.budget,
                            *map(number, outcome)])
        total += len(conditions)
        if not options.quiet:
            print(f"{name} {sample.name}: {sample.prompt} + {len(sample.answer)} tokens, "
                  f"{len(conditions)} conditions, {time.time() - began:.1f} s", file=sys.stderr, flush=True)
    if total == 0:
        raise LiveError(f'"{options.keep}": /samples: expected sets of a sample of {name}, found none')
    return total


def run_trace(live: LiveModel, options: argparse.Namespace, checks: Checks) -> int:
    """Writes the table of one trace, whole or not at all; returns how many conditions it has."""
    temporary = options.out + ".tmp"
    if os.path.exists(options.out) and not os.path.isfile(options.out):  # a rename would replace a device
        raise LiveError(f'"{options.out}": expected a regular file or a new name')
    try:
        with open(temporary, "w", newline="", encoding="utf-8") as out:
            table = csv.writer(out, lineterminator="\n")
            table.writerow(COLUMNS)
            total = write_trace(live, options, checks, table)
        os.replace(temporary, options.out)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return total


def usage() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="See the head of this file.")
    parser.add_argument("trace", help="a trace with tokens, of this model")
    parser.add_argument("--keep", required=True, metavar="FILE.h5", help="kept sets: kvreplay replay --keep")
    parser.add_argument("--model", required=True, help="a folder, a name, or a .gguf file")
    parser.add_argument("--gguf", metavar="FILE", help="file in the folder, for a model in GGUF")
    parser.add_argument("-o", dest="out", required=True, metavar="live.csv")
    parser.add_argument("--samples", type=lambda text: text.split(","), help="names, comma separated (all)")
    parser.add_argument("--answer", choices=("greedy", "recorded", "none"), default="greedy",
                        help="what a right answer is: the full cache's, the recorded one, or nothing (greedy)")
    parser.add_argument("--verify", type=int, default=2, metavar="N",
                        help="conditions a sample that are also run on a really evicted cache (2)")
    parser.add_argument("--rows", type=int, default=512, help="answer tokens in a forward pass (512)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (one per processor)")
    parser.add_argument("--device", default="cpu", help="where the model runs (cpu)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = usage().parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        checks = Checks(options.verify)
        total = run_trace(LiveModel(options.model, options.gguf, options.device), options, checks)
    except (LiveError, OSError) as error:
        print(f"kvreplay_live.py: {error}", file=sys.stderr)
        return 1
    print(f"{total} conditions of {options.trace} written to {options.out}\n{checks.summary()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
