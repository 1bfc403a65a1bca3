"""Degenerate corpora and questions: every strategy, unit, mode and preset gives evidence or none, and never a raw exception.

The table is run on the embedded store, and a part of it on Neo4j and OpenSearch.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest
from live_stores import empty, settings_for
from thoroughness import cases

import hlgraph
from hlgraph import HLGraph
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.answer.answering import AnswerMode
from hlgraph.errors import InputError
from hlgraph.records import Document
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.request import Mode
from hlgraph.retrieve.retriever import PRESETS, units_of, with_preset
from hlgraph.testing.embedder import WordEmbedder

MODES: tuple[Mode, ...] = get_args(Mode)
HEADING = "# The Orlen bridge was closed"
CORPORA = {  # the texts of the documents of each
    "one heading": ["# Heading\n"],
    "a heading that asserts": [f"{HEADING}\n"],
    "the same heading in twelve": ["# Heading\n"] * 12,
    "one statement without a name": ["it rained all day."],
    "one statement": ["Mara Quill designed the Orlen Bridge."],
    "a heading beside statements": ["# Heading\n", "Mara Quill designed the Orlen Bridge. She was born in Tessing."],
    "symbols": ["§§§ *** !!!"],
    "digits": ["1 2 3 4 5"],
    "emoji": ["🌉 🙂"],
    "one letter": ["x"],
    "right to left": ["افتتح الجسر في عام ١٩٣١."],
    "code": ["```\nx = 1\n```\n"],
    "a table": ["| a | b |\n| --- | --- |\n| 1 | 2 |\n"],
    "only stop words": ["Who was it and what is that of?"],
}
QUESTIONS = {
    "stop words": "Who was here?",
    "only stop words": "the of and",
    "one symbol": "?",
    "symbols": "§ *** ((",
    "one letter": "x",
    "digits": "1931",
    "emoji": "🌉",
    "very long": "Who designed the bridge? " * 400,
    "one long word": "b" * 20_000,
    "right to left": "من فتح الجسر؟",
    "marks of direction": "\u202e\u200f bridge",
    "operators": 'AND OR NOT "bridge* ~^:\\',
    "two clauses": "Who designed the bridge, and who closed it?",
}
# What decides differently: a filter that admits nothing, an explanation, labels of tables.
UNITS = [(name, unit) for name, made in sorted(STRATEGIES.items()) for unit in (None, *units_of(made))]
OWN_UNITS = [(name, unit) for name, unit in UNITS if unit is None]
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"where": {"uri": "doc:nowhere"}},
    {"where": {"uri": "doc:nowhere"}, "explain": True},
    {"explain": True, "tabular": True, "k": 1, "diversity": 0.5},
)
ANSWERS = [
    *({"mode": mode, "unsupported": wanted} for mode in get_args(AnswerMode) for wanted in ("flag", "drop")),
    {"least_support": 0.0},
    {"mode": "report", "where": {"uri": "doc:nowhere"}},
    {"where": {"uri": "doc:nowhere"}},
    {"choices": ["Ada Falk", "Ben Moro"]},
    {"unit": "chunk", "search_mode": "text", "explain": True, "tabular": True},
    {"strategy": "global", "mode": "report"},
    {"strategy": "hierarchy", "mode": "report"},
]


def fill(graph: HLGraph, texts: Sequence[str]) -> None:
    """Ingest the texts, and build all that is derived."""
    assert graph.ingest([Document(f"doc:{n}", text) for n, text in enumerate(texts)]).sources_added == len(texts)
    build(graph)


def build(graph: HLGraph) -> None:
    for shape in ProjectionShape:
        graph.communities.build(shape.value)
        graph.communities.find(shape.value)
    graph.hierarchy.build()
    graph.hierarchy.find()


def asked(modes: Sequence[Mode], units: Any, turn: int) -> Iterator[tuple[tuple[str, Any], Mode, dict[str, Any]]]:
    """Every strategy in every mode and with every option; every unit in one mode, by turns, or in a thorough run in all."""
    named = [pair for pair in units if pair not in OWN_UNITS]
    yield from itertools.product(OWN_UNITS, modes, OPTIONS[:1])
    yield from itertools.product(named, cases((modes[turn % len(modes)],), modes), OPTIONS[:1])
    yield from itertools.product(cases(OWN_UNITS, units), modes[:1], OPTIONS[1:])


def check_searches(
    graph: HLGraph, question: str, modes: Sequence[Mode] = MODES, units: Any = UNITS, *, turn: int = 0
) -> None:
    """Evidence or none; none where the filter admits nothing, and some by vector where there is a chunk."""
    has_chunks = any(graph.stats()[0].records.values())
    for (strategy, unit), mode, options in asked(modes, units, turn):
        found = graph.search(question, strategy=strategy, unit=unit, mode=mode, **options)
        place = (strategy, unit, mode, options)
        assert "where" not in options or not found.evidence, place
        if unit == "summary":  # these alone, of which there may be none
            assert all(item.rests_on for item in found.evidence), place
        else:
            assert bool(found.evidence) == has_chunks or mode == "text" or "where" in options, place
        if "explain" in options:
            assert strategy in found.explain.to_html(), place


def check_answers(graph: HLGraph, question: str) -> None:
    for options in ANSWERS:
        found = graph.answer(question, **options)
        assert found.text, options
        assert "where" not in options or not found.citations, options


@pytest.mark.parametrize("name", CORPORA)
def test_every_strategy_on_a_degenerate_corpus(graph: HLGraph, name: str) -> None:
    fill(graph, CORPORA[name])
    check_searches(graph, "Who closed it?", turn=list(CORPORA).index(name))
    check_answers(graph, "Who was here?")


def test_every_strategy_on_a_corpus_that_was_emptied(graph: HLGraph) -> None:
    fill(graph, CORPORA["a heading beside statements"])
    graph.delete(everything=True)
    build(graph)
    check_searches(graph, "Who closed it?")
    check_answers(graph, "Who was here?")


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HLGraph]:
    folder = tmp_path_factory.mktemp("beside")
    with hlgraph.connect(f"hlgraph://{folder}/store", embedder=WordEmbedder()) as found:
        fill(found, CORPORA["a heading beside statements"])
        yield found


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_every_strategy_with_a_degenerate_question(beside: HLGraph, question: str) -> None:
    modes = cases((MODES[list(QUESTIONS.values()).index(question) % len(MODES)],), MODES)
    check_searches(beside, question, modes, OWN_UNITS)
    check_answers(beside, question)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_on_degenerate_corpora(graph: HLGraph, preset: str) -> None:
    for texts in (CORPORA["one heading"], CORPORA["one statement"]):
        fill(graph, texts)
        for strategy, mode in itertools.product(STRATEGIES.values(), MODES):
            found = graph.search("Who closed it?", strategy=with_preset(strategy, preset), mode=mode)
            assert found.evidence or mode == "text", (strategy, preset)
        graph.delete(everything=True)


@pytest.mark.parametrize("question", ["", " ", "\n\t", "\u3000\u00a0"])
def test_white_space_is_no_question(graph: HLGraph, question: str) -> None:
    fill(graph, CORPORA["one heading"])
    for call in (graph.search, graph.answer):
        for strategy in STRATEGIES:
            with pytest.raises(InputError, match=r"^the question is empty; ask something$"):
                call(question, strategy=strategy)


def check_the_heading(graph: HLGraph, units: Any = UNITS, modes: Sequence[Mode] = MODES) -> None:
    """A heading is no statement, so its chunk is the evidence of every strategy, in every unit and mode; there is no summary."""
    for (strategy, unit), mode in itertools.product(units, modes):
        if unit == "summary":
            continue
        [found] = graph.search("Who closed it?", strategy=strategy, unit=unit, mode=mode).evidence
        assert found.text.removeprefix("# ") == HEADING.removeprefix("# "), (strategy, unit, mode)


def test_a_heading_alone_is_the_evidence_of_every_strategy(graph: HLGraph) -> None:
    fill(graph, CORPORA["a heading that asserts"])
    check_the_heading(graph)
    assert HEADING.removeprefix("# ") in graph.answer("Who closed it?").text


def test_degenerate_corpora_and_questions_on_the_servers(servers: Any) -> None:
    empty(servers)
    with hlgraph.connect(replace(settings_for(servers), corpus="degenerate"), embedder=WordEmbedder()) as graph:
        fill(graph, CORPORA["a heading that asserts"])
        check_the_heading(graph, OWN_UNITS, ("hybrid",))
        check_answers(graph, "Who was here?")
        graph.delete(everything=True)
        build(graph)
        check_searches(graph, QUESTIONS["operators"], ("vector",), OWN_UNITS)
