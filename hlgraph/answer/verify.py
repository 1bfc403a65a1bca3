"""Checks each sentence of an answer against the evidence that it cites; unsupported sentences are flagged or removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from hlgraph.answer.citations import MARK, CitedSentence, Wording, cited_sentences, objection, telling_words
from hlgraph.answer.context import CONTEXT_TOKENS, fitted, numbered
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.writer import Writer, made_by
from hlgraph.models.prompts import delimited, estimated_tokens
from hlgraph.records import Answer, AnswerSentence, Citation, Evidence

Unsupported = Literal["flag", "drop"]
Verify = Literal["lexical", "chat"]
UNCITED = "it cites nothing"
LEXICAL = "lexical"
_VERDICT = re.compile(r"\s*(\d{1,4})\s*[|:.)]\s*(SUPPORTED|UNSUPPORTED)\s*\.?\s*", re.IGNORECASE)


class Cited(NamedTuple):
    """A sentence without its citation marks, and the evidence that it cites.

    Attributes
    ----------
    text : the sentence
    evidence : what it cites
    opened : what a judge reads of it: chunks instead of summaries; empty: the evidence itself
    """

    text: str
    evidence: tuple[Evidence, ...]
    opened: tuple[Evidence, ...] = ()


Check: TypeAlias = Callable[[Sequence[Cited]], tuple[list[str], str]]
"""From sentences to the reason why each is unsupported (empty where it is supported), and the name of the check."""


def by_words(sentences: Sequence[Cited]) -> tuple[list[str], str]:
    """The lexical check; see :func:`hlgraph.answer.citations.objection`.

    A sentence that cites a summary is looked up twice: in the summary, and in the chunks that it rests on. It is supported where
    both support it, so that what a summary adds to its sources is not taken for evidence.
    """
    return [_by_words(item) for item in sentences], LEXICAL


def by_judge(writer: Writer, *, context_tokens: int = CONTEXT_TOKENS) -> Check:
    """A check by a chat model: all sentences in one call, or in several where they do not fit one.

    The model replies SUPPORTED or UNSUPPORTED for each number, and nothing else. Where a reply omits a number, repeats one or
    adds text, the model is asked once more; if that fails too, the lexical check decides on the sentences of that call.

    Parameters
    ----------
    writer : the chat model and how it is asked
    context_tokens : size of the sentences with their evidence in one call, in estimated tokens (default 8,000); a longer
        sentence has a call of its own. In place of a summary the judge reads the chunks below it that share most words with the
        sentence, as many as fit a quarter of this size

    Returns
    -------
    Check
        It raises what the model raises.
    """

    def check(sentences: Sequence[Cited]) -> tuple[list[str], str]:
        found: list[str] = []
        names: list[str] = []
        for batch in _batches([_opened(item, context_tokens) for item in sentences], context_tokens):
            verdicts = _judged(writer, batch)
            name = made_by(writer, "judge") if verdicts is not None else LEXICAL
            found += (
                by_words(batch)[0] if verdicts is None else ["" if yes else "the judge says so" for yes in verdicts]
            )
            names.append(name)
        return found, ", ".join(dict.fromkeys(names))

    return check


def verified(answer: Answer, *, check: Check = by_words, unsupported: Unsupported = "flag") -> Answer:
    """An answer with every sentence checked against the evidence that it cites.

    A sentence without a citation is unsupported.

    Parameters
    ----------
    answer : an answer with citations
    check : checks the sentences that cite something (default: by their words)
    unsupported : ``flag`` leaves the text as it is (default); ``drop`` removes unsupported sentences and renumbers the remaining
        citations; where no sentence remains, the answer says that the corpus holds none

    Returns
    -------
    Answer
        The same answer where it has no sentences to check.
    """
    spans = _spans(answer)
    if not spans:
        return answer
    evidence = {item.number: item.evidence for item in answer.citations}
    asked = [_cited(answer.text, item, evidence) for item in spans]
    cited = [item for item in asked if item.evidence]
    reasons, by = check(cited) if cited else ([], LEXICAL)
    rest = iter(reasons)
    found = tuple(
        AnswerSentence(answer.text[span.start : span.end], span.numbers, not reason, reason)
        for span, item in zip(spans, asked, strict=True)
        for reason in [next(rest) if item.evidence else UNCITED]
    )
    has_support = any(item.is_supported for item in found)
    is_supported = has_support and answer.is_supported
    if unsupported == "flag" or all(item.is_supported for item in found):
        return replace(answer, is_supported=is_supported, sentences=found, checked_by=by)
    dropped = tuple(item for item in found if not item.is_supported)
    if not has_support:
        empty = replace(answer, text=NOT_FOUND, citations=(), is_supported=False, sentences=())
        return replace(empty, uncited=(), dropped=dropped, checked_by=by)
    return replace(_without(answer, spans, found), dropped=dropped, checked_by=by)


def verdicts_in(reply: str, count: int) -> list[bool] | None:
    r"""The verdicts of a reply: for each of ``count`` sentences, whether it is supported.

    Parameters
    ----------
    reply : text of the model, without thoughts
    count : number of sentences

    Returns
    -------
    list | None
        None unless the reply has exactly one verdict for each sentence and nothing else.

    Examples
    --------
    >>> verdicts_in("1 | SUPPORTED\n2 | UNSUPPORTED", 2), verdicts_in("1 | SUPPORTED", 2), verdicts_in("All fine.", 1)
    ([True, False], None, None)
    """
    found: dict[int, bool] = {}
    for line in filter(None, map(str.strip, reply.splitlines())):
        match = _VERDICT.fullmatch(line)
        if match is None or int(match[1]) in found:
            return None
        found[int(match[1])] = match[2].upper() == "SUPPORTED"
    return [found[number] for number in range(1, count + 1)] if set(found) == set(range(1, count + 1)) else None


def _by_words(item: Cited) -> str:
    opened = [part for piece in item.evidence for part in piece.opened]
    places = [part for piece in opened for part in (piece.source.title, *piece.headings)]
    shown = [part for piece in item.evidence for part in (piece.text, *piece.labels)]
    found = objection(item.text, shown, places=places)
    if found or not any(piece.summary_id for piece in item.evidence):
        return found
    found = objection(item.text, [part for piece in opened for part in (piece.text, *piece.labels)], places=places)
    return f"below the summary {found}" if found else ""


def _opened(item: Cited, tokens: int) -> Cited:
    """A sentence with what a judge reads of its evidence."""
    evidence: list[Evidence] = []
    for piece in item.evidence:
        if not piece.summary_id:
            evidence.append(piece)
            continue
        words = [word for part in telling_words(item.text) for word in part]
        best = sorted(
            piece.opened, key=lambda part: -Wording([part.text]).share(words)
        )  # the closest first where equal
        evidence += fitted(best, tokens // 4).pieces
    return item._replace(opened=tuple({part.id: part for part in evidence}.values()))


def _judged(writer: Writer, batch: Sequence[Cited]) -> list[bool] | None:
    values = {"sentences": "\n\n".join(_shown(item, number) for number, item in enumerate(batch, 1))}
    reply = writer.ask_strictly("judge", values, accept=lambda text: verdicts_in(text, len(batch)) is not None)
    return None if reply is None else verdicts_in(reply, len(batch))


def _shown(item: Cited, number: int) -> str:
    return f"Sentence {number}:\n{delimited('sentence', item.text)}\nIts evidence:\n{numbered(item.opened or item.evidence)}"


def _batches(sentences: Sequence[Cited], tokens: int) -> list[list[Cited]]:
    found: list[list[Cited]] = []
    left = 0
    for item in sentences:
        needed = estimated_tokens(_shown(item, 1))
        if not found or needed > left:
            found.append([])
            left = tokens
        found[-1].append(item)
        left -= needed
    return found


def _spans(answer: Answer) -> list[CitedSentence]:
    """The sentences of the text: those that the answer names, else as the text is split."""
    if not answer.sentences:
        return cited_sentences(answer.text) if answer.citations or answer.uncited else []
    spans: list[CitedSentence] = []
    at = 0
    for item in answer.sentences:
        start = answer.text.index(item.text, at)
        at = start + len(item.text)
        spans.append(CitedSentence(start, at, item.citations))
    return spans


def _cited(text: str, span: CitedSentence, evidence: dict[int, Evidence]) -> Cited:
    bare = re.sub(rf"\s*{MARK.pattern}", "", text[span.start : span.end]).strip()
    return Cited(bare, tuple(evidence[number] for number in span.numbers if number in evidence))


def _without(answer: Answer, spans: Sequence[CitedSentence], found: Sequence[AnswerSentence]) -> Answer:
    """The answer with only its supported sentences, its citations renumbered."""
    kept: list[str] = []
    gap, at = "", 0
    for span, item in zip(spans, found, strict=True):
        between = answer.text[at : span.start]
        # Of the gaps around removed sentences the widest is kept, so that paragraphs stay apart.
        gap = gap + between if between.strip() else max(gap, between, key=lambda part: (part.count("\n"), len(part)))
        at = span.end
        if item.is_supported:
            kept += [re.sub(r"[ \t]+\n", "\n", gap), item.text]
            gap = ""
    text = "".join((*kept, answer.text[at:])).strip()
    left = [item for item in found if item.is_supported]
    numbers: dict[int, int] = {}
    for number in (number for item in left for number in item.citations):
        numbers.setdefault(number, len(numbers) + 1)

    def renumbered(part: str) -> str:
        return MARK.sub(lambda mark: f"[{numbers.get(int(mark[1]), int(mark[1]))}]", part)

    evidence = {item.number: item.evidence for item in answer.citations}
    return replace(
        answer,
        text=renumbered(text),
        citations=tuple(Citation(new, evidence[old]) for old, new in numbers.items()),
        uncited=(),
        sentences=tuple(
            AnswerSentence(
                renumbered(item.text), tuple(numbers[number] for number in item.citations), is_supported=True
            )
            for item in left
        ),
    )
