"""Fuse the rankings of several strategies by their ranks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.algorithms.linked_passages import Passages, link_factors
from hlgraph.algorithms.word_counts import rarity
from hlgraph.errors import InputError
from hlgraph.ids import entity_id, normalise_name
from hlgraph.index.embed import chunk_text
from hlgraph.records import Chunk, Hit, Kind, Metadata, Relationship, Source, Statement
from hlgraph.retrieve.question import keywords
from hlgraph.retrieve.request import SearchRequest, Unit
from hlgraph.retrieve.retriever import (
    By,
    Ranked,
    Retriever,
    Why,
    by_of,
    check_by,
    check_counts,
    rerank,
    search_ahead,
    searches_of,
    with_by,
)
from hlgraph.retrieve.session import Search, Session
from hlgraph.retrieve.steps.facets import ByClause
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.path import TUNED_PATH
from hlgraph.retrieve.strategies.statement import TUNED_STATEMENT
from hlgraph.retrieve.strategies.topic_graph import TUNED_TOPIC_GRAPH
from hlgraph.stores.protocols import PullShape
from hlgraph.subgraph import block
from hlgraph.text import words

_BOOSTED = 100
_LEAST_SHARE = 0.01
_READ = 50
_LINKED = 60
_LEAST_STRENGTH = 0.05  # below it (questions of 40 words or more) links are ignored
_STATEMENTS = PullShape.along(Relationship.IN_CHUNK, fan_out=1_000)
_MIDDLE_WORDS, _WIDTH_WORDS = 28, 4  # centre and width, in words, of the transition from short to long questions


_PARTS: tuple[Retriever, ...] = (
    TUNED_PATH,
    TUNED_TOPIC_GRAPH,
    ChunkRetriever(mode="text"),
    ByClause(TUNED_STATEMENT),
    ByClause(ChunkRetriever(mode="text")),
)
_LONG_WEIGHTS = (0.7, 0.5, 1.2, 2.5, 1.6)


@dataclass(frozen=True, slots=True)
class FusedRetriever:
    """Weighted reciprocal rank fusion of strategies that run on the same question in the same session (ours).

    Each strategy ranks chunks; a chunk takes the rank of its best statement. If the request asks for statements, statements are
    ranked. For a strategy that ranks chunks, the statement that the reranker prefers in each of its best 50 chunks takes the rank
    of the chunk, and the score of a statement is the mean of its fused score and that of the reranker. Records that one strategy
    has read are reused by the next. ``why`` holds the rank in each strategy, from 1. Scores are from 0 to 1; a chunk that every
    strategy ranks first has 1.

    The longer a question, the less a small embedder captures of it, and the more its words tell. So each strategy has a weight
    for short questions, ``a``, and one for long ones, ``b``. A question of ``n`` words uses ``a^(1 - g) b^g`` with
    ``g = 1 / (1 + exp((28 - n) / 4))``. The default weights were chosen by hand after a fit to gold
    passages, those for short questions with all seven evaluation sets in view, those for long ones with both sets of news.
    ``tests/benchmarks/bench_fusion.py`` refits them and reports each set with weights fitted to the others. A strategy with less
    than a hundredth of the weight is skipped. By default no strategy asks the chat model: the default search makes no call.

    The scores of the best passages of a short question are then multiplied by ``exp((1 - g) w f)`` for their links. The six
    features ``f`` are: whether the question names the title of the passage, which words of the question the passage adds to the
    best ones, and whether it mentions the titles of the best ones or they mention its title
    (:func:`hlgraph.algorithms.linked_passages.link_features`). The six weights ``w`` were fitted like those above
    (``tests/benchmarks/bench_links.py``). A statement takes the factor of its passage. ``why`` holds the factor, 1 for the
    passage with the lowest one. Links are ignored for questions of 40 words or more.

    Attributes
    ----------
    parts : the strategies; by default paths, topics, chunks by text, and by clause statements, and chunks by text
    weights : for short questions, one per strategy, 0 or more
    long_weights : for long questions, one per strategy, 0 or more; None: fitted ones for the default parts, else ``weights``
    rank_constant : the higher, the less the first ranks stand out (default 6, since the first ranks of the default parts are
        reliable; the paper of the method has 60)
    depth : number of nodes of each strategy that are fused
    field_boost : of the best 100 nodes, those of a source whose metadata the question names gain this share of their score for
        a name, such as that of a publisher, and again for a date; see :mod:`hlgraph.retrieve.question.keywords`. It is not a
        filter: other sources stay. 0: metadata is ignored
    linked : number of best passages that are rescored by links; 0: none. None: 60 with the default parts, else 0
    by : ``chat`` (default: ``rules``): the chat model decides in all strategies that have a step for it; in the default ones it
        names keywords and divides the question, in two calls

    References
    ----------
    Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, 2009.
    """

    name: ClassVar[str] = "fused"
    unit: ClassVar[Unit] = "chunk"
    parts: tuple[Retriever, ...] = _PARTS
    weights: tuple[float, ...] = (6.0, 2.5, 0.05, 0.05, 0.05)
    long_weights: tuple[float, ...] | None = None
    rank_constant: float = 6
    depth: int = 100
    field_boost: float = 1.0
    linked: int | None = None
    by: By = "rules"

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        if not self.parts or len(self.parts) != len(self.weights):
            raise InputError(
                f"there are {len(self.parts)} strategies and {len(self.weights)} weights; give at least one, and one each"
            )
        if self.long_weights is not None and len(self.long_weights) != len(self.parts):
            raise InputError(
                f"there are {len(self.parts)} strategies and {len(self.long_weights)} long_weights; give one each, or None"
            )
        for weight in (*self.weights, *(self.long_weights or ())):
            check.not_negative("a weight", weight)
        for name, weights in (("weights", self.weights), ("long_weights", self.long_weights)):
            if weights is not None and not any(weights):
                raise InputError(f"{name} are all 0, so nothing is ranked; give at least one strategy a weight above 0")
        check.positive("rank_constant", self.rank_constant)
        check.not_negative("field_boost", self.field_boost)
        check_by(self.by)
        if self.by == "chat" and all(by_of(part) is None for part in self.parts):
            raise InputError(
                "by is 'chat', and no strategy of parts has a step that a chat model can take; leave it out"
            )
        check_counts(self, zero=("linked",))

    def weights_for(self, question: str) -> tuple[float, ...]:
        """The weights of the strategies for a question, by the number of its words.

        Examples
        --------
        >>> FusedRetriever().weights_for("Who built the mill?")[2] < 0.1 < 1.1 < FusedRetriever().weights_for("x " * 60)[2]
        True
        """
        longest = self.long_weights
        if longest is None:
            longest = _LONG_WEIGHTS if self.parts is _PARTS else self.weights
        long = _length(question)
        return tuple(a ** (1 - long) * b**long for a, b in zip(self.weights, longest, strict=True))

    def _counting(self, question: str) -> dict[str, tuple[Retriever, float]]:
        """The strategies with at least a hundredth of the weight, by number and name, with their weights."""
        weights = self.weights_for(question)
        least = _LEAST_SHARE * sum(weights)
        every = zip(self.parts, weights, strict=True)
        return {
            f"{number} {_name(part)}": (
                with_by(part, "chat") if self.by == "chat" and by_of(part) is not None else part,
                weight,
            )
            for number, (part, weight) in enumerate(every, 1)
            if weight >= least
        }

    def searches(self, request: SearchRequest, k: int) -> list[Search]:
        """See :func:`hlgraph.retrieve.retriever.searches_of`."""
        counting, depth = self._counting(request.question), max(self.depth, k)
        return [search for part, _ in counting.values() for search in searches_of(part, request, k=depth)]

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        depth = max(self.depth, k)
        weights = self._counting(session.request.question)
        results: list[Ranked] = []
        search_ahead(session, self.searches(session.request, k))
        for name, (chosen, _) in weights.items():
            with session.notes.named(name):
                results.append(chosen.rank(session, depth))
        kind = Kind.STATEMENT if session.request.unit == "statement" else Kind.CHUNK
        if kind is Kind.STATEMENT:
            rankings = [ids[:depth] for ids in _as_statements(session, results)]
        else:
            rankings = [_as_chunks(session, ranked)[:depth] for ranked in results]
        with session.step("fuse") as step:
            shares = [weight for _, weight in weights.values()]
            best = sum(shares) / (self.rank_constant + 1) or 1.0
            fused = [
                (item, score / best) for item, score in reciprocal_rank(rankings, self.rank_constant, weights=shares)
            ]
            step.count = len(fused)
            step.details = {"parts": len(weights)}
            step.details |= {f"weight {name}": round(weight, 2) for name, (_, weight) in weights.items()}
        why: Why = {item: {} for item, _ in fused}
        for name, ranking in zip(weights, rankings, strict=True):
            for place, item in enumerate(ranking, 1):
                why[item].setdefault(f"rank {name}", float(place))
        hits = [Hit(item, score) for item, score in fused]
        if kind is Kind.STATEMENT:
            by_chunk = [_as_chunks(session, ranked)[:depth] for ranked in results]
            ranked_chunks = reciprocal_rank(by_chunk, self.rank_constant, weights=shares)
            linked = self._linked(session.request.question)
            if linked and self.field_boost and session.has_metadata:
                # The passages of both steps below, in one round trip.
                read = _as_chunks(session, Ranked(kind, hits[:_BOOSTED], {}))
                session.records(Chunk, [*read, *(item for item, _ in ranked_chunks[:linked])])
        hits = self._boosted(session, kind, hits=hits, why=why)
        if kind is Kind.STATEMENT:
            factors = self._factors(session, [Hit(item, score) for item, score in ranked_chunks])
            records = session.records(Statement, [hit.id for hit in hits])
            of_hit = {item: factors[one.chunk_id] for item, one in records.items() if one.chunk_id in factors}
            hits = _with_reranker(session, _scaled(hits, of_hit, why=why), why=why)
        else:
            hits = _scaled(hits, self._factors(session, hits), why=why)
        return Ranked(kind, hits, why)

    def _linked(self, question: str) -> int:
        """Number of best passages that are rescored by their links."""
        if 1 - _length(question) < _LEAST_STRENGTH:
            return 0
        if self.linked is None:
            return _LINKED if self.parts is _PARTS else 0
        return self.linked

    def _factors(self, session: Session, hits: Sequence[Hit]) -> dict[str, float]:
        """The factors of the best passages for their links, by id; the lowest is 1, which is also the factor of all others."""
        best = hits[: self._linked(session.request.question)]
        if not best:
            return {}
        strength = 1 - _length(session.request.question)
        with session.step("links") as step:
            factors = link_factors(linked_passages(session, best), strength=strength)
            step.count = len(best)
            step.details = {"strength": round(strength, 3)}
        return {hit.id: factor for hit, factor in zip(best, (factors / factors.min()).tolist(), strict=True)}

    def _boosted(self, session: Session, kind: Kind, *, hits: list[Hit], why: Why) -> list[Hit]:
        """The hits by their scores, raised for sources whose fields the question names."""
        if not self.field_boost or not session.has_metadata:
            return hits
        with session.step("fields") as step:
            of_hit = _metadata(session, kind, ids=[hit.id for hit in hits[:_BOOSTED]])
            fields_of = keywords.matches(session.request.question, of_hit)
            step.count = len(fields_of)
        for item, fields in fields_of.items():
            why[item]["fields"] = ", ".join(fields)
        factors = {item: self._factor(fields, of_hit[item]) for item, fields in fields_of.items()}
        most = max(factors.values(), default=1.0)
        boosted = [Hit(hit.id, hit.score * factors.get(hit.id, 1.0) / most) for hit in hits]
        return sorted(boosted, key=lambda hit: -hit.score)

    def _factor(self, fields: Sequence[str], metadata: Metadata) -> float:
        """The factor of a source: one boost for names, however many fields match, and one for dates."""
        kinds = {keywords.is_date(metadata[field]) for field in fields}
        return (1 + self.field_boost) ** len(kinds)


def _length(question: str) -> float:
    """The length of a question on a scale from 0 to 1; 0.5 at 28 words."""
    return 1 / (1 + math.exp((_MIDDLE_WORDS - len(question.split())) / _WIDTH_WORDS))


def _scaled(hits: list[Hit], factors: Mapping[str, float], *, why: Why) -> list[Hit]:
    """The hits by their scores times their factors (1 without a factor), scaled so that the best score does not change."""
    if not factors or not hits:
        return hits
    for item, factor in factors.items():
        why[item]["links"] = factor
    scores = [hit.score * factors.get(hit.id, 1.0) for hit in hits]
    share = hits[0].score / max(scores)
    return sorted(
        (Hit(hit.id, score * share) for hit, score in zip(hits, scores, strict=True)), key=lambda hit: -hit.score
    )


def _with_reranker(session: Session, hits: Sequence[Hit], *, why: Why) -> list[Hit]:
    """Statements by the mean of their score and the reranker's; only the best 100 are reranked.

    Several statements of a passage share its rank; only their words and meaning tell which of them answers.
    """
    close = rerank(session, Kind.STATEMENT, ids=[hit.id for hit in hits[:_BOOSTED]])
    scores = {hit.id: hit.score for hit in close.hits}
    for item, parts in close.why.items():
        why[item] |= parts
    return sorted(
        (Hit(hit.id, (hit.score + max(0.0, min(1.0, scores.get(hit.id, 0.0)))) / 2) for hit in hits),
        key=lambda hit: -hit.score,
    )


def _name(part: Retriever) -> str:
    if isinstance(part, ByClause):
        return f"{_name(part.part)} by clause"
    mode = getattr(part, "mode", None)
    return type(part).__name__.removesuffix("Retriever") + (f" by {mode}" if mode else "")


def _metadata(session: Session, kind: Kind, *, ids: Sequence[str]) -> dict[str, Metadata]:
    """The metadata of the source of each node."""
    record_type: type[Chunk | Statement] = Statement if kind is Kind.STATEMENT else Chunk
    of_node = {item: one.source_id for item, one in session.records(record_type, ids).items()}
    sources = session.records(Source, sorted(set(of_node.values())))
    return {item: sources[source].metadata for item, source in of_node.items() if source in sources}


def _as_chunks(session: Session, ranked: Ranked) -> list[str]:
    """A ranking as a ranking of chunks."""
    ids = [hit.id for hit in ranked.hits]
    if ranked.kind is Kind.CHUNK:
        return ids
    records = session.records(Statement, ids)
    return list(dict.fromkeys(records[item].chunk_id for item in ids if item in records))


def _as_statements(session: Session, results: Sequence[Ranked]) -> list[list[str]]:
    """The rankings as rankings of statements; one pull for all chunks."""
    # The best statement of each chunk.
    chunks = {hit.id: "" for ranked in results if ranked.kind is Kind.CHUNK for hit in ranked.hits[:_READ]}
    if chunks:
        graph = session.pull(list(chunks), _STATEMENTS)
        ids = [str(graph.ids[at]) for at in graph.nodes(Kind.STATEMENT)]
        records = session.records(Statement, ids)
        for hit in rerank(session, Kind.STATEMENT, ids=ids).hits:
            chunk = records[hit.id].chunk_id
            if chunks.get(chunk) == "":
                chunks[chunk] = hit.id
    return [
        [item for hit in ranked.hits if (item := hit.id if ranked.kind is Kind.STATEMENT else chunks.get(hit.id, ""))]
        for ranked in results
    ]


# Links between ranked passages: which mention the titles of others, and which words of the question each contains.

_MENTIONS = PullShape.along(Relationship.IN_CHUNK, Relationship.MENTIONS, hops=2, fan_out=1_000)
_APART = re.compile(r"\s*\([^()]*\)\s*$")  # the words that distinguish equal titles: "Rome (film)"


def linked_passages(session: Session, hits: Sequence[Hit]) -> Passages:
    """The input features of ranked passages; one pull, and reads of records that are not cached.

    A passage mentions a title if one of its statements mentions the entity of that name, with or without the words in
    parentheses at its end.

    Parameters
    ----------
    session : with the question
    hits : passages, best first, with scores above 0

    Returns
    -------
    Passages
    """
    ids = [hit.id for hit in hits]
    chunks = session.records(Chunk, ids)
    sources = session.records(Source, sorted({chunk.source_id for chunk in chunks.values()}))
    title_of = {item: sources[chunk.source_id].title for item, chunk in chunks.items() if chunk.source_id in sources}
    titles = [title_of.get(item, "") for item in ids]
    texts = [
        chunk_text(title, chunks[item].text) if item in chunks else "" for item, title in zip(ids, titles, strict=True)
    ]
    question = session.request.question
    covers = session.words.of(texts).counts > 0
    names = [_names(title) for title in titles]
    is_named = np.array([any(_is_said(name, question) for name in own_names) for own_names in names], dtype=np.bool_)
    scores = np.array([hit.score for hit in hits], dtype=np.float64)
    return Passages(scores, covers, rarity(covers), is_named, _mentions(session, ids, names=names))


def _mentions(session: Session, ids: list[str], *, names: Sequence[tuple[str, ...]]) -> NDArray[np.bool_]:
    """Shape (n, n): whether passage i mentions one of the names of the title of passage j."""
    graph = session.pull(ids, _MENTIONS)
    of_name = partial(entity_id, session.request.corpus, scheme=session.scheme)
    named = [(j, of_name(name)) for j, own_names in enumerate(names) for name in own_names]
    entities = graph.index([item for _, item in named])
    there = np.flatnonzero(entities >= 0)
    chunks = graph.index(ids)
    mentions = np.zeros((len(ids), len(ids)), dtype=np.bool_)
    if len(there):
        statements = graph.nodes(Kind.STATEMENT)
        columns, place = np.unique(entities[there], return_inverse=True)
        holding = block(graph.edges[Relationship.IN_CHUNK], statements, columns=graph.nodes(Kind.CHUNK))
        naming = block(graph.edges[Relationship.MENTIONS], statements, columns=columns)
        of_chunk = np.zeros((len(graph) + 1, len(columns)), dtype=np.bool_)  # the last row: missing chunks
        of_chunk[graph.nodes(Kind.CHUNK)] = (holding.T @ naming).toarray() > 0
        for at, column in zip(there.tolist(), place.tolist(), strict=True):
            mentions[:, named[at][0]] |= of_chunk[chunks, column]
    return mentions


def _names(title: str) -> tuple[str, ...]:
    """The title, and the title without the words in parentheses at its end, as names of entities; empty for no title."""
    names = (normalise_name(title), normalise_name(_APART.sub("", title)) if "(" in title else "")
    return tuple(name for name in dict.fromkeys(names) if name)


def _is_said(name: str, question: str) -> bool:
    """Whether a question contains the words of a name in sequence."""
    if name not in normalise_name(question):
        return False
    return f" {' '.join(words(name))} " in f" {' '.join(words(question))} "
