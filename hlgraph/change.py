"""The change of one ingest step, the unit of the journal. It is complete, so it can be written again after a crash.

``persist`` assembles a :class:`Change`, and ``GraphStore.stage`` records it before anything else is written. It contains
everything that both stores need. Links name the chunk that asserted them, so removing a chunk removes exactly its assertions.

A document that is too large for one change in memory is a :class:`LargeChange`: its content lies in :class:`Parts`, files on
disk that are read part by part. It is published in one transaction like any other, but a crash before that discards it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Generic, NamedTuple, TypeVar

import msgspec

from hlgraph.errors import ModelMismatchError, StoreError, StoreUnavailableError
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

    def only(self, ids: Collection[str]) -> VectorBlock:
        """The rows that have one of these ids, in their order."""
        places = [place for place, name in enumerate(self.ids) if name in ids]
        rows = [(self.ids[place], self.texts[place], self.source_ids[place]) for place in places]
        return VectorBlock.of(self.kind, rows, matrix=self.matrix()[places])

    def hollow(self) -> VectorBlock:
        """The block with only the ids of its rows."""
        return VectorBlock(self.kind, self.ids, (), (), self.dimensions, b"")


class AddedRows(NamedTuple):
    """The vectors of new records: the row of each id in a matrix of shape (n, dimensions)."""

    rows: Mapping[str, int]
    matrix: NDArray[np.float32]

    @classmethod
    def of(cls, block: VectorBlock) -> AddedRows:
        """Those of a block."""
        return cls({name: row for row, name in enumerate(block.ids)}, block.matrix())


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
    part_count : number of parts of a :class:`LargeChange` that the journal recorded without their content; else 0
    is_arrival : a change of an import, whose corpus is hidden. Its entry in the journal has no content, and ``part_count`` is 1
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
    part_count: int = 0
    is_arrival: bool = False

    def pieces(self) -> Iterator[Change]:
        """The records, links and moves, in pieces that fit into memory: the change itself, or the parts of a large one."""
        yield self

    def blocks(self) -> Iterator[VectorBlock]:
        """The rows of new records with their vectors, in blocks that fit into memory; none if they are hollow."""
        yield from (block for block in self.vectors if not block.is_hollow)

    def rewritten(self) -> Iterator[VectorBlock]:
        """The new rows of existing records, in blocks that fit into memory."""
        yield from self.replacements

    def added_rows(self, kind: Kind) -> AddedRows | None:
        """The vectors of the new records of a kind; None if the change holds none."""
        block = next((block for block in self.blocks() if block.kind is kind), None)
        return None if block is None else AddedRows.of(block)

    def statements_about(self) -> dict[str, set[str]]:
        """For each topic the ids of its statements, according to the chunks of the change."""
        statements: dict[str, set[str]] = {}
        for link in self.abouts:
            if link.statement_id:
                statements.setdefault(link.topic_id, set()).add(link.statement_id)
        return statements

    def journaled(self) -> Change:
        """What the journal of a store records."""
        return self

    def whole(self) -> Change:
        """The change itself. Raises StoreError if the journal recorded it without its content."""
        if self.part_count:
            raise StoreError(
                f"change {self.id}: its parts went with the run that made them; run the same command again"
            )
        return self


@dataclass(frozen=True, slots=True)
class LargeChange(Change):
    """A change whose records and links are in ``content``; ``vectors`` holds only the ids of its rows, for the journal.

    A source of the change is new, or edited in more places than fit into one part.
    """

    content: Parts = field(kw_only=True)

    def pieces(self) -> Iterator[Change]:
        """See :meth:`Change.pieces`."""
        yield self
        yield from self.content

    def blocks(self) -> Iterator[VectorBlock]:
        """See :meth:`Change.blocks`. Kind by kind; the vectors of a kind are dropped from the disk once all were taken."""
        # The vectors of stored topics are made of those of statements, once the change is published.
        yield from self.content.blocks(kept=() if self.topic_names is None else (Kind.STATEMENT,))

    def added_rows(self, kind: Kind) -> AddedRows | None:
        """See :meth:`Change.added_rows`."""
        return self.content.added_rows(kind)

    def rewritten(self) -> Iterator[VectorBlock]:
        """See :meth:`Change.rewritten`."""
        yield from self.content.replacements()

    def journaled(self) -> Change:
        """The change without its content, which does not outlive the process. Rows that lack a vector are named by id."""
        values = {item.name: getattr(self, item.name) for item in fields(Change)}
        again = tuple(block.hollow() for block in self.content.replacements())
        return Change(**{**values, "part_count": len(self.content), "replacements": again})


class Parts:
    """Parts of a change on disk, and the vectors of their rows, one file a kind. Each part fits into memory.

    The files have no name, so the system deletes them when the process ends, however it ends. A full disk raises
    StoreUnavailableError.

    Parameters
    ----------
    new_file : opens an empty file without a name

    Attributes
    ----------
    ids : by kind, the row of :meth:`matrix` of each id with a vector, in order
    dropped : ids of rows that :meth:`blocks` leaves out, since the store has them meanwhile
    stored_entities : ids of entities that the store had, so that they have no row
    about : for each topic the ids of its statements
    dimensions : length of the vectors; 0 before the first row
    """

    def __init__(self, new_file: Callable[[], IO[bytes]]) -> None:
        files = contextlib.ExitStack()
        weakref.finalize(self, files.close)

        def opened() -> IO[bytes]:
            return files.enter_context(new_file())

        self._new_file = opened
        self._parts = _Log(self._new_file(), Change)
        self._rows: dict[Kind, _Log[VectorBlock]] = {}
        self._vectors: dict[Kind, IO[bytes]] = {}
        self._has_replacements = False
        self.ids: dict[Kind, dict[str, int]] = {}
        self.dropped: set[str] = set()
        self.stored_entities: set[str] = set()
        self.about: dict[str, set[str]] = {}
        self.dimensions = 0

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Change]:
        """The parts in order, without the rows of new records."""
        return iter(self._parts)

    def append(self, part: Change) -> None:
        """Add a part.

        Parameters
        ----------
        part : its records and links, the rows of new records, none of which has an id of an earlier part, and replacements
        """
        try:
            for block in part.vectors:
                self._append_rows(block)
            self._parts.append(replace(part, vectors=()))
        except OSError as error:
            raise StoreUnavailableError(
                f"a document is too large for memory, and its parts cannot be written to disk ({error.strerror}); free some "
                "space, and run the same command again"
            ) from error
        self._has_replacements |= bool(part.replacements)
        self.stored_entities.update(set(part.entities).difference(self.ids.get(Kind.ENTITY, ())))
        for topic, statements in part.statements_about().items():
            self.about.setdefault(topic, set()).update(statements)

    def _append_rows(self, block: VectorBlock) -> None:
        if self.dimensions not in (0, block.dimensions):
            raise ModelMismatchError(
                f"the embedder returned vectors of {self.dimensions} and of {block.dimensions} dimensions for one document; "
                "correct the dimensions or the name of the model"
            )
        self.dimensions = block.dimensions
        ids = self.ids.setdefault(block.kind, {})
        ids.update(zip(block.ids, range(len(ids), len(ids) + len(block.ids)), strict=True))
        if block.kind not in self._vectors:
            self._vectors[block.kind] = self._new_file()
            self._rows[block.kind] = _Log(self._new_file(), VectorBlock)
        self._vectors[block.kind].write(block.data)
        self._vectors[block.kind].flush()
        self._rows[block.kind].append(replace(block, data=b""))

    @property
    def steps(self) -> int:
        """The number of parts, and of their blocks of rows."""
        return len(self._parts) + sum(map(self.block_count, self._rows))

    def block_count(self, kind: Kind) -> int:
        """The number of blocks of :meth:`rows`."""
        return len(self._rows.get(kind, ()))

    def rows(self, kind: Kind) -> Iterator[VectorBlock]:
        """Ids, texts and sources of the new rows of a kind, part by part, without vectors."""
        return iter(self._rows[kind]) if kind in self._rows else iter(())

    def matrix(self, kind: Kind) -> NDArray[np.float32]:
        """The vectors of a kind, shape (rows, dimensions), mapped from the disk; writing to it changes the rows."""
        import numpy as np

        count = len(self.ids.get(kind, ()))
        if not count:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.memmap(self._vectors[kind], dtype=np.float32, mode="r+", shape=(count, self.dimensions))

    def added_rows(self, kind: Kind) -> AddedRows | None:
        """See :meth:`Change.added_rows`."""
        return AddedRows(self.ids[kind], self.matrix(kind)) if kind in self.ids else None

    def blocks(self, *, kept: Collection[Kind] = ()) -> Iterator[VectorBlock]:
        """The new rows with their vectors, kind by kind and part by part. They can be taken once.

        Parameters
        ----------
        kept : kinds whose vectors stay on disk
        """
        for kind in tuple(self._vectors):
            vectors, size = self._vectors[kind], 4 * self.dimensions
            vectors.seek(0)
            for block in self.rows(kind):
                whole = replace(block, data=vectors.read(size * len(block.ids)))
                yield whole.only(set(block.ids) - self.dropped) if self.dropped.intersection(block.ids) else whole
            if kind not in kept:
                self._vectors.pop(kind).close()
                self._rows.pop(kind).close()
                self.ids.pop(kind)

    def replacements(self) -> Iterator[VectorBlock]:
        """The new rows of existing records."""
        for part in self._parts if self._has_replacements else ():
            yield from part.replacements


_Entry = TypeVar("_Entry")


class _Log(Generic[_Entry]):
    """Values in a file, which are read one at a time.

    Parameters
    ----------
    file : an empty file
    kind : type of the values
    """

    def __init__(self, file: IO[bytes], kind: type[_Entry]) -> None:
        self._file = file
        self._kind = kind
        self._ends: list[int] = []
        self._guard = threading.Lock()  # a server gets rows and records from two threads

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[_Entry]:
        start = 0
        for end in tuple(self._ends):  # values may be appended meanwhile
            with self._guard:
                self._file.seek(start)
                data = self._file.read(end - start)
            yield msgspec.msgpack.decode(zlib.decompress(data), type=self._kind)
            start = end

    def close(self) -> None:
        """Give the disk of the file back."""
        self._file.close()

    def append(self, value: _Entry) -> None:
        """Add a value."""
        self._file.seek(0, os.SEEK_END)
        self._file.write(zlib.compress(msgspec.msgpack.encode(value), 1))
        self._file.flush()
        self._ends.append(self._file.tell())


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
