"""The record of a made question, and files of such records: JSON lines that ``hlgraph eval --questions`` also reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from hlgraph.errors import HLGraphError, InputError, ReadError
from hlgraph.evaluate.datasets import json_lines
from hlgraph.evaluate.figures import Table, Tabled

QuestionKind = Literal["bridge", "comparison", "intersection", "null", "synthesis", "abstract"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
TEMPLATE_KINDS: tuple[QuestionKind, ...] = ("bridge", "comparison", "intersection", "null")
NO_ANSWER = "no answer"
"""Gold answer of a null question, which the corpus does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestion:
    """A question made from a corpus, with its gold by id.

    Attributes
    ----------
    id : hash of the corpus, the kind and the text
    question : the text
    answers : accepted answers, the best first; for a null question only ``no answer``
    type : kind of the question: ``bridge``, ``comparison``, ``intersection`` or ``null`` from facts; ``synthesis`` or ``abstract``
        from a chat model
    hops : number of sources that must be joined; 0 for a null question
    entities : names in the question, without the answer
    source_ids, chunk_ids, statement_ids, fact_ids : the gold, in the order of the hops; empty for a null question
    supporting_passage_ids : what ``hlgraph eval`` compares with: ids of passages if it ingested the corpus, otherwise of chunks
    evidence : texts of the gold statements; for a null question, of the facts that it combines
    corpus, fingerprint : the corpus and its state, see :class:`hlgraph.sdk.facts.StoredFacts`
    made_by : version of the templates and the seed, or versions of the prompts and models
    """

    id: str
    question: str
    answers: tuple[str, ...]
    type: QuestionKind
    hops: int
    entities: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()
    statement_ids: tuple[str, ...] = ()
    fact_ids: tuple[str, ...] = ()
    supporting_passage_ids: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    corpus: str
    fingerprint: str
    made_by: str

    @property
    def is_null(self) -> bool:
        """Whether the corpus has no answer."""
        return self.type == "null"

    @property
    def has_gold(self) -> bool:
        """Whether it has gold passages; null and abstract questions have none."""
        return self.type not in {"null", "abstract"}


@dataclass(frozen=True, slots=True)
class QuestionSet(Tabled):
    """Questions made from a corpus, and why others were dropped. A notebook shows them.

    Attributes
    ----------
    questions : the questions, by kind
    wanted : number of questions wanted of each kind
    dropped : why facts, candidates and drafts were not used, with their number
    unreadable : number of replies of a chat model that could not be read, by prompt
    stopped : the error that ended the run before it was complete, such as a BudgetError; None if it is complete
    """

    questions: tuple[MadeQuestion, ...]
    wanted: Mapping[QuestionKind, int]
    dropped: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    stopped: HLGraphError | None = None

    @property
    def lacking(self) -> dict[QuestionKind, int]:
        """Number of questions that could not be made, by kind."""
        counts = Counter(item.type for item in self.questions)
        return {kind: count - counts[kind] for kind, count in self.wanted.items() if counts[kind] < count}

    def write(self, path: str | Path) -> None:
        """Write the questions to a file, see :func:`write_questions`. Raises InputError."""
        write_questions(self.questions, path)

    def tables(self) -> list[Table]:
        """The questions with their answers."""
        rows = tuple((item.question, item.type, "; ".join(item.answers)) for item in self.questions)
        title = f"{len(rows)} questions of {sum(self.wanted.values())}"
        return [Table(title, ("question", "kind", "answers"), rows)]


def line_of(question: MadeQuestion) -> str:
    """The line of a question in a file of questions."""
    return f"{json.dumps(asdict(question), ensure_ascii=False)}\n"


def write_questions(questions: Iterable[MadeQuestion], path: str | Path) -> None:
    """Write questions to a file, atomically: a reader sees the old file or the new one.

    Parameters
    ----------
    questions : the questions
    path : the file

    Raises
    ------
    InputError
        The file cannot be written.
    """
    target = Path(path)
    part = target.with_name(f"{target.name}.part")
    try:
        part.write_text("".join(map(line_of, questions)), encoding="utf-8")
        part.replace(target)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; give a file in a writable folder") from error


def read_questions(path: str | Path) -> list[MadeQuestion]:
    """The questions of a file.

    Parameters
    ----------
    path : a file that :func:`write_questions` wrote

    Raises
    ------
    ReadError
        The file cannot be read, holds no question, or a line is no question (the message has its number).
    """
    unreadable = "give a file that hlgraph questions make wrote"
    mend = "each line must be a question that hlgraph questions make wrote; remove the line, or make the file again"
    questions = [item for _, item in json_lines(path, MadeQuestion, mend=mend, unreadable=unreadable)]
    if not questions:
        raise ReadError(str(path), "it holds no question", "make questions with: hlgraph questions make")
    return questions


def corpus_of(questions: Sequence[MadeQuestion], path: str | Path) -> str:
    """The corpus that questions were made from. Raises InputError if there are several.

    Parameters
    ----------
    questions : at least one
    path : their file, for the error
    """
    names = sorted({item.corpus for item in questions})
    if len(names) > 1:
        raise InputError(f"{path}: its questions are of several corpora ({', '.join(names)}); keep a file for each")
    return names[0]


def check_target(path: str | Path) -> None:
    """Check that questions can be written to a file: its folder exists, and the file, if any, holds questions.

    Parameters
    ----------
    path : the file

    Raises
    ------
    InputError
        The folder does not exist, or the file holds something else.
    """
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise InputError(f"{path}: the folder {target.parent} does not exist; create it, or give another path")
    if target.is_file() and target.stat().st_size:
        try:
            read_questions(target)
        except ReadError as error:
            raise InputError(f"{path} holds something else than questions; give another file") from error
