"""Judges by the command line: of an evaluation and of saved answers, plans, budgets, labels, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import call

import hlgraph.models.choose
from hlgraph.evaluate.judges.report import load_candidates
from hlgraph.testing.chat import ScriptedChat, without_salt

MILLS = {f"q{number}": f"Mara Quill built the mill of Tessing {number}." for number in range(5)}


def _verdict(system: str, user: str) -> str:
    """Everything is correct and a tie."""
    if "You compare" in system:
        return json.dumps({"reason": "", **dict.fromkeys(re.findall(r"^- (\w+):", user, re.MULTILINE), "tie")})
    return json.dumps({"verdict": "correct"} if "You decide" in system else {"assertions": ["Mara Quill built it."]})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mills"
    folder.mkdir()
    rows = {
        "corpus": [{"id": key, "text": text} for key, text in MILLS.items()],
        "questions": [
            {
                "id": key,
                "question": f"Who built the mill of Tessing {key[1]}?",
                "supporting_passage_ids": [key],
                "answers": ["Mara Quill"],
                "assertions": ["Mara Quill built it."] if key == "q0" else [],
            }
            for key in MILLS
        ],
    }
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in lines))
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    monkeypatch.setenv("HLGRAPH_CACHE", str(tmp_path / "cache"))
    for name in ("HLGRAPH_CORPUS", "HLGRAPH_CONFIG", "HLGRAPH_CHAT", "HLGRAPH_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _scripted(monkeypatch: pytest.MonkeyPatch) -> ScriptedChat:
    chat = ScriptedChat(lambda system, user: _verdict(system, without_salt(user)), name="openai:gpt-4o-mini")
    monkeypatch.setattr(hlgraph.models.choose, "chosen_chat", lambda given, names: chat)
    return chat


def test_answers_are_judged_and_judged_again_for_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = _scripted(monkeypatch)
    monkeypatch.setenv("HLGRAPH_JUDGE", "openai:gpt-4o-mini")
    base = (
        "eval",
        place / "mills",
        "--strategies",
        "chunk,statement",
        "--answers",
        "--alone",
        "--out",
        place / "measured",
        "--json",
    )
    code, out, err = call(*base, "--judge", "correctness,pairwise", "--criteria", "diversity")
    assert (code, "warning" in err) == (0, False)
    tree = json.loads(out)["judged"]
    assert {item["strategy"]: item["mean"] for item in tree["answers"]} == {"chunk": 1.0, "statement": 1.0}
    assert [(item["criterion"], item["share"]) for item in tree["pairs"]] == [("diversity", 0.5), ("overall", 0.5)]
    assert tree["usd"] > 0
    files = {path.name for path in (place / "measured").iterdir()}
    assert files >= {"judged.json", "judged.csv", "pairs.csv", "to_label.jsonl", "answers.jsonl"}
    assert "overall" in (place / "measured" / "pairs.csv").read_text()
    assert "pairs judged by openai:gpt-4o-mini" in (place / "measured" / "table.md").read_text()
    assert load_candidates(place / "measured" / "answers.jsonl")[0].assertions == ("Mara Quill built it.",)
    asked, saved = len(chat.asked), ("judge", place / "measured" / "answers.jsonl", "--criteria", "diversity")
    code, out, _ = call(*saved, "--judge", "correctness,pairwise", "--out", place / "again", "--json")
    assert code == 0
    assert json.loads(out)["pairs"] == tree["pairs"]
    assert len(chat.asked) == asked
    labels = [
        {**json.loads(line), "label": "correct"}
        for line in (place / "again" / "to_label.jsonl").read_text().splitlines()
        if "strategy" in line
    ]
    (place / "labels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in labels))
    code, out, _ = call(*saved, "--judge", "correctness", "--labels", place / "labels.jsonl")
    assert code == 0
    assert "agreement with people: Cohen's kappa" in out
    assert "judge openai:gpt-4o-mini: 0 calls" in out
    code, _, err = call("judge", place / "again" / "to_label.jsonl", "--judge-model", "openai:gpt-4o-mini")
    assert (code, "no saved answer" in err) == (2, True)


def test_the_cost_is_planned_and_the_budget_holds(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"strategy": name, "question_id": key, "question": "Who?", "answers": ["Mara"], "text": f"{name} {text}"}
        for name in ("a", "b")
        for key, text in MILLS.items()
    ]
    answers = place / "answers.jsonl"
    answers.write_text("".join(f"{json.dumps({**row, 'made_by': 'answer/1/openai:gpt-4o-mini'})}\n" for row in rows))
    command = ("judge", answers, "--judge-model", "openai:gpt-4o-mini", "--judge", "correctness,pairwise")
    code, out, _ = call(*command, "--plan", "--json")
    planned = json.loads(out)
    assert (code, planned["calls"], planned["kept_calls"]) == (0, 10 + 5 + 10, 0)
    assert planned["usd"] > 0
    assert "calls: 25 of openai:gpt-4o-mini" in call(*command, "--plan")[1]
    chat = _scripted(monkeypatch)
    code, out, err = call(*command, "--max-tokens", 3000)
    assert code == 6
    assert "replies are missing (budget)" in out
    assert "judges answers that it wrote" in err
    paid = len(chat.asked)
    assert 0 < paid < 25
    code, out, _ = call(*command)
    assert (code, len(chat.asked)) == (0, 25)
    assert "judge: 25 calls" in call("ledger")[1]


def test_what_judges_cannot_do_is_refused(place: Path) -> None:
    answers = place / "answers.jsonl"
    answers.write_text('{"strategy": "a", "question_id": "q", "question": "Who?", "answers": ["M"], "text": "M"}\n')
    model = ("--judge-model", "openai:m")
    for arguments, message in (
        (("judge", answers), "a judge is a chat model, and none is named; give --judge-model"),
        (("judge", answers, *model, "--trials", 3), "--trials is 3; give an even number"),
        (("judge", answers, *model, "--criteria", "beauty"), "no criterion 'beauty'"),
        (("judge", answers, *model, "--judge", "taste"), "no judge 'taste'"),
        (("judge", answers, *model, "--plan"), "a alone answered, and pairs need two strategies"),
        (("judge", place / "nothing", *model), "nothing"),
        (("eval", place / "mills", "--judge", "pairwise", *model), "there are no answers to judge; give --answers"),
        (
            ("eval", place / "mills", "--strategies", "path", "--answers", "--alone", "--judge", "pairwise", *model),
            "path is the only strategy, but pairs need two",
        ),
        (("eval", place / "mills", "--answers", *model), "--judge-model applies only to judges, and none is named"),
        (("eval", place / "mills", "--answers", "--judge", "pairwise"), "none is named; give --judge-model"),
        (
            ("eval", place / "mills", "--answers", "--judge", "pairwise", *model, "--max-usd", 1),
            "the price of the model openai:m is not known",
        ),
    ):
        code, out, err = call(*arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err
