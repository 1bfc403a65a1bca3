"""What ingesting and asking cost beside an earlier revision: processor time and recall of ``auto`` and ``statement``.

Both trees run with the packages of this environment, on one evaluation set, each with a store and a cache of its own, and take
turns. ``ingest`` computes every vector; ``ingest, cached`` reads the vectors of the first round. ``ask`` is the median of a
question, by strategy. Times are those of the processors, which other users of a machine change least; what counts is the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from evaluation_sets import open_set, origin_line
from measure import say, table

BEFORE = "1579cd0"
STRATEGIES = ("auto", "statement")
_ROOT = Path(__file__).resolve().parents[2]


class Tree(NamedTuple):
    """A copy of the code, and the folder of its stores and its cache."""

    code: Path
    work: Path

    def run(self, dataset: Path, *, store: str, options: Sequence[str]) -> tuple[float, dict[str, Any]]:
        """``hlgraph eval`` in a process: the seconds of the processors, and what it printed."""
        mine = {"PYTHONPATH": str(self.code), "HLGRAPH_CACHE": str(self.work / "cache"), "OMP_NUM_THREADS": "1"}
        url = f"hlgraph://{self.work / store}"
        command = (sys.executable, "-m", "hlgraph", "--store", url, "eval", str(dataset), *options, "--json")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=self.work, env=os.environ | mine
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} in {self.code} ended with {done.returncode}:\n{done.stderr}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)


def code_of(revision: str, folder: Path) -> Path:
    """The files of a revision, below a folder."""
    done = subprocess.run(("git", "archive", revision), check=False, capture_output=True, cwd=_ROOT)
    if done.returncode:
        raise SystemExit(
            f"the revision {revision} is not here ({done.stderr.decode().strip()}); fetch the whole history"
        )
    with tarfile.open(fileobj=BytesIO(done.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder


def report(trees: Sequence[Tree], dataset: Path, *, rounds: int, names: Sequence[str]) -> None:
    """Print seconds of an ingest, milliseconds of a question and recall, of each tree."""
    one = ("--limit", "1", "--strategies", "chunk")
    ingests = {
        label: [tree.run(dataset, store=store, options=one)[0] for tree in trees]
        for label, store in (("ingest", "first"), ("ingest, cached", "second"))
    }
    asked = ("--strategies", ",".join(STRATEGIES), "--preset", "tuned")
    found = [
        [tree.run(dataset, store="first", options=asked)[1]["strategies"] for tree in trees] for _ in range(rounds)
    ]
    rows = [(label, *(f"{value:.1f} s" for value in values), _ratio(values)) for label, values in ingests.items()]
    for name in STRATEGIES:
        values = [statistics.median(each[at][name]["cpu_ms"] for each in found) for at in range(len(trees))]
        rows.append((f"ask, {name}", *(f"{value:.1f} ms" for value in values), _ratio(values)))
        for level in ("recall@5", "recall@20"):
            recalls = [found[0][at][name][level] for at in range(len(trees))]
            rows.append((f"{level}, {name}", *(f"{value:.1f}" for value in recalls), f"{recalls[1] - recalls[0]:+.1f}"))
    table((dataset.name, *names, "now / before"), rows)


def _ratio(values: Sequence[float]) -> str:
    return f"{values[1] / values[0]:.2f}"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default=BEFORE, metavar="REVISION", help=f"revision to compare with ({BEFORE})")
    parser.add_argument("--set", default="musique_oie", metavar="NAME", help="evaluation set (musique_oie)")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="times that all questions are asked (2)")
    chosen = parser.parse_args()
    say(origin_line())
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name:
        folder = Path(name)
        dataset = open_set(chosen.set, folder / "data").folder
        trees = []
        for label in ("before", "now"):
            work = folder / label
            (work / "code").mkdir(parents=True)
            trees.append(Tree(code_of(chosen.before, work / "code") if label == "before" else _ROOT, work))
        report(trees, dataset, rounds=chosen.rounds, names=(chosen.before, "now"))


if __name__ == "__main__":
    main()
