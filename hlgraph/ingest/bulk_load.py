"""A bulk load: an ordinary ingest into an embedded store, whose corpus is then copied to empty servers and verified.

:func:`bulk_load` runs the phases. Each can be run again, and a completed one is not repeated:

1. *Ingest* into ``FOLDER/store``: it continues after an interruption.
2. *Write files* into ``FOLDER/import.part``, which is renamed to ``FOLDER/import`` when it is complete.
3. *Import*: run the command of the settings, or leave the import to the user. A node in the database records that it was done.
4. *Complete*: add the schema, data that files cannot hold, vectors and texts. All of it is keyed by ids.
5. *Verify* (see :func:`differences`), then make the corpus visible in one transaction. Its mark is the id of the load, so the
   same command sees that it is done.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
import msgspec

from hlgraph import progress
from hlgraph.change import VectorBlock
from hlgraph.errors import InputError, StoreConflictError, StoreCorruptError, StoreError, StoreLockedError
from hlgraph.index.embed import indexed
from hlgraph.ingest.report import Report, record_counts, timed
from hlgraph.ingest.run import Run, run_here
from hlgraph.records import Entity, Kind, Record, Source
from hlgraph.stores import files
from hlgraph.stores.batches import batched
from hlgraph.stores.bulk_copies import IMPORT, MANIFEST, BulkReader, Found, Manifest
from hlgraph.stores.migrate import running_version
from hlgraph.stores.protocols import CorpusStats, Scope, Stores, VectorBatch, domain_of, domain_store, read_records

if TYPE_CHECKING:
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.ingest.run import Ingestion
    from hlgraph.progress import OnProgress
    from hlgraph.records import Document
    from hlgraph.stores.open import Bulk
    from hlgraph.stores.protocols import Stores


_KINDS = (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
_ROWS = 2_000  # rows of the vector store per write
_TAIL = 2_000
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class BulkOptions:
    """Options of a bulk load.

    Attributes
    ----------
    folder : holds everything until the load is done
    import_command : command that makes the server import the files, with ``{folder}`` and ``{database}``. It is split like a
        shell command and run without a shell. Empty: the command of the settings; if that is empty, too, the user runs the
        import
    """

    folder: Path
    import_command: str = ""


@dataclass(slots=True)
class BulkReport:
    """The result of a bulk load.

    Attributes
    ----------
    ingest : the report of the ingest; None if an earlier run did it
    manifest : the corpus that is or will be loaded
    folder : folder of the import files
    command : command to run in this folder now, on the machine of the stopped server; empty if the load is done
    seconds : time by phase, without the ingest
    """

    manifest: Manifest
    folder: Path
    ingest: Report | None = None
    command: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether the corpus is visible on the servers."""
        return not self.command


def bulk_load(
    ingestion: Ingestion,
    sources: str | Path | Document | Iterable[str | Path | Document],
    *,
    options: IngestOptions,
    bulk: BulkOptions,
    run: Run = run_here,
    on_progress: OnProgress | None = None,
) -> BulkReport:
    """Load sources into empty servers.

    Parameters
    ----------
    ingestion : an ingest into the corpus on the servers
    sources, options : see :meth:`Ingestion.bring`
    bulk : folder and command
    run : where the steps of the ingest run, default in this process
    on_progress : called with the progress of every step

    Returns
    -------
    BulkReport
        Done, or with the command to run before the same call can continue.

    Raises
    ------
    InputError
        The store is embedded, the vector store is serverless, or the sources have nothing to load.
    StoreConflictError
        The database or the vector store is not empty.
    StoreError
        The import failed, or the servers differ from the sent corpus.
    """
    from hlgraph.stores.open import open_bulk

    folder = bulk.folder.expanduser().absolute()
    command = bulk.import_command or ingestion.settings.neo4j.import_command
    _check_command(command)
    if options.receipt is not None:
        raise InputError("a bulk load fills an empty corpus, so it deletes nothing; leave receipt out")
    if ingestion.settings.opensearch.service == "aoss":
        raise InputError(
            "OpenSearch Serverless takes rows one way only, which --bulk cannot make faster; leave --bulk out"
        )
    with progress.listening(on_progress), open_bulk(ingestion.settings, folder / "store") as ends:
        state = ends.graph.find(ingestion.corpus)
        load = _Load(ingestion, folder, ends=ends, run=run)
        manifest = load.stored_manifest()
        load.check(state, manifest)
        with _locked(folder):
            if manifest is not None and _is_at(state, manifest):
                report = BulkReport(manifest, load.files)
            else:
                report = load.prepare(sources, options)
            if _is_at(state, report.manifest) is None:
                load.run_import(report, command)
            if report.is_done:
                load.finish(report)
        return report


