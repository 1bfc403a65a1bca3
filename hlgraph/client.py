"""HLGraph, the SDK: wires stores, models and stages; short methods."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from hlgraph.answering import Answering
from hlgraph.errors import InputError
from hlgraph.settings import Settings, at_store, load
from hlgraph.tiers import Tiers
from hlgraph.wiring import Forecast, IngestOptions

if TYPE_CHECKING:
    from hlgraph.communities import CommunityTier
    from hlgraph.hierarchy import HierarchyTier
    from hlgraph.ingestion import Ingestion
    from hlgraph.merges import MergeTier
    from hlgraph.models.budget import Budget
    from hlgraph.models.choose import AnyChat, AnyEmbedder, AnyReranker
    from hlgraph.models.executor import Executor
    from hlgraph.models.ledger import GroupBy, Spent
    from hlgraph.pipeline import Progress, Report
    from hlgraph.planning import Plan
    from hlgraph.reconcile import Drift
    from hlgraph.records import Document
    from hlgraph.retrieve import SearchRequest, SearchResult
    from hlgraph.retrieve.request import Mode, SearchOptions, Unit
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.stores.cypher import Limits, Table
    from hlgraph.stores.open import Finding
    from hlgraph.stores.protocols import CorpusStats, Stores
    from hlgraph.where import Where

__all__ = ["HLGraph", "IngestOptions", "connect"]


class HLGraph(Tiers, Answering):
    """One corpus of one store, open for use; a context manager.

    Parameters
    ----------
    settings : where the store is, which corpus, which models
    embedder, reranker, chat : models to use instead of those of the settings: an object of ours or of LangChain, or a name
        such as ``openai:gpt-4o-mini``

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.ingest(["docs/"])
            for evidence in graph.search("Who built the bridge?").evidence:
                print(evidence.text, evidence.source.title)
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: AnyEmbedder | None = None,
        reranker: AnyReranker | None = None,
        chat: AnyChat | None = None,
    ) -> None:
        from hlgraph.models.choose import ChosenModels
        from hlgraph.stores.open import open_stores

        self.settings = settings
        self.corpus = settings.corpus
        self._opened = open_stores(settings)
        self._models = ChosenModels(
            settings.models, embedder=embedder, reranker=reranker, chat=chat, closing=self._opened.closing
        )
        self._making = threading.Lock()
        self._executors: dict[str, Executor] = {}

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
        other._models = self._models
        other._making = self._making
        other._executors = self._executors
        return other

    def watched(self, watch: Callable[[Stores], Stores]) -> HLGraph:
        """The same, reading through what ``watch`` makes of the stores; closing either closes both."""
        other = self.in_corpus(self.corpus)
        other._opened = self._opened._replace(stores=watch(self._opened.stores))
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

        Raises InputError for options that cannot be used, StoreLockedError while another process writes, BudgetError when
        the budget of the options did not reach.
        """
        return self.ingestion.bring(sources, options or IngestOptions(), on_progress=on_progress)

    @property
    def ingestion(self) -> Ingestion:
        """What an ingest is made of, for those who run its steps elsewhere, such as :mod:`hlgraph.integrations.ray`."""
        from hlgraph.ingestion import Ingestion

        return Ingestion(self.settings, self.corpus, self._opened, self._models, self._executor)

    def plan(
        self, sources: str | Path | Iterable[str | Path | Document], *, options: IngestOptions | None = None
    ) -> Plan:
        """What :meth:`ingest` by the chat model would cost in calls, tokens, money and time; nothing is asked or written.

        Raises InputError for options that cannot be used, and where no chat model is named.
        """
        return self.batches.plan(sources, options or IngestOptions())

    @property
    def batches(self) -> Forecast:
        """Extraction by batches of a provider: ``export`` the calls into a file, ``take`` what came back."""
        return Forecast(self.settings, self._opened.stores, self._models.chat_asked_for)

    def delete(
        self, uris: str | Sequence[str] = (), *, where: Where | str | None = None, is_all: bool = False
    ) -> Report:
        """Remove sources, named by uri (or path), by filter, or all of the corpus, and everything that only they assert.

        With all of it a domain goes that a model inferred; one that a person wrote stays.

        Raises UnknownNameError when a uri is not in the corpus, WhereError when the filter names a field that no source has:
        then nothing is removed.
        """
        from hlgraph import pipeline
        from hlgraph.domain import drop_inferred
        from hlgraph.spending import forgetting
        from hlgraph.wiring import chosen_sources

        if bool(uris) + (where is not None) + is_all != 1:
            raise InputError("say what to delete in one way: uris, a filter, or all of the corpus")
        stores = self._opened.stores
        names = [uris] if isinstance(uris, str) and uris else uris
        chosen = [
            item.id for item in chosen_sources(names, self._checked(where), corpus=self.corpus, graph=stores.graph)
        ]
        with forgetting(self.settings, self.corpus, graph=stores.graph, is_all=is_all) as done:
            if is_all:  # first: killed after the sources, nobody would think of it again
                drop_inferred(stores, self.corpus)
            report = pipeline.delete(chosen, self.corpus, stores=stores, batch_sources=self._opened.batch_removed)
            done.append(report)
        return report

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
        **options: Unpack[SearchOptions],
    ) -> SearchResult:
        """Evidence for a question, best first, with an explanation of how it was found.

        ``diversity``, ``tabular`` and ``explain`` (default False; then ``result.explain.to_html()`` draws it): see
        :class:`hlgraph.retrieve.SearchRequest`.

        Raises InputError (and its kinds) for a question, filter, strategy or corpus that cannot be used.
        """
        from hlgraph.retrieve import SearchRequest

        request = SearchRequest(question, self.corpus, k, unit, mode, self._checked(where), **options)
        return self._search(request, strategy, self._executor())

    def cypher(
        self, query: str, /, *, folder: str | Path | None = None, limits: Limits | None = None, **params: object
    ) -> Table:
        """What a query of ``cypher/analyst/``, or of a folder, gives; it reads only. Raises what :func:`analyst.run` does."""
        from hlgraph import analyst

        chosen = analyst.load(query, folder)
        return analyst.run(chosen, params, reader=self._opened.cypher, corpus=self.corpus, limits=limits)

    def ledger(self, by: GroupBy = "stage") -> list[Spent]:
        """What calls of chat models have cost so far, the dearest first: of this corpus; by ``corpus``, of all.

        A line whose price nobody has named says so in ``unpriced_calls``. Deleted sources stand there by their ids.
        """
        from hlgraph import spending

        return spending.spent(self.settings, by, corpus=self.corpus, graph=self._opened.stores.graph)

    @property
    def communities(self) -> CommunityTier:
        """The communities of the corpus: ``build`` and ``find`` them."""
        from hlgraph.communities import CommunityTier

        return CommunityTier(self.corpus, self._opened.stores)

    @property
    def hierarchy(self) -> HierarchyTier:
        """The summaries above the chunks, which the strategy ``hierarchy`` searches: ``build`` and ``find`` them."""
        from hlgraph.hierarchy import HierarchyTier

        return HierarchyTier(self.corpus, self._opened.stores, models=self._models, chat=self._executor)

    @property
    def merges(self) -> MergeTier:
        """Entities that are one: ``propose``, ``judge``, ``list``, ``apply`` and ``undo``."""
        from hlgraph.merges import MergeTier

        return MergeTier(self.corpus, self._opened.stores, chat=self._executor)

    def stats(self) -> tuple[CorpusStats, ...]:
        """What every corpus of the store holds."""
        return self._opened.stores.graph.stats()

    def check(self) -> list[Finding]:
        """Whether what is stored agrees with itself: constraints, links, counts, and both stores with each other."""
        return self._opened.check()

    def reconcile(self, *, is_repair: bool = False) -> tuple[Drift, Drift]:
        """How graph and vectors of this corpus differ, and what is left of that: mended where ``is_repair`` says so.

        Lost vectors are made again from the records, lost records by the local extractor from the stored chunks; sources
        that lost a chunk are named, and the next ingest of their documents reads them anew.

        Raises StoreLockedError while another process writes, ModelMismatchError where drift is to be mended and the corpus
        has another model.
        """
        from hlgraph import reconcile

        stores = self._opened.stores
        if not is_repair:
            found = reconcile.find_drift(self.corpus, stores=stores)
            return found, found
        from hlgraph.extract import LocalExtractor

        return reconcile.repair(self.corpus, stores=stores, extractor=LocalExtractor(), embedder=self._models.embedder)

    # Parts

    def _checked(self, where: Where | str | None) -> Where | None:
        if not isinstance(where, str):
            return where
        from hlgraph.where import parse

        return parse(where)

    def _search(self, request: SearchRequest, strategy: str | Retriever, calls: Executor | None) -> SearchResult:
        from hlgraph.retrieve import search

        models, stores = self._models, self._opened.stores
        return search(request, strategy, stores=stores, embedder=models.embedder, reranker=models.reranker, chat=calls)

    def _executor(self, budget: Budget | None = None) -> Executor | None:
        """The chat model for one command; None where there is none."""
        chat = self._models.chat
        if chat is None:
            return None
        with self._making:  # one gate and one set of kept replies a corpus, also where threads ask first at once
            if self.corpus not in self._executors:
                from hlgraph.spending import executor_of

                made = self._executors[self.corpus] = executor_of(chat, self.settings, corpus=self.corpus)
                self._opened.closing.callback(made.close)
            return self._executors[self.corpus].begin(budget)


def connect(
    target: str | Path | Settings | None = None,
    *,
    vectors: str | None = None,
    corpus: str | None = None,
    embedder: AnyEmbedder | None = None,
    reranker: AnyReranker | None = None,
    chat: AnyChat | None = None,
) -> HLGraph:
    """Open a store: a url (``hlgraph://./folder``), a settings file (``hlgraph.yaml``), settings, or what the environment says.

    ``vectors`` is the url of the vector store where the url names a graph server:
    ``connect("neo4j://localhost:7687", vectors="https://localhost:9200")``; passwords come from the environment or a file.

    Raises SettingsError or UnknownNameError for a target that cannot be used. Nothing is created before the first ingest.
    """
    if isinstance(target, Settings):
        settings = target
    elif target is None:
        settings = load()
    elif isinstance(target, str) and "://" in target:
        settings = at_store(load(), target)
    else:
        settings = load(target)
    if vectors is not None:
        settings = replace(settings, vectors=vectors)
    chosen = settings if corpus is None else replace(settings, corpus=corpus)
    return HLGraph(chosen, embedder=embedder, reranker=reranker, chat=chat)
