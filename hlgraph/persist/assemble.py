"""Assembles the extractions of a batch of sources into one change, with ids for all records and links.

:func:`topic_rows` gives the vectors of topics: a topic is embedded with its statements (HLG, sections 3.2 and 4.1), from
vectors that exist already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hlgraph import ids
from hlgraph.algorithms.similarity import named_centroids
from hlgraph.change import (
    About,
    AddedRows,
    Change,
    FactRow,
    LargeChange,
    MentionLink,
    Move,
    Outcome,
    Parts,
    Placement,
    Support,
    VectorBlock,
)
from hlgraph.extract.extractor import ChunkInput
from hlgraph.persist.compare import ChunkPlan, Comparison, incomplete, metadata_text
from hlgraph.records import (
    Chunk,
    Detail,
    Document,
    Extraction,
    Kind,
    Mention,
    Proposition,
    Relationship,
    Source,
    Statement,
    Topic,
    Triple,
)
from hlgraph.stores.protocols import GraphStore, PullShape, Scope, VectorStore


@dataclass(frozen=True, slots=True)
class Extracted:
    """One source of a batch.

    Attributes
    ----------
    comparison : what changed
    plan : the changes to its chunks
    extractions : one per chunk of ``plan.to_extract``, in that order
    """

    comparison: Comparison
    plan: ChunkPlan
    extractions: tuple[Extraction, ...]

    @classmethod
    def again(
        cls,
        source: Source,
        chunks: Sequence[tuple[Chunk, ChunkInput]],
        *,
        extractions: Sequence[Extraction],
        checksum: str,
    ) -> Extracted:
        """New extractions of stored chunks of a source, as an ingest of its document would produce them.

        Parameters
        ----------
        source : the stored source
        chunks : the chunks, with the input of the extractor
        extractions : one per chunk
        checksum : the new checksum of the source
        """
        document = Document(source.uri, "", source.title, source.metadata)
        after = replace(source, checksum=checksum, version=source.version + 1)
        plan = ChunkPlan(tuple(chunks), frozenset(chunk.id for chunk, _ in chunks))
        return cls(Comparison(document, after, source, has_new_text=True), plan, tuple(extractions))


@dataclass(slots=True)
class _Assembly:
    corpus: str
    scheme: int
    topics: dict[str, Topic] = field(default_factory=dict)
    statements: dict[str, Statement] = field(default_factory=dict)
    entities: dict[str, None] = field(default_factory=dict)
    facts: dict[str, FactRow] = field(default_factory=dict)
    placements: list[Placement] = field(default_factory=list)
    abouts: dict[About, None] = field(default_factory=dict)
    mentions: dict[tuple[str, str, str], MentionLink] = field(default_factory=dict)
    supports: dict[Support, None] = field(default_factory=dict)
    entity_ids: dict[str, str] = field(default_factory=dict)
    topic_ids: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_chunk(self, chunk: Chunk, extraction: Extraction, *, noted: Sequence[Detail] = ()) -> None:
        spelled = _spellings(extraction)
        for name in extraction.topics:
            self._about(chunk, "", spelled.get(ids.normalise_name(name), ""))
        placed: set[str] = set()
        for ordinal, proposition in enumerate(extraction.propositions):
            text = proposition.text.strip()
            if not text:
                continue
            statement_id = ids.statement_id(chunk.source_id, text, scheme=self.scheme)
            start, end = _clamped(proposition, chunk)
            own = (detail.text for detail in noted if start <= detail.start < end)
            details = tuple(dict.fromkeys((*proposition.details, *own)))
            self.statements.setdefault(statement_id, Statement(statement_id, chunk.source_id, text, details=details))
            if statement_id not in placed:
                placed.add(statement_id)
                self.placements.append(Placement(chunk.id, statement_id, ordinal, start, end, details))
            for name in proposition.topics:
                self._about(chunk, statement_id, spelled.get(ids.normalise_name(name), ""))
            for mention in proposition.mentions:
                self._mention(chunk, statement_id, mention)
            for triple in proposition.triples:
                self._support(chunk, statement_id, triple)

    def _about(self, chunk: Chunk, statement_id: str, name: str) -> None:
        if not name:
            return
        topic_id = self.topic_ids.get((chunk.source_id, name), "")
        if not topic_id:
            topic_id = ids.topic_id(chunk.source_id, name, scheme=self.scheme)
            self.topic_ids[chunk.source_id, name] = topic_id
        self.topics.setdefault(topic_id, Topic(topic_id, chunk.source_id, name))
        self.abouts[About(chunk.id, statement_id, topic_id, name)] = None

    def _mention(self, chunk: Chunk, statement_id: str, mention: Mention) -> str:
        """The id of the entity; empty if the name is empty after normalisation."""
        entity_id = self.entity_ids.get(mention.name)
        if entity_id is None:
            has_name = bool(ids.normalise_name(mention.name))
            entity_id = ids.entity_id(self.corpus, mention.name, scheme=self.scheme) if has_name else ""
            self.entity_ids[mention.name] = entity_id
        if not entity_id:
            return ""
        self.entities[entity_id] = None
        key = (chunk.id, statement_id, entity_id)
        if key not in self.mentions or (mention.kind and not self.mentions[key].kind):
            self.mentions[key] = MentionLink(*key, mention.name.strip(), mention.kind)
        return entity_id

    def _support(self, chunk: Chunk, statement_id: str, triple: Triple) -> None:
        predicate, complement = ids.normalise_name(triple.predicate), ids.normalise_name(triple.object)
        if not (predicate and complement and ids.normalise_name(triple.subject)):
            return
        subject_id = self._mention(chunk, statement_id, Mention(triple.subject))
        object_id = "" if triple.is_literal else self._mention(chunk, statement_id, Mention(triple.object))
        parts, is_literal = (triple.subject, predicate, complement), triple.is_literal
        fact_id = ids.fact_id(self.corpus, *parts, is_literal=is_literal, scheme=self.scheme)
        self.facts[fact_id] = FactRow(fact_id, subject_id, predicate, object_id, complement if is_literal else "")
        self.supports[Support(chunk.id, statement_id, fact_id)] = None


def _spellings(extraction: Extraction) -> dict[str, str]:
    """The most frequent spelling of each topic in the extraction of a chunk, ties in alphabetical order, by normalised name."""
    counts: dict[str, Counter[str]] = {}
    for names in (extraction.topics, *(proposition.topics for proposition in extraction.propositions)):
        for name in names:
            if key := ids.normalise_name(name):
                counts.setdefault(key, Counter())[name.strip()] += 1
    return {key: min(spellings, key=lambda name: (-spellings[name], name)) for key, spellings in counts.items()}


def _clamped(proposition: Proposition, chunk: Chunk) -> tuple[int, int]:
    """The span of a proposition inside the chunk; the whole chunk if the extractor's span is invalid."""
    size = chunk.end - chunk.start
    if 0 <= proposition.start < proposition.end <= size:
        return proposition.start, proposition.end
    return 0, size


