"""HLGraph, the SDK: wires stores, models and stages; short methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.settings import Settings, load

if TYPE_CHECKING:
    from hlgraph.chunk import Chunker
    from hlgraph.extract import Extractor
    from hlgraph.models.seams import Embedder, Reranker
    from hlgraph.pipeline import Progress, Report
    from hlgraph.read import ReadFailure
    from hlgraph.records import Answer, Document, Source
    from hlgraph.retrieve import SearchResult
    from hlgraph.retrieve.request import Mode, Unit
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.stores.open import Finding
    from hlgraph.stores.protocols import CorpusStats
    from hlgraph.where import Where


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """How sources are read, cut and extracted.

    Attributes
    ----------
    format, mapping, encoding, max_bytes : see :class:`hlgraph.read.ReadOptions`
    extract : ``local`` (rules) or ``precomputed`` (records of ``extractions``)
    extractions : JSON lines files for ``precomputed``
    is_chunked : each document is one chunk already (passages)
    has_delete_missing : remove stored sources under the given paths that are not there any more
    """

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    max_bytes: int | None = None
    extract: Literal["local", "precomputed"] = "local"
    extractions: tuple[str, ...] = ()
    is_chunked: bool = False
    has_delete_missing: bool = False


class HLGraph:
    """One corpus of one store, open for use; a context manager.

    Parameters
    ----------
    settings : where the store is, which corpus, which models
    embedder, reranker : objects to use instead of the local models

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.ingest(["docs/"])
            for evidence in graph.search("Who built the bridge?").evidence:
                print(evidence.text, evidence.source.title)
    """

    def __init__(
        self, settings: Settings, *, embedder: Embedder | None = None, reranker: Reranker | None = None
    ) -> None:
        from hlgraph.stores.open import open_stores

        self.settings = settings
        self.corpus = settings.corpus
        self._opened = open_stores(settings.store)
        self._given_embedder = embedder
        self._given_reranker = reranker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._opened.closing.close()

    def in_corpus(self, name: str) -> HLGraph:
        """The same store and models, another corpus; closing either closes both."""
        other = object.__new__(HLGraph)
        other.settings = replace(self.settings, corpus=name)
        other.corpus = name
        other._opened = self._opened
        other._given_embedder = self._given_embedder
        other._given_reranker = self._given_reranker
        return other

    # Writing

    def ingest(
        self,
        sources: str | Path | Iterable[str | Path | Document],
        *,
        options: IngestOptions | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Report:
        """Read sources (paths, globs, ``-`` for standard input, or documents) and bring the corpus to their state.

        Doing so twice changes nothing; an edited source touches only the chunks that changed; killed at any moment, the
        same call completes it. Failures of single sources are in the report.

        Raises InputError for options that cannot be used, StoreLockedError while another process writes.
        """
        from hlgraph import pipeline

        chosen = options or IngestOptions()
        paths, documents = _split(sources)
        stores = self._opened.stores
        seen: set[str] = set()
        with stores.graph.lock():
            steps = pipeline.Steps(
                self._chunker(chosen), self._extractor(chosen), self._embedder(), on_progress=on_progress
            )
            items = _noted(_read(paths, documents, chosen), seen)
            report = pipeline.ingest(items, self.corpus, stores=stores, steps=steps)
            if chosen.has_delete_missing:
                from hlgraph.read import covered

                pipeline.delete_missing(report, covered(paths), corpus=self.corpus, keep=seen, stores=stores)
        return report

    def delete(
        self, uris: str | Sequence[str] = (), *, where: Where | str | None = None, is_all: bool = False
    ) -> Report:
        """Remove sources, named by uri (or path), by filter, or all of the corpus, and everything that only they assert.

        Raises UnknownNameError when a uri is not in the corpus, WhereError when the filter names a field that no source has:
        then nothing is removed.
        """
        from hlgraph import pipeline
        from hlgraph.records import Kind, Source
        from hlgraph.stores.protocols import Scope
        from hlgraph.where import check_fields

        if bool(uris) + (where is not None) + is_all != 1:
            raise InputError("say what to delete in one way: uris, a filter, or all of the corpus")
        stats = self._opened.stores.graph.stats(self.corpus, has_counts=False)
        if not stats:
            raise UnknownNameError(f"there is no corpus {self.corpus!r}; nothing to delete")
        admitted = self._checked(where)
        if admitted is not None:
            check_fields(admitted, stats[0].fields)
        found = [
            record
            for record in self._opened.stores.graph.find(Kind.SOURCE, Scope(self.corpus, admitted))
            if isinstance(record, Source)
        ]
        if uris:
            found = _named(found, [uris] if isinstance(uris, str) else uris, corpus=self.corpus)
        return pipeline.delete([record.id for record in found], self.corpus, stores=self._opened.stores)

    # Reading

    def search(
        self,
        question: str,
        *,
        strategy: str | Retriever = "statement",
        k: int = 10,
        unit: Unit | None = None,
        where: Where | str | None = None,
        mode: Mode = "vector",
    ) -> SearchResult:
        """Evidence for a question, best first, with an explanation of how it was found.

        Raises InputError (and its kinds) for a question, filter, strategy or corpus that cannot be used.
        """
        from hlgraph.retrieve import SearchRequest, search

        request = SearchRequest(question, self.corpus, k, unit, mode, self._checked(where))
        embedder = self._embedder()
        return search(request, strategy, stores=self._opened.stores, embedder=embedder, reranker=self._reranker())

    def answer(
        self,
        question: str,
        *,
        strategy: str | Retriever = "statement",
        k: int = 20,
        where: Where | str | None = None,
        mode: Mode = "vector",
    ) -> Answer:
        """An answer with citations: the best evidence itself (a chat model is not needed)."""
        from hlgraph.answer import extractive_answer

        found = self.search(question, strategy=strategy, k=k, unit="statement", where=where, mode=mode)
        return extractive_answer(question, found.evidence)

    def stats(self) -> tuple[CorpusStats, ...]:
        """What every corpus of the store holds."""
        return self._opened.stores.graph.stats()

    def check(self) -> list[Finding]:
        """Whether what is stored agrees with itself: constraints, links, counts, and both stores with each other."""
        return self._opened.check()

    # Parts

    def _checked(self, where: Where | str | None) -> Where | None:
        if not isinstance(where, str):
            return where
        from hlgraph.where import parse

        return parse(where)

    def _chunker(self, options: IngestOptions) -> Chunker:
        from hlgraph.chunk import ContentDefinedChunker, WholeChunker

        if options.is_chunked:
            return WholeChunker()
        chosen = self.settings.chunk
        return ContentDefinedChunker(chosen.max_tokens, chosen.overlap)

    def _extractor(self, options: IngestOptions) -> Extractor:
        from hlgraph.extract import LocalExtractor, PrecomputedExtractor

        if options.extract == "local":
            return LocalExtractor()
        if options.extract == "precomputed":
            if not options.extractions:
                raise InputError("precomputed extraction needs files with its records; name them with --extractions")
            return PrecomputedExtractor([Path(item) for item in options.extractions])
        raise UnknownNameError(f"there is no extractor {options.extract!r}; choose local or precomputed")

    def _embedder(self) -> Embedder:
        if self._given_embedder is None:
            from hlgraph.models.local.load import cached_embedder

            embedder = cached_embedder(self.settings.models)
            self._opened.closing.callback(embedder.close)
            self._given_embedder = embedder
        return self._given_embedder

    def _reranker(self) -> Reranker:
        if self._given_reranker is None:
            from hlgraph.models.local.reranker import LexicalReranker

            self._given_reranker = LexicalReranker()
        return self._given_reranker


def connect(
    target: str | Path | Settings | None = None,
    *,
    corpus: str | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
) -> HLGraph:
    """Open a store: a url (``hlgraph://./folder``), a settings file (``hlgraph.yaml``), settings, or what the environment says.

    Raises SettingsError or UnknownNameError for a target that cannot be used. Nothing is created before the first ingest.
    """
    if isinstance(target, Settings):
        settings = target
    elif target is None:
        settings = load()
    elif isinstance(target, str) and "://" in target:
        settings = replace(load(), store=target)
    else:
        settings = load(target)
    return HLGraph(
        settings if corpus is None else replace(settings, corpus=corpus), embedder=embedder, reranker=reranker
    )


def _named(sources: list[Source], uris: Sequence[str], *, corpus: str) -> list[Source]:
    """Sources by their uri, by the path of their file, or by a folder or a file of rows that they lie in."""
    from hlgraph.read import is_covered, source_uri

    chosen: dict[str, Source] = {}
    for uri in uris:
        held = [item for item in sources if item.uri == uri]
        if not held:
            path, mark, row = uri.partition("#")
            names = {source_uri(uri), f"{source_uri(uri)}/", f"{source_uri(path)}{mark}{row}" if path else uri}
            held = [item for item in sources if is_covered(item.uri, names)]
        if not held:
            raise UnknownNameError(f"{uri}: no source of corpus {corpus!r} has this uri or path; nothing was deleted")
        chosen |= {item.id: item for item in held}
    return list(chosen.values())


def _split(sources: str | Path | Iterable[str | Path | Document]) -> tuple[list[str], list[Document]]:
    from hlgraph.records import Document

    items = [sources] if isinstance(sources, str | Path) else list(sources)
    paths = [str(item) for item in items if not isinstance(item, Document)]
    return paths, [item for item in items if isinstance(item, Document)]


def _read(paths: list[str], documents: list[Document], options: IngestOptions) -> Iterator[Document | ReadFailure]:
    from hlgraph.read import ReadOptions, read

    reading = ReadOptions(options.format, options.mapping, options.encoding)
    if options.max_bytes is not None:
        reading = replace(reading, max_bytes=options.max_bytes)
    yield from documents
    if paths:
        yield from read(paths, reading)


def _noted(items: Iterable[Document | ReadFailure], seen: set[str]) -> Iterator[Document | ReadFailure]:
    """The same items; the uris of documents are noted on the way."""
    from hlgraph.records import Document

    for item in items:
        if isinstance(item, Document):
            seen.add(item.uri)
        yield item
