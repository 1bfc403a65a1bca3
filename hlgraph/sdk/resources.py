"""What all views of one open store share: the stores, the models, one executor of the chat model a corpus."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.choose import AnyChat, AnyEmbedder, AnyReranker, ChosenModels
    from hlgraph.models.executor import Executor
    from hlgraph.settings import Settings
    from hlgraph.stores.open import Opened
    from hlgraph.stores.protocols import Stores


@dataclass(slots=True)
class Resources:
    """The open stores and models of some settings; see :func:`open_resources`.

    Attributes
    ----------
    opened : the stores
    models : the models, made when they are first used
    """

    opened: Opened
    models: ChosenModels
    _making: threading.Lock = field(default_factory=threading.Lock)
    _executors: dict[str, Executor] = field(default_factory=dict)

    def watched(self, watch: Callable[[Stores], Stores]) -> Self:
        """The same, with what ``watch`` makes of the stores."""
        return replace(self, opened=self.opened._replace(stores=watch(self.opened.stores)))

    def executor(self, settings: Settings, budget: Budget | None) -> Executor | None:
        """The executor of the chat model for one command in the corpus of the settings; None without a chat model."""
        chat = self.models.chat
        if chat is None:
            return None
        corpus = settings.corpus
        with self._making:  # one gate and one set of kept replies a corpus, also where threads ask first at once
            if corpus not in self._executors:
                from hlgraph.models.accounts.open import executor_of

                made = self._executors[corpus] = executor_of(chat, settings, corpus=corpus)
                self.opened.closing.callback(made.close)
            return self._executors[corpus].begin(budget)


def open_resources(
    settings: Settings, *, embedder: AnyEmbedder | None, reranker: AnyReranker | None, chat: AnyChat | None
) -> Resources:
    """Open the stores of the settings, and choose the models: those given, else those of the settings."""
    from hlgraph.models.choose import ChosenModels
    from hlgraph.stores.open import open_stores

    opened = open_stores(settings)
    models = ChosenModels(settings.models, embedder=embedder, reranker=reranker, chat=chat, closing=opened.closing)
    return Resources(opened, models)
