"""Run a search: check the request against the corpus, rank nodes, and turn them into evidence of the requested unit."""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from hlgraph import telemetry
from hlgraph.algorithms.diversity import retain, tf_idf
from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.errors import InputError, StoreConflictError, UnknownNameError
from hlgraph.ids import shown
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.protocols import ChatModel, Embedder, Reranker
from hlgraph.records import ChatUse, Chunk, Entity, Evidence, Hit, Kind, Relationship, Scalar, Source, Statement
from hlgraph.retrieve.evidence.basis import of_summaries
from hlgraph.retrieve.evidence.tables import (
    Cell,
    Terms,
    cells,
    has_lemmas,
    labels,
    may_repeat,
    says_the_same_order,
    terms,
)
from hlgraph.retrieve.explain.describe import costs, explained
from hlgraph.retrieve.explain.parts import Hop
from hlgraph.retrieve.request import CommunityEvidence, Explanation, SearchRequest, SearchResult, Unit, View
from hlgraph.retrieve.retriever import FOLDED, Ranked, Retriever, Why, by_of, chat_of, units_of, with_preset
from hlgraph.retrieve.session import Session, evidence_of
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.stores import trace
from hlgraph.stores.one_state import repeated
from hlgraph.stores.protocols import CorpusStats, PullShape, Stores
from hlgraph.text import ACL, words
from hlgraph.where import check_fields, matches, metadata_key, refuse_nobody, source_values
from hlgraph.where import fields as fields_of

EmbedderOf: TypeAlias = Callable[[Sequence[CorpusStats]], Embedder]
"""Chooses the embedder by the statistics of a corpus, whose model may have been switched."""


class _Models(NamedTuple):
    """The models of a search, and the moment of ``time.perf_counter`` at which it began."""

    embedder: Embedder | EmbedderOf
    reranker: Reranker
    chat: ChatModel | None
    start: float

    def embedder_of(self, corpus: CorpusStats) -> Embedder:
        """The embedder for a state of the corpus."""
        if hasattr(self.embedder, "embed"):
            return cast("Embedder", self.embedder)
        return self.embedder((corpus,))


def retriever(strategy: str, preset: str = "paper") -> Retriever:
    """The retriever of a strategy with the parameters of a preset.

    Parameters
    ----------
    strategy : a name of ``STRATEGIES``
    preset : a name of :data:`hlgraph.retrieve.retriever.PRESETS`

    Returns
    -------
    Retriever
        With the parameters of the paper if the strategy does not define the preset.

    Raises
    ------
    UnknownNameError : there is no such strategy or preset; the message names the closest strategy and all of them
    """
    if strategy not in STRATEGIES:
        close = difflib.get_close_matches(strategy, STRATEGIES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownNameError(
            f"there is no strategy {strategy!r}; {hint}choose one of: {', '.join(sorted(STRATEGIES))}"
        )
    return with_preset(STRATEGIES[strategy], preset)


def _set_attributes(span: telemetry.Span, result: SearchResult) -> None:
    """Set the attributes of the span of a search: counts and the names of options; ids and scores only with content."""
    if not telemetry.is_on():
        return
    explain = result.explain
    span.set(
        {
            "hlgraph.search.strategy": explain.strategy,
            "hlgraph.search.unit": explain.unit,
            "hlgraph.search.mode": explain.mode,
            "hlgraph.search.evidence": len(result.evidence),
            "hlgraph.search.communities": len(result.communities),
            "hlgraph.search.steps": len(explain.steps),
            "hlgraph.round_trips": explain.round_trips,
        }
    )
    if telemetry.has_content():
        hits = [{"id": piece.id, "score": piece.score} for piece in result.evidence]
        span.set({"gen_ai.retrieval.documents": json.dumps(hits)})
    telemetry.measure("hlgraph.search.evidence", len(result.evidence), by={"hlgraph.search.strategy": explain.strategy})


def search(
    request: SearchRequest,
    strategy: str | Retriever,
    *,
    stores: Stores,
    embedder: Embedder | EmbedderOf,
    reranker: Reranker,
    chat: ChatModel | None = None,
) -> SearchResult:
    """Evidence for a question.

    Parameters
    ----------
    request : the question, the corpus and the options
    strategy : a name of ``STRATEGIES``, or a retriever with parameters of your own
    stores : the open stores
    embedder : embeds the question; a function chooses it by the state of the corpus
    reranker : scores texts against it
    chat : the chat model, which decides if the strategy's ``by`` is ``chat``; None: there is none

    Returns
    -------
    SearchResult

    Raises
    ------
    UnknownNameError : there is no such strategy or corpus
    InputError : the strategy cannot return the unit, or its ``by`` is ``chat`` and there is no chat model
    WhereError : the filter names a field that no source of the corpus has
    ModelMismatchError : the corpus was embedded by another model, and the search needs vectors
    AccessError : a source of the corpus names groups, and the request names no caller
    """
    models = _Models(embedder, reranker, chat, time.perf_counter())
    attributes: dict[str, telemetry.Attribute] = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": request.corpus,
        "gen_ai.retrieval.top_k": request.k,
    }
    with telemetry.span(f"retrieval {request.corpus}", attributes) as span:
        if telemetry.has_content():
            span.set({"gen_ai.retrieval.query.text": request.question})
        with trace.hasty(), trace.listening() if request.explain else contextlib.nullcontext():
            result = _searched(request, strategy, stores=stores, models=models)
        _set_attributes(span, result)
    return result


