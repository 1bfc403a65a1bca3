"""The options of an ingest, and the chunker and the extractor that they select."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.text import groups_of

if TYPE_CHECKING:
    from hlgraph.chunk import Chunker
    from hlgraph.extract import Extractor
    from hlgraph.extract.grounding import Ground
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.executor import Executor
    from hlgraph.read.table_mapping import TableMapping
    from hlgraph.records import Domain
    from hlgraph.settings import Settings

ExtractorName = Literal["local", "spacy", "precomputed", "chat"]
NO_ROWS = "had no effect: it maps the columns of rows (CSV, JSON, JSON lines), and no source that was read has rows"
NO_CHAT = (
    "extraction by a chat model needs one; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), "
    "or give it to connect(chat=...)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """How sources are read, chunked and extracted.

    Attributes
    ----------
    format, mapping, encoding, max_bytes, follow_links, comments : see :class:`hlgraph.read.ReadOptions`
    extract : ``local`` (rules), ``spacy`` (rules and a spaCy pipeline), ``precomputed`` (records of ``extractions``) or
        ``chat`` (the chat model)
    spacy_model : name of an installed model for ``spacy``; None for the one that the extra installs
    extractions : JSON lines files for ``precomputed``
    missing : how ``precomputed`` extracts a chunk without a record: ``nothing`` (default; the report lists it) or ``local``
    is_chunked : each document is already one chunk (a passage)
    rows : maps the columns of tables to entities and facts, in place of an extractor;
        see :func:`hlgraph.read.table_mapping.table_mapping`
    delete_missing : remove stored sources under the given paths that no longer exist there
    budget : limit for ``chat``. When it is spent, the run stops with BudgetError and keeps what was extracted; the same call
        continues
    adapt : ``chat`` first infers the domain of a corpus that has none, in one call about five chunks. If a corpus has a
        domain, the prompts always use it (see :mod:`hlgraph.sdk.domain`)
    ground : how ``chat`` checks a proposition against its chunk, with title, headings and the lines above it: ``words`` (names,
        numbers, dates and negations must be there), ``chat`` (the chat model judges it), or ``off``; None for the setting
        ``models.ground``. What fails is quarantined and counted, not stored. Stored sources are not checked again
    acl : groups of the sources that name none and have none, see :mod:`hlgraph.where`
    acl_tag : key of the tag that names the groups of S3 objects, see :class:`hlgraph.read.ReadOptions`; None: tags are not read
    seen_by : groups: a stored source that names none of them is not replaced; None: any source is
    keep_history : keep all versions of the sources of the corpus from now on, see :mod:`hlgraph.ingest.history`
    receipt : file to which the receipt of ``delete_missing`` is appended; None: no receipt
    receipt_uris : whether the receipt holds uris as text; False: hashes of them

    Raises
    ------
    InputError : a receipt without ``delete_missing``, ``seen_by`` with it, a budget, ``adapt`` or ``ground`` without ``chat``,
        ``spacy_model`` without ``spacy``, or ``rows`` with an extractor or with ``mapping``
    """

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    max_bytes: int | None = None
    follow_links: bool = False
    comments: bool = False
    extract: ExtractorName = "local"
    spacy_model: str | None = None
    extractions: tuple[str, ...] = ()
    missing: Literal["nothing", "local"] = "nothing"
    is_chunked: bool = False
    delete_missing: bool = False
    budget: Budget | None = None
    adapt: bool = False
    rows: TableMapping | None = None
    ground: Ground | None = None
    acl: tuple[str, ...] | None = None
    acl_tag: str | None = None
    seen_by: tuple[str, ...] | None = None
    keep_history: bool = False
    receipt: Path | None = None
    receipt_uris: bool = False

    def __post_init__(self) -> None:
        """Refuse unknown names, and options that have no effect with the chosen extractor."""
        if self.extract not in get_args(ExtractorName):
            raise UnknownNameError(f"there is no extractor {self.extract!r}; choose local, spacy, precomputed or chat")
        if self.acl is not None:
            object.__setattr__(self, "acl", groups_of(self.acl))
        if self.missing not in ("nothing", "local"):
            raise InputError(f"missing is {self.missing!r}; choose nothing or local")
        if self.seen_by is not None and self.delete_missing:
            raise InputError(
                "delete_missing removes sources whatever their groups, and seen_by is for a writer who may not; leave one out"
            )
        if self.receipt is not None and not self.delete_missing:
            raise InputError(
                "a receipt is about what was deleted; write delete_missing as well, or leave the receipt out"
            )
        if self.receipt_uris and self.receipt is None:
            raise InputError("receipt_uris has no effect without receipt; name the file of the receipt")
        if self.rows is not None and (self.extract != "local" or self.mapping):
            given = f"extract={self.extract!r}" if self.extract != "local" else "mapping"
            raise InputError(
                f"a mapping of rows says what is extracted, so {given} has no effect; leave one of them out"
            )
        if self.ground is not None:
            from hlgraph.extract.grounding import check_ground

            check_ground(self.ground)
        if self.ground is not None and self.extract != "chat":
            raise InputError(
                f"extraction by {self.extract!r} takes its statements from the text, so there is nothing to ground; write "
                "extract='chat', or leave ground out"
            )
        if self.adapt and self.extract != "chat":
            raise InputError(
                f"extraction by {self.extract!r} has no use for a domain: only the prompts of a chat model name it; write "
                "extract='chat', or leave adapt out"
            )
        if self.spacy_model is not None and self.extract != "spacy":
            raise InputError(
                f"extraction by {self.extract!r} has no use for a model of spaCy; write extract='spacy', or leave "
                "spacy_model out"
            )
        if self.budget is not None and self.extract != "chat":
            raise InputError(
                f"extraction by {self.extract!r} costs nothing, so it has no budget; leave the budget out, or write "
                "extract='chat'"
            )


def chunker_of(options: IngestOptions, settings: Settings) -> Chunker:
    """The chunker that the options select.

    Parameters
    ----------
    options : ``is_chunked`` keeps each document whole
    settings : the boundaries of chunks, and their size and overlap in tokens

    Returns
    -------
    Chunker
        Content-defined or packed boundaries, or one chunk per document.
    """
    from hlgraph.chunk import ContentDefinedChunker, PackedChunker, WholeChunker

    if options.is_chunked or options.rows is not None:
        return WholeChunker()
    divide = PackedChunker if settings.chunk.boundaries == "packed" else ContentDefinedChunker
    return divide(settings.chunk.max_tokens, settings.chunk.overlap)


def extractor_of(
    options: IngestOptions,
    settings: Settings,
    *,
    calls: Callable[[], Executor | None],
    corpus: str,
    domain: Domain | None = None,
) -> Extractor:
    """The extractor that the options select.

    Parameters
    ----------
    options : ``extract`` names it
    settings : limit of a reply and quarantine of the chat model
    calls : creates the executor of the chat model; called only for ``chat``
    corpus : the corpus
    domain : its domain, which the prompts of a chat model name; default None

    Returns
    -------
    Extractor

    Raises
    ------
    InputError : ``precomputed`` without files, ``chat`` without a chat model
    MissingExtraError : ``chat`` without pydantic, ``spacy`` without spaCy or its default model
    ModelMissingError : another spaCy model is not installed
    """
    from hlgraph.extract import PrecomputedExtractor
    from hlgraph.extract.local import LocalExtractor

    if options.rows is not None:
        from hlgraph.extract.extractor import RowExtractor

        return RowExtractor(options.rows)
    if options.extract == "local":
        return LocalExtractor()
    if options.extract == "spacy":
        from hlgraph.extract.spacy import SpacyExtractor

        return SpacyExtractor(options.spacy_model) if options.spacy_model else SpacyExtractor()
    if options.extract == "precomputed":
        if not options.extractions:
            raise InputError("precomputed extraction needs files with its records; write extractions=['FILE']")
        missing = LocalExtractor() if options.missing == "local" else None
        return PrecomputedExtractor([Path(path) for path in options.extractions], missing=missing)
    executor = calls()
    if executor is None:
        raise InputError(NO_CHAT)
    from hlgraph.extract.chat import ChatExtractor
    from hlgraph.extract.quarantine import quarantine

    failures, most = quarantine(settings, corpus), settings.models.max_tokens
    ground = options.ground or settings.models.ground
    return ChatExtractor(executor, quarantine=failures, max_tokens=most, domain=domain, ground=ground)
