"""Multiple choice: picks one of several answers by the evidence, with a chat model or by the words of the evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import NamedTuple

from hlgraph.answer.citations import checked, is_refusal
from hlgraph.answer.context import CONTEXT_TOKENS, fitted
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.writer import Writer, made_by
from hlgraph.errors import InputError, ModelAnswerError
from hlgraph.extract.wording import Wording, telling_words
from hlgraph.models.prompts import delimited
from hlgraph.records import Answer, Choice, Citation, Evidence
from hlgraph.text import fold

_MOST = len(ascii_uppercase)
_MOST_CITED = 3
_REPLY = re.compile(r"\W*(?P<letter>[A-Z])\W{0,3}?(?P<marks>(?:\s*\[[\d\s,;–-]+\])*)\W*")


def check_choices(choices: Sequence[str]) -> None:
    """Raise InputError for unusable choices: fewer than 2, more than 26, an empty one, or two equal ones."""
    if len(choices) < 2:
        raise InputError(f"the number of choices is {len(choices)}; give at least 2")
    if len(choices) > _MOST:
        raise InputError(f"the number of choices is {len(choices)}; give at most {_MOST}, one for each letter")
    seen: dict[str, int] = {}
    for at, choice in enumerate(choices, 1):
        known = " ".join(fold(choice).split())
        if not known:
            raise InputError(f"choice {at} is empty; give it a text, or remove it")
        if known in seen:
            raise InputError(f"choices {seen[known]} and {at} are the same ({choice.strip()!r}); remove one")
        seen[known] = at


class Chosen(NamedTuple):
    """A reply that names a choice.

    Attributes
    ----------
    place : index of the choice, from 0; None if the model says that the corpus holds no answer
    marks : the citations of the reply, as it writes them
    """

    place: int | None
    marks: str = ""


def choice_in(reply: str, count: int) -> Chosen | None:
    """The choice that a reply names: one letter, then citations, and nothing else.

    Parameters
    ----------
    reply : text of the model, without thoughts
    count : number of choices

    Returns
    -------
    Chosen | None
        None if the reply is anything else.

    Examples
    --------
    >>> choice_in("B [2][4]", 3), choice_in("(b)", 3), choice_in("D", 3), choice_in("NOT IN THE CORPUS", 3)
    (Chosen(place=1, marks=' [2][4]'), None, None, Chosen(place=None, marks=''))
    """
    if is_refusal(reply):
        return Chosen(None)
    match = _REPLY.fullmatch(reply.strip())
    index = ascii_uppercase.index(match["letter"]) if match else count
    return Chosen(index, match["marks"]) if match and index < count else None


def chosen_by_model(
    question: str,
    choices: Sequence[str],
    *,
    evidence: Sequence[Evidence],
    writer: Writer,
    context_tokens: int = CONTEXT_TOKENS,
) -> Answer:
    """The choice that the chat model makes from the evidence; it replies with the letter of the choice.

    A reply that is not one of the letters, with or without citations, is rejected, and the model is asked once more. The answer
    is supported if the model cites existing evidence. Without evidence the model is not called.

    Parameters
    ----------
    question : text of the question
    choices : 2 to 26 texts
    evidence : best first
    writer : the chat model and how it is asked
    context_tokens : size of the evidence that the model reads, in estimated tokens (default 8,000)

    Returns
    -------
    Answer
        Its text is the choice with citations; ``NOT_FOUND`` without evidence, or if the model says that nothing helps.

    Raises
    ------
    ModelAnswerError : the second reply names no choice either
    ModelUnavailableError, ModelAccessError : from the model
    """
    fit = fitted(evidence, context_tokens)
    if not evidence:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    shown = "\n".join(
        f"{letter}\n{delimited('choice', text)}" for letter, text in zip(ascii_uppercase, choices, strict=False)
    )
    values = {"evidence": fit.text, "question": delimited("question", question), "choices": shown}
    chosen = writer.ask_strictly("choice", values, parse=lambda text: choice_in(text, len(choices)))
    if chosen is None:
        raise ModelAnswerError(
            f"{writer.fingerprint}: the reply names none of the {len(choices)} choices by its letter, even when asked again; "
            "use another model"
        )
    by = made_by(writer, "choice")
    if chosen.place is None:
        return Answer(question, NOT_FOUND, (), is_supported=False, made_by=by, left_out=fit.left_out, cut=fit.cut)
    text = f"{choices[chosen.place]} {chosen.marks.strip()}"
    answer = checked(question, text, evidence=evidence, known=fit.places)
    choice = Choice(chosen.place, choices[chosen.place])
    return replace(answer, uncited=(), made_by=by, left_out=fit.left_out, cut=fit.cut, choice=choice)


def chosen_by_words(question: str, choices: Sequence[str], *, evidence: Sequence[Sequence[Evidence]]) -> Answer:
    """The choice that the words of the evidence support most.

    The own words of a choice are those that not all choices share. A piece supports a choice by the squared share of the
    choice's own words that it has, times the share of the other words of the question that it has. A piece that contradicts the
    choice scores 0. The score of a choice is the mean over its three best pieces. If no evidence has an own word of any
    choice (as between yes and no), nothing is chosen. With equal scores the choice that was given first wins, with a margin of 0.

    Measured on 60 questions of MuSiQue, each with its answer and those of three other questions: 85 % right (chance: 25 %; the
    cosine of the best piece alone: 46 %).

    Parameters
    ----------
    question : text of the question
    choices : at least 2 texts
    evidence : one sequence per choice: the results of a search for the question and the choice together

    Returns
    -------
    Answer
        Its text is the choice with citations; ``NOT_FOUND`` if nothing is chosen.
    """
    words_of = [[word for part in telling_words(choice) for word in part] for choice in choices]
    shared = set(words_of[0]).intersection(*words_of[1:])
    about = [word for part in telling_words(question) for word in part]
    scores: list[float] = []
    cited: list[list[Evidence]] = []
    for choice, words, pieces in zip(choices, words_of, evidence, strict=True):
        own = [word for word in words if word not in shared]
        asked = [word for word in about if word not in own]
        ranked = _speaking(choice, own, asked=asked, evidence=pieces) if own else []
        best = ranked[:_MOST_CITED]
        scores.append(sum(score for score, _ in best) / _MOST_CITED)
        cited.append([piece for _, piece in best])
    index = max(range(len(choices)), key=lambda at: scores[at])
    if not scores[index]:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    margin = scores[index] - max(score for at, score in enumerate(scores) if at != index)
    citations = tuple(Citation(number, piece) for number, piece in enumerate(cited[index], 1))
    text = f"{choices[index]} {' '.join(f'[{citation.number}]' for citation in citations)}"
    choice_made = Choice(index, choices[index], margin, tuple(scores))
    return Answer(question, text, citations, is_supported=True, choice=choice_made)


def _speaking(
    choice: str, own: Sequence[str], *, asked: Sequence[str], evidence: Sequence[Evidence]
) -> list[tuple[float, Evidence]]:
    """The pieces that support a choice, with their scores, best first; each text once."""
    by_text: dict[str, tuple[float, Evidence]] = {}
    for piece in evidence:
        wording = Wording([piece.text, *piece.labels], places=[piece.source.title, *piece.headings])
        score = wording.share(own) ** 2 * wording.share(asked)
        if score and piece.text not in by_text and not wording.contradicts(choice):
            by_text[piece.text] = (score, piece)
    return sorted(by_text.values(), key=lambda pair: -pair[0])