def _searched(request: SearchRequest, strategy: str | Retriever, *, stores: Stores, models: _Models) -> SearchResult:
    chosen = retriever(strategy) if isinstance(strategy, str) else strategy
    if isinstance(chosen, type) or not callable(getattr(chosen, "rank", None)):
        raise InputError(
            f"strategy is {strategy!a:.60}; give the name of one ({', '.join(sorted(STRATEGIES))}) or a retriever, such as "
            "hlgraph.retrieve.STRATEGIES['path']"
        )
    stores.graph.plan_ahead()
    name = strategy if isinstance(strategy, str) else ""
    last: list[_Ranking] = []

    def work(corpus: CorpusStats) -> SearchResult:
        corpus = _seen(corpus, request)
        last[:] = [_ranking(request, chosen, corpus, name=name, stores=stores, models=models)]
        return last[0].result(corpus)

    with stores.snapshot() as is_pinned:
        if is_pinned:
            return work(checked_corpus(request, stores))
    state = functools.partial(checked_corpus, request, stores)
    # The state that the last search saw is most likely still current; it is compared afterwards in any case. Not so for an
    # explanation, which shows the requests in sequence, nor with a chat model, which must not be asked twice.
    likely = None if request.explain or by_of(chosen) == "chat" else stores.graph.known(request.corpus)
    try:
        return repeated(state, work, corpus=request.corpus, first=likely)
    except StoreConflictError:
        if not last:
            raise
    # Writers were faster than every attempt. Reading the records of the last ranking again takes only a few milliseconds: the
    # result then consists of records of one state, in the order of that ranking.
    return repeated(state, last[0].again, corpus=request.corpus)


@dataclass(slots=True)
class _Ranking:
    """Ranked nodes, and how they become evidence."""

    session: Session
    retriever: Retriever
    ranked: Ranked
    unit: Unit
    name: str
    start: float
    _evidence: list[Evidence] | None = None

    def again(self, corpus: CorpusStats) -> SearchResult:
        """The result, with the records of another state of the corpus."""
        corpus = _seen(corpus, self.session.request)
        self.session.move(corpus)
        self._evidence = None
        return self.result(corpus)

    def evidence(self) -> list[Evidence]:
        """All evidence, best first."""
        if self._evidence is None:
            routed = STRATEGIES[self.session.route] if self.session.route else self.retriever
            self._evidence = _evidence(self.session, self.ranked, self.unit, tau=tau_of(self.session, routed))
        return self._evidence

    def result(self, corpus: CorpusStats) -> SearchResult:
        """The result in a state of the corpus."""
        session, retriever = self.session, self.retriever
        request = session.request
        communities = _communities(session, self.ranked) if request.communities else ()
        shown = self.evidence()[: request.k]
        if request.tabular:
            shown = with_labels(session, shown)
        explain = Explanation(
            self.name,
            self.unit,
            request.mode,
            {parameter.name: _shown(getattr(retriever, parameter.name)) for parameter in fields(retriever)},
            tuple(session.steps),
            session.round_trips,
            round((time.perf_counter() - self.start) * 1000, 3),
            0 if request.is_alone else corpus.version,
            chat=_chat_use(session, retriever),
        )
        result = SearchResult(tuple(shown), explain, corpus.calibration, communities, corpus.version)
        return _explained(session, self.ranked, result)


