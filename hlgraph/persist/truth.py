"""Whether stored records say what their ids were made from: an id is a hash of the content, so altered content shows.

Positions, counts and metadata are part of no id; a store that has :class:`hlgraph.stores.protocols.Seals` covers them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from hlgraph import ids
from hlgraph.records import Chunk, Entity, Fact, Record, Source, Statement, Topic

_DAMAGED = "damaged "


def damaged(checksum: str) -> str:
    """The checksum of a source that lost, or may have lost, something that only its document can bring back.

    No document has it, so the next ingest of the document compares all chunks with it.

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
    """The records whose content is not what their id was made from.

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
    >>> [item.text for item in untrue([chunk, other], "c", names={})]
    ['Tessinj']
    """
    for record in records:
        if not any(record.id in _possible(record, corpus, names=names, scheme=scheme) for scheme in schemes):
            yield record


def _possible(record: Record, corpus: str, *, names: Mapping[str, str], scheme: int) -> Iterator[str]:
    """The ids that the content can have. A chunk is numbered among those of its text, of which as many are before it at most."""
    if isinstance(record, Source):
        yield ids.source_id(corpus, record.uri, scheme=scheme)
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
