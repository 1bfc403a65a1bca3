"""Summaries are evidence: a chat model reads them, cites them, and each opens to the characters that it rests on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_stores import empty, neo4j_of

import hlgraph
from hlgraph.answer.citations import numbered
from hlgraph.cli.commands.answer import answer_lines
from hlgraph.cli.output import plain, search_tree
from hlgraph.errors import InputError
from hlgraph.index.hierarchy import HierarchyQuery
from hlgraph.integrations.langchain import to_langchain
from hlgraph.records import Document, Evidence, Kind
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder(64)
_QUERY = HierarchyQuery(layers=2, max_size=6)
_MARK = "Overview"
_WORDS = {
    "mill": ["rye", "flour", "miller", "grain", "baker", "sail"],
    "comet": ["lens", "dome", "orbit", "night", "tail", "Molnard"],
}
_QUESTION = "What do the notes say of the mill at Lund?"
_SAID = "The mill at Lund is old and known."


def _documents() -> list[Document]:
    return [
        Document(
            f"doc:{theme}:{word}",
            f"The {theme} at Lund is old. The {theme} at Lund is known. One note of the {theme} speaks of {word}.",
            f"{theme.title()} {number}",
            {"theme": theme, "number": number},
        )
        for theme, words in _WORDS.items()
        for number, word in enumerate(words)
    ]


_TEXTS = {item.uri: item.text for item in _documents()}


def _summary(theme: str) -> str:
    return f"{_MARK}: what the notes say of the {theme} at Lund is that it is old and known."


def _reply(system: str, user: str) -> str:
    """A summary with a mark; points and answers that cite that of the mill, or the last one."""
    if "<passage " in user:
        theme = "mill" if "mill" in user else "comet"
        return _summary(theme)
    blocks = re.findall(r"^\[(\d+)\](.*?)(?=^\[\d+\]|\Z)", user, flags=re.MULTILINE | re.DOTALL)
    marked = [number for number, text in blocks if _summary("mill") in text] or [
        n for n, text in blocks if _MARK in text
    ]
    cited = marked[0] if marked else re.findall(r"\[(\d+)\]", user)[0]
    return f"90 | {_SAID} [{cited}]" if "bar" in system else f"{_SAID} [{cited}]"


class Made:
    """An open graph whose hierarchy a scripted chat model wrote."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.chat = ScriptedChat(_reply)
        settings = replace(settings, corpus="c", models=ModelSettings(cache=str(folder / "cache")))
        self.graph = hlgraph.connect(settings, embedder=_EMBEDDER, chat=self.chat)
        self.graph.ingest(_documents())
        self.graph.hierarchy.build(_QUERY)
        self._built = len(self.chat.asked)

    def asked(self) -> str:
        """What the model was sent after the build."""
        return "\n".join(user for _, user, _ in self.chat.asked[self._built :])

    def summaries(self, question: str = _QUESTION, **options: Any) -> list[Evidence]:
        """The summaries that a search finds."""
        found = self.graph.search(question, strategy="hierarchy", unit="summary", **options)
        return list(found.evidence)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    found = Made(Settings(store=f"hlgraph://{tmp_path}/s"), tmp_path)
    with found.graph:
        yield found
        assert all(item.is_fine for item in found.graph.check())


def _check_opens(item: Evidence) -> None:
    """A summary rests on chunks, each of which is what its source has at these characters."""
    assert (item.kind, item.id) == (Kind.SUMMARY, item.summary_id)
    assert len(item.opened) > 1
    assert all(_TEXTS[part.source.uri][part.start : part.end] == part.text for part in item.opened)
    assert (item.chunk_id, item.source) == (item.opened[0].chunk_id, item.opened[0].source)


@pytest.mark.parametrize("mode", ["short", "report"])
def test_a_model_reads_a_summary_and_cites_it(made: Made, mode: hlgraph.AnswerMode) -> None:
    answer = made.graph.answer(_QUESTION, strategy="hierarchy", mode=mode, k=8)
    assert _MARK in made.asked()
    assert "a summary of 6 passages from Mill" in made.asked()
    assert answer.is_supported
    if answer.report:  # groups of a hierarchy share a call
        assert (answer.report.calls, answer.report.summaries) == (2, 2)
        assert any("passages, 2 summaries; 1 of 1 points" in line for line in answer_lines(answer, is_printed=False))
    (citation,) = answer.citations
    _check_opens(citation.evidence)
    assert citation.evidence.text.startswith(_MARK)
    lines = [*answer_lines(answer, is_printed=False)]
    assert "  [1] summary of 6 chunks of 6 sources" in lines
    opened = [line for line in lines if re.match(r" +rests on: Mill \d; characters 0-\d+ of doc:mill:", line)]
    assert len(opened) == 5
    assert "      ... and 1 more chunk (--json lists all)" in lines


