"""Exports a corpus to a folder, in a format that does not depend on the store; :mod:`hlgraph.ingest.imports` reads it.

The folder holds JSON lines, compressed by gzip, and the vectors as little-endian float32 matrices (``.npy``), which numpy, a core
dependency, reads; Arrow would need an extra. ``manifest.json`` has the version of the format, the counts, and the SHA-256 of each
part. Nothing in it depends on the time or the store: an export of an import has equal bytes in every part.

``sources.jsonl.gz`` has all sources by id. After the line of a source follow the lines of its facts, topics, statements and
chunks; a chunk has the links that it asserts. The rows of ``chunk.npy``, ``topic.npy``, ``statement.npy``, ``entity.npy`` and
``summary.npy`` are in the order of the lines. What stores count or compute themselves is not in it: aliases of entities, RELATES,
full text, seals.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, NamedTuple

import filelock
import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.change import Change
from hlgraph.errors import (
    InputError,
    MigrationError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)
from hlgraph.persist.journal import resume
from hlgraph.records import Calibration, Domain, Kind
from hlgraph.stores import files
from hlgraph.stores.batches import batched
from hlgraph.stores.bulk_copies import Copies
from hlgraph.stores.derived import Summarised
from hlgraph.stores.migrate import running_version
from hlgraph.stores.protocols import CorpusStats, Decision, Stores, domain_of, existing

FORMAT = 1
"""Version of the format; an import refuses a later one."""
MANIFEST = "manifest.json"
SOURCES, ENTITIES, SYNONYMS, DECISIONS, DERIVED = (
    f"{name}.jsonl.gz" for name in ("sources", "entities", "synonyms", "decisions", "derived")
)
LISTS = (SOURCES, ENTITIES, SYNONYMS, DECISIONS, DERIVED)
OF_SOURCES = (Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT)
WITH_VECTORS = (*OF_SOURCES, Kind.ENTITY, Kind.SUMMARY)
MATRICES = {kind: f"{kind.value}.npy" for kind in WITH_VECTORS}
_KINDS = (Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY)
_LEVEL = 1
HEADER = 128  # bytes of the header of a matrix, whose number of rows is written last
FLOAT = np.dtype("<f4")
_ROWS = 5_000
_VECTORS = 2_000
_LOCK = "export.lock"
_NAMES = {_LOCK, MANIFEST, *LISTS, *MATRICES.values()}


# The lines of the parts.


class Line(msgspec.Struct, tag_field="type", omit_defaults=True, gc=False):
    """A line of a part; ``is_bare`` means that the store has no vector of the record."""


class SourceLine(Line, tag="source"):
    """A source."""

    id: str
    uri: str
    title: str
    checksum: str
    metadata: dict[str, Any]
    version: int = 1
    valid_from: str | None = None
    valid_to: str | None = None


class FactLine(Line, tag="fact"):
    """A fact that the chunks of the source before it assert; see :class:`hlgraph.change.FactRow`."""

    id: str
    subject: str
    predicate: str
    object: str = ""
    complement: str = ""


class TopicLine(Line, tag="topic"):
    """A topic of the source before it."""

    id: str
    name: str
    is_bare: bool = False


class StatementLine(Line, tag="statement"):
    """A statement of the source before it."""

    id: str
    text: str
    is_bare: bool = False


class ChunkLine(Line, tag="chunk"):
    """A chunk and the links that it asserts, each without the chunk."""

    id: str
    text: str
    start: int
    end: int
    position: int
    tokens: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    fingerprint: str = ""
    statements: list[tuple[str, int, int, int, tuple[str, ...]]] = []
    topics: list[tuple[str, str]] = []
    abouts: list[tuple[str, str]] = []
    mentions: list[tuple[str, str, str, str]] = []
    supports: list[tuple[str, str]] = []
    is_bare: bool = False


OfSource = SourceLine | FactLine | TopicLine | StatementLine | ChunkLine


class EntityLine(Line, tag="entity"):
    """An entity."""

    id: str
    name: str
    kind: str = ""
    is_bare: bool = False


class SynonymLine(Line, tag="synonym"):
    """A SYNONYM link; see :class:`hlgraph.change.Synonym`."""

    a: str
    b: str
    similarity: float


class DecisionLine(Line, tag="decision"):
    """A decision about two entities."""

    decision: Decision


class RunLine(Line, tag="run"):
    """A run; its communities and summaries follow; see :class:`hlgraph.stores.derived.Run`."""

    name: str
    parameters: str
    levels: int
    by: str
    stamp: str
    is_stale: bool = False


class CommunityLine(Line, tag="community"):
    """A community of the run before it, and its members."""

    id: str
    level: int
    size: int
    parent: str | None
    members: list[str]


class SummaryLine(Line, tag="summary"):
    """A summary of the run before it; see :class:`hlgraph.stores.derived.Summarised`."""

    id: str
    text: str
    level: int
    input_hash: str
    community: str = ""
    parts: tuple[str, ...] = ()
    source: str = ""
    chunks: tuple[str, ...] = ()


OfRun = RunLine | CommunityLine | SummaryLine


class Part(NamedTuple):
    """A file of an export: its rows, its size in bytes, and its SHA-256."""

    rows: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of an export.

    Attributes
    ----------
    format : version of the format
    hlgraph : version of the program that wrote it
    corpus, embedding, dimensions, ids, calibration : of the corpus, see :class:`hlgraph.stores.protocols.CorpusStats`
    domain : its domain
    records, relationships : counts by kind
    parts : the files, by name
    digest : SHA-256 of everything else in the manifest
    """

    format: int
    hlgraph: str
    corpus: str
    embedding: str
    dimensions: int
    ids: int
    calibration: Calibration | None
    domain: Domain | None
    records: Mapping[str, int]
    relationships: Mapping[str, int]
    parts: Mapping[str, Part] = field(default_factory=dict)
    digest: str = ""

    def sealed(self) -> Manifest:
        """The manifest with its digest."""
        plain = msgspec.json.encode(replace(self, digest=""), order="deterministic")
        return replace(self, digest=hashlib.sha256(plain).hexdigest())


