"""Numbered evidence: as much as fits a token budget, and the citations ``[n]`` of a text that answers from it, also in a stream."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Generator, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from hlgraph.errors import InputError
from hlgraph.models.prompts import delimited, estimated_tokens
from hlgraph.read.content import clean
from hlgraph.records import Answer, AnswerSentence, Citation, Evidence
from hlgraph.retrieve.question.reply_parsing import THOUGHTS
from hlgraph.text import sentences, words

CONTEXT_TOKENS = 8_000
LEAST_CONTEXT_TOKENS = 200
CUT = "(The rest of this piece is left out.)"
_TITLES = 5  # titles of sources that a summary is shown with
_PLACE = 80  # characters of title and heading that a cut piece keeps
_FRAME = 120  # characters around a piece in a prompt, at most: its number and its markers
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
NOT_THERE = "NOT IN THE CORPUS"
_WIDEST_RANGE = 20
# [1], [1, 2], [1-3]; the brackets of links and quotations hold more than numbers.
CITED = re.compile(r"\s*\[(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)\]")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")
MARK = re.compile(r"\[(\d{1,4})\]")
_MARKS_FIRST = re.compile(r"\s*(?:\[\d{1,4}\]\s*)+")
PART_LABEL = re.compile(r"[\s#*]*(?:Reason|Answer)[\s*]*:[\s*]*")
"""The label of a part of an answer with a reason."""
# An incomplete citation mark or thoughts tag at the end of the text so far.
_OPEN = re.compile(r"\s*(?:\[[\d\s,;–-]*|<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?\Z")


class Fit(NamedTuple):
    """The evidence that fits a token budget.

    Attributes
    ----------
    places : places of its pieces in all evidence, from 0, best first
    pieces : the pieces, in that order; a cut one has the beginning of its text, and a note that the rest is left out
    left_out : number of pieces that did not fit
    cut : number of pieces that were cut, 0 or 1
    """

    places: tuple[int, ...]
    pieces: tuple[Evidence, ...]
    left_out: int
    cut: int

    @property
    def text(self) -> str:
        """The pieces for a prompt, numbered by their places from 1, the best ones first and last."""
        order = best_at_the_ends(range(len(self.places)))
        return numbered([self.pieces[at] for at in order], numbers=[self.places[at] + 1 for at in order])


def check_context_tokens(tokens: int) -> None:
    """Raise InputError for a context that is too small to hold a piece of evidence."""
    if tokens < LEAST_CONTEXT_TOKENS:
        raise InputError(
            f"context_tokens is {tokens}; give at least {LEAST_CONTEXT_TOKENS}; the default is {CONTEXT_TOKENS:,}"
        )


def best_at_the_ends(items: Sequence[_Item]) -> list[_Item]:
    """Reorder items that come best first: the best stand at both ends, the worst in the middle.

    The first stays first, the second becomes the last, the third becomes the second, and so on inward. Models use the ends of a
    long context better than its middle.

    References
    ----------
    ToPG, section 2.3.3, steps 6-7. Liu et al., Lost in the Middle, TACL 12, 2024.

    Examples
    --------
    >>> best_at_the_ends([1, 2, 3, 4, 5])
    [1, 3, 5, 4, 2]
    """
    return [*items[::2], *reversed(items[1::2])]


def numbered(evidence: Sequence[Evidence], *, numbers: Sequence[int] = ()) -> str:
    """Evidence as delimited data for a prompt.

    Parameters
    ----------
    evidence : the pieces
    numbers : one per piece; default: from 1

    Returns
    -------
    str
        One block per piece, with its number, source, text and table labels. A summary is marked as one, with the titles of the
        sources that it rests on; a stale summary is also marked as older than its sources.
    """
    pairs = zip(numbers or range(1, len(evidence) + 1), evidence, strict=True)
    return "\n".join(_block(piece, number) for number, piece in pairs)


def cost(piece: Evidence, *, number: int = 1) -> int:
    """Estimated number of tokens that a piece takes in a context, including its number, delimiters and source.

    Parameters
    ----------
    piece : the piece
    number : the number that it has in the context

    Returns
    -------
    int
        See :func:`hlgraph.models.prompts.estimated_tokens`.
    """
    return estimated_tokens(f"\n{_block(piece, number)}")


def fitted(evidence: Sequence[Evidence], tokens: int) -> Fit:
    """As many pieces as fit ``tokens``, greedily by rank; a piece that does not fit is skipped and counted.

    If even the best piece is too long, it is cut to as many of its first sentences as fit, or to its first words if the first
    sentence alone is too long, with a note that the rest is left out. No other piece is ever cut. A budget below about 100
    tokens may hold nothing at all.

    Parameters
    ----------
    evidence : best first
    tokens : budget for all pieces as the prompt shows them, by :func:`hlgraph.models.prompts.estimated_tokens`

    Returns
    -------
    Fit
        The kept pieces, and what was left out or cut.
    """
    if sum(_FRAME + len(_body(piece)) for piece in evidence) <= tokens:  # no text has more tokens than characters
        return Fit(tuple(range(len(evidence))), tuple(evidence), 0, 0)
    kept: list[int] = []
    pieces: list[Evidence] = []
    left, cut = tokens, 0
    for place, piece in enumerate(evidence):
        needed, chosen = cost(piece, number=place + 1), piece
        if needed > left and not kept:
            chosen, cut = _beginning(piece, left, number=place + 1), 1
            needed = cost(chosen, number=place + 1)
        if needed <= left:
            kept.append(place)
            pieces.append(chosen)
            left -= needed
    return Fit(tuple(kept), tuple(pieces), len(evidence) - len(kept), cut)


def _block(piece: Evidence, number: int) -> str:
    return f"[{number}]\n{delimited('evidence', _body(piece))}"


def _body(piece: Evidence) -> str:
    place = summary_place(piece) if piece.summary_id else place_of(piece)
    body = f"From: {' '.join(place.split())}\n{piece.text}" if place else piece.text
    return "\n".join((body, *(f"In its table: {label}" for label in piece.labels)))


def in_lines(texts: Sequence[str], *, numbers: Sequence[int] = ()) -> str:
    """Texts as numbered lines, as a model reads its contexts in training; ``(none)`` without any.

    Parameters
    ----------
    texts : each on one line, see :func:`line_of`
    numbers : one per text; default: from 1
    """
    pairs = zip(numbers or range(1, len(texts) + 1), texts, strict=True)
    return "\n".join(f"[{number}] {text}" for number, text in pairs) or "(none)"


def line_of(piece: Evidence) -> str:
    """A piece of evidence on one line, after the title of its source; a summary has no title."""
    title = "" if piece.summary_id else " ".join(piece.source.title.split())
    text = " ".join(piece.text.split())
    return f"{title}: {text}" if title else text


def place_of(piece: Evidence) -> str:
    """The title of a piece's source, and its closest heading."""
    return ", ".join(part for part in (piece.source.title, *piece.headings[-1:]) if part)


