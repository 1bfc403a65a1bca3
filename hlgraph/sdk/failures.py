"""List the chunks whose extraction by a chat model failed or is incomplete; retry them, correct them, or accept the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from hlgraph import progress
from hlgraph.errors import InputError, UnknownNameError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.quarantine import Quarantine, Quarantined, quarantine
from hlgraph.ids import checksum
from hlgraph.index.embed import check_model, embed_change
from hlgraph.ingest.delete import Removals
from hlgraph.ingest.forget import forgetting
from hlgraph.ingest.options import NO_CHAT
from hlgraph.ingest.pipeline import BATCH_CHARACTERS
from hlgraph.ingest.report import Report
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.choose import ChosenModels, executor_of
from hlgraph.models.executor import Executor, Request
from hlgraph.models.protocols import Completion
from hlgraph.persist.assemble import Extracted, assemble
from hlgraph.persist.compare import awaited_hash, complete, incomplete, is_same_extraction
from hlgraph.persist.journal import persist, resume
from hlgraph.records import Chunk, Extraction, Kind, Source, group_by
from hlgraph.sdk.arguments import checked
from hlgraph.settings import Settings
from hlgraph.stores.batches import filled
from hlgraph.stores.protocols import Scope, Stores, by_source, domain_of, read_records

ACCEPTED, DROPPED = "accepted by hand", "dropped by hand"
_FEWEST = 4  # minimum length of an abbreviated id


@dataclass(slots=True)
class Mending:
    """The result of a retry, or of a reply corrected by hand.

    Attributes
    ----------
    mended : ids of resolved failures; their chunks are in the graph
    failed : failures that failed again or are still incomplete, with the new reason
    waiting : failures of chunks that are not in the graph because their ingest was killed; the next ingest retries them
    gone : requested ids that an interrupted run of the same command had already resolved
    left_out : names in a manual reply that are neither in its list of entities nor in their sentence
    report : counts of the changes to the graph, and the usage of the chat model
    """

    mended: list[str] = field(default_factory=list)
    failed: list[Quarantined] = field(default_factory=list)
    waiting: list[Quarantined] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    left_out: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True)
class _Solved:
    """The new extraction of a failed chunk, and its extractor."""

    entry: Quarantined
    extraction: Extraction
    made_by: str


@checked
@dataclass(frozen=True, slots=True)
class Failures:
    """The failed chunks of one corpus, and the chunks whose extraction left parts out (``dropped``).

    Parameters
    ----------
    settings, stores : settings that name the corpus, and the open stores
    models : the embedder, created at its first use
    chat : makes the executor of the chat model for one retry, within a budget; None without a chat model

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph", chat="openai:gpt-4o") as graph:
            for failure in graph.failures.find():
                print(failure.id, failure.chunk.uri, failure.reason)
            graph.failures.retry()
    """

    settings: Settings
    stores: Stores
    models: ChosenModels
    chat: Callable[[Budget | None], Executor | None]

    def find(self, ids: Sequence[str] | None = None) -> list[Quarantined]:
        """List the failed chunks, all or those with these ids, by uri and position.

        A unique prefix of at least 4 characters may stand for an id. Raises UnknownNameError for an unknown id, and InputError
        for an ambiguous prefix.
        """
        entries = self._kept.entries()
        if ids is None:
            return entries
        return list(
            {failure.id: failure for name in ids for failure in [_named(entries, name, self.settings.corpus)]}.values()
        )

    def retry(
        self,
        ids: Sequence[str] | None = None,
        *,
        budget: Budget | None = None,
        ground: Literal["words", "chat", "off"] | None = None,
    ) -> Mending:
        """Extract failed chunks again with the chat model of the settings.

        A chunk that succeeds is written as in an ingest, and is no longer a failure. A chunk that fails again stays a
        failure, with the new reason. A source without remaining failures counts as unchanged in the next ingest, even if
        another model extracted its last chunk.

        Parameters
        ----------
        ids : ids of failures; None: all
        budget : limit of tokens and money for the calls
        ground : how propositions are checked against their chunk, see :meth:`hlgraph.HLGraph.ingest`; None: the setting
            ``models.ground``. With ``off``, propositions that were left out are stored, from the stored replies if they are kept

        Returns
        -------
        Mending

        Raises
        ------
        UnknownNameError : no failure has such an id
        InputError : there is no chat model
        MissingExtraError : pydantic is missing
        StoreLockedError : another process is writing
        ModelError, BudgetError : the model answers no more calls; what succeeded before stays
        """
        from hlgraph.extract.chat import ChatExtractor

        mending = Mending()
        calls = self.chat(budget)
        if calls is None:
            raise InputError(NO_CHAT)
        extractor = ChatExtractor(
            calls,
            quarantine=self._kept,
            max_tokens=self.settings.models.max_tokens,
            domain=domain_of(self.stores, self.settings.corpus),
            most_tries=None,
            ground=ground or self.settings.models.ground,
        )
        mending.report.usage = extractor.usage
        with self._writing(mending.report), self._named(ids, mending) as wanted:
            stored = self._stored(wanted)
            mending.waiting = [entry for entry in wanted if entry not in stored]
            if stored:
                self._check_model()
            for batch in filled(stored, BATCH_CHARACTERS, measured=lambda entry: len(entry.chunk.text)):
                with progress.step("extract", len(batch), unit="chunks"):
                    extractions = extractor.extract([entry.chunk for entry in batch])
                pairs = list(zip(batch, extractions, strict=True))
                good = [
                    _Solved(entry, extraction, extractor.fingerprint)
                    for entry, extraction in pairs
                    if not extraction.is_failed
                ]
                mending.report.dropped += sum(extraction.dropped for extraction in extractions)
                mending.report.ungrounded += sum(extraction.ungrounded for extraction in extractions)
                self._write(good, mending)
                again = (self._kept.find(entry.chunk) for entry, extraction in pairs if not _is_whole(extraction))
                mending.failed += [entry for entry in again if entry is not None]
                if extractor.end is not None:
                    break
        if extractor.end is not None:
            raise extractor.end
        return mending

    def accept(self, name: str, reply: str) -> Mending:
        """Add the statements of a manually corrected reply to the graph. Calls no model.

        Parameters
        ----------
        name : the id of the failure
        reply : a JSON object in the form of the prompts, ``{"propositions": [...]}``, with ``"entities": [...]`` if the model's own
            list has to be replaced; it is checked and stored like a reply of the model

        Returns
        -------
        Mending

        Raises
        ------
        UnknownNameError : no failure has this id
        InputError : the reply has another form, or the chunk is not in the graph
        """
        from hlgraph.extract.chat import ReplyError, mended

        mending = Mending()
        with self._writing(mending.report), self._named([name], mending) as entries:
            for entry in entries:
                try:
                    domain = domain_of(self.stores, self.settings.corpus)
                    read = mended(entry.chunk, reply, replies=entry.replies, domain=domain)
                except ReplyError as error:
                    raise InputError(
                        f"the reply for {entry.id} cannot be used: {error}; correct it: hlgraph failures show {entry.id} "
                        'prints the text and what the model replied, and the form is {"propositions": [{"text": ..., '
                        '"topics": [...], "entities": [...], "facts": [...]}]}'
                    ) from error
                self._check_stored(entry)
                # Before the chunk is written: afterwards it is no longer a failure, so an interrupted command could not resume.
                self._keep_replies(entry, [(call.prompt, call.messages, call.reply) for call in read.calls])
                self._write([_Solved(entry, read.extraction, f"{entry.extractor} {ACCEPTED}")], mending)
                mending.left_out = read.left_out
        return mending

    def drop(self, name: str) -> Mending:
        """Accept a failed chunk without statements, or an incomplete one as it is, so that it no longer counts as a failure.

        Statements that another extractor made from a chunk without an extraction are removed. Raises UnknownNameError for an id
        that no failure has.
        """
        mending = Mending()
        with self._writing(mending.report), self._named([name], mending) as entries:
            for entry in entries:
                if entry.dropped:
                    self._kept.release(entry.chunk)
                    mending.mended.append(entry.id)
                    continue
                self._check_stored(entry)
                self._write([_Solved(entry, Extraction(), f"{entry.extractor} {DROPPED}")], mending)
        return mending

    # Parts

    @property
    def _kept(self) -> Quarantine:
        return quarantine(self.settings, self.settings.corpus)

    @contextmanager
    def _writing(self, report: Report) -> Iterator[None]:
        """Hold the write lock; at the end, delete what the change removed from the quarantine and the stored replies."""
        graph = self.stores.graph
        with graph.lock(self.settings.corpus) as pending:
            report.resumed = resume(pending, self.stores, corpus=self.settings.corpus)
            with forgetting(self.settings, self.settings.corpus, graph=graph, is_filled=True) as done:
                yield
                done.append(report)

    @contextmanager
    def _named(self, names: Sequence[str] | None, mending: Mending) -> Iterator[list[Quarantined]]:
        """Yield the failures with these ids, recorded during the block; ids that an interrupted run resolved go to ``gone``."""
        entries = self._kept.entries()
        if names is None:
            yield entries
            return
        failures: dict[str, Quarantined] = {}
        with Removals(self.settings, "failure") as removals:
            noted = removals.of(names)
            for name in dict.fromkeys(names):
                try:
                    failures[name] = _named(entries, name, self.settings.corpus)
                except UnknownNameError:
                    if name not in noted:
                        raise
                    mending.gone += sorted(noted[name].ids)
            with removals.removing({name: [failure.id] for name, failure in failures.items()}):
                yield list({failure.id: failure for failure in failures.values()}.values())

    def _check_stored(self, entry: Quarantined) -> None:
        if not self._stored([entry]):
            raise InputError(
                f"the chunk of {entry.id} is not in the graph; ingest {entry.chunk.uri} again, which tries it too"
            )
        self._check_model()

    def _check_model(self) -> None:
        stats = self.stores.graph.stats(self.settings.corpus, has_counts=False)
        check_model(stats, self.models.embedder_of(stats))

    def _stored(self, entries: Sequence[Quarantined]) -> list[Quarantined]:
        """The failures whose chunk is in the graph; a killed ingest leaves failures of chunks that it did not store."""
        _, chunks = self._read(entries)
        return [entry for entry in entries if _same_text(entry, chunks.get(entry.chunk.source, ()))]

    def _read(self, entries: Sequence[Quarantined]) -> tuple[dict[str, Source], dict[str, list[Chunk]]]:
        """The sources of these failures, and all their chunks."""
        names = sorted({entry.chunk.source for entry in entries})
        graph = self.stores.graph
        sources = read_records(graph, Source, ids=names, scope=Scope(self.settings.corpus))
        chunks = graph.find(Kind.CHUNK, Scope(self.settings.corpus, sources=tuple(sources))) if sources else ()
        return sources, by_source(chunks, Chunk)

    def _write(self, extracted: Sequence[_Solved], mending: Mending) -> None:
        """Write the extractions in one change, and remove their failures from the quarantine."""
        if not extracted:
            return
        sources, chunks = self._read([item.entry for item in extracted])
        by_source = group_by(extracted, lambda item: item.entry.chunk.source)
        batch = [_extracted(sources[name], chunks[name], items) for name, items in sorted(by_source.items())]
        change = assemble(self.settings.corpus, batch)
        embedder = self.models.embedder_of(self.stores.graph.stats(self.settings.corpus, has_counts=False))
        known = frozenset(name for item in batch for name in item.plan.known)
        change = embed_change(change, known, embedder=embedder, stores=self.stores)
        outcome = persist(change, self.stores)
        mending.report.count(outcome.added, outcome.vanished)
        mending.report.sources_changed += len(batch)
        for item in extracted:
            if _is_whole(item.extraction):
                self._kept.release(item.entry.chunk)
                mending.mended.append(item.entry.id)

    def _keep_replies(self, entry: Quarantined, calls: Sequence[tuple[str, tuple[str, str], str]]) -> None:
        """Store the corrected replies as those of the model, so that no model is asked about the same text again."""
        from hlgraph.ingest.plan import NamedChat

        chunk, most = entry.chunk, self.settings.models.max_tokens
        executor = executor_of(NamedChat(entry.model), self.settings, corpus=self.settings.corpus)
        try:
            if executor.accounts.replies is not None:
                for prompt, messages, reply in calls:
                    purpose = Purpose(stage="extract", source=chunk.source, part=checksum(chunk.text), prompt=prompt)
                    executor.keep(Request(*messages, most, purpose, bool), Completion(reply))
        finally:
            executor.close()


def _is_whole(extraction: Extraction) -> bool:
    """Whether an extraction succeeded and nothing was left out of it."""
    return not (extraction.is_failed or extraction.dropped or extraction.ungrounded)


def _same_text(entry: Quarantined, chunks: Sequence[Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks if chunk.text == entry.chunk.text]


def _extracted(source: Source, chunks: Sequence[Chunk], extracted: Sequence[_Solved]) -> Extracted:
    """A source with the extractions of some of its chunks, as an ingest of its document would produce them."""
    pairs: list[tuple[Chunk, ChunkInput]] = []
    extractions: list[Extraction] = []
    for solved in extracted:
        entry = solved.entry
        same = _same_text(entry, chunks)
        for chunk in same:
            # The stored headings are those of the last extraction that succeeded; the ingest that failed saw newer ones.
            headings = entry.chunk.headings if len(same) == 1 else chunk.headings
            context = replace(entry.chunk, title=source.title, headings=headings, position=chunk.position)
            fingerprint = f"{awaited_hash(entry.extractor, context)} {solved.made_by}"
            pairs.append((replace(chunk, headings=headings, fingerprint=fingerprint), context))
            extractions.append(solved.extraction)
    mended = {chunk.id for chunk, _ in pairs}
    extractors = {solved.entry.extractor for solved in extracted}
    is_lacking = len(extractors) > 1 or any(
        not is_same_extraction(
            chunk.fingerprint, awaited_hash(extractor, ChunkInput(chunk.text, source.title, chunk.headings))
        )
        for extractor in extractors
        for chunk in chunks
        if chunk.id not in mended
    )
    state = incomplete(source.checksum) if is_lacking else complete(source.checksum)
    return Extracted.again(source, pairs, extractions=extractions, checksum=state)


def _named(entries: Sequence[Quarantined], name: str, corpus: str) -> Quarantined:
    matches = [entry for entry in entries if entry.id == name]
    if not matches and len(name) >= _FEWEST:
        matches = [entry for entry in entries if entry.id.startswith(name)]
    if len(matches) > 1:
        raise InputError(f"{name} begins {len(matches)} failures of corpus {corpus!r}; give more of the id")
    if not matches:
        raise UnknownNameError(f"corpus {corpus!r} has no failure {name!r}; hlgraph failures list shows the failures")
    return matches[0]
