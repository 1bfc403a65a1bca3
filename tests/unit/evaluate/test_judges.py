"""Judges of answers: verdicts, positions, what is missing, the judge itself, budgets, plans, labels of people."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import (
    InputError,
    MissingExtraError,
    ModelAnswerError,
    ModelUnavailableError,
    ReadError,
    UnknownNameError,
)
from hlgraph.evaluate.judges.judging import Judge, judge_all, plan_judges
from hlgraph.evaluate.judges.report import (
    CRITERIA,
    Candidate,
    JudgeOptions,
    JudgeReport,
    Label,
    PairwiseWins,
    agreements,
    calibration_of,
    judge_files,
    judge_notes,
    judge_tables,
    load_candidates,
    load_labels,
    to_label,
    wins_of,
)
from hlgraph.evaluate.statistics import cohen_kappa
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import Ledger
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.executor import Accounts, Executor
from hlgraph.testing.chat import ScriptedChat

_BODY = r"<{} [^>]*>\n(.*?)\n</"
_KINDS = {
    "You decide": "correctness",
    "compare two": "pairwise",
    "You list": "assertions",
    "You check": "supported",
}


def _candidates(count: int = 6, **texts: str) -> list[Candidate]:
    """Answers of strategies to the same questions; ``{}`` in a text is the number of the question."""
    return [
        Candidate(
            strategy=name,
            question_id=f"q{number}",
            question=f"Who built mill {number}?",
            answers=(f"Mara {number}",),
            text=text.format(number),
            made_by="answer/1/other:model",
        )
        for name, text in (texts or {"good": "Mara {}, in 1931.", "bad": "Ivo {}."}).items()
        for number in range(count)
    ]


def _between(user: str, name: str) -> list[str]:
    return re.findall(_BODY.format(name), user, flags=re.DOTALL)


def _kind(system: str) -> str:
    return next(kind for words, kind in _KINDS.items() if words in system.split("Reply with", maxsplit=1)[0])


def _fair(system: str, user: str) -> str:
    """Reads what it is shown: Mara is right, and better than Ivo."""
    kind = _kind(system)
    if kind == "pairwise":
        first, second = (("Mara" in text) for text in _between(user, "answer"))
        winner = "tie" if first == second else "1" if first else "2"
        return json.dumps({"reason": "so", **dict.fromkeys(re.findall(r"^- (\w+):", user, re.MULTILINE), winner)})
    if kind == "assertions":
        return json.dumps({"assertions": ["Mara built it.", "It was built in 1931."]})
    (answer,) = _between(user, "answer")
    if kind == "supported":
        verdicts = ["yes" if "Mara" in answer else "no", "no"]
        return json.dumps({"verdicts": [{"number": at, "is_supported": said} for at, said in enumerate(verdicts, 1)]})
    return json.dumps({"reason": "", "verdict": "correct" if "Mara" in answer else "incorrect"})


def _first(system: str, user: str) -> str:
    """Always names the answer that is shown first."""
    return (
        _fair(system, user)
        if _kind(system) != "pairwise"
        else _fair(system, user).replace('"tie"', '"1"').replace('"2"', '"1"')
    )


def _judge(
    script: Callable[[str, str], str | Exception], *, accounts: Accounts | None = None, budget: Budget | None = None
) -> tuple[Judge, ScriptedChat]:
    chat = ScriptedChat(script, name="test:judge")
    return Judge(Executor(chat, accounts=accounts, most=1).begin(budget)), chat


def _report(
    script: Callable[[str, str], str | Exception] = _fair, candidates: Sequence[Candidate] = (), **options: object
) -> JudgeReport:
    judge, _ = _judge(script)
    return judge_all(candidates or _candidates(), judge, options=JudgeOptions(**options))  # type: ignore[arg-type]


def test_a_fair_judge_finds_what_is_better() -> None:
    found = _report()
    means = {(item.judge, item.strategy): item.interval and item.interval.mean for item in found.answers}
    assert means == {
        ("correctness", "good"): 1.0,
        ("correctness", "bad"): 0.0,
        ("assertions", "good"): 0.5,
        ("assertions", "bad"): 0.0,
    }
    assert {item.criterion for item in found.pairs} == set(CRITERIA)
    for pair in found.pairs:
        assert (pair.a, pair.b, pair.wins, pair.ties, pair.losses, pair.missing) == ("good", "bad", 6, 0, 0, 0)
        assert found.finding(pair) == "good is better"
    for item in found.calibration:
        assert (item.same.share, item.first.share, item.reason) == (0.5, 0.5, "")
    assert not found.warnings()
    assert found.assertions["q0"] == ("Mara built it.", "It was built in 1931.")
    assert [table.title.split(" by ")[0] for table in judge_tables(found)][:2] == ["answers judged", "pairs judged"]


def test_names_are_hidden_and_each_answer_is_as_often_the_first() -> None:
    judge, chat = _judge(_fair)
    judge_all(_candidates(), judge, options=JudgeOptions(judges=("pairwise",), trials=4, calibration=0))
    shown = [tuple(_between(user, "answer")) for _, user, _ in chat.asked]
    assert len(shown) == 6 * 4
    assert shown.count(("Mara 3, in 1931.", "Ivo 3.")) == shown.count(("Ivo 3.", "Mara 3, in 1931.")) == 2
    assert len({user for _, user, _ in chat.asked}) == 24  # the second reading is another request, not a stored reply
    assert not any("good" in user or "bad" in user for _, user, _ in chat.asked)


def test_a_judge_that_prefers_the_first_place_names_no_winner() -> None:
    found = _report(_first, judges=("pairwise",))
    for pair in found.pairs:
        assert (pair.ties, pair.interval and pair.interval.mean) == (6, 0.5)
        assert found.finding(pair).startswith("refused")
    reason = found.calibration[0].reason
    assert reason == "an answer against itself wins 100 % (95 %: 61 to 100) of 6 in the first place, not 50 %"
    assert f"no winner by comprehensiveness is named: {reason}" in found.warnings()
    of_places = calibration_of("overall", same=[0.5] * 6, first=[1.0] * 6)
    assert of_places.reason.startswith("the first place wins 100 % (95 %: 61 to 100) of 6 questions")
    few = calibration_of("overall", same=[0.5] * 3, first=[0.5] * 3)
    assert few.reason.startswith("3 readings of an answer against itself are too few")


def test_a_tie_is_half_a_win() -> None:
    found = _report(candidates=_candidates(good="Mara {}", other="Mara {}, too"), judges=("pairwise",))
    assert {(pair.wins, pair.ties, found.finding(pair)) for pair in found.pairs} == {(0, 6, "no difference found")}


def test_what_cannot_be_read_is_missing_and_not_a_loss() -> None:
    def script(system: str, user: str) -> str | Exception:
        if "mill 1?" in user:
            return "The first one, I think."
        return ModelAnswerError("filtered") if "mill 2?" in user and "Ivo" in user else _fair(system, user)

    judge, chat = _judge(script)
    found = judge_all(_candidates(), judge, options=JudgeOptions(calibration=0))
    good, bad = found.answers[:2]
    assert good.values == (1.0, None, 1.0, 1.0, 1.0, 1.0)
    assert (dict(good.missing), dict(bad.missing)) == ({"unreadable": 1}, {"refused": 1, "unreadable": 1})
    assert good.interval is not None
    assert good.interval.mean == 1.0
    assert found.pairs[0].scores == (1.0, None, None, 1.0, 1.0, 1.0)
    assert found.pairs[0].missing == 4
    # q1: two verdicts, the assertions of the gold answer, two readings; q2: one verdict, one score, two readings
    assert {why: count for why, (count, _) in found.reasons.items()} == {"refused": 4, "unreadable": 5}
    assert sum("holds no JSON object" in user for _, user, _ in chat.asked) == 5  # each was asked for once more
    assert any("5 replies are missing (unreadable)" in line for line in judge_notes(found))


def test_a_round_with_one_reply_is_left_out_whole() -> None:
    """The first of the two positions alone would count the place, not the answer."""

    def script(system: str, user: str) -> str:
        first = _between(user, "answer")[0]
        return "?" if first == "Ivo 0." else _first(system, user)

    found = _report(script, judges=("pairwise",), calibration=0)
    assert found.pairs[0].scores[:2] == (None, 0.5)


def test_a_time_out_leaves_the_rest_missing() -> None:
    chat: list[str] = []

    def script(system: str, user: str) -> str | Exception:
        chat.append(user)
        return ModelUnavailableError("no answer within 120 s", is_silent=True) if len(chat) > 3 else _fair(system, user)

    found = _report(script, judges=("correctness",))
    assert [item.values.count(None) for item in found.answers] == [3, 6]
    assert found.answers[0].missing == {"unavailable": 3}
    assert len(chat) == 4  # the others are not asked


def test_without_a_reading_the_table_shows_no_share() -> None:
    found = _report(lambda system, user: "?", judges=("pairwise",))
    fairness = judge_tables(found)[-1]
    assert fairness.rows[0] == ("comprehensiveness", "-", "-", "0", "-", "-", "0", "refused")


def test_a_question_without_an_answer_is_wrong_and_in_no_pair() -> None:
    candidates = [replace(item, text="" if item.question_id == "q0" else item.text) for item in _candidates()]
    judge, chat = _judge(_fair)
    found = judge_all(candidates, judge, options=JudgeOptions())
    assert found.answers[0].values[0] == 0.0
    assert (found.answers[0].unanswered, found.answers[2].unanswered) == (1, 1)
    assert found.pairs[0].question_ids == ("q1", "q2", "q3", "q4", "q5")
    assert not any("mill 0?" in user for _, user, _ in chat.asked)


def test_assertions_of_the_author_are_used_as_they_are() -> None:
    candidates = [replace(item, assertions=("Mara did.", "In 1931.")) for item in _candidates()]
    judge, chat = _judge(_fair)
    found = judge_all(candidates, judge, options=JudgeOptions(judges=("assertions",)))
    assert found.assertions["q0"] == ("Mara did.", "In 1931.")
    assert {_kind(system) for system, _, _ in chat.asked} == {"supported"}
    assert found.answers[0].values == (0.5,) * 6


def test_verdicts_on_some_assertions_only_are_unreadable() -> None:
    def script(system: str, user: str) -> str:
        reply = _fair(system, user)
        return reply.replace('{"number": 2, "is_supported": "no"}', '{"number": 1, "is_supported": "no"}')

    found = _report(script, judges=("assertions",))
    assert found.reasons["unreadable"] == (
        12,
        "there must be one verdict for each assertion from 1 to 2; there are some for [1, 1]",
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"trials": 3}, InputError, "trials is 3; give an even number"),
        ({"trials": 0}, InputError, "trials is 0; give an even number"),
        ({"criteria": ("beauty",)}, UnknownNameError, "no criterion 'beauty'; choose of: comprehensiveness"),
        ({"judges": ("taste",)}, UnknownNameError, "no judge 'taste'; choose of: correctness"),
        ({"judges": ()}, UnknownNameError, "no judge ''"),
        ({"against": "none"}, InputError, "against is 'none', which answered nothing; choose of: good, bad"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        _report(**options)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (_candidates(good="", bad=""), "no answer has a text"),
        (_candidates(good="x"), "good alone answered, and pairs need two strategies"),
        (_candidates() + _candidates(), "good answered the question 'q0' more than once"),
        ([replace(item, answers=()) for item in _candidates()], "no answer has an accepted answer beside it"),
        (
            [item for item in _candidates() if (item.strategy == "good") == (item.question_id == "q0")],
            "no question was answered by two strategies",
        ),
    ],
)
def test_answers_that_cannot_be_judged_are_refused(candidates: list[Candidate], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _report(candidates=candidates)


def test_only_pairs_with_the_strategy_to_compare_with() -> None:
    candidates = _candidates(4, x="Mara {}", y="Ivo {}", z="Lene {}")
    pairs = {(pair.a, pair.b) for pair in _report(candidates=candidates, judges=("pairwise",), against="y").pairs}
    assert pairs == {("x", "y"), ("z", "y")}
    assert len({(pair.a, pair.b) for pair in _report(candidates=candidates, judges=("pairwise",)).pairs}) == 3


def test_a_judge_of_its_own_answers_is_warned_of() -> None:
    own = [replace(item, made_by="reason/2/test:judge") for item in _candidates()]
    assert "the judge test:judge wrote answers that it judges" in _report(candidates=own).warnings()[0]


_scores = st.dictionaries(st.sampled_from(sorted(CRITERIA)), st.sampled_from([0.0, 0.5, 1.0]), min_size=5, max_size=5)


@given(st.lists(st.tuples(_scores, _scores), min_size=1, max_size=6))
def test_wins_of_both_sides_sum_to_one(rows: list[tuple[dict[str, float], dict[str, float]]]) -> None:
    ids = [str(number) for number in range(len(rows))]
    for criterion in ("overall", "diversity"):
        one = wins_of(("a", "b"), ids, readings=rows, criterion=criterion)
        other = wins_of(("b", "a"), ids, readings=[(second, first) for first, second in rows], criterion=criterion)
        assert one.interval is not None
        assert other.interval is not None
        assert one.interval.mean + other.interval.mean == pytest.approx(1)
        assert other.scores == tuple(None if score is None else 1 - score for score in one.scores)
        assert (other.interval.low, other.interval.high) == pytest.approx((1 - one.interval.high, 1 - one.interval.low))
        assert (other.wins, other.ties, other.losses) == (one.losses, one.ties, one.wins)


def _accounts(folder: Path) -> Accounts:
    return Accounts(corpus="c", ledger=Ledger(folder / "ledger.sqlite"), replies=Replies(folder / "replies.sqlite"))


def test_a_budget_ends_the_calls_and_the_next_run_continues(tmp_path: Path) -> None:
    accounts = _accounts(tmp_path)
    judge, chat = _judge(_fair, accounts=accounts, budget=Budget(max_tokens=4_000))
    short = judge_all(_candidates(), judge, options=JudgeOptions())
    paid = len(chat.asked)
    assert short.is_out_of_budget
    assert 0 < paid < 50
    assert short.spent.input_tokens + short.spent.output_tokens <= 4_000
    judge, chat = _judge(_fair, accounts=accounts)
    planned = plan_judges(_candidates(), judge.executor, options=JudgeOptions())
    assert not chat.asked
    whole = judge_all(_candidates(), judge, options=JudgeOptions())
    assert not whole.missing
    assert len(chat.asked) == planned.calls == 12 + 6 + 12 + 12 + 6 - paid
    assert planned.kept_calls == paid
    again, chat = _judge(_fair, accounts=accounts)
    repeated = judge_all(_candidates(), again, options=JudgeOptions())
    assert not chat.asked
    assert repeated.spent.calls == 0
    assert replace(repeated, spent=whole.spent) == whole
    assert accounts.ledger is not None
    stages = accounts.ledger.spent("stage")
    assert [(line.name, line.calls) for line in stages] == [("judge", 48)]
    judge.executor.close()


def test_a_repaired_reply_is_not_paid_for_again(tmp_path: Path) -> None:
    replies = itertools.chain(["no"], itertools.repeat('{"verdict": "correct"}'))
    accounts = _accounts(tmp_path)
    judge, chat = _judge(lambda system, user: next(replies), accounts=accounts)
    options = JudgeOptions(judges=("correctness",))
    assert not judge_all(_candidates(), judge, options=options).missing
    assert len(chat.asked) == 13
    assert not judge_all(_candidates(), judge, options=options).missing
    assert len(chat.asked) == 13
    judge.executor.close()


def test_kappa_is_that_of_the_hand() -> None:
    """Two raters of 50 grants: 20 both yes, 15 both no, 5 and 10 apart; o = 0.7, c = 0.5 * 0.6 + 0.5 * 0.4 = 0.5."""
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(a, b)
    assert found.kappa == pytest.approx(0.4)
    assert found.low is not None
    assert found.high is not None
    assert 0.1 < found.low < 0.4 < found.high < 0.7
    assert cohen_kappa(b, a).kappa == pytest.approx(0.4)
    assert cohen_kappa(a, b) == found  # the draws are seeded
    assert cohen_kappa(["x", "y", "z"], ["x", "y", "z"]).kappa == pytest.approx(1)
    assert cohen_kappa(["x", "y"], ["y", "x"]).kappa == pytest.approx(-1)
    assert cohen_kappa(["x", "x"], ["x", "x"]) == (None, None, None, 1.0, 2)
    for labels in ([], ["x"]):
        with pytest.raises(InputError, match="of one rater and 2 of the other"):
            cohen_kappa(labels, ["x", "y"])


def test_the_agreement_with_people_on_a_labelled_file(tmp_path: Path) -> None:
    candidates = _candidates()
    report = _report()
    rows = [json.loads(line) for line in judge_files(report, candidates)["to_label.jsonl"].splitlines()]
    assert rows == json.loads(json.dumps(to_label(candidates, report.pairs)))
    assert len(rows) == 12 + 6
    for row in rows:
        if "strategy" in row:
            row["label"] = "correct" if "Mara" in row["answer"] and row["question_id"] != "q0" else "incorrect"
        elif row["question_id"] != "q5":
            row["label"] = "tie" if row["question_id"] == "q4" else "a"
    rows.append({"question_id": "q1", "a": "bad", "b": "good", "label": "b"})
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    labels = load_labels(path, candidates)
    assert len(labels) == 12 + 5 + 1  # one pair has no label
    judge, _ = _judge(_fair)
    found = judge_all(candidates, judge, options=JudgeOptions(), labels=labels).agreement
    correct, overall = found
    assert correct.kappa is not None
    assert correct.kappa.kappa == pytest.approx((11 / 12 - 0.5) / 0.5)  # 6 and 5 of 12 are correct: c = 5/24 + 7/24
    assert overall.judge == "overall"
    assert overall.kappa is not None
    # Of 6 labels 5 agree: people said a, a, a, a, tie, b, and the judge a, a, a, a, a, b; c = 4/6 * 5/6 + 1/36.
    assert overall.kappa.kappa == pytest.approx((5 / 6 - 21 / 36) / (1 - 21 / 36))
    assert overall.missing == 0


def test_labels_without_a_verdict_are_counted() -> None:
    labels = [Label("q1", "correct", strategy="good"), Label("q2", "correct", strategy="good")]
    (found,) = agreements(labels, {("good", "q1"): 1.0, ("good", "q2"): None}, pairs=())
    assert (found.missing, found.kappa and found.kappa.labels) == (1, 1)


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ('{"question_id": "q9", "strategy": "good", "label": "correct"}', InputError, "the labels are of another run"),
        ('{"question_id": "q1", "strategy": "path", "label": "correct"}', InputError, "the labels are of another run"),
        (
            '{"question_id": "q1", "strategy": "good", "label": "correct", "answer_ids": ["0"]}',
            InputError,
            "the answer of good to 'q1' is not the one that was labelled",
        ),
        ('{"question_id": "q1", "strategy": "good", "label": "right"}', ReadError, "line 1.*'right'"),
        ('{"question_id": "q1", "a": "good", "label": "a"}', ReadError, "line 1"),
        ('{"question_id": "q1", "a": "good", "b": "bad", "criterion": "beauty", "label": "a"}', ReadError, "beauty"),
        ('{"label": "a"}', ReadError, "question_id"),
        ('{"question_id": "q1", "strategy": "good", "label": ""}', ReadError, "it holds no label"),
    ],
)
def test_labels_of_something_else_are_refused(tmp_path: Path, row: str, error: type[Exception], message: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{row}\n")
    with pytest.raises(error, match=message):
        load_labels(path, _candidates())


def test_saved_answers_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    row = {"strategy": "good", "question_id": "q", "question": "Who?", "answers": ["M"], "text": " M. ", "EM": 1.0}
    path.write_text(f"{json.dumps(row)}\n\n{json.dumps({**row, 'question_id': 'r', 'error': 'away', 'text': 'x'})}\n")
    one, other = load_candidates(path)
    assert (one.text, one.answers, one.made_by, other.text) == ("M.", ("M",), "", "")
    for text, message in (("", "it holds no answer"), ("{}", "line 1.*no saved answer"), ("\xff", "line 1")):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(ReadError, match=message):
            load_candidates(path)
    with pytest.raises(ReadError, match=r"nowhere\.jsonl"):
        load_candidates(tmp_path / "nowhere.jsonl")


def test_a_report_is_data() -> None:
    tree = json.loads(json.dumps(_report().to_json()))
    assert tree["pairs"][0]["finding"] == "good is better"
    assert tree["pairs"][0]["scores"]["q0"] == 1.0
    assert tree["calibration"][-1]["criterion"] == "overall"
    assert tree["answers"][0]["values"]["q5"] == 1.0
    empty = PairwiseWins(
        a="x", b="y", criterion="overall", question_ids=("q",), scores=(None,), missing=2, interval=None, p=None
    )
    assert empty.finding == ""
    assert _report().finding(empty) == "no verdict"


def test_a_judge_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    monkeypatch.delitem(sys.modules, "hlgraph.evaluate.judges.judging")
    with pytest.raises(MissingExtraError, match=r"a judge of answers needs .* pip install 'hlgraph\[chat\]'"):
        importlib.import_module("hlgraph.evaluate.judges.judging")
