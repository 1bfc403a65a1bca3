"""TREC files: runs (what a system ranked) and qrels (what is relevant). Ids with white space are refused, since the format
cannot hold them.

A line of a run is ``question Q0 document rank score name``, a line of qrels ``question 0 document relevance``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from hlgraph.errors import InputError, ReadError


def run_text(rankings: Mapping[str, Sequence[str]], *, name: str) -> str:
    """The text of a run file.

    Scores are the negative ranks, so that every program that sorts by score keeps the order.

    Parameters
    ----------
    rankings : document ids by question id, best first
    name : name of the system

    Raises
    ------
    InputError
        An id or the name is empty or has white space, or a question ranks a document twice.

    Examples
    --------
    >>> print(run_text({"q1": ["b", "a"]}, name="path"), end="")
    q1 Q0 b 1 -1 path
    q1 Q0 a 2 -2 path
    """
    _check_word(name, "name")
    lines = []
    for question, ranked in rankings.items():
        _check_word(question, "question")
        if len(set(ranked)) < len(ranked):
            raise InputError(f"question {question} ranks a document twice; give each document one rank")
        for rank, document in enumerate(ranked, start=1):
            _check_word(document, "document")
            lines.append(f"{question} Q0 {document} {rank} {-rank} {name}\n")
    return "".join(lines)


def qrels_text(golds: Mapping[str, AbstractSet[str]]) -> str:
    """The text of a qrels file: each gold document has the relevance 1.

    Parameters
    ----------
    golds : gold document ids by question id

    Raises
    ------
    InputError
        An id is empty or has white space.

    Examples
    --------
    >>> print(qrels_text({"q1": {"b", "a"}}), end="")
    q1 0 a 1
    q1 0 b 1
    """
    lines = []
    for question, documents in golds.items():
        _check_word(question, "question")
        for document in sorted(documents):
            _check_word(document, "document")
            lines.append(f"{question} 0 {document} 1\n")
    return "".join(lines)


def read_run(path: str | Path) -> dict[str, tuple[str, ...]]:
    """The rankings of a run file: by falling score, then by document id, as trec_eval sorts them; ranks are ignored.

    Parameters
    ----------
    path : the file

    Returns
    -------
    dict
        Document ids by question id, questions in the order of the file.

    Raises
    ------
    ReadError
        The file cannot be read, a line has another form (the message has its number), or a question ranks a document twice.
    """
    by_question: dict[str, dict[str, float]] = {}
    for number, (question, _, document, _, score, _) in _lines(path, "question Q0 document rank score name"):
        scores = by_question.setdefault(question, {})
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or document in scores:
            reason = (
                f"{document} comes twice for {question}" if document in scores else f"the score {score!r} is no number"
            )
            raise ReadError(f"{path}, line {number}", reason, "correct the line")
        scores[document] = value
    # trec_eval breaks ties by falling id
    return {
        question: tuple(sorted(sorted(scores, reverse=True), key=lambda name: -scores[name]))
        for question, scores in by_question.items()
    }


def read_qrels(path: str | Path) -> dict[str, frozenset[str]]:
    """The relevant documents of a qrels file: those with a relevance above 0, by question id.

    Parameters
    ----------
    path : the file

    Raises
    ------
    ReadError
        The file cannot be read, or a line has another form (the message has its number).
    """
    relevant: dict[str, set[str]] = {}
    for number, (question, _, document, relevance) in _lines(path, "question 0 document relevance"):
        documents = relevant.setdefault(question, set())
        if not re.fullmatch(r"-?[0-9]{1,9}", relevance):
            reason = f"the relevance {relevance!r:.40} is not a whole number"
            raise ReadError(f"{path}, line {number}", reason, "correct the line")
        if int(relevance) > 0:
            documents.add(document)
    return {question: frozenset(documents) for question, documents in relevant.items()}


def _check_word(text: str, what: str) -> None:
    if not text or text.split() != [text]:
        raise InputError(f"the {what} {text!r} cannot be written to a TREC file; give an id without white space")


def _lines(path: str | Path, form: str) -> list[tuple[int, list[str]]]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ReadError(str(path), f"it cannot be read: {error}", "give a TREC file in UTF-8") from error
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise ReadError(f"{path}, line {number}", f"it cannot be read: {error}", "give a TREC file in UTF-8") from error
    rows = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    for number, words in rows:
        if len(words) != len(form.split()):
            raise ReadError(f"{path}, line {number}", f"it has {len(words)} fields", f"a line is: {form}")
    return rows
