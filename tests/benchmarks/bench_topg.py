"""ToPG: what `local` finds, what cycles add when the selection is right, and what one suggestion step costs.

    PYTHONPATH=tests/support python tests/benchmarks/bench_topg.py [--store hlgraph://folder] [--sets a,b] [--questions N]

Quality: `local` with its rules beside `statement`, recall of passages at 5 and 20, and the difference with its interval by the
paired bootstrap. Then `local` with an oracle in the place of Select, which keeps the statements of the passages that support
the answer and nothing else, for one, two and three cycles.

Cost: one suggestion step (take out 500 statements around a pool of twenty, walk, the best twenty with their texts), by push
and by random walks; the sparse walk beside the dense matrices of Eq. 4 to 7 on the same 500 statements, which must rank
alike. ``--store`` names a store that `hlgraph eval` has filled; else the sets are ingested, real ones where HLGRAPH_DATA
names them.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evaluation_sets import BenchmarkSet, open_set, origin_line
from ingest_keywords import keywords
from measure import medians, say, table
from numpy.typing import NDArray

import hlgraph
from hlgraph.algorithms.query_walk import QueryWalk, bipartite, query_pagerank
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.runner import PREFIX, GoldSelector, gold_statements
from hlgraph.evaluate.statistics import Resamples
from hlgraph.records import Kind
from hlgraph.retrieve.request import SearchRequest
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.suggest import Extraction, Horizon, best_of, horizons, texts_of
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.sdk.client import HLGraph, IngestOptions

SETS = ("musique_oie", "2wikimultihopqa", "hotpotqa")
CUTOFFS = (5, 20)
STEP_MS = 15.0
RATIO = 10.0
POOL = 20
RUNS = 30
WARM_UP = 3
_CEILING = 0.95


class Opened(NamedTuple):
    """A set and the graph that holds it."""

    item: BenchmarkSet
    graph: HLGraph

    def session(self, question: str) -> Session:
        """What a strategy gets for a question."""
        stores = self.graph._opened.stores
        [corpus] = stores.graph.stats(self.graph.corpus, has_counts=False)
        request = SearchRequest(question, self.graph.corpus, POOL)
        models = self.graph._resources.models
        return Session(request, stores, embedder=models.embedder, reranker=models.reranker, corpus=corpus)


def recall(opened: Opened, question: Question, chosen: Retriever) -> list[float]:
    """Of the passages that support the answer, at each cutoff."""
    found = opened.graph.search(question.text, strategy=chosen, k=max(CUTOFFS), unit="chunk").evidence
    ids = [item.source.uri.removeprefix(PREFIX) for item in found]
    return [len(set(ids[:k]) & question.gold) / len(question.gold) for k in CUTOFFS]


def quality(opened: Opened) -> bool:
    """Show recall; returns whether `local` is not below `statement`, and whether right selections make it rise."""
    questions = opened.item.dataset.questions
    ways: dict[str, Retriever] = {"statement": StatementRetriever(), "local": LocalRetriever()}
    values = {name: np.array([recall(opened, each, made) for each in questions]) for name, made in ways.items()}
    gold = GoldSelector(gold_statements(opened.graph, opened.item.dataset))
    for cycles in (1, 2, 3):
        rows = []
        for each in questions:
            gold.asked = each.text
            rows.append(recall(opened, each, LocalRetriever(cycles=cycles, selector=gold)))
        values[f"local, oracle, {cycles} cycles"] = np.array(rows)
    say(f"\n{opened.item.name}, {len(questions)} questions")
    table(
        ("strategy", *(f"recall@{k}" for k in CUTOFFS)),
        [(name, *(f"{100 * value:.1f}" for value in found.mean(axis=0))) for name, found in values.items()],
    )
    for at, k in enumerate(CUTOFFS):
        both = Resamples(np.stack([values["local"][:, at], values["statement"][:, at]], axis=1))
        difference = both.difference(0, 1)
        low, high = 100 * difference.low, 100 * difference.high
        say(f"recall@{k}, local minus statement: {100 * difference.mean:+.1f} ({low:+.1f} to {high:+.1f})")
    one, three = (values[f"local, oracle, {cycles} cycles"].mean(axis=0) for cycles in (1, 3))
    is_kept = bool((values["local"].mean(axis=0) >= values["statement"].mean(axis=0)).all())
    # Where the first cycle finds all there is to find, recall cannot rise; it must not fall.
    is_rising = bool((three >= one).all()) and bool((three > one).any() or (one > _CEILING).all())
    say(f"local not below statement: {_word(is_kept)}; recall rises with right selections: {_word(is_rising)}")
    return is_kept and is_rising


def _word(is_so: bool) -> str:
    return "yes" if is_so else "NO"


def pool_of(session: Session) -> list[str]:
    """The best statements of the search: what a cycle starts from."""
    return [hit.id for hit in session.seeds(Kind.STATEMENT, POOL)]


def step(session: Session, pool: Sequence[str], extraction: Extraction) -> Horizon:
    """One suggestion step; what it suggests is not needed here."""
    [around] = horizons(session, [pool], extraction=extraction)
    [shares] = around.shares([pool], session.vector()[np.newaxis], walk=QueryWalk())
    texts_of(session, [item for item, _ in best_of(around.ids, shares, k=POOL)])
    return around


def steps(opened: Opened) -> bool:
    """Show what a suggestion step costs; returns whether it is within its target."""
    asked = [
        opened.item.dataset.questions[at % len(opened.item.dataset.questions)].text for at in range(WARM_UP + RUNS)
    ]
    ways = {"push": Extraction(), "random walks": Extraction(by="walk")}

    # A session remembers what it read: each step gets a new one, with its pool and its vector known.
    prepared = {name: [opened.session(text) for text in asked] for name in ways}
    pools = {name: [pool_of(session) for session in sessions] for name, sessions in prepared.items()}
    for name, way in ways.items():
        for at in range(WARM_UP):
            step(prepared[name][at], pools[name][at], way)
    # Beside other work the clock says little about a step that runs in one thread: its processor time decides.
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for run in range(WARM_UP, WARM_UP + RUNS):
        for name, way in ways.items():
            clock, processor = time.perf_counter(), time.process_time()
            step(prepared[name][run], pools[name][run], way)
            spent[name].append((time.process_time() - processor, time.perf_counter() - clock))
    say(
        f"\none suggestion step, {opened.item.name}: medians of {RUNS} questions, ms (target {STEP_MS:.0f} of processor time)"
    )
    medians_of = {name: np.median(np.array(found), axis=0) * 1000 for name, found in spent.items()}
    rows = [(name, f"{found[0]:.1f}", f"{found[1]:.1f}") for name, found in medians_of.items()]
    table(("taken out by", "processor", "clock"), rows)
    return bool(medians_of["push"][0] < STEP_MS)


def dense_shares(
    across: NDArray[np.float64], cosines: NDArray[np.float64], seeds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same walk with dense matrices, as the equations stand."""
    walk = QueryWalk()
    down = across / np.maximum(across.sum(axis=1, keepdims=True), 1)
    up = across.T / np.maximum(across.sum(axis=0), 1)[:, np.newaxis]
    structure = down @ up
    np.fill_diagonal(structure, 0)
    structure[structure < 1e-12] = 0
    structure /= np.maximum(structure.sum(axis=1, keepdims=True), 1e-300)
    temperature, threshold = walk.attraction()
    close = np.where(cosines >= threshold, np.exp(cosines / temperature), 0)
    meaning = np.where(structure > 0, close, 0)
    meaning /= np.maximum(meaning.sum(axis=1, keepdims=True), 1e-300)
    matrix = walk.structure_weight * structure + (1 - walk.structure_weight) * meaning
    matrix += np.maximum(1 - matrix.sum(axis=1, keepdims=True), 0) * seeds
    scores = seeds
    while True:
        following = walk.damping * (scores @ matrix) + (1 - walk.damping) * seeds
        if np.abs(following - scores).sum() <= 1e-6:
            return following
        scores = following


