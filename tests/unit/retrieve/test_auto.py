"""The router: what the wording decides, what the first search decides, and that it then is the strategy that it picked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hlgraph
from hlgraph.algorithms.word_counts import count_words
from hlgraph.errors import InputError
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Hit, Kind, Scalar
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.retrieve.question.keywords import broad, chain, comparison
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.strategies.auto import AutoRetriever, Choice, Shape, Wording, shape, worded
from hlgraph.retrieve.strategies.path import TUNED_PATH
from hlgraph.retrieve.strategies.statement import TUNED_STATEMENT
from hlgraph.stores.protocols import Stores, VectorQuery
from hlgraph.testing.corpus import fill
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

CORPUS = "tiny"
# One source has all that is said about locks; two have what is said about Mara Quill.
ONE = "How high is the gate of the upper lock, which opened in 1820?"
SCATTERED = "Which colour has a barge?"
JOINED = "Where was the designer of the Aldane Bridge born?"
BROAD = "What are the main themes?"
_DOCUMENTS = [
    Document(
        "doc:lock",
        "The upper lock opened in 1820. The gate of the upper lock is six metres high. The upper lock has one gate. "
        "The gate of the lock is of oak. The lock is high above the gate of the town.",
        "upper lock",
        {"year": 1},
    ),
    *(
        Document(f"doc:barge{at}", f"Barge {at} has the colour of rust.", f"Barge {at}", {"year": 2})
        for at in range(12)
    ),
]


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    fill(module_stores)
    fill(module_stores, *_DOCUMENTS)
    return module_stores


def _ask(
    stores: Stores,
    question: str,
    chosen: str | Retriever = "auto",
    *,
    unit: Unit | None = None,
    k: int = 5,
    where: str = "",
) -> SearchResult:
    request = SearchRequest(question, CORPUS, k, unit, where=parse(where) if where else None)
    return search(request, chosen, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())


def _chosen(found: SearchResult) -> dict[str, Scalar]:
    (step,) = [step for step in found.explain.steps if step.name == "choose"]
    return dict(step.details)


def test_first_search_and_joining_strategy_share_one_vector_request(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[Kind]] = []
    inner = stores.vectors.search_many

    def noted(queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        asked.append({query.kind for query in queries})
        return inner(queries)

    monkeypatch.setattr(stores.vectors, "search_many", noted)
    assert _chosen(_ask(stores, SCATTERED, unit="chunk"))["strategy"] == "fused"
    assert asked == [{Kind.STATEMENT, Kind.CHUNK, Kind.TOPIC}]
    asked.clear()
    assert _chosen(_ask(stores, ONE, unit="chunk"))["strategy"] == "statement"
    assert len(asked) == 1


# What the wording says


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who is older, Mara Quill or Ivo Brandt?", "older"),
        ("Which film came out first, Night Ferry or The Lock?", "first"),
        ("Were both engineers born in Tessing?", "both"),
        ("What do Ombry and Haldrey have in common?", "in common"),
        ("What is the difference between a lock and a weir?", "difference"),
        ("Who was the first mayor of Ombry?", ""),
        ("Where was Mara Quill born?", ""),
        ("¿Quién es mayor, Mara Quill o Ivo Brandt?", ""),
    ],
)
def test_words_that_compare(question: str, words: str) -> None:
    assert comparison(question) == words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who is the mother of the director of Night Ferry?", "the mother of"),
        ("Where was Ivo Brandt's father born?", "'s father"),
        ("In what town was the engineer who built the lock born?", "was the engineer who"),
        ("What is the name of the river on which Tessing lies?", "is the name of the river on which"),
        ("Where does the river that passes Tessing end?", "does the river that"),
        ("When was Mara Quill born?", ""),
        ("What is the height of the Aldane Bridge?", ""),
        ("Wo wurde der Vater von Ivo Brandt geboren?", ""),
    ],
)
def test_chain_wording(question: str, words: str) -> None:
    assert chain(question) == words


@pytest.mark.parametrize(
    "question",
    [
        "What are the main disputes?",
        "What is it all about?",
        "Give an overview of the collection.",
        "Summarise what is said about the bridges.",
        "How did the floods change the towns?",
        "How does soil health influence the yield of organic farms?",
        "What are the major factors to consider when planning crop production?",
        "Which themes run through the letters?",
    ],
)
def test_questions_about_the_whole(question: str) -> None:
    assert broad(question)


@pytest.mark.parametrize(
    "question",
    [
        "What are the main disputes about the Aldane Bridge?",  # names something
        "How did the flood of 1892 change Ombry?",
        "How do I reset my password?",
        "How long is the bridge?",
        "Who wrote the report?",
        "What kind of wood is the gate made of?",
        "Was sind die wichtigsten Themen?",  # another language has no wording here
    ],
)
def test_questions_about_something(question: str) -> None:
    assert not broad(question)


# What is chosen


_PLAIN = Wording("", "", "", 1)


@pytest.mark.parametrize(
    ("wording", "strategy", "because"),
    [
        (_PLAIN._replace(broad="main themes"), "global", "about the whole"),
        (_PLAIN._replace(comparison="older"), "fused", "compares"),
        (_PLAIN._replace(chain="the father of"), "fused", "through another"),
        (_PLAIN._replace(names=2), "fused", "2 names"),
        (_PLAIN._replace(broad="overall", comparison="both"), "global", "about the whole"),
    ],
)
def test_the_wording_decides(wording: Wording, strategy: str, because: str) -> None:
    choice = AutoRetriever().by_wording(wording, has_communities=True)
    assert choice is not None
    assert choice.strategy == strategy
    assert because in choice.because


def test_a_plain_question_is_left_to_the_first_search() -> None:
    assert AutoRetriever().by_wording(_PLAIN, has_communities=True) is None
    assert AutoRetriever(names=1).by_wording(_PLAIN, has_communities=True) is not None


def test_without_the_extra_global_is_not_chosen() -> None:
    choice = AutoRetriever(joining="path").by_wording(_PLAIN._replace(broad="overall"), has_communities=False)
    assert choice is not None
    assert choice.strategy == "path"
    assert "needs the extra communities" in choice.because


@pytest.mark.parametrize(
    ("found", "strategy"),
    [
        (Shape(0.4, 0.6), "statement"),
        (Shape(1.0, 1.0), "statement"),
        (Shape(0.39, 1.0), "fused"),
        (Shape(1.0, 0.59), "fused"),
        (Shape(0.0, 0.0), "fused"),
    ],
)
def test_the_first_search_decides(found: Shape, strategy: str) -> None:
    choice = AutoRetriever(one_source=0.4, covered=0.6).by_shape(found)
    assert isinstance(choice, Choice)
    assert choice.strategy == strategy


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"joining": "global"}, "joining is 'global'; choose one of: fused, path"),
        ({"names": 0}, "names is 0; it must be at least 1"),
        ({"looked_at": 0}, "looked_at is 0"),
        ({"one_source": 1.5}, "one_source is 1.5"),
        ({"covered": -0.1}, "covered is -0.1"),
        ({"covered": float("nan")}, "covered is nan"),
    ],
)
def test_parameters_that_cannot_be(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        AutoRetriever(**parameters)  # type: ignore[arg-type]


# The shape of a search, again without arrays


_TERMS = ("lock", "gate", "oak")
_ONE = st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from((*_TERMS, "barge")), max_size=4).map(" ".join))


def _weight(statements: Sequence[tuple[str, str]], of: Sequence[str]) -> float:
    total = 0.0
    for term in _TERMS:
        having = sum(term in text.split() for _, text in statements)
        if any(term in text.split() for text in of):
            total += log(1 + (len(statements) - having + 0.5) / (having + 0.5))
    return total


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_ONE, max_size=8), st.integers(1, 10))
def test_shape_matches_its_definition(statements: list[tuple[str, str]], most: int) -> None:
    counted = count_words(_TERMS, [text for _, text in statements])
    found = shape(counted, [source for source, _ in statements], most=most)
    best = statements[:most]
    counts = Counter(source for source, _ in best)
    first = [source for source, _ in best if counts[source] == max(counts.values())][:1]
    mine = [text for source, text in best if source in first]
    together = _weight(statements, [text for _, text in best])
    assert found.one_source == pytest.approx(len(mine) / len(best) if best else 0)
    assert found.covered == pytest.approx(_weight(statements, mine) / together if together else 0)
    assert 0 <= found.covered <= 1


def test_a_question_without_content_words_has_no_coverage() -> None:
    assert shape(count_words([], ["The gate."]), ["a"], most=5) == Shape(1.0, 0.0)


# What it then does


@pytest.mark.parametrize(
    ("question", "same"), [(ONE, "statement"), (SCATTERED, "fused"), (JOINED, "fused"), (BROAD, "global")]
)
@pytest.mark.parametrize("unit", ["statement", "chunk"])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_evidence_is_that_of_the_strategy(stores: Stores, question: str, same: str, unit: Unit, k: int) -> None:
    found = _ask(stores, question, unit=unit, k=k)
    assert _chosen(found)["strategy"] == same
    assert found.evidence == _ask(stores, question, same, unit=unit, k=k).evidence
    assert found.evidence
    assert (found.explain.strategy, found.explain.unit) == ("auto", unit)


def test_dominant_source_ends_the_search(stores: Stores) -> None:
    found = _ask(stores, ONE, unit="statement")
    assert [step.name for step in found.explain.steps] == [
        "embed", "search statement", "search statement", "rerank", "choose", "diversity",
    ]  # fmt: skip
    assert found.explain.round_trips == _ask(stores, ONE, TUNED_STATEMENT, unit="statement").explain.round_trips


def test_wording_decides_without_first_search(stores: Stores) -> None:
    found, alone = _ask(stores, JOINED, unit="chunk"), _ask(stores, JOINED, "fused", unit="chunk")
    names = [step.name for step in found.explain.steps]
    assert names[0] == "choose"
    assert names[1:] == [step.name for step in alone.explain.steps]


def test_after_a_first_search_the_question_is_not_embedded_again(stores: Stores) -> None:
    embedder = WordEmbedder()
    request = SearchRequest(SCATTERED, CORPUS, 5)
    search(request, "auto", stores=stores, embedder=embedder, reranker=LexicalReranker())
    assert embedder.embedded.count(SCATTERED) == 1


def test_the_choice_is_explained_with_every_feature_and_threshold(stores: Stores) -> None:
    assert _chosen(_ask(stores, ONE)) == {
        "strategy": "statement",
        "because": "one source dominates the best statements, and covers the question",
        "is_report": False,
        "broad": "no",
        "comparison": "no",
        "chain": "no",
        "names": 0,
        "names_at_least": 2,
        "one_source": 1.0,
        "one_source_at_least": 1.0,
        "covered": 1.0,
        "covered_at_least": 0.95,
    }
    said = _chosen(_ask(stores, JOINED))
    assert (said["strategy"], said["chain"]) == ("fused", "the designer of")
    assert "one_source" not in said  # the first search was not made


def test_path_can_take_the_place_of_fused(stores: Stores) -> None:
    found = _ask(stores, JOINED, AutoRetriever(joining="path"), unit="chunk")
    assert _chosen(found)["strategy"] == "path"
    assert found.evidence == _ask(stores, JOINED, TUNED_PATH, unit="chunk").evidence


def test_a_source_that_the_filter_hides_dominates_nothing(stores: Stores) -> None:
    assert _chosen(_ask(stores, ONE))["strategy"] == "statement"
    hidden = _ask(stores, ONE, where="year = 2")
    assert _chosen(hidden)["strategy"] == "fused"
    assert all(item.source.metadata["year"] == 2 for item in hidden.evidence)


def test_no_hits_means_no_dominant_source(stores: Stores) -> None:
    found = _ask(stores, ONE, where="year = 3")
    assert found.evidence == ()
    assert (_chosen(found)["one_source"], _chosen(found)["covered"]) == (0.0, 0.0)


def test_a_report_is_about_the_whole(tmp_path: object) -> None:
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(_DOCUMENTS)
        question = "How high is the upper lock?"
        report = graph.answer(question, strategy="auto", mode="report")
        assert report == graph.answer(question, strategy="global", mode="report")
        short = graph.answer(question, strategy="auto")
        assert short == graph.answer(question, strategy="statement")


def test_names_are_counted_as_subqueries_are() -> None:
    assert worded("Was Mara Quill or Ivo Brandt born in Tessing in 1889?").names == 3
