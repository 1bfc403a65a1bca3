"""Build and list the hierarchy of summaries of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hlgraph import progress
from hlgraph.errors import InputError, UnknownNameError
from hlgraph.index.communities import derived_store
from hlgraph.index.hierarchy import (
    RUN,
    BuiltHierarchy,
    HierarchyQuery,
    alone_among,
    build_hierarchy,
    rehearse_hierarchy,
)
from hlgraph.index.summaries import ChatSummariser, ExtractiveSummariser, Summariser
from hlgraph.models.accounts.budget import Budget, ExpectedCost
from hlgraph.models.choose import ChosenModels
from hlgraph.models.protocols import ChatModel, Embedder
from hlgraph.progress import OnProgress
from hlgraph.records import Community, Source, Summary
from hlgraph.sdk.arguments import check_not_negative, checked
from hlgraph.sdk.batches import planning_executor
from hlgraph.settings import Settings
from hlgraph.stores.derived import Run, Summarised, run_named
from hlgraph.stores.protocols import Scope, Stores, existing, read_records

SUMMARIES = ("auto", "chat", "extractive")


@dataclass(frozen=True, slots=True)
class FoundHierarchy:
    """The summaries of a corpus: the highest layer first, those of most chunks first within a layer.

    Attributes
    ----------
    run : parameters and corpus version of the build; None: none were built
    summaries : each with its community; summaries affected by a change are missing until the next build
    waiting : number of communities of two or more members without a summary, since a member was deleted or changed
    sources : summaries of long sources and of large chunks, each with the uri of its source, ordered by uri, those of whole
        sources first
    alone : number of chunks (and summaries of sources) that are in no community of two or more
    """

    run: Run | None = None
    summaries: tuple[tuple[Summary, Community], ...] = ()
    waiting: int = 0
    sources: tuple[tuple[Summary, str], ...] = ()
    alone: int = 0


@checked
@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The hierarchy of one corpus.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it
    models : the embedder and the chat model, created at their first use
    chat : makes the executor of the chat model for one build, within a budget; None without a chat model
    settings : those of the connection, for a plan

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.hierarchy.build()
            print(graph.search("What is it all about?", strategy="hierarchy").evidence[0].text)
    """

    corpus: str
    stores: Stores
    models: ChosenModels
    chat: Callable[[Budget | None], ChatModel | None]
    settings: Settings = field(default_factory=Settings)

    def build(
        self,
        query: HierarchyQuery | None = None,
        *,
        summaries: str = "auto",
        rebuild: bool = False,
        budget: Budget | None = None,
        on_progress: OnProgress | None = None,
    ) -> BuiltHierarchy:
        """Build the hierarchy, or update it to the current corpus: only what changed is summarised again.

        Parameters
        ----------
        query : thresholds and sizes of the layers; None: the defaults
        summaries : ``chat`` by the chat model, ``extractive`` without one, ``auto`` by the model if there is one
        rebuild : cluster everything again
        budget : of the chat model; if it runs out, nothing is stored; repeating the build pays for no model call twice
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        BuiltHierarchy

        Raises
        ------
        InputError : ``chat`` without a chat model
        BudgetError : the budget does not cover the calls
        And what :func:`hlgraph.index.hierarchy.build_hierarchy` raises.
        """
        with progress.listening(on_progress):
            return build_hierarchy(
                self.corpus,
                query or HierarchyQuery(),
                stores=self.stores,
                embedder=self._embedder(),
                summariser=self._summariser(summaries, budget),
                is_whole=rebuild,
            )

    def plan(
        self,
        query: HierarchyQuery | None = None,
        *,
        rebuild: bool = False,
        on_progress: OnProgress | None = None,
    ) -> ExpectedCost:
        """The cost of :meth:`build` by the chat model. Calls no model and writes nothing.

        The layers above the first one are clustered by the means of the vectors below. So their number of calls is an estimate;
        that of the first layer is exact. Nothing is embedded, and embedding is not included.

        Parameters
        ----------
        query : thresholds and sizes of the layers; None: the defaults
        rebuild : cluster everything again
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        ExpectedCost

        Raises
        ------
        InputError : there is no chat model
        And what :func:`hlgraph.index.hierarchy.rehearse_hierarchy` raises.
        """
        from hlgraph.answer.plan import Rehearsal

        with planning_executor(self.models.chat_asked_for, self.settings) as executor, progress.listening(on_progress):
            rehearsal = Rehearsal(executor)
            rehearse_hierarchy(
                self.corpus,
                query or HierarchyQuery(),
                stores=self.stores,
                embedder=self._embedder(),
                summariser=ChatSummariser(rehearsal),
                is_whole=rebuild,
            )
            return rehearsal.expected()

    def _embedder(self) -> Embedder:
        return self.models.embedder_of(self.stores.graph.stats(self.corpus, has_counts=False))

    def _summariser(self, name: str, budget: Budget | None) -> Summariser:
        if name not in SUMMARIES:
            raise UnknownNameError(f"there are no summaries {name!r}; choose one of {', '.join(SUMMARIES)}")
        chat = self.chat(budget) if name != "extractive" else None
        if name == "chat" and chat is None:
            raise InputError(
                "summaries by a chat model need one; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), "
                "or choose extractive"
            )
        return ExtractiveSummariser() if chat is None else ChatSummariser(chat)

    def find(self, *, level: int | None = None, k: int | None = None) -> FoundHierarchy:
        """The stored summaries; empty if none were built.

        Parameters
        ----------
        level : only summaries of communities of this level, 0 the finest; None: of all levels, and of long sources
        k : maximum number of summaries of communities, and of sources; None: all

        Returns
        -------
        FoundHierarchy

        Raises
        ------
        InputError : a number is negative
        UnknownNameError : there is no such corpus
        """
        check_not_negative(level=level, k=k)
        existing(self.stores.graph, self.corpus)
        derived = derived_store(self.stores)
        run = run_named(derived, self.corpus, name=RUN)
        if run is None:
            return FoundHierarchy()
        communities = {item.id: item for item in derived.communities(self.corpus, RUN, level=level)}
        items = derived.summaries(self.corpus, RUN).items
        pairs = [(item.summary, communities[item.community_id]) for item in items if item.community_id in communities]
        pairs.sort(key=lambda pair: (-pair[1].level, -pair[1].size, pair[0].id))
        about = {community.id for _, community in pairs}
        waiting = sum(item.size > 1 and item.level == 0 and item.id not in about for item in communities.values())
        sources = self._of_sources(items, k) if level is None else ()
        return FoundHierarchy(run, tuple(pairs[:k]), waiting, sources, alone_among(communities.values()))

    def _of_sources(self, items: Sequence[Summarised], k: int | None) -> tuple[tuple[Summary, str], ...]:
        about = sorted({item.source_id for item in items if item.source_id})
        sources = read_records(self.stores.graph, Source, ids=about, scope=Scope(self.corpus))
        pairs = [(item.summary, sources[item.source_id].uri) for item in items if item.source_id in sources]
        pairs.sort(key=lambda pair: (pair[1], -pair[0].level, pair[0].id))
        return tuple(pairs[:k])
