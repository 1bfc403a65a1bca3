"""PropRAG's graph of an evaluation set, and igraph's PageRank on it: says how fast this machine is now.

The times of PropRAG's own code are constants of another day. Personalised PageRank by igraph alone, on the graph that this
code makes, was timed along with them. Here the graph is made again from its description (the paper, and what its code
was seen to do), and igraph runs on it between the timings of `path`: so both sides have one clock.

Nodes are entities, as they were extracted, and passages. For each ordered pair of entities an edge counts the propositions
that name both, so there are two parallel edges; a passage has an edge of weight 1 to each of its entities. Of each entity
with more than two letters or digits, an edge goes to the (at most 101) entities with a cosine of at least 0.8, with the
cosine as weight, which is added to the count. Of a text that stands in many passages, the last list of entities counts.

A set without extracted propositions has sentences in their place. Their entities are found by plain rules: the title of the
passage, dates, numbers, and runs of capitalised words.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from evaluation_sets import BenchmarkSet
from numpy.typing import NDArray

from hlgraph.models.protocols import Embedder

ALIKE, MOST_ALIKE = 0.8, 101
DAMPING = 0.75
SEEDS, PASSAGE_WEIGHT = 40, 0.05
_QUERIES = 15
_ROWS_AT_ONCE = 512
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}} (?:{_MONTHS})(?:,? \d{{4}})?|(?:{_MONTHS}) \d{{1,2}}(?:, \d{{4}})?|(?:{_MONTHS}) \d{{4}})\b"
)
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_CAPITALISED = r"[A-Z]\w+"
_NAME = re.compile(rf"\b{_CAPITALISED}(?:(?:\s+(?:of|the|de|and|von|van|for|in))*\s+{_CAPITALISED})*")
_GAP = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_OPENERS = frozenset(
    (  # words that open a sentence
        *("A", "An", "And", "After", "Also", "Although", "As", "At", "Before", "Both", "But", "By", "During", "First"),
        *(
            "Following",
            "For",
            "From",
            "He",
            "Her",
            "His",
            "However",
            "In",
            "It",
            "Its",
            "Many",
            "Most",
            "Of",
            "On",
            "One",
        ),
        *("Or", "Other", "Since", "Some", "That", "The", "Their", "Then", "There", "These", "They", "This", "Those"),
        *("Three", "To", "Two", "Under", "Until", "When", "Where", "While", "With"),
    )
)


class Figures(NamedTuple):
    """What was noted of PropRAG's own graph, and seconds of one PageRank of igraph alone on it, on two idle cores."""

    nodes: int
    edges: int
    seconds: float


THEIRS: Mapping[str, Figures] = {
    "musique_oie": Figures(48_322, 484_395, 0.042),
    "2wikimultihopqa": Figures(51_910, 793_048, 0.090),
    "hotpotqa": Figures(81_790, 1_390_264, 0.157),
}
TWO_THREADS = 0.73
"""igraph takes a thread a core unless it is told otherwise, so it very likely had two then. The calling one of two does .73
of the work (.70 to .75 on these graphs, by its processor time): that much of one thread's time is what two idle cores need."""


class Proposition(NamedTuple):
    """A statement and the entities in it."""

    text: str
    entities: tuple[str, ...]


class PeerGraph(NamedTuple):
    """An undirected graph with parallel edges.

    Attributes
    ----------
    entities, passages : how many; nodes are numbered in this order
    edges : ends of each edge, (edges, 2)
    weights : of each edge, (edges,)
    """

    entities: int
    passages: int
    edges: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def nodes(self) -> int:
        """How many nodes."""
        return self.entities + self.passages

    def is_like(self, theirs: Figures, *, within: float = 0.1) -> bool:
        """Whether both counts differ by no more than this share."""
        counts = ((self.nodes, theirs.nodes), (len(self.edges), theirs.edges))
        return all(abs(ours / other - 1) <= within for ours, other in counts)


class Times(NamedTuple):
    """Seconds of one PageRank in one thread: by the clock, and of the processor."""

    clock: float
    cpu: float

    def over(self, theirs: Figures, *, threads: int) -> Times:
        """How many times as long as then, if igraph had so many threads then."""
        share = TWO_THREADS if threads == 2 else 1
        return Times(self.clock * share / theirs.seconds, self.cpu * share / theirs.seconds)


def propositions(item: BenchmarkSet) -> list[list[Proposition]]:
    """Those of each passage: what the set holds, else its sentences."""
    for path in item.dataset.extractions:
        if path.name.startswith("derived_propositions"):
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                rows = [json.loads(line)["propositions"] for line in lines]
            return [[Proposition(one["text"], tuple(one["entities"])) for one in row] for row in rows]
    return [
        [
            Proposition(sentence, tuple(dict.fromkeys((passage.title, *named(sentence)))))
            for sentence in _GAP.split(passage.text)
        ]
        for passage in item.passages
    ]


def named(sentence: str) -> list[str]:
    """Dates, numbers and runs of capitalised words, less the words that open a sentence.

    >>> named("In May 1920 the University of Basel had 1,100 students.")
    ['May 1920', '1,100', 'University of Basel']
    """
    rest = _DATE.sub(";", sentence)
    found = _DATE.findall(sentence) + _NUMBER.findall(rest)
    for run in _NAME.findall(rest):
        words = run.split()
        while words and words[0] in _OPENERS:
            words.pop(0)
        if words:
            found.append(" ".join(words))
    return found


