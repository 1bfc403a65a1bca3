"""Search over chunks (HLG baseline B0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlgraph.records import Kind
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Ranked, as_searched
from hlgraph.retrieve.session import Session


@dataclass(frozen=True, slots=True)
class ChunkRetriever:
    """Search over chunks (HLG baseline B0)."""

    name: ClassVar[str] = "chunk"
    unit: ClassVar[Unit] = "chunk"

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        return as_searched(Kind.CHUNK, session.seeds(Kind.CHUNK, k), session=session)
