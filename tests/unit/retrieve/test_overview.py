"""The strategy ``global``: Algorithm 2 step by step, the communities of its anchors, and what it says about itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytest
from extractors import sentence_extractor
from given_splitter import GivenSplitter
from numpy.typing import NDArray

from hlgraph.algorithms.cover import CoverBounds
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.algorithms.query_walk import QueryWalk
from hlgraph.chunk import WholeChunker
from hlgraph.errors import InputError
from hlgraph.index.communities import build_communities
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.models.prompts import delimited
from hlgraph.records import Document, Hit
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.retrieve.question.subqueries import ChatDecomposer, FacetSplitter
from hlgraph.retrieve.request import CommunityEvidence
from hlgraph.retrieve.steps.feedback import Selector
from hlgraph.retrieve.steps.suggest import Suggestion
from hlgraph.retrieve.strategies import global_ as overview
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.stores.derived import ClusterQuery
from hlgraph.stores.protocols import RankQuery, Scope, Stores
from hlgraph.testing.chat import ScriptedChat, without_salt
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder(64)
_QUESTION = "How do rivers and songs shape the land?"


# Two chains of names: river - Orne - mill - Arrel - ford, and song - Brandt - choir - Cale - hymn. Nothing joins them.
RIVER, MILL, FORD = "Rivers fill Orne.", "Orne drives the mills of Arrel.", "Arrel has a ford."
SONG, CHOIR, HYMN = "Songs praise Brandt.", "Brandt led the choir of Cale.", "Cale kept a hymn."
_TEXTS = (RIVER, MILL, FORD, SONG, CHOIR, HYMN)
_DOCUMENTS = tuple(Document(f"doc:{at}", text, "", {"year": at}) for at, text in enumerate(_TEXTS))


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    names = sentence_extractor(re.compile(r"[A-Z]\w*").findall)
    report = pipeline.ingest(
        _DOCUMENTS, "c", stores=module_stores, steps=pipeline.Steps(WholeChunker(), names, _EMBEDDER)
    )
    assert (report.failed, report.problems) == ([], [])
    return module_stores


@dataclass
class _Told(Selector):
    """Keeps what it is told to, whatever is asked; notes down what it was shown."""

    wanted: set[str]
    shown: list[tuple[str, list[str]]] = field(default_factory=list)
    fingerprint: str = "told"
    is_trusted: bool = True

    def select(self, question: str, suggestions: Sequence[Suggestion], *, collected: Sequence[str]) -> list[str]:
        self.shown.append((question, [item.text for item in suggestions]))
        return [item.id for item in suggestions if item.text in self.wanted and item.text not in collected]


class _Noted:
    """Stores whose graph store notes down what it is asked to rank."""

    def __init__(self, stores: Stores) -> None:
        self._inner = stores.graph
        self.queries: list[RankQuery] = []
        self.stores = stores._replace(graph=self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """By the graph store."""
        self.queries.append(query)
        return self._inner.rank(query, scope=scope)


_PLAIN = GlobalRetriever(
    breadth=2,
    cycles=3,
    walk=QueryWalk(structure_weight=1, damping=0.5),
    cover=CoverBounds(20, 1, 20),
    splitter=GivenSplitter(("rivers", "songs")),
)


def _ask(
    stores: Stores, chosen: GlobalRetriever, *, chat: ScriptedChat | None = None, where: str = "", k: int = 6
) -> SearchResult:
    request = SearchRequest(_QUESTION, "c", k, None, "vector", parse(where) if where else None, explain=True)
    return search(request, chosen, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker(), chat=chat)


def _steps(result: SearchResult, name: str) -> list[dict[str, object]]:
    return [{**step.details, "count": step.count} for step in result.explain.steps if step.name == name]


@pytest.mark.parametrize(("parts", "walked"), [("partition", [1, 1]), ("question", [2])])
def test_algorithm_2_step_by_step(stores: Stores, parts: Literal["partition", "question"], walked: list[int]) -> None:
    told = _Told({RIVER, MILL, FORD, SONG, CHOIR, HYMN})
    first = replace(_PLAIN, parts=parts, selector=_Once({"rivers": {RIVER}, "songs": {SONG}}, told))
    result = _ask(stores, first)
    # Each sub-query is seeded naively; then each side is explored apart from the other, the question is that of the start.
    assert [question for question, _ in told.shown] == ["rivers", "songs", _QUESTION, _QUESTION]
    assert {frozenset(texts) for _, texts in told.shown[2:4]} == {frozenset({MILL, FORD}), frozenset({CHOIR, HYMN})}
    by_text = {item.text: item for item in result.evidence}
    assert {text: by_text[text].why["cycle"] for text in _TEXTS} == {
        RIVER: 0.0, SONG: 0.0, MILL: 1.0, FORD: 1.0, CHOIR: 1.0, HYMN: 1.0,
    }  # fmt: skip
    # The second cycle begins at what the first one kept, finds nothing new, and a pool that is empty ends it.
    walkers = [int(str(step["walkers"])) for step in _steps(result, "walk")]
    assert (walkers[: len(walked)], sum(walkers)) == (walked, 6)
    assert result.explain.parameters["by"] == "rules"


@dataclass
class _Once:
    """For the sub-queries what is named, afterwards all that ``then`` wants."""

    first: dict[str, set[str]]
    then: _Told
    fingerprint: str = "once"
    is_trusted: bool = True

    def select(self, question: str, suggestions: Sequence[Suggestion], *, collected: Sequence[str]) -> list[str]:
        found = self.then.select(question, suggestions, collected=collected)
        if question in self.first:
            return [item.id for item in suggestions if item.text in self.first[question]]
        return found


def test_enough_anchors_end_the_cycles(stores: Stores) -> None:
    told = _Told({RIVER, SONG})
    result = _ask(stores, replace(_PLAIN, anchors=2, selector=told))
    assert len(told.shown) == 2
    assert _steps(result, "walk") == []
    told = _Told(set(_TEXTS))
    _ask(stores, replace(_PLAIN, cycles=1, selector=_Once({"rivers": {RIVER}, "songs": set()}, told)))
    assert [texts for _, texts in told.shown[2:]] == [[MILL, FORD]]


def test_queries_follow_equation_11(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first cycle the origin is the sub-query, the rest of its suggestions is what was pruned."""
    made: list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]] = []
    real = overview.refined_query

    def listening(origins, node, *, pruned, weights):  # type: ignore[no-untyped-def]
        made.append((origins, node, pruned))
        return real(origins, node, pruned=pruned, weights=weights)

    monkeypatch.setattr(overview, "refined_query", listening)
    told = _Told(set(_TEXTS))
    _ask(stores, replace(_PLAIN, cycles=2, suggestions=2, selector=_Once({"rivers": {RIVER}, "songs": {SONG}}, told)))
    vector = {text: _EMBEDDER.embed([text])[0] for text in (*_TEXTS, "rivers", "songs")}
    seen = {tuple(node.round(5)): (origins, pruned) for origins, node, pruned in made}
    for text, question in ((RIVER, "rivers"), (SONG, "songs")):
        origins, pruned = seen[tuple(vector[text].astype(np.float64).round(5))]
        assert origins == pytest.approx(vector[question][np.newaxis], abs=1e-6)
        suggested = next(texts for asked, texts in told.shown if asked == question)
        left_out = [vector[other] for other in suggested if other != text]
        assert pruned[0] == pytest.approx(np.mean(left_out, axis=0), abs=1e-6)
    # In the second cycle the origin of the mill is the query of the river, which led there.
    origins, _ = seen[tuple(vector[MILL].astype(np.float64).round(5))]
    river_origins, river_pruned = seen[tuple(vector[RIVER].astype(np.float64).round(5))]
    query = real(river_origins, vector[RIVER].astype(np.float64), pruned=river_pruned, weights=_PLAIN.feedback)
    assert origins == pytest.approx(query[np.newaxis], abs=1e-6)