def peer_graph(item: BenchmarkSet, embedder: Embedder, *, cache: Path) -> PeerGraph:
    """The graph of a set; the pairs of alike names are kept in the folder ``cache``, so that only the first call is long."""
    rows = propositions(item)
    last = {one.text: one.entities for row in rows for one in row}
    names = sorted({name for row in rows for one in row for name in one.entities})
    number = {name: at for at, name in enumerate(names)}
    together = [
        pair
        for entities in last.values()
        for pair in permutations([number[name] for name in dict.fromkeys(entities)], 2)
    ]
    holds = [
        (len(names) + at, number[name])
        for at, row in enumerate(rows)
        for name in {name for one in row for name in one.entities}
    ]
    pairs, cosines = alike(names, embedder, cache=cache)
    ends = np.concatenate([np.array(together), np.array(holds), pairs])
    counts = np.ones(len(together) + len(holds))
    nodes = len(names) + len(rows)
    keys, which = np.unique(ends[:, 0] * nodes + ends[:, 1], return_inverse=True)
    weights: NDArray[np.float64] = np.bincount(which, weights=np.concatenate([counts, cosines])).astype(np.float64)
    return PeerGraph(len(names), len(rows), np.stack(np.divmod(keys, nodes), axis=1), weights)


def alike(names: Sequence[str], embedder: Embedder, *, cache: Path) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ordered pairs of alike names, and their cosines."""
    told = hashlib.sha256("\0".join((embedder.fingerprint, *names)).encode())
    kept = cache / f"alike-{told.hexdigest()[:16]}.npz"
    if not kept.exists():
        found = _alike(embedder.embed(names))
        cache.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part.npz")
        np.savez(part, pairs=found[0], cosines=found[1])
        part.replace(kept)
    with np.load(kept) as held:
        pairs, cosines = held["pairs"], held["cosines"]
    order = np.lexsort((pairs[:, 1], -cosines, pairs[:, 0]))
    pairs, cosines = pairs[order], cosines[order]
    rank = np.arange(len(pairs)) - np.searchsorted(pairs[:, 0], pairs[:, 0])
    is_long = np.array([sum(letter.isascii() and letter.isalnum() for letter in name) > 2 for name in names])
    is_kept = (rank < MOST_ALIKE) & is_long[pairs[:, 0]]
    return pairs[is_kept], cosines[is_kept]


def _alike(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All pairs above the threshold, both ways; half of the products is enough."""
    pairs, cosines = [], []
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        products = vectors[start : start + _ROWS_AT_ONCE] @ vectors[start:].T
        one, other = np.nonzero(np.triu(products >= ALIKE, k=1))
        pairs.append(np.stack([one, other], axis=1) + start)
        cosines.append(products[one, other].astype(np.float64))
    found, values = np.concatenate(pairs), np.concatenate(cosines)
    return np.concatenate([found, found[:, ::-1]]), np.concatenate([values, values])


def resets(graph: PeerGraph) -> list[list[float]]:
    """The weights of some queries: 40 entities with 1, each passage with at most 0.05.

    They are drawn: which nodes have them does not change the time.
    """
    rng = np.random.default_rng(11)
    weights = np.zeros((_QUERIES, graph.nodes))
    for row in weights:
        row[rng.choice(graph.entities, min(SEEDS, graph.entities), replace=False)] = 1
        row[graph.entities :] = PASSAGE_WEIGHT * rng.random(graph.passages)
    return [row.tolist() for row in weights]


class PageRankClock:
    """igraph on this graph in a process of its own, which sleeps when it is not asked.

    Its threads wait busily for each other, so it gets one, and the caller's libraries keep theirs.

    Parameters
    ----------
    graph : that of a set
    scratch : a folder for what is handed over
    """

    def __init__(self, graph: PeerGraph, scratch: Path) -> None:
        self._times: list[Times] = []
        file = scratch / "peer-graph.npz"
        np.savez(file, **graph._asdict())
        alone = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        self._worker = subprocess.Popen(
            [sys.executable, __file__, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=alone
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.communicate()

    def run(self, count: int = 6) -> None:
        """Run so many queries now."""
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write(f"{count}\n")
        self._worker.stdin.flush()
        self._times += [Times(*each) for each in json.loads(self._worker.stdout.readline())]

    @property
    def median(self) -> Times:
        """The median of all runs."""
        return Times(*(statistics.median(each) for each in zip(*self._times, strict=True)))


def serve(file: Path) -> None:
    """Read a number from each line and write the times of so many queries, until there is no more line."""
    import igraph  # type: ignore[import-untyped]

    with np.load(file) as held:
        graph = PeerGraph(int(held["entities"]), int(held["passages"]), held["edges"], held["weights"])
    made = igraph.Graph(graph.nodes, graph.edges.tolist())
    made.es["weight"] = graph.weights.tolist()
    lists = resets(graph)
    for line in sys.stdin:
        times = []
        for at in range(int(line)):
            start, busy = time.perf_counter(), time.process_time()
            made.personalized_pagerank(
                reset=lists[at % len(lists)], damping=DAMPING, weights="weight", directed=False, implementation="prpack"
            )
            times.append((time.perf_counter() - start, time.process_time() - busy))
        sys.stdout.write(f"{json.dumps(times)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
