"""TopoRAG: entities that are close to the question and to each other, and the chunks that mention them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.diameter import DiameterBounds, Distance, Selection, best_ball, in_filter, post_filter
from hlgraph.algorithms.fusion import top_k
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, incidence, project
from hlgraph.errors import InputError
from hlgraph.records import Hit, Kind, Relationship
from hlgraph.retrieve.explain.parts import MOST_PATHS, Hop
from hlgraph.retrieve.question.subqueries import ChatSplitter, NameSplitter, SplitBy, Splitter
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import (
    UNBOUNDED,
    By,
    Presets,
    Ranked,
    Why,
    by_score,
    chat_of,
    check_choice,
    check_counts,
    check_deciders,
    check_unused,
    rerank,
)
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.facets import sub_questions
from hlgraph.stores.protocols import PullShape

if TYPE_CHECKING:
    from hlgraph.subgraph import Csr, Subgraph

Filter = Literal["in_filter", "post_filter", "nearest"]
_OF_DIAMETER = ("max_diameter", "distance", "candidates", "entries", "centers", "starts", "has_co_occurrence")
_FROM_ENTITY = (Relationship.MENTIONS, Relationship.IN_CHUNK)


@dataclass(frozen=True, slots=True)
class DiameterRetriever:
    """Diameter-constrained search over entities, then the chunks of these and the chunks close to the question.

    For the question, or each of its sub-queries q:

    1. Seeds: ``entries`` entities (``in_filter``) or ``candidates`` of them (``post_filter``) from the search.
    2. Pull: the entities within ``max_diameter`` hops of the seeds, joined by facts and by common chunks (RELATES, and CO_OCCURS
       unless ``has_co_occurrence`` is False); for ``post_filter`` only edges between the seeds themselves.
    3. S_q: at most ``entities`` of them whose induced subgraph has a diameter of at most ``max_diameter``, the most similar to q
       that were found; see :mod:`hlgraph.algorithms.diameter`.

    Then the chunks that mention an entity of S_q, by ``support_q(c) = sum_e max(0, cos(e, q)) / log2(1 + n_e)`` over the entities
    e of S_q in c, where ``n_e`` is the number of chunks of e that were reached; support(c) is the maximum over the sub-queries
    of support_q(c) over the highest support_q. The best ``linked`` chunks by support and the best ``chunks`` of the search for
    each sub-query (the paper's k_c) are scored.

    Order of the evidence: by ``rerank(question, c) + support_weight * support(c)``, ties by id, for chunks of entities and of the
    search alike. A chunk that only the search found has no support. The paper gives the set of chunks to a model, without an
    order; the order is ours. The paper does not give k, k', R and k_c either; the defaults are stated below. Its sub-queries are
    written by a model: see ``by``.

    A parameter that has no effect with the given ``search`` is refused.

    Attributes
    ----------
    search : ``in_filter`` (default), ``post_filter`` (Alg. 1), or ``nearest``: the most similar entities, whatever their distance,
        to compare with
    entities : k, maximum number of entities for each sub-query (default 20)
    max_diameter : D (default 2; the paper: 2 to 3)
    distance : what D bounds: ``induced`` (default), paths inside the chosen entities, or ``graph``, any path
    candidates : k' of ``post_filter``, and the number of entities that ``in_filter`` visits (default 200; at least ``entities``)
    entries : number of entities at which ``in_filter`` begins (default 5)
    centers : R of ``in_filter``, number of centers whose radius prunes the candidates (Alg. 2; default 1; 0: no pruning)
    starts : number of searches of each sub-query, each from another of the most similar entities, of which the largest and most
        similar set stays (default 1, as in the paper)
    chunks : k_c (default 50; k of the request if that is more; 0: no search for chunks, only entities)
    linked : number of chunks of the entities that are scored (default 100)
    support_weight : weight of the support beside the reranker (default 0.1; 0: only the reranker)
    has_co_occurrence : entities of a common chunk are joined (section 3.4; default True; False: only those of a common fact)
    fan_out, node_cap : bounds of the pull (default 20 neighbours of an entity, the heaviest, and 5,000 entities)
    statements : maximum number of statements of one entity that are followed to chunks (default 40)
    by : who makes the sub-queries: ``rules`` (default), as ``splitter`` says, or ``chat``, the chat model
    splitter : the rules: ``whole`` (default), which leaves the question as it is, or ``names``, the question and each of its names.
        Or an object, with which ``by`` cannot be ``chat``
    """

    name: ClassVar[str] = "diameter"
    unit: ClassVar[Unit] = "chunk"
    presets: ClassVar[Presets] = {
        # The vector of a question with several names lies near one of them: with one search per name the set of entities
        # covers all of them.
        "tuned": {"splitter": "names"},
        "literal": dict.fromkeys(("fan_out", "node_cap", "statements"), UNBOUNDED),
    }
    search: Filter = "in_filter"
    entities: int = 20
    max_diameter: int = 2
    distance: Distance = Distance.INDUCED
    candidates: int = 200
    entries: int = 5
    centers: int = 1
    starts: int = 1
    chunks: int = 50
    linked: int = 100
    support_weight: float = 0.1
    has_co_occurrence: bool = True
    fan_out: int = 20
    node_cap: int = 5_000
    statements: int = 40
    by: By = "rules"
    splitter: Splitter | SplitBy = "whole"

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self, zero=("centers", "chunks"))
        check_choice("search", self.search, choices=get_args(Filter))
        check_choice("distance", self.distance, choices=tuple(Distance))
        if isinstance(self.splitter, str):
            check_choice("splitter", self.splitter, choices=get_args(SplitBy))
        check_deciders(self.by, None if isinstance(self.splitter, str) else self.splitter)
        check.not_negative("support_weight", self.support_weight)
        mend = "set search to 'in_filter'"
        if self.search == "post_filter":
            why = "search is 'post_filter', which begins with candidates and prunes none"
            check_unused(self, ("entries", "centers"), because=why, mend=mend)
        if self.search == "nearest":
            check_unused(self, _OF_DIAMETER, because="search is 'nearest', which bounds no distance", mend=mend)
        for name in ("entities", "entries"):
            if getattr(self, name) > self.candidates:
                raise InputError(
                    f"{name} is {getattr(self, name)}, and candidates is {self.candidates}: entities are chosen among the "
                    f"candidates; set candidates to {getattr(self, name)} or more"
                )

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        chunks: dict[str, None] = {}
        questions = self._subqueries(session)
        wanted = {"in_filter": self.entries, "post_filter": self.candidates, "nearest": self.entities}[self.search]
        seeds: list[list[str]] = []
        vectors: list[NDArray[np.float32]] = []
        for question in questions:
            with session.asking(question) as asked:
                seeds.append([hit.id for hit in asked.seeds(Kind.ENTITY, wanted)])
                if self.chunks:
                    chunks.update(dict.fromkeys(hit.id for hit in asked.seeds(Kind.CHUNK, max(self.chunks, k))))
                vectors.append(asked.vector())
        graph = self._entities(session, sorted({item for some in seeds for item in some}))
        cosines = graph.vectors @ np.stack(vectors).T if len(graph.ids) else np.empty((0, len(questions)))
        chosen = [
            self._choose(session, graph, seeds=some, cosines=cosines[:, at].astype(np.float64))
            for at, some in enumerate(seeds)
        ]
        support = self._support(session, chosen)
        ranked = rerank(session, Kind.CHUNK, ids=list(dict.fromkeys([*chunks, *support])))
        scores = {hit.id: hit.score + self.support_weight * support.get(hit.id, 0.0) for hit in ranked.hits}
        why: Why = {item: {**parts, "entities": support.get(item, 0.0)} for item, parts in ranked.why.items()}
        return Ranked(Kind.CHUNK, by_score(scores), why)

    def _subqueries(self, session: Session) -> tuple[str, ...]:
        if self.by == "chat":
            return sub_questions(session, ChatSplitter(chat_of(session), session.fall_back))
        if self.splitter == "whole":
            return (session.request.question,)
        return sub_questions(session, NameSplitter() if isinstance(self.splitter, str) else self.splitter)

    def _entities(self, session: Session, seeds: Sequence[str]) -> _Entities:
        """The graph of entities around the seeds, those that have a vector, and the vectors."""
        # Between two seeds at most D apart every node of a shortest path is within D // 2 of one of them.
        hops = self.max_diameter if self.search == "in_filter" else 0
        if self.search == "post_filter" and self.distance == Distance.GRAPH:
            hops = self.max_diameter // 2
        relationships, kinds = INGREDIENTS[ProjectionShape.ENTITY_ENTITY]
        if not self.has_co_occurrence:
            relationships -= {Relationship.CO_OCCURS}
        shape = PullShape(relationships, kinds, hops=hops, fan_out=self.fan_out, node_cap=self.node_cap)
        pulled = session.pull(seeds, shape)
        projected = project(pulled, ProjectionShape.ENTITY_ENTITY)
        ids = pulled.ids[projected.nodes]
        known, vectors = session.vectors(Kind.ENTITY, ids.tolist())
        if len(known) == len(ids):
            return _Entities(ids, projected.adjacency, vectors)
        keep = np.searchsorted(ids, known)  # the embedding of a new entity may come after the entity
        return _Entities(ids[keep], projected.adjacency[keep][:, keep], vectors)

    def _choose(
        self, session: Session, graph: _Entities, *, seeds: Sequence[str], cosines: NDArray[np.float64]
    ) -> dict[str, float]:
        """Entities within the bound, and their cosines to the sub-query."""
        with session.step(f"diameter {self.search}") as step:
            place_of = {str(item): place for place, item in enumerate(graph.ids)}
            at = np.array([place_of[item] for item in seeds if item in place_of], dtype=np.intp)
            bounds = DiameterBounds(
                self.entities, self.max_diameter, self.candidates, self.centers, self.starts, Distance(self.distance)
            )
            if self.search == "nearest":
                nodes = at[top_k(cosines[at], self.entities, tie_break=graph.ids[at])]
                selection = Selection(nodes, 0, len(nodes) == self.entities, len(at))
            elif self.search == "in_filter":
                selection = in_filter(graph.adjacency, cosines, entries=at, bounds=bounds)
            else:
                selection = post_filter(graph.adjacency, cosines, candidates=at, bounds=bounds)
            step.count = len(selection.nodes)
            step.details = {name: value for name, value in selection._asdict().items() if name != "nodes"}
            step.details["similarity"] = round(float(cosines[selection.nodes].sum()), 4)
            if session.notes.is_kept and self.max_diameter > 1:
                step.details["best_ball"] = round(best_ball(graph.adjacency, cosines, k=self.entities), 4)
        # Merged entities share their edges, so together they would count several times.
        chosen = session.distinct({str(graph.ids[node]): float(cosines[node]) for node in selection.nodes})
        if session.notes.is_kept:
            others = max(selection.visited - len(chosen), 0)
            far = min(selection.rejected, others)
            pruned = {
                "farther than max_diameter from all chosen": far,
                "breaks the bound, or less similar": others - far,
            }
            hits = [Hit(item, score) for item, score in chosen.items()]
            session.note_hop(Hop(1, selection.visited, len(hits), pruned, hits, Kind.ENTITY, f"diameter {self.search}"))
        return chosen

    def _support(self, session: Session, chosen: Sequence[dict[str, float]]) -> dict[str, float]:
        """The best chunks by support, from 0 to 1."""
        entities = sorted({item for some in chosen for item in some})
        if not entities:
            return {}
        shape = PullShape.along(*_FROM_ENTITY, hops=2, fan_out=self.statements, node_cap=2 * self.node_cap)
        graph = session.pull(entities, shape)
        mentions, in_chunk = incidence(graph)
        mentioned_in = ((mentions.T @ in_chunk) > 0).astype(np.float64)  # entity x chunk
        chunks = graph.ids[graph.nodes(Kind.CHUNK)]
        rarity = 1 / np.log2(1 + np.maximum(np.asarray(mentioned_in.sum(axis=1)).ravel(), 1))
        support = np.zeros(len(chunks))
        cosines = [_cosines(graph, some) for some in chosen]
        for of_question in cosines:
            scores = np.asarray((of_question * rarity) @ mentioned_in).ravel()
            support = np.maximum(support, scores / (scores.max(initial=0) or 1.0))
        there = np.flatnonzero(support > 0)
        best = there[top_k(support[there], self.linked, tie_break=chunks[there])]
        linked = {str(chunks[at]): float(support[at]) for at in best}
        if session.notes.is_kept:
            hits = [Hit(item, score) for item, score in linked.items()]
            pruned = {"beyond linked": len(there) - len(best)}
            session.note_hop(Hop(2, len(entities), len(best), pruned, hits, Kind.CHUNK, "chunks of the entities"))
            weights = np.max(cosines, axis=0) * rarity
            _note_ways(session, graph, chunks=best[:MOST_PATHS], scores=support, weights=weights)
        return linked


def _cosines(graph: Subgraph, chosen: dict[str, float]) -> NDArray[np.float64]:
    """The cosine of each entity of the graph; 0 for one that is not chosen, or below 0."""
    at = graph.index(list(chosen))
    cosines = np.zeros(len(graph))
    cosines[at[at >= 0]] = np.array(list(chosen.values()))[at >= 0]
    return np.maximum(cosines[graph.nodes(Kind.ENTITY)], 0.0)


def _note_ways(
    session: Session,
    graph: Subgraph,
    *,
    chunks: NDArray[np.intp],
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Note for each chunk the way from the entity that supports it most, over the statement that mentions it there."""
    mentions, in_chunk = incidence(graph)
    statements, names = graph.nodes(Kind.STATEMENT), graph.ids[graph.nodes(Kind.ENTITY)]
    for at in chunks.tolist():
        inside = in_chunk[:, [at]].toarray().ravel() > 0
        named = (mentions[inside] > 0).toarray()
        link = int((weights * named.any(axis=0)).argmax())
        statement = statements[np.flatnonzero(inside)[int(named[:, link].argmax())]]
        ids = [str(names[link]), str(graph.ids[statement]), str(graph.ids[graph.nodes(Kind.CHUNK)[at]])]
        session.note_path(ids, float(scores[at]), kinds=[Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK])


class _Entities(NamedTuple):
    """A graph of entities: ids in ascending order, edges, and one vector per node."""

    ids: NDArray[np.str_]
    adjacency: Csr
    vectors: NDArray[np.float32]
