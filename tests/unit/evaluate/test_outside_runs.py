"""Runs of other systems and qrels in the files of TREC."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.datasets import load
from hlgraph.evaluate.runner import lacking, named_files, read_runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    passages = [{"id": f"p{at}", "text": "x"} for at in range(4)]
    questions = [{"id": f"q{at}", "question": "Who?", "supporting_passage_ids": [f"p{at}"]} for at in range(3)]
    for name, rows in (("corpus", passages), ("questions", questions)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def test_a_run_has_the_measures_of_its_ranking(folder: Path) -> None:
    (folder / "run").write_text("q0 Q0 p3 1 9 x\nq0 Q0 p0 2 8 x\nq1 Q0 p2 1 1 x\nq1 Q0 p1 2 2 x\nother Q0 z 1 1 x\n")
    dataset = load(folder)
    found = read_runs({"x": str(folder / "run")}, dataset, k=1)
    assert [outcome.ids for outcome in found["x"].outcomes] == [("p3",), ("p1",), ()]
    assert found["x"].scores.recall[2] == pytest.approx(1 / 3)
    assert found["x"].figures.p50_ms is None
    assert lacking(dataset, found) == [
        "the run x has no passage for 1 of 3 questions; they count as nothing found",
    ]


def test_a_run_of_another_set_is_refused(folder: Path) -> None:
    (folder / "run").write_text("r1 Q0 p0 1 9 x\n")
    with pytest.raises(InputError, match=r"ranks passages for r1, and for no question of .* \(q0, q1, q2\)"):
        read_runs({"x": str(folder / "run")}, load(folder), k=20)
    (folder / "run").write_text("q0 Q0 p0 1 9 x\nq0 Q0 w1 2 8 x\n")
    with pytest.raises(InputError, match=r"ranks w1, which .*corpus\.jsonl does not have"):
        read_runs({"x": str(folder / "run")}, load(folder), k=20)


def test_names_of_runs() -> None:
    assert named_files(["a=b=c", " d = e"], strategies=["path"]) == {"a": "b=c", "d": "e"}
    for given, says in ((["a"], "give NAME=FILE"), (["path=x"], "'path' is taken"), (["a=x", "a=y"], "'a' is taken")):
        with pytest.raises(InputError, match=says):
            named_files(given, strategies=["path"])


def test_qrels_take_the_place_of_the_supporting_passages(folder: Path) -> None:
    lines = "q0 0 p1 1\nq0 0 p2 2\nq1 0 p1 0\nq1 0 p3 1\n"
    (folder / "qrels").write_text(lines)
    assert [item.gold for item in load(folder, qrels=folder / "qrels", limit=2).questions] == [{"p1", "p2"}, {"p3"}]
    with pytest.raises(ReadError, match="no relevant passage for question q2"):
        load(folder, qrels=folder / "qrels")
    (folder / "bare.jsonl").write_text('{"id": "q0", "question": "Who?"}\n')
    assert load(folder, questions=folder / "bare.jsonl", qrels=folder / "qrels").questions[0].gold == {"p1", "p2"}
    assert load(folder, questions=folder / "bare.jsonl").questions[0].gold == frozenset()
