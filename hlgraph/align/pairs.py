"""Pairs of answers, one preferred and one not, and prompts to compare models on, as JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec

from hlgraph.algorithms.merging import Groups
from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.metrics import normalised
from hlgraph.ids import checksum
from hlgraph.records import group_by
from hlgraph.stores.files import make_folder, write_bytes

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Question


Negative = Literal["bare", "citation", "other"]
NEGATIVES: tuple[Negative, ...] = ("bare", "citation", "other")
"""Kinds of rejected answers: the gold answer without a reason (the paper's), the same reason with wrong citations, and the
answer of another question. The last two are as long as the preferred answer."""
TRAIN_FILE, TEST_FILE, PROMPTS_FILE = "train.jsonl", "test.jsonl", "prompts.jsonl"
_Item = TypeVar("_Item")
_PARTS = re.compile(r"\s*###\s*Reason\s*:\s*(?P<reason>.+?)\s*###\s*Answer\s*:\s*(?P<answer>.+?)\s*", re.DOTALL)


class Parts(NamedTuple):
    """The two parts of an answer."""

    reason: str
    answer: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of context.

    Attributes
    ----------
    id, kind : of the chunk, statement or summary
    sources : uris of the sources that it rests on, ascending
    """

    id: str
    kind: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One line of a file of pairs.

    Attributes
    ----------
    id : the same for the same question, contexts, answers and kind
    prompt, chosen, rejected : the three texts that TRL reads
    negative : kind of the rejected answer
    question_id, question, answers : the question with its accepted answers; the first is the gold in ``chosen``
    type, hops : of the question, empty and 0 where unknown
    k : number of pieces of context, 0 for none
    pieces : the pieces, in the order of their numbers from 1
    gold_sources : uris of the sources that the answer rests on, ascending
    model : the chat model that wrote the reason
    made_with : versions of the prompts
    """

    id: str
    prompt: str
    chosen: str
    rejected: str
    negative: Negative
    question_id: str
    question: str
    answers: tuple[str, ...]
    k: int
    pieces: tuple[Piece, ...] = ()
    gold_sources: tuple[str, ...] = ()
    type: str = ""
    hops: int = 0
    model: str = ""
    made_with: tuple[str, ...] = ()

    @property
    def sources(self) -> frozenset[str]:
        """All sources that the pair shows or rests on."""
        return frozenset(self.gold_sources).union(*(piece.sources for piece in self.pieces))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A held-out question with one number of contexts; whether a reason was found does not matter.

    Pairs exist only for questions with a valid reason, and these differ from one number of contexts to the next. Answers are
    therefore compared on these prompts, which cover the same questions for every number.

    Attributes
    ----------
    prompt : the text that a model answers
    question_id, question, answers : the question with its accepted answers
    type, hops : of the question, empty and 0 where unknown
    k : number of pieces of context, 0 for none
    pieces : the pieces, in the order of their numbers from 1
    gold_sources : uris of the sources that the answer rests on, ascending
    """

    prompt: str
    question_id: str
    question: str
    answers: tuple[str, ...]
    k: int
    pieces: tuple[Piece, ...] = ()
    gold_sources: tuple[str, ...] = ()
    type: str = ""
    hops: int = 0


def preferred(reason: str, answer: str) -> str:
    r"""The preferred answer: the reason, then the answer (GraphMPA, appendix L).

    Parameters
    ----------
    reason : on one line, with its citations
    answer : the gold answer

    Examples
    --------
    >>> preferred("Quill designed it [1].", "Mara Quill")
    '###Reason: Quill designed it [1].\n###Answer: Mara Quill'
    """
    return f"###Reason: {reason}\n###Answer: {answer}"


def parts_of(text: str) -> Parts | None:
    """The reason and the answer of a text; None if it does not have exactly these two parts.

    Examples
    --------
    >>> parts_of("###Reason: It is old [1]. ###Answer: yes")
    Parts(reason='It is old [1].', answer='yes')
    >>> parts_of("yes") is parts_of("###Reason: a ###Answer: b ###Answer: c") is None
    True
    """
    match = _PARTS.fullmatch(text)
    return Parts(match["reason"], match["answer"]) if match is not None and text.count("###") == 2 else None


def write_lines(path: Path, items: Iterable[Pair | Prompt]) -> None:
    """Write pairs or prompts to a file of JSON lines, readable by its owner alone, atomically.

    Parameters
    ----------
    path : the file; a missing folder is created
    items : the pairs or prompts

    Raises
    ------
    InputError
        The file cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        make_folder(path.absolute().parent)
        with write_bytes(part) as file:
            for item in items:
                file.write(msgspec.json.encode(item) + b"\n")
        part.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: it cannot be written: {error.strerror}; give a folder that can be written"
        ) from error


def read_pairs(path: str | Path, *, held_out: bool = False) -> tuple[Pair, ...]:
    """The pairs of a file that :func:`write_lines` wrote, or of a folder with such files.

    Parameters
    ----------
    path : a file, or a folder
    held_out : of a folder, the held-out pairs instead of those for training; default False

    Raises
    ------
    ReadError
        The file cannot be read, or a line is not a pair (the message has its number).
    """
    file = Path(path) / (TEST_FILE if held_out else TRAIN_FILE) if Path(path).is_dir() else Path(path)
    return tuple(_lines(file, msgspec.json.Decoder(Pair), "pair"))


def held_out_beside(path: str | Path) -> tuple[Pair, ...]:
    """The held-out pairs in the same folder; empty if there is no such file."""
    file = _folder(path) / TEST_FILE
    return read_pairs(file) if file.is_file() and file != Path(path) else ()


def prompts_beside(path: str | Path) -> tuple[Prompt, ...]:
    """The prompts in the same folder as the pairs; empty if there is no such file."""
    file = _folder(path) / PROMPTS_FILE
    return tuple(_lines(file, msgspec.json.Decoder(Prompt), "prompt")) if file.is_file() else ()


def check_negatives(names: Sequence[str]) -> tuple[Negative, ...]:
    """The kinds of rejected answers by their names, in the order of ``NEGATIVES``.

    Raises
    ------
    InputError
        A name is unknown, or none is given.
    """
    unknown = [name for name in names if name not in NEGATIVES]
    if unknown or not names:
        raise InputError(
            f"{unknown[0]!r} is no kind of rejected answer; choose of {', '.join(NEGATIVES)}"
            if unknown
            else f"no kind of rejected answer is named; choose of {', '.join(NEGATIVES)}"
        )
    return tuple(name for name in NEGATIVES if name in names)


def _folder(path: str | Path) -> Path:
    return Path(path) if Path(path).is_dir() else Path(path).parent


def _lines(file: Path, decoder: msgspec.json.Decoder[_Item], what: str) -> Iterator[_Item]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        mend = "give a file or folder that hlgraph align make wrote"
        raise ReadError(str(file), f"it cannot be read: {error.strerror}", mend) from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                mend = f"each line must be a {what} as hlgraph align make writes it"
                raise ReadError(f"{file}, line {number}", str(error), mend) from error


# Train and test splits in which no source of a held-out answer is used for training.


_NAMED = 5


class Split(NamedTuple):
    """Questions for training, and held-out ones."""

    train: tuple[Question, ...]
    test: tuple[Question, ...]


def split_by_source(questions: Sequence[Question], *, held_out: float) -> Split:
    """A split in which questions that share a gold source, or their text, are on the same side.

    Groups of such questions go to the held-out side in the order of a hash, as long as they fit the share. The same questions
    therefore give the same split, and a few more questions hardly change it.

    Parameters
    ----------
    questions : all of them
    held_out : share of the questions that is held out, at least one question; 0: none

    Returns
    -------
    Split
        Both sides in the order of ``questions``.

    Raises
    ------
    InputError
        The share is not from 0 to 0.9, or no group is small enough.
    """
    if not 0 <= held_out <= 0.9:
        raise InputError(f"held_out is {held_out}; give a share from 0 to 0.9")
    if not held_out:
        return Split(tuple(questions), ())
    groups = _groups(questions)
    room = max(1, int(held_out * len(questions)))
    chosen: set[str] = set()
    for group in sorted(groups, key=lambda ids: checksum("align", min(ids))):
        if len(chosen) + len(group) <= room and len(chosen) + len(group) < len(questions):
            chosen.update(group)
    if not chosen:
        raise InputError(
            f"of {len(questions)} questions none can be held out: the smallest group that shares sources has "
            f"{min(map(len, groups))}, and at most {room} are wanted; raise held_out, or set it to 0"
        )
    train = tuple(item for item in questions if item.id not in chosen)
    return Split(train, tuple(item for item in questions if item.id in chosen))


def given_split(train: Sequence[Question], test: Sequence[Question]) -> Split:
    """Check that a given split does not leak, and return it.

    Parameters
    ----------
    train : questions for training
    test : held-out questions

    Raises
    ------
    InputError
        A gold source or a question is on both sides; the message names them.
    """
    shared = sorted(
        frozenset().union(*(item.gold for item in train)) & frozenset().union(*(item.gold for item in test))
    )
    if shared:
        raise InputError(
            f"the split leaks: {len(shared)} sources support answers on both sides: {named(shared)}; "
            "move their questions to one side, or leave out the held-out file and let --held-out split"
        )
    asked = {normalised(item.text) for item in train}
    twice = sorted(item.id for item in test if normalised(item.text) in asked)
    if twice:
        raise InputError(f"the split leaks: held-out questions are asked in training, too: {named(twice)}; remove them")
    return Split(tuple(train), tuple(test))


def named(names: Iterable[str]) -> str:
    """The first five names, and how many more there are."""
    every = list(names)
    rest = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _groups(questions: Sequence[Question]) -> list[list[str]]:
    """Ids of questions that are connected by gold sources or by their text."""
    joined = Groups()
    first: dict[tuple[str, str], str] = {}
    for item in questions:
        for key in (("text", normalised(item.text)), *(("source", gold) for gold in sorted(item.gold))):
            joined.join(item.id, first.setdefault(key, item.id))
    return list(group_by((item.id for item in questions), joined.root).values())
