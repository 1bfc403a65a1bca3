"""What the SDK needs more than a line for: what is read and how, the extractor by a chat model, the sources that names mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hlgraph.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from hlgraph.chunk import Chunker
    from hlgraph.extract import Extractor
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.executor import Executor
    from hlgraph.records import Domain
    from hlgraph.settings import Settings

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
    delete_missing : remove stored sources under the given paths that are not there any more
    budget : what ``chat`` may spend; then it ends with BudgetError, what was extracted is kept, and the same call goes on
    adapt : ``chat`` infers the domain of the corpus first, by one call about five chunks, where it has none; a corpus that
        has one is always extracted by it (see :mod:`hlgraph.sdk.domain`)
    """

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    max_bytes: int | None = None
    extract: Literal["local", "precomputed", "chat"] = "local"
    extractions: tuple[str, ...] = ()
    is_chunked: bool = False
    delete_missing: bool = False
    budget: Budget | None = None
    adapt: bool = False

    def __post_init__(self) -> None:
        """Check that a budget has something to hold back, and that a domain is for a chat model."""
        if self.adapt and self.extract != "chat":
            raise InputError(
                f"extraction by {self.extract!r} knows no domain, since only the prompts of a chat model name it; add "
                "--extract chat (extract='chat'), or leave --adapt (adapt) out"
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
    from hlgraph.extract.quarantine import quarantine

    models = settings.models
    return ChatExtractor(
        calls,
        quarantine=quarantine(settings, corpus),
        max_tokens=models.max_tokens,
        domain=domain,
    )
