"""Imports an export (:mod:`hlgraph.ingest.exports`) into any store, as a whole or not at all.

The stores hide the corpus until everything is written, see :class:`hlgraph.stores.bulk_copies.CorpusWriter`. Sources are streamed
in batches: memory does not grow with the corpus, except for 64 bytes an entity under another name, and one run of communities.

An id hashes the name of the corpus. Under another name all ids are computed again, from the content. Communities and summaries
are left out then, since they hash the ids of their members; they can be built again.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph import ids, progress
from hlgraph.change import About, Change, FactRow, MentionLink, Placement, Support, Synonym, VectorBlock
from hlgraph.errors import InputError, StoreCorruptError
from hlgraph.index.embed import indexed
from hlgraph.ingest.exports import (
    DECISIONS,
    DERIVED,
    ENTITIES,
    FLOAT,
    HEADER,
    MATRICES,
    OF_SOURCES,
    SOURCES,
    SYNONYMS,
    WITH_VECTORS,
    ChunkLine,
    CommunityLine,
    CorpusCopy,
    DecisionLine,
    EntityLine,
    FactLine,
    Manifest,
    OfRun,
    OfSource,
    RunLine,
    SourceLine,
    StatementLine,
    SummaryLine,
    SynonymLine,
    TopicLine,
    copies_of,
    lines_by_source,
    read_manifest,
)
from hlgraph.persist.assemble import removal
from hlgraph.persist.journal import check_left, persist, resume
from hlgraph.records import Chunk, Community, Entity, Kind, Record, Source, Statement, Summary, Topic
from hlgraph.stores.batches import batched
from hlgraph.stores.bulk_copies import Arrival, CorpusWriter
from hlgraph.stores.derived import Made, Run, Summarised
from hlgraph.stores.protocols import Scope, Stores, VectorBatch, domain_of, find_records

_NODES = 2_500
"""Chunks, topics and statements of one change; a larger source is one change."""
_ROWS = 5_000
_VECTORS = 2_000


def import_corpus(stores: Stores, corpus: str, *, folder: Path) -> CorpusCopy:
    """Write an export into an empty corpus. It is visible as a whole or not at all; after a kill the same call continues.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus to make; under another name than that of the export all ids are computed anew
    folder : folder of the export

    Returns
    -------
    CorpusCopy

    Raises
    ------
    InputError
        The corpus is not empty, or the folder is no export.
    MigrationError
        A newer hlgraph made the export.
    StoreCorruptError
        A part is missing or was altered.
    StoreUnavailableError
        A disk is full, or a server does not answer.
    """
    folder = folder.expanduser().absolute()
    manifest = read_manifest(folder)
    if corpus.endswith(ids.HISTORY) is not manifest.corpus.endswith(ids.HISTORY):
        raise InputError(
            f"{folder}: corpus {manifest.corpus!r} cannot be imported as {corpus!r}: a history is imported under a name that ends "
            f"in {ids.HISTORY}, and nothing else is"
        )
    check_parts(folder, manifest)
    work = CorpusImport(stores, corpus, folder=folder, manifest=manifest)
    with stores.graph.lock(corpus) as pending:
        resume([one for one in pending if one.change.id != work.arrival.id], stores, corpus=corpus)
        if not work.is_done():
            work.check(is_begun=any(one.change.id == work.arrival.id for one in pending))
            with stores.together():
                work.write()
                work.reveal()
    size = sum(entry.size for entry in manifest.parts.values())
    return CorpusCopy(corpus, folder, manifest.corpus, manifest.records, size, work.left_out())


def check_parts(folder: Path, manifest: Manifest) -> None:
    """Compare the parts of an export with their checksums. Raises StoreCorruptError if one is missing or was altered.

    Parameters
    ----------
    folder : folder of the export
    manifest : its manifest
    """
    with progress.step("check", len(manifest.parts), unit="files"):
        for name, part in manifest.parts.items():
            path = folder / name
            try:
                with path.open("rb") as data:
                    digest = hashlib.file_digest(data, "sha256").hexdigest()
            except OSError as error:
                raise StoreCorruptError(
                    f"{path}: this part of the export is missing ({error.strerror}); copy it again"
                ) from error
            if digest != part.sha256:
                raise StoreCorruptError(f"{path}: this part of the export was altered; copy it again")
            progress.advance("check")


class _Vectors:
    """The rows of a matrix of an export, in order."""

    def __init__(self, folder: Path, kind: Kind, *, manifest: Manifest) -> None:
        self._path = folder / MATRICES[kind]
        self._rows = manifest.parts[MATRICES[kind]].rows
        self._dimensions = manifest.dimensions
        self._at = 0

    def skip(self, count: int) -> int:
        """Pass over rows; returns the place of the first."""
        start, self._at = self._at, self._at + count
        if self._at > self._rows:
            raise _broken(self._path, f"{self._rows} rows are too few")
        return start

    def next(self, count: int) -> NDArray[np.float32]:
        """The next rows."""
        offset = HEADER + self.skip(count) * self._dimensions * FLOAT.itemsize
        flat = np.fromfile(self._path, dtype=FLOAT, count=count * self._dimensions, offset=offset)
        if len(flat) != count * self._dimensions or not np.isfinite(flat).all():
            raise _broken(self._path, "rows are missing, or are no numbers")
        return flat.reshape(count, self._dimensions).astype(np.float32, copy=False)


def _broken(path: Path, why: object) -> StoreCorruptError:
    return StoreCorruptError(f"{path}: this part of the export cannot be read ({why}); export the corpus again")


def _lines(path: Path, kind: Any) -> Iterator[Any]:
    decode = msgspec.json.Decoder(kind).decode
    try:
        with gzip.open(path, "rb") as lines:
            for line in lines:
                yield decode(line)
    except (OSError, EOFError, zlib.error, msgspec.MsgspecError) as error:
        raise _broken(path, error) from error


class _Batch(NamedTuple):
    """Some sources as a change, and for each of its chunks, topics and statements whether it has a vector."""

    change: Change
    embedded: Mapping[Kind, list[bool]]


class CorpusImport:
    """One import: :meth:`check`, :meth:`write` and :meth:`reveal` it, under the lock.

    Parameters
    ----------
    stores, corpus, folder : see :func:`import_corpus`
    manifest : manifest of the export
    version : the least version of the corpus

    Attributes
    ----------
    arrival : the corpus as the store writes it
    """

    def __init__(self, stores: Stores, corpus: str, *, folder: Path, manifest: Manifest, version: int = 0) -> None:
        self.arrival = Arrival(
            ids.content_id("arrival", corpus, manifest.digest),
            *(corpus, manifest.embedding, manifest.dimensions, manifest.ids, manifest.calibration, manifest.domain),
            version,
        )
        self._stores = stores
        self._corpus = corpus
        self._folder = folder
        self._manifest = manifest
        self._writer: CorpusWriter = copies_of(stores).writer(self.arrival)
        self._vectors = {kind: _Vectors(folder, kind, manifest=manifest) for kind in WITH_VECTORS}
        self._place = self._done = 0

    @property
    def _is_renamed(self) -> bool:
        return self._corpus != self._manifest.corpus

    def left_out(self) -> tuple[str, ...]:
        """The names of the runs that are left out."""
        lines = _lines(self._folder / DERIVED, OfRun) if self._is_renamed else ()
        return tuple(line.name for line in lines if isinstance(line, RunLine))

    def is_done(self) -> bool:
        """Whether an earlier call has done it, and the corpus was not changed since."""
        return self._writer.is_there()

    def check(self, *, is_begun: bool) -> None:
        """Refuse a corpus that is not empty. A history that is kept and has no version counts as empty, and is removed."""
        corpus, graph = self._corpus, self._stores.graph
        stats = graph.stats(corpus, has_relationships=False)
        if corpus.endswith(ids.HISTORY) and stats and stats[0].records.get(Kind.SOURCE) == 1:
            (mark,) = find_records(graph, Source, scope=Scope(corpus))
            if mark.uri == ids.HISTORY_MARK:
                persist(removal(corpus, [mark.id], versions=[mark.version]), self._stores)
                stats = ()
        counts = ", ".join(f"{number:,} {kind}" for kind, number in stats[0].records.items() if number) if stats else ""
        if counts:
            raise InputError(
                f"corpus {corpus!r} is not empty ({counts}), and an import makes a whole corpus; choose another name with "
                f"--corpus, or delete what is there: hlgraph delete --all --corpus {corpus}"
            )
        if not is_begun:
            check_left(corpus, self._stores)
        if domain_of(self._stores, corpus) not in (None, self._manifest.domain):
            raise InputError(
                f"corpus {corpus!r} has a domain that the import would replace; choose another name with --corpus, or remove "
                f"it: hlgraph domain clear --corpus {corpus}"
            )

    def write(self) -> None:
        """Write everything, hidden; afterwards all rows are searchable."""
        with self._stores.vectors.loading(self._corpus, dimensions=self._manifest.dimensions):
            self._write_all()

    def _write_all(self) -> None:
        self._done = self._writer.begin()
        with progress.step("import", self._manifest.records.get(Kind.STATEMENT, 0), unit="statements"):
            for batch in self._batches():
                self._write_batch(batch)
                progress.advance("import", len(batch.change.statements))
        names = self._write_entities()
        for lines in batched(_lines(self._folder / SYNONYMS, SynonymLine), _ROWS):
            synonyms = tuple(Synonym(names.of(line.a), names.of(line.b), line.similarity) for line in lines)
            self._write(Change("", self._corpus, synonyms=synonyms))
        self._write_decisions(names)
        self._write_runs()

    def reveal(self) -> None:
        """Make the corpus visible."""
        self._writer.reveal({Kind(kind): number for kind, number in self._manifest.records.items()})

    def _batches(self) -> Iterator[_Batch]:
        for lines in _joined(_grouped(_lines(self._folder / SOURCES, OfSource))):
            yield self._renamed(lines) if self._is_renamed else _batch(lines, self._corpus)

    def _renamed(self, lines: list[OfSource]) -> _Batch:
        batches = [_batch(group, self._corpus) for group in _grouped(lines)]
        return _together([one._replace(change=_renamed(one.change, self._manifest.ids)) for one in batches])

    def _write(self, change: Change, beside: Callable[[], object] = tuple) -> None:
        """Write a change, unless an interrupted import has written it."""
        if self._place >= self._done:
            bound = replace(
                change, embedding=self.arrival.embedding, dimensions=self.arrival.dimensions, is_arrival=True
            )
            self._writer.write(bound, self._place, beside=beside)
        self._place += 1

    def _write_batch(self, batch: _Batch) -> None:
        change = batch.change
        titles = {source.id: source.title for source in change.sources}
        blocks = []
        written: tuple[Sequence[Record], ...] = (change.chunks, change.topics, change.statements)
        for kind, records in zip(OF_SOURCES, written, strict=True):
            embedded = list(compress(records, batch.embedded[kind]))
            if self._place < self._done:
                self._vectors[kind].skip(len(embedded))
            elif embedded:
                blocks.append(self._block(kind, embedded, titles))
        rows = VectorBatch(self._corpus, self.arrival.id, change.sources, tuple(blocks))
        self._write(change, partial(self._stores.vectors.upsert, rows))

    def _block(self, kind: Kind, records: Sequence[Record], titles: Mapping[str, str]) -> VectorBlock:
        return VectorBlock.of(kind, indexed(records, titles), matrix=self._vectors[kind].next(len(records)))

    def _write_entities(self) -> _EntityIds:
        """Write the vectors of the entities, again after a kill; returns their ids."""
        names = _EntityIds()
        for lines in batched(_lines(self._folder / ENTITIES, EntityLine), _VECTORS):
            entities = [Entity(line.id, self._corpus, line.name, line.kind) for line in lines]
            if self._is_renamed:
                entities = [
                    replace(entity, id=ids.entity_id(self._corpus, entity.name, scheme=self._manifest.ids))
                    for entity in entities
                ]
                names.add([line.id for line in lines], [entity.id for entity in entities])
            embedded = [not line.is_bare for line in lines]
            block = self._block(Kind.ENTITY, list(compress(entities, embedded)), {})
            if block.ids:
                self._stores.vectors.upsert(VectorBatch(self._corpus, self.arrival.id, blocks=(block,)))
        return names

    def _write_decisions(self, names: _EntityIds) -> None:
        lines = list(_lines(self._folder / DECISIONS, DecisionLine))
        if lines and self._stores.graph.merges is not None:
            decisions = [
                replace(
                    line.decision,
                    corpus=self._corpus,
                    alias=names.of(line.decision.alias),
                    canonical=names.of(line.decision.canonical),
                )
                for line in lines
            ]
            self._stores.graph.merges.save(self._corpus, decisions)

    def _write_runs(self) -> None:
        """Write communities and summaries: first the outdated runs, then the others, on a version of their own."""
        derived = self._stores.graph.derived
        if self._is_renamed or derived is None:
            return
        for is_stale in (True, False):
            vectors = _Vectors(self._folder, Kind.SUMMARY, manifest=self._manifest)
            read = partial(_run, vectors=vectors, corpus=self._corpus)
            is_any = False
            for line, result in map(read, _grouped(_lines(self._folder / DERIVED, OfRun))):
                if line.is_stale is is_stale:
                    is_any = True
                    run = Run(
                        *(self._corpus, line.name, self._writer.version(), line.parameters, line.levels),
                        *(line.by, line.stamp),
                    )
                    derived.save(run, result)
            if is_stale and is_any:
                self._place = max(self._place, self._done)  # once more after a kill
                self._write(Change("", self._corpus))


def _run(lines: Sequence[OfRun], *, vectors: _Vectors, corpus: str) -> tuple[RunLine, Made]:
    """A run and what it made. Like a build, it holds one run in memory."""
    (run,) = (line for line in lines if isinstance(line, RunLine))
    communities = [line for line in lines if isinstance(line, CommunityLine)]
    summaries = [line for line in lines if isinstance(line, SummaryLine)]
    matrix = vectors.next(len(summaries))
    result = Made(
        [Community(line.id, corpus, line.level, line.size, line.parent) for line in communities],
        {line.id: line.members for line in communities},
        [
            Summarised(
                Summary(line.id, corpus, line.text, line.level, line.input_hash),
                *(line.community, row, line.parts, line.source, line.chunks),
            )
            for line, row in zip(summaries, matrix, strict=True)
        ],
    )
    return run, result


_Head = TypeVar("_Head", OfSource, OfRun)


def _grouped(lines: Iterable[_Head]) -> Iterator[list[_Head]]:
    """The lines of one source, or of one run, at a time."""
    group: list[_Head] = []
    for line in lines:
        if group and isinstance(line, SourceLine | RunLine):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _joined(groups: Iterable[list[OfSource]]) -> Iterator[list[OfSource]]:
    """The lines of small sources together, up to ``_NODES`` chunks, topics and statements."""
    some: list[OfSource] = []
    size = 0
    for lines in groups:
        count = sum(isinstance(line, ChunkLine | TopicLine | StatementLine) for line in lines)
        if some and size + count > _NODES:
            yield some
            some, size = [], 0
        some += lines
        size += count
    if some:
        yield some


def _together(batches: Sequence[_Batch]) -> _Batch:
    changes = [batch.change for batch in batches]
    values: dict[str, Any] = {
        name: tuple(dict.fromkeys(record for change in changes for record in getattr(change, name))) for name in _SHARED
    } | {name: tuple(record for change in changes for record in getattr(change, name)) for name in _OWN}
    embedded = {kind: [one for batch in batches for one in batch.embedded[kind]] for kind in OF_SOURCES}
    return _Batch(Change("", changes[0].corpus, **values), embedded)


def copy_of(change: Change, sources: Mapping[str, Source], *, scheme: int) -> tuple[Change, dict[str, str]]:
    """The sources of a change as other sources, with all that they assert under ids of their own.

    Parameters
    ----------
    change : as :meth:`hlgraph.stores.bulk_copies.CorpusReader.sources` reads it
    sources : the other source of each source, by id; all of one corpus
    scheme : scheme of the ids of that corpus

    Returns
    -------
    (change, ids)
        The old id of each new record that has a vector, by its new id.
    """
    old: dict[str, str] = {}
    batches: list[_Batch] = []
    for name, lines in lines_by_source(change).items():
        batch = _batch(lines, sources[name].corpus)
        own = _renamed(replace(batch.change, sources=(sources[name],)), scheme)
        before, after = (
            [record.id for records in (one.chunks, one.topics, one.statements) for record in records]
            for one in (batch.change, own)
        )
        old |= dict(zip(after, before, strict=True))
        old |= dict(zip(own.entities, batch.change.entities, strict=True))
        batches.append(batch._replace(change=own))
    return _together(batches).change, old


_SHARED = ("entities", "facts")
_OWN = (
    *("sources", "base_versions", "chunks", "topics", "statements"),
    *("placements", "abouts", "mentions", "supports"),
)


def _batch(lines: Iterable[OfSource], corpus: str) -> _Batch:
    """The lines of some sources as a change."""
    parts: defaultdict[type, list[tuple[str, Any]]] = defaultdict(list)
    owner = ""
    for line in lines:
        if isinstance(line, SourceLine):
            owner = line.id
        parts[type(line)].append((owner, line))
    chunks = [line for _, line in parts[ChunkLine]]
    mentions = tuple(MentionLink(line.id, *row) for line in chunks for row in line.mentions)
    change = Change(
        "",
        corpus,
        sources=tuple(_source(line, corpus) for _, line in parts[SourceLine]),
        base_versions=(0,) * len(parts[SourceLine]),
        chunks=tuple(
            Chunk(
                *(line.id, source, line.text, line.start, line.end, line.position, line.tokens),
                *(line.headings, line.page, line.fingerprint),
            )
            for source, line in parts[ChunkLine]
        ),
        topics=tuple(Topic(line.id, source, line.name) for source, line in parts[TopicLine]),
        statements=tuple(Statement(line.id, source, line.text) for source, line in parts[StatementLine]),
        entities=tuple(dict.fromkeys(mention.entity_id for mention in mentions)),
        facts=tuple(dict.fromkeys(FactRow(*msgspec.structs.astuple(line)) for _, line in parts[FactLine])),
        placements=tuple(Placement(line.id, *row) for line in chunks for row in line.statements),
        abouts=tuple(About(line.id, "", *row) for line in chunks for row in line.topics)
        + tuple(About(line.id, *row) for line in chunks for row in line.abouts),
        mentions=mentions,
        supports=tuple(Support(line.id, *row) for line in chunks for row in line.supports),
    )
    of_kinds = zip(OF_SOURCES, (ChunkLine, TopicLine, StatementLine), strict=True)
    return _Batch(change, {kind: [not line.is_bare for _, line in parts[of]] for kind, of in of_kinds})


def _source(line: SourceLine, corpus: str) -> Source:
    metadata = {key: tuple(value) if isinstance(value, list) else value for key, value in line.metadata.items()}
    return Source(
        *(line.id, corpus, line.uri, line.title, line.checksum, metadata),
        *(line.version, line.valid_from, line.valid_to),
    )


# Another name: all ids are computed again.


class _EntityIds:
    """New ids of entities by their old ids, which are added in ascending order. Empty: ids stay. It takes 64 bytes an entity."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.bytes_], NDArray[np.bytes_]]] = []

    def add(self, old: Sequence[str], new: Sequence[str]) -> None:
        """Add entities."""
        self._parts.append((np.array(old, dtype="S32"), np.array(new, dtype="S32")))

    def of(self, name: str) -> str:
        """The new id of an entity."""
        if len(self._parts) > 1:
            self._parts = [
                (np.concatenate([old for old, _ in self._parts]), np.concatenate([new for _, new in self._parts]))
            ]
        for old, new in self._parts:
            at = int(np.searchsorted(old, name.encode()))
            if at < len(old) and old[at] == name.encode():
                return bytes(new[at]).decode()
            raise StoreCorruptError(f"the export names entity {name}, which it does not have; export the corpus again")
        return name


