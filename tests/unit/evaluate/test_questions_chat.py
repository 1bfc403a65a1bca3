"""Questions by a chat model: every call is scripted, counted, planned, paid once, and told where it cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from question_corpus import MILL

import hlgraph
from hlgraph.errors import BudgetError, InputError
from hlgraph.evaluate.datasets import load
from hlgraph.evaluate.questions.checking import check, export
from hlgraph.evaluate.questions.making import documents
from hlgraph.evaluate.questions.record import QuestionSet, line_of
from hlgraph.evaluate.questions.writing import ForecastExecutor, answer_alone, chunk_groups, two_models, write
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import Ledger
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.executor import Accounts, Executor
from hlgraph.records import Document, Kind
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import ModelSettings, Price, Settings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

ASKED = "How did Mara Quill lose all that she owned in Tessing?"
TOLD = "She built the mill, lost the grain store to a fire, and sold the weir."
Script = Callable[[str, str], str]


def shown(user: str) -> int:
    return len(re.findall(r"^\[\d+\]$", user, flags=re.MULTILINE))


def replies(system: str, user: str) -> str:
    """A model that does everything well: it gives the whole answer only where it is shown several snippets."""
    draft = {"question": ASKED, "answer": TOLD, "snippets": [1, 2, 3]}
    is_known = ASKED in user and shown(user) > 1
    known: dict[str, object] = {
        "You write questions for a test of search systems. Each": draft,
        "You edit questions": {**draft, "is_usable": True, "reason": ""},
        "You answer a question": {"answer": TOLD if is_known else None},
        "You compare": {"agrees": True},
        "You write questions for a test of search systems that": {
            "question": "Which prize did Mara Quill win in Tessing?"
        },
        "You think of people": {"users": [{"user": "a historian", "tasks": ["write a book", "give a talk"]}]},
        "You write the questions": {"questions": ["How did fire change mills?", "Why do rivers draw trade?"]},
    }
    return json.dumps(next(reply for start, reply in known.items() if system.startswith(start)))


def but(start: str, reply: str | Script) -> Script:
    """The good model with another reply to the prompt that begins so."""

    def script(system: str, user: str) -> str:
        if not system.startswith(start):
            return replies(system, user)
        return reply if isinstance(reply, str) else reply(system, user)

    return script


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HLGraph]:
    settings = Settings(store=f"hlgraph://{tmp_path_factory.mktemp('written')}/store", corpus="mill")
    with hlgraph.connect(settings, embedder=WordEmbedder(16)) as opened:
        opened.ingest(list(MILL))
        yield opened


def executor(chat: ScriptedChat, folder: Path | None = None) -> Executor:
    accounts = Accounts(corpus="mill", price=Price(1.0, 1.0))
    if folder is not None:
        accounts = Accounts(
            corpus="mill", ledger=Ledger(folder / "l"), replies=Replies(folder / "r"), price=Price(1.0, 1.0)
        )
    return Executor(chat, accounts=accounts, most=1)


def written(graph: HLGraph, script: Script = replies, **wanted: int) -> tuple[QuestionSet, ScriptedChat]:
    chat = ScriptedChat(script)
    model = executor(chat)
    return write(graph, wanted or {"synthesis": 1}, writer=model), chat  # type: ignore[arg-type]


def test_a_question_is_written_criticised_answered_and_looked_for_in_each_source(graph: HLGraph) -> None:
    found, chat = written(graph)
    (question,) = found.questions
    assert (question.question, question.answers, question.hops) == (ASKED, (TOLD,), 3)
    assert len(question.source_ids) == len(question.chunk_ids) == 3
    assert question.statement_ids
    assert question.made_by == "synthesis/1+critique/1+question_answer/1+agree/1, scripted, seed 0"
    assert len(chat.asked) == 7  # draft, critique, answer, comparison, and three sources alone, which give no answer
    assert not found.dropped
    assert check(graph, found.questions).findings == ()


@pytest.mark.parametrize(
    ("start", "reply", "reason"),
    [
        (
            "You write questions for a test of search systems. Each",
            "I cannot.",
            "the reply to the prompt synthesis cannot be read",
        ),
        ("You edit", '{"is_usable": true}', "the reply to the prompt critique cannot be read"),
        (
            "You edit",
            '{"is_usable": false, "question": "a", "answer": "b", "snippets": []}',
            "the critique rejects it",
        ),
        (
            "You edit",
            '{"is_usable": true, "question": "a", "answer": "b", "snippets": [1, 2, 2, 9]}',
            "it needs fewer than 3 sources",
        ),
        ("You answer", '{"answer": null}', "the snippets do not give the answer"),
        ("You compare", '{"agrees": false}', "the snippets do not give the answer"),
        ("You answer", json.dumps({"answer": TOLD}), "one source alone answers it"),
        ("You compare", "Yes.", "the reply to the prompt agree cannot be read"),
    ],
)
def test_why_a_question_is_dropped(graph: HLGraph, start: str, reply: str, reason: str) -> None:
    found, _ = written(graph, but(start, reply))
    assert found.questions == ()
    assert found.dropped == {reason: 1}
    assert sum(found.unreadable.values()) == ("cannot be read" in reason)
    assert found.lacking == {"synthesis": 1}


def test_chunks_of_related_topics_are_collected_from_three_documents_or_more(tmp_path: Path) -> None:
    """HLG 5.2: topics first, then three to five chunks of them: a document may give two, once each has given one."""
    part = [
        Document(f"{name}{at}", f"Mara Quill mended the mill {name}{at}.", "The mill", {"doc": name})
        for name in "abc"
        for at in (1, 2)
    ]
    far = [Document(f"far{at}", f"Zebras graze {at} miles away.", "Zebras", {"doc": "far"}) for at in (1, 2)]
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as other:
        other.ingest([*part, *far])
        stored = other.facts.read()
        groups = list(chunk_groups(other, document=documents(stored, "doc"), seed=0))
        records = other.facts.records(Kind.CHUNK, [name for group in groups for name in group.chunk_ids])
    assert groups
    for group in groups:
        uris = [stored.sources[records[name].source_id].uri for name in group.chunk_ids]  # type: ignore[union-attr]
        assert len(uris) == 5
        assert {uri[0] for uri in uris[:3]} == {uri[0] for uri in uris} == {"a", "b", "c"}
        assert "mill" in group.subject.lower()


def test_a_question_whose_snippets_a_retriever_does_not_find_is_dropped(tmp_path: Path) -> None:
    harbours = [Document(f"h{at}", f"Ivo Brandt painted harbour {at} of Orne.", "Harbours") for at in range(60)]
    critique = {
        "is_usable": True,
        "question": "Which harbour did Ivo Brandt paint?",
        "answer": TOLD,
        "snippets": [1, 2, 3],
    }
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", corpus="mill", embedder=WordEmbedder()) as other:
        other.ingest([*MILL, *harbours])
        found, _ = written(other, but("You edit", json.dumps(critique)))
    assert "the retriever finds none of its snippets" in found.dropped


def test_abstract_questions_have_no_gold_and_a_file_of_their_own(graph: HLGraph, tmp_path: Path) -> None:
    found, _ = written(graph, synthesis=1, abstract=2)
    assert check(graph, found.questions).findings == ()
    wrote = export(graph, found.questions, folder=tmp_path)
    assert (wrote.questions, wrote.nulls, wrote.abstracts) == (1, 0, 2)
    assert len((tmp_path / "abstract_questions.jsonl").read_text().splitlines()) == 2
    assert [item.text for item in load(tmp_path).questions] == [ASKED]


def test_null_and_abstract_questions(graph: HLGraph) -> None:
    found, _ = written(graph, null=1, abstract=3)
    assert [(item.type, item.question) for item in found.questions] == [
        ("null", "Which prize did Mara Quill win in Tessing?"),
        ("abstract", "How did fire change mills?"),
        ("abstract", "Why do rivers draw trade?"),
    ]
    assert found.lacking == {"abstract": 1}
    assert found.dropped == {"another question is nearly the same": 2}
    knows, _ = written(graph, but("You answer", json.dumps({"answer": "A medal."})), null=1)
    assert knows.dropped == {"the corpus answers it, though it should not": 1}


def test_the_second_model_validates(graph: HLGraph) -> None:
    first, second = ScriptedChat(replies, name="small"), ScriptedChat(replies, name="large")
    found = write(graph, {"synthesis": 1}, writer=executor(first), validator=executor(second))
    assert (len(first.asked), len(second.asked)) == (1, 6)
    assert "small and large" in found.questions[0].made_by


def test_a_run_that_is_ended_and_repeated_pays_once_and_gives_the_same(graph: HLGraph, tmp_path: Path) -> None:
    whole, chat = written(graph, synthesis=1, abstract=2)
    again = ScriptedChat(replies)
    short = executor(again, tmp_path).begin(Budget(max_tokens=1500))
    ended = write(graph, {"synthesis": 1, "abstract": 2}, writer=short)
    assert isinstance(ended.stopped, BudgetError)
    assert len(ended.questions) < 3
    model = executor(again, tmp_path)
    found = write(graph, {"synthesis": 1, "abstract": 2}, writer=model)
    assert [line_of(item) for item in found.questions] == [line_of(item) for item in whole.questions]
    assert sorted(again.asked) == sorted(chat.asked)  # each call once, over both runs
    for part in (short, model):
        part.close()


def test_a_model_that_answers_from_one_source_finds_a_leak(graph: HLGraph) -> None:
    (question,) = written(graph)[0].questions
    good = answer_alone(graph, [question], model=executor(ScriptedChat(replies)))
    assert (good.findings, good.asked) == ((), 1)
    leaky = ScriptedChat(but("You answer", json.dumps({"answer": f"{TOLD} So it was."})))
    found = answer_alone(graph, [question], model=executor(leaky))
    assert [item.what for item in found.findings] == ["leak"]
    assert len(leaky.asked) == 1  # it holds the gold answer, so no comparison is asked for
    unread = answer_alone(graph, [question], model=executor(ScriptedChat(but("You answer", "Yes"))))
    assert (unread.findings, unread.asked, unread.unreadable) == ((), 0, 1)


def test_a_plan_asks_nothing(graph: HLGraph) -> None:
    chat = ScriptedChat([])
    forecast = ForecastExecutor(executor(chat))
    write(graph, {"synthesis": 1, "null": 1, "abstract": 30}, writer=forecast)
    cost = forecast.expected()
    assert chat.asked == []
    assert cost.calls >= 2 + 3 + 7
    assert cost.input_tokens > cost.output_tokens > 0
    assert cost.usd == pytest.approx((cost.input_tokens + cost.output_tokens) / 1e6)


def test_bad_input(graph: HLGraph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a chat model makes no bridge questions"):
        written(graph, bridge=1)
    settings = Settings(store=f"hlgraph://{tmp_path}/s", models=ModelSettings(quarantine=str(tmp_path / "q")))
    with pytest.raises(InputError, match="need one; name it in HLGRAPH_CHAT"), two_models(settings):
        pass
    with hlgraph.connect(settings, embedder=WordEmbedder(16)) as other:
        other.ingest([Document("doc:one", "Ivo Brandt painted the harbour.", "One")])
        with pytest.raises(InputError, match="no topic of corpus 'default' has related topics in 3 documents"):
            written(other)