@pytest.mark.parametrize("strategy", ["statement", "global"])
def test_a_report_of_another_strategy_reads_the_summaries_too(made: Made, strategy: str) -> None:
    answer = made.graph.answer(_QUESTION, strategy=strategy, mode="report", k=4)
    assert answer.report
    assert answer.report.summaries == 2
    assert _MARK in made.asked()
    (citation,) = answer.citations
    _check_opens(citation.evidence)
    count = len(made.chat.asked)
    made.graph.answer(_QUESTION, strategy=strategy, mode="report", k=4, unit="statement")
    assert not any(_MARK in user for _, user, _ in made.chat.asked[count:])


def test_chunks_and_summaries_are_in_one_ranking(made: Made) -> None:
    found = made.graph.search(_QUESTION, strategy="hierarchy", k=8, explain=True)
    assert {item.kind for item in found.evidence} == {Kind.CHUNK, Kind.SUMMARY}
    scores = [item.score for item in found.evidence]
    assert scores == sorted(scores, reverse=True)
    assert found.explain.unit == "mixed"
    at, item = next((at, item) for at, item in enumerate(found.evidence) if item.kind is Kind.SUMMARY)
    _check_opens(item)
    trace = found.explain.results[at]
    assert (trace.node.id, trace.node.kind, trace.node.name) == (item.id, Kind.SUMMARY, item.text)
    assert [(part.node.id, part.uri, part.start, part.end) for part in trace.rests_on] == [
        (part.id, part.source.uri, part.start, part.end) for part in item.rests_on
    ]
    drawn = {(edge.start, edge.end) for edge in found.explain.graph.edges if edge.relationship == "rests_on"}
    assert drawn >= {(item.id, part.chunk_id) for part in item.opened[:4]}
    assert f"characters {item.start}-{item.end} of" in found.explain.to_html()
    tree = json.loads(json.dumps(search_tree(found), default=plain))["evidence"][at]
    assert (tree["kind"], tree["id"], tree["summary_id"], tree["is_stale"]) == ("summary", item.id, item.id, False)
    assert [(part["id"], part["start"], part["end"]) for part in tree["rests_on"]] == [
        (part.id, part.start, part.end) for part in item.rests_on
    ]
    document = to_langchain(item)
    assert (document.id, document.metadata["kind"]) == (item.id, "summary")
    assert [part["id"] for part in document.metadata["rests_on"]] == [part.id for part in item.rests_on]


def test_a_filter_shows_only_summaries_that_rest_on_what_it_admits(made: Made) -> None:
    assert {item.text for item in made.summaries()} == set(map(_summary, _WORDS))
    (only,) = made.summaries(where='theme = "comet"')
    assert "comet" in only.text
    assert made.summaries(where="number < 5") == []
    answer = made.graph.answer(_QUESTION, strategy="hierarchy", where="number < 5")
    assert _MARK not in made.asked()
    assert all(item.evidence.kind is Kind.CHUNK for item in answer.citations)


def test_of_a_deleted_source_nothing_is_shown_and_older_summaries_say_so(made: Made) -> None:
    made.graph.delete("doc:mill:rye")
    (left,) = made.summaries()
    assert (left.is_stale, "comet" in left.text) == (False, True)  # what it rests on is as it was
    found = made.graph.search(_QUESTION, strategy="hierarchy", k=20, explain=True)
    assert not any(item.summary_id and "mill" in item.text for item in found.evidence)
    assert "speaks of rye" not in found.explain.to_html()
    answer = made.graph.answer(_QUESTION.replace("mill", "comet"), strategy="hierarchy", k=20)
    assert "speaks of rye" not in made.asked()
    assert _summary("mill") not in made.asked()
    assert "written before" not in made.asked()
    old = [replace(piece, is_stale=bool(piece.summary_id)) for piece in answer.evidence]
    assert "written before one of them last changed" in numbered(old)
    cited = [replace(each, evidence=replace(each.evidence, is_stale=True)) for each in answer.citations]
    lines = [*answer_lines(replace(answer, citations=tuple(cited)), is_printed=False)]
    assert any("(STALE: a source below has changed since; next: hlgraph hierarchy build)" in line for line in lines)
    traces = [replace(each, is_stale=bool(each.rests_on)) for each in found.explain.results]
    assert "STALE: a source below has changed since." in replace(found.explain, results=traces).to_html()
    made.graph.hierarchy.build(_QUERY)
    assert [item.is_stale for item in made.summaries()] == [False, False]
    assert all(part.source.uri != "doc:mill:rye" for item in made.summaries() for part in item.rests_on)


