"""The stages of an ingest on Ray: each applies one step of the pipeline to a parcel, a batch of sources.

:func:`parts` splits the sources of an ingest for the first stage.
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from hlgraph.errors import BudgetError, ClusterError, HLGraphError, ModelUnavailableError, ReadError
from hlgraph.extract import Metered
from hlgraph.extract.quarantine import Quarantine, quarantine
from hlgraph.index.embed import PrecomputedVectors, texts_of
from hlgraph.ingest import pipeline
from hlgraph.ingest.options import chunker_of, extractor_of
from hlgraph.ingest.pipeline import Ready, StoredChunks
from hlgraph.ingest.report import Failure, Report
from hlgraph.ingest.run import Job, check_rows, noted, read_sources
from hlgraph.models.accounts.budget import Budget, Purse
from hlgraph.models.accounts.ledger import Ledger
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.choose import LEDGER_FILE, chosen_chat, chosen_embedder
from hlgraph.models.prompts import prompts_of
from hlgraph.persist.assemble import Extracted
from hlgraph.persist.compare import Comparison
from hlgraph.read import ReadFailure
from hlgraph.read.content import is_query
from hlgraph.read.discover import Input, discover
from hlgraph.records import Document
from hlgraph.settings import REPLIES_FILE, Neo4jSettings, OpenSearchSettings, accounts_folder

if TYPE_CHECKING:
    import pyarrow as pa

    from hlgraph.extract import Extractor
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.models.choose import AnyChat, AnyEmbedder
    from hlgraph.models.protocols import Embedder
    from hlgraph.records import Domain
    from hlgraph.settings import Price, Settings

# The accounts of chat models on several machines.

_LOOK_SECONDS = 0.2
_LOST = "the process that keeps the accounts of this ingest died; what was done is kept, run the same ingest again to continue"
_ELSEWHERE = Path("elsewhere")  # a placeholder: nothing is read or written there
Book = Literal["ledger", "replies", "quarantine"]
_Book = TypeVar("_Book", Ledger, Replies, Quarantine)


class Spending(NamedTuple):
    """The chat calls so far.

    Attributes
    ----------
    calls : number of calls that ended
    input_tokens, output_tokens : their tokens
    under_way : number of calls that have not ended
    """

    calls: int
    input_tokens: int
    output_tokens: int
    under_way: int


class Limits(NamedTuple):
    """The limits of the chat calls of an ingest.

    Attributes
    ----------
    budget : in tokens or money; None for no limit
    price : price of the model, None if unknown
    model : name of the model, for messages
    before : what the calling process itself has already spent of the budget, to infer a domain
    """

    budget: Budget | None = None
    price: Price | None = None
    model: str = ""
    before: Spending | None = None


class Books:
    """The accounts of one ingest, run as an actor on the machine of the calling process, so that it uses the same files.

    A worker restarted after it was killed joins again. The cost of the calls that it had under way is then unknown, so they
    are counted at their estimated cost.

    Parameters
    ----------
    settings : name the folder of the accounts
    corpus : name of the corpus
    limits : budget and price
    """

    def __init__(self, settings: Settings, corpus: str, *, limits: Limits) -> None:
        folder = accounts_folder(settings)
        self._books: dict[Book, Ledger | Replies | Quarantine] = {
            "ledger": Ledger(folder / LEDGER_FILE),
            "replies": Replies(folder / REPLIES_FILE),
            "quarantine": quarantine(settings, corpus),
        }
        self._purse = Purse(limits.budget, price=limits.price, model=limits.model)
        if limits.before is not None:
            calls, sent, replied, _ = limits.before
            self._purse.carry(calls, sent, output_tokens=replied)
        self._admitted: dict[str, set[int]] = {}

    def write(self, book: Book, name: str, *args: object, **named: object) -> object:
        """The result of calling a method of a book.

        Parameters
        ----------
        book : ``ledger``, ``replies`` or ``quarantine``
        name : name of the method
        args, named : its arguments
        """
        return getattr(self._books[book], name)(*args, **named)

    def join(self, worker: str) -> None:
        """Record that a worker starts without calls under way; calls of its predecessor are given up."""
        for admission in self._admitted.pop(worker, set()):
            self._purse.abandon(admission)

    def attempt(self, worker: str, input_tokens: int) -> int | HLGraphError | None:
        """See :meth:`hlgraph.models.accounts.budget.Purse.attempt`; an error is returned, not raised."""
        try:
            admission = self._purse.attempt(input_tokens)
        except HLGraphError as error:
            return error
        if admission is not None:
            self._admitted.setdefault(worker, set()).add(admission)
        return admission

    def settle(self, worker: str, admission: int, *, tokens: tuple[int, int] | None) -> None:
        """Record the cost of an admitted call.

        Parameters
        ----------
        worker : the worker that made the call
        admission : number that :meth:`attempt` returned
        tokens : input and output tokens, None if the call cost nothing
        """
        self._admitted[worker].discard(admission)
        sent, replied = tokens or (0, 0)
        self._purse.settle(admission, sent, output_tokens=replied, is_paid=tokens is not None)

    def end(self, error: HLGraphError) -> None:
        """Admit no further calls."""
        self._purse.end(error)

    def ended(self) -> HLGraphError | None:
        """The error that ended the calls, with all spending so far; None while calls are admitted."""
        return self._purse.ended()

    def spending(self) -> Spending:
        """The spending so far."""
        purse = self._purse
        return Spending(purse.calls, purse.input_tokens, purse.output_tokens, purse.under_way)


class FarBooks:
    """Access to :class:`Books` from another process.

    Parameters
    ----------
    actor : handle of the actor
    worker : name of this process, which it keeps when Ray restarts it
    """

    def __init__(self, actor: Any, worker: str = "") -> None:
        self.actor = actor
        self.worker = worker

    def ask(self, name: str, *args: object, **named: object) -> Any:
        """The result of calling a method of :class:`Books`.

        Parameters
        ----------
        name : name of the method
        args : positional arguments
        named : keyword arguments

        Raises
        ------
        ClusterError
            The actor died.
        """
        import ray

        try:
            return ray.get(getattr(self.actor, name).remote(*args, **named))
        except ray.exceptions.RayActorError as error:
            raise ClusterError(_LOST) from error

    def settled(self, error: BaseException, deadline: float) -> HLGraphError | None:
        """Admit no further calls, wait for those under way, and return the error that ended them.

        Parameters
        ----------
        error : why the calls end
        deadline : longest time to wait, seconds

        Returns
        -------
        HLGraphError | None
            None if the actor died, since ``error`` then says more.
        """
        known = error if isinstance(error, HLGraphError) else None
        try:
            self.ask("end", known or ModelUnavailableError("the run was interrupted; run it again to continue"))
            last = time.monotonic() + deadline
            while self.ask("spending").under_way and time.monotonic() < last:
                time.sleep(_LOOK_SECONDS)
            end: HLGraphError | None = self.ask("ended")
        except ClusterError:  # the actor died, and the first error says more
            return None
        return end

    def close(self) -> None:
        """End the actor; everything it wrote is on disk."""
        import ray

        ray.kill(self.actor)

    def ledger(self) -> Ledger:
        """The ledger, written from this process; it cannot be read here."""
        return self._remote(Ledger(_ELSEWHERE), "ledger", "begin", "keep", "finish", "end", "drop")

    def replies(self) -> Replies:
        """The stored replies, read and added to from this process; it cannot delete any."""
        return self._remote(Replies(_ELSEWHERE), "replies", "find", "keep")

    def quarantine(self) -> Quarantine:
        """The quarantine, used from this process."""
        book = Quarantine(_ELSEWHERE, store="", corpus="")
        return self._remote(book, "quarantine", "keep", "expect", "find", "release")

    def _remote(self, book: _Book, name: Book, *methods: str) -> _Book:
        """The book, whose ``methods`` call those of the book in the actor."""
        for method in methods:
            getattr(book, method)  # fails for a name that the book no longer has
            setattr(book, method, partial(self.ask, "write", name, method))
        return book


class FarPurse(Purse):
    """The purse shared by the calls of all processes; remembers locally the error that ended it."""

    def __init__(self, books: FarBooks) -> None:
        super().__init__()
        self._far = books

    def admit(self, input_tokens: int) -> int:
        """See :meth:`Purse.admit`."""
        while True:
            self.check()
            admission = self._far.ask("attempt", self._far.worker, input_tokens)
            if isinstance(admission, int):
                return admission
            if admission is not None:
                self.end(admission)
                continue
            self.stopped.wait(_LOOK_SECONDS)

    def settle(self, admission: int, input_tokens: int = 0, *, output_tokens: int = 0, is_paid: bool = True) -> None:
        """See :meth:`Purse.settle`."""
        tokens = (input_tokens, output_tokens) if is_paid else None
        self._far.ask("settle", self._far.worker, admission, tokens=tokens)

    def end(self, error: HLGraphError) -> None:
        """See :meth:`Purse.end`; passed on to all processes, unless the shared purse or the cluster itself ended."""
        super().end(error)
        if not isinstance(error, BudgetError | ClusterError):
            self._far.ask("end", error)

    def ended(self) -> HLGraphError | None:
        """See :meth:`Purse.ended`."""
        return self.error


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
    groups = {"acl": work.options.acl, "seen_by": work.options.seen_by}
    return pipeline.LookSteps(chunker_of(work.options, work.settings), _named_extractor(work), **groups)


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
