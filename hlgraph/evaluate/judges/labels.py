"""Labels by people: what they say of the same answers, and the agreement of the judge with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.judges.answer_rows import Candidate, lines_of
from hlgraph.evaluate.judges.wins import CRITERIA, OVERALL, PairwiseWins
from hlgraph.evaluate.metrics.agreement import Kappa, cohen_kappa

CORRECTNESS = "correctness"
_MEND = (
    'give JSON lines with question_id, and strategy and label ("correct", "incorrect"), or a, b, criterion and label '
    '("a", "b", "tie")'
)
_ALLOWED = {True: ("correct", "incorrect"), False: ("a", "b", "tie")}
_TURNED = {"a": "b", "b": "a", "tie": "tie"}


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A label by a person.

    Attributes
    ----------
    question_id : the question
    label : ``correct`` or ``incorrect`` of one answer; ``a``, ``b`` or ``tie`` of two; empty: not labelled
    strategy : whose answer it is, of one answer
    a, b : whose answers they are, of two
    criterion : by which two answers were compared, default ``overall``
    answer_ids : hashes of the texts that the person read, as in ``to_label.jsonl``; empty: not known
    """

    question_id: str
    label: str = ""
    strategy: str = ""
    a: str = ""
    b: str = ""
    criterion: str = OVERALL
    answer_ids: list[str] = []

    @property
    def strategies(self) -> tuple[str, ...]:
        """Whose answers are labelled."""
        return (self.strategy,) if self.strategy else (self.a, self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far the judge agrees with people.

    Attributes
    ----------
    judge : ``correctness``, or the criterion of a comparison
    kappa : Cohen's kappa of the labels that both gave; None if there is none
    missing : labels of people to which the judge gave no verdict
    """

    judge: str
    kappa: Kappa | None
    missing: int

    def to_json(self) -> dict[str, object]:
        """The agreement as JSON data."""
        return asdict(self) | {"kappa": None if self.kappa is None else self.kappa._asdict()}


def load_labels(path: str | Path, candidates: Sequence[Candidate]) -> list[Label]:
    """The labels in a file, without the lines whose label is empty.

    Parameters
    ----------
    path : a file of JSON lines
    candidates : the answers that are judged

    Raises
    ------
    ReadError
        A line is no label (the message has its number), or there is none.
    InputError
        A label is about an answer that is not judged here: another question or strategy, or another text.
    """
    decoder = msgspec.json.Decoder(Label)
    held = {(item.strategy, item.question_id): item for item in candidates}
    found = []
    for number, line in lines_of(path):
        place = f"{path}, line {number}"
        try:
            label = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ReadError(place, str(error), _MEND) from error
        if label.label:
            _check(label, held, place=place)
            found.append(label)
    if not found:
        raise ReadError(str(path), "it holds no label", _MEND)
    return found


def _check(label: Label, held: Mapping[tuple[str, str], Candidate], *, place: str) -> None:
    allowed = _ALLOWED[bool(label.strategy)]
    if label.label not in allowed or label.criterion not in CRITERIA or not all(label.strategies):
        raise ReadError(place, f"the label {label.label!r} by {label.criterion!r} is none", _MEND)
    for at, name in enumerate(label.strategies):
        candidate = held.get((name, label.question_id))
        if candidate is None:
            raise InputError(
                f"{place}: the strategy {name} has no answer to the question {label.question_id!r} here, so the labels "
                "are of another run; give the labels of these answers"
            )
        if label.answer_ids and label.answer_ids[at : at + 1] != [candidate.answer_id]:
            raise InputError(
                f"{place}: the answer of {name} to {label.question_id!r} is not the one that was labelled; give the "
                "labels of these answers"
            )


def agreements(
    labels: Sequence[Label],
    correct: Mapping[tuple[str, str], float | None],
    *,
    pairs: Sequence[PairwiseWins],
) -> tuple[Agreement, ...]:
    """The agreement of the judge with people, on correctness and by criterion.

    Parameters
    ----------
    labels : labels of people
    correct : 1 or 0 by strategy and question; None where the verdict is missing
    pairs : wins of strategies
    """
    known = _verdicts(correct, pairs)
    rows: dict[str, list[tuple[str, str | None]]] = {}
    for label in labels:
        name = CORRECTNESS if label.strategy else label.criterion
        rows.setdefault(name, []).append((label.label, known.get((name, label.question_id, *label.strategies))))
    found = []
    for name in sorted(rows, key=lambda name: (name != CORRECTNESS, name)):
        both = [(person, verdict) for person, verdict in rows[name] if verdict is not None]
        kappa = cohen_kappa([one for one, _ in both], [other for _, other in both]) if both else None
        found.append(Agreement(judge=name, kappa=kappa, missing=len(rows[name]) - len(both)))
    return tuple(found)


def _verdicts(
    correct: Mapping[tuple[str, str], float | None], pairs: Sequence[PairwiseWins]
) -> dict[tuple[str, ...], str]:
    known: dict[tuple[str, ...], str] = {
        (CORRECTNESS, question, strategy): "correct" if value else "incorrect"
        for (strategy, question), value in correct.items()
        if value is not None
    }
    for pair in pairs:
        for question, score in zip(pair.question_ids, pair.scores, strict=True):
            if score is not None:
                winner = "tie" if score == 0.5 else "a" if score > 0.5 else "b"
                known[(pair.criterion, question, pair.a, pair.b)] = winner
                known[(pair.criterion, question, pair.b, pair.a)] = _TURNED[winner]
    return known


def to_label(candidates: Sequence[Candidate], pairs: Sequence[PairwiseWins]) -> list[dict[str, object]]:
    """Rows for people to fill in: each answer, and each pair of answers overall, with an empty label.

    Parameters
    ----------
    candidates : the answers
    pairs : wins of strategies, of which the names are used
    """
    rows: list[dict[str, object]] = []
    held = {(item.strategy, item.question_id): item for item in candidates if item.text}
    for (strategy, question), item in held.items():
        answer = {"question": item.question, "accepted": item.golds, "answer": item.text}
        ids = {"question_id": question, "strategy": strategy, "answer_ids": [item.answer_id]}
        rows.append({**ids, **answer, "label": ""})
    for pair in pairs:
        for question in pair.question_ids if pair.criterion == OVERALL else ():
            a, b = held[(pair.a, question)], held[(pair.b, question)]
            ids = {"question_id": question, "a": pair.a, "b": pair.b, "criterion": OVERALL}
            answers = {"answer_ids": [a.answer_id, b.answer_id], "question": a.question}
            rows.append({**ids, **answers, "answer_a": a.text, "answer_b": b.text, "label": ""})
    return rows
