"""Reads an evaluation set: passages, questions with their supporting passages, and optional extractions.

A set is a folder of JSON lines files, ``.jsonl.gz`` or ``.jsonl``:

- ``corpus``: id, title and text of each passage. Every other field is metadata of the passage, such as its author or date.
- ``questions.dev`` or ``questions``: id, question, supporting_passage_ids, and optionally type, hops, subset, answers, assertions
  and options. Either every question names supporting passages, or none does, if no single passage answers them.
- ``extractions`` and ``derived_propositions``, both optional: passage_id, and what was extracted from the passage.

Other fields of questions and extractions are ignored. Evidence that the author of a question noted is never read, so that no
retriever can see it.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import TypeVar

import msgspec

from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.metrics import normalised, read_qrels
from hlgraph.ids import checksum
from hlgraph.read.rows import metadata_of
from hlgraph.records import Metadata

_GZIP = b"\x1f\x8b"
_SUFFIXES = (".jsonl.gz", ".jsonl")
_OWN = frozenset({"id", "title", "text"})
_OBJECT = msgspec.json.Decoder(dict[str, object])
_EXTRACTIONS = ("extractions", "derived_propositions")


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of the corpus; ``metadata`` has all other fields of its row that are valid metadata."""

    id: str
    title: str
    text: str
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its supporting passages.

    Attributes
    ----------
    id, text : id and text of the question
    gold : ids of the passages that support its answer; empty for all questions of a set if no single passage answers them
    type : kind of question, as the set names it; empty if unknown
    hops : number of passages that must be joined, 0 if unknown
    answers : accepted answers, none of them empty
    subset : the part of the set that it comes from, empty if the set has no parts
    assertions : what an answer must say, for judges; empty if the set has none
    options : the answers to choose from, A first; empty if the question is open
    """

    id: str
    text: str
    gold: frozenset[str]
    type: str = ""
    hops: int = 0
    answers: tuple[str, ...] = ()
    subset: str = ""
    assertions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def asked(self) -> str:
        """The question as it is asked: its text, and below it the options with their letters."""
        return "\n".join([self.text, *(f"{letter}) {option}" for letter, option in self.lettered.items())])

    @property
    def lettered(self) -> dict[str, str]:
        """The options by letter."""
        return dict(zip(ascii_uppercase, self.options, strict=False))


@dataclass(frozen=True, slots=True)
class Dataset:
    """An evaluation set.

    Attributes
    ----------
    name : name of its folder
    passages_path : the file of passages, for :func:`read_passages`; passages are not kept in memory
    questions : the chosen questions
    extractions : files of extractions, possibly none
    unknown : gold ids of the questions that the corpus does not have
    """

    name: str
    passages_path: Path
    questions: tuple[Question, ...]
    extractions: tuple[Path, ...] = ()
    unknown: frozenset[str] = frozenset()


class _PassageRow(msgspec.Struct):
    id: str
    text: str
    title: str | None = None


class _QuestionRow(msgspec.Struct):
    id: str
    question: str
    supporting_passage_ids: list[str] = []
    type: str | None = None
    hops: int | None = None
    answers: list[str] = []
    subset: str | None = None
    assertions: list[str] = []
    options: list[str] = []


class _IdRow(msgspec.Struct):
    id: str


_Row = TypeVar("_Row", _PassageRow, _QuestionRow, _IdRow)


def load(
    folder: str | Path,
    *,
    questions: str | Path | None = None,
    limit: int | None = None,
    subsets: Collection[str] = (),
    qrels: str | Path | None = None,
) -> Dataset:
    """The evaluation set in a folder.

    Parameters
    ----------
    folder : the folder of the set; its name becomes the name of the set
    questions : file of questions; default: the one in the folder
    limit : maximum number of questions, from the beginning of the file; default: all
    subsets : only questions of these subsets, applied before the limit; default: all
    qrels : TREC file of supporting passages, which replaces those that the questions name

    Raises
    ------
    InputError
        The folder or one of its files is missing, the limit is below 1, or a named subset has no questions.
    ReadError
        A line is invalid (the message has its number), or the questions belong to another corpus.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}; give at least 1")
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; give the folder of an evaluation set")
    passages = _find(root, "corpus")
    if passages is None:
        raise InputError(f"{root}: no corpus.jsonl.gz or corpus.jsonl in it; give the folder of an evaluation set")
    path = Path(questions) if questions is not None else _find(root, "questions.dev") or _find(root, "questions")
    if path is None:
        raise InputError(f"{root}: no questions.dev.jsonl.gz (or .jsonl) in it; give the file of questions")
    golds = None if qrels is None else read_qrels(qrels)
    selected = tuple(islice(_chosen(_questions(path, golds, qrels), path, subsets=subsets), limit))
    if not selected:
        raise ReadError(str(path), "it has no questions")
    unknown = _unknown_gold(path, selected, passages)
    extractions = tuple(file for stem in _EXTRACTIONS if (file := _find(root, stem)) is not None)
    return Dataset(root.resolve().name, passages, selected, extractions, unknown)


