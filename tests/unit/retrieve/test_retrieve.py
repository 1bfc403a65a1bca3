"""Every strategy, in every unit and mode: the right evidence, exact provenance, bounded work, honest explanations."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from extractors import ingest_tiny, sentence_extractor
from hierarchies import with_hierarchy
from thoroughness import IS_THOROUGH

from hlgraph.change import ChangeState
from hlgraph.chunk import ContentDefinedChunker, WholeChunker
from hlgraph.errors import InputError, ModelMismatchError, UnknownNameError, WhereError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import source_id
from hlgraph.index.embed import chunk_text
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.persist.assemble import removal
from hlgraph.records import Chunk, Document, Evidence, Kind, Statement
from hlgraph.retrieve import STRATEGIES, SearchRequest, SearchResult, search
from hlgraph.retrieve.request import Mode, Unit
from hlgraph.retrieve.retriever import UNBOUNDED, Retriever, units_of
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.strategies.chunk_entity import ChunkEntityRetriever
from hlgraph.retrieve.strategies.chunk_rerank import ChunkRerankRetriever
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.retrieve.strategies.topic import TopicRetriever
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.corpus import CORPUS, DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder()
_RERANKER = LexicalReranker()
_MODES: tuple[Mode, ...] = get_args(Mode)
_EVERY = [
    pytest.param(strategy, unit, mode, id=f"{strategy}-{unit}-{mode}")
    for strategy, mode in itertools.product(sorted(STRATEGIES), _MODES)
    for unit in units_of(STRATEGIES[strategy])
    if unit != "summary"  # the tiny corpora have no communities
]
# All in a thorough run; by default a strategy's own unit in every mode, and its other units in one of them.
_SOME = [
    case
    for at, case in enumerate(_EVERY)
    if IS_THOROUGH
    or case.values[1] == STRATEGIES[str(case.values[0])].unit
    or case.values[2] == _MODES[at % len(_MODES)]
]
# All in a thorough run; by default every unit of a strategy once, and the modes in turn: for what takes several searches.
_FEW = [
    case
    for case in _EVERY
    if IS_THOROUGH or case.values[2] == _MODES[sorted(STRATEGIES).index(str(case.values[0])) % len(_MODES)]
]
# Strategies that walk: the most round trips, and how many of them are left out where nothing new is to be read.
_GRAPH_TRIPS = {
    "auto": (37, 12),  # those of fused, after a first search of one more
    "fused": (36, 12),
    "hierarchy": (12, 1),
    "path": (12, 0),
    "statement_graph": (12, 12),
    "topic_graph": (12, 12),
    "diameter": (14, 1),
    # Cycles: how many there are depends on what is found, and each asks up to three questions, or has up to ten sub-queries.
    "local": (36, 24),
    "global": (50, 40),
}


def _topic(chunk: ChunkInput) -> tuple[str, ...]:
    """The deepest heading, or the title."""
    return (*chunk.headings, chunk.title)[-1:]


_SENTENCES = sentence_extractor(re.compile(r"[A-Z][a-z]+\d+").findall, topics=_topic, pattern=r"[^\s.#][^.#]*\.")


def _long(number: int) -> Document:
    """Some chunks, with headings, pages and characters outside the basic plane before every sentence."""
    parts = [
        f"## Part {part}\n\nMara{number} met Ivo{(number * 3 + part) % 40} 🌉 near Town{(number + part) % 15}. "
        f"Ivo{(number + part) % 40} praised the old stone bridge of Town{part} at length, for it was wide and 𝔰trong. "
        f"Nobody in the valley of River{number % 7} had seen a bridge like that one, number {part}, before."
        for part in range(3)
    ]
    text = "\n\n".join((f"# Report {number}", *parts))
    return Document(
        f"doc:{number}", f"  {text}\n", f"Report {number}", {"number": number, "even": number % 2 == 0},
        page_starts=(0, text.index("## Part 2")),
    )  # fmt: skip


_LONG = tuple(map(_long, range(60)))


def _ingest(stores: Stores, documents: Sequence[Document], corpus: str, *, steps: pipeline.Steps) -> None:
    report = pipeline.ingest(documents, corpus, stores=stores, steps=steps)
    assert (report.failed, report.problems) == ([], [])


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    """The tiny corpus, and two of longer documents: ``large`` has 60 of them, ``small`` 8."""
    ingest_tiny(module_stores)
    large = pipeline.Steps(ContentDefinedChunker(40, 0.2), _SENTENCES, _EMBEDDER)
    _ingest(module_stores, _LONG, "large", steps=large)
    _ingest(module_stores, _LONG[:8], "small", steps=large)
    with_hierarchy(module_stores, CORPUS, "large", "small", embedder=_EMBEDDER)
    return module_stores


def _ask(  # noqa: PLR0917 - as SearchRequest has them
    stores: Stores,
    question: str,
    strategy: str | Retriever,
    unit: Unit | None = None,
    mode: Mode = "vector",
    k: int = 10,
    *,
    corpus: str = CORPUS,
    where: str = "",
    embedder: WordEmbedder = _EMBEDDER,
    diversity: float | None = 0,
) -> SearchResult:
    request = SearchRequest(question, corpus, k, unit, mode, parse(where) if where else None, diversity=diversity)
    return search(request, strategy, stores=stores, embedder=embedder, reranker=_RERANKER)


def _texts(result: SearchResult) -> list[str]:
    return [item.text for item in result.evidence]


def _key(item: Evidence) -> str:
    return item.statement_id or item.chunk_id


# Evidence


@pytest.mark.parametrize(("strategy", "unit", "mode"), _EVERY)
def test_the_best_evidence_of_the_tiny_corpus(stores: Stores, strategy: str, unit: Unit, mode: Mode) -> None:
    result = _ask(stores, "Who designed the Aldane Bridge?", strategy, unit, mode)
    best = result.evidence[0]
    assert best.source.uri == "doc:bridge"
    assert "designed by Mara Quill" in best.text
    assert bool(best.statement_id) is (unit == "statement")
    assert all(item.why for item in result.evidence)


@pytest.mark.parametrize(("strategy", "unit", "mode"), _SOME)
def test_spans_are_those_of_the_text_to_the_character(stores: Stores, strategy: str, unit: Unit, mode: Mode) -> None:
    question = "Who praised the bridge of Town3, Mara7 or Ivo12, in part 1 or part 2 of the report?"
    result = _ask(stores, question, strategy, unit, mode, 40, corpus="large")
    texts = {document.uri: document for document in _LONG}
    assert len(result.evidence) == 40
    assert len({item.id for item in result.evidence}) == 40
    assert len({item.source.uri for item in result.evidence}) > 1
    for item in (part for found in result.evidence for part in found.opened):
        document = texts[item.source.uri]
        assert document.text[item.start : item.end] == item.text
        assert item.headings[0] == document.title
        chunk = stores.graph.records(Kind.CHUNK, [item.chunk_id], scope=Scope(item.source.corpus))[0]
        assert isinstance(chunk, Chunk)
        assert (chunk.source_id, chunk.headings) == (item.source.id, item.headings)
        assert chunk.start <= item.start < item.end <= chunk.end
        assert item.page == chunk.page == (1 if chunk.start < document.page_starts[1] else 2)


@pytest.mark.parametrize(("strategy", "unit", "mode"), _FEW)
def test_scores_fall_and_asking_twice_or_for_fewer_gives_the_same(
    stores: Stores, strategy: str, unit: Unit, mode: Mode
) -> None:
    question = "Which old bridge did Mara7 see near Town3, in part 1 or part 2?"
    found = _ask(stores, question, strategy, unit, mode, 20, corpus="large").evidence
    order = [(-item.score, item.source.uri, item.start, item.end, item.text) for item in found]
    assert [score for score, *_ in order] == sorted(score for score, *_ in order)
    assert _ask(stores, question, strategy, unit, mode, 20, corpus="large").evidence == found
    if (
        unit == STRATEGIES[strategy].unit
    ):  # statements are those of k chunks, and a chunk stands where its statement does
        assert order == sorted(order)
        fewer = _ask(stores, question, strategy, unit, mode, 5, corpus="large").evidence
        assert [item.score for item in fewer] == [item.score for item in found[:5]]
        for item, same in zip(
            fewer, found, strict=False
        ):  # a search breaks a tie at its cut, where nothing is read yet
            assert item == same or (mode == "text" and item.score == found[5].score)


def test_a_strategy_has_a_unit_of_its_own(stores: Stores) -> None:
    for name, made in STRATEGIES.items():
        result = _ask(stores, "bridge", name)
        unit = getattr(made, "returned", made.unit)
        assert result.explain.unit == unit
        assert all(bool(item.statement_id) is (unit == "statement") for item in result.evidence)


def test_statements_without_a_reranker_are_in_the_order_of_their_cosine(stores: Stores) -> None:
    question = "Ivo3 praised the stone bridge"
    held = [item for item in stores.graph.find(Kind.STATEMENT, Scope("large")) if isinstance(item, Statement)]
    cosines = _EMBEDDER.embed([item.text for item in held]) @ _EMBEDDER.embed([question])[0]
    expected = sorted(zip((-cosines).round(5).tolist(), [item.id for item in held], strict=True))[:15]
    found = _ask(stores, question, StatementRetriever(has_rerank=False), k=15, corpus="large").evidence
    assert [item.score for item in found] == pytest.approx([-score for score, _ in expected], abs=1e-4)
    assert {item.statement_id for item in found[:5]} <= {name for _, name in expected}


@pytest.mark.parametrize("strategy", ["chunk_rerank", "statement"])
def test_reranker_orders_search_hits(stores: Stores, strategy: str) -> None:
    question = "Who wrote about the river Orne?"
    plain = _ask(stores, question, "chunk" if strategy == "chunk_rerank" else StatementRetriever(has_rerank=False))
    texts = [
        chunk_text(item.source.title, item.text) if strategy == "chunk_rerank" else item.text for item in plain.evidence
    ]
    cosines = np.array([item.score for item in plain.evidence], dtype=np.float32)
    scores = _RERANKER.rerank(question, texts, similarities=cosines)
    expected = sorted(zip((-scores).tolist(), plain.evidence, strict=True), key=lambda pair: (pair[0], _key(pair[1])))
    found = _ask(stores, question, strategy).evidence
    assert [_key(item) for item in found] == [_key(item) for _, item in expected]
    assert [item.score for item in found] == pytest.approx([-score for score, _ in expected], abs=1e-6)
    assert found[0].why["rerank"] == found[0].score
    assert found[0].why["cosine"] == pytest.approx(
        max(item.score for item in plain.evidence if item.text == found[0].text)
    )


def test_chunk_entity_returns_seeds_and_chunks_with_shared_entities(stores: Stores) -> None:
    result = _ask(stores, "When did the Aldane Bridge open, in 1931?", ChunkEntityRetriever(seeds=1))
    assert {item.source.uri for item in result.evidence} == {"doc:bridge", "doc:engineer"}


def test_chunk_entity_prefers_a_rare_shared_name_to_a_common_one(tmp_path: Path) -> None:
    documents = [
        Document("doc:seed", "Mara1 opened the gate of Town1.", "Seed"),
        Document("doc:rare", "Mara1 slept.", "Rare"),
        *(Document(f"doc:common{at}", f"Town1 has a hill {at}.", "Common") for at in range(8)),
    ]
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        _ingest(opened.stores, documents, "c", steps=pipeline.Steps(WholeChunker(), _SENTENCES, _EMBEDDER))
        chosen = ChunkEntityRetriever(seeds=1, nodes=2)
        result = _ask(opened.stores, "Who opened the gate?", chosen, k=2, corpus="c")
        assert {item.source.uri for item in result.evidence} == {"doc:seed", "doc:rare"}


def test_topics_give_their_statements(stores: Stores) -> None:
    result = _ask(stores, "Aldane Bridge", TopicRetriever(topics=1, has_rerank=False))
    assert {item.source.uri for item in result.evidence} == {"doc:bridge"}
    assert len(result.evidence) == 2
    result = _ask(stores, "Part 2", TopicRetriever(topics=1, statements=2), k=1, corpus="large")
    assert result.evidence[0].headings[-1] == "Part 2"


def test_all_statements_of_the_topics_are_reranked(stores: Stores) -> None:
    """As in the paper: no cut by similarity before the reranker."""
    result = _ask(stores, "Part 2", TopicRetriever(topics=1_000), corpus="large")
    held = list(stores.graph.find(Kind.STATEMENT, Scope("large")))
    assert [step.count for step in result.explain.steps if step.name == "rerank"] == [len(held)]
    assert len(held) > 300


@pytest.mark.parametrize(("preset", "count"), [("paper", 1_000), ("literal", 1_100)])
def test_the_preset_literal_reranks_every_statement_of_a_topic(tmp_path: Path, preset: str, count: int) -> None:
    told = " ".join(f"The bridge is number {at}." for at in range(1_100))
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        steps = pipeline.Steps(WholeChunker(), _SENTENCES, _EMBEDDER)
        _ingest(opened.stores, [Document("doc:crowd", told, "Crowd")], "c", steps=steps)
        request = SearchRequest("The bridge is number", "c", 5, None, "vector", explain=True)
        found = search(
            request, retriever("topic", preset), stores=opened.stores, embedder=_EMBEDDER, reranker=LexicalReranker()
        )
    assert found.explain.hops[0].kept == count


def test_chunk_evidence_names_its_best_statement(stores: Stores) -> None:
    result = _ask(stores, "When did the Aldane Bridge open, in 1931?", "statement", "chunk")
    assert result.evidence[0].text == DOCUMENTS[0].text
    assert result.evidence[0].why["statement"] == "The Aldane Bridge opened in 1931."


@pytest.mark.parametrize("strategy", ["chunk", "chunk_rerank", "chunk_entity"])
def test_statements_of_ranked_chunks_keep_the_ranking(stores: Stores, strategy: str) -> None:
    """A statement of a better chunk that is also closer to the question comes first; cosines alone do not decide."""
    question = "Which part of the report is by Mara7?"
    chunks = _ask(stores, question, strategy, "chunk", k=20, corpus="large").evidence
    scores = {item.chunk_id: item.score for item in chunks}
    found = _ask(stores, question, strategy, "statement", k=20, corpus="large").evidence
    pairs = [(scores[item.chunk_id], float(item.why["cosine"])) for item in found if item.chunk_id in scores]
    assert not any(low > high and near > far for at, (high, far) in enumerate(pairs) for low, near in pairs[at:])
    if strategy == "chunk_rerank":
        assert pairs != sorted(pairs, key=lambda pair: -pair[1])


def test_full_text_finds_words_and_hybrid_finds_both(stores: Stores) -> None:
    assert _texts(_ask(stores, "brandt 1931", "chunk", mode="text", k=9)) == _texts(
        _ask(stores, "1931 BRANDT!", "chunk", mode="text", k=9)
    )
    found = {item.source.uri for item in _ask(stores, "brandt 1931", "chunk", mode="text").evidence}
    assert found == {"doc:bridge", "doc:poet"}
    assert len(_ask(stores, "brandt 1931", "chunk", mode="hybrid").evidence) == len(DOCUMENTS)
    assert _ask(stores, "zeppelin", "chunk", mode="text").evidence == ()
    assert len(_ask(stores, "zeppelin", "chunk", mode="vector").evidence) == len(DOCUMENTS)


# Bounded work


@pytest.mark.parametrize(("strategy", "unit", "mode"), _FEW)
def test_round_trips_depend_on_neither_k_nor_the_corpus(stores: Stores, strategy: str, unit: Unit, mode: Mode) -> None:
    question = "Which part of the report about the old Aldane Bridge is by Mara Quill or Mara7?"
    counts = {
        _ask(stores, question, strategy, unit, mode, k, corpus=corpus).explain.round_trips
        for corpus, k in (("small", 5), ("small", 50), ("large", 5), ("large", 50))
    }
    most, may_vary = _GRAPH_TRIPS.get(strategy, (10, 0))
    assert max(counts) <= most
    assert max(counts) - min(counts) <= may_vary


def test_explanation_lists_the_steps(stores: Stores) -> None:
    result = _ask(stores, "Who designed the bridge?", "chunk_entity", "statement", "hybrid", where='category != "x"')
    explain = result.explain
    assert (explain.strategy, explain.unit, explain.mode) == ("chunk_entity", "statement", "hybrid")
    assert explain.parameters == {item.name: item.default for item in fields(ChunkEntityRetriever)}
    names = [step.name for step in explain.steps]
    assert names == [
        "embed", "search chunk", "pull", "similarity chunk", "rerank", "pull", "similarity statement",
    ]  # fmt: skip
    steps = dict(zip(names, explain.steps, strict=True))
    assert steps["search chunk"].details == {"k": 5, "mode": "hybrid"}
    assert steps["search chunk"].count == 4
    assert steps["rerank"].details == {"reranker": _RERANKER.fingerprint}
    assert all(step.milliseconds >= 0 for step in explain.steps)
    assert sum(step.milliseconds for step in explain.steps) <= explain.milliseconds


def test_cosines_that_the_search_gave_are_not_read_again(stores: Stores) -> None:
    steps = {
        mode: [step.name for step in _ask(stores, "Who designed?", "statement", "statement", mode).explain.steps]
        for mode in ("vector", "hybrid")
    }
    assert steps["vector"] == ["embed", "search statement", "rerank"]
    assert steps["hybrid"] == ["embed", "search statement", "similarity statement", "rerank"]
    by_vector, hybrid = (_ask(stores, "Who designed?", "statement", "statement", mode) for mode in ("vector", "hybrid"))
    cosines = {item.statement_id: item.why["cosine"] for item in hybrid.evidence}
    for item in by_vector.evidence:
        assert item.why["cosine"] == pytest.approx(cosines[item.statement_id], abs=1e-6)


def test_the_question_is_embedded_once_and_only_when_needed(stores: Stores) -> None:
    for strategy, mode in itertools.product(sorted(STRATEGIES), ("vector", "hybrid")):
        embedder = WordEmbedder()
        _ask(stores, "Orne?", strategy, "statement", mode, embedder=embedder)  # type: ignore[arg-type]
        assert embedder.embedded[0] == "Orne?"
        assert embedder.embedded.count("Orne?") == 1
        # Exact scores of paths embed their joined texts, cycles their next questions.
        assert strategy in ("global", "local", "path") or len(embedder.embedded) == 1
    embedder = WordEmbedder()
    _ask(stores, "Orne?", "chunk", "chunk", "text", embedder=embedder)
    assert embedder.embedded == []


# What is not there any more


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A removal was published, but its 130 sources still have their rows in the vector store; 12 others are there."""
    close = [Document(f"doc:gone{at}", f"Mara1 saw the bridge {at}.", f"Bridge {at}") for at in range(130)]
    far = [
        Document(f"doc:here{at}", f"The bridge {at} of Town0 is a wide one.", f"Far bridge {at}") for at in range(12)
    ]
    opened = open_stores(f"hlgraph://{tmp_path_factory.mktemp('interrupted')}/s")
    with opened.closing:
        _ingest(opened.stores, close + far, "c", steps=pipeline.Steps(WholeChunker(), _SENTENCES, _EMBEDDER))
        with_hierarchy(opened.stores, "c", embedder=_EMBEDDER)
        change = removal("c", [source_id("c", item.uri) for item in close], versions=[1] * len(close))
        with opened.stores.graph.lock():
            opened.stores.graph.stage(change)
            opened.stores.graph.advance(change.id, ChangeState.PUBLISHED)
        yield opened.stores


