"""Retrieval over merged entities: the same as over a corpus in which they had one name all along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from named_corpus import CORPUS, Said, ingest, key

from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Kind, Relationship
from hlgraph.retrieve import SearchRequest, search
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.session import pull_merged, spread_seeds
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.retrieve.strategies.chunk_entity import ChunkEntityRetriever
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
from hlgraph.retrieve.strategies.statement_graph import StatementGraphRetriever
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Decider, Decision, GraphStore, PullShape, Scope, Stores, Verdict
from hlgraph.subgraph import Subgraph
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_LETTER = "M. Quill grew up in Tessing."
# M. Quill is the only way from the bridge to the town.
_SAYINGS: Mapping[str, Said] = {
    "doc:bridge": {"The Aldane Bridge was drawn by Mara Quill.": ("Aldane Bridge", "Mara Quill")},
    "doc:letter": {_LETTER: ("M. Quill", "Tessing")},
    "doc:town": {"Tessing has a harbour.": ("Tessing", "harbour")},
    "doc:other": {"Orne is a river.": ("Orne",)},
}
_BESIDE: Mapping[str, Said] = {f"doc:{n}": {f"Who is {n}?": (f"number {n}",)} for n in range(8)}
_ONE_NAME: Mapping[str, Said] = {
    **_SAYINGS,
    "doc:letter": {_LETTER: ("Mara Quill", "Tessing")},
}
_MENTIONS = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}), hops=2)


@pytest.fixture
def stores(stores: Stores) -> Stores:
    ingest(stores, _SAYINGS)
    return stores


@pytest.fixture
def one_name(tmp_path: Path) -> Iterator[Stores]:
    """A store in which they had one name all along."""
    opened = open_stores(f"hlgraph://{tmp_path}/one-name")
    with opened.closing:
        ingest(opened.stores, _ONE_NAME)
        yield opened.stores


def merge(stores: Stores, *pairs: tuple[str, str]) -> None:
    made = [Decision(CORPUS, key(a), key(b), Verdict.SAME, Decider.PERSON) for a, b in pairs]
    assert stores.graph.merges is not None
    with stores.graph.lock():
        stores.graph.merges.save(CORPUS, made)


def pull(stores: Stores, seeds: Sequence[str], shape: PullShape = _MENTIONS, *, where: str = "") -> Subgraph:
    assert stores.graph.merges is not None
    scope = Scope(CORPUS, parse(where) if where else None)
    version = stores.graph.stats(CORPUS, has_counts=False)[0].version
    aliases = stores.graph.merges.aliases(CORPUS, version=version)
    return pull_merged(
        [key(name) for name in seeds], shape, scope=scope, graph=stores.graph, aliases=lambda: aliases
    ).graph


def names_in(graph: Subgraph, *names: str) -> list[str]:
    return [name for name in names if key(name) in graph.ids.tolist()]


def texts(stores: Stores, strategy: str | Retriever, *, k: int = 4, where: str = "") -> list[str]:
    request = SearchRequest("Who drew the Aldane Bridge?", CORPUS, k, where=parse(where) if where else None)
    found = search(request, strategy, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    return [item.text for item in found.evidence]


_NAMES = ("Aldane Bridge", "Mara Quill", "M. Quill", "Tessing", "harbour", "Orne")


def test_step_between_merged_entities_takes_no_hop(stores: Stores) -> None:
    assert names_in(pull(stores, ["Aldane Bridge"]), *_NAMES) == ["Aldane Bridge", "Mara Quill"]
    merge(stores, ("M. Quill", "Mara Quill"))
    assert names_in(pull(stores, ["Aldane Bridge"]), *_NAMES) == ["Aldane Bridge", "Mara Quill", "M. Quill"]
    for seed in ("Mara Quill", "M. Quill"):
        graph = pull(stores, [seed])
        assert names_in(graph, *_NAMES) == ["Aldane Bridge", "Mara Quill", "M. Quill", "Tessing"]
        mentions = graph.edges[Relationship.MENTIONS].toarray()
        columns = [mentions[:, graph.ids.tolist().index(key(name))].tolist() for name in ("Mara Quill", "M. Quill")]
        assert columns[0] == columns[1]
        assert sum(columns[0]) == 2


def test_the_node_cap_holds(stores: Stores) -> None:
    merge(stores, ("M. Quill", "Mara Quill"), ("harbour", "Orne"))
    for cap in (1, 2, 3, 4):
        shape = PullShape(_MENTIONS.relationships, _MENTIONS.kinds, hops=4, node_cap=cap)
        graph = pull(stores, ["Aldane Bridge"], shape)
        assert len(graph) <= cap
        assert graph.is_cut


def test_a_cap_that_leaves_nothing_out_cuts_nothing(stores: Stores) -> None:
    merge(stores, ("M. Quill", "Mara Quill"))
    shape = PullShape(_MENTIONS.relationships, _MENTIONS.kinds, hops=4)
    whole = pull(stores, ["Aldane Bridge"], shape)
    capped = pull(stores, ["Aldane Bridge"], replace(shape, node_cap=len(whole)))
    assert (len(capped), capped.is_cut) == (len(whole), False)
    less = pull(stores, ["Aldane Bridge"], replace(shape, node_cap=len(whole) - 1))
    assert (len(less), less.is_cut) == (len(whole) - 1, True)


def test_a_name_that_only_hidden_sources_use_stays_hidden(stores: Stores) -> None:
    merge(stores, ("M. Quill", "Mara Quill"))
    graph = pull(stores, ["Aldane Bridge"], where='file = "doc:bridge"')
    assert names_in(graph, *_NAMES) == ["Aldane Bridge", "Mara Quill"]
    assert len(graph) == 3


def test_without_merges_a_pull_is_the_pull(stores: Stores) -> None:
    found = pull_merged([key("Tessing")], _MENTIONS, scope=Scope(CORPUS), graph=stores.graph, aliases=dict)
    plain = stores.graph.pull([key("Tessing")], _MENTIONS, scope=Scope(CORPUS))
    assert (found.round_trips, found.graph.ids.tolist()) == (1, plain.ids.tolist())


def test_round_trips_are_those_that_were_made(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull that ends before its last hop asks no more for it."""
    merge(stores, ("M. Quill", "Mara Quill"))
    assert stores.graph.merges is not None
    aliases = stores.graph.merges.aliases(CORPUS, version=stores.graph.stats(CORPUS, has_counts=False)[0].version)
    made: list[int] = []
    ask = type(stores.graph).pull

    def counted(store: GraphStore, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        made.append(shape.hops)
        return ask(store, seeds, shape, scope=scope)

    monkeypatch.setattr(type(stores.graph), "pull", counted)
    shape = PullShape(_MENTIONS.relationships, _MENTIONS.kinds, hops=40)
    found = pull_merged([key("Aldane Bridge")], shape, scope=Scope(CORPUS), graph=stores.graph, aliases=lambda: aliases)
    assert names_in(found.graph, "Tessing", "Orne") == ["Tessing"]
    assert found.round_trips == len(made) < 2 + shape.hops


@pytest.mark.parametrize("how", ["in_filter", "post_filter"])
def test_an_entity_of_two_names_supports_its_chunks_once(
    stores: Stores, how: Literal["in_filter", "post_filter"]
) -> None:
    """Both names were chosen, each with the statements of both: what they are in counted twice."""
    chosen = DiameterRetriever(search=how, entities=6, max_diameter=4)
    request = SearchRequest("Mara Quill", CORPUS, 4, explain=True)

    def entities() -> list[str]:
        found = search(request, chosen, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
        (hop,) = (item for item in found.explain.hops if item.name == f"diameter {how}")
        return [item.id for item in hop.best]

    assert key("Mara Quill") in entities()
    merge(stores, ("M. Quill", "Mara Quill"))
    together = entities()
    assert (key("Mara Quill") in together, key("M. Quill") in together) == (True, False)
    assert key("Tessing") in together


def test_a_walk_begins_at_all_names_of_a_seed() -> None:
    groups = dict.fromkeys(("a", "b", "c"), ("a", "b", "c"))
    assert spread_seeds({"a": 0.2, "b": 0.7, "x": 1.0}, groups) == {"a": 0.7, "b": 0.7, "c": 0.7, "x": 1.0}
    assert spread_seeds({"x": 1.0}, groups) == {"x": 1.0}


_FEW = (
    ChunkEntityRetriever(seeds=1),
    StatementGraphRetriever(vector_seeds=2, keyword_seeds=2, must_improve=False, path_weight=1.0),
)


@pytest.mark.parametrize("strategy", _FEW, ids=lambda item: type(item).__name__)
def test_merged_entities_give_results_of_a_single_entity(stores: Stores, one_name: Stores, strategy: Retriever) -> None:
    """Of few seeds: the letter is reached over the two names alone."""
    for each in (stores, one_name):
        ingest(each, _BESIDE)
    expected = texts(one_name, strategy, k=2)
    assert expected == ["The Aldane Bridge was drawn by Mara Quill.", _LETTER]
    assert _LETTER not in texts(stores, strategy, k=2)
    merge(stores, ("M. Quill", "Mara Quill"))
    assert texts(stores, strategy, k=2) == expected


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_runs_on_merged_entities_and_shows_nothing_hidden(stores: Stores, strategy: str) -> None:
    if strategy == "hierarchy":
        return
    merge(stores, ("M. Quill", "Mara Quill"), ("Orne", "harbour"))
    assert "The Aldane Bridge was drawn by Mara Quill." in texts(stores, strategy)[:2]
    visible = texts(stores, strategy, where='file in ("doc:bridge", "doc:other")')
    assert not any("Tessing" in text for text in visible)


def test_a_path_over_a_merge_is_found_by_page_rank(stores: Stores) -> None:
    before = texts(stores, "path")
    merge(stores, ("M. Quill", "Mara Quill"))
    after = texts(stores, "path")
    letter = next(text for text in after if text.startswith("M. Quill"))
    assert after.index(letter) <= 1
    assert letter not in before[:2]


def test_undoing_a_merge_is_seen_at_once(stores: Stores) -> None:
    before = texts(stores, "statement_graph")
    merge(stores, ("M. Quill", "Mara Quill"))
    assert stores.graph.merges is not None
    with stores.graph.lock():
        stores.graph.merges.drop(CORPUS, stores.graph.merges.decisions(CORPUS))
    assert texts(stores, "statement_graph") == before


def test_an_explanation_draws_the_merge(stores: Stores) -> None:
    merge(stores, ("M. Quill", "Mara Quill"))
    request = SearchRequest("Who drew the Aldane Bridge?", CORPUS, 4, explain=True)
    found = search(request, "statement", stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    graph = found.explain.graph
    assert graph is not None
    assert ("same_as", key("M. Quill"), key("Mara Quill")) in {
        (edge.relationship, edge.start, edge.end) for edge in graph.edges
    }
