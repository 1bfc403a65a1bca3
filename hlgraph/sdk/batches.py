"""Extraction through batch files of a provider: plan, export and import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph import progress
from hlgraph.errors import InputError
from hlgraph.ingest.options import NO_CHAT, IngestOptions, chunker_of
from hlgraph.ingest.run import AnySources, expect, given, read_all, read_sources, samples_of, split_sources
from hlgraph.sdk.arguments import checked
from hlgraph.stores import files

if TYPE_CHECKING:
    from hlgraph.ingest.batches import BatchFiles, BatchReport
    from hlgraph.ingest.plan import Plan
    from hlgraph.models.choose import AnyChat
    from hlgraph.models.executor import Executor
    from hlgraph.models.protocols import ChatModel
    from hlgraph.progress import OnProgress
    from hlgraph.records import Domain
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import Stores


@checked
@dataclass(frozen=True, slots=True)
class Batches:
    """Plans and batch files of an extraction by a chat model. Needs only the name of the model, no API key.

    Parameters
    ----------
    settings, stores : settings that name the corpus, and the open stores
    chat : the chat model, by name or as an object; None: there is none
    """

    settings: Settings
    stores: Stores
    chat: AnyChat | None

    def plan(
        self,
        sources: AnySources,
        options: IngestOptions,
        *,
        on_progress: OnProgress | None = None,
    ) -> Plan:
        """The cost of an ingest by the chat model. Calls no model and writes nothing.

        Parameters
        ----------
        sources : see :meth:`hlgraph.HLGraph.ingest`
        options : how the sources would be read, chunked and extracted
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Plan

        Raises
        ------
        InputError : no chat model is named
        """
        from hlgraph.extract.quarantine import quarantine
        from hlgraph.ingest.plan import Planner

        paths_and_documents, corpus = (
            split_sources(given(sources, mapping=options.mapping).sources),
            self.settings.corpus,
        )
        with progress.listening(on_progress), self._executor() as executor:
            failures = quarantine(self.settings, corpus)
            most = self.settings.models.max_tokens
            planner = Planner(executor, max_tokens=most, domain=self._domain, quarantine=failures)
            chunker = chunker_of(options, self.settings)
            if options.adapt and planner.domain is None:
                planner.adapt(samples_of(*paths_and_documents, options=options, chunker=chunker, corpus=corpus))
            expect(*paths_and_documents, options=options)
            return planner.plan(
                read_sources(*paths_and_documents, options=options), stores=self.stores, chunker=chunker
            )

    def export(self, sources: AnySources, options: IngestOptions, *, path: Path) -> BatchReport:
        """Write every call whose prompt depends on no other reply to a batch file.

        Parameters
        ----------
        sources, options : as for :meth:`plan`
        path : the file

        Returns
        -------
        BatchReport

        Raises
        ------
        InputError : the file cannot be written, no chat model is named, or a domain has to be inferred first
        """
        with self._executor() as executor:
            batches = self._batches(executor, options)
            chunker = chunker_of(options, self.settings)
            try:
                files.reserve(path)
                with path.open("w", encoding="utf-8") as out:
                    return batches.export(
                        read_all(given(sources, mapping=options.mapping).sources, options),
                        out,
                        stores=self.stores,
                        chunker=chunker,
                    )
            except OSError as error:
                raise InputError(
                    f"{path}: the batch cannot be written there ({error.strerror}); name a file in a folder that is there"
                ) from error

    def take(
        self,
        sources: AnySources,
        options: IngestOptions,
        *,
        results: Sequence[Path],
    ) -> BatchReport:
        """Store the replies of result files for the next ingest.

        Parameters
        ----------
        sources, options : as for :meth:`plan`
        results : files that the provider wrote

        Returns
        -------
        BatchReport

        Raises
        ------
        InputError : a file cannot be read or holds no results, or no chat model is named
        """
        with self._executor() as executor:
            batches = self._batches(executor, options)
            chunker = chunker_of(options, self.settings)
            return batches.take(
                read_all(given(sources, mapping=options.mapping).sources, options),
                results,
                stores=self.stores,
                chunker=chunker,
            )

    def _executor(self) -> AbstractContextManager[Executor]:
        if not self.chat:
            raise InputError(NO_CHAT)
        return planning_executor(self.chat, self.settings)

    @property
    def _domain(self) -> Domain | None:
        from hlgraph.stores.protocols import domain_of

        return domain_of(self.stores, self.settings.corpus)

    def _batches(self, executor: Executor, options: IngestOptions) -> BatchFiles:
        from hlgraph.extract.quarantine import quarantine
        from hlgraph.ingest.batches import BatchFiles

        domain = self._domain
        if options.adapt and domain is None:
            raise InputError(
                f"corpus {self.settings.corpus!r} has no domain, and a batch cannot infer one; run hlgraph domain infer, or "
                "hlgraph domain set, first"
            )
        failures = quarantine(self.settings, self.settings.corpus)
        return BatchFiles(executor, max_tokens=self.settings.models.max_tokens, domain=domain, quarantine=failures)


_NO_CHAT_TO_PLAN = (
    "a plan needs the name of a chat model, and none is named; set HLGRAPH_CHAT or models.chat "
    "(such as openai:gpt-4o-mini)"
)


@contextmanager
def planning_executor(chat: AnyChat | None, settings: Settings) -> Iterator[Executor]:
    """The executor for planning the calls of a chat model; a model given by name is not instantiated, so no API key is needed.

    Parameters
    ----------
    chat : the chat model, by name or as an object
    settings : all settings

    Returns
    -------
    Iterator of Executor
        A context manager, which closes its files.

    Raises
    ------
    InputError : there is no chat model
    """
    from hlgraph.ingest.plan import NamedChat
    from hlgraph.models.choose import chosen_chat, executor_of

    if not chat:
        raise InputError(_NO_CHAT_TO_PLAN)
    model: ChatModel = NamedChat(chat) if isinstance(chat, str) else chosen_chat(chat, settings.models)
    executor = executor_of(model, settings, corpus=settings.corpus)
    try:
        yield executor
    finally:
        executor.close()
