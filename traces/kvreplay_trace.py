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
import errno
import fcntl
import io
import math
import operator
import os
import stat
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


def is_whole(value: Any, least: int, most: int) -> bool:
    """Whether it is an integer, of Python or NumPy, within the range."""
    try:
        return least <= operator.index(value) <= most
    except TypeError:
        return False


def is_name(name: Any) -> bool:
    """Whether HDF5 and the readers of traces take it as the name of a group or dataset."""
    if not isinstance(name, str) or name in ("", ".") or "/" in name or "\0" in name:
        return False
    return len(name.encode("utf-8", "surrogatepass")) <= 255 and not any(0xD800 <= ord(c) < 0xE000 for c in name)


class Sink(io.RawIOBase):
    """The file that HDF5 writes to. The first error is kept, and what comes after it dropped.

    HDF5 cannot close a file that it cannot write to; it would try again, and crash, at exit.
    """

    def __init__(self, path: str) -> None:
        self.error: Optional[OSError] = None
        self._file = open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+b", buffering=0)
        try:  # of two writers of the same file, one is told
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(self._file.fileno()), os.stat(path)):
                raise BlockingIOError(errno.EAGAIN, "another process has just written it")
            self._file.truncate(0)
        except OSError:
            self._file.close()
            raise

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
        if not is_whole(deflate, 0, 9):
            raise TraceError(f"deflate: expected 0 ... 9, found {deflate!r}")
        self.deflate = int(deflate)
        self.samples = 0
        self._last: Optional[SampleWriter] = None
        if os.path.exists(self.path) and not stat.S_ISREG(os.stat(self.path).st_mode):
            raise TraceError(f'"{self.path}": expected a regular file or a new name')  # a rename would replace it
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
        self._end_sample()
        name = str(self.samples) if name is None else name
        ids = None if tokens is None else list(tokens)
        if context_length is None and ids is None:
            raise TraceError(f"/samples/{name}: expected context_length or tokens, found neither")
        length = len(ids or ()) if context_length is None else context_length
        facts = {"context_length": length, "prompt_length": prompt_length, "query_heads": query_heads,
                 "kv_heads": kv_heads, **attributes}
        sample = SampleWriter(self, name, {k: storable(v) for k, v in facts.items() if v is not None})
        sample.write_positions(ids, list(query_positions), list(needles))
        self.samples += 1
        self._last = sample
        return sample

    def _end_sample(self) -> None:
        if self._last is not None:
            self._last.check_end()

    def close(self) -> None:
        """Finishes the file and gives it its name."""
        if self._file is None:
            return
        if self.samples == 0:
            self.abandon()
            raise TraceError(f'"{self.path}": expected at least one sample, found none')
        try:
            self._end_sample()
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
        self.length = attributes["context_length"]
        self._trace = trace
        self._layers = 0
        self._check_facts(name)
        self._group = trace._do(lambda: trace._file.create_group(f"samples/{name}"))
        trace._do(lambda: self._group.attrs.update(self.facts))
        self._rows = 0

    def _fail(self, where: str, expected: str, found: Any) -> None:
        raise TraceError(f'"{self._trace.path}": {self.place}{where}: expected {expected}, found {found}')

    def _check_facts(self, name: str) -> None:
        if not is_name(name) or name in self._trace._file.get("samples", ()):
            self.place = "/samples"
            self._fail("", "a name that is new and has no slash", ascii(name)[:80])
        prompt = self.facts.get("prompt_length", self.length)
        self._check_whole("", self.facts, (("context_length", 1, 2**31 - 1),))
        self._check_whole("", self.facts, (("prompt_length", 1, self.length),))
        self._check_whole("", self.facts, (("pad", 0, prompt - 1), ("query_heads", 1, 65536),
                                           ("kv_heads", 1, 65536), ("head_dim", 1, 1 << 20)))

    def _check_whole(self, where: str, facts: Mapping[str, Any], ranges: Iterable[Tuple[str, int, int]]) -> None:
        for name, least, most in ranges:
            if name in facts and not is_whole(facts[name], least, most):
                self._fail(f"{where}@{name}", f"{least} ... {most}", repr(facts[name]))

    def check_end(self) -> None:
        """A sample without layers cannot be read; called when the next one starts, and at the end."""
        if self._layers == 0:
            self._fail("", "at least one layer", "none")

    def write_positions(self, tokens: Optional[Sequence[int]], rows: Sequence[int],
                        needles: Sequence[Tuple[int, int]]) -> None:
        """What belongs to the sample as a whole; called once, by TraceWriter.sample."""
        n = self.length
        if tokens is not None and len(tokens) != n:
            self._fail("/tokens", f"{n} tokens", len(tokens))
        for token in tokens or ():
            if not is_whole(token, -2**31, 2**31 - 1):
                self._fail("/tokens", "whole numbers of 32 bits", repr(token))
        least = 0
        for row in rows:
            if not is_whole(row, least, n - 1):
                self._fail("/query_positions", f"positions below {n} that ascend", repr(row))
            least = row + 1
        spans = [tuple(span) if isinstance(span, Iterable) else (span,) for span in needles]
        for span in spans:
            if len(span) != 2 or not is_whole(span[1], 1, n) or not is_whole(span[0], 0, span[1] - 1):
                self._fail("/needles", f"start < end <= {n}", span)
        self._rows = len(rows)
        for name, values in ("tokens", tokens), ("query_positions", rows), ("needles", spans):
            if values:
                self._trace._do(lambda: self._group.create_dataset(name, data=np.asarray(values, "<i4"),
                                                                   track_times=False))

    def layer(self, number: int, *, attention: Any = None, accumulated: Any = None, query: Any = None,
              key: Any = None, value: Any = None, scores: Optional[Mapping[str, Any]] = None,
              **attributes: Any) -> None:
        """Writes a layer: arrays as FORMAT.md has them, of any float type, and its attributes.

        Attributes: query_heads, kv_heads (where they are not the sample's), sliding_window,
        sink_logits, scale, softcap. None and 0 are left out, for they mean what is meant anyway.
        """
        if not is_whole(number, 0, 2**32 - 1):
            self._fail("/layers", "the number of a layer", repr(number))
        place = f"layers/{number}"
        if place in self._group:
            self._fail(f"/{place}", "a layer once", "it again")
        self._check_layer(f"/{place}", attributes, scores or {})
        heads = [int(attributes.get(name) or self.facts.get(name, 0)) for name in ("query_heads", "kv_heads")]
        if heads[1] <= 0 or heads[0] <= 0 or heads[0] % heads[1]:
            self._fail(f"/{place}", "query_heads a multiple of kv_heads", f"{heads[0]} and {heads[1]}")
        rows, n, any_size = self._rows, self.length, -1
        size = np.shape(query)[2] if query is not None and np.ndim(query) == 3 else any_size
        arrays = [("attention", attention, [(heads[0], rows, n)]), ("accumulated", accumulated, [(heads[0], n)]),
                  ("query", query, [(heads[0], rows, any_size)]), ("key", key, [(heads[1], n, size)]),
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
        self._layers += 1

    def _check_layer(self, where: str, attributes: Mapping[str, Any], scores: Mapping[str, Any]) -> None:
        given = {name: value for name, value in attributes.items() if value is not None}
        self._check_whole(where, given, (("query_heads", 1, 65536), ("kv_heads", 1, 65536),
                                         ("sliding_window", 0, 2**63 - 1), ("sink_logits", 0, 1)))
        for name, least in ("scale", -math.inf), ("softcap", 0):
            value = given.get(name, 0)
            if not isinstance(value, (int, float, np.number)) or not (math.isfinite(value) and value >= least):
                self._fail(f"{where}@{name}", "a number that is finite" + (", 0 or more" if least == 0 else ""),
                           repr(value))
        for name in scores:
            if not is_name(name):
                self._fail(f"{where}/scores", "a name without slash", ascii(name))

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
