"""Search under a bound on the diameter: how far from the optimum, and what each way to search costs.

    PYTHONPATH=tests/support python tests/benchmarks/bench_diameter.py [--graphs 100] [--nodes 12] [--large 20000]
    PYTHONPATH=tests/support python tests/benchmarks/bench_diameter.py --sets a,b [--store hlgraph://folder] [--questions N]

The gap is against brute force on small random graphs: the sum of similarities of what is found over that of the best set of
the same bound, where both have k nodes, and how often k nodes were found where there are k. The times are those of one search
over a large made-up graph with hubs, each way in turn. No data are needed.

With ``--sets``, instead: TopoRAG's comparison of the two searches on questions (its Table 4). The strategy ``diameter`` finds the
chunks of the entities alone (``chunks=0``, so no search for chunks hides what the entities find). For each way: the share of
questions for which k entities within the bound were found, how many were found, the median processor time of a search, and
the recall of passages; and the sum of the cosines of the entities (Eq. 1) beside that of the best ball: an entity and
its k - 1 most similar neighbours, which keep D = 2, over all entities of the corpus (20 questions). ``--store`` names a store that
`hlgraph eval` has filled; else the sets are ingested, real ones where HLGRAPH_DATA names them.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from evaluation_sets import open_set, origin_line
from measure import medians, say, table
from numpy.typing import NDArray

import hlgraph
from hlgraph.algorithms.diameter import DiameterBounds, Distance, Selection, best_ball, in_filter, post_filter
from hlgraph.algorithms.distances import hops_within
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.runner import PREFIX
from hlgraph.records import Kind
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.protocols import PullShape, Scope
from hlgraph.subgraph import Csr

_K = 4
_LARGE_K = 20
_DEGREE = 10
_BALLS = 20

Search = Callable[[Csr, NDArray[np.float64], NDArray[np.intp], DiameterBounds], Selection]


def _in(graph: Csr, scores: NDArray[np.float64], first: NDArray[np.intp], bounds: DiameterBounds) -> Selection:
    return in_filter(graph, scores, entries=first[:10], bounds=bounds)


def _post(graph: Csr, scores: NDArray[np.float64], first: NDArray[np.intp], bounds: DiameterBounds) -> Selection:
    return post_filter(graph, scores, candidates=first, bounds=bounds)


WAYS: Mapping[str, tuple[Search, dict[str, int]]] = {
    "post_filter": (_post, {}),
    "post_filter, 5 starts": (_post, {"starts": 5}),
    "in_filter": (_in, {}),
    "in_filter, no pruning": (_in, {"centers": 0}),
    "in_filter, 3 centers": (_in, {"centers": 3}),
    "in_filter, 5 starts": (_in, {"starts": 5}),
}


ASKED: Mapping[str, DiameterRetriever] = {
    "in-filter": DiameterRetriever(chunks=0),
    "in-filter, no pruning": DiameterRetriever(chunks=0, centers=0),
    "in-filter, 5 starts": DiameterRetriever(chunks=0, starts=5),
    "in-filter, D bounds paths of the graph": DiameterRetriever(chunks=0, distance=Distance.GRAPH),
    "in-filter, D = 1": DiameterRetriever(chunks=0, max_diameter=1),
    "in-filter, D = 3": DiameterRetriever(chunks=0, max_diameter=3),
    "in-filter, all neighbours": DiameterRetriever(chunks=0, fan_out=5_000),
    "no diameter: the nearest": DiameterRetriever(chunks=0, search="nearest"),
    "post-filter, k' = 50": DiameterRetriever(chunks=0, search="post_filter", candidates=50),
    "post-filter, k' = 200": DiameterRetriever(chunks=0, search="post_filter"),
    "post-filter, k' = 1000": DiameterRetriever(chunks=0, search="post_filter", candidates=1000),
    "post-filter, k' = 200, D = 1": DiameterRetriever(chunks=0, search="post_filter", max_diameter=1),
    "post-filter, k' = 200, D = 3": DiameterRetriever(chunks=0, search="post_filter", max_diameter=3),
}
"""What ``--sets`` compares; k = 20, D = 2 and k' = 200 where nothing else is said."""


