"""Searches the evidence of an answer: chooses its unit, and adds summaries for a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hlgraph.answer.events import Find, check_has_chat
from hlgraph.answer.request import AnswerRequest
from hlgraph.index.hierarchy import RUN
from hlgraph.models.seams import ChatModel
from hlgraph.retrieve import SearchRequest, SearchResult
from hlgraph.retrieve.retriever import Retriever, units_of
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.retrieve.strategies.auto import for_report
from hlgraph.retrieve.strategies.hierarchy import HierarchyRetriever
from hlgraph.stores.derived import run_named
from hlgraph.stores.one_state import ATTEMPTS
from hlgraph.stores.protocols import Stores

SUMMARIES = 20
"""Maximum number of summaries that a report reads beside its evidence."""

Search = Callable[[SearchRequest, str | Retriever], SearchResult]


def finding(
    request: AnswerRequest,
    search: SearchRequest,
    *,
    strategy: str | Retriever,
    run: Search,
    stores: Stores,
    chat: ChatModel | None,
) -> Find:
    """The search of an answer.

    Where the search names no unit and a chat model reads the evidence, it reads summaries too: of a strategy that finds summaries
    chunks and summaries in one ranking; in a report by any other strategy, behind its statements, the 20 summaries of the
    hierarchy that are closest to the question, if there is a hierarchy. Without a model the evidence is statements, because the
    answer is made of sentences of the sources.

    Parameters
    ----------
    request : the question, and how to answer it
    search : options of the search
    strategy : a name, or a retriever
    run : searches
    stores : tell whether the corpus has a hierarchy
    chat : writes the answer; None: the answer is sentences of the evidence

    Returns
    -------
    Find
        From a text to evidence.

    Raises
    ------
    InputError : the answer needs a chat model, and there is none
    """
    check_has_chat(request, chat)
    is_report = request.mode == "report"
    chosen = for_report(strategy) if is_report else strategy
    made = STRATEGIES.get(chosen) if isinstance(chosen, str) else chosen
    has_layers = made is not None and "mixed" in units_of(made)
    unit = search.unit or ("mixed" if chat is not None and has_layers else "statement")
    usual = replace(search, unit=unit, communities=is_report)
    is_wide = is_report and chat is not None and not has_layers and search.unit is None

    def find(text: str) -> SearchResult:
        asked = replace(usual, question=text)
        if not is_wide or stores.derived is None or run_named(stores.derived, search.corpus, name=RUN) is None:
            return run(asked, chosen)
        summaries = replace(asked, unit="summary", k=SUMMARIES, explain=False, tabular=False, communities=False)
        with stores.snapshot():
            for _ in range(ATTEMPTS):
                found, more = run(asked, chosen), run(summaries, HierarchyRetriever())
                if found.explain.version == more.explain.version:
                    return _both(found, more)
        return found

    return find


def _both(found: SearchResult, more: SearchResult) -> SearchResult:
    """The evidence of both searches; the explanation of the first, with the steps and the round trips of both."""
    # Both searches number their groups from 0, so the summaries of the second become a separate group.
    summaries = [
        replace(item, why={name: value for name, value in item.why.items() if name != "group"})
        for item in more.evidence
    ]
    one, two = found.explain, more.explain
    explain = replace(
        one,
        steps=(*one.steps, *two.steps),
        round_trips=one.round_trips + two.round_trips,
        milliseconds=one.milliseconds + two.milliseconds,
    )
    return replace(found, evidence=(*found.evidence, *summaries), explain=explain)
