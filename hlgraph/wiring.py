"""What the SDK needs more than a line for: what is read and how, the extractor by a chat model, the sources that names mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hlgraph.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from hlgraph.extract import Extractor, Quarantine
    from hlgraph.models.seams import ChatModel
    from hlgraph.read import ReadFailure
    from hlgraph.records import Document, Source
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore

# What a chat model said is stored after so many characters of text, so that an interruption costs no more.
PAID_CHARACTERS = 100_000


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
    """

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    max_bytes: int | None = None
    extract: Literal["local", "precomputed", "chat"] = "local"
    extractions: tuple[str, ...] = ()
    is_chunked: bool = False
    has_delete_missing: bool = False


def chat_extractor(chat: ChatModel | None, settings: Settings, *, corpus: str) -> Extractor:
    """The extractor by this chat model. Raises InputError when there is none, MissingExtraError without pydantic."""
    if chat is None:
        raise InputError(
            "extraction by a chat model needs one; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), "
            "or give it to connect(chat=...)"
        )
    from hlgraph.extract.chat import ChatExtractor

    models = settings.models
    return ChatExtractor(
        chat,
        quarantine=quarantine(settings, corpus),
        concurrency=models.concurrency,
        max_tokens=models.max_tokens,
    )


def quarantine(settings: Settings, corpus: str) -> Quarantine:
    """Where the replies go that could not be used for this corpus of this store."""
    from hlgraph.extract import Quarantine
    from hlgraph.models.local.load import cache_folder

    models = settings.models
    folder = Path(models.quarantine) if models.quarantine else cache_folder(models.cache) / "quarantine"
    scheme, _, rest = settings.store.partition("://")
    place = str(Path(rest).expanduser().resolve()) if scheme == "hlgraph" else settings.store
    return Quarantine(folder, store=place, corpus=corpus)


def release_removed(settings: Settings, corpus: str, *, graph: GraphStore) -> None:
    """Drop what the quarantine holds of sources and chunks that are not stored any more."""
    from hlgraph.records import Chunk, Kind
    from hlgraph.stores.protocols import Scope

    kept = quarantine(settings, corpus)
    held = kept.held()
    if not held:
        return
    texts: dict[str, set[str]] = {}
    for record in graph.find(Kind.CHUNK, Scope(corpus, sources=tuple(held))):
        if isinstance(record, Chunk):
            texts.setdefault(record.source_id, set()).add(record.text)
    kept.retain(texts)


def named(sources: list[Source], uris: Sequence[str], *, corpus: str) -> list[Source]:
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


def noted(items: Iterable[Document | ReadFailure], seen: set[str]) -> Iterator[Document | ReadFailure]:
    """The same items; the uris of documents are noted on the way."""
    from hlgraph.records import Document

    for item in items:
        if isinstance(item, Document):
            seen.add(item.uri)
        yield item
