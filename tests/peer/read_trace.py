"""Reads every attention row of a trace with h5py and does nothing with it.

Usage: read_trace.py TRACE
"""

import sys

import h5py

if len(sys.argv) < 2:
    sys.exit(__doc__)
with h5py.File(sys.argv[1], "r") as trace:
    for sample in trace["samples"].values():
        for layer in sample["layers"].values():
            layer["attention"][:]