def test_a_sentence_is_checked_in_the_chunks_below_the_summary(tmp_path: Path) -> None:
    def reply(_: str, user: str) -> str:
        return (
            "Overview: the old mill at Lund burned in 1871." if "<passage " in user else "The mill burned in 1871 [1]."
        )

    settings = Settings(store=f"hlgraph://{tmp_path}/s", models=ModelSettings(cache=str(tmp_path / "cache")))
    with hlgraph.connect(settings, embedder=_EMBEDDER, chat=ScriptedChat(reply)) as graph:
        graph.ingest(_documents())
        graph.hierarchy.build(_QUERY)
        answer = graph.answer(_QUESTION, strategy="hierarchy", unit="summary")
    (sentence,) = answer.sentences
    assert not sentence.is_supported
    assert sentence.reason == "below the summary the evidence has no 1871"


def test_what_cannot_be_found_is_told(made: Made, tmp_path: Path) -> None:
    for unit in ("summary", "mixed"):
        with pytest.raises(
            InputError, match=f"unit is '{unit}', and the strategy 'statement' .* or the strategy hierarchy"
        ):
            made.graph.search(_QUESTION, strategy="statement", unit=unit)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="choose 'statement', 'chunk', 'summary' or 'mixed'"):
        made.graph.search(_QUESTION, unit="page")  # type: ignore[arg-type]
    with hlgraph.connect(Settings(store=f"hlgraph://{tmp_path}/other", corpus="d"), embedder=_EMBEDDER) as graph:
        graph.ingest(_documents())
        with pytest.raises(InputError, match="run: hlgraph hierarchy build --corpus d"):
            graph.search(_QUESTION, strategy="hierarchy", unit="summary")


def test_both_stores_show_the_same_summaries(servers: Any, made: Made, tmp_path: Path) -> None:
    empty(servers)
    settings = Settings(store=servers.neo4j.url, vectors=f"hlgraph://{tmp_path}/vectors", neo4j=neo4j_of(servers))
    live = Made(settings, tmp_path / "live")
    with closing(live.graph):
        for graph in (made.graph, live.graph):
            graph.delete("doc:comet:lens")
        for where in (None, "number < 5", 'theme = "mill"'):
            one, two = (
                [
                    (item.id, item.text, item.is_stale, [part.id for part in item.rests_on])
                    for item in found.graph.search(_QUESTION, strategy="hierarchy", k=20, where=where).evidence
                ]
                for found in (made, live)
            )
            assert one == two
        answer = live.graph.answer(_QUESTION, strategy="hierarchy")
        assert _MARK in live.asked()
        _check_opens(answer.citations[0].evidence)


def test_the_model_gives_its_reason_before_the_answer(tmp_path: Path) -> None:
    chat = ScriptedChat(["Reason: The mill at Lund is known [1].\n\nAnswer: The mill [1]."])
    with hlgraph.connect(Settings(store=f"hlgraph://{tmp_path}/s"), embedder=_EMBEDDER, chat=chat) as graph:
        graph.ingest(_documents())
        answer = graph.answer(_QUESTION, strategy="statement", style="reason")
        assert answer.text == "Reason: The mill at Lund is known [1].\n\nAnswer: The mill [1]."
        assert [item.text for item in answer.sentences] == ["The mill at Lund is known [1].", "The mill [1]."]
        assert all(item.is_supported for item in answer.sentences)
        assert answer.made_by.startswith("reason/1+")
        for options, message in (
            ({"style": "poem"}, "style is 'poem'; choose 'plain' or 'reason'"),
            ({"style": "reason", "mode": "report"}, "does not apply to a report"),
            ({"style": "reason", "choices": ["mill", "comet"]}, "style is 'reason', which does not apply to choices"),
        ):
            with pytest.raises(InputError, match=message):
                graph.answer(_QUESTION, **options)  # type: ignore[arg-type]
    with (
        hlgraph.connect(Settings(store=f"hlgraph://{tmp_path}/s"), embedder=_EMBEDDER) as graph,
        pytest.raises(InputError, match="style is 'reason', and no chat model is configured"),
    ):
        graph.answer(_QUESTION, style="reason")
