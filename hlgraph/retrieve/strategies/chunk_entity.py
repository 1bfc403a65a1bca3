"""Chunks one entity away from the best chunks (HLG baseline E1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hlgraph.algorithms.fusion import top_k
from hlgraph.records import Hit, Kind, Relationship
from hlgraph.retrieve.explain.parts import Hop
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import UNBOUNDED, Presets, Ranked, check_counts, rerank
from hlgraph.retrieve.session import Session
from hlgraph.stores.protocols import PullShape


@dataclass(frozen=True, slots=True)
class ChunkEntityRetriever:
    """Chunks one entity away from the best chunks (HLG baseline E1: 5 chunks, 50 nodes, reranked to 10).

    The paper does not say which 50 of the linked chunks. Here they are those that share most with the seeds: the sum, over
    shared entities, of 1 / (chunks of the entity), so that a rare name counts more than a common one.

    Attributes
    ----------
    seeds : chunks of the search (paper: 5)
    nodes : linked chunks that are reranked (paper: 50)
    fan_out : maximum number of statements of one entity that are followed
    """

    name: ClassVar[str] = "chunk_entity"
    unit: ClassVar[Unit] = "chunk"
    presets: ClassVar[Presets] = {"literal": {"fan_out": UNBOUNDED}}
    seeds: int = 5
    nodes: int = 50
    fan_out: int = 100

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        seeds = [hit.id for hit in session.seeds(Kind.CHUNK, self.seeds)]
        of_entities = (Relationship.IN_CHUNK, Relationship.MENTIONS)
        shape = PullShape.along(*of_entities, hops=4, fan_out=self.fan_out, node_cap=max(10_000, self.fan_out))
        graph = session.pull(seeds, shape)
        statements, entities, chunks = (graph.nodes(kind) for kind in (Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK))
        in_chunk = graph.edges[Relationship.IN_CHUNK][statements][:, chunks]
        mentions = graph.edges[Relationship.MENTIONS][statements][:, entities]
        incidence = ((mentions.T @ in_chunk) > 0).astype(np.float32)  # entity x chunk
        at = graph.index(seeds)
        seed_places = np.searchsorted(chunks, at[at >= 0])  # in `chunks`, best first
        is_seed = np.isin(chunks, at[at >= 0])
        degree = np.asarray(incidence.sum(axis=1)).ravel()
        is_shared = np.asarray(incidence @ is_seed.astype(np.float32)).ravel() > 0
        weight = np.where(is_shared, 1.0 / np.maximum(degree, 1.0), 0.0)
        overlap = np.asarray(weight @ incidence, dtype=np.float32).ravel()
        overlap[is_seed] = np.finfo(np.float32).max
        linked = np.flatnonzero(overlap > 0)
        best = linked[top_k(overlap[linked], max(self.nodes, k), tie_break=graph.ids[chunks[linked]])]
        ids = [str(key) for key in graph.ids[chunks[best]]]
        hits = [Hit(key, float(overlap[at])) for key, at in zip(ids, best, strict=True) if not is_seed[at]]
        pruned = {"shares no entity": len(chunks) - len(linked), "node limit": len(linked) - len(best)}
        session.note_hop(Hop(1, len(seeds), len(best), pruned, hits, Kind.CHUNK, "chunks that share an entity"))
        if session.notes.is_kept:
            shared = (incidence[:, best].toarray() * weight[:, np.newaxis]).astype(np.float32)  # entity x best chunk
            for chunk, hit in zip(best[~is_seed[best]], hits, strict=True):
                column = shared[:, int(np.flatnonzero(best == chunk)[0])]
                link = int(top_k(column, 1, tie_break=graph.ids[entities])[0])
                seed = next(place for place in seed_places if incidence[link, place])
                walk = [str(graph.ids[node]) for node in (chunks[seed], entities[link], chunks[chunk])]
                session.note_path(walk, hit.score, kinds=[Kind.CHUNK, Kind.ENTITY, Kind.CHUNK])
        return rerank(session, Kind.CHUNK, ids=ids)
