"""Checks of an answer: each sentence against the evidence that it cites, and whether the evidence covers the question at all.

Unsupported sentences are flagged or removed (:func:`verified`); a question that is not covered is refused (:func:`is_missing`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from hlgraph.answer.citations import CONTEXT_TOKENS, MARK, CitedSentence, cited_sentences, fitted, numbered
from hlgraph.answer.constraints import Statements, constraints_of, statement
from hlgraph.answer.extractive import FEWEST_MET, NOT_FOUND, cosine_of
from hlgraph.answer.forms import places_of
from hlgraph.answer.writer import Writer, made_by
from hlgraph.extract.wording import Wording, objection, telling_words
from hlgraph.models.prompts import delimited, estimated_tokens
from hlgraph.records import Answer, AnswerSentence, Calibration, Citation, Evidence

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
    evidence : the cited pieces
    opened : the pieces that a judge reads: chunks instead of summaries; empty: the evidence itself
    """

    text: str
    evidence: tuple[Evidence, ...]
    opened: tuple[Evidence, ...] = ()


Check: TypeAlias = Callable[[Sequence[Cited]], tuple[list[str], str]]
"""Maps sentences to the reason why each is unsupported (empty if it is supported), and the name of the check."""


def by_words(sentences: Sequence[Cited]) -> tuple[list[str], str]:
    """The lexical check; see :func:`hlgraph.extract.wording.objection`.

    A sentence that cites a summary is checked twice: against the summary, and against the chunks that it rests on. It is
    supported only if both support it, so what a summary adds to its sources does not count as evidence.
    """
    return [_by_words(sentence) for sentence in sentences], LEXICAL


