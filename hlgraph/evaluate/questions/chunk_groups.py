"""Groups of chunks of three to five documents that share entities and topics: what a chat model writes a question about.

References
----------
HLG, section 5.2: from a seed topic related topics of other documents are collected (1), and chunks of three to five articles are
chosen for cohesive context (2). Here the graph makes both: the seed is an entity, and the chunks of a document that share the
most entities with those of the other documents come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlgraph.evaluate.questions.askable import Askable
from hlgraph.ids import checksum
from hlgraph.sdk.facts import StoredFacts

LEAST, MOST = 3, 5
"""Number of documents in a group."""


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """Chunks of different documents.

    Attributes
    ----------
    subject : name of the entity that all of them speak of
    chunk_ids : one chunk of each document
    """

    subject: str
    chunk_ids: tuple[str, ...]


def chunk_groups(held: StoredFacts, *, askable: Askable, document: Callable[[str], str], seed: int) -> list[ChunkGroup]:
    """All groups, no two with the same chunks, in a seeded order.

    Parameters
    ----------
    held : the facts
    askable : which entities are one, and which are no names
    document : the document of a source, by id
    seed : of the order
    """
    entities: dict[str, set[str]] = {}  # of a chunk
    documents: dict[str, str] = {}
    for fact, names in held.facts:
        ends = {askable.group(end) for end in (fact.subject_id, fact.object_id) if end and not askable.refusal(end)}
        for name in names:
            statement = held.statements[name]
            entities.setdefault(statement.chunk_id, set()).update(ends)
            documents[statement.chunk_id] = document(statement.source_id)
    chunks: dict[str, list[str]] = {}
    for chunk in sorted(entities):
        for entity in entities[chunk]:
            chunks.setdefault(entity, []).append(chunk)
    found: dict[tuple[str, ...], ChunkGroup] = {}
    for entity in sorted(chunks, key=lambda name: checksum(str(seed), "group", name)):
        chosen = _best_by_document(chunks[entity], entities, documents)
        for start in range(0, len(chosen), MOST):
            part = tuple(chosen[start : start + MOST])
            if len(part) >= LEAST:
                found.setdefault(tuple(sorted(part)), ChunkGroup(askable.answers(entity)[0], part))
    return list(found.values())


def _best_by_document(
    chunks: Sequence[str], entities: Mapping[str, set[str]], documents: Mapping[str, str]
) -> list[str]:
    """One chunk of each document, those that share the most entities with other documents first."""
    spread = Counter(
        entity for entities_of in _by_document(chunks, entities, documents).values() for entity in entities_of
    )
    scores = {chunk: sum(spread[entity] - 1 for entity in entities[chunk]) for chunk in chunks}
    best: dict[str, str] = {}
    for chunk in sorted(chunks, key=lambda name: (-scores[name], name)):
        best.setdefault(documents[chunk], chunk)
    return sorted(best.values(), key=lambda name: (-scores[name], name))


def _by_document(
    chunks: Sequence[str], entities: Mapping[str, set[str]], documents: Mapping[str, str]
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for chunk in chunks:
        found.setdefault(documents[chunk], set()).update(entities[chunk])
    return found