def summary_place(piece: Evidence) -> str:
    """What a summary rests on, with the titles of the closest sources, and whether it is older than they are."""
    titles = list(dict.fromkeys(part.source.title or part.source.uri for part in piece.opened))
    rest = f" and {len(titles) - _TITLES} more" if len(titles) > _TITLES else ""
    older = ", written before one of them last changed" if piece.is_stale else ""
    return f"a summary of {len(piece.opened)} passages from {'; '.join(titles[:_TITLES])}{rest}{older}"


def _beginning(piece: Evidence, tokens: int, *, number: int) -> Evidence:
    """A piece with as much of its text as fits, and a note that the rest is left out."""
    title = piece.source.title[:_PLACE]
    short = replace(piece, source=replace(piece.source, title=title), headings=(), labels=())

    def until(end: int) -> Evidence:
        return replace(short, text=f"{piece.text[:end].rstrip()} {CUT}")

    def longest(ends: Sequence[int]) -> int:
        """The last of these ends that fits, by binary search; 0 if none does."""
        count = bisect_right(ends, tokens, key=lambda end: cost(until(end), number=number))
        return ends[count - 1] if count else 0

    ends = [end for _, end in sentences(piece.text)]
    spaces = [at for at, sign in enumerate(piece.text) if sign.isspace()]
    return until(longest(ends) or longest(spaces) or longest(range(1, len(piece.text) + 1)))


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


class Pieces(Generic[_Result]):
    """The text of a generator, in pieces; ``result`` is its return value, once there are no more.

    Parameters
    ----------
    telling : the generator
    """

    result: _Result

    def __init__(self, telling: Generator[str, None, _Result]) -> None:
        self._telling = telling

    def __iter__(self) -> Generator[str, None, None]:
        """Yields the pieces."""
        self.result = yield from self._telling


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


def joined(question: str, paragraphs: Sequence[Sequence[Evidence]]) -> Answer:
    """An answer made of pieces of evidence as sentences with ``[n]``, numbered in their order.

    Parameters
    ----------
    question : text of the question
    paragraphs : the pieces of each paragraph
    """
    flat = [piece for paragraph in paragraphs for piece in paragraph]
    citations = tuple(Citation(number, piece) for number, piece in enumerate(flat, 1))
    said = tuple(
        AnswerSentence(f"{' '.join(cited.evidence.text.split())} [{cited.number}]", (cited.number,), is_supported=True)
        for cited in citations
    )
    parts = iter(said)
    text = "\n\n".join(" ".join(next(parts).text for _ in paragraph) for paragraph in paragraphs)
    return Answer(question, text, citations, is_supported=True, sentences=said)


def headed(answer: Answer, head: str) -> Answer:
    """An answer whose first sentence begins with its short form: "Yes: ...".

    Parameters
    ----------
    answer : an answer with sentences
    head : its short form
    """
    first = replace(answer.sentences[0], text=f"{head}: {answer.sentences[0].text}")
    return replace(answer, text=f"{head}: {answer.text}", sentences=(first, *answer.sentences[1:]))


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
        label = PART_LABEL.match(text, begin, end)
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