def _ranking(
    request: SearchRequest, retriever: Retriever, corpus: CorpusStats, *, name: str, stores: Stores, models: _Models
) -> _Ranking:
    """The ranking of a search in a known state of a corpus; ``name`` is empty for a retriever that was passed as an object."""
    unit = _unit(request, retriever, name=name)
    if unit != retriever.unit:
        request = replace(request, unit=unit)
    name = name or getattr(retriever, "name", type(retriever).__name__)
    asked = models.chat and asking_about(models.chat, Purpose(stage="retrieve", strategy=name))
    session = Session(
        request, stores, embedder=models.embedder_of(corpus), reranker=models.reranker, corpus=corpus, chat=asked
    )
    if by_of(retriever) == "chat":
        chat_of(session)  # here, because some strategies ask it only for some questions
    is_folded = unit == "chunk" and retriever.unit == "statement"
    wanted = request.k * FOLDED if is_folded else request.k
    while True:
        session.notes.clear()
        ranking = _Ranking(session, retriever, retriever.rank(session, wanted), unit, name, models.start)
        hits = len(ranking.ranked.hits)
        # Several statements of one chunk, or near-duplicates, may leave too few pieces: search wider.
        is_enough = hits < wanted or wanted >= 100 * request.k or (request.communities and ranking.ranked.groups)
        if is_enough or len(ranking.evidence()) >= request.k:
            break
        wanted = 4 * max(wanted, hits)
    if unit == "summary" or ranking.evidence():
        return ranking
    # A text without statements, entities or topics is found by its chunks, whatever graph the strategy walks on.
    chunks = Ranked(Kind.CHUNK, session.seeds(Kind.CHUNK, request.k), {})
    return _Ranking(session, retriever, chunks, "chunk", name, models.start)


def _chat_use(session: Session, retriever: Retriever) -> ChatUse:
    by, used = by_of(retriever) or "", session.usage
    if used is None:
        return ChatUse(by)
    fallbacks = dict(sorted(session.fallbacks.items()))
    return ChatUse(by, used.calls, used.kept, used.input_tokens, used.output_tokens, fallbacks)


def _explained(session: Session, ranked: Ranked, result: SearchResult) -> SearchResult:
    """The result with the whole explanation, if the request asks for one."""
    if not session.notes.is_kept:
        return result
    dropped, evidence = dict(session.notes.dropped), result.evidence
    rest = len(ranked.hits) - len(evidence) - sum(dropped.values())
    pruned = dropped | ({"beyond k": rest} if rest > 0 else {})
    best, kinds = [Hit(piece.id, piece.score) for piece in evidence], [piece.kind for piece in evidence]
    session.note_hop(Hop(-1, len(ranked.hits), len(evidence), pruned, best, name="returned", kinds=kinds))
    calls = () if session.request.is_of_groups else trace.heard()  # before the explanation asks for names
    explain = replace(result.explain, calls=calls, stores=costs(calls))
    return replace(result, explain=explained(explain, session, evidence=evidence))


def _unit(request: SearchRequest, retriever: Retriever, *, name: str) -> Unit:
    """The unit of the evidence. Raises InputError if the retriever cannot return it."""
    usual: Unit = getattr(retriever, "returned", retriever.unit)
    unit = request.unit or usual
    if unit not in units_of(retriever):
        able = sorted(item for item, strategy in STRATEGIES.items() if unit in units_of(strategy))
        name = name or getattr(retriever, "name", type(retriever).__name__)
        raise InputError(
            f"unit is {unit!r}, and the strategy {name!r} returns {' or '.join(units_of(retriever))} only; "
            f"choose one of these, or the strategy {' or '.join(able)}"
        )
    return unit


def _shown(value: object) -> Scalar:
    """A parameter as an explanation shows it: a part of a strategy by its fingerprint, None as an empty text."""
    if isinstance(value, str | int | float | bool):
        return value
    return str(getattr(value, "fingerprint", value or ""))


def checked_corpus(request: SearchRequest | View, stores: Stores) -> CorpusStats:
    """The statistics of the corpus of a request.

    Parameters
    ----------
    request : the corpus, the filter, and who asks
    stores : the open stores

    Raises
    ------
    UnknownNameError : there is no such corpus
    AccessError : a source of the corpus names groups, and the request names no caller
    WhereError : the filter names a field that no source of the corpus has
    """
    with trace.step("find corpus"):
        corpora = stores.graph.stats(request.corpus, has_counts=False)
    if not corpora:
        # The message does not list other corpora: the caller may not be entitled to know them.
        raise UnknownNameError(
            f"there is no corpus {request.corpus!r}; ingest something into it first, or name another"
        )
    corpus = corpora[0]
    if request.caller is None and ACL in corpus.fields:
        refuse_nobody(request.corpus, corpus.fields)
    if request.where is not None and not request.is_of_groups:
        own = fields_of(request.as_of) if request.as_of is not None else ()  # no version may have ended yet
        known = {str(metadata_key(name)): frozenset({"text", "number"}) for name in own}
        check_fields(request.where, {**known, **corpus.fields})
    return corpus


