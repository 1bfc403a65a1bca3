"""What an open corpus gives as attributes, each with calls of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlgraph.domain import DomainTier
    from hlgraph.failures import Failures
    from hlgraph.models.budget import Budget
    from hlgraph.models.choose import ChosenModels
    from hlgraph.models.executor import Executor
    from hlgraph.quality import Quality
    from hlgraph.settings import Settings
    from hlgraph.stores.open import Opened


class Tiers(ABC):
    """The attributes of :class:`hlgraph.client.HLGraph`, which has what they need."""

    settings: Settings
    _opened: Opened
    _models: ChosenModels

    @abstractmethod
    def _executor(self, budget: Budget | None = None) -> Executor | None:
        """The chat model for one command; None where there is none."""

    @property
    def domain(self) -> DomainTier:
        """What the corpus is about, as prompts name it: ``find``, ``infer``, ``set`` and ``clear`` it."""
        from hlgraph.domain import DomainTier

        return DomainTier(self.settings, self._opened.stores, chat=self._executor)

    @property
    def failures(self) -> Failures:
        """The chunks that a chat model could not extract: ``find``, ``retry``, ``accept`` and ``drop`` them."""
        from hlgraph.failures import Failures

        return Failures(self.settings, self._opened.stores, models=self._models, chat=self._executor)

    @property
    def quality(self) -> Quality:
        """How well what was extracted stands for the text: its ``coverage`` and its ``faithfulness``."""
        from hlgraph.quality import Quality

        return Quality(self.settings, self._opened.stores, chat=self._executor)
