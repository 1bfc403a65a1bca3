"""Check questions against their corpus (gold, answers, duplicates, leaks), and export them as a set for ``hlgraph eval``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import HLGraphError, InputError
from hlgraph.evaluate.figures import Table, Tabled
from hlgraph.evaluate.questions.making import leaks, passage_of
from hlgraph.evaluate.questions.record import MadeQuestion
from hlgraph.records import Chunk, Kind, Source, Statement
from hlgraph.text import content_words, words

if TYPE_CHECKING:
    from hlgraph.sdk.client import HLGraph


ALIKE = 0.8
"""Two questions are near duplicates if the Jaccard index of their content words is at least this."""
_HELD_SHARE = 0.5
_SINGLE_GOLD = frozenset({"null", "abstract"})


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a question.

    Attributes
    ----------
    question_id : the question
    what : ``gold``, ``answer``, ``duplicate`` or ``leak``
    reason : in words
    """

    question_id: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class AloneReport:
    """What a chat model answered from single sources.

    Attributes
    ----------
    findings : questions that one source alone answers
    asked : number of questions that were checked, without those whose reply could not be parsed
    unreadable : number of replies that could not be read
    stopped : the error that ended the run, such as a BudgetError; None if it is complete
    """

    findings: tuple[Finding, ...]
    asked: int
    unreadable: int
    stopped: HLGraphError | None = None


@dataclass(frozen=True, slots=True)
class CheckReport(Tabled):
    """The findings about questions. A notebook shows them.

    Attributes
    ----------
    counts : number of questions by kind
    findings : in the order of the questions
    is_changed : whether the corpus has changed since a question was made
    alone : what a chat model answered from single sources; None if this was not requested
    """

    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    is_changed: bool
    alone: AloneReport | None = None

    def tables(self) -> list[Table]:
        """The findings."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        rows = tuple((item.question_id, item.what, item.reason) for item in self.findings)
        title = f"{sum(self.counts.values())} questions: {kinds}; {len(rows)} findings"
        return [Table(title, ("question", "what", "reason"), rows)]


def check(graph: HLGraph, questions: Sequence[MadeQuestion]) -> CheckReport:
    """Check questions against the corpus that they were made from, by words.

    Parameters
    ----------
    graph : the corpus
    questions : the questions, at least one

    Returns
    -------
    CheckReport

    Raises
    ------
    InputError
        The questions are of another corpus.
    UnknownNameError
        There is no such corpus.
    """
    facts = graph.facts
    check_corpus(questions, graph.corpus)
    stored = {
        kind: facts.records(kind, [name for item in questions for name in ids_of(item, kind)])
        for kind in (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.FACT)
    }
    wanted = {name for item in questions for name in item.source_ids}
    if wanted and not stored[Kind.SOURCE]:
        raise InputError(
            f"corpus {graph.corpus!r} holds no source of these questions: they were made from another corpus of that name; "
            "name its store, or make questions of this one"
        )
    findings = [
        *_missing(questions, stored),
        *_unanswered(questions, stored),
        *duplicates(questions),
        *_leaking(graph, questions),
    ]
    place = {item.id: number for number, item in enumerate(questions)}
    fingerprint = facts.read().fingerprint
    return CheckReport(
        dict(sorted(Counter(item.type for item in questions).items())),
        tuple(sorted(findings, key=lambda item: (place[item.question_id], item.what))),
        any(item.fingerprint != fingerprint for item in questions),
    )


def check_corpus(questions: Sequence[MadeQuestion], corpus: str) -> None:
    """Check that questions were made from a corpus. Raises InputError if one was not.

    Parameters
    ----------
    questions : the questions
    corpus : its name
    """
    other = next((item for item in questions if item.corpus != corpus), None)
    if other is not None:
        raise InputError(
            f"question {other.id} was made from corpus {other.corpus!r}, not from {corpus!r}; open that corpus "
            f"(--corpus {other.corpus})"
        )


def duplicates(questions: Sequence[MadeQuestion]) -> Iterator[Finding]:
    """Questions that repeat an earlier one, in the same or nearly the same words.

    Parameters
    ----------
    questions : the questions

    Yields
    ------
    Finding
    """
    seen: list[tuple[str, str, frozenset[str]]] = []
    for item in questions:
        text, key = " ".join(words(item.question)), frozenset(content_words(item.question))
        for name, other, kept in seen:
            if text == other:
                yield Finding(item.id, "duplicate", f"it has the words of {name}")
                break
            if key and len(key & kept) >= ALIKE * len(key | kept):
                yield Finding(item.id, "duplicate", f"it has nearly the words of {name}")
                break
        seen.append((item.id, text, key))


def ids_of(question: MadeQuestion, kind: Kind) -> tuple[str, ...]:
    """The gold ids of a question of one kind of record.

    Parameters
    ----------
    question : the question
    kind : source, chunk, statement or fact
    """
    return {
        Kind.SOURCE: question.source_ids,
        Kind.CHUNK: question.chunk_ids,
        Kind.STATEMENT: question.statement_ids,
        Kind.FACT: question.fact_ids,
    }[kind]


def _missing(questions: Sequence[MadeQuestion], stored: Mapping[Kind, Mapping[str, object]]) -> Iterator[Finding]:
    for item in questions:
        for kind, records in stored.items():
            for name in ids_of(item, kind):
                if name not in records:
                    yield Finding(item.id, "gold", f"{kind.value} {name} is no longer in the corpus")
        if item.has_gold and not item.chunk_ids:
            yield Finding(item.id, "gold", "it has no gold chunk")


def _unanswered(questions: Sequence[MadeQuestion], stored: Mapping[Kind, Mapping[str, object]]) -> Iterator[Finding]:
    for item in questions:
        texts = [
            record.text
            for kind in (Kind.STATEMENT, Kind.CHUNK)
            for name in ids_of(item, kind)
            if isinstance(record := stored[kind].get(name), Statement | Chunk)
        ]
        if item.is_null or not item.answers or not texts:
            continue
        text, is_there = " \n ".join(texts), _says if item.type == "synthesis" else holds
        if not any(is_there(answer, text) for answer in item.answers):
            yield Finding(item.id, "answer", f"the gold text does not hold the answer {item.answers[0]!r}")


def holds(answer: str, text: str) -> bool:
    """Whether a text contains the words of an answer consecutively.

    Parameters
    ----------
    answer : the answer; one without words is in no text
    text : the text
    """
    said = " ".join(words(answer))
    return bool(said) and f" {said} " in f" {' '.join(words(text))} "


def _says(answer: str, text: str) -> bool:
    """Whether a text has half of the content words of an answer that a model wrote."""
    wanted, present = content_words(answer), {*words(text)}
    return sum(word in present for word in wanted) >= _HELD_SHARE * len(wanted)


def _leaking(graph: HLGraph, questions: Sequence[MadeQuestion]) -> Iterator[Finding]:
    asked = [item for item in questions if item.type not in _SINGLE_GOLD or item.is_null]
    leaking = leaks(graph, [(item.question, () if item.is_null else item.answers) for item in asked])
    for place, source in sorted(leaking.items()):
        all_in = "the words of question and answer are all in it"
        what = "it may hold an answer after all" if asked[place].is_null else all_in
        yield Finding(asked[place].id, "leak", f"source {source} alone: {what}")


# Export: questions and their corpus as an evaluation set that ``hlgraph eval`` reads.

_OWN = frozenset({"id", "title", "text"})
_FIELDS = (
    *("id", "question", "answers", "supporting_passage_ids", "type", "hops"),
    *("source_ids", "chunk_ids", "statement_ids", "made_by"),
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes
    ----------
    folder : the evaluation set
    passages : number of passages, the chunks of the corpus
    questions : number of questions in ``questions.jsonl``
    nulls : number of null questions in ``null_questions.jsonl``: they have no supporting passage, so recall is undefined
    abstracts : number of abstract questions in ``abstract_questions.jsonl``, which have neither passages nor answers: judges
        compare the answers of strategies
    """

    folder: Path
    passages: int
    questions: int
    nulls: int
    abstracts: int


