"""A trained Select for ``local``: a weighted sum of features of a statement, fitted to questions, in place of its rules.

``local`` (tuned) collects its candidates as always. Each has features of the statement (reranker, cosine, walk, share of the
question's words), of its passage (reranker, cosine, ranks by text and by vector, words that the best three passages lack) and of
its title (named by the question, mentioned in one of the best eight passages). A passage scores as its best statements do, and
the loss is the likelihood of each gold passage in a softmax over it and all others; no weight is negative. The candidates in the
new order stand beside those in the order of ``local``, fitted to

- the other sets,
- the other half of the same set,
- questions that ``hlgraph questions make`` makes of the corpus itself without a model (``--made N``, none by default).

Sets are ingested; with ``--store`` they stay there.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from evaluation_sets import BenchmarkSet, open_set, origin_line
from ingest_keywords import keywords
from measure import say, table
from numpy.typing import NDArray
from scipy.optimize import minimize

import hlgraph
from hlgraph.evaluate.runner import PREFIX
from hlgraph.evaluate.statistics import Resamples
from hlgraph.records import Chunk, Kind, Source, Statement
from hlgraph.retrieve.question.subqueries import FacetSplitter
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Ranked, rerank, with_preset
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.feedback import feedback
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.text import content_words

SETS = ("musique_oie", "2wikimultihopqa", "hotpotqa", "multihop_rag_70")
_PENALTY, _SOFT, _ROUNDS = 3e-3, 0.25, 80
_DEPTH = 60  # of the searches for passages
Array = NDArray[np.float64]


class Candidates(NamedTuple):
    """What ``local`` collected for one question: features, passage (by number) and score of each statement."""

    features: Array
    passages: NDArray[np.intp]
    uris: Sequence[str]
    before: Array


class Asked(NamedTuple):
    """A question with its candidates; ``is_gold`` by passage, ``wanted``: number of gold passages."""

    candidates: Candidates
    is_gold: NDArray[np.bool_]
    wanted: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """``local``; keeps the candidates of each question."""

    unit: ClassVar[Unit] = "statement"
    local: LocalRetriever = field(default_factory=lambda: with_preset(LocalRetriever, "tuned"))
    seen: list[Candidates] = field(default_factory=list)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`hlgraph.retrieve.retriever.Retriever`."""
        found = self.local._cycles(session, feedback(session, "rules"), k)
        ranked = rerank(session, Kind.STATEMENT, ids=sorted({*found.shares, *found.kept, *found.naive}))
        walk = {hit.id: float(np.sqrt(found.shares.get(hit.id, 0.0))) for hit in ranked.hits}
        before = {hit.id: hit.score + self.local.graph_weight * walk[hit.id] for hit in ranked.hits}
        of_statements = np.array([[hit.score, walk[hit.id], hit.id in found.kept] for hit in ranked.hits])
        self.seen.append(_candidates(session, [hit.id for hit in ranked.hits], of_statements, before))
        return ranked


def _reciprocal(session: Session, mode: Any) -> tuple[dict[str, float], dict[str, float]]:
    hits = session.seeds(Kind.CHUNK, _DEPTH, mode=mode)
    best = max((hit.score for hit in hits), default=1.0)
    return {hit.id: 1 / (6 + at) for at, hit in enumerate(hits)}, {hit.id: hit.score / best for hit in hits}