@pytest.mark.parametrize(("strategy", "unit", "mode"), _EVERY)
def test_hits_whose_record_vanished_are_refilled(interrupted: Stores, strategy: str, unit: Unit, mode: Mode) -> None:
    result = _ask(interrupted, "Mara1 saw the bridge", strategy, unit, mode, 10, corpus="c")
    assert len(result.evidence) == 10
    assert all("here" in item.source.uri for item in result.evidence)
    assert result.explain.round_trips < (40 if strategy in ("auto", "fused", "global") else 20)


def test_chunk_with_many_statements_does_not_crowd_out_others(tmp_path: Path) -> None:
    crowd = " ".join(f"The bridge is number {at}." for at in range(250))
    documents = [Document("doc:crowd", crowd, "Crowd"), Document("doc:other", "Some other bridge.", "Other")]
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        _ingest(opened.stores, documents, "c", steps=pipeline.Steps(WholeChunker(), _SENTENCES, _EMBEDDER))
        result = _ask(opened.stores, "The bridge is number", "statement", "chunk", k=2, corpus="c")
        assert [item.source.uri for item in result.evidence] == ["doc:crowd", "doc:other"]


# Filters and refusals


@pytest.mark.parametrize(("strategy", "unit", "mode"), _EVERY)
def test_a_filter_holds_everywhere_and_starves_nothing(stores: Stores, strategy: str, unit: Unit, mode: Mode) -> None:
    question = "the old bridge of part 2 or of the report"
    result = _ask(stores, question, strategy, unit, mode, 10, corpus="large", where="number in (3, 5, 8)")
    assert {item.source.metadata["number"] for item in result.evidence} <= {3, 5, 8}
    assert len(result.evidence) >= 9 or unit == "chunk"
    assert len(result.evidence) >= 3


