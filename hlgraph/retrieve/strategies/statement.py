"""Search over statements, the cheapest strategy for a question about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlgraph.algorithms.diversity import PAPER_TAU
from hlgraph.records import Kind
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Presets, Ranked, as_searched, check_counts, rerank
from hlgraph.retrieve.session import Session


@dataclass(frozen=True, slots=True)
class StatementRetriever:
    """Search over statements, then a reranker (HLG SRAG; without the reranker ToPG's Naive mode).

    Attributes
    ----------
    candidates : statements of the search that are reranked (paper: 100)
    has_rerank : False: in the order of the search
    """

    name: ClassVar[str] = "statement"
    unit: ClassVar[Unit] = "statement"
    diversity: ClassVar[float] = PAPER_TAU
    presets: ClassVar[Presets] = {"plain": {"has_rerank": False}}
    candidates: int = 100
    has_rerank: bool = True

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        hits = session.seeds(Kind.STATEMENT, max(self.candidates, k))
        if not self.has_rerank:
            return as_searched(Kind.STATEMENT, hits, session=session)
        return rerank(session, Kind.STATEMENT, ids=[hit.id for hit in hits])