def assemble(corpus: str, batch: Sequence[Extracted]) -> Change:
    """The change that brings these sources to their new state, still without vectors.

    Its id is a hash of its content, so planning the same step again gives the same change. A chunk whose extraction failed
    keeps its stored statements. It and its source get no valid fingerprint, so that the next ingest retries them.

    Parameters
    ----------
    corpus : the corpus of the sources
    batch : compared and extracted sources

    Returns
    -------
    Change
        Without vectors and synonyms, which :func:`hlgraph.index.embed_change` adds.
    """
    assembly = _Assembly(corpus, ids.scheme_of(corpus, [extracted.comparison.source for extracted in batch]))
    chunks: list[Chunk] = []
    moves: list[Move] = [move for extracted in batch for move in extracted.plan.moves]
    for extracted in batch:
        for (chunk, context), extraction in zip(extracted.plan.to_extract, extracted.extractions, strict=True):
            if not extraction.is_failed:
                chunks.append(chunk)
                assembly.add_chunk(chunk, extraction, noted=context.noted)
            elif chunk.id in extracted.plan.known:
                moves.append(Move(chunk.id, chunk.start, chunk.end, chunk.position, chunk.page))
            else:
                chunks.append(replace(chunk, fingerprint=""))
    sources = tuple(_source(extracted) for extracted in batch)
    versions = tuple(extracted.comparison.base_version for extracted in batch)
    return Change(
        id=_change_id(corpus, sources, versions),
        corpus=corpus,
        sources=sources,
        base_versions=versions,
        chunks=tuple(chunks),
        removed_chunks=tuple(name for extracted in batch for name in extracted.plan.removed),
        moves=tuple(moves),
        topics=tuple(assembly.topics.values()),
        statements=tuple(assembly.statements.values()),
        entities=tuple(assembly.entities),
        facts=tuple(assembly.facts.values()),
        placements=tuple(assembly.placements),
        abouts=tuple(assembly.abouts),
        mentions=tuple(assembly.mentions.values()),
        supports=tuple(assembly.supports),
    )


def _change_id(corpus: str, sources: Sequence[Source], versions: Sequence[int]) -> str:
    states = [
        f"{source.id}:{base}:{source.checksum}:{metadata_text(source.metadata)}"
        for source, base in zip(sources, versions, strict=True)
    ]
    return ids.content_id("change", corpus, *sorted(states))


def assemble_parts(
    corpus: str, batch: Sequence[Comparison], *, content: Parts, failed: Collection[str], removed: Sequence[str]
) -> LargeChange:
    """The change of :func:`assemble` for sources whose records are in parts.

    Parameters
    ----------
    corpus : the corpus of the sources
    batch : compared sources
    content : the parts, each of them made by :func:`assemble`
    failed : ids of sources with a chunk whose extraction failed
    removed : ids of chunks to remove

    Returns
    -------
    LargeChange
        Without the vectors of its topics and synonyms, which :func:`hlgraph.index.embed_parts` adds.
    """
    sources = tuple(
        replace(one.source, checksum=incomplete(one.source.checksum)) if one.source.id in failed else one.source
        for one in batch
    )
    versions = tuple(one.base_version for one in batch)
    return LargeChange(
        id=_change_id(corpus, sources, versions),
        corpus=corpus,
        sources=sources,
        base_versions=versions,
        removed_chunks=tuple(removed),
        content=content,
    )


