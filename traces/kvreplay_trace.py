#!/usr/bin/env python3
"""Writes traces (FORMAT.md, version 1) from NumPy arrays, whatever framework they come from.

    from kvreplay_trace import TraceWriter

    with TraceWriter("trace.h5", model="my model") as trace:
        sample = trace.sample(tokens=tokens, prompt_length=1024, query_heads=32, kv_heads=8,
                              query_positions=range(992, 1024), needles=[(500, 505)])
        for number, rows in enumerate(attention):         # softmax rows, [query heads][Q][N]
            sample.layer(number, attention=rows)

The file appears whole or not at all: it is written as trace.h5.tmp and renamed when the block ends
well. Needs numpy and h5py. It must not know how rows come about: that is kvreplay_record.py.
"""
from __future__ import annotations

import contextlib
import io
import math
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Tuple

import h5py
import numpy as np

ELEMENTS = {"half": "<f2", "bfloat16": "<u2", "float": "<f4", "double": "<f8"}
CHUNK_BYTES = 512 << 10  # as synth and import write: what readers of parts like best


class TraceError(Exception):
    """What keeps a trace from being written, in one line."""


def even_piece(length: int, most: int) -> int:
    """The length of the pieces if an axis is cut into as few equal ones of at most `most` as can be."""
    return length if length <= most else -(-length // -(-length // most))


def choose_chunk(shape: Sequence[int], heads: int, element_size: int) -> Tuple[int, ...]:
    """Chunks that hold whole groups of heads, and of these rows as long as possible."""
    heads = max(1, min(heads, shape[0]))
    room = max(1, CHUNK_BYTES // element_size // heads)
    chunk = list(shape)
    for axis in range(len(shape) - 1, 0, -1):
        chunk[axis] = even_piece(shape[axis], room)
        room = max(1, room // chunk[axis])
    chunk[0] = min(heads * room, shape[0])
    return tuple(chunk)


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """The upper halves of floats, rounded to the nearest, ties to even; NaN stays NaN."""
    floats = np.ascontiguousarray(values, "<f4")
    bits = floats.view("<u4")
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1)).astype("<u4")) >> 16).astype("<u2")
    return np.where(np.isnan(floats), np.uint16(0x7FC0) | (bits >> 16).astype("<u2"), rounded).astype("<u2")


def stored(values: np.ndarray, element: str) -> Tuple[np.ndarray, str]:
    """The values as elements of that name; as floats where half cannot hold one that is finite.

    NumPy rounds here and never HDF5, whose conversion from float to half is wrong.
    """
    if element == "bfloat16":
        return bfloat16_bits(values), element
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(values, ELEMENTS[element])
    if element == "half" and values.dtype != rounded.dtype:
        if np.any(np.isinf(rounded) & np.isfinite(values)):
            return stored(values, "float")
    return rounded, element


def storable(value: Any) -> Any:
    """Texts of models hold anything; strings of HDF5 no zero byte and no half of a character."""
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


class Sink(io.RawIOBase):
    """The file that HDF5 writes to. The first error is kept, and what comes after it dropped.

    HDF5 cannot close a file that it cannot write to; it would try again, and crash, at exit.
    """

    def __init__(self, path: str) -> None:
        self.error: Optional[OSError] = None
        self._file = open(path, "w+b", buffering=0)

    def _try(self, action: Any, otherwise: Any) -> Any:
        if self.error is None:
            try:
                return action()
            except OSError as error:
                self.error = error
        return otherwise

    def write(self, data: Any) -> int:
        def all_of_it() -> int:
            rest = memoryview(data).cast("B")
            while len(rest) > 0:
                rest = rest[self._file.write(rest):]
            return len(data)

        return self._try(all_of_it, len(data))

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def truncate(self, size: Optional[int] = None) -> int:
        return self._try(lambda: self._file.truncate(size), size or 0)

    def finish(self) -> None:
        """On to the disk, which may be full only now. May be called again."""
        if self._file.closed:
            return
        try:
            self._try(lambda: os.fsync(self._file.fileno()), None)
        finally:
            self._file.close()  # unbuffered: nothing is left to write


