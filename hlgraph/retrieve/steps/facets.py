"""Facets of a question: the communities around collected statements, for ToPG Global, and searches by clause.

:func:`facets` chooses the communities. :class:`ByClause` runs a strategy on each clause of a long question and fuses the rankings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.communities import leiden
from hlgraph.algorithms.cover import Cover, CoverBounds, communities_of, greedy_cover
from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, incidence, project
from hlgraph.errors import MissingExtraError
from hlgraph.records import Hit, Kind
from hlgraph.retrieve.question.subqueries import ChatSplitter, Splitter, clauses
from hlgraph.retrieve.request import SearchRequest, Unit
from hlgraph.retrieve.retriever import By, Group, Ranked, Retriever, Why, chat_of, check_by, search_ahead, searches_of
from hlgraph.retrieve.session import Search, Session, Step
from hlgraph.retrieve.steps.suggest import Synonyms, least_of
from hlgraph.stores.derived import Membership
from hlgraph.stores.protocols import PullShape, RankQuery
from hlgraph.subgraph import Subgraph

_SHAPE = ProjectionShape.STATEMENT_ENTITY_CHUNK
_WIDE = 1_000
_TOLERANCE = 1e-6  # so small that nearly always every store finds the same statements, and so the same communities
_DAMPING = 0.85


def facets(
    session: Session,
    anchors: Sequence[str],
    *,
    region: int,
    community_size: int,
    bounds: CoverBounds,
    synonyms: Synonyms = None,
) -> list[Group]:
    """The communities that cover the anchors best within the budget, in the order in which they were chosen.

    The paper partitions the whole graph beforehand, and so does ``hlgraph communities build --shape statement_entity_chunk``: its
    communities are used if they are of the present version of the corpus and the request has no filter. Otherwise only the part
    around the anchors is partitioned: the ``region`` statements closest to them by personalised PageRank, with their entities and
    chunks. The communities are those of hierarchical Leiden, at every level. Without the extra ``communities``, each chunk with
    its statements and their entities is a community.

    Parameters
    ----------
    session : reads the graph
    anchors : ids of the collected statements
    region : maximum number of statements to partition, unless there are more anchors
    community_size : maximum number of nodes of a community at the finest level of Leiden
    bounds : budget of the cover
    synonyms : least similarity of the SYNONYM edges that the ranking around the anchors crosses; ``fitted``: 0.9, fitted to the
        corpus; None: none

    Returns
    -------
    list
        Empty without anchors. Entities and passages are named only if the request asks for communities.

    References
    ----------
    ToPG, section 2.3.3, step 5, and appendix B.5.
    """
    if not anchors:
        return []
    stored = session.memberships(_SHAPE.value, anchors)
    if stored is not None:
        return _stored(session, stored, anchors, bounds=bounds)
    seeds, kinds = dict.fromkeys(anchors, 1.0), frozenset({Kind.STATEMENT})
    least = least_of(synonyms, session)
    query = RankQuery(_SHAPE, seeds, region, _DAMPING, kinds, tolerance=_TOLERANCE, synonyms=least)
    ids = list(dict.fromkeys([*anchors, *(hit.id for hit in session.rank(query))]))[: max(region, len(anchors))]
    shape = PullShape(*INGREDIENTS[_SHAPE], hops=1, fan_out=_WIDE, node_cap=20 * len(ids) + 10_000)
    graph = session.pull(ids, shape)
    with session.step("communities") as step:
        members, by = _members(graph, community_size)
        at = graph.index(list(anchors))
        cover = greedy_cover(members, at[at >= 0], bounds=bounds)
        _note(step, cover, by, len(members), anchors=len(anchors), budget=bounds.budget)
    chosen = [members[number] for number in cover.chosen]
    return _described(graph, chosen, is_whole=session.request.communities)


def _stored(
    session: Session, stored: Sequence[Membership], anchors: Sequence[str], *, bounds: CoverBounds
) -> list[Group]:
    """The communities of the version that cover the anchors best."""
    with session.step("communities") as step:
        place = {anchor: at for at, anchor in enumerate(anchors)}
        covering = [np.array([place[name] for name in one.members], dtype=np.intp) for one in stored]
        sizes = np.array([one.community.size for one in stored], dtype=np.int64)
        cover = greedy_cover(covering, np.arange(len(anchors)), bounds=bounds, sizes=sizes)
        _note(step, cover, "stored", len(stored), anchors=len(anchors), budget=bounds.budget)
    chosen = [stored[number].community.id for number in cover.chosen]
    members_of = session.members(chosen)
    if not session.request.communities:
        said = [[member.id for member in members_of.get(one, ()) if member.kind is Kind.STATEMENT] for one in chosen]
        return [
            Group(at, tuple(some), size=stored[number].community.size)
            for at, (some, number) in enumerate(zip(said, cover.chosen, strict=True), 1)
        ]
    ids = sorted({member.id for some in members_of.values() for member in some})
    graph = session.pull(ids, PullShape(*INGREDIENTS[_SHAPE], hops=0, node_cap=max(len(ids), 1)))
    places = [graph.index([member.id for member in members_of.get(one, ())]) for one in chosen]
    return _described(graph, [np.sort(at[at >= 0]) for at in places], is_whole=True)


def _note(step: Step, cover: Cover, by: str, communities: int, *, anchors: int, budget: int) -> None:
    step.count = len(cover.chosen)
    step.details = {"by": by, "communities": communities, "anchors": anchors}
    step.details |= {"covered": cover.covered, "size": cover.size, "budget": budget}


def _described(graph: Subgraph, chosen: Sequence[NDArray[np.intp]], *, is_whole: bool) -> list[Group]:
    """The nodes of each community by their kinds."""
    mentions, _ = incidence(graph)
    statements, entities, chunks = (graph.nodes(kind) for kind in (Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK))
    communities: list[Group] = []
    for number, nodes in enumerate(chosen, 1):
        said = np.isin(statements, nodes)
        group = Group(number, tuple(graph.ids[statements[said]].tolist()), size=len(nodes))
        if is_whole:
            named = np.flatnonzero(np.isin(entities, nodes))
            counts = np.asarray(mentions[np.flatnonzero(said)].sum(axis=0)).ravel()[named]
            named = named[np.argsort(-counts, kind="stable")]
            read = graph.ids[chunks[np.isin(chunks, nodes)]]
            group = group._replace(entities=tuple(graph.ids[entities[named]].tolist()), passages=tuple(read.tolist()))
        communities.append(group)
    return communities


def rank_passages(statements: Mapping[str, int], tokens: Mapping[str, int]) -> list[str]:
    """The passages of a community, those with the most statements for their length first.

    The score of a passage is ``statements / log(tokens)``.

    Parameters
    ----------
    statements : for each passage, the number of the community's statements in it; passages without one are left out
    tokens : for each passage, its length; a length below 2 counts as 2

    Returns
    -------
    list
        Best first, ties by id.

    References
    ----------
    ToPG, section 2.3.3, steps 6 and 7, and Table 5 (passage_token_limit).

    Examples
    --------
    >>> rank_passages({"a": 2, "b": 2, "c": 3, "d": 0}, {"a": 300, "b": 100, "c": 300, "d": 9})
    ['c', 'b', 'a']
    """
    # Rounded, so that passages with equal scores are ordered by id and not by the last bit of the score.
    scores = {item: round(count / math.log(max(tokens[item], 2)), 12) for item, count in statements.items() if count}
    return sorted(scores, key=lambda item: (-scores[item], item))


def _members(graph: Subgraph, community_size: int) -> tuple[list[NDArray[np.intp]], str]:
    """Nodes of each community, and the name of the method that found them."""
    projected = project(graph, _SHAPE)
    try:
        communities = communities_of(leiden(projected.adjacency, max_size=community_size).levels)
    except MissingExtraError:
        return _chunks(graph), "chunks"
    return [projected.nodes[nodes] for nodes in communities], "leiden"


def _chunks(graph: Subgraph) -> list[NDArray[np.intp]]:
    """Each chunk, its statements and their entities."""
    mentions, in_chunk = incidence(graph)
    statements, entities, chunks = (graph.nodes(kind) for kind in (Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK))
    statements_of = in_chunk.T.tocsr()
    communities = []
    for at, chunk in enumerate(chunks):
        rows = statements_of[[at]].indices
        communities.append(np.unique(np.concatenate([[chunk], statements[rows], entities[mentions[rows].indices]])))
    return communities


def in_turns(ranked: Sequence[Sequence[str]]) -> list[str]:
    """Interleave rankings: the first of each, then the second of each, and so on; every item once.

    Examples
    --------
    >>> in_turns([["a", "b", "c"], ["d"], ["b", "e"]])
    ['a', 'd', 'b', 'e', 'c']
    """
    longest = max(map(len, ranked), default=0)
    return list(dict.fromkeys(items[at] for at in range(longest) for items in ranked if at < len(items)))


# Sub-queries and clauses.


def sub_questions(session: Session, splitter: Splitter) -> tuple[str, ...]:
    """The sub-queries of the question; a wider search reuses them.

    Parameters
    ----------
    session : of the search; keeps them
    splitter : makes them

    Returns
    -------
    tuple
        At least one.
    """
    name = splitter.fingerprint
    if name not in session.subqueries:
        with session.step("split") as step:
            subqueries = session.subqueries[name] = splitter.split(session.request.question)
            step.count = len(subqueries)
            step.details = {"splitter": name, "subqueries": " | ".join(subqueries)}
    return session.subqueries[name]


@dataclass(frozen=True, slots=True)
class ByClause:
    """A retriever that searches each clause of a long question separately; a short question is searched as it is (ours).

    By rules, a clause ends at a joining word (:func:`hlgraph.retrieve.question.subqueries.clauses`). A chat model writes
    sub-queries instead of clauses, in one call, whatever the length of the question.

    The reason: the vector of a long question lies between its clauses, and close to none of them.

    Attributes
    ----------
    part : ranks the nodes of each clause
    rank_constant : of the reciprocal rank fusion of the clauses; default 6: the first nodes of each clause come first
    by : who divides the question: ``rules`` (default) or ``chat``, the chat model; ``part`` has its own ``by``
    """

    unit: ClassVar[Unit] = "chunk"
    part: Retriever
    rank_constant: float = 6
    by: By = "rules"

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check.positive("rank_constant", self.rank_constant)
        check_by(self.by)

    def searches(self, request: SearchRequest, k: int) -> list[Search]:
        """See :func:`hlgraph.retrieve.retriever.searches_of`; none if the chat model divides the question."""
        return self._searches(clauses(request.question), request, k) if self.by == "rules" else []

    def _searches(self, asked: Sequence[str], request: SearchRequest, k: int) -> list[Search]:
        return [search for one in asked for search in searches_of(self.part, replace(request, question=one), k=k)]

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        if self.by == "chat":
            asked = sub_questions(session, ChatSplitter(chat_of(session), session.fall_back))
        else:
            asked = clauses(session.request.question)
        if len(asked) == 1:
            return self.part.rank(session, k)
        search_ahead(session, self._searches(asked, session.request, k))
        rankings_of: list[Ranked] = []
        for number, clause in enumerate(asked, 1):
            with session.asking(clause) as other, session.notes.named(f"clause {number}"):
                rankings_of.append(self.part.rank(other, k))
        kind = rankings_of[0].kind
        rankings = [[hit.id for hit in ranked.hits] for ranked in rankings_of if ranked.kind is kind]
        with session.step("fuse clauses") as step:
            fused = reciprocal_rank(rankings, self.rank_constant)
            step.count = len(fused)
            step.details = {"clauses": len(asked)}
        why: Why = {}
        for number, ranking in enumerate(rankings, 1):
            for place, item in enumerate(ranking, 1):
                why.setdefault(item, {})[f"rank in clause {number}"] = float(place)
        return Ranked(kind, [Hit(item, score) for item, score in fused], why)
