"""The same replay in vectorised NumPy: what a careful user would write in an afternoon.

Reads a trace with h5py, takes the mean of the last rows of every head, and measures four policies at
several budgets and page sizes. It shares nothing with kvreplay, whose table it prints a subset of:
sample,layer,group,policy,page_size,budget,selected,kept_tokens,retained_mass
`kvreplay bench` compares both tables before it compares the time.

Usage: numpy_replay.py TRACE [ROWS [LAYERS]]
"""

import sys
from fractions import Fraction

import h5py
import numpy as np

BUDGETS = ("0.02", "0.05", "0.1", "0.2", "0.4")
PAGE_SIZES = (1, 16)
SINKS = 4
TAU = 0.5


def head_scores(attention, prefill_rows, prompt, rows):
    """[heads][prompt] float32: mean over the last recorded prefill rows, summed in double."""
    first = max(0, prefill_rows - rows)
    recorded = attention[:, first:prefill_rows, :prompt]
    return recorded.mean(axis=1, dtype=np.float64).astype(np.float32)


def isolated_entropy(scores):
    """Collision entropy (Renyi, alpha = 2) of [..., heads][tokens] without the sinks, in nats."""
    rest = scores[..., SINKS:].astype(np.float64)
    mass = rest.sum(axis=-1)
    shares = rest / np.maximum(mass, 1e-12)[..., None]
    collision = np.maximum((shares * shares).sum(axis=-1), 1e-12)
    return np.where(mass < 1e-12, -np.log(1e-12), -np.log(collision))


def pooled_scores(groups):
    """Policy name -> [groups][tokens] float32, from [groups][heads][tokens]."""
    entropy = isolated_entropy(groups)
    weights = np.exp(-(entropy - entropy.min(axis=1, keepdims=True)) / TAU)
    weights /= weights.sum(axis=1, keepdims=True)
    weighted = np.einsum("gh,ght->gt", weights, groups.astype(np.float64))
    return {
        "mean": groups.mean(axis=1, dtype=np.float64).astype(np.float32),
        "max": groups.max(axis=1),
        "page-entrokv": weighted.astype(np.float32),
    }


def page_scores(scores, page_size):
    """The maximum of every page, over the last axis; the last page may be short."""
    starts = np.arange(0, scores.shape[-1], page_size)
    return np.maximum.reduceat(scores, starts, axis=-1)


def top_items(ordered, quota, items):
    """Boolean [...][items] of the first `quota` of every row of `ordered`."""
    kept = np.zeros(ordered.shape[:-1] + (items,), dtype=bool)
    np.put_along_axis(kept, ordered[..., :quota], True, axis=-1)
    return kept


def quota_of(budget, tokens, page_size):
    return max(1, Fraction(budget) * tokens // page_size)


def retained(groups, kept, totals):
    """[groups]: mean over the heads of the share of their mass on the kept tokens."""
    mass = (groups * kept[:, None, :]).sum(axis=-1, dtype=np.float64)
    return np.where(totals > 0, mass / np.where(totals > 0, totals, 1), 0).mean(axis=1)


def replay_layer(label, attention, prefill_rows, prompt, kv_heads, rows):
    scores = head_scores(attention, prefill_rows, prompt, rows)
    groups = scores.reshape(kv_heads, -1, prompt)
    totals = groups.sum(axis=-1, dtype=np.float64)
    vectors = {"independent": groups, **pooled_scores(groups)}
    for policy, values in vectors.items():
        for page_size in PAGE_SIZES:
            paged = values if page_size == 1 else page_scores(values, page_size)
            ordered = np.argsort(-paged, axis=-1, kind="stable")
            for budget in BUDGETS:
                quota = quota_of(budget, prompt, page_size)
                kept = top_items(ordered, quota, paged.shape[-1])
                if policy == "independent":
                    kept = kept.any(axis=1)
                tokens = np.repeat(kept, page_size, axis=-1)[:, :prompt]
                mass = retained(groups, tokens, totals)
                for group in range(kv_heads):
                    print(
                        f"{label},{group},{policy},{page_size},{budget},{kept[group].sum()},"
                        f"{tokens[group].sum()},{mass[group]:.9g}"
                    )


def main(path, rows=16, layers=None):
    print("sample,layer,group,policy,page_size,budget,selected,kept_tokens,retained_mass")
    with h5py.File(path, "r") as trace:
        for name, sample in trace["samples"].items():
            prompt = int(sample.attrs["prompt_length"])
            positions = sample["query_positions"][:]
            prefill_rows = int((positions < prompt).sum())
            kv_heads = int(sample.attrs["kv_heads"])
            for layer in sorted(sample["layers"], key=int)[:layers]:
                attention = sample["layers"][layer]["attention"]
                replay_layer(
                    f"{name},{layer}", attention, prefill_rows, prompt, kv_heads, rows
                )


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(sys.argv[1], *(int(word) for word in sys.argv[2:]))
