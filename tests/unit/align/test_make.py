"""Pairs of answers: prefixes of contexts, reasons that hold, rejected answers, splits that do not leak; audit and comparison."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hlgraph.align.audit import audit, check_no_leak, leaking_sources
from hlgraph.align.contest import UNTRAINED, NegativeFigures, compare
from hlgraph.align.make import (
    Context,
    PairSet,
    PairsOptions,
    Task,
    Tasks,
    fault_of,
    find_contexts,
    make,
    planned,
    prompt_of,
)
from hlgraph.align.pairs import (
    Pair,
    Parts,
    Piece,
    Prompt,
    check_negatives,
    given_split,
    held_out_beside,
    parts_of,
    preferred,
    prompts_beside,
    read_pairs,
    split_by_source,
)
from hlgraph.errors import BudgetError, InputError, ModelAnswerError, ReadError
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.statistics import Difference
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import Ledger
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.executor import Accounts, Executor
from hlgraph.records import Evidence, Source
from hlgraph.testing.chat import ScriptedChat

TEXTS = {
    "p1": "The Aldane Bridge was designed by Mara Quill.",
    "p2": "Mara Quill was born in Tessing.",
    "p3": "The mill of Orne was built by Ivo Brandt.",
    "p4": "Lene Voss wrote about the river Velm.",
}
QUESTIONS = (
    Question("q1", "Who designed the Aldane Bridge?", frozenset({"p1"}), "bridge", 1, ("Mara Quill", "M. Quill")),
    Question("q2", "Where was the designer of it born?", frozenset({"p1", "p2"}), "bridge", 2, ("Tessing",)),
    Question("q3", "Who built the mill of Orne?", frozenset({"p3"}), "", 1, ("Ivo Brandt",)),
    Question("q4", "Who wrote about the Velm?", frozenset({"p4"}), "", 1, ("Lene Voss",)),
)
_GIVEN = re.compile(r"The answer:\n<answer \w+>\n(.*?)\n</answer", re.DOTALL)
_SHOWN = re.compile(r"\[(\d+)\]\n<evidence \w+>\n(.*?)\n</evidence", re.DOTALL)


def found(name: str) -> Evidence:
    source = Source(f"s-{name}", "c", f"passage:{name}", "", "0")
    return Evidence(TEXTS[name], 1.0, f"c-{name}", 0, len(TEXTS[name]), source)


def find(question: str, k: int) -> Sequence[Evidence]:
    words = set(re.findall(r"\w+", question))
    return [found(name) for name in sorted(TEXTS, key=lambda name: -len(words & set(TEXTS[name].split())))][:k]


def good(system: str, user: str) -> str:
    """Quotes the shown piece that has the answer; says that there is no reason where none has it."""
    answer = _GIVEN.search(user)
    assert answer is not None
    pieces = [(number, text) for number, text in _SHOWN.findall(user) if answer[1] in text]
    if pieces:
        return f"<think>Hm.</think>###Reason: {pieces[0][1][:-1]} [{pieces[0][0]}].\n###Answer: {answer[1]}"
    if _SHOWN.search(user):
        return "NO REASON"
    return f"###Reason: It is well known to be {answer[1]}.\n###Answer: {answer[1]}"


def executor_for(chat: ScriptedChat, folder: Path) -> Executor:
    accounts = Accounts(corpus="c", ledger=Ledger(folder / "ledger"), replies=Replies(folder / "replies"))
    return Executor(chat, accounts=accounts, most=1)


def tasks(most: int = 2, held_out: float = 0.3) -> Tasks:
    return find_contexts(split_by_source(QUESTIONS, held_out=held_out), find, most=most)


def pair(**changes: object) -> Pair:
    made = Pair(
        id="1",
        prompt="Q\n",
        chosen=preferred("So it is [1].", "a"),
        rejected="a",
        negative="bare",
        question_id="q",
        question="Q?",
        answers=("a",),
        k=1,
        pieces=(Piece("c", "chunk", ("u1",)),),
        gold_sources=("u1",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_questions_that_share_a_source_stay_together() -> None:
    split = split_by_source(QUESTIONS, held_out=0.5)
    sides = {item.id: side for side, some in zip(("train", "test"), split, strict=True) for item in some}
    assert sides["q1"] == sides["q2"]
    assert split.test
    assert split.train
    assert split == split_by_source(tuple(reversed(QUESTIONS)), held_out=0.5)._replace(
        train=split.train, test=split.test
    )
    assert {item.id for item in split_by_source(tuple(reversed(QUESTIONS)), held_out=0.5).test} == {
        item.id for item in split.test
    }
    assert split_by_source(QUESTIONS, held_out=0).test == ()
    with pytest.raises(InputError, match="none can be held out: the smallest group that shares sources has 2"):
        split_by_source(QUESTIONS[:2], held_out=0.3)
    with pytest.raises(InputError, match="held_out is 1"):
        split_by_source(QUESTIONS, held_out=1)


def test_a_given_split_that_leaks_names_the_sources() -> None:
    with pytest.raises(InputError, match="1 sources support answers on both sides: p1;"):
        given_split(QUESTIONS[:1], QUESTIONS[1:])
    again = replace(QUESTIONS[0], id="q9", gold=frozenset({"p9"}), text="who designed the  Aldane bridge")
    with pytest.raises(InputError, match="asked in training, too: q9"):
        given_split(QUESTIONS[:1], [again])
    assert given_split(QUESTIONS[:2], QUESTIONS[2:]).test == QUESTIONS[2:]


def test_contexts_grow_and_never_show_what_a_held_out_answer_rests_on() -> None:
    made = tasks(most=2)
    by_question = {name: [task for task in made.train if task.question.id == name] for name in ("q1", "q2", "q3", "q4")}
    for some in filter(None, by_question.values()):
        assert [len(task.contexts) for task in some] == [0, 1, 2]
        assert some[1].contexts == some[2].contexts[:1]
        assert "(none)" in prompt_of(some[0]).prompt
    hidden = {f"passage:{gold}" for item in made.split.test for gold in item.gold}
    shown = {uri for task in made.train for context in task.contexts for uri in context.piece.sources}
    assert hidden
    assert not hidden & shown


CONTEXTS = tuple(Context(TEXTS[name], Piece(name, "chunk", (name,))) for name in ("p1", "p2"))
TASK = Task(QUESTIONS[1], CONTEXTS)
WELL = (
    "The Aldane Bridge was designed by Mara Quill [1]. So Mara Quill, who designed the bridge, was born in Tessing [2]."
)


@pytest.mark.parametrize(
    ("reason", "answer", "fault"),
    [
        (WELL, "tessing.", None),
        (WELL, "Orne", "other_answer"),
        ("The Aldane Bridge was designed by Mara Quill [1].", "Tessing", "no_lead"),
        ("The given answer is Tessing, where Mara Quill was born [2].", "Tessing", "tells"),
        ("Mara Quill was born in Tessing.", "Tessing", "uncited"),
        ("Mara Quill was born in Tessing [3].", "Tessing", "unknown_citation"),
        ("Mara Quill was born in Tessing [1].", "Tessing", "unsupported"),
    ],
)
def test_a_reason_holds_or_says_why_not(reason: str, answer: str, fault: str | None) -> None:
    assert fault_of(TASK, Parts(reason, answer)) == fault


def test_literal_data_keeps_contexts_that_do_not_help_and_has_one_rejected_answer(tmp_path: Path) -> None:
    assert fault_of(TASK, Parts("She lived there, I think.", "Tessing"), is_literal=True) is None
    assert fault_of(TASK, Parts(WELL, "Orne"), is_literal=True) == "other_answer"

    def write(system: str, user: str) -> str:
        answer = _GIVEN.search(user)
        assert answer is not None
        assert "NO REASON" not in system
        return f"###Reason: One thinks of it at once.\n###Answer: {answer[1]}"

    executor = executor_for(ScriptedChat(write, name="a:b"), tmp_path)
    result = make(tasks(most=2), [executor], negatives=["bare"], is_literal=True)
    assert make(tasks(most=2), [executor], negatives=["bare"]).faults  # the same reasons rest on nothing
    executor.close()
    assert (result.faults, len(result.train) + len(result.test)) == ({}, result.tasks)
    assert {each.negative for each in (*result.train, *result.test)} == {"bare"}
    assert {each.made_with for each in result.train} == {("align-answer/2", "align-reason-literal/1")}
    with pytest.raises(InputError, match="negatives are other; literal data has only bare ones: leave negatives out"):
        PairsOptions(literal=True, negatives=("other",))


def test_without_contexts_a_reason_cites_nothing() -> None:
    bare = Task(QUESTIONS[1], ())
    assert fault_of(bare, Parts("She was born in Tessing.", "Tessing")) is None
    assert fault_of(bare, Parts("She was born in Tessing [1].", "Tessing")) == "unknown_citation"
    verdict = Task(replace(QUESTIONS[1], answers=("yes",)), ())
    assert fault_of(verdict, Parts("It is a bridge.", "Yes")) is None


def test_pairs_have_three_kinds_of_rejected_answers(tmp_path: Path) -> None:
    executor = executor_for(ScriptedChat(good, name="a:b"), tmp_path)
    lost = Question("q5", "Who painted the harbour?", frozenset({"p5"}), answers=("Otto Falk",))
    asked = find_contexts(split_by_source((*QUESTIONS, lost), held_out=0.3), find, most=2)
    made = make(asked, [executor])
    executor.close()
    assert made.tasks == 15
    assert made.faults == {"no_reason": 2}  # with one and two contexts; without any it is "well known"
    assert all(len(item.chosen) == len(item.rejected) for item in made.train if item.negative == "citation")
    kinds = {item.negative for item in made.train}
    assert kinds == {"bare", "citation", "other"}
    for item in (*made.train, *made.test):
        parts = parts_of(item.chosen)
        assert parts is not None
        assert parts.answer == item.answers[0]
        if item.negative == "bare":
            assert item.rejected == item.answers[0]
        elif item.negative == "citation":
            assert item.rejected != item.chosen
            assert re.sub(r"\[\d\]", "", item.rejected) == re.sub(r"\[\d\]", "", item.chosen)
        else:
            other = parts_of(item.rejected)
            assert other is not None
            assert other.answer not in item.answers
    assert made.by_model == {"a:b": len(made.train) + len(made.test)}
    assert not leaking_sources(made.train, made.test)
    made.write(tmp_path / "out")
    assert read_pairs(tmp_path / "out") == tuple(made.train)
    assert held_out_beside(tmp_path / "out" / "train.jsonl") == tuple(made.test)
    # Every held-out question is there with every number of contexts, whatever became of its reasons.
    prompts = prompts_beside(tmp_path / "out")
    assert [(item.question_id, item.k) for item in prompts] == [
        (question.id, k) for question in asked.split.test for k in range(3)
    ]
    assert {item.prompt for item in made.test} <= {item.prompt for item in prompts}
    assert (tmp_path / "out" / "report.json").stat().st_size > 100


def test_what_was_paid_is_kept_and_a_plan_counts_it(tmp_path: Path) -> None:
    first, second = ScriptedChat(good, name="a:b"), ScriptedChat(good, name="a:c")
    executors = [executor_for(first, tmp_path), executor_for(second, tmp_path)]
    some = tasks(most=1)
    with pytest.raises(BudgetError):
        make(some, executors, budget=Budget(max_tokens=600))
    paid = len(first.asked)
    assert 0 < paid < 8
    plan, other = (planned(some, executor) for executor in executors)
    assert (plan.calls, plan.kept_calls, other.calls, other.kept_calls) == (8 - paid, paid, 8, 0)
    assert plan.usd is None
    assert plan.input_tokens > 0
    both = make(some, executors)
    assert (len(first.asked), len(second.asked)) == (8, 8)
    # Both models wrote the same reasons: each pair counts once.
    assert both.by_model == {"a:b": len(both.train) + len(both.test)}
    assert planned(some, executors[0]).calls == 0
    again = make(some, executors)
    assert (again.train, again.test) == (both.train, both.test)
    assert len(first.asked) == 8
    for executor in executors:
        executor.close()


def test_replies_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    replies = iter(["I think so.", "###Reason: x ###Answer: Orne", ModelAnswerError("filtered"), "no reason."])
    chat = ScriptedChat(lambda system, user: next(replies), name="a:b")
    executor = executor_for(chat, tmp_path)
    made = make(tasks(most=0, held_out=0), [executor])
    executor.close()
    assert made.faults == {"unreadable": 1, "refused": 1, "no_reason": 1, "other_answer": 1}
    assert made.train == []
    with pytest.raises(InputError, match="contexts is -1"):
        PairsOptions(contexts=-1)
    with pytest.raises(InputError, match="'short' is no kind of rejected answer"):
        check_negatives(["bare", "short"])


def test_a_file_that_holds_no_pairs_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('\n{"prompt": "x"}\n')
    with pytest.raises(ReadError, match="line 2"):
        read_pairs(tmp_path)
    with pytest.raises(ReadError, match="cannot be read"):
        read_pairs(tmp_path / "none")


def findings(train: Sequence[Pair], test: Sequence[Pair] = (), **more: float) -> dict[str, bool]:
    return {item.name: item.breaks_training for item in audit(train, test, **more).findings}


def test_an_audit_finds_what_breaks_training() -> None:
    held = pair(id="2", question_id="t", question="T?", gold_sources=("u2",), pieces=())
    same = pair(rejected=preferred("So it is [2].", "a"), negative="citation")
    short = pair(id="3", rejected=preferred("So it is certainly [2].", "a"), negative="other")
    clean = audit([pair(), same, short], [held])
    assert not clean.breaks_training
    assert (clean.length.longer, clean.length.auc) == (pytest.approx(1 / 3), pytest.approx(0.5))
    assert clean.length_by_negative["citation"].auc == 0.5
    assert clean.balance["negative"] == {"bare": 1, "citation": 1, "other": 1}
    assert findings([pair()], [held]) == {"length": True}
    assert findings([pair()], [held], most_auc=2) == {}
    assert findings([same, same], [held]) == {"repeated": False}
    assert findings([same], []) == {"no_held_out": False}
    quoted = replace(same, prompt="Context:\n[1] House: So it is, they say. So it is.\n\nQuestion: Q?\n")
    assert findings([quoted, replace(quoted, id="5", k=0, prompt="Q\n")], [held]) == {"quoted": False}
    assert findings([quoted, same, replace(same, id="6", prompt="R\n")], [held]) == {}
    leaking = replace(held, gold_sources=("u1",))
    assert findings([same], [leaking]) == {"leaks_sources": True}
    with pytest.raises(InputError, match="are shown in training: u1;"):
        check_no_leak([same], [leaking])
    assert findings([same], [replace(held, question="q")]) == {"leaks_questions": True}
    equal = replace(same, rejected=same.chosen)
    assert findings([equal], [held]) == {"equal_answers": True, "contradicting": True}
    assert findings([replace(same, chosen="yes indeed")], [held]) == {"form": True}
    with pytest.raises(InputError, match="no pair to audit"):
        audit([])


class Scripted:
    """A policy whose log-probabilities depend on what it prefers."""

    def __init__(self, gain: float) -> None:
        self._gain = gain

    def log_probabilities(self, texts: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        return np.array([-10.0 + self._gain * answer.startswith("###") for _, answer in texts])

    def answers(self, prompts: Sequence[str], *, max_tokens: int) -> list[str]:
        return [preferred("So [1].", "a") if self._gain else "b" for _ in prompts]


def test_policies_are_compared_with_the_untrained_one() -> None:
    pairs = [pair(), pair(id="2", prompt="R\n", k=2)]
    policies = [(UNTRAINED, lambda: Scripted(0)), ("ms", lambda: Scripted(5))]
    found = compare(pairs, policies)
    plain, trained = found.policies
    assert (plain.margin, plain.prefers, round(plain.mode_seeking, 6), round(plain.dpo, 6)) == (
        0,
        0,
        2.761231,
        0.693147,
    )
    assert (trained.margin, trained.prefers) == (0.5, 1)
    assert (plain.negatives[0].gains, trained.negatives) == (None, (NegativeFigures("bare", 2, 1.0, 1.0, 0.5),))
    assert trained.chosen.median == -5
    assert [(item.k, item.exact, item.formed) for item in trained.answers] == [(1, 1.0, 1.0), (2, 1.0, 1.0)]
    assert [item.exact for item in plain.answers] == [0, 0]
    assert (trained.gain, found.prompts, found.questions) == (None, 2, 1)  # of one question no interval speaks
    others = [Prompt(prompt=f"S{at}\n", question_id=f"s{at}", question="S?", answers=("b",), k=0) for at in range(5)]
    more = compare(pairs, policies, prompts=others)
    assert [(item.k, item.exact, item.contains) for item in more.policies[0].answers] == [(0, 1.0, 1.0)]
    assert (more.prompts, more.questions) == (5, 5)
    assert more.policies[0].gain is None
    assert more.policies[1].gain == Difference(-1.0, -1.0, -1.0, pytest.approx(2 / 10_001))
    assert compare(pairs, policies, answer_tokens=0).policies[0].answers == ()
    with pytest.raises(InputError, match="no pair to compare"):
        compare([], policies)
    assert PairSet().train == ()
