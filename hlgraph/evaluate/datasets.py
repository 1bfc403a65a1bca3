"""Reads an evaluation set: a corpus of passages, questions with the passages that answer them, extractions.

A set is a folder of files of JSON lines, ``.jsonl.gz`` or ``.jsonl``: ``corpus`` (id, title, text), ``questions.dev`` or
``questions`` (id, question, supporting_passage_ids; type, hops, subset, answers where known), and, where there, ``extractions``
and ``derived_propositions`` (passage_id and what was extracted from it). Other fields are ignored; what a question's
author noted as evidence is never read, so that no retriever can see it.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from hlgraph.errors import InputError, ReadError
from hlgraph.ids import checksum

_GZIP = b"\x1f\x8b"
_SUFFIXES = (".jsonl.gz", ".jsonl")
_EXTRACTIONS = ("extractions", "derived_propositions")


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what is known about it.

    Attributes
    ----------
    gold
        The ids of the passages that support its answer; at least one.
    type
        What kind of question it is in the words of its set, or nothing.
    hops
        How many passages have to be joined, 0 where the set does not say.
    answers
        Accepted answers.
    subset
        The part of its set that it comes from, where the set was put together from several, or nothing.
    """

    id: str
    text: str
    gold: frozenset[str]
    type: str = ""
    hops: int = 0
    answers: tuple[str, ...] = ()
    subset: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """An evaluation set; the passages stay in their file, which `read_passages` reads."""

    name: str
    passages_path: Path
    questions: tuple[Question, ...]
    extractions: tuple[Path, ...] = ()


class _PassageRow(msgspec.Struct):
    id: str
    text: str
    title: str | None = None


class _QuestionRow(msgspec.Struct):
    id: str
    question: str
    supporting_passage_ids: list[str]
    type: str | None = None
    hops: int | None = None
    answers: list[str] = []
    subset: str | None = None


class _IdRow(msgspec.Struct):
    id: str


_Row = TypeVar("_Row", _PassageRow, _QuestionRow, _IdRow)


def load(
    folder: str | Path,
    *,
    questions: str | Path | None = None,
    limit: int | None = None,
    subsets: Collection[str] = (),
) -> Dataset:
    """The evaluation set of a folder, named after it.

    Parameters
    ----------
    folder
        Where the set lies.
    questions
        Another file of questions than the folder's own.
    limit
        Only the first so many questions, in the order of the file.
    subsets
        Only questions of these subsets (before the limit); none named: all questions.

    Raises
    ------
    InputError
        The folder or one of its files is missing, the limit is below 1, or no question is of a subset that is named.
    ReadError
        A line cannot be used (with its number), or the questions belong to another corpus.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}; ask for at least one question")
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; give the folder of an evaluation set")
    passages = _find(root, "corpus")
    if passages is None:
        raise InputError(f"{root}: no corpus.jsonl.gz or corpus.jsonl in it; give the folder of an evaluation set")
    path = Path(questions) if questions is not None else _find(root, "questions.dev") or _find(root, "questions")
    if path is None:
        raise InputError(f"{root}: no questions.dev.jsonl.gz (or .jsonl) in it; name the file of questions")
    found = tuple(islice(_chosen(_questions(path), path, subsets=subsets), limit))
    if not found:
        raise ReadError(str(path), "it holds no question")
    _check_same_corpus(path, found, passages)
    extractions = tuple(file for stem in _EXTRACTIONS if (file := _find(root, stem)) is not None)
    return Dataset(root.resolve().name, passages, found, extractions)


def read_passages(path: str | Path) -> Iterator[Passage]:
    """The passages of a corpus file, in its order.

    Raises
    ------
    ReadError
        A line cannot be used, with its number; or an id comes twice.
    """
    for _, row in _rows(Path(path), _PassageRow):
        yield Passage(row.id, row.title or "", row.text)


def corpus_fingerprint(path: str | Path) -> str:
    """What tells one corpus from another: a hash of the ids, titles and texts of its passages, in their order.

    Raises
    ------
    ReadError
        A line cannot be used, with its number.
    """
    digest = hashlib.sha256()
    for passage in read_passages(path):
        digest.update(checksum(passage.id, passage.title, passage.text).encode())
    return digest.hexdigest()[:32]


def questions_fingerprint(questions: Iterable[Question]) -> str:
    """What tells one group of questions from another: a hash of ids, texts and gold, whatever their order.

    Examples
    --------
    >>> a, b = Question("a", "Who?", frozenset({"p"})), Question("b", "When?", frozenset({"p"}))
    >>> questions_fingerprint([a, b]) == questions_fingerprint([b, a]) != questions_fingerprint([a])
    True
    """
    return checksum(*sorted(checksum(item.id, item.text, *sorted(item.gold)) for item in questions))


def _chosen(questions: Iterator[Question], path: Path, *, subsets: Collection[str]) -> Iterator[Question]:
    if not subsets:
        yield from questions
        return
    every = list(questions)
    there = sorted({question.subset for question in every if question.subset})
    unknown = sorted(set(subsets) - set(there))
    if unknown:
        known = f"there are: {', '.join(there)}" if there else "its questions name no subset; leave it out"
        raise InputError(f"{path}: no question is of subset {unknown[0]!r}; {known}")
    yield from (question for question in every if question.subset in subsets)


def _questions(path: Path) -> Iterator[Question]:
    for line, row in _rows(path, _QuestionRow):
        if not row.supporting_passage_ids:
            raise ReadError(f"{path}, line {line}", f"{row.id} has no supporting passage", "recall needs at least one")
        gold = frozenset(row.supporting_passage_ids)
        answers = tuple(row.answers)
        yield Question(row.id, row.question, gold, row.type or "", row.hops or 0, answers, row.subset or "")


def _check_same_corpus(path: Path, questions: tuple[Question, ...], passages: Path) -> None:
    """Some gold passage must exist: a set may lack a few, but questions of another corpus would just score 0."""
    wanted = frozenset().union(*(question.gold for question in questions))
    if not any(row.id in wanted for _, row in _rows(passages, _IdRow)):
        raise ReadError(str(path), f"none of its supporting passages is in {passages}", "take that corpus's questions")


def _find(root: Path, stem: str) -> Path | None:
    return next((path for suffix in _SUFFIXES if (path := root / f"{stem}{suffix}").is_file()), None)


def _rows(path: Path, kind: type[_Row]) -> Iterator[tuple[int, _Row]]:
    """The rows of a file with the numbers of their lines; empty lines are skipped, ids come once."""
    decoder = msgspec.json.Decoder(kind)
    first_line: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            mend = "each line is one JSON object in UTF-8, with the fields of hlgraph.evaluate.datasets"
            raise ReadError(f"{path}, line {number}", str(error), mend) from error
        if first_line.setdefault(row.id, number) != number:
            raise ReadError(
                f"{path}, line {number}", f"id {row.id!r} was on line {first_line[row.id]} already", "ids must differ"
            )
        yield number, row


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as raw:
            is_gzip = raw.read(len(_GZIP)) == _GZIP
            raw.seek(0)
            with gzip.open(raw) if is_gzip else raw as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield number, line.removeprefix(codecs.BOM_UTF8)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(str(path), str(error), "give a readable .jsonl or .jsonl.gz file") from error