class TraceWriter:
    """A trace in the making; a context manager. An error in the block leaves the previous file."""

    def __init__(self, path: str, *, model: str = "", producer: str = "kvreplay_trace.py",
                 element: str = "half", deflate: int = 1) -> None:
        """`element` is half, bfloat16, float or double; `deflate` 0 ... 9, 0 being uncompressed."""
        if element not in ELEMENTS:
            raise TraceError(f"element: expected one of {', '.join(ELEMENTS)}, found \"{element}\"")
        self.path = os.fspath(path)
        self.element = element
        self.deflate = deflate
        self.samples = 0
        self._temporary = self.path + ".tmp"
        try:
            self._sink = Sink(self._temporary)
        except OSError as error:
            raise self._failed(error) from error
        self._file: Optional[h5py.File] = h5py.File(self._sink, "w", libver=("earliest", "v110"))
        attributes = {"format": "kvreplay-trace", "version": 1, "model": model, "producer": producer}
        self._file.attrs.update({name: storable(value) for name, value in attributes.items() if value != ""})

    def _failed(self, error: Exception) -> TraceError:
        return TraceError(f'"{self.path}": could not be written: {getattr(error, "strerror", None) or error}')

    def _do(self, action: Any) -> Any:
        """Does what writes, and looks at whether it could."""
        try:
            result = action()
        except (OSError, RuntimeError) as error:
            raise self._failed(self._sink.error or error) from error
        if self._sink.error is not None:
            raise self._failed(self._sink.error)
        return result

    def sample(self, name: Optional[str] = None, *, prompt_length: Optional[int] = None,
               context_length: Optional[int] = None, query_heads: Optional[int] = None,
               kv_heads: Optional[int] = None, tokens: Optional[Iterable[int]] = None,
               query_positions: Iterable[int] = (), needles: Iterable[Tuple[int, int]] = (),
               **attributes: Any) -> "SampleWriter":
        """Starts a sample (the next number is its name unless one is given).

        `context_length` may be left out where tokens are given. Further attributes of a sample:
        pad, head_dim, task, subset, generated; others are stored and ignored by kvreplay.
        """
        if self._file is None:
            raise TraceError(f'"{self.path}": is closed')
        name = str(self.samples) if name is None else name
        ids = None if tokens is None else np.asarray(list(tokens), "<i4")
        if context_length is None and ids is None:
            raise TraceError(f"/samples/{name}: expected context_length or tokens, found neither")
        length = int(context_length if ids is None else context_length or len(ids))
        facts = {"context_length": length, "prompt_length": prompt_length, "query_heads": query_heads,
                 "kv_heads": kv_heads, **attributes}
        sample = SampleWriter(self, name, {k: storable(v) for k, v in facts.items() if v is not None})
        sample.write_positions(ids, np.asarray(list(query_positions), "<i4"),
                               np.asarray([tuple(span) for span in needles], "<i4"))
        self.samples += 1
        return sample

    def close(self) -> None:
        """Finishes the file and gives it its name."""
        if self._file is None:
            return
        if self.samples == 0:
            self.abandon()
            raise TraceError(f'"{self.path}": expected at least one sample, found none')
        try:
            self._do(self._file.close)
            self._file = None
            self._do(self._sink.finish)
            self._do(lambda: os.replace(self._temporary, self.path))
        except TraceError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Removes what was written; a file of that name from before stays."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError, RuntimeError):
                file.close()
        self._sink.finish()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)

    def __enter__(self) -> "TraceWriter":
        return self

    def __exit__(self, kind: Any, _value: Any, _traceback: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


class SampleWriter:
    """One prompt of a trace: its layers are given one after the other, in any order."""

    def __init__(self, trace: TraceWriter, name: str, attributes: Mapping[str, Any]) -> None:
        self.place = f"/samples/{name}"
        self.facts = dict(attributes)
        self.length = int(attributes["context_length"])
        self._trace = trace
        self._check_facts(name)
        self._group = trace._do(lambda: trace._file.create_group(f"samples/{name}"))
        trace._do(lambda: self._group.attrs.update(self.facts))
        self._rows = 0

    def _fail(self, where: str, expected: str, found: Any) -> None:
        raise TraceError(f'"{self._trace.path}": {self.place}{where}: expected {expected}, found {found}')

    def _check_facts(self, name: str) -> None:
        if not name or "/" in name or name in self._trace._file.get("samples", ()):
            self._fail("", "a name that is new and has no slash", f'"{name}"')
        prompt, pad = self.facts.get("prompt_length", self.length), self.facts.get("pad", 0)
        if not 1 <= self.length < 2**31:
            self._fail("@context_length", "1 ... 2147483647", self.length)
        if not 1 <= prompt <= self.length:
            self._fail("@prompt_length", f"1 ... {self.length}", prompt)
        if not 0 <= pad < prompt:
            self._fail("@pad", f"0 ... {prompt - 1}", pad)

    def write_positions(self, tokens: Optional[np.ndarray], rows: np.ndarray, needles: np.ndarray) -> None:
        """What belongs to the sample as a whole; called once, by TraceWriter.sample."""
        n = self.length
        if tokens is not None and tokens.shape != (n,):
            self._fail("/tokens", f"{n} tokens", tokens.shape)
        if rows.size and (np.any(np.diff(rows) <= 0) or rows[0] < 0 or rows[-1] >= n):
            self._fail("/query_positions", f"positions below {n} that ascend", rows.tolist())
        for start, end in needles:
            if not 0 <= start < end <= n:
                self._fail("/needles", f"start < end <= {n}", f"{start}, {end}")
        self._rows = len(rows)
        for name, values in ("tokens", tokens), ("query_positions", rows), ("needles", needles):
            if values is not None and values.size:
                self._trace._do(lambda: self._group.create_dataset(name, data=values, track_times=False))

    def layer(self, number: int, *, attention: Any = None, accumulated: Any = None, query: Any = None,
              key: Any = None, value: Any = None, scores: Optional[Mapping[str, Any]] = None,
              **attributes: Any) -> None:
        """Writes a layer: arrays as FORMAT.md has them, of any float type, and its attributes.

        Attributes: query_heads, kv_heads (where they are not the sample's), sliding_window,
        sink_logits, scale, softcap. None and 0 are left out, for they mean what is meant anyway.
        """
        place = f"layers/{int(number)}"
        if place in self._group:
            self._fail(f"/{place}", "a layer once", "it again")
        heads = [int(attributes.get(name) or self.facts.get(name, 0)) for name in ("query_heads", "kv_heads")]
        if heads[1] <= 0 or heads[0] <= 0 or heads[0] % heads[1]:
            self._fail(f"/{place}", "query_heads a multiple of kv_heads", f"{heads[0]} and {heads[1]}")
        rows, n, any_size = self._rows, self.length, -1
        arrays = [("attention", attention, [(heads[0], rows, n)]), ("accumulated", accumulated, [(heads[0], n)]),
                  ("query", query, [(heads[0], rows, any_size)]), ("key", key, [(heads[1], n, any_size)]),
                  ("value", value, [(heads[1], n, any_size)])]
        arrays += [(f"scores/{name}", column, [(heads[0], n), (heads[1], n)])
                   for name, column in (scores or {}).items()]
        if attention is None and accumulated is None and not scores and (query is None or key is None):
            self._fail(f"/{place}", "attention, accumulated, scores, or query and key", "none of them")
        layer = self._trace._do(lambda: self._group.create_group(place))
        self._trace._do(lambda: layer.attrs.update({k: v for k, v in attributes.items() if v}))
        for name, array, shapes in arrays:
            if array is not None:
                self._write(layer, f"/{place}/{name}", np.asarray(array), shapes, heads[0] // heads[1])

    def _write(self, layer: h5py.Group, where: str, array: np.ndarray, shapes: Sequence[Tuple[int, ...]],
               ratio: int) -> None:
        fits = any(len(shape) == array.ndim and all(a in (b, -1) for a, b in zip(shape, array.shape))
                   for shape in shapes)
        if not fits or math.prod(array.shape) == 0:
            expected = " or ".join("[" + "][".join("D" if a < 0 else str(a) for a in s) + "]" for s in shapes)
            self._fail(where, expected, "[" + "][".join(map(str, array.shape)) + "]")
        if array.dtype.kind != "f":
            self._fail(where, "float16, float32 or float64", array.dtype)
        element = self._trace.element
        if where.endswith("/accumulated") and element != "double":
            element = "float"  # sums of many rows are beyond half
        values, element = stored(array, element)
        heads = ratio if array.shape[0] == shapes[0][0] and not where.endswith(("key", "value")) else 1
        filters = {"shuffle": True, "compression": "gzip", "compression_opts": self._trace.deflate}
        dataset = self._trace._do(lambda: layer.create_dataset(
            where.split("/", 3)[3], data=values, track_times=False,
            chunks=choose_chunk(values.shape, heads, values.itemsize),
            **(filters if self._trace.deflate else {})))
        if element == "bfloat16":
            dataset.attrs["encoding"] = "bfloat16"
