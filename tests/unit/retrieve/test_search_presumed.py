"""A search in what a store last found of a corpus: the present state is read afterwards, and where it moved, all is done again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hlgraph.errors import StoreUnavailableError, UnknownNameError, WhereError
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.stores.protocols import CorpusStats, Stores
from hlgraph.testing.corpus import CORPUS
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder()


class _Remembering:
    """A graph store that keeps what it last found of the corpus, as one on a server does, and counts reads of it."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self.last: CorpusStats | None = None
        self.reads = 0
        self.pulls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def known(self, corpus: str) -> CorpusStats | None:
        del corpus
        return self.last

    def stats(self, corpus: str | None = None, **options: Any) -> tuple[CorpusStats, ...]:
        self.reads += 1
        found: tuple[CorpusStats, ...] = self._graph.stats(corpus, **options)
        self.last = found[0] if found else None
        return found

    def records(self, *args: Any, **options: Any) -> Any:
        self.pulls += 1
        return self._graph.records(*args, **options)


@pytest.fixture
def stores(tiny_stores: Stores) -> Stores:
    """The tiny corpus, as a server shows it."""
    return tiny_stores._replace(graph=_Remembering(tiny_stores.graph), is_one=False)


def _ask(stores: Stores, **options: Any) -> SearchResult:
    request = SearchRequest("Who designed the Aldane Bridge?", options.pop("corpus", CORPUS), **options)
    return search(request, "statement", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())


def test_the_second_search_gives_the_evidence_of_the_first(stores: Stores) -> None:
    graph: Any = stores.graph
    first, read = _ask(stores), graph.pulls
    assert stores.graph.known(CORPUS) is not None
    assert _ask(stores).evidence == first.evidence
    # The state is read before and after the first search, and after the second; nothing is done twice.
    assert (graph.reads, graph.pulls) == (3, 2 * read)


def test_a_search_in_another_state_is_repeated(stores: Stores) -> None:
    graph: Any = stores.graph
    first, read = _ask(stores), graph.pulls
    graph.last = replace(graph.last, version=graph.last.version - 1, state="another")
    assert _ask(stores).evidence == first.evidence
    assert (graph.reads, graph.pulls) == (4, 3 * read)


def test_an_explained_search_reads_the_state_first(stores: Stores) -> None:
    _ask(stores)
    graph: Any = stores.graph
    graph.last = replace(graph.last, embedding="another", dimensions=7)  # a search in it would fail
    assert _ask(stores, explain=True).evidence


def test_an_error_counts_only_where_the_state_is_the_present_one(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _ask(stores)
    graph: Any = stores.graph
    graph.last = replace(graph.last, embedding="another", dimensions=7)
    assert _ask(stores).evidence == first.evidence
    with pytest.raises(WhereError, match="planet"):
        _ask(stores, where=parse("planet = 'Mars'"))
    with pytest.raises(UnknownNameError, match="no corpus 'gone'"):
        _ask(stores, corpus="gone")

    def away(*args: Any, **options: Any) -> Any:
        raise StoreUnavailableError("away")

    _ask(stores)
    monkeypatch.setattr(stores.vectors, "search_many", away)
    monkeypatch.setattr(stores.vectors, "search", away)
    with pytest.raises(StoreUnavailableError, match="away"):
        _ask(stores)
