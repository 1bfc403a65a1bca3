"""The citations of a text: removes invalid ones, renumbers the rest, and attributes them to sentences, also in a stream."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from hlgraph.read.content import clean
from hlgraph.records import Answer, Citation, Evidence
from hlgraph.retrieve.question.reply_parsing import THOUGHTS
from hlgraph.text import sentences, words

NOT_THERE = "NOT IN THE CORPUS"
_WIDEST_RANGE = 20
# [1], [1, 2], [1-3]; the brackets of links and quotations hold more than numbers.
CITED = re.compile(r"\s*\[(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)\]")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")
MARK = re.compile(r"\[(\d{1,4})\]")
_MARKS_FIRST = re.compile(r"\s*(?:\[\d{1,4}\]\s*)+")
_LABEL = re.compile(r"[\s#*]*(?:Reason|Answer)[\s*]*:[\s*]*")  # labels the two parts of an answer with a reason
# An incomplete citation mark or thoughts tag at the end of the text so far.
_OPEN = re.compile(r"\s*(?:\[[\d\s,;–-]*|<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?\Z")


class CitedSentence(NamedTuple):
    """A sentence of a text.

    Attributes
    ----------
    start, end : its span in the text, citation marks included
    numbers : the numbers in its marks
    """

    start: int
    end: int
    numbers: tuple[int, ...]


class Numbering:
    """Renumbers citations in the order in which a text has them, and removes those of evidence that does not exist.

    Parameters
    ----------
    allowed : places of the evidence that may be cited, from 0

    Attributes
    ----------
    numbers : from the old number of each cited piece to its new one
    dropped : number of citations that were removed

    Examples
    --------
    >>> numbering = Numbering({0, 4})
    >>> numbering.of("Quill [5, 9]. Brandt [1]."), numbering.numbers, numbering.dropped
    ('Quill [1]. Brandt [2].', {5: 1, 1: 2}, 1)
    """

    def __init__(self, allowed: Collection[int]) -> None:
        self._allowed = allowed
        self.numbers: dict[int, int] = {}
        self.dropped = 0

    def of(self, text: str) -> str:
        """The text with the new numbers."""
        return CITED.sub(self._renumbered, text)

    def _renumbered(self, match: re.Match[str]) -> str:
        cited = named_numbers(match[1])
        there = [number for number in cited if number - 1 in self._allowed]
        self.dropped += len(cited) - len(there)
        new = (self.numbers.setdefault(number, len(self.numbers) + 1) for number in dict.fromkeys(there))
        before = match[0].partition("[")[0]
        return "".join(f" [{number}]" for number in new) or (before if "\n" in before else "")  # paragraphs stay apart


class Arriving:
    """The text of a streamed reply: without thoughts, with its citations checked and renumbered.

    Text that was given out never changes. A citation mark or an opening thoughts tag is held back until it is complete. A reply
    that begins by saying that the corpus holds no answer is held back until it cites something.

    Parameters
    ----------
    allowed : places of the evidence that may be cited, from 0

    Examples
    --------
    >>> arriving = Arriving({1})
    >>> [arriving.add(piece) for piece in ("It was ", "Quill [", "2", "] [9]", ".")]
    ['It was', ' Quill', '', ' [1]', '.']
    """

    def __init__(self, allowed: Collection[int]) -> None:
        self._allowed = allowed
        self._raw = ""
        self._given_out = ""

    def add(self, piece: str) -> str:
        """The text that can be given out now that this piece has arrived; may be empty."""
        self._raw += piece
        numbering = Numbering(self._allowed)
        complete = said(_OPEN.sub("", THOUGHTS.sub("", self._raw)))
        text = numbering.of(complete).strip()
        start = " ".join(words(text)).upper()
        if not numbering.numbers and (start.startswith(NOT_THERE) or NOT_THERE.startswith(start)):
            return ""
        return self.rest(text)

    def rest(self, text: str) -> str:
        """The part of this text that was not given out yet; empty if the text given out is not its beginning."""
        if not text.startswith(self._given_out):
            return ""
        new, self._given_out = text[len(self._given_out) :], text
        return new


def said(reply: str) -> str:
    """A reply without the model's thoughts."""
    return clean(THOUGHTS.sub("", reply)).strip()


def is_refusal(text: str) -> bool:
    """Whether a reply without citations says that the corpus holds no answer."""
    return " ".join(words(text)).upper().startswith(NOT_THERE)


def checked(question: str, text: str, *, evidence: Sequence[Evidence], known: Collection[int] | None = None) -> Answer:
    """An answer from a text, with its citations checked and renumbered.

    Parameters
    ----------
    question : text of the question
    text : the reply, with citations numbered from 1 by place in ``evidence``
    evidence : the pieces that the numbers mean
    known : places of the evidence that may be cited, from 0; None: all

    Returns
    -------
    Answer
        Supported if at least one citation is left; ``uncited`` has the sentences without a citation.
    """
    numbering = Numbering(range(len(evidence)) if known is None else known)
    renumbered = numbering.of(text).strip()
    citations = tuple(Citation(new, evidence[old - 1]) for old, new in numbering.numbers.items())
    uncited = tuple(
        renumbered[sentence.start : sentence.end].strip()
        for sentence in cited_sentences(renumbered)
        if not sentence.numbers
    )
    return Answer(
        question,
        renumbered,
        citations,
        is_supported=bool(citations),
        uncited=uncited,
        dropped_citations=numbering.dropped,
    )


def cited_sentences(text: str) -> list[CitedSentence]:
    """The sentences of a text that contain words, with the numbers that each cites.

    Marks after a full stop belong to the sentence before them. The labels ``Reason:`` and ``Answer:`` at the beginning of a line
    belong to no sentence.

    Examples
    --------
    >>> text = "Quill did. [1] She was born in Tessing [2]. It is old."
    >>> [(text[cited.start : cited.end], cited.numbers) for cited in cited_sentences(text)]
    [('Quill did. [1]', (1,)), ('She was born in Tessing [2].', (2,)), ('It is old.', ())]
    """
    spans: list[list[int]] = []
    for start, end in sentences(text):
        marks = _MARKS_FIRST.match(text, start, end) if spans else None
        begin = start
        if marks is not None:
            spans[-1][1] = start + len(marks[0].rstrip())
            begin = marks.end()
        label = _LABEL.match(text, begin, end)
        if label is not None and not text[:begin].rpartition("\n")[2].strip():
            begin = label.end()
        if words(MARK.sub("", text[begin:end])):
            spans.append([begin, end])
        elif begin < end and spans:
            spans[-1][1] = end
    return [
        CitedSentence(start, end, tuple(dict.fromkeys(int(number) for number in MARK.findall(text[start:end]))))
        for start, end in spans
    ]


def named_numbers(inner: str) -> list[int]:
    """The numbers between two brackets; of a range that spans more than 20, only the two ends."""
    named: list[int] = []
    for part in re.split(r"[,;]", inner):
        ends = _RANGE.fullmatch(part.strip())
        if ends is None:
            named.extend(int(number) for number in re.findall(r"\d+", part))
        elif 0 <= int(ends[2]) - int(ends[1]) <= _WIDEST_RANGE:
            named.extend(range(int(ends[1]), int(ends[2]) + 1))
        else:
            named.extend((int(ends[1]), int(ends[2])))
    return named
