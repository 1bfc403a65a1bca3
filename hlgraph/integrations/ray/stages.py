"""The stages of an ingest on Ray: each applies one step of the pipeline to a parcel, a batch of sources.

:func:`parts` splits the sources of an ingest for the first stage.
"""

from __future__ import annotations

import logging
import pickle
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from hlgraph.errors import HLGraphError, ReadError
from hlgraph.extract import Metered, Quarantine
from hlgraph.index.embed import PrecomputedVectors, texts_of
from hlgraph.ingest import pipeline
from hlgraph.ingest.options import chunker_of, extractor_of
from hlgraph.ingest.pipeline import Ready, StoredChunks
from hlgraph.ingest.report import Failure, Report
from hlgraph.ingest.run import Job, check_rows, noted, read_sources
from hlgraph.integrations.ray.accounts import FarBooks, FarPurse
from hlgraph.models.choose import chosen_chat, chosen_embedder
from hlgraph.models.prompts import prompts_of
from hlgraph.persist.assemble import Extracted
from hlgraph.persist.compare import Comparison
from hlgraph.read import ReadFailure
from hlgraph.read.content import is_query
from hlgraph.read.discover import Input, discover
from hlgraph.records import Document
from hlgraph.settings import Neo4jSettings, OpenSearchSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from hlgraph.extract import Extractor
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.models.choose import AnyChat, AnyEmbedder
    from hlgraph.models.protocols import Embedder
    from hlgraph.records import Domain
    from hlgraph.settings import Settings


# The data passed between stages: a batch of sources with the results so far, pickled into one row of a table.

_COLUMN = "parcel"
_Item = TypeVar("_Item")


class Part(NamedTuple):
    """The sources that one task reads: paths or documents.

    Attributes
    ----------
    characters : approximate number of characters per parcel
    paths : files and S3 objects
    documents : documents given by the caller
    taken : URIs that are read elsewhere in this ingest
    """

    characters: int
    paths: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    taken: frozenset[str] = frozenset()


@dataclass(slots=True)
class Parcel:
    """A batch of sources on its way through the stages; each stage takes out its input and puts in its output.

    Attributes
    ----------
    report : to be added to the report of the ingest
    uris : URIs of all documents that were read
    documents : output of reading
    changed, stored : output of comparing: changed documents, and their stored chunks
    extracted : output of chunking, completed by extracting
    ready : output of embedding, None before
    kept, left_out : see :class:`hlgraph.models.accounts.budget.Usage`
    error : the error that ends the ingest here; later stages skip the parcel
    """

    report: Report
    uris: tuple[str, ...] = ()
    documents: list[Document] = field(default_factory=list)
    changed: list[Comparison] = field(default_factory=list)
    stored: StoredChunks = field(default_factory=dict)
    extracted: list[Extracted] = field(default_factory=list)
    ready: Ready | None = None
    kept: int = 0
    left_out: int = 0
    error: HLGraphError | None = None


def packed(item: object) -> pa.Table:
    """A table of shape ``(1, 1)`` that holds the pickled item."""
    import pyarrow as pa

    return pa.table({_COLUMN: pa.array([pickle.dumps(item)], pa.large_binary())})


def unpacked(table: pa.Table, kind: type[_Item]) -> list[_Item]:
    """The items in the rows of a table.

    Parameters
    ----------
    table : made by :func:`packed`, or several such concatenated
    kind : type of the items

    Raises
    ------
    TypeError
        An item has another type.
    """
    values = [pickle.loads(value.as_py()) for value in table[_COLUMN]]  # noqa: S301 - packed by a process of this ingest
    if not all(isinstance(item, kind) for item in values):
        raise TypeError(f"a stage got {', '.join({type(item).__name__ for item in values})}, not {kind.__name__}")
    return cast("list[_Item]", values)


_log = logging.getLogger(__name__)
_MOST_SOURCES = 1_000


@dataclass(frozen=True, slots=True)
class Work:
    """The description of an ingest that its processes need.

    Attributes
    ----------
    settings : with absolute paths; passwords of the stores reach only the stage that reads the stores
    corpus : name of the corpus
    options : how to ingest
    chat, embedder : names of models, or picklable objects
    chat_name : fingerprint of the chat model, empty if none extracts
    run : unique id of this ingest
    domain : domain of the corpus, which the prompts of the chat model name
    """

    settings: Settings
    corpus: str
    options: IngestOptions
    chat: AnyChat | None
    embedder: AnyEmbedder
    chat_name: str
    run: str
    domain: Domain | None = None

    def without_stores(self) -> Work:
        """The same without the settings of the stores, for a stage that opens none."""
        bare = replace(self.settings, neo4j=Neo4jSettings(), opensearch=OpenSearchSettings())
        return replace(self, settings=bare)

    def __repr__(self) -> str:
        """Without the settings, since Ray may log the arguments of a process."""
        return f"Work({self.corpus!r})"


def _look_steps(work: Work) -> pipeline.LookSteps:
    """The steps of the pipeline that only plan; their extractor gives fingerprints and calls no model."""
    return pipeline.LookSteps(chunker_of(work.options, work.settings), _named_extractor(work))


