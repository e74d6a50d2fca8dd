#!/usr/bin/env python3
"""Records traces of Hugging Face models: a context manager, and a command (kvreplay_record.py -h).

    from kvreplay_record import record

    with record(model, "trace.h5", rows=32) as recorder:
        inputs = tokenizer(prompts, return_tensors="pt", padding=True)      # on the left
        with recorder.prompts(inputs, needles=[[(500, 505)], []]):
            model.generate(**inputs, max_new_tokens=17, do_sample=False)    # 16 decode rows

The model runs as it is, with fused attention: the rows that are wanted are computed again, in
float32, from the queries and keys that transformers' attention interface is handed. Each layer goes
to a scratch file at once. Needs numpy, h5py, torch and transformers 5; it must not know how a file
is laid out: that is kvreplay_trace.py.
"""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from kvreplay_trace import TraceError, TraceWriter, stored

try:  # writing traces needs neither
    import torch
    from transformers.modeling_utils import AttentionInterface
except ImportError as missing:
    torch, AttentionInterface, MISSING = None, None, missing

DATASETS = ("attention", "accumulated", "query", "key", "value")
TILE_VALUES = 32 << 20  # weights that are computed at a time, at most
TILE_ROWS = 512


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is recorded: datasets, and for rows the last `rows` of the prompt and all that decode."""

    rows: int = 32
    store: frozenset = frozenset({"attention", "accumulated"})
    layers: Optional[frozenset] = None
    element: str = "half"

    def has_rows(self) -> bool:
        return bool(self.store & {"attention", "query"})


@dataclasses.dataclass(frozen=True)
class Layer:
    """How a layer comes from logits to weights."""

    query_heads: int
    kv_heads: int
    scale: float
    window: int = 0
    softcap: float = 0.0
    sinks: Any = None  # one logit a query head, or None


@dataclasses.dataclass(frozen=True)
class Piece:
    """An array in the scratch file; its second axis begins at row or token `start`."""

    start: int
    offset: int
    shape: Tuple[int, ...]
    dtype: str


class Scratch:
    """Arrays that wait on disk until a sample's length is known."""

    def __init__(self, path: str) -> None:
        """Beside the file at `path`, where there is room for it anyway."""
        self._path = path
        try:
            self._file = tempfile.TemporaryFile(dir=os.path.dirname(os.path.abspath(path)), buffering=0)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> TraceError:
        return TraceError(f'"{self._path}": its scratch file could not be written: {error.strerror}')

    def put(self, start: int, array: np.ndarray) -> Piece:
        bytes_left = memoryview(np.ascontiguousarray(array)).cast("B")
        try:
            offset = self._file.seek(0, os.SEEK_END)
            while len(bytes_left) > 0:
                bytes_left = bytes_left[self._file.write(bytes_left):]
        except OSError as error:
            raise self._failed(error) from error
        return Piece(start, offset, array.shape, array.dtype.str)

    def get(self, piece: Piece) -> np.ndarray:
        array = np.empty(piece.shape, piece.dtype)
        wanted = memoryview(array).cast("B")
        self._file.seek(piece.offset)
        while len(wanted) > 0:
            count = self._file.readinto(wanted)
            if not count:
                raise TraceError(f'"{self._path}": its scratch file was cut')
            wanted = wanted[count:]
        return array

    def clear(self) -> None:
        self._file.truncate(0)

    def close(self) -> None:
        self._file.close()


# ---------------------------------------------------------------------------- rows
def seen_by(positions: Any, columns: Any, pad: int, window: int) -> Any:
    """Which columns a row sees: those up to itself, without padding, within the window."""
    seen = (columns[None, :] <= positions[:, None]) & (columns[None, :] >= pad)
    return seen & (columns[None, :] > positions[:, None] - window) if window else seen


def softmax_rows(query: Any, key: Any, seen: Any, layer: Layer) -> Any:
    """Weights [H_Q][rows][columns] in float32, of query [H_Q][rows][D] and key [H_KV][columns][D]."""
    heads, rows, size = query.shape
    grouped = query.float().reshape(layer.kv_heads, -1, size)  # the heads of a group are neighbours
    logits = (grouped @ key.float().transpose(1, 2)).reshape(heads, rows, -1) * layer.scale
    if layer.softcap:
        logits = layer.softcap * torch.tanh(logits / layer.softcap)
    logits = logits.masked_fill(~seen, -math.inf)
    if layer.sinks is None:
        return torch.softmax(logits, -1)
    sinks = layer.sinks.to(logits.device).float().reshape(-1, 1, 1).expand(-1, rows, 1)
    return torch.softmax(torch.cat([logits, sinks], -1), -1)[..., :-1]


