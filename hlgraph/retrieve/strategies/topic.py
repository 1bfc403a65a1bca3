"""TopicRAG: topics, all their statements, then a reranker (HLG TRAG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlgraph.records import Hit, Kind, Relationship
from hlgraph.retrieve.explain.parts import Hop
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import UNBOUNDED, Presets, Ranked, as_searched, check_counts, rerank
from hlgraph.retrieve.session import Session
from hlgraph.stores.protocols import PullShape


@dataclass(frozen=True, slots=True)
class TopicRetriever:
    """Topics, all their statements, then a reranker (HLG TRAG).

    Topics are embedded with their statements, see :func:`hlgraph.algorithms.similarity.named_centroids`, so that a topic is found
    by its content, not only by its name.

    Attributes
    ----------
    topics : topics of the search (paper: 50)
    statements : maximum number of their statements that are reranked, those closest to the question. The paper sets no bound;
        with this one, topics of very many statements do not make a question arbitrarily expensive
    has_rerank : False: results in the order of their cosine to the question
    """

    name: ClassVar[str] = "topic"
    unit: ClassVar[Unit] = "statement"
    presets: ClassVar[Presets] = {"plain": {"has_rerank": False}, "literal": {"statements": UNBOUNDED}}
    topics: int = 50
    statements: int = 1_000
    has_rerank: bool = True

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        topics = session.seeds(Kind.TOPIC, self.topics)
        cap = max(10_000, self.statements)
        shape = PullShape.along(Relationship.ABOUT, fan_out=max(1_000, self.statements), node_cap=cap)
        graph = session.pull([hit.id for hit in topics], shape)
        ids = [str(graph.ids[at]) for at in graph.nodes(Kind.STATEMENT)]
        cosines = session.similarities(Kind.STATEMENT, ids)
        best = sorted(cosines, key=lambda item: (-cosines[item], item))[: max(self.statements, k)]
        hits = [Hit(item, cosines[item]) for item in best]
        pruned = {"statement limit": len(cosines) - len(best), "no vector": len(ids) - len(cosines)}
        session.note_hop(Hop(1, len(topics), len(best), pruned, hits, name="statements of the topics"))
        if not self.has_rerank:
            return as_searched(Kind.STATEMENT, hits, session=session)
        return rerank(session, Kind.STATEMENT, ids=best)
