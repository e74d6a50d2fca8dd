#!/usr/bin/env python3
"""kvreplay_study_page.py on a study of synthetic traces and made-up live figures.

Verdicts are formed here a second time, from the tables of `kvreplay predict`. Needs nothing but Python.
"""
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "traces", "kvreplay_study_page.py")
KVREPLAY = os.path.abspath(os.environ.get("KVREPLAY", "build/kvreplay"))
PARTS = ("needle-0", "needle-1", "prose-0")


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class StudyPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = cls.folder.name
        for folder in "live", "tables", "data":
            os.mkdir(os.path.join(cls.out, folder))
        chance = random.Random(5)
        for part in PARTS:
            cls.make_part(part, chance)
        cls.command = [sys.executable, PAGE, cls.out, "--kvreplay", KVREPLAY, "-o", os.path.join(cls.out, "page.md"),
                       "--data", os.path.join(cls.out, "data")]
        subprocess.run(cls.command, check=True)
        with open(os.path.join(cls.out, "page.md"), encoding="utf-8") as file:
            cls.page = file.read()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def make_part(cls, part, chance):
        trace, tables = os.path.join(cls.out, f"{part}.h5"), os.path.join(cls.out, "tables", part)
        needles = "0" if part.startswith("prose") else "1"
        subprocess.run([KVREPLAY, "synth", trace, "--samples", "4", "--layers", "2", "--tokens", "200", "--decode", "4",
                        "--seed", part[-1], "--needles", needles], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([KVREPLAY, "replay", trace, "-o", tables, "--quiet", "--scorer", "last", "--budget", "0.1,0.3",
                        "--page-size", "1,16", "--policy", "mean,max,page-entrokv,tova,random,clairvoyant"], check=True)
        settings = {(row["trace"], row["sample"], row["policy"], row["scorer"], row["page_size"], row["budget"]): None
                    for row in rows_of(os.path.join(tables, "measures.csv"))}
        with open(os.path.join(cls.out, "live", f"{part}.csv"), "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow("trace sample policy scorer page_size budget right logprob logprob_full kl".split())
            for key in settings:
                bad = {"random": 3, "page-entrokv": 2}.get(key[2], 1) + chance.random()
                table.writerow([*key, "" if part == "prose-0" else int(bad < 1.5), -bad, -0.1, bad / 2])
        facts = {"task": part.split("-")[0], "samples": 4, "tried": 6, "own": 1,
                 "float": {"unmodified": [1e-5] * 4, "evicted": [2e-5] * 5},
                 "double": {"unmodified": [], "evicted": [1e-12]}}
        with open(os.path.join(cls.out, "live", f"{part}.json"), "w", encoding="utf-8") as file:
            json.dump(facts, file)

    def table_of(self, name, task="needle"):
        return rows_of(os.path.join(self.out, "predict", task, name))

    def says(self, text):
        self.assertIn(text, re.sub(r"\s+", " ", self.page))

    def test_counts(self):
        self.says("8 needle prompts and 4 prose prompts, 6 named policies (6 with their scorers)")
        self.says("24 settings a prompt, 288 runs")
        self.says("on 18 conditions, token by token, 3 of them")
        self.says("15 in float (largest difference 2e-05) and 3, where")
        self.says("12 were tried, and the 8")
        self.says("unmodified forward pass on all 12 prompts")

    def test_ranks_are_those_of_predict(self):
        found = {(r["page_size"], r["live"]): r for r in self.table_of("predict.csv")
                 if (r["scope"], r["budget"], r["measure"], r["pooling"]) == ("equal memory", "", "future_peak", "pooled")}
        for live, title in ("right", "share of right answers"), ("kl", "divergence from the full cache"):
            section = self.page.split(f"### Needles: {title}")[1]
            cells = re.search(r"\| future peak, pooled \|(.*)\|(.*)\|", section)
            for cell, page in zip(cells.groups(), ("1", "16")):
                row = found[page, live]
                self.assertTrue(cell.strip().startswith(f"{float(row['rho']):.2f}"), (cell, row))
        self.assertNotIn("### Prose: share of right answers", self.page)

    def test_entropy_pooling_is_counted(self):
        for rival in "mean", "max":
            better = worse = neither = 0
            for task in "needle", "prose":
                for row in self.table_of("predict_policies.csv", task):
                    ends = {row["policy"], row["against_policy"]}
                    if row["live"] != "kl" or ends != {"page-entrokv", rival}:
                        continue
                    sign = 1 if row["policy"] == "page-entrokv" else -1
                    low, high = sorted((sign * float(row["low"]), sign * float(row["high"])))
                    better, worse, neither = better + (high < 0), worse + (low > 0), neither + (low <= 0 <= high)
            self.assertEqual(better + worse + neither, 8)
            self.assertGreater(worse, 0)
            self.says(f"against {rival} pooling, paired, in 8 settings (task, scorer, page size, budget): better in "
                      f"{better}, worse in {worse}, not to be told apart in {neither}.")

    def test_earlier_figures_are_judged(self):
        verdicts = re.findall(r"\| (-?\d\.\d\d) \| (\S+)(?: \((\S+) … (\S+)\))? \| (reproduced|corrected) \|", self.page)
        self.assertGreater(len(verdicts), 5)
        for earlier, _, low, high, verdict in verdicts:
            if low and earlier not in (low, high):
                self.assertEqual(verdict == "reproduced", float(low) < float(earlier) < float(high))

    def test_data_do_it_again(self):
        data = os.path.join(self.out, "data")
        self.assertEqual(sorted(os.listdir(data)), ["live.csv", "predict_samples.csv"])
        again = subprocess.run([KVREPLAY, "predict", data, "--live", os.path.join(data, "live.csv"), "--mix-pages",
                                "--trace", "needle-0.h5,needle-1.h5"], check=True, capture_output=True, text=True)
        with open(os.path.join(self.out, "predict", "needle", "predict.txt"), encoding="utf-8") as file:
            self.assertEqual(again.stdout, file.read())

    def test_the_same_again_and_nothing(self):
        subprocess.run(self.command, check=True)
        with open(os.path.join(self.out, "page.md"), encoding="utf-8") as file:
            self.assertEqual(self.page, file.read())
        with tempfile.TemporaryDirectory() as empty:
            os.mkdir(os.path.join(empty, "live"))
            result = subprocess.run([sys.executable, PAGE, empty, "-o", os.path.join(empty, "page.md")],
                                    capture_output=True, text=True)
            self.assertEqual((result.returncode, os.listdir(empty)), (1, ["live"]))
            self.assertIn("expected parts of the study, found none", result.stderr)


if __name__ == "__main__":
    unittest.main()
