"""After the ranking: near-duplicates go and others fill up, numbers get labels, and the trace says so."""

from __future__ import annotations

import re

import pytest
from extractors import RuleExtractor
from hierarchies import with_hierarchy

from hlgraph.chunk import WholeChunker
from hlgraph.errors import InputError
from hlgraph.extract import LocalExtractor
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Extraction, Mention, Proposition
from hlgraph.retrieve import STRATEGIES, SearchRequest, SearchResult, StepTrace, search
from hlgraph.retrieve.request import Mode, Unit
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.stores.protocols import Stores
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder()
_COPIES = 30
_QUESTION = "How many crates did the ship Halma carry to Ombry?"
_TABLE = """## Freight

| (in tons) | 1952 | 1953 |
| --- | --- | --- |
| Coal | 410 | 395 |
| Salt | 12 | 15 |

Salt was dear that year. Coal came to 395."""


def _copies() -> list[Document]:
    """One report in many copies that differ in the spelling of the number, and four reports of something else."""
    forms = ("1,000", "1000", "one thousand")
    copies = [f"The ship Halma carried {forms[at % 3]} crates to Ombry." for at in range(_COPIES)]
    others = [
        "The ship Halma carried 1,001 crates to Ombry.",
        "The ship Halma carried no crates to Stennick.",
        "A ship lay at Ombry.",
        "A big ship lay at Ombry.",
    ]
    return [Document(f"doc:{at:02}", text, "") for at, text in enumerate((*copies, *others))]


def _by_line(chunk: ChunkInput) -> Extraction:
    """Every sentence and table row as a proposition in its own words, without the labels of a head."""
    propositions = [
        Proposition(match[0].strip("| ").replace(" | ", " "), *match.span(), ("freight",), (Mention("Halma"),))
        for match in re.finditer(r"[A-Z][^.\n|]*\.|^\| [A-Z].*$", chunk.text, re.MULTILINE)
    ]
    return Extraction(tuple(propositions), ("freight",))


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    """``copies`` by sentences; ``table`` by lines, and ``local`` the same by the local extractor."""
    lines = pipeline.Steps(WholeChunker(), RuleExtractor(_by_line), _EMBEDDER)
    local = pipeline.Steps(WholeChunker(), LocalExtractor(), _EMBEDDER)
    table = [Document("doc:table", _TABLE, "Velm line")]
    for corpus, documents, steps in (("copies", _copies(), lines), ("table", table, lines), ("local", table, local)):
        report = pipeline.ingest(documents, corpus, stores=module_stores, steps=steps)
        with_hierarchy(module_stores, corpus, embedder=_EMBEDDER)
        assert (report.failed, report.problems) == ([], [])
    return module_stores


def _ask(
    stores: Stores, strategy: str | Retriever, unit: Unit | None = None, *, k: int = 5, diversity: float | None = None
) -> SearchResult:
    request = SearchRequest(_QUESTION, "copies", k, unit, diversity=diversity)
    return search(request, strategy, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())


def _step(result: SearchResult, name: str) -> StepTrace:
    """The last of this name: the one that gave the result."""
    return [step for step in result.explain.steps if step.name == name][-1]


def test_duplicates_are_replaced_by_other_evidence(stores: Stores) -> None:
    result = _ask(stores, "statement")
    texts = [item.text for item in result.evidence]
    assert len(texts) == 5
    assert sum("1,001" in text or "Stennick" in text or "lay at" in text for text in texts) == 4
    step = _step(result, "diversity")
    assert (step.count, step.details) == (5, {"tau": 0.005, "dropped": _COPIES - 1, "lemmas": True})


def test_best_of_the_duplicates_is_kept(stores: Stores) -> None:
    everything = _ask(stores, "statement", diversity=0, k=40).evidence
    best = _ask(stores, "statement").evidence[0]
    assert (best.statement_id, best.score) == (everything[0].statement_id, everything[0].score)


def test_search_widens_until_there_is_enough_evidence(stores: Stores) -> None:
    """Five candidates are copies all of them: the search goes on behind them."""
    result = _ask(stores, StatementRetriever(candidates=5))
    assert len(result.evidence) == 5
    assert len({item.text for item in result.evidence}) == 5


