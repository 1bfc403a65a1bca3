"""StatementGraphRAG: statements by keywords and by meaning, a beam over shared entities, a reranker (HLG, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from hlgraph.algorithms import check
from hlgraph.algorithms.beam import BeamOptions
from hlgraph.algorithms.diversity import PAPER_TAU
from hlgraph.errors import InputError
from hlgraph.records import Kind
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import UNBOUNDED, By, Presets, Ranked, check_by, check_counts
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.beam_walk import (
    Around,
    EntityWalk,
    keyword_statements,
    question_keywords,
    rank_pool,
    search_and_pull,
    steps_of_pulls,
    walk,
)
from hlgraph.retrieve.steps.region import Region

Beams = Literal["per_seed", "shared"]


@dataclass(frozen=True, slots=True)
class StatementGraphRetriever:
    """Statements found by keywords and by vectors, and by beams over the entities that they share (HLG SGRAG).

    The defaults are the paper's, with a beam per seed (Eq. 8, Algorithm 1); the paper does not define the last five parameters.
    All beams advance together: each depth takes one read of neighbours and one of embeddings, however many seeds there are.

    Attributes
    ----------
    vector_seeds : statements by vector search (Eq. 4; paper: 100)
    keyword_seeds : statements by the number of keywords that they mention (Eq. 1-3; paper: 100)
    beam_width, max_depth : of a beam (paper: 50 and 3, so paths of at most four statements)
    beams : ``per_seed`` (paper): every seed has a beam of its own; ``shared``: one beam, which begins at the best
        ``beam_width`` of all seeds. A shared beam finds fewer statements in less time
    must_improve : a path grows only while its score (Eq. 7) does
    neighbours : maximum number followed from one statement, see :class:`Region`
    fan_out : maximum number of statements of one entity that are followed
    node_cap : maximum number of nodes of a pull
    pulls : number of pulls of neighbours; steps after the last pull stay among the statements known by then. Two pulls keep a
        search of depth 3 within six round trips to each store, see :meth:`Region.pull_ahead`
    path_weight : weight of the best path of a statement beside the statement itself, from 0 (paper) to 1
    by : who names the keywords of the question: ``rules`` (default) or ``chat``, the chat model (Eq. 1)

    References
    ----------
    HLG, section 4.1, Algorithm 1; section 6.3.2 for the defaults.
    """

    name: ClassVar[str] = "statement_graph"
    unit: ClassVar[Unit] = "statement"
    diversity: ClassVar[float] = PAPER_TAU
    presets: ClassVar[Presets] = {
        # Paths continue although a bridge lowers their score, and the score of a statement is half its own, half that of its
        # best path.
        "tuned": {"beams": "shared", "must_improve": False, "neighbours": 10, "path_weight": 0.5},
        "literal": {"neighbours": UNBOUNDED, "fan_out": UNBOUNDED, "node_cap": UNBOUNDED, "pulls": 3},
    }
    vector_seeds: int = 100
    keyword_seeds: int = 100
    beam_width: int = 50
    max_depth: int = 3
    beams: Beams = "per_seed"
    must_improve: bool = True
    neighbours: int = 20
    fan_out: int = 25
    node_cap: int = 10_000
    pulls: int = 2
    path_weight: float = 0.0
    by: By = "rules"

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)
        check.probability("path_weight", self.path_weight)
        check_by(self.by)
        if self.beams not in get_args(Beams):
            raise InputError(f"beams is {self.beams!r}; choose {' or '.join(get_args(Beams))}")

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        keywords = question_keywords(session, self.by)
        region = Region(session, fan_out=self.fan_out, neighbours=self.neighbours, node_cap=self.node_cap)
        entities = sorted(set(keywords.values()))
        k = max(self.vector_seeds, k)
        # A shared beam begins at the statements closest to the question. In a search by vector those are its first hits. Only if
        # there are few of them, or in another mode, are the neighbours of statements found by keyword needed too.
        has_closest = self.beams == "shared" and session.request.mode == "vector" and k >= self.beam_width
        hops = 2 * steps_of_pulls(self.pulls, self.max_depth)[0] + (0 if has_closest else 1)
        around = Around(Kind.STATEMENT, self.beam_width if has_closest else k, hops)
        hits, _ = search_and_pull(session, region, around=around, k=k, entities=entities)
        region.add(hits)
        by_vector = region.numbers(hits)
        known = len(region.ids)
        by_keyword = keyword_statements(session, region, keywords=keywords, k=self.keyword_seeds, beside=by_vector)
        new = [region.ids[node] for node in by_keyword.tolist() if node >= known]
        if new and not has_closest:
            region.pull(new, hops=hops - 1)
        seeds = np.union1d(by_vector, by_keyword)
        options = BeamOptions(
            self.beam_width, self.max_depth, must_improve=self.must_improve, is_per_seed=self.beams == "per_seed"
        )
        result = walk(EntityWalk(session, region, pulls=self.pulls, max_depth=self.max_depth), seeds, options=options)
        return rank_pool(session, region, seeds=seeds, result=result, path_weight=self.path_weight)
