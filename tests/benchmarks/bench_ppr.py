"""Personalised PageRank on the graph of entities and passages (PropRAG, A.1): exact and local, beside igraph, and beside GDS.

All get the same graph, seeds and damping (0.75), and take turns. igraph gets its fastest case: parallel edges merged, weights
in place, seeds as a list. Each ranking is compared with igraph's: the share of its 50 best nodes. A query's seeds are the
entities of twenty statements (at most forty), each 1; the second kind of query adds every passage with a weight of at most
0.05, as PropRAG does. GDS is timed where HLGRAPH_TEST_SERVERS names the state folder of servers that are up; the corpus is
ingested there then.

    python tests/benchmarks/bench_ppr.py [--store hlgraph://folder --corpus name]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from evaluation_sets import open_set, origin_line
from ingest_keywords import keywords
from measure import medians, say, seconds_of, table
from numpy.typing import NDArray

import hlgraph
from hlgraph.algorithms.ppr import Space, exact_pagerank, local_pagerank, personalised_pagerank, prepare
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.ingest.options import IngestOptions
from hlgraph.models.choose import cached_embedder
from hlgraph.models.protocols import Embedder
from hlgraph.records import Kind, Relationship
from hlgraph.settings import Neo4jSettings, Settings, load
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, RankQuery, Scope, Stores
from hlgraph.subgraph import KINDS, Csr

SET = "musique_oie"
DAMPING = 0.75
BEST = 50
RUNS = 15
TARGETS = {"exact": 4.0, "local, epsilon 1e-05": 20.0}
_SHAPE = ProjectionShape.ENTITY_PASSAGE


class Graph(NamedTuple):
    """The graph, ids of its nodes, which are passages, and the entities of each statement, as places."""

    adjacency: Csr
    ids: NDArray[np.str_]
    passages: NDArray[np.intp]
    mentions: list[NDArray[np.intp]]


def graph_of(stores: Stores, corpus: str) -> Graph:
    """The whole graph of an embedded store."""
    assert isinstance(stores.graph, EmbeddedGraphStore)
    relationships, kinds = INGREDIENTS[_SHAPE]
    whole = stores.graph.whole(PullShape(relationships, kinds), scope=Scope(corpus))
    made = project(whole, _SHAPE)
    place = np.full(len(whole), -1, dtype=np.intp)
    place[made.nodes] = np.arange(len(made.nodes))
    mentions = whole.edges[Relationship.MENTIONS]
    rows = [place[mentions[[at]].indices] for at in whole.nodes(Kind.STATEMENT)]
    passages = np.flatnonzero(whole.kinds[made.nodes] == KINDS.index(Kind.CHUNK))
    return Graph(made.adjacency, whole.ids[made.nodes], passages, [row for row in rows if len(row)])


def queries(graph: Graph, *, has_passages: bool) -> list[NDArray[np.float64]]:
    """The seeds of each run, as one weight a node."""
    rng = np.random.default_rng(11)
    found = []
    for _ in range(RUNS):
        weights = np.zeros(len(graph.ids))
        chosen = np.concatenate([graph.mentions[at] for at in rng.choice(len(graph.mentions), 20)])
        weights[np.unique(chosen)[:40]] = 1
        if has_passages:
            weights[graph.passages] = 0.05 * rng.random(len(graph.passages))
        found.append(weights)
    return found


def plain_igraph(graph: Graph) -> Any:
    """The same graph for igraph.

    Its threads wait busily for each other, which makes it slow on a machine that does other things too: so it gets one.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # read when the library is loaded
    import igraph

    upper = sp.triu(graph.adjacency).tocoo()
    made = igraph.Graph(len(graph.ids), np.stack([upper.row, upper.col], axis=1).tolist())
    made.es["weight"] = upper.data.astype(float).tolist()
    return made