def _source(extracted: Extracted) -> Source:
    """The source to store. If an extraction failed, its checksum is one that no document has."""
    source = extracted.comparison.source
    if not any(extraction.is_failed for extraction in extracted.extractions):
        return source
    return replace(source, checksum=incomplete(source.checksum))


def removal(corpus: str, source_ids: Sequence[str], *, versions: Sequence[int]) -> Change:
    """The change that removes these sources and everything that only they assert.

    Parameters
    ----------
    corpus : the corpus of the sources
    source_ids : sources to remove
    versions : the stored version of each source

    Returns
    -------
    Change
        Its id is a hash of the sources and their versions.
    """
    states = [f"{source}:{version}" for source, version in zip(source_ids, versions, strict=True)]
    return Change(
        id=ids.content_id("removal", corpus, *sorted(states)), corpus=corpus, removed_sources=tuple(source_ids)
    )


# Vectors of topics.


_EVERY = 1_000_000_000


def topic_rows(
    names: VectorBlock,
    about: Mapping[str, Collection[str]],
    *,
    corpus: str,
    vectors: VectorStore,
    added: AddedRows | None = None,
) -> VectorBlock:
    """The rows of topics: each vector lies between the name and the mean of the statements, see :func:`named_centroids`.

    Parameters
    ----------
    names : the topics, with the vectors of their names
    about : for each topic the ids of its statements; statements without a vector are skipped
    corpus : the corpus
    vectors : holds the vectors of statements
    added : statements that are not stored yet

    Returns
    -------
    VectorBlock
        The topics of ``names``, in order.
    """
    wanted = sorted({statement for name in names.ids for statement in about.get(name, ())})
    ids, rows, matrix = _statements(wanted, corpus, vectors=vectors, added=added)
    at = {name: place for place, name in enumerate(ids)}
    pairs = [
        (place, at[statement])
        for place, name in enumerate(names.ids)
        for statement in set(about.get(name, ()))
        if statement in at
    ]
    group, member = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    centroids = named_centroids(names.matrix(), matrix, group=group, member=member, order=rows)
    return replace(names, data=np.ascontiguousarray(centroids).tobytes())


def _statements(
    wanted: Sequence[str], corpus: str, *, vectors: VectorStore, added: AddedRows | None
) -> tuple[list[str], NDArray[np.intp], NDArray[np.float32]]:
    """The statements that have vectors, by ascending id; the row of each in a matrix; and the matrix."""
    rows = {} if added is None else {name: added.rows[name] for name in wanted if name in added.rows}
    matrix = np.empty((0, 0), dtype=np.float32) if added is None else added.matrix
    stored = [statement for statement in wanted if statement not in rows]
    if stored:
        names, others = vectors.vectors(Kind.STATEMENT, corpus, ids=stored)
        if names:
            rows |= {name: len(matrix) + place for place, name in enumerate(names)}
            matrix = np.concatenate([matrix, others]) if len(matrix) else others
    ids = [statement for statement in wanted if statement in rows]
    return ids, np.array([rows[name] for name in ids], dtype=np.intp), matrix


def renewed_topics(change: Change, outcome: Outcome, *, vectors: VectorStore) -> tuple[VectorBlock, ...]:
    """The new rows of stored topics whose statements a published change may have changed: one block or none.

    Parameters
    ----------
    change : the change
    outcome : what the graph store returned for it
    vectors : holds the vectors of stored statements, and those of the change if the change itself lacks them
    """
    if change.topic_names is None or not outcome.about:
        return ()
    names = change.topic_names.only(outcome.about)
    fresh = change.added_rows(Kind.STATEMENT)
    rows = topic_rows(names, outcome.about, corpus=change.corpus, vectors=vectors, added=fresh) if names.ids else None
    return () if rows is None else (rows,)


def links_about(ids: Sequence[str], corpus: str, *, graph: GraphStore) -> dict[str, set[str]]:
    """For each topic the ids of the visible statements that are about it; a topic without any is left out.

    Reads the graph of the whole corpus if the store keeps one in memory. Use it for repairs, not for every change.

    Parameters
    ----------
    ids : ids of topics, or of statements whose topics are needed
    corpus : the corpus
    graph : the graph store
    """
    about: dict[str, set[str]] = {}
    shape = PullShape.along(Relationship.ABOUT, fan_out=_EVERY, node_cap=_EVERY)
    pulled = graph.pull(ids, shape, scope=Scope(corpus))
    links = pulled.edges[Relationship.ABOUT].tocoo()
    for statement, topic in zip(pulled.ids[links.row].tolist(), pulled.ids[links.col].tolist(), strict=True):
        about.setdefault(topic, set()).add(statement)
    return about