def test_invalid_requests_are_rejected(stores: Stores) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'statement'"):
        _ask(stores, "x", "statements")
    with pytest.raises(UnknownNameError, match=r"no corpus 'none'; ingest something into it first, or name another$"):
        _ask(stores, "x", "chunk", corpus="none")
    with pytest.raises(WhereError, match="did you mean 'category'"):
        _ask(stores, "x", "chunk", where='categori = "x"')
    for changes, message in (
        ({"question": " \n"}, "question is empty"),
        ({"k": 0}, "k is 0"),
        ({"k": 10_001}, "k is 10001"),
        ({"unit": "page"}, "unit is 'page'"),
        ({"mode": "fuzzy"}, "mode is 'fuzzy'"),
    ):
        with pytest.raises(InputError, match=message):
            SearchRequest(**{"question": "x", "corpus": CORPUS, **changes})  # type: ignore[arg-type]


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing, pytest.raises(UnknownNameError, match="ingest something into it first"):
        _ask(opened.stores, "x", "chunk")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("other", [WordEmbedder(16), WordEmbedder(32, name="other")])
def test_other_embedder_is_rejected_if_vectors_are_needed(stores: Stores, other: WordEmbedder) -> None:
    for strategy, mode in (("chunk", "vector"), ("statement", "hybrid"), ("statement", "text"), ("topic", "text")):
        with pytest.raises(ModelMismatchError, match="words/32"):
            _ask(stores, "bridge", strategy, mode=mode, embedder=other)  # type: ignore[arg-type]
    assert len(_ask(stores, "bridge", "chunk", mode="text", embedder=other).evidence) == 1