def compare(
    graph: Graph, seeds: list[NDArray[np.float64]], rankers: Mapping[str, Callable[[RankQuery], object]]
) -> bool:
    """Time all on these queries, and show them; returns whether the targets are met."""
    theirs, walk = plain_igraph(graph), prepare(graph.adjacency)
    space = Space(walk)
    places = [np.flatnonzero(weights) for weights in seeds]
    lists = [weights.tolist() for weights in seeds]
    asked = [
        RankQuery(_SHAPE, dict(zip(graph.ids[at].tolist(), weights[at].tolist(), strict=True)), k=BEST, damping=DAMPING)
        for at, weights in zip(places, seeds, strict=True)
    ]
    best: dict[str, list[set[int]]] = {}
    number = {key: at for at, key in enumerate(graph.ids.tolist())}

    def local(run: int, epsilon: float) -> NDArray[np.float64]:
        found = local_pagerank(
            walk, places[run], weights=seeds[run][places[run]], damping=DAMPING, epsilon=epsilon, space=space
        )
        return sp.csr_array((found.scores, ([0] * len(found.nodes), found.nodes)), shape=(1, len(walk)))

    actions: dict[str, Callable[[int], object]] = {
        "igraph prpack": lambda run: theirs.personalized_pagerank(
            reset=lists[run], damping=DAMPING, weights="weight", directed=False, implementation="prpack"
        ),
        "power iteration": lambda run: (
            personalised_pagerank(graph.adjacency, seeds[run], damping=DAMPING, tolerance=1e-6).scores
        ),
        "exact": lambda run: (
            exact_pagerank(walk, places[run], weights=seeds[run][places[run]], damping=DAMPING, tolerance=1e-6).scores
        ),
        **{f"local, epsilon {value:.0e}": lambda run, value=value: local(run, value) for value in (1e-4, 1e-5, 1e-6)},
        **{name: lambda run, rank=rank: rank(asked[run]) for name, rank in rankers.items()},
    }
    for name, action in actions.items():
        best[name] = [_best(action(run), number) for run in range(RUNS)]
    reference = [np.array(actions["igraph prpack"](run)) for run in range(RUNS)]
    times = medians(list(actions.values()), runs=RUNS)
    rows, is_met = [], True
    for (name, found), seconds in zip(best.items(), times, strict=True):
        ratio = times[0] / seconds
        shared = statistics.mean(_agreement(a, scores) for a, scores in zip(found, reference, strict=True))
        target = TARGETS.get(name)
        is_met = is_met and (target is None or ratio >= target)
        rows.append(
            (name, f"{1000 * seconds:.2f}", f"{ratio:.1f}", f"{100 * shared:.1f}", f"{target:.0f}" if target else "")
        )
    table((f"{len(places[0]):,} seeds", "ms", "times igraph", f"% of its {BEST} best", "target"), rows)
    say()
    return is_met


def _agreement(nodes: set[int], scores: NDArray[np.float64]) -> float:
    """The share of the best nodes that are among igraph's; equal to its last one, within the tolerance, is as good."""
    last = np.sort(scores)[-BEST]
    return float(np.mean(scores[list(nodes)] >= last - 1e-6))


def _best(found: object, number: Mapping[str, int]) -> set[int]:
    """The best nodes of any result: hits, or one score a node."""
    if isinstance(found, list) and found and hasattr(found[0], "id"):
        return {number[hit.id] for hit in found[:BEST]}
    scores = found.toarray().ravel() if sp.issparse(found) else np.asarray(found)
    return set(np.argsort(-scores.round(9), kind="stable")[:BEST].tolist())


@contextlib.contextmanager
def ingested(settings: Settings | str, embedder: Embedder, scratch: Path) -> Iterator[Stores]:
    """The set in a store."""
    item = open_set(SET, scratch / "data")
    files = tuple(str(path) for path in item.dataset.extractions)
    options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
    documents = [hlgraph.Document(passage.id, passage.text, passage.title, key=passage.id) for passage in item.passages]
    with hlgraph.connect(settings, corpus=SET, embedder=embedder) as graph:
        seconds = seconds_of(lambda: graph.ingest(documents, **keywords(options)))
    say(f"{len(documents):,} passages ingested in {seconds:.0f} s")
    opened = open_stores(settings)
    with opened.closing:
        yield opened.stores


def server_settings(scratch: Path) -> Settings | None:
    """The Neo4j server of the environment, with its vectors in a folder."""
    named = os.environ.get("HLGRAPH_TEST_SERVERS")
    found = json.loads((Path(named) / "servers.json").read_text()).get("neo4j") if named else None
    if found is None:
        return None
    own = Neo4jSettings(user=found["user"], password=found["password"], database=found["database"])
    return Settings(store=found["url"], vectors=f"hlgraph://{scratch}/vectors", neo4j=own)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="an embedded store that holds the corpus already")
    parser.add_argument("--corpus", default=SET)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name, contextlib.ExitStack() as closing:
        scratch, corpus = Path(name), chosen.corpus
        if chosen.store:
            opened = open_stores(chosen.store)
            closing.enter_context(opened.closing)
            stores, servers = opened.stores, None
        else:
            say(origin_line())
            embedder = closing.enter_context(contextlib.closing(cached_embedder(load().models)))
            stores = closing.enter_context(ingested(f"hlgraph://{scratch}/store", embedder, scratch))
            settings = server_settings(scratch)
            servers = closing.enter_context(ingested(settings, embedder, scratch)) if settings else None
        ranker = stores.graph.ranker
        assert ranker is not None
        rankers: dict[str, Callable[[RankQuery], object]] = {
            "embedded store, exact": lambda query: ranker.rank(query, scope=Scope(corpus))
        }
        if servers is not None and servers.ranker is not None:
            rankers["GDS"] = lambda query, rank=servers.ranker.rank: rank(query, scope=Scope(corpus))  # type: ignore[misc]
        graph = graph_of(stores, corpus)
        say(
            f"{len(graph.ids):,} nodes, {graph.adjacency.nnz // 2:,} edges; damping {DAMPING}; medians of {RUNS} queries\n"
        )
        is_met = compare(graph, queries(graph, has_passages=False), rankers)
        compare(graph, queries(graph, has_passages=True), rankers)
        say(f"targets {'met' if is_met else 'MISSED'} on few seeds")


if __name__ == "__main__":
    main()