def read_passages(path: str | Path) -> Iterator[Passage]:
    """The passages of a corpus file, in its order.

    Raises
    ------
    ReadError
        A line is invalid (the message has its number), or an id occurs twice.
    """
    for number, row, line in _rows(Path(path), _PassageRow):
        with _line_errors(f"{path}, line {number}"):
            rest: dict[str, object] = {key: value for key, value in _OBJECT.decode(line).items() if key not in _OWN}
            metadata = metadata_of(rest)
        yield Passage(row.id, row.title or "", row.text, metadata)


def corpus_fingerprint(path: str | Path) -> str:
    """A hash of the ids, titles and texts of the passages of a corpus, in their order.

    Raises
    ------
    ReadError
        A line is invalid (the message has its number).
    """
    digest = hashlib.sha256()
    for passage in read_passages(path):
        digest.update(checksum(passage.id, passage.title, passage.text).encode())
    return digest.hexdigest()[:32]


def questions_fingerprint(questions: Iterable[Question]) -> str:
    """A hash of the ids, texts, gold and options of questions, independent of their order.

    Examples
    --------
    >>> a, b = Question("a", "Who?", frozenset({"p"})), Question("b", "When?", frozenset({"p"}))
    >>> questions_fingerprint([a, b]) == questions_fingerprint([b, a]) != questions_fingerprint([a])
    True
    """
    return checksum(*sorted(checksum(each.id, each.asked, *sorted(each.gold)) for each in questions))


def _chosen(questions: Iterator[Question], path: Path, *, subsets: Collection[str]) -> Iterator[Question]:
    if not subsets:
        yield from questions
        return
    all_questions = list(questions)
    known = sorted({question.subset for question in all_questions if question.subset})
    unknown = sorted(set(subsets) - set(known))
    if unknown:
        mend = f"choose from: {', '.join(known)}" if known else "the set has no subsets; leave the option out"
        raise InputError(f"{path}: no question is in subset {unknown[0]!r}; {mend}")
    yield from (question for question in all_questions if question.subset in subsets)


def _questions(path: Path, golds: Mapping[str, frozenset[str]] | None, qrels: str | Path | None) -> Iterator[Question]:
    first: Question | None = None
    for line, row, _ in _rows(path, _QuestionRow):
        gold = frozenset(row.supporting_passage_ids) if golds is None else golds.get(row.id, frozenset())
        if not gold and golds is not None:
            raise ReadError(
                str(qrels),
                f"it lists no relevant passage for question {row.id}",
                "give a qrels file of these questions",
            )
        if first is not None and bool(gold) != bool(first.gold):
            complete, missing = (row.id, first.id) if gold else (first.id, row.id)
            reason = f"question {missing} has no supporting passage, but {complete} has"
            raise ReadError(
                f"{path}, line {line}", reason, "give every question at least one, or give none to any question"
            )
        if not row.question.strip():
            raise ReadError(f"{path}, line {line}", f"question {row.id} has no text", "give each question its text")
        answers = tuple(dict.fromkeys(answer for answer in row.answers if answer.strip()))
        question = Question(
            row.id,
            row.question,
            gold,
            row.type or "",
            row.hops or 0,
            answers,
            row.subset or "",
            tuple(row.assertions),
            tuple(row.options),
        )
        first = first or question
        yield _with_choice(question, f"{path}, line {line}") if row.options else question