def _seen(corpus: CorpusStats, request: SearchRequest) -> CorpusStats:
    """The statistics that a search may use: for a caller with groups, and of the past, nothing that is measured on all sources."""
    return replace(corpus, calibration=None, fields={ACL: frozenset()}) if request.is_alone else corpus


def _evidence(session: Session, ranked: Ranked, unit: Unit, *, tau: float) -> list[Evidence]:
    """Evidence of the wanted unit, best first, without near-duplicates."""
    if ranked.kind is Kind.CHUNK and unit == "statement":
        return diverse(session, settled(_statements_of_chunks(session, ranked)), tau=tau)
    if unit == "chunk" and ranked.kind is Kind.STATEMENT:
        ranked = _chunks_of_statements(session, ranked)
    make = _of_statements if unit == "statement" else _of_layers if ranked.summaries else _of_chunks
    # Provenance is read for the pieces that will be returned; for the rest only if some of those were dropped. A tie is ordered as
    # a whole, so that the results for a smaller k are a prefix of those for a larger one.
    end = 2 * session.request.k
    while end < len(ranked.hits) and ranked.hits[end].score == ranked.hits[end - 1].score:
        end += 1
    first = ranked._replace(hits=ranked.hits[:end])
    evidence = diverse(session, settled(make(session, first)), tau=tau)
    if len(evidence) >= session.request.k or len(first.hits) == len(ranked.hits):
        return evidence
    return diverse(session, settled(make(session, ranked)), tau=tau)


def _of_statements(session: Session, ranked: Ranked) -> list[Evidence]:
    statements = session.records(Statement, [hit.id for hit in ranked.hits])
    chunks, sources = _lineage(session, [record.chunk_id for record in statements.values()])
    evidence: list[Evidence] = []
    same_span: dict[tuple[str, int, int], list[Statement]] = {}
    dropped: Counter[str] = Counter()
    for hit in ranked.hits:
        statement = statements.get(hit.id)
        chunk = chunks.get(statement.chunk_id) if statement else None
        if statement is None or chunk is None or chunk.source_id not in sources:
            dropped["record is gone, or not of an admitted source"] += 1
            continue
        # If two chunks overlap, one sentence may have been extracted from both: only the better statement is kept.
        same = same_span.setdefault((chunk.source_id, statement.start, statement.end), [])
        if any(other.chunk_id != chunk.id and _says_the_same(statement.text, other.text) for other in same):
            dropped["the same sentence in an overlapping chunk"] += 1
            continue
        same.append(statement)
        evidence.append(
            evidence_of(statement, chunk, source=sources[chunk.source_id], score=hit.score, why=ranked.why.get(hit.id))
        )
    session.notes.dropped = dropped
    return evidence


def _communities(session: Session, ranked: Ranked) -> tuple[CommunityEvidence, ...]:
    """The groups of a ranking with the texts of their statements and passages and the names of their entities."""

    def hits(ids: Iterable[str]) -> list[Hit]:
        return [Hit(item, scores.get(item, 0.0)) for item in dict.fromkeys(ids)]

    groups, scores = ranked.groups, {hit.id: hit.score for hit in ranked.hits}
    said = ranked._replace(hits=hits(item for group in groups for item in group.statements))
    statements = {item.statement_id: item for item in _of_statements(session, said)}
    read = Ranked(Kind.CHUNK, hits(item for group in groups for item in group.passages), {})
    passages = {item.chunk_id: item for item in _of_chunks(session, read)}
    names = sorted({item for group in groups for item in group.entities})
    entities = session.records(Entity, names)
    communities = (
        CommunityEvidence(
            group.number,
            tuple(statements[item] for item in group.statements if item in statements),
            tuple(passages[item] for item in group.passages if item in passages),
            tuple(dict.fromkeys(entities[item].name for item in group.entities if item in entities)),
            len(group.anchors),
            group.size,
        )
        for group in groups
    )
    return tuple(item for item in communities if item.statements)