def by_judge(writer: Writer, *, context_tokens: int = CONTEXT_TOKENS) -> Check:
    """A check by a chat model: all sentences in one call, or in several if they do not fit one.

    The model replies SUPPORTED or UNSUPPORTED for each number, and nothing else. If a reply omits a number, repeats one or
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
        reasons: list[str] = []
        names: list[str] = []
        for batch in _batches([_opened(sentence, context_tokens) for sentence in sentences], context_tokens):
            shown = "\n\n".join(_shown(sentence, number) for number, sentence in enumerate(batch, 1))
            parse = partial(verdicts_in, count=len(batch))
            verdicts = writer.ask_strictly("judge", {"sentences": shown}, parse=parse)
            name = made_by(writer, "judge") if verdicts is not None else LEXICAL
            judged = ["" if is_supported else "the judge says so" for is_supported in verdicts or ()]
            reasons += judged or by_words(batch)[0]
            names.append(name)
        return reasons, ", ".join(dict.fromkeys(names))

    return check


def verified(answer: Answer, *, check: Check = by_words, unsupported: Unsupported = "flag") -> Answer:
    """An answer with every sentence checked against the evidence that it cites.

    A sentence without a citation is unsupported.

    Parameters
    ----------
    answer : an answer with citations
    check : checks the sentences that cite something (default: by their words)
    unsupported : ``flag`` leaves the text as it is (default); ``drop`` removes unsupported sentences and renumbers the remaining
        citations; if no sentence remains, the answer says that the corpus holds none

    Returns
    -------
    Answer
        The same answer if it has no sentences to check, or has been checked.
    """
    spans = _spans(answer)
    if not spans or answer.checked_by:
        return answer
    evidence = {citation.number: citation.evidence for citation in answer.citations}
    asked = [_cited(answer.text, span, evidence) for span in spans]
    cited = [sentence for sentence in asked if sentence.evidence]
    reasons, by = check(cited) if cited else ([], LEXICAL)
    rest = iter(reasons)
    checked = tuple(
        AnswerSentence(answer.text[span.start : span.end], span.numbers, not reason, reason)
        for span, sentence in zip(spans, asked, strict=True)
        for reason in [next(rest) if sentence.evidence else UNCITED]
    )
    has_support = any(sentence.is_supported for sentence in checked)
    is_supported = has_support and answer.is_supported
    if unsupported == "flag" or all(sentence.is_supported for sentence in checked):
        return replace(answer, is_supported=is_supported, sentences=checked, checked_by=by)
    dropped = tuple(sentence for sentence in checked if not sentence.is_supported)
    if not has_support:
        empty = replace(answer, text=NOT_FOUND, citations=(), is_supported=False, sentences=())
        return replace(empty, uncited=(), dropped=dropped, checked_by=by)
    return replace(_without(answer, spans, checked), dropped=dropped, checked_by=by)


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
    verdicts: dict[int, bool] = {}
    for line in filter(None, map(str.strip, reply.splitlines())):
        match = _VERDICT.fullmatch(line)
        if match is None or int(match[1]) in verdicts:
            return None
        verdicts[int(match[1])] = match[2].upper() == "SUPPORTED"
    return [verdicts[number] for number in range(1, count + 1)] if set(verdicts) == set(range(1, count + 1)) else None


def _by_words(sentence: Cited) -> str:
    opened = [part for piece in sentence.evidence for part in piece.opened]
    places = [part for piece in opened for part in (piece.source.title, *piece.headings)]
    shown = [part for piece in sentence.evidence for part in (piece.text, *piece.labels)]
    reason = objection(sentence.text, shown, places=places)
    if reason or not any(piece.summary_id for piece in sentence.evidence):
        return reason
    reason = objection(sentence.text, [part for piece in opened for part in (piece.text, *piece.labels)], places=places)
    return f"below the summary {reason}" if reason else ""


def _opened(sentence: Cited, tokens: int) -> Cited:
    """A sentence with what a judge reads of its evidence."""
    evidence: list[Evidence] = []
    for piece in sentence.evidence:
        if not piece.summary_id:
            evidence.append(piece)
            continue
        words = [word for part in telling_words(sentence.text) for word in part]
        # Of equal ones the closest to the question comes first.
        best = sorted(piece.opened, key=lambda part: -Wording([part.text]).share(words))
        evidence += fitted(best, tokens // 4).pieces
    return sentence._replace(opened=tuple({part.id: part for part in evidence}.values()))


def _shown(sentence: Cited, number: int) -> str:
    evidence = numbered(sentence.opened or sentence.evidence)
    return f"Sentence {number}:\n{delimited('sentence', sentence.text)}\nIts evidence:\n{evidence}"


def _batches(sentences: Sequence[Cited], tokens: int) -> list[list[Cited]]:
    batches: list[list[Cited]] = []
    left = 0
    for sentence in sentences:
        needed = estimated_tokens(_shown(sentence, 1))
        if not batches or needed > left:
            batches.append([])
            left = tokens
        batches[-1].append(sentence)
        left -= needed
    return batches


def _spans(answer: Answer) -> list[CitedSentence]:
    """The sentences of the text: those that the answer names, else as the text is split."""
    if not answer.sentences:
        return cited_sentences(answer.text) if answer.citations or answer.uncited else []
    spans: list[CitedSentence] = []
    at = 0
    for sentence in answer.sentences:
        start = answer.text.index(sentence.text, at)
        at = start + len(sentence.text)
        spans.append(CitedSentence(start, at, sentence.citations))
    return spans


def _cited(text: str, span: CitedSentence, evidence: dict[int, Evidence]) -> Cited:
    bare = re.sub(rf"\s*{MARK.pattern}", "", text[span.start : span.end]).strip()
    return Cited(bare, tuple(evidence[number] for number in span.numbers if number in evidence))


def _without(answer: Answer, spans: Sequence[CitedSentence], checked: Sequence[AnswerSentence]) -> Answer:
    """The answer with only its supported sentences, its citations renumbered."""
    kept: list[str] = []
    gap, at = "", 0
    for span, sentence in zip(spans, checked, strict=True):
        between = answer.text[at : span.start]
        # Of the gaps around removed sentences the widest is kept, so that paragraphs stay apart.
        gap = gap + between if between.strip() else max(gap, between, key=lambda part: (part.count("\n"), len(part)))
        at = span.end
        if sentence.is_supported:
            kept += [re.sub(r"[ \t]+\n", "\n", gap), sentence.text]
            gap = ""
    text = "".join((*kept, answer.text[at:])).strip()
    left = [sentence for sentence in checked if sentence.is_supported]
    numbers: dict[int, int] = {}
    for number in (number for sentence in left for number in sentence.citations):
        numbers.setdefault(number, len(numbers) + 1)

    def renumbered(part: str) -> str:
        return MARK.sub(lambda mark: f"[{numbers.get(int(mark[1]), int(mark[1]))}]", part)

    evidence = {citation.number: citation.evidence for citation in answer.citations}
    return replace(
        answer,
        text=renumbered(text),
        citations=tuple(Citation(new, evidence[old]) for old, new in numbers.items()),
        uncited=(),
        sentences=tuple(
            replace(each, text=renumbered(each.text), citations=tuple(numbers[number] for number in each.citations))
            for each in left
        ),
    )


# The test whether the evidence covers a question at all.

LEAST_SUPPORT = 0.5


def is_missing(
    question: str,
    evidence: Sequence[Evidence],
    *,
    least: float | None = None,
    calibration: Calibration | None = None,
) -> bool:
    """Whether evidence supports an answer less than ``least``.

    Measured with 20 statements by the strategy ``statement`` and the local embedder (all-MiniLM-L6-v2):

    - 70 articles of MultiHop-RAG: 1 % of the questions that they answer are refused, and 20 % of these once their own articles
      are hidden; 55 % of the questions whose articles are not among the 70; 92 % of the questions of another set (HotpotQA).
    - Passages of MuSiQue: 2 % of its questions are refused, 20 % once their own passages are hidden, and 44 % of the questions
      of another set.

    So a refused question is mostly one without an answer in the corpus. Evidence that has all the right names but does not say
    what was asked is not detected; that takes a model.

    The scale of cosines depends on the embedder, so they are converted to the scale of the shipped embedder. Without a
    calibration they are not converted: if the cosines of all texts are above 0.5, nothing is refused until ``least`` is raised.

    Parameters
    ----------
    question : text of the question
    evidence : in any order
    least : minimum :func:`support`, from 0 (never refuse) to 1; None: 0.5 if cosines to the question are known, else 0
    calibration : the scale of the cosines of the corpus; None: that of the shipped embedder

    Returns
    -------
    bool
        True if the answer is to be refused.
    """
    if least is None:
        least = LEAST_SUPPORT if any(cosine_of(piece) is not None for piece in evidence) else 0.0
    is_far = bool(least) and _closest(evidence, calibration) < least
    if not is_far or support(question, evidence, calibration=calibration) >= least:
        return False
    constraints = constraints_of(question)
    said = (statement(piece.text, *places_of(piece)) for piece in evidence)
    return len(constraints.all) < FEWEST_MET or all(each.unmet(constraints) for each in said)


def support(question: str, evidence: Sequence[Evidence], *, calibration: Calibration | None = None) -> float:
    """How far evidence covers the subject of a question, from 0 to 1: by words or by meaning, whichever is higher.

    By words it is the mean of two shares: the share of the question's names that occur in any piece, its title, its headings or
    the metadata of its source; and the share of the question's content words, names included, that the single best piece has. For
    a question without a name, its content words replace the names in the first share. By meaning it is the cosine of the closest
    piece, if the search reports it.

    Parameters
    ----------
    question : text of the question
    evidence : in any order
    calibration : see :func:`is_missing`

    Returns
    -------
    float
        0 without evidence.
    """
    if not evidence:
        return 0.0
    return min(1.0, max(support_by_words(question, evidence), _closest(evidence, calibration)))


def _closest(evidence: Sequence[Evidence], calibration: Calibration | None) -> float:
    return max((cosine_of(piece, calibration) or 0.0 for piece in evidence), default=0.0)


def support_by_words(question: str, evidence: Sequence[Evidence]) -> float:
    """The part of :func:`support` that comes from words.

    Parameters
    ----------
    question : text of the question
    evidence : at least one piece

    Returns
    -------
    float
        From 0 to 1.
    """
    constraints = constraints_of(question)
    if not constraints.is_english and constraints.is_known and constraints.all:
        wanted = constraints.all
        each = [Statements([piece.text], places=_places(piece)) for piece in evidence]
        met = np.array([[said.has(one) for one in wanted] for said in each])
        return float(met.any(axis=0).mean() + met.mean(axis=1).max()) / 2
    names, others = telling_words(question)
    places = [part for piece in evidence for part in _places(piece)]
    everything = Wording((piece.text for piece in evidence), places=places)
    best = max(Wording([piece.text], places=_places(piece)).share([*names, *others]) for piece in evidence)
    return (everything.share(names or others) + best) / 2


def _places(piece: Evidence) -> list[str]:
    return [piece.source.title, *piece.headings, *map(str, piece.source.metadata.values())]