def _with_choice(question: Question, place: str) -> Question:
    """The question with each gold answer replaced by the option that it names, by its letter or by its text."""
    lettered = question.lettered
    texts = {normalised(option): option for option in question.options}
    if not 2 <= len(question.options) <= len(ascii_uppercase) or len(texts) < len(question.options):
        reason = f"{question.id} has {len(question.options)} options, {len(texts)} of them distinct"
        raise ReadError(place, reason, f"give 2 to {len(ascii_uppercase)} distinct options")
    golds = [lettered.get(gold.strip().upper()) or texts.get(normalised(gold), "") for gold in question.answers]
    if not all(golds):
        raise ReadError(
            place,
            f"{question.answers[golds.index('')]!r}, an answer of {question.id}, is not one of its options",
            "give the letters or the texts of options as answers",
        )
    return replace(question, answers=tuple(dict.fromkeys(golds)))


def _unknown_gold(path: Path, questions: tuple[Question, ...], passages: Path) -> frozenset[str]:
    """The gold passages that do not exist. A few may be missing, but against the wrong corpus every question scores 0."""
    wanted = {name for question in questions for name in question.gold}
    unknown = wanted.difference(row.id for _, row, _ in _rows(passages, _IdRow)) if wanted else wanted
    if wanted and unknown == wanted:
        raise ReadError(str(path), f"none of its supporting passages is in {passages}", "use questions of that corpus")
    return frozenset(unknown)


def _find(root: Path, stem: str) -> Path | None:
    return next((path for suffix in _SUFFIXES if (path := root / f"{stem}{suffix}").is_file()), None)


def _rows(path: Path, kind: type[_Row]) -> Iterator[tuple[int, _Row, bytes]]:
    """The rows of a file with their line numbers and lines; empty lines are skipped, and a repeated id is an error."""
    decoder = msgspec.json.Decoder(kind)
    first_line: dict[str, int] = {}
    for number, line in _lines(path):
        with _line_errors(f"{path}, line {number}"):
            row = decoder.decode(line)
        if first_line.setdefault(row.id, number) != number:
            raise ReadError(
                f"{path}, line {number}", f"id {row.id!r} is already on line {first_line[row.id]}", "make ids unique"
            )
        yield number, row, line


@contextmanager
def _line_errors(place: str) -> Iterator[None]:
    """Raise the errors of decoding a line as ReadError. Some fields are decoded only when they are accessed."""
    try:
        yield
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        mend = "each line must be one JSON object in UTF-8, with the fields that hlgraph.evaluate.datasets describes"
        raise ReadError(place, str(error), mend) from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with path.open("rb") as raw:
            is_gzip = raw.read(len(_GZIP)) == _GZIP
            raw.seek(0)
            with gzip.open(raw) if is_gzip else raw as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield number, line.removeprefix(codecs.BOM_UTF8)
    except (OSError, EOFError, zlib.error) as error:
        place = f"{path}, after line {number}" if number else str(path)
        raise ReadError(place, str(error), "give a readable .jsonl or .jsonl.gz file") from error


_Record = TypeVar("_Record")


def json_lines(
    path: str | Path,
    kind: type[_Record],
    *,
    mend: str,
    unreadable: str = "give a readable file of JSON lines",
    what: str = "",
) -> Iterator[tuple[int, _Record]]:
    """The records of a file with their line numbers; empty lines are skipped.

    Parameters
    ----------
    path : the file
    kind : type of the records
    mend : remedy to name in the error for an invalid line
    unreadable : remedy to name in the error for a file that cannot be read
    what : text to put before the reason why a line is invalid

    Raises
    ------
    ReadError
        The file cannot be read, or a line is invalid (the message has its number).
    """
    decoder = msgspec.json.Decoder(kind)
    try:
        lines = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8).splitlines()
    except OSError as error:
        raise ReadError(str(path), error.strerror or str(error), unreadable) from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ReadError(f"{path}, line {number}", f"{what}{error}", mend) from error
