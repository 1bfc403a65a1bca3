"""TopicGraphRAG: topics top-down, entities bottom-up, a beam that a reranker guides (HLG, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hlgraph.algorithms import check
from hlgraph.algorithms.beam import BeamOptions
from hlgraph.algorithms.diversity import PAPER_TAU
from hlgraph.records import Kind, Statement
from hlgraph.retrieve.request import SearchRequest, Unit
from hlgraph.retrieve.retriever import UNBOUNDED, By, Presets, Ranked, check_by, check_counts, with_preset
from hlgraph.retrieve.session import Search, Session
from hlgraph.retrieve.steps.beam_walk import (
    Around,
    GuidedWalk,
    keyword_statements,
    question_keywords,
    rank_pool,
    search_and_pull,
    walk,
)
from hlgraph.retrieve.steps.region import Region


@dataclass(frozen=True, slots=True)
class TopicGraphRetriever:
    """Statements of topics and of keywords, and those that a beam guided by the reranker finds from them (HLG TGRAG).

    A reranker needs texts, and reading them at each step would take two round trips per step. So the neighbourhood of the best
    ``beam_width`` seeds is pulled first, the statements in it that are closest to the question are read in one batch, and the beam
    walks among them. At each depth the reranker scores the ``rescored`` paths that are best by their embedding. Topics are
    embedded with their statements, as for ``topic``.

    Attributes
    ----------
    topics : by vector search (paper: 50)
    statements : seeds from topics: the closest to the question of all their statements
    keyword_seeds : statements by the number of keywords that they mention
    beam_width, max_depth : of the beam (paper: 50 and 3)
    rescored : number of paths that the reranker scores at each depth
    candidates : number of statements that the beam may enter beside the seeds
    neighbours, fan_out, node_cap : see :class:`Region`
    path_weight : weight of the best path of a statement beside the statement itself, from 0 (paper) to 1
    by : who names the keywords of the question: ``rules`` (default) or ``chat``, the chat model (Eq. 1)

    References
    ----------
    HLG, section 4.2; section 6.3.2 for the defaults.
    """

    name: ClassVar[str] = "topic_graph"
    unit: ClassVar[Unit] = "statement"
    diversity: ClassVar[float] = PAPER_TAU
    presets: ClassVar[Presets] = {
        "tuned": {"neighbours": 10, "path_weight": 0.5},
        "literal": dict.fromkeys(
            ("statements", "rescored", "candidates", "neighbours", "fan_out", "node_cap"), UNBOUNDED
        ),
    }
    topics: int = 50
    statements: int = 200
    keyword_seeds: int = 100
    beam_width: int = 50
    max_depth: int = 3
    rescored: int = 100
    candidates: int = 300
    neighbours: int = 20
    fan_out: int = 25
    node_cap: int = 10_000
    path_weight: float = 0.0
    by: By = "rules"

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)
        check.probability("path_weight", self.path_weight)
        check_by(self.by)

    def searches(self, request: SearchRequest, k: int) -> list[Search]:  # noqa: ARG002
        """See :func:`hlgraph.retrieve.retriever.searches_of`."""
        return [Search(request.question, Kind.TOPIC, self.topics, request.mode)]

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        keywords = question_keywords(session, self.by)
        region = Region(session, fan_out=self.fan_out, neighbours=self.neighbours, node_cap=self.node_cap)
        entities = sorted(set(keywords.values()))
        around = Around(Kind.TOPIC, self.topics, hops=1)
        topics, graph = search_and_pull(session, region, around=around, k=self.topics, entities=entities)
        about = region.about(topics, pulled=graph)
        by_keyword = keyword_statements(session, region, keywords=keywords, k=self.keyword_seeds, beside=about)
        by_topic = region.closest(about, max(self.statements, k))
        seeds = np.union1d(by_topic, by_keyword)
        region.pull_ahead(region.closest(seeds, self.beam_width), steps=2)
        near = np.unique(region.children(seeds).nodes)
        near = np.union1d(near, region.children(near).nodes)
        allowed = np.zeros(len(region.ids), dtype=np.bool_)
        allowed[region.closest(np.setdiff1d(near, seeds), self.candidates)] = True
        allowed[seeds] = True
        # All texts and vectors at once; the reranker finds them in the session.
        session.records(Statement, [region.ids[node] for node in np.flatnonzero(allowed)])
        region.vectors(np.flatnonzero(allowed))
        options = BeamOptions(self.beam_width, self.max_depth, rescored=self.rescored)
        result = walk(GuidedWalk(session, region, allowed=allowed), seeds, options=options)
        return rank_pool(session, region, seeds=seeds, result=result, path_weight=self.path_weight)


TUNED_TOPIC_GRAPH = with_preset(TopicGraphRetriever, "tuned")
"""For a small embedder: the score of a statement is half its own, half that of its best path."""