def test_the_communities_cover_the_anchors(stores: Stores) -> None:
    result = _ask(stores, replace(_PLAIN, selector=_Told({RIVER, SONG})))
    [step] = _steps(result, "communities")
    assert (step["by"], step["anchors"], step["covered"], step["count"]) == ("leiden", 2, 2, 2)
    assert int(str(step["size"])) <= 20
    community = {item.text: item.why.get("community") for item in result.evidence}
    assert {community[RIVER], community[SONG]} == {1.0, 2.0}
    # In turns: the anchor of each community before the second of any.
    assert {item.text for item in result.evidence[:2]} == {RIVER, SONG}


def test_region_is_ranked_exactly_for_equal_results_on_every_store(stores: Stores) -> None:
    noted = _Noted(stores)
    assert _ask(noted.stores, replace(_PLAIN, selector=_Told({RIVER, SONG, MILL}))).evidence
    assert len(noted.queries) > 1
    assert {query.epsilon for query in noted.queries} == {None}
    assert max(query.tolerance for query in noted.queries) <= 1e-6


def test_in_the_order_of_the_cover(stores: Stores) -> None:
    result = _ask(stores, replace(_PLAIN, selector=_Told({RIVER, SONG}), order="cover"))
    numbers = [item.why["community"] for item in result.evidence if "community" in item.why]
    assert numbers[:2] == [1.0, 2.0]


