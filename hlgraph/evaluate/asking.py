"""Turns strategy names into retrievers, and retrievers into searches over an open corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from hlgraph.errors import UnknownNameError
from hlgraph.evaluate.runner import Ranked, Search
from hlgraph.records import Scalar
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.strategies.chunk import ChunkRetriever

if TYPE_CHECKING:
    from hlgraph.retrieve.request import Mode
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph

PREFIX = "passage:"
"""Prefix of the URI of a passage's source; the passage id follows."""
ALL = "all"
BASELINES: Mapping[str, Mode] = {"bm25": "text", "dense": "vector", "rrf": "hybrid"}
"""Plain searches over chunks that every table has beside the strategies: BM25, dense vectors, and their rank fusion."""


def chosen(names: str, preset: str) -> dict[str, Retriever]:
    """The retrievers of the named strategies, with the parameters of a preset.

    Parameters
    ----------
    names : names of strategies and of ``BASELINES`` separated by commas, or ``all``: every strategy that runs without a chat
        model, that is, whose retriever does not list ``"chat"`` in ``needs``
    preset : name of the parameters; see :mod:`hlgraph.retrieve.strategies`

    Returns
    -------
    dict[str, Retriever]
        Retrievers by strategy name, sorted for ``all``, else in the order given.

    Raises
    ------
    UnknownNameError
        No strategy is named, or a strategy or the preset does not exist.
    """
    if names.strip() == ALL:
        wanted = sorted(name for name, made in STRATEGIES.items() if "chat" not in getattr(made, "needs", ()))
    else:
        wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise UnknownNameError(
            f"no strategy is named; give all, or some of: {', '.join((*sorted(STRATEGIES), *BASELINES))}"
        )
    return {name: _baseline(name) if name in BASELINES else retriever(name, preset) for name in wanted}


def with_baselines(retrievers: Mapping[str, Retriever]) -> dict[str, Retriever]:
    """The retrievers, and behind them the baselines that are not among them; ``chunk`` is the dense one.

    Parameters
    ----------
    retrievers : retrievers by strategy name

    Examples
    --------
    >>> list(with_baselines(chosen("chunk,path", "paper")))
    ['chunk', 'path', 'bm25', 'rrf']
    """
    is_dense = any(isinstance(made, ChunkRetriever) and made.mode in (None, "vector") for made in retrievers.values())
    missing = [name for name in BASELINES if name not in retrievers and not (name == "dense" and is_dense)]
    return {**retrievers, **{name: _baseline(name) for name in missing}}


def _baseline(name: str) -> Retriever:
    return ChunkRetriever(mode=BASELINES[name])


def prepare(graph: HLGraph, retrievers: Iterable[Retriever]) -> None:
    """Build the hierarchy if a retriever needs it and it is missing or stale.

    A retriever needs it if it lists ``"hierarchy"`` in ``needs``. Summaries are extractive, unless a chat model made the stored
    ones.

    Parameters
    ----------
    graph : the corpus
    retrievers : those that will be asked

    Raises
    ------
    MissingExtraError
        The extra ``communities`` is not installed.
    """
    if not any("hierarchy" in getattr(item, "needs", ()) for item in retrievers):
        return
    run = graph.hierarchy.find().run
    if run is None or run.is_stale:
        is_by_chat = run is not None and run.by.startswith("chat/")
        graph.hierarchy.build(summaries="auto" if is_by_chat else "extractive")


def parameters(retrievers: Mapping[str, Retriever]) -> dict[str, dict[str, Scalar | None]]:
    """The parameters of retrievers, by strategy; a value that is not a scalar is given as text."""
    return {
        name: {item.name: _scalar(getattr(made, item.name)) for item in fields(made)}
        for name, made in retrievers.items()
    }


def _scalar(value: object) -> Scalar | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def searches(graph: HLGraph, retrievers: Mapping[str, Retriever], *, k: int) -> dict[str, Search]:
    """A search for each retriever: a function from a question to the ids of the k best passages.

    Parameters
    ----------
    graph : the corpus to search
    retrievers : retrievers by strategy name
    k : number of passages
    """
    return {name: _search(graph, made, k) for name, made in retrievers.items()}


def _search(graph: HLGraph, made: Retriever, k: int) -> Search:
    def ask(question: str) -> Ranked:
        found = graph.search(question, strategy=made, k=k, unit="chunk")
        ids = tuple(item.source.uri.removeprefix(PREFIX) for item in found.evidence)
        return Ranked(ids, found.explain.round_trips)

    return ask
