"""Weights of the links of ``fused``: fitted to all sets, and, for each set, to the other ones.

For every question the best 60 passages of ``fused`` without links are taken with the features of
:func:`hlgraph.algorithms.linked_passages.link_features`. The weights are fitted to the gold passages by the likelihood of a
softmax over these passages, as in ``bench_fusion.py``; every set counts the same. The row ``others`` of a set has the weights of
the sets that share no question with it. ``shipped`` are the defaults.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from evaluation_sets import open_set, origin_line
from measure import say, table
from numpy.typing import NDArray
from scipy.optimize import minimize

import hlgraph
from hlgraph.algorithms.linked_passages import FITTED_WEIGHTS, link_features
from hlgraph.evaluate.statistics import Resamples
from hlgraph.records import Chunk, Source
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Ranked
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.strategies.fused import FusedRetriever, linked_passages

SETS = ("musique_oie", "musique", "2wikimultihopqa", "hotpotqa", "popqa", "multihop_rag_70", "multihop_rag_wide")
MOST = 60
_PENALTY = 3e-3  # on the square of a weight times the deviation of its feature


class Asked(NamedTuple):
    """One question: the features of its passages, the log of the fused score first; which are gold, and how many there are."""

    features: NDArray[np.float64]
    gold: NDArray[np.bool_]
    golds: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """``fused`` without links; keeps the passages of each question with their features."""

    unit: ClassVar[Unit] = "chunk"
    fused: FusedRetriever = field(default_factory=lambda: FusedRetriever(linked=0))
    seen: list[tuple[list[str], NDArray[np.float64]]] = field(default_factory=list)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`hlgraph.retrieve.retriever.Retriever`."""
        ranked = self.fused.rank(session, k)
        best = ranked.hits[:MOST]
        passages = linked_passages(session, best)
        strength = 1 - 1 / (1 + np.exp((28 - len(session.request.question.split())) / 4))
        scores = np.log(passages.scores / passages.scores[0] + 1e-3)
        features = np.column_stack([scores, strength * link_features(passages)])
        chunks = session.records(Chunk, [hit.id for hit in best])
        sources = session.records(Source, sorted({item.source_id for item in chunks.values()}))
        uris = [sources[chunks[hit.id].source_id].uri.removeprefix("passage:") for hit in best]
        self.seen.append((uris, features))
        return ranked


def ask(name: str, scratch: Path, *, limit: int | None) -> list[Asked]:
    """The features of the passages for the questions of a set."""
    item = open_set(name, scratch / "data", questions=limit)
    files = tuple(str(path) for path in item.dataset.extractions)
    documents = (
        hlgraph.Document(f"passage:{passage.id}", passage.text, passage.title, passage.metadata, key=passage.id)
        for passage in item.passages
    )
    found = []
    with hlgraph.connect(f"hlgraph://{scratch}/store", corpus=name) as graph:
        extract = "precomputed" if files else "local"
        graph.ingest(documents, extract=extract, extractions=files, missing="local", is_chunked=True)  # type: ignore[arg-type]
        for question in item.dataset.questions:
            retriever = _Seen()
            graph.search(question.text, strategy=retriever, k=20, unit="chunk")
            uris, features = retriever.seen[0]
            gold = np.array([uri in question.gold for uri in uris], dtype=np.bool_)
            found.append(Asked(features, gold, len(set(question.gold))))
    say(f"{name}: {len(found)} questions")
    return found


def fit(sets: Sequence[Sequence[Asked]]) -> NDArray[np.float64]:
    """The weights of the features under which the gold passages are most likely, for a weight of 1 of the fused score."""
    rows = [(one, 1 / (len(some) * len(sets))) for some in sets for one in some if one.gold.any()]
    sizes = [len(one.gold) for one, _ in rows]
    starts, of_row = np.cumsum([0, *sizes])[:-1], np.repeat(np.arange(len(rows)), sizes)
    features = np.concatenate([one.features for one, _ in rows])
    scale = features.std(axis=0) + 1e-6
    features /= scale
    wanted = np.concatenate([share * one.gold / one.gold.sum() for one, share in rows])
    shares = np.array([share for _, share in rows])[of_row]
    penalty = np.array([0.0, *[_PENALTY] * (features.shape[1] - 1)])

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = features @ values
        scores -= np.maximum.reduceat(scores, starts)[of_row]
        totals = np.add.reduceat(np.exp(scores), starts)[of_row]
        miss = shares * np.exp(scores) / totals - wanted
        value = -float(wanted @ (scores - np.log(totals))) + float(penalty @ values**2)
        return value, miss @ features + 2 * penalty * values

    found = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B").x / scale
    weights: NDArray[np.float64] = found[1:] / found[0]
    return weights


def recalls(some: Sequence[Asked], weights: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Recall of each question at ``k``; zeros for weights leave the order of ``fused``."""
    found = []
    for one in some:
        best = np.argsort(-(one.features[:, 0] + one.features[:, 1:] @ weights), kind="stable")[:k]
        found.append(np.count_nonzero(one.gold[best]) / one.golds)
    return np.array(found)


def _group(name: str) -> str:
    """Sets that share questions: both of musique, both of news."""
    return name.split("_", maxsplit=1)[0]


def report(asked: dict[str, list[Asked]]) -> None:
    """Print one table for each set, with the difference of each row to ``fused`` without links."""
    rows = {"without links": np.zeros(len(FITTED_WEIGHTS)), "shipped": np.array(FITTED_WEIGHTS)}
    for name, some in asked.items():
        training = [asked[other] for other in asked if _group(other) != _group(name)]
        all_rows = rows | ({"others": fit(training)} if training else {})
        lines = []
        for label, weights in all_rows.items():
            cells = []
            for k in (5, 20):
                values = recalls(some, weights, k)
                pairs = np.stack([values, recalls(some, rows["without links"], k)], axis=1)
                each = Resamples(pairs).difference(0, 1)
                low, high = 100 * each.low, 100 * each.high
                cells += [f"{100 * values.mean():.1f}", f"{100 * each.mean:+.1f} [{low:+.1f}, {high:+.1f}]"]
            lines.append((label, *cells))
        table((f"{name} ({len(some)})", "recall@5", "minus none", "recall@20", "minus none"), lines)
    say(f"fitted to these sets: {np.round(fit(list(asked.values())), 2)}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="keep the ingested sets here")
    chosen = parser.parse_args()
    say(origin_line())
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name:
        scratch = chosen.store or Path(name)
        report({item: ask(item, scratch, limit=chosen.limit) for item in chosen.sets.split(",")})


if __name__ == "__main__":
    main()
