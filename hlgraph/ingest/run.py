"""Runs an ingest from paths and options to its report.

:class:`Ingestion` prepares a :class:`Job` and finishes it. A :data:`Run` executes its steps, in this process
(:func:`run_here`) or elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from hlgraph import progress
from hlgraph.errors import BudgetError, InputError
from hlgraph.extract.extractor import Metered
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import Remover, delete_missing
from hlgraph.ingest.forget import forgetter, forgetting
from hlgraph.ingest.history import prepare, record, refuse_history, refuse_receipt
from hlgraph.ingest.options import NO_ROWS, IngestOptions, chunker_of, extractor_of
from hlgraph.ingest.report import Failure
from hlgraph.models.accounts.budget import Usage
from hlgraph.read.discover import ADDRESS, DOWNLOAD, is_missing
from hlgraph.read.outcomes import Files
from hlgraph.read.rows import GIVEN, DataFrame, frame_rows, given_documents
from hlgraph.records import Document, plain_scalar
from hlgraph.stores.protocols import domain_of, domain_store

if TYPE_CHECKING:
    from hlgraph.chunk import Chunker
    from hlgraph.extract import ChunkInput
    from hlgraph.ingest.pipeline import Steps
    from hlgraph.ingest.receipts import ReceiptDraft
    from hlgraph.ingest.report import Report
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.choose import ChosenModels
    from hlgraph.models.executor import Executor
    from hlgraph.progress import OnProgress
    from hlgraph.read import ReadFailure, ReadOptions
    from hlgraph.records import Domain
    from hlgraph.settings import Settings
    from hlgraph.stores.open import Opened
    from hlgraph.stores.protocols import Stores


_PLAIN = {str, int, float, bool}
_SHOWN = 80  # characters of a path in a message
AnySource: TypeAlias = str | Path | Document | Mapping[str, object] | DataFrame
AnySources: TypeAlias = AnySource | Iterable[AnySource]
"""Sources as callers give them: paths, documents, rows as mappings, or a data frame."""


class Given(NamedTuple):
    """The sources of a call.

    Attributes
    ----------
    sources : paths and documents
    failed : rows that are no documents
    warnings : columns of rows with values that cannot be stored
    has_rows : whether there were rows
    """

    sources: list[str | Path | Document]
    failed: list[Failure]
    warnings: list[Failure]
    has_rows: bool

    @property
    def has_paths(self) -> bool:
        """Whether any source is a path."""
        return not all(isinstance(entry, Document) for entry in self.sources)


def given(
    sources: AnySources, *, text: str | Sequence[str] | None = None, mapping: Mapping[str, str] | None = None
) -> Given:
    """The sources of a call as paths and documents.

    Parameters
    ----------
    sources : see :meth:`hlgraph.HLGraph.ingest`
    text : texts to ingest
    mapping : column name by part of a document

    Raises
    ------
    InputError : no path of the call exists; a text may have been taken for one
    """
    single = isinstance(sources, str | Path | Document | Mapping | DataFrame)
    entries: list[Any] = [sources] if single else list(cast("Iterable[AnySource]", sources))
    texts = [text] if isinstance(text, str) else list(text or ())
    kept: list[str | Path | Document] = []
    rows: list[Mapping[str, object]] = [{"text": each} for each in texts]
    for entry in entries:
        if isinstance(entry, DataFrame):
            rows.extend(frame_rows(entry))
        elif isinstance(entry, Mapping):
            rows.append(entry)
        else:
            kept.append(_plain(entry) if isinstance(entry, Document) else entry)
    if not rows:
        _refuse_missing(kept)
    failed: list[Failure] = []
    warnings: list[str] = []
    for result in given_documents(rows, mapping or {}, warnings=warnings) if rows else ():
        if isinstance(result, Document):
            kept.append(result)
        else:
            failed.append(Failure(result.uri, str(result.error)))
    return Given(kept, failed, [Failure(GIVEN, text) for text in warnings], bool(rows))


def _plain(document: Document) -> Document:
    """The document with plain texts and plain metadata (:func:`hlgraph.records.plain_scalar`), without those that are None."""
    given: dict[str, Any] = {name: getattr(document, name) for name in ("uri", "text", "title", "metadata")}
    metadata = given.pop("metadata")
    if not isinstance(metadata, Mapping) or {*map(type, (*given.values(), *metadata, *metadata.values()))} <= _PLAIN:
        return document
    plain: dict[str, Any] = {name: plain_scalar(value) for name, value in given.items()}
    values = ((plain_scalar(name), _plain_values(value)) for name, value in metadata.items())
    return replace(document, **plain | {"metadata": {name: value for name, value in values if value is not None}})


def _plain_values(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(each for each in map(plain_scalar, value) if each is not None)
    return plain_scalar(value)


def _refuse_missing(entries: Sequence[str | Path | Document]) -> None:
    """Raise InputError if all entries are paths that do not exist."""
    if entries and all(not isinstance(entry, Document) and is_missing(str(entry)) for entry in entries):
        first = str(entries[0])
        is_address = ADDRESS.match(first)
        reason = "no address is fetched" if is_address else "there is no such file or folder"
        mend = DOWNLOAD if is_address else "give an existing path, or a text as text="
        raise InputError(f"{first[:_SHOWN]!r}: {reason}, so nothing was ingested; {mend}")


class Job(NamedTuple):
    """The work of one ingest.

    Attributes
    ----------
    paths, documents : the sources to read
    options : how they are read, chunked and extracted
    corpus, stores, steps : the destination, and the parts that do the work
    seen : the run adds the uri of every document that it reads
    files : receives the files that the run finds and leaves out
    domain : the domain of the corpus, if a chat model uses it
    """

    paths: list[str]
    documents: list[Document]
    options: IngestOptions
    corpus: str
    stores: Stores
    steps: Steps
    seen: set[str]
    files: Files
    domain: Domain | None = None


Run: TypeAlias = "Callable[[Job], Report]"
"""Brings the corpus of a job to the state of its sources, and raises what :meth:`hlgraph.HLGraph.ingest` raises."""


def run_here(job: Job) -> Report:
    """Run all steps in this process, batch by batch."""
    items = noted(read_sources(job.paths, job.documents, options=job.options, files=job.files), job.seen)
    return pipeline.ingest(items, job.corpus, stores=job.stores, steps=job.steps, files=job.files)


class _Given(NamedTuple):
    """The inputs of an ingest with a chat model: its executor, the domain, and the usage of the call that inferred it."""

    calls: Executor | None = None
    domain: Domain | None = None
    usage: Usage | None = None
    is_inferred: bool = False


@dataclass(frozen=True, slots=True)
class Ingestion:
    """An ingest into one corpus.

    Attributes
    ----------
    settings, corpus : the destination
    opened : the open stores
    models : the embedder
    calls : creates the executor of the chat model for one command, within a budget; gives None without a chat model
    """

    settings: Settings
    corpus: str
    opened: Opened
    models: ChosenModels
    calls: Callable[[Budget | None], Executor | None]

    def bring(
        self,
        sources: str | Path | Document | Iterable[str | Path | Document],
        options: IngestOptions,
        *,
        run: Run = run_here,
        on_progress: OnProgress | None = None,
    ) -> Report:
        """Bring the corpus to the state of the sources.

        Parameters
        ----------
        sources : paths, folders, globs, ``s3://`` addresses, ``sql:NAME``, ``-`` for standard input, or documents
        options : how they are read, chunked and extracted
        run : where the steps run, default in this process
        on_progress : called with the progress of every step of every batch, see :func:`hlgraph.progress.listening`

        Returns
        -------
        Report

        Raises
        ------
        See :meth:`hlgraph.HLGraph.ingest`.
        """
        paths, documents = split_sources(sources)
        if options.acl_tag is not None and not any(path.startswith("s3://") for path in paths):
            raise InputError(
                f"acl_tag {options.acl_tag!r} has no effect: it names a tag of S3 objects, and no path is s3://; leave it out"
            )
        if options.delete_missing and documents and not paths:
            raise InputError(
                "delete_missing removes sources under the given paths, and documents and rows have none; leave it out, and delete "
                "what is gone by its uri or a filter"
            )
        stores = self.opened.stores
        refuse_history(self.corpus)
        seen: set[str] = set()
        removed: set[str] = set()
        is_paid = options.extract == "chat"
        with progress.listening(on_progress), self._draft(paths, options) as draft:
            embedder = self.models.embedder_of(stores.graph.stats(self.corpus, has_counts=False))
            is_kept = prepare(stores, self.corpus, embedder=embedder, is_begun=options.keep_history)
            with forgetting(self.settings, self.corpus, graph=stores.graph, is_filled=is_paid) as done:
                inputs = self._domain(paths, documents, options=options)
                extractor = extractor_of(
                    options, self.settings, calls=lambda: inputs.calls, corpus=self.corpus, domain=inputs.domain
                )
                if inputs.usage is not None and isinstance(extractor, Metered):
                    extractor.usage.include(inputs.usage)
                chunker = chunker_of(options, self.settings)
                groups: dict[str, Any] = {"acl": options.acl, "seen_by": options.seen_by}
                steps = pipeline.Steps(chunker, extractor, embedder, before_writing=done.remind, **groups)
                expect(paths, documents, options=options)
                report = run(Job(paths, documents, options, self.corpus, stores, steps, seen, Files(), inputs.domain))
                if options.mapping and not any("#" in uri for uri in seen):
                    report.warnings.append(Failure("--map", NO_ROWS))
                report.domain = inputs.domain if inputs.is_inferred else None
                if options.delete_missing:
                    from hlgraph.read import covered

                    remover = Remover(
                        stores, forget=forgetter(self.settings, self.models), draft=draft, removed=removed
                    )
                    delete_missing(report, covered(paths), corpus=self.corpus, keep=seen, remover=remover)
                done.append(report)
            if is_kept:
                record(stores, self.corpus, removed=removed)
                report.kept_in_history = report.sources_removed
            report.receipt = None if draft is None else draft.seal()
        end = getattr(extractor, "end", None)
        if isinstance(end, BudgetError):  # the budget ended the extraction early
            raise end
        return report

    def _draft(self, paths: list[str], options: IngestOptions) -> AbstractContextManager[ReceiptDraft | None]:
        """The draft of the receipt of what will be deleted, once its file can be written and killed runs are completed."""
        if options.receipt is None:
            return nullcontext()
        from hlgraph.ingest.receipts import ReceiptDraft, ReceiptOptions
        from hlgraph.read import covered

        refuse_receipt(self.opened.stores, self.corpus)
        names = sorted(covered(paths))
        place = ReceiptOptions(options.receipt, options.receipt_uris)
        draft = ReceiptDraft(place, self.settings, stores=self.opened.stores, by="missing", names=names)
        draft.check()
        draft.resume()
        return draft

    def _domain(self, paths: list[str], documents: list[Document], *, options: IngestOptions) -> _Given:
        """The chat model of the ingest and the domain of the corpus, which is inferred and stored now if requested."""
        if options.extract != "chat":
            return _Given()
        calls, stores = self.calls(options.budget), self.opened.stores
        domain = domain_of(stores, self.corpus)
        if calls is None or domain is not None or not options.adapt:
            return _Given(calls, domain)
        from hlgraph.extract.chat import infer_domain

        chunker = chunker_of(options, self.settings)
        with stores.graph.lock(self.corpus):
            pass  # creates the store, and fails before the model is paid if another writer holds it
        with progress.step("adapt"):
            samples = samples_of(paths, documents, options=options, chunker=chunker, corpus=self.corpus)
            if not samples:  # nothing to extract, either
                return _Given(calls)
            usage = Usage()
            inferred = infer_domain(calls, samples, max_tokens=self.settings.models.max_tokens, usage=usage)
        with stores.graph.lock(self.corpus):
            domain = domain_of(stores, self.corpus)  # another writer may have stored one meanwhile
            if domain is None:
                domain_store(stores).write(self.corpus, inferred)
        return _Given(calls, domain or inferred, usage, is_inferred=domain is None)


def expect(paths: list[str], documents: list[Document], *, options: IngestOptions) -> None:
    """Announce the number of files and documents for progress, which lists every folder.

    Parameters
    ----------
    paths, documents : see :func:`split_sources`
    options : how files are read
    """
    if not progress.is_listening():
        return
    from hlgraph.read.discover import expected

    files = expected(paths, options.format, follow_links=options.follow_links)
    if files is not None:
        progress.expect(files[0] + len(documents), files[1] + sum(len(document.text) for document in documents))


def read_all(
    sources: str | Path | Document | Iterable[str | Path | Document], options: IngestOptions
) -> Iterator[Document | ReadFailure]:
    """Read paths and documents.

    Parameters
    ----------
    sources : paths, or documents
    options : how files are read

    Returns
    -------
    Iterator of Document or ReadFailure
    """
    paths, documents = split_sources(sources)
    return read_sources(paths, documents, options=options)


def split_sources(sources: str | Path | Document | Iterable[str | Path | Document]) -> tuple[list[str], list[Document]]:
    """The paths and the documents among the sources."""
    items = [sources] if isinstance(sources, str | Path | Document) else list(sources)
    paths = [str(entry) for entry in items if not isinstance(entry, Document)]
    return paths, [entry for entry in items if isinstance(entry, Document)]


def read_sources(
    paths: list[str],
    documents: list[Document],
    *,
    options: IngestOptions,
    files: Files | None = None,
    is_checked: bool = False,
) -> Iterator[Document | ReadFailure]:
    """Read paths. Documents come first, unchanged.

    Parameters
    ----------
    paths, documents : see :func:`split_sources`
    options : how files are read
    files : receives what is found and left out; None logs a warning with the number of files left out
    is_checked : whether :func:`check_rows` was called for these paths

    Returns
    -------
    Iterator of Document or ReadFailure

    Raises
    ------
    InputError : the mapping of rows does not fit the tables, or there are documents beside it
    """
    from hlgraph.read import read

    reading = _reading(options)  # options that cannot be used are refused before anything is read
    if not is_checked:
        check_rows(paths, documents, options=options)
    for document in documents:
        if files is not None:
            # A check elsewhere reports texts of another type.
            files.size += len(document.text) if isinstance(document.text, str) else 0
        progress.advance("read")
        yield document
    if paths:
        yield from read(paths, reading, files=files)


def check_rows(paths: list[str], documents: list[Document], *, options: IngestOptions) -> None:
    """Compare the mapping of rows, if there is one, with all tables.

    Parameters
    ----------
    paths, documents : see :func:`split_sources`
    options : how files are read

    Raises
    ------
    InputError : the mapping does not fit, or there are documents beside it
    """
    if options.rows is None:
        return
    from hlgraph.read.stream import check_tables

    if documents:
        raise InputError(
            "rows maps the tables of files, not documents and rows of a program; write those to a file (CSV, Parquet), or ingest "
            "them in a call of their own"
        )
    check_tables(paths, _reading(options))


def _reading(options: IngestOptions) -> ReadOptions:
    from hlgraph.read import ReadOptions

    reading = ReadOptions(
        options.format,
        options.mapping,
        options.encoding,
        follow_links=options.follow_links,
        comments=options.comments,
        rows=options.rows,
        acl_tag=options.acl_tag,
    )
    return reading if options.max_bytes is None else replace(reading, max_bytes=options.max_bytes)


def samples_of(
    paths: list[str], documents: list[Document], *, options: IngestOptions, chunker: Chunker, corpus: str
) -> list[ChunkInput]:
    """The sample of chunks from which the domain of a corpus is inferred. Reads the sources, which the ingest reads again.

    Parameters
    ----------
    paths, documents : see :func:`split_sources`
    options : how files are read
    chunker : chunks the documents
    corpus : its name selects the sample

    Returns
    -------
    list of ChunkInput
        At most five.

    Raises
    ------
    InputError : the paths include standard input, which can be read only once
    """
    from hlgraph.extract.extractor import sampled
    from hlgraph.read.discover import STDIN

    if STDIN in paths:
        raise InputError(
            "standard input can be read once, and a domain is inferred before anything is extracted; write it to a file, "
            "and name that, or give the domain first: hlgraph domain set"
        )
    return sampled(read_sources(paths, documents, options=options), chunker, corpus=corpus)


def noted(items: Iterable[Document | ReadFailure], seen: set[str]) -> Iterator[Document | ReadFailure]:
    """Pass items through, and add the uris of documents to a set.

    Parameters
    ----------
    items : documents and failures
    seen : receives the uris

    Returns
    -------
    Iterator of Document or ReadFailure
        The same items.
    """
    from hlgraph.records import Document

    for entry in items:
        if isinstance(entry, Document):
            seen.add(entry.uri)
        yield entry