def sparse_and_dense(opened: Opened) -> bool:
    """Show both; returns whether the ratio is met and the rankings are the same."""
    questions = opened.item.dataset.questions[:RUNS]
    cases = []
    for question in questions:
        session = opened.session(question.text)
        pool = pool_of(session)
        [around] = horizons(session, [pool], extraction=Extraction())
        seeds = np.isin(around.ids, pool).astype(np.float64)
        cases.append((around, around.vectors.astype(np.float64) @ session.vector(), seeds / seeds.sum()))

    def sparse(run: int) -> NDArray[np.float64]:
        around, cosines, seeds = cases[run % len(cases)]
        made = bipartite(around.across)
        return query_pagerank(made, cosines[np.newaxis], seed_weights=seeds[np.newaxis]).scores[0]

    def dense(run: int) -> NDArray[np.float64]:
        around, cosines, seeds = cases[run % len(cases)]
        return dense_shares(around.across.toarray().astype(np.float64), cosines, seeds)

    same = 0
    for run in range(len(cases)):
        found = [np.argsort(-scores(run).round(5), kind="stable")[:POOL].tolist() for scores in (sparse, dense)]
        same += found[0] == found[1]
    times = medians([sparse, dense], runs=RUNS)
    ratio = times[1] / times[0]
    size = statistics.median(len(around.ids) for around, _, _ in cases)
    sparse_ms, dense_ms = (1000 * seconds for seconds in times)
    say(f"\nquery-aware walk on {size:.0f} statements: sparse {sparse_ms:.2f} ms, dense {dense_ms:.2f} ms")
    say(f"ratio {ratio:.0f} (target {RATIO:.0f})")
    say(f"the best {POOL} in the same order: {same} of {len(cases)}")
    return ratio >= RATIO and same == len(cases)


def ingested(graph: HLGraph, item: BenchmarkSet) -> None:
    """Bring the set into the graph."""
    files = tuple(str(path) for path in item.dataset.extractions)
    options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
    documents = [
        hlgraph.Document(f"{PREFIX}{passage.id}", passage.text, passage.title, key=passage.id)
        for passage in item.passages
    ]
    graph.ingest(documents, **keywords(options))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="a store that `hlgraph eval` has filled with the sets")
    parser.add_argument("--sets", default=",".join(SETS), metavar="NAMES")
    parser.add_argument("--questions", type=int, metavar="N", help="of each set, the first N")
    chosen = parser.parse_args()
    say(origin_line())
    is_met = True
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name, contextlib.ExitStack() as closing:
        scratch = Path(name)
        for at, each in enumerate(chosen.sets.split(",")):
            item = open_set(each, scratch / "data", questions=chosen.questions)
            url = chosen.store or f"hlgraph://{scratch}/store"
            graph = closing.enter_context(hlgraph.connect(url, corpus=f"eval-{each}"))
            if not chosen.store:
                ingested(graph, item)
            opened = Opened(item, graph)
            if not at:
                is_met = steps(opened) and is_met
                is_met = sparse_and_dense(opened) and is_met
            is_met = quality(opened) and is_met
    say(f"\ntargets {'met' if is_met else 'MISSED'}")


if __name__ == "__main__":
    main()
