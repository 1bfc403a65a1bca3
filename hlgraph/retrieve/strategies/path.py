"""PropRAG: paths of statements inside a subgraph around the seeds guide a second PageRank over its passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from hlgraph.algorithms import check
from hlgraph.algorithms.beam import BeamOptions, BeamPath, beam_search
from hlgraph.algorithms.ppr import personalised_pagerank
from hlgraph.algorithms.projection import INGREDIENTS, Incidence, ProjectionShape, incidence, project
from hlgraph.errors import InputError
from hlgraph.records import Hit, Kind, Relationship, Statement
from hlgraph.retrieve.request import Mode, SearchRequest, Unit
from hlgraph.retrieve.retriever import (
    Presets,
    Ranked,
    Why,
    by_score,
    check_choice,
    check_counts,
    check_unused,
    rerank,
    search_ahead,
    with_preset,
)
from hlgraph.retrieve.session import Search, Session
from hlgraph.retrieve.steps.beam_walk import note_depths
from hlgraph.retrieve.steps.statement_paths import (
    Coverage,
    PathFrontier,
    StatementGraph,
    entity_weights,
    statement_graph,
)
from hlgraph.stores.protocols import PullShape, RankQuery
from hlgraph.subgraph import Subgraph

Words = Literal["none", "statements", "all"]
Stages = Literal["both", "first", "second"]
_SHAPE = ProjectionShape.ENTITY_PASSAGE
_CANDIDATES = 100
_SEED_PASSAGES = 4  # seed passages of stage 1, as a multiple of the passages of the subgraph
_WIDE = 1_000
_MENTIONED = PullShape.along(Relationship.MENTIONS, fan_out=_WIDE)
_SHOWN = 5
_EXPLORED = 4  # statements whose entities are explored without a beam (PropRAG, A.2: P_initial = B)
_OF_STAGE_1 = ("statements", "entities", "damping_first", "passage_weight_first", "epsilon")
_OF_BEAM = ("max_length", "jump_points", "rescored", "paths", "path_entities")
_OF_STAGE_2 = ("beam_width", *_OF_BEAM, "seed_entities", "damping", "passage_weight")


@dataclass(frozen=True, slots=True)
class PathRetriever:
    """Passages by PageRank in two stages, the second one guided by paths of statements (PropRAG).

    Stage 1: the entities of the best statements are the seeds of a PageRank over entities and passages; its best passages and
    their entities are the subgraph. Stage 2: a beam search finds paths of statements there, joined by shared or synonymous
    entities. The entities of the best paths (to exploit) and of the best single statements (to explore) are the seeds of a
    second PageRank, over the subgraph. Passages are in its order; the rest follow in the order of stage 1.

    A count may be 0 only if its description says so: the part is then off, as in the ablations of the paper. A parameter without
    effect, given the others, is refused.

    Attributes
    ----------
    stages : ``both``; ``first``: passages in the order of the first PageRank; ``second``: the subgraph is made from the passages
        closest to the question, without the first PageRank
    statements, entities : of stage 1: number of statements, and of their entities by the sum of the scores of their statements;
        each weighs 1
    damping_first, damping : of the two PageRanks
    passages : number of passages that make the subgraph
    beam_width : number of paths that are kept at each depth; 0: no beam search, and nothing is exploited
    max_length : maximum number of statements of a path; 1: no path grows
    jump_points : number of best statements of the subgraph that may follow any other, joined or not; 0: none. A number beyond the
        statements of the subgraph lets every statement follow any other
    rescored : number of paths of a depth that are scored by the embedding of their joined texts, the best by the mean of their
        embeddings first; 0: the mean is the score, and the encoder is not called
    paths, path_entities : number of best paths that are exploited, and of their entities; 0 entities: nothing is exploited
    seed_entities : number of entities of the best single statements that are explored, of ``beam_width`` statements (of 4 without a
        beam); 0: nothing is explored
    passage_weight : weight of the cosine of a passage as a seed of the second PageRank
    passage_weight_first : the same for the first one: 0 in the paper; its authors' code has .05
    words : where words count beside embeddings (ours; ``none`` in the paper). ``statements``: in the scores of statements and of
        paths; ``all``: also in those of passages, and the first statements are also searched by text
    epsilon : bound of the approximate PageRank of stage 1 if the store has one (:class:`RankQuery`); None: exact

    The cliques of the subgraph are those of its own statements. The weight of a path's entities is the sum of its scores, as in
    appendix A.6 (the authors' code takes the maximum).

    References
    ----------
    PropRAG, sections 5.2 and 5.3, appendices A.1, A.2 and A.6.
    """

    name: ClassVar[str] = "path"
    unit: ClassVar[Unit] = "chunk"
    presets: ClassVar[Presets] = {
        # A small embedder, and a reranker that reads words, see nothing of the question in a statement that only bridges two
        # others. So paths continue although a bridge lowers their score, and words count. The paths end at wrong entities more
        # often: ten entities instead of five gave -0.6 to +1.4 points of R@5 and -0.4 to +1.0 of R@20 on seven sets.
        "tuned": {"passage_weight_first": 0.02, "words": "all", "rescored": 0, "path_entities": 10},
        # Less time than "tuned": no search by text, no words of passages, stage 1 only around its seeds. On musique_oie recall
        # differs by at most .3 points from that of exact scores (GDS); with a bound of 1e-5 by 1.3.
        "fast": {"passage_weight_first": 0.02, "words": "statements", "rescored": 0, "epsilon": 3e-6},
    }
    stages: Stages = "both"
    statements: int = 20
    entities: int = 40
    damping_first: float = 0.75
    passages: int = 50
    beam_width: int = 4
    max_length: int = 3
    jump_points: int = 3
    rescored: int = 40
    paths: int = 5
    path_entities: int = 5
    seed_entities: int = 5
    damping: float = 0.45
    passage_weight: float = 0.05
    passage_weight_first: float = 0.0
    words: Words = "none"
    epsilon: float | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self, zero=("beam_width", "jump_points", "rescored", "path_entities", "seed_entities"))
        check_choice("stages", self.stages, choices=get_args(Stages))
        check_choice("words", self.words, choices=get_args(Words))
        for name in ("damping_first", "damping"):
            check.below_one(name, getattr(self, name))
        for name in ("passage_weight", "passage_weight_first"):
            check.not_negative(name, getattr(self, name))
        if self.epsilon is not None:
            check.positive("epsilon", self.epsilon)
        self._check_parts()

    def _check_parts(self) -> None:
        """Refuse parameters of a part that is off, and a second stage that has nothing to start from."""
        both = "set stages to 'both'"
        if self.stages == "first":
            check_unused(self, _OF_STAGE_2, because="stages is 'first', so stage 2 does not run", mend=both)
            return
        if self.stages == "second":
            check_unused(self, _OF_STAGE_1, because="stages is 'second', so stage 1 does not run", mend=both)
        if not self.beam_width:
            why = "beam_width is 0, so there is no beam search"
            check_unused(self, _OF_BEAM, because=why, mend="set beam_width to 1 or more")
        if self.max_length == 1:
            why = "max_length is 1, so no path grows"
            check_unused(self, ("jump_points", "rescored"), because=why, mend="set max_length to 2 or more")
        if not self.path_entities:
            why = "path_entities is 0, so no path is exploited"
            check_unused(self, ("paths",), because=why, mend="set path_entities to 1 or more")
        if 0 < self.rescored < self.beam_width:
            raise InputError(
                f"rescored is {self.rescored}, and beam_width is {self.beam_width}: only paths that are scored again are kept; "
                f"set rescored to {self.beam_width} or more, or to 0 for none"
            )
        if not self.seed_entities and not (self.beam_width and self.path_entities) and not self.passage_weight:
            raise InputError(
                "nothing is explored (seed_entities), nothing is exploited (path_entities, beam_width) and passage_weight is 0, so "
                "stage 2 has nothing to start from; set one of them above 0, or stages to 'first'"
            )

    def searches(self, request: SearchRequest, k: int) -> list[Search]:
        """See :func:`hlgraph.retrieve.retriever.searches_of`."""
        wanted = max(k, self.passages)
        if self.stages == "second":
            return self._asked(request, Kind.CHUNK, wanted, candidates=max(wanted, _CANDIDATES))
        searches = self._asked(request, Kind.STATEMENT, self.statements)
        if self.passage_weight_first:
            searches += self._asked(request, Kind.CHUNK, max(wanted, _SEED_PASSAGES * self.passages))
        return searches

    def _asked(self, request: SearchRequest, kind: Kind, k: int, *, candidates: int = _CANDIDATES) -> list[Search]:
        """The searches of :meth:`_seeds`."""
        if not self._has_words(kind):
            return [Search(request.question, kind, k, request.mode)]
        modes: tuple[Mode, ...] = ("vector", "text") if kind is Kind.STATEMENT and self.words == "all" else ("vector",)
        return [Search(request.question, kind, candidates, mode) for mode in modes]

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        search_ahead(session, self.searches(session.request, k))
        if self.stages == "second":
            wanted = max(k, self.passages)
            first = self._seeds(session, Kind.CHUNK, wanted, candidates=max(wanted, _CANDIDATES))
        else:
            first = self._first(session, max(k, self.passages))
        if self.stages == "first" or not first:
            return Ranked(Kind.CHUNK, first, {hit.id: {"pagerank": hit.score} for hit in first})
        focus = [hit.id for hit in first[: self.passages]]
        shape = PullShape(*INGREDIENTS[_SHAPE], hops=2, fan_out=_WIDE)
        graph = within(session.pull(focus, shape), focus)
        incident = incidence(graph)
        passages = graph.ids[graph.nodes(Kind.CHUNK)].tolist() if self.passage_weight else []
        explored = self._search(session, statement_graph(graph, incident=incident), passages=passages)
        second = self._second(session, graph, incident=incident, explored=explored)
        lowest = min((hit.score for hit in second), default=0.0)
        best = max(hit.score for hit in first)
        inside = {hit.id for hit in second}
        # The rest of stage 1 follows below all of stage 2, in its order.
        shares = ((hit.id, max(hit.score, 0.0) / best if best > 0 else 0.0) for hit in first if hit.id not in inside)
        rest = [Hit(item, 0.5 * lowest * share) for item, share in shares]
        hits = [*second, *rest[: max(k - len(second), 0)]]
        if session.request.unit == "statement":
            return _statements(session, explored=explored, chunks=hits)
        origin = "search" if self.stages == "second" else "stage_1"
        before = {hit.id: hit.score for hit in first}
        why: Why = {hit.id: {"pagerank": hit.score, origin: before.get(hit.id, 0.0)} for hit in hits}
        _add_paths(session, explored, why=why)
        return Ranked(Kind.CHUNK, hits, why)

    def _first(self, session: Session, k: int) -> list[Hit]:
        """Stage 1: passages by PageRank from the entities of the best statements."""
        hits = self._seeds(session, Kind.STATEMENT, self.statements)
        graph = session.pull([hit.id for hit in hits], _MENTIONED)
        scores = {hit.id: hit.score for hit in hits}
        weights = np.array([scores.get(str(key), 0.0) for key in graph.ids])
        mentions = graph.edges[Relationship.MENTIONS]
        totals = np.asarray(weights @ mentions).ravel()
        entities = graph.nodes(Kind.ENTITY)
        order = entities[np.lexsort((graph.ids[entities], -totals[entities]))][: self.entities]
        chosen = [Hit(str(graph.ids[at]), float(totals[at])) for at in order]
        session.note_seeds(Kind.ENTITY, chosen, origin="statements")
        seeds = {hit.id: 1.0 for hit in chosen}
        if self.passage_weight_first:
            passages = self._seeds(session, Kind.CHUNK, max(k, _SEED_PASSAGES * self.passages))
            top = max((hit.score for hit in passages), default=0.0)
            seeds |= {hit.id: self.passage_weight_first * hit.score / top for hit in passages if hit.score > 0}
        if not seeds:
            return []
        kinds = frozenset({Kind.CHUNK})
        query = RankQuery(_SHAPE, seeds, k, self.damping_first, kinds, tolerance=1e-4, epsilon=self.epsilon)
        return session.rank(query)

    def _seeds(self, session: Session, kind: Kind, k: int, *, candidates: int = _CANDIDATES) -> list[Hit]:
        """The best nodes of a kind: by the search, or, with words, by the reranker."""
        if not self._has_words(kind):
            return session.seeds(kind, k)
        hits = session.seeds(kind, candidates, mode="vector")
        if kind is Kind.STATEMENT and self.words == "all":
            hits += session.seeds(kind, candidates, mode="text")
        return rerank(session, kind, ids=list(dict.fromkeys(hit.id for hit in hits))).hits[:k]

    def _has_words(self, kind: Kind) -> bool:
        return self.words == "all" or (self.words == "statements" and kind is Kind.STATEMENT)

    def _search(self, session: Session, joined: StatementGraph, *, passages: Sequence[str]) -> _Explored:
        """Stage 2: paths of statements. The passages are compared with the question afterwards."""
        ids: list[str] = joined.ids.tolist()
        known, vectors = session.vectors(Kind.STATEMENT, ids, compared={Kind.CHUNK: passages})
        if known != ids:  # some statements were just removed: a row of zeros has no similarity
            at = {item: place for place, item in enumerate(known)}
            rows = [vectors[at[item]] if item in at else np.zeros_like(session.vector()) for item in ids]
            vectors = np.stack(rows) if rows else vectors

        def texts(nodes: Sequence[int]) -> dict[int, str]:
            records = session.records(Statement, [ids[node] for node in nodes])
            return {node: records[ids[node]].text if ids[node] in records else "" for node in nodes}

        coverage: Coverage | None = None
        if self._has_words(Kind.STATEMENT):
            coverage = Coverage(session.words.of(list(texts(range(len(ids))).values())))
        with session.step("beam") as step:
            question = session.vector()
            frontier = PathFrontier(
                joined, vectors, question=question, texts=texts, embed=session.embed, coverage=coverage
            )
            options = BeamOptions(
                self.beam_width or _EXPLORED,
                self.max_length - 1 if self.beam_width else 0,
                jump_points=self.jump_points,
                rescored=self.rescored or None,
            )
            result = beam_search(np.arange(len(ids)), frontier, options=options, keys=joined.ids)
            step.count = len(result.paths)
            step.details = {"statements": len(ids), "depths": len(result.steps) - 1}
        if session.notes.is_kept:
            note_depths(
                session, ids, result=result, steps=result.steps[1:], duplicates="same statements in another order"
            )
            for path in result.paths[:_SHOWN]:
                session.note_path([ids[node] for node in path.nodes], path.score)
        return _Explored(joined, result.paths)

    def _second(self, session: Session, graph: Subgraph, *, incident: Incidence, explored: _Explored) -> list[Hit]:
        """The passages of the subgraph by PageRank from the entities of paths."""
        single = [path for path in explored.paths if len(path.nodes) == 1]
        weights = np.maximum(
            entity_weights(explored.graph, single, most=self.seed_entities),
            entity_weights(
                explored.graph, explored.paths[: self.paths], most=self.path_entities if self.beam_width else 0
            ),
        )
        projected = project(graph, _SHAPE, incident=incident)
        passages = graph.nodes(Kind.CHUNK)
        chunks: list[str] = graph.ids[passages].tolist()
        of_node = np.zeros(len(graph))
        of_node[graph.nodes(Kind.ENTITY)] = weights
        if self.passage_weight:
            scores = self._passage_scores(session, chunks)
            of_node[passages] = [self.passage_weight * scores.get(key, 0.0) for key in chunks]
        vector = of_node[projected.nodes]
        if not vector.any():
            return [Hit(key, 0.0) for key in sorted(chunks)]
        with session.step("pagerank") as step:
            ranking = personalised_pagerank(projected.adjacency, vector, damping=self.damping)
            step.count = len(vector)
            step.details = {"seeds": int(np.count_nonzero(weights)), "damping": self.damping}
        of_node[projected.nodes] = ranking.scores
        return by_score(dict(zip(chunks, of_node[passages].tolist(), strict=True)))

    def _passage_scores(self, session: Session, chunks: Sequence[str]) -> dict[str, float]:
        """The scores of passages for the question, scaled so that the lowest is 0 and the highest 1."""
        if self._has_words(Kind.CHUNK):
            scores = {hit.id: hit.score for hit in rerank(session, Kind.CHUNK, ids=chunks).hits}
        else:
            scores = session.similarities(Kind.CHUNK, chunks)
        low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in scores.items()}


TUNED_PATH = with_preset(PathRetriever, "tuned")
"""For a small embedder, which sees little of a question in a text that only bridges two others: words count too."""


class _Explored(NamedTuple):
    """The graph of statements that was searched, and the paths, best first."""

    graph: StatementGraph
    paths: tuple[BeamPath, ...]


def within(graph: Subgraph, chunks: Sequence[str]) -> Subgraph:
    """The subgraph without chunks other than these; a statement may also be in others.

    Parameters
    ----------
    graph : the subgraph
    chunks : ids of the chunks

    Returns
    -------
    Subgraph
    """
    others = np.setdiff1d(graph.nodes(Kind.CHUNK), graph.index(list(chunks)))
    return graph.within(np.setdiff1d(np.arange(len(graph)), others))


def _add_paths(session: Session, explored: _Explored, *, why: Why) -> None:
    """Add the best path through each passage."""
    ids: list[str] = explored.graph.ids.tolist()
    nodes = {node for path in explored.paths for node in path.nodes}
    records = session.records(Statement, sorted(ids[node] for node in nodes))
    for path in explored.paths:
        texts = [records[ids[node]] for node in path.nodes if ids[node] in records]
        for statement in texts:
            if statement.chunk_id in why and "path" not in why[statement.chunk_id]:
                why[statement.chunk_id]["path"] = " -> ".join(" ".join(item.text.split()) for item in texts)
                why[statement.chunk_id]["path_score"] = path.score


def _statements(session: Session, *, explored: _Explored, chunks: Sequence[Hit]) -> Ranked:
    """Statements: those of the paths, best path first (1 + its score), then those of the ranked passages.

    The score of the latter is below 1: their similarity to the question times the score of their passage over the best one.
    """
    ids = [str(item) for item in explored.graph.ids]
    scores: dict[str, float] = {}
    why: Why = {}
    records = session.records(Statement, ids)
    shares = {hit.id: hit.score / (chunks[0].score or 1.0) for hit in chunks}
    cosines = session.similarities(Kind.STATEMENT, ids)
    for path in explored.paths:
        names = [ids[node] for node in path.nodes]
        text = " -> ".join(" ".join(records[name].text.split()) for name in names if name in records)
        for name in names:
            if name not in scores:
                scores[name] = 1.0 + path.score
                why[name] = {"path_score": path.score, "path": text, "cosine": cosines.get(name, 0.0)}
    for name, record in records.items():
        if name not in scores:
            cosine, share = max(cosines.get(name, 0.0), 0.0), shares.get(record.chunk_id, 0.0)
            scores[name] = cosine * share
            why[name] = {"cosine": cosine, "passage": share}
    return Ranked(Kind.STATEMENT, by_score(scores), why)
