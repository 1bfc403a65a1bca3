"""Evaluation sets are read from folders, and what is wrong with one is said with its place."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.datasets import (
    Passage,
    Question,
    corpus_fingerprint,
    json_lines,
    load,
    questions_fingerprint,
    read_passages,
)

Row = Mapping[str, object]

PASSAGES: list[Row] = [
    {"id": "p1", "title": "One", "text": "First.", "author": "x"},
    {"id": "p2", "title": None, "text": "Second é."},
    {"id": "p3", "text": ""},
]
QUESTIONS: list[Row] = [
    {
        "id": "q1",
        "question": "Which?",
        "supporting_passage_ids": ["p1", "p2"],
        "type": "bridge",
        "hops": 2,
        "answers": ["a", "b"],
        "evidence": [{"fact": "secret"}],
    },
    {"id": "q2", "question": "Who?", "supporting_passage_ids": ["p3", "elsewhere"], "type": None},
]


def write(path: Path, rows: Sequence[Row]) -> Path:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tiny"
    root.mkdir()
    write(root / "corpus.jsonl.gz", PASSAGES)
    write(root / "questions.dev.jsonl.gz", QUESTIONS)
    return root


def test_a_set_is_read(folder: Path) -> None:
    for name in ("extractions", "derived_propositions", "extractions.llama-3-70b-instruct"):
        write(folder / f"{name}.jsonl.gz", [])
    dataset = load(folder)
    assert dataset.name == "tiny"
    assert dataset.questions == (
        Question("q1", "Which?", frozenset({"p1", "p2"}), "bridge", 2, ("a", "b")),
        Question("q2", "Who?", frozenset({"p3", "elsewhere"})),
    )
    assert "secret" not in repr(dataset)
    assert [path.name for path in dataset.extractions] == ["extractions.jsonl.gz", "derived_propositions.jsonl.gz"]
    assert list(read_passages(dataset.passages_path)) == [
        Passage("p1", "One", "First.", {"author": "x"}),
        Passage("p2", "", "Second é."),
        Passage("p3", "", ""),
    ]


def test_plain_files_other_questions_and_a_limit(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", PASSAGES)
    write(tmp_path / "questions.jsonl", QUESTIONS[1:])
    assert [question.id for question in load(tmp_path).questions] == ["q2"]
    other = write(tmp_path / "other.txt", QUESTIONS)
    other.write_bytes(b"\xef\xbb\xbf" + other.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert [question.id for question in load(tmp_path, questions=other).questions] == ["q1", "q2"]
    assert [question.id for question in load(tmp_path, questions=str(other), limit=1).questions] == ["q1"]
    assert load(tmp_path).extractions == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "q9"}', "missing required field `question`"),
        (b'{"id": 9, "question": "?", "supporting_passage_ids": ["p1"]}', "Expected `str`, got `int` - at `$.id`"),
        (
            b'{"id": "q9", "question": "?", "supporting_passage_ids": []}',
            "q9 has no supporting passage, but q1 has",
        ),
        (b'{"id": "q1", "question": "?", "supporting_passage_ids": ["p1"]}', "id 'q1' is already on line 1"),
        (b'{"id": "q9", "question": " ", "supporting_passage_ids": ["p1"]}', "question q9 has no text"),
        (b'{"id": "q9"', "truncated"),
        (b'{"id": "\xff"}', "utf-8"),
        (b"[]", "Expected `object`, got `array`"),
    ],
)
def test_a_bad_line_is_named(folder: Path, line: bytes, reason: str) -> None:
    path = write(folder / "mine.jsonl", QUESTIONS)
    path.write_bytes(path.read_bytes() + b"\n" + line + b"\n")
    with pytest.raises(ReadError) as caught:
        load(folder, questions=path)
    assert str(caught.value).startswith(f"{path}, line 4: ")
    said = str(caught.value).partition("; each line must")[0]  # which names UTF-8, too
    assert reason.lower() in said.lower()
    assert caught.value.mend


def test_a_bad_passage_is_named(folder: Path) -> None:
    write(folder / "corpus.jsonl.gz", [PASSAGES[0], {"id": "p2", "title": "x"}])
    with pytest.raises(ReadError, match=r"corpus\.jsonl\.gz, line 2: .*`text`"):
        list(read_passages(load(folder).passages_path))


@pytest.mark.parametrize(
    "more",
    [b'"author": "\xff"', b'"\xff": 1', b'"a": ' + b"[" * 100_000 + b"]" * 100_000, b'"a": "\0"', b'"a": 1e999'],
    ids=["value", "name", "deep", "NUL", "huge"],
)
def test_a_bad_field_that_only_metadata_reads_is_named(folder: Path, more: bytes) -> None:
    path = folder / "corpus.jsonl"
    path.write_bytes(b'{"id": "p1", "text": "one"}\n{"id": "p2", "text": "two", ' + more + b"}\n")
    with pytest.raises(ReadError) as caught:
        list(read_passages(path))
    assert str(caught.value).startswith(f"{path}, line 2: ")
    path.write_bytes(gzip.compress(path.read_bytes())[:-9])
    with pytest.raises(ReadError, match=rf"^{path}, "):
        list(read_passages(path))


@pytest.mark.parametrize("line", [b"q1 0 \xff 1", b"q1 0 p1 --1", b"q1 0 p1 " + b"9" * 9_999, b"q1 0 p1 \0"])
def test_a_bad_line_of_qrels_is_named(folder: Path, line: bytes) -> None:
    path = folder / "qrels"
    path.write_bytes(b"q1 0 p1 1\n" + line + b"\n")
    with pytest.raises(ReadError) as caught:
        load(folder, qrels=path)
    assert str(caught.value).startswith(f"{path}, line 2: ")


def test_files_that_are_missing_or_broken(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no corpus\.jsonl\.gz"):
        load(tmp_path)
    with pytest.raises(InputError, match="limit is 0"):
        load(folder, limit=0)
    with pytest.raises(ReadError, match=r"absent\.jsonl: .*No such file"):
        load(folder, questions=folder / "absent.jsonl")
    with pytest.raises(ReadError, match="no question"):
        load(folder, questions=write(tmp_path / "empty.jsonl", []))
    for damaged in (gzip.compress(b"x" * 1000)[:30], gzip.compress(b"{}")[:-6] + b"\0\0\0\0\0\0", b"\x1f\x8bnothing"):
        (folder / "damaged.jsonl.gz").write_bytes(damaged)
        with pytest.raises(ReadError, match=r"damaged\.jsonl\.gz"):
            load(folder, questions=folder / "damaged.jsonl.gz")
    (folder / "questions.dev.jsonl.gz").unlink()
    with pytest.raises(InputError, match=r"no questions\.dev\.jsonl\.gz"):
        load(folder)


def test_questions_of_another_corpus_are_refused(folder: Path) -> None:
    strange = write(folder / "strange.jsonl", [{**QUESTIONS[0], "supporting_passage_ids": ["x", "y"]}])
    with pytest.raises(ReadError, match="none of its supporting passages"):
        load(folder, questions=strange)


def test_gold_that_the_corpus_lacks_is_known(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "p1", "text": "x"}\n')
    line = '{{"id": "q{0}", "question": "Who?", "supporting_passage_ids": ["p{0}"]}}\n'
    (tmp_path / "questions.jsonl").write_text(line.format(1) + line.format(9))
    assert load(tmp_path).unknown == {"p9"}
    assert load(tmp_path, limit=1).unknown == frozenset()


def test_a_file_of_records_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}\r\n')
    assert list(json_lines(tmp_path / "rows", dict[str, int], mend="")) == [(1, {"a": 1}), (3, {"a": 2})]


def test_subsets_are_chosen_by_name(folder: Path) -> None:
    rows = [{**QUESTIONS[0], "id": f"q{at}", "subset": name} for at, name in enumerate(("dev", "train", "dev", None))]
    path = write(folder / "parts.jsonl", rows)
    assert [item.id for item in load(folder, questions=path, subsets=["dev"]).questions] == ["q0", "q2"]
    assert [item.id for item in load(folder, questions=path, subsets=["dev", "train"], limit=2).questions] == [
        "q0",
        "q1",
    ]
    assert [item.subset for item in load(folder, questions=path).questions] == ["dev", "train", "dev", ""]
    with pytest.raises(InputError, match="subset 'test'; choose from: dev, train"):
        load(folder, questions=path, subsets=["dev", "test"])
    with pytest.raises(InputError, match="the set has no subsets"):
        load(folder, subsets=["dev"])


def test_fingerprints_tell_texts_and_gold_apart(folder: Path) -> None:
    same = write(folder / "again.jsonl", PASSAGES)
    path = load(folder).passages_path
    assert corpus_fingerprint(path) == corpus_fingerprint(same)
    for other in ({**PASSAGES[0], "title": "Two"}, {**PASSAGES[0], "text": "Other."}, {**PASSAGES[0], "id": "p9"}):
        assert corpus_fingerprint(write(folder / "other.jsonl", [other, *PASSAGES[1:]])) != corpus_fingerprint(path)
    asked = Question("q", "Who?", frozenset({"p1", "p2"}), "bridge", 2)
    others = [
        Question("q2", "Who?", asked.gold),
        Question("q", "When?", asked.gold),
        Question("q", "Who?", frozenset({"p1"})),
    ]
    assert questions_fingerprint([asked]) == questions_fingerprint([Question("q", "Who?", asked.gold)])
    assert len({questions_fingerprint([each]) for each in (asked, *others)}) == 4
