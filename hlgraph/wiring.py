"""What the SDK needs more than a line for: what is read and how, the extractor by a chat model, the sources that names mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hlgraph.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from hlgraph.batches import Batches, BatchReport
    from hlgraph.chunk import Chunker
    from hlgraph.extract import ChunkInput, Extractor
    from hlgraph.models.budget import Budget
    from hlgraph.models.choose import AnyChat
    from hlgraph.models.executor import Executor
    from hlgraph.models.seams import ChatModel
    from hlgraph.planning import Plan
    from hlgraph.read import ReadFailure
    from hlgraph.records import Document, Domain, Source
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore, Stores
    from hlgraph.where import Where

# What a chat model said is stored after so many characters of text, so that an interruption costs no more.
PAID_CHARACTERS = 100_000
NO_CHAT = (
    "extraction by a chat model needs one; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), "
    "or give it to connect(chat=...)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """How sources are read, cut and extracted.

    Attributes
    ----------
    format, mapping, encoding, max_bytes : see :class:`hlgraph.read.ReadOptions`
    extract : ``local`` (rules), ``precomputed`` (records of ``extractions``) or ``chat`` (the chat model)
    extractions : JSON lines files for ``precomputed``
    is_chunked : each document is one chunk already (passages)
    has_delete_missing : remove stored sources under the given paths that are not there any more
    budget : what ``chat`` may spend; then it ends with BudgetError, what was extracted is kept, and the same call goes on
    is_adapted : ``chat`` infers the domain of the corpus first, by one call about five chunks, where it has none; a corpus that
        has one is always extracted by it (see :mod:`hlgraph.domain`)
    """

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    max_bytes: int | None = None
    extract: Literal["local", "precomputed", "chat"] = "local"
    extractions: tuple[str, ...] = ()
    is_chunked: bool = False
    has_delete_missing: bool = False
    budget: Budget | None = None
    is_adapted: bool = False

    def __post_init__(self) -> None:
        """Check that a budget has something to hold back, and that a domain is for a chat model."""
        if self.is_adapted and self.extract != "chat":
            raise InputError(
                f"extraction by {self.extract!r} knows no domain, since only the prompts of a chat model name it; add "
                "--extract chat (extract='chat'), or leave --adapt (is_adapted) out"
            )
        if self.budget is not None and self.extract != "chat":
            raise InputError(
                f"extraction by {self.extract!r} costs nothing, so it has no budget; leave the budget out, or "
                "extract by a chat model"
            )


def chunker_of(options: IngestOptions, settings: Settings) -> Chunker:
    """What cuts documents."""
    from hlgraph.chunk import ContentDefinedChunker, WholeChunker

    if options.is_chunked:
        return WholeChunker()
    return ContentDefinedChunker(settings.chunk.max_tokens, settings.chunk.overlap)


def extractor_of(
    options: IngestOptions,
    settings: Settings,
    *,
    calls: Callable[[], Executor | None],
    corpus: str,
    domain: Domain | None = None,
) -> Extractor:
    """What finds statements; ``calls`` makes the executor where a chat model does that, by the ``domain`` of the corpus.

    Raises InputError for what is missing, UnknownNameError for no such extractor, MissingExtraError without pydantic.
    """
    from hlgraph.extract import LocalExtractor, PrecomputedExtractor

    if options.extract == "local":
        return LocalExtractor()
    if options.extract == "precomputed":
        if not options.extractions:
            raise InputError("precomputed extraction needs files with its records; name them with --extractions")
        return PrecomputedExtractor([Path(item) for item in options.extractions])
    if options.extract == "chat":
        return _chat_extractor(calls(), settings, corpus=corpus, domain=domain)
    raise UnknownNameError(f"there is no extractor {options.extract!r}; choose local, precomputed or chat")


def _chat_extractor(calls: Executor | None, settings: Settings, *, corpus: str, domain: Domain | None) -> Extractor:
    """The extractor by this chat model. Raises InputError when there is none, MissingExtraError without pydantic."""
    if calls is None:
        raise InputError(NO_CHAT)
    from hlgraph.extract.chat import ChatExtractor
    from hlgraph.spending import quarantine

    models = settings.models
    return ChatExtractor(
        calls,
        quarantine=quarantine(settings, corpus),
        max_tokens=models.max_tokens,
        domain=domain,
    )


def chosen_sources(uris: Sequence[str], where: Where | None, *, corpus: str, graph: GraphStore) -> list[Source]:
    """The stored sources that uris or a filter name; all of the corpus without either.

    Raises UnknownNameError when a uri, or the corpus, is not there, WhereError when no source has a field of the filter.
    """
    from hlgraph.records import Kind, Source
    from hlgraph.stores.protocols import Scope
    from hlgraph.where import check_fields

    stats = graph.stats(corpus, has_counts=False)
    if not stats:
        raise UnknownNameError(f"there is no corpus {corpus!r}; nothing to delete")
    if where is not None:
        check_fields(where, stats[0].fields)
    found = [record for record in graph.find(Kind.SOURCE, Scope(corpus, where)) if isinstance(record, Source)]
    return named(found, uris, corpus=corpus) if uris else found


def named(sources: list[Source], uris: Sequence[str], *, corpus: str, did: str = "deleted") -> list[Source]:
    """Sources by their uri, by the path of their file, or by a folder or a file of rows that they lie in.

    Raises UnknownNameError for a uri of none, which says what was not ``did``.
    """
    from hlgraph.read import is_covered, source_uri

    chosen: dict[str, Source] = {}
    for uri in uris:
        held = [item for item in sources if item.uri == uri]
        if not held:
            path, mark, row = uri.partition("#")
            names = {source_uri(uri), f"{source_uri(uri)}/", f"{source_uri(path)}{mark}{row}" if path else uri}
            held = [item for item in sources if is_covered(item.uri, names)]
        if not held:
            raise UnknownNameError(f"{uri}: no source of corpus {corpus!r} has this uri or path; nothing was {did}")
        chosen |= {item.id: item for item in held}
    return list(chosen.values())


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is said of an extraction by a chat model before it is made, or made elsewhere; of a name no key is needed.

    Parameters
    ----------
    chat : the chat model, by name or as an object
    """

    settings: Settings
    stores: Stores
    chat: AnyChat | None

    def plan(self, sources: str | Path | Iterable[str | Path | Document], options: IngestOptions) -> Plan:
        """What an ingest would cost. Raises InputError where no chat model is named."""
        from hlgraph.planning import Planner
        from hlgraph.spending import quarantine

        given, corpus = split_sources(sources), self.settings.corpus
        with self._executor() as executor:
            held = quarantine(self.settings, corpus)
            most = self.settings.models.max_tokens
            planner = Planner(executor, max_tokens=most, domain=self._domain, quarantine=held)
            chunker = chunker_of(options, self.settings)
            if options.is_adapted and planner.domain is None:
                planner.adapt(samples_of(*given, options=options, chunker=chunker, corpus=corpus))
            return planner.plan(read_sources(*given, options=options), stores=self.stores, chunker=chunker)

    def export(
        self, sources: str | Path | Iterable[str | Path | Document], options: IngestOptions, *, path: Path
    ) -> BatchReport:
        """Write the calls that can be made now.

        Raises InputError for a file that cannot be written, and where a domain is asked for that has to be inferred first.
        """
        with self._executor() as executor:
            batches = self._batches(executor, options)
            chunker = chunker_of(options, self.settings)
            try:
                with path.open("w", encoding="utf-8") as out:
                    return batches.export(_items(sources, options), out, stores=self.stores, chunker=chunker)
            except OSError as error:
                raise InputError(
                    f"{path}: the batch cannot be written there ({error.strerror}); name a file in a folder that is there"
                ) from error

    def take(
        self,
        sources: str | Path | Iterable[str | Path | Document],
        options: IngestOptions,
        *,
        results: Sequence[Path],
    ) -> BatchReport:
        """Keep what came back. Raises InputError for a file that holds no results."""
        with self._executor() as executor:
            batches = self._batches(executor, options)
            chunker = chunker_of(options, self.settings)
            return batches.take(_items(sources, options), results, stores=self.stores, chunker=chunker)

    @property
    def _domain(self) -> Domain | None:
        from hlgraph.stores.domains import domain_of

        return domain_of(self.stores, self.settings.corpus)

    def _batches(self, executor: Executor, options: IngestOptions) -> Batches:
        from hlgraph.batches import Batches
        from hlgraph.spending import quarantine

        domain = self._domain
        if options.is_adapted and domain is None:
            raise InputError(
                f"corpus {self.settings.corpus!r} has no domain, and a batch cannot infer one; run hlgraph domain infer, or "
                "hlgraph domain set, first"
            )
        held = quarantine(self.settings, self.settings.corpus)
        return Batches(executor, max_tokens=self.settings.models.max_tokens, domain=domain, quarantine=held)

    @contextmanager
    def _executor(self) -> Iterator[Executor]:
        from hlgraph.models.choose import chosen_chat
        from hlgraph.planning import NamedChat
        from hlgraph.spending import executor_of

        if not self.chat:
            raise InputError(NO_CHAT)
        is_name = isinstance(self.chat, str)
        model: ChatModel = NamedChat(str(self.chat)) if is_name else chosen_chat(self.chat, self.settings.models)
        executor = executor_of(model, self.settings, corpus=self.settings.corpus)
        try:
            yield executor
        finally:
            executor.close()