def test_without_a_community_of_the_right_size_there_are_the_anchors(stores: Stores) -> None:
    result = _ask(stores, replace(_PLAIN, selector=_Told({RIVER, SONG}), cover=CoverBounds()))
    assert {item.text for item in result.evidence[:2]} == {RIVER, SONG}
    assert all("community" not in item.why for item in result.evidence)
    assert {item.text for item in result.evidence} == set(_TEXTS)


def test_without_leiden_a_chunk_is_a_community(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    result = _ask(stores, replace(_PLAIN, selector=_Told({RIVER, SONG})))
    [step] = _steps(result, "communities")
    assert (step["by"], step["covered"], step["count"]) == ("chunks", 2, 2)


def test_nothing_is_kept_and_the_search_remains(stores: Stores) -> None:
    result = _ask(stores, replace(_PLAIN, selector=_Told(set())))
    assert {item.text for item in result.evidence} == set(_TEXTS)
    assert _steps(result, "communities") == []


def test_a_filter_holds_on_every_hop(stores: Stores) -> None:
    told = _Told(set(_TEXTS))
    result = _ask(stores, replace(_PLAIN, selector=told), where="year != 1")
    assert MILL not in {text for _, texts in told.shown for text in texts}
    assert MILL not in {item.text for item in result.evidence}


def _communities(stores: Stores, chosen: GlobalRetriever, *, where: str = "") -> tuple[CommunityEvidence, ...]:
    filtered = parse(where) if where else None
    request = SearchRequest(_QUESTION, "c", 2, None, "vector", filtered, communities=True)
    return search(request, chosen, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker()).communities


def test_a_report_gets_the_communities_whole_whatever_k_is(stores: Stores) -> None:
    found = _communities(stores, replace(_PLAIN, selector=_Told({RIVER, SONG})))
    assert sorted(item.number for item in found) == [1, 2]
    [land] = [item for item in found if RIVER in {piece.text for piece in item.statements}]
    said = [piece.text for piece in land.statements]
    assert said[0] == RIVER  # the anchor first, then what else the community holds
    assert land.anchors == 1
    assert set(said) <= {RIVER, MILL, FORD}
    assert {piece.text for piece in land.passages} <= {RIVER, MILL, FORD}
    assert land.passages
    assert "Orne" in land.entities
    assert land.size >= len(said) + len(land.passages) + len(land.entities)
    every = [piece.statement_id for item in found for piece in item.statements]
    assert len(every) == len(set(every))


def test_anchors_outside_all_communities_reach_a_report_too(stores: Stores) -> None:
    [alone] = _communities(stores, replace(_PLAIN, selector=_Told({RIVER, SONG}), cover=CoverBounds()))
    assert (alone.number, alone.anchors, alone.entities, alone.passages) == (0, 2, (), ())
    assert {piece.text for piece in alone.statements} == {RIVER, SONG}
    assert _communities(stores, replace(_PLAIN, selector=_Told(set()))) == ()


def test_communities_contain_no_filtered_source(stores: Stores) -> None:
    found = _communities(stores, replace(_PLAIN, selector=_Told(set(_TEXTS))), where="year > 2")
    shown = {piece.text for item in found for piece in (*item.statements, *item.passages)}
    assert shown == {SONG, CHOIR, HYMN}
    assert {name for item in found for name in item.entities} <= {"Songs", "Brandt", "Cale"}


def test_rules_need_no_chat_model(stores: Stores) -> None:
    result = _ask(stores, GlobalRetriever())
    assert {item.text for item in result.evidence} == set(_TEXTS)
    [step] = _steps(result, "decompose")
    assert step["splitter"] == "facets/1"
    again = _ask(stores, GlobalRetriever())
    assert again.evidence == result.evidence


def test_the_explanation_says_where_each_cycle_went(stores: Stores) -> None:
    told = _Told(set(_TEXTS))
    explain = _ask(stores, replace(_PLAIN, selector=_Once({"rivers": {RIVER}, "songs": {SONG}}, told))).explain
    names = [hop.name for hop in explain.hops if hop.name.startswith("select")]
    assert names == ["select: a sub-query"] * 2 + ["select: a partition"] * 2
    assert {tuple(node.name for node in path.nodes) for path in explain.paths} >= {(RIVER, MILL), (SONG, CHOIR)}


def test_the_chat_model_takes_apart_and_selects(stores: Stores) -> None:
    def reply(system: str, user: str) -> str:
        if system.startswith("You take a broad question apart"):
            assert delimited("question", _QUESTION) in without_salt(user)
            return "- rivers\n- songs\n- more than two"
        return "1"

    chat = ScriptedChat(reply)
    result = _ask(stores, replace(_PLAIN, by="chat", splitter=None, cycles=1), chat=chat)
    [step] = _steps(result, "decompose")
    assert step["subqueries"] == "rivers | songs"
    assert str(step["splitter"]).startswith("decompose/1+")
    with pytest.raises(InputError, match="no chat model is configured"):
        _ask(stores, GlobalRetriever(by="chat"))


def test_splitters_give_at_least_the_question() -> None:
    assert FacetSplitter().split("Why?") == ("Why?",)
    assert len(FacetSplitter(2).split(_QUESTION)) == 2
    assert ChatDecomposer(ScriptedChat(["..."])).split(_QUESTION) == (_QUESTION,)
    assert ChatDecomposer(ScriptedChat(["a\nb\nc"]), most=2).split(_QUESTION) == ("a", "b")


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda: GlobalRetriever(breadth=0), "breadth is 0"),
        (lambda: GlobalRetriever(order="size"), "order is 'size'"),  # type: ignore[arg-type]
        (lambda: GlobalRetriever(by="model"), "by is 'model'"),  # type: ignore[arg-type]
        (lambda: FacetSplitter(0), "most is 0"),
    ],
)
def test_parameters_out_of_their_bounds_are_refused(made: Callable[[], object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        made()


def test_the_defaults_are_those_of_the_paper() -> None:
    made = GlobalRetriever()
    assert (made.breadth, made.anchors, made.cover) == (10, 200, CoverBounds(8_000, 10, 150))
    assert (made.feedback.origin, made.feedback.positive, made.feedback.negative) == (1, 0.7, 0.15)
    assert made.walk == QueryWalk(0.5, 0.85)
    assert made.walk.attraction() == (0.1, 0.4)


def test_communities_of_the_version_are_used_until_the_corpus_changes(module_stores: Stores) -> None:
    """A filter hides sources that the communities rest on, so with one they are found for the question."""
    texts = dict(enumerate(_TEXTS))
    steps = pipeline.Steps(WholeChunker(), sentence_extractor(re.compile(r"[A-Z]\w+").findall), _EMBEDDER)
    documents = [Document(f"own:{at}", text, "", {"year": 1}) for at, text in texts.items()]
    pipeline.ingest(documents, "versioned", stores=module_stores, steps=steps)
    kept = replace(_PLAIN, selector=_Told(set(_TEXTS)))

    def by(where: str = "", *, is_whole: bool = False) -> tuple[object, set[str]]:
        request = SearchRequest(
            _QUESTION, "versioned", 6, None, "vector", parse(where) if where else None, communities=is_whole
        )
        result = search(request, kept, stores=module_stores, embedder=_EMBEDDER, reranker=LexicalReranker())
        inside = {item.text for item in result.evidence if "community" in item.why}
        return _steps(result, "communities")[0]["by"], inside

    fresh = by()
    build_communities("versioned", ClusterQuery(ProjectionShape.STATEMENT_ENTITY_CHUNK), stores=module_stores)
    assert (fresh[0], by()) == ("leiden", ("stored", fresh[1]))
    assert by(is_whole=True) == by()
    assert by("year = 1") == fresh
    pipeline.ingest([Document("own:9", "River9 is new.", "")], "versioned", stores=module_stores, steps=steps)
    assert by()[0] == "leiden"
