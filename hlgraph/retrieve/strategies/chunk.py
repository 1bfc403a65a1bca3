"""Search over chunks (HLG baseline B0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from hlgraph.records import Kind
from hlgraph.retrieve.request import Mode, SearchRequest, Unit
from hlgraph.retrieve.retriever import Ranked, check_choice
from hlgraph.retrieve.session import Search, Session


@dataclass(frozen=True, slots=True)
class ChunkRetriever:
    """Search over chunks (HLG baseline B0).

    Attributes
    ----------
    mode : ``vector``, ``text`` (BM25) or ``hybrid``; None (default): the mode of the request
    """

    name: ClassVar[str] = "chunk"
    unit: ClassVar[Unit] = "chunk"
    mode: Mode | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        if self.mode is not None:
            check_choice("mode", self.mode, choices=get_args(Mode))

    def searches(self, request: SearchRequest, k: int) -> list[Search]:
        """See :func:`hlgraph.retrieve.retriever.searches_of`."""
        return [Search(request.question, Kind.CHUNK, k, self.mode or request.mode)]

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        hits = session.seeds(Kind.CHUNK, k, mode=self.mode)
        return Ranked(Kind.CHUNK, hits, {hit.id: {self.mode or session.request.mode: hit.score} for hit in hits})
