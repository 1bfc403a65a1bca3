"""The stages: what a process of the cluster does with a parcel, by the steps of the pipeline."""

from __future__ import annotations

import functools
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import HLGraphError
from hlgraph.extract import Metered, Quarantine
from hlgraph.index import MadeVectors, texts_of
from hlgraph.ingest import pipeline
from hlgraph.ingest.options import chunker_of, extractor_of
from hlgraph.ingest.pipeline import BATCH_CHARACTERS, Report
from hlgraph.ingest.run import noted, read_sources
from hlgraph.integrations.ray.books import FarBooks, FarLedger, FarPurse, FarQuarantine, FarReplies
from hlgraph.integrations.ray.parcels import Parcel, Part, packed, unpacked
from hlgraph.models.choose import chosen_chat, chosen_embedder
from hlgraph.settings import Neo4jSettings, OpenSearchSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from hlgraph.chunk import Chunker
    from hlgraph.extract import Extractor
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.models.choose import AnyChat, AnyEmbedder
    from hlgraph.models.executor import Executor
    from hlgraph.models.seams import Embedder
    from hlgraph.records import Domain
    from hlgraph.settings import Settings

_log = logging.getLogger(__name__)
_MOST_SOURCES = 1_000


@dataclass(frozen=True, slots=True)
class Work:
    """What the processes of one ingest have to know.

    Attributes
    ----------
    settings : with absolute paths; the passwords of the stores reach the stage that reads them, and no other
    chat, embedder : by name, or as objects that can be pickled
    chat_name : fingerprint of the chat model; empty: none extracts
    run : tells this ingest from others
    domain : of the corpus, which the prompts of the chat model name
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
        """The same for a stage that opens no store."""
        bare = replace(self.settings, neo4j=Neo4jSettings(), opensearch=OpenSearchSettings())
        return replace(self, settings=bare)

    def __repr__(self) -> str:
        """Nothing of the settings: what a process is made with may be logged."""
        return f"Work({self.corpus!r})"


class _Look:
    """The parts of the pipeline that find out what there is to do; the extractor gives its fingerprints, and asks nobody."""

    def __init__(self, work: Work, batch_characters: int = BATCH_CHARACTERS) -> None:
        self._work = work
        self.batch_characters = batch_characters
        self.batch_sources = _MOST_SOURCES

    @functools.cached_property
    def chunker(self) -> Chunker:
        """What cuts documents."""
        return chunker_of(self._work.options, self._work.settings)

    @functools.cached_property
    def extractor(self) -> Extractor:
        """For its fingerprints."""
        return _named_extractor(self._work)


def _named_extractor(work: Work) -> Extractor:
    """The extractor for its fingerprints."""
    if not work.chat_name:
        return extractor_of(work.options, work.settings, calls=lambda: None, corpus=work.corpus)
    from hlgraph.extract.chat import ChatExtractor
    from hlgraph.ingest.plan import NamedChat

    nowhere = Quarantine(Path(), store="", corpus="")
    return ChatExtractor(NamedChat(work.chat_name), quarantine=nowhere, domain=work.domain)


class Stage(ABC):
    """One parcel in, one parcel out; an error of hlgraph goes along in the parcel, and ends the ingest in its turn.

    Parameters
    ----------
    work : what the ingest is about
    books : the handle of their actor, where a chat model is asked
    """

    def __init__(self, work: Work, books: object = None) -> None:
        self.work = work
        self.books = books
        self._is_begun = False
        self._lock = threading.Lock()

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Do it with each parcel of a table."""
        for parcel in unpacked(table, Parcel):
            if parcel.error is None:
                try:
                    with self._lock:
                        if not self._is_begun:
                            self.begin()
                            self._is_begun = True
                    self.do(parcel)
                except HLGraphError as error:
                    _log.info("%s ends the ingest: %s", type(self).__name__, error)
                    parcel.error = error
            yield packed(parcel)

    @abstractmethod
    def begin(self) -> None:
        """Make what the stage works with, at its first parcel."""

    @abstractmethod
    def do(self, parcel: Parcel) -> None:
        """Put into the parcel what this stage makes."""


class Read:
    """Parts in, parcels with documents out: at least one a part, with what could not be read."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Read the parts of a table."""
        for part in unpacked(table, Part):
            for parcel in self._parcels(part):
                yield packed(parcel)

    def _parcels(self, part: Part) -> Iterator[Parcel]:
        options, report, uris = self._work.options, Report(), set[str]()
        items = noted(read_sources(list(part.paths), list(part.documents), options=options), uris)
        for batch in pipeline.batches(items, report, seen=set(part.taken), steps=_Look(self._work, part.characters)):
            yield Parcel(_taken(report), tuple(uris), batch)
            uris.clear()
        yield Parcel(_taken(report), tuple(uris))


