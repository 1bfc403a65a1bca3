"""Compares documents with the stored state of their sources and chunks.

:func:`compare` tells whether a source changed, :func:`plan_chunks` which of its chunks. :func:`incomplete` and :func:`damaged`
mark a source that the next ingest must process again. :func:`untrue` finds stored records that do not match their ids.
"""

from __future__ import annotations

import bisect
import itertools
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from hlgraph import ids
from hlgraph.change import Move
from hlgraph.extract.extractor import ChunkInput, Extractor, shown_fingerprint
from hlgraph.records import (
    Chunk,
    Detail,
    Document,
    Entity,
    Fact,
    Metadata,
    MetadataValue,
    Record,
    Source,
    Span,
    Statement,
    Topic,
)
from hlgraph.text import ACL, canonical_time, groups_of

_INCOMPLETE = "incomplete "


def incomplete(checksum: str) -> str:
    """The checksum of a source with a failed extraction. No document has it, so the next ingest compares it again.

    Examples
    --------
    >>> incomplete(incomplete("1f")), complete(incomplete("1f")), is_incomplete("1f")
    ('incomplete 1f', '1f', False)
    """
    return f"{_INCOMPLETE}{complete(checksum)}"


def complete(checksum: str) -> str:
    """The checksum that the source has once all extractions have succeeded."""
    return checksum.removeprefix(_INCOMPLETE)