@dataclass(frozen=True, slots=True)
class CorpusCopy:
    """A corpus that was exported or imported.

    Attributes
    ----------
    corpus : its name
    folder : folder of the export
    exported_from : name of the corpus that was exported
    records : number of records by kind
    bytes : size of the export
    left_out : of an import under another name: the runs of communities and summaries that it left out; of an export: ``history``
        and ``holds``, if the corpus has them. A history is a corpus of its own, ``NAME@history``
    """

    corpus: str
    folder: Path
    exported_from: str
    records: Mapping[str, int]
    bytes: int
    left_out: tuple[str, ...] = ()


def copies_of(stores: Stores) -> Copies:
    """The whole corpora of these stores. Raises StoreError if they cannot be read or written as such."""
    if stores.graph.copies is None:
        raise StoreError(
            "the graph store makes no copies of corpora: no export, import, backup and restore; it needs GraphStore.copies"
        )
    return stores.graph.copies


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an export.

    Parameters
    ----------
    folder : folder of the export

    Raises
    ------
    InputError
        There is no export.
    MigrationError
        A newer hlgraph made the export.
    StoreCorruptError
        The manifest was altered.
    """
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
        version = msgspec.json.decode(data, type=dict[str, Any]).get("format")
    except (OSError, msgspec.MsgspecError):
        version = None
    if not isinstance(version, int):
        raise InputError(f"{folder}: this is no export; name a folder that hlgraph export wrote")
    if version > FORMAT:
        raise MigrationError(
            f"{folder}: this export has format {version}, and this hlgraph reads up to {FORMAT}; update hlgraph"
        )
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise StoreCorruptError(f"{path}: the manifest was altered ({error}); copy the export again") from error
    if manifest.sealed() != manifest or set(manifest.parts) != {*LISTS, *MATRICES.values()}:
        raise StoreCorruptError(f"{path}: the manifest was altered; copy the export again")
    return manifest


# Export.


def export_corpus(stores: Stores, corpus: str, *, folder: Path) -> CorpusCopy:
    """Write a corpus to a folder. Writers of the corpus wait meanwhile; searches go on.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus
    folder : the folder to make; a complete export of the same corpus is replaced

    Returns
    -------
    CorpusCopy

    Raises
    ------
    UnknownNameError
        There is no such corpus.
    InputError
        The folder exists, and is something else.
    StoreCorruptError
        The store was altered since it was written.
    StoreUnavailableError
        The disk is full.
    """
    folder = folder.expanduser().absolute()
    part = folder.with_name(f"{folder.name}.part")
    existing(stores.graph, corpus)
    _check_target(folder, part, corpus)
    with full_disk(folder), _claimed(part), stores.graph.lock(corpus) as pending:
        resume(pending, stores, corpus=corpus)
        existing(stores.graph, corpus)
        if stores.graph.seals is not None and (altered := stores.graph.seals.altered(corpus)):
            raise StoreCorruptError(
                f"corpus {corpus!r}: {len(altered)} records were altered since they were written, such as {altered[0].kind} "
                f"{altered[0].id}; run: hlgraph reconcile --repair, then export again"
            )
        (stats,) = stores.graph.stats(corpus)
        manifest = _Export(stores, stats, folder=part).write()
        _put(part, folder)
    size = sum(entry.size for entry in manifest.parts.values())
    return CorpusCopy(corpus, folder, corpus, manifest.records, size)


def _check_target(folder: Path, part: Path, corpus: str) -> None:
    for path in (part, _replaced(folder)):
        if path.exists() and not (path.is_dir() and {file.name for file in path.iterdir()} <= _NAMES):
            raise InputError(f"{path}: an export needs this place, and something else is there; move it away")
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        there = read_manifest(folder)
    except (InputError, StoreCorruptError, MigrationError):
        raise InputError(f"{folder}: it exists, and is no export; name a folder that does not exist") from None
    if there.corpus != corpus:
        raise InputError(f"{folder}: it is an export of corpus {there.corpus!r}; name another folder")


def _replaced(folder: Path) -> Path:
    """Where the export is that a new one replaces, until that is in its place."""
    return folder.with_name(f"{folder.name}.old")


@contextlib.contextmanager
def _claimed(part: Path) -> Iterator[None]:
    """Hold the folder of an unfinished export, emptied of what a killed one left; it is removed if the block fails."""
    files.make_folder(part)
    try:
        with filelock.FileLock(part / _LOCK, mode=files.FILE, timeout=0):
            for path in part.iterdir():
                if path.name != _LOCK:
                    path.unlink()
            try:
                yield
            except BaseException:
                shutil.rmtree(part, ignore_errors=True)
                raise
    except filelock.Timeout as error:
        raise StoreLockedError(f"{part}: another process writes an export here; wait until it has finished") from error


def _put(part: Path, folder: Path) -> None:
    """Put a complete export in its place."""
    for path in part.iterdir():
        files.sync(path)
    (part / _LOCK).unlink(missing_ok=True)
    old = _replaced(folder)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    part.rename(folder)
    files.sync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Turn an error of a file into StoreUnavailableError, which names this folder."""
    try:
        yield
    except OSError as error:
        full = error.errno in files.FULL
        why = "the disk is full; free some space, and" if full else f"the export cannot be written ({error.strerror});"
        raise StoreUnavailableError(f"{folder}: {why} run the same command again") from error