def _says_the_same(a: str, b: str) -> bool:
    """Whether one text contains all words of the other."""
    left, right = set(words(a)), set(words(b))
    return left <= right or right <= left


def _of_chunks(session: Session, ranked: Ranked) -> list[Evidence]:
    chunks, sources = _lineage(session, [hit.id for hit in ranked.hits])
    return [
        evidence_of(chunk, chunk, source=sources[chunk.source_id], score=hit.score, why=ranked.why.get(hit.id))
        for hit in ranked.hits
        if (chunk := chunks.get(hit.id)) is not None and chunk.source_id in sources
    ]


def _of_layers(session: Session, ranked: Ranked) -> list[Evidence]:
    """Chunks and summaries in one ranking; the summaries with the chunks and statements that they rest on."""
    own = [hit for hit in ranked.hits if hit.id not in ranked.summaries]
    resting = [ranked.summaries[hit.id] for hit in ranked.hits if hit.id in ranked.summaries]
    below = sorted({name for summary in resting for name in summary.chunk_ids})
    _lineage(session, [*(hit.id for hit in own), *below])  # all of them in one read
    cosines = session.similarities(Kind.CHUNK, below)
    opened = _of_chunks(session, Ranked(Kind.CHUNK, [Hit(name, cosines.get(name, 0.0)) for name in below], {}))
    chunks = {piece.chunk_id: piece for piece in opened}
    summaries = of_summaries(session, ranked.hits, resting=ranked.summaries, why=ranked.why, chunks=chunks)
    by_id = {piece.id: piece for piece in (*summaries, *_of_chunks(session, ranked._replace(hits=own)))}
    evidence = [by_id[hit.id] for hit in ranked.hits if hit.id in by_id]
    gone = len(ranked.hits) - len(evidence)
    session.notes.dropped = Counter({"record is gone, or not of an admitted source": gone} if gone else {})
    return evidence


def _chunks_of_statements(session: Session, ranked: Ranked) -> Ranked:
    """HLG's chunk variant: chunks in the order of their best statement, which ``why`` names."""
    statements = session.records(Statement, [hit.id for hit in ranked.hits])
    best: dict[str, float] = {}
    why: Why = {}
    for hit in ranked.hits:
        statement = statements.get(hit.id)
        if statement is not None and statement.chunk_id not in best:
            best[statement.chunk_id] = hit.score
            why[statement.chunk_id] = {**ranked.why.get(hit.id, {}), "statement": statement.text}
    return Ranked(Kind.CHUNK, [Hit(item, score) for item, score in best.items()], why)


def _statements_of_chunks(session: Session, ranked: Ranked) -> list[Evidence]:
    """The statements of the ranked chunks: reciprocal rank fusion of the order of their chunks and of their cosines."""
    shape = PullShape.along(Relationship.IN_CHUNK, fan_out=1_000)
    graph = session.pull([hit.id for hit in ranked.hits], shape)
    ids = [str(graph.ids[at]) for at in graph.nodes(Kind.STATEMENT)]
    cosines = session.similarities(Kind.STATEMENT, ids)
    statements = session.records(Statement, ids).values()
    scores = {hit.id: hit.score for hit in ranked.hits}
    best: dict[str, float] = {}  # a statement of two overlapping chunks has the place of the better one
    for statement, chunk in np.transpose(graph.edges[Relationship.IN_CHUNK].nonzero()):
        name = str(graph.ids[statement])
        best[name] = max(best.get(name, -np.inf), scores[str(graph.ids[chunk])])
    by_cosine = sorted(statements, key=lambda one: (-cosines.get(one.id, -1.0), one.text, one.start))
    by_chunk = sorted(by_cosine, key=lambda one: -best[one.id])  # stable: by cosine in a chunk
    fused = reciprocal_rank([[statement.id for statement in order] for order in (by_chunk, by_cosine)])
    why: Why = {statement: {"cosine": cosine} for statement, cosine in cosines.items()}
    return _of_statements(session, Ranked(Kind.STATEMENT, [Hit(*pair) for pair in fused], why))


def _lineage(session: Session, chunk_ids: list[str]) -> tuple[dict[str, Chunk], dict[str, Source]]:
    """Chunks and their sources; a source that the filter does not admit now is left out."""
    chunks = session.records(Chunk, list(dict.fromkeys(chunk_ids)))
    sources = session.records(Source, sorted({chunk.source_id for chunk in chunks.values()}))
    where = session.request.where
    if where is not None:
        sources = {item: source for item, source in sources.items() if matches(where, source_values(source))}
    if session.request.as_of is not None:
        sources = {item: shown(source) for item, source in sources.items()}
    return chunks, sources


