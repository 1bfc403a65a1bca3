"""The change of one ingest step, the unit of the journal. It is complete, so it can be written again after a crash.

``persist`` assembles a :class:`Change`, and ``GraphStore.stage`` records it before anything else is written. It contains
everything that both stores need. Links name the chunk that asserted them, so removing a chunk removes exactly its assertions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.records import Calibration, Chunk, Kind, Source, Statement, Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ChangeState(StrEnum):
    """The state of a change: recorded, visible, or finished (removed records are deleted from both stores)."""

    STAGED = "staged"
    PUBLISHED = "published"
    DONE = "done"


class Placement(NamedTuple):
    """An IN_CHUNK link: a statement, the chunk that asserts it, its span in the text of the chunk, and its details there.

    A statement in several chunks gets the details of the first one. ``ordinal`` is its index among the statements of the chunk.
    """

    chunk_id: str
    statement_id: str
    ordinal: int
    start: int
    end: int
    details: tuple[str, ...] = ()


class About(NamedTuple):
    """An ABOUT link of a statement; with an empty ``statement_id`` only the IN_CHUNK link of the topic.

    ``name`` is the spelling of the topic in the chunk. The stored name is the most frequent spelling among the
    chunks, ties in alphabetical order.
    """

    chunk_id: str
    statement_id: str
    topic_id: str
    name: str = ""


class MentionLink(NamedTuple):
    """A MENTIONS link, with the name and the kind of the entity in the text."""

    chunk_id: str
    statement_id: str
    entity_id: str
    surface: str
    kind: str


class Support(NamedTuple):
    """A SUPPORTS link of a fact and a statement."""

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
    """A SYNONYM link of two entities, with the cosine of their names."""

    a: str
    b: str
    similarity: float


class Move(NamedTuple):
    """The new position of a kept chunk in an edited source."""

    chunk_id: str
    start: int
    end: int
    position: int
    page: int | None


class Renewal(NamedTuple):
    """Progress of renewing the topic vectors of a corpus of an older version, which lack the statements.

    Attributes
    ----------
    last_id : all topics up to this id are renewed
    is_complete : all topics are renewed
    """

    last_id: str
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Rows of one kind for the vector store; ``data`` is a C-ordered float32 matrix, one row per id.

    A journal may keep only the ids, see :attr:`is_hollow`.
    """

    kind: Kind
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    source_ids: tuple[str, ...]
    dimensions: int
    data: bytes

    @classmethod
    def of(cls, kind: Kind, rows: Iterable[tuple[str, str, str]], *, matrix: NDArray[np.float32]) -> VectorBlock:
        """The block of some rows.

        Parameters
        ----------
        kind : kind of the records
        rows : id, text and source of each
        matrix : their vectors, shape ``(len(rows), dimensions)``
        """
        import numpy as np

        ids, texts, sources = tuple(zip(*rows, strict=True)) or ((), (), ())
        return cls(kind, ids, texts, sources, matrix.shape[1], np.ascontiguousarray(matrix, dtype=np.float32).tobytes())

    def matrix(self) -> NDArray[np.float32]:
        """The vectors, shape ``(len(ids), dimensions)``."""
        import numpy as np

        return np.frombuffer(self.data, dtype=np.float32).reshape(len(self.ids), self.dimensions)

    @property
    def is_hollow(self) -> bool:
        """Whether only the ids of the rows are left. The vector store has the rows, or they are lost."""
        return bool(self.ids) and not self.data

    def hollow(self) -> VectorBlock:
        """The block with only the ids of its rows."""
        return VectorBlock(self.kind, self.ids, (), (), self.dimensions, b"")


@dataclass(frozen=True, slots=True)
class Change:
    """The new state of some sources of one corpus.

    Attributes
    ----------
    id : hash of the content of the change
    corpus : the corpus of the sources
    embedding : fingerprint of the model of the vectors
    dimensions : length of the vectors
    sources : sources that are added, edited or have new metadata; ``version`` is one above the stored one, or the same if
        only the metadata changed
    base_versions : for each source the stored version; 0 for a new one
    removed_sources : ids of sources to remove
    chunks : chunks that are new or were extracted again; all links below belong to these chunks
    removed_chunks : ids of chunks to remove
    moves : kept chunks at a new position
    topics, statements, entities, facts : records that ``chunks`` assert
    placements, abouts, mentions, supports : links that ``chunks`` assert
    synonyms : new SYNONYM links
    vectors : rows of new records; written before the change is published, and hidden until then
    replacements : rows of existing records; written after the change is published, since the records stay visible
    recounted : entities whose names and common chunks are counted again from the stored graph, not from the difference, and
        topics whose names are chosen again; for repairs after a loss of data
    doubted : kept chunks to extract again at the next ingest of their source; for repairs
    topic_names : stored topics whose statements the change may affect, with the vectors of their names. Once the change is
        published, the rows of the affected topics are computed from these and the vectors of their statements
    renewal : progress of a renewal of topics
    calibration : the new scale of the cosines of the corpus; None keeps the old one
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
    doubted: tuple[str, ...] = ()
    topic_names: VectorBlock | None = None
    renewal: Renewal | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of publishing a change.

    Attributes
    ----------
    added : number of added records, by kind
    vanished : ids of vanished records, by kind
    about : the ids of the statements, ascending, of each topic of ``Change.topic_names`` that a chunk of the change names or
        used to name
    """

    added: dict[str, int] = field(default_factory=dict)
    vanished: dict[str, tuple[str, ...]] = field(default_factory=dict)
    about: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pending:
    """An unfinished change in the journal; its ``vectors`` may be hollow."""

    change: Change
    state: ChangeState
    outcome: Outcome