def _named_extractor(work: Work) -> Extractor:
    """The extractor of the ingest; for a chat model, one that gives fingerprints only."""
    if not work.chat_name:
        return extractor_of(work.options, work.settings, calls=lambda: None, corpus=work.corpus)
    from hlgraph.extract.chat import ChatExtractor
    from hlgraph.ingest.plan import NamedChat

    nowhere = Quarantine(Path(), store="", corpus="")
    return ChatExtractor(NamedChat(work.chat_name), quarantine=nowhere, domain=work.domain)


class Stage(ABC):
    """A stage that turns each parcel into one parcel.

    An error of hlgraph is stored in the parcel; it ends the ingest when the writer reaches it.

    Parameters
    ----------
    work : the ingest
    books : handle of the actor of :class:`Books`, None without a chat model
    """

    def __init__(self, work: Work, books: object = None) -> None:
        self.work = work
        self.books = books
        self._is_begun = False
        self._lock = threading.Lock()

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Process each parcel of a table."""
        return _each(table, self._begin_and_do, name=type(self).__name__)

    def _begin_and_do(self, parcel: Parcel) -> None:
        with prompts_of(self.work.settings.models.prompts):
            with self._lock:
                if not self._is_begun:
                    self.begin()
                    self._is_begun = True
            self.do(parcel)

    @abstractmethod
    def begin(self) -> None:
        """Create the tools of the stage, before its first parcel."""

    @abstractmethod
    def do(self, parcel: Parcel) -> None:
        """Process a parcel in place."""


def _each(table: pa.Table, do: Callable[[Parcel], None], *, name: str) -> Iterator[pa.Table]:
    """The parcels of a table, each processed in place; an error of hlgraph is stored in its parcel."""
    for parcel in unpacked(table, Parcel):
        if parcel.error is None:
            try:
                do(parcel)
            except HLGraphError as error:
                _log.info("%s ends the ingest: %s", name, error)
                parcel.error = error
        yield packed(parcel)


def read(table: pa.Table, work: Work) -> Iterator[pa.Table]:
    """Turn parts into parcels with documents, at least one per part; its report holds what could not be read.

    Parameters
    ----------
    table : parts, one per row
    work : the ingest
    """
    for part in unpacked(table, Part):
        report, uris = Report(), set[str]()
        documents = noted(
            read_sources(list(part.paths), list(part.documents), options=work.options, is_checked=True), uris
        )
        limits = {"characters": part.characters, "sources": _MOST_SOURCES}
        for batch in pipeline.batches(documents, report, seen=set(part.taken), **limits):
            yield packed(Parcel(_taken(report), tuple(uris), batch))
            uris.clear()
        yield packed(Parcel(_taken(report), tuple(uris)))


def _taken(report: Report) -> Report:
    """The failures and times of a report so far, removed from it."""
    taken = Report(failed=list(report.failed), seconds=dict(report.seconds))
    report.failed.clear()
    report.seconds.clear()
    return taken


class Compare(Stage):
    """Keep the documents that changed, with their stored chunks; reads the graph store."""

    def begin(self) -> None:
        """Open the stores."""
        from hlgraph.stores.open import open_stores

        self._stores = open_stores(self.work.settings).stores
        self._steps = _look_steps(self.work)

    def do(self, parcel: Parcel) -> None:
        """Compare the documents with the store."""
        corpus, stores, report = self.work.corpus, self._stores, parcel.report
        parcel.changed = pipeline.compared(parcel.documents, corpus, report=report, stores=stores, steps=self._steps)
        parcel.stored = pipeline.stored_chunks(parcel.changed, corpus, report=report, stores=stores)
        parcel.documents = []


_plan_steps: dict[str, pipeline.LookSteps] = {}


def cut(table: pa.Table, work: Work) -> Iterator[pa.Table]:
    """Split changed documents into chunks and select those to extract; needs no store.

    Parameters
    ----------
    table : parcels, one per row
    work : the ingest
    """
    if work.run not in _plan_steps:  # this process is kept for the whole ingest, and for later ones
        _plan_steps.clear()
        _plan_steps[work.run] = _look_steps(work)
    steps = _plan_steps[work.run]

    def do(parcel: Parcel) -> None:
        parcel.extracted = pipeline.planned(parcel.changed, parcel.stored, report=parcel.report, steps=steps)
        parcel.changed, parcel.stored = [], {}

    return _each(table, do, name="cut")


class Extract(Stage):
    """Extracts chunks; with a chat model, through the accounts that all processes share.

    A worker handles two parcels at once, so that it uses its full number of concurrent calls while it waits for the last
    chunks of a parcel.
    """

    _reported = 0, 0

    def begin(self) -> None:
        """Create the extractor."""
        if self.work.chat_name:
            import ray

            far = FarBooks(self.books, ray.get_runtime_context().get_actor_id() or "")
            far.ask("join", far.worker)
            self._extractor: Extractor = _chat_extractor(self.work, far)
        else:
            self._extractor = _named_extractor(self.work)

    def do(self, parcel: Parcel) -> None:
        """Extract the chunks."""
        parcel.extracted = pipeline.extract(parcel.extracted, parcel.report, extractor=self._extractor)
        if isinstance(self._extractor, Metered):
            usage = self._extractor.usage
            with self._lock:
                kept, left_out = self._reported
                self._reported = usage.kept, usage.left_out
                parcel.kept, parcel.left_out = self._reported[0] - kept, self._reported[1] - left_out


def _chat_extractor(work: Work, far: FarBooks) -> Extractor:
    from hlgraph.extract.chat import ChatExtractor
    from hlgraph.models.choose import executor_of

    if work.chat is None:
        raise TypeError("an ingest with a chat model was started without one")
    models = work.settings.models
    executor = executor_of(chosen_chat(work.chat, models), work.settings, corpus=work.corpus)
    replies = far.replies() if executor.accounts.replies is not None else None
    executor.accounts = replace(executor.accounts, ledger=far.ledger(), replies=replies)
    return ChatExtractor(
        executor.begin(purse=FarPurse(far)),
        quarantine=far.quarantine(),
        max_tokens=models.max_tokens,
        domain=work.domain,
        ground=work.options.ground or models.ground,
    )


class Embed(Stage):
    """Turns extractions into a change, with the vectors of its texts."""

    def begin(self) -> None:
        """Create the embedder."""
        self._embedder: Embedder = chosen_embedder(self.work.embedder, self.work.settings.models)[0]

    def do(self, parcel: Parcel) -> None:
        """Assemble the change and embed its texts."""
        if not parcel.extracted:
            return
        ready = pipeline.ready(self.work.corpus, parcel.extracted, report=parcel.report)
        with parcel.report.timed("embed"):
            texts = texts_of(ready.change)
            matrix = self._embedder.embed(texts)
        vectors = PrecomputedVectors(texts, matrix, fingerprint=self._embedder.fingerprint)
        parcel.ready, parcel.extracted = ready._replace(vectors=vectors), []


# The parts of an ingest: paths are discovered in this process, and each part is read by a task.

_MOST_PARTS = 2_000
_PARTS_EACH = 4  # per worker, so that none waits long for the last part of another
_LEAST = 10_000
_UNKNOWN_SIZE = 50_000  # assumed for S3 objects, bytes


def parts(job: Job, report: Report, *, workers: int, most: int) -> list[Part]:
    """The sources of a job in order, split into parts.

    Parameters
    ----------
    job : the ingest; the URIs of its documents are added to ``job.seen``
    report : receives the failures
    workers : number of extracting processes
    most : maximum number of characters of documents in one parcel
    """
    check_rows(job.paths, job.documents, options=job.options)
    document_uris = {document.uri for document in job.documents}
    job.seen.update(document_uris)
    # Documents of the caller may have the URIs of files, or of rows of files.
    taken = frozenset(uri for uri in document_uris if uri.startswith(("file:", "s3:")))
    inputs = discover(job.paths, job.options.format, follow_links=job.options.follow_links, files=job.files)
    sized = list(_found(inputs, report, taken=taken))
    total = sum(len(document.text) for document in job.documents) + sum(length for _, length in sized)
    size = min(most, max(_LEAST, total // (_PARTS_EACH * workers)))
    limits = {"characters": size, "sources": job.steps.batch_sources}
    batches = pipeline.batches(job.documents, report, seen=set(), **limits)
    return [
        *(Part(size, documents=tuple(batch)) for batch in batches),
        *(Part(size, paths=names, taken=taken) for names in _joined(sized, max(size, total // _MOST_PARTS))),
    ]


def _found(items: Iterable[Input | ReadFailure], report: Report, *, taken: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Paths with their sizes."""
    for source in items:
        if isinstance(source, ReadFailure):
            report.failed.append(Failure(source.uri, str(source.error), source.error.extra))
        elif source.origin.uri in taken:
            error = ReadError(source.origin.uri, "it was read before in this run", "give each source one uri")
            report.failed.append(Failure(source.origin.uri, str(error)))
        elif source.path is not None:
            yield str(source.path), _size(source)
        elif source.s3_object is not None:
            place = source.s3_object.place
            yield f"s3://{place.bucket}/{place.key}", _UNKNOWN_SIZE
        elif is_query(source.origin.uri):
            yield source.origin.uri, _UNKNOWN_SIZE


def _size(source: Input) -> int:
    try:
        return source.path.stat().st_size if source.path is not None else 0
    except OSError:  # the file was removed meanwhile; the task that reads it reports that
        return 0


def _joined(sized: Iterable[tuple[str, int]], size: int) -> Iterator[tuple[str, ...]]:
    """Paths in groups of at least ``size`` bytes each but the last, in order."""
    names: list[str] = []
    total = 0
    for name, length in sized:
        names.append(name)
        total += length
        if total >= size:
            yield tuple(names)
            names, total = [], 0
    if names:
        yield tuple(names)