class _Lines:
    """Writes JSON lines to a compressed file."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._raw = files.write_bytes(path)
        self._out = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, compresslevel=_LEVEL, mtime=0)
        self._encode = msgspec.json.Encoder(order="deterministic").encode

    def write(self, lines: Iterable[Line]) -> None:
        """Append lines."""
        encoded = [self._encode(line) for line in lines]
        if encoded:
            self._out.write(b"\n".join([*encoded, b""]))
            self.rows += len(encoded)

    def close(self) -> None:
        """End the file."""
        with self._raw:
            self._out.close()


class _Matrix:
    """Writes rows of float32 to an ``.npy`` file; the header gets the number of rows at the end."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self.rows = 0
        self._dimensions = dimensions
        self._out: IO[bytes] = files.write_bytes(path)
        self._out.write(bytes(HEADER))

    def write(self, matrix: NDArray[np.float32]) -> None:
        """Append rows."""
        self.rows += len(matrix)
        self._out.write(np.ascontiguousarray(matrix, dtype=FLOAT).data)

    def close(self) -> None:
        """End the file."""
        shape = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({self.rows}, {self._dimensions}), }}"
        text = shape.ljust(HEADER - 11) + "\n"
        with self._out:
            self._out.seek(0)
            self._out.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())


class _Export:
    """One export: writes the parts and the manifest into an empty folder."""

    def __init__(self, stores: Stores, stats: CorpusStats, *, folder: Path) -> None:
        self._stores = stores
        self._stats = stats
        self._corpus = stats.corpus
        self._folder = folder
        self._reader = copies_of(stores).reader(stats.corpus)

    def write(self) -> Manifest:
        """Write everything; returns the manifest."""
        stats = self._stats
        with contextlib.ExitStack() as closing:
            lists = {name: _Lines(self._folder / name) for name in LISTS}
            matrices = {kind: _Matrix(self._folder / name, stats.dimensions) for kind, name in MATRICES.items()}
            parts: list[_Lines | _Matrix] = [*lists.values(), *matrices.values()]
            for part in parts:
                closing.callback(part.close)
            with progress.step("export", stats.records.get(Kind.STATEMENT, 0), unit="statements"):
                self._write_sources(lists[SOURCES], matrices)
            self._write_entities(lists, matrices[Kind.ENTITY])
            decisions = self._stores.graph.merges.decisions(self._corpus) if self._stores.graph.merges else ()
            lists[DECISIONS].write(DecisionLine(decision) for decision in sorted(decisions, key=attrgetter("pair")))
            self._write_derived(lists[DERIVED], matrices[Kind.SUMMARY])
        names = [*LISTS, *MATRICES.values()]
        entries = {name: self._entry(name, part.rows) for name, part in zip(names, parts, strict=True)}
        manifest = Manifest(
            format=FORMAT,
            hlgraph=running_version(),
            corpus=self._corpus,
            embedding=stats.embedding,
            dimensions=stats.dimensions,
            ids=stats.ids,
            calibration=stats.calibration,
            domain=domain_of(self._stores, self._corpus),
            records={kind.value: stats.records.get(kind, 0) for kind in _KINDS},
            relationships={kind.value: number for kind, number in sorted(stats.relationships.items())},
            parts=entries,
        ).sealed()
        with files.write_bytes(self._folder / MANIFEST) as out:
            out.write(msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=2))
        return manifest

    def _entry(self, name: str, rows: int) -> Part:
        path = self._folder / name
        with path.open("rb") as data:
            return Part(rows, path.stat().st_size, hashlib.file_digest(data, "sha256").hexdigest())

    def _write_sources(self, out: _Lines, matrices: Mapping[Kind, _Matrix]) -> None:
        for change in self._reader.sources():
            by_source = lines_by_source(change)
            groups = [by_source[source.id] for source in sorted(change.sources, key=attrgetter("id"))]
            for kind, line in ((Kind.CHUNK, ChunkLine), (Kind.TOPIC, TopicLine), (Kind.STATEMENT, StatementLine)):
                lines = [entry for group in groups for entry in group if isinstance(entry, line)]
                matrices[kind].write(self._vectors(kind, lines))
            for group in groups:
                out.write(group)
            progress.advance("export", len(change.statements))

    def _vectors(self, kind: Kind, lines: Sequence[Any]) -> NDArray[np.float32]:
        """The vectors of lines, in order; marks the lines that have none."""
        stored, matrix = self._stores.vectors.vectors(kind, self._corpus, ids=[line.id for line in lines])
        if len(stored) != len(lines):
            known = set(stored)
            for line in lines:
                line.is_bare = line.id not in known
        return matrix

    def _write_entities(self, lists: Mapping[str, _Lines], matrix: _Matrix) -> None:
        # The batches of a reader suit import files; these have vectors as well.
        for entities in batched(chain.from_iterable(self._reader.entities()), _VECTORS):
            lines = [EntityLine(entity.id, entity.name, entity.kind) for entity in entities]
            matrix.write(self._vectors(Kind.ENTITY, lines))
            lists[ENTITIES].write(lines)
        for synonyms in self._reader.synonyms():
            lists[SYNONYMS].write(SynonymLine(*synonym) for synonym in synonyms)

    def _write_derived(self, out: _Lines, matrix: _Matrix) -> None:
        derived = self._stores.graph.derived
        if derived is None:
            return
        for run in derived.runs(self._corpus):
            out.write([RunLine(run.name, run.parameters, run.levels, run.by, run.stamp, run.is_stale)])
            communities = derived.communities(self._corpus, run.name)
            for some in batched(sorted(communities, key=attrgetter("level", "id")), _ROWS):
                members = derived.members([community.id for community in some])
                out.write(
                    CommunityLine(
                        *(community.id, community.level, community.size, community.parent_id),
                        sorted(member.id for member in members.get(community.id, ())),
                    )
                    for community in some
                )
            summaries = derived.summaries(self._corpus, run.name)
            if summaries.items:
                matrix.write(summaries.matrix)
            out.write(map(_summary_line, summaries.items))


