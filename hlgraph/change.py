"""What one ingest step changes, complete enough to be written again after a crash: the unit of the journal.

A :class:`Change` is planned by ``resolve``, recorded by ``GraphStore.stage`` before anything else is written, and carries
all that both stores need. Links name the chunk that asserted them, so removing a chunk removes exactly its assertions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.records import Chunk, Kind, Source, Statement, Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ChangeState(StrEnum):
    """Where a change stands: recorded, visible, or finished (what it removed is gone from both stores)."""

    STAGED = "staged"
    PUBLISHED = "published"
    DONE = "done"


class Placement(NamedTuple):
    """IN_CHUNK: a statement, the chunk that asserts it, the span of its words relative to the chunk, and its details there.

    A statement in several chunks has the details that the first of them gives.
    """

    chunk_id: str
    statement_id: str
    ordinal: int
    start: int
    end: int
    details: tuple[str, ...] = ()


class About(NamedTuple):
    """ABOUT; with an empty ``statement_id`` only the topic's IN_CHUNK. ``name``: as the chunk spells it, once for a chunk.

    A topic is called what most chunks call it (ties by the alphabet).
    """

    chunk_id: str
    statement_id: str
    topic_id: str
    name: str = ""


class MentionLink(NamedTuple):
    """MENTIONS, with the name and the kind that the text used."""

    chunk_id: str
    statement_id: str
    entity_id: str
    surface: str
    kind: str


class Support(NamedTuple):
    """SUPPORTS."""

    chunk_id: str
    statement_id: str
    fact_id: str


class FactRow(NamedTuple):
    """A fact with its normalised words; ``object_id`` is empty for a literal, ``complement`` for an entity."""

    fact_id: str
    subject_id: str
    predicate: str
    object_id: str
    complement: str


class Synonym(NamedTuple):
    """SYNONYM between two entities and the cosine of their names."""

    a: str
    b: str
    similarity: float


class Move(NamedTuple):
    """A kept chunk at its new place in an edited source."""

    chunk_id: str
    start: int
    end: int
    position: int
    page: int | None


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Rows of one kind for the vector store; ``data`` is a C-ordered float32 matrix, one row an id."""

    kind: Kind
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    source_ids: tuple[str, ...]
    dimensions: int
    data: bytes

    def matrix(self) -> NDArray[np.float32]:
        """The vectors, shape ``(len(ids), dimensions)``."""
        import numpy as np

        return np.frombuffer(self.data, dtype=np.float32).reshape(len(self.ids), self.dimensions)


@dataclass(frozen=True, slots=True)
class Change:
    """The new state of some sources of one corpus.

    ``vectors`` are rows of records that are new: written before the change is published, and hidden until then.
    ``replacements`` are rows of records that exist: written after it, since their records stay visible all along.

    ``recounted``: entities whose names and common chunks are counted anew from what the graph holds, not from what the
    change adds and takes away: for repairs, where something was lost without being taken away.

    ``sources``: added, edited or re-described ones, each with ``version`` one above the stored one (re-described ones keep
    theirs). ``chunks``: new ones and those extracted again; all links are those of ``chunks``. ``embedding``: fingerprint
    of the model behind ``vectors``.
    """

    id: str
    corpus: str
    embedding: str = ""
    dimensions: int = 0
    sources: tuple[Source, ...] = ()
    base_versions: tuple[int, ...] = ()
    removed_sources: tuple[str, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    removed_chunks: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    topics: tuple[Topic, ...] = ()
    statements: tuple[Statement, ...] = ()
    entities: tuple[str, ...] = ()
    facts: tuple[FactRow, ...] = ()
    placements: tuple[Placement, ...] = ()
    abouts: tuple[About, ...] = ()
    mentions: tuple[MentionLink, ...] = ()
    supports: tuple[Support, ...] = ()
    synonyms: tuple[Synonym, ...] = ()
    vectors: tuple[VectorBlock, ...] = ()
    replacements: tuple[VectorBlock, ...] = ()
    recounted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What publishing a change did: numbers of records added by kind, and the ids that vanished by kind."""

    added: dict[str, int] = field(default_factory=dict)
    vanished: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pending:
    """An unfinished change found in the journal."""

    change: Change
    state: ChangeState
    outcome: Outcome
