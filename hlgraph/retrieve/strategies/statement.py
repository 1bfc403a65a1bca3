"""Search over statements, the cheapest strategy for a question about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlgraph.algorithms.diversity import PAPER_TAU
from hlgraph.errors import InputError
from hlgraph.records import Kind
from hlgraph.retrieve.request import SearchRequest, Unit
from hlgraph.retrieve.retriever import (
    Presets,
    Ranked,
    as_searched,
    check_counts,
    check_unused,
    rerank,
    search_ahead,
    with_preset,
)
from hlgraph.retrieve.session import Search, Session


@dataclass(frozen=True, slots=True)
class StatementRetriever:
    """Search over statements, then a reranker (HLG SRAG; without the reranker ToPG's Naive mode).

    Attributes
    ----------
    candidates : statements of the search that are reranked (paper: 100)
    has_rerank : False: results in the order of the search
    text_candidates : statements of a search by text that are reranked too (ours; paper: 0). A small embedder captures too little
        of a long question, and the right statement may not be among its candidates
    """

    name: ClassVar[str] = "statement"
    unit: ClassVar[Unit] = "statement"
    diversity: ClassVar[float] = PAPER_TAU
    presets: ClassVar[Presets] = {"tuned": {"text_candidates": 100}, "plain": {"has_rerank": False}}
    candidates: int = 100
    has_rerank: bool = True
    text_candidates: int = 0

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self, zero=("text_candidates",))
        if not self.has_rerank:
            why = "has_rerank is False, so nothing is reranked"
            check_unused(self, ("candidates",), because=why, mend="set has_rerank to True")
        if self.text_candidates and not self.has_rerank:
            raise InputError(
                f"text_candidates is {self.text_candidates} without a reranker; set has_rerank, or use the mode 'hybrid'"
            )

    def searches(self, request: SearchRequest, k: int) -> list[Search]:
        """See :func:`hlgraph.retrieve.retriever.searches_of`."""
        searches = [Search(request.question, Kind.STATEMENT, max(self.candidates, k), request.mode)]
        if self.text_candidates and request.mode == "vector":
            searches.append(Search(request.question, Kind.STATEMENT, max(self.text_candidates, k), "text"))
        return searches

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        search_ahead(session, self.searches(session.request, k))
        hits = session.seeds(Kind.STATEMENT, max(self.candidates, k))
        if not self.has_rerank:
            return as_searched(Kind.STATEMENT, hits, session=session)
        if self.text_candidates and session.request.mode == "vector":
            hits += session.seeds(Kind.STATEMENT, max(self.text_candidates, k), mode="text")
        return rerank(session, Kind.STATEMENT, ids=list(dict.fromkeys(hit.id for hit in hits)))


TUNED_STATEMENT = with_preset(StatementRetriever, "tuned")
"""For a small embedder: candidates are also found by their words."""
