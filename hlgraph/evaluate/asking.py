"""Turns names of strategies into searches over an open corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from hlgraph.errors import UnknownNameError
from hlgraph.evaluate.runner import Ranked, Search
from hlgraph.records import Scalar
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.search import retriever

if TYPE_CHECKING:
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph

PREFIX = "passage:"
"""What stands before the id of a passage in the uri of its source."""
ALL = "all"


def chosen(names: str, preset: str) -> dict[str, Retriever]:
    """The retrievers that a line of names means, with the parameters of a preset.

    Parameters
    ----------
    names
        Names with commas between; or ``all``: every strategy that runs without a chat model, that is, every one whose
        retriever does not say ``needs_chat = True``.
    preset
        See `hlgraph.retrieve.strategies`.

    Raises
    ------
    UnknownNameError
        No strategy is named, or there is none of that name, or no such preset.
    """
    if names.strip() == ALL:
        wanted = sorted(name for name, made in STRATEGIES.items() if "chat" not in getattr(made, "needs", ()))
    else:
        wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise UnknownNameError(f"no strategy is named; choose all, or some of: {', '.join(sorted(STRATEGIES))}")
    return {name: retriever(name, preset) for name in wanted}


def prepare(graph: HLGraph, retrievers: Iterable[Retriever]) -> None:
    """Build what retrievers need beside the corpus: the hierarchy, by the rules unless a chat model made the one that is there.

    Nothing is done where no retriever says ``needs_hierarchy = True``, or where it is there for this version of the corpus.
    Raises MissingExtraError without the extra ``communities``.
    """
    if not any("hierarchy" in getattr(item, "needs", ()) for item in retrievers):
        return
    run = graph.hierarchy.find().run
    if run is None or run.is_stale:
        is_by_chat = run is not None and run.by.startswith("chat/")
        graph.hierarchy.build(summaries="auto" if is_by_chat else "extractive")


def parameters(retrievers: Mapping[str, Retriever]) -> dict[str, dict[str, Scalar | None]]:
    """The parameters of retrievers, by strategy; what is no scalar as its text."""
    return {
        name: {item.name: _scalar(getattr(made, item.name)) for item in fields(made)}
        for name, made in retrievers.items()
    }


def _scalar(value: object) -> Scalar | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def searches(graph: HLGraph, retrievers: Mapping[str, Retriever], *, k: int) -> dict[str, Search]:
    """For each retriever a function from a question to the ids of the k best passages."""
    return {name: _search(graph, made, k) for name, made in retrievers.items()}


def _search(graph: HLGraph, made: Retriever, k: int) -> Search:
    def ask(question: str) -> Ranked:
        found = graph.search(question, strategy=made, k=k, unit="chunk")
        ids = tuple(item.source.uri.removeprefix(PREFIX) for item in found.evidence)
        return Ranked(ids, found.explain.round_trips)

    return ask