def optimum(inside: NDArray[np.bool_], scores: NDArray[np.float64], bounds: DiameterBounds) -> float | None:
    """The highest sum of similarities of k nodes that keep the bound; None where there are none."""
    limit = bounds.max_diameter
    hops = hops_within(inside, max_hops=limit)
    best: float | None = None
    for members in itertools.combinations(range(len(inside)), bounds.k):
        total = float(scores[list(members)].sum())
        if best is not None and total <= best:
            continue
        at = np.ix_(members, members)
        held = hops[at] if bounds.distance is Distance.GRAPH else hops_within(inside[at], max_hops=limit)
        if held.max() <= limit:
            best = total
    return best


def gaps(count: int, nodes: int, distance: Distance) -> None:
    """Show the share of the optimum and how often a whole set was found."""
    rng = np.random.default_rng(0)
    shares: dict[str, list[float]] = {name: [] for name in WAYS}
    whole = dict.fromkeys(WAYS, 0)
    possible = 0
    for _ in range(count):
        inside = np.triu(rng.random((nodes, nodes)) < 2.5 / nodes, 1)
        inside |= inside.T
        scores = rng.random(nodes)
        best = optimum(inside, scores, DiameterBounds(k=_K, distance=distance))
        if best is None:
            continue
        possible += 1
        order = np.argsort(-scores, kind="stable")
        for name, (search, options) in WAYS.items():
            bounds = DiameterBounds(k=_K, distance=distance, **options)  # type: ignore[arg-type]
            found = search(sp.csr_array(inside, dtype=np.float32), scores, order, bounds)
            if found.is_complete:
                whole[name] += 1
                shares[name].append(float(scores[found.nodes].sum()) / best)
    say(f"\ndistance {distance}: {possible} of {count} graphs of {nodes} nodes have {_K} within 2 hops")
    rows = [
        (name, f"{100 * whole[name] / possible:.0f} %", f"{100 * np.mean(found):.1f} %", f"{100 * np.min(found):.0f} %")
        for name, found in shares.items()
    ]
    table(("search", "found k", "of the optimum, mean", "least"), rows)


