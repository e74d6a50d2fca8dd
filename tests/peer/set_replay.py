"""The same replay as notebooks of this field do it: one argsort per head and budget, Python sets.

Its tables have the same columns as those of numpy_replay.py, from which it takes the parts that any
notebook would have: reading, entropy and pooling. What differs is the middle: kept sets are sets,
unions are unions, and every policy, budget and page size is a run of its own.

Usage: set_replay.py TRACE [ROWS [LAYERS]]
"""

import sys

import h5py
import numpy as np

from numpy_replay import (
    BUDGETS,
    PAGE_SIZES,
    head_scores,
    page_scores,
    pooled_scores,
    quota_of,
)


def top_set(vector, page_size, quota):
    """The items of one vector that one budget keeps."""
    paged = vector if page_size == 1 else page_scores(vector, page_size)
    return set(np.argsort(-paged, kind="stable")[:quota].tolist())


def tokens_of(items, page_size, tokens):
    """The tokens of a set of pages."""
    return {
        token
        for item in items
        for token in range(item * page_size, min((item + 1) * page_size, tokens))
    }


def retained(heads, kept):
    index = sorted(kept)
    shares = []
    for head in heads:
        total = head.sum(dtype=np.float64)
        mass = head[index].sum(dtype=np.float64)
        shares.append(mass / total if total > 0 else 0)
    return float(np.mean(shares))


def replay_group(label, heads, policies):
    tokens = heads.shape[1]
    for policy, vectors in policies.items():
        for page_size in PAGE_SIZES:
            for budget in BUDGETS:
                quota = quota_of(budget, tokens, page_size)
                kept = set().union(*(top_set(v, page_size, quota) for v in vectors))
                kept_tokens = tokens_of(kept, page_size, tokens)
                print(
                    f"{label},{policy},{page_size},{budget},{len(kept)},{len(kept_tokens)},"
                    f"{retained(heads, kept_tokens):.9g}"
                )


def main(path, rows=16, layers=None):
    print("sample,layer,group,policy,page_size,budget,selected,kept_tokens,retained_mass")
    with h5py.File(path, "r") as trace:
        for name, sample in trace["samples"].items():
            prompt = int(sample.attrs["prompt_length"])
            prefill_rows = int((sample["query_positions"][:] < prompt).sum())
            kv_heads = int(sample.attrs["kv_heads"])
            for layer in sorted(sample["layers"], key=int)[:layers]:
                attention = sample["layers"][layer]["attention"]
                scores = head_scores(attention, prefill_rows, prompt, rows)
                groups = scores.reshape(kv_heads, -1, prompt)
                pooled = pooled_scores(groups)
                for group, heads in enumerate(groups):
                    policies = {"independent": list(heads)}
                    policies.update({k: [v[group]] for k, v in pooled.items()})
                    replay_group(f"{name},{layer},{group}", heads, policies)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(sys.argv[1], *(int(word) for word in sys.argv[2:]))
