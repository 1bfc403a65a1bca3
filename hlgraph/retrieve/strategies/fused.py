"""Fuses the rankings of several strategies, by their ranks alone."""

from __future__ import annotations

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
from hlgraph.retrieve.strategies.path import TUNED_PATH
from hlgraph.retrieve.strategies.topic_graph import TUNED_TOPIC_GRAPH


@dataclass(frozen=True, slots=True)
class FusedRetriever:
    """Weighted reciprocal rank fusion of strategies that see the same question in the same session (ours).

    Each strategy ranks chunks, or statements where statements are wanted and it ranks them; a chunk takes the rank of its best
    statement. What one strategy has read, the next one reuses. ``why`` holds the rank in each strategy, from 1.

    Attributes
    ----------
    parts : the strategies
    weights : one a strategy, 0 or more
    rank_constant : the higher, the less the first ranks stand out (default 6: the first places of the default parts are good;
        the paper of the method has 60)
    depth : number of nodes of each strategy that are fused

    References
    ----------
    Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, 2009.
    """

    name: ClassVar[str] = "fused"
    unit: ClassVar[Unit] = "chunk"
    parts: tuple[Retriever, ...] = (TUNED_PATH, TUNED_TOPIC_GRAPH)
    weights: tuple[float, ...] = (5.0, 2.0)
    rank_constant: float = 6
    depth: int = 100

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        if not self.parts or len(self.parts) != len(self.weights):
            raise InputError(
                f"there are {len(self.parts)} strategies and {len(self.weights)} weights; give at least one, and one each"
            )
        for weight in self.weights:
            check.not_negative("a weight", weight)
        check.positive("rank_constant", self.rank_constant)
        if self.depth < 1:
            raise InputError(f"depth is {self.depth}; it must be at least 1")

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
            fused = reciprocal_rank(rankings, self.rank_constant, weights=self.weights)
            step.count = len(fused)
            step.details = {"parts": len(self.parts)}
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
    return type(part).__name__.removesuffix("Retriever")


def _ids(session: Session, ranked: Ranked, kind: Kind) -> list[str]:
    """The ranking as one of this kind; empty where chunks would have to become statements."""
    ids = [hit.id for hit in ranked.hits]
    if ranked.kind is kind:
        return ids
    if kind is Kind.STATEMENT:
        return []
    records = session.records(Kind.STATEMENT, ids, made=Statement)
    return list(dict.fromkeys(records[item].chunk_id for item in ids if item in records))
