"""Fuses the rankings of several strategies, by their ranks alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hlgraph.algorithms import check
from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.errors import InputError
from hlgraph.records import Hit, Kind, Statement
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Ranked, Retriever, Why
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.by_clause import ByClause
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.path import TUNED_PATH
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.retrieve.strategies.topic_graph import TUNED_TOPIC_GRAPH

_MIDDLE_WORDS, _WIDTH_WORDS = 28, 4  # where a question counts as half long, and how fast it becomes so


_PARTS: tuple[Retriever, ...] = (
    TUNED_PATH,
    TUNED_TOPIC_GRAPH,
    ChunkRetriever(mode="text"),
    ByClause(StatementRetriever()),
)
_LONG_WEIGHTS = (1.4, 1.0, 4.0, 2.8)


@dataclass(frozen=True, slots=True)
class FusedRetriever:
    """Weighted reciprocal rank fusion of strategies that see the same question in the same session (ours).

    Each strategy ranks chunks, or statements where statements are wanted and it ranks them; a chunk takes the rank of its best
    statement. What one strategy has read, the next one reuses. ``why`` holds the rank in each strategy, from 1.

    A small embedder sees less of a question the longer it is, and words say more. So each strategy has a weight for short
    questions, ``a``, and one for long ones, ``b``. A question of ``n`` words takes ``a^(1 - g) b^g`` with
    ``g = 1 / (1 + exp((28 - n) / 4))``. The default weights were fitted to the gold passages of the seven evaluation sets
    (``tests/benchmarks/bench_fusion.py``, which also reports each set with weights fitted to the others).

    Attributes
    ----------
    parts : the strategies; by default paths, topics, chunks by text, and statements of each clause
    weights : of short questions, one a strategy, 0 or more
    long_weights : of long questions, one a strategy, 0 or more; None: fitted ones for the default parts, else ``weights``
    rank_constant : the higher, the less the first ranks stand out (default 6: the first places of the default parts are good;
        the paper of the method has 60)
    depth : number of nodes of each strategy that are fused

    References
    ----------
    Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, 2009.
    """

    name: ClassVar[str] = "fused"
    unit: ClassVar[Unit] = "chunk"
    parts: tuple[Retriever, ...] = _PARTS
    weights: tuple[float, ...] = (6.0, 2.0, 0.8, 0.45)
    long_weights: tuple[float, ...] | None = None
    rank_constant: float = 6
    depth: int = 100

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        if not self.parts or len(self.parts) != len(self.weights):
            raise InputError(
                f"there are {len(self.parts)} strategies and {len(self.weights)} weights; give at least one, and one each"
            )
        if self.long_weights is not None and len(self.long_weights) != len(self.parts):
            raise InputError(
                f"there are {len(self.parts)} strategies and {len(self.long_weights)} long_weights; give one each, or None"
            )
        for weight in (*self.weights, *(self.long_weights or ())):
            check.not_negative("a weight", weight)
        check.positive("rank_constant", self.rank_constant)
        if self.depth < 1:
            raise InputError(f"depth is {self.depth}; it must be at least 1")

    def weights_for(self, question: str) -> tuple[float, ...]:
        """The weights of the strategies for a question, by the number of its words.

        Examples
        --------
        >>> FusedRetriever().weights_for("Who built the mill?")[2] < 0.81 < 3.9 < FusedRetriever().weights_for("x " * 60)[2]
        True
        """
        longest = self.long_weights
        if longest is None:
            longest = _LONG_WEIGHTS if self.parts is _PARTS else self.weights
        long = 1 / (1 + math.exp((_MIDDLE_WORDS - len(question.split())) / _WIDTH_WORDS))
        return tuple(a ** (1 - long) * b**long for a, b in zip(self.weights, longest, strict=True))

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        depth = max(self.depth, k)
        found: list[Ranked] = []
        for number, part in enumerate(self.parts, 1):
            with session.part(f"{number} {_name(part)}"):
                found.append(part.rank(session, depth))
        kind = Kind.STATEMENT if session.request.unit == "statement" else Kind.CHUNK
        if kind is Kind.STATEMENT and not any(ranked.kind is kind for ranked in found):
            kind = Kind.CHUNK
        rankings = [_ids(session, ranked, kind)[:depth] for ranked in found]
        with session.step("fuse") as step:
            weights = self.weights_for(session.request.question)
            fused = reciprocal_rank(rankings, self.rank_constant, weights=weights)
            step.count = len(fused)
            step.details = {"parts": len(self.parts)}
            step.details |= {
                f"weight {number} {_name(part)}": round(weight, 2)
                for number, (part, weight) in enumerate(zip(self.parts, weights, strict=True), 1)
            }
        places = [{item: place for place, item in enumerate(ranking, 1)} for ranking in rankings]
        why: Why = {item: self._why(item, places) for item, _ in fused}
        return Ranked(kind, [Hit(item, score) for item, score in fused], why)

    def _why(self, item: str, places: Sequence[dict[str, int]]) -> dict[str, float | str]:
        return {
            f"rank {number} {_name(part)}": float(place[item])
            for number, (part, place) in enumerate(zip(self.parts, places, strict=True), 1)
            if item in place
        }


def _name(part: Retriever) -> str:
    if isinstance(part, ByClause):
        return f"{_name(part.part)} by clause"
    mode = getattr(part, "mode", None)
    return type(part).__name__.removesuffix("Retriever") + (f" by {mode}" if mode else "")


def _ids(session: Session, ranked: Ranked, kind: Kind) -> list[str]:
    """The ranking as one of this kind; empty where chunks would have to become statements."""
    ids = [hit.id for hit in ranked.hits]
    if ranked.kind is kind:
        return ids
    if kind is Kind.STATEMENT:
        return []
    records = session.records(Kind.STATEMENT, ids, made=Statement)
    return list(dict.fromkeys(records[item].chunk_id for item in ids if item in records))