def test_asking_for_more_than_there_is_gives_all_that_differ(stores: Stores) -> None:
    assert len(_ask(stores, "statement", k=50).evidence) == 5


@pytest.mark.parametrize("unit", ["statement", "chunk"])
def test_asking_again_or_for_fewer_gives_the_same(stores: Stores, unit: Unit) -> None:
    found = _ask(stores, "statement", unit).evidence
    assert _ask(stores, "statement", unit).evidence == found
    assert _ask(stores, "statement", unit, k=2).evidence == found[:2]


@pytest.mark.parametrize("unit", ["statement", "chunk"])
def test_zero_keeps_all(stores: Stores, unit: Unit) -> None:
    result = _ask(stores, "statement", unit, k=50, diversity=0)
    assert len(result.evidence) == _COPIES + 4
    assert "diversity" not in {step.name for step in result.explain.steps}


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_the_default_is_that_of_the_strategy(stores: Stores, strategy: str) -> None:
    result = _ask(stores, strategy, k=20)
    taus = {step.details["tau"] for step in result.explain.steps if step.name == "diversity"}
    chosen = next((step.details["strategy"] for step in result.explain.steps if step.name == "choose"), strategy)
    usual = getattr(STRATEGIES[str(chosen)], "diversity", 0.0)
    assert taus == ({usual} if usual else set())


@pytest.mark.parametrize("unit", ["statement", "chunk"])
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_takes_a_threshold(stores: Stores, strategy: str, unit: Unit) -> None:
    found = _ask(stores, strategy, unit, diversity=0.005).evidence
    assert sum("carried" in item.text and "Ombry" in item.text and "1,001" not in item.text for item in found) <= 1


def test_wide_threshold_also_drops_similar_texts(stores: Stores) -> None:
    found = [item.text for item in _ask(stores, "statement", diversity=1, k=50).evidence]
    assert sum("lay at" in text for text in found) == 1
    assert sum("carried" in text for text in found) == 3  # another number or another place is never the same


@pytest.mark.parametrize("diversity", [-0.1, 1.1, float("nan")])
def test_a_threshold_that_is_none(diversity: float) -> None:
    with pytest.raises(InputError, match=r"diversity is .*; choose a number from 0"):
        SearchRequest("Who?", "c", diversity=diversity)


def _labelled(stores: Stores, question: str, corpus: str = "table", unit: Unit = "statement") -> SearchResult:
    mode: Mode = "vector"
    request = SearchRequest(question, corpus, 10, unit, mode, tabular=True)
    return search(request, "statement", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())


def test_numbers_of_a_table_get_its_labels_and_nothing_else_changes(stores: Stores) -> None:
    result = _labelled(stores, "Salt and coal")
    labels = {item.text: item.labels for item in result.evidence}
    assert labels == {
        "Coal 410 395": ("Coal, 1952 (in tons): 410", "Coal, 1953 (in tons): 395"),
        "Salt 12 15": ("Salt, 1952 (in tons): 12", "Salt, 1953 (in tons): 15"),
        "Salt was dear that year.": (),
        "Coal came to 395.": ("Coal, 1953 (in tons): 395",),
    }
    assert {_TABLE[item.start : item.end].strip("| ").replace(" | ", " ") for item in result.evidence} == set(labels)
    assert _step(result, "tabular").count == 3
    request = SearchRequest("Salt and coal", "table")
    plain = search(request, "statement", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
    assert [(item.text, item.score, item.start, item.end) for item in plain.evidence] == [
        (item.text, item.score, item.start, item.end) for item in result.evidence
    ]
    assert not any(item.labels for item in plain.evidence)
    assert plain.explain.round_trips == result.explain.round_trips  # the chunks are read already


def test_labels_of_local_extractor_are_not_repeated_except_the_unit(stores: Stores) -> None:
    labels = {item.text: item.labels for item in _labelled(stores, "Salt", "local").evidence}
    coal = next(text for text in labels if "410" in text)
    assert "Coal; 1952: 410; 1953: 395" in coal.replace("(in tons): ", "")
    assert all("tons" in label for label in labels[coal])


def test_chunks_hold_their_tables_themselves(stores: Stores) -> None:
    assert [item.labels for item in _labelled(stores, "Salt", unit="chunk").evidence] == [()]
