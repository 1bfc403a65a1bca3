"""Claims of answers: what follows by words, what a chat model says, and what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hlgraph.errors import BudgetError, ModelAnswerError
from hlgraph.evaluate.answering import Answered, AnswerOutcome, AnswerReport, RetrievedText
from hlgraph.evaluate.claims import (
    ChatClaims,
    ClaimScores,
    MissingScores,
    WordClaims,
    check_answers,
    claims_by_words,
)
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.figures import paired_table
from hlgraph.evaluate.statistics import in_pairs
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import Ledger, Spent, total
from hlgraph.models.executor import Accounts, Executor
from hlgraph.testing.chat import ScriptedChat

_MILL = "The mill of Tessing was built by Mara Quill in 1931, and the bridge in 1932. It never burned."
_GAME = "In 1966 England beat Germany 4 to 2. Chile lost to Peru."


@pytest.mark.parametrize(
    ("claim", "text", "follows"),
    [
        ("Mara Quill built the mill of Tessing.", _MILL, True),
        ("The mill of Tessing was built in 1931.", _MILL, True),
        ("The bridge was built in 1932.", _MILL, True),
        ("Mara Quill", _MILL, True),
        ("Mill: Mara Quill built the mill of Tessing.", _MILL, True),  # a title before a statement
        ("England beat Germany.", _GAME, True),
        ("Germany was beaten by England.", _GAME, True),
        ("Mara Quill never built the mill of Tessing.", _MILL, False),  # a negation more
        ("The mill burned.", _MILL, False),  # a negation less
        ("The mill of Tessing was built in 1932.", _MILL, False),  # a number of the same sentence
        ("The mill of Tessing was built in 1933.", _MILL, False),
        ("The bridge was built in 1931.", _MILL, False),
        ("England beat Germany 4 to 2 in 1966.", _GAME, True),
        ("Germany beat England.", _GAME, False),  # names swapped
        ("Peru lost to Chile.", _GAME, False),
        ("England beat Peru.", _GAME, False),  # a name of the next sentence but one
        ("Ivo Brandt built the mill of Tessing.", _MILL, False),
        ("The mill of Tessing grinds rye at night.", _MILL, False),
        ("Mara Quill built the mill.", "", False),
    ],
)
def test_what_follows_by_words(claim: str, text: str, follows: bool) -> None:
    assert WordClaims().entailed([claim], text) == [follows]


@pytest.mark.parametrize(
    "form", ["{}\n{}", "Reason: {}\nAnswer: {}", "###Reason: {} ###Answer: {}", "**Reason:** {}\n\n**Answer:** {}"]
)
def test_the_labels_of_an_answer_with_a_reason_are_no_words_of_its_claims(form: str) -> None:
    text = form.format("Mara Quill built the mill of Tessing [1].", "Mara Quill [1]")
    assert WordClaims().claims(text) == ("Mara Quill built the mill of Tessing.", "Mara Quill")


def report(*outcomes: AnswerOutcome, answers: tuple[str, ...] = ("Ivo Brandt", "Mara Quill")) -> AnswerReport:
    questions = tuple(
        Question(item.question_id, "Who built the mill of Tessing?", frozenset({"p"}), answers=answers)
        for item in outcomes
    )
    return AnswerReport(False, questions, {"chunk": Answered(outcomes, Spent(name="chunk"))}, {})


def outcome(name: str, text: str, *evidence: str, short: str = "", error: str = "") -> AnswerOutcome:
    retrieved = tuple(RetrievedText(str(at), one) for at, one in enumerate(evidence))
    return AnswerOutcome(
        name, short or text, text, evidence[:1], is_refused=not text, milliseconds=1.0, error=error, retrieved=retrieved
    )


def test_answers_by_words() -> None:
    found = check_answers(
        report(
            outcome("right", "Mara Quill built the mill of Tessing.", _MILL, "Orne is a river."),
            outcome("wrong", "Chile lost to Peru.", _GAME),
            outcome("refused", ""),
            outcome("failed", "", error="away"),
            outcome("yes", "Mara Quill built the mill of Tessing.", _MILL),
        ),
        WordClaims(),
    )
    right, wrong, refused, failed, _ = found.scores["chunk"]
    assert isinstance(right, ClaimScores)
    assert (right.precision, right.recall, right.faithfulness, right.context_precision) == (1.0, 1.0, 1.0, 0.5)
    assert isinstance(wrong, ClaimScores)
    assert (wrong.precision, wrong.recall, wrong.noise_sensitivity_in_irrelevant) == (0.0, 0.0, 1.0)
    assert isinstance(refused, ClaimScores)
    assert (refused.precision, refused.recall, refused.context_precision) == (None, 0.0, None)
    assert failed == MissingScores("it was not answered")
    assert found.by == "words/2"
    assert found.notes() == ["chunk: no claims of 1 questions: it was not answered"]


def test_context_measures_and_faithfulness_are_of_what_was_retrieved_and_not_of_what_was_cited() -> None:
    painted, built = "Ivo Brandt painted the harbour of Orne.", "Mara Quill built the mill of Tessing."
    rest = ("Chile lost to Peru.", "Orne is a river.")
    found = check_answers(
        report(outcome("q", built, painted, built, *rest), outcome("none", built), answers=(f"{painted} {built}",)),
        WordClaims(),
    )
    measured = ("claim_recall", "context_precision", "context_utilization", "faithfulness", "self_knowledge")
    four, none = ([getattr(item, name) for name in measured] for item in found.scores["chunk"])
    assert four == [1.0, 0.5, 0.5, 1.0, 0.0]
    assert none == [0.0, None, None, 0.0, 1.0]


def test_a_measure_that_no_question_defines_is_a_dash_and_never_0() -> None:
    section = claims_by_words(report(outcome("q", "Mara Quill built it."), answers=("yes",)))
    table = paired_table(in_pairs(section, "chunk").found, title="claims", against="chunk")
    means = {row[1]: row[2:5] for row in table.rows}
    assert means["context_precision"] == means["claim_recall"] == means["recall"] == ("0", "-", "-")
    assert means["faithfulness"][:2] == ("1", "0.00")


def test_a_gold_answer_that_words_cannot_look_up_has_no_claims() -> None:
    found = check_answers(report(outcome("q", "Mara Quill built it.", _MILL), answers=("yes",)), WordClaims())
    (score,) = found.scores["chunk"]
    assert isinstance(score, ClaimScores)
    assert (score.recall, score.claim_recall) == (None, None)


def judge(system: str, user: str) -> str:
    """Splits at full stops, and says that a claim follows where the text has its last word; nonsense for the word "odd"."""
    texts = re.findall(r"<text [^>]*>\n(.*?)\n</text", user, flags=re.DOTALL)
    if "odd" in user:
        return "I would rather not."
    if system.startswith("You split"):
        return json.dumps({"claims": [part.strip() for part in texts[0].split(".") if part.strip()]})
    claims = re.findall(r"<claim [^>]*>\n(.*?)\n</claim", user, flags=re.DOTALL)
    verdicts = [{"number": number, "follows": claim.split()[-1] in texts[0]} for number, claim in enumerate(claims, 1)]
    return json.dumps({"verdicts": verdicts})


def test_answers_by_a_chat_model_whose_unreadable_replies_are_missing(tmp_path: Path) -> None:
    chat = ScriptedChat(judge)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    calls = Executor(chat, accounts=Accounts(corpus="c", ledger=ledger), most=1)
    found = check_answers(
        report(outcome("good", "It was Mara Quill.", "Mara Quill built it."), outcome("bad", "An odd one.", "odd")),
        ChatClaims(calls),
    )
    good, bad = found.scores["chunk"]
    assert isinstance(good, ClaimScores)
    assert (good.precision, good.recall, good.f1, good.faithfulness) == (1.0, 1.0, 1.0, 1.0)
    assert isinstance(bad, MissingScores)
    assert "cannot be read" in bad.reason
    assert found.by.startswith("claims/1+entailed/1+")
    spent = total(ledger.spent("stage"))
    assert (spent.name, spent.calls) == ("all", len(chat.asked))
    calls.close()


def test_more_claims_than_fit_one_call_are_checked_in_several() -> None:
    chat = ScriptedChat(judge)
    claims = [f"Claim {number}" for number in range(45)]
    assert ChatClaims(Executor(chat)).entailed(claims, "7 and 33") == [number in (3, 7, 33) for number in range(45)]
    assert len(chat.asked) == 3
    with pytest.raises(ModelAnswerError, match="cannot be read"):
        ChatClaims(Executor(chat)).claims("odd")
    assert ChatClaims(Executor(chat)).claims(" ") == ()


def test_what_the_budget_does_not_cover_is_missing() -> None:
    chat = ScriptedChat(judge)
    calls = Executor(chat, most=1).begin(Budget(max_tokens=1))
    found = check_answers(report(outcome("a", "Mara Quill.", "x"), outcome("b", "Mara Quill.", "x")), ChatClaims(calls))
    reasons = [item.reason for item in found.scores["chunk"] if isinstance(item, MissingScores)]
    assert len(reasons) == 2
    assert all(reason.startswith(BudgetError.__name__) for reason in reasons)
    assert not chat.asked