def is_incomplete(checksum: str) -> bool:
    """Whether a stored checksum was made by :func:`incomplete`."""
    return checksum.startswith(_INCOMPLETE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A document and the new state of its source.

    Attributes
    ----------
    document : the document
    source : the source to store
    stored : the stored source; None if there is none yet
    has_new_text : whether its chunks must be compared; False if only the metadata changed
    """

    document: Document
    source: Source
    stored: Source | None
    has_new_text: bool

    @property
    def base_version(self) -> int:
        """Version of the stored source; 0 if it is not stored yet."""
        return 0 if self.stored is None else self.stored.version

    @property
    def is_new(self) -> bool:
        """Whether the source is not stored yet."""
        return self.stored is None


def compare(
    document: Document,
    corpus: str,
    *,
    stored: Source | None,
    processing: Sequence[str],
    scheme: int = ids.WITHOUT_NAME,
    acl: MetadataValue | None = None,
) -> Comparison | None:
    """The document as the next state of its source; None if nothing changed.

    Parameters
    ----------
    document : the document as it was read
    corpus : the corpus of the source
    stored : the stored source; None if there is none
    processing : fingerprints of the chunker and the extractor; if one changes, the text counts as new
    scheme : scheme of the ids of the corpus
    acl : groups of the source if neither the document nor the stored source names any; None: none

    Returns
    -------
    Comparison | None
        None if the document and its processing are the same as before.
    """
    pages = ",".join(map(str, document.page_starts))
    details = [json.dumps(document.details)] if document.details else []
    checksum = ids.checksum(document.text, document.title, document.key or "", pages, *details, *processing)
    metadata = stored_metadata(document, stored)
    if acl is not None:
        metadata.setdefault(ACL, acl)
    name = ids.source_id(corpus, document.uri, scheme=scheme)
    source = Source(name, corpus, document.uri, document.title, checksum, metadata)
    if stored is None:
        return Comparison(document, source, None, True)
    if stored.checksum != checksum:
        return Comparison(document, replace(source, version=stored.version + 1), stored, True)
    if not _is_same(stored.metadata, source.metadata):
        return Comparison(document, replace(source, version=stored.version), stored, False)
    return None


def _is_same(one: Metadata, other: Metadata) -> bool:
    """Whether every key has the same value of the same type: in Python 1 == True == 1.0."""
    return one == other and all(_types(value) == _types(other[key]) for key, value in one.items())


def _types(value: MetadataValue) -> object:
    return list(map(type, value)) if isinstance(value, tuple) else type(value)


def stored_metadata(document: Document, stored: Source | None) -> dict[str, MetadataValue]:
    """The metadata of a document as its source will have them.

    Parameters
    ----------
    document : the document as it was read
    stored : its stored source, which keeps its groups if the document names none; None if there is none
    """
    metadata = {key: _stored_value(value) for key, value in document.metadata.items()}
    if ACL in metadata:
        metadata[ACL] = groups_of(metadata[ACL])
    elif stored is not None and ACL in stored.metadata:
        metadata[ACL] = stored.metadata[ACL]
    return metadata


def _stored_value(value: object) -> MetadataValue:
    """A metadata value as it is stored: lists are tuples, dates and times are in their canonical form."""
    stored = tuple(map(canonical_time, value)) if isinstance(value, list | tuple) else canonical_time(value)
    return cast("MetadataValue", stored)


def metadata_text(metadata: Metadata) -> str:
    """Metadata as text, equal exactly if every key has the same value of the same type (in Python 1 == True)."""
    return json.dumps(dict(metadata), sort_keys=True)


def chunk_fingerprint(context: ChunkInput, extractor: Extractor) -> str:
    """The fingerprint of a chunk: a hash of the extractor's inputs, then the extractor's own fingerprint.

    The second part is for people. For a chat model it names the versions of the prompts and the model, so every chunk, and
    with it everything extracted from it, records them.

    Parameters
    ----------
    context : the chunk with its title and headings
    extractor : the extractor that will process it

    Returns
    -------
    str
        The hash and the fingerprint of the extractor, separated by a space.
    """
    return f"{extraction_hash(context, extractor.input_fingerprint(context))} {extractor.fingerprint}"


def extraction_hash(context: ChunkInput, input_fingerprint: str) -> str:
    """The first part of a chunk's fingerprint: a hash of the extractor's inputs and the context.

    Parameters
    ----------
    context : the chunk with its title and headings
    input_fingerprint : fingerprint of what the extractor reads

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return ids.checksum(input_fingerprint, *context.surroundings)


def awaited_hash(extractor: str, context: ChunkInput) -> str:
    """The hash that a chunk will have once a chat extractor has succeeded with it.

    Parameters
    ----------
    extractor : fingerprint of the extractor
    context : the chunk with its title and headings

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return extraction_hash(context, shown_fingerprint(extractor, context))


def is_same_extraction(stored: str, fingerprint: str) -> bool:
    """Whether two fingerprints of a chunk stand for the same extraction; chunks of older stores have only the hash.

    Parameters
    ----------
    stored : fingerprint of the stored chunk
    fingerprint : fingerprint of the new chunk

    Returns
    -------
    bool
        True if the first parts, the hashes, are equal.

    Examples
    --------
    >>> is_same_extraction("1f", "1f chat/1/p:m"), is_same_extraction("", "1f chat/1/p:m")
    (True, False)
    """
    return stored.partition(" ")[0] == fingerprint.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """The changes to the chunks of a source.

    Attributes
    ----------
    to_extract : chunks that are new or have a new context, with the input of the extractor
    known : ids of the chunks in ``to_extract`` that are already stored
    moves : stored chunks at a new position
    removed : ids of stored chunks that are no longer in the text
    """

    to_extract: tuple[tuple[Chunk, ChunkInput], ...] = ()
    known: frozenset[str] = frozenset()
    moves: tuple[Move, ...] = ()
    removed: tuple[str, ...] = ()


def plan_chunks(
    comparison: Comparison, spans: Sequence[Span], *, stored: Mapping[str, Chunk], extractor: Extractor
) -> ChunkPlan:
    """Compare the spans of a document with the stored chunks of its source, by text and occurrence; linear in the text.

    Parameters
    ----------
    comparison : the document and its source
    spans : the spans of the document
    stored : stored chunks of the source, by id
    extractor : the extractor, whose fingerprint decides whether a stored extraction is still valid

    Returns
    -------
    ChunkPlan
        Which chunks to extract, move and remove.
    """
    (plan,) = chunk_plans(comparison, spans, stored=stored, extractor=extractor)
    return plan


def chunk_plans(
    comparison: Comparison,
    spans: Sequence[Span],
    *,
    stored: Mapping[str, Chunk],
    extractor: Extractor,
    characters: float = math.inf,
) -> Iterator[ChunkPlan]:
    """The plan of :func:`plan_chunks` in consecutive pieces, at least one; only one piece at a time is in memory.

    Parameters
    ----------
    comparison, spans, stored, extractor : see :func:`plan_chunks`
    characters : a piece ends with the chunk to extract that brings it to this number of characters

    Returns
    -------
    Iterator of ChunkPlan
        The last one has the removed chunks.
    """
    document, source = comparison.document, comparison.source
    scheme = ids.scheme_of(source.corpus, [source])
    seen: Counter[str] = Counter()
    to_extract: list[tuple[Chunk, ChunkInput]] = []
    moves: list[Move] = []
    kept: set[str] = set()
    size = 0
    for position, span in enumerate(spans):
        text = document.text[span.start : span.end]
        digest = ids.checksum(text)
        name = ids.chunk_id(source.id, text, seen[digest], scheme=scheme)
        seen[digest] += 1
        if name in stored:
            kept.add(name)
        page = bisect.bisect_right(document.page_starts, span.start) if document.page_starts else None
        context = ChunkInput(
            *(text, document.title, span.headings, document.uri, document.key, position, len(spans), source.id),
            above=span.above,
            noted=_within(document.details, span),
        )
        fingerprint = chunk_fingerprint(context, extractor)
        old = stored.get(name)
        if old is not None and is_same_extraction(old.fingerprint, fingerprint):
            if (old.start, old.end, old.position, old.page) != (span.start, span.end, position, page):
                moves.append(Move(name, span.start, span.end, position, page))
            continue
        chunk = Chunk(
            name, source.id, text, span.start, span.end, position, span.tokens, span.headings, page, fingerprint
        )
        to_extract.append((chunk, context))
        size += len(text)
        if size >= characters:
            yield _planned(to_extract, moves, stored=stored)
            to_extract, moves, size = [], [], 0
    yield _planned(to_extract, moves, stored=stored, removed=tuple(sorted(stored.keys() - kept)))


def _within(details: Sequence[Detail], span: Span) -> tuple[Detail, ...]:
    """The details of parts of a span, with offsets in it."""
    first = bisect.bisect_left(details, (span.start,))
    within = itertools.takewhile(lambda detail: detail.start < span.end, itertools.islice(details, first, None))
    return tuple(Detail(start - span.start, end - span.start, text) for start, end, text in within)


def _planned(
    to_extract: Sequence[tuple[Chunk, ChunkInput]],
    moves: Sequence[Move],
    *,
    stored: Mapping[str, Chunk],
    removed: tuple[str, ...] = (),
) -> ChunkPlan:
    known = frozenset(chunk.id for chunk, _ in to_extract if chunk.id in stored)
    return ChunkPlan(tuple(to_extract), known, tuple(moves), removed)


# Integrity of stored records: an id is a hash of the content, so altered content shows.
#
# Positions, counts and metadata are not part of any id; a store that has :class:`hlgraph.stores.protocols.Seals` covers them.


_DAMAGED = "damaged "


def damaged(checksum: str) -> str:
    """The checksum of a source that lost, or may have lost, data that only its document can restore.

    No document has it, so the next ingest of the document compares all chunks.

    Examples
    --------
    >>> damaged(damaged("1f")), is_damaged(damaged("1f")), is_damaged("1f")
    ('damaged 1f', True, False)
    """
    return checksum if is_damaged(checksum) else f"{_DAMAGED}{checksum}"


def is_damaged(checksum: str) -> bool:
    """Whether a stored checksum was made by :func:`damaged`."""
    return checksum.startswith(_DAMAGED)


def untrue(
    records: Sequence[Record], corpus: str, *, names: Mapping[str, str], schemes: Collection[int] = ids.SCHEMES
) -> Iterator[Record]:
    """The records whose content does not match their id.

    Parameters
    ----------
    records : records of one corpus
    corpus : name of the corpus
    names : names of the entities that facts are about, by id
    schemes : schemes that the ids may have, default all

    Examples
    --------
    >>> chunk = Chunk(ids.chunk_id("s", "Tessing", 0), "s", "Tessing", 0, 7, 0, 1)
    >>> other = Chunk(chunk.id, "s", "Tessinj", 0, 7, 0, 1)
    >>> [record.text for record in untrue([chunk, other], "c", names={})]
    ['Tessinj']
    """
    for record in records:
        if not any(record.id in _possible(record, corpus, names=names, scheme=scheme) for scheme in schemes):
            yield record


def _possible(record: Record, corpus: str, *, names: Mapping[str, str], scheme: int) -> Iterator[str]:
    """The ids that the content can have. A chunk id counts earlier chunks of equal text, at most the chunk's position."""
    if isinstance(record, Source):
        yield ids.source_id(corpus, ids.source_key(record), scheme=scheme)
    elif isinstance(record, Chunk):
        source, text = record.source_id, record.text
        yield from (ids.chunk_id(source, text, place, scheme=scheme) for place in range(record.position + 1))
    elif isinstance(record, Topic):
        yield ids.topic_id(record.source_id, record.name, scheme=scheme)
    elif isinstance(record, Statement):
        yield ids.statement_id(record.source_id, record.text, scheme=scheme)
    elif isinstance(record, Entity):
        yield ids.entity_id(corpus, record.name, scheme=scheme)
    elif isinstance(record, Fact):
        subject = names.get(record.subject_id, "")
        literal = record.text[len(f"{subject} {record.predicate} ") :]
        complement = literal if record.object_id is None else names.get(record.object_id, "")
        fields = (subject, record.predicate, complement)
        yield ids.fact_id(corpus, *fields, is_literal=record.object_id is None, scheme=scheme)
    else:
        yield record.id
