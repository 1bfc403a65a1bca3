"""statement_graph and topic_graph on graphs small enough to be worked by hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from extractors import ingest_tiny, sentence_extractor, title_of

import hlgraph
from hlgraph.chunk import WholeChunker
from hlgraph.errors import InputError
from hlgraph.ids import entity_id
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Kind, Statement
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.retrieve.request import Mode, Unit
from hlgraph.retrieve.retriever import Ranked, Retriever
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.beam_walk import keyword_statements, question_keywords
from hlgraph.retrieve.steps.region import Region
from hlgraph.retrieve.strategies.statement_graph import StatementGraphRetriever
from hlgraph.retrieve.strategies.topic_graph import TopicGraphRetriever
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import CORPUS, DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder()
_ONLY_BEAM = {"vector_seeds": 1, "keyword_seeds": 1, "must_improve": False}


# A hub that every statement mentions, and a rare name that two do.
_HUB = [Document(f"hub:{at}", f"HUB has number N{at}.", f"Hub {at}") for at in range(30)]
_RARE = [Document("rare:1", "HUB knows RARE.", "One"), Document("rare:2", "RARE sleeps.", "Two")]


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    ingest_tiny(module_stores)
    names = sentence_extractor(re.compile(r"\b[A-Z][A-Z0-9]+\b").findall, topics=title_of)
    pipeline.ingest(
        [*_HUB, *_RARE], "hub", stores=module_stores, steps=pipeline.Steps(WholeChunker(), names, _EMBEDDER)
    )
    return module_stores


def session_of(
    stores: Stores, question: str, *, corpus: str = CORPUS, where: str = "", chat: ScriptedChat | None = None
) -> Session:
    request = SearchRequest(question, corpus, where=parse(where) if where else None)
    stats = stores.graph.stats(corpus, has_counts=False)[0]
    reranker = LexicalReranker()
    return Session(request, stores, embedder=_EMBEDDER, reranker=reranker, corpus=stats, chat=chat)


def statements(stores: Stores, ids: Sequence[str]) -> list[str]:
    corpora = (CORPUS, "hub")
    found = {item.id: item for name in corpora for item in stores.graph.records(Kind.STATEMENT, ids, scope=Scope(name))}
    return [item.text for key in ids if isinstance(item := found[key], Statement)]


def ranked(stores: Stores, ranking: Ranked) -> list[str]:
    return statements(stores, [hit.id for hit in ranking.hits])


# Keywords (Eq. 1-3)


def test_statements_by_the_number_of_keywords_then_by_cosine(stores: Stores) -> None:
    """Aldane Bridge and Mara Quill are keywords: s1 has both; s2 and s3 have one, and s2 says more of the question."""
    session = session_of(stores, "When was the Aldane Bridge of Mara Quill opened, in 1931?")
    keywords = question_keywords(session)
    region = Region(session, fan_out=10, neighbours=10)
    region.pull(sorted(set(keywords.values())), hops=3)
    found = keyword_statements(session, region, keywords=keywords, k=10, beside=np.empty(0, dtype=np.intp))
    assert statements(stores, [region.ids[node] for node in found.tolist()]) == [
        "The Aldane Bridge was designed by Mara Quill.",
        "The Aldane Bridge opened in 1931.",
        "Mara Quill was born in Tessing.",
    ]
    assert session.steps[-1].details == {"keywords": "Aldane Bridge, Mara Quill"}
    two = keyword_statements(session, region, keywords=keywords, k=2, beside=found)
    assert two.tolist() == found[:2].tolist()


def test_filtered_entity_is_not_a_keyword(stores: Stores) -> None:
    session = session_of(stores, "Did Ivo Brandt see Tessing?", where="category = 'place'")
    keywords = question_keywords(session)
    assert entity_id(CORPUS, "Ivo Brandt") in keywords.values()
    region = Region(session, fan_out=10, neighbours=10)
    region.pull(sorted(set(keywords.values())), hops=3)
    found = keyword_statements(session, region, keywords=keywords, k=10, beside=np.empty(0, dtype=np.intp))
    assert [region.ids[node] for node in found.tolist()] == region.ids
    assert statements(stores, region.ids) == ["Tessing lies on the river Orne."]
    assert session.steps[-1].details == {"keywords": "Tessing"}


def test_a_chat_model_names_keywords_and_synonyms(stores: Stores) -> None:
    chat = ScriptedChat(["keywords: the engineer\nsynonyms: Mara Quill"])
    session = session_of(stores, "Who is the engineer?", chat=chat)
    assert set(question_keywords(session, "chat").values()) == {
        entity_id(CORPUS, "the engineer"),
        entity_id(CORPUS, "Mara Quill"),
    }
    assert session.steps[-1].details == {"by": "scripted"}
    assert len(question_keywords(session)) == 2  # the script has one reply: it is asked once


def test_a_reply_without_keywords_leaves_the_words_of_the_question(stores: Stores) -> None:
    session = session_of(stores, "Where is Tessing?", chat=ScriptedChat(["keywords: none"]))
    assert entity_id(CORPUS, "Tessing") in question_keywords(session, "chat").values()
    assert session.steps[-1].details == {"by": "words"}
    assert dict(session.fallbacks) == {"keywords: the reply names none, so rules named them": 1}


def test_a_search_asks_the_chat_model_of_the_connection(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda system, user: "keywords: Mara Quill")
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=_EMBEDDER, reranker=LexicalReranker(), chat=chat) as graph:
        graph.ingest(DOCUMENTS)
        chosen = StatementGraphRetriever(by="chat")
        found = graph.search("Who is the engineer of the bridge?", strategy=chosen)
        assert {step.name: step.details for step in found.explain.steps}["keywords"] == {"by": "scripted"}
        assert len(chat.asked) == 1
        graph.search("Who is the engineer of the bridge?", strategy="statement")
        assert len(chat.asked) == 1


# Neighbours (Eq. 5) and hubs


def test_neighbours_by_rare_entity_precede_neighbours_by_hub(stores: Stores) -> None:
    session = session_of(stores, "Who sleeps?", corpus="hub")
    region = Region(session, fan_out=100, neighbours=3)
    region.pull([entity_id("hub", "RARE"), entity_id("hub", "HUB")], hops=1)
    texts = statements(stores, region.ids)
    at = texts.index("HUB knows RARE.")
    children = region.children(np.array([at]))
    found = [texts[node] for node in children.nodes.tolist()]
    assert found[0] == "RARE sleeps."  # 1/2 for the one name of two statements; 1/31 for the hub
    rest = sorted(key for key, text in zip(region.ids, texts, strict=True) if text.startswith("HUB has"))
    assert children.keys is not None
    assert children.keys.tolist()[1:] == rest[:2]
    assert children.owner.tolist() == [0, 0, 0]


def test_fan_out_limits_statements_of_a_hub(stores: Stores) -> None:
    session = session_of(stores, "Who sleeps?", corpus="hub")
    region = Region(session, fan_out=5, neighbours=100)
    region.pull([entity_id("hub", "HUB")], hops=1)
    assert len(region.ids) == 5


def test_a_last_pull_reaches_far_only_while_little_is_known(stores: Stores) -> None:
    session = session_of(stores, "Who sleeps?", corpus="hub")
    region = Region(session, fan_out=5, neighbours=5)
    region.pull([entity_id("hub", "RARE")], hops=1)
    region.pull_ahead(region.numbers(region.ids[:1]), steps=3)
    region.add([f"another statement {at}" for at in range(100)])
    region.pull_ahead(region.numbers(region.ids[:1]), steps=3)
    assert [step.details["hops"] for step in session.steps] == [1, 6, 2]


@pytest.mark.parametrize(("preset", "reached"), [("paper", 22), ("literal", 32)])
def test_a_beam_of_the_preset_literal_follows_every_neighbour_of_a_hub(
    stores: Stores, preset: str, reached: int
) -> None:
    chosen = replace(retriever("statement_graph", preset), vector_seeds=1, keyword_seeds=1, must_improve=False)
    session = session_of(stores, "RARE sleeps?", corpus="hub")
    assert len(chosen.rank(session, 1).hits) == reached


# The beam (Eq. 5-8)


def test_a_path_leads_from_the_bridge_to_the_poet(stores: Stores) -> None:
    """s2 - s1 - s3 - s4 over Aldane Bridge, Mara Quill and Tessing; s5 is one step too far."""
    session = session_of(stores, "opened in 1931")
    found = StatementGraphRetriever(**_ONLY_BEAM).rank(session, 1)  # type: ignore[arg-type]
    assert set(ranked(stores, found)) == {
        "The Aldane Bridge opened in 1931.",
        "The Aldane Bridge was designed by Mara Quill.",
        "Mara Quill was born in Tessing.",
        "Tessing lies on the river Orne.",
    }
    why = {text: found.why[hit.id] for hit, text in zip(found.hits, ranked(stores, found), strict=True)}
    assert why["The Aldane Bridge opened in 1931."]["found"] == "seed"
    assert (why["Tessing lies on the river Orne."]["found"], why["Tessing lies on the river Orne."]["path_length"]) == (
        "beam",
        4,
    )
    path = str(why["Tessing lies on the river Orne."]["path_ids"]).split()
    assert statements(stores, path)[0] == "The Aldane Bridge opened in 1931."
    assert statements(stores, path)[-1] == "Tessing lies on the river Orne."
    details = {step.name: step.details for step in session.steps}["beam"]
    assert [details[f"depth {depth} kept"] for depth in range(4)] == [1, 1, 1, 1]
    assert details["depth 2 revisits"] == 1


def test_an_explanation_names_seeds_depths_and_paths(stores: Stores) -> None:
    request = SearchRequest("Who designed the Aldane Bridge that opened in 1931?", CORPUS, 2, explain=True)
    options = StatementGraphRetriever(**_ONLY_BEAM, beam_width=1)  # type: ignore[arg-type]
    found = search(request, options, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker()).explain
    assert {seed.origin for seed in found.seeds} == {"vector", "keywords", "seeds of the beam"}
    beams = [hop for hop in found.hops if hop.name == "beam"]
    assert [hop.depth for hop in beams] == [0, 1, 2, 3]
    assert beams[2].pruned["in the path already"] >= 1
    assert found.paths


@pytest.mark.parametrize(("pulls", "asked"), [(1, [7]), (2, [3, 4]), (3, [3, 2, 2])])
def test_few_pulls_reach_as_far_as_many(stores: Stores, pulls: int, asked: list[int]) -> None:
    session = session_of(stores, "opened in 1931")
    found = StatementGraphRetriever(**_ONLY_BEAM, pulls=pulls).rank(session, 1)  # type: ignore[arg-type]
    assert max(float(why["path_length"]) for why in found.why.values()) == 4
    assert [step.details["hops"] for step in session.steps if step.name == "pull"] == asked


def test_must_improve_ends_paths_that_score_no_better(stores: Stores) -> None:
    session = session_of(stores, "The Aldane Bridge opened in 1931.")
    found = StatementGraphRetriever(1, 1).rank(session, 1)
    assert max(float(why["path_length"]) for why in found.why.values()) == 1
    details = {step.name: step.details for step in session.steps}["beam"]
    assert details["depth 1 not better"] == 1
    assert "depth 1 best" not in details


def test_paper_preset_has_beam_per_seed_and_tuned_a_shared_beam(stores: Stores) -> None:
    """The seeds are the bridge's opening and the poet's river; one beam of width 1 leaves from the first alone."""
    question = "Which Aldane Bridge opened in 1931?"
    reached: dict[str, set[tuple[str, ...]]] = {}
    for beams in ("per_seed", "shared"):
        options = StatementGraphRetriever(3, 3, 1, 1, beams=beams, must_improve=False)  # type: ignore[arg-type]
        session = session_of(stores, question)
        found = options.rank(session, 1)
        seeds = [key for key, why in found.why.items() if why["found"] == "seed"]
        paths = [str(why["path_ids"]).split() for why in found.why.values()]
        reached[beams] = {tuple(statements(stores, path[:1])) for path in paths if len(path) > 1}
        details = {step.name: step.details for step in session.steps}["beam"]
        assert details["depth 0 kept"] == (len(seeds) if beams == "per_seed" else 1)
    assert len(reached["shared"]) == 1
    assert reached["shared"] < reached["per_seed"]
    assert retriever("statement_graph", "paper") == StatementGraphRetriever(beams="per_seed")
    assert retriever("statement_graph", "tuned").beams == "shared"  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="beams is 'many'; choose per_seed or shared"):
        StatementGraphRetriever(beams="many")  # type: ignore[arg-type]


def test_a_filter_breaks_the_path(stores: Stores) -> None:
    session = session_of(stores, "opened in 1931", where="uri != 'doc:engineer'")
    found = StatementGraphRetriever(**_ONLY_BEAM).rank(session, 1)  # type: ignore[arg-type]
    assert set(ranked(stores, found)) == {
        "The Aldane Bridge opened in 1931.",
        "The Aldane Bridge was designed by Mara Quill.",
    }


def test_path_weight_adds_best_path_score(stores: Stores) -> None:
    question = "opened in 1931"
    by_weight: dict[float, dict[str, float]] = {}
    for weight in (0.0, 0.25, 1.0):
        options = StatementGraphRetriever(**_ONLY_BEAM, path_weight=weight)  # type: ignore[arg-type]
        found = options.rank(session_of(stores, question), 1)
        by_weight[weight] = {hit.id: hit.score for hit in found.hits}
    for key, own in by_weight[0.0].items():
        assert by_weight[0.25][key] == pytest.approx(0.75 * own + 0.25 * by_weight[1.0][key], abs=1e-6)
    # All lie on a path that begins with the answer; alone, the last says nothing of the question.
    assert min(by_weight[1.0].values()) > min(by_weight[0.0].values())


def test_topics_lead_to_statements_and_on_to_others(stores: Stores) -> None:
    session = session_of(stores, "the topic Aldane Bridge")
    options = TopicGraphRetriever(topics=1, statements=1, keyword_seeds=1)
    found = options.rank(session, 1)
    kinds = {text: found.why[hit.id]["found"] for hit, text in zip(found.hits, ranked(stores, found), strict=True)}
    assert Counter(kinds.values())["beam"] >= 2
    assert all(text.startswith("The Aldane Bridge") for text, kind in kinds.items() if kind == "seed")
    steps = [step.name for step in session.steps]
    assert steps.count("rerank paths") >= 2


# Bounds and input


_TRIPS = {
    "stats",
    "records",
    "find",
    "pull",
    "match",
    "rank",
    "search",
    "search_many",
    "vectors",
    "vectors_many",
    "ids",
}


class _Counting:
    """A store that counts the calls that read it."""

    def __init__(self, store: object, calls: Counter[str], name: str) -> None:
        self._store, self._calls, self._name = store, calls, name

    def __getattr__(self, method: str) -> object:
        found = getattr(self._store, method)
        if method not in _TRIPS:
            return found

        def counted(*args: object, **kwargs: object) -> object:
            self._calls[self._name] += 1
            return found(*args, **kwargs)

        return counted


@pytest.mark.parametrize("unit", ["statement", "chunk"])
@pytest.mark.parametrize("strategy", ["statement_graph", "topic_graph"])
@pytest.mark.parametrize("preset", ["paper", "tuned"])
@pytest.mark.parametrize(("corpus", "question"), [(CORPUS, "opened in 1931"), ("hub", "Does RARE know HUB N7?")])
def test_at_most_depth_plus_three_round_trips_to_each_store(  # noqa: PLR0917 - parameters of the test
    stores: Stores, corpus: str, question: str, preset: str, strategy: str, unit: Unit
) -> None:
    calls: Counter[str] = Counter()
    graph, vectors = _Counting(stores.graph, calls, "graph"), _Counting(stores.vectors, calls, "vectors")
    counting = Stores(graph, vectors, is_one=True)  # type: ignore[arg-type]
    request = SearchRequest(question, corpus, 3, unit)
    chosen = retriever(strategy, preset)
    found = search(request, chosen, stores=counting, embedder=_EMBEDDER, reranker=LexicalReranker())
    assert found.explain.parameters["max_depth"] == 3
    assert max(calls.values()) <= 3 + 3 + (corpus == "hub")  # a hub is counted by the store
    assert found.explain.round_trips == sum(calls.values())
    calls.clear()
    compared = Stores(counting.graph, counting.vectors)
    search(request, chosen, stores=compared, embedder=_EMBEDDER, reranker=LexicalReranker())
    assert sum(calls.values()) == found.explain.round_trips + 1  # without a snapshot the state is compared at the end


@pytest.mark.parametrize("strategy", ["statement_graph", "topic_graph"])
@pytest.mark.parametrize("mode", ["vector", "text", "hybrid"])
def test_equal_searches_give_equal_evidence(stores: Stores, strategy: str, mode: Mode) -> None:
    def ask() -> SearchResult:
        request = SearchRequest("HUB and RARE and N7", "hub", 8, None, mode)
        return search(request, strategy, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())

    first, second = ask().evidence, ask().evidence
    assert first == second
    assert [(-item.score, item.statement_id) for item in first] == sorted(
        (-item.score, item.statement_id) for item in first
    )


@pytest.mark.parametrize(
    ("made", "parameters", "message"),
    [
        (StatementGraphRetriever, {"beam_width": 0}, "beam_width is 0"),
        (StatementGraphRetriever, {"vector_seeds": -1}, "vector_seeds is -1"),
        (StatementGraphRetriever, {"path_weight": 1.5}, "path_weight is 1.5"),
        (TopicGraphRetriever, {"topics": 0}, "topics is 0"),
        (TopicGraphRetriever, {"path_weight": -0.5}, "path_weight is -0.5"),
    ],
)
def test_parameters_are_checked(made: type[Retriever], parameters: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**parameters)