@contextlib.contextmanager
def exact_products() -> Iterator[None]:
    """Products in float32 as such: neither TF32 nor autocasting, whatever the model runs with."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.no_grad(), torch.autocast("cuda", enabled=False), torch.autocast("cpu", enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def setting(module: Any, given: Dict[str, Any], *names: str) -> Any:
    """What the attention function is handed under one of the names, or has as an attribute."""
    for name in names:
        if given.get(name) is not None:
            return given[name]
    for name in names:
        if getattr(module, name, None) is not None:
            return getattr(module, name)
    return None


def layer_of(module: Any, query: Any, key: Any, given: Dict[str, Any]) -> Layer:
    scale = setting(module, given, "scaling")
    return Layer(query_heads=query.shape[1], kv_heads=key.shape[1],
                 scale=float(query.shape[-1] ** -0.5 if scale is None else scale),
                 window=int(setting(module, given, "sliding_window") or 0),
                 softcap=float(setting(module, given, "softcap", "attn_logit_softcapping") or 0),
                 sinks=setting(module, given, "s_aux", "sinks"))


# ---------------------------------------------------------------------------- one sample, one layer
class Tape:
    """What one layer did with one sample so far, in the scratch file."""

    def __init__(self, scratch: Scratch, wanted: Wanted, prompt: int, pad: int) -> None:
        self.pieces: Dict[str, List[Piece]] = {"attention": [], "query": [], "key": [], "value": []}
        self._scratch, self._wanted = scratch, wanted
        self._prompt, self._pad = prompt, pad
        self._sums: Optional[np.ndarray] = None

    def _put(self, name: str, start: int, values: Any) -> None:
        array, _ = stored(values.float().cpu().numpy(), "half" if self._wanted.element == "half" else "float")
        self.pieces.setdefault(name, []).append(self._scratch.put(start, array))

    def add(self, layer: Layer, start: int, query: Any, key: Any, value: Any) -> None:
        """Queries of positions from `start` on, [H][n][D]; keys and values end at the same one."""
        count, end = query.shape[1], start + query.shape[1]
        first_row = max(start, self._pad, self._prompt - self._wanted.rows)
        store = self._wanted.store
        if "query" in store and first_row < end:
            self._put("query", first_row, query[:, first_row - start:])
        for name, tensor in ("key", key), ("value", value):
            if name in store:
                self._put(name, start, tensor[:, -count:])
        summed = "accumulated" in store and start < self._prompt
        position = max(start, self._pad) if summed else first_row
        if not (summed or "attention" in store):
            position = end
        while position < end:
            position = self._tile(layer, start, position, first_row, query, key)
        if summed and end >= self._prompt and self._sums is not None:
            self.pieces["accumulated"] = [self._scratch.put(0, self._sums.astype("f4"))]
            self._sums = None

    def _tile(self, layer: Layer, start: int, position: int, first_row: int, query: Any, key: Any) -> int:
        """Rows from `position` on, as many as a tile takes; returns the position after them."""
        end = start + query.shape[1]
        rows = max(1, min(TILE_ROWS, TILE_VALUES // (query.shape[0] * end)))
        stops = [stop for stop in (first_row, self._prompt, end) if stop > position]
        stop = min([position + rows] + stops)
        first_key = end - key.shape[1]
        first = max(first_key, self._pad, position - layer.window + 1 if layer.window else 0)
        where = {"device": query.device}
        seen = seen_by(torch.arange(position, stop, **where), torch.arange(first, stop, **where),
                       self._pad, layer.window)
        weights = softmax_rows(query[:, position - start:stop - start],
                               key[:, first - first_key:stop - first_key], seen, layer)
        if position < self._prompt and "accumulated" in self._wanted.store:
            self._add_sums(first, stop, weights)
        if position >= first_row and "attention" in self._wanted.store:
            whole = torch.nn.functional.pad(weights, (first, 0))
            self._put("attention", position, whole)
        return stop

    def _add_sums(self, first: int, stop: int, weights: Any) -> None:
        if self._sums is None:
            self._sums = np.zeros((weights.shape[0], self._prompt))
        self._sums[:, first:stop] += weights.sum(1).cpu().numpy()

    def whole(self, name: str, end: int) -> np.ndarray:
        """The pieces put together, without rows or tokens from `end` on."""
        parts = []
        for piece in self.pieces[name]:
            if piece.start < end:
                parts.append(self._scratch.get(piece)[:, :end - piece.start])
        return np.concatenate(parts, 1)

    def attention(self, end: int) -> np.ndarray:
        """All rows below `end`, with `end` columns: pieces have none beyond their last row."""
        kept = [piece for piece in self.pieces["attention"] if piece.start < end]
        count = sum(min(piece.shape[1], end - piece.start) for piece in kept)
        rows = np.zeros((kept[0].shape[0], count, end), np.result_type(*[piece.dtype for piece in kept]))
        done = 0
        for piece in kept:
            part = self._scratch.get(piece)[:, :end - piece.start, :end]
            rows[:, done:done + part.shape[1], :part.shape[2]] = part
            done += part.shape[1]
        return rows

    def accumulated(self, end: int) -> np.ndarray:
        sums = self._scratch.get(self.pieces["accumulated"][0])
        return np.pad(sums, ((0, 0), (0, end - sums.shape[1])))


# ---------------------------------------------------------------------------- a batch
@dataclasses.dataclass
class Batch:
    """Prompts that run together, padded on the left to the same length."""

    ids: np.ndarray  # [B][P]
    pads: List[int]
    needles: List[Sequence[Tuple[int, int]]]
    attributes: List[Dict[str, Any]]
    fed: List[np.ndarray] = dataclasses.field(default_factory=list)
    layers: Dict[int, Layer] = dataclasses.field(default_factory=dict)
    tapes: Dict[int, List[Tape]] = dataclasses.field(default_factory=dict)
    seen: Dict[int, int] = dataclasses.field(default_factory=dict)

    @property
    def length(self) -> int:
        return self.ids.shape[1]


def padding_of(mask: np.ndarray) -> List[int]:
    """Padding tokens before each sample of an attention mask [B][P]; none may stand elsewhere."""
    pads = [int(np.argmax(row)) if row.any() else len(row) for row in mask != 0]
    for index, (row, pad) in enumerate(zip(mask != 0, pads)):
        if pad == len(row) or not row[pad:].all():
            raise TraceError(f"sample {index} of the batch: expected padding on the left only "
                             "(tokenizer.padding_side = \"left\"), found it elsewhere")
    return pads


def batch_of(inputs: Any, needles: Optional[Sequence[Any]], attributes: Dict[str, Any]) -> Batch:
    """From token numbers, or from what a tokenizer returns; attributes: a value, or a list of B."""
    given = inputs if hasattr(inputs, "keys") else {"input_ids": inputs}
    ids = np.atleast_2d(np.asarray(torch.as_tensor(given["input_ids"]).cpu()))
    mask = given.get("attention_mask")
    pads = [0] * len(ids) if mask is None else padding_of(np.atleast_2d(np.asarray(torch.as_tensor(mask).cpu())))
    spans = [()] * len(ids) if needles is None else list(needles)
    if len(spans) != len(ids):
        raise TraceError(f"needles: expected a list for each of {len(ids)} samples, found {len(spans)}")
    each = [{name: value[i] if isinstance(value, (list, tuple)) else value
             for name, value in attributes.items()} for i in range(len(ids))]
    return Batch(ids, pads, spans, each)


# ---------------------------------------------------------------------------- the recorder
class Recorder:
    """Listens to a model's attention; made by record()."""

    def __init__(self, model: Any, trace: TraceWriter, wanted: Wanted, tokenizer: Any = None) -> None:
        self._model, self._trace, self._wanted, self._tokenizer = model, trace, wanted, tokenizer
        self._modules = {id(module) for module in model.modules()}
        self._scratch = Scratch(trace.path)
        self._batch: Optional[Batch] = None

    @contextlib.contextmanager
    def prompts(self, inputs: Any, needles: Optional[Sequence[Any]] = None, **attributes: Any) -> Iterator[Batch]:
        """What runs inside is recorded: one pass over the prompts, then any number of decode steps.

        `needles` has a list of spans [start, end) for each sample, counted with its padding;
        attributes (task, subset, ...) go to the samples, a list giving each its own.
        """
        if self._batch is not None:
            raise TraceError("prompts() was called within prompts()")
        self._batch = batch_of(inputs, needles, attributes)
        try:
            yield self._batch
            self._write(self._batch)
        finally:
            self._batch = None
            self._scratch.clear()

    def close(self) -> None:
        self._scratch.close()

    def tokens_in(self, _model: Any, arguments: Tuple[Any, ...], given: Dict[str, Any]) -> None:
        """Forward hook of the model: remembers the tokens that it is fed."""
        ids = given.get("input_ids", arguments[0] if arguments else None)
        if self._batch is not None and ids is not None:
            self._batch.fed.append(np.asarray(ids.cpu()))

    def attention_in(self, module: Any, query: Any, key: Any, value: Any, mask: Any, given: Dict[str, Any]) -> None:
        """What a layer's attention function was handed; [B][H][n][D] each."""
        number = getattr(module, "layer_idx", None)
        causal = given.get("is_causal")
        if self._batch is None or number is None or id(module) not in self._modules:
            return
        if not (getattr(module, "is_causal", True) if causal is None else causal):
            return
        if self._wanted.layers is None or number in self._wanted.layers:
            if given.get("position_bias") is not None:
                raise TraceError(f"layer {number}: has a position bias, which no trace can hold")
            with exact_products():
                self._add(self._batch, number, layer_of(module, query, key, given), (query, key, value), mask)

    def _add(self, batch: Batch, number: int, layer: Layer, tensors: Tuple[Any, Any, Any], mask: Any) -> None:
        query, key, value = tensors
        start = batch.seen.get(number, 0)
        self._check_lengths(batch, number, layer, start, query, key)
        if start == 0:
            batch.layers[number] = layer
            batch.tapes[number] = [Tape(self._scratch, self._wanted, batch.length, pad) for pad in batch.pads]
        for index, tape in enumerate(batch.tapes[number]):
            self._check_mask(batch, number, layer, start, index, query.shape[2], key.shape[2], mask)
            tape.add(layer, start, query[index], key[index], value[index])
        batch.seen[number] = start + query.shape[2]

    def _check_lengths(self, batch: Batch, number: int, layer: Layer, start: int, query: Any, key: Any) -> None:
        count, held, end = query.shape[2], key.shape[2], start + query.shape[2]
        if query.shape[0] != len(batch.pads):
            raise TraceError(f"layer {number}: expected a batch of {len(batch.pads)}, found {query.shape[0]}")
        if start > 0 and held == count:
            raise TraceError(f"layer {number}: expected decoding with a cache (use_cache=True), found the whole "
                             "prompt anew")
        least = min(end, layer.window - 1 + count) if layer.window else end
        if not least <= held <= end:
            raise TraceError(f"layer {number}: expected the keys of {least} ... {end} tokens, found {held}; "
                             "static and shortened caches cannot be recorded")

    @staticmethod
    def _check_mask(batch: Batch, number: int, layer: Layer, start: int, index: int, count: int, held: int,
                    mask: Any) -> None:
        """The last row of a mask that says which columns are seen must agree with what is recomputed."""
        if not isinstance(mask, torch.Tensor) or mask.dim() != 4:
            return
        end = start + count
        row = mask[index if mask.shape[0] > 1 else 0, 0, -1, :held]
        visible = row if row.dtype == torch.bool else row > torch.finfo(row.dtype).min / 2
        where = {"device": row.device}
        ours = seen_by(torch.arange(end - 1, end, **where), torch.arange(end - held, end, **where),
                       batch.pads[index], layer.window)[0]
        if not torch.equal(visible, ours):
            raise TraceError(f"layer {number}: its mask hides other tokens than causality, padding and a window of "
                             f"{layer.window} do; that cannot be recorded")

    def _write(self, batch: Batch) -> None:
        if not batch.tapes:
            raise TraceError("no layer was heard: the model does not use transformers' attention interface, or it "
                             "did not run")
        lengths = set(batch.seen.values())
        if len(lengths) != 1 or min(lengths) < batch.length:
            raise TraceError(f"expected all {batch.length} tokens of the prompt in each layer, found {sorted(lengths)}")
        for index in range(len(batch.pads)):
            self._write_sample(batch, index, lengths.copy().pop())

    def _tokens(self, batch: Batch, index: int, length: int) -> np.ndarray:
        """Tokens of the prompt, and of the answer up to where it ended."""
        fed = np.concatenate([ids[index] for ids in batch.fed]) if batch.fed else batch.ids[index]
        if len(fed) != length or not np.array_equal(fed[:batch.length], batch.ids[index]):
            raise TraceError(f"sample {index} of the batch: the model was fed other tokens than those announced")
        ends = getattr(self._model.generation_config, "eos_token_id", None)
        stop = np.flatnonzero(np.isin(fed[batch.length:], [] if ends is None else ends))
        return fed[:batch.length + stop[0]] if len(stop) else fed

    def _write_sample(self, batch: Batch, index: int, length: int) -> None:
        tokens, pad = self._tokens(batch, index, length), batch.pads[index]
        end, first = len(tokens), max(pad, batch.length - self._wanted.rows)
        rows = range(first, end) if self._wanted.has_rows() else ()
        layer = batch.layers[min(batch.layers)]
        attributes = dict(batch.attributes[index])
        if end > batch.length and self._tokenizer is not None:
            attributes.setdefault("generated", self._tokenizer.decode(tokens[batch.length:]))
        sample = self._trace.sample(
            prompt_length=batch.length, query_heads=layer.query_heads, kv_heads=layer.kv_heads, tokens=tokens,
            query_positions=rows, needles=batch.needles[index], pad=pad or None, **attributes)
        for number in sorted(batch.tapes):
            self._write_layer(sample, number, batch.layers[number], batch.tapes[number][index], end)

    def _write_layer(self, sample: Any, number: int, layer: Layer, tape: Tape, end: int) -> None:
        ways = {"attention": tape.attention, "accumulated": tape.accumulated}
        arrays = {name: ways[name](end) if name in ways else tape.whole(name, end) for name in self._wanted.store}
        usual = "key" in arrays and math.isclose(layer.scale, arrays["key"].shape[2] ** -0.5, rel_tol=1e-6)
        heads = {"query_heads": layer.query_heads, "kv_heads": layer.kv_heads}
        sample.layer(number, **arrays, sliding_window=layer.window, softcap=layer.softcap,
                     sink_logits=int(layer.sinks is not None), scale=0 if usual else layer.scale,
                     **{name: count for name, count in heads.items() if count != sample.facts[name]})