def _candidates(session: Session, ids: Sequence[str], known: Array, before: dict[str, float]) -> Candidates:
    said = session.records(Statement, ids)
    chunks = session.records(Chunk, sorted({said[one].chunk_id for one in ids}))
    sources = session.records(Source, sorted({item.source_id for item in chunks.values()}))
    cosines, near = session.similarities(Kind.STATEMENT, ids), session.similarities(Kind.CHUNK, list(chunks))
    read = {hit.id: hit.score for hit in rerank(session, Kind.CHUNK, ids=list(chunks)).hits}
    (by_text, of_text), (by_vector, _) = _reciprocal(session, "text"), _reciprocal(session, "vector")
    parts = []
    for part in FacetSplitter(8).split(session.request.question)[1:] or (session.request.question,):
        with session.asking(part) as other:
            scores = {hit.id: hit.score for hit in rerank(other, Kind.STATEMENT, ids=ids).hits}
        parts.append([scores[one] for one in ids])
    asked = {*content_words(session.request.question)}
    titles = {name: sources[chunk.source_id].title or "" for name, chunk in chunks.items()}
    order = list(dict.fromkeys(said[one].chunk_id for one in sorted(ids, key=lambda one: (-before[one], one))))
    read_first = " \n ".join(chunks[name].text for name in order[:8]).casefold()
    known_words = {word for name in order[:3] for word in content_words(f"{titles[name]} {chunks[name].text}")}
    of_passages: dict[str, list[float]] = {}
    for name, chunk in chunks.items():
        title, short = {*content_words(titles[name])}, titles[name].partition(" (")[0].casefold()
        words = {*content_words(f"{titles[name]} {chunk.text}")} & asked
        named = len(title & asked) / max(1, len(title))
        is_linked = named < 1 and len(short) > 3 and name != order[0] and short in read_first
        shares = [len(words - known_words) / max(1, len(asked)), len(words) / max(1, len(asked))]
        row = [read.get(name, 0.0), near.get(name, 0.0), of_text.get(name, 0.0), by_text.get(name, 0.0)]
        row += [
            by_vector.get(name, 0.0),
            named,
            float(named == 1),
            float(is_linked),
            *shares,
            1 / (1 + order.index(name)),
        ]
        of_passages[name] = row
    rest = [[cosines.get(one, 0.0), len({*content_words(said[one].text)} & asked) / max(1, len(asked))] for one in ids]
    score = np.array([before[one] for one in ids])
    sums = np.array(parts)
    columns = [known, np.array(rest), sums.max(axis=0)[:, np.newaxis], sums.mean(axis=0)[:, np.newaxis]]
    columns += [np.array([of_passages[said[one].chunk_id] for one in ids]), score[:, np.newaxis]]
    uris, passages = np.unique([sources[chunks[said[one].chunk_id].source_id].uri for one in ids], return_inverse=True)
    return Candidates(np.hstack(columns), passages, uris.tolist(), score)


def ask(graph: HLGraph, questions: Sequence[tuple[str, frozenset[str]]]) -> list[Asked]:
    """The candidates of questions, given with the uris of their gold sources."""
    asked = []
    for question, gold in questions:
        retriever = _Seen()
        graph.search(question, strategy=retriever, k=20)
        [found] = retriever.seen
        asked.append(Asked(found, np.array([uri in gold for uri in found.uris]), len(gold)))
    return asked


def best_of(scores: Array, passages: NDArray[np.intp]) -> Array:
    """The score of each passage: that of its best statement."""
    best = np.full(int(passages.max()) + 1, -np.inf)
    np.maximum.at(best, passages, scores)
    return best


def fit(sets: Sequence[Sequence[Asked]]) -> Array:
    """The weights of the features; every set counts the same."""
    usable = [
        (one, 1 / len(some) / len(sets)) for some in sets for one in some if one.is_gold.any() and not one.is_gold.all()
    ]
    width = usable[0][0].candidates.features.shape[1]

    def loss(weights: Array) -> tuple[float, Array]:
        total, slope = _PENALTY * float(weights @ weights), 2 * _PENALTY * weights
        for (found, is_gold, _), weight in usable:
            scores = found.features @ weights
            best = best_of(scores, found.passages)
            each = np.exp((scores - best[found.passages]) / _SOFT)
            sums = np.bincount(found.passages, each)
            soft = best + _SOFT * np.log(sums)
            powers = np.exp(soft - soft.max())
            others = powers * ~is_gold
            turns = np.zeros(len(soft))
            for gold in np.flatnonzero(is_gold):
                share = powers[gold] / (powers[gold] + others.sum())
                part = weight / np.count_nonzero(is_gold)
                total -= part * float(np.log(share + 1e-12))
                turns += part * (1 - share) * others / max(float(others.sum()), 1e-30)
                turns[gold] -= part * (1 - share)
            slope = slope + found.features.T @ (turns[found.passages] * each / sums[found.passages])
        return total, slope

    start = np.zeros(width)
    start[-1] = 1.0
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * width, options={"maxiter": _ROUNDS})
    weights: Array = found.x
    return weights