def _summary_line(row: Summarised) -> SummaryLine:
    summary = row.summary
    return SummaryLine(
        *(summary.id, summary.text, summary.level, summary.input_hash, row.community_id),
        *(tuple(sorted(row.parts)), row.source_id, tuple(sorted(row.chunk_ids))),
    )


def lines_by_source(change: Change) -> dict[str, list[OfSource]]:
    """The lines of a batch of sources: of each source itself, its facts, topics, statements and chunks, in a fixed order."""
    groups: dict[str, list[OfSource]] = {
        record.id: [
            SourceLine(
                *(record.id, record.uri, record.title, record.checksum, dict(record.metadata)),
                *(record.version, record.valid_from, record.valid_to),
            )
        ]
        for record in change.sources
    }
    chunks = {
        record.id: ChunkLine(
            *(record.id, record.text, record.start, record.end, record.position, record.tokens),
            headings=record.headings,
            page=record.page,
            fingerprint=record.fingerprint,
        )
        for record in change.chunks
    }
    for placement in change.placements:
        chunks[placement.chunk_id].statements.append(placement[1:])
    for about in change.abouts:
        line = chunks[about.chunk_id]
        if about.statement_id:
            line.abouts.append((about.statement_id, about.topic_id))
        else:
            line.topics.append((about.topic_id, about.name))
    for mention in change.mentions:
        chunks[mention.chunk_id].mentions.append(mention[1:])
    for support in change.supports:
        chunks[support.chunk_id].supports.append(support[1:])
    for line in chunks.values():
        line.statements.sort(key=lambda row: (row[1], row[0]))
        for links in (line.topics, line.abouts, line.mentions, line.supports):
            links.sort()
    facts = {link.fact_id: link for link in change.facts}
    of_source = {link.id: link.source_id for link in change.chunks}
    asserted = sorted({(of_source[link.chunk_id], link.fact_id) for link in change.supports})
    for source, fact in asserted:
        groups[source].append(FactLine(*facts[fact]))
    for topic in sorted(change.topics, key=attrgetter("id")):
        groups[topic.source_id].append(TopicLine(topic.id, topic.name))
    for statement in sorted(change.statements, key=attrgetter("id")):
        groups[statement.source_id].append(StatementLine(statement.id, statement.text))
    for chunk in sorted(change.chunks, key=attrgetter("position", "id")):
        groups[chunk.source_id].append(chunks[chunk.id])
    return groups