def _renamed(change: Change, scheme: int) -> Change:
    """A change of one source with the ids that its records have in the corpus that it names."""
    (source,) = change.sources
    corpus = change.corpus
    owner = ids.source_id(corpus, ids.source_key(source), scheme=scheme)
    seen: Counter[str] = Counter()
    new = {row.id: ids.topic_id(owner, row.name, scheme=scheme) for row in change.topics}
    new |= {row.id: ids.statement_id(owner, row.text, scheme=scheme) for row in change.statements}
    for chunk in change.chunks:  # in the order of the text
        new[chunk.id] = ids.chunk_id(owner, chunk.text, seen[chunk.text], scheme=scheme)
        seen[chunk.text] += 1
    spelled = {row.entity_id: row.surface for row in change.mentions}
    new |= {name: ids.entity_id(corpus, surface, scheme=scheme) for name, surface in spelled.items()} | {"": ""}
    try:
        for fact in change.facts:
            complement = spelled[fact.object_id] if fact.object_id else fact.complement
            words = (spelled[fact.subject_id], fact.predicate, complement)
            new[fact.fact_id] = ids.fact_id(corpus, *words, is_literal=not fact.object_id, scheme=scheme)
        return replace(
            change,
            sources=(replace(source, id=owner),),
            chunks=tuple(replace(row, id=new[row.id], source_id=owner) for row in change.chunks),
            topics=tuple(replace(row, id=new[row.id], source_id=owner) for row in change.topics),
            statements=tuple(replace(row, id=new[row.id], source_id=owner) for row in change.statements),
            entities=tuple(new[row] for row in change.entities),
            facts=tuple(
                row._replace(fact_id=new[row[0]], subject_id=new[row[1]], object_id=new[row[3]]) for row in change.facts
            ),
            placements=tuple(Placement(new[row[0]], new[row[1]], *row[2:]) for row in change.placements),
            abouts=tuple(About(new[row[0]], new[row[1]], new[row[2]], row[3]) for row in change.abouts),
            mentions=tuple(MentionLink(new[row[0]], new[row[1]], new[row[2]], *row[3:]) for row in change.mentions),
            supports=tuple(Support(*map(new.__getitem__, row)) for row in change.supports),
        )
    except KeyError as error:
        raise StoreCorruptError(
            f"{source.uri}: the export links {error}, which it does not have; run hlgraph doctor on the store that it came "
            "from, and export again"
        ) from error
