"""Named sets of parameters for the strategies."""

from __future__ import annotations

from collections.abc import Mapping

from hlgraph.errors import UnknownNameError
from hlgraph.retrieve.question.subqueries import NameSplitter
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.search import retriever_named
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
from hlgraph.retrieve.strategies.flat import TopicRetriever
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.retrieve.strategies.path import FAST_PATH, TUNED_PATH
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.retrieve.strategies.statement_graph import StatementGraphRetriever
from hlgraph.retrieve.strategies.topic_graph import TUNED_TOPIC_GRAPH

_PRESETS: Mapping[str, Mapping[str, Retriever]] = {
    # The steps that a paper gives to a model are done by the chat model, one call each; without one the search is refused.
    "chat": {"global": GlobalRetriever(by="chat"), "local": LocalRetriever(by="chat")},
    "fast": {"path": FAST_PATH},
    "paper": {},
    "plain": {"statement": StatementRetriever(has_rerank=False), "topic": TopicRetriever(has_rerank=False)},
    # A small embedder, and a reranker that reads words, see nothing of the question in a statement that only bridges two
    # others. So paths go on although a bridge lowers their score, and a statement counts half as itself, half as the best
    # path that it is part of. It sees one of the names of a question at a time: with a search for each of them the set of
    # entities of ``diameter`` lies around all.
    "tuned": {
        "diameter": DiameterRetriever(splitter=NameSplitter()),
        "path": TUNED_PATH,
        "statement_graph": StatementGraphRetriever(must_improve=False, neighbours=10, path_weight=0.5),
        "topic_graph": TUNED_TOPIC_GRAPH,
    },
}


def retriever(strategy: str, preset: str) -> Retriever:
    """The retriever of a strategy with the parameters of a preset; those of the paper where the preset says nothing."""
    if preset not in _PRESETS:
        raise UnknownNameError(f"there is no preset {preset!r}; choose one of: {', '.join(sorted(_PRESETS))}")
    return _PRESETS[preset].get(strategy) or retriever_named(strategy)
