"""Readers, writers, and threads that come and go, for a long time: memory, open files, disk and log must stay flat.

``make soak`` runs it for 30 minutes on an embedded store (``python tests/benchmarks/soak.py --minutes 30 --plot FILE``). Four
threads search without a pause, with filters, each time in a thread of its own. Two writers, one of them another process, edit
and delete sources. Every 10 seconds it notes what this process holds. It ends with 1 if anything grew, if a search found what
no state had, or if an error came out that is not one of a lock.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import say
from numpy.typing import NDArray

import hlgraph
from hlgraph.errors import StoreLockedError, UnknownNameError, WhereError
from hlgraph.evaluate.plots import Axis, Point, Series, chart
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

SOURCES, STRATEGIES = 60, ("statement", "path", "topic_graph", "fused", "chunk")
NAMES = ("Ada Falk", "Ben Moro", "Tim Vale", "Lin Orr", "Jonas Querl")
EVERY = 10.0


class Sample(NamedTuple):
    """What this process holds at a moment."""

    minute: float
    memory_mb: float
    files: int
    threads: int
    disk_mb: float
    log_mb: float
    searches: int


def document(number: int, version: int) -> Document:
    """A source; each of its sentences names its version, so that evidence of two versions cannot pass for one."""
    who, other = NAMES[number % 5], NAMES[(number + version) % 5]
    text = f"{who} built mill {number} in year {version}. {other} bought mill {number} in year {version} from {who}."
    return Document(f"doc:{number}", text, metadata={"version": version, "number": number})


class Forgetful(WordEmbedder):
    """An embedder that keeps no list of what it embedded."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = super().embed(texts)
        self.embedded.clear()
        return found


def connect(folder: str) -> HLGraph:
    return hlgraph.connect(f"hlgraph://{folder}", embedder=Forgetful())


def write(folder: str, numbers: range, until: float, seed: int) -> Counter[str]:
    """Edits sources of a range, deletes and adds them, until a time."""
    done: Counter[str] = Counter()
    pick = random.Random(seed)
    with connect(folder) as graph:
        for version in itertools.count(1_000 * seed + 1):
            if time.time() >= until:
                return done
            number = pick.choice(numbers)
            try:
                if pick.random() < 0.2:
                    graph.delete([f"doc:{number}"])
                    done["deletions"] += 1
                else:
                    graph.ingest([document(number, version)])
                    done["edits"] += 1
            except (StoreLockedError, UnknownNameError):  # it was deleted before
                done["refused"] += 1
            time.sleep(pick.uniform(0.1, 0.6))
    return done


class Reading:
    """Searches, each in a thread of its own, and what was wrong."""

    def __init__(self, graph: HLGraph, until: float) -> None:
        self.graph = graph
        self.until = until
        self.searches = 0
        self.wrong: list[str] = []

    def run(self, seed: int) -> None:
        pick = random.Random(seed)
        while time.time() < self.until:
            thread = threading.Thread(target=self._search, args=(pick.choice(STRATEGIES), pick.randrange(SOURCES)))
            thread.start()
            thread.join()

    def _search(self, strategy: str, number: int) -> None:
        try:
            question, where = f"Who bought mill {number}?", f"number >= {number // 2}"
            found = self.graph.search(question, strategy=strategy, where=where, k=10).evidence
        except WhereError:
            return
        except Exception as error:  # noqa: BLE001 - all are wrong here
            self.wrong.append(repr(error))
            return
        self.searches += 1
        for item in found:
            if f"year {item.source.metadata['version']}" not in item.text:
                self.wrong.append(f"{item.text} | {dict(item.source.metadata)}")
        versions = {}
        for item in found:
            if versions.setdefault(item.source.uri, item.source.metadata) != item.source.metadata:
                self.wrong.append(f"two versions of {item.source.uri}")


def sample(folder: Path, start: float, searches: int) -> Sample:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    sizes = {item.name: item.stat().st_size for item in folder.rglob("*") if item.is_file()}
    return Sample(
        round((time.time() - start) / 60, 3),
        int(status["VmRSS"].split()[0]) / 1e3,
        sum(1 for _ in Path("/proc/self/fd").iterdir()),
        int(status["Threads"]),
        sum(sizes.values()) / 1e6,
        sizes.get("hlgraph.db-wal", 0) / 1e6,
        searches,
    )


def grown(samples: list[Sample]) -> list[str]:
    """What is higher in the last third than in the second, by more than its noise."""
    third = max(1, len(samples) // 3)
    before, after = samples[third : 2 * third], samples[2 * third :]
    limits = {
        "memory_mb": (1.05, 5.0),
        "files": (1.1, 8),
        "threads": (1.0, 4),
        "disk_mb": (1.1, 2.0),
        "log_mb": (1.2, 8.0),
    }
    found = []
    for name, (factor, more) in limits.items():
        low, high = (sorted(getattr(item, name) for item in part)[len(part) // 2] for part in (before, after))
        if high > factor * low + more:
            found.append(f"{name}: {low:g}, then {high:g}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--plot", type=Path, help="SVG file")
    parser.add_argument("--writer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.writer:
        say(str(dict(write(options.writer[0], range(SOURCES // 2, SOURCES), float(options.writer[1]), seed=2))))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        start = time.time()
        until = start + 60 * options.minutes
        with connect(str(folder)) as graph:
            graph.ingest([document(number, 0) for number in range(SOURCES)])
            reading, samples = Reading(graph, until), [sample(folder, start, 0)]
            threads = [threading.Thread(target=reading.run, args=(seed,)) for seed in range(4)]
            threads.append(threading.Thread(target=write, args=(str(folder), range(SOURCES // 2), until, 1)))
            other = subprocess.Popen(
                [sys.executable, __file__, "--writer", str(folder), str(until)], env=dict(os.environ)
            )
            for thread in threads:
                thread.start()
            while time.time() < until:
                time.sleep(min(EVERY, max(0.1, until - time.time())))
                samples.append(sample(folder, start, reading.searches))
                say(" ".join(f"{field}={value:g}" for field, value in samples[-1]._asdict().items()))
            for thread in threads:
                thread.join()
            is_well = other.wait() == 0
            graph.reconcile(repair=True)
            bad = [item for item in graph.check() if not item.is_fine]
    if options.plot:
        series = [
            Series(field, tuple(Point(item.minute, getattr(item, field)) for item in samples))
            for field in ("memory_mb", "files", "threads", "disk_mb", "log_mb")
        ]
        options.plot.write_text(chart(series, "Soak", x=Axis("minutes"), y=Axis("MB, or number", is_log=True)))
    growth = grown(samples)
    say(
        f"{reading.searches:,} searches; grown: {growth}; wrong: {len(reading.wrong)} {reading.wrong[:5]}; doctor: {bad}"
    )
    return int(bool(growth or reading.wrong or bad or not is_well))


if __name__ == "__main__":
    raise SystemExit(main())
