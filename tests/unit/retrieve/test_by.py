"""Who decides in the steps of a strategy that a paper gives to a model: rules, unless a caller asks for the chat model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from given_splitter import GivenSplitter

import hlgraph
from hlgraph.cli.commands.search import ByName
from hlgraph.cli.output import explain_lines
from hlgraph.errors import InputError
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.retriever import by_of, with_by, with_preset
from hlgraph.retrieve.steps.facets import ByClause
from hlgraph.retrieve.steps.feedback import CoverageJudge, ScoreSelector, UncoveredAsker
from hlgraph.retrieve.strategies.auto import AutoRetriever
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
from hlgraph.retrieve.strategies.fused import FusedRetriever
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

_QUESTION = "Who designed the Aldane Bridge, and where was Mara Quill born?"
# Of a short question these ask the graph alone, which takes no part of it by itself.
_LONG = dict.fromkeys(("auto", "fused"), f"{_QUESTION} {'Tell it to the people who live beside the river. ' * 4}")
# The strategies that have a step for a chat model, and the prompts that one of their searches uses.
_PROMPTS = {
    "auto": {"keywords", "subqueries"},
    "diameter": {"subqueries"},
    "fused": {"keywords", "subqueries"},
    "global": {"decompose", "select"},
    "local": {"select", "enough", "next_questions"},
    "statement_graph": {"keywords"},
    "topic_graph": {"keywords"},
}


def _reply(system: str, user: str) -> str:
    said = {
        "You name": "keywords: Mara Quill",
        "You choose": "1",
        "You say whether": "NO",
        "You take": "Who designed the Aldane Bridge?\nWhere was Mara Quill born?",
    }
    return next((reply for start, reply in said.items() if system.startswith(start)), "Where does Tessing lie?")


@pytest.fixture(scope="module")
def chat() -> ScriptedChat:
    return ScriptedChat(_reply)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, chat: ScriptedChat) -> Iterator[HLGraph]:
    url = f"hlgraph://{tmp_path_factory.mktemp('by')}/s"
    with hlgraph.connect(url, embedder=WordEmbedder(), reranker=LexicalReranker(), chat=chat) as made:
        made.ingest(DOCUMENTS)
        made.hierarchy.build(summaries="extractive")
        chat.asked.clear()
        yield made


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@pytest.mark.parametrize("preset", ["paper", "tuned"])
def test_default_strategies_never_call_the_chat_model(
    graph: HLGraph, chat: ScriptedChat, name: str, preset: str
) -> None:
    chat.asked.clear()
    made = with_preset(STRATEGIES[name], preset)
    assert by_of(made) in (None, "rules")
    used = graph.search(_QUESTION, strategy=made, k=3).explain.chat
    assert not chat.asked
    assert (used.by, used.calls, used.fallbacks) == ("rules" if name in _PROMPTS else "", 0, {})


def test_every_strategy_with_a_step_for_a_model_has_by() -> None:
    assert {name for name, made in STRATEGIES.items() if by_of(with_preset(made, "paper"))} == set(_PROMPTS)
    assert f"must have such a step: {', '.join(sorted(_PROMPTS))}." in get_args(ByName)[1].help


@pytest.mark.parametrize("name", sorted(_PROMPTS))
@pytest.mark.parametrize("preset", ["paper", "tuned"])
def test_by_chat_counts_the_model_calls(graph: HLGraph, chat: ScriptedChat, name: str, preset: str) -> None:
    chat.asked.clear()
    made = with_by(with_preset(STRATEGIES[name], preset), "chat")
    explain = graph.search(_LONG.get(name, _QUESTION), strategy=made, k=3, explain=True).explain
    used = explain.chat
    assert used.by == explain.parameters["by"] == "chat"
    # The preset `tuned` of the same strategy asks the same: its replies are kept.
    assert used.calls == len(chat.asked)
    assert used.calls + used.kept_calls >= len(_PROMPTS[name])
    assert used.input_tokens == sum(len(f"{system} {user}".split()) for system, user, _ in chat.asked)
    assert used.fallbacks == {}
    lines = list(explain_lines(explain))
    kept = f", {used.kept_calls} more answered from stored replies" if used.kept_calls else ""
    expected = f"decided by chat: {used.calls} calls, {used.input_tokens:,} tokens in, {used.output_tokens:,} out{kept}"
    assert expected in lines


def test_a_strategy_that_auto_picks_without_a_step_for_a_model_is_said(graph: HLGraph) -> None:
    used = graph.search(
        "When did the Aldane Bridge open?", strategy=AutoRetriever(by="chat", one_source=0, covered=0)
    ).explain
    assert dict(used.chat.fallbacks) == {
        "the strategy statement has no step that a chat model can take, so rules decided": 1
    }
    assert any("instead:" in line for line in explain_lines(used))


@pytest.mark.parametrize("name", sorted(_PROMPTS))
def test_by_chat_without_a_chat_model_is_refused(tmp_path: Path, name: str) -> None:
    made = with_by(with_preset(STRATEGIES[name], "paper"), "chat")
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS[:1])
        with pytest.raises(
            InputError, match=r"by is 'chat', and no chat model is configured; name one in models\.chat"
        ):
            graph.search("When did the Aldane Bridge open?", strategy=made)


@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - set(_PROMPTS)))
def test_by_chat_is_rejected_without_a_model_step(name: str) -> None:
    made = with_preset(STRATEGIES[name], "paper")
    with pytest.raises(
        InputError, match=f"by is 'chat', and the strategy {name} has no step that a chat model can take"
    ):
        with_by(made, "chat")
    assert with_by(made, "rules") == made


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            lambda: LocalRetriever(by="chat", selector=ScoreSelector(), judge=CoverageJudge(), asker=UncoveredAsker()),
            "score/1",
        ),
        (
            lambda: GlobalRetriever(by="chat", splitter=GivenSplitter(("a",)), selector=ScoreSelector()),
            "given, score/1",
        ),
        (lambda: DiameterRetriever(by="chat", splitter=GivenSplitter(("a",))), "every step .* is replaced (given)"),
        (
            lambda: FusedRetriever(parts=(StatementRetriever(),), weights=(1.0,), by="chat"),
            "no strategy of parts has a step",
        ),
        (lambda: ByClause(ChunkRetriever(), by="model"), "by is 'model'; choose 'rules' or 'chat'"),  # type: ignore[arg-type]
        (lambda: DiameterRetriever(by="model"), "by is 'model'"),  # type: ignore[arg-type]
        (lambda: with_by(AutoRetriever(), "model"), "by is 'model'"),  # type: ignore[arg-type]
    ],
)
def test_knobs_that_exclude_each_other_are_refused(made: Callable[[], object], words: str) -> None:
    with pytest.raises(
        InputError, match=re.escape(words) if "*" not in words else words.replace("(", r"\(").replace(")", r"\)")
    ):
        made()


def test_rules_that_split_a_question_give_way_to_the_model() -> None:
    assert replace(DiameterRetriever(splitter="names"), by="chat").by == "chat"


_NO_KEYWORDS = "keywords: the reply names none, so rules named them"
_NO_PARTS = "subqueries: the reply has no usable line, so the question stayed whole"


def test_unusable_replies_are_counted_with_their_fallback(tmp_path: Path) -> None:
    mute = ScriptedChat(lambda system, user: "...")
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=mute) as graph:
        graph.ingest(DOCUMENTS)
        found = {
            name: graph.search(_LONG.get(name, _QUESTION), strategy=with_by(STRATEGIES[name](), "chat"))
            for name in sorted(_PROMPTS)
        }
    assert {name: sorted(result.explain.chat.fallbacks) for name, result in found.items()} == {
        "auto": [_NO_KEYWORDS, _NO_PARTS],
        "diameter": [_NO_PARTS],
        "fused": [_NO_KEYWORDS, _NO_PARTS],
        "global": [
            "decompose: the reply has no usable line, so the question stayed whole",
            "select: the reply names no statement, so rules selected",
        ],
        "local": [
            "enough: the reply says neither yes nor no, so the search went on",
            "next_questions: the reply has no question, so the question itself was asked again",
            "select: the reply names no statement, so rules selected",
        ],
        "statement_graph": [_NO_KEYWORDS],
        "topic_graph": [_NO_KEYWORDS],
    }
    assert all(result.evidence for result in found.values())