def _taken(report: Report) -> Report:
    """What a report of reading says so far, taken out of it."""
    found = Report(failed=list(report.failed), seconds=dict(report.seconds))
    report.failed.clear()
    report.seconds.clear()
    return found


class Compare(Stage):
    """Documents in, the changed ones out, with the chunks that the store holds of them; it reads the graph store."""

    def begin(self) -> None:
        """Open the stores."""
        from hlgraph.stores.open import open_stores

        self._stores = open_stores(self.work.settings).stores
        self._steps = _Look(self.work)

    def do(self, parcel: Parcel) -> None:
        """Compare."""
        corpus, stores, report = self.work.corpus, self._stores, parcel.report
        parcel.changed = pipeline.compared(parcel.documents, corpus, report=report, stores=stores, steps=self._steps)
        parcel.stored = pipeline.stored_chunks(parcel.changed, corpus, report=report, stores=stores)
        parcel.documents = []


class Cut(Stage):
    """Changed documents in, their chunks out, with those that are to be extracted; it needs no store."""

    def begin(self) -> None:
        """Make the chunker."""
        self._steps = _Look(self.work)

    def do(self, parcel: Parcel) -> None:
        """Cut."""
        parcel.extracted = pipeline.planned(parcel.changed, parcel.stored, report=parcel.report, steps=self._steps)
        parcel.changed, parcel.stored = [], {}


class Extract(Stage):
    """Chunks in, extractions out; where a chat model makes them, by the books that all processes share.

    Two parcels at once keep the calls of a worker at their bound while the last chunks of a parcel are waited for.
    """

    _told = 0, 0

    def begin(self) -> None:
        """Make the extractor."""
        if self.work.chat_name:
            import ray

            far = FarBooks(self.books, ray.get_runtime_context().get_actor_id() or "")
            far.ask("join", far.worker)
            self._extractor: Extractor = _chat_extractor(self.work, far)
        else:
            self._extractor = _named_extractor(self.work)

    def do(self, parcel: Parcel) -> None:
        """Extract."""
        parcel.extracted = pipeline.extract(parcel.extracted, parcel.report, extractor=self._extractor)
        if isinstance(self._extractor, Metered):
            usage = self._extractor.usage
            with self._lock:
                kept, left_out = self._told
                self._told = usage.kept, usage.left_out
                parcel.kept, parcel.left_out = self._told[0] - kept, self._told[1] - left_out


def _chat_extractor(work: Work, far: FarBooks) -> Extractor:
    from hlgraph.extract.chat import ChatExtractor
    from hlgraph.models.accounts.open import executor_of

    if work.chat is None:
        raise TypeError("an ingest by a chat model was begun without one")
    executor = executor_of(chosen_chat(work.chat, work.settings.models), work.settings, corpus=work.corpus)
    return ChatExtractor(
        _with_far_books(executor, far),
        quarantine=FarQuarantine(far),
        max_tokens=work.settings.models.max_tokens,
        domain=work.domain,
    )


def _with_far_books(executor: Executor, far: FarBooks) -> Executor:
    accounts = executor.accounts
    executor.accounts = replace(
        accounts, ledger=FarLedger(far), replies=FarReplies(far) if accounts.replies is not None else None
    )
    return executor.begin(purse=FarPurse(far))


class Embed(Stage):
    """Extractions in, the change that they are out, with the vectors of its texts."""

    def begin(self) -> None:
        """Make the embedder."""
        self._embedder: Embedder = chosen_embedder(self.work.embedder, self.work.settings.models)[0]

    def do(self, parcel: Parcel) -> None:
        """Embed."""
        if not parcel.extracted:
            return
        ready = pipeline.ready(self.work.corpus, parcel.extracted, report=parcel.report)
        with parcel.report.timed("embed"):
            texts = texts_of(ready.change)
            matrix = self._embedder.embed(texts)
        vectors = MadeVectors(texts, matrix, fingerprint=self._embedder.fingerprint)
        parcel.ready, parcel.extracted = ready._replace(embedder=vectors), []


_made: dict[str, Read | Cut] = {}


def read(table: pa.Table, work: Work) -> Iterator[pa.Table]:
    """:class:`Read` as a function for tasks."""
    return _kept(Read, work)(table)


def cut(table: pa.Table, work: Work) -> Iterator[pa.Table]:
    """:class:`Cut` as a function for tasks."""
    return _kept(Cut, work)(table)


def _kept(kind: type[Read | Cut], work: Work) -> Read | Cut:
    """The stage of this process: made at its first parcel, and kept for this ingest."""
    name = f"{kind.__name__} {work.run}"
    if name not in _made:
        for other in [key for key in _made if not key.endswith(work.run)]:
            del _made[other]
        _made[name] = kind(work)
    return _made[name]
