#!/usr/bin/env python3
"""Writes analysis/PREDICTS.md from what kvreplay_study.py left, whether all of it or a part.

    kvreplay_study_page.py build/study --kvreplay build/kvreplay -o analysis/PREDICTS.md

Runs `kvreplay predict` on each task and puts its figures into words: every number and every verdict
of the page comes from there, except those of the earlier study that it is compared with. Needs
nothing but Python. It must not know how figures are ranked.
"""
from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import textwrap
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

TASKS = {"needle": "needles", "prose": "prose"}
PAGES = {"1": "tokens", "16": "pages of 16"}
LIVES = {"right": "share of right answers", "loss": "loss of log-probability", "kl": "divergence from the full cache"}
HEADLINE = {"needle": "loss", "prose": "kl"}  # as in the earlier study
BOTH = "kl"  # what a task without right answers has as well

Measure = Tuple[str, str]  # its name and pooling in predict.csv
MEASURES: Dict[Measure, str] = {
    ("future_peak", "pooled"): "future peak, pooled", ("future_peak", "equal"): "future peak, equal weights",
    ("future_mass", "pooled"): "future mass, pooled", ("future_mass", "equal"): "future mass, equal weights",
    ("needle_future", "pooled"): "needle future, pooled", ("needle_future", "equal"): "needle future, equal weights",
    ("needle", "equal"): "share that keep the needle", ("output_error", "equal"): "output error",
    ("retained_mass", "equal"): "retained mass (policies that have one)"}

# Spearman within a budget at equal memory, page sizes 1 and 16: 52 needle prompts (log-probability of
# the right answer) and prose (divergence), 21 policies; no intervals were given.
EARLIER: List[Tuple[str, Measure, Optional[float], Optional[float]]] = [
    ("needle", ("future_mass", "equal"), 0.48, 0.82), ("needle", ("retained_mass", "equal"), 0.35, None),
    ("needle", ("needle", "equal"), 0.60, 0.80), ("needle", ("needle_future", "pooled"), 0.92, 0.88),
    ("needle", ("future_peak", "pooled"), 0.83, 0.93), ("prose", ("future_mass", "equal"), 0.60, 0.72),
    ("prose", ("future_peak", "pooled"), 0.84, 0.73), ("prose", ("output_error", "equal"), 0.74, 0.84)]


class Figure(NamedTuple):
    value: float
    low: float
    high: float

    def text(self, sign: bool = False) -> str:
        form = "{:+.2f}" if sign else "{:.2f}"
        if self.value != self.value:
            return "-"
        if self.low != self.low:
            return form.format(self.value)
        return f"{form} ({form} … {form})".format(self.value, self.low, self.high)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


NOTHING = Figure(float("nan"), float("nan"), float("nan"))


def figure(row: Dict[str, str], *names: str) -> Figure:
    return Figure(*(float(row[name] or "nan") for name in names))


# ---- what was found


