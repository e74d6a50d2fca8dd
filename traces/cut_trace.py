#!/usr/bin/env python3
"""Cuts a trace to some samples, layers and rows: how the small traces of this folder were made.

    cut_trace.py IN.h5 OUT.h5 [--samples 0,1] [--layers 0,7] [--prefill-rows N] [--without attention]

Stored bits are copied as they are; datasets are compressed anew (shuffle, deflate 9). Needs h5py.
"""
import argparse

import h5py
import numpy as np


def numbers(text):
    return None if text is None else text.split(",")


def write(group, name, data, ratio):
    """A chunk holds the query heads of one group, or one KV head."""
    heads = 1 if name in ("key", "value") else ratio
    chunk = (min(heads, data.shape[0]),) + data.shape[1:]
    group.create_dataset(name, data=data, chunks=chunk, shuffle=True, compression=9,
                         track_times=False)


def cut_layer(source, target, rows, sample, without):
    target.attrs.update(source.attrs)
    heads = [int(source.attrs.get(name, sample.attrs[name])) for name in ("query_heads", "kv_heads")]
    ratio = heads[0] // heads[1]
    for name, dataset in source.items():
        if name in without:
            continue
        data = dataset[()]
        if name in ("attention", "query"):
            data = data[:, rows]
        write(target, name, data, ratio)


def cut_sample(source, target, layers, prefill_rows, without):
    target.attrs.update(source.attrs)
    positions = source["query_positions"][()]
    prompt = source.attrs.get("prompt_length", source.attrs["context_length"])
    prefill = np.flatnonzero(positions < prompt)
    if prefill_rows is not None:
        prefill = prefill[-prefill_rows:]
    rows = np.concatenate([prefill, np.flatnonzero(positions >= prompt)])
    target.create_dataset("query_positions", data=positions[rows], track_times=False)
    for name in ("tokens", "needles"):
        if name in source:
            target.create_dataset(name, data=source[name][()], track_times=False)
    for number in layers or source["layers"]:
        layer = target.create_group(f"layers/{number}")
        cut_layer(source["layers"][number], layer, rows, source, without)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--samples", help="names, comma separated (all)")
    parser.add_argument("--layers", help="numbers, comma separated (all)")
    parser.add_argument("--prefill-rows", type=int, help="the last N prompt rows (all)")
    parser.add_argument("--without", help="datasets of layers to leave out, comma separated (none)")
    options = parser.parse_args()
    with h5py.File(options.source, "r") as source, h5py.File(options.target, "w") as target:
        target.attrs.update(source.attrs)
        for name in numbers(options.samples) or source["samples"]:
            cut_sample(source["samples"][name], target.create_group(f"samples/{name}"),
                       numbers(options.layers), options.prefill_rows,
                       numbers(options.without) or [])


if __name__ == "__main__":
    main()
