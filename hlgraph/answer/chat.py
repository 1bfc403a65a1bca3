"""An answer by a chat model: from numbered evidence, every citation checked, or the admission that there is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.errors import ModelAnswerError
from hlgraph.models.executor import asking_about
from hlgraph.models.ledger import Purpose
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.seams import ChatModel
from hlgraph.models.usage import Usage
from hlgraph.read.content import clean
from hlgraph.records import Answer, Citation, Evidence
from hlgraph.text import sentences, words

_PROMPT = Path(__file__).parent / "prompts" / "answer.md"
_NOT_THERE = "NOT IN THE CORPUS"
_MAX_TOKENS = 4096  # models that think first need room for that too
_WIDEST_RANGE = 20
# [1], [1, 2], [1-3]; the brackets of a link or of a quotation hold other things than numbers.
_CITED = re.compile(r"\s*\[(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)\]")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")
_MARK = re.compile(r"\[\d+\]")
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)  # cut off, they have no end


def chat_answer(
    question: str,
    evidence: Sequence[Evidence],
    *,
    model: ChatModel,
    max_tokens: int = _MAX_TOKENS,
    usage: Usage | None = None,
) -> Answer:
    """What the model says to the question from the evidence, with its citations.

    Citations are numbered anew, in the order in which the text has them. A number that no piece of evidence has is taken out
    of the text and counted; a sentence that is left without a citation is named in ``uncited``. An answer without any
    citation, or the model's word that nothing supports one, is not supported. Without evidence the model is not asked.

    Parameters
    ----------
    evidence : best first
    max_tokens : of the answer
    usage : counts what the call cost

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : as the model does
    ModelAnswerError : the reply says nothing
    """
    if not evidence:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    prompt = read_prompt(_PROMPT)
    values = {"evidence": numbered(evidence), "question": delimited("question", question)}
    asked = asking_about(model, Purpose(stage="answer", prompt=prompt.version), accept=lambda reply: bool(_said(reply)))
    completion = asked.complete(prompt.system, prompt.filled(values), max_tokens=max_tokens)
    if usage is not None:
        usage.add(completion)
    text = _said(completion.text)
    if not text:
        mend = "raise models.max_tokens" if completion.is_cut else "ask it another way, or another model"
        raise ModelAnswerError(f"{model.fingerprint}: the reply ends before it says anything; {mend}")
    made_by = f"{prompt.version}+{model.fingerprint}"
    answer = checked(question, text, evidence=evidence)
    if not answer.citations and " ".join(words(text)).upper().startswith(_NOT_THERE):
        return Answer(question, NOT_FOUND, (), is_supported=False, made_by=made_by)
    return replace(answer, made_by=made_by)


def _said(reply: str) -> str:
    """A reply without the thoughts before it."""
    return clean(_THOUGHTS.sub("", reply)).strip()


def numbered(evidence: Sequence[Evidence], *, numbers: Sequence[int] = ()) -> str:
    """Evidence as data between marks, numbered from 1, or with these numbers."""
    pieces = []
    for number, item in zip(numbers or range(1, len(evidence) + 1), evidence, strict=True):
        place = ", ".join(part for part in (item.source.title, *item.headings[-1:]) if part)
        body = f"From: {' '.join(place.split())}\n{item.text}" if place else item.text
        body = "\n".join((body, *(f"In its table: {label}" for label in item.labels)))
        pieces.append(f"[{number}]\n{delimited('evidence', body)}")
    return "\n".join(pieces)


def checked(question: str, text: str, *, evidence: Sequence[Evidence], known: Collection[int] | None = None) -> Answer:
    """A text with its citations checked and numbered anew; ``known``: only these places of the evidence may be cited."""
    allowed = range(len(evidence)) if known is None else known
    numbers: dict[int, int] = {}
    dropped = 0

    def renumber(match: re.Match[str]) -> str:
        nonlocal dropped
        found = named_numbers(match[1])
        there = [number for number in found if number - 1 in allowed]
        dropped += len(found) - len(there)
        return "".join(f" [{numbers.setdefault(number, len(numbers) + 1)}]" for number in dict.fromkeys(there))

    checked = _CITED.sub(renumber, text).strip()
    citations = tuple(Citation(new, evidence[old - 1]) for old, new in numbers.items())
    return Answer(
        question,
        checked,
        citations,
        is_supported=bool(citations),
        uncited=tuple(_uncited(checked)),
        dropped_citations=dropped,
    )


def named_numbers(inner: str) -> list[int]:
    """The numbers between two brackets; a range that is wider than any answer needs counts by its ends."""
    found: list[int] = []
    for part in re.split(r"[,;]", inner):
        ends = _RANGE.fullmatch(part.strip())
        if ends is None:
            found.extend(int(number) for number in re.findall(r"\d+", part))
        elif 0 <= int(ends[2]) - int(ends[1]) <= _WIDEST_RANGE:
            found.extend(range(int(ends[1]), int(ends[2]) + 1))
        else:
            found.extend((int(ends[1]), int(ends[2])))
    return found


def _uncited(text: str) -> list[str]:
    """The sentences without a citation; marks behind the full stop belong to the sentence before them."""
    # The splitter would give marks behind a full stop to the next sentence.
    moved = re.sub(r"([.!?])((?:\s*\[\d+\])+)", r"\2\1", text)
    spans = sentences(moved)
    return [
        moved[start:end].strip()
        for start, end in spans
        if words(moved[start:end]) and not _MARK.search(moved[start:end])
    ]
