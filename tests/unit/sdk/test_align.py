"""``graph.align`` over the embedded store: pairs are made by a scripted model, planned, written and audited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage

import hlgraph
import hlgraph.models.choose
from hlgraph import HLGraph, Progress
from hlgraph.errors import InputError
from hlgraph.models.langchain import LangChainChat
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

ROWS = (
    ("p1", "Mara Quill built the mill of Tessing.", "Who built the mill of Tessing?", "Mara Quill"),
    ("p2", "Ivo Brandt painted the harbour of Orne.", "Who painted the harbour?", "Ivo Brandt"),
    ("p3", "Lene Voss designed the tower of Velm.", "Who designed the tower?", "Lene Voss"),
)
CHAT = "openai:gpt-4o-mini"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "bridges"
    place.mkdir()
    passages = [{"id": key, "title": "", "text": text} for key, text, _, _ in ROWS]
    questions = [
        {"id": f"q{key}", "question": question, "supporting_passage_ids": [key], "answers": [answer]}
        for key, _, question, answer in ROWS
    ]
    for name, lines in (("corpus", passages), ("questions", questions)):
        (place / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return place


def _reason(_system: str, user: str) -> str:
    """A reason from the passage, or without evidence from what is well known."""
    text, answer = next((text, answer) for _, text, question, answer in ROWS if question in user)
    cited = f"{text[:-1]} [1]." if text in user else f"It is well known to be {answer}."
    return f"###Reason: {cited}\n###Answer: {answer}"


def test_the_cost_of_pairs_is_planned_without_a_model(graph: HLGraph, folder: Path) -> None:
    steps: list[Progress] = []
    cost = graph.align.plan(folder, strategy="chunk", contexts=2, held_out=0.4, chats=[CHAT], on_progress=steps.append)
    assert (len(cost.tasks.split.train), len(cost.tasks.split.test)) == (2, 1)
    assert [(item.model, item.calls) for item in cost.models] == [(CHAT, 9)]  # three questions with 0, 1 and 2 contexts
    assert "search" in {item.step for item in steps}
    assert [item.corpus for item in graph.stats(everything=True)] == ["eval-bridges"]


class _Listening(FakeListChatModel):
    """A model of LangChain that keeps the messages of its last call."""

    received: ClassVar[list[BaseMessage]] = []

    def _call(self, messages: list[BaseMessage], *arguments: Any, **options: Any) -> str:
        type(self).received = messages
        return super()._call(messages, *arguments, **options)


@pytest.mark.parametrize("strategy", ["chunk", "hierarchy"])
def test_a_trained_model_is_asked_with_the_prompt_that_it_was_trained_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    chat = ScriptedChat(_reason, name=CHAT)
    monkeypatch.setattr(hlgraph.models.choose, "chosen_chat", lambda given, names: chat)
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=chat) as graph:
        trained = graph.align.make(folder, strategy=strategy, contexts=3, held_out=0, chats=[CHAT])
        asked = {(pair.question, pair.k): pair.prompt for pair in trained.train}
        there = graph.in_corpus("eval-bridges")
        for (question, k), prompt in asked.items():
            unit: hlgraph.Unit = "chunk" if strategy == "chunk" else "mixed"
            if k:
                answer = there.answer(question, strategy=strategy, k=k, unit=unit, style="aligned")
                assert answer.made_by.startswith("align-answer/2+")
            else:
                there.answers.closed_book(question)
            system, user, _ = chat.asked[-1]
            assert (system, user) == ("", prompt.rstrip())
    LangChainChat(_Listening(responses=["yes"])).complete("", user, max_tokens=9)
    assert [(message.type, message.content) for message in _Listening.received] == [("human", user)]


def test_pairs_are_made_written_and_audited(
    graph: HLGraph, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = ScriptedChat(_reason, name=CHAT)
    monkeypatch.setattr(hlgraph.models.choose, "chosen_chat", lambda given, names: chat)
    made = graph.align.make(folder, strategy="chunk", contexts=1, held_out=0.4, chats=[CHAT], negatives=["bare"])
    assert (made.questions, made.held_out, made.tasks) == (2, 1, 6)
    assert len(made.train) + len(made.test) + sum(made.faults.values()) == 6
    assert made.train
    assert "reasons asked for" in made._repr_html_()
    assert len(chat.asked) == 6
    again = graph.align.make(folder, strategy="chunk", contexts=1, held_out=0.4, chats=[CHAT], negatives=["bare"])
    assert (again.train, len(chat.asked)) == (made.train, 6)  # replies are kept
    made.write(tmp_path / "pairs")
    audit = graph.align.audit(tmp_path / "pairs", max_length_auc=2.0)
    assert (audit.pairs, audit.held_out) == (len(made.train), len(made.test))
    assert "AUC of length" in audit._repr_html_()
    assert [str(shown).count(str(shown.tables()[0])) for shown in (made, audit)] == [1, 1]
    assert graph.align.audit(tmp_path / "pairs").breaks_training  # bare answers are always the shorter ones


def test_what_cannot_be_used_is_refused(graph: HLGraph, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such"):
        graph.align.make(folder, negatives=["no such"])
    with pytest.raises(InputError, match="none is named"):
        graph.align.plan(folder)
    with pytest.raises(InputError, match="write NAME=DIR, each name once"):
        graph.align.compare(tmp_path, "model", adapters={"untrained": tmp_path})
    with pytest.raises(InputError, match="contexts is 'x'"):
        graph.align.make(folder, contexts="x")  # type: ignore[arg-type]
