"""How the SDK answers: a search, then the answer stage with the chat model of the command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Unpack

if TYPE_CHECKING:
    from hlgraph.answer.events import AnswerEvent
    from hlgraph.answer.request import AnswerMode, AnswerOptions, AnswerRequest
    from hlgraph.models.budget import Budget
    from hlgraph.models.executor import Executor
    from hlgraph.records import Answer
    from hlgraph.retrieve import SearchRequest, SearchResult
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.settings import Settings
    from hlgraph.where import Where


class _Asked(NamedTuple):
    """What is asked: the answer, and the search for it."""

    request: AnswerRequest
    strategy: str | Retriever
    where: Where | None
    options: AnswerOptions


class Answering(ABC):
    """What answers questions about one corpus, whole or in pieces."""

    corpus: str
    settings: Settings

    @abstractmethod
    def _search(self, request: SearchRequest, strategy: str | Retriever, calls: Executor | None) -> SearchResult:
        """What a search finds."""

    @abstractmethod
    def _executor(self, budget: Budget | None = None) -> Executor | None:
        """The chat model for one command; None where there is none."""

    @abstractmethod
    def _checked(self, where: Where | str | None) -> Where | None:
        """A filter, parsed where it is a text."""

    def answer(
        self,
        question: str,
        *,
        strategy: str | Retriever = "statement",
        k: int | None = None,
        where: Where | str | None = None,
        mode: AnswerMode = "short",
        budget: Budget | None = None,
        **options: Unpack[AnswerOptions],
    ) -> Answer:
        """An answer with citations: by the chat model where there is one, else the best evidence itself.

        ``mode``: ``short`` (default) answers from the best ``k`` pieces of evidence (default 20); ``report`` brings together
        what many pieces say (default 200), community by community with the strategy ``global``, which ``auto`` then picks.
        Options as for :meth:`search`, whose ``mode`` is ``search_mode`` here; the chat model reads the labels of ``tabular``
        beside the evidence. ``budget`` is for the calls of the search and of the answer together.

        ``context_tokens``: of the evidence that the model reads in one call (default 8,000). ``unsupported``: sentences that
        their evidence does not support are named (``flag``, default) or taken out (``drop``); ``verify``: that is found by
        their words (``lexical``, default) or by the chat model (``chat``). ``least_support``: from 0 to 1; evidence that
        speaks less of the question is none. ``choices``: texts of which one is chosen, see ``Answer.choice``. All in
        :class:`hlgraph.answer.request.AnswerRequest`.

        Raises what :meth:`search` raises, InputError for options that cannot be used, ModelError (and its kinds) for a chat
        model that cannot be used, and BudgetError when the budget does not reach.
        """
        from hlgraph.answer.events import last
        from hlgraph.answer.request import request_of

        asked = _Asked(request_of(question, k, mode=mode, options=options), strategy, self._checked(where), options)
        return last(self._events(asked, budget, is_streamed=False))

    def answer_stream(
        self,
        question: str,
        *,
        strategy: str | Retriever = "statement",
        k: int | None = None,
        where: Where | str | None = None,
        mode: AnswerMode = "short",
        budget: Budget | None = None,
        **options: Unpack[AnswerOptions],
    ) -> Iterator[AnswerEvent]:
        """The same as :meth:`answer` while it comes: first the evidence, then pieces of the text, at the end the answer.

        Events are an :class:`hlgraph.answer.events.AnswerEvidence`, then any number of ``AnswerPiece``, last the ``Answer``,
        whose sentences are verified; with ``unsupported="drop"`` its text is shorter than that of the pieces. Where a model
        cannot give pieces, or a kept reply is used, the text comes in one. Closing the iterator ends the call of the model;
        what came until then is counted. Options are checked at once; all other errors come with an event.

        Raises what :meth:`answer` raises.
        """
        from hlgraph.answer.request import request_of

        asked = _Asked(request_of(question, k, mode=mode, options=options), strategy, self._checked(where), options)
        return self._events(asked, budget, is_streamed=True)

    def _events(self, asked: _Asked, budget: Budget | None, *, is_streamed: bool) -> Iterator[AnswerEvent]:
        from hlgraph.answer.events import answering, check_has_chat
        from hlgraph.answer.request import search_options
        from hlgraph.retrieve import SearchRequest
        from hlgraph.retrieve.auto import for_report

        request = asked.request
        strategy = for_report(asked.strategy) if request.mode == "report" else asked.strategy
        by, rest = search_options(asked.options)
        count = request.evidence_count
        first = SearchRequest(request.question, self.corpus, count, "statement", by, asked.where, **rest)
        calls = self._executor(budget)
        check_has_chat(request, calls)

        def find(text: str) -> SearchResult:
            return self._search(replace(first, question=text), strategy, calls)

        max_tokens = self.settings.models.max_tokens
        return answering(request, find=find, chat=calls, max_tokens=max_tokens, is_streamed=is_streamed)
