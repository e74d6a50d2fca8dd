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
import copy
import csv
import inspect
import os
import sys
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

os.environ.setdefault("TQDM_DISABLE", "1")  # read when tqdm is imported, the next when torch is
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin slow a shared machine down

import h5py
import numpy as np
import torch

COLUMNS = ("trace", "sample", "policy", "scorer", "page_size", "budget", "right", "logprob", "logprob_full", "kl")
TOLERANCE = 1e-4  # of a logit, between the masked and the really evicted cache


class LiveError(Exception):
    """What keeps a run from going on, in one line."""


# ---- files


class Condition(NamedTuple):
    """One way of cutting a sample's cache, and the HDF5 group of its layers."""

    policy: str
    scorer: str
    page_size: int
    budget: str
    layers: h5py.Group


class Sample(NamedTuple):
    name: str
    tokens: np.ndarray
    prompt: int

    @property
    def answer(self) -> np.ndarray:
        return self.tokens[self.prompt:]


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


# ---- attention


class MaskedAttention:
    """Attention of new tokens over a shared prefix, of which every row of the batch sees its own part.

    Registered in transformers' attention interface; the prefix isn't copied for the batch. The model
    is called without a cache, so the keys that come are those of the new tokens.
    """

    name = "kvreplay_masked"

    def __init__(self) -> None:
        self.keys: List[torch.Tensor] = []  # a layer: [KV heads][P][D]
        self.values: List[torch.Tensor] = []
        self.hidden: Optional[torch.Tensor] = None  # [layers][batch][KV heads][P], true where evicted

    def __call__(self, module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _mask: Any,
                 scaling: float, softcap: Optional[float] = None, sliding_window: Optional[int] = None,
                 s_aux: Any = None, **_rest: Any) -> Tuple[torch.Tensor, None]:
        refuse_sinks(s_aux)
        past_key, past_value = self.keys[module.layer_idx], self.values[module.layer_idx]
        hidden = self.hidden[module.layer_idx]
        batch, heads, rows, size = query.shape
        kv_heads, prompt = past_key.shape[:2]
        ratio = heads // kv_heads
        grouped = query.reshape(batch, kv_heads, ratio * rows, size)
        gathered = grouped.transpose(0, 1).reshape(kv_heads, -1, size)
        past = (gathered @ past_key.mT).view(kv_heads, batch, ratio * rows, prompt).transpose(0, 1)
        scores = torch.cat([past, grouped @ key.mT], -1) * scaling
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        scores[..., :prompt].masked_fill_(hidden[:, :, None, :], -torch.inf)
        scores = scores.view(batch, kv_heads, ratio, rows, prompt + rows)
        scores.masked_fill_(unseen(rows, prompt, sliding_window, scores.device), -torch.inf)
        weights = scores.softmax(-1).view(batch, kv_heads, ratio * rows, -1)
        mixed = weights[..., :prompt].transpose(0, 1).reshape(kv_heads, -1, prompt) @ past_value
        mixed = mixed.view(kv_heads, batch, ratio * rows, -1).transpose(0, 1) + weights[..., prompt:] @ value
        return mixed.reshape(batch, heads, rows, -1).transpose(1, 2).contiguous(), None


def unseen(rows: int, prompt: int, window: Optional[int], device: Any) -> torch.Tensor:
    """[rows][P + rows], true where a new token may not look: the future, and before its window."""
    own = torch.arange(prompt, prompt + rows, device=device)[:, None]
    seen = torch.arange(prompt + rows, device=device)[None, :]
    hidden = seen > own
    return hidden if not window else hidden | (seen <= own - window)


def refuse_sinks(sinks: Any) -> None:
    if sinks is not None:
        raise LiveError("expected a model whose softmax has no sink logits, found s_aux")