def test_parameters_are_checked_and_explained(stores: Stores) -> None:
    for make in (lambda: ChunkRerankRetriever(0), lambda: ChunkEntityRetriever(nodes=0), lambda: TopicRetriever(-1)):
        with pytest.raises(InputError, match="it must be at least 1"):
            make()
    explain = _ask(stores, "x", StatementRetriever(candidates=7)).explain
    assert (explain.strategy, dict(explain.parameters)) == (
        "statement",
        {"candidates": 7, "has_rerank": True, "text_candidates": 0},
    )


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("topic", ["statements"]),
        ("topic_graph", ["statements", "rescored", "candidates", "neighbours", "fan_out", "node_cap"]),
        ("statement_graph", ["neighbours", "fan_out", "node_cap"]),
        ("chunk_entity", ["fan_out"]),
        ("diameter", ["fan_out", "node_cap", "statements"]),
    ],
)
def test_the_preset_literal_bounds_nothing_that_a_paper_leaves_open(name: str, bounds: list[str]) -> None:
    literal = retriever(name, "literal")
    assert [name for name in bounds if getattr(literal, name) != UNBOUNDED] == []


@pytest.mark.parametrize("name", ["local", "global"])
def test_the_preset_literal_has_the_printed_thresholds_of_topg(name: str) -> None:
    literal, paper = retriever(name, "literal"), retriever(name, "paper")
    assert isinstance(literal, LocalRetriever | GlobalRetriever)
    assert isinstance(paper, LocalRetriever | GlobalRetriever)
    assert (literal.walk.threshold, literal.walk.temperature, literal.synonyms) == (0.4, 0.1, 0.9)
    assert (paper.walk.threshold, paper.walk.temperature, paper.synonyms) == (None, None, "fitted")
    assert (literal.candidates, paper.candidates) == (0, 100)


def test_presets() -> None:
    assert retriever("statement", "paper") == StatementRetriever(candidates=100, has_rerank=True)
    assert retriever("statement", "plain") == StatementRetriever(has_rerank=False)
    assert retriever("chunk_rerank", "plain") == ChunkRerankRetriever(candidates=50)
    with pytest.raises(UnknownNameError, match="no preset 'quick'; choose one of: fast, literal, paper, plain, tuned"):
        retriever("statement", "quick")
    with pytest.raises(UnknownNameError, match="did you mean 'topic'"):
        retriever("topics", "paper")