def _items(
    sources: str | Path | Iterable[str | Path | Document], options: IngestOptions
) -> Iterator[Document | ReadFailure]:
    paths, documents = split_sources(sources)
    return read_sources(paths, documents, options=options)


def split_sources(sources: str | Path | Iterable[str | Path | Document]) -> tuple[list[str], list[Document]]:
    """Paths and documents apart."""
    from hlgraph.records import Document

    items = [sources] if isinstance(sources, str | Path) else list(sources)
    paths = [str(item) for item in items if not isinstance(item, Document)]
    return paths, [item for item in items if isinstance(item, Document)]


def read_sources(
    paths: list[str], documents: list[Document], *, options: IngestOptions
) -> Iterator[Document | ReadFailure]:
    """The documents, then what stands at the paths."""
    from hlgraph.read import ReadOptions, read

    reading = ReadOptions(options.format, options.mapping, options.encoding)
    if options.max_bytes is not None:
        reading = replace(reading, max_bytes=options.max_bytes)
    yield from documents
    if paths:
        yield from read(paths, reading)


def samples_of(
    paths: list[str], documents: list[Document], *, options: IngestOptions, chunker: Chunker, corpus: str
) -> list[ChunkInput]:
    """The chunks of these sources that stand for them all; the sources are read for it, and can be read again.

    Raises InputError for standard input, which can be read once.
    """
    from hlgraph.extract.domain import sampled
    from hlgraph.read.discover import STDIN

    if STDIN in paths:
        raise InputError(
            "standard input can be read once, and a domain is inferred before anything is extracted; write it to a file, "
            "and name that, or give the domain first: hlgraph domain set"
        )
    return sampled(read_sources(paths, documents, options=options), chunker, corpus=corpus)


def noted(items: Iterable[Document | ReadFailure], seen: set[str]) -> Iterator[Document | ReadFailure]:
    """The same items; the uris of documents are noted on the way."""
    from hlgraph.records import Document

    for item in items:
        if isinstance(item, Document):
            seen.add(item.uri)
        yield item