class Task:
    """The tables of `kvreplay predict` for one task."""

    def __init__(self, name: str, folder: str, parts: Sequence[str]) -> None:
        self.name = name
        self.facts = []
        for part in parts:
            with open(os.path.join(folder, "..", "..", "live", f"{part}.json"), encoding="utf-8") as file:
                self.facts.append(json.load(file))
        self.samples = sum(facts["samples"] for facts in self.facts)
        self.tried = sum(facts["tried"] for facts in self.facts)
        self.points = self.rows(folder, "predict_points.csv")
        self.pairs = self.rows(folder, "predict_policies.csv")
        self.ranks: Dict[Tuple[str, str, str, str, Measure], Dict[str, str]] = {}
        for row in self.rows(folder, "predict.csv"):
            at = (row["page_size"], row["scope"], row["budget"], row["live"], (row["measure"], row["pooling"]))
            self.ranks[at] = row
        self.budgets = sorted({row["budget"] for row in self.points}, key=float)

    @staticmethod
    def rows(folder: str, name: str) -> List[Dict[str, str]]:
        with open(os.path.join(folder, name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def rho(self, page: str, live: str, measure: Measure, scope: str = "equal memory", budget: str = "") -> Figure:
        row = self.ranks.get((page, scope, budget, live, measure))
        return figure(row, "rho", "low", "high") if row else NOTHING

    def settings(self, page: str, live: str) -> int:
        found = [int(row["settings"]) for (p, scope, budget, l, _), row in self.ranks.items()
                 if (p, scope, budget, l) == (page, "equal memory", "", live)]
        return max(found, default=0)

    def best(self, page: str, live: str) -> Tuple[Measure, Dict[str, str]]:
        """The measure that `predict` says ranks best at equal memory, and its row."""
        found = {measure: row for (p, scope, budget, l, measure), row in self.ranks.items()
                 if (p, scope, budget, l) == (page, "equal memory", "", live) and row["ahead_of"]}
        if not found:
            return ("", ""), {}
        return next(iter(found.items()))

    def pair(self, page: str, budget: str, live: str, left: Tuple[str, str], right: Tuple[str, str]) -> Figure:
        """Paired difference left - right of two (scorer, policy); NOTHING if they were not paired."""
        for row in self.pairs:
            if (row["page_size"], row["budget"], row["live"]) != (page, budget, live):
                continue
            ends = (row["scorer"], row["policy"]), (row["against_scorer"], row["against_policy"])
            found = figure(row, "difference", "low", "high")
            if ends == (left, right):
                return found
            if ends == (right, left):
                return Figure(-found.value, -found.high, -found.low)
        return NOTHING


def predict(command: str, out: str, name: str, parts: Sequence[str], *options: str) -> str:
    """Leaves predict.txt and the tables of `kvreplay predict` in a folder, which is returned."""
    folder = os.path.join(out, "predict", name)
    os.makedirs(folder, exist_ok=True)
    traces = ",".join(f"{part}.h5" for part in parts)
    tables = [os.path.join(out, "tables", part) for part in parts]
    with open(os.path.join(folder, "predict.txt"), "w", encoding="utf-8") as page:
        subprocess.run([command, "predict", *tables, "--live", os.path.join(out, "live.csv"), "--trace", traces,
                        "-o", folder, *options], check=True, stdout=page)
    return folder


def join_live(out: str, parts: Sequence[str]) -> None:
    """The parts' live figures as one table."""
    path = os.path.join(out, "live.csv")
    with open(path + ".tmp", "w", encoding="utf-8") as joined:
        for index, part in enumerate(parts):
            with open(os.path.join(out, "live", f"{part}.csv"), encoding="utf-8") as file:
                lines = file.readlines()
            joined.writelines(lines if index == 0 else lines[1:])
    os.replace(path + ".tmp", path)


def parts_of(out: str) -> Dict[str, List[str]]:
    """The finished parts of each task, by number."""
    names = [name[:-5] for name in os.listdir(os.path.join(out, "live")) if name.endswith(".json")]
    found = {task: [name for name in names if name.startswith(f"{task}-")] for task in TASKS}
    return {task: sorted(parts, key=lambda name: int(name.split("-")[1])) for task, parts in found.items() if parts}


# ---- words


def paragraph(*sentences: str) -> List[str]:
    return textwrap.wrap(" ".join(sentences), 118, break_long_words=False, break_on_hyphens=False) + [""]


def bullet(text: str) -> List[str]:
    return textwrap.wrap(text, 118, initial_indent="* ", subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> List[str]:
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return lines + [""]


def places(tasks: Sequence[Task]) -> List[Tuple[Task, str]]:
    return [(task, page) for task in tasks for page in PAGES]


def where(found: Sequence[Tuple[Task, str]], all_of: Sequence[Tuple[Task, str]]) -> str:
    if len(found) == len(all_of):
        return "everywhere"
    return ", ".join(f"{TASKS[task.name]} by {PAGES[page]}" for task, page in found) or "nowhere"


def checks_of(tasks: Sequence[Task]) -> Dict[str, Any]:
    facts = [facts for task in tasks for facts in task.facts]
    found: Dict[str, Any] = {"own": sum(fact["own"] for fact in facts)}
    for kind in "unmodified", "evicted":
        for precision in "float", "double":
            found[kind, precision] = [value for fact in facts for value in fact[precision][kind]]
    return found


def opening(tasks: Sequence[Task]) -> List[str]:
    settings = len(tasks[0].points)
    samples = " and ".join(f"{task.samples} {task.name} prompts" for task in tasks)
    policies = {(row["scorer"], row["policy"]) for row in tasks[0].points}
    names = {policy for _, policy in policies}
    needle = next((task for task in tasks if task.name == "needle"), None)
    lines = ["# Does the replay predict the model?", ""]
    lines += paragraph(
        "A recording is open loop: it says what a policy would have kept, not what the model would then have said.",
        "Here the model was run with exactly the sets that a replay says are kept, and the two were compared:",
        f"SmolLM2-135M-Instruct (Q4_1 weights, computed in float) on {samples}, {len(names)} named policies",
        f"({len(policies)} with their scorers), budgets {', '.join(tasks[0].budgets)}, page sizes 1 and 16:",
        f"{settings} settings a prompt, {settings * sum(task.samples for task in tasks):,} runs.",
        "All numbers below are written by `make study` from the output of `kvreplay predict`.")
    if needle:
        lines += paragraph(
            "Needle prompts hold four secret numbers of seven digits in up to 1024 tokens of prose; one is asked for.",
            f"{needle.tried} were tried, and the {needle.samples} that the model answers right with its full cache taken.",
            "Prose prompts are texts of about 360 tokens; the answer is their own next 24 tokens, which have no right or",
            "wrong. The first token of an answer comes from the last row of the prompt, before anything is evicted, and is",
            "not counted.")
    return lines


def check_section(tasks: Sequence[Task]) -> List[str]:
    found = checks_of(tasks)
    evicted, again = found["evicted", "float"], found["evicted", "double"]
    full, full_again = found["unmodified", "float"], found["unmodified", "double"]
    lines = ["## Is the live run to be believed?", ""]
    lines += bullet(
        f"The masked run was held against a cache from which the entries were really deleted on {len(evicted) + len(again)} "
        f"conditions, token by token, {found['own']} of them with transformers' own cache and attention: all logits are "
        f"equal within 1e-4, {len(evicted)} in float (largest difference {max(evicted, default=0):.1g})"
        + (f" and {len(again)}, where evicting the sinks amplifies float's rounding, in double ({max(again):.1g})."
           if again else "."))
    lines += bullet(
        f"The full cache under the mask was held against an unmodified forward pass on all {len(full) + len(full_again)} "
        f"prompts: equal within 1e-4 (largest difference {max(full + full_again, default=0):.1g}).")
    return lines + [""]


def rank_section(tasks: Sequence[Task]) -> List[str]:
    lines = ["## Which measure ranks policies as the model does?", ""]
    lines += paragraph(
        "Spearman's correlation between what a replay measures and what the model does, both averaged over prompts,",
        "among the policies that hold equal memory, within each budget, then averaged over the budgets. 1 would be the",
        "same order. In brackets the 95 % interval over prompts (bootstrap).")
    for task in tasks:
        for live in [live for live in LIVES if not (task.name == "prose" and live == "right")]:
            settings = " and ".join(str(task.settings(page, live)) for page in PAGES)
            lines += [f"### {TASKS[task.name].capitalize()}: {LIVES[live]}", "",
                      f"{settings} settings (page sizes 1 and 16), {task.samples} prompts.", ""]
            rows = [[MEASURES[measure]] + [task.rho(page, live, measure).text() for page in PAGES]
                    for measure in MEASURES if any(task.rho(page, live, measure) != NOTHING for page in PAGES)]
            lines += table(["measure", *PAGES.values()], [row for row in rows if row[1:] != ["-", "-"]])
            for page in PAGES:
                lines += best_line(task, page, live)
            lines.append("")
    return lines


def best_line(task: Task, page: str, live: str) -> List[str]:
    measure, row = task.best(page, live)
    if not row:
        return []
    lead, second = figure(row, "lead", "lead_low", "lead_high"), (row["ahead_of"], row["ahead_of_pooling"])
    apart = "" if lead.low > 0 else ": they cannot be told apart"
    return bullet(f"{PAGES[page].capitalize()}: {MEASURES.get(measure, measure[0])} ranks best, ahead of "
                  f"{MEASURES.get(second, second[0])} by {lead.text()}{apart}.")


def budget_section(tasks: Sequence[Task]) -> List[str]:
    lines = ["## Budget by budget", "", "The same at each budget, for the pooled future peak.", ""]
    rows = []
    for task, page in places(tasks):
        live = HEADLINE[task.name]
        rows.append([f"{TASKS[task.name]}, {LIVES[live]}, {PAGES[page]}"] +
                    [task.rho(page, live, ("future_peak", "pooled"), budget=budget).text() for budget in task.budgets])
    return lines + table(["", *tasks[0].budgets], rows)


# ---- what holds


def compare_pooling(tasks: Sequence[Task], rival: str, live: str = BOTH) -> Tuple[int, int, int]:
    """Settings in which entropy pooling is live (better, worse, neither) than mean or max pooling."""
    counts = [0, 0, 0]
    for task, page in places(tasks):
        scorers = {row["scorer"] for row in task.points if row["policy"] == "page-entrokv"}
        for scorer in sorted(scorers):
            for budget in task.budgets:
                found = task.pair(page, budget, live, (scorer, "page-entrokv"), (scorer, rival))
                if found.low == found.low:
                    counts[0 if found.high < 0 else 1 if found.low > 0 else 2] += 1
    return counts[0], counts[1], counts[2]


def judge_measure(tasks: Sequence[Task], measure: Measure, test: Callable[[Figure, Task, str], bool]) -> str:
    all_of = [(task, page) for task, page in places(tasks) if task.rho(page, BOTH, measure) != NOTHING]
    return where([(task, page) for task, page in all_of if test(task.rho(page, BOTH, measure), task, page)], all_of)


def holds_section(tasks: Sequence[Task]) -> List[str]:
    peak = ("future_peak", "pooled")
    everywhere = places(tasks)
    positive = judge_measure(tasks, peak, lambda rho, *_: rho.low > 0)
    strong = judge_measure(tasks, peak, lambda rho, *_: rho.value >= 0.8)
    worse = judge_measure(tasks, ("retained_mass", "equal"),
                          lambda rho, task, page: rho.value < task.rho(page, BOTH, peak).value)
    apart = judge_measure(tasks, ("retained_mass", "equal"),
                          lambda rho, task, page: rho.high < task.rho(page, BOTH, peak).low)
    best = {f"{TASKS[task.name]} by {PAGES[page]}": MEASURES.get(task.best(page, BOTH)[0], "none")
            for task, page in everywhere}
    mixed = [(task, task.rho("mixed", BOTH, peak), [task.rho(page, BOTH, peak) for page in PAGES]) for task in tasks]
    lines = ["## What holds on both tasks", "", f"Judged by the {LIVES[BOTH]}, which both tasks have.", ""]
    lines += bullet(f"The pooled future peak ranks policies better than chance (interval above 0): {positive}. "
                    f"With a correlation of 0.8 or more: {strong}.")
    lines += bullet(f"The mass that a policy's own score retains ranks worse than that: {worse}; with intervals apart: "
                    f"{apart}.")
    one = set(best.values())
    lines += bullet(f"One measure ranks best everywhere: {one.pop()}." if len(one) == 1 else
                    "No one measure ranks best everywhere: " + "; ".join(f"{at}: {what}" for at, what in best.items())
                    + ".")
    lines += bullet("Ranking both page sizes together, at equal memory, the pooled future peak has " + "; ".join(
        f"{rho.text()} on {TASKS[task.name]}, against {alone[0].value:.2f} and {alone[1].value:.2f} apart"
        for task, rho, alone in mixed) + ".")
    for rival in "mean", "max":
        better, worse_count, open_count = compare_pooling(tasks, rival)
        settings = better + worse_count + open_count
        lines += bullet(f"Entropy pooling (`page-entrokv`) against {rival} pooling, paired, in "
                        f"{settings} settings (task, scorer, page size, budget): better in "
                        f"{better}, worse in {worse_count}, not to be told apart in {open_count}. Chance alone would "
                        f"give about {settings * 0.025:.1f} each way.")
    return lines + [""]


def policy_section(tasks: Sequence[Task]) -> List[str]:
    lines = ["## The policies, live", ""]
    lines += paragraph("Means over prompts. `right`: share of answers that stay the full cache's; loss: log-probability",
                       "a token that is lost; kl: divergence from the full cache in nats. Best at equal memory in bold,",
                       "`clairvoyant` (which knows the future) and what holds more than its budget aside.")
    for task, page in places(tasks):
        lives = [live for live in ("right", HEADLINE[task.name])
                 if any(row[live] for row in task.points)] or [BOTH]
        lines += [f"### {TASKS[task.name].capitalize()}, {PAGES[page]}", ""]
        head = ["policy"] + [f"{live} at {budget}" for live in lives for budget in task.budgets]
        lines += table(head, policy_rows(task, page, lives))
    return lines


def policy_rows(task: Task, page: str, lives: Sequence[str]) -> List[List[str]]:
    cells: Dict[Tuple[str, str], Dict[Tuple[str, str], Dict[str, str]]] = {}
    for row in task.points:
        if row["page_size"] == page:
            cells.setdefault((row["scorer"], row["policy"]), {})[row["budget"]] = row
    best = {}
    for live in lives:
        for budget in task.budgets:
            found = [(float(rows[budget][live]), use) for use, rows in cells.items()
                     if rows[budget][live] and use[1] != "clairvoyant" and float(rows[budget]["memory"]) < 1.05]
            value = (max if live == "right" else min)(found)[0] if found else None
            best[live, budget] = None if live == "right" and value == 0 else value  # all wrong: none is best
    asked = {policy for scorer, policy in cells if sum(p == policy for _, p in cells) > 1}
    rows = []
    for (scorer, policy), by_budget in cells.items():
        row = [f"{scorer} / {policy}" if policy in asked else policy]
        for live in lives:
            for budget in task.budgets:
                value = float(by_budget[budget][live] or "nan")
                over = float(by_budget[budget]["memory"]) >= 1.05 or policy == "clairvoyant"
                text = f"{value + 0.0:.2f}".replace("-0.00", "0.00")
                row.append(f"**{text}**" if value == best[live, budget] and not over else text)
        rows.append(row)
    return rows


def earlier_section(tasks: Sequence[Task]) -> List[str]:
    by_name = {task.name: task for task in tasks}
    lines = ["## Against the earlier study", ""]
    lines += paragraph("An earlier study of this model (52 needle prompts, 21 policies at equal memory, no intervals) is",
                       "quoted in the project's definitions. Reproduced means that its figure lies within our interval;",
                       "else it is corrected to ours.")
    rows, counts = [], {"reproduced": 0, "corrected": 0}
    for name, measure, *values in EARLIER:
        task, live = by_name.get(name), HEADLINE[name]
        for page, value in zip(PAGES, values):
            if task is None or value is None:
                continue
            ours = task.rho(page, live, measure)
            verdict = "reproduced" if ours.holds(value) else "corrected"
            counts[verdict] += 1
            rows.append([TASKS[name], MEASURES[measure], LIVES[live], PAGES[page], f"{value:.2f}", ours.text(), verdict])
    lines += table(["task", "measure", "live figure", "by", "earlier", "here", ""], rows)
    lines += paragraph(f"{counts['reproduced']} figures are reproduced, {counts['corrected']} corrected.",
                       "That entropy pooling was never better than mean or max pooling is counted above, under what holds.")
    return lines


def limits_section(tasks: Sequence[Task]) -> List[str]:
    lines = ["## What this does not say", ""]
    for text in (
            "One model, of 135 million parameters, with three query heads a group, at up to 1024 tokens. Whether the order "
            "of the measures carries over to larger models or longer contexts, nobody has measured here.",
            "Needle prompts are those that the model answers right with its full cache, with one form of question. Prose "
            "is the model's log-probability of text that was written for this study, not a task.",
            "Settings are correlated: many policies differ little. The intervals are over prompts, not over policies; "
            "another set of policies gives other correlations.",
            "Eviction happens once, after the prompt. Policies that evict while decoding, or that move positions "
            "together, would act otherwise.",
            "Future mass and future peak need recorded decode rows. They say how well kept sets served an answer that is "
            "known, and are no policy."):
        lines += bullet(text)
    lines += ["", "## To repeat it", "", "```", "make study STUDY_MODEL=path/to/SmolLM2-135M-Instruct.Q4_1.gguf", "```", ""]
    lines += paragraph(
        "The prompts come from `traces/study/prose.txt`, written for this purpose, and a seed. The runs are in",
        "`traces/study/live.csv`; `traces/kvreplay_live.py` says in its head what each column means.")
    return lines


# ---- the command


def write_page(tasks: Sequence[Task], path: str) -> None:
    lines = opening(tasks) + check_section(tasks) + rank_section(tasks) + budget_section(tasks) + holds_section(tasks) \
        + policy_section(tasks) + earlier_section(tasks) + limits_section(tasks)
    text = "\n".join(lines).rstrip("\n") + "\n"
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".tmp", path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", metavar="DIR", help="what kvreplay_study.py wrote")
    parser.add_argument("--kvreplay", default="build/kvreplay", metavar="COMMAND", help="(build/kvreplay)")
    parser.add_argument("-o", dest="out", required=True, metavar="FILE.md")
    parser.add_argument("--data", metavar="DIR2", help="also copy what `kvreplay predict` needs to do it again")
    options = parser.parse_args()
    parts = parts_of(options.study)
    if not parts:
        print(f'kvreplay_study_page.py: "{options.study}/live": expected parts of the study, found none',
              file=sys.stderr)
        return 1
    everything = [part for task in parts.values() for part in task]
    join_live(options.study, everything)
    write_page([Task(task, predict(options.kvreplay, options.study, task, names, "--mix-pages"), names)
                for task, names in parts.items()], options.out)
    if options.data:
        whole = predict(options.kvreplay, options.study, "all", everything, "--draws", "100")
        shutil.copy(os.path.join(whole, "predict_samples.csv"), options.data)
        shutil.copy(os.path.join(options.study, "live.csv"), options.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