def _is_at(state: Found, manifest: Manifest) -> str | None:
    """State of a load: ``imported`` or ``visible``; None if its files were not imported."""
    if state.mark == manifest.id:
        return "visible"
    return "imported" if state.load == manifest.id else None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder: two loads must not write into it."""
    files.make_folder(folder)
    try:
        with filelock.FileLock(folder / "bulk.lock", mode=files.FILE, timeout=0):
            yield
    except filelock.Timeout as error:
        raise StoreLockedError(
            f"{folder}: another process makes a bulk load here; wait until it has finished"
        ) from error


def _check_command(command: str) -> None:
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise InputError(f"the import command {command!r} cannot be split ({error}); close its quotes") from error
    if command and not any("{folder}" in part for part in parts):
        raise InputError(
            f"the import command {command!r} does not name the folder of the files; write {{folder}} in it"
        )


class _Load:
    """One bulk load.

    Parameters
    ----------
    ingestion : an ingest into the servers
    folder : its folder
    ends : both ends of the copy
    run : where the steps of the ingest run

    Attributes
    ----------
    files : folder of the import files
    """

    def __init__(self, ingestion: Ingestion, folder: Path, *, ends: Bulk, run: Run) -> None:
        self._ingestion = ingestion
        self._corpus = ingestion.corpus
        self._stores: Stores = ingestion.opened.stores
        self._scratch: Stores = ends.scratch.stores
        self._ends = ends
        self._run = run
        self._folder = folder
        self.files = folder / IMPORT

    def stored_manifest(self) -> Manifest | None:
        """The manifest of the files in the folder; None if there are none.

        Raises InputError if they belong to another corpus, database or label prefix.
        """
        path = self.files / MANIFEST
        if not path.is_file():
            return None
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreCorruptError(f"{path}: not a manifest of import files ({error}); remove {self.files}") from error
        wanted = (self._corpus, *self._place())
        if (manifest.corpus, manifest.database, manifest.label_prefix) != wanted:
            raise InputError(
                f"{self._folder}: it holds a bulk load of corpus {manifest.corpus!r} into the database {manifest.database!r}"
                f"{f' under {manifest.label_prefix!r}' if manifest.label_prefix else ''}; choose another folder"
            )
        return manifest

    def _place(self) -> tuple[str, str]:
        settings = self._ingestion.settings.neo4j
        return settings.database_of(self._corpus), settings.label_prefix

    def check(self, state: Found, manifest: Manifest | None) -> None:
        """Refuse servers that are not empty, unless they hold this load."""
        if manifest is not None and _is_at(state, manifest):
            return
        where = f"{self._ingestion.settings.store}, database {self._place()[0]!r}"
        if state.load:
            raise StoreConflictError(
                f"{where}: it holds a bulk load of another folder that was not finished (corpus and folder are those of the "
                f"command that began it, its id is {state.load}); run that command again, or delete all nodes of the database"
            )
        if state.mark or state.others:
            counts = ", ".join(f"{number:,} {label}" for label, number in state.others.items())
            raise StoreConflictError(
                f"{where}: it is not empty ({counts or f'corpus {self._corpus!r} is in it'}), and a bulk load replaces all of it; "
                "ingest without --bulk, choose another database (neo4j.database), or delete its nodes"
            )
        rows = {kind: len(self._stores.vectors.ids(kind, self._corpus)) for kind in (Kind.SOURCE, *_KINDS)}
        counts = ", ".join(f"{number:,} of {kind}" for kind, number in rows.items() if number)
        if counts:
            raise StoreConflictError(
                f"{self._ingestion.settings.vectors}: it has rows of corpus {self._corpus!r} ({counts}), and the graph has "
                f"nothing. To delete them: hlgraph reconcile --repair --corpus {self._corpus}. To keep them: choose another "
                "corpus or opensearch.prefix"
            )

    # Phases

    def prepare(
        self, sources: str | Path | Document | Iterable[str | Path | Document], options: IngestOptions
    ) -> BulkReport:
        """Phases 1 and 2: build the corpus, and write the files unless those in the folder are current."""
        domain = domain_of(self._stores, self._corpus)
        if domain is not None and domain_of(self._scratch, self._corpus) is None:
            with self._scratch.graph.lock(self._corpus):
                domain_store(self._scratch).write(self._corpus, domain)
        settings = replace(self._ingestion.settings, store=f"hlgraph://{self._folder / 'store'}", vectors="")
        ingested = replace(self._ingestion, settings=settings, opened=self._ends.scratch).bring(
            sources, options, run=self._run
        )
        stats = self._scratch.graph.stats(self._corpus)
        if not stats or not stats[0].records.get(Kind.SOURCE):
            raise InputError(
                "no source could be read, so there is nothing to load; see the failures, or correct the paths"
            )
        manifest = self.stored_manifest()
        seconds: dict[str, float] = {}
        if manifest is None or manifest.version != stats[0].version:
            with timed(seconds, "write files"):
                manifest = self._write(stats[0])
        return BulkReport(manifest, self.files, ingested, seconds=seconds)

    def _write(self, stats: CorpusStats) -> Manifest:
        part = self._folder / f"{IMPORT}.part"
        for path in (part, self.files):
            shutil.rmtree(path, ignore_errors=True)
        files.make_folder(part)
        database, prefix = self._place()
        manifest = Manifest(
            id=uuid.uuid4().hex,
            corpus=self._corpus,
            database=database,
            label_prefix=prefix,
            hlgraph=running_version(),
            version=stats.version,
            embedding=stats.embedding,
            dimensions=stats.dimensions,
            ids=stats.ids,
            calibration=stats.calibration,
            records={kind.value: number for kind, number in stats.records.items()},
            relationships={kind.value: number for kind, number in stats.relationships.items()},
        )
        manifest = self._ends.graph.write_files(self._ends.reader, part, manifest=manifest)
        part.rename(self.files)
        return manifest

    def run_import(self, report: BulkReport, command: str) -> None:
        """Phase 3: run the command, or report the command that the user must run."""
        manifest = report.manifest
        if not command:
            report.command = self._ends.graph.command(manifest)
            return
        parts = [
            part.replace("{folder}", str(self.files)).replace("{database}", manifest.database)
            for part in shlex.split(command)
        ]
        with timed(report.seconds, "import"), progress.step("import"):
            try:
                process = subprocess.run(
                    parts, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
                )
            except OSError as error:
                raise StoreError(
                    f"the import command could not be run ({error}); correct neo4j.import_command"
                ) from error
        if process.returncode:
            output = process.stdout.decode(errors="replace").strip()[-_TAIL:]
            raise StoreError(
                f"the import command ended with status {process.returncode}: {shlex.join(parts)}; mend the cause and run the same "
                f"command again. It said:\n{output}"
            )
        self._ends.graph.forget()
        self._ingestion.opened.forget()
        if _is_at(self._ends.graph.find(self._corpus), manifest) is None:
            raise StoreError(
                f"the import command ended well, but {self._ingestion.settings.store} has not got the files; it must run "
                f"{shlex.join(self._ends.graph.command(manifest))} for this database: {shlex.join(parts)}"
            )

    def finish(self, report: BulkReport) -> None:
        """Phases 4 and 5: complete and verify the corpus, and make it visible."""
        manifest, seconds = report.manifest, report.seconds
        with self._ends.graph.lock(self._corpus):
            if _is_at(self._ends.graph.find(self._corpus), manifest) == "visible":
                return
            with timed(seconds, "complete"):
                self._ends.graph.complete(manifest, self._ends.reader)
                domain = domain_of(self._scratch, self._corpus)
            (stats,) = self._scratch.graph.stats(self._corpus, has_counts=False)
            loading = self._stores.vectors.loading(self._corpus, dimensions=stats.dimensions)
            with timed(seconds, "rows"), loading:
                for batch in self._batches():
                    self._stores.vectors.upsert(batch)
            with timed(seconds, "verify"), progress.step("verify"):
                self._verify(manifest)
            self._ends.graph.show(manifest)
        if domain is not None:
            with self._stores.graph.lock(self._corpus):
                domain_store(self._stores).write(self._corpus, domain)

    def _batches(self) -> Iterator[VectorBatch]:
        """All rows of the corpus for the vector store."""
        counts = record_counts(self._corpus, self._scratch)
        total = sum(counts.get(kind.value, 0) for kind in _KINDS)
        with progress.step("send rows", total, unit="rows"):
            for sources, records in _records(self._ends.reader):
                titles = {source.id: source.title for source in sources}
                yield self._batch(sources=sources)
                for kind, some in records.items():
                    for part in batched(some, _ROWS):
                        block = self._block(kind, part, titles)
                        if block.ids:
                            yield self._batch(blocks=(block,))
                        progress.advance("send rows", len(part))

    def _batch(self, *, sources: tuple[Source, ...] = (), blocks: tuple[VectorBlock, ...] = ()) -> VectorBatch:
        return VectorBatch(self._corpus, "bulk load", sources, blocks)

    def _block(self, kind: Kind, records: Sequence[Record], titles: Mapping[str, str]) -> VectorBlock:
        rows = {row.id: row for row in indexed(records, titles)}
        ids, matrix = self._scratch.vectors.vectors(kind, self._corpus, ids=list(rows))
        return VectorBlock.of(kind, [rows[name] for name in ids], matrix=matrix)

    def _verify(self, manifest: Manifest) -> None:
        """Compare both servers with the sent corpus, and run the checks of the doctor."""
        counts = self._ends.graph.counts(self._corpus)
        wrong = list(differences(self._scratch, self._stores, manifest=manifest, counts=counts))
        wrong += [
            f"{finding.check}: {finding.seen}" for finding in self._ingestion.opened.check() if not finding.is_fine
        ]
        if wrong:
            raise StoreError(
                f"corpus {self._corpus!r} is not on the servers as it was sent, and stays invisible: {'; '.join(wrong[:_SHOWN])}; "
                "run the same command again, or empty both stores first"
            )


def _records(reader: BulkReader) -> Iterator[tuple[tuple[Source, ...], Mapping[Kind, Sequence[Record]]]]:
    """All records for the vector store in batches, each with the sources that must be written first."""
    for change in reader.sources(has_facts=False):
        records: dict[Kind, Sequence[Record]] = {
            Kind.CHUNK: change.chunks,
            Kind.STATEMENT: change.statements,
            Kind.TOPIC: change.topics,
        }
        yield change.sources, records
    for entities in reader.entities():
        yield (), {Kind.ENTITY: [Entity(entity.id, "", entity.name, entity.kind) for entity in entities]}


# Verification.


_SAMPLE = 200


def differences(
    sent: Stores, arrived: Stores, *, manifest: Manifest, counts: Iterable[Mapping[str, int]]
) -> Iterator[str]:
    """Differences between the sent corpus and the servers in counts, ids and the content of a sample, in words.

    Parameters
    ----------
    sent : the stores in which the corpus was built
    arrived : the servers
    manifest : counts of the sent corpus
    counts : numbers of records and of relationships in the graph, by kind
    """
    for wanted, present in zip((manifest.records, manifest.relationships), counts, strict=True):
        for name, number in wanted.items():
            if present.get(name, 0) != number:
                yield f"the graph has {present.get(name, 0):,} {name}, sent were {number:,}"
    for kind in (Kind.SOURCE, *_KINDS):
        ours, theirs = (stores.vectors.ids(kind, manifest.corpus) for stores in (sent, arrived))
        if ours != theirs:
            yield (
                f"of {kind} rows the vector store lacks {len(ours - theirs):,} and has {len(theirs - ours):,} that were not sent"
            )
        else:
            yield from _of_sample(kind, sorted(ours)[:_SAMPLE], sent=sent, arrived=arrived, corpus=manifest.corpus)


def _of_sample(kind: Kind, ids: list[str], *, sent: Stores, arrived: Stores, corpus: str) -> Iterator[str]:
    """Differences in the content of a sample. The ids are hashes, so the lowest ids are a fair sample."""
    scope = Scope(corpus)
    records, theirs = (stores.graph.records(kind, ids, scope=scope) for stores in (sent, arrived))
    if records != theirs:
        yield f"{kind} records of the graph are not those that were sent"
    if kind is Kind.SOURCE:
        return
    owners = sorted({str(getattr(record, "source_id", "")) for record in records} - {""})
    sources = read_records(sent.graph, Source, ids=owners, scope=scope)
    titles = {name: source.title for name, source in sources.items()}
    if not arrived.vectors.examine(kind, corpus, rows=indexed(records, titles)).is_none:
        yield f"{kind} rows of the vector store are not those that were sent"