# Post-processing of ranked evidence: near-duplicates are removed, and numbers labelled from their tables (HLG 4.3).


def tau_of(session: Session, retriever: Retriever | type[Retriever]) -> float:
    """The diversity threshold of a request.

    Parameters
    ----------
    session : its request may set the threshold
    retriever : has the default of the strategy

    Returns
    -------
    float
        0 keeps everything.
    """
    asked = session.request.diversity
    return getattr(retriever, "diversity", 0.0) if asked is None else asked


def settled(evidence: list[Evidence]) -> list[Evidence]:
    """Evidence in the same order, with ties broken by source, place and text.

    Not by ids: they depend on the name of the corpus, so two corpora of the same texts would break a tie differently.

    Parameters
    ----------
    evidence : best first

    Returns
    -------
    list
    """
    runs = groupby(evidence, key=lambda piece: piece.score)
    return [
        piece
        for _, run in runs
        for piece in sorted(run, key=lambda one: (one.source.uri, one.start, one.end, one.text))
    ]


def diverse(session: Session, evidence: list[Evidence], *, tau: float) -> list[Evidence]:
    """Evidence without near-duplicates of better evidence, in the same order.

    At most as many pieces as the request asks for are returned. Evidence below that rank is considered only to replace dropped
    pieces.

    Two texts are near-duplicates when their terms (:func:`hlgraph.retrieve.evidence.tables.terms`) have a TF-IDF cosine above
    1 - tau, over the given evidence, and they have the same numbers and names in the same order. The paper uses the cosine alone;
    that would drop "Ben beat Ada" as a duplicate of "Ada beat Ben", and a long chunk that differs from another in one number.

    Parameters
    ----------
    session : its request has the number of pieces
    evidence : best first
    tau : from 0 (keep everything)

    Returns
    -------
    list
        ``evidence`` itself if tau is 0.
    """
    if not tau or len(evidence) < 2:
        return evidence
    k = session.request.k
    with session.step("diversity") as step:
        texts: list[Terms] = []
        kept: list[int] = []
        window = k
        while len(kept) < min(k, len(evidence)) and len(texts) < len(evidence):
            texts.extend(terms(piece.text) for piece in evidence[len(texts) : window])
            kept = _kept(evidence[: len(texts)], texts, tau)
            window *= 2
        step.count = len(kept)
        step.details = {"tau": tau, "dropped": len(texts) - len(kept), "lemmas": has_lemmas()}
        session.notes.dropped["a near-duplicate of better evidence"] += len(texts) - len(kept)
    return [evidence[at] for at in kept[:k]]


def _kept(evidence: Sequence[Evidence], texts: Sequence[Terms], tau: float) -> list[int]:
    if not may_repeat(texts):
        return list(range(len(evidence)))
    kept = retain(
        tf_idf([item.words for item in texts]),
        # Ranks instead of scores: the order of the evidence already breaks ties.
        np.arange(len(evidence), 0, -1, dtype=np.float64),
        ids=[item.id for item in evidence],
        tau=tau,
        agrees=lambda one, other: says_the_same_order(texts[one], texts[other]),
    )
    return list(map(int, kept))


def with_labels(session: Session, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The same evidence; statements with numbers get ``labels`` for these numbers from the tables of their chunk.

    Texts and spans do not change. Chunks contain their tables and get no labels.

    Parameters
    ----------
    session : reads the chunks
    evidence : statements and chunks

    Returns
    -------
    list
        In the same order.
    """
    with session.step("tabular") as step:
        chunk_ids = dict.fromkeys(piece.chunk_id for piece in evidence if piece.statement_id)
        chunks = session.records(Chunk, list(chunk_ids))
        tables = {chunk.id: cells(chunk.text) for chunk in chunks.values()}
        labelled = [_labelled(piece, chunks, tables) if piece.statement_id else piece for piece in evidence]
        step.count = sum(bool(piece.labels) for piece in labelled)
    return labelled


def _labelled(piece: Evidence, chunks: Mapping[str, Chunk], tables: Mapping[str, Sequence[Cell]]) -> Evidence:
    begin = chunks[piece.chunk_id].start
    texts = labels(piece.text, (piece.start - begin, piece.end - begin), cells=tables[piece.chunk_id])
    return replace(piece, labels=texts) if texts else piece
