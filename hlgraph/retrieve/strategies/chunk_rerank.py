"""Search over chunks, then a reranker (HLG baseline B1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlgraph.records import Kind
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Ranked, check_counts, rerank
from hlgraph.retrieve.session import Session


@dataclass(frozen=True, slots=True)
class ChunkRerankRetriever:
    """Search over chunks, then a reranker (HLG baseline B1).

    Attributes
    ----------
    candidates : chunks of the search that are reranked (paper: 50, to 10)
    """

    name: ClassVar[str] = "chunk_rerank"
    unit: ClassVar[Unit] = "chunk"
    candidates: int = 50

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        hits = session.seeds(Kind.CHUNK, max(self.candidates, k))
        return rerank(session, Kind.CHUNK, ids=[hit.id for hit in hits])