def times(size: int) -> None:
    """Show what one search costs on a graph with hubs."""
    rng = np.random.default_rng(1)
    ends = (size ** rng.random((2, size * _DEGREE // 2))).astype(np.int64) - 1  # node n about as often as 1 / n
    ends[1] = rng.integers(0, size, ends.shape[1])
    half = sp.csr_array((np.ones(ends.shape[1], dtype=np.float32), (ends[0], ends[1])), shape=(size, size))
    graph = sp.csr_array(half + half.T)
    scores = rng.random(size)
    order = np.argsort(-scores, kind="stable")[:200]
    cases = list(itertools.product(Distance, WAYS))

    def once(case: tuple[Distance, str]) -> Callable[[int], object]:
        distance, name = case
        search, options = WAYS[name]
        bounds = DiameterBounds(k=_LARGE_K, distance=distance, **options)  # type: ignore[arg-type]
        return lambda _: search(graph, scores, order, bounds)

    found = medians([once(case) for case in cases], runs=5)
    degrees = np.diff(graph.indptr)
    say(
        f"\none search for {_LARGE_K} of {size:,} nodes, {graph.nnz // 2:,} edges, the widest hub {degrees.max():,}, 200 candidates"
    )
    rows = [
        (f"{name}, {distance}", f"{1000 * seconds:.1f} ms")
        for (distance, name), seconds in zip(cases, found, strict=True)
    ]
    table(("search", "median"), rows)


def on_questions(name: str, store: str, *, scratch: Path, questions: int | None) -> None:
    """Show what each way finds for the questions of a set."""
    item = open_set(name, scratch / "data", questions=questions)
    files = tuple(str(path) for path in item.dataset.extractions)
    documents = (
        hlgraph.Document(f"{PREFIX}{passage.id}", passage.text, passage.title, passage.metadata, key=passage.id)
        for passage in item.passages
    )
    with hlgraph.connect(store, corpus=f"eval-{name}") as graph:
        extract = "precomputed" if files else "local"
        graph.ingest(documents, extract=extract, extractions=files, missing="local", is_chunked=True)  # type: ignore[arg-type]
        for question in item.dataset.questions:  # embeds it
            graph.search(question.text, strategy=ChunkRetriever(), k=1)
        rows = [(way, *_row(graph, made, item.dataset.questions)) for way, made in ASKED.items()]
        best = best_balls(graph, [question.text for question in item.dataset.questions[:_BALLS]])
    say(
        f"\n{name}, {len(item.dataset.questions)} questions, k = {DiameterRetriever().entities}, chunks of the entities alone"
    )
    table(("search", "found k", "entities", "CPU", "R@5", "R@20", f"sum of cosines, {_BALLS} questions"), rows)
    say(f"best ball: {best:.2f}")


def best_balls(graph: HLGraph, questions: Sequence[str]) -> float:
    """The mean, over questions, of the highest sum of the cosines of k entities among an entity and its neighbours."""
    stores, name, k = graph._opened.stores, graph.corpus, DiameterRetriever().entities
    ids = [record.id for record in stores.graph.find(Kind.ENTITY, Scope(name))]
    shape = PullShape(*INGREDIENTS[ProjectionShape.ENTITY_ENTITY], hops=0, fan_out=5_000, node_cap=1_000_000)
    pulled = stores.graph.pull(ids, shape, scope=Scope(name))
    projected = project(pulled, ProjectionShape.ENTITY_ENTITY)
    known, vectors = stores.vectors.vectors(Kind.ENTITY, name, ids=pulled.ids[projected.nodes].tolist())
    at = np.searchsorted(pulled.ids[projected.nodes], known)
    edges, vectors = projected.adjacency[at][:, at], vectors.astype(np.float64)
    asked = graph._resources.models.embedder.embed(questions)
    sums = [best_ball(edges, vectors @ vector, k=k) for vector in asked]
    return statistics.mean(sums)


def _row(graph: HLGraph, made: DiameterRetriever, questions: tuple[Question, ...]) -> tuple[str, ...]:
    found: list[int] = []
    complete: list[bool] = []
    searches: list[float] = []
    sums: list[float] = []
    recalls: dict[int, list[float]] = {5: [], 20: []}
    for question in questions:
        start = time.process_time()
        result = graph.search(question.text, strategy=made, k=20, unit="chunk")
        searches.append(1000 * (time.process_time() - start))
        step = next(step for step in result.explain.steps if step.name.startswith("diameter "))
        found.append(step.count)
        complete.append(bool(step.details["is_complete"]))
        sums.append(float(step.details["similarity"]))
        ids = [evidence.source.uri.removeprefix(PREFIX) for evidence in result.evidence]
        for k, shares in recalls.items():
            shares.append(len(question.gold & set(ids[:k])) / len(question.gold))
    return (
        f"{100 * statistics.mean(complete):.0f} %",
        f"{statistics.mean(found):.1f}",
        f"{statistics.median(searches):.1f} ms",
        *(f"{100 * statistics.mean(shares):.1f}" for shares in recalls.values()),
        f"{statistics.mean(sums[:_BALLS]):.2f}",
    )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=100, metavar="N", help="small graphs")
    parser.add_argument("--nodes", type=int, default=12, metavar="N", help="nodes of a small graph")
    parser.add_argument("--large", type=int, default=20_000, metavar="N", help="nodes of the large graph")
    parser.add_argument(
        "--sets", metavar="NAMES", help="evaluation sets, separated by commas, instead of made-up graphs"
    )
    parser.add_argument("--store", metavar="URL", help="a store that `hlgraph eval` has filled")
    parser.add_argument("--questions", type=int, metavar="N", help="only the first N of each set")
    chosen = parser.parse_args()
    if chosen.sets:
        say(origin_line())
        with tempfile.TemporaryDirectory() as made:
            for name in chosen.sets.split(","):
                store = chosen.store or f"hlgraph://{made}/store"
                on_questions(name, store, scratch=Path(made), questions=chosen.questions)
        return
    for distance in Distance:
        gaps(chosen.graphs, chosen.nodes, distance)
    times(chosen.large)


if __name__ == "__main__":
    main()