def export(graph: HLGraph, questions: Sequence[MadeQuestion], *, folder: str | Path) -> Exported:
    """Write an evaluation set: ``corpus.jsonl`` with the chunks as passages, and ``questions.jsonl``.

    Parameters
    ----------
    graph : the corpus of the questions
    questions : the questions
    folder : created if it does not exist; files of the same names are replaced

    Returns
    -------
    Exported

    Raises
    ------
    InputError
        The questions are of another corpus, none has a gold passage, or the folder cannot be written.
    """
    check_corpus(questions, graph.corpus)
    files = {
        "questions": [item for item in questions if item.has_gold],
        "null_questions": [item for item in questions if item.is_null],
        "abstract_questions": [item for item in questions if item.type == "abstract"],
    }
    if not files["questions"]:
        raise InputError(
            "all questions are null or abstract questions, which have no supporting passage to find; make others beside them"
        )
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / "corpus.jsonl").open("w", encoding="utf-8") as file:
            passages = 0
            for row in _passages(graph):
                file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
                passages += 1
        for name, items in files.items():
            rows = ({field: getattr(item, field) for field in _FIELDS} for item in items)
            lines = (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
            (root / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}; give a writable folder") from error
    asked, nulls, abstracts = map(len, files.values())
    return Exported(root, passages, asked, nulls, abstracts)


def _passages(graph: HLGraph) -> Iterator[dict[str, object]]:
    ids = graph.facts.sources()
    sources = {name: item for name, item in graph.facts.records(Kind.SOURCE, ids).items() if isinstance(item, Source)}
    for chunks in graph.facts.chunks(ids):
        for chunk in chunks:
            source = sources.get(chunk.source_id)
            if source is None:  # removed in between
                continue
            rest = {key: value for key, value in source.metadata.items() if key not in _OWN}
            yield {"id": passage_of(source, chunk.id), "title": source.title, "text": chunk.text, **rest}
