"""Weights of the strategy ``fused``: fitted to all sets, and, for each set, to the other ones.

For every question the four parts rank passages once. The weights of short and of long questions are fitted to the gold
passages by the likelihood of a softmax over the candidates; every set counts the same. The row ``others`` of a set has the
weights of the sets that are not it (for ``musique`` and ``musique_oie``, which share questions, neither of the two): what
was learned never saw the questions that it is measured on. ``shipped`` are the defaults of the strategy.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evaluation_sets import open_set, origin_line
from measure import say, table
from numpy.typing import NDArray
from scipy.optimize import minimize

import hlgraph
from hlgraph.evaluate.statistics import Resamples
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.fused import FusedRetriever

SETS = ("musique_oie", "musique", "2wikimultihopqa", "hotpotqa", "popqa", "multihop_rag_70", "multihop_rag_wide")
FUSED = FusedRetriever()
PARTS: tuple[Retriever, ...] = (*FUSED.parts, ChunkRetriever(mode="vector"))
NAMES = ("path", "topics", "text", "clauses", "clause_text", "dense")
LEARNED = range(len(FUSED.parts))
DEPTH = FUSED.depth
_PENALTY = 2e-3  # on the squared distance of the logarithms of weights from 1 (short) and of long over short from 0


class Asked(NamedTuple):
    """One question: ``1 / (6 + rank)`` of each candidate in each part, which are gold, and how long the question is."""

    ranks: NDArray[np.float64]
    gold: NDArray[np.bool_]
    golds: int
    words: int


@dataclass(frozen=True)
class Weights:
    """Logarithms of the weights of short questions, and of the ratio of long ones to them."""

    short: NDArray[np.float64]
    ratio: NDArray[np.float64]

    def of(self, words: int) -> NDArray[np.float64]:
        """The weights for a question of so many words."""
        weights: NDArray[np.float64] = np.exp(self.short + self.ratio * _length(words))
        return weights


def _length(words: int) -> float:
    """From 0 (short) to 1 (long): what :meth:`FusedRetriever.weights_for` computes."""
    return float(1 / (1 + np.exp((28 - words) / 4)))


def ask(name: str, scratch: Path, *, limit: int | None) -> list[Asked]:
    """The rankings of all parts for the questions of a set."""
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
            rankings = [
                [
                    each.source.uri.removeprefix("passage:")
                    for each in graph.search(question.text, strategy=part, k=DEPTH, unit="chunk").evidence
                ]
                for part in PARTS
            ]
            found.append(_asked(rankings, frozenset(question.gold), len(question.text.split())))
    say(f"{name}: {len(found)} questions")
    return found


def _asked(rankings: Sequence[Sequence[str]], gold: frozenset[str], words: int) -> Asked:
    ids = list(dict.fromkeys(item for ranking in rankings for item in ranking))
    at = {item: place for place, item in enumerate(ids)}
    ranks = np.zeros((len(ids), len(rankings)))
    for column, ranking in enumerate(rankings):
        for rank, item in enumerate(ranking, 1):
            ranks[at[item], column] = 1 / (FUSED.rank_constant + rank)
    return Asked(ranks, np.array([item in gold for item in ids], dtype=bool), len(gold), words)


def fit(sets: Sequence[Sequence[Asked]], parts: Sequence[int]) -> Weights:
    """The weights of some parts under which the gold passages of the sets are most likely."""
    rows = [(one, 1 / (len(some) * len(sets))) for some in sets for one in some if one.gold.any()]
    starts = np.cumsum([0, *(len(one.gold) for one, _ in rows)])[:-1]
    of_row = np.repeat(np.arange(len(rows)), [len(one.gold) for one, _ in rows])
    scale = FUSED.rank_constant + 1  # a first place counts 1
    ranks = scale * np.concatenate([one.ranks[:, parts] for one, _ in rows])
    wanted = np.concatenate([share * one.gold / one.gold.sum() for one, share in rows])
    shares = np.array([share for _, share in rows])[of_row]
    lengths = np.array([_length(one.words) for one, _ in rows])
    count = len(parts)

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weighted = ranks * np.exp(values[:count] + values[count:] * lengths[:, None])[of_row]
        scores = weighted.sum(axis=1)
        scores -= np.maximum.reduceat(scores, starts)[of_row]
        totals = np.add.reduceat(np.exp(scores), starts)[of_row]
        miss = shares * np.exp(scores) / totals - wanted
        slopes = np.concatenate([miss @ weighted, (miss * lengths[of_row]) @ weighted])
        distance = np.concatenate([values[:count] - 1, values[count:]])
        value = -float(wanted @ (scores - np.log(totals))) + _PENALTY * float(distance @ distance)
        return value, slopes + 2 * _PENALTY * distance

    start = np.concatenate([np.ones(count), np.zeros(count)])
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return Weights(found[:count], found[count:])


def recalls(some: Sequence[Asked], parts: Sequence[int], weights: Weights, k: int) -> NDArray[np.float64]:
    """Recall of each question at ``k``."""
    found = []
    for one in some:
        scores = one.ranks[:, parts] @ weights.of(one.words)
        best = np.argsort(-scores, kind="stable")[:k]
        found.append(np.count_nonzero(one.gold[best] & (scores[best] > 0)) / one.golds)
    return np.array(found)


def fixed(short: Sequence[float], long: Sequence[float] | None = None) -> Weights:
    """Weights that are given."""
    a, b = np.log(short), np.log(short if long is None else long)
    return Weights(a, b - a)


def shipped() -> Weights:
    """The defaults of the strategy."""
    return fixed(FUSED.weights_for(""), FUSED.weights_for("word " * 1_000))


def _others(name: str) -> list[str]:
    return [
        other for other in SETS if other != name and not (name.startswith("musique") and other.startswith("musique"))
    ]


def report(asked: dict[str, list[Asked]]) -> None:
    """Print one table for each set, with the difference of each row to full text over chunks."""
    subsets = {"no graph": (2, 3), "no text": (0, 1, 3), "no topics": (0, 2, 3), "no clauses": (0, 1, 2)}
    for name, some in asked.items():
        training = [asked[other] for other in _others(name) if other in asked]
        rows: dict[str, tuple[Sequence[int], Weights]] = {
            part: ((column,), fixed((1.0,))) for column, part in enumerate(NAMES)
        }
        rows["dense + text"] = ((2, 4), fixed((1.0, 1.0)))
        rows["paths 5, topics 2"] = ((0, 1), fixed((5.0, 2.0)))
        if training:
            rows["others"] = (LEARNED, fit(training, LEARNED))
            rows |= {f"others, {label}": (parts, fit(training, parts)) for label, parts in subsets.items()}
        rows["shipped"] = (LEARNED, shipped())
        values = {label: [recalls(some, *row, k) for k in (5, 20)] for label, row in rows.items()}
        lines = []
        for label, found in values.items():
            drawn = [Resamples(np.stack([a, b], axis=1)) for a, b in zip(found, values["text"], strict=True)]
            cells = []
            for value, each in zip(found, drawn, strict=True):
                difference = each.difference(0, 1)
                low, high = 100 * difference.low, 100 * difference.high
                cells += [f"{100 * value.mean():.1f}", f"{100 * difference.mean:+.1f} [{low:+.1f}, {high:+.1f}]"]
            lines.append((label, *cells))
        table((f"{name} ({len(some)})", "recall@5", "minus text", "recall@20", "minus text"), lines)
    if len(asked) > 1:
        all_sets = fit(list(asked.values()), LEARNED)
        say(f"fitted to all sets, short: {np.round(np.exp(all_sets.short), 2)}")
        say(f"fitted to all sets, long:  {np.round(np.exp(all_sets.short + all_sets.ratio), 2)}")


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