class EvictedAttention:
    """Attention of one new token over a cache from which entries were deleted, head by head.

    Each KV head has a cache of its own length. It shares no code with MaskedAttention, which it checks.
    """

    name = "kvreplay_evicted"

    def __init__(self) -> None:
        self.caches: List[List[Tuple[torch.Tensor, torch.Tensor, torch.Tensor]]] = []
        self.position = 0

    def cut(self, keys: Sequence[torch.Tensor], values: Sequence[torch.Tensor], visible: np.ndarray) -> None:
        """Keeps, of each layer's [KV heads][P][D], the positions that are visible."""
        self.caches = []
        for key, value, layer in zip(keys, values, visible):
            kept = [torch.from_numpy(np.flatnonzero(head)).to(key.device) for head in layer]
            self.caches.append([(key[h][at], value[h][at], at) for h, at in enumerate(kept)])

    def __call__(self, module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _mask: Any,
                 scaling: float, softcap: Optional[float] = None, sliding_window: Optional[int] = None,
                 s_aux: Any = None, **_rest: Any) -> Tuple[torch.Tensor, None]:
        refuse_sinks(s_aux)
        caches = self.caches[module.layer_idx]
        ratio = query.shape[1] // len(caches)
        now = torch.tensor([self.position], device=query.device)
        caches[:] = [(torch.cat([k, key[0, h]]), torch.cat([v, value[0, h]]), torch.cat([at, now]))
                     for h, (k, v, at) in enumerate(caches)]
        mixed = []
        for head in range(query.shape[1]):
            k, v, at = caches[head // ratio]
            logits = k @ query[0, head, 0] * scaling
            if softcap is not None:
                logits = softcap * torch.tanh(logits / softcap)
            if sliding_window:
                logits = logits[at > self.position - sliding_window]
                v = v[at > self.position - sliding_window]
            mixed.append(torch.softmax(logits, 0) @ v)
        return torch.stack(mixed)[None, None], None


# ---- the model


class Prefix(NamedTuple):
    """A prompt after its prefill, and what the model says with nothing evicted."""

    prompt: int
    keys: List[torch.Tensor]  # a layer: [KV heads][P][D]
    values: List[torch.Tensor]
    logits: torch.Tensor  # [answer + 1][vocabulary], rows P-1 ... N-1 of an unmodified forward pass

    def double(self) -> "Prefix":
        return Prefix(self.prompt, [k.double() for k in self.keys], [v.double() for v in self.values],
                      self.logits.double())


class Outcome(NamedTuple):
    right: Optional[bool]
    logprob: float
    logprob_full: float
    kl: float


class LiveModel:
    """A causal model of transformers with the two attention functions in place."""

    def __init__(self, folder: str, gguf: Optional[str], device: str) -> None:
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        if folder.endswith(".gguf"):
            folder, gguf = os.path.dirname(folder) or ".", os.path.basename(folder)
        try:
            self.model = transformers.AutoModelForCausalLM.from_pretrained(
                folder, gguf_file=gguf, dtype=torch.float32).eval().to(device)
        except (OSError, ValueError) as error:
            raise LiveError(f'"{folder}": cannot be loaded: {" ".join(str(error).split())}') from error
        self.device = device
        self._double: Optional[LiveModel] = None
        self.stock = self.model.config._attn_implementation
        self.masked, self.evicted = MaskedAttention(), EvictedAttention()
        for function in (self.masked, self.evicted):
            transformers.AttentionInterface.register(function.name, function)
        self.new_cache = transformers.DynamicCache
        config = self.model.config.get_text_config(decoder=True)
        self.vocabulary = config.vocab_size
        parameters = inspect.signature(self.model.forward).parameters
        self.cache_name = "cache" if "cache" in parameters else "past_key_values"  # its name before 5.2x
        self.ends = set(np.atleast_1d(self.model.generation_config.eos_token_id or []).tolist())

    def run(self, attention: str, tokens: torch.Tensor, start: int, cache: Any = None, **options: Any) -> Any:
        """The model on tokens [batch][rows] that stand at start, start + 1, ..."""
        self.model.set_attn_implementation(attention)
        places = torch.arange(start, start + tokens.shape[1], device=self.device)[None]
        options[self.cache_name] = cache
        with torch.inference_mode():
            return self.model(input_ids=tokens, position_ids=places.expand(len(tokens), -1),
                              use_cache=cache is not None, **options)

    def in_double(self) -> "LiveModel":
        """The same model in double precision, made when it is first asked for."""
        if self._double is None:
            self._double = copy.copy(self)
            self._double.model = copy.deepcopy(self.model).double()
        return self._double

    def ids(self, tokens: Iterable[int]) -> torch.Tensor:
        return torch.as_tensor(np.asarray(tokens, np.int64), device=self.device)[None]

    def prefill(self, sample: Sample) -> Prefix:
        """One unmodified forward pass of prompt and answer; causality makes its first P entries the prefill's."""
        if sample.tokens.min() < 0 or sample.tokens.max() >= self.vocabulary:
            raise LiveError(f"/samples/{sample.name}/tokens: expected tokens below {self.vocabulary}, as the model "
                            f"has them, found {sample.tokens.max()}")
        cache = self.new_cache()
        out = self.run(self.stock, self.ids(sample.tokens), 0, cache,
                       logits_to_keep=len(sample.answer) + 1)
        layers = cache.layers
        cut = [[entry[0, :, :sample.prompt].contiguous() for entry in (layer.keys, layer.values)] for layer in layers]
        return Prefix(sample.prompt, [k for k, _ in cut], [v for _, v in cut], out.logits[0])

    def see(self, prefix: Prefix, visible: np.ndarray, answer: np.ndarray) -> torch.Tensor:
        """Logits [conditions][rows][vocabulary] of the answer under visible [conditions][layers][KV heads][P]."""
        self.masked.keys, self.masked.values = prefix.keys, prefix.values
        hidden = torch.from_numpy(~visible).to(self.device)
        self.masked.hidden = hidden.transpose(0, 1).contiguous()
        return self.run(self.masked.name, self.ids(answer).expand(len(visible), -1), prefix.prompt).logits

    def greedy(self, prefix: Prefix, answer: np.ndarray) -> np.ndarray:
        """What greedy decoding answers with the full cache, as long as the answer or up to an end token."""
        said = prefix.logits.argmax(-1).tolist()[:-1]
        if said == answer.tolist():
            return answer
        cache = self.new_cache()
        for layer, (key, value) in enumerate(zip(prefix.keys, prefix.values)):
            cache.update(key[None], value[None], layer)
        tokens = said[:1]
        while len(tokens) < len(answer) and tokens[-1] not in self.ends:
            out = self.run(self.stock, self.ids(tokens[-1:]), prefix.prompt + len(tokens) - 1, cache)
            tokens.append(int(out.logits[0, -1].argmax()))
        return np.asarray(tokens)

    # ---- real eviction, one token at a time

    def decode_evicted(self, prefix: Prefix, visible: np.ndarray, answer: np.ndarray) -> Tuple[torch.Tensor, bool]:
        """Logits [rows][vocabulary] with the entries deleted; true if by the model's own cache and attention.

        Those need all heads of all layers to keep equally many. Else each head has a cache of its own.
        """
        own = len(set(visible.sum(-1).ravel().tolist())) == 1 and not self.has_windows()
        cache = self.new_cache() if own else None
        if own:
            for layer, (key, value) in enumerate(zip(prefix.keys, prefix.values)):
                at = torch.from_numpy(np.stack([np.flatnonzero(head) for head in visible[layer]])).to(self.device)
                cache.update(*(torch.take_along_dim(entry, at[..., None], 1)[None] for entry in (key, value)), layer)
        else:
            self.evicted.cut(prefix.keys, prefix.values, visible)
        rows = []
        for step, token in enumerate(answer):
            self.evicted.position = prefix.prompt + step
            rows.append(self.run(self.stock if own else self.evicted.name, self.ids([token]), prefix.prompt + step,
                                 cache).logits[0, -1])
        return torch.stack(rows), own

    def has_windows(self) -> bool:
        return any(getattr(module, "sliding_window", None) for module in self.model.modules())


# ---- figures


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