def recall(one: Asked, scores: Array, k: int) -> float:
    """Recall of passages at ``k``, ties by uri."""
    best = best_of(scores, one.candidates.passages)
    return float(one.is_gold[np.argsort(-best, kind="stable")[:k]].sum()) / one.wanted


def cells(some: Sequence[Asked], weights: Sequence[Array]) -> list[str]:
    """Recall in the order of ``local``, and the difference that the weights of each question make."""
    shown = []
    for k in (5, 20):
        after = [recall(one, one.candidates.features @ mine, k) for one, mine in zip(some, weights, strict=True)]
        before = [recall(one, one.candidates.before, k) for one in some]
        each = Resamples(np.stack([after, before], axis=1)).difference(0, 1)
        shown += [
            f"{100 * np.mean(before):.1f}",
            f"{100 * each.mean:+.1f} [{100 * each.low:+.1f}, {100 * each.high:+.1f}]",
        ]
    return shown


def questions_of(graph: HLGraph, item: BenchmarkSet, made: int) -> tuple[list[Asked], list[Asked]]:
    """The candidates of the questions of a set, and of those that are made of its corpus."""
    given = [(each.text, frozenset(f"{PREFIX}{name}" for name in each.gold)) for each in item.dataset.questions]
    own: list[tuple[str, frozenset[str]]] = []
    for each in graph.questions.make(made).questions if made else ():
        if each.supporting_passage_ids:
            own.append((each.question, frozenset(f"{PREFIX}{name}" for name in each.supporting_passage_ids)))
    return ask(graph, given), ask(graph, own)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS), metavar="NAMES")
    parser.add_argument("--questions", type=int, metavar="N", help="of each set, the first N")
    parser.add_argument("--made", type=int, default=0, metavar="N", help="also fit to N questions made of the corpus")
    parser.add_argument("--store", metavar="URL", help="keep the ingested sets here")
    chosen = parser.parse_args()
    say(origin_line())
    sets: dict[str, tuple[list[Asked], list[Asked]]] = {}
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as scratch:
        for name in chosen.sets.split(","):
            item = open_set(name, Path(scratch) / "data", questions=chosen.questions)
            files = tuple(str(path) for path in item.dataset.extractions)
            options = IngestOptions(
                extract="precomputed" if files else "local", extractions=files, missing="local", is_chunked=True
            )
            with hlgraph.connect(chosen.store or f"hlgraph://{scratch}/store", corpus=f"eval-{name}") as graph:
                graph.ingest(
                    [
                        hlgraph.Document(f"{PREFIX}{each.id}", each.text, each.title, each.metadata, key=each.id)
                        for each in item.passages
                    ],
                    **keywords(options),
                )
                sets[name] = questions_of(graph, item, chosen.made)
    rows = []
    for name, (some, made) in sets.items():
        label = f"{name} ({len(some)})"
        if others := [asked for other, (asked, _) in sets.items() if other != name]:
            rows.append((label, "the other sets", *cells(some, [fit(others)] * len(some))))
        halves = fit([some[1::2]]), fit([some[::2]])
        rows.append((label, "its other half", *cells(some, [halves[at % 2] for at in range(len(some))])))
        if made:
            rows.append((label, f"{len(made)} made questions", *cells(some, [fit([made])] * len(some))))
    table(("set", "fitted to", "recall@5", "with Select", "recall@20", "with Select"), rows)


if __name__ == "__main__":
    main()