# ---------------------------------------------------------------------------- hooks
def listening(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    """The attention function, with the recorder told what it is handed."""
    @functools.wraps(function)
    def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *rest: Any, **given: Any) -> Any:
        result = function(module, query, key, value, attention_mask, *rest, **given)
        recorder.attention_in(module, query, key, value, attention_mask, given)
        return result
    return attend


@contextlib.contextmanager
def hooked(model: Any, recorder: Recorder) -> Iterator[None]:
    """Every attention function that a layer asks for is a listening one, eager ones of models too."""
    ask = AttentionInterface.get_interface
    AttentionInterface.get_interface = lambda *given, **named: listening(recorder, ask(*given, **named))
    hook = model.register_forward_pre_hook(recorder.tokens_in, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()
        AttentionInterface.get_interface = ask


def check_model(model: Any) -> None:
    if torch is None:
        raise TraceError(f"recording needs torch and transformers: {MISSING}")
    if not hasattr(AttentionInterface, "get_interface"):
        raise TraceError("recording needs transformers 5 or newer")
    config = model.config.get_text_config()
    if getattr(config, "kv_lora_rank", None):
        raise TraceError("multi-head latent attention has no KV heads in its cache that could be evicted: "
                         "it cannot be recorded")
    if getattr(config, "attention_chunk_size", None):
        raise TraceError("chunked attention (attention_chunk_size) cannot be recorded")


def checked_store(names: Iterable[str]) -> frozenset:
    store = frozenset(names)
    if not store <= set(DATASETS):
        raise TraceError(f"store: expected some of {', '.join(DATASETS)}, found {', '.join(sorted(store))}")
    if not (store & {"attention", "accumulated"} or store >= {"query", "key"}):
        raise TraceError("store: expected attention, accumulated, or both of query and key")
    return store


def producer_of(model: Any) -> str:
    import transformers

    config = model.config.get_text_config()
    kind = str(next(model.parameters()).dtype).split(".")[-1]
    return (f"kvreplay_record.py, transformers {transformers.__version__}, torch {torch.__version__}, "
            f"{config._attn_implementation} in {kind}; rows in float32 from query and key")


@contextlib.contextmanager
def record(model: Any, path: str, *, rows: Optional[int] = 32, store: Iterable[str] = ("attention", "accumulated"),
           layers: Optional[Iterable[int]] = None, element: str = "half", name: Optional[str] = None,
           tokenizer: Any = None) -> Iterator[Recorder]:
    """Records what runs in the recorder's prompts() into `path`, which appears when all went well.

    rows: how many of the prompt's last rows, None being all; store: some of DATASETS; layers:
    their numbers, all by default; element: half, bfloat16, float or double; name: the model's;
    tokenizer: for the text of the answer.
    """
    check_model(model)
    wanted = Wanted(2**31 if rows is None else rows, checked_store(store),
                    None if layers is None else frozenset(layers), element)
    name = name or getattr(model.config, "_name_or_path", "") or type(model).__name__
    with TraceWriter(path, model=name, producer=producer_of(model), element=element) as trace:
        recorder = Recorder(model, trace, wanted, tokenizer)
        try:
            with hooked(model, recorder):
                yield recorder
        finally:
            recorder.close()


if __name__ == "__main__":
    from kvreplay_record_cli import main

    main()
